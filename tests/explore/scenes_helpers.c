/* SPDX-License-Identifier: MIT */
/* scenes_helpers.c - who meets an operation that another one has left open: helpers, heirs, readers. */
#include "starts.h"

/* A scope beside the three. */
static uint64_t fourth;

static void reserve_fourth(unsigned fibre, unsigned record)
{
    tlshm_id id;
    call_reserve(fibre, &(struct booking){.record = record, .tokens = 1, .handle = fourth}, &id);
}

static void start_fourth(void)
{
    open_usual(PLENTY, LEDGER_MORE);
    fourth = call_make(HARNESS, "agent:fourth");
}

/* Two reserves race for one record with scopes that have nothing in common; a helper may sleep before its last swap. */
static void act_door(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 0, S0 | S1 | S2, 1, SETTLE, 1);
        call_pair(0, 1, S0 | S2, 1, SETTLE, 1);
    } else if (fibre == 1) {
        reserve_fourth(1, 0);
    } else {
        call_look(2, 0, false);
    }
}

/* The same with a dead owner, whose heir needs the spares while the helper sleeps. */
static void act_door_heir(unsigned fibre)
{
    unsigned seat;
    if (fibre == 0) {
        reserve(0, 0, S0 | S1, 1, 0);
    } else if (fibre == 1) {
        call_look(1, 0, false);
    } else {
        reserve_fourth(2, 0);
        while (call_inherit(&seat))
            call_pair(seat, 1, S0 | S2, 1, SETTLE, 1);
    }
}

/* Room for one more in each scope: who loses finds none and does not try again. */
static void start_one_more(void)
{
    open_usual(16 + 32 + 64 + 1, 0);
    call_pair(HARNESS, 3, S2, 1, SETTLE, 16 + 32 + 64);
    ledger_check();
}

static void act_one_more(unsigned fibre)
{
    if (fibre == 0)
        reserve(0, 0, S0 | S2, 1, 0);
    else if (fibre == 1)
        call_look(1, 0, false);
    else
        call_pair(2, 2, S2, 1, SETTLE, 1);
}

/* One works and one looks: short enough for deep searches. */
static void act_small(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 0, S0, 1, SETTLE, 1);
        call_pair(0, 0, S0, 2, SETTLE, 2);
    } else if (fibre == 1) {
        call_look(1, 0, false);
    }
}

static void act_tiny(unsigned fibre)
{
    if (fibre == 0)
        call_pair(0, 0, S0, 1, SETTLE, 1);
    else
        call_look(1, 0, false);
}

/* The sheet that is read goes to another scope meanwhile. */
static void act_moved(unsigned fibre)
{
    if (fibre == 0) {
        call_look(0, 0, false);
    } else {
        reserve(1, 1, S0, 1, 0);
        call_pair(1, 2, S2, 2, SETTLE, 2);
    }
}

/* Two want the record of one that has just been settled. */
static void act_reuse(unsigned fibre)
{
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    else
        reserve(fibre, 0, S2, 1, 0);
}

static void act_race_record(unsigned fibre)
{
    if (fibre == 2)
        return;
    call_pair(fibre, 0, S0 | (fibre ? S1 : S2), 1, SETTLE, 4);
    call_pair(fibre, 0, S0 | S1, 1, REFUND, 0);
}

static void act_spares(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 0, S0 | S1, 1, SETTLE, 1);
        call_pair(0, 0, S0 | S1, 1, REFUND, 0);
    } else if (fibre == 1) {
        call_pair(1, 1, S1 | S2, 1, REFUND, 0);
    }
}

static void act_lost_settle(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 1);
        call_pair(0, 1, S0 | S1 | S2, 1, REFUND, 0);
    } else if (fibre == 1) {
        call_end(1, world.hold, REFUND, 0);
        call_pair(1, 2, S1 | S2, 1, SETTLE, 1);
    } else {
        for (unsigned scope = 0; scope < SCOPES; scope++)
            call_look(2, scope, false);
    }
}

static void act_mark(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 1);
        call_pair(0, 0, S2, 1, SETTLE, 1);
    } else if (fibre == 1) {
        call_end(1, world.hold, REFUND, 0);
    } else {
        call_look(2, 0, false);
    }
}

static void act_extend_recycle(unsigned fibre)
{
    if (fibre == 0) {
        call_extend(0, world.hold, 1, 0);
    } else if (fibre == 1) {
        call_end(1, world.hold, SETTLE, 1);
        reserve(1, 0, S2, 1, 0);
    } else {
        call_look(2, 1, false);
    }
}

static void act_before(unsigned fibre)
{
    static const unsigned scopes[] = {S0 | S2, S2, S0};
    reserve(fibre, fibre, scopes[fibre], 1, 0);
}

/* One who works and one who looks: short, for all words. */
static void act_torn(unsigned fibre)
{
    if (fibre == 0) {
        call_pair(0, 0, S1, 2, SETTLE, 1);
        call_pair(0, 0, S1, 1, SETTLE, 1);
    } else if (fibre == 1) {
        call_look(1, 1, false);
    } else {
        call_look_record(2, 0);
    }
}

const struct scene scenes_of_helpers[] = {
    {"door", "one record, other scopes, a sleeping helper", start_fourth, act_door},
    {"door-heir", "the same, and an heir", start_fourth, act_door_heir},
    {"one-more", "a loser that does not try again, and a reader", start_one_more, act_one_more},
    {"small", "one works, one looks", start_empty, act_small, .two = true, .deep = true},
    {"tiny", "one reserves and settles, one looks", start_empty, act_tiny, .two = true, .deep = true, .words = true},
    {"moved", "a sheet goes to another scope under a reader", start_empty, act_moved, .two = true},
    {"reuse", "two want the record of one that is settled", NULL, act_reuse},
    {"race-record", "two use one record again and again", start_empty, act_race_record, .two = true},
    {"spares", "spares go round", start_empty, act_spares, .two = true},
    {"lost-settle", "the loser of a settle works on", NULL, act_lost_settle},
    {"mark", "the loser of a settle, and a reader", NULL, act_mark},
    {"extend-recycle", "extend against settle and reuse", NULL, act_extend_recycle},
    {"before", "a reader of what was not decided", start_empty, act_before},
    {"torn", "one works, two look", start_empty, act_torn, .words = true},
};
const unsigned count_of_helpers = sizeof scenes_of_helpers / sizeof scenes_of_helpers[0];
