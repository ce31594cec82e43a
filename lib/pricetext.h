/* SPDX-License-Identifier: MIT */
/*
 * pricetext.h - a model's price as people write it: "input $3 cache_read $0.30 output $15", dollars per million tokens.
 *
 * GRAMMAR  words are separated by blanks, commas may follow them
 *   price  "free" | {part money}, each part once     part: tlshm_part_name(); money: as a limit on cost is written
 */
#ifndef TL_PRICETEXT_H
#define TL_PRICETEXT_H

#include "price.h"

/* Writes at most TLSHM_PARTS rates. 0, -EINVAL or -ERANGE; `err` (may be NULL) names column and word. */
int tl_pricetext_parse(const char *text, struct tl_rate *rates, unsigned *count, struct tlshm_error *err);

#endif
