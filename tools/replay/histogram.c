/* SPDX-License-Identifier: MIT */
/* histogram.c - log-linear buckets: the power of two, then the bits that follow the leading one. */
#include "histogram.h"

#include <math.h>
#include <stddef.h>

enum { FINE = 1 << HISTOGRAM_FINE_BITS };

static unsigned power_of(uint64_t ns)
{
    return ns < 2 ? 0 : 63u - (unsigned)__builtin_clzll(ns);
}

/* Values below 16 have a bucket each; above, the group of a power of two starts at a multiple of 16. */
static size_t bucket_of(uint64_t ns)
{
    unsigned power = power_of(ns);
    if (power < HISTOGRAM_FINE_BITS)
        return ns;
    if (power >= HISTOGRAM_POWERS)
        return HISTOGRAM_BUCKETS - 1;
    unsigned shift = power - HISTOGRAM_FINE_BITS;
    return ((size_t)(shift + 1) << HISTOGRAM_FINE_BITS) + ((ns >> shift) & (FINE - 1));
}

static uint64_t upper_edge(size_t bucket)
{
    if (bucket < FINE)
        return bucket;
    if (bucket == HISTOGRAM_BUCKETS - 1)
        return UINT64_MAX;
    unsigned shift = (unsigned)(bucket >> HISTOGRAM_FINE_BITS) - 1;
    uint64_t lower = (uint64_t)(FINE + (bucket & (FINE - 1))) << shift;
    return lower + (UINT64_C(1) << shift) - 1;
}

void histogram_add(struct histogram *h, uint64_t ns)
{
    h->counts[bucket_of(ns)]++;
    h->total++;
    if (ns > h->max)
        h->max = ns;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->counts[i] += from->counts[i];
    into->total += from->total;
    if (from->max > into->max)
        into->max = from->max;
}

uint64_t histogram_quantile(const struct histogram *h, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)h->total), seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= rank && seen > 0)
            return upper_edge(i) < h->max ? upper_edge(i) : h->max;
    }
    return h->max;
}

uint64_t histogram_power(const struct histogram *h, unsigned power)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if ((i + 1 < HISTOGRAM_BUCKETS ? power_of(upper_edge(i)) : HISTOGRAM_POWERS - 1) == power)
            sum += h->counts[i];
    return sum;
}
