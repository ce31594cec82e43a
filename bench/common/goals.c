/* SPDX-License-Identifier: MIT */
/* goals.c - what the library should reach, as ratios within one run wherever a host could make the figure. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "report.h"

int goal_met(const struct goal *goal)
{
    return goal->at_most ? goal->value <= goal->target : goal->value >= goal->target;
}

struct list {
    const struct report *report;
    struct goal *goal;
    unsigned count;
};

static void want(struct list *l, const char *text, int at_most, double target, const char *unit, double value)
{
    if (l->count < REPORT_GOALS_MAX)
        l->goal[l->count++] = (struct goal){text, unit, target, at_most, value};
}

static void at_most(struct list *l, const char *text, double target, const char *unit, double value)
{
    want(l, text, 1, target, unit, value);
}

static void at_least(struct list *l, const char *text, double target, const char *unit, double value)
{
    want(l, text, 0, target, unit, value);
}

/* ------------------------------------------------------------------------------------------------- finding figures */

static const struct report_row *row_of(const struct list *l, const char *peer, enum plan_workload workload,
                                       unsigned processes, unsigned scopes, unsigned windows)
{
    for (unsigned i = 0; i < l->report->row_count; i++) {
        const struct report_row *row = &l->report->row[i];
        const struct plan *plan = &row->plan;
        if (strcmp(row->peer->name, peer) == 0 && plan->workload == workload && plan->processes == processes &&
            plan->scopes == scopes && plan->units == 1 && plan->windows == windows)
            return row; /* handles come before strings */
    }
    return NULL;
}

static const struct report_row *ours(const struct list *l, enum plan_workload workload, unsigned processes)
{
    return row_of(l, "tlshm", workload, processes, 2, 1);
}

static double ratio(const struct list *l, const struct report_row *row, const struct report_row *base, size_t place)
{
    return spread_ratio(l->report, row, base, place).median;
}

static double figure_of(const struct list *l, const struct report_row *row, size_t place)
{
    return row ? spread_figure(l->report, row, place).median : NAN;
}

static const struct report_point *point_of(const struct list *l, const char *axis, uint64_t value)
{
    for (unsigned i = 0; i < l->report->point_count; i++) {
        const struct report_point *point = &l->report->point[i];
        if (strcmp(point->axis, axis) == 0 && point->value == value)
            return point;
    }
    return NULL;
}

static double growth(const struct list *l, const char *axis, uint64_t value, uint64_t base)
{
    return spread_points(point_of(l, axis, value), point_of(l, axis, base)).median;
}

static double fact(const struct list *l, const char *name)
{
    for (unsigned i = 0; i < l->report->fact_count; i++) {
        const struct report_fact *f = &l->report->fact[i];
        if (strcmp(f->name, name) == 0)
            return spread_of(f->value, f->rounds).median;
    }
    return NAN;
}

/* --------------------------------------------------------------------------------------------------------- groups */

static void goals_alone(struct list *l)
{
    const struct report_row *pair = ours(l, PLAN_ALONE, 1);
    const struct report_row *plain = row_of(l, "tlshm", PLAN_ALONE, 1, 2, 0);
    at_most(l, "pair without a window, to the floor", 2.5, "x",
            plain ? ratio(l, plain, plain->floor, FIGURE(p50_ns)) : NAN);
    at_most(l, "pair with one window a scope, to the floor", 4, "x",
            pair ? ratio(l, pair, pair->floor, FIGURE(p50_ns)) : NAN);
    at_least(l, "Redis' pair, to ours", 500, "x",
             ratio(l, row_of(l, "redis-lua", PLAN_ALONE, 1, 2, 1), pair, FIGURE(p50_ns)));
    at_most(l, "a refusal, to an admitted reserve", 0.5, "x",
            ratio(l, ours(l, PLAN_REFUSED, 1), ours(l, PLAN_RESERVE, 1), FIGURE(p50_ns)));
    at_most(l, "six scopes, to two", 3, "x", ratio(l, row_of(l, "tlshm", PLAN_ALONE, 1, 6, 1), pair, FIGURE(p50_ns)));
    at_most(l, "four windows a unit, to one", 1.4, "x",
            ratio(l, row_of(l, "tlshm", PLAN_ALONE, 1, 2, 4), pair, FIGURE(p50_ns)));
    at_most(l, "remaining", 20, "ns", figure_of(l, ours(l, PLAN_REMAINING, 1), FIGURE(p50_ns)));
}

static void goals_together(struct list *l)
{
    const struct report_row *distinct = ours(l, PLAN_DISTINCT, 2);
    at_least(l, "distinct tenants, 2 processes: pairs/s, to one mutex", 2, "x",
             ratio(l, distinct, row_of(l, "mutex", PLAN_DISTINCT, 2, 2, 1), FIGURE(pairs_per_s)));
    at_least(l, "distinct tenants, 2 processes: pairs/s, to one process", 1.9, "x",
             ratio(l, distinct, ours(l, PLAN_ALONE, 1), FIGURE(pairs_per_s)));
    static const struct {
        unsigned processes;
        const char *rate, *tail;
    } crowd[] = {
        {2, "one hot tenant, 2 processes: pairs/s, to one mutex", "one hot tenant, 2 processes: p99.9, to one mutex"},
        {8, "one hot tenant, 8 processes: pairs/s, to one mutex", "one hot tenant, 8 processes: p99.9, to one mutex"},
        {32, "one hot tenant, 32 processes: pairs/s, to one mutex",
         "one hot tenant, 32 processes: p99.9, to one mutex"},
    };
    for (unsigned i = 0; i < sizeof crowd / sizeof *crowd; i++) {
        const struct report_row *hot = ours(l, PLAN_HOT, crowd[i].processes);
        const struct report_row *mutex = row_of(l, "mutex", PLAN_HOT, crowd[i].processes, 2, 1);
        at_least(l, crowd[i].rate, 1, "x", ratio(l, hot, mutex, FIGURE(pairs_per_s)));
        at_most(l, crowd[i].tail, 1, "x", ratio(l, hot, mutex, FIGURE(p999_ns)));
    }
    at_least(l, "a worker stopped inside a call: the others keep", 95, "%",
             100 * figure_of(l, ours(l, PLAN_STOPPED, 2), FIGURE(kept)));
}

static void goals_growth(struct list *l)
{
    at_most(l, "1,000,000 scopes, to 10", 3, "x", growth(l, "scopes", 1000000, 10));
    at_most(l, "1,000,000 live reservations, to 1", 1.5, "x", growth(l, "reservations", 1000000, 1));
    at_most(l, "60 slices, to 8", 1.1, "x", growth(l, "slices", 60, 8));
}

static void goals_facts(struct list *l)
{
    at_most(l, "reaper beside 1,000,000 live holds, of a core", 1, "%",
            fact(l, "reaper, 1000000 live holds: of a core"));
    at_most(l, "100,000 holds due at once: all gone after", 100, "ms",
            fact(l, "reaper, 100000 holds due at once: all gone after"));
    at_most(l, "reaper's lag, p99, to its period", 1, "x", fact(l, "reaper, lag p99 to its period"));
    at_most(l, "memory of a scope with four windows of 60 slices", 4096, "B",
            fact(l, "memory of a scope with four windows of 60 slices"));
    at_most(l, "memory of a reservation", 384, "B", fact(l, "memory of a reservation"));
    at_most(l, "attach", 200, "us", fact(l, "attach"));
}

unsigned goals_list(const struct report *report, struct goal goals[REPORT_GOALS_MAX])
{
    struct list l = {report, goals, 0};
    goals_alone(&l);
    goals_together(&l);
    goals_growth(&l);
    goals_facts(&l);
    return l.count;
}
