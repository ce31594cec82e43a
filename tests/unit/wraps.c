/* SPDX-License-Identifier: MIT */
/*
 * wraps.c - counters that come round. Each is started shortly before its end in a segment that nobody has used yet, then
 * calls of every kind drive it over that end, from two threads in turn and from several at once, with books beside them
 * (stage.h). lib/DESIGN.md has the list of all counters.
 */
#include "stage.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <tlshm/config.h>
#include <tlshm/stats.h>

#include "horizon.h"
#include "ids.h"
#include "limits.h"
#include "segment.h"

TestSuite(wraps, .timeout = 240);

static struct stage *s;

static struct tl_map *map_of(void)
{
    return &s->space.t->map;
}

/* --------------------------------------------------------------------------------------------------------------- starts */

/* Every `stride`-th word from `first` on. */
struct words {
    tl_word *first;
    size_t stride;
    uint64_t count;
};

static tl_word *word_at(const struct words *w, uint64_t i)
{
    return (tl_word *)(void *)((char *)w->first + i * w->stride);
}

static struct words cell_heads(struct tl_map *map)
{
    return (struct words){&map->cells[0].head, sizeof *map->cells, map->cell_count};
}

static struct words record_heads(struct tl_map *map)
{
    return (struct words){&map->records[0].head, sizeof *map->records, map->record_count};
}

static struct words body_generations(struct tl_map *map)
{
    return (struct words){&map->bodies[0].generation, sizeof *map->bodies, map->body_count};
}

static struct words curs(struct tl_map *map)
{
    return (struct words){&map->seats[0].cur, sizeof *map->seats, map->seat_count};
}

static struct words epochs(struct tl_map *map)
{
    return (struct words){&map->seats[0].epoch, sizeof *map->seats, map->seat_count};
}

static struct words horizons(struct tl_map *map)
{
    return (struct words){&map->horizons[0], sizeof *map->horizons, map->block_count};
}

static struct words policies(struct tl_map *map)
{
    return (struct words){&map->cells[0].policy, sizeof *map->cells, map->scope_end};
}

static struct words overrun(struct tl_map *map)
{
    return (struct words){&map->header->overrun, 0, 1};
}

static struct words change(struct tl_map *map)
{
    return (struct words){&map->header->change, 0, 1};
}

static struct words buckets(struct tl_map *map)
{
    return (struct words){&map->buckets[0], sizeof *map->buckets, (uint64_t)map->bucket_mask + 1};
}

static struct words nexts(struct tl_map *map)
{
    return (struct words){&map->cells[map->tier_cells].next, sizeof *map->cells, map->scope_end - map->tier_cells};
}

static struct words lists(struct tl_map *map)
{
    return (struct words){&tl_map_list(map, 0)->state, map->list_bytes, map->list_count};
}

static struct words resets(struct tl_map *map)
{
    return (struct words){&map->cells[map->tier_cells].resets, sizeof *map->cells, map->scope_end - map->tier_cells};
}

static struct words record_cursor(struct tl_map *map)
{
    return (struct words){&map->header->record_cursor, 0, 1};
}

static struct words scope_cursor(struct tl_map *map)
{
    return (struct words){&map->header->scope_cursor, 0, 1};
}

/* In a segment that is new: the n-th sheet is that of the n-th cell. */
static struct words incarnations(struct tl_map *map)
{
    tl_word *first = &tl_map_sheet(map, map->tier_cells)->after.word[SHM_INCARNATION];
    return (struct words){first, map->sheet_bytes, map->scope_end - map->tier_cells};
}

/* The counter's bits in its word. */
static const struct start {
    const char *what;
    struct words (*words)(struct tl_map *map);
    unsigned low, bits;
} starts[] = {
    {"versions of cells' heads", cell_heads, SHM_NODE_BITS, 40},
    {"versions of records' heads", record_heads, SHM_NODE_BITS, 36},
    {"generations of reservations", body_generations, 0, 40},
    {"generations in idempotency entries", body_generations, 0, 16},
    {"numbers of operations in refs", curs, 1, 50},
    {"versions of horizons", horizons, 0, 18},
    {"versions of policy words", policies, TL_POLICY_VERSION, 22},
    {"versions of the overrun word", overrun, TL_POLICY_VERSION, 22},
    {"numbers of changes", change, 40, 24},
    {"versions of hash buckets", buckets, 24, 39},
    {"versions of links", nexts, 24, 39},
    {"incarnations in handles", incarnations, 0, 40},
    {"incarnations in claims", incarnations, 0, 24},
    {"epochs in claims", epochs, 0, 26},
    {"epochs of owners", epochs, 0, TL_OWNER_EPOCH_BITS},
    {"epochs in claims of time zones", epochs, 0, 50},
    {"epochs", epochs, 0, 64},
    {"generations of limit lists", lists, 40, 24},
    {"tags of windows", resets, 0, 8},
    {"the cursor of records", record_cursor, 0, 64},
    {"the cursor of scopes", scope_cursor, 0, 64},
};
#define STARTS (sizeof starts / sizeof starts[0])

/* A few scopes only, so that keys take each other's places. The counter has `left` steps to its end. */
static void open_at(const struct start *start, uint64_t left)
{
    tlshm_geometry g = space_geometry();
    g.scopes = 8;
    g.limit_lists = 8;
    g.seats = 8;
    g.retention_ns = 1;
    s = stage_open(&g);
    struct words w = start->words(map_of());
    for (uint64_t i = 0; i < w.count; i++) {
        uint64_t rest = tl_load_relaxed(word_at(&w, i)) & ~(tl_ones(start->bits) << start->low);
        tl_store_relaxed(word_at(&w, i), rest | (tl_ones(start->bits) - left) << start->low);
    }
}

static uint64_t counted(const struct start *start, uint64_t word)
{
    return word >> start->low & tl_ones(start->bits);
}

/* Of live scopes: a sheet that was displaced may be an idempotency cell's now. */
static bool incarnation_is_round(const struct start *start)
{
    struct tl_map *map = map_of();
    for (uint32_t cell = map->tier_cells; cell < map->scope_end; cell++) {
        uint64_t life = tl_load_relaxed(&map->cells[cell].life);
        if ((life & 3) == 2 && counted(start, life >> 2) < tl_ones(start->bits) / 2)
            return true;
    }
    return false;
}

/* Has it come round anywhere? */
static bool is_round(const struct start *start)
{
    struct words w = start->words(map_of());
    if (start->words == incarnations)
        return incarnation_is_round(start);
    for (uint64_t i = 0; i < w.count; i++)
        if (counted(start, tl_load_relaxed(word_at(&w, i))) < tl_ones(start->bits) / 2)
            return true;
    return false;
}

/* Counters that are many, such as those of hash buckets, need not all come to an end that is a few steps away. */
static void close_at(const struct start *start, uint64_t left)
{
    cr_assert(left > 1 || is_round(start), "%s: the end was not reached", start->what);
    stage_close(s);
}

/* ----------------------------------------------------------------------------------------------------- calls of every kind */

static void in_thread(void *(*work)(void *), void *context)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, work, context), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

static void *pair(void *context)
{
    stage_settle(s, stage_reserve(s, "agent:a tenant:t", "tokens=7 cost=3"), "tokens=6 cost=4");
    return context;
}

/* Leaves a hold behind that ends with its owner. */
static void *leave_tied(void *context)
{
    struct ask a;
    tlshm_request request = *ask_for(&a, "tenant:t", "tokens=11");
    request.flags = TLSHM_FREE_ON_DEATH;
    cr_assert_eq(tlshm_reserve(s->space.t, &request, context, NULL), TLSHM_OK);
    return NULL;
}

static void use_tie(void)
{
    tlshm_id id;
    tlshm_reap_report report;
    tlshm_reservation_info info;
    in_thread(leave_tied, &id);
    cr_assert_eq(tlshm_reap(s->space.t, &report), 0);
    cr_assert_eq(tlshm_reservation(s->space.t, id, &info), 0);
    cr_assert_eq(info.status, TLSHM_EXPIRED, "the hold of a thread that is gone stays");
}

/* A key that has nothing but what it was just given, and takes the place of another one before long. */
static void use_new_key(unsigned lap)
{
    char key[24];
    struct ask a;
    tlshm_id id = 0, other = 0;
    tlshm_handle handle = 0;
    tlshm_reservation_info info;
    snprintf(key, sizeof key, "user:%u", lap);
    int rc = tlshm_reserve(s->space.t, ask_for(&a, key, "tokens=5"), &id, NULL);
    cr_assert_eq(rc, TLSHM_OK, "%s: %s", key, tlshm_error_name(rc));
    cr_assert_eq(tlshm_resolve(s->space.t, key, 0, &handle), 0);
    cr_assert_eq(space_usage(&s->space, key).held[TLSHM_TOKENS], 5);
    cr_assert_eq(space_usage(&s->space, key).used[TLSHM_TOKENS], 0, "%s has another key's use", key);
    tlshm_scope by_handle = {.handle = handle};
    a.request.scopes = &by_handle;
    cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &other, NULL), TLSHM_OK);
    cr_assert_eq(tlshm_refund(s->space.t, id, NULL), TLSHM_OK);
    cr_assert_eq(tlshm_refund(s->space.t, other, NULL), TLSHM_OK);
    cr_assert_neq(id, other);
    cr_assert_eq(tlshm_reservation(s->space.t, id, &info), 0);
}

static void use_limits(unsigned lap)
{
    char text[128];
    snprintf(text, sizeof text, "tokens 5000 per 1s/10; concurrency 20; tokens %u per %us", 4000 + lap, 2 + lap % 3);
    space_limits(&s->space, "agent:a", text);
    if (lap % 4 == 1) {
        tlshm_limit pro = limit_of("tokens 9000 per hour");
        cr_assert_eq(tlshm_tier_set(s->space.t, "pro", &pro, 1), 0);
        cr_assert_eq(tlshm_default_set(s->space.t, "user", lap % 8 == 1 ? "pro" : NULL), 0);
    }
    cr_assert_eq(tlshm_scope_pause(s->space.t, "tenant:t", 0, 1), 0);
    cr_assert_eq(stage_reserve(s, "agent:a tenant:t", "tokens=1"), 0);
    cr_assert_eq(s->why.reason, TLSHM_PAUSED);
    cr_assert_eq(tlshm_scope_pause(s->space.t, "tenant:t", 0, 0), 0);
    cr_assert_eq(tlshm_overrun_set(s->space.t, TLSHM_CHARGE_ACTUAL), 0);
}

/* Everything at once, of which something differs each time. */
static void use_configuration(unsigned lap)
{
    char text[512];
    tlshm_config *config = NULL;
    struct tlshm_error err = {0};
    tlshm_limit now[TLSHM_LIMITS_MAX];
    unsigned count = 0;
    snprintf(text, sizeof text,
             "overrun: actual\n"
             "tiers:\n  pro: [tokens %u per hour]\n"
             "scopes:\n  tenant:t: [tokens %u per 60s/6, cost $5 per hour]\n",
             8000 + lap, 90000 + lap);
    cr_assert_eq(tlshm_config_parse(&config, text, strlen(text), NULL, NULL, &err), 0, "%s", err.text);
    int rc = tlshm_config_apply(s->space.t, config, NULL, NULL, &err);
    cr_assert_geq(rc, 0, "%s: %s", tlshm_error_name(rc), err.text);
    tlshm_config_free(config);
    cr_assert_eq(tlshm_tier_get(s->space.t, "pro", now, &count), 0);
    cr_assert_eq(now[0].cap, 8000 + lap);
    cr_assert_eq(space_usage(&s->space, "tenant:t").limits[0].limit.cap, 90000 + lap);
}

static void use_zone(void)
{
    tlshm_limit there = limit_of("tokens 9000 per day in Asia/Shanghai");
    cr_assert_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &there), 0);
    cr_assert_eq(tlshm_limit_unset(s->space.t, "agent:a", 0, &there), 0);
}

static void use_holds(unsigned lap)
{
    char name[16];
    s->ttl_ns = lap % 5 >= 3 ? MS(200) : SEC(60);
    snprintf(name, sizeof name, "key %u", lap / 2);
    s->idempotency = lap % 3 == 0 ? name : NULL;
    tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=10 cost=100");
    if (s->idempotency)
        cr_assert_eq(stage_reserve(s, "agent:a tenant:t", "tokens=10 cost=100"), id, "a repeat is another reservation");
    s->idempotency = NULL;
    switch (lap % 5) {
    case 0:
        stage_settle(s, id, "tokens=8 cost=120");
        break;
    case 1:
        stage_refund(s, id);
        break;
    case 2:
        stage_extend(s, id, "tokens=5", SEC(90));
        stage_settle(s, id, "tokens=12");
        break;
    default: /* left to expire */
        break;
    }
}

static void drive(unsigned laps)
{
    space_limits(&s->space, "tenant:t", "tokens 90000 per 60s/6; cost $5 per hour");
    space_limits(&s->space, "agent:a", "tokens 5000 per 1s/10; concurrency 20");
    for (unsigned lap = 0; lap < laps; lap++) {
        use_holds(lap);
        in_thread(pair, NULL);
        use_new_key(lap);
        if (lap % 2)
            use_limits(lap);
        if (lap % 5 == 4)
            use_configuration(lap);
        stage_at(s, s->space.now + MS(330));
        if (lap % 5 >= 3)
            cr_assert_eq(tlshm_reap(s->space.t, NULL), 0);
    }
    use_zone();
}

Test(wraps, books_are_exact_over_every_end)
{
    static const uint64_t left[] = {0, 1, 2, 4};
    for (unsigned i = 0; i < STARTS; i++)
        for (unsigned k = 0; k < 4; k++) {
            open_at(&starts[i], left[k]);
            drive(26);
            close_at(&starts[i], left[k]);
        }
}

/* Holds that are tied to a thread end with it, whatever its seat's epoch is. */
Test(wraps, ties_over_every_end)
{
    for (unsigned i = 0; i < STARTS; i++) {
        open_at(&starts[i], 3);
        for (unsigned n = 0; n < 8; n++)
            use_tie();
        cr_assert_eq(space_usage(&s->space, "tenant:t").held[TLSHM_TOKENS], 0, "%s", starts[i].what);
        cr_assert_eq(space_usage(&s->space, "tenant:t").used[TLSHM_REQUESTS], 8, "%s", starts[i].what);
        stage_close(s);
    }
}

/* ------------------------------------------------------------------------------------------------------- several at once */

#define WORKERS 4
#define PAIRS 400

static void *work(void *context)
{
    uint64_t *used = context;
    for (unsigned i = 0; i < PAIRS; i++) {
        struct ask a;
        tlshm_id id = 0;
        tlshm_amounts use = {{1 + i % 3}};
        int rc = tlshm_reserve(s->space.t, ask_for(&a, "agent:a tenant:t", "tokens=4"), &id, NULL);
        if (rc == TLSHM_OK && i % 4 == 3)
            rc = tlshm_refund(s->space.t, id, NULL);
        else if (rc == TLSHM_OK && (rc = tlshm_settle(s->space.t, id, &use, TLSHM_EXACT, NULL)) == TLSHM_OK)
            *used += use.of[TLSHM_TOKENS];
        if (rc != TLSHM_OK)
            return (void *)1;
    }
    return NULL;
}

static void run_workers(const struct start *start)
{
    pthread_t threads[WORKERS];
    uint64_t used[WORKERS] = {0}, sum = 0;
    space_limits(&s->space, "tenant:t", "tokens 90000 per 60s/6; tokens unlimited lifetime");
    for (unsigned i = 0; i < WORKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &used[i]), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        void *failed = NULL;
        cr_assert_eq(pthread_join(threads[i], &failed), 0);
        cr_assert_null(failed, "%s: a call failed", start->what);
        sum += used[i];
    }
    for (unsigned k = 0; k < 2; k++) {
        const char *key = k ? "tenant:t" : "agent:a";
        tlshm_scope_usage usage = space_usage(&s->space, key);
        cr_assert_eq(usage.used[TLSHM_TOKENS], sum, "%s: %s: %" PRIu64 " used, %" PRIu64 " charged", start->what, key,
                     usage.used[TLSHM_TOKENS], sum);
        cr_assert_eq(usage.used[TLSHM_REQUESTS], WORKERS * PAIRS, "%s: %s", start->what, key);
        cr_assert_eq(usage.held[TLSHM_TOKENS] + usage.held[TLSHM_CONCURRENCY], 0, "%s: %s", start->what, key);
    }
}

Test(wraps, books_are_exact_with_several_at_once)
{
    for (unsigned i = 0; i < STARTS; i++) {
        open_at(&starts[i], 200);
        run_workers(&starts[i]);
        stage_close(s);
    }
}

/* ------------------------------------------------------------------------------------------------------------- the clock */

/* Time is a number as well: near the last one that a clock may be set to, calls and windows work as ever. */
Test(wraps, the_end_of_time)
{
    s = stage_open(NULL);
    uint64_t end = INT64_MAX / 2 - SEC(30);
    cr_assert_eq(tlshm_clock_set(s->space.t, end, end), 0);
    space_limits(&s->space, "agent:a", "tokens 100 per 10s/10; tokens 300 per month; tokens 900 per 1h strict");
    for (unsigned i = 0; i < 3; i++) {
        struct ask a;
        tlshm_id id;
        tlshm_refusal why;
        tlshm_amounts all = {{100}};
        cr_assert_eq(tlshm_clock_set(s->space.t, end + SEC(10 * i), end + SEC(10 * i)), 0);
        cr_assert_eq(tlshm_reserve(s->space.t, ask_for(&a, "agent:a", "tokens=100"), &id, NULL), TLSHM_OK, "%u", i);
        a.request.ttl_ns = UINT64_C(1) << 61;
        cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &id, &why), TLSHM_REFUSED);
        cr_assert_eq(tlshm_settle(s->space.t, id, &all, TLSHM_EXACT, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &id, &why), TLSHM_REFUSED);
        cr_expect(i == 2 || (why.retry_after_ns > SEC(9) && why.retry_after_ns <= SEC(10)), "%" PRIu64,
                  why.retry_after_ns);
    }
    struct ask b;
    tlshm_id long_one;
    ask_for(&b, "agent:b", "tokens=1");
    b.request.ttl_ns = UINT64_C(1) << 61;
    cr_expect_eq(tlshm_reserve(s->space.t, &b.request, &long_one, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_reap(s->space.t, NULL), 0);
    cr_expect_eq(space_usage(&s->space, "agent:b").held[TLSHM_TOKENS], 1, "a hold of 73 years is over already");
    cr_expect_neq(tlshm_clock_set(s->space.t, (uint64_t)INT64_MAX / 2 + 1, end), 0);
    stage_close(s);
}
