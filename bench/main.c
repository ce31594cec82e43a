/* SPDX-License-Identifier: MIT */
/* main.c - one run over all questions, and what it found, as a table, as JSON and as plots. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "mix.h"
#include "options.h"
#include "questions.h"

#define MIX_AGENTS 100000
#define MIX_TENANTS 1000
#define MIX_QUICK 20 /* so many times fewer; the same again for a smoke test */

static const char synopsis[] =
    "Usage: bench-all [OPTION]...\n"
    "How tlshm compares: its calls beside bare compare-and-swaps (floor), robust mutexes, Redis and memcached; what\n"
    "they cost as a segment grows; space, attach and the reaper; and which goals are met.";

static const struct option_row option_rows[] = {
    {'q', "quick", NULL, "fewer plans and rounds: within a minute instead of fifteen"},
    {'s', "smoke", NULL, "a few milliseconds of most things: does it run? Its figures mean nothing"},
    {'j', "json", "FILE", "also write the results as JSON; - for standard output, instead of the table"},
    {'p', "plot", "DIR", "also draw the results into DIR (gnuplot)"},
    {'r', "rounds", "N", "rounds, 1 to 31"},
    {'o', "only", "QUESTION", "only pair, calls, faults, crowd, growth, space or reaper"},
    {'w', "workload", "NAME", "of the calls only this workload; no other question"},
    {'t', "trace", "FILE", "sizes of the crowd's calls: a trace with input_tokens and output_tokens"},
    {'R', "reaper", "PROGRAM", "the tlshm-reaper that is looked at"},
    {'h', "help", NULL, "print this"},
    {'V', "version", NULL, "print the library's version"},
    {0},
};

static const struct {
    const char *name;
    void (*plans)(const struct settings *s, struct plan_list *list);
    int (*run)(const struct settings *s, struct report *report);
} questions[] = {
    {"pair", pair_plans, NULL},   {"calls", calls_plans, NULL}, {"faults", faults_plans, NULL},
    {"crowd", crowd_plans, NULL}, {"growth", NULL, growth_run}, {"space", NULL, space_run},
    {"reaper", NULL, reaper_run},
};
#define QUESTIONS (sizeof questions / sizeof *questions)

static const char *const mode_names[] = {[MODE_SMOKE] = "smoke", [MODE_QUICK] = "quick", [MODE_FULL] = "full"};

/* ------------------------------------------------------------------------------------------------- command line */

/* The number of a decimal text between 1 and the most rounds, or 0. */
static unsigned parse_rounds(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= 1 && value <= REPORT_ROUNDS_MAX ? (unsigned)value : 0;
}

static int is_question(const char *name)
{
    unsigned i = 0;
    while (i < QUESTIONS && strcmp(name, questions[i].name) != 0)
        i++;
    return i < QUESTIONS;
}

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "bench-all: %s%s%s; see --help\n", what, value ? ": " : "", value ? value : "");
    return 2;
}

static int apply_name(struct settings *s, int letter, const char *argument)
{
    switch (letter) {
    case 'r':
        s->rounds = parse_rounds(argument);
        return s->rounds > 0 ? -1 : usage_error("bad number of rounds", argument);
    case 'o':
        s->only = argument;
        return is_question(argument) ? -1 : usage_error("no such question", argument);
    case 'w':
        s->workload = plan_workload_find(argument);
        return s->workload != PLAN_WORKLOADS ? -1 : usage_error("no such workload", argument);
    default:
        return usage_error("bad option", NULL);
    }
}

/* -1: go on; otherwise the exit status. */
static int apply(struct settings *s, int letter, const char *argument)
{
    switch (letter) {
    case 'q':
        s->mode = MODE_QUICK;
        return -1;
    case 's':
        s->mode = MODE_SMOKE;
        return -1;
    case 'j':
        s->json = argument;
        return -1;
    case 'p':
        s->plot = argument;
        return -1;
    case 't':
        s->trace = argument;
        return -1;
    case 'R':
        s->reaper = argument;
        return -1;
    case 'h':
        options_usage(stdout, synopsis, option_rows);
        return 0;
    case 'V':
        printf("bench-all (tlshm) %s\n", tlshm_version());
        return 0;
    default:
        return apply_name(s, letter, argument);
    }
}

static int parse(int argc, char **argv, struct settings *s)
{
    static const unsigned rounds[] = {[MODE_SMOKE] = 1, [MODE_QUICK] = 3, [MODE_FULL] = 7};
    const char *argument;
    int letter, status = -1;
    while (status < 0 && (letter = options_next(argc, argv, option_rows, &argument)) != OPTIONS_END)
        status = apply(s, letter, argument);
    if (status < 0 && options_left(argc) > 0)
        status = usage_error("too many arguments", NULL);
    if (s->rounds == 0)
        s->rounds = rounds[s->mode];
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- run */

static int wanted(const struct settings *s, unsigned question)
{
    if (s->only)
        return strcmp(s->only, questions[question].name) == 0;
    return s->workload == PLAN_WORKLOADS || questions[question].plans;
}

static int ask(const struct settings *s, struct report *report)
{
    static struct plan_list list;
    for (unsigned i = 0; i < QUESTIONS; i++) {
        if (questions[i].plans && wanted(s, i))
            questions[i].plans(s, &list);
    }
    int code = rounds_run(s, &list, report);
    for (unsigned i = 0; code == 0 && i < QUESTIONS; i++) {
        if (questions[i].run && wanted(s, i))
            code = questions[i].run(s, report);
    }
    return code;
}

static int show(const struct settings *s, const struct report *report, FILE *json)
{
    int code = 0;
    if (json != stdout)
        report_table(stdout, report);
    if (json && report_json(json, report) != 0) {
        fprintf(stderr, "bench-all: cannot write the JSON file\n");
        code = 1;
    }
    if (s->plot && report_plot(s->plot, report) != 0)
        code = 1;
    return code;
}

static int run(const struct settings *s, FILE *json)
{
    static struct report report;
    int status = 1;
    report.mode = mode_names[s->mode];
    report.rounds = s->rounds;
    if (!s->mix)
        report_skip(&report, "mix: no trace (--trace) to take sizes from");
    crew_catch_signals();
    timer_calibrate(&report.timer);
    host_begin(&report.host);
    int code = ask(s, &report);
    host_end(&report.host);
    if (code == 0)
        status = show(s, &report, json);
    rounds_free(&report);
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

static struct mix *load_mix(const struct settings *s)
{
    static const unsigned fewer[] = {[MODE_SMOKE] = MIX_QUICK * MIX_QUICK, [MODE_QUICK] = MIX_QUICK, [MODE_FULL] = 1};
    return mix_load(s->trace, MIX_AGENTS / fewer[s->mode], MIX_TENANTS / fewer[s->mode]);
}

int main(int argc, char **argv)
{
    struct settings settings = {.mode = MODE_FULL, .workload = PLAN_WORKLOADS};
    struct mix *mix = NULL;
    FILE *json = NULL;
    int status = parse(argc, argv, &settings);
    if (status >= 0)
        return status;
    if ((settings.trace && !(mix = load_mix(&settings))) || (settings.json && !(json = open_json(settings.json)))) {
        free(mix);
        return 1;
    }
    settings.mix = mix;
    status = run(&settings, json);
    if (json && json != stdout && fclose(json) != 0)
        status = status != 0 ? status : 1;
    free(mix);
    return status;
}
