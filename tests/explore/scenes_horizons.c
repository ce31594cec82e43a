/* SPDX-License-Identifier: MIT */
/*
 * scenes_horizons.c - horizons of blocks (horizon.h): they are raised while holds come that end sooner. The ledger looks
 * after each step whether a hold is hidden behind one.
 */
#include "starts.h"

/* As settled holds leave it: so early that who reserves finds nothing to lower, and who expires reads the block. */
static void make_early(void)
{
    tl_horizon_lower(&world.map.horizons[0], world_now() - TICK, false);
}

static void start_early(void)
{
    start_empty();
    make_early();
}

static void start_early_warm(void)
{
    open_usual(PLENTY, 0);
    for (unsigned fibre = 0; fibre < FIBRES; fibre++)
        for (unsigned i = 0; i < 3; i++) {
            call_pair(fibre, 8 + fibre, S0 | S1, 1, SETTLE, 1);
            ledger_check();
        }
    world.warm = true;
    make_early();
}

static void act_raise(unsigned fibre)
{
    if (fibre == 0)
        reserve(0, 1, S0 | S1, 1, 3);
    else
        call_expire_all(fibre);
}

static void act_raise_one(unsigned fibre)
{
    if (fibre == 1)
        call_expire_all(1);
    else
        reserve(fibre, 1 + fibre, fibre ? S2 : S0 | S1, 1, 3 - fibre);
}

/* Nothing makes the horizon early here: the reserve lowers it, or who decides it in its place. */
static void act_help(unsigned fibre)
{
    if (fibre == 0)
        reserve(0, 1, S0 | S1, 1, 3);
    else if (fibre == 1)
        call_look(1, 0, false);
    else
        call_end(2, world.hold, SETTLE, 4);
}

static void act_extend_raised(unsigned fibre)
{
    if (fibre == 0)
        call_extend(0, world.hold, 1, 4);
    else if (fibre == 1)
        call_expire_all(1);
    else
        call_end(2, world.hold, SETTLE, 8);
}

/* Tied to its owner's life: wherever a pass finds that it is gone, and nowhere else. */
static void act_tied(unsigned fibre)
{
    const struct booking booking = {.record = 1, .scopes = S0 | S1, .tokens = 1, .flags = TLSHM_FREE_ON_DEATH};
    unsigned seat;
    if (fibre == 0) {
        call_reserve(0, &booking, &answers.id[0]);
    } else {
        if (fibre == 2)
            call_inherit(&seat);
        call_expire_all(fibre);
    }
}

const struct scene scenes_of_horizons[] = {
    {"horizon", "two raise it while one reserves", start_early, act_raise, .deep = true},
    {"horizon-two", "one raises it while two reserve", start_early, act_raise_one},
    {"horizon-warm", "two raise it while one reserves straight", start_early_warm, act_raise, .deep = true},
    {"horizon-help", "who helps a reserve lowers it", start_usual, act_help},
    {"horizon-extend", "it is raised while the hold is extended", start_overdue, act_extend_raised},
    {"horizon-tied", "it is raised while a tied hold comes", start_early, act_tied},
};
const unsigned count_of_horizons = sizeof scenes_of_horizons / sizeof scenes_of_horizons[0];
