/* SPDX-License-Identifier: MIT */
/* guard.c - the segments that are guarded, and the handler. See guard.h. */
#include "guard.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Changed only between calls of the library, so never while the handler runs. */
static tlshm_t **guarded;
static size_t count, room;

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (tlshm_fault(guarded[i], info->si_addr))
            return;
    signal(number, SIG_DFL); /* not ours: the access is made again, and ends the process */
}

static bool watch(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) == 0;
}

static int fail(struct tlshm_error *err, const char *name)
{
    if (err != NULL) {
        *err = (struct tlshm_error){.code = -TLSHM_ENOMEM};
        snprintf(err->text, sizeof err->text, "%.200s: out of memory", name);
    }
    return -TLSHM_ENOMEM;
}

int guard_attach(tlshm_t **out, const char *name, unsigned flags, struct tlshm_error *err)
{
    if (count == room) {
        size_t more = room == 0 ? 8 : 2 * room;
        tlshm_t **grown = realloc(guarded, more * sizeof(tlshm_t *));
        if (grown == NULL)
            return fail(err, name);
        guarded = grown;
        room = more;
    }
    if (count == 0 && !watch())
        return fail(err, name);
    int rc = tlshm_attach(out, name, flags, err);
    if (rc == 0)
        guarded[count++] = *out;
    return rc;
}

void guard_detach(tlshm_t *t)
{
    tlshm_detach(t); /* gives a seat back, in the segment: guarded to the end */
    for (size_t i = 0; i < count; i++)
        if (guarded[i] == t) {
            guarded[i] = guarded[--count];
            break;
        }
    if (count > 0)
        return;
    free(guarded);
    guarded = NULL;
    room = 0;
}
