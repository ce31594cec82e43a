/* SPDX-License-Identifier: MIT */
/* price.c - what a call costs: sums, published numbers, steps, services, names, rules and dates, on tables made here. */
#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/price.h>

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#define DAY_NS (INT64_C(86400) * INT64_C(1000000000))

/* What was warned of since the table was parsed. */
struct warnings {
    unsigned count;
    char where[600], what[300]; /* the last one */
};

static void remember(void *context, const char *where, const char *what)
{
    struct warnings *w = context;
    w->count++;
    snprintf(w->where, sizeof w->where, "%s", where);
    snprintf(w->what, sizeof w->what, "%s", what);
}

static tlshm_prices *table_of(const char *json, struct warnings *w)
{
    tlshm_prices *prices = NULL;
    struct tlshm_error err = {0};
    if (w)
        *w = (struct warnings){0};
    int rc = tlshm_prices_parse(&prices, json, strlen(json), w ? remember : NULL, w, &err);
    cr_assert_eq(rc, 0, "%s", err.text);
    return prices;
}

static int price_of(const tlshm_prices *prices, const char *model, const char *provider, tlshm_counts usage,
                    tlshm_cost *cost)
{
    tlshm_price_call call = {.model = model, .provider = provider, .wall_ns = 1, .counts = usage};
    return tlshm_price(prices, &call, cost);
}

/* Pico-dollars; UINT64_MAX for no price. */
static uint64_t pusd_of(const tlshm_prices *prices, const char *model, const char *provider, tlshm_counts usage)
{
    tlshm_cost cost;
    int rc = price_of(prices, model, provider, usage, &cost);
    cr_assert_geq(rc, 0, "%s: %s", model, tlshm_error_name(rc));
    return rc == TLSHM_OK ? cost.pusd : UINT64_MAX;
}

static const char *found_as(const tlshm_prices *prices, const char *model, const char *provider)
{
    static tlshm_cost cost;
    int rc = price_of(prices, model, provider, (tlshm_counts){.input_total = 1}, &cost);
    return rc == TLSHM_OK ? cost.model : "";
}

/* --------------------------------------------------------------------------------------------------------------- sums */

#define FULL                                                                                                           \
    "{\"full\": {\"litellm_provider\": \"p\", \"input_cost_per_token\": 3e-06, \"output_cost_per_token\": 1.5e-05,"    \
    " \"cache_read_input_token_cost\": 3e-07, \"cache_creation_input_token_cost\": 3.75e-06,"                          \
    " \"cache_creation_input_token_cost_above_1hr\": 6e-06, \"output_cost_per_reasoning_token\": 2e-05,"               \
    " \"input_cost_per_audio_token\": 4e-05, \"cache_read_input_audio_token_cost\": 2.5e-06,"                          \
    " \"output_cost_per_audio_token\": 8e-05, \"input_cost_per_image_token\": 5e-06,"                                  \
    " \"output_cost_per_image_token\": 3e-05, \"input_cost_per_request\": 0.005, \"search_context_cost_per_query\": "  \
    "{\"low\": 0.01, \"high\": 0.02}},"                                                                                \
    " \"bare\": {\"input_cost_per_token\": 3e-06, \"output_cost_per_token\": 1.5e-05},"                                \
    " \"embedding\": {\"input_cost_per_token\": 1e-07},"                                                               \
    " \"tiny\": {\"input_cost_per_token\": 1e-12, \"output_cost_per_token\": 1e-12}}"

Test(price, each_part_has_its_rate)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_cost cost;
    tlshm_counts usage = {.input_total = 1000,
                          .cache_read = 100,
                          .cache_write_5m = 200,
                          .cache_write_1h = 50,
                          .input_audio = 40,
                          .cache_read_audio = 30,
                          .input_image = 20,
                          .output_total = 500,
                          .reasoning = 300,
                          .output_audio = 60,
                          .output_image = 40,
                          .web_searches = 2};
    static const tlshm_cost_line lines[TLSHM_PARTS] = {
        {620, 3000000}, {70, 300000},     {200, 3750000},  {50, 6000000},   {10, 40000000},
        {30, 2500000},  {20, 5000000},    {100, 15000000}, {300, 20000000}, {60, 80000000},
        {40, 30000000}, {2, 20000000000}, {1, 5000000000},
    };
    cr_assert_eq(price_of(prices, "full", NULL, usage, &cost), TLSHM_OK);
    uint64_t input = 0, output = 0;
    for (int part = 0; part < TLSHM_PARTS; part++) {
        cr_expect_eq(cost.lines[part].count, lines[part].count, "%s", tlshm_part_name(part));
        cr_expect_eq(cost.lines[part].pusd, lines[part].pusd, "%s", tlshm_part_name(part));
        uint64_t *side = part < TLSHM_PART_OUTPUT ? &input : &output;
        *side += part < TLSHM_PART_SEARCH ? lines[part].count * lines[part].pusd : 0;
    }
    cr_expect_eq(cost.input_pusd, input);
    cr_expect_eq(cost.output_pusd, output);
    cr_expect_eq(cost.request_pusd, 45000000000);
    cr_expect_eq(cost.pusd, input + output + 45000000000);
    cr_expect_eq(cost.nusd, (cost.pusd + 999) / 1000);
    cr_expect_str_eq(cost.model, "full");
    cr_expect_str_eq(cost.provider, "p");
    tlshm_prices_close(prices);
}

Test(price, a_part_without_a_rate_is_charged_as_what_it_is_a_part_of)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_counts usage = {.input_total = 1000,
                          .cache_read = 900,
                          .cache_write_5m = 50,
                          .cache_write_1h = 50,
                          .output_total = 100,
                          .reasoning = 90,
                          .output_audio = 10};
    cr_expect_eq(pusd_of(prices, "bare", NULL, usage), 1000 * UINT64_C(3000000) + 100 * UINT64_C(15000000));
    usage = (tlshm_counts){.input_total = 10, .cache_read = 5, .input_audio = 5, .cache_read_audio = 5};
    cr_expect_eq(pusd_of(prices, "bare", NULL, usage), 10 * UINT64_C(3000000));
    tlshm_prices_close(prices);
}

Test(price, output_of_what_has_no_price_for_it_is_not_free)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_cost cost;
    cr_expect_eq(pusd_of(prices, "embedding", NULL, (tlshm_counts){.input_total = 10}), 1000000);
    cr_assert_eq(price_of(prices, "embedding", NULL,
                          (tlshm_counts){.input_total = 10, .reasoning = 1, .output_total = 1}, &cost),
                 TLSHM_UNKNOWN_MODEL);
    cr_expect_eq(cost.lack, TLSHM_LACKS_PART);
    cr_expect_eq(cost.part, TLSHM_PART_REASONING);
    cr_expect_str_eq(cost.model, "embedding");
    tlshm_prices_close(prices);
}

Test(price, a_sum_is_rounded_up_once)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_cost cost;
    cr_assert_eq(price_of(prices, "tiny", NULL, (tlshm_counts){.input_total = 1, .output_total = 1}, &cost), TLSHM_OK);
    cr_expect_eq(cost.pusd, 2);
    cr_expect_eq(cost.nusd, 1);
    cr_assert_eq(price_of(prices, "tiny", NULL, (tlshm_counts){.input_total = 1000}, &cost), TLSHM_OK);
    cr_expect_eq(cost.nusd, 1);
    cr_assert_eq(price_of(prices, "tiny", NULL, (tlshm_counts){.input_total = 1001}, &cost), TLSHM_OK);
    cr_expect_eq(cost.nusd, 2);
    cr_assert_eq(price_of(prices, "tiny", NULL, (tlshm_counts){0}, &cost), TLSHM_OK);
    cr_expect_eq(cost.nusd, 0);
    tlshm_prices_close(prices);
}

Test(price, what_is_out_of_range_is_an_error_and_changes_nothing)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    const uint64_t max = TLSHM_AMOUNT_MAX;
    const struct {
        tlshm_counts usage;
        const char *model;
        int rc;
    } cases[] = {
        {{.input_total = max}, "tiny", TLSHM_OK},
        {{.input_total = max + 1}, "tiny", -TLSHM_ERANGE},
        {{.output_total = UINT64_MAX}, "tiny", -TLSHM_ERANGE},
        {{.input_total = max, .cache_read = UINT64_MAX}, "tiny", -TLSHM_ERANGE},
        {{.input_total = max}, "full", -TLSHM_ERANGE},
        {{.input_total = max, .output_total = max}, "bare", -TLSHM_ERANGE},
        {{.input_total = max + 1}, "nobody", -TLSHM_ERANGE},
        {{.input_total = 5, .cache_read = 6}, "bare", -TLSHM_EINVAL},
        {{.input_total = 5, .cache_read = 3, .cache_write_5m = 3}, "bare", -TLSHM_EINVAL},
        {{.input_total = max, .cache_read = max, .cache_write_5m = max, .cache_write_1h = max}, "bare", -TLSHM_EINVAL},
        {{.input_total = 5, .cache_read = 4, .input_image = 5}, "bare", TLSHM_OK},
        {{.input_total = 5, .input_image = 3, .input_video = 3}, "bare", -TLSHM_EINVAL},
        {{.input_total = 5, .cache_read = 3, .input_audio = 3}, "bare", -TLSHM_EINVAL},
        {{.web_searches = max + 1}, "bare", -TLSHM_ERANGE},
        {{.web_searches = max}, "full", -TLSHM_ERANGE},
        {{.input_total = 5, .cache_read_audio = 1}, "bare", -TLSHM_EINVAL},
        {{.input_total = 5, .cache_read = 1, .cache_read_audio = 1}, "bare", -TLSHM_EINVAL},
        {{.output_total = 5, .reasoning = 6}, "bare", -TLSHM_EINVAL},
        {{.output_total = 5, .reasoning = 3, .output_image = 3}, "nobody", -TLSHM_EINVAL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tlshm_cost cost, untouched;
        memset(&cost, 0x5a, sizeof cost);
        memset(&untouched, 0x5a, sizeof untouched);
        cr_expect_eq(price_of(prices, cases[i].model, NULL, cases[i].usage, &cost), cases[i].rc, "case %zu", i);
        if (cases[i].rc < 0)
            cr_expect_arr_eq((char *)&cost, (char *)&untouched, sizeof cost, "case %zu", i);
    }
    tlshm_prices_close(prices);
}

Test(price, bad_arguments_are_errors)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_price_call call = {.model = "bare"};
    tlshm_cost cost;
    cr_expect_eq(tlshm_price(NULL, &call, &cost), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_price(prices, NULL, &cost), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_price(prices, &call, NULL), -TLSHM_EINVAL);
    call.service = (enum tlshm_service)TLSHM_SERVICES;
    cr_expect_eq(tlshm_price(prices, &call, &cost), -TLSHM_EINVAL);
    call = (tlshm_price_call){.model = NULL};
    cr_expect_eq(tlshm_price(prices, &call, &cost), -TLSHM_EINVAL);
    tlshm_prices_close(prices);
}

Test(price, as_few_images_as_possible_were_cached)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_cost cost;
    tlshm_counts counts = {.input_total = 345, .cache_read = 191, .input_image = 258, .input_video = 10};
    cr_assert_eq(price_of(prices, "full", NULL, counts, &cost), TLSHM_OK);
    cr_expect_eq(cost.lines[TLSHM_PART_CACHE_READ].count, 191);
    cr_expect_eq(cost.lines[TLSHM_PART_INPUT_IMAGE].count, 154);
    cr_expect_eq(cost.lines[TLSHM_PART_INPUT].count, 0);
    tlshm_prices_close(prices);
}

Test(price, a_search_without_a_price_shows_and_costs_nothing)
{
    tlshm_prices *prices = table_of(FULL, NULL);
    tlshm_cost cost;
    cr_assert_eq(price_of(prices, "bare", NULL, (tlshm_counts){.web_searches = 3}, &cost), TLSHM_OK);
    cr_expect_eq(cost.lines[TLSHM_PART_SEARCH].count, 3);
    cr_expect_eq(cost.lines[TLSHM_PART_REQUEST].count, 0);
    cr_expect_eq(cost.pusd, 0);
    tlshm_prices_close(prices);
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

Test(price, published_numbers_become_pico_dollars)
{
    static const struct {
        const char *number;
        uint64_t per_token; /* UINT64_MAX: refused */
        uint64_t per_million;
    } numbers[] = {
        {"2.5e-06", 2500000, 3},
        {"0.0000025", 2500000, 3},
        {"0.000015000020000000002", 15000021, 16},
        {"3.0000000000000004e-07", 300001, 1},
        {"2.9999900000000002e-06", 2999991, 3},
        {"3.0001999999999996E-7", 300020, 1},
        {"1e-12", 1, 1},
        {"1e-13", 1, 1},
        {"1e-300", 1, 1},
        {"0", 0, 0},
        {"0.0", 0, 0},
        {"-0.0", 0, 0},
        {"0.001", 1000000000, 1000},
        {"0.0010000000000001", UINT64_MAX, 1001},
        {"0.54", UINT64_MAX, 540000},
        {"1", UINT64_MAX, 1000000},
        {"0.08333333333333334", UINT64_MAX, 83334},
        {"0.18000000000000002", UINT64_MAX, 180001},
        {"600", UINT64_MAX, 600000000},
        {"1000", UINT64_MAX, 1000000000},
        {"1000.000001", UINT64_MAX, UINT64_MAX},
        {"-1e-06", UINT64_MAX, UINT64_MAX},
        {"1e300", UINT64_MAX, UINT64_MAX},
        {"123456789012345678901234567890", UINT64_MAX, UINT64_MAX},
        {"\"0.000001\"", UINT64_MAX, UINT64_MAX},
        {"true", UINT64_MAX, UINT64_MAX},
        {"[1e-06]", UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        char json[400];
        struct warnings w;
        snprintf(json, sizeof json,
                 "{\"m\": {\"input_cost_per_token\": %s}, \"other\": {\"input_cost_per_token\": 1e-06}}",
                 numbers[i].number);
        tlshm_prices *prices = table_of(json, &w);
        cr_expect_eq(pusd_of(prices, "m", NULL, (tlshm_counts){.input_total = 1}), numbers[i].per_token, "%s a token",
                     numbers[i].number);
        cr_expect_eq(w.count, numbers[i].per_token == UINT64_MAX, "%s: %s", numbers[i].number, w.what);
        tlshm_prices_close(prices);
        snprintf(json, sizeof json,
                 "[{\"id\": \"p\", \"models\": [{\"id\": \"m\", \"match\": {\"equals\": \"m\"}, \"prices\": "
                 "{\"input_mtok\": %s}},"
                 " {\"id\": \"o\", \"match\": {\"equals\": \"o\"}, \"prices\": {\"input_mtok\": 1}}]}]",
                 numbers[i].number);
        prices = table_of(json, &w);
        cr_expect_eq(pusd_of(prices, "m", "p", (tlshm_counts){.input_total = 1}), numbers[i].per_million,
                     "%s a million", numbers[i].number);
        tlshm_prices_close(prices);
    }
}

Test(price, a_refused_price_is_named_with_its_model_and_key)
{
    struct warnings w;
    tlshm_cost cost;
    tlshm_prices *prices =
        table_of("{\"good\": {\"input_cost_per_token\": 1e-06}, \"bad\": {\"input_cost_per_token\": 1e-06,"
                 " \"output_cost_per_token\": 0.54}, \"fee\": {\"input_cost_per_token\": 1e-06}}",
                 &w);
    cr_expect_eq(w.count, 1);
    cr_expect_str_eq(w.where, "bad");
    cr_expect_str_eq(w.what,
                     "output_cost_per_token: 0.54 is absurd: more than $1,000 per million tokens; the model counts "
                     "as one without a price");
    cr_assert_eq(price_of(prices, "bad", NULL, (tlshm_counts){.input_total = 1}, &cost), TLSHM_UNKNOWN_MODEL);
    cr_expect_eq(cost.lack, TLSHM_LACKS_SENSE);
    tlshm_prices_close(prices);
}

/* ------------------------------------------------------------------------------------------------- steps and services */

Test(price, a_step_holds_for_all_tokens_above_it)
{
    tlshm_prices *prices =
        table_of("{\"m\": {\"input_cost_per_token_above_256k_tokens\": 4e-06, \"input_cost_per_token\": 1e-06,"
                 " \"input_cost_per_token_above_128k_tokens\": 2e-06, \"output_cost_per_token\": 5e-06,"
                 " \"output_cost_per_token_above_128k_tokens\": 9e-06}}",
                 NULL);
    const struct {
        uint64_t input, output, pusd;
    } cases[] = {
        {128000, 1, UINT64_C(128000) * 1000000 + 5000000},
        {128001, 1, UINT64_C(128001) * 2000000 + 9000000},
        {256000, 10, UINT64_C(256000) * 2000000 + 90000000},
        {256001, 1, UINT64_C(256001) * 4000000 + 9000000},
        {0, 200000, UINT64_C(200000) * 5000000},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        cr_expect_eq(
            pusd_of(prices, "m", NULL, (tlshm_counts){.input_total = cases[i].input, .output_total = cases[i].output}),
            cases[i].pusd, "case %zu", i);
    tlshm_prices_close(prices);
}

static uint64_t serviced(const tlshm_prices *prices, const char *model, enum tlshm_service service, uint64_t input)
{
    tlshm_price_call call = {.model = model, .service = service, .counts = {.input_total = input}};
    tlshm_cost cost;
    cr_assert_eq(tlshm_price(prices, &call, &cost), TLSHM_OK);
    return cost.lines[TLSHM_PART_INPUT].pusd;
}

Test(price, services_have_their_rates_and_else_the_standard_one)
{
    tlshm_prices *prices =
        table_of("{\"m\": {\"input_cost_per_token\": 4e-06, \"input_cost_per_token_batches\": 2e-06,"
                 " \"input_cost_per_token_priority\": 7e-06, \"input_cost_per_token_flex\": 1e-06,"
                 " \"input_cost_per_token_above_200k_tokens\": 8e-06,"
                 " \"input_cost_per_token_above_200k_tokens_flex\": 3e-06},"
                 " \"plain\": {\"input_cost_per_token\": 4e-06}, \"only\": {\"input_cost_per_token_batches\": 2e-06}}",
                 NULL);
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_STANDARD, 1), 4000000);
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_BATCH, 1), 2000000);
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_PRIORITY, 1), 7000000);
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_FLEX, 1), 1000000);
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_FLEX, 200001), 3000000);
    /* What a batch costs beyond the step was not published: the dearer of what was. */
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_BATCH, 200001), 8000000);
    cr_expect_eq(serviced(prices, "m", TLSHM_SERVICE_PRIORITY, 200001), 8000000);
    cr_expect_eq(serviced(prices, "plain", TLSHM_SERVICE_PRIORITY, 1), 4000000);
    cr_expect_eq(serviced(prices, "only", TLSHM_SERVICE_BATCH, 1), 2000000);
    cr_expect_eq(pusd_of(prices, "only", NULL, (tlshm_counts){.input_total = 1}), UINT64_MAX);
    tlshm_prices_close(prices);
}

/* -------------------------------------------------------------------------------------------------------- counting */

Test(price, free_is_free_and_the_rest_is_not)
{
    struct warnings w;
    tlshm_prices_info info;
    tlshm_prices *prices = table_of(
        "{\"sample_spec\": {\"input_cost_per_token\": \"words\"}, \"free\": {\"input_cost_per_token\": 0,"
        " \"output_cost_per_token\": 0.0}, \"priced\": {\"input_cost_per_token\": 1e-06},"
        " \"by image\": {\"input_cost_per_token\": 0, \"output_cost_per_image\": 0.04},"
        " \"by second\": {\"input_cost_per_second\": 0.001}, \"nothing\": {\"mode\": \"chat\"},"
        " \"null\": {\"input_cost_per_token\": null}, \"fee\": {\"input_cost_per_token\": 0,"
        " \"input_cost_per_request\": 0.005}, \"minus\": {\"input_cost_per_token\": -1}, \"\": {}, \"list\": []}",
        &w);
    static const char *const unpriced[] = {"by image", "by second", "nothing", "null", "minus", "sample_spec", "list"};
    cr_expect_eq(w.count, 3, "%s: %s", w.where, w.what);
    cr_assert_eq(tlshm_prices_get(prices, &info), 0);
    cr_expect_eq(info.format, TLSHM_PRICES_LITELLM);
    cr_expect_eq(info.models, 8);
    cr_expect_eq(info.priced, 3);
    cr_expect_eq(info.free, 1);
    cr_expect_eq(info.unpriced, 4);
    cr_expect_eq(info.refused, 1);
    cr_expect_eq(pusd_of(prices, "free", NULL, (tlshm_counts){.input_total = 9, .output_total = 9}), 0);
    cr_expect_eq(pusd_of(prices, "fee", NULL, (tlshm_counts){.input_total = 9}), 5000000000);
    for (size_t i = 0; i < COUNT_OF(unpriced); i++)
        cr_expect_eq(pusd_of(prices, unpriced[i], NULL, (tlshm_counts){.input_total = 1}), UINT64_MAX, "%s",
                     unpriced[i]);
    tlshm_prices_close(prices);
}

/* ------------------------------------------------------------------------------------------------- LiteLLM's names */

Test(price, names_and_providers_of_litellm)
{
    tlshm_prices *prices =
        table_of("{\"gpt-4o\": {\"litellm_provider\": \"openai\", \"input_cost_per_token\": 1e-06},"
                 " \"azure/gpt-4o\": {\"litellm_provider\": \"azure\", \"input_cost_per_token\": 2e-06},"
                 " \"anthropic.claude\": {\"litellm_provider\": \"bedrock_converse\", \"input_cost_per_token\": 3e-06},"
                 " \"org/Mixed\": {\"litellm_provider\": \"together_ai\", \"input_cost_per_token\": 4e-06},"
                 " \"ORG/mixed\": {\"litellm_provider\": \"together_ai\", \"input_cost_per_token\": 5e-06},"
                 " \"openrouter/org/deep\": {\"litellm_provider\": \"openrouter\", \"input_cost_per_token\": 6e-06}}",
                 NULL);
    static const struct {
        const char *model, *provider, *found;
    } cases[] = {
        {"gpt-4o", NULL, "gpt-4o"},
        {"GPT-4o", NULL, "gpt-4o"},
        {"gpt-4o", "openai", "gpt-4o"},
        {"gpt-4o", "OpenAI", "gpt-4o"},
        {"gpt-4o", "azure", "azure/gpt-4o"},
        {"azure/gpt-4o", NULL, "azure/gpt-4o"},
        {"azure/gpt-4o", "azure", "azure/gpt-4o"},
        {"openai/gpt-4o", NULL, "gpt-4o"},
        {"openai/gpt-4o", "openai", "gpt-4o"},
        {"gpt-4o", "groq", ""},
        {"groq/gpt-4o", NULL, ""},
        {"azure/gpt-4o", "openai", ""},
        {"anthropic.claude", "bedrock", "anthropic.claude"},
        {"bedrock/anthropic.claude", NULL, "anthropic.claude"},
        {"anthropic.claude", "bed", ""},
        {"org/Mixed", NULL, "org/Mixed"},
        {"ORG/mixed", NULL, "ORG/mixed"},
        {"org/mixed", NULL, "org/Mixed"},
        {"org/deep", "openrouter", "openrouter/org/deep"},
        {"openrouter/org/deep", NULL, "openrouter/org/deep"},
        {"gpt-4o-mini", NULL, ""},
        {"gpt-4", NULL, ""},
        {"", NULL, ""},
        {"/", NULL, ""},
        {"/gpt-4o", NULL, ""},
        {"openai/", NULL, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        cr_expect_str_eq(found_as(prices, cases[i].model, cases[i].provider), cases[i].found, "%s of %s",
                         cases[i].model, cases[i].provider ? cases[i].provider : "-");
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cr_expect_str_eq(found_as(prices, longest, NULL), "");
    cr_expect_str_eq(found_as(prices, "gpt-4o", longest), "");
    tlshm_prices_close(prices);
}

/* ----------------------------------------------------------------------------------------- genai-prices' names, rules */

#define MODEL(id, rule, price)                                                                                         \
    "{\"id\": \"" id "\", \"match\": " rule ", \"prices\": {\"input_mtok\": " price ", \"output_mtok\": 1}}"

#define RULES                                                                                                          \
    "[{\"id\": \"acme\", \"model_match\": {\"contains\": \"road\"}, \"provider_match\": {\"starts_with\": \"acme-\"}," \
    " \"models\": [" MODEL("one", "{\"equals\": \"Road-One\"}", "1") "," MODEL(                                        \
        "two", "{\"or\": [{\"starts_with\": \"road-2\"}, {\"ends_with\": \"-two\"}]}",                                 \
        "2") "," MODEL("three", "{\"and\": [{\"contains\": \"road\"}, {\"contains\": \"3\"}]}",                        \
                       "3") "," MODEL("dated", "{\"regex\": \"^road-x-\\\\d{8}$\"}",                                   \
                                      "4") "," MODEL("first", "{\"starts_with\": \"road-z\"}",                         \
                                                     "5") "," MODEL("second", "{\"starts_with\": \"road-zz\"}",        \
                                                                    "6") "]}, {\"id\": \"cloud\", "                    \
                                                                         "\"fallback_model_"                           \
                                                                         "providers\": [\"nobody\", "                  \
                                                                         "\"ACME\"], \"models\": "                     \
                                                                         "[" MODEL("own",                              \
                                                                                   "{\"equals\": "                     \
                                                                                   "\"road-one\"}",                    \
                                                                                   "7") "]}, {\"id\": "                \
                                                                                        "\"hidden\", "                 \
                                                                                        "\"models\": "                 \
                                                                                        "[" MODEL("sec"                \
                                                                                                  "re"                 \
                                                                                                  "t",                 \
                                                                                                  "{\""                \
                                                                                                  "equ"                \
                                                                                                  "als"                \
                                                                                                  "\":"                \
                                                                                                  " \""                \
                                                                                                  "sec"                \
                                                                                                  "ret"                \
                                                                                                  "\""                 \
                                                                                                  "}",                 \
                                                                                                  "8") "]}]"

Test(price, names_and_rules_of_genai_prices)
{
    struct warnings w;
    tlshm_prices *prices = table_of(RULES, &w);
    static const struct {
        const char *model, *provider, *found;
    } cases[] = {
        {"road-one", NULL, "one"},
        {"ROAD-ONE", NULL, "one"},
        {"road-one", "acme", "one"},
        {"road-one", "Acme-EU", "one"},
        {"road-one", "cloud", "own"},
        {"road-21", "cloud", "two"},
        {"road-21", NULL, "two"},
        {"ab-two", "acme", "two"},
        {"ab-two", NULL, ""},
        {"road-3", NULL, "three"},
        {"3", "acme", ""},
        {"road-x-20260101", NULL, "dated"},
        {"road-x-2026010", NULL, ""},
        {"road-zz", NULL, "first"},
        {"second", "acme", "second"},
        {"acme/road-21", NULL, "two"},
        {"cloud/road-one", NULL, "own"},
        {"cloud/road-21", "cloud", "two"},
        {"hidden/secret", NULL, "secret"},
        {"secret", NULL, ""},
        {"secret", "hidden", "secret"},
        {"road-one", "nobody", ""},
        {"road-unknown", NULL, ""},
        {"hidden/road-one", NULL, "one"},
    };
    cr_expect_eq(w.count, 0, "%s: %s", w.where, w.what);
    /* The rule "contains" makes the last one acme's: a prefix that does not help is part of the name. */
    for (size_t i = 0; i + 1 < COUNT_OF(cases); i++)
        cr_expect_str_eq(found_as(prices, cases[i].model, cases[i].provider), cases[i].found, "%s of %s",
                         cases[i].model, cases[i].provider ? cases[i].provider : "-");
    tlshm_prices_close(prices);
}

/* A table with one rule, beside a model that always has a price. */
static tlshm_prices *ruled(const char *rule, struct warnings *w)
{
    char json[8192];
    int n = snprintf(
        json, sizeof json,
        "[{\"id\": \"p\", \"models\": [" MODEL("m", "%s", "1") "," MODEL("o", "{\"equals\": \"o\"}", "1") "]}]", rule);
    cr_assert_lt(n, (int)sizeof json);
    return table_of(json, w);
}

Test(price, a_rule_that_is_not_understood_matches_nothing_and_is_named)
{
    static const char *const rules[] = {
        "{\"regex\": \"(\"}",
        "{\"regex\": \"a{1,99999}\"}",
        "{\"sounds_like\": \"x\"}",
        "{\"contains\": \"\"}",
        "{\"contains\": 5}",
        "{\"or\": {}}",
        "{\"or\": [{}]}",
        "null",
        "\"text\"",
        "[]",
        "{\"and\": \"x\"}",
        "{\"equals\": null}",
    };
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct warnings w;
        tlshm_prices *prices = ruled(rules[i], &w);
        cr_expect_eq(w.count, 1, "%s", rules[i]);
        cr_expect_str_eq(w.where, "p/m", "%s", rules[i]);
        cr_expect_str_eq(found_as(prices, "x", "p"), "", "%s", rules[i]);
        cr_expect_str_eq(found_as(prices, "m", "p"), "m", "%s", rules[i]);
        tlshm_prices_close(prices);
    }
}

Test(price, rules_cannot_be_made_to_run_for_ever)
{
    struct warnings w;
    char deep[4096] = "", text[200];
    tlshm_prices *prices = ruled("{\"regex\": \"^(a+)+$\"}", &w);
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "b", 2);
    cr_expect_eq(w.count, 0);
    cr_expect_str_eq(found_as(prices, text, "p"), "");
    cr_expect_str_eq(found_as(prices, "aaa", "p"), "m");
    tlshm_prices_close(prices);
    for (int i = 0; i < 100; i++)
        strcat(deep, "{\"or\": [");
    strcat(deep, "{\"equals\": \"x\"}");
    for (int i = 0; i < 100; i++)
        strcat(deep, "]}");
    prices = ruled(deep, &w);
    cr_expect_eq(w.count, 1);
    cr_expect_str_eq(found_as(prices, "x", "p"), "");
    tlshm_prices_close(prices);
}

/* ------------------------------------------------------------------------------------------------------------- dates */

#define WHEN(constraint, price) "{" constraint "\"prices\": {\"input_mtok\": " price "}}"
#define DATED(prices)                                                                                                  \
    "[{\"id\": \"p\", \"models\": [{\"id\": \"m\", \"match\": {\"equals\": \"m\"}, \"prices\": [" prices "]}]}]"
#define CONSTRAINT(members) "\"constraint\": {" members "}, "

static uint64_t dated(const tlshm_prices *prices, int64_t wall_ns)
{
    tlshm_price_call call = {.model = "m", .provider = "p", .wall_ns = wall_ns, .counts = {.input_total = 1}};
    tlshm_cost cost;
    cr_assert_eq(tlshm_price(prices, &call, &cost), TLSHM_OK);
    return cost.pusd / 1000000;
}

Test(price, a_price_begins_on_its_date)
{
    const int64_t start = 20525 * DAY_NS; /* 2026-03-13 */
    tlshm_prices *prices =
        table_of(DATED(WHEN("", "1") "," WHEN(CONSTRAINT("\"start_date\": \"2026-03-13\""),
                                              "2") "," WHEN(CONSTRAINT("\"start_date\": \"2028-02-29\""), "3")),
                 NULL);
    cr_expect_eq(dated(prices, start - 1), 1);
    cr_expect_eq(dated(prices, start), 2);
    cr_expect_eq(dated(prices, 21243 * DAY_NS - 1), 2);
    cr_expect_eq(dated(prices, 21243 * DAY_NS), 3);
    cr_expect_eq(dated(prices, -5 * DAY_NS), 1);
    cr_expect_geq(dated(prices, 0), 1);
    tlshm_prices_close(prices);
}

Test(price, a_price_holds_at_its_time_of_day)
{
    const int64_t hour = DAY_NS / 24;
    tlshm_prices *prices = table_of(
        DATED(WHEN("", "1") "," WHEN(CONSTRAINT("\"start_time\": \"00:30:00Z\", \"end_time\": \"16:30:00Z\""), "2")),
        NULL);
    cr_expect_eq(dated(prices, 500 * DAY_NS), 1);
    cr_expect_eq(dated(prices, 500 * DAY_NS + hour / 2), 2);
    cr_expect_eq(dated(prices, 500 * DAY_NS + hour * 33 / 2 - 1), 2);
    cr_expect_eq(dated(prices, 500 * DAY_NS + hour * 33 / 2), 1);
    tlshm_prices_close(prices);
    prices = table_of(DATED(WHEN("", "1") "," WHEN(
                          CONSTRAINT("\"start_time\": \"06:00:00.5+08:00\", \"end_time\": \"02:00-0000\""), "2")),
                      NULL);
    cr_expect_eq(dated(prices, 500 * DAY_NS + 22 * hour), 2);
    cr_expect_eq(dated(prices, 500 * DAY_NS + 22 * hour - 1), 1);
    cr_expect_eq(dated(prices, 501 * DAY_NS + 2 * hour - 1), 2);
    cr_expect_eq(dated(prices, 501 * DAY_NS + 2 * hour), 1);
    tlshm_prices_close(prices);
}

Test(price, when_nothing_holds_the_first_price_does)
{
    tlshm_prices *prices = table_of(DATED(WHEN(CONSTRAINT("\"start_date\": \"2030-01-01\""),
                                               "4") "," WHEN(CONSTRAINT("\"start_date\": \"2031-01-01\""), "5")),
                                    NULL);
    cr_expect_eq(dated(prices, DAY_NS), 4);
    tlshm_prices_close(prices);
}

Test(price, a_constraint_that_is_not_understood_is_left_out)
{
    static const char *const constraints[] = {
        "\"start_date\": \"2026-02-30\"",
        "\"start_date\": \"2026-3-1\"",
        "\"start_date\": \"2026-03-01x\"",
        "\"start_date\": 5",
        "\"start_time\": \"00:00\"",
        "\"start_time\": \"25:00\", \"end_time\": \"26:00\"",
        "\"phase\": \"moon\"",
        "\"start_date\": \"1969-12-31\"",
        "\"start_time\": \"00:00+99:00\", \"end_time\": \"1\"",
    };
    for (size_t i = 0; i < COUNT_OF(constraints); i++) {
        char json[512];
        struct warnings w;
        snprintf(json, sizeof json, DATED(WHEN("", "1") "," WHEN(CONSTRAINT("%s"), "2")), constraints[i]);
        tlshm_prices *prices = table_of(json, &w);
        cr_expect_eq(w.count, 1, "%s", constraints[i]);
        cr_expect_eq(dated(prices, 40000 * DAY_NS), 1, "%s", constraints[i]);
        tlshm_prices_close(prices);
    }
}

Test(price, tiers_and_requests_of_genai_prices)
{
    struct warnings w;
    tlshm_prices *prices =
        table_of("[{\"id\": \"p\", \"models\": [{\"id\": \"m\", \"match\": {\"equals\": \"m\"}, \"prices\":"
                 " {\"input_mtok\": {\"base\": 5, \"tiers\": [{\"start\": 400000, \"price\": 20},"
                 " {\"start\": 200000, \"price\": 10}]}, \"output_mtok\": 1, \"requests_kcount\": 12,"
                 " \"input_video_mtok\": 3}}]}]",
                 &w);
    cr_expect_eq(w.count, 1);
    cr_expect_str_eq(w.what, "input_video_mtok: such a price is not known; it is charged as what it is a part of");
    cr_expect_eq(pusd_of(prices, "m", "p", (tlshm_counts){0}), UINT64_C(12000000000));
    cr_expect_eq(pusd_of(prices, "m", "p", (tlshm_counts){.input_total = 200000}), UINT64_C(1012000000000));
    cr_expect_eq(pusd_of(prices, "m", "p", (tlshm_counts){.input_total = 200001}), UINT64_C(2012010000000));
    cr_expect_eq(pusd_of(prices, "m", "p", (tlshm_counts){.input_total = 400001}), UINT64_C(8012020000000));
    tlshm_prices_close(prices);
}

Test(price, parts_and_services_have_names)
{
    for (int part = 0; part < TLSHM_PARTS; part++)
        cr_expect_str_neq(tlshm_part_name(part), "?");
    for (int service = 0; service < TLSHM_SERVICES; service++)
        cr_expect_str_neq(tlshm_service_name(service), "?");
    cr_expect_str_eq(tlshm_part_name(TLSHM_PARTS), "?");
    cr_expect_str_eq(tlshm_part_name(-1), "?");
    cr_expect_str_eq(tlshm_service_name(TLSHM_SERVICES), "?");
    cr_expect_str_eq(tlshm_service_name(-1), "?");
}
