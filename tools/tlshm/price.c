/* SPDX-License-Identifier: MIT */
/* price.c - what a call costs, what is in a price table, and that tables are to be read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tlshm/pricing.h>

#include "calls.h"
#include "file.h"

#define PUSD_PER_DOLLAR UINT64_C(1000000000000)
#define SECOND_NS INT64_C(1000000000)

#define NO_TABLE "no prices are named: use --prices, --config of a file that has some, or set TLSHM_PRICES"

enum { DOLLARS_MAX = 40, PLACES = 12 };

/* ------------------------------------------------------------------------------------------------------------- files */

static void show_warning(void *context, const char *where, const char *what)
{
    const struct cli *cli = context;
    fprintf(stderr, "%s: %s: %s\n", cli->tool->name, where, what);
}

/* NULL when none is named. */
static const char *table_named(const struct cli *cli)
{
    const char *path = cli->value[OPT_PRICES] ? cli->value[OPT_PRICES] : getenv("TLSHM_PRICES");
    return path && *path ? path : NULL;
}

/* Opens the table that is named. EXIT_OK, or the exit code after having reported. */
static int open_prices(struct cli *cli, tlshm_price_warning warning, void *context, tlshm_prices **out)
{
    struct tlshm_error err = {0};
    const char *path = table_named(cli);
    if (!path)
        return options_complain(cli->tool, "no price table is named: use --prices or set TLSHM_PRICES");
    int rc = tlshm_prices_open(out, path, warning, context, &err);
    return rc < 0 ? cli_error(cli, rc, path, &err) : EXIT_OK;
}

int price_table(struct cli *cli, const tlshm_config *config, tlshm_prices **out)
{
    struct tlshm_error err = {0};
    *out = NULL;
    if (cli->value[OPT_PRICES] || !config || !(tlshm_config_get_settings(config)->sections & TLSHM_CONFIG_PRICES))
        return table_named(cli) ? open_prices(cli, NULL, NULL, out) : EXIT_OK;
    int rc = tlshm_config_prices(out, config, &err);
    return rc < 0 ? cli_error(cli, rc, cli->value[OPT_CONFIG], &err) : EXIT_OK;
}

/* ----------------------------------------------------------------------------------------------------------- options */

static bool take_count(struct cli *cli, enum option_id id, uint64_t *out)
{
    struct tlshm_error err = {0};
    const char *text = cli->value[id];
    if (!text || tlshm_amount_parse(text, TLSHM_TOKENS, out, &err) == 0)
        return true;
    options_complain(cli->tool, "'%s' is no number of tokens: %s", text, err.text);
    return false;
}

bool price_counts(struct cli *cli, tlshm_counts *c)
{
    const struct {
        enum option_id id;
        uint64_t *count;
    } rows[] = {
        {OPT_IN, &c->input_total},
        {OPT_CACHED, &c->cache_read},
        {OPT_CACHE_WRITE, &c->cache_write_5m},
        {OPT_CACHE_WRITE_1H, &c->cache_write_1h},
        {OPT_AUDIO_IN, &c->input_audio},
        {OPT_OUT, &c->output_total},
        {OPT_REASONING, &c->reasoning},
        {OPT_AUDIO_OUT, &c->output_audio},
        {OPT_SEARCHES, &c->web_searches},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!take_count(cli, rows[i].id, rows[i].count))
            return false;
    return true;
}

bool price_service(struct cli *cli, enum tlshm_service *service)
{
    static const struct {
        enum option_id id;
        enum tlshm_service service;
    } rows[] = {
        {OPT_BATCH, TLSHM_SERVICE_BATCH}, {OPT_PRIORITY, TLSHM_SERVICE_PRIORITY}, {OPT_FLEX, TLSHM_SERVICE_FLEX}};
    unsigned given = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!cli->value[rows[i].id])
            continue;
        *service = rows[i].service;
        given++;
    }
    if (given > 1)
        options_complain(cli->tool, "--batch, --priority and --flex exclude each other");
    return given <= 1;
}

/* A date in UTC, or a date and a time with an offset. */
static bool take_instant(struct cli *cli, int64_t *wall_ns)
{
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M%z"};
    const char *text = cli->value[OPT_AT];
    if (!text)
        return true;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm tm = {0};
        const char *end = strptime(text, formats[i], &tm);
        if (!end || *end)
            continue;
        long offset = tm.tm_gmtoff;
        *wall_ns = ((int64_t)timegm(&tm) - offset) * SECOND_NS;
        *wall_ns += *wall_ns == 0; /* 0 stands for now */
        return true;
    }
    options_complain(cli->tool, "'%s' is no date such as 2026-03-13 or 2026-03-13T16:30:00Z", text);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ answers */

/* "0.0105": at least cents, and as many places as it has. */
static const char *dollars(uint64_t pusd, char *buf)
{
    int n = snprintf(buf, DOLLARS_MAX, "%llu.%012llu", (unsigned long long)(pusd / PUSD_PER_DOLLAR),
                     (unsigned long long)(pusd % PUSD_PER_DOLLAR));
    for (int cents = n - PLACES + 2; n > cents && buf[n - 1] == '0'; n--)
        buf[n - 1] = '\0';
    return buf;
}

/* A rate, as price lists have it: "$3.00 per 1M". */
static const char *rate_text(uint64_t pusd, bool of_one, char *buf)
{
    char text[DOLLARS_MAX];
    if (of_one)
        snprintf(buf, DOLLARS_MAX + 16, "$%s", dollars(pusd, text));
    else
        snprintf(buf, DOLLARS_MAX + 16, "$%s per 1M", dollars(pusd * 1000000, text));
    return buf;
}

static void emit_lines(struct emit *e, const tlshm_cost *cost)
{
    char text[DOLLARS_MAX + 16];
    emit_array_begin(e, "lines");
    for (int part = 0; part < TLSHM_PARTS; part++) {
        const tlshm_cost_line *line = &cost->lines[part];
        if (!line->count)
            continue;
        emit_object_begin(e, NULL);
        emit_text(e, "part", tlshm_part_name(part));
        emit_u64(e, "count", line->count);
        emit_u64(e, "pusd", line->pusd);
        emit_text(e, "rate", rate_text(line->pusd, part >= TLSHM_PART_SEARCH, text));
        emit_text(e, "cost", dollars(line->count * line->pusd, text));
        emit_object_end(e);
    }
    emit_array_end(e);
}

static int show_cost(struct cli *cli, const tlshm_price_call *call, const tlshm_cost *cost)
{
    char text[DOLLARS_MAX];
    if (!cli->json) {
        printf("$%s\n", dollars(cost->pusd, text)); /* one figure, for scripts */
        return fflush(stdout) == 0 ? EXIT_OK : tool_fail(cli->tool, EXIT_LIBRARY, "the answer could not be written");
    }
    struct emit *e = cli_answer(cli);
    emit_text(e, "model", cost->model);
    emit_text(e, "provider", cost->provider);
    emit_text(e, "service", tlshm_service_name((int)call->service));
    emit_text(e, "dollars", dollars(cost->pusd, text));
    emit_u64(e, "cost", cost->nusd);
    emit_u64(e, "pusd", cost->pusd);
    emit_u64(e, "input_pusd", cost->input_pusd);
    emit_u64(e, "output_pusd", cost->output_pusd);
    emit_u64(e, "request_pusd", cost->request_pusd);
    emit_lines(e, cost);
    return cli_answered(cli, e, EXIT_OK);
}

static const char *const lacks[] = {"", "model", "price", "sense", "part"};

/* One sentence about why there is no price. */
static void say_lack(const char *model, const tlshm_cost *cost, const char *nearest, char *buf, size_t size)
{
    if (cost->lack == TLSHM_LACKS_PRICE)
        snprintf(buf, size, "'%s' has no price for tokens in this table", cost->model);
    else if (cost->lack == TLSHM_LACKS_SENSE)
        snprintf(buf, size, "'%s' has a price in this table that makes no sense", cost->model);
    else if (cost->lack == TLSHM_LACKS_PART)
        snprintf(buf, size, "'%s' has no price for %s in this table", cost->model, tlshm_part_name((int)cost->part));
    else if (*nearest)
        snprintf(buf, size, "'%s' is not in this table; did you mean '%s'?", model, nearest);
    else
        snprintf(buf, size, "'%s' is not in this table", model);
}

/* With the nearest name, which is empty if none is near. */
static void explain_lack(const tlshm_prices *prices, const char *model, const tlshm_cost *cost,
                         char nearest[TLSHM_MODEL_MAX + 1], char *buf, size_t size)
{
    *nearest = 0;
    if (cost->lack == TLSHM_LACKS_MODEL)
        tlshm_prices_nearest(prices, model, nearest, TLSHM_MODEL_MAX + 1);
    say_lack(model, cost, nearest, buf, size);
}

void price_say_lack(struct cli *cli, const tlshm_prices *prices, const tlshm_price_call *call)
{
    char nearest[TLSHM_MODEL_MAX + 1], text[3 * TLSHM_MODEL_MAX];
    tlshm_cost cost;
    if (!prices) {
        tool_fail(cli->tool, EXIT_REFUSED, NO_TABLE);
    } else if (tlshm_price(prices, call, &cost) == TLSHM_UNKNOWN_MODEL) {
        explain_lack(prices, call->model, &cost, nearest, text, sizeof text);
        tool_fail(cli->tool, EXIT_REFUSED, "%s", text);
    }
}

static int show_lack(struct cli *cli, const tlshm_prices *prices, const char *model, const tlshm_cost *cost)
{
    char nearest[TLSHM_MODEL_MAX + 1], text[3 * TLSHM_MODEL_MAX];
    explain_lack(prices, model, cost, nearest, text, sizeof text);
    if (cli->json) {
        struct emit *e = cli_answer(cli);
        emit_text(e, "verdict", "unknown");
        emit_text(e, "reason", tlshm_reason_name(TLSHM_UNKNOWN_MODEL));
        emit_text(e, "lack", lacks[cost->lack]);
        emit_text(e, "text", text);
        if (*nearest)
            emit_text(e, "nearest", nearest);
        else
            emit_null(e, "nearest", "-");
        int failed = cli_answered(cli, e, EXIT_OK);
        if (failed)
            return failed;
    }
    return tool_fail(cli->tool, EXIT_REFUSED, "%s", text);
}

/* ---------------------------------------------------------------------------------------------------------- commands */

static int price_call(struct cli *cli, const tlshm_prices *prices, const tlshm_price_call *call)
{
    tlshm_cost cost;
    int rc = tlshm_price(prices, call, &cost);
    if (rc == -TLSHM_EINVAL)
        return options_complain(cli->tool, "the parts of the input or of the output are more than the whole");
    if (rc < 0)
        return cli_error(cli, rc, call->model, NULL);
    return rc == TLSHM_OK ? show_cost(cli, call, &cost) : show_lack(cli, prices, call->model, &cost);
}

int run_price(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_price_call call = {.model = argv[0], .provider = cli->value[OPT_PROVIDER]};
    tlshm_prices *prices = NULL;
    tlshm_config *config = NULL;
    if (!price_counts(cli, &call.counts) || !price_service(cli, &call.service) || !take_instant(cli, &call.wall_ns))
        return EXIT_USAGE;
    int exit_code = config_named(cli, &config);
    if (exit_code == EXIT_OK)
        exit_code = price_table(cli, config, &prices);
    tlshm_config_free(config);
    if (exit_code == EXIT_OK && !prices)
        exit_code = options_complain(cli->tool, NO_TABLE);
    if (exit_code == EXIT_OK)
        exit_code = price_call(cli, prices, &call);
    tlshm_prices_close(prices);
    return exit_code;
}

int run_prices(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    static const char *const formats[] = {"none", "litellm", "genai-prices"};
    struct cli *cli = context;
    tlshm_prices *prices = NULL;
    tlshm_prices_info info;
    int exit_code = open_prices(cli, show_warning, cli, &prices);
    if (exit_code != EXIT_OK)
        return exit_code;
    int rc = tlshm_prices_get(prices, &info);
    tlshm_prices_close(prices);
    if (rc < 0)
        return cli_error(cli, rc, "prices", NULL);
    struct emit *e = cli_answer(cli);
    emit_text(e, "format", formats[info.format]);
    emit_u64(e, "providers", info.providers);
    emit_u64(e, "models", info.models);
    emit_u64(e, "priced", info.priced);
    emit_u64(e, "free", info.free);
    emit_u64(e, "unpriced", info.unpriced);
    emit_u64(e, "refused", info.refused);
    return cli_answered(cli, e, EXIT_OK);
}

/* A table that is named is looked at before anybody is sent to read it. */
int run_prices_reload(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    tlshm_prices *prices = NULL;
    int exit_code = table_named(cli) ? open_prices(cli, show_warning, cli, &prices) : EXIT_OK;
    tlshm_prices_close(prices);
    if (exit_code == EXIT_OK)
        exit_code = cli_attach(cli, 0);
    return exit_code == EXIT_OK ? cli_done(cli, tlshm_pricing_announce(cli->t), "prices") : exit_code;
}
