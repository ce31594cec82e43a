/* SPDX-License-Identifier: MIT */
/* scenes_directory.c - keys and their cells: made, found, retired, claimed. */
#include "asks.h"
#include "starts.h"

#include <stdio.h>

#include "change.h"
#include "hash.h"

static void start_directory(void)
{
    open_usual(PLENTY, LEDGER_MORE);
}

static void act_new_key(unsigned fibre)
{
    answers.handle[fibre] = call_make(fibre, "agent:new");
    if (answers.handle[fibre])
        call_reserve(fibre, &(struct booking){.record = fibre, .tokens = 1, .handle = answers.handle[fibre]},
                     &answers.id[fibre]);
}

static void finish_new_key(void)
{
    if (!call_make(HARNESS, "agent:new"))
        fault("there is a place for a key, but it is refused");
}

/* A place that is given away for good: limits of its own keep a scope. */
static void make_kept(const char *key)
{
    const tlshm_limit limit = world_lifetime(PLENTY);
    uint64_t handle = call_make(HARNESS, key);
    call_publish(HARNESS, &world.map.cells[tl_handle_cell(handle)].policy, &limit, 1);
}

static void keep_all_but(unsigned places)
{
    static const char *const keys[] = {"agent:v", "agent:w", "agent:x", "agent:y", "agent:z"};
    for (unsigned i = 0; i + places < CELLS - SCOPES; i++)
        make_kept(keys[i]);
}

static void start_one_place(void)
{
    open_usual(PLENTY, LEDGER_MORE);
    keep_all_but(1);
}

/* Of a scope of the preparation. */
static uint64_t idle_handle;

/* No place is free, and one key has been idle for the retention time. */
static void start_retire(void)
{
    start_one_place();
    idle_handle = call_make(HARNESS, "agent:idle");
    call_pair(HARNESS, 3, S2, 1, SETTLE, 1);
    world_tick(10);
    ledger_check();
}

static void act_retire(unsigned fibre)
{
    if (fibre == 0) {
        uint64_t handle = call_make(0, "agent:idle");
        if (handle)
            call_reserve(0, &(struct booking){.record = 0, .tokens = 1, .handle = handle}, &answers.id[0]);
    } else if (fibre == 1) {
        uint64_t handle = call_make(1, "agent:other");
        if (handle)
            call_reserve(1, &(struct booking){.record = 1, .tokens = 2, .handle = handle}, &answers.id[1]);
    } else {
        call_reserve(2, &(struct booking){.record = 2, .tokens = 4, .handle = idle_handle}, &answers.id[2]);
    }
}

static void act_retire_twice(unsigned fibre)
{
    if (fibre == 0)
        tl_directory_recycle(&world.thread[0].hand, CELLS);
    else if (fibre == 1)
        call_find(1, "agent:idle");
    else
        call_make(2, "agent:other");
}

/* One gives the idle scope limits of its own, another wants its place. */
static void act_limited(unsigned fibre)
{
    const tlshm_limit limit = world_lifetime(PLENTY);
    if (fibre == 1)
        answers.verdict[1] = call_limit(1, "agent:idle", &limit, 1) ? TLSHM_OK : UNANSWERED;
    else
        call_make(fibre, fibre == 0 ? "agent:other" : "agent:third");
}

static bool kept(struct tl_hand *hand, const void *handle)
{
    return tl_directory_keep(hand, *(const uint64_t *)handle) == 0;
}

/* The same as part of a change of many, as confmake.c does it. */
static bool apply_limit(unsigned seat, const char *key, uint64_t shape, uint64_t cap)
{
    struct tl_hand *hand = &world.thread[seat].hand;
    int rc = 0;
    for (unsigned tries = 0; rc == 0 && tries < CELLS; tries++) {
        uint64_t handle = call_make(seat, key);
        struct tl_turn turn = {.word = &world.map.cells[tl_handle_cell(handle)].policy, .kind = TL_POLICY_OWN};
        if (!handle || tl_limits_claim(hand, &shape, &cap, 1, &turn.index, &turn.list) < 0)
            return false;
        rc = tl_change_make(hand, &turn, 1, kept, &handle);
    }
    return rc == 1;
}

static void act_applied(unsigned fibre)
{
    const tlshm_limit limit = world_lifetime(PLENTY);
    uint64_t shape, cap;
    world_shapes(&limit, 1, &shape, &cap);
    if (fibre == 1)
        answers.verdict[1] = apply_limit(1, "agent:idle", shape, cap) ? TLSHM_OK : UNANSWERED;
    else
        call_make(fibre, "agent:other");
}

static void finish_limited(void)
{
    struct tl_limits limits = {0};
    uint64_t handle = call_find(HARNESS, "agent:idle");
    if (answers.verdict[1] != TLSHM_OK)
        return;
    if (!handle)
        fault("a scope was recycled after it was given limits");
    else if (tl_limits_read(&world.map, &world.map.cells[tl_handle_cell(handle)].policy, &limits) < 0 ||
             limits.source != TLSHM_LIMITS_OWN || limits.count != 1 || limits.cap[0] != PLENTY)
        fault("limits that were set are lost");
}

/* One ends its hold while others have ended it already, and its scope goes to another key. */
static void start_ended_retired(void)
{
    start_one_place();
    idle_handle = call_make(HARNESS, "agent:idle");
    call_reserve(HARNESS, &(struct booking){.record = 0, .tokens = 1, .handle = idle_handle}, &world.hold);
    ledger_check();
}

static void act_ended_retired(unsigned fibre)
{
    if (fibre == 0) {
        call_end(0, world.hold, SETTLE, 0);
        return;
    }
    call_end(1, world.hold, REFUND, 0);
    call_tick(10);
    call_make(1, "agent:other");
}

/* Two want the one place, and neither's new scope may be taken away by the other. */
static void act_taken(unsigned fibre)
{
    uint64_t since = world_now(), handle = call_make(fibre, fibre ? "agent:two" : "agent:one");
    const struct booking booking = {.record = fibre, .tokens = 1, .handle = handle};
    if (handle && call_reserve(fibre, &booking, &answers.id[fibre]) == -TLSHM_ESTALE && world_now() == since)
        fault("a scope was taken away before its first use");
}

/* Of a cell that had another key before. */
static uint64_t second_handle;

static void start_stale(void)
{
    start_one_place();
    call_make(HARNESS, "agent:idle");
    world_tick(10);
    second_handle = call_make(HARNESS, "agent:other");
    ledger_check();
}

/* The sheet that is read goes to a scope of a higher incarnation. */
static void act_stale(unsigned fibre)
{
    const struct booking other = {.record = 2, .tokens = 1, .handle = second_handle};
    if (fibre == 1) {
        call_pair(1, 1, S0, 1, SETTLE, 4);
        reserve(1, 1, S0, 1, 0);
        call_reserve(1, &other, &answers.id[1]);
    } else if (call_reserve(0, &(struct booking){.record = 0, .scopes = S0, .tokens = 1}, &answers.id[0]) < 0) {
        fault("a handle is stale, but its scope was there all the time");
    }
}

/* Keys that share a chain, with the idle one in the middle. */
static char chained[3][16];

static void name_chained(void)
{
    uint64_t mask = world.map.bucket_mask, bucket = 0;
    unsigned found = 0;
    for (unsigned i = 0; found < 3; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "agent:%u", i);
        uint64_t hash = tl_hash(name, (size_t)len, 0);
        if (found == 0)
            bucket = hash & mask;
        if ((hash & mask) == bucket)
            memcpy(chained[found++], name, sizeof name);
    }
}

static void start_walk(void)
{
    open_usual(PLENTY, LEDGER_MORE);
    name_chained();
    make_kept(chained[2]);
    call_make(HARNESS, chained[1]);
    make_kept(chained[0]);
    world_tick(10);
    ledger_check();
}

/* One walks the chain to its end while the cell in its middle goes to another one. */
static void act_walk(unsigned fibre)
{
    static const char *const others[] = {"agent:p", "agent:q", "agent:r"};
    if (fibre == 0) {
        if (!call_find(0, chained[2]))
            fault("a scope that was always there is not found");
        return;
    }
    tl_directory_recycle(&world.thread[1].hand, CELLS);
    for (unsigned i = 0; i < COUNT(others); i++)
        call_make(1, others[i]);
}

/* Full, but of scopes that are used in a window or held: none of them may be retired. */
static void start_busy(void)
{
    start_default();
    ledger_open(NULL, 0, LEDGER_NO_CAPS | LEDGER_MORE);
    keep_all_but(2);
    uint64_t used = call_make(HARNESS, "agent:used"), held = call_make(HARNESS, "agent:held");
    tlshm_id id = 0;
    call_reserve(HARNESS, &(struct booking){.record = 1, .tokens = 1, .handle = used}, &id);
    ledger_check();
    call_end(HARNESS, id, SETTLE, 8);
    call_reserve(HARNESS, &(struct booking){.record = 0, .tokens = 1, .handle = held}, &world.hold);
    world_tick(1);
    ledger_check();
    idle_handle = used;
}

static void act_busy(unsigned fibre)
{
    if (fibre == 0)
        call_make(0, "agent:other");
    else if (fibre == 1)
        call_end(1, world.hold, SETTLE, 2);
    else
        call_reserve(2, &(struct booking){.record = 2, .tokens = 4, .handle = idle_handle}, &answers.id[2]);
}

/* One free place and two keys that want it; fibre 2 takes over from the dead and wants it as well. */
static void act_claim(unsigned fibre)
{
    unsigned seat = fibre;
    if (fibre == 2)
        while (call_inherit(&seat))
            continue;
    answers.handle[fibre] = call_make(seat, fibre == 1 ? "agent:two" : "agent:one");
}

/* Whoever died: the place belongs to a key, or can be had. */
static void finish_claim(void)
{
    bool made = call_make(HARNESS, "agent:three") != 0;
    unsigned live = 0;
    for (uint32_t i = 0; i < CELLS; i++)
        live += tl_directory_live(&world.thread[HARNESS].hand, world.map.tier_cells + i) != 0;
    if (!made && live < CELLS)
        fault("a place for a key is lost");
}

/* ------------------------------------------------------------------------------------------------------- questions */

#define FULL 40 /* what the level's default tier allows */

/* A scope is full, and has room only when the one that is new is full. */
static void start_asked_new(void)
{
    start_default();
    world.hold = reserve(HARNESS, 3, S1, FULL, 0);
    ledger_check();
}

static void act_asked_new(unsigned fibre)
{
    static const struct booking asked = {.scopes = S1, .tokens = 1, .name = "tenant:new"};
    if (fibre != 0) {
        if (ask_fit(fibre, &asked, fibre == 1) == TLSHM_OK)
            fault("it would fit though one scope is always full");
        return;
    }
    uint64_t handle = call_make(0, asked.name);
    const struct booking filled = {.record = 1, .tokens = FULL, .handle = handle};
    if (handle && call_reserve(0, &filled, &answers.id[0]) == TLSHM_OK)
        call_end(0, world.hold, REFUND, 0);
}

static void start_retire_asked(void)
{
    start_retire();
    make_internal("level:agent");
}

/* Somebody asks by a handle that is about to be another scope's, and for a key that may have its place. */
static void act_asked_retired(unsigned fibre)
{
    static struct booking stale = {.tokens = 1};
    static const struct booking fresh = {.tokens = 1, .name = "agent:fresh"};
    stale.handle = idle_handle;
    if (fibre == 0) {
        uint64_t handle = call_make(0, "agent:other");
        if (handle)
            call_reserve(0, &(struct booking){.record = 0, .tokens = 2, .handle = handle}, &answers.id[0]);
    } else {
        ask_fit(fibre, fibre == 1 ? &stale : &fresh, true);
    }
}

const struct scene scenes_of_directory[] = {
    {"new-key", "three make one scope", start_directory, act_new_key, finish_new_key},
    {"retire", "an idle scope is recycled while it is used", start_retire, act_retire},
    {"retire-twice", "recycling against two that look for a place", start_retire, act_retire_twice},
    {"retire-limits", "an idle scope is recycled while it is given limits", start_retire, act_limited, finish_limited},
    {"retire-applied", "the same by a change of many", start_retire, act_applied, finish_limited, .two = true,
     .brief = true},
    {"ended-retired", "a hold has ended and its scope is another", start_ended_retired, act_ended_retired, .two = true},
    {"taken", "two want the last place", start_one_place, act_taken, .two = true},
    {"stale", "a sheet goes to a scope of another incarnation", start_stale, act_stale, .two = true},
    {"walk", "a chain changes under a walker", start_walk, act_walk, .two = true},
    {"busy", "a full table of scopes in use", start_busy, act_busy},
    {"claim", "one place, two keys, an heir", start_one_place, act_claim, finish_claim},
    {"asked-new", "somebody asks for a scope that is being made", start_asked_new, act_asked_new, .brief = true},
    {"asked-retired", "somebody asks for a scope that is given away", start_retire_asked, act_asked_retired},
};
const unsigned count_of_directory = sizeof scenes_of_directory / sizeof scenes_of_directory[0];
