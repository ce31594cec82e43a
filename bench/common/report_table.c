/* SPDX-License-Identifier: MIT */
/* report_table.c - the results for people. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static void print_head(FILE *out, const struct report *report)
{
    const struct host *h = &report->host;
    const struct timer *t = &report->timer;
    fprintf(out, "tlshm %s (%s, %u rounds)\n", tlshm_version(), report->mode, report->rounds);
    fprintf(out, "%s, %u processors%s, %s, %s\n", h->cpu, h->processors, h->virtual_machine ? " (virtual)" : "",
            h->kernel, h->compiler);
    fprintf(out, "load before %.2f; during the run others took %.1f %% of the processors, the hypervisor %.1f %%\n",
            h->load, 100 * h->other_share, 100 * h->steal_share);
    fprintf(out, "timer %s: costs %.1f ns, subtracted; moves in steps of %.1f ns\n", TIMER_NAME, t->cost_ns,
            t->step * t->tick_ns);
    fprintf(out, "medians over the rounds, (least-most) beside; ratios are medians of ratios within a round\n");
    for (unsigned i = 0; i < report->skipped_count; i++)
        fprintf(out, "skipped: %s\n", report->skipped[i]);
}

/* -------------------------------------------------------------------------------------------------------- calls */

static void print_name(FILE *out, const struct report_row *row)
{
    fprintf(out, "%-9s %2u  %-16s %-6s", plan_workload_name(row->plan.workload), row->plan.processes, row->peer->name,
            row->peer->keys);
}

static void print_spread(FILE *out, struct spread s, double scale, int width, int digits)
{
    char range[40];
    digits += digits > 0 && s.median * scale < 0.1 ? 2 : 0; /* a server's rates */
    snprintf(range, sizeof range, "(%.*f-%.*f)", digits, s.min * scale, digits, s.max * scale);
    fprintf(out, " %*.*f %-*s", width, digits, s.median * scale, width + digits + 6, range);
}

static void print_ratio(FILE *out, const struct report *report, const struct report_row *row,
                        const struct report_row *base, size_t place)
{
    if (!base)
        fprintf(out, "  %6s", "-");
    else if (row == base)
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

static void print_disturbed(FILE *out, const struct report *report, const struct report_row *row)
{
    print_name(out, row);
    print_spread(out, spread_figure(report, row, FIGURE(kept)), 100, 6, 0);
    if (row->plan.workload == PLAN_STOPPED)
        print_spread(out, spread_figure(report, row, FIGURE(blocked)), 100, 6, 0);
    else
        fprintf(out, " %6s %-12s", "-", "");
    print_spread(out, spread_figure(report, row, FIGURE(pairs_per_s)), 1e-6, 6, 2);
    fprintf(out, " %8.0f %8.0f\n", spread_figure(report, row, FIGURE(p999_ns)).median,
            spread_figure(report, row, FIGURE(max_ns)).median * 1e-3);
}

static int is_disturbed(const struct plan *plan)
{
    return plan_victim(plan) < plan->processes;
}

static void print_block(FILE *out, const struct plan *plan)
{
    fprintf(out, "\n%u scopes, %u unit%s limited, ", plan->scopes, plan->units, plan->units > 1 ? "s" : "");
    if (plan->windows == 0)
        fprintf(out, "for life, without a window");
    else
        fprintf(out, "%u rolling window%s each", plan->windows, plan->windows > 1 ? "s" : "");
    if (is_disturbed(plan))
        fprintf(out, "; the last process is stopped inside a call, or killed; the figures are those of the others");
    fprintf(out, "\n");
}

static void print_columns(FILE *out, const struct plan *plan)
{
    print_block(out, plan);
    if (is_disturbed(plan))
        fprintf(out, "%-37s %-21s %-21s %-23s %8s %8s\n", "workload   x  peer", "  kept %", "blocked %",
                "Mpairs/s meanwhile", "p99.9 ns", "max us");
    else
        fprintf(out, "%85s %-31s%-16s%s\n%-37s %-21s %5s %8s %8s %-22s %7s %7s %7s %7s %7s\n", "", "", "to floor",
                "to mutex", "workload   x  peer", "p50 ns", "p99 ns", "p99.9 ns", "max us", "M/s", "p50", "rate", "p50",
                "p99.9", "rate");
}

static int same_block(const struct plan *a, const struct plan *b)
{
    return a->scopes == b->scopes && a->units == b->units && a->windows == b->windows &&
           is_disturbed(a) == is_disturbed(b);
}

static void print_rows(FILE *out, const struct report *report)
{
    for (unsigned i = 0; i < report->row_count; i++) {
        const struct report_row *row = &report->row[i];
        if (i == 0 || !same_block(&row->plan, &row[-1].plan))
            print_columns(out, &row->plan);
        if (is_disturbed(&row->plan))
            print_disturbed(out, report, row);
        else
            print_row(out, report, row);
    }
}

/* -------------------------------------------------------------------------------------------- growth, facts, goals */

static const struct report_point *first_of_axis(const struct report *report, const struct report_point *point)
{
    const struct report_point *first = report->point;
    while (strcmp(first->axis, point->axis) != 0)
        first++;
    return first;
}

static void print_growth(FILE *out, const struct report *report)
{
    if (report->point_count > 0)
        fprintf(out, "\n%-16s %9s  %-21s %13s %9s %9s\n", "growth of", "", "p50 ns of a pair", "to the first", "p99 ns",
                "max us");
    for (unsigned i = 0; i < report->point_count; i++) {
        const struct report_point *point = &report->point[i];
        fprintf(out, "%-16s %9" PRIu64 " ", point->axis, point->value);
        print_spread(out, spread_of(point->p50_ns, point->rounds), 1, 6, 0);
        fprintf(out, " %6.2f %9.0f %9.0f\n", spread_points(point, first_of_axis(report, point)).median,
                spread_of(point->p99_ns, point->rounds).median, spread_of(point->max_ns, point->rounds).median * 1e-3);
    }
}

static void print_facts(FILE *out, const struct report *report)
{
    if (report->fact_count > 0)
        fprintf(out, "\nfacts\n");
    for (unsigned i = 0; i < report->fact_count; i++) {
        const struct report_fact *fact = &report->fact[i];
        struct spread s = spread_of(fact->value, fact->rounds);
        fprintf(out, "%-64s %10.4g %-5s", fact->name, s.median, fact->unit);
        if (fact->rounds > 1)
            fprintf(out, " (%.4g-%.4g)", s.min, s.max);
        fprintf(out, "\n");
    }
}

static void print_goals(FILE *out, const struct report *report)
{
    struct goal goals[REPORT_GOALS_MAX];
    unsigned count = goals_list(report, goals), met = 0, measured = 0;
    fprintf(out, "\n%-64s %-16s %10s\n", "goals", "wanted", "found");
    for (unsigned i = 0; i < count; i++) {
        const struct goal *goal = &goals[i];
        char wanted[32], found[32] = "-";
        snprintf(wanted, sizeof wanted, "%s %.4g %s", goal->at_most ? "<=" : ">=", goal->target, goal->unit);
        if (isfinite(goal->value))
            snprintf(found, sizeof found, "%.4g", goal->value);
        fprintf(out, "%-64s %-16s %10s  %s\n", goal->text, wanted, found,
                !isfinite(goal->value) ? "not measured"
                : goal_met(goal)       ? "met"
                                       : "NOT MET");
        measured += isfinite(goal->value) != 0;
        met += isfinite(goal->value) && goal_met(goal);
    }
    fprintf(out, "%u of %u measured goals are met\n", met, measured);
}

void report_table(FILE *out, const struct report *report)
{
    print_head(out, report);
    print_rows(out, report);
    print_growth(out, report);
    print_facts(out, report);
    print_goals(out, report);
}
