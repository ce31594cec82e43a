/* SPDX-License-Identifier: MIT */
/*
 * mix.h - a skewed crowd: which agent of which tenant makes the next call, and how large it is.
 *
 * Agents are drawn by Zipf's law; each belongs to one tenant, drawn by the same law once. Sizes are those of a trace,
 * in its order. The draws are seeded: every run and every peer gets the same series.
 */
#ifndef BENCH_MIX_H
#define BENCH_MIX_H

#include <stdint.h>

#include "plan.h"

#define MIX_ITEMS 65536 /* calls of the series; then it begins anew */

struct mix_item {
    uint32_t agent, tenant;
    uint32_t input, output; /* tokens */
};

struct mix {
    unsigned agents, tenants;
    struct mix_item item[MIX_ITEMS];
};

/*
 * Reads the sizes from a trace: a CSV file, gzipped or not, whose header line has the columns input_tokens and
 * output_tokens. NULL after a message that names file and line.
 */
struct mix *mix_load(const char *trace, unsigned agents, unsigned tenants);

/* Estimate (input and an allowance for the output) and actual amounts of an item's call. */
void mix_amounts(const struct mix_item *item, struct plan_call *call);

#endif
