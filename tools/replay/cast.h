/* SPDX-License-Identifier: MIT */
/*
 * cast.h - gives the calls of a trace what the trace does not tell: tenants, sessions, agents, and starts of sessions.
 *
 * What is drawn depends on the seed and the names alone, not on the order of rows.
 */
#ifndef REPLAY_CAST_H
#define REPLAY_CAST_H

#include <stdint.h>

#include "trace.h"

struct cast {
    uint64_t seed;
    unsigned tenants, sessions; /* for traces without */
    uint64_t spread_ns;         /* sessions without a wall clock start within this */
};

/* `number` is the record's number in the file. */
void cast_complete(const struct cast *cast, enum trace_format format, uint64_t number, struct trace_record *record);

#endif
