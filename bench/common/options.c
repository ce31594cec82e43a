/* SPDX-License-Identifier: MIT */
/* options.c - command lines from a table. */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#define ROWS_MAX 32

int options_next(int argc, char **argv, const struct option_row *rows, const char **argument)
{
    struct option longs[ROWS_MAX + 1] = {{0}};
    char shorts[2 * ROWS_MAX + 1] = "";
    size_t used = 0;
    for (unsigned i = 0; rows[i].letter != 0 && i < ROWS_MAX; i++) {
        longs[i] =
            (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument, NULL, rows[i].letter};
        if (!isprint(rows[i].letter))
            continue;
        shorts[used++] = (char)rows[i].letter;
        if (rows[i].argument)
            shorts[used++] = ':';
    }
    int letter = getopt_long(argc, argv, shorts, longs, NULL);
    *argument = letter > 0 ? optarg : NULL;
    return letter;
}

int options_left(int argc)
{
    return argc - optind;
}

void options_usage(FILE *out, const char *synopsis, const struct option_row *rows)
{
    fprintf(out, "%s\n\n", synopsis);
    for (; rows->letter != 0; rows++) {
        char left[40], letter[5] = "";
        if (isprint(rows->letter))
            snprintf(letter, sizeof letter, "-%c,", rows->letter);
        snprintf(left, sizeof left, "%s%s%s", rows->name, rows->argument ? " " : "",
                 rows->argument ? rows->argument : "");
        fprintf(out, "  %-3s --%-20s %s\n", letter, left, rows->help);
    }
}
