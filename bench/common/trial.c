/* SPDX-License-Identifier: MIT */
/* trial.c - the loops that workers run, and what the foreman reads from them. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "crew.h"

#define STILL 0.01     /* of the usual throughput, and less: the others stand still */
#define RUN_NS 1000000 /* of the victim before a stop */
#define REST_POLL_NS 200000
#define TRIES 4 /* at stopping, for each hit */

struct trial {
    const struct peer *peer;
    const struct plan *plan;
    const struct trial_pace *pace;
    const struct timer *timer;
    struct crew crew;
};

/* ------------------------------------------------------------------------------------------------------ workers */

static void count_pair(struct crew_member *me)
{
    uint64_t pairs = atomic_load_explicit(&me->pairs, memory_order_relaxed);
    atomic_store_explicit(&me->pairs, pairs + 1, memory_order_relaxed);
}

static int work_free(struct trial *t, struct crew_member *me, enum crew_phase phase)
{
    int (*const pair)(void) = t->peer->pair;
    while (crew_phase_get(&t->crew) == phase) {
        int answer = pair();
        if (answer != 0)
            return answer;
        count_pair(me);
    }
    return 0;
}

static int work_timed(struct trial *t, struct crew_member *me)
{
    int (*const pair)(void) = t->peer->pair;
    const struct timer timer = *t->timer;
    while (crew_phase_get(&t->crew) == CREW_TIMED) {
        uint64_t start = timer_start();
        int answer = pair();
        uint64_t ticks = timer_stop() - start;
        if (answer != 0)
            return answer;
        histogram_add(&me->latency, timer_steps(&timer, ticks));
        count_pair(me);
    }
    return 0;
}

static void rest(struct trial *t, struct crew_member *me)
{
    atomic_store(&me->resting, 1);
    while (atomic_load(&me->rest) && crew_phase_get(&t->crew) == CREW_TIMED)
        crew_nap(REST_POLL_NS);
    atomic_store(&me->resting, 0);
}

/* To be stopped: says whether it is inside a call. Plain order is enough, the reader looks while it stands still. */
static int work_victim(struct trial *t, struct crew_member *me)
{
    int (*const pair)(void) = t->peer->pair;
    while (crew_phase_get(&t->crew) == CREW_TIMED) {
        if (atomic_load_explicit(&me->rest, memory_order_relaxed))
            rest(t, me);
        atomic_store_explicit(&me->inside, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        int answer = pair();
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&me->inside, 0, memory_order_relaxed);
        if (answer != 0)
            return answer;
        count_pair(me);
    }
    return 0;
}

static unsigned victim_of(const struct plan *plan)
{
    return plan->workload == PLAN_STOPPED ? plan->processes - 1 : plan->processes;
}

static int work_phases(struct trial *t, unsigned index)
{
    struct crew_member *me = &t->crew.board->member[index];
    int answer = 0;
    enum crew_phase phase;
    while (answer == 0 && (phase = crew_phase_get(&t->crew)) != CREW_END) {
        if (phase != CREW_TIMED)
            answer = work_free(t, me, phase);
        else
            answer = index == victim_of(t->plan) ? work_victim(t, me) : work_timed(t, me);
    }
    return answer;
}

static int work(struct crew *crew, unsigned index, void *context)
{
    struct trial *t = context;
    if (t->peer->join(t->plan, index) != 0)
        return 1;
    crew_ready(crew);
    int answer = work_phases(t, index);
    if (answer != 0)
        fprintf(stderr, "%s: worker %u: a pair was answered with %d\n", t->peer->name, index, answer);
    return answer != 0;
}

/* ------------------------------------------------------------------------------------------------------ foreman */

struct sample {
    uint64_t pairs, ns;
};

/* What all but the victim have done so far. */
static struct sample sample_take(struct trial *t)
{
    struct sample now = {0, 0};
    for (unsigned i = 0; i < t->plan->processes; i++) {
        if (i != victim_of(t->plan))
            now.pairs += atomic_load_explicit(&t->crew.board->member[i].pairs, memory_order_relaxed);
    }
    now.ns = timer_clock_ns();
    return now;
}

static void sample_add(struct sample *sum, struct sample more)
{
    sum->pairs += more.pairs;
    sum->ns += more.ns;
}

/* Adds what was done during a nap. -1 when interrupted. */
static int sample_nap(struct trial *t, uint64_t ns, struct sample *sum)
{
    struct sample before = sample_take(t);
    if (crew_nap(ns) != 0)
        return -1;
    struct sample after = sample_take(t);
    sample_add(sum, (struct sample){after.pairs - before.pairs, after.ns - before.ns});
    return 0;
}

static double sample_rate(struct sample s)
{
    return s.ns > 0 ? (double)s.pairs * 1e9 / (double)s.ns : 0;
}

static int phase_run(struct trial *t, enum crew_phase phase, uint64_t ns, struct sample *sum)
{
    crew_phase_set(&t->crew, phase);
    return sample_nap(t, ns, sum) != 0 ? -1 : crew_check(&t->crew);
}

/* 1: stopped inside a call and measured, 0: it was between two calls, -1: interrupted or lost. */
static int stop_once(struct trial *t, unsigned victim, struct sample *stopped)
{
    if (crew_nap(RUN_NS) != 0 || crew_stop(&t->crew, victim) != 0)
        return -1;
    int inside = atomic_load(&t->crew.board->member[victim].inside);
    int result = inside && sample_nap(t, t->pace->stop_ns, stopped) != 0 ? -1 : inside;
    crew_resume(&t->crew, victim);
    return result;
}

/* The same without a stop: the victim makes no calls, but was not torn out of one. */
static int rest_once(struct trial *t, unsigned victim, struct sample *rested)
{
    if (crew_rest(&t->crew, victim) != 0)
        return -1;
    int result = sample_nap(t, t->pace->stop_ns, rested);
    crew_go_on(&t->crew, victim);
    return result;
}

struct stops {
    unsigned hits, blocked;
    struct sample stopped, rested;
};

static int stop_and_rest(struct trial *t, struct stops *all)
{
    unsigned victim = victim_of(t->plan);
    struct sample stopped = {0, 0}, rested = {0, 0};
    int hit = stop_once(t, victim, &stopped);
    if (hit <= 0)
        return hit;
    if (rest_once(t, victim, &rested) != 0)
        return -1;
    all->hits++;
    all->blocked += sample_rate(stopped) < STILL * sample_rate(rested);
    sample_add(&all->stopped, stopped);
    sample_add(&all->rested, rested);
    return 0;
}

/* The instant is random because the end of a nap has no relation to calls thousands of times shorter. */
static int stop_many(struct trial *t, struct trial_result *result)
{
    struct stops all = {0};
    crew_phase_set(&t->crew, CREW_TIMED);
    for (unsigned tries = 0; all.hits < t->pace->stops && tries < TRIES * t->pace->stops; tries++) {
        if (stop_and_rest(t, &all) != 0)
            return -1;
    }
    result->pairs_per_s = sample_rate(all.stopped);
    result->kept = sample_rate(all.stopped) / sample_rate(all.rested);
    result->blocked = all.hits > 0 ? (double)all.blocked / all.hits : NAN;
    return 0;
}

static int measure(struct trial *t, struct trial_result *result)
{
    struct sample warm = {0, 0}, timed = {0, 0}, free_run = {0, 0};
    if (phase_run(t, CREW_WARM, t->pace->warm_ns, &warm) != 0)
        return -1;
    if (t->plan->workload == PLAN_STOPPED)
        return stop_many(t, result);
    if (phase_run(t, CREW_TIMED, t->pace->timed_ns, &timed) != 0 ||
        phase_run(t, CREW_FREE, t->pace->free_ns, &free_run) != 0)
        return -1;
    result->pairs_per_s = sample_rate(free_run);
    return 0;
}

static void collect(struct trial *t, struct trial_result *result)
{
    static struct histogram all;
    memset(&all, 0, sizeof all);
    for (unsigned i = 0; i < t->plan->processes; i++)
        histogram_merge(&all, &t->crew.board->member[i].latency);
    result->p50_ns = timer_ns(t->timer, histogram_quantile(&all, 0.5));
    result->p99_ns = timer_ns(t->timer, histogram_quantile(&all, 0.99));
    result->p999_ns = timer_ns(t->timer, histogram_quantile(&all, 0.999));
    result->max_ns = timer_ns(t->timer, (double)all.max);
}

static int audit(struct trial *t)
{
    uint64_t pairs[CREW_MAX] = {0};
    for (unsigned i = 0; i < t->plan->processes; i++)
        pairs[i] = atomic_load(&t->crew.board->member[i].pairs);
    return t->peer->audit(t->plan, pairs);
}

static int run(struct trial *t, struct trial_result *result)
{
    if (t->peer->setup(t->plan) != 0 || crew_start(&t->crew, t->plan->processes, work, t) != 0 ||
        measure(t, result) != 0 || crew_finish(&t->crew) != 0)
        return -1;
    collect(t, result);
    return audit(t);
}

int trial_run(const struct peer *peer, const struct plan *plan, const struct trial_pace *pace,
              const struct timer *timer, struct trial_result *result)
{
    struct trial t = {.peer = peer, .plan = plan, .pace = pace, .timer = timer};
    *result = (struct trial_result){.kept = NAN, .blocked = NAN};
    int code = run(&t, result);
    crew_close(&t.crew);
    peer->teardown();
    return code;
}
