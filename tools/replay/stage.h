/* SPDX-License-Identifier: MIT */
/*
 * stage.h - the memory that the coordinator and its workers share: what to do, and what came of it.
 *
 * It is no part of the segment. The ledger in it is the witness that the segment's figures are compared with at the end,
 * so it is kept without any help of the library.
 *
 *     +--------+---------+----------------+--------------+---------------+
 *     | head   | scopes  | calls          | ledger       | desks         |
 *     |        | key     | when, whose,   | one entry a  | one a worker: |
 *     |        |         | how much       | call         | latencies     |
 *     +--------+---------+----------------+--------------+---------------+
 *       head, scopes, calls: written before the first worker starts, then only read
 *       ledger: by the worker that has the call at the moment; by the coordinator when that worker is dead
 *       desks: by their worker; the next worker in the same place goes on with it
 *
 * ORDER  A worker's stores reach the coordinator through a socket or through the worker's death, never by polling alone.
 * CRASH  Entries are accessed as volatile: a worker that is killed has written them in the order of the code, so `phase`
 *        says which call it was in: PHASE_RESERVING and PHASE_SETTLING may or may not have happened.
 */
#ifndef REPLAY_STAGE_H
#define REPLAY_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tlshm.h>

#include "histogram.h"
#include "tariff.h"

enum phase {
    PHASE_WAITING = 0,
    PHASE_RESERVING, /* in tlshm_reserve() */
    PHASE_ADMITTED,  /* the provider is at work */
    PHASE_REFUSED,
    PHASE_SETTLING, /* in tlshm_settle() */
    PHASE_SETTLED,
    PHASE_LOST,  /* the worker died while the provider was at work: the hold is left to its deadline */
    PHASE_FAILED /* the library returned an error: `code` */
};

/* How calls are made. */
struct call_rules {
    uint64_t ttl_ns;
    double crash_rate;
    uint64_t seed;
    bool global;
};

struct stage_scope {
    char key[TLSHM_KEY_MAX + 1];
};

struct stage_model {
    char name[TRACE_NAME_MAX + 1];
};

struct stage_call {
    uint64_t t_ns; /* since the trace's start */
    uint64_t api_ns;
    uint64_t input, output;
    uint64_t estimate_output; /* what the estimate has for the output */
    uint64_t estimate_nusd, actual_nusd;
    uint32_t agent, tenant; /* scopes */
    uint32_t model;         /* a tariff's number */
    bool priced;            /* if not, the call is refused */
};

/* Segment time, read before and after a call into the library. */
struct span {
    uint64_t before_ns, after_ns;
};

struct ledger_entry {
    uint32_t phase;
    int32_t code;           /* of the last call: a verdict or an error */
    uint32_t reason;        /* REFUSED */
    uint32_t refused_scope; /* REFUSED: 0 agent, 1 tenant, 2 global; UINT32_MAX: none in particular */
    uint32_t refused_unit;  /* REFUSED: of the limit; TLSHM_UNITS: none */
    uint32_t replayed;      /* repeated calls that were answered with the first one's outcome */
    uint32_t late;          /* settled after its deadline */
    tlshm_id id;
    struct span reserved, settled;
    tlshm_amounts charged;  /* as the settle said */
    tlshm_amounts estimate; /* --learned: as the reserve said; all 0: it was not asked */
};

struct stage_desk {
    uint64_t crashes; /* on purpose, --crash-rate */
    struct histogram reserve, refuse, settle;
    char why[256]; /* why the worker gave up; "" if it did not */
};

struct stage_head {
    uint64_t bytes;
    uint64_t scope_count, call_count, model_count;
    uint32_t desk_count;
    struct tariff_parcel tariff;
    struct call_rules rules;
    char segment[256];
};

struct stage {
    int fd;
    struct stage_head *head;
    struct stage_scope *scopes;
    struct stage_model *models;
    struct stage_call *calls;
    volatile struct ledger_entry *ledger;
    struct stage_desk *desks;
};

/* Makes one; counts come from `head`. Returns 0 or an errno. */
int stage_create(struct stage *s, const struct stage_head *head);

/* Maps one that another process made. Returns 0 or an errno. */
int stage_map(struct stage *s, int fd);
void stage_end(struct stage *s);

/* What a call reserves, and what it is charged when nothing goes wrong. */
void stage_estimate(const struct stage *s, uint64_t number, tlshm_amounts *out);
void stage_actual(const struct stage_call *call, tlshm_amounts *out);

/* The scopes of a call: agent, tenant, and global if asked for. Returns how many. */
enum { STAGE_AGENT, STAGE_TENANT, STAGE_GLOBAL, STAGE_LEVELS };
unsigned stage_scopes(const struct stage *s, const struct stage_call *call, const char *keys[STAGE_LEVELS]);
extern const char *const stage_levels[STAGE_LEVELS];

#endif
