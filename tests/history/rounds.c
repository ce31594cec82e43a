/* SPDX-License-Identifier: MIT */
/* rounds.c - a few workers make a few calls each, as processes or threads; some are killed. Then at rest all is looked at. */
#include "calls.h"
#include "crew.h"
#include "jitter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <tlshm/stats.h>
#include <unistd.h>

#define LIFE_MOST 900   /* accesses: about as many as a worker makes */
#define ROUNDS_LEAST 30 /* however slow the machine is */
#define LEFT_HELD 3     /* reservations that go on into the next round: there must be room for others */

static struct space space;
static struct crew crew;
static struct history *history;
static int history_fd;

/* ---------------------------------------------------------------------------------------------------------- a worker */

static unsigned pick_known(uint64_t *random)
{
    unsigned known[SLOTS], n = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        if (atomic_load(&history->id[i]) != 0)
            known[n++] = i;
    return n != 0 ? known[jitter_below(random, n)] : SLOTS;
}

static void plan_reserve(struct op *op, uint64_t *random, unsigned slot)
{
    op->kind = jitter_below(random, 4) == 0 ? OP_FIT : OP_RESERVE;
    op->slot = slot;
    op->scopes = 1 + (unsigned)jitter_below(random, 7);
    op->amount = 1 + jitter_below(random, 5);
    if (jitter_below(random, 4) != 0 || history->without & WITHOUT_KEYS)
        return;
    op->key = 1 + (unsigned)jitter_below(random, KEYS);
    uint64_t same = history->seed + history->round * KEYS + op->key; /* a repeat asks for the same */
    op->scopes = 1 + (unsigned)jitter_below(&same, 7);
    op->amount = 1 + jitter_below(&same, 5);
}

static void plan_call(struct op *op, uint64_t *random, unsigned slot)
{
    static const enum op_kind menu[16] = {OP_SETTLE, OP_SETTLE, OP_SETTLE,    OP_SETTLE,   OP_REFUND, OP_REFUND,
                                          OP_EXTEND, OP_EXTEND, OP_LOOKUP,    OP_LOOKUP,   OP_USAGE,  OP_USAGE,
                                          OP_USAGE,  OP_USAGE,  OP_REMAINING, OP_REMAINING};
    enum op_kind kind = menu[jitter_below(random, 16)];
    unsigned known = pick_known(random);
    bool looks = kind == OP_USAGE || kind == OP_REMAINING;
    bool left_out = kind == OP_EXTEND && history->without & WITHOUT_EXTENDS;
    if (jitter_below(random, 5) < 2 || (known == SLOTS && !looks) || left_out) {
        plan_reserve(op, random, slot);
        return;
    }
    op->kind = kind;
    op->slot = looks ? 0 : known;
    op->scopes = looks ? (unsigned)jitter_below(random, SCOPES) : 0;
    op->id = looks ? 0 : atomic_load(&history->id[known]);
    op->amount = 1 + jitter_below(random, 6);
}

static void play(tlshm_t *t, unsigned worker, uint64_t life)
{
    uint64_t random = history->seed + history->round * 1000003 + worker * 7919;
    jitter_below(&random, 2);
    jitter_begin(random, life);
    for (unsigned i = 0; i < history->calls; i++) {
        struct op *op = &history->op[worker][i];
        op->worker = worker;
        plan_call(op, &random, CARRIED + worker * CALLS_MAX + i);
        calls_make(t, history, op, jitter_below(&random, 2) == 0);
    }
    jitter_end();
}

static uint64_t life_of(unsigned worker)
{
    uint64_t random = history->seed ^ history->round * 65537;
    bool somebody = jitter_below(&random, 2) == 0;
    return somebody && worker == 0 ? jitter_below(&random, LIFE_MOST) : JITTER_NO_DEATH;
}

static int forked(struct crew_seat *seat, void *context)
{
    (void)context;
    crew_wait(seat, 1);
    play(space.t, seat->index, life_of(seat->index));
    return 0;
}

static void history_map(int fd)
{
    history = mmap(NULL, sizeof *history, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(history != MAP_FAILED, "mmap: %s", strerror(errno));
}

int rounds_executed(struct crew_seat *seat, void *context)
{
    struct space own = {.now = 0};
    int fd = -1;
    MUST(sscanf(context, "%d %159s", &fd, own.path) == 2, "argument: %s", (const char *)context);
    history_map(fd);
    own.t = space_attach(&own);
    crew_wait(seat, 1);
    play(own.t, seat->index, life_of(seat->index));
    return 0;
}

/* --------------------------------------------------------------------------------------------------------- one round */

static void run_processes(bool executed)
{
    char argument[200];
    snprintf(argument, sizeof argument, "%d %s", history_fd, space.path);
    if (executed)
        crew_exec(&crew, history->workers, "worker", argument);
    else
        crew_fork(&crew, history->workers, forked, NULL);
    crew_gather(&crew, history->workers);
    crew_let(&crew, 1);
    unsigned failed = crew_join(&crew);
    MUST(failed == crew.killed, "%u workers failed, %u were killed", failed, crew.killed);
}

static _Atomic unsigned arrived;

static void *thread_plays(void *context)
{
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < history->workers)
        sched_yield();
    play(space.t, *(unsigned *)context, JITTER_NO_DEATH);
    return NULL;
}

static void run_threads(void)
{
    pthread_t thread[WORKERS_MAX];
    unsigned index[WORKERS_MAX];
    atomic_store(&arrived, 0);
    for (unsigned i = 0; i < history->workers; i++) {
        index[i] = i;
        int rc = pthread_create(&thread[i], NULL, thread_plays, &index[i]);
        MUST(rc == 0, "pthread_create: %s", strerror(rc));
    }
    for (unsigned i = 0; i < history->workers; i++)
        pthread_join(thread[i], NULL);
}

/* Reservations whose maker died before it could tell. */
static void find_orphans(void)
{
    tlshm_reservation_info info;
    uint64_t cursor = 0;
    while (tlshm_reservation_next(space.t, &cursor, &info) == 1)
        for (unsigned i = CARRIED; i < SLOTS; i++)
            if (info.tag == calls_tag(history, i))
                atomic_store(&history->id[i], info.id);
}

/* At rest: every scope and every reservation, as calls of one more worker. */
static unsigned look_at_all(struct op *looks)
{
    unsigned n = 0;
    memset(looks, 0, LOOKS_MAX * sizeof *looks);
    find_orphans();
    for (unsigned i = 0; i < SCOPES; i++)
        looks[n++] = (struct op){.kind = OP_USAGE, .scopes = i};
    for (unsigned i = 0; i < SLOTS; i++)
        if (atomic_load(&history->id[i]) != 0)
            looks[n++] = (struct op){.kind = OP_LOOKUP, .slot = i, .id = atomic_load(&history->id[i])};
    for (unsigned i = 0; i < n; i++) {
        looks[i].worker = history->workers;
        calls_make(space.t, history, &looks[i], false);
    }
    return n;
}

static void count_call(const struct op *op, const struct op *const *ops, unsigned count, struct tally *tally)
{
    bool overlaps = false;
    for (unsigned i = 0; i < count; i++)
        overlaps |= ops[i] != op && ops[i]->invoked < op->returned && ops[i]->returned > op->invoked;
    tally->calls++;
    tally->overlapping += overlaps;
    tally->cut += op->returned == 0;
    tally->refused += op->returned != 0 && op->rc == TLSHM_REFUSED;
    tally->asked += op->kind == OP_FIT && op->returned != 0;
    tally->replays += op->kind == OP_RESERVE && op->returned != 0 && op->rc == TLSHM_REPLAY;
    tally->late += op->kind == OP_SETTLE && op->returned != 0 && op->rc == TLSHM_LATE;
}

static unsigned collect(const struct op **ops, struct tally *tally)
{
    unsigned n = 0;
    for (unsigned w = 0; w < history->workers; w++)
        for (unsigned i = 0; i < history->calls; i++)
            if (history->op[w][i].invoked != 0)
                ops[n++] = &history->op[w][i];
    for (unsigned i = 0; i < n; i++)
        count_call(ops[i], ops, n, tally);
    return n;
}

static void begin_round(const struct plan *plan, uint64_t round, uint64_t *random, const struct state *state)
{
    memset(history, 0, sizeof *history);
    history->seed = plan->seed;
    history->round = round;
    history->without = plan->without;
    history->workers = 2 + (unsigned)jitter_below(random, WORKERS_MAX - 1);
    history->calls = 2 + (unsigned)jitter_below(random, CALLS_MAX - 1);
    for (unsigned i = 0; i < CARRIED; i++)
        atomic_store(&history->id[i], state->slot[i].id);
}

/* Of the scopes that have a latch. */
static void resume_all(void)
{
    for (unsigned i = 0; i < SCOPES; i++)
        if (history_limits[i].latch != 0)
            MUST(tlshm_scope_pause(space.t, calls_key[i], 0, 0) == 0, "resume %s", calls_key[i]);
}

/* A few reservations go on; what else is held is given back. */
static void end_round(struct state *state)
{
    struct slot slots[SLOTS];
    unsigned kept = 0;
    memcpy(slots, state->slot, sizeof slots);
    for (unsigned i = 0; i < SLOTS; i++) {
        struct op op = {.kind = OP_REFUND, .slot = i, .id = atomic_load(&history->id[i])};
        slots[i].id = op.id;
        if (slots[i].status != TLSHM_HELD || kept++ < LEFT_HELD)
            continue;
        calls_make(space.t, history, &op, false);
        MUST(state_apply(state, &op), "refund at rest of reservation %u: %d", i, op.rc);
        slots[i].status = TLSHM_REFUNDED;
    }
    kept = 0;
    memset(state->slot, 0, sizeof state->slot);
    memset(state->key, 0, sizeof state->key);
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i].status == TLSHM_HELD)
            state->slot[kept++] = slots[i];
}

/* False if the history is illegal. */
static bool judge(struct state *state, struct tally *tally)
{
    static struct op looks[LOOKS_MAX];
    const struct op *ops[OPS_MAX];
    uint64_t rest = atomic_load(&history->now);
    unsigned n = collect(ops, tally), more = look_at_all(looks);
    for (unsigned i = 0; i < more; i++)
        ops[n++] = &looks[i];
    struct trace trace = {state, ops, n, rest};
    struct verdict v = search_history(&trace);
    tally->steps += v.steps;
    tally->exhausted += v.exhausted;
    tally->illegal += !v.legal && !v.exhausted;
    if (!v.legal) {
        printf("# seed %llu, round %llu\n", (unsigned long long)history->seed, (unsigned long long)history->round);
        search_explain(&trace);
    }
    *state = v.end;
    return v.legal;
}

static void open_space(void)
{
    tlshm_geometry g = space_geometry();
    g.scopes = 16;
    g.reservations = 512; /* those of a round, many times over: a record is not used again in the round that ended it */
    g.seats = 16;
    g.retention_ns = 3 * CALLS_STEP_NS;
    space_open(&space, &g);
    calls_limits(&space);
    crew_open(&crew);
    history_fd = memfd_create("tlshm-test-history", 0);
    MUST(history_fd >= 0 && ftruncate(history_fd, sizeof *history) == 0, "memfd: %s", strerror(errno));
    history_map(history_fd);
}

static void run_workers(uint64_t *random)
{
    uint64_t how = jitter_below(random, 8);
    if (how < 2)
        run_threads();
    else
        run_processes(how == 2);
    MUST(tlshm_reap(space.t, NULL) == 0, "reap");
}

static time_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

void rounds_run(const struct plan *plan, struct tally *tally)
{
    struct state state;
    uint64_t random = plan->seed;
    time_t end = seconds() + (time_t)plan->seconds;
    memset(&state, 0, sizeof state);
    open_space();
    for (; tally->rounds < plan->rounds && (seconds() < end || tally->rounds < ROUNDS_LEAST); tally->rounds++) {
        begin_round(plan, tally->rounds + 1, &random, &state);
        run_workers(&random);
        if (!judge(&state, tally))
            break;
        end_round(&state);
        resume_all();
        if (jitter_below(&random, 4) == 0)
            continue;
        space_at(&space, space.now + CALLS_STEP_NS);
        state_step(&state);
    }
    crew_close(&crew);
    space_close(&space);
    munmap(history, sizeof *history);
    close(history_fd);
}
