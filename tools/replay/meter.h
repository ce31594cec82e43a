/* SPDX-License-Identifier: MIT */
/*
 * meter.h - a second opinion on one limit of one scope: what is held and used inside its window, kept from the ledger.
 *
 * Written from the public contract alone (a rolling window counts the last `slices` buckets of the segment's clock, the
 * current one included), so that it shares no mistake with the library.
 */
#ifndef REPLAY_METER_H
#define REPLAY_METER_H

#include <stdbool.h>
#include <stdint.h>

#include <tlshm.h>

enum { METER_BUCKETS = 65 }; /* the most that a strict window counts */

struct meter {
    const tlshm_limit *limit;
    uint64_t bucket; /* the current one */
    uint64_t used[METER_BUCKETS], excess[METER_BUCKETS];
    uint64_t used_sum, excess_sum; /* over the window */
    uint64_t held;
};

/* False for a window that this meter does not know: calendar windows of a time zone or with an anchor. */
bool meter_knows(const tlshm_limit *limit);

void meter_start(struct meter *m, const tlshm_limit *limit);

/* `wall_lead_ns`: what the wall clock is ahead of the segment's. Times never go back. */
void meter_advance(struct meter *m, uint64_t at_ns, uint64_t wall_lead_ns);

/*
 * Books a use that happened at `at_ns`, which may lie a little back. `excess` is the part of it that no reservation had
 * announced: an overrun, or a settle after the deadline.
 */
void meter_use(struct meter *m, uint64_t at_ns, uint64_t wall_lead_ns, uint64_t amount, uint64_t excess);

/* What is used beyond the cap. */
uint64_t meter_overspend(const struct meter *m);

/* What is used and held beyond the cap and beyond what excess explains: never more than 0 if the library is right. */
uint64_t meter_breach(const struct meter *m);

#endif
