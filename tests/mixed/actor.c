/* SPDX-License-Identifier: MIT */
/*
 * actor.c - the calls of the mixed run: every public call that changes a segment and most that look at it, on scopes of
 * which few are used often and some for the first and only time. See mixed.h.
 *
 * Nobody keeps books here: that is the storm's matter. An answer that is no legal one is a fault.
 */
#include "mixed.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <tlshm/config.h>
#include <unistd.h>

#define OWN 12 /* holds that a caller has in its hands */
#define USERS 120
#define TENANTS 40

/* One caller: a process's main thread, another thread, or a forked child. */
struct caller {
    struct mixed_board *board;
    tlshm_t *t;
    unsigned actor;
    bool changes; /* limits, too */
    uint64_t random;
    unsigned count;
    tlshm_id own[OWN];
};

void mixed_fault(struct mixed_board *board, const char *format, ...)
{
    va_list arguments;
    if (atomic_fetch_add(&board->faults, 1) != 0)
        return;
    va_start(arguments, format);
    vsnprintf(board->fault, sizeof board->fault, format, arguments);
    va_end(arguments);
}

/* xorshift64* */
static uint64_t below(struct caller *c, uint64_t n)
{
    c->random ^= c->random >> 12;
    c->random ^= c->random << 25;
    c->random ^= c->random >> 27;
    return (c->random * UINT64_C(0x2545f4914f6cdd1d) >> 16) % n;
}

/* Zipf's law: the r-th of n is chosen 1/r as often as the first one. Exact for n a power of two, near enough else. */
static unsigned zipf(struct caller *c, unsigned n)
{
    unsigned octaves = 0;
    while (n >> octaves > 1)
        octaves++;
    unsigned from = 1u << below(c, octaves + 1); /* each octave of ranks is as likely as any other */
    return (from + (unsigned)below(c, from) - 1) % n;
}

static void nap_us(unsigned us)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000L * (long)us}, NULL);
}

/* ------------------------------------------------------------------------------------------------------------ answers */

/* `or_else`: an error that is legal beside those that always are; 0 for none. */
static int expect(struct caller *c, const char *call, int rc, int or_else)
{
    atomic_fetch_add_explicit(&c->board->calls, 1, memory_order_relaxed);
    if (rc == -TLSHM_ENOROOM)
        atomic_fetch_add_explicit(&c->board->full, 1, memory_order_relaxed);
    else if (rc < 0 && rc != or_else)
        mixed_fault(c->board, "%s: %s", call, tlshm_error_name(rc));
    return rc;
}

/* --------------------------------------------------------------------------------------------------------- daily calls */

struct names {
    char text[4][40];
    tlshm_scope scope[4];
    unsigned count;
};

static void name_user(struct caller *c, char *buf, size_t size)
{
    snprintf(buf, size, "user:u%u", zipf(c, USERS));
}

/* A user and its tenant; sometimes all; sometimes an agent that is never seen again. */
static void pick_names(struct caller *c, struct names *n)
{
    n->count = 2;
    name_user(c, n->text[0], sizeof n->text[0]);
    snprintf(n->text[1], sizeof n->text[1], "tenant:t%u", zipf(c, TENANTS));
    if (below(c, 8) == 0)
        strcpy(n->text[n->count++], "global:");
    if (below(c, 16) == 0 && atomic_load(&c->board->fresh) < atomic_load(&c->board->fresh_most))
        snprintf(n->text[n->count++], sizeof n->text[0], "agent:once-%llu",
                 (unsigned long long)atomic_fetch_add(&c->board->fresh, 1));
    for (unsigned i = 0; i < n->count; i++)
        n->scope[i] = (tlshm_scope){.key = n->text[i]};
}

/* What there is no place for is forgotten, and expires. */
static void keep(struct caller *c, tlshm_id id)
{
    if (c->count < OWN)
        c->own[c->count++] = id;
}

static void reserve(struct caller *c)
{
    struct names n;
    char key[40];
    tlshm_id id = 0, again = 0;
    tlshm_refusal why;
    pick_names(c, &n);
    tlshm_request r = {.scopes = n.scope, .scope_count = n.count, .ttl_ns = MS(20 + below(c, 2000)), .tag = c->actor};
    r.estimate.of[TLSHM_TOKENS] = 1 + below(c, 900);
    r.estimate.of[TLSHM_COST] = below(c, 2) * below(c, 5000);
    r.estimate.of[TLSHM_TOOL_CALLS] = below(c, 16) / 15;
    r.flags = below(c, 4) == 0 ? TLSHM_FREE_ON_DEATH : 0;
    if (below(c, 5) == 0) {
        r.idempotency_len = (size_t)snprintf(key, sizeof key, "%llx", (unsigned long long)below(c, UINT64_MAX));
        r.idempotency_key = key;
    }
    int rc = expect(c, "reserve", tlshm_reserve(c->t, &r, &id, below(c, 4) == 0 ? &why : NULL), 0);
    if (rc == TLSHM_REFUSED)
        atomic_fetch_add_explicit(&c->board->refused, 1, memory_order_relaxed);
    if (rc != TLSHM_OK)
        return;
    keep(c, id);
    rc = r.idempotency_key ? expect(c, "repeat", tlshm_reserve(c->t, &r, &again, NULL), 0) : TLSHM_OK;
    /* Its hold may have expired, and its record have been given away: then it is a new one. */
    if (rc == TLSHM_OK && again != 0)
        keep(c, again);
}

/* One of its own, which it has no more after that; 0: none. */
static tlshm_id take(struct caller *c)
{
    if (c->count == 0)
        return 0;
    unsigned place = (unsigned)below(c, c->count);
    tlshm_id id = c->own[place];
    c->own[place] = c->own[--c->count];
    return id;
}

static void end(struct caller *c)
{
    tlshm_id id = take(c);
    tlshm_result result;
    tlshm_amounts actual = {{below(c, 1200), below(c, 3000)}};
    if (id == 0 || below(c, 48) == 0) /* some are forgotten, and expire */
        return;
    if (below(c, 4) == 0)
        expect(c, "refund", tlshm_refund(c->t, id, &result), -TLSHM_EUNKNOWN);
    else
        expect(c, "settle", tlshm_settle(c->t, id, &actual, (enum tlshm_outcome)below(c, 3), &result), -TLSHM_EUNKNOWN);
}

static void extend(struct caller *c)
{
    tlshm_amounts more = {{1 + below(c, 50)}};
    if (c->count > 0)
        expect(c, "extend",
               tlshm_extend(c->t, c->own[below(c, c->count)], below(c, 2) ? &more : NULL, MS(1 + below(c, 1000)), NULL),
               -TLSHM_EUNKNOWN);
}

/* ------------------------------------------------------------------------------------------------------------- looks */

static void look(struct caller *c)
{
    char key[40];
    tlshm_scope_usage usage;
    tlshm_segment_info info;
    tlshm_reservation_info reservation;
    tlshm_handle handle;
    uint64_t cursor = below(c, 100);
    int64_t left;
    name_user(c, key, sizeof key);
    expect(c, "usage", tlshm_usage(c->t, key, 0, &usage), 0);
    expect(c, "remaining", tlshm_remaining(c->t, key, 0, (enum tlshm_unit)below(c, TLSHM_UNITS), &left), 0);
    expect(c, "next", tlshm_reservation_next(c->t, &cursor, &reservation), 0);
    if (expect(c, "resolve", tlshm_resolve(c->t, key, 0, &handle), 0) == 0)
        expect(c, "remaining of a handle", tlshm_remaining_handle(c->t, handle, TLSHM_TOKENS, &left), -TLSHM_ESTALE);
    if (below(c, 16) == 0)
        expect(c, "segment", tlshm_get_segment(c->t, &info), 0);
    if (c->count > 0)
        expect(c, "reservation", tlshm_reservation(c->t, c->own[0], &reservation), -TLSHM_EUNKNOWN);
}

/* ----------------------------------------------------------------------------------------------------------- changes */

static const char *const files[2] = {
    "tiers: {free: [tokens 20k per 1s/10, concurrency 40], paid: [tokens 90k per 2s/20, requests 900 per 1s/5]}\n"
    "levels: {user: free, agent: free, tenant: paid}\n"
    "scopes: {\"user:u3\": paid, \"tenant:t1\": [tokens 200k per 1s/10, cost $1 per 2s/4]}\n",
    "tiers: {free: [tokens 9k per 1s/5], paid: [tokens 120k per 1s/10], rich: [tokens unlimited per 1s/10]}\n"
    "levels: {user: free, agent: free, tenant: rich}\n"
    "scopes: {\"user:u5\": [tokens 30k per 2s/8], \"tenant:t2\": paid}\nunlisted_scopes: keep\n",
};

static void apply(struct caller *c)
{
    const char *text = files[below(c, 2)];
    tlshm_config *config = NULL;
    struct tlshm_error err = {0};
    int rc = tlshm_config_parse(&config, text, strlen(text), NULL, NULL, &err);
    if (rc != 0) {
        mixed_fault(c->board, "a configuration: %s", err.text);
        return;
    }
    rc = tlshm_config_apply(c->t, config, NULL, NULL, &err);
    tlshm_config_free(config);
    if (expect(c, "apply", rc, -TLSHM_ECONTENDED) >= 0)
        atomic_fetch_add(&c->board->applied, 1);
}

static void change_scope(struct caller *c)
{
    static const char *const menu[] = {"tokens 10k per 1s/10", "tokens 50k per 2s/20", "concurrency 30"};
    char key[40];
    tlshm_limit list[2] = {limit_of(menu[below(c, 3)]), limit_of("requests 500 per 1s/4")};
    name_user(c, key, sizeof key);
    switch (below(c, 5)) {
    case 0:
        expect(c, "scope_limits_set", tlshm_scope_limits_set(c->t, key, 0, list, (unsigned)below(c, 3)), 0);
        break;
    case 1:
        expect(c, "limit_set", tlshm_limit_set(c->t, key, 0, list), 0);
        break;
    case 2:
        expect(c, "limit_unset", tlshm_limit_unset(c->t, key, 0, list), -TLSHM_ENOENT);
        break;
    default: /* back to the default twice as often: lists come back */
        expect(c, "scope_tier_set", tlshm_scope_tier_set(c->t, key, 0, NULL), 0);
    }
}

static void change(struct caller *c)
{
    char key[40];
    tlshm_limit limit = limit_of("tokens 70k per 1s/10");
    name_user(c, key, sizeof key);
    switch (below(c, 8)) {
    case 0:
        apply(c);
        break;
    case 1:
        expect(c, "tier_set", tlshm_tier_set(c->t, "extra", &limit, 1), 0);
        expect(c, "tier_unset", tlshm_tier_unset(c->t, "extra"), -TLSHM_ENOENT);
        break;
    case 2:
        expect(c, "scope_pause", tlshm_scope_pause(c->t, key, 0, 1), 0);
        expect(c, "scope_pause", tlshm_scope_pause(c->t, key, 0, 0), 0);
        break;
    case 3:
        expect(c, "overrun_set", tlshm_overrun_set(c->t, (enum tlshm_overrun)below(c, 2)), 0);
        break;
    default:
        change_scope(c);
    }
}

static void step(struct caller *c)
{
    uint64_t what = below(c, 64);
    if (what < 28 && c->count < OWN)
        reserve(c);
    else if (what < 52)
        end(c);
    else if (what < 57)
        extend(c);
    else if (what < 62 || !c->changes)
        look(c);
    else
        change(c);
}

/* -------------------------------------------------------------------------------------------------- threads, children */

static void *call_in_thread(void *context)
{
    struct caller c = *(struct caller *)context;
    for (unsigned i = 0; i < 60; i++)
        step(&c);
    return NULL;
}

static void start_threads(struct caller *c)
{
    pthread_t threads[3];
    struct caller of[3];
    for (unsigned i = 0; i < 3; i++) {
        of[i] = (struct caller){c->board, c->t, c->actor, .random = below(c, UINT64_MAX) | 1};
        MUST(pthread_create(&threads[i], NULL, call_in_thread, &of[i]) == 0, "no thread");
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    atomic_fetch_add(&c->board->threads, 3);
}

/* It is killed as often as it ends by itself. */
static void start_child(struct caller *c)
{
    uint64_t patience = below(c, 4000);
    pid_t parent = getpid(), pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        c->random ^= (uint64_t)getpid() << 20;
        for (unsigned i = 0; i < 60 && getppid() == parent; i++)
            step(c);
        if (patience % 2 == 0)
            pause();
        _exit(0);
    }
    nap_us((unsigned)patience);
    if (patience % 2 == 0)
        kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        mixed_fault(c->board, "a child ended with status %x", (unsigned)status);
    atomic_fetch_add(&c->board->children, 1);
}

/* -------------------------------------------------------------------------------------------------------------- lives */

static void join(struct caller *c)
{
    struct tlshm_error err;
    MUST(tlshm_attach(&c->t, c->board->path, 0, &err) == 0, "attach: %s", err.text);
    atomic_fetch_add(&c->board->attached, 1);
}

static void attach_anew(struct caller *c)
{
    tlshm_detach(c->t);
    join(c);
}

/* Stands still while all do. */
static void rest(struct caller *c)
{
    if (!atomic_load(&c->board->rest))
        return;
    atomic_store(&c->board->actor[c->actor].resting, 1);
    while (atomic_load(&c->board->rest))
        nap_us(500);
    atomic_store(&c->board->actor[c->actor].resting, 0);
}

void mixed_live(struct mixed_board *board, unsigned index, enum mixed_role role, uint64_t seed)
{
    struct caller c = {.board = board, .actor = index, .changes = role == MIXED_MORTAL};
    c.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    join(&c);
    for (uint64_t n = 1;; n++) {
        rest(&c);
        if (role == MIXED_REAPER) {
            expect(&c, "reap", tlshm_reap(c.t, NULL), 0);
            nap_us(5000);
            continue;
        }
        step(&c);
        if (n % 64 == 0)
            nap_us(1000);
        if (role != MIXED_PARENT ? n % 4096 == 0 : n % 2048 == 0)
            attach_anew(&c);
        if (role == MIXED_PARENT && n % 64 == 0)
            start_threads(&c);
        if (role == MIXED_PARENT && n % 128 == 0)
            start_child(&c);
    }
}
