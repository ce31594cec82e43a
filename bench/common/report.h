/* SPDX-License-Identifier: MIT */
/* report.h - rounds to medians, spreads and ratios; a table for people and JSON for programs. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "host.h"
#include "peer.h"
#include "timer.h"
#include "trial.h"

#define REPORT_ROUNDS_MAX 31

struct report_row {
    const struct peer *peer;
    struct plan plan;
    const struct report_row *floor, *mutex; /* of the same plan and the same rounds */
    struct trial_result round[REPORT_ROUNDS_MAX];
};

struct report {
    const char *mode; /* quick, full */
    unsigned rounds;
    struct host host;
    struct timer timer;
    unsigned row_count;
    struct report_row *row;
};

void report_table(FILE *out, const struct report *report);

/* 0, or -1 when it could not be written. */
int report_json(FILE *out, const struct report *report);

#endif
