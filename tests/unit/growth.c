/* SPDX-License-Identifier: MIT */
/* growth.c - tables of many blocks: what walks pass over (lib/horizon.h) must not be missed. */
#include "space.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tlshm/stats.h>
#include <unistd.h>

#include "layout.h"

#define HOLDS 1500 /* in more than twenty blocks */

static struct space space;

/* What should be there, by the order in which it was made. */
static struct hold {
    tlshm_id id; /* 0: ended */
    uint64_t deadline, tokens;
} holds[HOLDS];

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static tlshm_geometry geometry(void)
{
    tlshm_geometry g = space_geometry();
    g.reservations = 2048;
    g.retention_ns = 1;
    return g;
}

static void open_space(void)
{
    tlshm_geometry g = geometry();
    space_open(&space, &g);
    seed = 1;
}

static void close_space(void)
{
    space_close(&space);
}

TestSuite(growth, .init = open_space, .fini = close_space, .timeout = 120);

static int reserve(const char *scopes, uint64_t tokens, uint64_t ttl_ns, uint32_t flags, tlshm_id *id,
                   tlshm_refusal *why)
{
    struct ask a;
    tlshm_request request = *ask_for(&a, scopes, NULL);
    request.estimate.of[TLSHM_TOKENS] = tokens;
    request.ttl_ns = ttl_ns;
    request.flags = flags;
    return tlshm_reserve(space.t, &request, id, why);
}

/* Makes a hold that ends within `most_s`, with one of ten agents. */
static void make(struct hold *h, unsigned agent, unsigned most_s)
{
    char scopes[48];
    uint64_t ttl = MS(1 + draw(most_s * 1000));
    snprintf(scopes, sizeof scopes, "agent:%u tenant:t", agent);
    h->tokens = 1 + draw(100);
    h->deadline = space.now + ttl;
    cr_assert_eq(reserve(scopes, h->tokens, ttl, 0, &h->id, NULL), TLSHM_OK);
}

static void check_pass(void)
{
    uint64_t expired = 0, live = 0, next = TLSHM_NEVER;
    tlshm_reap_report report;
    for (unsigned i = 0; i < HOLDS; i++) {
        struct hold *h = &holds[i];
        bool over = h->id && h->deadline <= space.now;
        expired += over;
        h->id = over ? 0 : h->id;
        live += h->id != 0;
        if (h->id && h->deadline - space.now < next)
            next = h->deadline - space.now;
    }
    cr_assert_eq(tlshm_reap(space.t, &report), 0);
    cr_expect_eq(report.expired, expired);
    cr_expect_eq(report.live, live);
    cr_expect_eq(report.next_due_ns, next);
    cr_expect_eq(tlshm_verify(space.t, NULL, NULL, NULL), 0);
}

Test(growth, passes_miss_nothing)
{
    for (unsigned i = 0; i < HOLDS; i++)
        make(&holds[i], i % 10, 300);
    for (unsigned step = 1; step <= 60; step++) {
        space_at(&space, SEC(6 * step));
        check_pass();
        for (unsigned i = 0; i < 40; i++) { /* some end otherwise, some grow older, some are new */
            struct hold *h = &holds[draw(HOLDS)];
            if (h->id && i % 4 == 0) {
                h->deadline += SEC(20);
                cr_assert_eq(tlshm_extend(space.t, h->id, NULL, h->deadline - space.now, NULL), TLSHM_OK);
            } else if (h->id) {
                cr_assert_eq(tlshm_refund(space.t, h->id, NULL), TLSHM_OK);
                h->id = 0;
            } else if (step < 40) {
                make(h, draw(10), 100);
            }
        }
    }
    space_at(&space, HOUR(1));
    check_pass();
}

/* Nobody reaps: what a look says and what a reserve gets is what the deadlines say. */
Test(growth, looks_and_refusals_miss_nothing)
{
    for (unsigned i = 0; i < HOLDS; i++)
        make(&holds[i], i % 10, 300);
    space_limits(&space, "tenant:t", "concurrency 1500");
    for (unsigned step = 1; step <= 50; step++) {
        uint64_t held = 0;
        space_at(&space, SEC(6 * step));
        for (unsigned i = 3; i < HOLDS; i += 10) /* the agent's */
            held += holds[i].deadline > space.now ? holds[i].tokens : 0;
        cr_expect_eq(space_usage(&space, "agent:3").held[TLSHM_TOKENS], held, "step %u", step);
        if (step % 5 == 0) {
            cr_expect_eq(reserve("tenant:t", 1, 1, 0, &(tlshm_id){0}, NULL), TLSHM_OK);
            space_at(&space, space.now + 1);
        }
    }
    cr_expect_eq(space_usage(&space, "tenant:t").held[TLSHM_TOKENS], 0);
    cr_expect_eq(tlshm_verify(space.t, NULL, NULL, NULL), 0);
}

static int by_deadline(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    return (x->deadline > y->deadline) - (x->deadline < y->deadline);
}

/* When `tokens` and `count` holds will have been given back, of holds in the order of their deadlines. */
static uint64_t given_back(uint64_t tokens, unsigned count)
{
    for (unsigned i = 0; i < HOLDS; i++) {
        tokens -= tokens < holds[i].tokens ? tokens : holds[i].tokens;
        count -= count > 0;
        if (tokens == 0 && count == 0)
            return holds[i].deadline - space.now;
    }
    return TLSHM_NEVER;
}

Test(growth, retry_after_is_exact_among_many)
{
    uint64_t total = 0;
    tlshm_id id;
    tlshm_refusal why;
    char limits[96];
    for (unsigned i = 0; i < HOLDS; i++) {
        make(&holds[i], i % 10, 300);
        total += holds[i].tokens;
    }
    qsort(holds, HOLDS, sizeof holds[0], by_deadline);
    for (unsigned over = 0; over <= 1000; over += 250) {
        snprintf(limits, sizeof limits, "concurrency %u; tokens %llu lifetime", HOLDS - over,
                 (unsigned long long)(total - 40 * over));
        space_limits(&space, "tenant:t", limits);
        for (uint64_t tokens = 1; tokens < total - 40 * over; tokens = tokens * 7 + 1) {
            cr_assert_eq(reserve("agent:new tenant:t", tokens, 1, 0, &id, &why), TLSHM_REFUSED);
            cr_expect_eq(why.retry_after_ns, given_back(tokens + 40 * over, over + 1), "%u over, %llu tokens", over,
                         (unsigned long long)tokens);
        }
    }
}

static void *make_tied(void *context)
{
    tlshm_id id;
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(reserve("agent:tied tenant:t", 1, HOUR(1), i % 2 ? TLSHM_FREE_ON_DEATH : 0, &id, NULL), TLSHM_OK);
    return context;
}

/* Blocks whose horizons lie an hour ahead have holds that end with their thread. */
Test(growth, ties_are_found_behind_horizons)
{
    pthread_t thread;
    tlshm_reap_report report;
    for (unsigned i = 0; i < HOLDS; i++)
        make(&holds[i], i % 10, 3600);
    space_at(&space, 1);
    cr_assert_eq(tlshm_reap(space.t, &report), 0);
    cr_assert_eq(pthread_create(&thread, NULL, make_tied, NULL), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(tlshm_reap(space.t, &report), 0);
    cr_expect_eq(report.expired, 50);
    cr_expect_eq(report.live, HOLDS + 50);
    cr_assert_eq(tlshm_reap(space.t, &report), 0);
    cr_expect_eq(report.expired, 0);
    cr_expect_eq(tlshm_verify(space.t, NULL, NULL, NULL), 0);
}

static void find(void *context, const char *fault)
{
    *(unsigned *)context += strstr(fault, "(I7)") != NULL;
}

/* Where a block's horizon is in the file. */
static off_t horizon_at(uint32_t block)
{
    static unsigned char base[1];
    struct tl_map map;
    tlshm_geometry g = geometry();
    const char *what = NULL;
    cr_assert_eq(tl_layout_geometry(&g, &what), 0);
    tl_layout_place(&map, &g, base);
    return (off_t)((uintptr_t)&map.horizons[block] - (uintptr_t)base);
}

Test(growth, verify_finds_a_hold_behind_a_horizon)
{
    uint64_t none = SHM_HORIZON_NONE;
    unsigned found = 0;
    FILE *file;
    for (unsigned i = 0; i < HOLDS; i++)
        make(&holds[i], i % 10, 300);
    cr_assert((file = fopen(space.path, "r+")) != NULL);
    cr_assert_eq(pwrite(fileno(file), &none, sizeof none, horizon_at(3)), (ssize_t)sizeof none);
    fclose(file);
    cr_expect_gt(tlshm_verify(space.t, find, &found, NULL), 0);
    cr_expect_eq(found, SHM_BLOCK, "%u found", found);
}
