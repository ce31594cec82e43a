/* SPDX-License-Identifier: MIT */
/*
 * reference.h - what the limiter must answer, as a plain sequential program: no sharing, no atomics, every figure summed
 * up from scratch. It is written from the public headers alone.
 *
 * RULES where the headers leave more than one reading:
 *   - A request that takes nothing of a unit is not refused by that unit's limits.
 *   - A limit on single requests has no use and no holds. It refuses before all others. A reserve's time is cut short to it
 *     instead; what an extend adds no time to beyond the deadline does not count as asked for.
 *   - An extend never fits when what is added is above the limit; waiting for the end of its own hold is no help.
 *   - A limit's identity is its unit, its window and whether it is strict; the cap is a setting of it.
 *   - A scope meets a new list of limits at the next reserve or extend that it admits. A limit that it had goes on. One
 *     that it had not starts with the use of the window that it replaces, as one bucket of that moment: the window of
 *     the same unit in the same place of the list. Without such a one it starts with none.
 *     Until then its figures, times included, are those that it would start with now.
 */
#ifndef TLSHM_TESTS_REFERENCE_H
#define TLSHM_TESTS_REFERENCE_H

#include "meter.h"

#include <stdbool.h>
#include <tlshm/admin.h>

struct reference;

/* What may be answered to a refused call: any of these limits, or a flag; the wait is that of the whole request. */
struct ref_refusal {
    bool paused, shutoff, too_large, never_fits;
    unsigned count;
    struct ref_refusing {
        unsigned scope;
        struct tlshm_limit_usage at;
        uint64_t requested;
    } of[TLSHM_SCOPES_MAX * TLSHM_LIMITS_MAX];
    uint64_t retry_after_ns;
};

struct reference *ref_new(struct instant now);
void ref_free(struct reference *r);
void ref_clock(struct reference *r, struct instant now);

/* `id` is a number of the model's own, counted from 1 in the order of admissions. */
int ref_reserve(struct reference *r, const tlshm_request *request, uint64_t *id, struct ref_refusal *why);
int ref_settle(struct reference *r, uint64_t id, const tlshm_amounts *actual, enum tlshm_outcome outcome,
               tlshm_result *result);
int ref_refund(struct reference *r, uint64_t id, tlshm_result *result);
int ref_extend(struct reference *r, uint64_t id, const tlshm_amounts *more, uint64_t ttl_ns, struct ref_refusal *why);

int64_t ref_remaining(struct reference *r, const char *key, enum tlshm_unit unit);
void ref_usage(struct reference *r, const char *key, tlshm_scope_usage *out);

/* The fields that the model knows: not the handles, the pid and the tag. */
void ref_reservation(struct reference *r, uint64_t id, tlshm_reservation_info *out);
const char *ref_reservation_key(struct reference *r, uint64_t id, unsigned index);

uint64_t ref_live(struct reference *r);
uint64_t ref_next_due(struct reference *r);

void ref_tier_set(struct reference *r, const char *tier, const tlshm_limit *limits, unsigned count);
int ref_tier_unset(struct reference *r, const char *tier);
int ref_tier_limit_set(struct reference *r, const char *tier, const tlshm_limit *limit);
int ref_tier_limit_unset(struct reference *r, const char *tier, const tlshm_limit *limit);
void ref_default_set(struct reference *r, const char *level, const char *tier);
int ref_scope_tier_set(struct reference *r, const char *key, const char *tier);
void ref_scope_limits_set(struct reference *r, const char *key, const tlshm_limit *limits, unsigned count);
int ref_limit_set(struct reference *r, const char *key, const tlshm_limit *limit);
int ref_limit_unset(struct reference *r, const char *key, const tlshm_limit *limit);

void ref_pause(struct reference *r, int on);
void ref_shutoff(struct reference *r, int on);
void ref_scope_pause(struct reference *r, const char *key, int on);
void ref_scope_shutoff(struct reference *r, const char *key, int on);
void ref_overrun(struct reference *r, enum tlshm_overrun policy, tlshm_overrun_function function, void *context);

#endif
