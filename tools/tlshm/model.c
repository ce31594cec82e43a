/* SPDX-License-Identifier: MIT */
/* model.c - reserving and settling by model, and what was learned of models. */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "file.h"

/* ------------------------------------------------------------------------------------------------------------ reserve */

static bool has_amounts(const struct cli *cli)
{
    return cli->value[OPT_TOKENS] || cli->value[OPT_COST] || cli->value[OPT_INPUT] || cli->value[OPT_OUTPUT];
}

static bool read_count(struct cli *cli, const char *name, enum option_id id, enum tlshm_unit unit, uint64_t *out)
{
    return !cli->value[id] || cli_amount(cli, name, cli->value[id], unit, out);
}

static bool read_call(struct cli *cli, tlshm_model_call *call)
{
    const char *most = cli->value[OPT_MAX_OUT];
    *call = (tlshm_model_call){.model = cli->value[OPT_MODEL], .provider = cli->value[OPT_PROVIDER]};
    if (has_amounts(cli)) {
        options_complain(cli->tool, "--model goes with counts (--in, --max-out, --tools), not with amounts");
        return false;
    }
    if (!price_counts(cli, &call->counts) || !price_service(cli, &call->service) ||
        !read_count(cli, "--tools", OPT_TOOLS, TLSHM_TOOL_CALLS, &call->counts.tool_calls))
        return false;
    if (most && strcmp(most, "none") == 0)
        call->max_output = TLSHM_OUTPUT_NONE;
    else if (!read_count(cli, "--max-out", OPT_MAX_OUT, TLSHM_OUTPUT_TOKENS, &call->max_output))
        return false;
    else if (most && call->max_output == 0)
        call->max_output = TLSHM_OUTPUT_NONE;
    return true;
}

/* Prices, and the bounds of --config, which may be NULL; defaults without one. EXIT_OK, or the exit code after having reported. */
static int read_files(struct cli *cli, tlshm_bounds *bounds, tlshm_prices **prices)
{
    tlshm_config *config;
    int failed = config_named(cli, &config);
    if (failed == EXIT_OK)
        failed = price_table(cli, config, prices);
    if (bounds)
        *bounds = config ? tlshm_config_get_settings(config)->estimates : (tlshm_bounds){0};
    tlshm_config_free(config);
    return failed;
}

static int bad_counts(struct cli *cli)
{
    return options_complain(cli->tool,
                            "parts of the input or the output are more than the whole, or a name is too long");
}

/* Of a call that was not admitted. */
static int not_admitted(struct cli *cli, int rc, const char *command, const tlshm_model_call *call,
                        const tlshm_prices *prices, const tlshm_refusal *why)
{
    if (rc == -TLSHM_EINVAL)
        return bad_counts(cli);
    if (rc < 0)
        return cli_error(cli, rc, command, NULL);
    int exit_code = calls_refused(cli, why);
    if (why->reason == TLSHM_UNKNOWN_MODEL)
        price_say_lack(cli, prices,
                       &(tlshm_price_call){
                           .model = call->model,
                           .provider = call->provider,
                           .service = call->service,
                           .counts = call->counts,
                       });
    return exit_code;
}

typedef int priced_command(struct cli *cli, const tlshm_request *request, const tlshm_model_call *call,
                           const tlshm_bounds *bounds, const tlshm_prices *prices);

static int reserve_priced(struct cli *cli, const tlshm_request *request, const tlshm_model_call *call,
                          const tlshm_bounds *bounds, const tlshm_prices *prices)
{
    tlshm_guess guess;
    tlshm_refusal why;
    tlshm_id id;
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_model_reserve(cli->t, request, call, bounds, prices, &id, &guess, &why);
    if (rc < 0 || rc == TLSHM_REFUSED)
        return not_admitted(cli, rc, "reserve", call, prices, &why);
    return calls_admitted(cli, id, rc == TLSHM_REPLAY, &guess);
}

static int fit_priced(struct cli *cli, const tlshm_request *request, const tlshm_model_call *call,
                      const tlshm_bounds *bounds, const tlshm_prices *prices)
{
    tlshm_guess guess;
    tlshm_refusal why;
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_model_would_fit(cli->t, request, call, bounds, prices, &guess, &why);
    if (rc < 0 || rc == TLSHM_REFUSED)
        return not_admitted(cli, rc, "would-fit", call, prices, &why);
    return calls_fits(cli, rc == TLSHM_REPLAY, &guess);
}

/* Tool calls are part of the counts. */
static int run_priced(struct cli *cli, const tlshm_request *request, priced_command *command)
{
    tlshm_request by_counts = *request;
    tlshm_model_call call;
    tlshm_bounds bounds;
    tlshm_prices *prices = NULL;
    by_counts.estimate.of[TLSHM_TOOL_CALLS] = 0;
    if (!read_call(cli, &call))
        return EXIT_USAGE;
    int exit_code = read_files(cli, &bounds, &prices);
    if (exit_code == EXIT_OK)
        exit_code = command(cli, &by_counts, &call, &bounds, prices);
    tlshm_prices_close(prices);
    return exit_code;
}

int model_reserve(struct cli *cli, const tlshm_request *request)
{
    return run_priced(cli, request, reserve_priced);
}

int model_would_fit(struct cli *cli, const tlshm_request *request)
{
    return run_priced(cli, request, fit_priced);
}

/* ------------------------------------------------------------------------------------------------------------- settle */

static const enum option_id counts_options[] = {OPT_IN,      OPT_CACHED,    OPT_CACHE_WRITE, OPT_CACHE_WRITE_1H,
                                                OPT_OUT,     OPT_REASONING, OPT_AUDIO_IN,    OPT_AUDIO_OUT,
                                                OPT_SEARCHES};

static bool has_counts(const struct cli *cli)
{
    for (size_t i = 0; i < sizeof counts_options / sizeof *counts_options; i++)
        if (cli->value[counts_options[i]])
            return true;
    return false;
}

bool model_is_meant(const struct cli *cli)
{
    return cli->value[OPT_USAGE] || has_counts(cli);
}

static bool check_options(struct cli *cli)
{
    if (has_amounts(cli))
        options_complain(cli->tool, "amounts go without --usage and without counts such as --in and --out");
    else if (cli->value[OPT_UNKNOWN])
        options_complain(cli->tool, "--unknown goes without --usage and without counts");
    else if (cli->value[OPT_USAGE] && (has_counts(cli) || cli->value[OPT_AT_LEAST] || cli->value[OPT_TOOLS]))
        options_complain(cli->tool, "--usage tells it all: it goes without counts and without --at-least");
    else
        return true;
    return false;
}

/* What was used, from an answer or from options. `answer` is what the usage points into. */
static int read_usage(struct cli *cli, tlshm_answer *answer, tlshm_model_usage *usage, enum tlshm_outcome *outcome)
{
    memset(answer, 0, sizeof *answer);
    *usage = (tlshm_model_usage){.model = cli->value[OPT_MODEL]};
    *outcome = cli->value[OPT_AT_LEAST] ? TLSHM_AT_LEAST : TLSHM_EXACT;
    if (!cli->value[OPT_USAGE])
        return price_counts(cli, &usage->counts) &&
                       read_count(cli, "--tools", OPT_TOOLS, TLSHM_TOOL_CALLS, &usage->counts.tool_calls)
                   ? EXIT_OK
                   : EXIT_USAGE;
    int failed = answer_read(cli, cli->value[OPT_USAGE], answer);
    if (failed)
        return failed;
    tlshm_usage_of_answer(answer, usage);
    if (cli->value[OPT_MODEL])
        usage->model = cli->value[OPT_MODEL];
    *outcome = answer->outcome;
    return EXIT_OK;
}

/* An answer that is nothing but an error is a call that did not begin. */
static int settle_priced(struct cli *cli, const char *text, tlshm_id id, const tlshm_answer *answer,
                         const tlshm_model_usage *usage, enum tlshm_outcome outcome, const tlshm_prices *prices)
{
    tlshm_result result = {0};
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = answer->refused ? tlshm_refund(cli->t, id, &result)
                             : tlshm_model_settle(cli->t, id, usage, outcome, prices, &result, NULL);
    if (rc == -TLSHM_EINVAL)
        return bad_counts(cli);
    return rc < 0 ? cli_error(cli, rc, text, NULL) : calls_ended(cli, id, rc, &result);
}

int model_settle(struct cli *cli, const char *text, tlshm_id id)
{
    tlshm_answer answer;
    tlshm_model_usage usage;
    enum tlshm_outcome outcome;
    tlshm_prices *prices = NULL;
    if (!check_options(cli))
        return EXIT_USAGE;
    int exit_code = read_usage(cli, &answer, &usage, &outcome);
    if (exit_code == EXIT_OK)
        exit_code = read_files(cli, NULL, &prices);
    if (exit_code == EXIT_OK)
        exit_code = settle_priced(cli, text, id, &answer, &usage, outcome, prices);
    tlshm_prices_close(prices);
    return exit_code;
}

/* -------------------------------------------------------------------------------------------------------------- looks */

void model_emit(struct cli *cli, struct emit *e, const tlshm_reservation_info *info)
{
    tlshm_model_info model;
    if (!info->model || tlshm_model_get(cli->t, info->model, &model) < 0)
        return;
    emit_text(e, "model", model.model);
    if (model.provider[0])
        emit_text(e, "provider", model.provider);
    emit_text(e, "service", tlshm_service_name((int)info->service));
}

static void emit_output(struct cli *cli, struct emit *e, const char *key, uint32_t number, uint32_t ppm)
{
    uint64_t output;
    if (tlshm_model_output(cli->t, number, ppm, &output) == 1)
        emit_u64(e, key, output);
    else
        emit_null(e, key, "-");
}

static void emit_model(struct cli *cli, struct emit *e, const tlshm_model_info *info)
{
    emit_object_begin(e, NULL);
    emit_text(e, "model", info->model);
    if (info->provider[0])
        emit_text(e, "provider", info->provider);
    else
        emit_null(e, "provider", "-");
    emit_u64(e, "learned", info->learned);
    emit_u64(e, "calls", info->calls);
    emit_output(cli, e, "output_p50", info->number, 500000);
    emit_output(cli, e, "output_p95", info->number, 950000);
    emit_output(cli, e, "output_p99", info->number, 990000);
    emit_object_end(e);
}

int run_models(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    tlshm_model_info info;
    uint32_t cursor = 0;
    uint64_t corrupt = 0;
    int rc, failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    struct emit *e = cli_answer(cli);
    emit_array_begin(e, "models");
    while ((rc = tlshm_model_next(cli->t, &cursor, &info)) == 1 || rc == -TLSHM_ECORRUPT) {
        if (rc == 1)
            emit_model(cli, e, &info);
        corrupt += rc < 0;
    }
    emit_array_end(e);
    if (rc == 0 && corrupt == 0)
        return cli_answered(cli, e, EXIT_OK);
    emit_drop(e);
    return cli_error(cli, rc < 0 ? rc : -TLSHM_ECORRUPT, "models", NULL);
}
