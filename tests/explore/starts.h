/* SPDX-License-Identifier: MIT */
/* starts.h - what the scenes of all groups share: segments to begin with, and the groups themselves. */
#ifndef TLSHM_EXPLORE_STARTS_H
#define TLSHM_EXPLORE_STARTS_H

#include "calls.h"
#include "scene.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PLENTY 1000
#define SETTLE TLSHM_SETTLED
#define REFUND TLSHM_REFUNDED
#define EXPIRE TLSHM_EXPIRED

/* Buckets of one tick and of two, the latter one longer than the window; and an hour that ends in six ticks. */
unsigned usual_limits(uint64_t cap, tlshm_limit *limits);

/* `first`: a key of its own for scope 0, or NULL. */
void open_named(const char *first, const tlshm_limit *limits, unsigned count, unsigned leave_out);
void open_with(const tlshm_limit *limits, unsigned count, unsigned leave_out);

/* Lets the clock go on, with a call on scopes 0 and 1. Amounts are powers of two, so that a sum tells its parts. */
void use(int ticks, uint64_t tokens);

/* The hold of the preparation, on scopes 0 and 1. */
void hold(uint64_t tokens, unsigned ttl);

/* With the usual limits, use in three buckets, the last one now. */
void open_usual(uint64_t cap, unsigned leave_out);

/* The same and a hold: what a scene starts with that says nothing else. */
void start_usual(void);
void start_empty(void);

/* The hold is overdue. */
void start_overdue(void);

/* Limits that come by way of the level's default tier, for threads that have read nothing yet. */
void start_default(void);
extern uint32_t tier_cells[2], level_cell;

/* A cell for a level or a tier; and where a policy word leads. */
uint32_t make_internal(const char *key);
void lead(unsigned seat, uint32_t from, enum tl_policy_kind kind, uint32_t to);

/* The id, or 0. */
tlshm_id reserve(unsigned fibre, unsigned record, unsigned scopes, uint64_t tokens, unsigned ttl);

/* Makes some calls of a fibre's seat. */
void call_often(unsigned fibre, unsigned scopes, unsigned times);

/* Every fibre has made some calls in the present bucket: now it knows all that it can. */
void warm_up(unsigned scopes);

/* What fibres were told in this schedule. */
extern struct answers {
    int verdict[FIBRES]; /* UNANSWERED: the call did not return */
    tlshm_id id[FIBRES];
    uint64_t handle[FIBRES];
} answers;
#define UNANSWERED 100

/* Which scope's limits are watched: none at first, then, in each schedule, the one of the preparation. */
void watch_nothing(void);
void watch_from_start(void);

/* A policy word has been changed. */
void watch_policy(const volatile void *address);

/* scenes_latches.c: latches and their switches are watched. */
void latch_watch_nothing(void);
void latch_forget(void);
void latch_moment(void);
void latch_switched(const volatile void *address, uint64_t before, uint64_t after);

extern const struct scene scenes_of_holds[], scenes_of_helpers[], scenes_of_windows[], scenes_of_directory[],
    scenes_of_limits[], scenes_of_straight[], scenes_of_lanes[], scenes_of_horizons[], scenes_of_changes[],
    scenes_of_requests[], scenes_of_wraps[], scenes_of_latches[], scenes_of_questions[], scenes_of_foreign[];
extern const unsigned count_of_holds, count_of_helpers, count_of_windows, count_of_directory, count_of_limits,
    count_of_straight, count_of_lanes, count_of_horizons, count_of_changes, count_of_requests, count_of_wraps,
    count_of_latches, count_of_questions, count_of_foreign;

#endif
