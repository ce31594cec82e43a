/* SPDX-License-Identifier: MIT */
/* guess.c - what is held for a call by model: the output's bound, limits and shares; whether it would fit. */
#include "bill.h"

#include <criterion/criterion.h>
#include <string.h>
#include <tlshm/config.h>

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

TestSuite(guess, .init = bill_open, .fini = bill_close, .timeout = 120);

static const tlshm_guess *guess_for(const char *scopes, uint64_t input, uint64_t max_output, tlshm_bounds bounds)
{
    struct ask a;
    tlshm_model_call call = bill_call("m", input, max_output);
    ask_for(&a, scopes ? scopes : "", NULL);
    int rc = tlshm_model_guess(bill.space.t, a.scopes, scopes ? a.request.scope_count : 0, &call, &bounds, bill.prices,
                               &bill.guess);
    cr_assert_eq(rc, 0, "%d", rc);
    return &bill.guess;
}

static void expect_guess(const tlshm_guess *g, uint64_t output, enum tlshm_output_source source, uint32_t changed)
{
    cr_expect_eq(g->output, output, "%llu", (unsigned long long)g->output);
    cr_expect_eq(g->source, source, "%d", (int)g->source);
    cr_expect_eq(g->changed, changed, "%u", g->changed);
    cr_expect_eq(g->amounts.of[TLSHM_OUTPUT_TOKENS], output);
    cr_expect_eq(g->amounts.of[TLSHM_TOKENS], g->amounts.of[TLSHM_INPUT_TOKENS] + output);
    cr_expect_eq(g->amounts.of[TLSHM_COST], 3000 * g->amounts.of[TLSHM_INPUT_TOKENS] + 15000 * output);
}

Test(guess, what_is_given_goes_before_what_is_learned_and_that_before_the_default)
{
    expect_guess(guess_for(NULL, 10, 0, (tlshm_bounds){0}), 4096, TLSHM_OUTPUT_ASSUMED, 0);
    expect_guess(guess_for(NULL, 10, 0, (tlshm_bounds){.output_default = 700}), 700, TLSHM_OUTPUT_ASSUMED, 0);
    expect_guess(guess_for(NULL, 10, 123456, (tlshm_bounds){.output_default = 700}), 123456, TLSHM_OUTPUT_GIVEN, 0);
    expect_guess(guess_for(NULL, 10, TLSHM_OUTPUT_NONE, (tlshm_bounds){0}), 0, TLSHM_OUTPUT_GIVEN, 0);
    for (unsigned n = 1; n <= 99; n++)
        bill_teach("m", n);
    expect_guess(guess_for(NULL, 10, 0, (tlshm_bounds){.output_default = 700}), 95, TLSHM_OUTPUT_LEARNED, 0);
    expect_guess(guess_for(NULL, 10, 0, (tlshm_bounds){.quantile_ppm = 500000}), 51, TLSHM_OUTPUT_LEARNED, 0);
    expect_guess(guess_for(NULL, 10, 0, (tlshm_bounds){.quantile_ppm = 1000000}), 99, TLSHM_OUTPUT_LEARNED, 0);
    expect_guess(guess_for(NULL, 10, 20, (tlshm_bounds){0}), 20, TLSHM_OUTPUT_GIVEN, 0);
}

Test(guess, floor_and_cap)
{
    tlshm_bounds b = {.output_default = 100, .output_floor = 500, .output_cap = 1000};
    expect_guess(guess_for(NULL, 10, 0, b), 500, TLSHM_OUTPUT_ASSUMED, TLSHM_OUTPUT_RAISED);
    expect_guess(guess_for(NULL, 10, 20, b), 20, TLSHM_OUTPUT_GIVEN, 0);
    expect_guess(guess_for(NULL, 10, 1001, b), 1000, TLSHM_OUTPUT_GIVEN, TLSHM_OUTPUT_CAPPED);
    b.output_default = 4000;
    expect_guess(guess_for(NULL, 10, 0, b), 1000, TLSHM_OUTPUT_ASSUMED, TLSHM_OUTPUT_CAPPED);
}

Test(guess, a_hold_takes_a_share_of_the_smallest_limit)
{
    static const struct {
        const char *limits;
        uint64_t input, max_output, expected;
        tlshm_bounds bounds;
    } cases[] = {
        {"tokens 1000 per 1h", 10, 0, 490, {0}},
        {"tokens 1000 per 1h", 10, 5000, 5000, {0}}, /* given: only as far as it is said */
        {"tokens 1000 per 1h", 10, 5000, 240, {.max_share_ppm = 250000}},
        {"tokens 1000 per 1h", 10, 100, 100, {.max_share_ppm = 250000}},
        {"tokens 1000 per 1h", 800, 0, 1, {0}}, /* never the input */
        {"tokens 1000 per 1h", 800, 0, 64, {.output_floor = 64}},
        {"tokens 1000 per 1h; tokens 5000 lifetime", 0, 0, 500, {0}},
        {"tokens 5000 per 1h; tokens 1000 per day", 0, 0, 500, {0}},
        {"output_tokens 300 per 1h; tokens 90000 per 1h", 10, 0, 150, {0}},
        {"output_tokens 300 per request", 10, 0, 300, {0}}, /* all of it: not a budget that others share */
        {"output_tokens 300 per request; tokens 400 per 1h", 10, 0, 190, {0}},
        {"output_tokens 300 per request", 10, 0, 300, {.output_floor = 500}},
        {"output_tokens 300 per request", 10, 200, 200, {0}},
        {"output_tokens 300 per request", 10, 301, 301, {.max_share_ppm = 500000}},
        {"tokens 100 per request", 10, 0, 90, {0}},
        {"tokens 100 per request", 200, 0, 1, {0}},
        {"cost $0.003 per request; time 5s per request", 10, 0, 198, {0}},
        {"input_tokens 5 per request; output_tokens unlimited per request", 10, 0, 4096, {0}},
        {"tokens unlimited per 1h; requests 5 per 1h; concurrency 1", 10, 0, 4096, {0}},
        {"tokens 0 per 1h", 10, 0, 1, {0}},
        {"cost $0.003 per 1h", 10, 0, 98, {0}}, /* half of it less 30,000 for the input: 1,470,000 at 15,000 */
        {"cost $0.003 per 1h", 10, 0, 198, {.max_share_ppm = 1000000}},
        {"cost $0.0000001 per 1h", 10, 0, 1, {0}},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        space_limits(&bill.space, "agent:a", cases[i].limits);
        const tlshm_guess *g = guess_for("tenant:t agent:a", cases[i].input, cases[i].max_output, cases[i].bounds);
        cr_expect_eq(g->output, cases[i].expected, "%u, %s: %llu", i, cases[i].limits, (unsigned long long)g->output);
    }
    space_limits(&bill.space, "agent:a", "tokens 1000 per 1h");
    space_limits(&bill.space, "tenant:t", "tokens 400 per 1h");
    expect_guess(guess_for("agent:a tenant:t", 10, 0, (tlshm_bounds){0}), 190, TLSHM_OUTPUT_ASSUMED,
                 TLSHM_OUTPUT_SHARED);
}

/* What is asked before, and what comes then: the same in all that is told. */
static int would_fit_and_does(const tlshm_model_call *call, const tlshm_bounds *bounds)
{
    struct ask a;
    tlshm_guess guess = {.output = 4711};
    tlshm_refusal why;
    tlshm_id id;
    memset(&why, 0, sizeof why);
    memset(&bill.why, 0, sizeof bill.why);
    ask_for(&a, "agent:a tenant:t", NULL);
    int rc = tlshm_model_would_fit(bill.space.t, &a.request, call, bounds, bill.prices, &guess, &why);
    cr_expect_eq(bill_reserve("agent:a tenant:t", call, bounds, &id), rc);
    cr_expect_arr_eq(&guess, &bill.guess, sizeof guess);
    cr_expect_eq(why.reason, bill.why.reason);
    cr_expect_eq(why.retry_after_ns, bill.why.retry_after_ns);
    cr_expect_eq(why.scope, bill.why.scope);
    cr_expect_str_eq(why.key, bill.why.key);
    cr_expect_eq(why.requested, bill.why.requested);
    cr_expect_eq(why.held, bill.why.held);
    return rc;
}

/* What the caller allows the model counts, not what is held for it; what nobody has asked for is not too large. */
Test(guess, a_single_request_is_what_the_caller_allows_it)
{
    static const struct {
        const char *limits;
        uint64_t max_output, requested;
        tlshm_bounds bounds;
    } cases[] = {
        {"output_tokens 300 per request", 301, 301, {0}},
        {"output_tokens 300 per request", 301, 301, {.output_cap = 50}},
        {"output_tokens 300 per request; tokens 100 per 1h", 301, 301, {.max_share_ppm = 500000}},
        {"tokens 300 per request", 291, 301, {.output_cap = 50}},
        {"cost $0.003 per request", 199, 10 * 3000 + 199 * 15000, {.output_cap = 50}},
        {"cost $0.003 per request", TLSHM_AMOUNT_MAX, TLSHM_AMOUNT_MAX, {.output_cap = 50}},
        {"output_tokens 300 per request", 300, 0, {.output_cap = 50}},
        {"cost $0.003 per request", 198, 0, {.output_cap = 50}},
        {"output_tokens 300 per request; cost $0.003 per request", 0, 0, {.output_floor = 1000}},
        {"output_tokens 0 per request", TLSHM_OUTPUT_NONE, 0, {0}},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        tlshm_model_call call = bill_call("m", 10, cases[i].max_output);
        space_limits(&bill.space, "agent:a", cases[i].limits);
        int rc = would_fit_and_does(&call, &cases[i].bounds);
        cr_expect_eq(rc, cases[i].requested ? TLSHM_REFUSED : TLSHM_OK, "%u: %d", i, rc);
        if (rc == TLSHM_REFUSED) {
            cr_expect_eq(bill.why.reason, TLSHM_REQUEST_TOO_LARGE, "%u", i);
            cr_expect_eq(bill.why.requested, cases[i].requested, "%u: %llu", i, (unsigned long long)bill.why.requested);
        }
    }
}

/* One request without a maximum must not lock all others out. */
Test(guess, eight_calls_without_a_maximum_share_a_budget)
{
    tlshm_model_call call = bill_call("m", 10, 0);
    tlshm_bounds b = {.max_share_ppm = 125000};
    tlshm_id id;
    space_limits(&bill.space, "tenant:t", "tokens 10000 per 1h; cost $1 per day");
    for (unsigned i = 0; i < 8; i++)
        cr_expect_eq(bill_reserve("tenant:t", &call, &b, &id), TLSHM_OK, "call %u", i);
    cr_expect_eq(bill_reserve("tenant:t", &call, &b, &id), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_LIMIT);
    cr_expect_eq(bill.guess.output, 1240, "a refusal tells what was asked for");
}

Test(guess, a_scope_that_was_never_seen_has_the_limits_of_its_level)
{
    tlshm_limit limit = limit_of("tokens 1000 per 1h");
    cr_assert_eq(tlshm_tier_set(bill.space.t, "small", &limit, 1), 0);
    cr_assert_eq(tlshm_default_set(bill.space.t, "agent", "small"), 0);
    expect_guess(guess_for("agent:new", 10, 0, (tlshm_bounds){0}), 490, TLSHM_OUTPUT_ASSUMED, TLSHM_OUTPUT_SHARED);
    cr_expect_eq(space_usage(&bill.space, "agent:new").seen, 0);
}

Test(guess, a_file_says_what_to_hold)
{
    static const char text[] = "estimates: {output_default: 200, output_floor: 50, output_cap: 300,"
                               " output_quantile: 50%, max_share: 10%}\n";
    tlshm_config *config = NULL;
    cr_assert_eq(tlshm_config_parse(&config, text, strlen(text), NULL, NULL, NULL), 0);
    const tlshm_bounds b = tlshm_config_get_settings(config)->estimates;
    expect_guess(guess_for(NULL, 10, 0, b), 200, TLSHM_OUTPUT_ASSUMED, 0);
    expect_guess(guess_for(NULL, 10, 900, b), 300, TLSHM_OUTPUT_GIVEN, TLSHM_OUTPUT_CAPPED);
    space_limits(&bill.space, "agent:a", "tokens 1000 per 1h");
    expect_guess(guess_for("agent:a", 10, 900, b), 90, TLSHM_OUTPUT_GIVEN, TLSHM_OUTPUT_CAPPED | TLSHM_OUTPUT_SHARED);
    for (unsigned n = 1; n <= 99; n++)
        bill_teach("m", 1);
    expect_guess(guess_for(NULL, 10, 0, b), 50, TLSHM_OUTPUT_LEARNED, TLSHM_OUTPUT_RAISED);
    tlshm_config_free(config);
}

Test(guess, whether_it_fits_is_what_a_reserve_says)
{
    tlshm_model_call call = bill_call("m", 10, 0), unknown = bill_call("nobody-knows", 10, 100);
    space_limits(&bill.space, "tenant:t", "tokens 1000 per 1h");
    cr_expect_eq(would_fit_and_does(&unknown, NULL), TLSHM_OK, "cost is not limited");
    cr_expect_eq(would_fit_and_does(&call, NULL), TLSHM_OK);
    cr_expect_eq(bill.guess.output, 490);
    cr_expect_eq(would_fit_and_does(&call, NULL), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_LIMIT);
    call.max_output = 2000;
    cr_expect_eq(would_fit_and_does(&call, NULL), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_NEVER_FITS);
    space_limits(&bill.space, "tenant:t", "cost $5 per day");
    cr_expect_eq(would_fit_and_does(&unknown, NULL), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_UNKNOWN_MODEL);
    cr_expect_str_eq(bill.why.key, "tenant:t");
    tlshm_pause(bill.space.t, 1);
    cr_expect_eq(would_fit_and_does(&unknown, NULL), TLSHM_REFUSED);
    cr_expect_eq(bill.why.reason, TLSHM_PAUSED, "first of all");
}

Test(guess, whether_a_repeat_fits_is_whether_it_is_one)
{
    struct ask a;
    tlshm_id id;
    tlshm_guess guess;
    tlshm_model_call call = bill_call("m", 10, 0);
    ask_for(&a, "agent:a tenant:t", "requests=1");
    a.request.idempotency_key = "once";
    a.request.idempotency_len = 4;
    cr_expect_eq(tlshm_model_would_fit(bill.space.t, &a.request, &call, NULL, bill.prices, NULL, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_model_reserve(bill.space.t, &a.request, &call, NULL, bill.prices, &id, NULL, NULL), TLSHM_OK);
    space_limits(&bill.space, "tenant:t", "tokens 0 per 1h");
    cr_expect_eq(tlshm_model_would_fit(bill.space.t, &a.request, &call, NULL, bill.prices, &guess, NULL), TLSHM_REPLAY);
    cr_expect_eq(guess.output, 1, "what it would be estimated to take now");
    call.counts.input_total = 11;
    cr_expect_eq(tlshm_model_would_fit(bill.space.t, &a.request, &call, NULL, bill.prices, &guess, NULL),
                 -TLSHM_EMISMATCH);
}
