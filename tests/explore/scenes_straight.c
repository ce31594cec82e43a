/* SPDX-License-Identifier: MIT */
/*
 * scenes_straight.c - the common call in one go (straight.h): threads that have called before and know the scopes, their
 * ceilings and what their spares hold, against each other and against what makes that knowledge void.
 */
#include "starts.h"

#include "tap.h"

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

/* --------------------------------------------------------------------------------------------- what is remembered */

/* A limit without buckets: its windows never change, so nothing that is remembered ends by itself. */
static void open_lifetime(uint64_t cap)
{
    const tlshm_limit limit = world_lifetime(cap);
    open_with(&limit, 1, 0);
}

/* Room for one of fibre 0's. It has met the scope once: at its next call it computes the ceiling. */
static void start_ceiling(void)
{
    open_lifetime(16 + 32 + 3 + 24);
    use(3, 16);
    use(1, 32);
    for (unsigned fibre = 0; fibre < FIBRES; fibre++)
        call_often(fibre, S0, 1);
}

/* The sheet that the ceiling is computed from goes to another scope meanwhile. */
static void act_ceiling(unsigned fibre)
{
    if (fibre == 0) {
        reserve(0, 1, S0, 20, 0); /* or, at the second try, record 2 */
        reserve(0, 3, S0, 20, 0);
    } else {
        reserve(1, 0, S0, 1, 0);
        call_pair(1, 8, S2, 1, SETTLE, 1);
    }
}

static uint64_t all_out;

static void start_later(void)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 1, 0, 16 + 32 + WARMTH + 24);
    open_with(&limit, 1, 0);
    use(3, 16);
    use(1, 32);
    warm_up(S0 | S1);
    all_out = world_now() + 3 * TICK;
}

/* What was used then has left the window, as the other one has noticed: the ceiling is a higher one. */
static void act_later(unsigned fibre)
{
    if (fibre == 0) {
        call_tick(3);
        call_pair(0, 1, S0 | S1, 1, SETTLE, 1);
        return;
    }
    if (world_now() < all_out)
        return;
    for (unsigned i = 0; i < 2; i++)
        call_pair(1, 2, S0 | S1, 1, SETTLE, 1);
    if (!reserve(1, 2, S0 | S1, 16 + 32 + WARMTH, 0))
        fault("a reserve is refused by a ceiling of former windows");
}

/* Limits of the same windows, lower or higher: only the policy words tell. */
static void change_caps(tl_word *policy, uint64_t cap)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(cap, limits);
    call_publish(0, policy, limits, count);
}

static void act_changed(unsigned fibre, tl_word *policy)
{
    if (fibre != 0) {
        call_pair(1, 1, S0, 1, SETTLE, 2);
        return;
    }
    call_pair(0, 0, S0, 1, REFUND, 0);
    change_caps(policy, 0);
    if (reserve(0, 0, S0, 1, 0))
        fault("a reserve is admitted by limits that are gone");
    change_caps(policy, PLENTY);
    if (!reserve(0, 0, S0, 1, 0))
        fault("a reserve is refused by limits that are gone");
}

static void start_changed_own(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS);
    warm_up(S0);
}

static void act_changed_own(unsigned fibre)
{
    act_changed(fibre, &world.map.cells[world.cell[0]].policy);
}

static void start_changed_tier(void)
{
    start_default();
    ledger_open(NULL, 0, LEDGER_NO_CAPS);
    warm_up(S0);
}

static void act_changed_tier(unsigned fibre)
{
    act_changed(fibre, &world.map.cells[tier_cells[0]].policy);
}

static void start_exchanged(void)
{
    open_usual(PLENTY, LEDGER_NO_CAPS);
    hold(1, LONG);
    warm_up(S0 | S1);
}

/* Windows that were exchanged stay so, whatever the spares had before. */
static void act_exchanged(unsigned fibre)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 3, 0, PLENTY);
    struct tl_view view;
    if (fibre == 1) {
        call_end(1, world.hold, SETTLE, 8);
        return;
    }
    call_publish(0, &world.map.cells[world.cell[0]].policy, &limit, 1);
    call_publish(0, &world.map.cells[world.cell[1]].policy, &limit, 1);
    for (unsigned i = 0; i < 3; i++)
        call_pair(0, 1, S0 | S1, 1, SETTLE, 4);
    if (tl_txn_snapshot(&world.thread[0].hand, world.cell[0], &view) < 0 || view.windows != 1)
        fault("a scope has the windows of limits that are gone");
}

/* The sheet whose windows are copied goes to another scope, so the copy is none; the next try begins with that spare. */
static void act_spare(unsigned fibre)
{
    if (fibre == 0) {
        reserve(0, 0, S0, 1, 0);
    } else {
        reserve(1, 1, S0, 1, 0);
        call_pair(1, 2, S2, 2, SETTLE, 2);
    }
}

/* Windows of two scopes that began at the same version of their cells, in different buckets. */
static void start_stamps(void)
{
    const tlshm_limit limit = world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY);
    open_with(&limit, 1, 0);
    use(3, 16);
    call_often(2, S0, 2);
    world_tick(1);
    for (unsigned fibre = 0; fibre < 2; fibre++)
        call_often(fibre, S2, 2);
}

static void act_stamps(unsigned fibre)
{
    unsigned seat;
    if (fibre < 2)
        call_pair(fibre, 1 + fibre, fibre ? S1 : S2, 1, SETTLE, 2);
    else
        while (call_inherit(&seat))
            call_pair(seat, 3, S0, 1, SETTLE, 4);
}

/* The last call was on scope 0, but the spares are scope 2's: with windows of the same stamp and another shape. */
static void start_stamps_straight(void)
{
    const tlshm_limit wide = world_rolling(TLSHM_TOKENS, 2, 64, 0, PLENTY),
                      narrow = world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY);
    open_with(&wide, 1, LEDGER_NO_CAPS);
    call_publish(HARNESS, &world.map.cells[world.cell[2]].policy, &narrow, 1);
    call_often(0, S0, 3);
    call_often(0, S2, 2);
    world_tick(3);
    MUST(!reserve(0, 8, S0, PLENTY + 1, 0), "there is more room than there should be");
    ledger_check();
}

static void act_stamps_straight(unsigned fibre)
{
    struct tl_view view;
    if (fibre == 1) {
        call_look(1, 0, false);
        return;
    }
    reserve(0, 1, S0, 1, 0);
    if (tl_txn_snapshot(&world.thread[0].hand, world.cell[0], &view) < 0 ||
        tl_shape_width_ns(tl_view_shape(&view, 0)) != 64 * TICK)
        fault("a scope has the windows of another one");
}

/* ------------------------------------------------------------------------------------- what is not for the straight way */

/* Room for 20 more, but for what is overdue. */
static void start_warm_overdue(void)
{
    open_lifetime(40);
    hold(20, 1);
    world_tick(1);
    warm_up(S0 | S1);
}

static void act_warm_full(unsigned fibre)
{
    if (fibre == 1)
        call_pair(1, 1, S0 | S1, 1, SETTLE, 1);
    else if (!reserve(0, 2, S0 | S1, 20, 0))
        fault("an overdue hold is in the way");
}

static void act_warm_overdue(unsigned fibre)
{
    if (fibre == 1)
        call_pair(1, 1, S0 | S1, 1, SETTLE, 4);
    else if (call_end(0, world.hold, SETTLE, 8) == TLSHM_OK)
        fault("an overdue hold is settled as if in time");
}

static uint64_t retained_until;

static void start_warm_expired(void)
{
    open_lifetime(PLENTY);
    hold(1, 1);
    world_tick(1);
    retained_until = world_now() + TICK;
    call_end(HARNESS, world.hold, EXPIRE, 0);
    warm_up(S0 | S1);
}

/* What has expired is kept for a late settle while there are other records. */
static void act_warm_expired(unsigned fibre)
{
    reserve(fibre, 0, S0 | S1, 1, 0);
    if (fibre == 0 && call_end(0, world.hold, SETTLE, 8) != TLSHM_LATE && world_now() < retained_until)
        fault("an expired hold is gone before its time");
}

/* One record, nothing else in common: who loses it has its heads in, and the third finds them. */
static void start_apart(void)
{
    open_usual(PLENTY, 0);
    call_often(0, S0 | S1, 3);
    call_often(1, S2, 3);
    call_often(2, S0 | S1, 3);
}

static void act_apart(unsigned fibre)
{
    if (fibre == 2)
        call_pair(2, 2, S0 | S1, 2, SETTLE, 16);
    else
        call_pair(fibre, 1, fibre ? S2 : S0 | S1, 2, SETTLE, 4 << fibre);
}

/* Who looks decides and dates the one sheet, the owner the other one. */
static void act_warm_date(unsigned fibre)
{
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, 8);
    else
        call_look(1, 0, false);
}

/* All sheets of an extend are marked by who looks, but not its body: the settle finds the way free. */
static void act_warm_extend(unsigned fibre)
{
    if (fibre == 2) {
        call_extend(2, world.hold, 1, 0);
    } else if (fibre == 1) {
        call_end(1, world.hold, SETTLE, 8);
    } else {
        call_look(0, 0, false);
        call_look(0, 1, false);
    }
}

/* One scope is nearly full, the other is not. */
static void start_refused(void)
{
    open_lifetime(200);
    use(3, 16);
    call_pair(HARNESS, 3, S2, 1, SETTLE, 190);
    ledger_check();
}

static void start_warm_refused(void)
{
    start_refused();
    call_often(0, S0, 3);
}

/* The sheet that is judged goes to the full scope meanwhile. */
static void act_refused(unsigned fibre)
{
    if (fibre == 1) {
        reserve(1, 2, S0, 1, 0);
        call_pair(1, 3, S2, 1, SETTLE, 1);
    } else if (!reserve(0, 1, S0, 20, 0)) {
        fault("a reserve is refused, but there was always room");
    }
}

/* An id whose record is another's, keys, and the pause of all. */
static void act_warm_rare(unsigned fibre)
{
    const struct booking booking = {.record = 2, .scopes = S0 | S1, .tokens = 2, .key = "the same call"};
    if (fibre == 1) {
        call_pair(1, 12, S0 | S1, 1, SETTLE, 4); /* far from the key's record */
        return;
    }
    reserve(0, 0, S0 | S1, 1, 0); /* the record of the hold */
    call_end(0, world.hold, SETTLE, 2);
    call_end(0, world.hold, SETTLE, 4);
    reserve(0, 0, S0 | S1, 1, 0);
    if (call_end(0, world.hold, SETTLE, 16) == TLSHM_OK)
        fault("a reservation is settled by the id of a former one");
    if (call_reserve(0, &booking, &answers.id[0]) != TLSHM_OK || call_reserve(0, &booking, &answers.id[0]) == TLSHM_OK)
        fault("a key is admitted twice, or never");
    call_end(0, answers.id[0], SETTLE, 8);
    if (call_reserve(0, &booking, &answers.id[0]) == TLSHM_OK)
        fault("a key is forgotten when its reservation ends");
    tl_store_release(&world.map.header->flags, SHM_PAUSED);
    if (reserve(0, 3, S0 | S1, 1, 0))
        fault("a reserve is admitted during a pause");
}

static void start_warm_other(void)
{
    open_usual(PLENTY, 0);
    hold(1, LONG);
    reserve(HARNESS, 3, S2, 1, 0);
    ledger_check();
    call_often(0, S0 | S1 | S2, 3);
    call_often(1, S0 | S2, 3);
}

/* Scopes that are not those of the last call. */
static void act_warm_other(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 8);
        return;
    }
    call_pair(1, 1, S0 | S2, 2, SETTLE, 4);
    call_pair(1, 2, S0 | S1, 2, SETTLE, 2);
}

/* A cell that was given to another key: what is remembered is right of the new one, but the last call had the old handle. */
static uint64_t stale_handle;

static void call_by_handle(uint64_t handle)
{
    tlshm_id id;
    if (call_reserve(0, &(struct booking){.record = 8, .tokens = 1, .handle = handle}, &id) != TLSHM_OK)
        return;
    ledger_check();
    call_end(0, id, SETTLE, 1);
    ledger_check();
}

static void start_warm_retired(void)
{
    static const char *const keys[] = {"agent:p", "agent:q", "agent:r", "agent:s", "agent:t"};
    uint64_t handle = 0;
    open_usual(PLENTY, LEDGER_MORE);
    stale_handle = call_make(HARNESS, "agent:idle");
    world_tick(10);
    ledger_check();
    tl_directory_recycle(&world.thread[HARNESS].hand, CELLS);
    for (unsigned i = 0; i < COUNT(keys) && tl_handle_cell(handle) != tl_handle_cell(stale_handle); i++)
        handle = call_make(HARNESS, keys[i]);
    for (unsigned i = 0; i < 3; i++)
        call_by_handle(handle);
    call_by_handle(stale_handle);
    world.warm = true;
}

static void act_warm_retired(unsigned fibre)
{
    if (fibre == 0)
        call_by_handle(stale_handle);
    else
        call_pair(1, 1, S0 | S1, 1, SETTLE, 4);
}

/* ------------------------------------------------------------------------------------------------- the second line */

static void reserve_wide(unsigned fibre, unsigned record, tlshm_id *id)
{
    const struct booking booking = {.record = record, .scopes = S0 | S1, .tokens = 2, .input = 4};
    struct tl_record made;
    if (call_reserve(fibre, &booking, id) != TLSHM_OK)
        fault("there is no room for input tokens");
    else if (tl_txn_record(&world.thread[fibre].hand, (uint32_t)(*id & SHM_NODE_MASK), TL_WHOLE, &made) < 0 ||
             made.body.estimate[TLSHM_INPUT_TOKENS] != booking.input)
        fault("a reservation has forgotten its input tokens");
}

static void act_wide(unsigned fibre)
{
    if (fibre == 0) {
        reserve_wide(0, 1, &answers.id[0]);
        call_settle_wide(0, answers.id[0], 8, 16);
    } else if (fibre == 1) {
        call_pair(1, 2, S0 | S1, 1, SETTLE, 4);
    } else {
        call_settle_wide(2, world.hold, 2, 32);
    }
}

/* A scope that has them already, and calls that do not. */
static void start_warm_wide(void)
{
    tlshm_id id;
    open_usual(PLENTY, 0);
    hold(1, LONG);
    reserve_wide(HARNESS, 3, &id);
    ledger_check();
    warm_up(S0 | S1);
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
    {"ceiling", "a ceiling is computed from a sheet that moves", start_ceiling, act_ceiling, .two = true,
     .words = true},
    {"later", "a ceiling of windows that have gone on", start_later, act_later, .two = true, .brief = true},
    {"changed-own", "ceilings of limits that change", start_changed_own, act_changed_own, .two = true, .brief = true},
    {"changed-tier", "the same by way of a tier", start_changed_tier, act_changed_tier, .two = true, .brief = true},
    {"exchanged", "windows that were exchanged stay so", start_exchanged, act_exchanged, .two = true, .brief = true},
    {"spare", "windows are copied from a sheet that moves", start_empty, act_spare, .two = true},
    {"stamps", "windows of the same stamp, and heirs", start_stamps, act_stamps, .brief = true},
    {"stamps-straight", "the same for who goes straight", start_stamps_straight, act_stamps_straight, .two = true,
     .brief = true},
    {"warm-full", "an overdue hold is not in the way", start_warm_overdue, act_warm_full, .two = true, .brief = true},
    {"warm-overdue", "what is overdue is not settled straight", start_warm_overdue, act_warm_overdue, .two = true,
     .brief = true},
    {"warm-expired", "what has expired is kept", start_warm_expired, act_warm_expired, .two = true, .brief = true},
    {"apart", "one record, nothing else in common", start_apart, act_apart},
    {"warm-date", "who looks decides what is dated by its owner", start_warm, act_warm_date, .two = true,
     .brief = true},
    {"warm-extend", "settled straight while an extend is open", start_warm, act_warm_extend},
    {"refused", "a refusal by a sheet that moves", start_refused, act_refused, .two = true, .brief = true},
    {"warm-refused", "the same, straight", start_warm_refused, act_refused, .two = true},
    {"warm-rare", "keys and a pause are not for the straight way", start_warm, act_warm_rare, .two = true,
     .brief = true},
    {"warm-other", "other scopes than those of the last call", start_warm_other, act_warm_other, .two = true,
     .brief = true},
    {"warm-retired", "a cell that was given to another key", start_warm_retired, act_warm_retired, .two = true,
     .brief = true},
    {"wide", "units of the second line come in", start_warm, act_wide},
    {"warm-wide", "units of the second line are there", start_warm_wide, act_wide},
};
const unsigned count_of_straight = sizeof scenes_of_straight / sizeof scenes_of_straight[0];
