/* SPDX-License-Identifier: MIT */
/* sequential.c - a limiter for one caller, as plain as can be: the meaning of each call on the state. */
#include "history.h"

const struct limits history_limits[SCOPES] = {{24, 14, 6, 0}, {11, 9, 4, 0}, {11, 9, 4, 8}};

static bool has(const struct op *op, unsigned scope)
{
    return op->scopes >> scope & 1;
}

static bool cut(const struct op *op)
{
    return op->returned == 0;
}

static bool told(const struct op *op, int rc)
{
    return cut(op) || op->rc == rc;
}

/* Used up to its latch: as long as time stands still it is reached, and paused or about to be. */
static bool is_stopped(const struct state *s, unsigned scope)
{
    return history_limits[scope].latch != 0 && s->scope[scope].window >= history_limits[scope].latch;
}

static bool scope_fits(const struct state *s, unsigned scope, uint64_t tokens, unsigned requests)
{
    const struct figures *f = &s->scope[scope];
    const struct limits *l = &history_limits[scope];
    bool tokens_fit = tokens == 0 || f->window + f->held + tokens <= l->tokens;
    return !is_stopped(s, scope) && tokens_fit && f->requests + requests <= l->requests &&
           f->live + requests <= l->live;
}

static bool all_fit(const struct state *s, unsigned scopes, uint64_t tokens, unsigned requests)
{
    for (unsigned i = 0; i < SCOPES; i++)
        if (scopes >> i & 1 && !scope_fits(s, i, tokens, requests))
            return false;
    return true;
}

/* The scope that a refusal names has no room, and the figures of the unit that it names are those told. */
static bool figures_explain(const struct state *s, const struct op *op)
{
    const struct figures *f = &s->scope[op->why_scope];
    if (scope_fits(s, op->why_scope, op->amount, 1))
        return false;
    switch (op->why_unit) {
    case TLSHM_TOKENS:
        return op->seen.used == f->window && op->seen.held == f->held;
    case TLSHM_REQUESTS:
        return op->seen.used == f->requests;
    default:
        return op->seen.held == f->live;
    }
}

static bool refuse(const struct state *s, const struct op *op)
{
    return told(op, TLSHM_REFUSED) && (!op->explained || cut(op) || figures_explain(s, op));
}

static void hold(struct state *s, unsigned scopes, int64_t tokens, int live)
{
    for (unsigned i = 0; i < SCOPES; i++)
        if (scopes >> i & 1) {
            s->scope[i].held += (uint64_t)tokens;
            s->scope[i].live += (uint64_t)(int64_t)live;
        }
}

static bool replay(struct state *s, const struct op *op)
{
    struct slot *first = &s->slot[s->key[op->key] - 1];
    if (first->id == 0 && !cut(op))
        first->id = op->id; /* its maker died before it could tell */
    return told(op, TLSHM_REPLAY) && (cut(op) || first->id == op->id);
}

static bool reserve(struct state *s, const struct op *op)
{
    struct slot *slot = &s->slot[op->slot];
    if (op->key != 0 && s->key[op->key] != 0)
        return replay(s, op);
    if (!all_fit(s, op->scopes, op->amount, 1))
        return refuse(s, op);
    *slot = (struct slot){cut(op) ? 0 : op->id, TLSHM_HELD, (uint8_t)op->scopes, 0, (uint16_t)op->amount, 0};
    slot->due = op->slot % 3 == 0;
    hold(s, op->scopes, (int64_t)op->amount, 1);
    for (unsigned i = 0; i < SCOPES; i++)
        s->scope[i].requests += has(op, i);
    if (op->key != 0)
        s->key[op->key] = (uint8_t)(op->slot + 1);
    return told(op, TLSHM_OK);
}

/* As a reserve, of which nothing happens. */
static bool would_fit(const struct state *s, const struct op *op)
{
    if (op->key != 0 && s->key[op->key] != 0)
        return told(op, TLSHM_REPLAY);
    return all_fit(s, op->scopes, op->amount, 1) ? told(op, TLSHM_OK) : refuse(s, op);
}

static bool result_is(const struct op *op, const struct slot *slot)
{
    return cut(op) || (op->status == slot->status && op->charged == slot->charged);
}

static bool settle(struct state *s, const struct op *op)
{
    struct slot *slot = &s->slot[op->slot];
    bool late = slot->status == TLSHM_EXPIRED;
    if (slot->status == TLSHM_SETTLED || slot->status == TLSHM_REFUNDED)
        return told(op, TLSHM_REPLAY) && result_is(op, slot);
    if (!late)
        hold(s, slot->scopes, -(int64_t)slot->estimate, -1);
    for (unsigned i = 0; i < SCOPES; i++)
        if (slot->scopes >> i & 1) {
            s->scope[i].used += op->amount;
            s->scope[i].window += op->amount;
        }
    slot->status = TLSHM_SETTLED;
    slot->charged = (uint16_t)op->amount;
    return told(op, late ? TLSHM_LATE : TLSHM_OK) && result_is(op, slot);
}

static bool refund(struct state *s, const struct op *op)
{
    struct slot *slot = &s->slot[op->slot];
    if (slot->status != TLSHM_HELD)
        return told(op, slot->status == TLSHM_EXPIRED ? TLSHM_ENDED : TLSHM_REPLAY) && result_is(op, slot);
    hold(s, slot->scopes, -(int64_t)slot->estimate, -1);
    slot->status = TLSHM_REFUNDED;
    return told(op, TLSHM_OK) && result_is(op, slot);
}

static bool extend(struct state *s, const struct op *op)
{
    struct slot *slot = &s->slot[op->slot];
    if (slot->status != TLSHM_HELD)
        return told(op, TLSHM_ENDED);
    if (!all_fit(s, slot->scopes, op->amount, 0))
        return told(op, TLSHM_REFUSED);
    hold(s, slot->scopes, (int64_t)op->amount, 0);
    slot->estimate = (uint16_t)(slot->estimate + op->amount);
    return told(op, TLSHM_OK);
}

static bool same_figures(const struct figures *a, const struct figures *b)
{
    return a->used == b->used && a->held == b->held && a->requests == b->requests && a->live == b->live &&
           a->window == b->window;
}

static int64_t left_of(const struct figures *f, const struct limits *l)
{
    int64_t left = (int64_t)l->tokens - (int64_t)(f->window + f->held), before = (int64_t)l->latch - (int64_t)f->window;
    return l->latch != 0 && before <= 0 && before < left ? before : left;
}

static bool look(const struct state *s, const struct op *op)
{
    const struct figures *f = &s->scope[op->scopes % SCOPES];
    const struct slot *slot = &s->slot[op->slot];
    switch (op->kind) {
    case OP_REMAINING:
        return op->remaining == left_of(f, &history_limits[op->scopes]);
    case OP_USAGE:
        return same_figures(&op->seen, f);
    default:
        return op->status == slot->status && op->estimate == slot->estimate && op->charged == slot->charged;
    }
}

bool state_apply(struct state *state, const struct op *op)
{
    bool known = state->slot[op->slot].status != 0;
    switch (op->kind) {
    case OP_RESERVE:
        return reserve(state, op);
    case OP_FIT:
        return would_fit(state, op);
    case OP_SETTLE:
        return known && settle(state, op);
    case OP_REFUND:
        return known && refund(state, op);
    case OP_EXTEND:
        return known && extend(state, op);
    case OP_LOOKUP:
        return cut(op) || (known && look(state, op));
    default:
        return cut(op) || look(state, op);
    }
}

void state_step(struct state *state)
{
    for (unsigned i = 0; i < SCOPES; i++)
        state->scope[i].window = state->scope[i].requests = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot *slot = &state->slot[i];
        if (slot->status != TLSHM_HELD || !slot->due)
            continue;
        hold(state, slot->scopes, -(int64_t)slot->estimate, -1);
        slot->status = TLSHM_EXPIRED;
    }
}
