/* SPDX-License-Identifier: MIT */
/* limits.c - commands about limits, tiers, defaults and levels. */
#include <stdio.h>

#include "cli.h"

/* ---------------------------------------------------------------------------------------------------------- limits */

typedef int change_function(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limit);

static int change_limit(struct cli *cli, int argc, char **argv, change_function *change)
{
    tlshm_limit limit;
    if (!cli_limit_words(cli, argc - 1, argv + 1, &limit))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, change(cli->t, argv[0], 0, &limit), argv[0]);
}

int run_limit_set(void *context, int argc, char **argv)
{
    return change_limit(context, argc, argv, tlshm_limit_set);
}

int run_limit_unset(void *context, int argc, char **argv)
{
    return change_limit(context, argc, argv, tlshm_limit_unset);
}

int run_limit_clear(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_scope_limits_set(cli->t, argv[0], 0, NULL, 0), argv[0]);
}

static void emit_limits(struct emit *e, const char *key, const tlshm_limit *limits, unsigned count)
{
    emit_array_begin(e, key);
    for (unsigned i = 0; i < count; i++) {
        emit_object_begin(e, NULL);
        cli_emit_limit(e, &limits[i]);
        emit_object_end(e);
    }
    emit_array_end(e);
}

int run_limit_list(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    static const char *const sources[] = {"none", "own", "tier", "default"};
    tlshm_scope_usage usage;
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    int failed = cli_usage(cli, argv[0], &usage);
    if (failed)
        return failed;
    for (unsigned i = 0; i < usage.limit_count; i++)
        limits[i] = usage.limits[i].limit;
    struct emit *e = cli_answer(cli);
    emit_text(e, "scope", argv[0]);
    emit_text(e, "source", sources[usage.source & 3]);
    if (*usage.tier)
        emit_text(e, "tier", usage.tier);
    emit_limits(e, "limits", limits, usage.limit_count);
    return cli_answered(cli, e, EXIT_OK);
}

/* ----------------------------------------------------------------------------------------------------------- tiers */

int run_tier_set(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    int count = argc - 1;
    if (count > TLSHM_LIMITS_MAX)
        return options_complain(cli->tool, "a tier has at most %d limits", TLSHM_LIMITS_MAX);
    for (int i = 0; i < count; i++)
        if (!cli_limit(cli, argv[i + 1], &limits[i]))
            return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_tier_set(cli->t, argv[0], limits, (unsigned)count), argv[0]);
}

int run_tier_unset(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_tier_unset(cli->t, argv[0]), argv[0]);
}

typedef int change_tier_function(tlshm_t *t, const char *tier, const tlshm_limit *limit);

static int change_tier(struct cli *cli, int argc, char **argv, change_tier_function *change)
{
    tlshm_limit limit;
    if (!cli_limit_words(cli, argc - 1, argv + 1, &limit))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, change(cli->t, argv[0], &limit), argv[0]);
}

int run_tier_add(void *context, int argc, char **argv)
{
    return change_tier(context, argc, argv, tlshm_tier_limit_set);
}

int run_tier_drop(void *context, int argc, char **argv)
{
    return change_tier(context, argc, argv, tlshm_tier_limit_unset);
}

/* In a table the limits are one cell, in JSON they are objects. */
static int emit_tier(struct cli *cli, struct emit *e, const char *name)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = 0;
    int rc = tlshm_tier_get(cli->t, name, limits, &count);
    if (rc < 0)
        return rc == -TLSHM_ENOENT ? 0 : rc; /* removed since its name was read */
    emit_object_begin(e, NULL);
    emit_text(e, "tier", name);
    if (emit_is_json(e)) {
        emit_limits(e, "limits", limits, count);
    } else {
        emit_array_begin(e, "limits");
        for (unsigned i = 0; i < count; i++) {
            char text[160];
            tlshm_limit_format(&limits[i], text, sizeof text);
            emit_text(e, NULL, text);
        }
        emit_array_end(e);
    }
    emit_object_end(e);
    return 0;
}

int run_tier_list(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    char name[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0;
    int failed = cli_attach(cli, TLSHM_READONLY), rc;
    if (failed)
        return failed;
    struct emit *e = cli_answer(cli);
    emit_array_begin(e, "tiers");
    while ((rc = tlshm_tier_next(cli->t, &cursor, name)) > 0 && (rc = emit_tier(cli, e, name)) == 0)
        continue;
    emit_array_end(e);
    if (rc == 0)
        return cli_answered(cli, e, EXIT_OK);
    emit_drop(e);
    return cli_error(cli, rc, "tiers", NULL);
}

int run_tier_assign(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    const char *tier = argc > 1 ? argv[1] : NULL;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_scope_tier_set(cli->t, argv[0], 0, tier), argv[0]);
}

/* -------------------------------------------------------------------------------------------------- defaults, levels */

int run_default_set(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_default_set(cli->t, argv[0], argv[1]), argv[0]);
}

int run_default_unset(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_default_set(cli->t, argv[0], NULL), argv[0]);
}

static int list_levels(struct cli *cli, const char *what, bool with_rank)
{
    char level[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0, rank;
    int failed = cli_attach(cli, TLSHM_READONLY), rc;
    if (failed)
        return failed;
    struct emit *e = cli_answer(cli);
    emit_array_begin(e, what);
    while ((rc = tlshm_level_next(cli->t, &cursor, level, &rank, tier)) > 0) {
        emit_object_begin(e, NULL);
        emit_text(e, "level", level);
        if (with_rank)
            emit_u64(e, "rank", rank);
        if (*tier)
            emit_text(e, "tier", tier);
        else
            emit_null(e, "tier", "-");
        emit_object_end(e);
    }
    emit_array_end(e);
    if (rc == 0)
        return cli_answered(cli, e, EXIT_OK);
    emit_drop(e);
    return cli_error(cli, rc, what, NULL);
}

int run_default_list(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    return list_levels(context, "defaults", false);
}

int run_level_list(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    return list_levels(context, "levels", true);
}

int run_level_add(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    uint64_t rank;
    if (!cli_number(cli, "RANK", argv[1], 0, UINT32_MAX, &rank))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_level_add(cli->t, argv[0], (unsigned)rank), argv[0]);
}
