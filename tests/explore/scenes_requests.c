/* SPDX-License-Identifier: MIT */
/*
 * scenes_requests.c - limits on single requests: what one comes to, extensions included, and how long it lives. Their oracle
 * is the ledger where they stand; where they are being set, that one list of limits decides both.
 */
#include "starts.h"

#include "ids.h"

#define MOST 8    /* tokens of a request */
#define LONGEST 4 /* ticks */

/* A window beside them, at the place that it has in both lists. */
static unsigned list(bool single, tlshm_limit *limits)
{
    limits[0] = world_rolling(TLSHM_TOKENS, 2, 1, 0, PLENTY);
    if (!single)
        return 1;
    limits[1] = world_request(TLSHM_TOKENS, MOST);
    limits[2] = world_request(TLSHM_TIME, LONGEST * TICK);
    return 3;
}

static void start_with(bool single)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    open_with(limits, list(single, limits), 0);
    use(3, 16);
    use(1, 32);
    hold(2, LONG);
}

static void start_single(void)
{
    start_with(true);
}

static void start_warm_single(void)
{
    start_with(true);
    warm_up(S0 | S1);
}

/* Two extensions, of which only one fits beside what is held. */
static void act_single(unsigned fibre)
{
    if (fibre == 0) {
        if (reserve(0, 1, S0 | S1, MOST + 1, 0))
            fault("a reserve is admitted above a limit on single requests");
        call_pair(0, 1, S0 | S1, MOST, SETTLE, 4);
    } else {
        call_extend(fibre, world.hold, fibre == 1 ? MOST - 2 : 3, fibre == 1 ? 0 : LONGEST);
    }
}

/* Nobody is late: what time adds to is held by another one. */
static void act_single_time(unsigned fibre)
{
    if (fibre == 0)
        call_tick(2);
    else
        call_extend(1, world.hold, 0, LONGEST);
}

static void act_warm_single(unsigned fibre)
{
    call_pair(fibre, 1 + fibre, S0 | S1, MOST, SETTLE, 4);
    if (reserve(fibre, 1 + fibre, S0 | S1, MOST + 1, 0))
        fault("a reserve goes straight above a limit on single requests");
}

/* ------------------------------------------------------------------------------------------------------- being set */

static void start_plain(void)
{
    start_with(false);
}

static void start_warm_plain(void)
{
    start_with(false);
    warm_up(S0 | S1);
}

/* How many ticks a hold was given. */
static uint64_t life_of(unsigned fibre, tlshm_id id)
{
    struct tl_record made;
    fibre_quiet(true);
    int rc = tl_txn_record(&world.thread[fibre].hand, (uint32_t)(id & SHM_NODE_MASK), TL_WHOLE, &made);
    fibre_quiet(false);
    if (rc < 0 || !tl_id_is(id, &made)) {
        fault("a reservation cannot be found by its id");
        return 0;
    }
    return (made.body.deadline - made.body.created) / TICK;
}

/* By the limits before, under which all is admitted for long, or by those after. */
static void reserve_either_way(unsigned fibre, uint64_t tokens)
{
    tlshm_id id = reserve(fibre, 1 + fibre, S0 | S1, tokens, 0);
    uint64_t life = id ? life_of(fibre, id) : LONGEST;
    if (life != LONGEST && life != LONG)
        fault("a hold lives for %llu ticks", (unsigned long long)life);
    if (id && tokens > MOST && life == LONGEST)
        fault("limits of two lists have admitted one request");
    if (!id && tokens <= MOST)
        fault("a request is refused that fits either way");
    if (id)
        call_end(fibre, id, SETTLE, 4);
}

static void act_set(unsigned fibre)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    if (fibre == 0) {
        reserve_either_way(0, MOST + 1);
        reserve_either_way(0, MOST);
    } else {
        call_publish(1, &world.map.cells[world.cell[0]].policy, limits, list(true, limits));
        if (reserve(1, 2, S0 | S1, MOST + 1, 0))
            fault("a reserve is admitted above a limit that has been set");
    }
}

const struct scene scenes_of_requests[] = {
    {"single", "two extensions of one request, of which one fits", start_single, act_single, .brief = true},
    {"single-time", "time is added to a request while it passes", start_single, act_single_time, .two = true,
     .brief = true},
    {"warm-single", "the same limits for who goes straight", start_warm_single, act_warm_single, .two = true,
     .brief = true},
    {"single-set", "limits on single requests are set while one reserves", start_plain, act_set, .two = true},
    {"warm-single-set", "the same while one goes straight", start_warm_plain, act_set, .two = true, .brief = true},
};
const unsigned count_of_requests = sizeof scenes_of_requests / sizeof scenes_of_requests[0];
