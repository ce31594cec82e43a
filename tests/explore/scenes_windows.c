/* SPDX-License-Identifier: MIT */
/* scenes_windows.c - dates, buckets, history, clocks, and windows that change. */
#include "starts.h"

static void act_date(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        call_tick(2);
    }
    call_look(fibre, 0, false);
    if (fibre == 1)
        call_pair(1, 1, S0, 1, SETTLE, 4);
}

/* The clock moves when the operation is closed, while one who only looks has seen it open. */
static void act_readonly_date(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        call_tick(2);
    } else {
        call_look(1, 0, true);
    }
}

static void act_pairs(unsigned fibre)
{
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    else if (fibre == 1)
        for (unsigned i = 0; i < 3; i++)
            call_pair(1, 1, S0, 1, SETTLE, 4);
}

/* The clock runs with fibre 1, over more than a lap of the ring. */
static void act_lap(unsigned fibre)
{
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    for (int i = 0; fibre == 1 && i < 4; i++) {
        static const int ticks[] = {0, 2, 1, 1};
        call_tick(ticks[i]);
        call_pair(1, 1, S0, 1, SETTLE, 4);
    }
}

/* The hold opens a bucket: the start of the last one is still to be written to history. */
static void start_one_later(void)
{
    open_usual(PLENTY, 0);
    world_tick(1);
    hold(1, LONG);
}

static void act_readers(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        call_pair(0, 1, S0, 1, SETTLE, 4);
    } else {
        call_look(fibre, 0, fibre == 2);
    }
}

static void act_readers_lap(unsigned fibre)
{
    if (fibre != 1)
        call_look(fibre, 0, fibre == 2);
    for (unsigned i = 0; fibre == 1 && i < 4; i++) {
        call_pair(1, 1, S0, 1, SETTLE, 4);
        call_tick(1);
    }
}

static void start_late_clock(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS | LEDGER_LATE);
    hold(1, LONG);
}

static void act_late_clock(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 1, S0, 1, SETTLE, 8);
    } else if (fibre == 1) {
        world_lag(1);
        call_end(1, world.hold, SETTLE, 4);
    }
}

/* No calendar here: a clock that goes back over the end of an hour is in the old hour again. */
static void start_back(void)
{
    const tlshm_limit limits[] = {world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY),
                                  world_rolling(TLSHM_TOKENS, 2, 2, TLSHM_LIMIT_STRICT, PLENTY),
                                  world_lifetime(PLENTY)};
    open_with(limits, COUNT(limits), LEDGER_LOWER | LEDGER_NO_CAPS);
    world_tick(100);
    use(3, 16);
    use(1, 32);
    use(1, 64);
    hold(1, LONG);
}

static void act_back(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
    } else if (fibre == 1) {
        call_pair(1, 1, S0, 1, SETTLE, 4);
        call_pair(1, 1, S0, 1, SETTLE, 2);
    } else {
        call_pair(2, 2, S0, 1, SETTLE, 1);
    }
}

/* Keeping use after the clock went back must not keep it for ever. */
static void finish_back(void)
{
    for (unsigned scope = 0; scope < SCOPES; scope++)
        call_pair(HARNESS, 3, 1u << scope, 1, REFUND, 0);
    world_tick(10);
    ledger_check_empty();
}

/* ------------------------------------------------------------------------------------------------- change of limits */

static void start_windows(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS);
    hold(1, LONG);
}

static void exchange_limits(unsigned fibre, unsigned first, unsigned second)
{
    const tlshm_limit limits[] = {world_rolling(TLSHM_TOKENS, 2, first, 0, PLENTY),
                                  world_rolling(TLSHM_TOKENS, 2, second, TLSHM_LIMIT_STRICT, PLENTY),
                                  world_calendar(PLENTY)};
    call_publish(fibre, &world.map.cells[world.cell[0]].policy, limits, COUNT(limits));
}

static void act_windows(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
    } else if (fibre == 1) {
        exchange_limits(1, 2, 3);
        call_pair(1, 1, S0, 1, SETTLE, 4);
    } else {
        call_pair(2, 2, S0, 1, SETTLE, 2);
    }
}

/*
 * A writer of history sleeps while the window is exchanged for one whose counts are lower: its first bucket has the very
 * word that is about to be written, and needs a zero there.
 */
static void start_windows_lap(void)
{
    tlshm_limit limits[] = {world_rolling(TLSHM_TOKENS, 2, 1, TLSHM_LIMIT_STRICT, PLENTY)};
    open_with(limits, COUNT(limits), LEDGER_NO_CAPS);
    use(2, 16);
    use(1, 32);
    world_tick(1);
    hold(1, LONG);
}

static void act_windows_lap(unsigned fibre)
{
    const tlshm_limit wide[] = {world_rolling(TLSHM_TOKENS, 2, 8, 0, PLENTY)};
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    if (fibre != 1)
        return;
    call_publish(1, &world.map.cells[world.cell[0]].policy, wide, 1);
    call_pair(1, 1, S0, 1, SETTLE, 4);
    call_tick(2);
    call_pair(1, 1, S0, 1, SETTLE, 4);
    call_pair(1, 1, S0, 1, SETTLE, 4);
}

static void start_windows_turn(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS);
    world_tick(1);
    hold(1, LONG); /* it opens a bucket: the last one's start is not in its ring yet */
}

/* Limits change places, one goes, one comes: each window's ring must stay its own. */
static void act_windows_turn(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        return;
    }
    const tlshm_limit turned[] = {world_rolling(TLSHM_TOKENS, 2, 3, 0, PLENTY),
                                  world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY),
                                  world_rolling(TLSHM_TOKENS, 2, 2, TLSHM_LIMIT_STRICT, PLENTY)};
    call_publish(1, &world.map.cells[world.cell[0]].policy, turned, COUNT(turned));
    for (unsigned i = 0; i < 3; i++) {
        call_pair(1, 1, S0, 1, SETTLE, 4);
        call_tick(1);
    }
}

const struct scene scenes_of_windows[] = {
    {"date", "helpers date an open operation", NULL, act_date},
    {"readonly-date", "who only looks dates an open operation", NULL, act_readonly_date, .two = true, .deep = true},
    {"pairs", "settle against three pairs", NULL, act_pairs, .two = true},
    {"lap", "a late writer of history, a lap and more", start_one_later, act_lap, .two = true},
    {"readers", "readers against settle and reserve", NULL, act_readers},
    {"readers-lap", "readers against the overwriting of history", start_one_later, act_readers_lap},
    {"late-clock", "clocks a tick apart", start_late_clock, act_late_clock, .two = true},
    {"back", "the clock goes back", start_back, act_back, finish_back, .ticks = {1, 2, 7, -40}},
    {"windows", "limits change while others settle", start_windows, act_windows},
    {"windows-lap", "a late writer of history across a change", start_windows_lap, act_windows_lap, .two = true},
    {"windows-turn", "limits change places", start_windows_turn, act_windows_turn, .two = true},
};
const unsigned count_of_windows = sizeof scenes_of_windows / sizeof scenes_of_windows[0];
