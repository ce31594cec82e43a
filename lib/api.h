/* SPDX-License-Identifier: MIT */
/* api.h - the way into the daily calls for those that begin with something else than amounts. */
#ifndef TL_API_H
#define TL_API_H

#include <tlshm.h>

#include "ask.h"
#include "segment.h"

/* tlshm_reserve() on a thread that has entered. */
int tl_api_reserve_in(tlshm_t *t, struct tl_thread *thread, const tlshm_request *request,
                      const struct tl_ask_model *model, tlshm_id *id, tlshm_refusal *why);

/* tlshm_would_fit(). `model` may be NULL. */
int tl_api_would_fit(tlshm_t *t, const tlshm_request *request, const struct tl_ask_model *model, tlshm_refusal *why);

#endif
