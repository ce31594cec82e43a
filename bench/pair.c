/* SPDX-License-Identifier: MIT */
/*
 * pair.c - what does a reserve and its settle cost, next to the least that it could cost and to a mutex?
 *
 * Rounds over all plans; within a plan the peers follow each other in an order that turns with the round, so that no
 * peer always has the same neighbour or the same moment.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "options.h"
#include "report.h"

#define MS UINT64_C(1000000)
#define PLANS_MAX 32
#define HOT_CROWD 8 /* more processes than processors, on most hosts that this runs on */

static const char synopsis[] =
    "Usage: bench-pair [OPTION]...\n"
    "Latency and throughput of reserve + settle, beside bare compare-and-swaps (floor) and one robust mutex (mutex).";

static const struct option_row option_rows[] = {
    {'q', "quick", NULL, "fewer plans and rounds: within a minute instead of five"},
    {'j', "json", "FILE", "also write the results as JSON; - for standard output, instead of the table"},
    {'r', "rounds", "N", "rounds, 1 to 31"},
    {'w', "workload", "NAME", "only alone, distinct, hot or stopped"},
    {'h', "help", NULL, "print this"},
    {'V', "version", NULL, "print the library's version"},
    {0},
};

static const struct peer *const peers[] = {&peer_floor, &peer_mutex, &peer_tlshm, &peer_tlshm_string};
enum { AT_FLOOR, AT_MUTEX, AT_TLSHM, PEERS_STOPPED, PEERS = sizeof peers / sizeof *peers };

struct settings {
    int quick;
    const char *json;     /* NULL: none */
    const char *workload; /* NULL: all */
    unsigned rounds;
};

static const struct trial_pace quick_pace = {20 * MS, 60 * MS, 60 * MS, 8, 20 * MS};
static const struct trial_pace full_pace = {25 * MS, 80 * MS, 80 * MS, 16, 20 * MS};

/* ------------------------------------------------------------------------------------------------- command line */

/* The number of a decimal text between 1 and the most rounds, or 0. */
static unsigned parse_rounds(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= 1 && value <= REPORT_ROUNDS_MAX ? (unsigned)value : 0;
}

static int is_workload(const char *name)
{
    for (int i = PLAN_ALONE; i <= PLAN_STOPPED; i++) {
        if (strcmp(name, plan_workload_name((enum plan_workload)i)) == 0)
            return 1;
    }
    return 0;
}

static int usage_error(const char *what)
{
    fprintf(stderr, "bench-pair: %s; see --help\n", what);
    return 2;
}

/* -1: go on; otherwise the exit status. */
static int apply(struct settings *s, int letter, const char *argument)
{
    switch (letter) {
    case 'q':
        s->quick = 1;
        return -1;
    case 'j':
        s->json = argument;
        return -1;
    case 'r':
        s->rounds = parse_rounds(argument);
        return s->rounds > 0 ? -1 : usage_error("bad number of rounds");
    case 'w':
        s->workload = argument;
        return is_workload(argument) ? -1 : usage_error("no such workload");
    case 'h':
        options_usage(stdout, synopsis, option_rows);
        return 0;
    case 'V':
        printf("bench-pair (tlshm) %s\n", tlshm_version());
        return 0;
    default:
        return usage_error("bad option");
    }
}

static int parse(int argc, char **argv, struct settings *s)
{
    const char *argument;
    int letter, status = -1;
    while (status < 0 && (letter = options_next(argc, argv, option_rows, &argument)) != OPTIONS_END)
        status = apply(s, letter, argument);
    if (status < 0 && options_left(argc) > 0)
        status = usage_error("too many arguments");
    if (s->rounds == 0)
        s->rounds = s->quick ? 7 : 9;
    return status;
}

/* -------------------------------------------------------------------------------------------------------- plans */

static const struct {
    enum plan_workload workload;
    unsigned processes;
} shapes[] = {{PLAN_ALONE, 1}, {PLAN_DISTINCT, 2}, {PLAN_HOT, 2}, {PLAN_HOT, HOT_CROWD}};

static unsigned add_shapes(struct plan *plans, unsigned scopes, enum plan_limits limits)
{
    unsigned count = sizeof shapes / sizeof *shapes;
    for (unsigned i = 0; i < count; i++)
        plans[i] = (struct plan){shapes[i].workload, shapes[i].processes, scopes, limits};
    return count;
}

static unsigned make_plans(const struct settings *s, struct plan *plans)
{
    unsigned count = add_shapes(plans, 2, PLAN_ONE_WINDOW);
    if (!s->quick) {
        count += add_shapes(plans + count, 2, PLAN_EACH_UNIT);
        count += add_shapes(plans + count, PLAN_SCOPES_MAX, PLAN_ONE_WINDOW);
        count += add_shapes(plans + count, PLAN_SCOPES_MAX, PLAN_EACH_UNIT);
    }
    plans[count++] = (struct plan){PLAN_STOPPED, 2, 2, PLAN_ONE_WINDOW};
    return count;
}

static int wanted(const struct settings *s, const struct plan *plan)
{
    return !s->workload || strcmp(s->workload, plan_workload_name(plan->workload)) == 0;
}

static void add_rows(struct report *report, const struct plan *plan)
{
    struct report_row *first = &report->row[report->row_count];
    unsigned count = plan->workload == PLAN_STOPPED ? PEERS_STOPPED : PEERS;
    for (unsigned i = 0; i < count; i++) {
        first[i].peer = peers[i];
        first[i].plan = *plan;
        first[i].floor = &first[AT_FLOOR];
        first[i].mutex = &first[AT_MUTEX];
    }
    report->row_count += count;
}

static int make_rows(const struct settings *s, struct report *report)
{
    struct plan plans[PLANS_MAX];
    unsigned count = make_plans(s, plans);
    report->row = calloc(count * PEERS, sizeof *report->row);
    if (!report->row)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        if (wanted(s, &plans[i]))
            add_rows(report, &plans[i]);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------------- rounds */

static void show_progress(const struct report *report, unsigned round, const struct report_row *row)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kround %u of %u: %u scopes, %s x%u, %s (%s)", round + 1, report->rounds,
                row->plan.scopes, plan_workload_name(row->plan.workload), row->plan.processes, row->peer->name,
                row->peer->keys);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static unsigned rows_of_plan(const struct report *report, unsigned first)
{
    unsigned count = 1;
    while (first + count < report->row_count && report->row[first + count].floor == report->row[first].floor)
        count++;
    return count;
}

static int run_round(struct report *report, const struct trial_pace *pace, unsigned round)
{
    for (unsigned first = 0, count; first < report->row_count; first += count) {
        count = rows_of_plan(report, first);
        for (unsigned i = 0; i < count; i++) {
            struct report_row *row = &report->row[first + (i + round) % count];
            show_progress(report, round, row);
            if (trial_run(row->peer, &row->plan, pace, &report->timer, &row->round[round]) != 0)
                return -1;
        }
    }
    return 0;
}

static int run_rounds(struct report *report, const struct trial_pace *pace)
{
    int code = 0;
    timer_calibrate(&report->timer);
    host_begin(&report->host);
    for (unsigned round = 0; code == 0 && round < report->rounds; round++)
        code = run_round(report, pace, round);
    host_end(&report->host);
    clear_progress();
    return code;
}

static int show(const struct report *report, FILE *json)
{
    if (json != stdout)
        report_table(stdout, report);
    if (!json)
        return 0;
    if (report_json(json, report) == 0)
        return 0;
    fprintf(stderr, "bench-pair: cannot write the JSON file\n");
    return 1;
}

static int run(const struct settings *s, FILE *json)
{
    struct report report = {.mode = s->quick ? "quick" : "full", .rounds = s->rounds};
    int status = 1;
    crew_catch_signals();
    if (make_rows(s, &report) == 0 && run_rounds(&report, s->quick ? &quick_pace : &full_pace) == 0)
        status = show(&report, json);
    free(report.row);
    return crew_interrupted() ? 128 + crew_interrupted() : status;
}

/* Opened before the run: a bad path should not cost minutes. */
static FILE *open_json(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!file)
        perror(path);
    return file;
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    FILE *json = NULL;
    int status = parse(argc, argv, &settings);
    if (status >= 0)
        return status;
    if (settings.json && !(json = open_json(settings.json)))
        return 1;
    status = run(&settings, json);
    if (json && json != stdout && fclose(json) != 0)
        status = status != 0 ? status : 1;
    return status;
}
