/* SPDX-License-Identifier: MIT */
/* report.c - collecting figures; medians, spreads and ratios over the rounds. */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct report_point *report_point_get(struct report *report, const char *axis, uint64_t value)
{
    unsigned i = 0;
    for (; i < report->point_count; i++) {
        struct report_point *point = &report->point[i];
        if (strcmp(point->axis, axis) == 0 && point->value == value)
            return point;
    }
    if (i == REPORT_GROWTH_MAX)
        return &report->point[i - 1];
    report->point_count++;
    report->point[i] = (struct report_point){.axis = axis, .value = value};
    return &report->point[i];
}

struct report_fact *report_fact_get(struct report *report, const char *name, const char *unit)
{
    unsigned i = 0;
    for (; i < report->fact_count; i++) {
        if (strcmp(report->fact[i].name, name) == 0)
            return &report->fact[i];
    }
    if (i == REPORT_FACTS_MAX)
        return &report->fact[i - 1];
    report->fact_count++;
    report->fact[i] = (struct report_fact){.name = name, .unit = unit};
    return &report->fact[i];
}

void report_fact_add(struct report *report, const char *name, const char *unit, double value)
{
    struct report_fact *fact = report_fact_get(report, name, unit);
    if (fact->rounds < REPORT_ROUNDS_MAX)
        fact->value[fact->rounds++] = value;
}

void report_skip(struct report *report, const char *format, ...)
{
    va_list list;
    if (report->skipped_count == REPORT_SKIPPED_MAX)
        return;
    va_start(list, format);
    vsnprintf(report->skipped[report->skipped_count++], sizeof report->skipped[0], format, list);
    va_end(list);
}

/* ------------------------------------------------------------------------------------------- medians and ratios */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Values that are no numbers (nothing was measured) don't count. */
struct spread spread_of(const double *values, unsigned count)
{
    double sorted[REPORT_ROUNDS_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        if (isfinite(values[i]))
            sorted[n++] = values[i];
    }
    if (n == 0)
        return (struct spread){NAN, NAN, NAN};
    qsort(sorted, n, sizeof *sorted, by_size);
    return (struct spread){(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]};
}

static double figure(const struct report_row *row, unsigned round, size_t place)
{
    return *(const double *)(const void *)((const char *)&row->round[round] + place);
}

struct spread spread_figure(const struct report *report, const struct report_row *row, size_t place)
{
    double values[REPORT_ROUNDS_MAX];
    for (unsigned i = 0; i < report->rounds; i++)
        values[i] = figure(row, i, place);
    return spread_of(values, report->rounds);
}

struct spread spread_ratio(const struct report *report, const struct report_row *row, const struct report_row *base,
                           size_t place)
{
    double values[REPORT_ROUNDS_MAX];
    if (!row || !base)
        return (struct spread){NAN, NAN, NAN};
    for (unsigned i = 0; i < report->rounds; i++)
        values[i] = figure(row, i, place) / figure(base, i, place);
    return spread_of(values, report->rounds);
}

struct spread spread_points(const struct report_point *point, const struct report_point *base)
{
    double values[REPORT_ROUNDS_MAX];
    if (!point || !base)
        return (struct spread){NAN, NAN, NAN};
    unsigned rounds = point->rounds < base->rounds ? point->rounds : base->rounds;
    for (unsigned i = 0; i < rounds; i++)
        values[i] = point->p50_ns[i] / base->p50_ns[i];
    return spread_of(values, rounds);
}

unsigned report_limit_count(const struct plan *plan)
{
    tlshm_limit list[PLAN_LIMITS_MAX];
    return plan_limit_list(plan, list);
}
