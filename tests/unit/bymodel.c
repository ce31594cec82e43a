/* SPDX-License-Identifier: MIT */
/* bymodel.c - reserving and settling by model: what a call costs, repeats, and wrong arguments. */
#include "bill.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#define Q95 950000u

TestSuite(bymodel, .init = bill_open, .fini = bill_close, .timeout = 120);

/* -------------------------------------------------------------------------------------------------------------- money */

Test(bymodel, a_settle_is_priced_like_its_reserve)
{
    tlshm_model_call call = bill_call("m", 1000, 100);
    tlshm_model_usage usage = {.counts = {.input_total = 1000, .cache_read = 400, .output_total = 50},
                               .model = "gratis"};
    tlshm_reservation_info info;
    tlshm_id id;
    call.counts.cache_read = 500;
    call.counts.tool_calls = 3;
    call.service = TLSHM_SERVICE_BATCH;
    call.provider = "p";
    cr_assert_eq(bill_reserve("agent:a", &call, NULL, &id), TLSHM_OK);
    cr_expect_eq(bill.guess.amounts.of[TLSHM_COST], 500 * 1500 + 500 * 300 + 100 * 7500);
    cr_expect_eq(tlshm_reservation(bill.space.t, id, &info), 0);
    cr_expect_eq(info.service, TLSHM_SERVICE_BATCH);
    cr_expect_eq(info.estimate.of[TLSHM_TOOL_CALLS], 3);
    cr_expect_eq(info.estimate.of[TLSHM_COST], bill.guess.amounts.of[TLSHM_COST]);
    cr_expect_eq(tlshm_model_settle(bill.space.t, id, &usage, TLSHM_EXACT, bill.prices, &bill.result, &bill.cost),
                 TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 600 * 1500 + 400 * 300 + 50 * 7500,
                 "not the price of what the answer says");
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], bill.cost.nusd);
    cr_expect_eq(bill.result.charged.of[TLSHM_TOKENS], 1050);
    cr_expect_eq(space_usage(&bill.space, "agent:a").used[TLSHM_OUTPUT_TOKENS], 50);
}

Test(bymodel, the_model_stays_when_a_hold_is_extended)
{
    tlshm_id id = bill_hold("m", 10, 100);
    tlshm_amounts more = amounts_of("tokens=5 output_tokens=5");
    tlshm_reservation_info info;
    cr_expect_eq(tlshm_extend(bill.space.t, id, &more, 0, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_reservation(bill.space.t, id, &info), 0);
    cr_expect_eq(info.model, bill_model("m").number);
    cr_expect_eq(bill_settle(id, 10, 105, TLSHM_EXACT), TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 10 * 3000 + 105 * 15000);
    cr_expect_eq(bill_model("m").learned, 1);
    cr_expect_eq(tlshm_reservation(bill.space.t, id, &info), 0);
    cr_expect_eq(info.model, bill_model("m").number, "and when it has ended");
}

/* A hold without a model next to ones that have one never takes theirs over. */
Test(bymodel, a_record_used_again_has_no_model_of_the_former)
{
    tlshm_reservation_info info;
    for (unsigned i = 0; i < 200; i++) {
        struct ask a;
        tlshm_id id;
        cr_assert_eq(bill_settle(bill_hold("m", 1, 2), 1, 2, TLSHM_EXACT), TLSHM_OK);
        ask_for(&a, "agent:a tenant:t", i % 2 ? "tokens=3 input_tokens=2" : "tokens=3");
        cr_assert_eq(tlshm_reserve(bill.space.t, &a.request, &id, NULL), TLSHM_OK);
        tlshm_amounts wide = amounts_of("tokens=9 output_tokens=9");
        cr_assert_eq(tlshm_extend(bill.space.t, id, &wide, 0, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_reservation(bill.space.t, id, &info), 0);
        cr_assert_eq(info.model, 0, "hold %u", i);
        cr_assert_eq(tlshm_settle(bill.space.t, id, &wide, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    cr_expect_eq(bill_model("m").learned, 200);
}

/* Five calls of 10,000 tokens, of which 8,000 come from the cache, where 10,000 are allowed. */
Test(bymodel, cached_tokens_count_as_much_as_is_said)
{
    tlshm_model_call call = bill_call("m", 9900, 100);
    tlshm_model_usage usage = {.counts = {.input_total = 9900, .cache_read = 8000, .output_total = 100}};
    const tlshm_bounds free = {.cached_discount_ppm = 1000000}, part = {.cached_discount_ppm = 333333};
    tlshm_id id = 0;
    call.counts.cache_read = 8000;
    space_limits(&bill.space, "tenant:t", "tokens 10000 per 1h");
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_eq(bill_reserve("agent:a tenant:t", &call, &free, &id), TLSHM_OK, "call %u", i);
        cr_expect_eq(bill.guess.amounts.of[TLSHM_TOKENS], 2000);
        cr_expect_eq(bill.guess.amounts.of[TLSHM_INPUT_TOKENS], 9900);
        cr_expect_eq(bill.guess.amounts.of[TLSHM_COST], 1900 * 3000 + 8000 * 300 + 100 * 15000);
        cr_assert_eq(tlshm_model_settle(bill.space.t, id, &usage, TLSHM_EXACT, bill.prices, &bill.result, NULL),
                     TLSHM_OK);
        cr_expect_eq(bill.result.charged.of[TLSHM_TOKENS], 2000);
        cr_expect_eq(bill.result.charged.of[TLSHM_INPUT_TOKENS], 9900);
    }
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, &free, &id), TLSHM_REFUSED);
    space_limits(&bill.space, "tenant:t", "tokens 100000 per 1h");
    usage.others = (tlshm_counts){.input_total = 10, .cache_read = 4};
    cr_assert_eq(bill_reserve("agent:a tenant:t", &call, &part, &id), TLSHM_OK);
    cr_expect_eq(bill.guess.amounts.of[TLSHM_TOKENS], 10000 - 2666, "rounded up");
    cr_assert_eq(tlshm_model_settle(bill.space.t, id, &usage, TLSHM_EXACT, NULL, &bill.result, NULL), TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_TOKENS], 10000 - 2666 + 10 - 1);
    call.max_output = 0;
    space_limits(&bill.space, "tenant:t", "tokens 12000 lifetime");
    cr_assert_eq(tlshm_model_guess(bill.space.t, &(tlshm_scope){.key = "tenant:t"}, 1, &call, &free, NULL, &bill.guess),
                 0);
    cr_expect_eq(bill.guess.output, 4096, "what is free leaves room for the output: %llu",
                 (unsigned long long)bill.guess.output);
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, &(tlshm_bounds){.cached_discount_ppm = 1000001}, &id),
                 -TLSHM_EINVAL);
}

/* The word that has it has the model and the service as well. */
Test(bymodel, a_discount_stays_when_a_hold_is_extended_and_has_no_model)
{
    tlshm_model_call call = bill_call("nobody-knows", 100, 10);
    tlshm_model_usage usage = {.counts = {.input_total = 100, .cache_read = 50, .output_total = 10}};
    tlshm_reservation_info info;
    tlshm_id id = 0;
    call.service = TLSHM_SERVICE_BATCH;
    for (unsigned i = 0; i < 2; i++) {
        call.model = i ? "m" : "nobody-knows";
        cr_assert_eq(bill_reserve("agent:a", &call, &(tlshm_bounds){.cached_discount_ppm = 1000000}, &id), TLSHM_OK);
        tlshm_amounts more = amounts_of("tokens=5");
        cr_assert_eq(tlshm_extend(bill.space.t, id, &more, 0, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_reservation(bill.space.t, id, &info), 0);
        cr_expect_eq(info.cached_discount_ppm, 1000000);
        cr_expect_eq(info.model != 0, i == 1);
        cr_expect_eq(info.service, i ? TLSHM_SERVICE_BATCH : 0);
        cr_assert_eq(tlshm_model_settle(bill.space.t, id, &usage, TLSHM_EXACT, bill.prices, &bill.result, NULL),
                     TLSHM_OK);
        cr_expect_eq(bill.result.charged.of[TLSHM_TOKENS], 60);
    }
    cr_assert_eq(tlshm_reservation(bill.space.t, bill_hold("m", 1, 1), &info), 0);
    cr_expect_eq(info.cached_discount_ppm, 0);
}

Test(bymodel, an_unknown_model_is_never_free)
{
    tlshm_model_call call = bill_call("nobody-knows", 10, 100);
    tlshm_id id = 0;
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_OK, "cost is not limited");
    cr_expect(!bill.guess.priced && bill.guess.lack == TLSHM_LACKS_MODEL);
    space_limits(&bill.space, "tenant:t", "cost $5 per day; tokens 1 per 1h");
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_UNKNOWN_MODEL);
    cr_expect_str_eq(bill.why.key, "tenant:t");
    cr_expect_eq(bill.why.scope, 1);
    cr_expect_eq(bill.why.retry_after_ns, TLSHM_NEVER);
    space_limits(&bill.space, "tenant:t", "cost unlimited per day");
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_OK);
    space_limits(&bill.space, "agent:a", "cost $1 per request");
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_UNKNOWN_MODEL);
    tlshm_pause(bill.space.t, 1);
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_PAUSED);
    tlshm_pause(bill.space.t, 0);
    cr_expect_eq(tlshm_prices_override(bill.prices, NULL, "input $1 output $1", NULL), 0);
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_OK, "a default price is one");
    cr_expect_eq(bill.guess.amounts.of[TLSHM_COST], 110000);
    call = bill_call("gratis", 10, 100);
    cr_expect_eq(bill_reserve("agent:a tenant:t", &call, NULL, &id), TLSHM_OK, "and so is 0");
    cr_expect(bill.guess.priced);
}

/* It looks like any plain request, and right after one: the common way (straight.c) would ask for no price. */
Test(bymodel, an_unknown_model_is_never_free_for_a_mere_request_either)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_model_call call = bill_call("nobody-knows", 0, TLSHM_OUTPUT_NONE);
    space_limits(&bill.space, "tenant:t", "cost $5 per day");
    ask_for(&a, "agent:a tenant:t", "requests=1");
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(tlshm_reserve(bill.space.t, &a.request, &id, NULL), TLSHM_OK);
        cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &id, NULL, NULL),
                     TLSHM_REFUSED);
    }
    cr_expect_eq(space_usage(&bill.space, "tenant:t").used[TLSHM_REQUESTS], 3);
}

Test(bymodel, without_a_price_a_settle_charges_what_was_held)
{
    tlshm_id id = bill_hold("m", 10, 100);
    tlshm_model_usage usage = {.counts = {.input_total = 10, .output_total = 20}};
    cr_expect_eq(tlshm_model_settle(bill.space.t, id, &usage, TLSHM_EXACT, NULL, &bill.result, &bill.cost), TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 10 * 3000 + 100 * 15000);
    cr_expect_eq(bill.cost.lack, TLSHM_LACKS_NOTHING);
    usage.has_cost = 1;
    usage.cost_nusd = 777;
    cr_expect_eq(
        tlshm_model_settle(bill.space.t, bill_hold("m", 10, 100), &usage, TLSHM_EXACT, NULL, &bill.result, NULL),
        TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 777, "what the provider says is better");
    cr_expect_eq(
        tlshm_model_settle(bill.space.t, bill_hold("m", 10, 100), &usage, TLSHM_EXACT, bill.prices, &bill.result, NULL),
        TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 10 * 3000 + 20 * 15000, "and the price is better still");
}

Test(bymodel, advice_of_another_model_is_priced_as_its_own)
{
    tlshm_model_usage usage = {.counts = {.input_total = 10, .output_total = 20},
                               .others = {.input_total = 100, .output_total = 200},
                               .other_model = "gratis"};
    cr_expect_eq(tlshm_model_settle(bill.space.t, bill_hold("m", 10, 100), &usage, TLSHM_EXACT, bill.prices,
                                    &bill.result, &bill.cost),
                 TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 10 * 3000 + 20 * 15000);
    cr_expect_eq(bill.result.charged.of[TLSHM_TOKENS], 330);
    usage.other_model = "nobody-knows";
    cr_expect_eq(tlshm_model_settle(bill.space.t, bill_hold("m", 10, 100), &usage, TLSHM_EXACT, bill.prices,
                                    &bill.result, &bill.cost),
                 TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 110 * 3000 + 220 * 15000, "never for nothing");
}

Test(bymodel, an_embedding_has_no_output)
{
    tlshm_model_call call = bill_call("embedding", 1000, TLSHM_OUTPUT_NONE);
    tlshm_id id;
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), TLSHM_OK);
    cr_expect_eq(bill.guess.amounts.of[TLSHM_COST], 100000);
    cr_expect_eq(bill_settle(id, 990, 0, TLSHM_EXACT), TLSHM_OK);
    cr_expect_eq(bill.result.charged.of[TLSHM_COST], 99000);
    cr_expect_eq(bill_model("embedding").learned, 0);
    call.counts.input_total = 0;
    cr_expect_eq(bill_reserve("agent:a", &call, NULL, &id), -TLSHM_EEMPTY);
}

/* ------------------------------------------------------------------------------------------------------------ repeats */

Test(bymodel, a_repeat_gets_the_first_answer_whatever_was_learned_since)
{
    tlshm_model_call call = bill_call("m", 10, 0);
    struct ask a;
    tlshm_id first = 0, again = 0;
    ask_for(&a, "agent:a tenant:t", NULL);
    a.request.idempotency_key = "key";
    a.request.idempotency_len = 3;
    cr_assert_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &first, &bill.guess, NULL),
                 TLSHM_OK);
    cr_expect_eq(bill.guess.output, 4096);
    for (unsigned n = 0; n < 30; n++)
        bill_teach("m", 100);
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, NULL, &again, &bill.guess, NULL),
                 TLSHM_REPLAY);
    cr_expect_eq(again, first);
    cr_expect_eq(bill.guess.output, 4096, "what is held, not what would be now");
    cr_expect_eq(bill.guess.amounts.of[TLSHM_COST], 10 * 3000 + 4096 * 15000);
    call.counts.input_total = 11;
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &again, NULL, NULL),
                 -TLSHM_EMISMATCH);
    call = bill_call("gratis", 10, 0);
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &again, NULL, NULL),
                 -TLSHM_EMISMATCH);
    call = bill_call("m", 10, 5);
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &again, NULL, NULL),
                 -TLSHM_EMISMATCH);
}

/* ---------------------------------------------------------------------------------------------------------- arguments */

static int reserve_rc(const tlshm_model_call *call, tlshm_bounds bounds)
{
    struct ask a;
    tlshm_id id = 0;
    bill.guess.output = 4711;
    int rc = bill_reserve("agent:a", call, &bounds, &id);
    cr_expect(rc >= 0 || (bill.guess.output == 4711 && id == 0), "an error writes nothing");
    ask_for(&a, "agent:a", NULL);
    int asked = tlshm_model_would_fit(bill.space.t, &a.request, call, &bounds, bill.prices, &bill.guess, &bill.why);
    cr_expect(rc >= 0 || (asked == rc && bill.guess.output == 4711), "nor does a question: %d", asked);
    return rc;
}

Test(bymodel, faults_of_arguments)
{
    tlshm_model_call call = bill_call("m", 10, 10);
    struct ask a;
    tlshm_id id;
    tlshm_model_info info;
    uint64_t output;
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){.output_floor = 5, .output_cap = 4}), -TLSHM_EINVAL);
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){.quantile_ppm = 1000001}), -TLSHM_EINVAL);
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){.max_share_ppm = 1000001}), -TLSHM_EINVAL);
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){.output_default = TLSHM_AMOUNT_MAX + 1}), -TLSHM_ERANGE);
    call.max_output = TLSHM_AMOUNT_MAX + 1;
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){0}), -TLSHM_ERANGE);
    call.max_output = TLSHM_AMOUNT_MAX;
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){0}), -TLSHM_ERANGE);
    call = bill_call("m", 10, 10);
    call.counts.cache_read = 11;
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){0}), -TLSHM_EINVAL);
    call = bill_call("m", 10, 10);
    call.counts.output_total = 1;
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){0}), -TLSHM_EINVAL);
    call = bill_call(NULL, 10, 10);
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){0}), -TLSHM_EINVAL);
    call = bill_call("m", 10, 10);
    call.service = TLSHM_SERVICES;
    cr_expect_eq(reserve_rc(&call, (tlshm_bounds){0}), -TLSHM_EINVAL);
    call = bill_call("m", 10, 10);
    ask_for(&a, "agent:a", "tokens=5");
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &id, NULL, NULL),
                 -TLSHM_EINVAL);
    cr_expect_eq(tlshm_model_would_fit(bill.space.t, &a.request, &call, NULL, NULL, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_model_would_fit(bill.space.t, NULL, &call, NULL, NULL, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_model_would_fit(NULL, &a.request, &call, NULL, NULL, NULL, NULL), -TLSHM_EINVAL);
    ask_for(&a, "agent:a", "requests=5");
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &id, NULL, NULL), TLSHM_OK);
    cr_expect_eq(space_usage(&bill.space, "agent:a").used[TLSHM_REQUESTS], 5);
    cr_expect_eq(tlshm_model_settle(bill.space.t, id, NULL, TLSHM_EXACT, bill.prices, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_model_settle(bill.space.t, id + 1, NULL, TLSHM_UNKNOWN, bill.prices, NULL, NULL),
                 -TLSHM_EUNKNOWN);
    cr_expect_eq(tlshm_model_get(bill.space.t, 0, &info), -TLSHM_ENOENT);
    cr_expect_eq(tlshm_model_get(bill.space.t, 41, &info), -TLSHM_ENOENT);
    cr_expect_eq(tlshm_model_output(bill.space.t, 1000, Q95, &output), -TLSHM_ENOENT);
    cr_expect_eq(tlshm_model_output(bill.space.t, bill_model("m").number, 0, &output), -TLSHM_EINVAL);
}

Test(bymodel, a_reader_sees_and_enters_nothing)
{
    tlshm_t *reader = NULL;
    tlshm_model_call call = bill_call("new", 10, 0);
    for (unsigned n = 0; n < 19; n++)
        bill_teach("m", 100);
    cr_assert_eq(tlshm_attach(&reader, bill.space.path, TLSHM_READONLY, NULL), 0);
    cr_expect_eq(tlshm_model_guess(reader, NULL, 0, &call, NULL, bill.prices, &bill.guess), 0);
    cr_expect_eq(bill_models(reader), 1);
    call = bill_call("m", 10, 0);
    cr_expect_eq(tlshm_model_guess(reader, NULL, 0, &call, NULL, bill.prices, &bill.guess), 0);
    cr_expect_eq(bill.guess.output, 103);
    struct ask a;
    tlshm_id id;
    ask_for(&a, "agent:a", NULL);
    cr_expect_eq(tlshm_model_reserve(reader, &a.request, &call, NULL, bill.prices, &id, NULL, NULL), -TLSHM_EREADONLY);
    ask_for(&a, "agent:new tenant:new", NULL);
    call = bill_call("new", 10, 0);
    cr_expect_eq(tlshm_model_would_fit(reader, &a.request, &call, NULL, NULL, NULL, NULL), TLSHM_OK);
    cr_expect_eq(bill_models(reader), 1);
    cr_expect_eq(space_usage(&bill.space, "agent:new").seen, 0);
    tlshm_detach(reader);
}
