/* SPDX-License-Identifier: MIT */
/* scenes_holds.c - reserve, settle, refund, extend, expire, each against the others. */
#include "starts.h"

/* Room for one, and for another only when an overdue hold is expired. */
static void start_limit(void)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(40, limits);
    open_with(limits, count, 0);
    use(3, 2);
    hold(20, 2);
    use(2, 4);
}

static void act_limit(unsigned fibre)
{
    if (fibre < 2)
        call_pair(fibre, 1 + fibre, S0 | S1, 20, SETTLE, fibre ? 4 : 8);
    else
        call_expire_all(fibre);
}

static void act_settle_twice(unsigned fibre)
{
    if (fibre < 2)
        call_end(fibre, world.hold, SETTLE, fibre ? 4 : 8);
    else
        call_pair(2, 1, S0 | S2, 1, SETTLE, 2);
}

static void act_expire_recycle(unsigned fibre)
{
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    else if (fibre == 1)
        call_end(1, world.hold, EXPIRE, 0);
    else
        call_pair(2, 0, S0 | S1, 1, SETTLE, 4);
}

static void start_extend(void)
{
    open_usual(16 + 32 + 64 + 3, 0);
    hold(2, LONG);
}

static void act_extend(unsigned fibre)
{
    if (fibre == 1)
        call_end(1, world.hold, SETTLE, 1);
    else
        call_extend(fibre, world.hold, 1, fibre ? 2 * LONG : 0);
}

static void act_refund(unsigned fibre)
{
    if (fibre < 2)
        call_end(fibre, world.hold, fibre ? REFUND : SETTLE, 8);
    else
        call_pair(2, 1, S0, 1, SETTLE, 4);
}

/* The record is free for others at the next tick; its new owner has another scope. */
static void act_late_recycle(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, EXPIRE, 0);
    } else if (fibre == 1) {
        call_end(1, world.hold, SETTLE, 8);
    } else {
        call_tick(1);
        reserve(2, 0, S2, 1, 0);
    }
}

static void act_crossing(unsigned fibre)
{
    if (fibre == 0)
        call_pair(0, 1, S0 | S2, 1, SETTLE, 8);
    else if (fibre == 1)
        call_pair(1, 2, S1 | S2, 1, SETTLE, 4);
}

static void act_three(unsigned fibre)
{
    static const unsigned scopes[] = {S0 | S1 | S2, S1 | S2, S0 | S2};
    call_pair(fibre, 1 + fibre, scopes[fibre], 1, fibre == 2 ? REFUND : SETTLE, 4);
}

static void act_chain(unsigned fibre)
{
    static const unsigned scopes[] = {S0 | S1, S1 | S2, S0 | S2};
    call_pair(fibre, 1 + fibre, scopes[fibre], 1, SETTLE, 1u << fibre);
}

static void act_heir(unsigned fibre)
{
    unsigned seat;
    if (fibre == 0)
        call_pair(0, 1, S0 | S1, 1, SETTLE, 8);
    else if (fibre == 1)
        call_end(1, world.hold, SETTLE, 4);
    else
        while (call_inherit(&seat))
            call_pair(seat, 2, S0 | S2, 1, SETTLE, 2);
}

/* --------------------------------------------------------------------------------------- requests, concurrency, due */

static void start_requests(void)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(PLENTY, limits);
    limits[0] = world_rolling(TLSHM_REQUESTS, 2, 1, 0, 3);
    open_with(limits, count, 0);
    use(3, 16);
    use(2, 64);
    hold(1, LONG);
}

/* Requests count at once and for good: of the two that come, one finds no room. */
static void act_requests(unsigned fibre)
{
    if (fibre < 2)
        call_pair(fibre, 1 + fibre, S0 | S1, 1, REFUND, 0);
    else
        call_end(2, world.hold, SETTLE, 2);
}

static void start_concurrency(void)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX] = {{.unit = TLSHM_CONCURRENCY, .window.kind = TLSHM_WINDOW_NONE, .cap = 2}};
    open_with(limits, 1, 0);
    use(3, 16);
    hold(1, LONG);
}

static void act_concurrency(unsigned fibre)
{
    if (fibre < 2)
        reserve(fibre, 1 + fibre, S0 | S1, 1, 0);
    else
        call_end(2, world.hold, REFUND, 0);
}

static void start_due(void)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    tlshm_id id;
    unsigned count = usual_limits(40, limits);
    open_with(limits, count, 0);
    use(3, 2);
    hold(20, 1);
    call_reserve(HARNESS, &(struct booking){.record = 8, .scopes = S0 | S1, .tokens = 1, .input = 4}, &id);
    world_tick(2);
    ledger_check();
}

/* The refused one expires what is overdue and raises the due time; the others bring earlier deadlines. */
static void act_due(unsigned fibre)
{
    if (fibre == 0)
        reserve(0, 1, S0, 30, 0);
    else
        reserve(fibre, 1 + fibre, S0 | S1, 1, fibre);
}

static void act_due_extend(unsigned fibre)
{
    if (fibre == 0) {
        reserve(0, 1, S0, 30, 0);
    } else if (fibre == 1) {
        tlshm_id id = reserve(1, 2, S0, 1, 3);
        if (id)
            call_extend(1, id, 1, 6);
    } else {
        call_end(2, world.hold, SETTLE, 8);
    }
}

/* ------------------------------------------------------------------------------------------------------ once by key */

static void act_key(unsigned fibre)
{
    const struct booking booking = {
        .record = fibre, .scopes = S0, .tokens = 1, .key = fibre == 2 ? "another call" : "the same call"};
    answers.verdict[fibre] = call_reserve(fibre, &booking, &answers.id[fibre]);
}

static void finish_key(void)
{
    if (answers.verdict[0] == UNANSWERED || answers.verdict[1] == UNANSWERED)
        return;
    if (answers.id[0] != answers.id[1])
        fault("one key has two reservations");
    if (answers.verdict[0] == answers.verdict[1])
        fault("one key was admitted twice, or never");
}

/* The record of the first is given to somebody else while its key is repeated. */
static void act_key_recycle(unsigned fibre)
{
    const struct booking booking = {.record = 0, .scopes = S0 | S1, .tokens = 1, .key = "the same call"};
    if (fibre < 2 && call_reserve(fibre, &booking, &answers.id[fibre]) == TLSHM_OK)
        call_end(fibre, answers.id[fibre], fibre ? REFUND : SETTLE, 2);
    else if (fibre == 2)
        reserve(2, 0, S2, 1, 0);
}

const struct scene scenes_of_holds[] = {
    {"limit", "two reserve at the limit, a third expires", start_limit, act_limit},
    {"settle-twice", "two settle one hold", NULL, act_settle_twice},
    {"expire-recycle", "settle, expiry and reuse of one record", start_overdue, act_expire_recycle},
    {"extend", "two extend, one settles", start_extend, act_extend},
    {"refund", "refund against settle", NULL, act_refund},
    {"late-recycle", "late settle against reuse with other scopes", start_overdue, act_late_recycle},
    {"crossing", "sets of scopes that cross", NULL, act_crossing, .two = true},
    {"three", "three scopes", start_empty, act_three},
    {"chain", "three in a ring of pairs of scopes", start_empty, act_chain},
    {"heir", "an heir goes on for the dead", NULL, act_heir},
    {"requests", "requests count at admission", start_requests, act_requests},
    {"concurrency", "live holds are limited", start_concurrency, act_concurrency},
    {"due", "raising the due time against reserves", start_due, act_due},
    {"due-extend", "raising the due time against extend", start_due, act_due_extend},
    {"key", "one idempotency key, two callers", start_empty, act_key, finish_key},
    {"key-recycle", "a key's record is reused", start_empty, act_key_recycle},
};
const unsigned count_of_holds = sizeof scenes_of_holds / sizeof scenes_of_holds[0];
