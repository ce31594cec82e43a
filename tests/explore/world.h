/* SPDX-License-Identifier: MIT */
/*
 * world.h - the explored segment: tiny, in static memory, with a virtual clock that stands still until it is moved; and
 * the threads that have its seats.
 */
#ifndef TLSHM_EXPLORE_WORLD_H
#define TLSHM_EXPLORE_WORLD_H

#include "fibre.h"

#include "segment.h"

#define SEATS (FIBRES + 1)
#define HARNESS FIBRES /* the seat of preparation and audit */
#define SCOPES 3       /* scopes that exist from the start, the most shared first */
#define CELLS 8        /* places for scopes: some are free */
#define RECORDS 4      /* records that scenes use */
#define TICK UINT64_C(1000000)
#define HOUR UINT64_C(3600000000000)
#define START (HOUR - 6 * TICK) /* six ticks before the end of a calendar period */

struct world {
    struct tl_map map;
    struct tl_thread thread[SEATS];
    uint64_t handle[SCOPES];
    uint32_t cell[SCOPES];
    tl_word late_clock; /* one tick behind */
    bool warm;          /* threads begin with what they knew when the world was kept */
    tlshm_id hold;      /* made by a scene's preparation */
    bool dead[FIBRES];  /* in the schedule that runs */
};
extern struct world world;

/* A new segment at START with scopes that have these limits. `first`: another key for the first of them, or NULL. */
void world_open(const char *first, const tlshm_limit *limits, unsigned count);

/* What schedules start from, and going back to it. All sheets are marked: nobody has met others there yet. */
void world_keep(void);
void world_restore(void);

/* What stands now, aside from the fibres, and back to it: what is done in between has never been. */
void world_set_aside(void);
void world_take_back(void);

uint64_t world_now(void);
void world_tick(int ticks);

/* From now on a seat's clock is one tick behind. */
void world_lag(unsigned seat);

/* A limit over so many buckets of so many ticks. */
tlshm_limit world_rolling(enum tlshm_unit unit, unsigned slices, unsigned ticks, uint32_t flags, uint64_t cap);
tlshm_limit world_calendar(uint64_t cap);
tlshm_limit world_lifetime(uint64_t cap);

/* A limit on single requests; of time in ns. */
tlshm_limit world_request(enum tlshm_unit unit, uint64_t cap);

/* Limits as limit lists have them. */
void world_shapes(const tlshm_limit *limits, unsigned count, uint64_t *shape, uint64_t *cap);

/* The node (sheet or body) that an address lies in, or NULL; `ref`: it is the node's first word. */
const volatile void *world_node(const volatile void *address, bool *ref);

/* Not in the segment. */
bool world_private(const volatile void *address);

/* A word that no scene writes: reading it is no step. */
bool world_untouched(const volatile void *address);

/* Limit lists are read and written by relaxed accesses, which are steps here. */
bool world_in_lists(const volatile void *address);
bool world_in_history(const volatile void *address);

/* The index of a record's head or of a cell's policy word; -1: the address is none. */
long world_record_at(const volatile void *address);
long world_policy_at(const volatile void *address);

/* "cell 17 head", "sheet 30 +3", ... for traces. */
void world_name(const volatile void *address, char *buf, size_t size);

#endif
