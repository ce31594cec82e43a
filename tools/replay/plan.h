/* SPDX-License-Identifier: MIT */
/* plan.h - collects a trace's calls, gives each scope key a number, and lays both out on a stage. */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include <stdbool.h>

#include "stage.h"
#include "tariff.h"
#include "trace.h"

struct plan {
    struct stage_call *calls;
    int64_t *times; /* as the trace tells them; the stage counts from the first */
    size_t call_count, call_room;
    char **keys;
    size_t key_count, key_room;
    void *tree; /* of keys, by tsearch(3) */
};

/* All zero is an empty plan. False when out of memory. */
bool plan_add(struct plan *p, const struct trace_record *record, const struct quote *quote);

/* Sorts the calls by time and copies everything to a new stage. Returns 0 or an errno. */
int plan_stage(struct plan *p, const struct tariff *tariff, struct stage_head *head, struct stage *out);

/* The time of the first call, as the trace tells it; after plan_stage(). */
int64_t plan_start_ns(const struct plan *p);

void plan_end(struct plan *p);

#endif
