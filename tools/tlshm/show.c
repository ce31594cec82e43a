/* SPDX-License-Identifier: MIT */
/* show.c - what is left, what is used, what became of a reservation. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"

/* ------------------------------------------------------------------------------------------------------- remaining */

static int print_remaining(struct cli *cli, int64_t left)
{
    if (left == INT64_MAX)
        puts("unlimited");
    else
        printf("%" PRId64 "\n", left);
    return fflush(stdout) == 0 ? EXIT_OK : tool_fail(cli->tool, EXIT_LIBRARY, "the answer could not be written");
}

int run_remaining(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    enum tlshm_unit unit;
    int64_t left;
    if (!cli_unit(cli, argv[1], &unit))
        return EXIT_USAGE;
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_remaining(cli->t, argv[0], 0, unit, &left);
    if (rc < 0)
        return cli_error(cli, rc, argv[0], NULL);
    if (!cli->json)
        return print_remaining(cli, left); /* bare digits, for scripts */
    struct emit *e = cli_answer(cli);
    emit_text(e, "scope", argv[0]);
    emit_text(e, "unit", argv[1]);
    emit_remaining(e, "remaining", unit, left);
    return cli_answered(cli, e, EXIT_OK);
}

/* ----------------------------------------------------------------------------------------------------------- usage */

static void emit_limit_usage(struct emit *e, const tlshm_limit_usage *u)
{
    enum tlshm_unit unit = u->limit.unit;
    emit_object_begin(e, NULL);
    cli_emit_limit(e, &u->limit);
    emit_amount(e, "used", unit, u->used);
    emit_amount(e, "held", unit, u->held);
    emit_remaining(e, "remaining", unit, u->remaining);
    emit_duration(e, "frees_in_ns", u->frees_in_ns);
    emit_object_end(e);
}

static void emit_usage_head(struct emit *e, const char *scope, const tlshm_scope_usage *u)
{
    static const char *const sources[] = {"none", "own", "tier", "default"};
    emit_text(e, "scope", scope);
    emit_bool(e, "seen", u->seen);
    emit_bool(e, "paused", u->paused);
    emit_bool(e, "shutoff", u->shutoff);
    emit_text(e, "source", sources[u->source & 3]);
    if (*u->tier)
        emit_text(e, "tier", u->tier);
}

int run_usage(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_scope_usage usage;
    tlshm_amounts used, held;
    int failed = cli_usage(cli, argv[0], &usage);
    if (failed)
        return failed;
    memcpy(used.of, usage.used, sizeof used.of);
    memcpy(held.of, usage.held, sizeof held.of);
    struct emit *e = cli_answer(cli);
    emit_usage_head(e, argv[0], &usage);
    emit_amounts(e, "used", &used);
    emit_amounts(e, "held", &held);
    emit_array_begin(e, "limits");
    for (unsigned i = 0; i < usage.limit_count; i++)
        emit_limit_usage(e, &usage.limits[i]);
    emit_array_end(e);
    return cli_answered(cli, e, EXIT_OK);
}

/* ----------------------------------------------------------------------------------------------------- reservation */

static void emit_scopes(struct cli *cli, struct emit *e, const tlshm_reservation_info *info)
{
    char key[TLSHM_KEY_MAX + 1];
    emit_array_begin(e, "scopes");
    for (unsigned i = 0; i < info->scope_count; i++)
        emit_text(e, NULL, tlshm_scope_key(cli->t, info->scopes[i], key, sizeof key) < 0 ? "(recycled)" : key);
    emit_array_end(e);
}

static void emit_times(struct emit *e, const tlshm_reservation_info *info)
{
    emit_duration(e, "age_ns", info->age_ns);
    if (info->status == TLSHM_HELD)
        emit_duration(e, "expires_in_ns", info->expires_in_ns);
    else
        emit_duration(e, "ended_ago_ns", info->ended_ago_ns);
}

static void emit_ending(struct emit *e, const tlshm_reservation_info *info)
{
    static const char *const outcomes[] = {"exact", "unknown", "at least"};
    if (info->status == TLSHM_SETTLED)
        emit_text(e, "outcome", outcomes[info->outcome % 3]);
    emit_amounts(e, "charged", &info->charged);
}

int run_reservation(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_reservation_info info;
    tlshm_id id;
    if (!cli_id(cli, argv[0], &id))
        return EXIT_USAGE;
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_reservation(cli->t, id, &info);
    if (rc < 0)
        return cli_error(cli, rc, argv[0], NULL);
    struct emit *e = cli_answer(cli);
    emit_id(e, "id", info.id);
    emit_text(e, "status", tlshm_status_name((int)info.status));
    emit_scopes(cli, e, &info);
    emit_times(e, &info);
    emit_plain(e, "owner_pid", info.owner_pid);
    emit_plain(e, "tag", info.tag);
    model_emit(cli, e, &info);
    if (info.idempotency_len)
        emit_bytes(e, "key", info.idempotency_key, info.idempotency_len);
    emit_amounts(e, "estimate", &info.estimate);
    emit_ending(e, &info);
    return cli_answered(cli, e, EXIT_OK);
}
