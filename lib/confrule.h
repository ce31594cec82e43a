/* SPDX-License-Identifier: MIT */
/*
 * confrule.h - what stands in configuration files beside limits, as people write it.
 *
 * GRAMMAR  words are separated by blanks, amounts and lengths as in parse.c
 *   request   unit amount "per" "request" | "time" length "per" "request"     unit: one of those that requests have
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

/* Whether a text ends as a cap on single requests does: then it is none else. */
bool tl_confrule_is_request(const char *text);

/* No cap at all. */
void tl_confrule_clear(tlshm_config_request *out);
bool tl_confrule_none(const tlshm_config_request *request);

/* Adds the cap to those that are there. A cap that is there already: -TLSHM_EEXIST, and a fault. */
int tl_confrule_request(const char *text, tlshm_config_request *into, struct tl_words_fault *fault);

int tl_confrule_rate(const char *text, uint64_t *pusd, struct tl_words_fault *fault);
/* "input", "cache_write_1h"; by enum tlshm_config_rate. */
const char *tl_confrule_rate_name(unsigned rate);

int tl_confrule_share(const char *text, uint32_t *ppm, struct tl_words_fault *fault);

/* The caps are numbered from 0; false beyond the last. A cap that is not there puts nothing. */
bool tl_confrule_put_request(struct tl_text *w, const tlshm_config_request *request, unsigned index);
void tl_confrule_put_rate(struct tl_text *w, uint64_t pusd);
void tl_confrule_put_share(struct tl_text *w, uint32_t ppm);

#endif
