/* SPDX-License-Identifier: MIT */
/*
 * price.h - rates and sums: pure arithmetic, no files, no state.
 *
 * INVARIANTS
 *   I1  A sum is exact: counts up to 2^53 times rates up to 10^14 pico-dollars, thirteen of them, fit into 128 bits.
 *   I2  Each token of input and of output is charged once: the counts of the lines add up to the totals.
 *   I3  A rate is rounded up when it is read, a sum once, when it becomes nano-dollars. Nothing is ever rounded down.
 */
#ifndef TL_PRICE_H
#define TL_PRICE_H

#include <tlshm/price.h>

#include "base.h"

__extension__ typedef unsigned __int128 tl_pusd; /* pico-dollars */

/* What one token of a part costs in calls with more than `above` input tokens; above 0: in every call. */
struct tl_rate {
    uint64_t pusd;
    uint64_t above;
    uint8_t part;    /* enum tlshm_part */
    uint8_t service; /* enum tlshm_service */
};

enum tl_price_fault { TL_PRICE_OK, TL_PRICE_NEGATIVE, TL_PRICE_ABSURD, TL_PRICE_NO_NUMBER };

/*
 * A published number times 10^scale, rounded up. The number is read as the shortest decimal that names the same double:
 * what was published with up to 15 digits, or by a program that writes doubles back as they were, is met exactly.
 */
enum tl_price_fault tl_price_read(double value, unsigned scale, uint64_t max, uint64_t *pusd);

/* The most that one of a part may cost. */
uint64_t tl_price_max(unsigned part);

/*
 * Adds a rate to those that there are; of two for the same the dearer one stays. The place must have room for one more.
 * Returns the new count.
 */
unsigned tl_price_add(struct tl_rate *rates, unsigned count, struct tl_rate rate);

/* Is there a rate for tokens; are all of them 0? */
bool tl_price_any(const struct tl_rate *rates, unsigned count);
bool tl_price_free(const struct tl_rate *rates, unsigned count);

/* 0, -ERANGE for a count that no call has, -EINVAL for parts that are more than their whole. */
int tl_price_check(const tlshm_counts *counts);

/*
 * Fills in counts, rates and sums. 0, the errors of tl_price_check(), -ERANGE, or TLSHM_UNKNOWN_MODEL with out->part set when a part that is
 * used has no rate.
 */
int tl_price_sum(const struct tl_rate *rates, unsigned count, const tlshm_counts *counts, enum tlshm_service service,
                 tlshm_cost *out);

#endif
