/* SPDX-License-Identifier: MIT */
/* api.c - the daily calls: check arguments, resolve keys, call the rules, translate the answer. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>

#include "directory.h"
#include "ending.h"
#include "explain.h"
#include "fit.h"
#include "limiter.h"
#include "look.h"
#include "remaining.h"
#include "scopes.h"

const char *tlshm_version(void)
{
    return TLSHM_VERSION;
}

int tlshm_attach(tlshm_t **out, const char *name, unsigned flags, struct tlshm_error *err)
{
    return tl_segment_attach(out, name, flags, err);
}

void tlshm_detach(tlshm_t *t)
{
    tl_segment_detach(t);
}

void tlshm_thread_release(tlshm_t *t)
{
    tl_segment_release(t);
}

/* ---------------------------------------------------------------------------------------------------------- reserve */

/* Amounts that a caller may give: in range, not empty, nothing for concurrency. */
TL_COLD static int check_amounts_one_by_one(const uint64_t *of)
{
    uint64_t any = 0;
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        if (of[u] > TLSHM_AMOUNT_MAX)
            return -TLSHM_ERANGE;
        any |= of[u];
    }
    if (of[TLSHM_CONCURRENCY])
        return -TLSHM_EINVAL;
    return any ? 0 : -TLSHM_EEMPTY;
}

TL_INLINE int check_amounts(const uint64_t *of)
{
    const volatile uint64_t *one_by_one = of; /* see tl_copy_private() */
    uint64_t any = 0;
    TL_UNROLL
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        any |= one_by_one[u];
    bool plain = any - 1 < TLSHM_AMOUNT_MAX && of[TLSHM_CONCURRENCY] == 0;
    return TL_LIKELY(plain) ? 0 : check_amounts_one_by_one(of);
}

static int check_request(const tlshm_request *request)
{
    if (!request || !request->scopes || request->scope_count == 0 || request->scope_count > TLSHM_SCOPES_MAX)
        return -TLSHM_EINVAL;
    if (request->ttl_ns == 0 || (request->flags & ~TLSHM_FREE_ON_DEATH))
        return -TLSHM_EINVAL;
    if (request->ttl_ns > TL_TTL_MAX_NS)
        return -TLSHM_ERANGE;
    if (request->idempotency_key && (request->idempotency_len == 0 || request->idempotency_len > TLSHM_IDEMPOTENCY_MAX))
        return -TLSHM_EINVAL;
    return check_amounts(request->estimate.of);
}

/* Turns the scopes into handles. `anew`: a remembered handle proved stale. */
static int resolve_all(tlshm_t *t, struct tl_thread *thread, const tlshm_request *request, bool anew,
                       struct tl_ask *ask)
{
    for (unsigned i = 0; i < request->scope_count; i++) {
        const tlshm_scope *scope = &request->scopes[i];
        int rc = 0;
        ask->scope[i] = scope->handle;
        if (!scope->handle)
            rc = anew ? tl_scopes_resolve_anew(t, &thread->hand, scope->key, scope->len, &ask->scope[i])
                      : tl_scopes_resolve(t, &thread->hand, scope->key, scope->len, true, &ask->scope[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

TL_COLD static bool has_keys(const tlshm_request *request)
{
    for (unsigned i = 0; i < request->scope_count; i++)
        if (!request->scopes[i].handle)
            return true;
    return false;
}

/* Explains a refusal, unless the file was cut short on the way: then the call is going to fail, and has no outputs. */
TL_COLD static void explain(const tlshm_t *t, struct tl_thread *thread, const struct tl_ask *ask,
                            const struct tl_no *no, uint64_t until, tlshm_refusal *why)
{
    tlshm_refusal said;
    tl_explain(thread, ask->scope, ask->scopes, ask->need, no, until, &said);
    if (!tl_segment_lost(t))
        *why = said;
}

/* No cell for a new scope: a refusal, as a full table of reservations is. */
static int refuse_full(tlshm_refusal *why)
{
    if (why) {
        memset(why, 0, sizeof *why);
        why->reason = TLSHM_FULL;
        why->scope = UINT32_MAX;
        why->retry_after_ns = TLSHM_NEVER;
    }
    return TLSHM_REFUSED;
}

#define STALE_TRIES 8 /* scopes recycled between look-up and use, so many times in one call: not by chance */

/* Calls by model have nothing that the straight way knows of. */
TL_INLINE int limiter_reserve(struct tl_thread *thread, const tlshm_request *request, const struct tl_ask_model *model,
                              struct tl_ask *ask, tlshm_id *id, struct tl_no *no)
{
    return model ? tl_limiter_reserve_anyhow(thread, request, model, ask, id, no)
                 : tl_limiter_reserve(thread, request, ask, id, no);
}

/* The scopes are resolved anew, as often as one of them proves to be recycled. */
TL_COLD static int reserve_stale(tlshm_t *t, struct tl_thread *thread, const tlshm_request *request,
                                 const struct tl_ask_model *model, struct tl_ask *ask, tlshm_id *id, struct tl_no *no)
{
    int rc = -TLSHM_ESTALE;
    for (unsigned tries = 1; rc == -TLSHM_ESTALE && tries < STALE_TRIES && has_keys(request); tries++) {
        rc = resolve_all(t, thread, request, true, ask);
        if (rc == 0)
            rc = limiter_reserve(thread, request, model, ask, id, no);
    }
    return rc;
}

/* `model` may be NULL. */
TL_INLINE int reserve(tlshm_t *t, struct tl_thread *thread, const tlshm_request *request,
                      const struct tl_ask_model *model, tlshm_id *id, tlshm_refusal *why)
{
    struct tl_ask ask;
    struct tl_no no = {.detailed = why != NULL};
    tlshm_id made = 0;
    int rc = resolve_all(t, thread, request, false, &ask);
    if (TL_LIKELY(rc == 0))
        rc = limiter_reserve(thread, request, model, &ask, &made, &no);
    if (TL_UNLIKELY(rc == -TLSHM_ESTALE))
        rc = reserve_stale(t, thread, request, model, &ask, &made, &no);
    if (TL_UNLIKELY(rc == -TLSHM_ENOROOM)) {
        tl_count(&thread->hand.seat->counter[SHM_N_REFUSED + TLSHM_FULL]);
        return refuse_full(why);
    }
    rc = tl_segment_answer(t, rc);
    if (TL_LIKELY(rc == TLSHM_OK) || rc == TLSHM_REPLAY)
        *id = made;
    else if (rc == TLSHM_REFUSED && why)
        explain(t, thread, &ask, &no, TL_FOREVER, why);
    return rc;
}

static int reserve_anyhow(tlshm_t *t, const tlshm_request *request, tlshm_id *id, tlshm_refusal *why)
{
    struct tl_thread *thread;
    int rc = id ? check_request(request) : -TLSHM_EINVAL;
    if (rc < 0)
        return rc;
    rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = reserve(t, thread, request, NULL, id, why);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

int tlshm_reserve(tlshm_t *t, const tlshm_request *request, tlshm_id *id, tlshm_refusal *why)
{
    struct tl_thread *thread = request && id ? tl_segment_visit(t) : NULL;
    tlshm_id made;
    if (TL_UNLIKELY(!thread))
        return reserve_anyhow(t, request, id, why);
    enum tl_straight straight = tl_straight_reserve(thread, request, NULL, why != NULL, &made);
    tl_segment_leave(thread);
    if (TL_UNLIKELY(straight == TL_STRAIGHT_NOT || tl_segment_lost(t)))
        return reserve_anyhow(t, request, id, why);
    if (straight == TL_STRAIGHT_REFUSED)
        return TLSHM_REFUSED;
    *id = made;
    return TLSHM_OK;
}

int tl_api_reserve_in(tlshm_t *t, struct tl_thread *thread, const tlshm_request *request,
                      const struct tl_ask_model *model, tlshm_id *id, tlshm_refusal *why)
{
    int rc = id ? check_request(request) : -TLSHM_EINVAL;
    return rc < 0 ? rc : reserve(t, thread, request, model, id, why);
}

int tlshm_reserve_agent(tlshm_t *t, const char *agent, const char *tenant, uint64_t tokens, uint64_t cost_nusd,
                        tlshm_id *id, tlshm_refusal *why)
{
    char keys[2][TLSHM_KEY_MAX + 2];
    if (!agent || !tenant)
        return -TLSHM_EKEY;
    /* One byte more than a key may have: what is too long stays too long. */
    int n = snprintf(keys[0], sizeof keys[0], "agent:%s", agent),
        m = snprintf(keys[1], sizeof keys[1], "tenant:%s", tenant);
    if (n < 0 || m < 0)
        return -TLSHM_EKEY;
    tlshm_scope scopes[2] = {{keys[0], tl_min((uint64_t)n, TLSHM_KEY_MAX + 1), 0},
                             {keys[1], tl_min((uint64_t)m, TLSHM_KEY_MAX + 1), 0}};
    tlshm_request request = TLSHM_REQUEST_INIT;
    request.scopes = scopes;
    request.scope_count = 2;
    request.estimate.of[TLSHM_TOKENS] = tokens;
    request.estimate.of[TLSHM_COST] = cost_nusd;
    return tlshm_reserve(t, &request, id, why);
}

/* -------------------------------------------------------------------------------------------------------- would fit */

static void explain_fit(struct tl_fit *fit, const struct tl_ask *ask, const struct tl_no *no, tlshm_refusal *why)
{
    tl_explain(&fit->thread, ask->scope, ask->scopes, ask->need, no, TL_FOREVER, why);
    if (why->scope < ask->scopes && !ask->scope[why->scope])
        tl_fit_key(fit, why->scope, why->key);
    if (no->reason == TLSHM_LIMIT && why->retry_after_ns == TLSHM_NEVER && !tl_fit_stands(fit))
        why->retry_after_ns = 0;
}

static int would_fit(struct tl_fit *fit, const tlshm_request *request, const struct tl_ask_model *model,
                     tlshm_refusal *why)
{
    struct tl_ask ask;
    struct tl_no no = {.detailed = why != NULL};
    int rc = -TLSHM_ESTALE;
    tl_ask_fill(&ask, request, model);
    for (unsigned tries = 0; rc == -TLSHM_ESTALE && tries < STALE_TRIES; tries++) {
        rc = tl_fit_resolve(fit, tries > 0, &ask);
        if (rc == -TLSHM_ENOROOM)
            return refuse_full(why);
        if (ask.key)
            ask.fingerprint = tl_idempotency_fingerprint(&ask);
        if (rc == 0)
            rc = tl_fit_judge(fit, &ask, &no);
        if (rc == -TLSHM_ESTALE && !has_keys(request))
            break;
    }
    if (rc == TLSHM_REFUSED && why)
        explain_fit(fit, &ask, &no, why);
    return rc;
}

int tl_api_would_fit(tlshm_t *t, const tlshm_request *request, const struct tl_ask_model *model, tlshm_refusal *why)
{
    tlshm_refusal said;
    int rc = t ? check_request(request) : -TLSHM_EINVAL;
    if (rc < 0)
        return rc;
    struct tl_fit *fit = malloc(sizeof *fit);
    if (!fit)
        return -TLSHM_ENOMEM;
    tl_fit_begin(t, request->scopes, fit);
    rc = tl_segment_answer(t, would_fit(fit, request, model, why ? &said : NULL));
    free(fit);
    if (rc == TLSHM_REFUSED && why)
        *why = said;
    return rc;
}

int tlshm_would_fit(tlshm_t *t, const tlshm_request *request, tlshm_refusal *why)
{
    return tl_api_would_fit(t, request, NULL, why);
}

/* ----------------------------------------------------------------------------------------- settle, refund, extend */

static void fill_charging(tlshm_t *t, struct tl_charging *charging)
{
    charging->policy = (enum tlshm_overrun)tl_pending_overrun(&t->map);
    charging->function = NULL;
    if (TL_UNLIKELY(tl_load(&t->overrun) != 0))
        tl_segment_overrun(t, &charging->function, &charging->context);
}

TL_COLD static int check_range(const uint64_t *of)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (of[u] > TLSHM_AMOUNT_MAX)
            return -TLSHM_ERANGE;
    return 0;
}

static int check_actual(const tlshm_amounts *actual, enum tlshm_outcome outcome)
{
    if ((unsigned)outcome > TLSHM_AT_LEAST || (!actual && outcome != TLSHM_UNKNOWN))
        return -TLSHM_EINVAL;
    uint64_t any = 0;
    if (!actual || outcome == TLSHM_UNKNOWN)
        return 0;
    const volatile uint64_t *one_by_one = actual->of; /* see tl_copy_private() */
    TL_UNROLL
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        any |= one_by_one[u];
    return TL_LIKELY(any <= TLSHM_AMOUNT_MAX) ? 0 : check_range(actual->of);
}

static int settle_anyhow(tlshm_t *t, tlshm_id id, const tlshm_amounts *actual, enum tlshm_outcome outcome,
                         tlshm_result *result)
{
    struct tl_thread *thread;
    struct tl_ending ending = {.to = TLSHM_SETTLED, .used = {.of = actual ? actual->of : NULL, .outcome = outcome}};
    int rc = check_actual(actual, outcome);
    if (rc < 0)
        return rc;
    rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    fill_charging(t, &ending.used.charging);
    rc = tl_ending_run(thread, id, &ending, result, NULL);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

int tlshm_settle(tlshm_t *t, tlshm_id id, const tlshm_amounts *actual, enum tlshm_outcome outcome, tlshm_result *result)
{
    struct tl_thread *thread = actual ? tl_segment_visit(t) : NULL;
    if (TL_UNLIKELY(!thread))
        return settle_anyhow(t, id, actual, outcome, result);
    struct tl_actual used;
    used.of = actual->of;
    used.outcome = outcome;
    fill_charging(t, &used.charging);
    enum tl_straight straight = tl_straight_settle(thread, id, &used, result);
    tl_segment_leave(thread);
    if (TL_UNLIKELY(straight != TL_STRAIGHT_DONE))
        return settle_anyhow(t, id, actual, outcome, result);
    return tl_segment_answer(t, TLSHM_OK);
}

int tlshm_refund(tlshm_t *t, tlshm_id id, tlshm_result *result)
{
    struct tl_thread *thread;
    const struct tl_ending ending = {.to = TLSHM_REFUNDED};
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = tl_ending_run(thread, id, &ending, result, NULL);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

static int check_more(const tlshm_amounts *more, uint64_t ttl_ns)
{
    if (ttl_ns > TL_TTL_MAX_NS)
        return -TLSHM_ERANGE;
    if (!more)
        return ttl_ns ? 0 : -TLSHM_EEMPTY;
    int rc = check_amounts(more->of);
    if (rc == -TLSHM_EEMPTY && ttl_ns)
        rc = 0;
    return rc == 0 && more->of[TLSHM_REQUESTS] ? -TLSHM_EINVAL : rc;
}

int tlshm_extend(tlshm_t *t, tlshm_id id, const tlshm_amounts *more, uint64_t ttl_ns, tlshm_refusal *why)
{
    static const tlshm_amounts none;
    struct tl_thread *thread;
    struct tl_no no = {.detailed = why != NULL};
    int rc = check_more(more, ttl_ns);
    if (rc < 0)
        return rc;
    rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    const uint64_t *of = more ? more->of : none.of;
    rc = tl_limiter_extend(thread, id, of, ttl_ns, &no);
    if (rc == TLSHM_REFUSED && why) {
        const struct tl_body *body = &thread->txn.was.body;
        struct tl_ask ask = {.scopes = tl_body_scopes(body)};
        memcpy(ask.scope, body->scope, sizeof ask.scope);
        memcpy(ask.need, of, sizeof ask.need);
        explain(t, thread, &ask, &no, body->deadline, why);
    }
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

/* ----------------------------------------------------------------------------------------------------------- looks */

int tlshm_resolve(tlshm_t *t, const char *key, size_t len, tlshm_handle *out)
{
    struct tl_thread *thread;
    uint64_t handle;
    if (!out)
        return -TLSHM_EINVAL;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    /* A remembered handle may be stale; who asks for one wants one that works. */
    rc = tl_segment_answer(t, tl_scopes_resolve_anew(t, &thread->hand, key, len, &handle));
    tl_segment_leave(thread);
    if (rc == 0)
        *out = handle;
    return rc;
}

/*
 * What this thread knows of the scope's limits may do. `scope`: its handle, or 0 and its key. True: `rc` is the answer.
 */
TL_INLINE bool remaining_straight(tlshm_t *t, const tlshm_scope *scope, enum tlshm_unit unit, int64_t *out, int *rc)
{
    struct tl_thread *thread = tl_segment_visit(t);
    uint64_t handle = scope->handle;
    int64_t left;
    if (!thread)
        return false;
    bool known = handle || tl_scopes_resolve(t, &thread->hand, scope->key, scope->len, false, &handle) == 0;
    if (known && !tl_remaining(thread, handle, unit, &left)) {
        tl_remaining_learn(thread, handle);
        known = false;
    }
    tl_segment_leave(thread);
    if (!known)
        return false;
    *rc = tl_segment_answer(t, 0);
    if (*rc == 0)
        *out = left;
    return true;
}

int tlshm_remaining_handle(tlshm_t *t, tlshm_handle scope, enum tlshm_unit unit, int64_t *out)
{
    struct tl_look look;
    int rc;
    if (!t || !out || (unsigned)unit >= TLSHM_UNITS)
        return -TLSHM_EINVAL;
    if (TL_LIKELY(remaining_straight(t, &(tlshm_scope){NULL, 0, scope}, unit, out, &rc)))
        return rc;
    rc = tl_look_at(t, scope, false, &look);
    if (rc == 0)
        *out = tl_look_remaining(&look, unit);
    return rc;
}

int tlshm_remaining(tlshm_t *t, const char *key, size_t len, enum tlshm_unit unit, int64_t *out)
{
    struct tl_look look;
    if (!t || !out || (unsigned)unit >= TLSHM_UNITS)
        return -TLSHM_EINVAL;
    int rc;
    if (TL_LIKELY(remaining_straight(t, &(tlshm_scope){key, len, 0}, unit, out, &rc)))
        return rc;
    rc = tl_look_for(t, key, len, false, &look);
    if (rc == 0)
        *out = tl_look_remaining(&look, unit);
    return rc;
}

int tlshm_usage(tlshm_t *t, const char *key, size_t len, tlshm_scope_usage *out)
{
    struct tl_look look;
    if (!t || !out)
        return -TLSHM_EINVAL;
    int rc = tl_look_for(t, key, len, true, &look);
    if (rc == 0)
        tl_look_usage(t, &look, out);
    return rc;
}

int tlshm_reservation(tlshm_t *t, tlshm_id id, tlshm_reservation_info *out)
{
    struct tl_hand hand;
    struct tl_record record;
    uint32_t index = (uint32_t)(id & SHM_NODE_MASK);
    if (!t || !out)
        return -TLSHM_EINVAL;
    if (index >= t->map.reservations)
        return -TLSHM_EUNKNOWN;
    tl_segment_look(t, &hand);
    int rc = tl_txn_record(&hand, index, TL_WHOLE, &record);
    rc = tl_segment_answer(t, rc);
    if (rc < 0)
        return rc;
    if (shm_status(record.head) == SHM_FREE || shm_status(record.head) > SHM_EXPIRED || !tl_id_is(id, &record))
        return -TLSHM_EUNKNOWN;
    tl_look_reservation(&hand, &record, out);
    return 0;
}

int tlshm_scope_key(tlshm_t *t, tlshm_handle scope, char *buf, size_t size)
{
    struct tl_hand hand;
    if (!t || !buf || size < TLSHM_KEY_MAX + 1)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    return tl_segment_answer(t, tl_directory_key(&hand, scope, buf));
}
