/* SPDX-License-Identifier: MIT */
/*
 * main.c - tlshm-inspect: looks at a segment beside running workers, and writes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guard.h"
#include "inspect.h"
#include "signals.h"
#include "term.h"

#define NS_PER_S UINT64_C(1000000000)
#define INTERVAL_DEFAULT_NS NS_PER_S
#define INTERVAL_MIN_NS (NS_PER_S / 100)

enum { STDOUT_BUFFER = 1 << 16, FRAME_LINES = 3, PERCENT_MAX = 1000, ID_DIGITS = 16 };

enum {
    OPT_SEGMENT = 1,
    OPT_JSON,
    OPT_WATCH,
    OPT_INTERVAL,
    OPT_VERIFY,
    OPT_OVER,
    OPT_SORT,
    OPT_UNIT,
    OPT_LEVEL,
    OPT_LIMIT,
    OPT_STATUS,
    OPT_SCOPE,
    OPT_PID,
    OPT_TOKENS,
    OPT_COST,
    OPT_INPUT,
    OPT_OUTPUT,
    OPT_TOOLS
};

static const struct option_row options[] = {
    {OPT_SEGMENT, "segment", 's', "NAME", "the segment's name or path; else $TLSHM_SEGMENT"},
    {OPT_JSON, "json", 'j', NULL, "answer in JSON; one object a line with --watch"},
    {OPT_WATCH, "watch", 'w', NULL, "show it again every second, or every SECONDS if they follow"},
    {OPT_INTERVAL, "interval", 'i', "TIME", "watch with this time between two looks"},
    {OPT_VERIFY, "verify", 0, NULL, "recompute the segment's invariants, print each fault"},
    OPTION_ROWS_END,
};

static const struct option_row overview_options[] = {
    {OPT_LIMIT, "limit", 'n', "N", "show at most N scopes (10)"},
    OPTION_ROWS_END,
};

static const struct option_row scopes_options[] = {
    {OPT_OVER, "over", 0, "PERCENT", "only scopes that have used and hold this much of a limit"},
    {OPT_SORT, "sort", 0, "WHAT", "used, held or remaining; by load if not given"},
    {OPT_UNIT, "unit", 0, "UNIT", "limits of this unit only; tokens if --sort is given"},
    {OPT_LEVEL, "level", 0, "LEVEL", "only scopes of this level"},
    {OPT_LIMIT, "limit", 'n', "N", "show at most N scopes"},
    OPTION_ROWS_END,
};

static const struct option_row scope_options[] = {
    {OPT_TOKENS, "tokens", 0, "N", "would a call of so many tokens be admitted?"},
    {OPT_COST, "cost", 0, "MONEY", "... of so much cost, such as '$0.25'"},
    {OPT_INPUT, "input", 0, "N", "... of so many input tokens"},
    {OPT_OUTPUT, "output", 0, "N", "... of so many output tokens"},
    {OPT_TOOLS, "tools", 0, "N", "... with so many tool calls"},
    {OPT_LIMIT, "limit", 'n', "N", "show at most N holds"},
    OPTION_ROWS_END,
};

static const struct option_row reservations_options[] = {
    {OPT_STATUS, "status", 0, "STATUS", "only those that are held, settled, refunded or expired"},
    {OPT_SCOPE, "scope", 0, "KEY", "only those that name this scope"},
    {OPT_PID, "pid", 0, "PID", "only those of this process"},
    {OPT_LIMIT, "limit", 'n', "N", "show at most N"},
    OPTION_ROWS_END,
};

static const struct option_row seats_options[] = {
    {OPT_LIMIT, "limit", 'n', "N", "show at most N"},
    OPTION_ROWS_END,
};

static const struct command_row views[] = {
    {"overview", "", "the segment at a glance (the default)", overview_options, 0, 0, view_overview},
    {"scopes", "", "scopes, the one nearest to a limit first", scopes_options, 0, 0, view_scopes},
    {"scope", "KEY", "one scope explained", scope_options, 1, 1, view_scope},
    {"reservations", "", "reservations, oldest first", reservations_options, 0, 0, view_reservations},
    {"reservation", "ID", "one reservation explained", NULL, 1, 1, view_reservation},
    {"seats", "", "threads that use the segment", seats_options, 0, 0, view_seats},
    {"tiers", "", "tiers, levels and their defaults", NULL, 0, 0, view_tiers},
    COMMAND_ROWS_END,
};

static const struct command_row verify_view = {"--verify", "", "", NULL, 0, 0, view_verify};

static const struct tool_info tool = {
    "tlshm-inspect",
    "Looks at a segment beside running workers. Writes nothing, needs read permission alone.",
    "[OPTION]... [VIEW]",
    options,
    views,
    "Exit codes: 0 done, sound; 1 --verify found faults; 2 wrong usage; 3 error.\n"
    "See tlshm-inspect(1).\n",
};

/* ----------------------------------------------------------------------------------------------- for all the views */

struct emit *inspect_emit(const struct inspect *in)
{
    enum emit_format json = in->watch ? EMIT_JSON_LINE : EMIT_JSON;
    return emit_new(in->out, in->json ? json : EMIT_TEXT);
}

static void error_emit(struct emit *e, int code, const char *about, const char *text)
{
    emit_object_begin(e, "error");
    emit_text(e, "name", tlshm_error_name(code));
    emit_text(e, "about", about);
    emit_text(e, "text", text);
    emit_object_end(e);
}

int inspect_end(const struct inspect *in, struct emit *e, int code)
{
    if (code < 0 && in->json)
        error_emit(e, code, in->segment, tlshm_error_text(code));
    if (emit_end(e) != 0)
        return tool_fail(in->tool, EXIT_LIBRARY, "cannot write: %s", strerror(errno));
    if (code >= 0)
        return EXIT_OK;
    return tool_fail(in->tool, EXIT_LIBRARY, "%s: %s (%s)", in->segment, tlshm_error_text(code),
                     tlshm_error_name(code));
}

int inspect_fail(const struct inspect *in, int code)
{
    return inspect_end(in, inspect_emit(in), code);
}

int64_t inspect_wall_ns(const struct inspect *in)
{
    uint64_t boot = 0, wall = 0;
    return tlshm_clock_get(in->tlshm, &boot, &wall) == 0 ? (int64_t)wall : 0;
}

/* ---------------------------------------------------------------------------------------------------------- options */

/* The index of a word in a list that ends with NULL; below zero after having reported that it is none of them. */
static int choose(const struct option_parser *p, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcasecmp(words[i], p->argument) == 0)
            return i;
    options_complain(&tool, "--%s: unknown '%s'", p->name, p->argument);
    return -1;
}

static bool take_sort(struct inspect *in, const struct option_parser *p)
{
    static const char *const words[] = {
        [SORT_LOAD] = "load", [SORT_USED] = "used", [SORT_HELD] = "held", [SORT_REMAINING] = "remaining", NULL};
    int at = choose(p, words);
    in->sort = at < 0 ? SORT_LOAD : (enum sort)at;
    return at >= 0;
}

static bool take_unit(struct inspect *in, const struct option_parser *p)
{
    const char *words[TLSHM_UNITS + 1] = {NULL};
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        words[unit] = tlshm_unit_name(unit);
    in->unit = choose(p, words);
    return in->unit >= 0;
}

static bool take_status(struct inspect *in, const struct option_parser *p)
{
    const char *words[TLSHM_EXPIRED + 1] = {NULL};
    for (int status = TLSHM_HELD; status <= TLSHM_EXPIRED; status++)
        words[status - TLSHM_HELD] = tlshm_status_name(status);
    int at = choose(p, words);
    in->status = TLSHM_HELD + at;
    return at >= 0;
}

static bool take_amount(struct inspect *in, const struct option_parser *p, enum tlshm_unit unit)
{
    struct tlshm_error error;
    if (tlshm_amount_parse(p->argument, unit, &in->asked.of[unit], &error) == 0)
        return true;
    options_complain(&tool, "--%s: %s", p->name, error.text);
    return false;
}

static bool take_interval(struct inspect *in, const struct option_parser *p)
{
    struct tlshm_error error;
    if (tlshm_duration_parse(p->argument, &in->interval_ns, &error) != 0) {
        options_complain(&tool, "--%s: %s", p->name, error.text);
        return false;
    }
    if (in->interval_ns < INTERVAL_MIN_NS)
        in->interval_ns = INTERVAL_MIN_NS;
    return in->watch = true;
}

static bool take_filter(struct inspect *in, const struct option_parser *p, int id)
{
    switch (id) {
    case OPT_OVER:
        return options_number(p, NULL, p->argument, 1, PERCENT_MAX, &in->over);
    case OPT_SORT:
        return take_sort(in, p);
    case OPT_UNIT:
        return take_unit(in, p);
    case OPT_LEVEL:
        return in->level = p->argument, true;
    case OPT_LIMIT:
        return options_number(p, NULL, p->argument, 1, UINT32_MAX, &in->rows_max);
    case OPT_STATUS:
        return take_status(in, p);
    case OPT_SCOPE:
        return in->scope = p->argument, true;
    default:
        return options_number(p, NULL, p->argument, 1, UINT32_MAX, &in->pid);
    }
}

static bool take(struct inspect *in, const struct option_parser *p, int id)
{
    switch (id) {
    case OPT_SEGMENT:
        return in->segment = p->argument, true;
    case OPT_JSON:
        return in->json = true;
    case OPT_WATCH:
        return in->watch = true;
    case OPT_INTERVAL:
        return take_interval(in, p);
    case OPT_VERIFY:
        return in->verify = true;
    case OPT_TOKENS:
        return take_amount(in, p, TLSHM_TOKENS);
    case OPT_COST:
        return take_amount(in, p, TLSHM_COST);
    case OPT_INPUT:
        return take_amount(in, p, TLSHM_INPUT_TOKENS);
    case OPT_OUTPUT:
        return take_amount(in, p, TLSHM_OUTPUT_TOKENS);
    case OPT_TOOLS:
        return take_amount(in, p, TLSHM_TOOL_CALLS);
    default:
        return take_filter(in, p, id);
    }
}

/* Returns -1 to go on, or the exit code. */
static int take_options(struct inspect *in, struct option_parser *p, const struct command_row *view, int argc,
                        char **argv)
{
    options_start(p, &tool, view, argc, argv);
    for (int id; (id = options_next(p)) > 0;)
        if (!take(in, p, id))
            return EXIT_USAGE;
    return p->stopped ? p->exit_code : -1;
}

/*
 * "--watch 2" is "--interval 2": getopt_long() has no argument that may be left out and stands alone. An id is never
 * taken for seconds, as it is longer than any sensible time.
 */
static void join_watch(int argc, char **argv)
{
    static char interval[] = "--interval";
    struct tlshm_error error;
    uint64_t ns;
    for (int i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i++) {
        bool watch = strcmp(argv[i], "--watch") == 0 || strcmp(argv[i], "-w") == 0;
        if (watch && strlen(argv[i + 1]) < ID_DIGITS && tlshm_duration_parse(argv[i + 1], &ns, &error) == 0)
            argv[i] = interval;
    }
}

static void settle_defaults(struct inspect *in)
{
    if (in->segment == NULL)
        in->segment = getenv("TLSHM_SEGMENT");
    if (in->sort != SORT_LOAD && in->unit < 0)
        in->unit = TLSHM_TOKENS; /* figures of different units cannot be compared */
}

/* Finds the view. Returns -1 to go on, or the exit code. */
static int parse(struct inspect *in, struct option_parser *p, const struct command_row **view, int argc, char **argv)
{
    static char word[] = "overview", *overview[] = {word, NULL};
    int words, rc = take_options(in, p, NULL, argc, argv);
    if (rc >= 0)
        return rc;
    argc = p->argc > 0 ? p->argc : 1;
    argv = p->argc > 0 ? p->argv : overview;
    *view = options_command(&tool, argc, argv, &words);
    if (*view == NULL)
        return EXIT_USAGE;
    rc = take_options(in, p, *view, argc - words + 1, argv + words - 1);
    if (rc >= 0)
        return rc;
    if (!options_operands_fit(p))
        return EXIT_USAGE;
    settle_defaults(in);
    if (in->segment == NULL || in->segment[0] == '\0')
        return options_complain(&tool, "no segment is named: use --segment or set TLSHM_SEGMENT");
    if (in->verify)
        *view = &verify_view;
    return -1;
}

/* ---------------------------------------------------------------------------------------------------------- watching */

static int attach(struct inspect *in)
{
    struct tlshm_error error;
    int rc = guard_attach(&in->tlshm, in->segment, TLSHM_READONLY, &error);
    if (rc == 0)
        return EXIT_OK;
    struct emit *e = inspect_emit(in);
    if (in->json)
        error_emit(e, rc, in->segment, error.text);
    emit_end(e);
    return tool_fail(&tool, EXIT_LIBRARY, "%s: %s (%s)", in->segment, error.text, tlshm_error_name(rc));
}

/* A segment that was made anew under the same name is the one that people mean. */
static void follow_name(struct inspect *in)
{
    tlshm_t *fresh;
    if (tlshm_stale(in->tlshm) == 0)
        return;
    if (guard_attach(&fresh, in->segment, TLSHM_READONLY, NULL) != 0)
        return;
    guard_detach(in->tlshm);
    in->tlshm = fresh;
    in->has_before = false;
}

static int frame_text(struct inspect *in, const struct command_row *view, int argc, char **argv)
{
    uint64_t rows_max = in->rows_max, height = term_height(stdout);
    /* What would scroll off the screen is cut: the first rows are those that matter. */
    if (term_is(stdout) && height > FRAME_LINES && rows_max > height - FRAME_LINES)
        in->rows_max = height - FRAME_LINES;
    term_live_frame();
    int rc = view->run(in, argc, argv);
    term_live_flush();
    in->rows_max = rows_max;
    return rc;
}

static int watch(struct inspect *in, const struct command_row *view, int argc, char **argv)
{
    int rc;
    if (!signals_start(0))
        return tool_fail(&tool, EXIT_LIBRARY, "no signal handlers: %s", strerror(errno));
    setvbuf(stdout, NULL, _IOFBF, STDOUT_BUFFER); /* a frame at a time */
    if (!in->json)
        term_live_begin();
    do {
        follow_name(in);
        rc = in->json ? view->run(in, argc, argv) : frame_text(in, view, argc, argv);
    } while (rc < EXIT_USAGE && !signals_sleep(in->interval_ns));
    if (!in->json)
        term_live_end();
    return rc;
}

int main(int argc, char **argv)
{
    struct inspect in = {
        .tool = &tool, .out = stdout, .interval_ns = INTERVAL_DEFAULT_NS, .rows_max = UINT64_MAX, .unit = -1};
    const struct command_row *view;
    struct option_parser parser;
    join_watch(argc, argv);
    int rc = parse(&in, &parser, &view, argc, argv);
    if (rc >= 0)
        return rc;
    rc = attach(&in);
    if (rc == EXIT_OK)
        rc = in.watch ? watch(&in, view, parser.argc, parser.argv) : view->run(&in, parser.argc, parser.argv);
    guard_detach(in.tlshm);
    return rc;
}
