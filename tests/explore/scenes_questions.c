/* SPDX-License-Identifier: MIT */
/* scenes_questions.c - somebody asks whether a reserve would fit, while others change what it depends on. See asks.h. */
#include "asks.h"
#include "starts.h"

#include "latch.h"

#define CAP 100

/* Tokens inside a window of two ticks; 48 are used when scenes begin. */
static void start_room(void)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 1, 0, CAP);
    open_with(&limit, 1, 0);
    use(3, 16);
    use(1, 32);
}

static void start_held(void)
{
    start_room();
    hold(20, LONG);
}

/* With details, then without. */
static void ask_twice(unsigned fibre, const struct booking *booking)
{
    ask_fit(fibre, booking, true);
    ask_fit(fibre, booking, false);
}

static void act_fit(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1 | S2, .tokens = 40};
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        call_pair(0, 1, S1, 30, SETTLE, 30);
    } else if (fibre == 1) {
        ask_twice(1, &asked);
    } else {
        call_pair(2, 2, S0 | S2, 30, SETTLE, 30);
    }
}

/* Sheets that are looked at go to a scope that has less room; what they said is true still, of others. */
static void start_again(void)
{
    start_room();
    call_pair(HARNESS, 3, S2, 1, SETTLE, 90);
    hold(1, LONG);
}

static void act_again(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 40};
    for (unsigned i = 0; fibre == 0 && i < 3; i++)
        call_extend(0, world.hold, 0, LONG + i);
    if (fibre == 0)
        call_pair(0, 1, S2, 1, REFUND, 0);
    else if (ask_fit(fibre, &asked, false) != TLSHM_OK)
        fault("it would not fit by what another scope has used");
}

/* One of two scopes is always full: the other one each time that the first has room. */
static void start_full(unsigned scopes)
{
    const tlshm_limit limit = world_lifetime(CAP);
    open_with(&limit, 1, 0);
    world.hold = reserve(HARNESS, 0, scopes, CAP, 0);
    ledger_check();
}

static void start_first_full(void)
{
    start_full(S0);
}

static void start_second_full(void)
{
    start_full(S1);
}

static const struct booking both = {.scopes = S0 | S1, .tokens = 1};

static void fill_and_free(unsigned fibre, unsigned scopes)
{
    if (fibre == 0) {
        reserve(0, 1, scopes, CAP, 0);
        call_end(0, world.hold, REFUND, 0);
    } else if (ask_fit(fibre, &both, fibre == 1) == TLSHM_OK) {
        fault("it would fit though one scope is always full");
    }
}

static void act_first_full(unsigned fibre)
{
    fill_and_free(fibre, S1);
}

static void act_second_full(unsigned fibre)
{
    fill_and_free(fibre, S0);
}

/* ---------------------------------------------------------------------------------------------------- time, deadlines */

static void start_turning(void)
{
    open_usual(130, 0);
    hold(1, LONG);
}

static void act_turn(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 10};
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        call_tick(1);
        call_pair(0, 1, S0, 4, SETTLE, 4);
    } else {
        ask_twice(fibre, &asked);
    }
}

/* 50 are overdue, and 20 are not. */
static void start_overdue_room(void)
{
    const tlshm_limit limit = world_lifetime(CAP);
    open_with(&limit, 1, 0);
    hold(50, 1);
    reserve(HARNESS, 1, S0 | S1, 20, 0);
    world_tick(2);
    ledger_check();
}

static void act_overdue(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 60}, less = {.scopes = S0, .tokens = 30};
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 30);
        call_pair(0, 2, S1, 10, REFUND, 0);
    } else if (fibre == 1) {
        ask_twice(1, &asked);
        ask_fit(1, &less, true);
    } else {
        call_expire_all(2);
    }
}

/* No calendar: see scenes_windows.c. */
static void start_back(void)
{
    const tlshm_limit limits[] = {world_rolling(TLSHM_TOKENS, 2, 1, 0, CAP), world_lifetime(PLENTY)};
    open_with(limits, COUNT(limits), LEDGER_LOWER | LEDGER_NO_CAPS);
    world_tick(100);
    use(3, 16);
    use(3, 32); /* what was used before is not inside any more: nor is it when the clock has gone back */
    hold(1, LONG);
}

/* Of one scope: two that an open operation has changed may be dated on both sides of the clock's way back. */
static void act_back(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0, .tokens = 60};
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    else
        ask_twice(fibre, &asked);
}

/* ------------------------------------------------------------------------------------------------- limits, switches */

/* Windows of two ticks and of sixty, in which much more is used; turned, they are the other way round. */
static unsigned two_windows(bool turned, uint64_t cap, tlshm_limit *limits)
{
    limits[turned] = world_rolling(TLSHM_TOKENS, 2, 1, 0, cap);
    limits[!turned] = world_rolling(TLSHM_TOKENS, 2, 30, 0, PLENTY);
    return 2;
}

static void publish_windows(unsigned seat, unsigned scope, uint64_t cap)
{
    tlshm_limit limits[2];
    call_publish(seat, &world.map.cells[world.cell[scope]].policy, limits, two_windows(true, cap, limits));
}

static void start_changing(void)
{
    tlshm_limit limits[2];
    open_with(limits, two_windows(false, CAP, limits), LEDGER_NO_CAPS);
    use(3, 2 * CAP);
    use(5, 16);
    use(1, 32);
    hold(20, LONG);
}

static void act_changing(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 40};
    if (fibre == 0) {
        publish_windows(0, 0, CAP + 20);
        publish_windows(0, 1, CAP + 20);
        call_end(0, world.hold, SETTLE, 8);
        publish_windows(0, 1, CAP - 20);
    } else {
        ask_twice(fibre, &asked);
    }
}

/* A latch that is reached, and a person who stops and resumes all. */
static void start_switches(void)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 1, TLSHM_LIMIT_PAUSES, 48 + 8);
    open_with(&limit, 1, 0);
    use(3, 16);
    use(1, 32);
    hold(20, LONG);
}

static void act_switches(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 40};
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        reserve(0, 1, S0, 1, 0);
    } else if (fibre == 1) {
        ask_twice(1, &asked);
    } else {
        tlshm_shutoff(ask_attachment(), 1);
        tlshm_shutoff(ask_attachment(), 0);
    }
}

/* A unit of the second line, and a limit on single requests. */
static void start_wide_room(void)
{
    const tlshm_limit limits[] = {world_rolling(TLSHM_INPUT_TOKENS, 2, 1, 0, CAP), world_request(TLSHM_TOKENS, CAP)};
    open_with(limits, COUNT(limits), 0);
    const struct booking held = {.scopes = S0 | S1, .tokens = 1, .input = 60};
    call_reserve(HARNESS, &held, &world.hold);
    ledger_check();
}

static void act_wide(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 1, .input = 50};
    static const struct booking large = {.scopes = S0, .tokens = CAP + 1};
    if (fibre == 0) {
        call_settle_wide(0, world.hold, 1, 45);
        call_reserve(0, &(struct booking){.record = 1, .scopes = S1, .input = 10}, &answers.id[0]);
    } else {
        ask_twice(fibre, &asked);
        ask_fit(fibre, &large, true);
    }
}

/* ----------------------------------------------------------------------------------------------------- what is new */

static const char key[] = "the same twice";

/* There is room for one of them. */
static void start_one_fits(void)
{
    const tlshm_limit limit = world_lifetime(50);
    open_with(&limit, 1, 0);
}

static void act_repeat(unsigned fibre)
{
    static const struct booking booking = {.record = 1, .scopes = S0 | S1, .tokens = 40, .key = key};
    static const struct booking other = {.record = 1, .scopes = S0 | S1, .tokens = 20, .key = key};
    if (fibre == 0)
        call_reserve(0, &booking, &answers.id[0]);
    else if (fibre == 1)
        ask_twice(1, &booking);
    else
        ask_fit(2, &other, true);
}

/* All records hold something. Ending the first hold uses up what there was room for. */
static void start_no_record(void)
{
    const tlshm_limit limit = world_lifetime(CAP);
    open_with(&limit, 1, 0);
    hold(1, LONG);
    for (unsigned record = 1; record < world.map.reservations; record++)
        reserve(HARNESS, record, S2, 0, 0);
    ledger_check();
}

static void act_no_record(unsigned fibre)
{
    static const struct booking asked = {.scopes = S0 | S1, .tokens = 60};
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, CAP);
    else if (ask_fit(fibre, &asked, true) != TLSHM_REFUSED)
        fault("it would fit though there is no record before there is no room");
}

const struct scene scenes_of_questions[] = {
    {"fit", "would it fit, beside settle and reserve", start_held, act_fit},
    {"fit-again", "sheets that are looked at are used again", start_again, act_again, .two = true, .words = true,
     .brief = true},
    {"fit-first", "one of two scopes is always full", start_first_full, act_first_full, .brief = true},
    {"fit-second", "the other way round", start_second_full, act_second_full, .brief = true},
    {"fit-turn", "windows turn meanwhile", start_turning, act_turn, .two = true, .brief = true},
    {"fit-overdue", "an overdue hold is in the way, or not any more", start_overdue_room, act_overdue},
    {"fit-back", "the clock goes back", start_back, act_back, .two = true, .brief = true, .ticks = {1, 2, 7, -40}},
    {"fit-windows", "limits change meanwhile", start_changing, act_changing, .two = true, .brief = true},
    {"fit-switches", "a latch is reached, a person stops and resumes", start_switches, act_switches, .brief = true},
    {"fit-wide", "units of the second line, single requests", start_wide_room, act_wide, .two = true, .brief = true},
    {"fit-repeat", "the first of two repeats is made meanwhile", start_one_fits, act_repeat},
    {"fit-record", "a record is freed, and room used up", start_no_record, act_no_record, .two = true, .brief = true},
};
const unsigned count_of_questions = COUNT(scenes_of_questions);
