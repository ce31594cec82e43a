/* SPDX-License-Identifier: MIT */
/*
 * parse.h - limits, amounts and durations as people write them, for those who know where the text stands: a fault comes
 * with its column as a number. `fault` may be NULL. Otherwise as tlshm_limit_parse() and its kin.
 */
#ifndef TL_PARSE_H
#define TL_PARSE_H

#include <tlshm/admin.h>

#include "words.h"

int tl_parse_limit(const char *text, tlshm_limit *out, struct tl_words_fault *fault);
int tl_parse_amount(const char *text, enum tlshm_unit unit, uint64_t *out, struct tl_words_fault *fault);
int tl_parse_duration(const char *text, uint64_t *ns, struct tl_words_fault *fault);

#endif
