/* SPDX-License-Identifier: MIT */
/* report.c - the two ways of showing results; both are made from the same spreads. */
#include "report.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------- medians and ratios */

struct spread {
    double median, min, max;
};

/* Names a figure of a round by its place. */
#define FIGURE(name) offsetof(struct trial_result, name)

static double figure(const struct report_row *row, unsigned round, size_t place)
{
    return *(const double *)((const char *)&row->round[round] + place);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread spread_of(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_size);
    double median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    return (struct spread){median, values[0], values[count - 1]};
}

static struct spread spread_figure(const struct report *report, const struct report_row *row, size_t place)
{
    double values[REPORT_ROUNDS_MAX];
    for (unsigned i = 0; i < report->rounds; i++)
        values[i] = figure(row, i, place);
    return spread_of(values, report->rounds);
}

/* Formed within each round, so that a disturbance of a whole round cancels out. */
static struct spread spread_ratio(const struct report *report, const struct report_row *row,
                                  const struct report_row *base, size_t place)
{
    double values[REPORT_ROUNDS_MAX];
    for (unsigned i = 0; i < report->rounds; i++)
        values[i] = figure(row, i, place) / figure(base, i, place);
    return spread_of(values, report->rounds);
}

static unsigned limit_count(const struct plan *plan)
{
    tlshm_limit list[PLAN_UNITS];
    return plan_limit_list(plan, list);
}

/* -------------------------------------------------------------------------------------------------------- table */

static void print_head(FILE *out, const struct report *report)
{
    const struct host *h = &report->host;
    const struct timer *t = &report->timer;
    fprintf(out, "tlshm %s: reserve + settle, one pair at a time (%s, %u rounds)\n", tlshm_version(), report->mode,
            report->rounds);
    fprintf(out, "%s, %u processors%s, %s, %s\n", h->cpu, h->processors, h->virtual_machine ? " (virtual)" : "",
            h->kernel, h->compiler);
    fprintf(out, "load before %.2f; during the run others took %.1f %% of the processors, the hypervisor %.1f %%\n",
            h->load, 100 * h->other_share, 100 * h->steal_share);
    fprintf(out, "timer %s: costs %.1f ns, subtracted; moves in steps of %.1f ns\n", TIMER_NAME, t->cost_ns,
            t->step * t->tick_ns);
    fprintf(out, "medians over the rounds, (least-most) beside; ratios are medians of ratios within a round\n");
}

static void print_name(FILE *out, const struct report_row *row)
{
    fprintf(out, "%-8s %2u  %-5s %-6s", plan_workload_name(row->plan.workload), row->plan.processes, row->peer->name,
            row->peer->keys);
}

static void print_spread(FILE *out, struct spread s, double scale, int width, int digits)
{
    char range[40];
    snprintf(range, sizeof range, "(%.*f-%.*f)", digits, s.min * scale, digits, s.max * scale);
    fprintf(out, " %*.*f %-*s", width, digits, s.median * scale, width + digits + 6, range);
}

static void print_ratio(FILE *out, const struct report *report, const struct report_row *row,
                        const struct report_row *base, size_t place)
{
    if (row == base)
        fprintf(out, "  %6s", "1");
    else
        fprintf(out, "  %6.2f", spread_ratio(report, row, base, place).median);
}

static void print_row(FILE *out, const struct report *report, const struct report_row *row)
{
    print_name(out, row);
    print_spread(out, spread_figure(report, row, FIGURE(p50_ns)), 1, 6, 0);
    fprintf(out, " %7.0f %8.0f %8.0f", spread_figure(report, row, FIGURE(p99_ns)).median,
            spread_figure(report, row, FIGURE(p999_ns)).median,
            spread_figure(report, row, FIGURE(max_ns)).median * 1e-3);
    print_spread(out, spread_figure(report, row, FIGURE(pairs_per_s)), 1e-6, 6, 2);
    print_ratio(out, report, row, row->floor, FIGURE(p50_ns));
    print_ratio(out, report, row, row->floor, FIGURE(pairs_per_s));
    print_ratio(out, report, row, row->mutex, FIGURE(p50_ns));
    print_ratio(out, report, row, row->mutex, FIGURE(p999_ns));
    print_ratio(out, report, row, row->mutex, FIGURE(pairs_per_s));
    fprintf(out, "\n");
}

static void print_stopped(FILE *out, const struct report *report, const struct report_row *row)
{
    print_name(out, row);
    print_spread(out, spread_figure(report, row, FIGURE(kept)), 100, 6, 0);
    print_spread(out, spread_figure(report, row, FIGURE(blocked)), 100, 6, 0);
    print_spread(out, spread_figure(report, row, FIGURE(pairs_per_s)), 1e-6, 6, 2);
    fprintf(out, " %8.0f %8.0f\n", spread_figure(report, row, FIGURE(p999_ns)).median,
            spread_figure(report, row, FIGURE(max_ns)).median * 1e-3);
}

static void print_columns(FILE *out, const struct plan *plan)
{
    fprintf(out, "\n%u scopes, %u units, %u limit%s a scope", plan->scopes, (unsigned)PLAN_UNITS, limit_count(plan),
            limit_count(plan) > 1 ? "s" : "");
    if (plan->workload == PLAN_STOPPED)
        fprintf(out,
                "; the last process is stopped inside a call, the figures are those of the others\n%-25s %-21s %-21s "
                "%-23s %8s %8s\n",
                "workload  x  peer", "  kept %", "blocked %", "Mpairs/s in stops", "p99.9 ns", "max us");
    else
        fprintf(out, "\n%73s %-31s%-16s%s\n%-25s %-21s %5s %8s %8s %-22s %7s %7s %7s %7s %7s\n", "", "", "to floor",
                "to mutex", "workload  x  peer", "p50 ns", "p99 ns", "p99.9 ns", "max us", "Mpairs/s", "p50", "rate",
                "p50", "p99.9", "rate");
}

static int same_block(const struct plan *a, const struct plan *b)
{
    return a->scopes == b->scopes && a->limits == b->limits &&
           (a->workload == PLAN_STOPPED) == (b->workload == PLAN_STOPPED);
}

void report_table(FILE *out, const struct report *report)
{
    print_head(out, report);
    for (unsigned i = 0; i < report->row_count; i++) {
        const struct report_row *row = &report->row[i];
        if (i == 0 || !same_block(&row->plan, &row[-1].plan))
            print_columns(out, &row->plan);
        if (row->plan.workload == PLAN_STOPPED)
            print_stopped(out, report, row);
        else
            print_row(out, report, row);
    }
}

/* --------------------------------------------------------------------------------------------------------- JSON */

static const struct {
    const char *name;
    size_t place;
} figures[] = {
    {"p50_ns", FIGURE(p50_ns)},   {"p99_ns", FIGURE(p99_ns)},           {"p999_ns", FIGURE(p999_ns)},
    {"max_ns", FIGURE(max_ns)},   {"pairs_per_s", FIGURE(pairs_per_s)}, {"kept", FIGURE(kept)},
    {"blocked", FIGURE(blocked)},
};
#define FIGURES (sizeof figures / sizeof *figures)
#define FIGURES_OF_CALLS 5 /* the rest is of PLAN_STOPPED alone */

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
    unsigned count = row->plan.workload == PLAN_STOPPED ? FIGURES : FIGURES_OF_CALLS;
    json_t *spreads = json_object();
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s}", "peer", row->peer->name, "workload",
                               plan_workload_name(row->plan.workload), "processes", (int)row->plan.processes, "scopes",
                               (int)row->plan.scopes, "units", PLAN_UNITS, "limits", (int)limit_count(&row->plan),
                               "keys", row->peer->keys);
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
    json_t *rows = json_array();
    for (unsigned i = 0; i < report->row_count; i++)
        json_array_append_new(rows, json_row(report, &report->row[i]));
    json_t *all = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "bench", "pair", "version", tlshm_version(), "mode",
                            report->mode, "rounds", (int)report->rounds, "host", json_host(report), "rows", rows);
    int code = all ? json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;
    json_decref(all);
    return code == 0 && fputc('\n', out) != EOF && fflush(out) == 0 ? 0 : -1;
}
