/* SPDX-License-Identifier: MIT */
/*
 * search.c - is there a legal order? Wing and Gong's search: one after the other, every call that may come next, that
 * is one that began before any of the others returned; with Lowe's memory of what was tried: the same calls done and
 * the same state reached lead to nothing new.
 */
#include "history.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIED_BITS 20
#define STEPS_MAX 4000000ul

struct search {
    const struct op *const *ops;
    unsigned count;
    uint64_t rest;
    uint64_t needed; /* calls that returned */
    uint64_t *tried;
    unsigned long tries, steps;
    struct state end;
};

static uint64_t hash_of(uint64_t done, const struct state *state)
{
    uint64_t hash = done * UINT64_C(0x9e3779b97f4a7c15), words[sizeof *state / 8];
    memcpy(words, state, sizeof words);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        hash = (hash ^ (hash >> 29) ^ words[i]) * UINT64_C(0xbf58476d1ce4e5b9);
    return (hash ^ hash >> 32) | 1;
}

/* Notes it; false if it was there. */
static bool is_new(struct search *s, uint64_t hash)
{
    uint64_t at = hash >> (64 - TRIED_BITS);
    while (s->tried[at] != 0) {
        if (s->tried[at] == hash)
            return false;
        at = (at + 1) & ((1u << TRIED_BITS) - 1);
    }
    s->tried[at] = hash;
    s->tries++;
    return true;
}

/* Before this moment every call that may come next has begun. */
static uint64_t first_return(const struct search *s, uint64_t done)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < s->count; i++)
        if (!(done >> i & 1) && s->ops[i]->returned != 0 && s->ops[i]->returned < first)
            first = s->ops[i]->returned;
    return first;
}

/* After the first look at rest, what was cut short has happened or never will. */
static bool may_come(const struct search *s, uint64_t done, unsigned i, uint64_t before)
{
    if (done >> i & 1 || s->ops[i]->invoked > before)
        return false;
    for (unsigned k = 0; s->ops[i]->returned == 0 && k < s->count; k++)
        if (done >> k & 1 && s->ops[k]->invoked > s->rest)
            return false;
    return true;
}

static bool given_up(const struct search *s)
{
    return s->steps > STEPS_MAX || s->tries > (1u << TRIED_BITS) / 2;
}

static bool go_on(struct search *s, uint64_t done, const struct state *state)
{
    if ((done & s->needed) == s->needed) {
        s->end = *state;
        return true;
    }
    uint64_t before = first_return(s, done);
    for (unsigned i = 0; i < s->count && !given_up(s); i++) {
        struct state next = *state;
        if (!may_come(s, done, i, before))
            continue;
        s->steps++;
        uint64_t then = done | UINT64_C(1) << i;
        if (state_apply(&next, s->ops[i]) && is_new(s, hash_of(then, &next)) && go_on(s, then, &next))
            return true;
    }
    return false;
}

struct verdict search_history(const struct trace *trace)
{
    struct search s = {.ops = trace->ops, .count = trace->count, .rest = trace->rest};
    MUST(s.count <= OPS_MAX, "a history of %u calls", s.count);
    s.tried = calloc(1u << TRIED_BITS, sizeof *s.tried);
    MUST(s.tried != NULL, "no memory");
    for (unsigned i = 0; i < s.count; i++)
        s.needed |= (uint64_t)(s.ops[i]->returned != 0) << i;
    struct verdict v = {.legal = go_on(&s, 0, trace->begin), .steps = s.steps};
    v.exhausted = !v.legal && given_up(&s);
    v.end = s.end;
    free(s.tried);
    return v;
}

/* --------------------------------------------------------------------------------------------------- what is wrong */

static bool is_illegal(const struct trace *whole, const struct op *const *ops, unsigned count)
{
    struct trace trace = {whole->begin, ops, count, whole->rest};
    struct verdict v = search_history(&trace);
    return !v.legal && !v.exhausted;
}

/* The history up to a moment: what had begun by then, and what had returned. */
static unsigned cut_at(struct op *copies, const struct op **out, const struct trace *trace, uint64_t moment)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < trace->count; i++) {
        if (trace->ops[i]->invoked > moment)
            continue;
        memcpy(&copies[kept], trace->ops[i], sizeof copies[kept]);
        if (copies[kept].returned > moment)
            copies[kept].returned = 0;
        out[kept] = &copies[kept];
        kept++;
    }
    return kept;
}

/* Calls that changed nothing may be left out: what remains is still a history. */
static bool changed_nothing(const struct op *op)
{
    bool looked = op->kind == OP_REMAINING || op->kind == OP_USAGE || op->kind == OP_LOOKUP || op->kind == OP_FIT;
    bool answered = op->rc == TLSHM_REFUSED || op->rc == TLSHM_ENDED || op->rc == TLSHM_REPLAY;
    return looked || (op->returned != 0 && answered);
}

static unsigned leave_out(const struct trace *trace, const struct op **ops, unsigned count)
{
    for (unsigned i = 0; i < count;) {
        const struct op *out = ops[i];
        memmove(&ops[i], &ops[i + 1], (count - i - 1) * sizeof ops[0]);
        if (changed_nothing(out) && is_illegal(trace, ops, count - 1)) {
            count--;
            continue;
        }
        memmove(&ops[i + 1], &ops[i], (count - i - 1) * sizeof ops[0]);
        ops[i++] = out;
    }
    return count;
}

static int by_beginning(const void *a, const void *b)
{
    const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;
    return (x->invoked > y->invoked) - (x->invoked < y->invoked);
}

static void state_print(const struct state *s)
{
    for (unsigned i = 0; i < SCOPES; i++)
        printf("# at first scope %u: %llu used, %llu in its window of at most %llu, %llu held, %llu of %llu requests, "
               "%llu of %llu holds\n",
               i, (unsigned long long)s->scope[i].used, (unsigned long long)s->scope[i].window,
               (unsigned long long)history_limits[i].tokens, (unsigned long long)s->scope[i].held,
               (unsigned long long)s->scope[i].requests, (unsigned long long)history_limits[i].requests,
               (unsigned long long)s->scope[i].live, (unsigned long long)history_limits[i].live);
    for (unsigned i = 0; i < SLOTS; i++)
        if (s->slot[i].status != 0)
            printf("# at first reservation %u: %s, %u held on scopes %x\n", i, tlshm_status_name(s->slot[i].status),
                   s->slot[i].estimate, s->slot[i].scopes);
}

void search_explain(const struct trace *trace)
{
    static struct op copies[OPS_MAX];
    const struct op *kept[OPS_MAX];
    uint64_t moment = UINT64_MAX;
    for (unsigned i = 0; i < trace->count; i++) {
        unsigned n = cut_at(copies, kept, trace, trace->ops[i]->returned);
        if (trace->ops[i]->returned != 0 && trace->ops[i]->returned < moment && is_illegal(trace, kept, n))
            moment = trace->ops[i]->returned;
    }
    unsigned n = leave_out(trace, kept, cut_at(copies, kept, trace, moment));
    qsort(kept, n, sizeof kept[0], by_beginning);
    printf("# no order of these calls explains what they were told (begin-return, worker, call):\n");
    state_print(trace->begin);
    for (unsigned i = 0; i < n; i++)
        op_print(kept[i]);
}

static const char *verdict_name(const struct op *op)
{
    static const char *const name[] = {"OK", "REFUSED", "REPLAY", "LATE", "ENDED"};
    return op->rc < 0 ? tlshm_error_name(op->rc) : name[op->rc];
}

static void print_figures(const struct figures *f)
{
    printf("used %llu, window %llu, held %llu, requests %llu, holds %llu", (unsigned long long)f->used,
           (unsigned long long)f->window, (unsigned long long)f->held, (unsigned long long)f->requests,
           (unsigned long long)f->live);
}

static void print_answer(const struct op *op)
{
    if (op->returned == 0)
        printf("cut short");
    else if (op->kind == OP_REMAINING)
        printf("%lld", (long long)op->remaining);
    else if (op->kind == OP_USAGE)
        print_figures(&op->seen);
    else if (op->kind == OP_LOOKUP)
        printf("%s, estimate %llu, charged %llu", tlshm_status_name((int)op->status), (unsigned long long)op->estimate,
               (unsigned long long)op->charged);
    else if (op->kind == OP_SETTLE || op->kind == OP_REFUND)
        printf("%s: %s, charged %llu", verdict_name(op), tlshm_status_name((int)op->status),
               (unsigned long long)op->charged);
    else
        printf("%s", verdict_name(op));
    if (op->explained && op->returned != 0)
        printf(" by %s of scope %u: used %llu, held %llu", tlshm_unit_name((int)op->why_unit), op->why_scope,
               (unsigned long long)op->seen.used, (unsigned long long)op->seen.held);
}

void op_print(const struct op *op)
{
    static const char *const name[] = {"none",      "reserve", "settle", "refund",   "extend",
                                       "remaining", "usage",   "lookup", "would fit"};
    printf("# %4llu-%-4llu w%u %s", (unsigned long long)op->invoked, (unsigned long long)op->returned, op->worker,
           name[op->kind]);
    if (op->kind == OP_REMAINING || op->kind == OP_USAGE)
        printf(" of scope %u", op->scopes);
    else
        printf(" reservation %u", op->slot);
    if (op->kind == OP_RESERVE || op->kind == OP_FIT)
        printf(" on scopes %x%s%.0u", op->scopes, op->key != 0 ? " with key " : "", op->key);
    if (op->kind == OP_RESERVE || op->kind == OP_FIT || op->kind == OP_SETTLE || op->kind == OP_EXTEND)
        printf(", %llu tokens", (unsigned long long)op->amount);
    printf(": ");
    print_answer(op);
    putchar('\n');
}
