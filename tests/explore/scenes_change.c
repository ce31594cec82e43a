/* SPDX-License-Identifier: MIT */
/*
 * scenes_change.c - limits of two scopes that turn at once, while others reserve on both, change one alone, or turn them
 * too. Each side has one scope that admits little: a call that asks for more fits a mixture of sides and nothing else.
 */
#include "asks.h"
#include "starts.h"

#include "change.h"
#include "latch.h"
#include "tap.h"

#define LITTLE 20
#define MUCH 50 /* more than LITTLE, less than PLENTY */

/*
 * Which scope has little. 0 is how scenes begin. Scope 0 is looked at first: what it has before the change and what scope 1
 * has after it is a mixture.
 */
static const uint64_t sides[2][2] = {{PLENTY, LITTLE}, {LITTLE, PLENTY}};

/* What appliers were told in the schedule that runs; by fibre. */
static bool made[FIBRES];

/* In some scenes limits are latches. */
static bool latched;

static tlshm_limit limit_of(uint64_t cap)
{
    tlshm_limit limit = world_lifetime(cap);
    limit.flags = latched ? TLSHM_LIMIT_SHUTS_OFF : 0;
    return limit;
}

static void publish_cap(unsigned seat, unsigned scope, uint64_t cap)
{
    const tlshm_limit limit = limit_of(cap);
    call_publish(seat, &world.map.cells[world.cell[scope]].policy, &limit, 1);
}

static void start_sides(void)
{
    const tlshm_limit limit = world_lifetime(PLENTY);
    open_with(&limit, 1, LEDGER_NO_CAPS);
    publish_cap(HARNESS, 1, sides[0][1]);
}

/* Each thread has ceilings of side 0 in mind. */
static void start_warm_sides(void)
{
    start_sides();
    for (unsigned seat = 0; seat < SEATS; seat++)
        for (unsigned i = 0; i < 3; i++)
            call_pair(seat, seat, S0 | S1, 1, REFUND, 0);
    world.warm = true;
    ledger_check();
}

static int turn(unsigned seat, const uint64_t *caps)
{
    struct tl_hand *hand = &world.thread[seat].hand;
    struct tl_turn turns[2] = {{.kind = TL_POLICY_OWN}, {.kind = TL_POLICY_OWN}};
    for (unsigned i = 0; i < 2; i++) {
        const tlshm_limit limit = limit_of(caps[i]);
        uint64_t shape, cap;
        world_shapes(&limit, 1, &shape, &cap);
        turns[i].word = &world.map.cells[world.cell[i]].policy;
        int rc = tl_limits_claim(hand, &shape, &cap, 1, &turns[i].index, &turns[i].list);
        if (rc < 0) {
            if (i)
                tl_limits_end_claim(hand, turns[0].index, turns[0].list, false);
            return rc;
        }
    }
    return tl_change_make(hand, turns, 2, NULL, NULL);
}

static void apply(unsigned seat, unsigned side)
{
    int rc = turn(seat, sides[side]);
    if (rc < 0 && rc != -TLSHM_ECONTENDED && rc != -TLSHM_ENOROOM)
        fault("turning limits fails with %s", tlshm_error_name(rc));
    if (fibre_running() != NO_FIBRE)
        made[fibre_running()] = rc == 1;
}

/* What would be admitted on each of the two scopes: the side, or 2 for none. */
static unsigned side_in_force(void)
{
    struct tl_limits limits[2];
    for (unsigned i = 0; i < 2; i++)
        if (tl_limits_read(&world.map, &world.map.cells[world.cell[i]].policy, &limits[i]) < 0 || limits[i].count != 1)
            return 2;
    for (unsigned side = 0; side < 2; side++)
        if (limits[0].cap[0] == sides[side][0] && limits[1].cap[0] == sides[side][1])
            return side;
    return 2;
}

static void ask_for_much(unsigned fibre)
{
    if (reserve(fibre, fibre, S0 | S1, MUCH, 0))
        fault("a reserve is admitted by one scope's limits of before a change and another's of after it");
}

/* Nothing is pending, every list has its word. The dead have been inherited. */
static void look_clean(void)
{
    unsigned used, led_to = 0;
    if (!tl_change_clear(&world.thread[HARNESS].hand) ||
        tl_pending_state(tl_pending_change(&world.map)) != TL_CHANGE_NONE)
        fault("a change whose owner is gone cannot be cleared");
    for (uint32_t cell = 0; cell < world.map.scope_end; cell++)
        if (tl_load_relaxed(&world.map.cells[cell].policy) & TL_POLICY_PENDING)
            fault("cell %u is pending for ever", cell);
    tl_limits_sweep(&world.thread[HARNESS].hand);
    used = tl_limits_lists_used(&world.map);
    for (uint32_t cell = 0; cell < world.map.scope_end; cell++)
        led_to += tl_policy_kind(tl_load_relaxed(&world.map.cells[cell].policy)) == TL_POLICY_OWN;
    if (used != led_to)
        fault("%u limit lists are used, %u are led to", used, led_to);
}

/* All or nothing, and what was told is so; what is in force is the same before and after it was cleared. */
static void finish_sides(void)
{
    unsigned before = side_in_force();
    look_clean();
    unsigned side = side_in_force();
    if (side == 2 || side != before)
        fault("half of a change is in force");
    if ((made[0] || made[1]) && side != 1)
        fault("a change that was made is not in force");
    memset(made, 0, sizeof made);
}

static void act_apply(unsigned fibre)
{
    made[fibre] = false;
    if (fibre == 0) {
        apply(0, 1);
        ask_for_much(0);
    } else {
        ask_for_much(fibre);
        if (side_in_force() == 1 && reserve(fibre, fibre, S0, MUCH, 0))
            fault("a reserve goes by limits that were seen to be gone");
    }
}

/* Two turn the same words. */
static void act_two(unsigned fibre)
{
    if (fibre == 2)
        ask_for_much(2);
    else
        apply(fibre, 1 - fibre);
}

static void finish_two(void)
{
    look_clean();
    if (side_in_force() == 2)
        fault("half of a change is in force");
}

/* One takes from the second scope alone what a change gives it: then both have little, or the change is not made. */
static void act_alone(unsigned fibre)
{
    if (fibre == 0)
        apply(0, 1);
    else if (fibre == 1)
        publish_cap(1, 1, LITTLE);
    else
        ask_for_much(2);
}

static void finish_alone(void)
{
    struct tl_limits limits;
    look_clean();
    if (tl_limits_read(&world.map, &world.map.cells[world.cell[0]].policy, &limits) < 0 || limits.count != 1)
        fault("the first scope has no limits");
    else if (made[0] && limits.cap[0] != sides[1][0])
        fault("a change that was made is not in force");
    memset(made, 0, sizeof made);
}

/* What a hold is extended by is checked by one side too: much fits none, and little fits both. */
static void start_held(void)
{
    start_sides();
    hold(1, LONG);
}

static void act_extend(unsigned fibre)
{
    made[fibre] = false;
    if (fibre == 0)
        apply(0, 1);
    if (fibre != 2 && call_extend(fibre, world.hold, MUCH, 0) == TLSHM_OK)
        fault("an extension is admitted by one scope's limits of before a change and another's of after it");
    if (fibre == 2 && call_extend(2, world.hold, LITTLE / 2, 0) != TLSHM_OK)
        fault("an extension is refused that fits before a change and after it");
}

/* What is held fills either side, but is overdue. */
static void start_overdue_held(void)
{
    start_sides();
    hold(LITTLE, 1);
    world_tick(2);
    ledger_check();
}

static void act_expire(unsigned fibre)
{
    made[fibre] = false;
    if (fibre == 0)
        apply(0, 1);
    else if (fibre == 1 && !reserve(1, 1, S0 | S1, LITTLE / 2, 0))
        fault("an overdue hold stands in the way");
    else if (fibre == 2)
        call_end(2, world.hold, SETTLE, 4); /* late, or the last moment */
    ask_for_much(fibre);
}

/* Somebody takes the dead applier's seat and turns the words himself. */
static void act_left(unsigned fibre)
{
    unsigned seat = fibre;
    if (fibre == 0) {
        apply(0, 1);
    } else if (fibre == 1) {
        call_inherit(&seat);
        apply(seat, 1);
    } else {
        ask_for_much(2);
    }
}

/* The dead has made both words pending. */
static void start_left(void)
{
    start_sides();
    for (unsigned i = 0; i < 2; i++) {
        tl_word *word = &world.map.cells[world.cell[i]].policy;
        uint64_t seen = tl_load_relaxed(word);
        tl_store_relaxed(tl_pending_next(&world.map, word), tl_policy_change(seen, TL_POLICY_DEFAULT, 0));
        tl_store_relaxed(word, (seen + (UINT64_C(1) << TL_POLICY_VERSION)) | TL_POLICY_PENDING);
    }
    /* the epoch is one that its seat had before */
    tl_store_relaxed(&world.map.header->change, UINT64_C(1) << 40 | 2 << 2 | TL_CHANGE_OPEN);
}

/* One clears that, and is late: another has cleared it and turns the words anew. */
static void act_cleared(unsigned fibre)
{
    if (fibre == 0)
        tl_change_clear(&world.thread[0].hand);
    else
        apply(fibre, 1);
}

/* Lists of the dead are swept in the middle of it. */
static void act_swept(unsigned fibre)
{
    unsigned seat = fibre;
    if (fibre == 0) {
        apply(0, 1);
    } else if (fibre == 1) {
        call_inherit(&seat);
        tl_limits_sweep(&world.thread[seat].hand);
        publish_cap(seat, 2, LITTLE);
    } else {
        ask_for_much(2);
    }
}

/* Whoever asks is told by one side too: by each of them it is too much. */
static void act_asked(unsigned fibre)
{
    static const struct booking much = {.scopes = S0 | S1, .tokens = MUCH};
    made[fibre] = false;
    if (fibre == 0)
        apply(0, 1);
    else if (ask_fit(fibre, &much, fibre == 1) != TLSHM_REFUSED)
        fault("it would fit by one scope's limits of before a change and another's of after it");
}

/* The second scope's latch is reached, and nobody has noticed. */
static void start_latched(void)
{
    latched = true;
    start_sides();
    tlshm_id id = reserve(HARNESS, 3, S0 | S1, 1, 0);
    call_end(HARNESS, id, SETTLE, LITTLE);
    ledger_check();
}

static void act_latched(unsigned fibre)
{
    made[fibre] = false;
    if (fibre == 0)
        apply(0, 1);
    else if (fibre == 1)
        call_pair(1, 1, S1, 1, REFUND, 0);
    else
        tl_latch_all(&world.thread[2].hand);
}

const struct scene scenes_of_changes[] = {
    {"apply", "limits of two scopes turn while others reserve", start_sides, act_apply, finish_sides, .two = true},
    {"apply-warm", "the same, straight", start_warm_sides, act_apply, finish_sides},
    {"apply-two", "two turn the same limits", start_sides, act_two, finish_two},
    {"apply-alone", "one changes a scope alone meanwhile", start_sides, act_alone, finish_alone},
    {"apply-extend", "a hold is extended meanwhile", start_held, act_extend, finish_sides, .brief = true},
    {"apply-expire", "an overdue hold is in the way meanwhile", start_overdue_held, act_expire, finish_sides,
     .brief = true},
    {"apply-left", "an heir turns limits that the dead has begun with", start_sides, act_left, finish_sides},
    {"apply-cleared", "two clear what the dead has left", start_left, act_cleared, finish_sides, .two = true},
    {"apply-asked", "somebody asks whether it would fit", start_sides, act_asked, finish_sides, .brief = true},
    {"apply-latch", "a latch is noticed meanwhile", start_latched, act_latched, finish_sides},
    {"apply-swept", "an heir sweeps lists that are pending", start_sides, act_swept, finish_sides},
};
const unsigned count_of_changes = COUNT(scenes_of_changes);
