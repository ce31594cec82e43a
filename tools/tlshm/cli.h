/* SPDX-License-Identifier: MIT */
/* cli.h - what the commands of `tlshm` share: the options' values, the attachment, the answers. */
#ifndef TOOLS_TLSHM_CLI_H
#define TOOLS_TLSHM_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include <tlshm.h>
#include <tlshm/admin.h>

#include "emit.h"
#include "options.h"

enum option_id {
    OPT_SEGMENT = 1,
    OPT_JSON,
    /* amounts, in the order of enum tlshm_unit (concurrency has none) */
    OPT_TOKENS,
    OPT_COST,
    OPT_REQUESTS,
    OPT_INPUT,
    OPT_OUTPUT,
    OPT_TOOLS,
    /* calls */
    OPT_TTL,
    OPT_KEY,
    OPT_TAG,
    OPT_AGENT,
    OPT_TENANT,
    OPT_UNKNOWN,
    OPT_AT_LEAST,
    /* create */
    OPT_SCOPES,
    OPT_RESERVATIONS,
    OPT_LIMITS_PER_SCOPE,
    OPT_SLICES,
    OPT_SEATS,
    OPT_TIERS,
    OPT_LIMIT_LISTS,
    OPT_MODELS,
    OPT_RETENTION,
    OPT_MODE,
    OPT_GROUP,
    OPT_VIRTUAL_CLOCK,
    /* price */
    OPT_PRICES,
    OPT_IN,
    OPT_CACHED,
    OPT_CACHE_WRITE,
    OPT_CACHE_WRITE_1H,
    OPT_OUT,
    OPT_REASONING,
    OPT_AUDIO_IN,
    OPT_AUDIO_OUT,
    OPT_SEARCHES,
    OPT_PROVIDER,
    OPT_AT,
    OPT_BATCH,
    OPT_PRIORITY,
    OPT_FLEX,
    OPT_CUT,
    /* by model */
    OPT_MODEL,
    OPT_MAX_OUT,
    OPT_USAGE,
    OPT_CONFIG,
    /* config */
    OPT_DRY_RUN,
    /* headers */
    OPT_STATUS,
    OPT_NOW,
    OPT_COUNT
};

struct cli {
    const struct tool_info *tool;
    struct option_parser parser;
    const char *value[OPT_COUNT]; /* of each option that was given; "" for one without an argument */
    bool json;
    tlshm_t *t;
};

/* Every command: returns the exit code. */
typedef int command_function(void *context, int argc, char **argv);

command_function run_create, run_destroy, run_path, run_pause, run_resume, run_shutoff, run_overrun, run_reap;
command_function run_clock_get, run_clock_set, run_clock_advance;
command_function run_limit_set, run_limit_unset, run_limit_clear, run_limit_list;
command_function run_tier_set, run_tier_unset, run_tier_add, run_tier_drop, run_tier_list, run_tier_assign;
command_function run_default_set, run_default_unset, run_default_list, run_level_add, run_level_list;
command_function run_config_check, run_config_show, run_config_diff, run_config_apply, run_config_init;
command_function run_headers, run_estimate;
command_function run_reserve, run_would_fit, run_settle, run_refund, run_extend, run_remaining, run_usage,
    run_reservation;
command_function run_price, run_prices, run_prices_reload;
command_function run_answer, run_models;

/* The name from --segment or $TLSHM_SEGMENT; NULL after having complained. */
const char *cli_segment(struct cli *cli);

/* Attaches (cli->t). EXIT_OK, or the exit code after having reported. */
int cli_attach(struct cli *cli, unsigned flags);

/* Attaches and reads what is counted for a scope. EXIT_OK, or the exit code after having reported. */
int cli_usage(struct cli *cli, const char *key, tlshm_scope_usage *out);

/* Reports a library error (`err` may be NULL) about `what`: on stderr, and as JSON with --json. Returns EXIT_LIBRARY. */
int cli_error(struct cli *cli, int rc, const char *what, const struct tlshm_error *err);

/* EXIT_OK for 0 and above, else cli_error(). With --json success is {"done": true}; in text it is silent. */
int cli_done(struct cli *cli, int rc, const char *what);

/* The answer of this run; cli_answered() writes it and returns `exit_code`, or EXIT_LIBRARY if it can't be written. */
struct emit *cli_answer(struct cli *cli);
int cli_answered(struct cli *cli, struct emit *e, int exit_code);

/* Each parses a text for its meaning; false after having complained about `text` (a usage error). */
bool cli_limit(struct cli *cli, const char *text, tlshm_limit *out);
bool cli_limit_words(struct cli *cli, int argc, char **argv, tlshm_limit *out); /* one limit, spread over operands */
bool cli_duration(struct cli *cli, const char *text, uint64_t *out);
bool cli_amount(struct cli *cli, const char *option, const char *text, enum tlshm_unit unit, uint64_t *out);
bool cli_id(struct cli *cli, const char *text, tlshm_id *out);
bool cli_unit(struct cli *cli, const char *text, enum tlshm_unit *out);
bool cli_number(struct cli *cli, const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out);

#define CLI_INPUT_MAX (UINT64_C(64) << 20) /* bytes of a file or of standard input */

/*
 * All of a file, or of standard input for "-", NUL-terminated, for the caller to free. EXIT_OK, or the exit code after
 * having reported.
 */
int cli_read(struct cli *cli, const char *file, char **text, size_t *n);

/* A limit, as text and taken apart, into the open object. */
void cli_emit_limit(struct emit *e, const tlshm_limit *limit);

#endif
