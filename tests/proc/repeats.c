/* SPDX-License-Identifier: MIT */
/* repeats.c - the same call from several processes at once happens once, and each of them hears the same answer. */
#include "crew.h"
#include "space.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>

#define ROUNDS 300
#define WORKERS 4

static struct space space;
static struct crew crew;

/* What each worker heard, by round. Written by the workers, each in a column of its own. */
struct heard {
    int rc[WORKERS][ROUNDS];
    tlshm_id id[WORKERS][ROUNDS];
    uint64_t charged[WORKERS][ROUNDS];
};

/* One gate a round keeps the workers together, so that their calls meet. */
static void together(struct crew_seat *seat, unsigned round)
{
    _Atomic uint64_t *arrived = &seat->board->shared[0];
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < (uint64_t)(round + 1) * WORKERS)
        sched_yield();
}

static int same_key(struct crew_seat *seat, void *context)
{
    struct heard *heard = context;
    tlshm_t *t = space_attach(&space);
    crew_wait(seat, 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        char key[32];
        struct ask a;
        snprintf(key, sizeof key, "call %u", round);
        ask_for(&a, "agent:same tenant:t", "tokens=5");
        a.request.idempotency_key = key;
        a.request.idempotency_len = strlen(key);
        together(seat, round);
        heard->rc[seat->index][round] = tlshm_reserve(t, &a.request, &heard->id[seat->index][round], NULL);
    }
    return 0;
}

static int same_settle(struct crew_seat *seat, void *context)
{
    struct heard *heard = context;
    tlshm_result result = {.status = TLSHM_HELD};
    crew_wait(seat, 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        tlshm_amounts actual = {{1 + seat->index}};
        together(seat, round);
        heard->rc[seat->index][round] = tlshm_settle(space.t, heard->id[0][round], &actual, TLSHM_EXACT, &result);
        heard->charged[seat->index][round] = result.charged.of[TLSHM_TOKENS];
    }
    return 0;
}

/* Two settle and two refund: one of the four ends it. */
static int settle_or_refund(struct crew_seat *seat, void *context)
{
    struct heard *heard = context;
    tlshm_result result = {.status = TLSHM_HELD};
    crew_wait(seat, 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        tlshm_amounts actual = {{3}};
        together(seat, round);
        heard->rc[seat->index][round] = seat->index % 2 == 0
                                            ? tlshm_settle(space.t, heard->id[0][round], &actual, TLSHM_EXACT, &result)
                                            : tlshm_refund(space.t, heard->id[0][round], &result);
        heard->charged[seat->index][round] = result.charged.of[TLSHM_TOKENS];
    }
    return 0;
}

static void run(crew_work *work, struct heard *heard)
{
    atomic_store(&crew.board->shared[0], 0);
    crew_fork(&crew, WORKERS, work, heard);
    crew_gather(&crew, WORKERS);
    crew_let(&crew, 1);
    MUST(crew_join(&crew) == 0, "a worker failed");
}

static uint64_t charged_sum(const struct heard *heard)
{
    uint64_t sum = 0;
    for (unsigned round = 0; round < ROUNDS; round++)
        sum += heard->charged[0][round];
    return sum;
}

static unsigned count(const struct heard *heard, unsigned round, int rc)
{
    unsigned n = 0;
    for (unsigned w = 0; w < WORKERS; w++)
        n += heard->rc[w][round] == rc ? 1 : 0;
    return n;
}

static bool all_equal(const uint64_t (*of)[ROUNDS], unsigned round)
{
    for (unsigned w = 1; w < WORKERS; w++)
        if (of[w][round] != of[0][round])
            return false;
    return true;
}

static void check_once(const struct heard *heard, const uint64_t (*answers)[ROUNDS], const char *what)
{
    unsigned wrong = 0, differ = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned w = 0; w < WORKERS; w++)
            if (heard->rc[w][round] < 0)
                printf("# round %u, worker %u: %s\n", round, w, tlshm_error_name(heard->rc[w][round]));
        wrong += count(heard, round, TLSHM_OK) != 1 || count(heard, round, TLSHM_REPLAY) != WORKERS - 1 ? 1 : 0;
        differ += all_equal(answers, round) ? 0 : 1;
    }
    tap_equal(wrong, 0, "%s: one does it, the others repeat it", what);
    tap_equal(differ, 0, "%s: all hear the same answer", what);
}

/* One hold a round, each the only one of its agent: whoever comes second finds nothing held there any more. */
static void reserve_rounds(struct heard *heard, const char *name)
{
    struct ask a;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char key[32];
        snprintf(key, sizeof key, "agent:%s%u", name, round);
        MUST(tlshm_reserve(space.t, ask_for(&a, key, "tokens=5"), &heard->id[0][round], NULL) == TLSHM_OK, "reserve");
    }
}

static uint64_t used_by_all(const char *name)
{
    uint64_t sum = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char key[32];
        snprintf(key, sizeof key, "agent:%s%u", name, round);
        tlshm_scope_usage usage = space_usage(&space, key);
        MUST(usage.held[TLSHM_TOKENS] == 0, "%s is still held", key);
        sum += usage.used[TLSHM_TOKENS];
    }
    return sum;
}

static void one_key(struct heard *heard)
{
    run(same_key, heard);
    check_once(heard, (const uint64_t(*)[ROUNDS])heard->id, "one idempotency key from four processes");
    tap_equal(space_usage(&space, "agent:same").held[TLSHM_TOKENS], 5 * ROUNDS, "each key is held once");
    tap_equal(space_usage(&space, "agent:same").used[TLSHM_REQUESTS], ROUNDS, "and is one request");
}

static void one_settle(struct heard *heard)
{
    run(same_settle, heard);
    check_once(heard, (const uint64_t(*)[ROUNDS])heard->charged, "one settle from four processes");
    tap_equal(space_usage(&space, "agent:same").used[TLSHM_TOKENS], charged_sum(heard), "charged once each");
    tap_equal(space_usage(&space, "agent:same").held[TLSHM_TOKENS], 0, "released once each");
}

static void one_end(struct heard *heard, crew_work *work, const char *name, const char *what)
{
    reserve_rounds(heard, name);
    run(work, heard);
    check_once(heard, (const uint64_t(*)[ROUNDS])heard->charged, what);
    tap_equal(used_by_all(name), charged_sum(heard), "%s: charged is what the first one charged", what);
}

int main(void)
{
    struct heard *heard = crew_share(sizeof *heard);
    tlshm_geometry g = space_geometry();
    g.scopes = 4 * ROUNDS;
    g.reservations = 8 * ROUNDS;
    tap_begin(300);
    space_open(&space, &g);
    crew_open(&crew);
    one_key(heard);
    one_settle(heard);
    one_end(heard, same_settle, "settled", "settles of the only hold");
    one_end(heard, settle_or_refund, "either", "settle against refund of the only hold");
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
