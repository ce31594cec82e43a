/* SPDX-License-Identifier: MIT */
/*
 * genai.h - reads genai-prices' table: a list of providers with their models, whose prices are dollars per million tokens.
 *
 *     [{"id": "anthropic", "model_match": RULE, "provider_match": RULE, "fallback_model_providers": [ID...],
 *       "models": [{"id": "claude-2", "match": RULE, "prices": PRICES | [{"constraint": WHEN, "prices": PRICES}...]}]}]
 *     PRICES  {"input_mtok": N | {"base": N, "tiers": [{"start": TOKENS, "price": N}...]}, ...}
 *     WHEN    {"start_date": "2026-03-13"} | {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}
 *     RULE    {"equals" | "starts_with" | "ends_with" | "contains" | "regex": TEXT} | {"or" | "and": [RULE...]}
 *
 * A date begins at midnight UTC. A rule or a constraint that is not understood never holds.
 */
#ifndef TL_GENAI_H
#define TL_GENAI_H

#include "draft.h"

/* Is this the shape? */
bool tl_genai_is(const json_t *root);

/* 0 or -TLSHM_ENOMEM. */
int tl_genai_read(const struct tl_reading *r, const json_t *root);

#endif
