/* SPDX-License-Identifier: MIT */
/*
 * confrule.h - what stands in configuration files beside limits, as people write it.
 *
 * GRAMMAR  words are separated by blanks, amounts and lengths as in parse.c
 *   rate      "$"number[k|M|G|T] "per" count ["tokens"]                       exact to a pico-dollar for one token
 *   share     number"%" | number                                              above 0, at most 1; parts in a million
 *
 * A text that is written reads back to the same. No allocation, no state.
 */
#ifndef TL_CONFRULE_H
#define TL_CONFRULE_H

#include <tlshm/config.h>

#include "words.h"

#define TL_SHARE_ONE UINT32_C(1000000)

int tl_confrule_rate(const char *text, uint64_t *pusd, struct tl_words_fault *fault);
/* "input", "cache_write_1h"; by enum tlshm_config_rate. */
const char *tl_confrule_rate_name(unsigned rate);

int tl_confrule_share(const char *text, uint32_t *ppm, struct tl_words_fault *fault);

void tl_confrule_put_rate(struct tl_text *w, uint64_t pusd);
void tl_confrule_put_share(struct tl_text *w, uint32_t ppm);

#endif
