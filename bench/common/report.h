/* SPDX-License-Identifier: MIT */
/* report.h - everything that a run found out: rounds of trials, growth, single facts, what was skipped. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "histogram.h"
#include "host.h"
#include "peer.h"
#include "timer.h"
#include "trial.h"

#define REPORT_ROUNDS_MAX 31
#define REPORT_GROWTH_MAX 64
#define REPORT_FACTS_MAX 32
#define REPORT_SKIPPED_MAX 16

struct report_row {
    const struct peer *peer;
    struct plan plan;
    const struct report_row *floor, *mutex; /* of the same plan and the same rounds; NULL: none */
    struct trial_result round[REPORT_ROUNDS_MAX];
    struct histogram *latency; /* of all rounds, in steps of the timer */
};

/* A point of a curve: what a call costs when something else is as large as `value`. */
struct report_point {
    const char *axis;
    uint64_t value;
    unsigned rounds;
    double p50_ns[REPORT_ROUNDS_MAX], p99_ns[REPORT_ROUNDS_MAX], max_ns[REPORT_ROUNDS_MAX];
};

/* A figure that stands for itself. */
struct report_fact {
    const char *name;
    const char *unit;
    unsigned rounds;
    double value[REPORT_ROUNDS_MAX];
};

struct report {
    const char *mode; /* smoke, quick, full */
    unsigned rounds;
    struct host host;
    struct timer timer;
    unsigned row_count;
    struct report_row *row;
    unsigned point_count;
    struct report_point point[REPORT_GROWTH_MAX];
    unsigned fact_count;
    struct report_fact fact[REPORT_FACTS_MAX];
    unsigned skipped_count;
    char skipped[REPORT_SKIPPED_MAX][160];
};

/* The point or fact of that name, made when it is new. Beyond the room that there is, the last one. */
struct report_point *report_point_get(struct report *report, const char *axis, uint64_t value);
struct report_fact *report_fact_get(struct report *report, const char *name, const char *unit);
void report_fact_add(struct report *report, const char *name, const char *unit, double value);
void report_skip(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------------------------------- medians and ratios */

struct spread {
    double median, min, max;
};

/* Names a figure of a round by its place. */
#define FIGURE(name) offsetof(struct trial_result, name)

struct spread spread_of(const double *values, unsigned count);
struct spread spread_figure(const struct report *report, const struct report_row *row, size_t place);

/* Formed within each round, so that a disturbance of a whole round cancels out. All NAN without a base. */
struct spread spread_ratio(const struct report *report, const struct report_row *row, const struct report_row *base,
                           size_t place);
struct spread spread_points(const struct report_point *point, const struct report_point *base);

unsigned report_limit_count(const struct plan *plan);

/* --------------------------------------------------------------------------------------------------------- goals */

#define REPORT_GOALS_MAX 40

struct goal {
    const char *text;
    const char *unit; /* of both figures */
    double target;
    int at_most;  /* else at least */
    double value; /* NAN: not measured */
};

int goal_met(const struct goal *goal);

/* What the library should reach, with what this run found. Returns the number of goals. */
unsigned goals_list(const struct report *report, struct goal goals[REPORT_GOALS_MAX]);

/* ---------------------------------------------------------------------------------------------- ways of showing */

void report_table(FILE *out, const struct report *report);

/* 0, or -1 when it could not be written. */
int report_json(FILE *out, const struct report *report);

/* Data files, a script for gnuplot, and SVG files made by it, into a directory. 0, or -1 after a message. */
int report_plot(const char *directory, const struct report *report);

#endif
