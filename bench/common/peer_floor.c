/* SPDX-License-Identifier: MIT */
/*
 * peer_floor.c - the least that any lock-free call costs: a compare-and-swap on the line of each scope and of the
 * reservation. It decides nothing and keeps no record: a floor, not a limiter.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "peer.h"

struct floor_line {
    _Alignas(64) _Atomic uint64_t word;
};

static struct {
    struct floor_line *line; /* by slot, then one for each process */
    size_t bytes;
    unsigned count;
    struct floor_line *touched[PLAN_SCOPES_MAX + 1]; /* the call's scopes, then this worker's reservation */
    struct floor_line *own;
} f;

static int floor_setup(const struct plan *plan)
{
    f.bytes = (plan_slots(plan) + plan->processes) * sizeof *f.line;
    f.line = peer_map(f.bytes);
    return f.line ? 0 : -1;
}

static int floor_join(const struct plan *plan, unsigned process)
{
    f.own = &f.line[plan_slots(plan) + process];
    return 0;
}

static void floor_leave(void)
{
}

static void floor_choose(const struct plan_call *call)
{
    for (unsigned i = 0; i < call->count; i++)
        f.touched[i] = &f.line[call->slot[i]];
    f.touched[call->count] = f.own;
    f.count = call->count + 1;
}

static int floor_call(void)
{
    for (unsigned i = 0; i < f.count; i++) {
        uint64_t word = atomic_load_explicit(&f.touched[i]->word, memory_order_relaxed);
        while (!atomic_compare_exchange_strong(&f.touched[i]->word, &word, word + 1))
            continue;
    }
    return 0;
}

static int floor_pair(void)
{
    floor_call();
    return floor_call();
}

static int floor_stream(void)
{
    for (unsigned i = 0; i < 2 + PLAN_EXTENDS; i++)
        floor_call();
    return 0;
}

static int floor_audit(const struct plan *plan, const struct plan_book *books)
{
    for (unsigned slot = 0; slot < plan_slots(plan); slot++) {
        uint64_t found = atomic_load(&f.line[slot].word);
        if (found != books[slot].calls && !books[slot].loose)
            return peer_audit_failed("floor", plan, slot, "count", found, books[slot].calls);
    }
    return 0;
}

static void floor_teardown(void)
{
    peer_unmap(f.line, f.bytes);
    f.line = NULL;
}

const struct peer peer_floor = {
    .name = "floor",
    .keys = "handle",
    .setup = floor_setup,
    .join = floor_join,
    .leave = floor_leave,
    .choose = floor_choose,
    .act =
        {[ACT_PAIR] = floor_pair, [ACT_RESERVE] = floor_call, [ACT_SETTLE] = floor_call, [ACT_STREAM] = floor_stream},
    .audit = floor_audit,
    .teardown = floor_teardown,
};
