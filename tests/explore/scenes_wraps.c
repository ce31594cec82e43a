/* SPDX-License-Identifier: MIT */
/*
 * scenes_wraps.c - counters that come round while three processes are at work, some of which die or sleep. All start so
 * that their last value is met in the first calls of each fibre. lib/DESIGN.md, section 19, lists them.
 */
#include "starts.h"

#include "horizon.h"
#include "ids.h"
#include "limits.h"

/* What is left to the last value after the preparation: one step for what every call changes, none for the rest. */
#define LEFT 1

/* Replaces the bits of a word from `low` on. */
static void put(tl_word *word, unsigned low, unsigned bits, uint64_t value)
{
    uint64_t rest = tl_load_relaxed(word) & ~(tl_ones(bits) << low);
    tl_store_relaxed(word, rest | (value & tl_ones(bits)) << low);
}

/* `used`: by how many steps the preparation goes on from here. */
static void near_the_end(uint32_t used)
{
    const struct tl_map *map = &world.map;
    for (uint32_t cell = 0; cell < map->cell_count; cell++) {
        put(&map->cells[cell].head, SHM_NODE_BITS, 40, tl_ones(40) - LEFT - used);
        put(&map->cells[cell].resets, 0, 8, tl_ones(8));
        put(&map->cells[cell].policy, TL_POLICY_VERSION, 22, tl_ones(22) - LEFT);
    }
    for (uint32_t record = 0; record < map->record_count; record++) {
        put(&map->records[record].head, SHM_NODE_BITS, 36, tl_ones(36) - LEFT);
        put(&map->bodies[record].generation, 0, 40, tl_ones(40) - LEFT);
    }
    for (unsigned seat = 0; seat < FIBRES; seat++)
        put(&map->seats[seat].cur, 1, 63, tl_ones(50) - LEFT);
    put(&map->horizons[0], 0, 18, TL_HORIZON_VERSION);
    put(&map->header->change, 40, 24, tl_ones(24));
}

static void start_near_the_end(unsigned ttl)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(PLENTY, limits);
    world_open(NULL, limits, count);
    near_the_end(3); /* a use is two operations on each cell, a hold one */
    ledger_open(limits, count, 0);
    ledger_check();
    use(3, 16);
    hold(1, ttl);
    world_tick(2);
    ledger_check();
}

static void start_calls(void)
{
    start_near_the_end(LONG);
}

static void start_overdue_hold(void)
{
    start_near_the_end(1);
}

/* Each makes two operations and more, on the same cells; the last one takes over from the dead. */
static void act_calls(unsigned fibre)
{
    unsigned seat = fibre;
    if (fibre == 1)
        call_end(1, world.hold, SETTLE, 4);
    if (fibre == 2)
        call_inherit(&seat);
    call_pair(seat, fibre, S0 | S1, 2u << fibre, fibre == 1 ? REFUND : SETTLE, 8u << fibre);
}

/* Expiry over the end of the horizon's versions, limits over that of their words and tags. */
static void act_words(unsigned fibre)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(PLENTY, limits);
    if (fibre == 0) {
        call_expire_all(0);
        call_expire_all(0);
    } else if (fibre == 1) {
        call_pair(1, 1, S0 | S1, 2, SETTLE, 8);
        call_expire_all(1);
    } else {
        limits[0].cap++;
        call_publish(2, &world.map.cells[world.cell[0]].policy, limits, count);
        call_publish(2, &world.map.cells[world.cell[0]].policy, limits, count);
        call_pair(2, 2, S0, 4, SETTLE, 16);
    }
}

/* A seat's number goes on where refs begin again. */
static void finish_calls(void)
{
    for (unsigned seat = 0; seat < FIBRES; seat++)
        if (tl_load_relaxed(&world.map.seats[seat].cur) >> 1 < tl_ones(50) - LEFT)
            fault("the number of seat %u's operations has come round", seat);
}

const struct scene scenes_of_wraps[] = {
    {"wrap-calls", "versions, generations and operations come round", start_calls, act_calls, finish_calls},
    {"wrap-words", "versions of horizons, limits and tags come round", start_overdue_hold, act_words, .brief = true},
};
const unsigned count_of_wraps = COUNT(scenes_of_wraps);
