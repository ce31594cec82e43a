/* SPDX-License-Identifier: MIT */
/* stage.c - one anonymous file, mapped by everybody; it is gone when the last process is. */
#include "stage.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

const char *const stage_levels[STAGE_LEVELS] = {"agent", "tenant", "global"};

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Sets the pointers (base may be NULL) and returns how many bytes the whole takes. */
static size_t arrange(struct stage *s, char *base, const struct stage_head *head)
{
    size_t scopes = rounded(sizeof *head);
    size_t models = scopes + rounded(head->scope_count * sizeof *s->scopes);
    size_t calls = models + rounded(head->model_count * sizeof *s->models);
    size_t ledger = calls + rounded(head->call_count * sizeof *s->calls);
    size_t desks = ledger + rounded(head->call_count * sizeof *s->ledger);
    if (base) {
        s->head = (struct stage_head *)base;
        s->scopes = (struct stage_scope *)(base + scopes);
        s->models = (struct stage_model *)(base + models);
        s->calls = (struct stage_call *)(base + calls);
        s->ledger = (volatile struct ledger_entry *)(base + ledger);
        s->desks = (struct stage_desk *)(base + desks);
    }
    return desks + rounded(head->desk_count * sizeof *s->desks);
}

static char *map(int fd, size_t bytes)
{
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

int stage_create(struct stage *s, const struct stage_head *head)
{
    size_t bytes = arrange(s, NULL, head);
    s->fd = memfd_create("tlshm-replay", MFD_CLOEXEC);
    if (s->fd < 0)
        return errno;
    char *base = ftruncate(s->fd, (off_t)bytes) == 0 ? map(s->fd, bytes) : NULL;
    if (!base) {
        int code = errno;
        close(s->fd);
        return code;
    }
    arrange(s, base, head);
    *s->head = *head;
    s->head->bytes = bytes;
    return 0;
}

int stage_map(struct stage *s, int fd)
{
    struct stage_head *head = mmap(NULL, sizeof *head, PROT_READ, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        return errno;
    size_t bytes = head->bytes;
    munmap(head, sizeof *head);
    char *base = map(fd, bytes);
    if (!base)
        return errno;
    s->fd = fd;
    arrange(s, base, (struct stage_head *)base);
    return 0;
}

void stage_end(struct stage *s)
{
    munmap(s->head, s->head->bytes);
    close(s->fd);
}

/* ---------------------------------------------------------------------------------------------------------- amounts */

static void fill(uint64_t input, uint64_t output, uint64_t nusd, tlshm_amounts *out)
{
    *out = (tlshm_amounts){{0}};
    out->of[TLSHM_TOKENS] = input + output;
    out->of[TLSHM_COST] = nusd;
    out->of[TLSHM_REQUESTS] = 1;
    out->of[TLSHM_INPUT_TOKENS] = input;
    out->of[TLSHM_OUTPUT_TOKENS] = output;
}

void stage_estimate(const struct stage *s, uint64_t number, tlshm_amounts *out)
{
    const struct stage_call *call = &s->calls[number];
    const volatile struct ledger_entry *entry = &s->ledger[number];
    fill(call->input, call->estimate_output, call->estimate_nusd, out);
    for (int unit = 0; entry->estimate.of[TLSHM_TOKENS] && unit < TLSHM_UNITS; unit++)
        out->of[unit] = unit == TLSHM_REQUESTS ? 1 : entry->estimate.of[unit];
}

void stage_actual(const struct stage_call *call, tlshm_amounts *out)
{
    fill(call->input, call->output, call->actual_nusd, out);
}

unsigned stage_scopes(const struct stage *s, const struct stage_call *call, const char *keys[STAGE_LEVELS])
{
    keys[0] = s->scopes[call->agent].key;
    keys[1] = s->scopes[call->tenant].key;
    keys[2] = "global:";
    return s->head->rules.global ? STAGE_LEVELS : STAGE_LEVELS - 1;
}
