/* SPDX-License-Identifier: MIT */
/* config.c - commands about configuration files: check, show, diff, apply, init. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/price.h>
#include <tlshm/stats.h>

#include "file.h"
#include "term.h"

/* ------------------------------------------------------------------------------------------------------------- reading */

/* Where faults go: to standard error as "FILE:LINE:COLUMN: text", and into the answer's list with --json. */
struct faults {
    struct cli *cli;
    const char *file;
    struct emit *e; /* NULL without --json */
};

static void take_fault(void *context, unsigned line, unsigned column, const char *text)
{
    struct faults *f = context;
    fprintf(stderr, "%s:%u:%u: %s\n", f->file, line, column, text);
    if (!f->e)
        return;
    emit_object_begin(f->e, NULL);
    emit_plain(f->e, "line", line);
    emit_plain(f->e, "column", column);
    emit_text(f->e, "text", text);
    emit_object_end(f->e);
}

/* All of standard input, one byte more than a configuration may have at most. NULL after having complained. */
static char *read_input(struct cli *cli, size_t *size)
{
    size_t room = 65536, got = 1;
    char *text = malloc(room);
    for (*size = 0; text && got > 0 && *size <= TLSHM_CONFIG_BYTES_MAX; *size += got) {
        if (*size == room) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
        got = text ? fread(text + *size, 1, room - *size, stdin) : 0;
    }
    if (!text || ferror(stdin)) {
        tool_fail(cli->tool, EXIT_LIBRARY, "standard input can't be read: %s", strerror(text ? EIO : ENOMEM));
        free(text);
        return NULL;
    }
    return text;
}

static int load(struct cli *cli, const char *file, tlshm_config **out, struct faults *f, struct tlshm_error *err)
{
    size_t size;
    if (strcmp(file, "-") != 0)
        return tlshm_config_load(out, file, take_fault, f, err);
    char *text = read_input(cli, &size);
    int rc = text ? tlshm_config_parse(out, text, size, take_fault, f, err) : -TLSHM_ESYS;
    free(text);
    return rc;
}

static struct faults faults_of(struct cli *cli, const char *file, struct emit *e)
{
    return (struct faults){cli, strcmp(file, "-") == 0 ? "standard input" : file, e};
}

/* Faults of the file are a wrong text, whatever the command: the exit code of wrong usage. */
int config_load(struct cli *cli, const char *file, tlshm_config **out)
{
    struct tlshm_error err = {0};
    struct emit *e = cli->json ? cli_answer(cli) : NULL;
    struct faults f = faults_of(cli, file, e);
    if (e)
        emit_array_begin(e, "faults");
    int rc = load(cli, file, out, &f, &err);
    if (e)
        emit_array_end(e);
    if (e && rc == -TLSHM_EINVAL)
        return cli_answered(cli, e, EXIT_USAGE);
    if (e)
        emit_drop(e);
    if (rc == 0)
        return EXIT_OK;
    return rc == -TLSHM_EINVAL ? EXIT_USAGE : cli_error(cli, rc, f.file, &err);
}

int config_named(struct cli *cli, tlshm_config **out)
{
    *out = NULL;
    return cli->value[OPT_CONFIG] ? config_load(cli, cli->value[OPT_CONFIG], out) : EXIT_OK;
}

/* Not a fault: the workers' machine or user may be another. They keep the prices that they have. */
static void note_prices(const char *file, const char *path)
{
    struct tlshm_error err = {0};
    tlshm_prices *prices = NULL;
    if (path && tlshm_prices_open(&prices, path, NULL, NULL, &err) < 0)
        fprintf(stderr, "%s: note: no prices can be read from here: %s\n", file, err.text);
    tlshm_prices_close(prices);
}

void config_notes(struct cli *cli, const char *file, const tlshm_config *config)
{
    note_prices(faults_of(cli, file, NULL).file, tlshm_config_get_settings(config)->prices_path);
}

int run_config_check(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    tlshm_config *config = NULL;
    int failed = config_load(cli, argv[0], &config);
    if (failed)
        return failed;
    config_notes(cli, argv[0], config);
    tlshm_config_free(config);
    if (!cli->json)
        return EXIT_OK;
    struct emit *e = cli_answer(cli);
    emit_array_begin(e, "faults");
    emit_array_end(e);
    return cli_answered(cli, e, EXIT_OK);
}

/* ---------------------------------------------------------------------------------------------------------------- show */

/* A text that grows; NULL once memory ran out. */
struct gathered {
    char *text;
    size_t size, room;
};

static int gather(void *context, const char *text, size_t size)
{
    struct gathered *g = context;
    if (g->room - g->size < size + 1) {
        size_t room = 2 * (g->room + size + 1);
        char *more = realloc(g->text, room);
        if (!more)
            return -TLSHM_ENOMEM;
        g->text = more;
        g->room = room;
    }
    memcpy(g->text + g->size, text, size + 1);
    g->size += size;
    return 0;
}

static int print_config(struct cli *cli, const tlshm_config *config)
{
    struct gathered g = {0};
    int rc = tlshm_config_write(config, gather, &g), exit_code = EXIT_OK;
    if (rc < 0) {
        exit_code = cli_error(cli, rc, "the configuration", NULL);
    } else if (cli->json) {
        struct emit *e = cli_answer(cli);
        emit_text(e, "config", g.text);
        exit_code = cli_answered(cli, e, EXIT_OK);
    } else if (fputs(g.text, stdout) < 0 || fflush(stdout) != 0) {
        exit_code = tool_fail(cli->tool, EXIT_LIBRARY, "the configuration could not be written");
    }
    free(g.text);
    return exit_code;
}

int run_config_show(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct cli *cli = context;
    tlshm_config *config = NULL;
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_config_read(&config, cli->t);
    if (rc < 0)
        return cli_error(cli, rc, "the segment", NULL);
    int exit_code = print_config(cli, config);
    tlshm_config_free(config);
    return exit_code;
}

/* -------------------------------------------------------------------------------------------------------- diff, apply */

static const char *const part_names[] = {"geometry", "overrun", "tier", "level", "scope"};

/* Where changes go. */
struct changes {
    struct emit *e; /* NULL: to standard output as text */
    int fixed;
};

static bool has_line(const char *lines, const char *line, size_t length)
{
    for (const char *at = lines; at && *at;) {
        size_t n = strcspn(at, "\n");
        if (n == length && memcmp(at, line, n) == 0)
            return true;
        at += n + (at[n] == '\n');
    }
    return false;
}

/* The lines of `lines` that are not in `others`, behind a sign. */
static void print_lines(const char *lines, const char *others, char sign, enum term_style style)
{
    for (const char *at = lines; at && *at;) {
        size_t n = strcspn(at, "\n");
        if (!has_line(others, at, n))
            printf("  %s%c %.*s%s\n", term_style(stdout, style), sign, (int)n, at, term_style(stdout, TERM_PLAIN));
        at += n + (at[n] == '\n');
    }
}

static const char *remark(const tlshm_config_change *change)
{
    if (change->fixed)
        return ": fixed when the segment was created";
    if (!change->before)
        return ": new";
    if (!change->after)
        return change->part == TLSHM_CONFIG_PART_SCOPE ? ": back to its level's default" : ": removed";
    return change->part != TLSHM_CONFIG_PART_LEVEL && !*change->after ? ": unlimited" : "";
}

static void print_change(const tlshm_config_change *change)
{
    printf("%s%s%s%s\n", part_names[change->part], *change->name ? " " : "", change->name, remark(change));
    print_lines(change->before, change->after, '-', TERM_RED);
    print_lines(change->after, change->before, '+', TERM_GREEN);
}

static void emit_lines(struct emit *e, const char *key, const char *lines)
{
    if (!lines) {
        emit_null(e, key, "-");
        return;
    }
    emit_array_begin(e, key);
    for (const char *at = lines; *at;) {
        size_t n = strcspn(at, "\n");
        emit_bytes(e, NULL, at, n);
        at += n + (at[n] == '\n');
    }
    emit_array_end(e);
}

static void take_change(void *context, const tlshm_config_change *change)
{
    struct changes *c = context;
    c->fixed += change->fixed != 0;
    if (!c->e) {
        print_change(change);
        return;
    }
    emit_object_begin(c->e, NULL);
    emit_text(c->e, "part", part_names[change->part]);
    emit_text(c->e, "name", change->name);
    emit_plain(c->e, "line", change->line);
    emit_bool(c->e, "fixed", change->fixed);
    emit_lines(c->e, "before", change->before);
    emit_lines(c->e, "after", change->after);
    emit_object_end(c->e);
}

typedef int change_function(tlshm_t *t, const tlshm_config *config, tlshm_config_changed changed, void *context,
                            struct tlshm_error *err);

/* The exit code is EXIT_OK, or EXIT_REFUSED when there are differences and the command asks for that. */
static int run_changes(struct cli *cli, const char *file, const tlshm_config *config, change_function *run,
                       bool differences_count)
{
    struct tlshm_error err = {0};
    struct changes c = {cli->json ? cli_answer(cli) : NULL, 0};
    if (c.e)
        emit_array_begin(c.e, "changes");
    int rc = run(cli->t, config, take_change, &c, &err);
    if (c.e)
        emit_array_end(c.e);
    if (rc < 0) {
        if (c.e)
            emit_drop(c.e);
        return cli_error(cli, rc, file, &err);
    }
    int exit_code = differences_count && rc > 0 ? EXIT_REFUSED : EXIT_OK;
    if (c.e)
        return cli_answered(cli, c.e, exit_code);
    if (fflush(stdout) != 0)
        return tool_fail(cli->tool, EXIT_LIBRARY, "the answer could not be written");
    return exit_code;
}

int config_apply(struct cli *cli, const char *file, const tlshm_config *config)
{
    struct tlshm_error err = {0};
    int rc = tlshm_config_apply(cli->t, config, NULL, NULL, &err);
    return rc < 0 ? cli_error(cli, rc, file, &err) : EXIT_OK;
}

/* What pauses or shuts off everything is found by what the scope global: has used. Who does not name it is not counted. */
static void note_uncounted(struct cli *cli, const char *file, const tlshm_config *config)
{
    const tlshm_config_settings *settings = tlshm_config_get_settings(config);
    tlshm_segment_info info;
    tlshm_scope_usage usage;
    if (settings->pause_at.count + settings->shutoff_at.count == 0 || tlshm_get_segment(cli->t, &info) < 0 ||
        info.counters.admitted == 0 || tlshm_usage(cli->t, "global:", 0, &usage) < 0 || usage.used[TLSHM_REQUESTS] != 0)
        return;
    fprintf(stderr, "%s: note: pause_at and shutoff_at count calls that name the scope global:, and none has so far\n",
            strcmp(file, "-") == 0 ? "standard input" : file);
}

static int with_config(struct cli *cli, const char *file, unsigned flags, change_function *run, bool differences_count)
{
    tlshm_config *config = NULL;
    int exit_code = config_load(cli, file, &config);
    if (exit_code == EXIT_OK) {
        exit_code = cli_attach(cli, flags);
        if (exit_code == EXIT_OK) {
            config_notes(cli, file, config);
            exit_code = run_changes(cli, file, config, run, differences_count);
            note_uncounted(cli, file, config);
        }
    }
    tlshm_config_free(config);
    return exit_code;
}

int run_config_diff(void *context, int argc, char **argv)
{
    (void)argc;
    return with_config(context, argv[0], TLSHM_READONLY, tlshm_config_diff, true);
}

int run_config_apply(void *context, int argc, char **argv)
{
    (void)argc;
    struct cli *cli = context;
    bool dry = cli->value[OPT_DRY_RUN] != NULL;
    return with_config(cli, argv[0], dry ? TLSHM_READONLY : 0, dry ? tlshm_config_diff : tlshm_config_apply, false);
}

/* ---------------------------------------------------------------------------------------------------------------- init */

static int write_file(struct cli *cli, const char *path)
{
    FILE *file = fopen(path, "wxe");
    if (!file)
        return tool_fail(cli->tool, EXIT_LIBRARY, "%s: %s", path, strerror(errno));
    bool written = fputs(config_starting_point, file) >= 0;
    written &= fclose(file) == 0;
    if (written)
        return cli_done(cli, 0, path);
    remove(path);
    return tool_fail(cli->tool, EXIT_LIBRARY, "%s could not be written", path);
}

int run_config_init(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    if (argc > 0 && strcmp(argv[0], "-") != 0)
        return write_file(cli, argv[0]);
    if (fputs(config_starting_point, stdout) < 0 || fflush(stdout) != 0)
        return tool_fail(cli->tool, EXIT_LIBRARY, "the configuration could not be written");
    return EXIT_OK;
}
