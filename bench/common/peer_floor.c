/* SPDX-License-Identifier: MIT */
/*
 * peer_floor.c - the least that any lock-free pair costs: a compare-and-swap on the line of each scope and of the
 * reservation, once to reserve and once to settle. It decides nothing and keeps no record: a floor, not a limiter.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "peer.h"

struct floor_line {
    _Alignas(64) _Atomic uint64_t word;
};

static struct {
    struct floor_line *line;
    size_t bytes;
    unsigned count;
    struct floor_line *touched[PLAN_SCOPES_MAX + 1]; /* this worker's scopes, then its reservation */
} f;

static int floor_setup(const struct plan *plan)
{
    f.bytes = (plan_slots(plan) + plan->processes) * sizeof *f.line;
    f.line = peer_map(f.bytes);
    return f.line ? 0 : -1;
}

static int floor_join(const struct plan *plan, unsigned process)
{
    f.count = plan->scopes + 1;
    for (unsigned i = 0; i < plan->scopes; i++)
        f.touched[i] = &f.line[plan_slot(plan, process, i)];
    f.touched[plan->scopes] = &f.line[plan_slots(plan) + process];
    return 0;
}

static void floor_step(void)
{
    for (unsigned i = 0; i < f.count; i++) {
        uint64_t word = atomic_load_explicit(&f.touched[i]->word, memory_order_relaxed);
        while (!atomic_compare_exchange_strong(&f.touched[i]->word, &word, word + 1))
            continue;
    }
}

static int floor_pair(void)
{
    floor_step();
    floor_step();
    return 0;
}

static int floor_audit(const struct plan *plan, const uint64_t *pairs)
{
    for (unsigned process = 0; process < plan->processes; process++) {
        for (unsigned i = 0; i < plan->scopes; i++) {
            uint64_t found = atomic_load(&f.line[plan_slot(plan, process, i)].word);
            uint64_t wanted = 2 * plan_expected(plan, process, i, pairs);
            char key[32];
            plan_key(plan, process, i, key);
            if (found != wanted)
                return peer_audit_failed("floor", key, "count", found, wanted);
        }
    }
    return 0;
}

static void floor_teardown(void)
{
    peer_unmap(f.line, f.bytes);
    f.line = NULL;
}

const struct peer peer_floor = {
    "floor", "handle", floor_setup, floor_join, floor_pair, floor_audit, floor_teardown,
};
