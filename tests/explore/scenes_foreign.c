/* SPDX-License-Identifier: MIT */
/*
 * scenes_foreign.c - straight on from what others have left: sheets of other seats, closed and not marked, and scopes that
 * are others than those of the thread's last call.
 */
#include "starts.h"

#include "tap.h"

/* ---------------------------------------------------------------------------------------------- sheets of other seats */

/* Fibre 1 comes last, and for so long that it does not mark its sheets any more. */
static void leave_unmarked(unsigned scopes)
{
    call_often(0, scopes, 3);
    call_often(1, scopes, 7);
}

/* Room for one more of the two that ask for scope 1. */
static void start_closed(void)
{
    const tlshm_limit limit = world_lifetime(40);
    open_with(&limit, 1, 0);
    leave_unmarked(S0 | S1);
}

/* The loser's sheet may be seen unmarked, and then its operation closed: it was undone, and it does not try again. */
static void race_for_room(unsigned fibre)
{
    if (fibre == 1)
        reserve(1, 1, S0 | S1, 20, 0);
    else if (fibre == 2)
        reserve(2, 3, S1, 20, 0);
}

static void act_closed(unsigned fibre)
{
    race_for_room(fibre);
    if (fibre == 0)
        call_pair(0, 2, S0, 1, SETTLE, 4);
}

/* Who is refused by such a sheet is refused by what it says. */
static void start_closed_full(void)
{
    const tlshm_limit limit = world_lifetime(40);
    open_with(&limit, 1, LEDGER_NO_CAPS);
    call_reserve(1, &(struct booking){.record = 1, .scopes = S0 | S1, .tokens = 20}, &world.hold);
    ledger_check();
    leave_unmarked(S0 | S1);
    if (reserve(0, 2, S0 | S1, 20, 0))
        fault("there is more room than there should be");
    ledger_check();
    call_often(1, S0 | S1, 1);
}

static void act_closed_full(unsigned fibre)
{
    if (fibre == 0)
        reserve(0, 2, S0 | S1, 20, 0);
    else if (fibre == 1)
        call_end(1, world.hold, SETTLE, 1);
}

static void act_left_closed(unsigned fibre)
{
    race_for_room(fibre);
    if (fibre == 0)
        call_remaining(0, world.handle[0], TLSHM_TOKENS);
}

/* ------------------------------------------------------------------------------------------------------- other scopes */

#define KNOWN 2  /* calls on a scope, after which a thread knows its ceiling */
#define WARMTH 6 /* tokens that this uses of scope 0 */

/* Two know the ceilings of all scopes, and none has called on the first two last. */
static void know_all(void)
{
    call_often(0, S0 | S1, KNOWN);
    call_often(0, S0 | S2, KNOWN);
    call_often(1, S0 | S2, KNOWN);
    call_often(1, S1 | S2, KNOWN);
}

static void start_others(void)
{
    open_usual(PLENTY, 0);
    hold(1, LONG);
    know_all();
}

/* Each call is on other scopes than the one before. */
static void act_others(unsigned fibre)
{
    if (fibre == 0) {
        tlshm_id one = reserve(0, 1, S0 | S1, 1, 0), two = reserve(0, 2, S0 | S2, 2, 0);
        if (one)
            call_end(0, one, SETTLE, 4);
        if (two)
            call_end(0, two, SETTLE, 8);
    } else if (fibre == 1) {
        call_pair(1, 3, S1 | S2, 2, SETTLE, 16);
    } else {
        call_end(2, world.hold, SETTLE, 32);
    }
}

static void start_others_torn(void)
{
    start_others();
    call_often(0, S2, KNOWN);
}

/* The sheet that windows are copied from goes to another scope; the next call must not take what was copied for its own. */
static void act_others_torn(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 1, S0, 1, SETTLE, 4);
        call_pair(0, 1, S0, 1, SETTLE, 8);
    } else if (fibre == 1) {
        reserve(1, 2, S0, 2, 0);
        call_pair(1, 3, S2, 2, SETTLE, 16);
    }
}

/* Room for one more on the scope that both ask for, each with another one. */
static void start_others_limit(void)
{
    open_usual(16 + 32 + 64 + WARMTH + 24, 0);
    know_all();
}

static void act_others_limit(unsigned fibre)
{
    if (fibre == 0)
        reserve(0, 1, S0 | S1, 20, 0);
    else if (fibre == 1)
        reserve(1, 2, S0 | S2, 20, 0);
    else
        call_look(2, 0, false);
}

const struct scene scenes_of_foreign[] = {
    {"closed", "a sheet of another seat, closed and not marked", start_closed, act_closed},
    {"closed-full", "a refusal by such a sheet", start_closed_full, act_closed_full, .two = true},
    {"left-closed", "what is left by such a sheet", start_closed, act_left_closed},
    {"others", "other scopes in each call", start_others, act_others},
    {"others-torn", "windows for other scopes are copied from a sheet that moves", start_others_torn, act_others_torn,
     .two = true},
    {"others-limit", "two go straight for the last room of other scopes", start_others_limit, act_others_limit},
};
const unsigned count_of_foreign = COUNT(scenes_of_foreign);
