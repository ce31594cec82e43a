/* SPDX-License-Identifier: MIT */
/*
 * litellm.h - reads LiteLLM's price table: an object with a member for each model, whose prices are dollars per token.
 *
 *     "name": {"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, ...}
 *     KEY = PART ["_above_"N"k_tokens"] ["_priority" | "_flex" | "_batches"]
 *     "tiered_pricing": [{"range": [FROM, TO], PART: ...}, ...]   the step that the whole input falls into
 *     "search_context_cost_per_query": {"search_context_size_high": N, ...}       the dearest
 *
 * What is priced by the piece, the second or the character is not counted, but makes a model whose tokens cost nothing
 * one without a price.
 */
#ifndef TL_LITELLM_H
#define TL_LITELLM_H

#include "draft.h"

/* Is this the shape? */
bool tl_litellm_is(const json_t *root);

/* 0 or -TLSHM_ENOMEM. */
int tl_litellm_read(const struct tl_reading *r, const json_t *root);

#endif
