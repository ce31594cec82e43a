/* SPDX-License-Identifier: MIT */
/*
 * applied.c - a configuration is in force at one instant, whoever calls meanwhile and wherever who applies it is killed.
 *
 * Two configurations let little through at another scope each: the one at the tenant, by a tier that is the default of its
 * level, the other at the agent, by limits of its own. A call that asks for more is admitted by a mixture and by nothing
 * else.
 */
#include "crew.h"
#include "death.h"
#include "space.h"

#include <stdio.h>
#include <string.h>
#include <tlshm/config.h>
#include <tlshm/stats.h>

#define MIXED 0  /* line: calls that were admitted and fit neither configuration */
#define ERRORS 1 /* line: other answers than yes and no */
#define CALLS 2
#define SIDES 3 /* line: how often the other configuration was found in force than last time */

#define OVER 0 /* shared: workers are to stop */
#define MADE 1 /* shared: configurations applied to the end */

#define FLIPS 150
#define STORES_MAX 4000 /* more than applying takes here */

static struct space space;
static struct crew crew;
static tlshm_config *sides[2];

/* ----------------------------------------------------------------------------------------------------------- sides */

static const char *const texts[2] = {
    "overrun: cap\n"
    "tiers: {team: [tokens 20 lifetime, tokens 5000 per 1h], single: [tokens 9000 per 1h]}\n"
    "levels: {tenant: team, agent: single, group: {rank: 3}}\n"
    "scopes: {\"agent:a\": [tokens 5000 lifetime], \"tenant:u\": single}\n",
    "overrun: actual\n"
    "tiers: {team: [tokens 5000 lifetime], extra: [tokens 7000 per 1h]}\n"
    "levels: {tenant: team}\n"
    "scopes: {\"agent:a\": [tokens 20 lifetime, tokens 6000 per 2h], \"tenant:v\": extra}\n",
};

static tlshm_config *side_of(const char *text)
{
    tlshm_config *c = NULL;
    struct tlshm_error err = {0};
    MUST(tlshm_config_parse(&c, text, strlen(text), NULL, NULL, &err) == 0, "%s", err.text);
    return c;
}

static int apply(unsigned side)
{
    struct tlshm_error err = {0};
    int rc = tlshm_config_apply(space.t, sides[side], NULL, NULL, &err);
    if (rc < 0)
        printf("# apply: %s\n", err.text);
    return rc;
}

/* The side that is in force as a whole; 2: none is. */
static unsigned side_in_force(void)
{
    for (unsigned side = 0; side < 2; side++)
        if (tlshm_config_diff(space.t, sides[side], NULL, NULL, NULL) == 0)
            return side;
    return 2;
}

/* Was it admitted? Both scopes' first limits let 20 through; each side has one of them. */
static int ask_for_much(tlshm_t *t)
{
    struct ask a;
    tlshm_id id;
    int rc = tlshm_reserve(t, ask_for(&a, "tenant:t agent:a", "tokens=30"), &id, NULL);
    if (rc == TLSHM_OK)
        tlshm_refund(t, id, NULL);
    return rc;
}

/* ---------------------------------------------------------------------------------------------------------- workers */

static int caller(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    tlshm_t *t = space_attach(&space);
    struct ask a;
    tlshm_id id;
    (void)context;
    ask_for(&a, "tenant:t agent:a", "tokens=3");
    crew_wait(seat, 1);
    while (atomic_load(&seat->board->shared[OVER]) == 0) {
        int much = ask_for_much(t), little = tlshm_reserve(t, &a.request, &id, NULL);
        if (little == TLSHM_OK)
            tlshm_refund(t, id, NULL);
        line[MIXED] += much == TLSHM_OK ? 1 : 0;
        line[ERRORS] += much < 0 || little != TLSHM_OK ? 1 : 0; /* there is always room for little */
        line[CALLS]++;
    }
    tlshm_detach(t);
    return 0;
}

/* Shows the segment as a file: what it shows is one side or the other. */
static int shower(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    unsigned last = 2;
    (void)context;
    crew_wait(seat, 1);
    while (atomic_load(&seat->board->shared[OVER]) == 0) {
        tlshm_config *c = NULL;
        int rc = tlshm_config_read(&c, space.t);
        if (rc == -TLSHM_ECONTENDED)
            continue;
        const tlshm_config_scope *scope = rc == 0 ? tlshm_config_get_scope(c, 0) : NULL;
        const tlshm_config_tier *tier = rc == 0 ? tlshm_config_get_tier(c, 0) : NULL;
        unsigned side = scope && scope->limits.count == 2; /* agent:a comes first */
        bool extra = tier && strcmp(tier->name, "extra") == 0;
        bool actual = rc == 0 && tlshm_config_get_settings(c)->overrun == TLSHM_CHARGE_ACTUAL;
        line[ERRORS] += rc < 0 || !scope || !tier ? 1 : 0;
        line[MIXED] += extra != side || actual != side ? 1 : 0;
        line[SIDES] += side != last ? 1 : 0;
        line[CALLS]++;
        last = side;
        tlshm_config_free(c);
    }
    return 0;
}

static void beside_workers(void)
{
    unsigned failed = 0;
    crew_fork(&crew, 2, caller, NULL);
    crew_fork(&crew, 1, shower, NULL);
    crew_gather(&crew, 3);
    crew_let(&crew, 1);
    for (unsigned i = 0; i < FLIPS; i++)
        failed += apply(1 - i % 2) <= 0;
    atomic_store(&crew.board->shared[OVER], 1);
    tap_equal(crew_join(&crew), 0, "workers come to their end");
    tap_equal(failed, 0, "%d configurations are applied one after the other", FLIPS);
    tap_equal(crew_sum(&crew, MIXED), 0, "in %llu calls no half of one was seen",
              (unsigned long long)crew_sum(&crew, CALLS));
    tap_equal(crew_sum(&crew, ERRORS), 0, "what both admit is admitted all the time");
    tap_equal(side_in_force(), FLIPS % 2, "the last one is in force");
}

/* ------------------------------------------------------------------------------------------------------------ rivals */

static int rival(struct crew_seat *seat, void *context)
{
    (void)context;
    crew_wait(seat, 1);
    for (unsigned i = 0; i < FLIPS / 5; i++) {
        int rc = tlshm_config_apply(space.t, sides[(seat->index + i) % 2], NULL, NULL, NULL);
        if (rc < 0 && rc != -TLSHM_ECONTENDED)
            return 1;
        if (rc >= 0)
            atomic_fetch_add(&seat->board->shared[MADE], 1);
    }
    return 0;
}

/* Two apply and one changes limits alone: each gets through, and what is in force in the end is whole. */
static void beside_rivals(void)
{
    const tlshm_limit limit = limit_of("tokens 8000 per 1h");
    unsigned failed = 0;
    crew_fork(&crew, 2, rival, NULL);
    crew_gather(&crew, 2);
    crew_let(&crew, 1);
    for (unsigned i = 0; i < FLIPS; i++)
        failed += tlshm_limit_set(space.t, "tenant:w", 0, &limit) != 0;
    tap_equal(crew_join(&crew), 0, "rivals come to their end");
    tap_equal(failed, 0, "a limit is changed beside them");
    tap_ok(atomic_load(&crew.board->shared[MADE]) != 0, "%llu of their configurations get through",
           (unsigned long long)atomic_load(&crew.board->shared[MADE]));
    tap_ok(apply(0) >= 0 && side_in_force() == 0, "then one is applied alone");
}

/* ------------------------------------------------------------------------------------------------------------- deaths */

struct death {
    unsigned side;
    long stores;
};

static int dying(struct crew_seat *seat, void *context)
{
    const struct death *death = context;
    (void)seat;
    death_after = death->stores;
    int rc = apply(death->side);
    death_after = -1;
    return rc < 0;
}

/*
 * Dies before each of its stores in turn. What is left is one configuration or the other, as a whole, at once and after
 * the reaper; and the next one is applied.
 */
static void at_every_store(void)
{
    unsigned halves = 0, mixed = 0, stuck = 0, before = 0, after = 0;
    struct death death = {.side = 1};
    for (death.stores = 0; death.stores < STORES_MAX; death.stores++) {
        MUST(apply(0) >= 0 && side_in_force() == 0, "store %ld: the first configuration is not applied", death.stores);
        crew_fork(&crew, 1, dying, &death);
        unsigned bad = crew_join(&crew);
        unsigned side = side_in_force();
        mixed += ask_for_much(space.t) != TLSHM_REFUSED;
        if (death.stores % 2)
            tlshm_reap(space.t, NULL);
        halves += side == 2 || side_in_force() != side;
        before += side == 0;
        after += side == 1;
        mixed += ask_for_much(space.t) != TLSHM_REFUSED;
        stuck += death.stores % 3 == 0 && (apply(1) < 0 || side_in_force() != 1);
        if (bad == 0)
            break;
    }
    tap_ok(death.stores < STORES_MAX && before > 10 && after > 10, "killed at each of %ld stores: %u before, %u after",
           death.stores, before, after);
    tap_equal(halves, 0, "one configuration or the other is in force");
    tap_equal(mixed, 0, "no call fits a mixture");
    tap_equal(stuck, 0, "the next configuration is applied");
}

/* The lists that the dead had claimed come back. */
static void look_after_lists(void)
{
    tlshm_segment_info info;
    MUST(apply(0) >= 0, "the first configuration is not applied");
    tlshm_reap(space.t, NULL);
    crew_fork(&crew, 1, dying, &(struct death){.side = 1, .stores = 30});
    crew_join(&crew);
    tlshm_reap(space.t, NULL);
    MUST(apply(0) >= 0 && tlshm_get_segment(space.t, &info) == 0, "no segment");
    tap_equal(info.limit_lists_used, 3, "two tiers and an agent have lists");
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
}

int main(void)
{
    tap_begin(300);
    space_open(&space, NULL);
    crew_open(&crew);
    for (unsigned side = 0; side < 2; side++)
        sides[side] = side_of(texts[side]);
    MUST(apply(0) > 0, "the first configuration is not applied");
    beside_workers();
    beside_rivals();
    at_every_store();
    look_after_lists();
    for (unsigned side = 0; side < 2; side++)
        tlshm_config_free(sides[side]);
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
