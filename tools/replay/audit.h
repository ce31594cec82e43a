/* SPDX-License-Identifier: MIT */
/*
 * audit.h - does the segment tell the truth? Compares it with the ledger, when nobody works on it any more.
 *
 *   A1  for every scope and unit: used is the sum of what its calls were charged
 *   A2  for every scope and unit: held is the sum of the estimates of its live holds; nothing, once all deadlines are over
 *   A3  at no instant did a limit's window hold more than its cap, but for overruns and late settles
 *   A4  each limit's window shows the same use as the ledger's (virtual time, where the instant of each booking is known)
 *   A5  each settle charged what the call used; no library error; no id was given twice
 *   A6  the segment's own invariants hold: tlshm_verify()
 */
#ifndef REPLAY_AUDIT_H
#define REPLAY_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include <tlshm.h>
#include <tlshm/stats.h>

#include "run.h"
#include "stage.h"

enum { AUDIT_FAULTS_SHOWN = 8, AUDIT_FAULT_TEXT = 400 };

struct level_limits {
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count;
};

/* What the same calls would have come to if each had reserved exactly what it used in the end. */
struct ideal {
    bool known; /* no limit has a window that the ledger can't follow */
    uint64_t admitted, used_tokens, used_nusd;
};

/* What a scope's calls came to. */
struct scope_sums {
    uint64_t requests, admitted, refused;
    uint64_t refused_for_cost; /* by a limit of cost, of whichever scope */
    uint64_t peak_nusd;        /* a tenant's: the most that its budget's window ever held used */
    uint64_t used[TLSHM_UNITS];
    uint64_t held_min[TLSHM_UNITS], held_max[TLSHM_UNITS]; /* they differ where a deadline is not known exactly */
};

struct audit {
    const struct run *run;
    const struct level_limits *limits; /* of each level */
    uint64_t asked, admitted, refused, settled, lost, late, replayed, failed;
    uint64_t refused_for[TLSHM_REASONS];
    uint64_t refused_by[STAGE_LEVELS];
    uint64_t refused_unit[TLSHM_UNITS]; /* by a limit of this unit */
    struct ideal ideal;
    uint64_t overspend[TLSHM_UNITS]; /* the most that any window ever was used beyond its cap */
    uint64_t overrun[TLSHM_UNITS];   /* actual above the estimate, all calls */
    struct scope_sums *sums;         /* one a scope, and the last one for global */
    unsigned unknown_limits;         /* windows that the ledger can't follow */
    uint64_t now_ns, wall_lead_ns;
    tlshm_verify_report verify;
    tlshm_segment_info info;
    uint64_t faults;
    char fault_texts[AUDIT_FAULTS_SHOWN][AUDIT_FAULT_TEXT];
};

/* False when it could not be made: `why` says why. A segment that lies is a result (faults), not a failure. */
bool audit_make(struct audit *a, const struct run *run, const struct level_limits *limits, char *why, size_t size);
void audit_end(struct audit *a);

bool audit_is_sound(const struct audit *a);

/* The tenants' budget: the first of their limits that is one of cost. NULL if there is none. */
const tlshm_limit *audit_budget(const struct audit *a);

/* For the parts of the audit: notes a fault, and its text if there is room. */
void audit_fault(struct audit *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* sweep.c: A3 and A4. False when out of memory. */
bool audit_sweep(struct audit *a);

/* ideal.c: `ideal`. False when out of memory. */
bool audit_ideal(struct audit *a);

/* The meters of a scope, made when they are first asked for. NULL when out of memory, or when it has no limits. */
struct meter;
struct meter *audit_meters(struct meter **lists, uint64_t scope, const struct level_limits *limits);

static inline bool audit_was_admitted(uint32_t phase)
{
    return phase == PHASE_ADMITTED || phase == PHASE_SETTLING || phase == PHASE_SETTLED || phase == PHASE_LOST;
}

#endif
