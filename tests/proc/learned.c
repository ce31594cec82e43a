/* SPDX-License-Identifier: MIT */
/*
 * learned.c - models that several processes learn at once are learned exactly, and whoever is killed while entering or
 * teaching one leaves a table that goes on.
 */
#include "bill.h"
#include "crew.h"
#include "death.h"

#include "models.h"
#include "segment.h"

#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>

#define ERRORS 0 /* line */
#define WORKERS 4
#define CALLS 110 /* of each worker and model: less than an age in all, so that each weighs as much as the last */
#define MODELS 5
#define STORES_MAX 2000 /* more than a call takes */

static struct crew crew;

/* ------------------------------------------------------------------------------------------------------------ at once */

/* Workers ask for the same new models at the same moment, each in another order. */
static int teacher(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    const tlshm_model_usage usage = {.counts = {.input_total = 1, .output_total = 100 + seat->index}};
    tlshm_t *t = space_attach(&bill.space);
    struct ask a;
    char key[32];
    (void)context;
    snprintf(key, sizeof key, "agent:%u", seat->index);
    ask_for(&a, key, NULL);
    crew_wait(seat, 1);
    for (unsigned i = 0; i < CALLS * MODELS; i++) {
        char name[16];
        tlshm_id id;
        snprintf(name, sizeof name, "m%u", (i + seat->index) % MODELS);
        const tlshm_model_call call = bill_call(name, 1, 10);
        int rc = tlshm_model_reserve(t, &a.request, &call, NULL, NULL, &id, NULL, NULL);
        if (rc == TLSHM_OK)
            rc = tlshm_model_settle(t, id, &usage, TLSHM_EXACT, NULL, NULL, NULL);
        line[ERRORS] += rc != TLSHM_OK ? 1 : 0;
    }
    tlshm_detach(t);
    return 0;
}

/* Two that entered a name at the same instant may have a place each (models.h, M3): what counts is that nothing is lost. */
static void at_once(void)
{
    uint64_t learned = 0, calls = 0;
    tlshm_model_info info;
    uint32_t cursor = 0;
    unsigned wrong = 0;
    crew_fork(&crew, WORKERS, teacher, NULL);
    crew_gather(&crew, WORKERS);
    crew_let(&crew, 1);
    tap_equal(crew_join(&crew), 0, "%u workers come to their end", WORKERS);
    tap_equal(crew_sum(&crew, ERRORS), 0, "each of their calls is reserved and settled");
    while (tlshm_model_next(bill.space.t, &cursor, &info) == 1) {
        learned += info.learned;
        calls += info.calls;
        wrong += info.calls != info.learned;
    }
    tap_equal(learned, (uint64_t)WORKERS * CALLS * MODELS, "all are learned, each once");
    tap_equal(calls, learned, "and each weighs what one call weighs");
    tap_equal(wrong, 0, "in every model");
    tap_equal(bill_output("m0", 1000000), tl_models_bucket_end(tl_models_bucket(100 + WORKERS - 1)),
              "the largest is known");
}

/* ------------------------------------------------------------------------------------------------------------- deaths */

struct death {
    const char *model;
    long stores;
};

static int dying(struct crew_seat *seat, void *context)
{
    const struct death *death = context;
    const tlshm_model_call call = bill_call(death->model, 1, 10);
    const tlshm_model_usage usage = {.counts = {.input_total = 1, .output_total = 50}};
    struct ask a;
    tlshm_id id;
    (void)seat;
    ask_for(&a, "agent:a", NULL);
    death_after = death->stores;
    int rc = tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, NULL, &id, NULL, NULL);
    if (rc == TLSHM_OK)
        rc = tlshm_model_settle(bill.space.t, id, &usage, TLSHM_EXACT, NULL, NULL, NULL);
    death_after = -1;
    return rc != TLSHM_OK;
}

/* How many places are not free, whatever they are. */
static unsigned places_taken(void)
{
    unsigned taken = 0;
    for (uint32_t i = 0; i < bill.space.t->map.model_count; i++)
        taken += tl_load(&bill.space.t->map.models[i].state) != 0;
    return taken;
}

/* Each victim dies at the next store of a call by a model of its own. The next one to come has a place for it all the same. */
static void at_every_store(void)
{
    unsigned lost = 0, often = 0, unsound = 0, claims = 0, wasted = 0;
    struct death death = {.model = NULL};
    for (death.stores = 0; death.stores < STORES_MAX; death.stores++) {
        space_open(&bill.space, NULL);
        death.model = "m"; /* a name that has a price */
        crew_fork(&crew, 1, dying, &death);
        bool whole = crew_join(&crew) == 0;
        tlshm_model_info info = bill_model("m");
        often += info.learned > 1;
        bool claimed = info.number == 0 && places_taken() == 1;
        claims += claimed;
        tlshm_reap(bill.space.t, NULL);
        bill_teach("m", 60);
        wasted += claimed && places_taken() != 1;
        lost += bill_model("m").learned != info.learned + 1;
        unsound += tlshm_verify(bill.space.t, NULL, NULL, NULL) != 0;
        space_close(&bill.space);
        if (whole)
            break;
    }
    tap_ok(death.stores < STORES_MAX && death.stores > 20, "killed at each of %ld stores", death.stores);
    tap_ok(claims > 0, "%u of them with a place claimed and not yet filled", claims);
    tap_equal(lost, 0, "the next one learns the same model");
    tap_equal(wasted, 0, "a place that the dead had claimed is claimed anew");
    tap_equal(often, 0, "no call is learned twice");
    tap_equal(unsound, 0, "the segment is sound");
}

int main(void)
{
    tap_begin(300);
    bill_open();
    crew_open(&crew);
    at_once();
    space_close(&bill.space);
    at_every_store();
    space_open(&bill.space, NULL);
    crew_close(&crew);
    bill_close();
    return tap_end();
}
