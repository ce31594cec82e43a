/* SPDX-License-Identifier: MIT */
/*
 * prices.c - fuzz target: price tables and prices in words. What is promised: no crash and no endless loop; a table or an
 * error with a text; of each price that each token is charged once, that sums are exact and rounded up once, and that the
 * same call of the same table costs the same.
 *
 * INPUT  {way, service, counts} and then bytes. They are a table as they are, or each stands for a token of what tables are
 * made of, in a list, in a model's entry or in a provider's; or they are a price in words.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include <tlshm/price.h>

#include "tap.h"

enum { TEXT_MAX = 1 << 16, WORDS_MAX = 160, TOKEN_MAX = 128 };
enum way { WAY_BYTES, WAY_TOKENS, WAY_ENTRY, WAY_PRICES, WAY_RULE, WAY_WORDS, WAYS };

/* A random line of these is often nearly a table. */
static const char *const tokens[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "0",
    "1",
    "-1e-06",
    "3.0000000000000004e-07",
    "2.5e-06",
    "0.54",
    "1e-300",
    "200000",
    "1e30",
    "\"\"",
    "\"m\"",
    "\"p/m\"",
    "\"M\":",
    "\"m\":{",
    "\"litellm_provider\":\"p\",",
    "\"input_cost_per_token\":",
    "\"output_cost_per_token\":1e-06,",
    "\"input_cost_per_token_above_128k_tokens\":2e-06,",
    "\"input_cost_per_token_above_0k_tokens\":1,",
    "\"output_cost_per_token_above_999999999k_tokens_priority\":1e-05,",
    "\"cache_creation_input_token_cost_above_1hr\":3e-06,",
    "\"cache_read_input_token_cost\":1e-07,",
    "\"input_cost_per_token_batches\":5e-07,",
    "\"output_cost_per_image\":0.04,",
    "\"search_context_cost_per_query\":{\"a\":0.01},",
    "\"tiered_pricing\":[{\"range\":[0,5],\"input_cost_per_token\":1e-06},",
    "\"range\":[",
    "{\"id\":\"p\",\"models\":[",
    "{\"id\":\"m\",\"match\":{\"equals\":\"m\"},\"prices\":",
    "\"model_match\":{\"contains\":\"m\"},",
    "\"fallback_model_providers\":[\"p\",\"q\"],",
    "{\"input_mtok\":1,\"output_mtok\":2}",
    "\"input_mtok\":{\"base\":5,\"tiers\":[{\"start\":3,\"price\":9}]},",
    "\"output_mtok\":1,",
    "\"requests_kcount\":12,",
    "\"cache_read_mtok\":0.1,",
    "{\"prices\":{\"input_mtok\":3,\"output_mtok\":3}},",
    "{\"constraint\":{\"start_date\":\"2026-03-13\"},\"prices\":{\"input_mtok\":4}},",
    "{\"constraint\":{\"start_time\":\"22:00:00Z\",\"end_time\":\"02:00+01:00\"},\"prices\":{\"output_mtok\":4}},",
    "\"start_date\":\"",
    "{\"or\":[",
    "{\"and\":[",
    "{\"starts_with\":\"m\"}",
    "{\"regex\":\"",
    "(a+)+$",
    "(?=x)",
    "\\\\d{8}",
    "[^m]*",
    "(?R)",
    "{1,65535}",
    "\"}",
    "]}",
};

static const char *const words[] = {"input",      "output", "cache_read", "request", "free",      "$3",
                                    "$0.0000001", ",",      "search",     "500000n", "unlimited", "$99999999",
                                    "reasoning",  "3",      "$",          "\t"};

static const char *const models[] = {"m", "M", "p/m", "mm", "q", ""};

struct text {
    char at[TEXT_MAX];
    size_t size;
};

static void put(struct text *t, const char *bytes, size_t size)
{
    MUST(size <= TEXT_MAX - t->size, "the text's place is too small");
    memcpy(t->at + t->size, bytes, size);
    t->size += size;
}

static void put_tokens(struct text *t, struct bytes *b)
{
    while (bytes_left(b) && t->size < TEXT_MAX - TOKEN_MAX) {
        const char *token = tokens[bytes_below(b, sizeof tokens / sizeof *tokens)];
        put(t, token, strlen(token));
    }
}

static void put_around(struct text *t, const char *before, struct bytes *b, const char *after)
{
    put(t, before, strlen(before));
    put_tokens(t, b);
    put(t, after, strlen(after));
}

static void make_table(struct text *t, enum way way, struct bytes *b)
{
    t->size = 0;
    if (way == WAY_TOKENS)
        put_around(t, "", b, "");
    else if (way == WAY_ENTRY)
        put_around(t, "{\"m\":{\"input_cost_per_token\":1e-06,", b, "\"mode\":\"chat\"}}");
    else if (way == WAY_PRICES)
        put_around(t, "[{\"id\":\"p\",\"models\":[{\"id\":\"m\",\"match\":{\"equals\":\"m\"},\"prices\":", b, "}]}]");
    else if (way == WAY_RULE)
        put_around(
            t, "[{\"id\":\"p\",\"models\":[{\"id\":\"n\",\"prices\":{\"input_mtok\":1,\"output_mtok\":2},\"match\":", b,
            "}]}]");
    else
        put(t, (const char *)b->at, bytes_left(b));
}

static tlshm_counts take_counts(struct bytes *b)
{
    const unsigned scale = 1 + bytes_below(b, 8);
    tlshm_counts c = {.output_total = bytes_take(b, scale), .input_total = bytes_take(b, scale)};
    uint64_t *const parts[] = {&c.cache_read,       &c.cache_write_5m, &c.cache_write_1h, &c.input_audio,
                               &c.cache_read_audio, &c.input_image,    &c.input_video,    &c.reasoning,
                               &c.output_audio,     &c.output_image,   &c.web_searches};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        *parts[i] = bytes_take(b, 1) & 31;
    return c;
}

static void check_cost(const tlshm_counts *counts, const tlshm_cost *cost)
{
    uint64_t tokens_in = 0, tokens_out = 0, sum = 0;
    for (int part = 0; part < TLSHM_PARTS; part++) {
        const tlshm_cost_line *line = &cost->lines[part];
        if (part < TLSHM_PART_OUTPUT)
            tokens_in += line->count;
        else if (part < TLSHM_PART_SEARCH)
            tokens_out += line->count;
        sum += line->count * line->pusd; /* a cost in range fits */
    }
    MUST(tokens_in == counts->input_total && tokens_out == counts->output_total, "a token is charged twice or never");
    MUST(sum == cost->pusd && sum == cost->input_pusd + cost->output_pusd + cost->request_pusd, "a sum is wrong");
    MUST(cost->nusd == sum / 1000 + (sum % 1000 != 0), "a sum is not rounded up once");
}

static void check_model(const tlshm_prices *prices, const tlshm_price_call *call)
{
    tlshm_cost cost, again;
    memset(&cost, 0x5a, sizeof cost);
    int rc = tlshm_price(prices, call, &cost);
    MUST(tlshm_price(prices, call, &again) == rc, "the same call has another outcome");
    MUST(rc <= 0 || rc == TLSHM_UNKNOWN_MODEL, "no verdict: %d", rc);
    if (rc < 0)
        return;
    MUST((rc == TLSHM_OK) == (cost.lack == TLSHM_LACKS_NOTHING), "a price that is lacking, or none that is not");
    MUST(memchr(cost.model, '\0', sizeof cost.model) && memchr(cost.provider, '\0', sizeof cost.provider), "no end");
    if (rc == TLSHM_OK)
        check_cost(&call->counts, &cost);
    MUST(rc != TLSHM_OK || again.pusd == cost.pusd, "the same call costs something else");
}

static void check_table(const tlshm_prices *prices, tlshm_price_call call)
{
    tlshm_prices_info info;
    char name[TLSHM_MODEL_MAX + 1];
    MUST(tlshm_prices_get(prices, &info) == 0, "no figures");
    MUST(info.models == info.priced + info.unpriced + info.refused && info.free <= info.priced, "a model is lost");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        call.model = models[i];
        call.provider = NULL;
        check_model(prices, &call);
        call.provider = "p";
        check_model(prices, &call);
        MUST(tlshm_prices_nearest(prices, models[i], name, sizeof name) == (int)strlen(name), "no end");
    }
}

static void warn(void *context, const char *where, const char *what)
{
    *(size_t *)context += strlen(where) + strlen(what);
}

static void run_words(struct bytes *b, tlshm_price_call call)
{
    char text[WORDS_MAX + TOKEN_MAX] = "";
    struct tlshm_error err = {0};
    tlshm_prices *prices;
    while (bytes_left(b) && strlen(text) < WORDS_MAX) {
        const char raw[2] = {(char)bytes_8(b), '\0'};
        strcat(text, raw[0] & 1 ? words[(unsigned char)raw[0] / 2 % (sizeof words / sizeof *words)] : raw);
        strcat(text, raw[0] & 1 ? " " : "");
    }
    MUST(tlshm_prices_open(&prices, NULL, NULL, NULL, NULL) == 0, "no table");
    int rc = tlshm_prices_override(prices, "m", text, &err);
    MUST(rc == 0 || *err.text, "an error without a text");
    if (rc == 0)
        check_table(prices, call);
    tlshm_prices_close(prices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text table;
    struct bytes b = {data, data + size};
    struct tlshm_error err = {0};
    tlshm_prices *prices;
    size_t warned = 0;
    enum way way = (enum way)bytes_below(&b, WAYS);
    tlshm_price_call call = {.service = (enum tlshm_service)bytes_below(&b, TLSHM_SERVICES), .wall_ns = 1};
    call.counts = take_counts(&b);
    if (way == WAY_WORDS) {
        run_words(&b, call);
        return 0;
    }
    make_table(&table, way, &b);
    int rc = tlshm_prices_parse(&prices, table.at, table.size, warn, &warned, &err);
    MUST(rc == 0 || *err.text, "an error without a text");
    if (rc)
        return 0;
    check_table(prices, call);
    tlshm_prices_close(prices);
    return 0;
}
