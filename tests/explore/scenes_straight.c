/* SPDX-License-Identifier: MIT */
/*
 * scenes_straight.c - the common call in one go (straight.h): threads that have called before and know the scopes, their
 * ceilings and what their spares hold, against each other and against what makes that knowledge void.
 */
#include "starts.h"

/* Every fibre has made some calls in the present bucket: now it knows all that it can. */
static void warm_up(unsigned scopes)
{
    for (unsigned fibre = 0; fibre < FIBRES; fibre++)
        for (unsigned i = 0; i < 3; i++) {
            call_pair(fibre, 8 + fibre, scopes, 1, SETTLE, 1);
            ledger_check();
        }
    world.warm = true;
}

#define WARMTH (FIBRES * 3) /* tokens that warming up has used */

static void start_warm(void)
{
    open_usual(PLENTY, 0);
    hold(1, LONG);
    warm_up(S0 | S1);
}

/* Room for one more of the two. */
static void start_warm_limit(void)
{
    open_usual(16 + 32 + 64 + WARMTH + 24, 0);
    warm_up(S0 | S1);
}

static void start_warm_three(void)
{
    open_usual(PLENTY, 0);
    warm_up(S0 | S1 | S2);
}

static void act_warm(unsigned fibre)
{
    if (fibre < 2)
        call_pair(fibre, 1 + fibre, S0 | S1, 2, SETTLE, 4 << fibre);
    else
        call_end(2, world.hold, SETTLE, 32);
}

static void act_warm_limit(unsigned fibre)
{
    if (fibre < 2)
        reserve(fibre, 1 + fibre, S0 | S1, 20, 0);
    else
        call_look(2, 0, false);
}

/* The same hold is settled twice, both times straight. */
static void act_warm_twice(unsigned fibre)
{
    if (fibre < 2)
        call_end(fibre, world.hold, SETTLE, 4 << fibre);
    else
        call_pair(2, 1, S0 | S1, 1, SETTLE, 2);
}

/* One record for two: the loser has to find another. */
static void act_warm_record(unsigned fibre)
{
    if (fibre < 2)
        call_pair(fibre, 1, S0 | S1, 2, SETTLE, 4 << fibre);
    else
        call_look(2, 1, true);
}

/* Spares that were written for an operation that did not get through are not what they were. */
static void act_warm_again(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 1, S0 | S1, 2, SETTLE, 4);
        call_pair(0, 1, S0 | S1, 2, SETTLE, 8);
    } else if (fibre == 1) {
        call_pair(1, 2, S0 | S2, 2, SETTLE, 16);
    } else {
        call_pair(2, 3, S0 | S1, 2, SETTLE, 32);
    }
}

static void act_warm_three(unsigned fibre)
{
    if (fibre < 2)
        call_pair(fibre, 1 + fibre, S0 | S1 | S2, 2, SETTLE, 4 << fibre);
    else
        call_look_record(2, 1);
}

/* The limits that the ceilings come from are lowered. */
static void act_warm_lowered(unsigned fibre)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    if (fibre < 2) {
        reserve(fibre, 1 + fibre, S0 | S1, 20, 0);
        return;
    }
    unsigned count = usual_limits(16 + 32 + 64 + WARMTH + 10, limits);
    call_publish(2, &world.map.cells[world.cell[0]].policy, limits, count);
}

/* An heir that takes a dead thread's seat over while others go straight on. */
static void act_warm_heir(unsigned fibre)
{
    unsigned seat;
    if (fibre < 2) {
        call_pair(fibre, 1 + fibre, S0 | S1, 2, SETTLE, 4 << fibre);
        return;
    }
    while (call_inherit(&seat))
        call_pair(seat, 3, S0 | S1, 2, SETTLE, 16);
}

const struct scene scenes_of_straight[] = {
    {"warm", "two pairs go straight, a third settles", start_warm, act_warm},
    {"warm-limit", "two go straight for the last room", start_warm_limit, act_warm_limit},
    {"warm-twice", "two settle one hold straight", start_warm, act_warm_twice},
    {"warm-record", "two go straight for one record", start_warm, act_warm_record, .two = true},
    {"warm-again", "spares that are known, lost and known again", start_warm, act_warm_again},
    {"warm-three", "three scopes in one go", start_warm_three, act_warm_three},
    {"warm-lowered", "ceilings whose limits are lowered", start_warm_limit, act_warm_lowered},
    {"warm-heir", "an heir beside those who go straight", start_warm, act_warm_heir},
};
const unsigned count_of_straight = sizeof scenes_of_straight / sizeof scenes_of_straight[0];
