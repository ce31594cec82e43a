/* SPDX-License-Identifier: MIT */
/*
 * scenes_lanes.c - what a thread goes on from without reading it again (lane.h), and what it answers from a ceiling alone:
 * against all that makes either void.
 */
#include "starts.h"

#include "ending.h"
#include "tap.h"

/*
 * Calls of fibre 1, then of fibre 0: they have lanes of these scopes, and ceilings. Fibre 0 has been alone for so long that
 * it does not mark its sheets any more, and keeps its lanes.
 */
static void warm_two(unsigned scopes)
{
    for (unsigned i = 0; i < 7; i++) {
        call_pair(i < 3, 8 + (i < 3), scopes, 1, SETTLE, 1);
        ledger_check();
    }
    world.warm = true;
}

#define WARMTH 7 /* tokens that this has used */

static void publish_for(unsigned fibre, unsigned scope, const tlshm_limit *limit)
{
    call_publish(fibre, &world.map.cells[world.cell[scope]].policy, limit, 1);
}

static void open_lifetime(uint64_t cap, unsigned leave_out)
{
    const tlshm_limit limit = world_lifetime(cap);
    open_with(&limit, 1, leave_out);
}

static void pair_of_another(unsigned fibre)
{
    if (fibre == 1)
        call_pair(1, 1, S0 | S1, 1, SETTLE, 4);
}

/* ----------------------------------------------------------------------------------------------------- of which cells */

static void start_lanes(void)
{
    open_usual(PLENTY, 0);
    hold(1, LONG);
    warm_two(S0 | S1);
}

/* Other scopes are refused, so nothing is committed: the next call on them must not take the former ones' lanes. */
static void act_other(unsigned fibre)
{
    pair_of_another(fibre);
    if (fibre != 0)
        return;
    call_pair(0, 2, S0 | S1, 1, SETTLE, 16);
    if (reserve(0, 2, S0 | S2, PLENTY + 1, 0))
        fault("there is more room than there should be");
    call_pair(0, 2, S0 | S2, 1, SETTLE, 2);
    call_pair(0, 2, S0 | S1, 1, SETTLE, 8);
}

/* Spares are written for windows that are exchanged, by a call whose sums are too large: it changes nothing. */
static void act_unfinished(unsigned fibre)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 1, 0, TLSHM_UNLIMITED);
    pair_of_another(fibre);
    if (fibre != 0)
        return;
    call_pair(0, 2, S0 | S1, 1, SETTLE, 16);
    publish_for(0, 0, &limit);
    publish_for(0, 1, &limit);
    call_reserve_too_much(0, 2, S0 | S1);
    call_end(0, world.hold, SETTLE, 8);
    call_tick(1);
    call_end(0, reserve(0, 2, S0 | S1, 1, 0), SETTLE, 2);
    call_pair(0, 2, S0 | S1, 1, SETTLE, 32);
}

static void start_unfinished(void)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 3, 0, PLENTY);
    open_with(&limit, 1, LEDGER_NO_CAPS);
    use(2, 16);
    hold(1, LONG);
    warm_two(S0 | S1);
}

/* ---------------------------------------------------------------------------------------------------- edges and clocks */

/* The most shared scope's windows end first. */
static void start_edges(void)
{
    const tlshm_limit wide = world_rolling(TLSHM_TOKENS, 2, 64, 0, PLENTY),
                      narrow = world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY);
    open_with(&wide, 1, LEDGER_NO_CAPS);
    publish_for(HARNESS, 0, &narrow);
    use(3, 16);
    hold(1, LONG);
    warm_two(S0 | S1);
}

static void act_edges(unsigned fibre)
{
    pair_of_another(fibre);
    if (fibre != 0)
        return;
    call_pair(0, 2, S0 | S1, 1, SETTLE, 2);
    call_tick(1);
    call_pair(0, 2, S0 | S1, 1, SETTLE, 8);
    call_pair(0, 2, S0 | S1, 1, SETTLE, 32);
}

static void start_lanes_later(void)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 1, 0, 64);
    open_with(&limit, 1, LEDGER_NO_CAPS);
    use(1, 32);
    warm_two(S0 | S1);
}

/* What was used has left the window: a lane whose edge is past must not refuse by its ceiling. */
static void act_lanes_later(unsigned fibre)
{
    if (fibre != 0)
        return;
    call_pair(0, 2, S0 | S1, 1, SETTLE, 2);
    call_tick(3);
    if (!reserve(0, 2, S0 | S1, 60, 0))
        fault("a reserve is refused by a ceiling of former windows");
}

/* The other fibre marks what this one's clock, a tick behind, would not have dated so. */
static void start_behind(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS | LEDGER_LATE);
    hold(1, LONG);
    warm_two(S0 | S1);
}

static void act_behind(unsigned fibre)
{
    if (fibre == 1) {
        call_look(1, 0, false);
        call_look(1, 1, false);
        return;
    }
    world_lag(0);
    for (unsigned i = 0; i < 3; i++)
        call_pair(0, 1, S0 | S1, 1, SETTLE, 4 << i);
}

/* One scope's use rolls out, the other's never does. */
static void start_lanes_back(void)
{
    const tlshm_limit rolling = world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY), lifetime = world_lifetime(PLENTY);
    open_with(&lifetime, 1, LEDGER_LOWER | LEDGER_NO_CAPS);
    publish_for(HARNESS, 0, &rolling);
    world_tick(100);
    use(3, 16);
    warm_two(S0 | S1);
}

/* The clock goes back; this call has to notice it, else what was used stays used until the clock has caught up. */
static void go_back_and_call(void)
{
    call_tick(-41);
    ledger_went_back(41);
    call_pair(0, 2, S0 | S1, 1, SETTLE, 4);
    call_tick(10);
    fibre_quiet(true);
    ledger_check_empty();
    fibre_quiet(false);
}

static void act_lanes_back(unsigned fibre)
{
    if (fibre != 0)
        return;
    call_pair(0, 2, S0 | S1, 1, SETTLE, 2);
    go_back_and_call();
}

/* Behind the time of one of them alone, which was used last. */
static void act_lanes_back_one(unsigned fibre)
{
    if (fibre != 0)
        return;
    call_tick(45);
    for (unsigned i = 0; i < 3; i++)
        call_pair(0, 2, S0, 1, SETTLE, 2);
    if (reserve(0, 2, S0 | S1, PLENTY + 1, 0))
        fault("there is more room than there should be");
    go_back_and_call();
}

/* ------------------------------------------------------------------------------------------------------- their limits */

/* A refusal by limits of other windows, which nobody has committed: the ceiling that it leaves is not of the lane's. */
static void act_lanes_exchanged(unsigned fibre)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 3, 0, PLENTY);
    struct tl_view view;
    if (fibre == 1) {
        call_end(1, world.hold, SETTLE, 8);
        return;
    }
    call_pair(0, 1, S0 | S1, 1, SETTLE, 16);
    publish_for(0, 0, &limit);
    publish_for(0, 1, &limit);
    if (reserve(0, 1, S0 | S1, PLENTY + 1, 0))
        fault("there is more room than there should be");
    call_pair(0, 1, S0 | S1, 1, SETTLE, 4);
    if (tl_txn_snapshot(&world.thread[0].hand, world.cell[0], &view) < 0 || view.windows != 1)
        fault("a scope has the windows of limits that are gone");
}

static void start_lanes_exchanged(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS);
    hold(1, LONG);
    warm_two(S0 | S1);
}

/* The scope's own word leads to a tier, whose word changes. */
static void start_own_tier(void)
{
    start_default();
    ledger_open(NULL, 0, LEDGER_NO_CAPS);
    lead(HARNESS, world.cell[0], TL_POLICY_TIER, tier_cells[0]);
    warm_two(S0);
}

static void act_own_tier(unsigned fibre)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    if (fibre != 0)
        return;
    call_pair(0, 0, S0, 1, REFUND, 0);
    call_publish(0, &world.map.cells[tier_cells[0]].policy, limits, usual_limits(0, limits));
    if (reserve(0, 0, S0, 1, 0))
        fault("a reserve is admitted by limits that are gone");
}

/* Full to the last token, and over it by a settle. */
static void start_over(void)
{
    open_lifetime(40, LEDGER_NO_CAPS);
    warm_two(S0 | S1);
    call_pair(0, 8, S0 | S1, 1, SETTLE, 100);
    ledger_check();
    call_reserve(0, &(struct booking){.record = 1, .scopes = S0 | S1}, &world.hold);
    ledger_check();
    call_end(0, world.hold, SETTLE, 0);
    ledger_check();
}

static void act_over(unsigned fibre)
{
    tlshm_id id = 0;
    if (fibre != 0)
        return;
    if (call_reserve(0, &(struct booking){.record = 1, .scopes = S0 | S1}, &id) != TLSHM_OK)
        fault("a limit refuses what nobody asks of it");
    call_end(0, id, SETTLE, 0);
    if (reserve(0, 1, S0 | S1, 1, 0))
        fault("a limit admits what is above it");
}

/* Sums end somewhere, straight as well. */
static void act_sums(unsigned fibre)
{
    pair_of_another(fibre);
    if (fibre != 0)
        return;
    call_settle_too_much(0, world.hold);
    call_end(0, world.hold, SETTLE, 8);
}

/* ---------------------------------------------------------------------------------------------------------- remaining */

static void start_left(void)
{
    const tlshm_limit limits[] = {world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY), world_calendar(2 * PLENTY)};
    open_with(limits, COUNT(limits), 0);
    use(3, 16);
    use(1, 32);
    hold(1, LONG);
    warm_two(S0 | S1);
}

static void act_left(unsigned fibre)
{
    if (fibre == 1)
        call_pair(1, 1, S0 | S1, 2, SETTLE, 4);
    for (unsigned i = 0; fibre == 0 && i < 3; i++)
        call_remaining(0, world.handle[0], TLSHM_TOKENS);
}

/* What limits say that have changed, to more than a number of 63 bits and beyond what a ceiling holds. */
static void act_left_changed(unsigned fibre)
{
    static const uint64_t caps[] = {3, PLENTY, TL_CEILING_MOST + 100, TLSHM_UNLIMITED};
    if (fibre != 0)
        return;
    for (unsigned i = 0; i < COUNT(caps); i++) {
        const tlshm_limit limit = world_lifetime(caps[i]);
        call_remaining(0, world.handle[0], TLSHM_TOKENS);
        publish_for(0, 0, &limit);
        call_remaining(0, world.handle[0], TLSHM_TOKENS);
        for (unsigned k = 0; k < 2; k++)
            call_pair(0, 2, S0, 1, SETTLE, 1);
        call_remaining(0, world.handle[0], TLSHM_TOKENS);
    }
}

static void start_left_changed(void)
{
    open_lifetime(PLENTY, LEDGER_NO_CAPS);
    warm_two(S0);
}

static void start_left_overdue(void)
{
    open_lifetime(40, 0);
    warm_two(S0 | S1);
    hold(20, 1);
}

static void act_left_overdue(unsigned fibre)
{
    if (fibre != 0)
        return;
    call_remaining(0, world.handle[0], TLSHM_TOKENS);
    call_tick(1);
    call_remaining(0, world.handle[0], TLSHM_TOKENS);
}

/* A unit of the second line, which a ceiling's first line does not have. */
static void start_left_wide(void)
{
    tlshm_limit limits[] = {world_lifetime(PLENTY), world_lifetime(PLENTY)};
    limits[1].unit = TLSHM_INPUT_TOKENS;
    open_with(limits, COUNT(limits), 0);
    warm_two(S0 | S1);
    call_reserve(0, &(struct booking){.record = 0, .scopes = S0 | S1, .tokens = 1, .input = 4}, &world.hold);
    ledger_check();
}

static void act_left_wide(unsigned fibre)
{
    if (fibre != 0)
        return;
    call_remaining(0, world.handle[0], TLSHM_INPUT_TOKENS);
    call_remaining(0, world.handle[0], TLSHM_TOKENS);
    call_settle_wide(0, world.hold, 1, 8);
    call_remaining(0, world.handle[0], TLSHM_INPUT_TOKENS);
}

/* The sheet that is read goes to a scope that is nearly full meanwhile. */
static void start_left_moved(void)
{
    open_lifetime(200, 0);
    call_pair(HARNESS, 3, S2, 1, SETTLE, 190);
    ledger_check();
    warm_two(S0);
}

static void act_left_moved(unsigned fibre)
{
    if (fibre == 1) {
        reserve(1, 2, S0, 1, 0);
        call_pair(1, 3, S2, 1, SETTLE, 1);
    } else if (call_remaining(0, world.handle[0], TLSHM_TOKENS) < 190 - WARMTH) {
        fault("there was always more left than a call says");
    }
}

/* A record that two want: who loses it has its head in, and takes nothing. */
static void act_left_undone(unsigned fibre)
{
    if (fibre != 1)
        call_pair(fibre, 1, fibre == 0 ? S0 : S2, 2, SETTLE, 4);
    for (unsigned i = 0; fibre == 1 && i < 2; i++)
        call_remaining(1, world.handle[0], TLSHM_TOKENS);
}

/* Two settles bring new windows, and note no ceiling. */
static void act_left_later(unsigned fibre)
{
    if (fibre != 0)
        return;
    tlshm_id first = reserve(0, 1, S0 | S1, 1, 0), second = reserve(0, 2, S0 | S1, 1, 0);
    call_tick(1);
    call_end(0, first, SETTLE, 4);
    call_end(0, second, SETTLE, 8);
    call_remaining(0, world.handle[0], TLSHM_TOKENS);
}

static void start_left_single(void)
{
    tlshm_limit limits[] = {world_lifetime(PLENTY), {.unit = TLSHM_TOKENS, .cap = 5}};
    limits[1].window.kind = TLSHM_WINDOW_REQUEST;
    open_with(limits, COUNT(limits), LEDGER_NO_CAPS);
    warm_two(S0 | S1);
}

/* A cell that was given to another key. */
static uint64_t former_handle;

static void start_left_stale(void)
{
    static const char *const keys[] = {"agent:p", "agent:q", "agent:r", "agent:s", "agent:t"};
    const tlshm_limit limit = world_lifetime(PLENTY);
    uint64_t handle = 0;
    tlshm_id id;
    open_usual(PLENTY, LEDGER_MORE | LEDGER_NO_CAPS);
    former_handle = call_make(HARNESS, "agent:idle");
    world_tick(10);
    ledger_check();
    tl_directory_recycle(&world.thread[HARNESS].hand, CELLS);
    for (unsigned i = 0; i < COUNT(keys) && tl_handle_cell(handle) != tl_handle_cell(former_handle); i++)
        handle = call_make(HARNESS, keys[i]);
    call_publish(HARNESS, &world.map.cells[tl_handle_cell(handle)].policy, &limit, 1);
    for (unsigned i = 0; i < 3; i++) {
        const struct booking booking = {.record = 8, .tokens = 1, .handle = handle};
        MUST(call_reserve(0, &booking, &id) == TLSHM_OK, "no use to begin with");
        ledger_check();
        call_end(0, id, SETTLE, 1);
        ledger_check();
    }
    world.warm = true;
}

static void act_left_stale(unsigned fibre)
{
    if (fibre == 0 && call_remaining(0, former_handle, TLSHM_TOKENS) != INT64_MAX)
        fault("a stale handle tells what is left to another key");
}

/* An operation on another scope alone has the spare that a lane would go on with. */
static void act_kept(unsigned fibre)
{
    pair_of_another(fibre);
    if (fibre != 0)
        return;
    call_pair(0, 2, S0 | S1, 1, SETTLE, 16);
    call_pair(0, 2, S0 | S1, 1, SETTLE, 8);
    if (tl_directory_keep(&world.thread[0].hand, world.handle[2]) < 0)
        fault("a scope cannot be kept");
    call_pair(0, 2, S0 | S1, 1, SETTLE, 4);
}

const struct scene scenes_of_lanes[] = {
    {"lanes-other", "lanes of other scopes", start_lanes, act_other, .two = true, .brief = true},
    {"lanes-kept", "a spare of a lane is used for another scope", start_lanes, act_kept, .two = true, .brief = true},
    {"lanes-unfinished", "spares of an operation that was not begun", start_unfinished, act_unfinished, .two = true,
     .brief = true},
    {"lanes-edges", "one lane's windows end first", start_edges, act_edges, .two = true, .brief = true},
    {"lanes-later", "a lane whose windows have gone on", start_lanes_later, act_lanes_later, .two = true,
     .brief = true},
    {"lanes-behind", "a lane's sheet is dated by a clock ahead", start_behind, act_behind, .two = true, .brief = true},
    {"lanes-back", "the clock goes back behind a lane", start_lanes_back, act_lanes_back, .two = true, .brief = true,
     .ticks = {1, 2, 7}},
    {"lanes-back-one", "the same for one of two", start_lanes_back, act_lanes_back_one, .two = true, .brief = true,
     .ticks = {1, 2, 7}},
    {"lanes-exchanged", "a ceiling of windows that the lane has not", start_lanes_exchanged, act_lanes_exchanged,
     .two = true, .brief = true},
    {"own-tier", "a tier that a scope's own word leads to", start_own_tier, act_own_tier, .two = true, .brief = true},
    {"over", "a limit is exceeded that nothing is asked of", start_over, act_over, .two = true, .brief = true},
    {"sums", "sums too large for the straight way", start_lanes, act_sums, .two = true, .brief = true},
    {"left", "what is left, beside those who take it", start_left, act_left, .two = true},
    {"left-later", "what is left in new windows", start_left, act_left_later, .two = true, .brief = true},
    {"left-changed", "what changed limits leave", start_left_changed, act_left_changed, .two = true, .brief = true},
    {"left-overdue", "what overdue holds leave", start_left_overdue, act_left_overdue, .two = true, .brief = true},
    {"left-wide", "what is left of units of the second line", start_left_wide, act_left_wide, .two = true,
     .brief = true},
    {"left-moved", "what is left by a sheet that moves", start_left_moved, act_left_moved, .two = true},
    {"left-undone", "what is left of what was not decided", start_left_changed, act_left_undone},
    {"left-single", "what a single request may ask for", start_left_single, act_left, .two = true, .brief = true},
    {"left-stale", "what is left to a former key", start_left_stale, act_left_stale, .two = true, .brief = true},
};
const unsigned count_of_lanes = COUNT(scenes_of_lanes);
