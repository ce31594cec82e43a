/* SPDX-License-Identifier: MIT */
/*
 * options.h - one table of options feeds getopt_long() and the usage text; one table of commands feeds both as well.
 *
 * Use:
 *     enum { OPT_SEGMENT = 1, OPT_JSON };
 *     static const struct option_row options[] = {
 *         {OPT_SEGMENT, "segment", 's', "NAME", "the segment to use"},
 *         {OPT_JSON, "json", 'j', NULL, "print JSON"},
 *         OPTION_ROWS_END,
 *     };
 *     static const struct tool_info tool = {"tlshm-x", "one line of purpose", "[OPTION]... FILE", options, NULL, NULL};
 *
 *     struct option_parser parser;
 *     options_start(&parser, &tool, NULL, argc, argv);
 *     for (int id; (id = options_next(&parser)) > 0;)
 *         if (!take(id, parser.argument))
 *             return EXIT_USAGE;
 *     if (parser.stopped)
 *         return parser.exit_code;
 *     ... parser.argv[0 .. parser.argc - 1] are the operands
 *
 * --help (-h) and --version (-V) are built in. A wrong option is reported on stderr as
 * "tool: unknown option '--foo' (see tool --help)".
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes that all tools share. */
enum { EXIT_OK = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_LIBRARY = 3 };

#define OPTION_ROWS_MAX 48 /* rows of the tool and of one command together */

struct option_row {
    int id;               /* above 0; what options_next() returns */
    const char *name;     /* without the dashes */
    int letter;           /* the short form, or 0 */
    const char *argument; /* its name in the usage text; NULL: takes none */
    const char *help;     /* one line */
};
#define OPTION_ROWS_END                                                                                                \
    {                                                                                                                  \
        0, NULL, 0, NULL, NULL                                                                                         \
    }

/* One command of a tool. The name may have several words: "limit set". */
struct command_row {
    const char *name;
    const char *operands;                             /* as the usage text shows them: "SCOPE LIMIT" */
    const char *help;                                 /* one line */
    const struct option_row *options;                 /* beside those of the tool; NULL for none */
    int operands_min, operands_max;                   /* operands_max below 0: any number */
    int (*run)(void *context, int argc, char **argv); /* operands only; returns the exit code */
};
#define COMMAND_ROWS_END                                                                                               \
    {                                                                                                                  \
        NULL, NULL, NULL, NULL, 0, 0, NULL                                                                             \
    }

struct tool_info {
    const char *name;
    const char *purpose;
    const char *operands;
    const struct option_row *options;
    const struct command_row *commands; /* NULL: a tool without commands */
    const char *notes;                  /* after the options in the usage text, lines end with \n; NULL for none */
};

struct option_parser {
    const struct tool_info *tool;
    const struct command_row *command;
    const char *argument; /* of the option that options_next() returned, or NULL */
    const char *name;     /* its long name */
    int argc;             /* operands, valid when options_next() has returned 0 */
    char **argv;
    bool stopped;     /* nothing is left to do: help or version was shown, or an error was reported */
    int exit_code;    /* when stopped */
    size_t row_count; /* the rest is private */
    const struct option_row *rows[OPTION_ROWS_MAX + 2];
    struct option longs[OPTION_ROWS_MAX + 3];
    char shorts[2 * OPTION_ROWS_MAX + 8];
    int source_argc;
    char **source_argv;
};

/*
 * Starts parsing argv[1..]. `command` NULL: the tool's own options (for a tool with commands, those in front of the
 * command). With a command, argv[0] stands for the command's last word and its options are known beside the tool's.
 * One parser at a time per process, as getopt_long() keeps its place in globals.
 */
void options_start(struct option_parser *p, const struct tool_info *tool, const struct command_row *command, int argc,
                   char **argv);

/* The next option's id, or 0 at the end: then see `stopped`. */
int options_next(struct option_parser *p);

/*
 * Finds the command that argv[0..] begins with and sets *words to how many words its name has. Returns NULL after
 * having reported what was wrong; a group without its second word ("limit") is answered with the group's commands.
 */
const struct command_row *options_command(const struct tool_info *tool, int argc, char **argv, int *words);

/* Are there as many operands as the command takes? Reports it if not. */
bool options_operands_fit(const struct option_parser *p);

/* A decimal number in [min, max]; the last option or `what` is named in the complaint. False after having reported. */
bool options_number(const struct option_parser *p, const char *what, const char *text, uint64_t min, uint64_t max,
                    uint64_t *out);

/* "tool: message (see tool --help)" on stderr; returns EXIT_USAGE. */
int options_complain(const struct tool_info *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "tool: message" on stderr; returns `exit_code`. */
int tool_fail(const struct tool_info *tool, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
