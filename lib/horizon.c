/* SPDX-License-Identifier: MIT */
/* horizon.c - lowering and raising horizons. See horizon.h. */
#include "horizon.h"

static uint64_t pack(uint64_t grain, uint64_t rest)
{
    return grain << TL_HORIZON_TIME_SHIFT | (rest & (tl_ones(TL_HORIZON_TIME_SHIFT)));
}

TL_COLD void tl_horizon_lower(tl_word *horizon, uint64_t deadline, bool tied)
{
    for (;;) {
        uint64_t word = tl_load(horizon);
        if (tl_horizon_covers(word, deadline, tied))
            return;
        uint64_t grain = tl_min(word >> TL_HORIZON_TIME_SHIFT, tl_horizon_grain(deadline));
        if (tl_cas(horizon, word, pack(grain, tied ? word | TL_HORIZON_TIED : word)))
            return;
    }
}

uint64_t tl_horizon_doubt(tl_word *horizon)
{
    for (;;) {
        uint64_t word = tl_load(horizon), version = (word + 1) & TL_HORIZON_VERSION;
        uint64_t doubted = pack(TL_HORIZON_NEVER, TL_HORIZON_DOUBTED | version);
        if (tl_cas(horizon, word, doubted))
            return doubted;
    }
}

/* An operation that was closed when it had been read was decided before, or never: the block tells. */
static void meet_seat(const struct tl_map *map, const struct shm_seat *seat)
{
    uint64_t cur = tl_load(&seat->cur);
    if (!(cur & 1))
        return;
    uint64_t record = tl_load(&seat->record) & UINT32_MAX, to = tl_load(&seat->to);
    if (record >= map->reservations || shm_node(to) >= map->body_count || tl_load(&seat->cur) != cur)
        return;
    tl_horizon_meet(map, (uint32_t)record, to);
}

void tl_horizon_meet_all(const struct tl_map *map)
{
    for (uint32_t s = 0; s < map->seat_count; s++)
        meet_seat(map, &map->seats[s]);
}

void tl_horizon_trust(tl_word *horizon, uint64_t doubted, uint64_t first, bool tied)
{
    for (;;) {
        uint64_t word = tl_load(horizon);
        if ((word ^ doubted) & (TL_HORIZON_VERSION | TL_HORIZON_DOUBTED))
            return; /* somebody else is at it, or has done it */
        uint64_t grain = tl_min(word >> TL_HORIZON_TIME_SHIFT, tl_horizon_grain(first));
        uint64_t rest = (word & ~TL_HORIZON_DOUBTED) | (tied ? TL_HORIZON_TIED : 0);
        if (tl_cas(horizon, word, pack(grain, rest)))
            return;
    }
}
