/* SPDX-License-Identifier: MIT */
/* prices.h - filling a price table that nobody else has yet. What is public is in tlshm/price.h. */
#ifndef TL_PRICES_H
#define TL_PRICES_H

#include "price.h"

/*
 * Sets the price of a model, "" for the default, as tlshm_prices_override() does, without waiting for readers: there are
 * none before the table is published. 0, -TLSHM_EINVAL (the name is too long), -TLSHM_ERANGE (too many), -TLSHM_ENOMEM.
 */
int tl_prices_put(tlshm_prices *prices, const char *model, const struct tl_rate *rates, unsigned count);

#endif
