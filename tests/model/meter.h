/* SPDX-License-Identifier: MIT */
/*
 * meter.h - the use of one unit inside one window, as the reference model sees it: a short list of buckets, nothing
 * clever. A bucket is a rolling slice's number or a calendar period's first second.
 */
#ifndef TLSHM_TESTS_METER_H
#define TLSHM_TESTS_METER_H

#include <stdbool.h>
#include <tlshm.h>

#define METER_BUCKETS 72 /* more than the 64 slices and the strict one that a window may have */

struct instant {
    uint64_t boot, wall; /* ns */
};

struct meter {
    enum tlshm_unit unit;
    uint32_t flags; /* of the limit; strict counts one bucket more */
    tlshm_window window;
    unsigned count;
    struct {
        int64_t bucket;
        uint64_t amount;
    } of[METER_BUCKETS];
};

/* Whether two limits count the same: unit, buckets or periods, strictness. Fields that their kind does not use and the
 * cap don't matter. */
bool limit_same(const tlshm_limit *a, const tlshm_limit *b);

void meter_start(struct meter *m, const tlshm_limit *limit);
void meter_add(struct meter *m, uint64_t amount, struct instant at);
bool meter_counts(const struct meter *m, const tlshm_limit *limit);
uint64_t meter_used(const struct meter *m, struct instant at);

/* ns from `at` until the use next falls by itself; TLSHM_NEVER when there is none. */
uint64_t meter_falls_in(const struct meter *m, struct instant at);

#endif
