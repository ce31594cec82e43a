/* SPDX-License-Identifier: MIT */
/* calls.c - the daily calls as commands: reserve, would-fit, settle, refund, extend. */
#include <stdio.h>
#include <string.h>

#include "calls.h"

/* --------------------------------------------------------------------------------------------------------- amounts */

static const struct {
    enum option_id id;
    enum tlshm_unit unit;
    const char *name;
} amount_options[] = {
    {OPT_TOKENS, TLSHM_TOKENS, "--tokens"},        {OPT_COST, TLSHM_COST, "--cost"},
    {OPT_REQUESTS, TLSHM_REQUESTS, "--requests"},  {OPT_INPUT, TLSHM_INPUT_TOKENS, "--input"},
    {OPT_OUTPUT, TLSHM_OUTPUT_TOKENS, "--output"}, {OPT_TOOLS, TLSHM_TOOL_CALLS, "--tools"},
};

/* Sets what was given and counts it; below zero after a complaint. */
static int read_amounts(struct cli *cli, tlshm_amounts *out)
{
    int given = 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof amount_options / sizeof *amount_options; i++) {
        const char *text = cli->value[amount_options[i].id];
        enum tlshm_unit unit = amount_options[i].unit;
        if (!text)
            continue;
        if (!cli_amount(cli, amount_options[i].name, text, unit, &out->of[unit]))
            return -1;
        given++;
    }
    return given;
}

/* -------------------------------------------------------------------------------------------------------- refusals */

static void emit_refusing_limit(struct emit *e, const tlshm_refusal *why)
{
    enum tlshm_unit unit = why->limit.unit;
    cli_emit_limit(e, &why->limit);
    emit_amount(e, "requested", unit, why->requested);
    emit_amount(e, "used", unit, why->used);
    emit_amount(e, "held", unit, why->held);
    emit_remaining(e, "remaining", unit, why->remaining);
}

int calls_refused(struct cli *cli, const tlshm_refusal *why)
{
    char text[1024];
    tlshm_refusal_text(why, text, sizeof text);
    fprintf(stderr, "%s: %s\n", cli->tool->name, text);
    if (!cli->json)
        return EXIT_REFUSED;
    struct emit *e = cli_answer(cli);
    emit_text(e, "verdict", "refused");
    emit_text(e, "reason", tlshm_reason_name((int)why->reason));
    emit_text(e, "text", text);
    if (*why->key)
        emit_text(e, "scope", why->key);
    else
        emit_null(e, "scope", "-");
    if (why->reason == TLSHM_LIMIT || why->reason == TLSHM_NEVER_FITS || why->reason == TLSHM_REQUEST_TOO_LARGE)
        emit_refusing_limit(e, why);
    emit_duration(e, "retry_after_ns", why->retry_after_ns);
    return cli_answered(cli, e, EXIT_REFUSED);
}

/* --------------------------------------------------------------------------------------------------------- reserve */

/* A reserve's scopes: the operands, then those that --agent and --tenant stand for. */
struct scopes {
    tlshm_scope list[TLSHM_SCOPES_MAX];
    unsigned count;
    char agent[TLSHM_KEY_MAX + 2], tenant[TLSHM_KEY_MAX + 2]; /* one byte more than fits: the library refuses it */
};

static bool add_scope(struct cli *cli, struct scopes *s, const char *key)
{
    if (s->count == TLSHM_SCOPES_MAX) {
        options_complain(cli->tool, "a reservation has at most %d scopes", TLSHM_SCOPES_MAX);
        return false;
    }
    s->list[s->count++] = (tlshm_scope){.key = key};
    return true;
}

static bool add_named(struct cli *cli, struct scopes *s, char *place, const char *level, enum option_id id)
{
    if (!cli->value[id])
        return true;
    snprintf(place, sizeof s->agent, "%s:%s", level, cli->value[id]);
    return add_scope(cli, s, place);
}

static bool read_scopes(struct cli *cli, const char *command, int argc, char **argv, struct scopes *s)
{
    s->count = 0;
    for (int i = 0; i < argc; i++)
        if (!add_scope(cli, s, argv[i]))
            return false;
    if (!add_named(cli, s, s->agent, "agent", OPT_AGENT) || !add_named(cli, s, s->tenant, "tenant", OPT_TENANT))
        return false;
    if (s->count == 0)
        options_complain(cli->tool, "%s needs a scope such as tenant:acme, or --agent and --tenant", command);
    return s->count > 0;
}

static bool read_estimate(struct cli *cli, tlshm_request *request)
{
    const char *ttl = cli->value[OPT_TTL], *key = cli->value[OPT_KEY], *tag = cli->value[OPT_TAG];
    int given = read_amounts(cli, &request->estimate);
    if (given < 0)
        return false;
    if (key) {
        request->idempotency_key = key;
        request->idempotency_len = strlen(key);
    }
    return (!ttl || cli_duration(cli, ttl, &request->ttl_ns)) &&
           (!tag || cli_number(cli, "--tag", tag, 0, UINT64_MAX, &request->tag));
}

/* The whole request of a command, whose scopes stay in `scopes`. */
static bool read_request(struct cli *cli, const char *command, int argc, char **argv, struct scopes *scopes,
                         tlshm_request *request)
{
    *request = (tlshm_request)TLSHM_REQUEST_INIT;
    if (!read_scopes(cli, command, argc, argv, scopes) || !read_estimate(cli, request))
        return false;
    request->scopes = scopes->list;
    request->scope_count = scopes->count;
    return true;
}

static bool check_counts(struct cli *cli)
{
    if (cli->value[OPT_MODEL] || !(cli->value[OPT_MAX_OUT] || model_is_meant(cli)))
        return true;
    options_complain(cli->tool, "counts such as --in and --max-out go with --model");
    return false;
}

static void emit_guess(struct emit *e, const tlshm_guess *guess)
{
    static const char *const sources[] = {
        [TLSHM_OUTPUT_GIVEN] = "given", [TLSHM_OUTPUT_LEARNED] = "learned", [TLSHM_OUTPUT_ASSUMED] = "assumed"};
    emit_amounts(e, "estimate", &guess->amounts);
    emit_u64(e, "output", guess->output);
    emit_text(e, "output_source", sources[guess->source]);
    emit_bool(e, "priced", guess->priced != 0);
}

static int write_id(struct cli *cli, tlshm_id id, bool replay, const tlshm_guess *guess)
{
    if (!cli->json) {
        printf("%016llx\n", (unsigned long long)id);
        return fflush(stdout) == 0 ? EXIT_OK : tool_fail(cli->tool, EXIT_LIBRARY, "the id could not be written");
    }
    struct emit *e = cli_answer(cli);
    emit_text(e, "verdict", "admitted");
    emit_id(e, "id", id);
    emit_bool(e, "replay", replay);
    if (guess)
        emit_guess(e, guess);
    return cli_answered(cli, e, EXIT_OK);
}

/* A hold whose id nobody has seen would stand in the way until its deadline. */
int calls_admitted(struct cli *cli, tlshm_id id, bool replay, const tlshm_guess *guess)
{
    int exit_code = write_id(cli, id, replay, guess);
    if (exit_code != EXIT_OK && !replay)
        tlshm_refund(cli->t, id, NULL);
    return exit_code;
}

int run_reserve(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    struct scopes scopes;
    tlshm_request request;
    tlshm_refusal why;
    tlshm_id id;
    if (!read_request(cli, "reserve", argc, argv, &scopes, &request) || !check_counts(cli))
        return EXIT_USAGE;
    if (cli->value[OPT_MODEL])
        return model_reserve(cli, &request);
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_reserve(cli->t, &request, &id, &why);
    if (rc < 0)
        return cli_error(cli, rc, "reserve", NULL);
    return rc == TLSHM_REFUSED ? calls_refused(cli, &why) : calls_admitted(cli, id, rc == TLSHM_REPLAY, NULL);
}

/* ------------------------------------------------------------------------------------------------------- would fit */

int calls_fits(struct cli *cli, bool replay, const tlshm_guess *guess)
{
    if (!cli->json) {
        puts(replay ? "replay" : "admitted");
        return fflush(stdout) == 0 ? EXIT_OK : tool_fail(cli->tool, EXIT_LIBRARY, "the answer could not be written");
    }
    struct emit *e = cli_answer(cli);
    emit_text(e, "verdict", "admitted");
    emit_bool(e, "replay", replay);
    if (guess)
        emit_guess(e, guess);
    return cli_answered(cli, e, EXIT_OK);
}

int run_would_fit(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    struct scopes scopes;
    tlshm_request request;
    tlshm_refusal why;
    if (!read_request(cli, "would-fit", argc, argv, &scopes, &request) || !check_counts(cli))
        return EXIT_USAGE;
    if (cli->value[OPT_MODEL])
        return model_would_fit(cli, &request);
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_would_fit(cli->t, &request, &why);
    if (rc < 0)
        return cli_error(cli, rc, "would-fit", NULL);
    return rc == TLSHM_REFUSED ? calls_refused(cli, &why) : calls_fits(cli, rc == TLSHM_REPLAY, NULL);
}

/* -------------------------------------------------------------------------------------------------- settle, refund */

static const char *note_of(int verdict)
{
    switch (verdict) {
    case TLSHM_REPLAY:
        return "it had ended before: nothing was changed";
    case TLSHM_LATE:
        return "the hold had expired: the use was recorded";
    case TLSHM_ENDED:
        return "the hold had expired: nothing was changed";
    default:
        return NULL;
    }
}

static const char *verdict_word(int verdict)
{
    static const char *const words[] = {
        [TLSHM_OK] = "done",   [TLSHM_REFUSED] = "refused", [TLSHM_REPLAY] = "replay",
        [TLSHM_LATE] = "late", [TLSHM_ENDED] = "ended",
    };
    return words[verdict];
}

int calls_ended(struct cli *cli, tlshm_id id, int verdict, const tlshm_result *result)
{
    struct emit *e = cli_answer(cli);
    emit_id(e, "id", id);
    emit_text(e, "verdict", verdict_word(verdict));
    if (note_of(verdict))
        emit_text(e, "note", note_of(verdict));
    emit_text(e, "status", tlshm_status_name((int)result->status));
    emit_amounts(e, "charged", &result->charged);
    return cli_answered(cli, e, EXIT_OK);
}

static bool read_outcome(struct cli *cli, tlshm_amounts *actual, enum tlshm_outcome *outcome)
{
    int given = read_amounts(cli, actual);
    if (given < 0)
        return false;
    bool unknown = cli->value[OPT_UNKNOWN], at_least = cli->value[OPT_AT_LEAST];
    *outcome = unknown ? TLSHM_UNKNOWN : at_least ? TLSHM_AT_LEAST : TLSHM_EXACT;
    if (unknown && (at_least || given > 0))
        options_complain(cli->tool, "--unknown goes without amounts and without --at-least");
    else if (!unknown && given == 0)
        options_complain(cli->tool, "settle needs what was used, or --unknown");
    else
        return true;
    return false;
}

int run_settle(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_amounts actual;
    enum tlshm_outcome outcome;
    tlshm_result result = {0};
    tlshm_id id;
    if (!cli_id(cli, argv[0], &id))
        return EXIT_USAGE;
    if (model_is_meant(cli))
        return model_settle(cli, argv[0], id);
    if (!read_outcome(cli, &actual, &outcome))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_settle(cli->t, id, &actual, outcome, &result);
    return rc < 0 ? cli_error(cli, rc, argv[0], NULL) : calls_ended(cli, id, rc, &result);
}

int run_refund(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_result result = {0};
    tlshm_id id;
    if (!cli_id(cli, argv[0], &id))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_refund(cli->t, id, &result);
    return rc < 0 ? cli_error(cli, rc, argv[0], NULL) : calls_ended(cli, id, rc, &result);
}

/* ---------------------------------------------------------------------------------------------------------- extend */

static int answer_extend(struct cli *cli, tlshm_id id, int verdict)
{
    int exit_code = verdict == TLSHM_OK ? EXIT_OK : EXIT_REFUSED;
    if (exit_code)
        tool_fail(cli->tool, exit_code, "the reservation has ended: nothing was changed");
    if (!cli->json)
        return exit_code;
    struct emit *e = cli_answer(cli);
    emit_id(e, "id", id);
    emit_text(e, "verdict", verdict_word(verdict));
    return cli_answered(cli, e, exit_code);
}

int run_extend(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_amounts more;
    tlshm_refusal why;
    tlshm_id id;
    uint64_t ttl = 0;
    int given = cli_id(cli, argv[0], &id) ? read_amounts(cli, &more) : -1;
    if (given < 0 || (cli->value[OPT_TTL] && !cli_duration(cli, cli->value[OPT_TTL], &ttl)))
        return EXIT_USAGE;
    if (given == 0 && !cli->value[OPT_TTL])
        return options_complain(cli->tool, "extend needs amounts, or --ttl");
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_extend(cli->t, id, given ? &more : NULL, ttl, &why);
    if (rc < 0)
        return cli_error(cli, rc, argv[0], NULL);
    return rc == TLSHM_REFUSED ? calls_refused(cli, &why) : answer_extend(cli, id, rc);
}
