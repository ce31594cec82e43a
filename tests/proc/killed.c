/* SPDX-License-Identifier: MIT */
/*
 * killed.c - workers die with holds in their hands, or in the middle of a call: after the deadlines nothing is held, what
 * was settled is charged once, and nobody else noticed.
 */
#include "crew.h"
#include "space.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tlshm/stats.h>
#include <unistd.h>

#define CHARGED 0  /* line: settled, as far as the worker got to note it */
#define INTENDED 1 /* line: the amount of the settle under way, 0 when none */
#define PENDING 2  /* line: the id of that settle */
#define ADMITTED 3

static struct space space;
static struct crew crew;

static void nap_us(unsigned us)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000L * (long)us}, NULL);
}

/* Takes holds and waits to be killed. */
static int hoarder(struct crew_seat *seat, void *context)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_t *t = space_attach(&space);
    ask_for(&a, "tenant:hoard", "tokens=5");
    a.request.ttl_ns = SEC(60);
    for (unsigned i = 0; i < 10; i++)
        seat->board->lines[seat->index].of[ADMITTED] += tlshm_reserve(t, &a.request, &id, NULL) == TLSHM_OK ? 1 : 0;
    (void)context;
    crew_wait(seat, 1);
    pause();
    return 0;
}

static void holders_die(void)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_refusal why;
    space_at(&space, 0);
    space_limits(&space, "tenant:hoard", "concurrency 100");
    crew_fork(&crew, 10, hoarder, NULL);
    crew_gather(&crew, 10);
    tap_equal(crew_sum(&crew, ADMITTED), 100, "ten workers hold a hundred slots");
    for (unsigned i = 0; i < 10; i++)
        crew_kill(&crew, i);
    crew_let(&crew, 1);
    tap_equal(crew_join(&crew), 10, "all of them are killed");
    tap_equal((unsigned)tlshm_reserve(space.t, ask_for(&a, "tenant:hoard", "tokens=1"), &id, &why), TLSHM_REFUSED,
              "their holds keep their deadline");
    tap_equal(why.retry_after_ns, SEC(60), "and the refusal knows it");
    space_at(&space, SEC(60));
    unsigned admitted = 0;
    for (unsigned i = 0; i < 101; i++)
        admitted += tlshm_reserve(space.t, ask_for(&a, "tenant:hoard", "tokens=1"), &id, NULL) == TLSHM_OK ? 1 : 0;
    tap_equal(admitted, 100, "the full capacity is back at the deadline");
}

/* Reserves and settles until it is killed; three in ten are abandoned. Notes each settle before and after it. */
static int churner(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    struct ask a;
    tlshm_t *t = space_attach(&space);
    char scopes[64];
    unsigned random = (unsigned)getpid();
    (void)context;
    snprintf(scopes, sizeof scopes, "agent:c%u tenant:churn", seat->index % 3);
    ask_for(&a, scopes, "tokens=10");
    a.request.ttl_ns = SEC(30);
    crew_wait(seat, 1);
    for (;;) {
        tlshm_id id = 0;
        random = random * 1103515245 + 12345;
        tlshm_amounts actual = {{1 + random / 65536 % 9}};
        int rc = tlshm_reserve(t, &a.request, &id, NULL);
        if (rc < 0)
            return 1;
        if (rc == TLSHM_REFUSED || random / 65536 % 10 < 3) /* refused: the table is full of what the dead hold */
            continue;
        line[PENDING] = id;
        atomic_signal_fence(memory_order_seq_cst);
        line[INTENDED] = actual.of[TLSHM_TOKENS];
        atomic_signal_fence(memory_order_seq_cst);
        if (tlshm_settle(t, id, &actual, TLSHM_EXACT, NULL) != TLSHM_OK)
            return 1;
        atomic_signal_fence(memory_order_seq_cst);
        line[CHARGED] += actual.of[TLSHM_TOKENS];
        atomic_signal_fence(memory_order_seq_cst);
        line[INTENDED] = 0;
    }
}

/*
 * What a killed worker charged. A death between two notes leaves a settle in doubt: its reservation tells whether it
 * happened, and the note of the sum whether it was counted there already, which the total must then confirm.
 */
static void settle_doubts(uint64_t *least, uint64_t *most)
{
    for (unsigned w = 0; w < 6; w++) {
        uint64_t *line = crew.board->lines[w].of;
        tlshm_reservation_info info;
        *least += line[CHARGED];
        *most += line[CHARGED];
        bool readable = tlshm_reservation(space.t, line[PENDING], &info) == 0;
        *most += readable && info.status != TLSHM_SETTLED ? 0 : line[INTENDED];
    }
}

static void churners_die(unsigned rounds)
{
    uint64_t least = 0, most = 0, now = SEC(100);
    unsigned unexpected = 0, faults = 0, leaks = 0;
    for (unsigned round = 0; round < rounds; round++) {
        memset(crew.board->lines, 0, sizeof crew.board->lines);
        space_at(&space, now);
        crew_fork(&crew, 6, churner, NULL);
        crew_gather(&crew, 6);
        crew_let(&crew, 1);
        for (unsigned i = 0; i < 6; i++) {
            nap_us(200 + (unsigned)rand() % 3000);
            crew_kill(&crew, i);
        }
        crew_join(&crew);
        unexpected += crew.killed != 6 ? 1 : 0;
        tlshm_reap(space.t, NULL); /* an operation that was published is finished, by whoever meets it first */
        settle_doubts(&least, &most);
        now += SEC(30);
        space_at(&space, now);
        tlshm_reap(space.t, NULL);
        leaks += space_usage(&space, "tenant:churn").held[TLSHM_TOKENS] != 0 ? 1 : 0;
        faults += tlshm_verify(space.t, NULL, NULL, NULL) != 0 ? 1 : 0;
    }
    uint64_t used = space_usage(&space, "tenant:churn").used[TLSHM_TOKENS], agents = 0;
    for (unsigned i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:c%u", i);
        agents += space_usage(&space, key).used[TLSHM_TOKENS];
    }
    tap_equal(unexpected, 0, "workers end by being killed alone");
    tap_equal(leaks, 0, "nothing is held after the deadlines");
    tap_equal(faults, 0, "the segment is sound after every round");
    tap_ok(used >= least && used <= most && most != 0, "charged %llu: what was settled, once (%llu to %llu)",
           (unsigned long long)used, (unsigned long long)least, (unsigned long long)most);
    tap_equal(agents, used, "the agents' sum is the tenant's");
}

/* Dies between the answer of its reserve and any use of it; the next one takes over. */
static int quitter(struct crew_seat *seat, void *context)
{
    struct ask a;
    tlshm_id id = 0;
    (void)seat;
    (void)context;
    ask_for(&a, "tenant:quit", "tokens=1");
    a.request.ttl_ns = SEC(5);
    if (tlshm_reserve(space.t, &a.request, &id, NULL) == TLSHM_OK)
        kill(getpid(), SIGKILL);
    return 0;
}

static void quitters(void)
{
    space_at(&space, HOUR(10));
    space_limits(&space, "tenant:quit", "concurrency 40");
    for (unsigned i = 0; i < 40; i++) {
        crew_fork(&crew, 1, quitter, NULL);
        crew_join(&crew);
        MUST(crew.killed == 1, "a quitter was not admitted");
    }
    tap_equal(space_usage(&space, "tenant:quit").held[TLSHM_CONCURRENCY], 40, "forty deaths leave forty holds");
    space_at(&space, HOUR(10) + SEC(5));
    tap_equal(space_usage(&space, "tenant:quit").held[TLSHM_CONCURRENCY], 0, "until their deadline");
}

/* An owner's death frees its hold at once when it asked for that. */
static int freed_on_death(struct crew_seat *seat, void *context)
{
    struct ask a;
    tlshm_t *t = space_attach(&space);
    ask_for(&a, "tenant:tied", "tokens=7");
    a.request.flags = *(const uint32_t *)context;
    tlshm_id id = 0;
    if (tlshm_reserve(t, &a.request, &id, NULL) != TLSHM_OK)
        return 1;
    crew_wait(seat, 1);
    kill(getpid(), SIGKILL);
    return 1;
}

static void death_frees_what_is_tied_to_it(void)
{
    uint32_t flags[2] = {TLSHM_FREE_ON_DEATH, 0};
    crew_fork(&crew, 1, freed_on_death, &flags[0]);
    crew_fork(&crew, 1, freed_on_death, &flags[1]);
    crew_gather(&crew, 2);
    tlshm_reap(space.t, NULL);
    tap_equal(space_usage(&space, "tenant:tied").held[TLSHM_TOKENS], 14, "the living keep their holds");
    crew_let(&crew, 1);
    crew_join(&crew);
    tap_equal(crew.killed, 2, "two owners die");
    tlshm_reap(space.t, NULL);
    tap_equal(space_usage(&space, "tenant:tied").held[TLSHM_TOKENS], 7, "of the dead the one stays that was not tied");
}

/* Seats of the dead come back: far more deaths than seats. */
static void seats_of_the_dead(void)
{
    tlshm_segment_info info;
    MUST(tlshm_get_segment(space.t, &info) == 0, "segment");
    tap_ok(info.seats_taken <= 2, "after all deaths %u seats are taken", info.seats_taken);
}

int main(void)
{
    tlshm_geometry g = space_geometry();
    tap_begin(300);
    g.reservations = 65536;
    space_open(&space, &g);
    crew_open(&crew);
    srand(5);
    holders_die();
    churners_die(15);
    quitters();
    death_frees_what_is_tied_to_it();
    seats_of_the_dead();
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
