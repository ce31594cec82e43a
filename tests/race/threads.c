/* SPDX-License-Identifier: MIT */
/*
 * threads.c - the storm's calls on threads over one mapping, for the sanitizers: threads that come and go, a fork in the
 * middle, two segments at once, attachments made and ended beside the others, overrun rules swapped, and signal handlers
 * that interrupt calls and call in themselves. After each round the books of both segments are audited.
 */
#include "books.h"
#include "crew.h"
#include "mix.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 6
#define ROUND_MS 400
#define STEPS 400         /* of one thread, then it ends */
#define TAGS_A_ROUND 2500 /* the table of reservations must last for the rounds that books stay open */
#define SIGNAL_US 700
#define SEGMENTS 2
#define CHILD (THREADS + 1) /* the actor that a forked child is; THREADS is the main thread */
#define ALARM_S 240

static struct shared {
    struct space space;
    struct ledger *ledger;
    struct books *books;
    tlshm_handle signal_scope;
    _Atomic uint64_t handled, refused_to; /* signals whose handler got through; calls that were told EREENTRANT */
} shared[SEGMENTS];

static _Atomic bool over;
static _Atomic uint64_t started, attached, forked;
static _Atomic unsigned handler_faults;

/* -------------------------------------------------------------------------------------------------------- a handler */

/* It may have interrupted a call on the same thread: then it is told so, and nothing else happens. */
static void handle(struct shared *s)
{
    tlshm_scope scope = {.handle = s->signal_scope};
    tlshm_request request = TLSHM_REQUEST_INIT;
    tlshm_id id = 0;
    request.scopes = &scope;
    request.scope_count = 1;
    request.estimate.of[TLSHM_TOKENS] = 1;
    int rc = tlshm_reserve(s->space.t, &request, &id, NULL);
    if (rc == TLSHM_OK) {
        rc = tlshm_settle(s->space.t, id, &request.estimate, TLSHM_EXACT, NULL);
        atomic_fetch_add(&s->handled, 1);
    } else if (rc == -TLSHM_EREENTRANT) {
        rc = 0;
        atomic_fetch_add(&s->refused_to, 1);
    }
    if (rc != TLSHM_OK)
        atomic_fetch_add(&handler_faults, 1);
}

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    for (unsigned i = 0; i < SEGMENTS; i++)
        handle(&shared[i]);
    errno = saved;
}

static timer_t start_timer(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec period = {{.tv_nsec = 1000L * SIGNAL_US}, {.tv_nsec = 1000L * SIGNAL_US}};
    timer_t timer;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction: %s", strerror(errno));
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create: %s", strerror(errno));
    MUST(timer_settime(timer, 0, &period, NULL) == 0, "timer_settime: %s", strerror(errno));
    return timer;
}

static void block_signal(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

/* ---------------------------------------------------------------------------------------------------------- threads */

/* A thread works with both segments, through the common attachments or, now and then, through some of its own. */
struct worker {
    pthread_t thread;
    unsigned actor;
    uint64_t seed;
    bool own;
    bool hears; /* signals */
    _Atomic bool ended;
};

static tlshm_t *attachment(const struct shared *s, bool own)
{
    if (!own)
        return s->space.t;
    atomic_fetch_add(&attached, 1);
    return space_attach(&s->space);
}

/* A handler must not be the first to call on its thread: so the seats are there before signals come, and stay. */
static void hear(struct mix *mix)
{
    tlshm_handle handle;
    for (unsigned i = 0; i < SEGMENTS; i++) {
        MUST(tlshm_resolve(shared[i].space.t, "global:", 0, &handle) == 0, "resolve");
        mix[i].stays = true;
    }
    block_signal(SIG_UNBLOCK);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct mix mix[SEGMENTS];
    for (unsigned i = 0; i < SEGMENTS; i++)
        mix_begin(&mix[i], shared[i].ledger, attachment(&shared[i], w->own), w->actor, w->seed + i);
    if (w->hears)
        hear(mix);
    for (unsigned step = 0; step < STEPS && !atomic_load(&over); step++)
        mix_step(&mix[step % SEGMENTS]);
    block_signal(SIG_BLOCK);
    for (unsigned i = 0; i < SEGMENTS && w->own; i++)
        tlshm_detach(mix[i].t);
    atomic_store(&w->ended, true);
    return NULL;
}

static void start(struct worker *w, unsigned actor, uint64_t *random)
{
    w->actor = actor;
    w->seed = mix_below(random, UINT64_C(1) << 40);
    w->own = mix_below(random, 4) == 0;
    w->hears = mix_below(random, 3) != 0;
    atomic_store(&w->ended, false);
    int rc = pthread_create(&w->thread, NULL, work, w);
    MUST(rc == 0, "pthread_create: %s", strerror(rc));
    atomic_fetch_add(&started, 1);
}

/* ------------------------------------------------------------------------------------------- what the main thread does */

static uint64_t charge_actual(void *context, enum tlshm_unit unit, uint64_t estimate, uint64_t actual)
{
    (void)unit;
    (void)estimate;
    return context == &shared[0] || context == &shared[1] ? actual : UINT64_MAX;
}

static void swap_rule(struct shared *s, uint64_t *random)
{
    bool none = mix_below(random, 3) == 0;
    int rc = tlshm_overrun_function_set(s->space.t, none ? NULL : charge_actual, s);
    MUST(rc == 0, "overrun: %s", tlshm_error_name(rc));
}

/*
 * A forked child knows of its parent's threads, and those that had ended and were not joined yet it can never join:
 * ThreadSanitizer would call them leaked when the child ends.
 */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}

/* The child is one more actor on seats of its own, while the threads of its parent go on. */
static void fork_child(uint64_t seed)
{
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        struct mix mix[SEGMENTS];
        for (unsigned i = 0; i < SEGMENTS; i++)
            mix_begin(&mix[i], shared[i].ledger, shared[i].space.t, CHILD, seed);
        for (unsigned step = 0; step < STEPS / 4; step++)
            mix_step(&mix[step % SEGMENTS]);
        _exit(0);
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0)
        MUST(errno == EINTR, "waitpid: %s", strerror(errno));
    MUST(status == 0, "the child ended with %x", (unsigned)status);
    atomic_fetch_add(&forked, 1);
}

static void verify_found(void *context, const char *text)
{
    ledger_fault(context, "verify: %s", text);
}

static void verify(struct shared *s)
{
    int rc = tlshm_verify(s->space.t, verify_found, s->ledger, NULL);
    if (rc < 0)
        ledger_fault(s->ledger, "verify: %s", tlshm_error_name(rc));
}

static void meddle(struct shared *s, uint64_t *random)
{
    space_at(&s->space, s->space.now + mix_below(random, MS(20)));
    mix_look_strict(s->ledger, s->space.t);
    if (mix_below(random, 4) == 0)
        swap_rule(s, random);
    if (mix_below(random, 10) == 0)
        verify(s);
    if (mix_below(random, 10) == 0)
        MUST(tlshm_reap(s->space.t, NULL) == 0, "reap");
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Threads that ended are followed by others until the round is over. */
static void play_round(uint64_t *random)
{
    struct worker workers[THREADS];
    uint64_t end = now_ms() + ROUND_MS;
    atomic_store(&over, false);
    for (unsigned i = 0; i < THREADS; i++)
        start(&workers[i], i, random);
    for (unsigned pass = 0; now_ms() < end || pass < 20; pass++) {
        for (unsigned i = 0; i < SEGMENTS; i++)
            meddle(&shared[i], random);
        if (FORK_BESIDE_THREADS && pass % 16 == 3)
            fork_child(mix_below(random, 1000000));
        for (unsigned i = 0; i < THREADS; i++)
            if (atomic_load(&workers[i].ended)) {
                pthread_join(workers[i].thread, NULL);
                start(&workers[i], i, random);
            }
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    fork_child(mix_below(random, 1000000));
}

/* ------------------------------------------------------------------------------------------------------------- audits */

static void audit(struct shared *s)
{
    MUST(tlshm_reap(s->space.t, NULL) == 0, "reap");
    books_audit(s->books, true);
    verify(s);
    books_turn(s->books, false, TAGS_A_ROUND);
}

static void set_up(struct shared *s)
{
    tlshm_geometry g = space_geometry();
    g.reservations = 8 * TAGS_A_ROUND;
    g.scopes = 512;
    space_open(&s->space, &g);
    s->ledger = crew_share(sizeof *s->ledger);
    ledger_begin(s->ledger, &s->space, TAGS_A_ROUND);
    s->books = books_open(s->ledger, s->space.t, 1);
    MUST(tlshm_resolve(s->space.t, "agent:signal", 0, &s->signal_scope) == 0, "resolve");
    MUST(tlshm_scope_limits_set(s->space.t, "agent:signal", 0, NULL, 0) == 0, "limits");
}

static void report(struct shared *s)
{
    tlshm_segment_info info;
    tlshm_scope_usage usage = space_usage(&s->space, "agent:signal");
    uint64_t handled = atomic_load(&s->handled);
    MUST(tlshm_get_segment(s->space.t, &info) == 0, "segment");
    printf(
        "# %llu calls, %llu admitted, %llu retries; handlers: %llu got through, %llu were told that they interrupted\n",
        (unsigned long long)atomic_load(&s->ledger->operations), (unsigned long long)info.counters.admitted,
        (unsigned long long)info.counters.retries, (unsigned long long)handled,
        (unsigned long long)atomic_load(&s->refused_to));
    tap_equal(atomic_load(&s->ledger->faults), 0, "everything adds up in %llu audits",
              (unsigned long long)s->books->audits);
    if (atomic_load(&s->ledger->faults) != 0)
        printf("# %s\n", s->ledger->fault);
    tap_ok(atomic_load(&s->ledger->operations) > STEPS, "threads got through");
    tap_equal(usage.used[TLSHM_TOKENS], handled, "signal handlers charged what they settled");
    tap_equal(usage.held[TLSHM_TOKENS], 0, "and hold nothing");
    tap_equal(info.seats_taken, 1, "all seats but the main thread's are back");
}

int main(void)
{
    uint64_t random = 88172645463325252;
    tap_begin(ALARM_S);
    block_signal(SIG_BLOCK);
    for (unsigned i = 0; i < SEGMENTS; i++)
        set_up(&shared[i]);
    timer_t timer = start_timer();
    for (unsigned round = 0; round < ROUNDS; round++) {
        play_round(&random);
        for (unsigned i = 0; i < SEGMENTS; i++)
            audit(&shared[i]);
    }
    timer_delete(timer);
    for (unsigned i = 0; i < SEGMENTS; i++)
        report(&shared[i]);
    tap_equal(atomic_load(&handler_faults), 0, "no call of a handler went wrong");
    tap_ok(atomic_load(&started) > THREADS && atomic_load(&attached) != 0 && atomic_load(&forked) != 0,
           "%llu threads, %llu attachments of their own, %llu children", (unsigned long long)atomic_load(&started),
           (unsigned long long)atomic_load(&attached), (unsigned long long)atomic_load(&forked));
    for (unsigned i = 0; i < SEGMENTS; i++) {
        books_close(shared[i].books);
        space_close(&shared[i].space);
    }
    return tap_end();
}
