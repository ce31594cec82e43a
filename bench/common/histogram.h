/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - counts of small whole numbers, log-linear: exact below 256, within 1/128 above.
 *
 * A fixed-size value without pointers, so that it may lie in shared memory. One writer.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_VALUE_BITS 40
#define HISTOGRAM_BUCKETS ((HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t count;
    uint64_t max; /* exact, unlike the buckets */
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline unsigned histogram_index(uint64_t value)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(value | 1);
    unsigned shift = top > HISTOGRAM_SUB_BITS ? top - HISTOGRAM_SUB_BITS : 0;
    return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(value >> shift);
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
    const uint64_t last = (UINT64_C(1) << HISTOGRAM_VALUE_BITS) - 1;
    value = value < last ? value : last;
    h->count++;
    h->max = value > h->max ? value : h->max;
    h->bucket[histogram_index(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from);

/*
 * The value below which the share `q` of all values lies, 0 for an empty histogram. A bucket's values are taken as
 * spread evenly over its width, which gives a median finer than the step of a coarse timer.
 */
double histogram_quantile(const struct histogram *h, double q);

#endif
