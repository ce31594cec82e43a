/* SPDX-License-Identifier: MIT */
/*
 * headers.h - one header of an answer, by its name.
 *
 * Names of rate-limit headers are read by their words, not from a list of names: PREFIX, then words that say which
 * field (limit, remaining, reset ...), which kind and which window, in any order; other words make the limit's name.
 *     x-ratelimit-remaining-tokens            anthropic-ratelimit-input-tokens-remaining
 *     x-ratelimit-limit-req-10-second         anthropic-ratelimit-unified-5h-reset
 * The IETF's RateLimit and RateLimit-Policy fields have lists as values, in the forms of several drafts:
 *     "api";r=999;t=295        "burst";q=100;w=60        100;w=60        limit=100, remaining=50, reset=30
 */
#ifndef TL_HEADERS_H
#define TL_HEADERS_H

#include "quota.h"

/* True if something was believed. */
bool tl_headers_take(tlshm_quota *q, struct tl_slice name, struct tl_slice value);

#endif
