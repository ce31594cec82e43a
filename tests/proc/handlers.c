/* SPDX-License-Identifier: MIT */
/*
 * handlers.c - a signal comes at each access of each call, and its handler calls in. What writes is told that it
 * interrupted a call, or gets through where none had begun; what looks works; a child that is forked there uses a seat of
 * its own and ends. The call that was interrupted ends as if nothing had been.
 */
#include "space.h"

#include "atomic.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <tlshm/stats.h>
#include <unistd.h>

#define ACCESSES_MAX 4000 /* more than the longest call here makes */
#define FORKS 24          /* of a call, at its first accesses and then at some */

static struct space space;
static tlshm_handle own; /* what handlers use */
static tlshm_id kept;

static struct {
    volatile sig_atomic_t inside, forks;
    volatile unsigned sent_away, through, wrong;
} handler;

static long until = -1; /* accesses to come before the signal; -1: none */

void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)access;
    (void)address;
    if (until >= 0 && until-- == 0)
        raise(SIGUSR1);
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address;
    (void)expected;
    (void)desired;
    (void)done;
}

/* ---------------------------------------------------------------------------------------------------------- a handler */

/* 0: it got through, and has given back what it had. */
static int reserve_and_refund(void)
{
    const tlshm_scope scope = {.handle = own};
    tlshm_request request = TLSHM_REQUEST_INIT;
    tlshm_id id = 0;
    request.scopes = &scope;
    request.scope_count = 1;
    request.estimate.of[TLSHM_TOKENS] = 1;
    int rc = tlshm_reserve(space.t, &request, &id, NULL);
    return rc == TLSHM_OK ? tlshm_refund(space.t, id, NULL) : rc;
}

static bool told(int rc, int otherwise)
{
    return rc == -TLSHM_EREENTRANT || rc == otherwise;
}

static void call_in(void)
{
    const tlshm_amounts none = {{0}}, one = {{1}};
    int rc = reserve_and_refund();
    bool right = told(rc, TLSHM_OK);
    handler.through += rc == TLSHM_OK;
    handler.sent_away += rc == -TLSHM_EREENTRANT;
    right &= told(tlshm_settle(space.t, UINT64_MAX >> 8, &none, TLSHM_EXACT, NULL), -TLSHM_EUNKNOWN);
    right &= told(tlshm_refund(space.t, UINT64_MAX >> 8, NULL), -TLSHM_EUNKNOWN);
    right &= told(tlshm_extend(space.t, UINT64_MAX >> 8, &one, 0, NULL), -TLSHM_EUNKNOWN);
    if (rc == -TLSHM_EREENTRANT)
        tlshm_thread_release(space.t); /* the seat is in use: nothing happens */
    handler.wrong += right ? 0 : 1;
}

static void look_around(void)
{
    int64_t left;
    tlshm_reservation_info info;
    tlshm_segment_info segment;
    bool right = tlshm_remaining_handle(space.t, own, TLSHM_TOKENS, &left) == 0 && left == 50;
    right &= tlshm_reservation(space.t, kept, &info) == 0 && info.tag == 7;
    right &= tlshm_get_segment(space.t, &segment) == 0;
    handler.wrong += right ? 0 : 1;
}

/* It ends here: the call that was interrupted is its parent's. */
static void fork_one(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(told(reserve_and_refund(), TLSHM_OK) ? 0 : 1);
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    handler.wrong += status == 0 ? 0 : 1;
}

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    handler.inside++;
    call_in();
    look_around();
    if (handler.forks > 0) {
        fork_one();
        handler.forks--;
    }
    errno = saved;
}

/* ----------------------------------------------------------------------------------------------------------- the calls */

static int reserve(const char *scopes, const char *amounts, tlshm_id *id, tlshm_refusal *why)
{
    struct ask a;
    ask_for(&a, scopes, amounts);
    a.request.tag = 7;
    return tlshm_reserve(space.t, &a.request, id, why);
}

static int call_reserve(void)
{
    tlshm_id id;
    return reserve("agent:a tenant:t", "tokens=2", &id, NULL);
}

static int call_reserve_new(void)
{
    tlshm_id id;
    return reserve("agent:a user:new", "tokens=2", &id, NULL);
}

static int call_refused(void)
{
    tlshm_id id;
    tlshm_refusal why;
    return reserve("agent:a tenant:t", "tokens=1001", &id, &why) == TLSHM_REFUSED ? 0 : -1;
}

static int call_settle(void)
{
    const tlshm_amounts use = {{3}};
    return tlshm_settle(space.t, kept, &use, TLSHM_EXACT, NULL);
}

static int call_extend(void)
{
    const tlshm_amounts more = {{3}};
    return tlshm_extend(space.t, kept, &more, 0, NULL);
}

static int call_first(void)
{
    tlshm_thread_release(space.t);
    return call_reserve();
}

static int call_limit(void)
{
    const tlshm_limit limit = limit_of("tokens 77 per 1h");
    return tlshm_limit_set(space.t, "tenant:t", 0, &limit);
}

static int call_reap(void)
{
    return tlshm_reap(space.t, NULL);
}

static const struct call {
    const char *name;
    int (*make)(void);
    uint64_t held, used; /* of agent:a, afterwards */
} calls[] = {
    {"reserve", call_reserve, 3, 0},   {"reserve on a new scope", call_reserve_new, 3, 0},
    {"a refusal", call_refused, 1, 0}, {"settle", call_settle, 0, 3},
    {"extend", call_extend, 4, 0},     {"a thread's first call", call_first, 3, 0},
    {"set a limit", call_limit, 1, 0}, {"reap", call_reap, 1, 0},
};
#define CALLS (sizeof calls / sizeof calls[0])

static void open_used(void)
{
    const tlshm_geometry g = space_tiny_geometry();
    space_open(&space, &g);
    space_limits(&space, "agent:a", "tokens 1000 per 1m/4");
    space_limits(&space, "agent:own", "tokens 50 per 1m/4");
    MUST(tlshm_resolve(space.t, "agent:own", 0, &own) == 0, "resolve");
    MUST(reserve("agent:a tenant:t", "tokens=1", &kept, NULL) == TLSHM_OK, "reserve");
}

/* A call with a signal at one of its accesses. False when it makes fewer. */
static bool interrupt_one(const struct call *call, long after, bool forks, unsigned *wrong)
{
    open_used();
    handler.inside = 0;
    handler.wrong = 0;
    handler.forks = forks;
    until = after;
    int rc = call->make();
    until = -1;
    const tlshm_scope_usage a = space_usage(&space, "agent:a"), mine = space_usage(&space, "agent:own");
    bool right = rc == 0 && handler.wrong == 0 && a.held[TLSHM_TOKENS] == call->held &&
                 a.used[TLSHM_TOKENS] == call->used && mine.held[TLSHM_TOKENS] == 0 &&
                 mine.held[TLSHM_CONCURRENCY] == 0;
    right &= tlshm_verify(space.t, NULL, NULL, NULL) == 0 && reserve_and_refund() == TLSHM_OK;
    *wrong += right ? 0 : 1;
    if (!right)
        printf("# %s interrupted at access %ld: %s, %u wrong in the handler\n", call->name, after,
               rc < 0 ? tlshm_error_name(rc) : "no error", handler.wrong);
    space_close(&space);
    return handler.inside != 0;
}

static void interrupt_every_call(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        unsigned wrong = 0;
        long after = 0;
        handler.sent_away = handler.through = 0;
        while (after < ACCESSES_MAX && interrupt_one(&calls[i], after, after < FORKS || after % 16 == 0, &wrong))
            after += after < 128 ? 1 : after / 16; /* the long ones are walks: alike from here on */
        tap_ok(handler.sent_away > 5 && wrong == 0,
               "%s: interrupted at %ld accesses, %u handlers sent away, %u through", calls[i].name, after,
               handler.sent_away, handler.through);
    }
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    tap_begin(240);
    MUST(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction: %s", strerror(errno));
    interrupt_every_call();
    return tap_end();
}
