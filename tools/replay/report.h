/* SPDX-License-Identifier: MIT */
/* report.h - what the replay came to, for people or as one JSON object. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "audit.h"
#include "run.h"
#include "tariff.h"

struct report {
    const char *trace;  /* a file's name, or what was generated */
    const char *format; /* the trace's */
    uint64_t skipped;   /* bad rows */
    const struct run *run;
    const struct audit *audit;
    const struct tariff *tariff;
};

/* Returns 0, or -1 when the stream did not take it all. */
int report_print(const struct report *r, FILE *out, bool json);

#endif
