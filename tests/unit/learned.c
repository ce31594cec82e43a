/* SPDX-License-Identifier: MIT */
/* learned.c - what is learned of models: their names, the outputs of their calls, and the bounds that those give. */
#include "bill.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlshm/stats.h>

#include "models.h"
#include "segment.h"

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#define Q95 950000u

TestSuite(learned, .init = bill_open, .fini = bill_close, .timeout = 120);

/* ------------------------------------------------------------------------------------------------------------ buckets */

Test(learned, a_bucket_ends_at_most_a_sixteenth_above_what_it_counts)
{
    uint64_t top = (UINT64_C(1) << SHM_MODEL_TOP) - 1;
    unsigned last = 0;
    for (uint64_t x = 0; x < top; x += 1 + x / 500) {
        unsigned bucket = tl_models_bucket(x);
        uint64_t end = tl_models_bucket_end(bucket);
        cr_assert_lt(bucket, SHM_MODEL_BUCKETS);
        cr_assert(end >= x && (end - x) * 16 <= x, "%llu is in the bucket up to %llu", (unsigned long long)x,
                  (unsigned long long)end);
        cr_assert(bucket >= last && tl_models_bucket(end) == bucket);
        cr_assert(end == top || tl_models_bucket(end + 1) == bucket + 1);
        last = bucket;
    }
    cr_expect_eq(tl_models_bucket(top), SHM_MODEL_BUCKETS - 1);
    cr_expect_eq(tl_models_bucket_end(SHM_MODEL_BUCKETS - 1), top);
    cr_expect_eq(tl_models_bucket(top + 1), SHM_MODEL_BUCKETS - 1, "what is above counts as the largest");
    cr_expect_eq(tl_models_bucket(UINT64_MAX), SHM_MODEL_BUCKETS - 1);
}

/* ---------------------------------------------------------------------------------------------------------- quantiles */

static uint64_t random_state = 7;

static uint64_t random_output(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t r = random_state >> 33;
    return (r >> 8 & 1023) << (r & 7); /* skewed, as outputs are */
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The rank-th smallest, as a sort finds it, rounded up to the end of its bucket. 0: there are not so many. */
static uint64_t sorted_bound(const uint64_t *outputs, unsigned count, uint32_t ppm)
{
    uint64_t sorted[TL_MODELS_AGE], rank = ((uint64_t)ppm * (count + 1) + 999999) / 1000000;
    memcpy(sorted, outputs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    rank = ppm == 1000000 ? count : rank;
    return rank > count ? 0 : tl_models_bucket_end(tl_models_bucket(sorted[rank - 1]));
}

Test(learned, the_bound_is_that_of_an_exact_sort)
{
    static const uint32_t shares[] = {1, 100000, 500000, 900000, 950000, 990000, 999999, 1000000};
    uint64_t outputs[TL_MODELS_AGE];
    for (unsigned n = 1; n < TL_MODELS_AGE; n++) {
        outputs[n - 1] = 1 + random_output();
        bill_teach("m", outputs[n - 1]);
        for (unsigned i = 0; n % 7 == 1 && i < COUNT_OF(shares); i++)
            cr_assert_eq(bill_output("m", shares[i]), sorted_bound(outputs, n, shares[i]), "%u calls, %u ppm", n,
                         shares[i]);
    }
    cr_expect_eq(bill_model("m").learned, TL_MODELS_AGE - 1);
    cr_expect_eq(bill_model("m").calls, TL_MODELS_AGE - 1);
}

Test(learned, nothing_is_known_before_there_are_calls_enough_for_the_share)
{
    bill_hold("m", 1, 10);
    for (unsigned n = 0; n < 19; n++) {
        cr_expect_eq(bill_output("m", n ? Q95 : 1), 0, "%u calls", n);
        bill_teach("m", 100);
    }
    cr_expect_eq(bill_output("m", Q95), 103);
    cr_expect_eq(bill_output("m", 960000), 0);
}

/* A second reckoning of M5, with all weights in one place. */
struct reckoning {
    uint64_t learned, age[SHM_MODEL_BUCKETS], weight[SHM_MODEL_BUCKETS];
};

static uint64_t halved(const struct reckoning *r, unsigned i, uint64_t age)
{
    uint64_t weight = r->weight[i];
    for (uint64_t a = r->age[i]; a < age && weight; a++)
        weight /= 2;
    return weight;
}

static void reckon(struct reckoning *r, uint64_t output)
{
    unsigned i = tl_models_bucket(output);
    uint64_t age = r->learned++ / TL_MODELS_AGE;
    r->weight[i] = halved(r, i, age) + TL_MODELS_UNIT;
    r->age[i] = age;
}

static uint64_t reckoned(const struct reckoning *r, uint32_t ppm)
{
    uint64_t sum = 0, met = 0;
    for (unsigned i = 0; i < SHM_MODEL_BUCKETS; i++)
        sum += halved(r, i, r->learned / TL_MODELS_AGE);
    for (unsigned i = 0; i < SHM_MODEL_BUCKETS; i++) {
        met += halved(r, i, r->learned / TL_MODELS_AGE);
        if (met * 1000000 >= ppm * (sum + TL_MODELS_UNIT))
            return tl_models_bucket_end(i);
    }
    return 0;
}

Test(learned, old_calls_count_half_for_every_age)
{
    static struct reckoning r;
    for (unsigned n = 0; n < 7 * TL_MODELS_AGE; n++) {
        uint64_t output = 1 + (n < 2000 ? random_output() : random_output() / 16);
        bill_teach("m", output);
        reckon(&r, output);
        if (n % 61 == 0)
            cr_assert_eq(bill_output("m", Q95), reckoned(&r, Q95), "after %u calls", n + 1);
    }
    tlshm_model_info info = bill_model("m");
    cr_expect_eq(info.learned, 7 * TL_MODELS_AGE);
    cr_expect_leq(info.calls, TL_MODELS_AGE);
}

Test(learned, a_model_that_changes_is_followed)
{
    for (unsigned n = 0; n < 4 * TL_MODELS_AGE; n++)
        bill_teach("m", 5000);
    cr_expect_gt(bill_output("m", Q95), 4999);
    for (unsigned n = 0; n < 5 * TL_MODELS_AGE; n++)
        bill_teach("m", 50);
    cr_expect_lt(bill_output("m", Q95), 100, "what was learned long ago fades");
}

/* --------------------------------------------------------------------------------------------------- what is learned */

Test(learned, a_call_is_learned_once_whoever_settles_it)
{
    tlshm_id id = bill_hold("m", 10, 100);
    cr_expect_eq(bill_settle(id, 10, 50, TLSHM_EXACT), TLSHM_OK);
    cr_expect_eq(bill_settle(id, 10, 50, TLSHM_EXACT), TLSHM_REPLAY);
    cr_expect_eq(bill_settle(id, 10, 60, TLSHM_AT_LEAST), TLSHM_REPLAY);
    cr_expect_eq(bill_model("m").learned, 1);
    tlshm_amounts plain = amounts_of("tokens=60 input_tokens=10 output_tokens=50");
    id = bill_hold("m", 10, 100);
    cr_expect_eq(tlshm_settle(bill.space.t, id, &plain, TLSHM_EXACT, NULL), TLSHM_OK);
    cr_expect_eq(bill_model("m").learned, 2, "a settle with amounts tells of the output too");
    cr_expect_eq(tlshm_settle(bill.space.t, id, &plain, TLSHM_EXACT, NULL), TLSHM_REPLAY);
    cr_expect_eq(bill_model("m").learned, 2);
    id = bill_hold("m", 10, 100);
    space_at(&bill.space, SEC(400));
    cr_expect_eq(bill_settle(id, 10, 50, TLSHM_EXACT), TLSHM_LATE);
    cr_expect_eq(bill_model("m").learned, 3, "a late settle is a settle");
}

Test(learned, what_is_not_known_exactly_is_not_learned)
{
    tlshm_amounts tokens = amounts_of("tokens=60");
    cr_expect_eq(bill_settle(bill_hold("m", 10, 100), 10, 50, TLSHM_AT_LEAST), TLSHM_OK);
    cr_expect_eq(
        tlshm_model_settle(bill.space.t, bill_hold("m", 10, 100), NULL, TLSHM_UNKNOWN, bill.prices, NULL, NULL),
        TLSHM_OK);
    cr_expect_eq(tlshm_refund(bill.space.t, bill_hold("m", 10, 100), NULL), TLSHM_OK);
    cr_expect_eq(tlshm_settle(bill.space.t, bill_hold("m", 10, 100), &tokens, TLSHM_EXACT, NULL), TLSHM_OK);
    bill_hold("m", 10, 100);
    space_at(&bill.space, SEC(400));
    cr_expect_eq(tlshm_reap(bill.space.t, NULL), 0);
    cr_expect_eq(bill_model("m").learned, 0);
}

Test(learned, names_are_told_apart_by_provider_and_not_by_case)
{
    tlshm_model_call call = bill_call("M", 1, 10), other = bill_call("m", 1, 10);
    tlshm_id id;
    tlshm_reservation_info info;
    other.provider = "Q";
    bill_hold("m", 1, 10);
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), TLSHM_OK);
    cr_expect_eq(tlshm_reservation(bill.space.t, id, &info), 0);
    cr_expect_eq(info.model, bill_model("m").number);
    cr_expect_eq(bill_reserve("agent:a", &other, NULL, &id), TLSHM_OK);
    cr_expect_eq(tlshm_reservation(bill.space.t, id, &info), 0);
    tlshm_model_info model;
    cr_expect_eq(tlshm_model_get(bill.space.t, info.model, &model), 0);
    cr_expect_str_eq(model.model, "m");
    cr_expect_str_eq(model.provider, "q");
    cr_expect_neq(model.number, bill_model("gratis").number);
}

static tlshm_id hold_numbered(unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "model-%u", number);
    return bill_hold(name, 1, 10);
}

Test(learned, a_full_table_loses_no_call)
{
    tlshm_reservation_info info;
    cr_assert_eq(tlshm_prices_override(bill.prices, NULL, "input $1 output $1", NULL), 0);
    for (unsigned i = 0; i < 200; i++)
        hold_numbered(i);
    cr_expect_leq(bill_models(bill.space.t), BILL_MODELS);
    cr_expect_gt(bill_models(bill.space.t), 32);
    tlshm_id id = hold_numbered(1000);
    cr_expect_eq(tlshm_reservation(bill.space.t, id, &info), 0);
    cr_expect_eq(info.model, 0);
    cr_expect_eq(info.estimate.of[TLSHM_OUTPUT_TOKENS], 10);
    cr_expect_eq(bill_settle(id, 1, 7, TLSHM_EXACT), TLSHM_OK);
    tlshm_model_usage usage = {.counts = {.input_total = 10, .output_total = 10}, .model = "m"};
    cr_expect_eq(tlshm_model_settle(bill.space.t, hold_numbered(1001), &usage, TLSHM_EXACT, bill.prices, &bill.result,
                                    &bill.cost),
                 TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 180000, "without a place the answer's own name is priced");
    cr_expect_eq(tlshm_verify(bill.space.t, NULL, NULL, NULL), 0);
}

Test(learned, names_that_prices_do_not_have_cannot_fill_the_table)
{
    for (unsigned i = 0; i < 5; i++)
        hold_numbered(i);
    cr_expect_eq(bill_models(bill.space.t), 0);
    bill_hold("m", 1, 10);
    cr_expect_eq(bill_models(bill.space.t), 1);
}

Test(learned, names_of_all_lengths)
{
    char name[300] = "", provider[300] = "";
    tlshm_model_call call = bill_call(name, 1, 10);
    tlshm_id id;
    cr_assert_eq(tlshm_prices_override(bill.prices, NULL, "input $1 output $1", NULL), 0);
    memset(name, 'x', sizeof name);
    memset(provider, 'y', sizeof provider);
    name[255] = '\0';
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), TLSHM_OK);
    cr_expect_str_eq(bill_model(name).model, name);
    name[255] = 'x';
    name[256] = '\0';
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), -TLSHM_EINVAL);
    name[200] = provider[55] = '\0';
    call.provider = provider;
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), TLSHM_OK);
    cr_expect_str_eq(bill_model(name).provider, provider);
    name[200] = 'x';
    name[201] = '\0';
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), -TLSHM_EINVAL);
    name[0] = '\0';
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), -TLSHM_EINVAL);
}

/* ------------------------------------------------------------------------------------------------------------ garbage */

Test(learned, a_corrupt_entry_is_refused_and_loses_no_call)
{
    tlshm_id id = bill_hold("m", 10, 100);
    uint32_t number = bill_model("m").number, cursor = number - 1;
    struct shm_model *m = &bill.space.t->map.models[number - 1];
    tlshm_model_info info;
    uint64_t output;
    m->name[0] ^= UINT64_C(1) << 17;
    cr_expect_eq(tlshm_model_get(bill.space.t, number, &info), -TLSHM_ECORRUPT);
    cr_expect_eq(tlshm_model_next(bill.space.t, &cursor, &info), -TLSHM_ECORRUPT);
    cr_expect_eq(tlshm_model_next(bill.space.t, &cursor, &info), 0);
    cr_expect_eq(tlshm_model_output(bill.space.t, number, Q95, &output), -TLSHM_ENOENT);
    cr_expect_eq(tlshm_verify(bill.space.t, NULL, NULL, NULL), 1);
    cr_expect_eq(bill_settle(id, 10, 20, TLSHM_EXACT), TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 10 * 3000 + 100 * 15000,
                 "whose price it was is not known: the estimate");
    m->name[0] ^= UINT64_C(1) << 17;
    cr_expect_eq(tlshm_verify(bill.space.t, NULL, NULL, NULL), 0);
    m->state = 3;
    cr_expect_eq(tlshm_verify(bill.space.t, NULL, NULL, NULL), 1);
}

Test(learned, words_from_the_future_weigh_nothing)
{
    for (unsigned n = 0; n < 40; n++)
        bill_teach("m", 100);
    struct shm_model *m = &bill.space.t->map.models[bill_model("m").number - 1];
    m->bucket[tl_models_bucket(9000)] = UINT64_C(7) << 32 | UINT32_MAX;
    cr_expect_eq(bill_output("m", Q95), 103);
    m->bucket[tl_models_bucket(100)] = UINT64_C(7) << 32 | UINT32_MAX;
    bill_teach("m", 100);
    cr_expect_eq(bill_model("m").calls, 1, "garbage is written over");
    memset((void *)(uintptr_t)m->bucket, 0xff, sizeof m->bucket);
    cr_expect_eq(bill_output("m", Q95), 0);
    m->learned = UINT64_MAX;
    cr_expect_leq(bill_output("m", Q95), TLSHM_AMOUNT_MAX);
    bill_teach("m", 100);
}
