/* SPDX-License-Identifier: MIT */
/* histogram.c - merging and quantiles of log-linear histograms. */
#include "histogram.h"

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    into->max = from->max > into->max ? from->max : into->max;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

static uint64_t bucket_width(unsigned index)
{
    unsigned octave = index >> HISTOGRAM_SUB_BITS;
    return octave < 2 ? 1 : UINT64_C(1) << (octave - 1);
}

/* The inverse of histogram_index(): the smallest value of a bucket. */
static uint64_t bucket_start(unsigned index)
{
    unsigned octave = index >> HISTOGRAM_SUB_BITS;
    unsigned shift = octave < 2 ? 0 : octave - 1;
    return (uint64_t)(index - (shift << HISTOGRAM_SUB_BITS)) << shift;
}

double histogram_quantile(const struct histogram *h, double q)
{
    double rank = q * (double)h->count;
    double below = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double here = (double)h->bucket[i];
        if (here > 0 && below + here >= rank) {
            double value = (double)bucket_start(i) - 0.5 + (rank - below) / here * (double)bucket_width(i);
            return value < 0 ? 0 : value < (double)h->max ? value : (double)h->max;
        }
        below += here;
    }
    return (double)h->max;
}
