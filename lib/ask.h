/* SPDX-License-Identifier: MIT */
/* ask.h - a request to reserve, whose arguments were checked and whose keys were resolved, and why it is refused. */
#ifndef TL_ASK_H
#define TL_ASK_H

#include <tlshm.h>

#include "base.h"

/* What a request is for that began with counts of a model (bymodel.c). */
struct tl_ask_model {
    uint64_t word;               /* what the body is to say of it (body.h) */
    uint64_t fingerprint;        /* of what the amounts were estimated from: they differ from one repeat to the next */
    bool unpriced;               /* nobody knows what it costs: refused where cost is limited */
    uint64_t whole[TLSHM_UNITS]; /* what it may come to, for limits on single requests: less may be held */
};

struct tl_ask {
    unsigned scopes;
    uint64_t scope[TLSHM_SCOPES_MAX]; /* handles, in the caller's order */
    uint64_t need[TLSHM_UNITS];       /* requests at least 1, concurrency 1 */
    uint64_t ttl_ns;
    unsigned flags;
    uint64_t tag;
    const void *key; /* idempotency key, or NULL */
    size_t key_len;
    uint64_t fingerprint;             /* with a key: what a repeat of it must match */
    const struct tl_ask_model *model; /* NULL: amounts alone were given */
};

/* All but the scopes, which were resolved before, and the fingerprint. */
TL_INLINE void tl_ask_fill(struct tl_ask *ask, const tlshm_request *request, const struct tl_ask_model *model)
{
    ask->model = model;
    ask->scopes = request->scope_count;
    tl_copy_private(ask->need, request->estimate.of, TLSHM_UNITS);
    ask->need[TLSHM_REQUESTS] = tl_max(ask->need[TLSHM_REQUESTS], 1);
    ask->need[TLSHM_CONCURRENCY] = 1;
    ask->ttl_ns = request->ttl_ns;
    ask->flags = request->flags;
    ask->tag = request->tag;
    ask->key = request->idempotency_key;
    ask->key_len = request->idempotency_len;
}

/* What limits on single requests are compared with. */
TL_INLINE const uint64_t *tl_ask_whole(const struct tl_ask *ask)
{
    return ask->model ? ask->model->whole : ask->need;
}

/* Why a request is refused, without the details. */
struct tl_no {
    bool detailed; /* set by the caller: the details will be asked for, see explain.h */
    enum tlshm_reason reason;
    unsigned cell;      /* index into txn.cell and thread->limits; UINT_MAX when no scope is meant */
    unsigned limit;     /* index into its limits; UINT_MAX when no limit is meant */
    uint64_t requested; /* REQUEST_TOO_LARGE: what the request comes to, in the limit's unit */
};

#endif
