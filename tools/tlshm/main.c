/* SPDX-License-Identifier: MIT */
/* main.c - `tlshm`: the tables of options and commands, and the way from the words to a command. */
#include <signal.h>

#include "cli.h"
#include "guard.h"

static const struct option_row options[] = {
    {OPT_SEGMENT, "segment", 's', "NAME", "the segment's name or path; else $TLSHM_SEGMENT"},
    {OPT_JSON, "json", 'j', NULL, "answer in JSON"},
    OPTION_ROWS_END,
};

#define AMOUNT_ROWS                                                                                                    \
    {OPT_TOKENS, "tokens", 0, "N", "tokens, such as 1500 or 10k"},                                                     \
        {OPT_COST, "cost", 0, "MONEY", "cost, such as '$0.25' or 250000n (nano-dollars)"},                             \
        {OPT_INPUT, "input", 0, "N", "input tokens"}, {OPT_OUTPUT, "output", 0, "N", "output tokens"},                 \
    {                                                                                                                  \
        OPT_TOOLS, "tools", 0, "N", "tool calls"                                                                       \
    }

#define PRICES_ROW                                                                                                     \
    {                                                                                                                  \
        OPT_PRICES, "prices", 0, "FILE", "the price table, LiteLLM's or genai-prices'; else $TLSHM_PRICES"             \
    }

#define CONFIG_PRICES_ROW                                                                                              \
    {                                                                                                                  \
        OPT_CONFIG, "config", 0, "FILE", "a configuration whose section 'prices' holds"                                \
    }

#define INPUT_ROWS                                                                                                     \
    {OPT_IN, "in", 0, "N", "input tokens, all of them, such as 1500 or 10k"},                                          \
        {OPT_CACHED, "cached", 0, "N", "of these, read from the provider's cache"},                                    \
        {OPT_CACHE_WRITE, "cache-write", 0, "N", "of these, written to it"},                                           \
        {OPT_CACHE_WRITE_1H, "cache-write-1h", 0, "N", "of these, written to it for an hour"},                         \
    {                                                                                                                  \
        OPT_AUDIO_IN, "audio-in", 0, "N", "of these, audio"                                                            \
    }

#define OUTPUT_ROWS                                                                                                    \
    {OPT_OUT, "out", 0, "N", "output tokens, all of them"},                                                            \
        {OPT_REASONING, "reasoning", 0, "N", "of these, reasoning"},                                                   \
        {OPT_AUDIO_OUT, "audio-out", 0, "N", "of these, audio"},                                                       \
    {                                                                                                                  \
        OPT_SEARCHES, "searches", 0, "N", "web searches that the provider ran"                                         \
    }

#define PROVIDER_ROW                                                                                                   \
    {                                                                                                                  \
        OPT_PROVIDER, "provider", 0, "NAME", "who serves the model; else as its name tells"                            \
    }

#define SERVICE_ROWS                                                                                                   \
    {OPT_BATCH, "batch", 0, NULL, "prices of batches"},                                                                \
        {OPT_PRIORITY, "priority", 0, NULL, "prices of the priority service"},                                         \
    {                                                                                                                  \
        OPT_FLEX, "flex", 0, NULL, "prices of the flex service"                                                        \
    }

#define REQUEST_ROWS                                                                                                   \
    AMOUNT_ROWS, {OPT_REQUESTS, "requests", 0, "N", "requests; 1 if not given"},                                       \
        {OPT_AGENT, "agent", 0, "ID", "add the scope agent:ID"},                                                       \
        {OPT_TENANT, "tenant", 0, "ID", "add the scope tenant:ID"},                                                    \
        {OPT_TTL, "ttl", 0, "TIME", "the hold's life, such as 90s or 10m; 5m if not given"},                           \
        {OPT_KEY, "key", 0, "TEXT", "idempotency key: a repeat gets the first answer"},                                \
    {                                                                                                                  \
        OPT_TAG, "tag", 0, "NUMBER", "a number of yours, shown by inspection"                                          \
    }

static const struct option_row reserve_options[] = {
    REQUEST_ROWS,
    {OPT_MODEL, "model", 0, "NAME", "hold what a call of this model may take; with counts in place of amounts"},
    INPUT_ROWS,
    {OPT_MAX_OUT, "max-out", 0, "N", "output tokens that the model is allowed, or 'none'; else as was learned"},
    PROVIDER_ROW,
    SERVICE_ROWS,
    PRICES_ROW,
    {OPT_CONFIG, "config", 0, "FILE", "a configuration whose sections 'estimates' and 'prices' hold"},
    OPTION_ROWS_END,
};

static const struct option_row settle_options[] = {
    AMOUNT_ROWS,
    {OPT_UNKNOWN, "unknown", 0, NULL, "nothing is known: charge the estimate"},
    {OPT_AT_LEAST, "at-least", 0, NULL, "charge the larger of the amounts and the estimate"},
    {OPT_USAGE, "usage", 0, "FILE", "what the provider answered, a body or an event stream; - is standard input"},
    INPUT_ROWS,
    OUTPUT_ROWS,
    {OPT_MODEL, "model", 0, "NAME", "who answered, where the hold does not tell"},
    {OPT_PROVIDER, "provider", 0, "NAME", "whose answer --usage is: openai, anthropic, gemini, ...; any if not given"},
    {OPT_CUT, "cut", 0, NULL, "the connection broke, or reading stopped before the end"},
    PRICES_ROW,
    CONFIG_PRICES_ROW,
    OPTION_ROWS_END,
};

static const struct option_row extend_options[] = {
    AMOUNT_ROWS,
    {OPT_TTL, "ttl", 0, "TIME", "from now on; never shortens the hold's life"},
    OPTION_ROWS_END,
};

static const struct option_row create_options[] = {
    {OPT_SCOPES, "scopes", 0, "N", "scopes that can be known at once"},
    {OPT_RESERVATIONS, "reservations", 0, "N", "live and readable ended reservations"},
    {OPT_LIMITS_PER_SCOPE, "limits-per-scope", 0, "N", "limits that one scope may have"},
    {OPT_SLICES, "slices", 0, "N", "most slices of a rolling window"},
    {OPT_SEATS, "seats", 0, "N", "threads that may use the segment at once"},
    {OPT_TIERS, "tiers", 0, "N", "tiers"},
    {OPT_LIMIT_LISTS, "limit-lists", 0, "N", "tiers, and scopes with limits of their own"},
    {OPT_MODELS, "models", 0, "N", "models whose outputs are learned"},
    {OPT_RETENTION, "retention", 0, "TIME", "how long an expired hold can still be settled"},
    {OPT_MODE, "mode", 0, "OCTAL", "permissions of the file; 0660 if not given"},
    {OPT_GROUP, "group", 0, "GROUP", "group of the file, by name or number"},
    {OPT_VIRTUAL_CLOCK, "virtual-clock", 0, NULL, "time stands still until `clock set`: tests, simulations"},
    {OPT_CONFIG, "config", 0, "FILE", "sizes and all else from a file; options of size go before it"},
    OPTION_ROWS_END,
};

static const struct option_row apply_options[] = {
    {OPT_DRY_RUN, "dry-run", 0, NULL, "only show what would change"},
    OPTION_ROWS_END,
};

static const struct option_row prices_options[] = {
    PRICES_ROW,
    OPTION_ROWS_END,
};

static const struct option_row reload_options[] = {
    {OPT_PRICES, "prices", 0, "FILE", "a price table that must be sound, else nothing is done; else $TLSHM_PRICES"},
    OPTION_ROWS_END,
};

static const struct option_row price_options[] = {
    PRICES_ROW,   CONFIG_PRICES_ROW, INPUT_ROWS,
    OUTPUT_ROWS,  PROVIDER_ROW,      {OPT_AT, "at", 0, "DATE", "2026-03-13 or 2026-03-13T16:30:00Z; now if not given"},
    SERVICE_ROWS, OPTION_ROWS_END,
};

static const struct option_row answer_options[] = {
    {OPT_PROVIDER, "provider", 0, "NAME", "who answered: openai, anthropic, gemini, ...; any if not given"},
    {OPT_CUT, "cut", 0, NULL, "the connection broke, or reading stopped before the end"},
    OPTION_ROWS_END,
};

static const struct option_row headers_options[] = {
    {OPT_PROVIDER, "provider", 0, "NAME", "who answered: openai, anthropic ...; any if not given"},
    {OPT_STATUS, "status", 0, "N", "the HTTP status, where no status line tells it"},
    {OPT_NOW, "now", 0, "TIME", "seconds since 1970, or 'date' for the answer's own; else the clock"},
    OPTION_ROWS_END,
};

static const struct command_row commands[] = {
    {"create", "", "make a segment and print its path", create_options, 0, 0, run_create},
    {"destroy", "", "unlink a segment; running workers keep theirs", NULL, 0, 0, run_destroy},
    {"path", "", "print the path that the name stands for", NULL, 0, 0, run_path},
    {"limit set", "SCOPE LIMIT", "set one limit of a scope", NULL, 2, -1, run_limit_set},
    {"limit unset", "SCOPE LIMIT", "remove one limit (its unit and window count)", NULL, 2, -1, run_limit_unset},
    {"limit clear", "SCOPE", "remove all limits: the scope is unlimited", NULL, 1, 1, run_limit_clear},
    {"limit list", "SCOPE", "show the limits that hold for a scope", NULL, 1, 1, run_limit_list},
    {"tier set", "TIER [LIMIT]...", "make a tier, or replace its limits", NULL, 1, -1, run_tier_set},
    {"tier add", "TIER LIMIT", "set one limit of a tier", NULL, 2, -1, run_tier_add},
    {"tier drop", "TIER LIMIT", "remove one limit of a tier", NULL, 2, -1, run_tier_drop},
    {"tier unset", "TIER", "remove a tier", NULL, 1, 1, run_tier_unset},
    {"tier list", "", "show the tiers", NULL, 0, 0, run_tier_list},
    {"tier assign", "SCOPE [TIER]", "give a scope a tier, or its level's default", NULL, 1, 2, run_tier_assign},
    {"default set", "LEVEL TIER", "the tier of a level's scopes", NULL, 2, 2, run_default_set},
    {"default unset", "LEVEL", "no tier by default: unlimited, still counted", NULL, 1, 1, run_default_unset},
    {"default list", "", "show the levels' default tiers", NULL, 0, 0, run_default_list},
    {"level add", "LEVEL RANK", "add a level; rank 0 is the most shared one", NULL, 2, 2, run_level_add},
    {"level list", "", "show the levels", NULL, 0, 0, run_level_list},
    {"config check", "FILE", "what is wrong with a configuration file", NULL, 1, 1, run_config_check},
    {"config show", "", "print what is in force, as such a file", NULL, 0, 0, run_config_show},
    {"config diff", "FILE", "what the segment has otherwise than the file", NULL, 1, 1, run_config_diff},
    {"config apply", "FILE", "bring the segment to what the file says", apply_options, 1, 1, run_config_apply},
    {"config init", "[FILE]", "write a commented file to start from", NULL, 0, 1, run_config_init},
    {"pause", "[SCOPE]", "refuse new calls, of a scope or all", NULL, 0, 1, run_pause},
    {"shutoff", "[SCOPE]", "emergency: the same, until a person resumes", NULL, 0, 1, run_shutoff},
    {"resume", "[SCOPE]", "end pause and shutoff", NULL, 0, 1, run_resume},
    {"overrun", "[actual|cap]", "what a settle above the estimate charges", NULL, 0, 1, run_overrun},
    {"reserve", "[SCOPE]...", "hold an estimate and print the id", reserve_options, 0, -1, run_reserve},
    {"would-fit", "[SCOPE]...", "say whether a reserve would be admitted", reserve_options, 0, -1, run_would_fit},
    {"settle", "ID", "replace a hold by what was used", settle_options, 1, 1, run_settle},
    {"refund", "ID", "release a hold", NULL, 1, 1, run_refund},
    {"extend", "ID", "add amounts or time to a hold", extend_options, 1, 1, run_extend},
    {"remaining", "SCOPE UNIT", "print what could still be reserved", NULL, 2, 2, run_remaining},
    {"usage", "SCOPE", "show what a scope has used and holds", NULL, 1, 1, run_usage},
    {"reservation", "ID", "show a reservation", NULL, 1, 1, run_reservation},
    {"price", "MODEL", "print what a call costs, in dollars", price_options, 1, 1, run_price},
    {"prices reload", "", "have all workers read their price files again", reload_options, 0, 0, run_prices_reload},
    {"models", "", "show what was learned of models", NULL, 0, 0, run_models},
    {"prices", "", "check a price table and show what is in it", prices_options, 0, 0, run_prices},
    {"reap", "", "one pass: expire overdue holds, free dead seats", NULL, 0, 0, run_reap},
    {"answer", "[FILE]", "print what a provider's body or event stream says it used", answer_options, 0, 1, run_answer},
    {"clock get", "", "show the segment's clock", NULL, 0, 0, run_clock_get},
    {"clock set", "BOOT_NS WALL_NS", "move a virtual clock", NULL, 2, 2, run_clock_set},
    {"clock advance", "TIME", "move a virtual clock forward", NULL, 1, 1, run_clock_advance},
    {"headers", "[FILE]", "tell what a provider's answer says of its limits", headers_options, 0, 1, run_headers},
    {"estimate", "[FILE]", "print the tokens that a text may cost", NULL, 0, 1, run_estimate},
    COMMAND_ROWS_END,
};

static const struct tool_info tool = {
    "tlshm",
    "Makes and manages segments of the token limiter, and makes its calls from scripts.",
    "[OPTION]... COMMAND [OPERAND]...",
    options,
    commands,
    "A LIMIT is a text such as 'tokens 1M per 1h', 'cost $50 per month' or 'concurrency 5'.\n"
    "Exit codes: 0 done or admitted, 1 refused, 2 wrong usage, 3 error.\n"
    "See tlshm(1), and tlshm(7) for the words.\n",
};

/* Takes the options that come next, of the tool or of a command. False: nothing is left to do. */
static bool take_options(struct cli *cli, const struct command_row *command, int argc, char **argv)
{
    int id;
    options_start(&cli->parser, cli->tool, command, argc, argv);
    while ((id = options_next(&cli->parser)) > 0)
        cli->value[id] = cli->parser.argument ? cli->parser.argument : "";
    cli->json = cli->value[OPT_JSON] != NULL;
    return !cli->parser.stopped;
}

static int run(struct cli *cli, int argc, char **argv)
{
    int words;
    if (!take_options(cli, NULL, argc, argv))
        return cli->parser.exit_code;
    argc = cli->parser.argc;
    argv = cli->parser.argv;
    const struct command_row *command = options_command(cli->tool, argc, argv, &words);
    if (!command)
        return EXIT_USAGE;
    if (!take_options(cli, command, argc - words + 1, argv + words - 1))
        return cli->parser.exit_code;
    if (!options_operands_fit(&cli->parser))
        return EXIT_USAGE;
    return command->run(cli, cli->parser.argc, cli->parser.argv);
}

int main(int argc, char **argv)
{
    struct cli cli = {.tool = &tool};
    signal(SIGPIPE, SIG_IGN); /* a reader that is gone is an error of the answer, not the end of a half-made call */
    int exit_code = run(&cli, argc, argv);
    guard_detach(cli.t);
    return exit_code;
}
