/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs the Criterion tests of one program and reports them as TAP on standard output.
 *
 * WHY NOT Criterion's own main: its TAP shares a stream with whatever the tests print, and a program without a single
 * test passes. Here what tests print goes to standard error, and no test is a failure.
 */
#include <criterion/criterion.h>
#include <criterion/output.h>

#include <stdio.h>
#include <unistd.h>

/* Moves the report out of the reach of the tests: they inherit standard output, which becomes standard error. */
static int report_to_stdout(void)
{
    static char path[32];
    int report = dup(STDOUT_FILENO);

    if (report < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    snprintf(path, sizeof path, "/dev/fd/%d", report);
    criterion_add_output("tap", path);
    return 0;
}

int main(int argc, char **argv)
{
    struct criterion_test_set *tests = criterion_initialize();
    int passed = 0;

    if (criterion_handle_args(argc, argv, true)) {
        if (report_to_stdout()) {
            perror(argv[0]);
            return 2;
        }
        passed = tests->tests > 0 && criterion_run_all_tests(tests);
        if (tests->tests == 0)
            fprintf(stderr, "%s: no tests\n", argv[0]);
    } else {
        passed = 1; /* --help, --list and their like */
    }
    criterion_finalize(tests);
    return passed ? 0 : 1;
}
