/* SPDX-License-Identifier: MIT */
/*
 * generate.h - traces of our own, with the shape of what coding agents ask for.
 *
 * A session is a series of conversations. In a conversation the input grows with each call, as all that was said is
 * sent again; now and then the context is compacted. Between two calls tools run or a person thinks. A tenant owns
 * sessions; a few tenants own most of them. generate.c names every distribution and its figures.
 */
#ifndef REPLAY_GENERATE_H
#define REPLAY_GENERATE_H

#include <stdint.h>

#include "trace.h"

struct generate_settings {
    uint64_t seed;
    uint64_t requests;
    unsigned tenants, sessions;
    uint64_t length_ns; /* all calls start before this */
};

struct generate;

/* Draws the whole trace. NULL when out of memory. The same settings give the same trace. */
struct generate *generate_start(const struct generate_settings *settings);

/* The next record in the order of time. Returns 1, or 0 at the end. */
int generate_next(struct generate *g, struct trace_record *out);

void generate_end(struct generate *g);

/* The skew of tenants, also for traces that know no tenants: tenant k weighs (k + 1) to the power of minus this. */
extern const double generate_tenant_exponent;

#endif
