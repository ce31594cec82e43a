/* SPDX-License-Identifier: MIT */
/* visible.c - what one process changes, the next call of every other process meets: limits, tiers, flags, the clock. */
#include "crew.h"
#include "space.h"

#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>

static struct space space;
static struct crew crew;

/*
 * A worker that answers one question a step: would one token more be admitted for agent:a of tenant:t? The answer is
 * the reason, so that the parent sees what the worker met. Its attachment is as old as the test.
 */
static int answering(struct crew_seat *seat, void *context)
{
    tlshm_t *t = space_attach(&space);
    struct ask a;
    const unsigned *steps = context;
    ask_for(&a, "agent:a tenant:t", "tokens=1");
    for (unsigned step = 1; step <= *steps; step++) {
        tlshm_id id = 0;
        tlshm_refusal why = {.reason = TLSHM_ADMITTED};
        crew_wait(seat, step);
        int rc = tlshm_reserve(t, &a.request, &id, &why);
        seat->board->lines[seat->index].of[0] = rc < 0 ? (uint64_t)-1 : (uint64_t)why.reason;
        seat->board->lines[seat->index].of[1] = (uint64_t)why.limit.cap;
        if (rc == TLSHM_OK)
            tlshm_refund(t, id, NULL);
    }
    crew_wait(seat, *steps + 1);
    return 0;
}

static void own_limit(const char *text)
{
    tlshm_limit limit = limit_of(text);
    MUST(tlshm_limit_set(space.t, "agent:a", 0, &limit) == 0, "limit");
}

static void tier_limit(const char *text)
{
    tlshm_limit limit = limit_of(text);
    MUST(tlshm_tier_set(space.t, "shared", &limit, 1) == 0, "tier");
}

static void change_nothing(void)
{
}

static void change_low(void)
{
    own_limit("tokens 0 lifetime");
}

static void change_high(void)
{
    own_limit("tokens 500 lifetime");
}

static void change_pause(void)
{
    tlshm_pause(space.t, 1);
}

static void change_resume(void)
{
    tlshm_pause(space.t, 0);
}

static void change_shutoff(void)
{
    tlshm_scope_shutoff(space.t, "tenant:t", 0, 1);
}

static void change_shutoff_end(void)
{
    tlshm_scope_shutoff(space.t, "tenant:t", 0, 0);
}

static void change_tier(void)
{
    tier_limit("tokens 0 per 1h");
    MUST(tlshm_scope_tier_set(space.t, "tenant:t", 0, "shared") == 0, "tier");
}

static void change_tier_content(void)
{
    tier_limit("tokens 100 per 1h");
}

static void change_tier_gone(void)
{
    tier_limit("tokens 0 per 1h");
    MUST(tlshm_tier_unset(space.t, "shared") == 0, "tier");
}

static const struct {
    const char *what;
    void (*change)(void);
    enum tlshm_reason expected;
} steps[] = {
    {"no limit", change_nothing, TLSHM_ADMITTED},
    {"a limit of nothing", change_low, TLSHM_NEVER_FITS},
    {"the limit raised", change_high, TLSHM_ADMITTED},
    {"a pause", change_pause, TLSHM_PAUSED},
    {"the end of the pause", change_resume, TLSHM_ADMITTED},
    {"a shutoff of the tenant", change_shutoff, TLSHM_SHUTOFF},
    {"the end of the shutoff", change_shutoff_end, TLSHM_ADMITTED},
    {"a tier that has nothing", change_tier, TLSHM_NEVER_FITS},
    {"another content of the tier", change_tier_content, TLSHM_ADMITTED},
    {"the tier removed", change_tier_gone, TLSHM_ADMITTED},
};
#define STEPS ((unsigned)(sizeof steps / sizeof steps[0]))
#define WATCHERS 3

static void every_change_is_met_by_the_next_call(void)
{
    unsigned count = STEPS;
    crew_fork(&crew, WATCHERS, answering, &count);
    crew_gather(&crew, WATCHERS);
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned right = 0;
        steps[i].change();
        crew_let(&crew, i + 1);
        crew_gather(&crew, WATCHERS);
        for (unsigned w = 0; w < WATCHERS; w++)
            right += crew.board->lines[w].of[0] == (uint64_t)steps[i].expected ? 1 : 0;
        tap_equal(right, WATCHERS, "%s: the others' next calls meet it", steps[i].what);
    }
    crew_let(&crew, STEPS + 1);
    tap_equal(crew_join(&crew), 0, "the workers end well");
}

/* Lowers and raises a cap as fast as it can while others reserve: each call sees one of the two caps. */
static int reserving(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    tlshm_t *t = space_attach(&space);
    struct ask a;
    (void)context;
    ask_for(&a, "agent:torn", "tokens=7 cost=7");
    crew_wait(seat, 1);
    /* On a busy machine whoever changes the limits may not run for a while: goes on until both were met. */
    for (unsigned i = 0; i < 20000 || line[0] == 0 || line[1] == 0; i++) {
        tlshm_id id = 0;
        tlshm_refusal why;
        int rc = tlshm_reserve(t, &a.request, &id, &why);
        bool one_of_two = rc == TLSHM_REFUSED && why.reason == TLSHM_NEVER_FITS && why.limit.cap == 5;
        line[2] += rc == TLSHM_OK || one_of_two ? 0 : 1;
        line[rc == TLSHM_OK ? 0 : 1]++;
        if (rc == TLSHM_OK)
            line[2] += tlshm_refund(t, id, NULL) == TLSHM_OK ? 0 : 1;
    }
    atomic_fetch_add(&seat->board->shared[0], 1);
    return 0;
}

static void changes_are_never_torn(void)
{
    tlshm_limit low[2] = {limit_of("tokens 5 per 1h"), limit_of("cost 5n per 1h")};
    tlshm_limit high[2] = {limit_of("tokens 5000 per 1h"), limit_of("cost 5000n per 1h")};
    unsigned failed = 0;
    memset(crew.board->lines, 0, sizeof crew.board->lines);
    space_limits(&space, "agent:torn", "tokens 5 per 1h; cost 5n per 1h");
    crew_fork(&crew, 2, reserving, NULL);
    crew_gather(&crew, 2);
    crew_let(&crew, 1);
    for (unsigned i = 0; atomic_load(&crew.board->shared[0]) < 2; i++)
        failed += tlshm_scope_limits_set(space.t, "agent:torn", 0, i % 2 != 0 ? low : high, 2) != 0 ? 1 : 0;
    tap_equal(crew_join(&crew), 0, "reserving workers end well");
    tap_equal(failed, 0, "every change of the limits succeeds");
    tap_equal(crew_sum(&crew, 2), 0, "every call meets the old limits or the new ones");
    tap_ok(crew_sum(&crew, 0) != 0 && crew_sum(&crew, 1) != 0, "both are met");
    tap_equal(space_usage(&space, "agent:torn").held[TLSHM_TOKENS], 0, "nothing is left held");
}

static int expects_expiry(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    tlshm_reservation_info info;
    crew_wait(seat, 1);
    line[3] = tlshm_reservation(space.t, *(const tlshm_id *)context, &info) == 0 ? info.status : 0;
    crew_wait(seat, 2);
    line[4] = tlshm_reservation(space.t, *(const tlshm_id *)context, &info) == 0 ? info.status : 0;
    return 0;
}

/* The virtual clock is the segment's: moved by one, it has moved for all. */
static void clock_is_shared(void)
{
    struct ask a;
    tlshm_id id = 0;
    space_limits(&space, "agent:a", "tokens unlimited per 1h");
    MUST(tlshm_reserve(space.t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL) == TLSHM_OK, "reserve");
    crew_fork(&crew, 1, expects_expiry, &id);
    crew_gather(&crew, 1);
    crew_let(&crew, 1);
    crew_gather(&crew, 1);
    space_at(&space, TLSHM_TTL_DEFAULT_NS);
    crew_let(&crew, 2);
    tap_equal(crew_join(&crew), 0, "the watching worker ends well");
    tap_equal(crew_sum(&crew, 3), TLSHM_HELD, "before the clock is moved the hold lives");
    tap_equal(crew_sum(&crew, 4), TLSHM_EXPIRED, "after it the hold has expired for everybody");
}

int main(void)
{
    tap_begin(300);
    space_open(&space, NULL);
    crew_open(&crew);
    every_change_is_met_by_the_next_call();
    changes_are_never_torn();
    clock_is_shared();
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
