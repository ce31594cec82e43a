/* SPDX-License-Identifier: MIT */
/*
 * packing.c - words that several numbers share: what goes in comes out, at the ends of each range and in between, and what
 * lies next to a number in its word is left alone. Where a number is a counter: what follows the last one.
 */
#include <criterion/criterion.h>

#include <inttypes.h>

#include "chance.h"
#include "history.h"
#include "horizon.h"
#include "ids.h"
#include "limits.h"
#include "records.h"
#include "window.h"

#define ROUNDS 200000
#define HOUR_NS UINT64_C(3600000000000)

TestSuite(packing, .timeout = 120);

Test(packing, head_of_a_cell)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "head of a cell", ROUNDS); i > 0; i--) {
        uint64_t version = chance_edgy(&c, 0, tl_ones(40)), before = chance_edgy(&c, 0, SHM_NODE_MASK);
        uint32_t sheet = (uint32_t)chance_edgy(&c, 0, SHM_NODE_MASK);
        uint64_t head = version << SHM_NODE_BITS | before, next = shm_next_head(head, sheet);
        cr_assert_eq(shm_node(head), before);
        cr_assert_eq(shm_node(next), sheet);
        cr_assert_eq(next >> SHM_NODE_BITS, (version + 1) & tl_ones(40), "version %" PRIu64, version);
    }
}

Test(packing, head_of_a_record)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "head of a record", ROUNDS); i > 0; i--) {
        uint64_t version = chance_edgy(&c, 0, tl_ones(36)), before = chance_edgy(&c, 0, SHM_NODE_MASK);
        unsigned was = (unsigned)chance_edgy(&c, 0, SHM_EXPIRED), status = (unsigned)chance_edgy(&c, 0, SHM_EXPIRED);
        uint32_t body = (uint32_t)chance_edgy(&c, 0, SHM_NODE_MASK);
        uint64_t head = (uint64_t)was << 60 | version << SHM_NODE_BITS | before;
        uint64_t next = shm_record_head(status, head, body);
        cr_assert_eq(shm_status(head), was);
        cr_assert_eq(shm_status(next), status);
        cr_assert_eq(shm_node(next), body);
        cr_assert_eq(next >> SHM_NODE_BITS & tl_ones(36), (version + 1) & tl_ones(36), "version %" PRIu64, version);
    }
}

/* A seat's operation and the sheets that it wrote find each other, also after its number has outgrown their 50 bits. */
Test(packing, ref_and_cur)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "ref and cur", ROUNDS); i > 0; i--) {
        uint64_t operation = chance_edgy(&c, 0, tl_ones(62)), other = chance_edgy(&c, 0, tl_ones(62));
        uint32_t seat = (uint32_t)chance_edgy(&c, 0, 0xfff);
        uint64_t ref = shm_ref(seat, operation);
        struct shm_seat seats[1] = {{.cur = shm_cur_open(operation)}};
        struct tl_map map = {.seats = seats - seat, .seat_count = 4096};
        cr_assert_eq(ref & SHM_MARKS, SHM_UNMARKED);
        cr_assert_eq(shm_ref_seat(ref), seat);
        cr_assert_eq(ref >> 14, operation & tl_ones(50));
        cr_assert_eq(shm_cur_open(operation) >> 1, operation);
        cr_assert(tl_txn_is_open(&map, ref), "operation %" PRIu64 " is not found open", operation);
        cr_assert_eq(tl_txn_is_open(&map, shm_ref(seat, other)), ((operation ^ other) & tl_ones(50)) == 0);
        tl_store_relaxed(&seats[0].cur, operation << 1);
        cr_assert_not(tl_txn_is_open(&map, ref), "operation %" PRIu64 " is not found closed", operation);
        uint64_t date = chance_edgy(&c, 0, SHM_DATE_MASK);
        cr_assert_eq(TL_DATED(date) & SHM_MARKS, SHM_AFTER);
        cr_assert_eq(TL_DATED(date) >> 2, date);
    }
}

Test(packing, owner)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "owner", ROUNDS); i > 0; i--) {
        uint64_t pid = chance_edgy(&c, 0, tl_ones(22)), epoch = chance_edgy(&c, 0, UINT64_MAX);
        uint32_t seat = (uint32_t)chance_edgy(&c, 0, 0xfff);
        uint64_t owner = tl_body_owner(pid, epoch, seat), other = chance_edgy(&c, 0, UINT64_MAX);
        cr_assert_eq(tl_owner_pid(owner), pid);
        cr_assert_eq(tl_owner_seat(owner), seat);
        cr_assert(tl_owner_epoch_is(owner, epoch));
        cr_assert_not(tl_owner_epoch_is(owner, epoch + 1));
        cr_assert_not(tl_owner_epoch_is(owner, epoch - 1));
        cr_assert_eq(tl_owner_epoch_is(owner, other), ((epoch ^ other) & tl_ones(TL_OWNER_EPOCH_BITS)) == 0);
    }
}

/* A horizon is early by less than its grain, never late, and covers what it was lowered to. */
Test(packing, horizon)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "horizon", ROUNDS); i > 0; i--) {
        uint64_t time = chance_edgy(&c, 0, UINT64_MAX), deadline = chance_edgy(&c, 0, UINT64_MAX - 1);
        bool tied = chance_one_in(&c, 2);
        uint64_t word = tl_horizon_grain(time) << TL_HORIZON_TIME_SHIFT | (chance_word(&c) & TL_HORIZON_VERSION);
        uint64_t told = tl_horizon_time(word);
        if (time == TL_FOREVER)
            cr_assert_eq(told, TL_FOREVER);
        else
            cr_assert(told <= time && (time - told < UINT64_C(2) << TL_HORIZON_GRAIN || time >> 62), "%" PRIu64, time);
        if (tl_horizon_covers(word, deadline, false))
            cr_assert(told <= deadline, "a horizon of %" PRIu64 " is said to cover %" PRIu64, told, deadline);
        else
            cr_assert(told > deadline - deadline % (UINT64_C(1) << TL_HORIZON_GRAIN) || deadline >> 62);
        cr_assert_not(tl_horizon_covers(word & ~TL_HORIZON_TIED, deadline, true));
        cr_assert_eq(tl_horizon_time(word | TL_HORIZON_DOUBTED), 0);
        tl_word horizon = word;
        tl_horizon_lower(&horizon, deadline, tied);
        cr_assert(tl_horizon_covers(tl_load_relaxed(&horizon), deadline, tied));
        cr_assert_leq(tl_load_relaxed(&horizon) >> TL_HORIZON_TIME_SHIFT, word >> TL_HORIZON_TIME_SHIFT);
        cr_assert_eq((tl_load_relaxed(&horizon) ^ word) & (TL_HORIZON_VERSION | TL_HORIZON_DOUBTED), 0);
    }
    cr_assert_eq(tl_horizon_time(SHM_HORIZON_NONE), TL_FOREVER);
}

/* Doubted and trusted again over the end of the versions: whoever was late with it changes nothing. */
Test(packing, horizon_versions)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "versions of a horizon", ROUNDS); i > 0; i--) {
        uint64_t version = chance_edgy(&c, 0, TL_HORIZON_VERSION), first = chance_edgy(&c, 0, UINT64_MAX);
        tl_word horizon = SHM_HORIZON_NONE | version;
        uint64_t late = tl_horizon_doubt(&horizon), mine = tl_horizon_doubt(&horizon);
        cr_assert_eq(late & TL_HORIZON_VERSION, (version + 1) & TL_HORIZON_VERSION);
        cr_assert_eq(mine & TL_HORIZON_VERSION, (version + 2) & TL_HORIZON_VERSION);
        tl_horizon_trust(&horizon, late, 1, true);
        cr_assert_eq(tl_load_relaxed(&horizon), mine, "version %" PRIu64, version);
        tl_horizon_trust(&horizon, mine, first, false);
        cr_assert_eq(tl_load_relaxed(&horizon),
                     tl_horizon_grain(first) << TL_HORIZON_TIME_SHIFT | (mine & TL_HORIZON_VERSION));
    }
}

Test(packing, policy)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "policy", ROUNDS); i > 0; i--) {
        uint64_t version = chance_edgy(&c, 0, tl_ones(22));
        enum tl_policy_kind kind = (enum tl_policy_kind)chance_below(&c, 4),
                            next = (enum tl_policy_kind)chance_below(&c, 4);
        uint32_t level = (uint32_t)chance_edgy(&c, 0, 0x1fff), index = (uint32_t)chance_edgy(&c, 0, SHM_NODE_MASK);
        uint64_t flags = chance_word(&c) & (TL_POLICY_PAUSED | TL_POLICY_SHUTOFF);
        uint64_t word = tl_policy(kind, level, index) | flags | version << TL_POLICY_VERSION;
        cr_assert_eq(tl_policy_kind(word), kind);
        cr_assert_eq(tl_policy_level(word), level);
        cr_assert_eq(tl_policy_index(word), index);
        word = tl_policy_change(word | (chance_one_in(&c, 2) ? TL_POLICY_PENDING : 0), next, index ^ 1);
        cr_assert_eq(tl_policy_kind(word), next);
        cr_assert_eq(tl_policy_level(word), level);
        cr_assert_eq(tl_policy_index(word), index ^ 1);
        cr_assert_eq(word & (TL_POLICY_PAUSED | TL_POLICY_SHUTOFF), flags);
        cr_assert_eq(word & TL_POLICY_PENDING, 0);
        cr_assert_eq(word >> TL_POLICY_VERSION, (version + 1) & tl_ones(22), "version %" PRIu64, version);
    }
}

Test(packing, info)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "info", ROUNDS); i > 0; i--) {
        unsigned scopes = (unsigned)chance_edgy(&c, 0, TLSHM_SCOPES_MAX), outcome = (unsigned)chance_edgy(&c, 0, 15);
        unsigned flags = (unsigned)chance_edgy(&c, 0, 255), len = (unsigned)chance_edgy(&c, 0, TLSHM_IDEMPOTENCY_MAX);
        uint32_t cell = chance_one_in(&c, 4) ? UINT32_MAX : (uint32_t)chance_edgy(&c, 0, SHM_NODE_MASK - 1);
        struct tl_body body = {.info = tl_body_info(scopes, outcome, flags, len, cell)};
        cr_assert_not(body.info & TL_BODY_WIDE);
        for (unsigned wide = 0; wide < 2; wide++) {
            cr_assert_eq(tl_body_scopes(&body), scopes);
            cr_assert_eq(tl_body_outcome(&body), outcome);
            cr_assert_eq(tl_body_flags(&body), flags);
            cr_assert_eq(tl_body_idempotency_len(&body), len);
            cr_assert_eq(tl_body_idempotency_cell(&body), cell);
            cr_assert_eq(tl_horizon_ties(body.info), (flags & TLSHM_FREE_ON_DEATH) != 0);
            body.info |= TL_BODY_WIDE;
        }
        body.info = chance_word(&c); /* of memory that is not trusted */
        cr_assert_leq(tl_body_scopes(&body), TLSHM_SCOPES_MAX);
        cr_assert_leq(tl_body_idempotency_len(&body), TLSHM_IDEMPOTENCY_MAX);
    }
}

Test(packing, ids_and_handles)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "ids and handles", ROUNDS); i > 0; i--) {
        uint64_t former = chance_edgy(&c, 0, TL_GENERATION_MASK), generation = tl_records_generation(former);
        uint32_t index = (uint32_t)chance_edgy(&c, 0, SHM_NODE_MASK);
        struct tl_record record = {.index = index, .body.generation = generation};
        cr_assert(generation != 0 && generation <= TL_GENERATION_MASK && generation != former, "after %" PRIu64,
                  former);
        tlshm_id id = tl_id(index, generation);
        cr_assert_neq(id, 0);
        cr_assert(tl_id_is(id, &record));
        cr_assert_eq(id & SHM_NODE_MASK, index);
        record.body.generation = tl_records_generation(generation);
        cr_assert_not(tl_id_is(id, &record), "a former id is taken for the next one, %" PRIu64, generation);
        uint64_t incarnation = chance_edgy(&c, 1, tl_ones(40)), handle = tl_handle(index, incarnation);
        cr_assert_eq(tl_handle_cell(handle), index);
        cr_assert_eq(tl_handle_incarnation(handle), incarnation);
    }
}

/* The version of windows is that of the head of their sheet: 40 bits of it, which come round. */
Test(packing, stamp_of_windows)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "stamp of windows", ROUNDS); i > 0; i--) {
        uint64_t version = chance_edgy(&c, 0, tl_ones(40)), on = chance_edgy(&c, 0, 1000);
        unsigned count = (unsigned)chance_edgy(&c, 0, TLSHM_LIMITS_MAX);
        struct tl_view view = {.head = version << SHM_NODE_BITS | 7};
        tl_view_set_windows(&view, count);
        cr_assert_eq(view.stamp & 255, count);
        cr_assert_eq(view.windows, count);
        cr_assert_not(tl_view_has_stamp(&view), "windows changed above version %" PRIu64, version);
        for (uint64_t n = 0; n <= on; n += 1 + on / 3) { /* the commit that writes them, and others on top */
            view.head = shm_next_head(view.head, 9);
            cr_assert(tl_view_has_stamp(&view), "%" PRIu64 " above version %" PRIu64, n, version);
        }
    }
}

/* --------------------------------------------------------------------------------------------------------------- shapes */

static tlshm_limit random_limit(struct chance *c)
{
    tlshm_limit limit = {.unit = (enum tlshm_unit)chance_below(c, TLSHM_UNITS), .cap = chance_edgy(c, 0, UINT64_MAX)};
    limit.window.kind = (enum tlshm_window_kind)chance_below(c, 5);
    if (limit.window.kind == TLSHM_WINDOW_NONE)
        limit.unit = TLSHM_CONCURRENCY;
    else if (limit.unit == TLSHM_CONCURRENCY)
        limit.unit = TLSHM_TOKENS;
    if (limit.window.kind == TLSHM_WINDOW_REQUEST && chance_one_in(c, 4))
        limit.unit = TLSHM_TIME;
    if (limit.window.kind == TLSHM_WINDOW_ROLLING) {
        limit.window.slices = (uint32_t)chance_edgy(c, 1, 63);
        limit.flags = chance_one_in(c, 2) ? TLSHM_LIMIT_STRICT : 0;
        limit.window.length_ns = chance_edgy(c, 1, UINT64_MAX);
    }
    if (limit.window.kind == TLSHM_WINDOW_CALENDAR) {
        limit.window.period = (enum tlshm_period)chance_below(c, 4);
        limit.window.anchor = limit.window.period == TLSHM_WEEK    ? (uint32_t)chance_edgy(c, 1, 7)
                              : limit.window.period == TLSHM_MONTH ? (uint32_t)chance_edgy(c, 1, 31)
                                                                   : 0;
    }
    return limit;
}

/* Rolling: never shorter, and longer by less than a microsecond a slice. All else is as it was. */
static void check_shape(const tlshm_limit *limit, unsigned zone, uint64_t shape)
{
    tlshm_limit back;
    uint64_t again;
    tl_shape_unpack(shape, &back);
    cr_assert_eq(back.unit, limit->unit);
    cr_assert_eq(back.flags, limit->flags);
    cr_assert_eq(back.window.kind, limit->window.kind);
    cr_assert_eq(back.window.period, limit->window.period);
    cr_assert_eq(back.window.anchor, limit->window.anchor);
    cr_assert_eq(back.window.slices, limit->window.slices);
    cr_assert(back.window.length_ns >= limit->window.length_ns &&
                  back.window.length_ns - limit->window.length_ns < back.window.slices * 1001 + 1,
              "%" PRIu64 " ns in %u slices became %" PRIu64 " ns", limit->window.length_ns, limit->window.slices,
              back.window.length_ns);
    if (limit->window.kind == TLSHM_WINDOW_CALENDAR)
        cr_assert_eq(tl_shape_zone(shape), zone);
    cr_assert_eq(tl_shape_is_request(shape), limit->window.kind == TLSHM_WINDOW_REQUEST);
    cr_assert_eq(tl_shape_is_time(shape), limit->unit == TLSHM_TIME);
    cr_assert_eq(tl_shape_pack(&back, zone, 64, &again), 0, "what was packed once cannot be packed again");
    cr_assert_eq(again, shape);
}

Test(packing, shape)
{
    struct chance c;
    unsigned refused = 0, rounds = chance_begin(&c, "shape", ROUNDS);
    for (unsigned i = 0; i < rounds; i++) {
        tlshm_limit limit = random_limit(&c);
        unsigned zone = (unsigned)chance_edgy(&c, 0, 255);
        uint64_t shape = 0;
        int rc = tl_shape_pack(&limit, zone, 64, &shape);
        if (rc == 0) {
            cr_assert_neq(shape, 0);
            check_shape(&limit, zone, shape);
            continue;
        }
        refused++;
        cr_assert_eq(rc, -TLSHM_ERANGE);
        cr_assert_eq(shape, 0, "written although it is an error");
        cr_assert_gt(limit.window.length_ns, UINT64_C(1) << 57, "%" PRIu64 " ns in %u slices are refused",
                     limit.window.length_ns, limit.window.slices);
    }
    cr_assert_lt(refused, rounds / 10);
}

/* Any word, since shapes are read from memory that is not trusted: no part of it is out of range. */
Test(packing, shapes_that_are_garbage)
{
    struct chance c;
    for (unsigned i = chance_begin(&c, "garbage as a shape", ROUNDS); i > 0; i--) {
        uint64_t shape = chance_word(&c);
        tlshm_limit limit;
        cr_assert_lt(tl_shape_unit(shape), TLSHM_UNITS);
        cr_assert(tl_shape_slices(shape) >= 1 && tl_shape_slices(shape) <= 64);
        cr_assert_geq(tl_shape_width_ns(shape), 1000);
        tl_shape_unpack(shape, &limit);
        cr_assert_lt(limit.window.kind, 5);
    }
}

Test(packing, limits_that_have_no_shape)
{
    static const struct {
        const char *why;
        tlshm_limit limit;
        unsigned zone, slices_max;
        int rc;
    } cases[] = {
#define ROLLING(length, n) {.kind = TLSHM_WINDOW_ROLLING, .length_ns = (length), .slices = (n)}
#define CALENDAR(p, a)                                                                                                 \
    {                                                                                                                  \
        .kind = TLSHM_WINDOW_CALENDAR, .period = (p), .anchor = (a)                                                    \
    }
        {"a unit beyond the last",
         {.unit = TLSHM_UNITS, .window = {.kind = TLSHM_WINDOW_LIFETIME}},
         0,
         64,
         -TLSHM_EINVAL},
        {"time, not of a request",
         {.unit = TLSHM_TIME, .window = {.kind = TLSHM_WINDOW_LIFETIME}},
         0,
         64,
         -TLSHM_EINVAL},
        {"an unknown flag", {.flags = 8, .window = ROLLING(1000, 1)}, 0, 64, -TLSHM_EINVAL},
        {"strict, not rolling", {.flags = 1, .window = {.kind = TLSHM_WINDOW_LIFETIME}}, 0, 64, -TLSHM_EINVAL},
        {"concurrency in a window", {.unit = TLSHM_CONCURRENCY, .window = ROLLING(1000, 1)}, 0, 64, -TLSHM_EINVAL},
        {"tokens without a window", {.window = {.kind = TLSHM_WINDOW_NONE}}, 0, 64, -TLSHM_EINVAL},
        {"an unknown kind", {.window = {.kind = (enum tlshm_window_kind)5}}, 0, 64, -TLSHM_EINVAL},
        {"no length", {.window = ROLLING(0, 1)}, 0, 64, -TLSHM_EINVAL},
        {"65 slices", {.window = ROLLING(HOUR_NS, 65)}, 0, 64, -TLSHM_ERANGE},
        {"64 slices and strict", {.flags = 1, .window = ROLLING(HOUR_NS, 64)}, 0, 64, -TLSHM_ERANGE},
        {"more slices than the rings have", {.window = ROLLING(HOUR_NS, 9)}, 0, 8, -TLSHM_ERANGE},
        {"a bucket too wide", {.window = ROLLING(UINT64_C(1) << 61, 1)}, 0, 64, -TLSHM_ERANGE},
        {"longer than time", {.window = ROLLING(UINT64_MAX, 64)}, 0, 64, -TLSHM_ERANGE},
        {"an unknown period", {.window = CALENDAR((enum tlshm_period)4, 0)}, 0, 64, -TLSHM_EINVAL},
        {"the eighth day of a week", {.window = CALENDAR(TLSHM_WEEK, 8)}, 0, 64, -TLSHM_EINVAL},
        {"the 32nd of a month", {.window = CALENDAR(TLSHM_MONTH, 32)}, 0, 64, -TLSHM_EINVAL},
        {"the first of a day", {.window = CALENDAR(TLSHM_DAY, 1)}, 0, 64, -TLSHM_EINVAL},
        {"a zone beyond the last", {.window = CALENDAR(TLSHM_DAY, 0)}, 256, 64, -TLSHM_EINVAL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t shape = 42;
        int rc = tl_shape_pack(&cases[i].limit, cases[i].zone, cases[i].slices_max, &shape);
        cr_expect_eq(rc, cases[i].rc, "%s: %s", cases[i].why, tlshm_error_name(rc));
        cr_expect_eq(shape, 42, "%s: written although it is an error", cases[i].why);
    }
}
