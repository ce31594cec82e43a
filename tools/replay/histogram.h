/* SPDX-License-Identifier: MIT */
/* histogram.h - durations in logarithmic buckets: an error of at most 1/16, no memory beside the struct. */
#ifndef REPLAY_HISTOGRAM_H
#define REPLAY_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_FINE_BITS = 4, /* each power of two is cut into 16 */
    HISTOGRAM_POWERS = 40,   /* up to 18 minutes; more is counted as that */
    HISTOGRAM_BUCKETS = (HISTOGRAM_POWERS - HISTOGRAM_FINE_BITS + 1) << HISTOGRAM_FINE_BITS
};

/* Written by one process at a time; it may live in shared memory. All zero is empty. */
struct histogram {
    uint64_t total, max;
    uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t ns);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The upper edge of the bucket that holds this share of the values, never above the maximum; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *h, double share);

/* How many values are in [2^power, 2^(power + 1)); power 0 also has those of 0. */
uint64_t histogram_power(const struct histogram *h, unsigned power);

#endif
