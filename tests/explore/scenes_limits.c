/* SPDX-License-Identifier: MIT */
/* scenes_limits.c - limit lists and policy words: published, swept, read, remembered. */
#include "starts.h"

#include "limits.h"
#include "tap.h"

#define STATES 16
#define MIXED UINT64_MAX

/* What the watched scope's limits have been, in their order. Lists tell who they are by their caps. */
static struct {
    uint32_t cell; /* UINT32_MAX: nothing is watched */
    unsigned count;
    uint64_t state[STATES];
} watched, watched_from_start;

static void make_list(unsigned number, tlshm_limit *limits)
{
    for (unsigned i = 0; i < 3; i++)
        limits[i] = world_rolling(TLSHM_TOKENS, 2, 1 + i, 0, 10 * number + i);
}

/* The number of a list that was read; 0: no limits. */
static uint64_t list_read(const struct tl_limits *limits)
{
    uint64_t number = limits->count ? limits->cap[0] / 10 : 0;
    if (limits->count != 0 && limits->count != 3)
        return MIXED;
    for (unsigned i = 0; i < limits->count; i++)
        if (limits->cap[i] != 10 * number + i)
            return MIXED;
    return number;
}

static uint64_t read_watched(void)
{
    struct tl_limits limits = {0};
    if (tl_limits_read(&world.map, &world.map.cells[watched.cell].policy, &limits) < 0)
        return MIXED;
    return list_read(&limits);
}

void watch_policy(const volatile void *address)
{
    if (watched.cell == UINT32_MAX || fibre_running() == NO_FIBRE || world_policy_at(address) < 0)
        return;
    MUST(watched.count < STATES, "more changes of limits than are kept");
    watched.state[watched.count++] = read_watched();
}

static void watch(uint32_t cell)
{
    watched.cell = cell;
    watched.state[0] = read_watched();
    watched.count = 1;
    watched_from_start = watched;
}

/* What is read was in force at some time of the reading. */
static void read_limits(void)
{
    unsigned since = watched.count - 1;
    struct tl_limits limits = {0};
    if (tl_limits_read(&world.map, &world.map.cells[watched.cell].policy, &limits) < 0) {
        fault("limits cannot be read");
        return;
    }
    uint64_t got = list_read(&limits);
    for (unsigned i = since; i < watched.count; i++)
        if (watched.state[i] == got && got != MIXED)
            return;
    fault("limits were read that were never in force: %lld", (long long)got);
}

static void publish_list(unsigned seat, uint32_t cell, unsigned number)
{
    tlshm_limit limits[3];
    make_list(number, limits);
    call_publish(seat, &world.map.cells[cell].policy, limits, COUNT(limits));
}

/* Gives lists to unused cells until only so many are free. */
static void leave_lists(unsigned count)
{
    for (uint32_t cell = 0; cell < world.map.tier_cells; cell++)
        if (world.map.list_count - tl_limits_lists_used(&world.map) > count)
            publish_list(HARNESS, cell, 9);
}

static void start_limits(void)
{
    tlshm_limit limits[3];
    make_list(1, limits);
    open_with(limits, COUNT(limits), LEDGER_NO_CAPS);
    leave_lists(2);
    watch(world.cell[0]);
}

/* There is one free list: who publishes needs the other's. */
static void start_one_list(void)
{
    start_limits();
    leave_lists(1);
}

static void act_limits(unsigned fibre)
{
    if (fibre == 2) {
        read_limits();
        return;
    }
    publish_list(fibre, world.cell[0], 2 + 2 * fibre);
    publish_list(fibre, world.cell[0], 3 + 2 * fibre);
}

/* After a sweep a list is used exactly if a policy word leads to it. */
static void finish_limits(void)
{
    unsigned used, led_to = 0;
    tl_limits_sweep(&world.thread[HARNESS].hand);
    used = tl_limits_lists_used(&world.map);
    for (uint32_t cell = 0; cell < world.map.scope_end; cell++)
        led_to += tl_policy_kind(tl_load_relaxed(&world.map.cells[cell].policy)) == TL_POLICY_OWN;
    if (used != led_to)
        fault("%u limit lists are used, %u are led to", used, led_to);
    watched.cell = UINT32_MAX;
}

/* One sweeps while another publishes. */
static void act_sweep(unsigned fibre)
{
    if (fibre == 2) {
        read_limits();
        return;
    }
    publish_list(fibre, world.cell[0], 2 + fibre);
    if (fibre == 1)
        tl_limits_sweep(&world.thread[1].hand);
}

/* A scope that follows its level, whose default is a tier. */
static void start_tiers(void)
{
    open_with(NULL, 0, LEDGER_NO_CAPS);
    level_cell = make_internal("level:agent");
    tier_cells[0] = make_internal("tier:a");
    tier_cells[1] = make_internal("tier:b");
    publish_list(HARNESS, tier_cells[0], 1);
    publish_list(HARNESS, tier_cells[1], 2);
    lead(HARNESS, level_cell, TL_POLICY_TIER, tier_cells[0]);
    tl_store_relaxed(&world.map.cells[world.cell[0]].policy, tl_policy(TL_POLICY_DEFAULT, level_cell, 0));
    watch(world.cell[0]);
}

static void act_tiers(unsigned fibre)
{
    if (fibre == 0) {
        publish_list(0, tier_cells[0], 3);
        publish_list(0, tier_cells[1], 4);
    } else if (fibre == 1) {
        lead(1, level_cell, TL_POLICY_TIER, tier_cells[1]);
        lead(1, world.cell[0], TL_POLICY_TIER, tier_cells[0]);
    } else {
        read_limits();
    }
}

/* The same limits again, in another list: the thread must notice, and nothing changes. */
static void act_default(unsigned fibre)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(40, limits);
    if (fibre == 2)
        call_publish(2, &world.map.cells[tier_cells[0]].policy, limits, count);
    else
        call_pair(fibre, fibre, S0 | S1, 30, SETTLE, 8);
}

/* A change of limits takes effect at the next reserve of whoever made it. */
static void act_lowered(unsigned fibre)
{
    const tlshm_limit none = world_lifetime(0), some = world_lifetime(PLENTY);
    tl_word *own = &world.map.cells[world.cell[0]].policy;
    if (fibre != 0) {
        call_pair(fibre, fibre, S0 | S1, 1, SETTLE, 2);
        return;
    }
    call_pair(0, 0, S0, 1, REFUND, 0);
    call_publish(0, &world.map.cells[tier_cells[0]].policy, &none, 1);
    if (reserve(0, 0, S0, 1, 0))
        fault("a reserve is admitted by a tier's limits that are gone");
    call_publish(0, own, &some, 1);
    if (!reserve(0, 0, S0, 1, 0))
        fault("a reserve is refused by a tier's limits, but the scope has its own");
    call_publish(0, own, &none, 1);
    if (reserve(0, 0, S0, 1, 0))
        fault("a reserve is admitted by a scope's limits that are gone");
}

static void start_lowered(void)
{
    start_default();
    ledger_open(NULL, 0, LEDGER_NO_CAPS);
}

/* Before each scene and each schedule. */
void watch_nothing(void)
{
    watched.cell = watched_from_start.cell = UINT32_MAX;
}

void watch_from_start(void)
{
    watched = watched_from_start;
}

const struct scene scenes_of_limits[] = {
    {"default", "limits by way of the level's default tier", start_default, act_default},
    {"lowered", "limits are lowered while others reserve", start_lowered, act_lowered},
    {"limits", "two publish, one reads", start_limits, act_limits, finish_limits},
    {"sweep", "sweeping against publishing", start_one_list, act_sweep, finish_limits},
    {"tiers", "limits by way of level and tier", start_tiers, act_tiers, finish_limits},
};
const unsigned count_of_limits = sizeof scenes_of_limits / sizeof scenes_of_limits[0];
