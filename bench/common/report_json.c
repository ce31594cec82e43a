/* SPDX-License-Identifier: MIT */
/* report_json.c - the results for programs. */
#include "report.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t place;
} figures[] = {
    {"p50_ns", FIGURE(p50_ns)},   {"p99_ns", FIGURE(p99_ns)},           {"p999_ns", FIGURE(p999_ns)},
    {"max_ns", FIGURE(max_ns)},   {"pairs_per_s", FIGURE(pairs_per_s)}, {"kept", FIGURE(kept)},
    {"blocked", FIGURE(blocked)},
};
#define FIGURES (sizeof figures / sizeof *figures)
#define FIGURES_OF_CALLS 5 /* the rest is of the stopped and the killed alone */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_ratios(const struct report *report, const struct report_row *row, const struct report_row *base)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < FIGURES_OF_CALLS; i++) {
        struct spread s = spread_ratio(report, row, base, figures[i].place);
        json_object_set_new(object, figures[i].name, number(s.median));
    }
    return object;
}

static json_t *json_row(const struct report *report, const struct report_row *row)
{
    const struct plan *plan = &row->plan;
    unsigned count = plan_victim(plan) < plan->processes ? FIGURES : FIGURES_OF_CALLS;
    json_t *spreads = json_object();
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s}", "peer", row->peer->name, "workload",
                               plan_workload_name(plan->workload), "processes", (int)plan->processes, "scopes",
                               (int)plan->scopes, "units", (int)plan->units, "windows", (int)plan->windows, "limits",
                               (int)report_limit_count(plan), "keys", row->peer->keys);
    for (unsigned i = 0; i < count; i++) {
        struct spread s = spread_figure(report, row, figures[i].place);
        json_object_set_new(object, figures[i].name, number(s.median));
        json_object_set_new(spreads, figures[i].name, json_pack("[o, o]", number(s.min), number(s.max)));
    }
    json_object_set_new(object, "spread", spreads);
    json_object_set_new(object, "to_floor", json_ratios(report, row, row->floor));
    json_object_set_new(object, "to_mutex", json_ratios(report, row, row->mutex));
    return object;
}

static json_t *json_rows(const struct report *report)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < report->row_count; i++)
        json_array_append_new(list, json_row(report, &report->row[i]));
    return list;
}

static json_t *json_growth(const struct report *report)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < report->point_count; i++) {
        const struct report_point *point = &report->point[i];
        struct spread s = spread_of(point->p50_ns, point->rounds);
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:o, s:[o, o], s:o, s:o}", "axis", point->axis, "value",
                                        (json_int_t)point->value, "p50_ns", number(s.median), "spread", number(s.min),
                                        number(s.max), "p99_ns", number(spread_of(point->p99_ns, point->rounds).median),
                                        "max_ns", number(spread_of(point->max_ns, point->rounds).median)));
    }
    return list;
}

static json_t *json_facts(const struct report *report)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < report->fact_count; i++) {
        const struct report_fact *fact = &report->fact[i];
        struct spread s = spread_of(fact->value, fact->rounds);
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:[o, o]}", "name", fact->name, "unit", fact->unit,
                                              "value", number(s.median), "spread", number(s.min), number(s.max)));
    }
    return list;
}

static json_t *json_goals(const struct report *report)
{
    struct goal goals[REPORT_GOALS_MAX];
    unsigned count = goals_list(report, goals);
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++) {
        const struct goal *goal = &goals[i];
        json_t *met = isfinite(goal->value) ? json_boolean(goal_met(goal)) : json_null();
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f, s:o, s:o}", "goal", goal->text, "unit", goal->unit,
                                              "wanted", goal->at_most ? "at most" : "at least", "target", goal->target,
                                              "value", number(goal->value), "met", met));
    }
    return list;
}

static json_t *json_skipped(const struct report *report)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < report->skipped_count; i++)
        json_array_append_new(list, json_string(report->skipped[i]));
    return list;
}

static json_t *json_host(const struct report *report)
{
    const struct host *h = &report->host;
    const struct timer *t = &report->timer;
    return json_pack("{s:s, s:i, s:b, s:s, s:s, s:f, s:f, s:f, s:s, s:f, s:f}", "cpu", h->cpu, "processors",
                     (int)h->processors, "virtual", h->virtual_machine, "kernel", h->kernel, "compiler", h->compiler,
                     "load_before", h->load, "others_share", h->other_share, "steal_share", h->steal_share, "timer",
                     TIMER_NAME, "timer_cost_ns", t->cost_ns, "timer_step_ns", t->step * t->tick_ns);
}

int report_json(FILE *out, const struct report *report)
{
    json_t *all = json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "version", tlshm_version(), "mode",
                            report->mode, "rounds", (int)report->rounds, "host", json_host(report), "rows",
                            json_rows(report), "growth", json_growth(report), "facts", json_facts(report), "goals",
                            json_goals(report), "skipped", json_skipped(report));
    int code = all ? json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;
    json_decref(all);
    return code == 0 && fputc('\n', out) != EOF && fflush(out) == 0 ? 0 : -1;
}
