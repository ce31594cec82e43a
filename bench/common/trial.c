/* SPDX-License-Identifier: MIT */
/* trial.c - the loops that workers run, and what the foreman reads from them. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"

#define STILL 0.01     /* of the usual throughput, and less: the others stand still */
#define RUN_NS 1000000 /* of the victim before a stop */
#define REST_POLL_NS 200000
#define TRIES 4 /* at stopping, for each hit */
#define KILL_NS 10000000
#define PATIENCE_NS UINT64_C(2000000000)

struct trial {
    const struct peer *peer;
    const struct plan *plan;
    const struct trial_pace *pace;
    const struct timer *timer;
    struct crew crew;
};

/* ------------------------------------------------------------------------------------------------------ workers */

/* What a worker does over and over. */
struct step {
    const struct plan *plan;
    void (*choose)(const struct plan_call *call); /* NULL: every call is the same */
    int (*act)(void);
    int (*after)(void); /* not timed: settles what a reserve left; NULL: nothing */
    unsigned process;
    uint64_t made;
};

static struct step step_of(const struct trial *t, unsigned process)
{
    const enum plan_act act = plan_act(t->plan, process);
    return (struct step){
        .plan = t->plan,
        .choose = t->plan->mix ? t->peer->choose : NULL,
        .act = t->peer->act[act],
        .after = act == ACT_RESERVE ? t->peer->act[ACT_SETTLE] : NULL,
        .process = process,
    };
}

static inline void step_choose(const struct step *s)
{
    struct plan_call call;
    if (!s->choose)
        return;
    plan_call(s->plan, s->process, s->made, &call);
    s->choose(&call);
}

/* A step is counted when it is finished, whatever it was. */
static inline int step_end(struct step *s, struct crew_member *me, int answer)
{
    if (answer == 0 && s->after)
        answer = s->after();
    if (answer == 0)
        atomic_store_explicit(&me->pairs, ++s->made, memory_order_relaxed);
    return answer;
}

static int work_free(struct trial *t, struct step *s, struct crew_member *me, enum crew_phase phase)
{
    int answer = 0;
    while (answer == 0 && crew_phase_get(&t->crew) == phase) {
        step_choose(s);
        answer = step_end(s, me, s->act());
    }
    return answer;
}

static int work_timed(struct trial *t, struct step *s, struct crew_member *me)
{
    const struct timer timer = *t->timer;
    int (*const act)(void) = s->act;
    int answer = 0;
    while (answer == 0 && crew_phase_get(&t->crew) == CREW_TIMED) {
        step_choose(s);
        uint64_t start = timer_start();
        answer = act();
        uint64_t ticks = timer_stop() - start;
        histogram_add(&me->latency, timer_steps(&timer, ticks));
        answer = step_end(s, me, answer);
    }
    return answer;
}

static void rest(struct trial *t, struct crew_member *me)
{
    atomic_store(&me->resting, 1);
    while (atomic_load(&me->rest) && crew_phase_get(&t->crew) == CREW_TIMED)
        crew_nap(REST_POLL_NS);
    atomic_store(&me->resting, 0);
}

/* To be stopped: says whether it is inside a call. Plain order is enough, the reader looks while it stands still. */
static int work_victim(struct trial *t, struct step *s, struct crew_member *me)
{
    int answer = 0;
    while (answer == 0 && crew_phase_get(&t->crew) == CREW_TIMED) {
        if (atomic_load_explicit(&me->rest, memory_order_relaxed))
            rest(t, me);
        atomic_store_explicit(&me->inside, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        answer = s->act();
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&me->inside, 0, memory_order_relaxed);
        answer = step_end(s, me, answer);
    }
    return answer;
}

static int work_phase(struct trial *t, struct step *s, struct crew_member *me, enum crew_phase phase)
{
    if (phase != CREW_TIMED)
        return work_free(t, s, me, phase);
    return s->process == plan_victim(t->plan) ? work_victim(t, s, me) : work_timed(t, s, me);
}

static int work(struct crew *crew, unsigned index, void *context)
{
    struct trial *t = context;
    struct step s = step_of(t, index);
    struct plan_call call;
    enum crew_phase phase;
    int answer = 0;
    if (t->peer->join(t->plan, index) != 0)
        return 1;
    plan_call(t->plan, index, 0, &call);
    t->peer->choose(&call);
    crew_ready(crew);
    while (answer == 0 && (phase = crew_phase_get(crew)) != CREW_END)
        answer = work_phase(t, &s, &crew->board->member[index], phase);
    t->peer->leave();
    if (answer != 0)
        fprintf(stderr, "%s, %s: worker %u: a call was answered with %d\n", t->peer->name,
                plan_workload_name(t->plan->workload), index, answer);
    return answer != 0;
}

/* ------------------------------------------------------------------------------------------------------ foreman */

struct sample {
    uint64_t pairs, ns;
};

/* What those whose calls are the figures have done so far. */
static struct sample sample_take(struct trial *t)
{
    struct sample now = {0, 0};
    for (unsigned i = 0; i < t->plan->processes; i++) {
        if (plan_counts(t->plan, i))
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

/* Whether each of those whose calls are the figures has made a step since `before`. */
static int all_moved(struct trial *t, const uint64_t *before)
{
    for (unsigned i = 0; i < t->plan->processes; i++) {
        if (plan_counts(t->plan, i) &&
            atomic_load_explicit(&t->crew.board->member[i].pairs, memory_order_relaxed) == before[i])
            return 0;
    }
    return 1;
}

/* For so long; and longer, within reason, where the scheduler let somebody not run at all. */
static int phase_run(struct trial *t, enum crew_phase phase, uint64_t ns, struct sample *sum)
{
    const uint64_t until = timer_clock_ns() + ns + PATIENCE_NS;
    uint64_t before[CREW_MAX];
    for (unsigned i = 0; i < t->plan->processes; i++)
        before[i] = atomic_load_explicit(&t->crew.board->member[i].pairs, memory_order_relaxed);
    crew_phase_set(&t->crew, phase);
    do {
        if (sample_nap(t, ns, sum) != 0 || crew_check(&t->crew) != 0)
            return -1;
    } while (!all_moved(t, before) && timer_clock_ns() < until);
    return 0;
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
    unsigned victim = plan_victim(t->plan);
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

/* As often as it is killed another one takes the victim's place; then the same time without kills. */
static int kill_many(struct trial *t, struct trial_result *result)
{
    const unsigned victim = plan_victim(t->plan);
    struct sample killed = {0, 0}, alive = {0, 0};
    crew_phase_set(&t->crew, CREW_TIMED);
    for (unsigned i = 0; i < t->pace->stops; i++) {
        if (sample_nap(t, KILL_NS, &killed) != 0 || crew_replace(&t->crew, victim) != 0)
            return -1;
    }
    if (sample_nap(t, t->pace->stops * KILL_NS, &alive) != 0)
        return -1;
    result->pairs_per_s = sample_rate(killed);
    result->kept = sample_rate(killed) / sample_rate(alive);
    return 0;
}

static int measure_calls(struct trial *t, struct trial_result *result)
{
    struct sample timed = {0, 0}, free_run = {0, 0};
    if (phase_run(t, CREW_TIMED, t->pace->timed_ns, &timed) != 0 ||
        phase_run(t, CREW_FREE, t->pace->free_ns, &free_run) != 0)
        return -1;
    result->pairs_per_s = sample_rate(free_run);
    return 0;
}

static int measure(struct trial *t, struct trial_result *result)
{
    struct sample warm = {0, 0};
    if (phase_run(t, CREW_WARM, t->pace->warm_ns, &warm) != 0)
        return -1;
    switch (t->plan->workload) {
    case PLAN_STOPPED:
        return stop_many(t, result);
    case PLAN_KILLED:
        return kill_many(t, result);
    default:
        return measure_calls(t, result);
    }
}

static void collect(struct trial *t, struct trial_result *result, struct histogram *all)
{
    static struct histogram own;
    memset(&own, 0, sizeof own);
    for (unsigned i = 0; i < t->plan->processes; i++) {
        if (plan_counts(t->plan, i))
            histogram_merge(&own, &t->crew.board->member[i].latency);
    }
    if (own.count == 0)
        return; /* no figures rather than zeros */
    histogram_merge(all, &own);
    result->p50_ns = timer_ns(t->timer, histogram_quantile(&own, 0.5));
    result->p99_ns = timer_ns(t->timer, histogram_quantile(&own, 0.99));
    result->p999_ns = timer_ns(t->timer, histogram_quantile(&own, 0.999));
    result->max_ns = timer_ns(t->timer, (double)own.max);
}

static int audit(struct trial *t)
{
    uint64_t steps[CREW_MAX] = {0};
    for (unsigned i = 0; i < t->plan->processes; i++)
        steps[i] = atomic_load(&t->crew.board->member[i].pairs);
    struct plan_book *books = plan_books(t->plan, steps);
    int code = books ? t->peer->audit(t->plan, books) : -1;
    free(books);
    return code;
}

/* The first process's budgets have a hold before it is there: one that fills them, if refusals are measured. */
static int fill(struct trial *t)
{
    struct plan_call call;
    if (!plan_begins_with_hold(t->plan))
        return 0;
    if (t->peer->join(t->plan, 0) != 0)
        return -1;
    plan_call(t->plan, 0, 0, &call);
    t->peer->choose(&call);
    int answer = t->peer->act[ACT_RESERVE]();
    t->peer->leave();
    if (answer != 0)
        fprintf(stderr, "%s: the hold to begin with was answered with %d\n", t->peer->name, answer);
    return answer != 0 ? -1 : 0;
}

static int run(struct trial *t, struct trial_result *result, struct histogram *all)
{
    if (t->peer->setup(t->plan) != 0 || fill(t) != 0 || crew_start(&t->crew, t->plan->processes, work, t) != 0 ||
        measure(t, result) != 0 || crew_finish(&t->crew) != 0)
        return -1;
    collect(t, result, all);
    return audit(t);
}

int trial_run(const struct peer *peer, const struct plan *plan, const struct trial_pace *pace,
              const struct timer *timer, struct trial_result *result, struct histogram *all)
{
    struct trial t = {.peer = peer, .plan = plan, .pace = pace, .timer = timer};
    *result = (struct trial_result){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    int code = run(&t, result, all);
    if (code != 0 && !crew_interrupted())
        fprintf(stderr, "the trial of %s (%s), %s, with %u processes failed\n", peer->name, peer->keys,
                plan_workload_name(plan->workload), plan->processes);
    crew_close(&t.crew);
    peer->teardown();
    return code;
}

int trial_possible(const struct peer *peer, const struct plan *plan)
{
    for (unsigned i = 0; i < plan->processes; i++) {
        if (!peer->act[plan_act(plan, i)])
            return 0;
    }
    return plan->workload != PLAN_RESERVE || peer->act[ACT_SETTLE];
}
