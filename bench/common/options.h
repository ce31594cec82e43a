/* SPDX-License-Identifier: MIT */
/* options.h - one table of options feeds getopt_long and the usage text. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdio.h>

struct option_row {
    int letter;           /* what options_next() returns; short option when printable; 0 ends the table */
    const char *name;     /* without dashes */
    const char *argument; /* NULL for a flag */
    const char *help;
};

#define OPTIONS_END (-1)
#define OPTIONS_BAD '?'

/* The next option's letter, OPTIONS_END, or OPTIONS_BAD after a message. *argument is its value or NULL. */
int options_next(int argc, char **argv, const struct option_row *rows, const char **argument);

/* Arguments that options_next() left, once it has returned OPTIONS_END. */
int options_left(int argc);

void options_usage(FILE *out, const char *synopsis, const struct option_row *rows);

#endif
