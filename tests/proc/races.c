/* SPDX-License-Identifier: MIT */
/*
 * races.c - many processes ask for the same budget at once: exactly what fits is admitted, whoever they are and however
 * they were started.
 */
#include "crew.h"
#include "space.h"

#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>

#define HELD 0    /* line: reservations admitted */
#define ERRORS 1  /* line: calls that were neither admitted nor refused */
#define SETTLED 2 /* line: what was charged */
#define IDS 4     /* line: the ids admitted, up to twelve */

static struct space space;
static struct crew crew;

struct rush {
    const char *scopes, *amounts;
    unsigned tries;
    bool fresh; /* attach anew instead of using what was inherited */
};

static void rush_once(struct crew_seat *seat, tlshm_t *t, const tlshm_request *request)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    tlshm_id id = 0;
    int rc = tlshm_reserve(t, request, &id, NULL);
    if (rc == TLSHM_OK && line[HELD] < 12)
        line[IDS + line[HELD]] = id;
    line[HELD] += rc == TLSHM_OK ? 1 : 0;
    line[ERRORS] += rc == TLSHM_OK || rc == TLSHM_REFUSED ? 0 : 1;
}

/* "%u" in the scopes stands for the worker's number. */
static int rush_work(struct crew_seat *seat, void *context)
{
    const struct rush *rush = context;
    char scopes[256];
    struct ask a;
    tlshm_t *t = rush->fresh ? space_attach(&space) : space.t;
    const char *mark = strstr(rush->scopes, "%u");
    if (mark != NULL)
        snprintf(scopes, sizeof scopes, "%.*s%u%s", (int)(mark - rush->scopes), rush->scopes, seat->index, mark + 2);
    else
        snprintf(scopes, sizeof scopes, "%s", rush->scopes);
    ask_for(&a, scopes, rush->amounts);
    crew_wait(seat, 1);
    for (unsigned i = 0; i < rush->tries; i++)
        rush_once(seat, t, &a.request);
    return 0;
}

static void board_clear(void)
{
    memset(crew.board->lines, 0, sizeof crew.board->lines);
}

static void rush_run(unsigned workers, const struct rush *rush)
{
    board_clear();
    crew_fork(&crew, workers, rush_work, (void *)(uintptr_t)rush);
    crew_gather(&crew, workers);
    crew_let(&crew, 1);
    unsigned failed = crew_join(&crew);
    tap_ok(failed == 0 && crew_sum(&crew, ERRORS) == 0, "%s %s: every call was answered", rush->scopes, rush->amounts);
}

static void at_a_barrier(void)
{
    static const struct {
        const char *key, *limit, *amounts;
        unsigned workers, tries, admitted;
    } cases[] = {
        {"agent:cost", "cost $1 per 1h", "cost=300000000", 16, 1, 3},
        {"agent:tokens", "tokens 1000 per 60s", "tokens=400", 8, 1, 2},
        {"tenant:balance", "cost $1 lifetime", "cost=1000000000", 10, 1, 1},
        {"global:", "concurrency 4", "tokens=1", 8, 1, 4},
        {"agent:many", "tokens 999 per 1h; requests 500 per 1h", "tokens=2", 16, 100, 499},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rush rush = {cases[i].key, cases[i].amounts, cases[i].tries, i % 2 == 0};
        space_limits(&space, cases[i].key, cases[i].limit);
        rush_run(cases[i].workers, &rush);
        tap_equal(crew_sum(&crew, HELD), cases[i].admitted, "%s: exactly what fits is admitted", cases[i].limit);
        space_limits(&space, "global:", "concurrency unlimited");
    }
}

/* Slow calls: all reserves are answered before the first settle. */
static void slow_calls(void)
{
    struct rush rush = {"agent:slow tenant:slow", "cost=300000000", 2, true};
    tlshm_amounts actual = amounts_of("cost=300000000");
    space_limits(&space, "agent:slow", "cost $1 per 1h");
    rush_run(16, &rush);
    for (unsigned w = 0; w < 16; w++)
        for (unsigned i = 0; i < crew.board->lines[w].of[HELD]; i++)
            MUST(tlshm_settle(space.t, crew.board->lines[w].of[IDS + i], &actual, TLSHM_EXACT, NULL) == TLSHM_OK,
                 "settle by another process");
    tap_equal(space_usage(&space, "agent:slow").used[TLSHM_COST], 900000000, "the agent spent what fits");
    tap_equal(space_usage(&space, "tenant:slow").used[TLSHM_COST], 900000000, "and its tenant the same");
}

/* Thirty-two first calls on a key that nobody has seen: one entry, with its level's default at once. */
static void first_touch(void)
{
    tlshm_limit limit = limit_of("tokens 100 per 1h");
    MUST(tlshm_tier_set(space.t, "newcomers", &limit, 1) == 0, "tier");
    MUST(tlshm_default_set(space.t, "user", "newcomers") == 0, "default");
    for (unsigned round = 0; round < 10; round++) {
        char key[32];
        snprintf(key, sizeof key, "user:new%u", round);
        struct rush rush = {key, "tokens=30", 1, round % 2 == 0};
        rush_run(32, &rush);
        tap_equal(crew_sum(&crew, HELD), 3, "three of 32 first calls fit");
        tap_equal(space_usage(&space, key).held[TLSHM_TOKENS], 90, "and all of them are counted");
    }
}

static unsigned entries_of(const char *key)
{
    uint64_t cursor = 0;
    tlshm_handle handle = 0;
    char name[TLSHM_KEY_MAX + 1];
    unsigned found = 0;
    while (tlshm_scope_next(space.t, &cursor, &handle) == 1)
        found += tlshm_scope_key(space.t, handle, name, sizeof name) > 0 && strcmp(name, key) == 0 ? 1 : 0;
    return found;
}

static int executed(struct crew_seat *seat, void *context)
{
    struct space own = {.now = 0};
    struct ask a;
    snprintf(own.path, sizeof own.path, "%s", (const char *)context);
    own.t = space_attach(&own);
    ask_for(&a, "tenant:all", "tokens=1");
    crew_wait(seat, 1);
    for (unsigned i = 0; i < 3; i++)
        rush_once(seat, own.t, &a.request);
    return 0;
}

/* Eight forked and eight executed processes are one host with one limit. */
static void forked_and_executed(void)
{
    struct rush rush = {"tenant:all", "tokens=1", 3, false};
    space_limits(&space, "tenant:all", "requests 5 per 60s");
    board_clear();
    crew_fork(&crew, 8, rush_work, &rush);
    crew_exec(&crew, 8, "executed", space.path);
    crew_gather(&crew, 16);
    crew_let(&crew, 1);
    tap_equal(crew_join(&crew), 0, "forked and executed workers end well");
    tap_equal(crew_sum(&crew, HELD), 5, "sixteen processes share five requests");
    tap_equal(space_usage(&space, "tenant:all").used[TLSHM_REQUESTS], 5, "and five are counted");
}

/* Everybody settles everybody's reservations, in an order of its own; the sums are those of the first settles. */
static int settle_all(struct crew_seat *seat, void *context)
{
    const uint64_t *ids = context;
    uint64_t *line = seat->board->lines[seat->index].of;
    crew_wait(seat, 1);
    for (unsigned i = 0; i < 300; i++) {
        unsigned k = (i * 7 + seat->index * 53) % 300;
        tlshm_amounts actual = {{k + seat->index * 1000}};
        tlshm_result result;
        int rc = tlshm_settle(space.t, ids[k], &actual, TLSHM_EXACT, &result);
        if (rc == TLSHM_OK)
            line[SETTLED] += actual.of[TLSHM_TOKENS];
        line[ERRORS] += rc == TLSHM_OK || rc == TLSHM_REPLAY ? 0 : 1;
        if (rc < 0)
            printf("# settle of reservation %u: %s\n", k, tlshm_error_name(rc));
        line[3] += result.charged.of[TLSHM_TOKENS];
    }
    return 0;
}

static void settles_from_everywhere(void)
{
    static uint64_t ids[300];
    char scopes[64];
    struct ask a;
    for (unsigned i = 0; i < 300; i++) {
        snprintf(scopes, sizeof scopes, "agent:s%u project:s%u tenant:settles", i % 5, i % 3);
        MUST(tlshm_reserve(space.t, ask_for(&a, scopes, "tokens=9"), &ids[i], NULL) == TLSHM_OK, "reserve");
    }
    board_clear();
    crew_fork(&crew, 6, settle_all, ids);
    crew_gather(&crew, 6);
    crew_let(&crew, 1);
    tap_equal(crew_join(&crew), 0, "settling workers end well");
    tap_equal(crew_sum(&crew, ERRORS), 0, "each settle is the first one or a repeat");
    tap_equal(space_usage(&space, "tenant:settles").used[TLSHM_TOKENS], crew_sum(&crew, SETTLED), "charged once each");
    tap_equal(space_usage(&space, "tenant:settles").held[TLSHM_TOKENS], 0, "and nothing is left held");
    tap_equal(crew_sum(&crew, 3), 6 * crew_sum(&crew, SETTLED), "every repeat reports the first charge");
    uint64_t agents = 0, projects = 0;
    for (unsigned i = 0; i < 5; i++) {
        snprintf(scopes, sizeof scopes, "agent:s%u", i);
        agents += space_usage(&space, scopes).used[TLSHM_TOKENS];
        snprintf(scopes, sizeof scopes, "project:s%u", i);
        projects += i < 3 ? space_usage(&space, scopes).used[TLSHM_TOKENS] : 0;
    }
    tap_equal(agents, crew_sum(&crew, SETTLED), "the agents' sum is the tenant's");
    tap_equal(projects, crew_sum(&crew, SETTLED), "the projects' sum too");
}

/* Refusals by one scope under load leave the shared one to those who fit. */
static void refusals_take_nothing(void)
{
    struct rush rush = {"agent:r%u tenant:shared", "tokens=1", 20, true};
    char key[32];
    for (unsigned i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "agent:r%u", i);
        space_limits(&space, key, "requests 5 per 60s");
    }
    space_limits(&space, "tenant:shared", "requests 40 per 60s");
    rush_run(8, &rush);
    tap_equal(crew_sum(&crew, HELD), 40, "eight agents get their five each");
    tap_equal(space_usage(&space, "tenant:shared").used[TLSHM_REQUESTS], 40, "from a tenant that has just that");
}

int main(int argc, char **argv)
{
    static const struct crew_role roles[] = {{"executed", executed}, {NULL, NULL}};
    crew_take_over(argc, argv, roles);
    tap_begin(300);
    space_open(&space, NULL);
    crew_open(&crew);
    at_a_barrier();
    slow_calls();
    first_touch();
    tap_equal(entries_of("user:new0"), 1, "32 first calls made one entry");
    forked_and_executed();
    settles_from_everywhere();
    refusals_take_nothing();
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
