/* SPDX-License-Identifier: MIT */
/* segment.c - commands about the segment as a whole: its file, switches, overrun policy, reaping, clock. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/stats.h>

#include "file.h"

/* ------------------------------------------------------------------------------------------------- create, destroy */

static bool read_counts(struct cli *cli, tlshm_geometry *g)
{
    const struct {
        enum option_id id;
        const char *name;
        uint32_t *place;
    } counts[] = {
        {OPT_SCOPES, "--scopes", &g->scopes},
        {OPT_RESERVATIONS, "--reservations", &g->reservations},
        {OPT_LIMITS_PER_SCOPE, "--limits-per-scope", &g->limits_per_scope},
        {OPT_SLICES, "--slices", &g->slices},
        {OPT_SEATS, "--seats", &g->seats},
        {OPT_TIERS, "--tiers", &g->tiers},
        {OPT_LIMIT_LISTS, "--limit-lists", &g->limit_lists},
        {OPT_MODELS, "--models", &g->models},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t value;
        if (!cli->value[counts[i].id])
            continue;
        if (!cli_number(cli, counts[i].name, cli->value[counts[i].id], 1, UINT32_MAX, &value))
            return false;
        *counts[i].place = (uint32_t)value;
    }
    return true;
}

static bool read_mode(struct cli *cli, uint32_t *mode)
{
    const char *text = cli->value[OPT_MODE];
    if (!text)
        return true;
    size_t n = strlen(text);
    if (n >= 3 && n <= 4 && strspn(text, "01234567") == n && (*mode = (uint32_t)strtoul(text, NULL, 8)) > 0 &&
        *mode <= 0777)
        return true;
    options_complain(cli->tool, "--mode must be octal permissions such as 0660, not '%s'", text);
    return false;
}

static bool read_group(struct cli *cli, uint32_t *gid)
{
    const char *text = cli->value[OPT_GROUP];
    if (!text)
        return true;
    uint64_t number;
    if (*text >= '0' && *text <= '9') {
        if (!cli_number(cli, "--group", text, 0, UINT32_MAX - 1, &number))
            return false;
        *gid = (uint32_t)number;
        return true;
    }
    struct group *entry = getgrnam(text);
    if (entry)
        *gid = entry->gr_gid;
    else
        options_complain(cli->tool, "there is no group '%s'", text);
    return entry != NULL;
}

static bool read_geometry(struct cli *cli, tlshm_geometry *g)
{
    const char *retention = cli->value[OPT_RETENTION];
    g->virtual_clock |= cli->value[OPT_VIRTUAL_CLOCK] != NULL;
    return read_counts(cli, g) && read_mode(cli, &g->mode) && read_group(cli, &g->group) &&
           (!retention || cli_duration(cli, retention, &g->retention_ns));
}

static int answer_path(struct cli *cli, const char *name, uint64_t bytes)
{
    char path[4096];
    int rc = tlshm_path(name, path, sizeof path);
    if (rc < 0)
        return cli_error(cli, rc, name, NULL);
    if (!cli->json) {
        puts(path);
        return fflush(stdout) == 0 ? EXIT_OK : tool_fail(cli->tool, EXIT_LIBRARY, "the path could not be written");
    }
    struct emit *e = cli_answer(cli);
    emit_text(e, "path", path);
    if (bytes)
        emit_u64(e, "bytes", bytes);
    return cli_answered(cli, e, EXIT_OK);
}

/* A segment that could not be given its configuration does not stay. */
static int configure(struct cli *cli, const char *name, const tlshm_config *config)
{
    int failed = cli_attach(cli, 0);
    if (!failed)
        failed = config_apply(cli, cli->value[OPT_CONFIG], config);
    if (failed)
        tlshm_destroy(name, NULL);
    return failed;
}

static int create(struct cli *cli, const char *name, const tlshm_config *config)
{
    tlshm_geometry geometry = TLSHM_GEOMETRY_INIT;
    struct tlshm_error err = {0};
    if (config)
        geometry = tlshm_config_get_settings(config)->geometry;
    if (!read_geometry(cli, &geometry))
        return EXIT_USAGE;
    int rc = tlshm_create(name, &geometry, &err);
    if (rc < 0)
        return cli_error(cli, rc, name, &err);
    int failed = config ? configure(cli, name, config) : EXIT_OK;
    return failed ? failed : answer_path(cli, name, tlshm_geometry_bytes(&geometry));
}

int run_create(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    tlshm_config *config = NULL;
    const char *name = cli_segment(cli), *file = cli->value[OPT_CONFIG];
    if (!name)
        return EXIT_USAGE;
    int exit_code = file ? config_load(cli, file, &config) : EXIT_OK;
    if (exit_code == EXIT_OK && config)
        config_notes(cli, file, config);
    if (exit_code == EXIT_OK)
        exit_code = create(cli, name, config);
    tlshm_config_free(config);
    return exit_code;
}

int run_destroy(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    struct tlshm_error err = {0};
    const char *name = cli_segment(cli);
    if (!name)
        return EXIT_USAGE;
    int rc = tlshm_destroy(name, &err);
    return rc < 0 ? cli_error(cli, rc, name, &err) : cli_done(cli, rc, name);
}

int run_path(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    const char *name = cli_segment(cli);
    return name ? answer_path(cli, name, 0) : EXIT_USAGE;
}

/* ------------------------------------------------------------------------------------------------------- switches */

static int switch_pause(tlshm_t *t, const char *scope, int on)
{
    return scope ? tlshm_scope_pause(t, scope, 0, on) : tlshm_pause(t, on);
}

static int switch_shutoff(tlshm_t *t, const char *scope, int on)
{
    return scope ? tlshm_scope_shutoff(t, scope, 0, on) : tlshm_shutoff(t, on);
}

static const char *named(const char *scope)
{
    return scope ? scope : "the segment";
}

int run_pause(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    const char *scope = argc > 0 ? argv[0] : NULL;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, switch_pause(cli->t, scope, 1), named(scope));
}

int run_shutoff(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    const char *scope = argc > 0 ? argv[0] : NULL;
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, switch_shutoff(cli->t, scope, 1), named(scope));
}

/* What would stop it again with the next call. */
static void note_latches(const struct cli *cli, const char *scope)
{
    char limit[256];
    tlshm_scope_usage usage;
    if (tlshm_usage(cli->t, scope ? scope : "global:", 0, &usage) < 0)
        return;
    for (unsigned i = 0; i < usage.limit_count; i++) {
        const tlshm_limit_usage *u = &usage.limits[i];
        if (!(u->limit.flags & (TLSHM_LIMIT_PAUSES | TLSHM_LIMIT_SHUTS_OFF)) || u->used < u->limit.cap)
            continue;
        tlshm_limit_format(&u->limit, limit, sizeof limit);
        fprintf(stderr,
                "%s: note: %s has reached '%s': it stops again with the next call, unless that is raised first\n",
                cli->tool->name, scope ? scope : "global:", limit);
    }
}

int run_resume(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    const char *scope = argc > 0 ? argv[0] : NULL;
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = switch_pause(cli->t, scope, 0);
    note_latches(cli, scope);
    return cli_done(cli, rc < 0 ? rc : switch_shutoff(cli->t, scope, 0), named(scope));
}

/* --------------------------------------------------------------------------------------------------- overrun policy */

static const char *const policies[] = {[TLSHM_CHARGE_ACTUAL] = "actual", [TLSHM_CAP_AT_ESTIMATE] = "cap"};

static int show_overrun(struct cli *cli)
{
    tlshm_segment_info info;
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_get_segment(cli->t, &info);
    if (rc < 0)
        return cli_error(cli, rc, "the segment", NULL);
    struct emit *e = cli_answer(cli);
    emit_text(e, "overrun", policies[info.overrun == TLSHM_CAP_AT_ESTIMATE]);
    return cli_answered(cli, e, EXIT_OK);
}

int run_overrun(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    if (argc == 0)
        return show_overrun(cli);
    size_t i = 0;
    while (i < sizeof policies / sizeof *policies && strcmp(argv[0], policies[i]) != 0)
        i++;
    if (i == sizeof policies / sizeof *policies)
        return options_complain(cli->tool, "'%s' is no overrun policy: actual or cap", argv[0]);
    int failed = cli_attach(cli, 0);
    return failed ? failed : cli_done(cli, tlshm_overrun_set(cli->t, (enum tlshm_overrun)i), "the segment");
}

/* ---------------------------------------------------------------------------------------------------- reap, clock */

int run_reap(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    tlshm_reap_report report;
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_reap(cli->t, &report);
    if (rc < 0)
        return cli_error(cli, rc, "the segment", NULL);
    struct emit *e = cli_answer(cli);
    emit_u64(e, "expired", report.expired);
    emit_duration(e, "lag_max_ns", report.lag_max_ns);
    emit_u64(e, "seats_freed", report.seats_freed);
    emit_u64(e, "finished", report.finished);
    emit_u64(e, "live", report.live);
    emit_duration(e, "next_due_ns", report.next_due_ns);
    return cli_answered(cli, e, EXIT_OK);
}

static int answer_clock(struct cli *cli)
{
    uint64_t boot, wall;
    int rc = tlshm_clock_get(cli->t, &boot, &wall);
    if (rc < 0)
        return cli_error(cli, rc, "the segment's clock", NULL);
    struct emit *e = cli_answer(cli);
    emit_duration(e, "boot_ns", boot);
    emit_time(e, "wall_ns", (int64_t)wall);
    return cli_answered(cli, e, EXIT_OK);
}

int run_clock_get(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    int failed = cli_attach(context, TLSHM_READONLY);
    return failed ? failed : answer_clock(context);
}

static int set_clock(struct cli *cli, uint64_t boot, uint64_t wall)
{
    int rc = tlshm_clock_set(cli->t, boot, wall);
    return rc < 0 ? cli_error(cli, rc, "the segment's clock", NULL) : answer_clock(cli);
}

int run_clock_set(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    uint64_t boot, wall;
    if (!cli_number(cli, "BOOT_NS", argv[0], 0, INT64_MAX, &boot) ||
        !cli_number(cli, "WALL_NS", argv[1], 0, INT64_MAX, &wall))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    return failed ? failed : set_clock(cli, boot, wall);
}

int run_clock_advance(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    uint64_t step, boot, wall;
    if (!cli_duration(cli, argv[0], &step))
        return EXIT_USAGE;
    int failed = cli_attach(cli, 0);
    if (failed)
        return failed;
    int rc = tlshm_clock_get(cli->t, &boot, &wall);
    if (rc < 0)
        return cli_error(cli, rc, "the segment's clock", NULL);
    if (step > (uint64_t)INT64_MAX - (boot > wall ? boot : wall))
        return options_complain(cli->tool, "'%s' leads beyond the clock's range", argv[0]);
    return set_clock(cli, boot + step, wall + step);
}
