/* SPDX-License-Identifier: MIT */
/* options.c - tables to getopt_long(), usage texts, and complaints. */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm.h>

enum { ID_HELP = -2, ID_VERSION = -3, LONG_BASE = 256, HELP_COLUMN = 30 };

static const struct option_row built_in[] = {
    {ID_HELP, "help", 'h', NULL, "show this text"},
    {ID_VERSION, "version", 'V', NULL, "show the version"},
};

/* ------------------------------------------------------------------------------------------------------ complaints */

int options_complain(const struct tool_info *tool, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", tool->name);
    vfprintf(stderr, format, list);
    fprintf(stderr, " (see %s --help)\n", tool->name);
    va_end(list);
    return EXIT_USAGE;
}

int tool_fail(const struct tool_info *tool, int exit_code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", tool->name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return exit_code;
}

static int stop(struct option_parser *p, int exit_code)
{
    p->stopped = true;
    p->exit_code = exit_code;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------ usage text */

static void print_row(const struct option_row *row)
{
    char left[80];
    int n = row->letter ? snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name)
                        : snprintf(left, sizeof left, "      --%s", row->name);
    if (row->argument)
        snprintf(left + n, sizeof left - (size_t)n, " %s", row->argument);
    if (strlen(left) + 2 > HELP_COLUMN)
        printf("%s\n%*s%s\n", left, HELP_COLUMN, "", row->help);
    else
        printf("%-*s%s\n", HELP_COLUMN, left, row->help);
}

static void print_rows(const struct option_row *rows)
{
    for (; rows && rows->name; rows++)
        print_row(rows);
}

static bool in_group(const char *name, const char *group)
{
    size_t n = group ? strlen(group) : 0;
    return n == 0 || (strncmp(name, group, n) == 0 && (name[n] == ' ' || name[n] == '\0'));
}

static void print_commands(FILE *out, const struct tool_info *tool, const char *group)
{
    for (const struct command_row *c = tool->commands; c && c->name; c++) {
        if (!in_group(c->name, group))
            continue;
        char left[80];
        snprintf(left, sizeof left, "  %s %s", c->name, c->operands);
        if (strlen(left) + 2 > HELP_COLUMN)
            fprintf(out, "%s\n%*s%s\n", left, HELP_COLUMN, "", c->help);
        else
            fprintf(out, "%-*s%s\n", HELP_COLUMN, left, c->help);
    }
}

static void print_built_in(void)
{
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        print_row(&built_in[i]);
}

static void print_tool_usage(const struct tool_info *tool)
{
    printf("usage: %s %s\n\n%s\n", tool->name, tool->operands, tool->purpose);
    if (tool->commands) {
        printf("\nCommands:\n");
        print_commands(stdout, tool, NULL);
    }
    printf("\nOptions:\n");
    print_rows(tool->options);
    print_built_in();
    if (tool->notes)
        printf("\n%s", tool->notes);
}

static void print_command_usage(const struct tool_info *tool, const struct command_row *command)
{
    printf("usage: %s [OPTION]... %s%s%s\n\n%s\n", tool->name, command->name, *command->operands ? " " : "",
           command->operands, command->help);
    if (command->options) {
        printf("\nOptions of this command:\n");
        print_rows(command->options);
    }
    printf("\nOptions of every command:\n");
    print_rows(tool->options);
    print_built_in();
}

static void print_usage(const struct option_parser *p)
{
    if (p->command)
        print_command_usage(p->tool, p->command);
    else
        print_tool_usage(p->tool);
}

/* --------------------------------------------------------------------------------------------------------- parsing */

static char *add_letter(char *at, const struct option_row *row)
{
    if (!row->letter)
        return at;
    *at++ = (char)row->letter;
    if (row->argument)
        *at++ = ':';
    return at;
}

static void add_rows(struct option_parser *p, const struct option_row *rows)
{
    for (; rows && rows->name && p->row_count < OPTION_ROWS_MAX; rows++)
        p->rows[p->row_count++] = rows;
}

static void build_getopt(struct option_parser *p)
{
    char *at = p->shorts;
    /* A tool with commands stops at the command: what follows belongs to that. The colon tells missing arguments. */
    if (p->tool->commands && !p->command)
        *at++ = '+';
    *at++ = ':';
    for (size_t i = 0; i < p->row_count; i++) {
        const struct option_row *row = p->rows[i];
        at = add_letter(at, row);
        p->longs[i] =
            (struct option){row->name, row->argument ? required_argument : no_argument, NULL, LONG_BASE + (int)i};
    }
    *at = '\0';
}

void options_start(struct option_parser *p, const struct tool_info *tool, const struct command_row *command, int argc,
                   char **argv)
{
    memset(p, 0, sizeof *p);
    p->tool = tool;
    p->command = command;
    p->source_argc = argc;
    p->source_argv = argv;
    if (command)
        add_rows(p, command->options);
    add_rows(p, tool->options);
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        p->rows[p->row_count++] = &built_in[i];
    build_getopt(p);
    opterr = 0;
    optind = 0; /* 0, not 1, makes glibc start over, even inside a group of short options */
}

static const struct option_row *row_of(const struct option_parser *p, int value)
{
    if (value >= LONG_BASE && (size_t)(value - LONG_BASE) < p->row_count)
        return p->rows[value - LONG_BASE];
    for (size_t i = 0; i < p->row_count; i++)
        if (value > 0 && p->rows[i]->letter == value)
            return p->rows[i];
    return NULL;
}

static bool is_ambiguous(const struct option_parser *p, const char *word)
{
    size_t n = strcspn(word + 2, "="), hits = 0;
    for (size_t i = 0; i < p->row_count; i++)
        hits += strncmp(p->rows[i]->name, word + 2, n) == 0;
    return hits > 1;
}

static int reject(struct option_parser *p)
{
    const char *word = p->source_argv[optind - 1];
    const struct option_row *row = row_of(p, optopt);
    if (row)
        return options_complain(p->tool, "option '--%s' takes no argument", row->name);
    if (optopt)
        return options_complain(p->tool, "unknown option '-%c'", optopt);
    if (is_ambiguous(p, word))
        return options_complain(p->tool, "ambiguous option '%s'", word);
    return options_complain(p->tool, "unknown option '%s'", word);
}

static int finish(struct option_parser *p)
{
    p->argc = p->source_argc - optind;
    p->argv = p->source_argv + optind;
    return 0;
}

int options_next(struct option_parser *p)
{
    int value = getopt_long(p->source_argc, p->source_argv, p->shorts, p->longs, NULL);
    if (value == -1)
        return finish(p);
    if (value == '?')
        return stop(p, reject(p));
    const struct option_row *row = row_of(p, value == ':' ? optopt : value);
    if (value == ':')
        return stop(p, options_complain(p->tool, "option '--%s' needs %s", row->name, row->argument));
    if (row->id == ID_HELP)
        return print_usage(p), stop(p, EXIT_OK);
    if (row->id == ID_VERSION)
        return printf("%s %s\n", p->tool->name, tlshm_version()), stop(p, EXIT_OK);
    p->argument = optarg;
    p->name = row->name;
    return row->id;
}

/* -------------------------------------------------------------------------------------------------------- commands */

/* How many of argv's words the name takes; 0 if it does not begin so. */
static int words_matched(const char *name, int argc, char **argv)
{
    int words = 0;
    while (*name) {
        size_t n = strcspn(name, " ");
        if (words >= argc || strlen(argv[words]) != n || strncmp(argv[words], name, n) != 0)
            return 0;
        words++;
        name += n + (name[n] == ' ');
    }
    return words;
}

static bool is_group(const struct tool_info *tool, const char *word)
{
    for (const struct command_row *c = tool->commands; c->name; c++)
        if (in_group(c->name, word))
            return true;
    return false;
}

static void report_unknown(const struct tool_info *tool, int argc, char **argv)
{
    if (!is_group(tool, argv[0])) {
        options_complain(tool, "unknown command '%s'", argv[0]);
        return;
    }
    if (argc > 1)
        fprintf(stderr, "%s: unknown command '%s %s'; there are:\n", tool->name, argv[0], argv[1]);
    else
        fprintf(stderr, "%s: '%s' is several commands:\n", tool->name, argv[0]);
    print_commands(stderr, tool, argv[0]);
}

const struct command_row *options_command(const struct tool_info *tool, int argc, char **argv, int *words)
{
    if (argc == 0) {
        options_complain(tool, "a command is missing");
        return NULL;
    }
    for (const struct command_row *c = tool->commands; c->name; c++)
        if ((*words = words_matched(c->name, argc, argv)) > 0)
            return c;
    report_unknown(tool, argc, argv);
    return NULL;
}

bool options_operands_fit(const struct option_parser *p)
{
    const struct command_row *c = p->command;
    if (p->argc >= c->operands_min && (c->operands_max < 0 || p->argc <= c->operands_max))
        return true;
    if (p->argc < c->operands_min)
        options_complain(p->tool, "%s needs %s", c->name, c->operands);
    else
        options_complain(p->tool, "%s: unexpected '%s'", c->name, p->argv[c->operands_max]);
    return false;
}

/* --------------------------------------------------------------------------------------------------------- numbers */

static bool parse_decimal(const char *text, uint64_t *out)
{
    if (*text < '0' || *text > '9') /* strtoull() would take blanks and signs */
        return false;
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

bool options_number(const struct option_parser *p, const char *what, const char *text, uint64_t min, uint64_t max,
                    uint64_t *out)
{
    uint64_t value;
    if (parse_decimal(text, &value) && value >= min && value <= max) {
        *out = value;
        return true;
    }
    options_complain(p->tool, "%s%s must be a number from %llu to %llu, not '%s'", what ? "" : "--",
                     what ? what : p->name, (unsigned long long)min, (unsigned long long)max, text);
    return false;
}
