/* SPDX-License-Identifier: MIT */
/* calls.c - makes a call and notes what was asked and told. */
#include "calls.h"

#include "tap.h"

#include <stdio.h>

const char *const calls_key[SCOPES] = {"tenant:t", "agent:a", "agent:b"};

struct op *history_begin(struct history *h, struct op *op)
{
    atomic_store(&op->invoked, atomic_fetch_add(&h->now, 1) + 1);
    return op;
}

void history_end(struct history *h, struct op *op)
{
    atomic_store(&op->returned, atomic_fetch_add(&h->now, 1) + 1);
}

static void note_refusal(struct op *op, const tlshm_refusal *why, const unsigned *scope)
{
    op->explained = why->reason == TLSHM_LIMIT;
    op->why_scope = op->explained ? scope[why->scope] : 0;
    op->why_unit = (unsigned)why->limit.unit;
    op->seen = (struct figures){.used = why->used, .held = why->held};
}

/* A reserve, or the question whether it would fit. */
static void call_reserve(tlshm_t *t, struct history *h, struct op *op, bool details)
{
    tlshm_scope scopes[SCOPES];
    unsigned scope[SCOPES], n = 0;
    char key[48];
    tlshm_request request = TLSHM_REQUEST_INIT;
    tlshm_refusal why = {.reason = TLSHM_ADMITTED};
    tlshm_id id = 0;
    for (unsigned i = 0; i < SCOPES; i++)
        if (op->scopes >> i & 1) {
            scopes[n] = (tlshm_scope){.key = calls_key[i]};
            scope[n++] = i;
        }
    request.scopes = scopes;
    request.scope_count = n;
    request.estimate.of[TLSHM_TOKENS] = op->amount;
    request.ttl_ns = op->slot % 3 == 0 ? CALLS_STEP_NS / 2 : CALLS_STEP_NS * 1000000;
    request.tag = calls_tag(h, op->slot);
    if (op->key != 0) {
        request.idempotency_len = (size_t)snprintf(key, sizeof key, "%llu-%u", (unsigned long long)h->round, op->key);
        request.idempotency_key = key;
    }
    history_begin(h, op);
    op->rc = op->kind == OP_FIT ? tlshm_would_fit(t, &request, details ? &why : NULL)
                                : tlshm_reserve(t, &request, &id, details ? &why : NULL);
    op->id = id;
    if (op->rc == TLSHM_REFUSED && details)
        note_refusal(op, &why, scope);
    history_end(h, op);
    if (op->rc == TLSHM_OK && op->kind == OP_RESERVE)
        atomic_store(&h->id[op->slot], id);
}

static void call_end(tlshm_t *t, struct history *h, struct op *op)
{
    tlshm_amounts amounts = {{0}};
    tlshm_result result = {.status = TLSHM_HELD};
    amounts.of[TLSHM_TOKENS] = op->amount;
    history_begin(h, op);
    if (op->kind == OP_SETTLE)
        op->rc = tlshm_settle(t, op->id, &amounts, TLSHM_EXACT, &result);
    else if (op->kind == OP_REFUND)
        op->rc = tlshm_refund(t, op->id, &result);
    else
        op->rc = tlshm_extend(t, op->id, &amounts, 0, NULL);
    op->status = (unsigned)result.status;
    op->charged = result.charged.of[TLSHM_TOKENS];
    history_end(h, op);
}

/* The figures of a scope's limits, which are in the order of calls_limits(). */
static struct figures figures_of(const tlshm_scope_usage *usage)
{
    return (struct figures){.used = usage->used[TLSHM_TOKENS],
                            .held = usage->held[TLSHM_TOKENS],
                            .requests = usage->limits[1].used,
                            .live = usage->held[TLSHM_CONCURRENCY],
                            .window = usage->limits[0].used};
}

static void call_look(tlshm_t *t, struct history *h, struct op *op)
{
    tlshm_scope_usage usage = {.limit_count = 0};
    tlshm_reservation_info info = {.id = 0};
    history_begin(h, op);
    if (op->kind == OP_REMAINING) {
        op->rc = tlshm_remaining(t, calls_key[op->scopes], 0, TLSHM_TOKENS, &op->remaining);
    } else if (op->kind == OP_USAGE) {
        op->rc = tlshm_usage(t, calls_key[op->scopes], 0, &usage);
        op->seen = figures_of(&usage);
    } else {
        op->rc = tlshm_reservation(t, op->id, &info);
        op->status = (unsigned)info.status;
        op->estimate = info.estimate.of[TLSHM_TOKENS];
        op->charged = info.charged.of[TLSHM_TOKENS];
    }
    history_end(h, op);
}

void calls_make(tlshm_t *t, struct history *h, struct op *op, bool details)
{
    switch (op->kind) {
    case OP_RESERVE:
    case OP_FIT:
        call_reserve(t, h, op, details);
        break;
    case OP_SETTLE:
    case OP_REFUND:
    case OP_EXTEND:
        call_end(t, h, op);
        break;
    default:
        call_look(t, h, op);
    }
}

void calls_limits(struct space *s)
{
    char text[192], latch[48];
    for (unsigned i = 0; i < SCOPES; i++) {
        const struct limits *l = &history_limits[i];
        snprintf(latch, sizeof latch, "; tokens %llu per 500ms/1 then pause", (unsigned long long)l->latch);
        snprintf(text, sizeof text, "tokens %llu per 500ms/1; requests %llu per 500ms/1; concurrency %llu%s",
                 (unsigned long long)l->tokens, (unsigned long long)l->requests, (unsigned long long)l->live,
                 l->latch != 0 ? latch : "");
        space_limits(s, calls_key[i], text);
    }
}
