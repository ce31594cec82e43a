/* SPDX-License-Identifier: MIT */
/*
 * truncated.c - the file is cut short while it is mapped: with a handler that calls tlshm_fault() every call under way ends
 * with an error, admits nobody, and the process goes on with its other segments. Cuts come at each access of a call.
 */
#include "crew.h"
#include "space.h"

#include "atomic.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <tlshm/stats.h>
#include <unistd.h>

#define ACCESSES_MAX 4000 /* more than the longest call here makes */

static struct space space, other;
static volatile sig_atomic_t faults;

/* ------------------------------------------------------------------------------------------------------------- the cut */

static __thread struct {
    long after; /* accesses to come before the cut; -1: none */
    off_t size;
    bool made;
} cut = {.after = -1};

void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)access;
    (void)address;
    if (cut.after >= 0 && cut.after-- == 0)
        cut.made = truncate(space.path, cut.size) == 0;
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address;
    (void)expected;
    (void)desired;
    (void)done;
}

/* As the manual has it. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    faults++;
    if (tlshm_fault(space.t, info->si_addr) || tlshm_fault(other.t, info->si_addr))
        return;
    signal(number, SIG_DFL);
}

static void guard(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    MUST(sigaction(SIGBUS, &action, NULL) == 0, "sigaction");
}

/* ----------------------------------------------------------------------------------------------------------- the calls */

static tlshm_id kept;

static int call_reserve(void)
{
    struct ask a;
    tlshm_id id = 77;
    int rc = tlshm_reserve(space.t, ask_for(&a, "agent:a tenant:t user:new", "tokens=2"), &id, NULL);
    MUST(rc == TLSHM_OK || id == 77, "an id was written on %s", tlshm_error_name(rc));
    return rc;
}

static int call_settle(void)
{
    tlshm_amounts use = {{3}};
    return tlshm_settle(space.t, kept, &use, TLSHM_EXACT, NULL);
}

static int call_extend(void)
{
    tlshm_amounts more = {{3}};
    return tlshm_extend(space.t, kept, &more, 0, NULL);
}

static int call_limits(void)
{
    tlshm_limit limit = limit_of("tokens 77 per 1h");
    return tlshm_limit_set(space.t, "tenant:t", 0, &limit);
}

static int call_reap(void)
{
    return tlshm_reap(space.t, NULL);
}

static int call_usage(void)
{
    tlshm_scope_usage usage;
    return tlshm_usage(space.t, "agent:a", 0, &usage);
}

static int call_would_fit(void)
{
    struct ask a;
    tlshm_refusal why = {.scope = 77};
    int rc = tlshm_would_fit(space.t, ask_for(&a, "agent:a tenant:t user:new", "tokens=1000"), &why);
    MUST(rc == TLSHM_REFUSED || why.scope == 77, "a refusal was written on %s", tlshm_error_name(rc));
    return rc;
}

static int call_refused(void)
{
    struct ask a;
    tlshm_refusal why = {.scope = 77};
    tlshm_id id = 77;
    int rc = tlshm_reserve(space.t, ask_for(&a, "agent:a tenant:t", "tokens=1000"), &id, &why);
    MUST(id == 77 && (rc == TLSHM_REFUSED || why.scope == 77), "an output was written on %s", tlshm_error_name(rc));
    return rc;
}

static int call_refused_more(void)
{
    tlshm_amounts more = {{1000}};
    tlshm_refusal why = {.scope = 77};
    int rc = tlshm_extend(space.t, kept, &more, 0, &why);
    MUST(rc == TLSHM_REFUSED || why.scope == 77, "a refusal was written on %s", tlshm_error_name(rc));
    return rc;
}

static int call_verify(void)
{
    return tlshm_verify(space.t, NULL, NULL, NULL);
}

static int call_segment(void)
{
    tlshm_segment_info info;
    return tlshm_get_segment(space.t, &info);
}

static int call_refund(void)
{
    return tlshm_refund(space.t, kept, NULL);
}

static const struct call {
    const char *name;
    int (*make)(void);
    bool admits;
} calls[] = {
    {"reserve", call_reserve, true},
    {"settle", call_settle, false},
    {"extend", call_extend, true},
    {"refund", call_refund, false},
    {"set a limit", call_limits, false},
    {"reap", call_reap, false},
    {"usage", call_usage, false},
    {"verify", call_verify, false},
    {"segment", call_segment, false},
    {"would fit", call_would_fit, true},
    {"reserve of too much", call_refused, true},
    {"extend by too much", call_refused_more, true},
};
#define CALLS (sizeof calls / sizeof calls[0])

static void open_used(void)
{
    struct ask a;
    const tlshm_geometry g = space_tiny_geometry();
    space_open(&space, &g);
    space_limits(&space, "agent:a", "tokens 1000 per 1m/4");
    MUST(tlshm_reserve(space.t, ask_for(&a, "agent:a tenant:t", "tokens=1"), &kept, NULL) == TLSHM_OK, "reserve");
}

/* The call with the file cut at one of its accesses. False when it makes fewer. */
static bool cut_one(const struct call *call, long after, off_t size, unsigned *wrong)
{
    struct ask a;
    tlshm_id id;
    open_used();
    faults = 0;
    cut.size = size;
    cut.made = false;
    cut.after = after;
    int rc = call->make();
    cut.after = -1;
    bool made = cut.made, lost = faults > 0;
    if (made) {
        bool right = lost ? rc == -TLSHM_ETRUNCATED : rc >= 0;
        right &= tlshm_stale(space.t) == -TLSHM_ETRUNCATED && faults <= 1;
        /* From here on it is known, at the latest when the call that finds out has ended. */
        right &= call_verify() == -TLSHM_ETRUNCATED && call_reserve() == -TLSHM_ETRUNCATED;
        *wrong += right ? 0 : 1;
        if (!right)
            printf("# %s cut at access %ld: %s, %d faults\n", call->name, after, tlshm_error_name(rc), (int)faults);
    }
    space_close(&space);
    int rc_other = tlshm_reserve(other.t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL);
    *wrong += rc_other == TLSHM_OK && tlshm_refund(other.t, id, NULL) == TLSHM_OK ? 0 : 1;
    return made;
}

static void cut_in_every_call(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        unsigned wrong = 0, cuts = 0;
        long after = 0, step = 1;
        while (after < ACCESSES_MAX && cut_one(&calls[i], after, after % 2 != 0 ? 0 : 4096, &wrong)) {
            cuts++;
            step = after < 64 ? 1 : after / 8; /* the long ones are walks: alike from here on */
            after += step;
        }
        tap_ok(cuts > 5 && wrong == 0, "%s: cut at %u of its accesses", calls[i].name, cuts);
    }
}

/* --------------------------------------------------------------------------------------------------------------- threads */

static void *work(void *context)
{
    struct ask a;
    tlshm_id id;
    int rc;
    ask_for(&a, "agent:a tenant:t", "tokens=1");
    do {
        rc = tlshm_reserve(space.t, &a.request, &id, NULL);
        atomic_fetch_add((_Atomic unsigned *)context, 1);
        if (rc == TLSHM_OK)
            tlshm_refund(space.t, id, NULL);
    } while (rc >= 0);
    return rc == -TLSHM_ETRUNCATED ? NULL : context;
}

static void cut_under_threads(void)
{
    pthread_t threads[4];
    _Atomic unsigned count = 0;
    unsigned wrong = 0;
    space_open(&space, NULL);
    for (unsigned i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, work, &count) == 0, "thread");
    while (atomic_load(&count) < 100)
        sched_yield();
    MUST(truncate(space.path, 0) == 0, "truncate");
    for (unsigned i = 0; i < 4; i++) {
        void *result = &count;
        pthread_join(threads[i], &result);
        wrong += result != NULL ? 1 : 0;
    }
    tap_equal(wrong, 0, "four threads inside of calls are told");
    space_close(&space);
}

/* ------------------------------------------------------------------------------------------------------- read-only, none */

static void cut_under_a_looker(void)
{
    struct space writer;
    int64_t left = 5;
    open_used();
    writer = space;
    MUST(tlshm_attach(&space.t, space.path, TLSHM_READONLY, NULL) == 0, "read-only");
    MUST(truncate(space.path, 0) == 0, "truncate");
    tap_ok(tlshm_remaining(space.t, "agent:a", 0, TLSHM_TOKENS, &left) == -TLSHM_ETRUNCATED && left == 5,
           "a read-only attachment is told as well");
    tlshm_detach(space.t);
    space = writer;
    call_usage();
    space_close(&space);
}

static void cut_without_a_handler(void)
{
    open_used();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        MUST(truncate(space.path, 0) == 0, "truncate");
        call_usage();
        _exit(0);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child, "waitpid");
    /* A sanitizer has a handler of its own, and ends the process itself. */
    tap_ok(WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0,
           "without a handler the signal ends the process");
    space_close(&space);
}

static void addresses_that_are_not_ours(void)
{
    open_used();
    tap_equal((unsigned)tlshm_fault(space.t, &space), 0, "another address is not ours");
    tap_equal((unsigned)tlshm_fault(NULL, &space), 0, "nor is any without an attachment");
    tap_equal((unsigned)tlshm_stale(space.t), 0, "and nothing is lost by asking");
    tap_equal((unsigned)call_reserve(), TLSHM_OK, "calls go on");
    space_close(&space);
}

int main(void)
{
    tap_begin(300);
    guard();
    space_open(&other, NULL);
    addresses_that_are_not_ours();
    cut_in_every_call();
    cut_under_threads();
    cut_under_a_looker();
    cut_without_a_handler();
    tap_equal((unsigned)tlshm_verify(other.t, NULL, NULL, NULL), 0, "the other segment is sound");
    space_close(&other);
    return tap_end();
}
