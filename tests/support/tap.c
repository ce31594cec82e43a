/* SPDX-License-Identifier: MIT */
/* tap.c - results on standard output, one line each. */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void (*support_clean_up)(void);

static unsigned tap_count, tap_failures;

void tap_begin(unsigned seconds)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a fork must not inherit, and print again, what is buffered */
    alarm(seconds);
}

static bool tap_result(bool passed, const char *format, va_list arguments)
{
    tap_count++;
    tap_failures += passed ? 0 : 1;
    printf("%sok %u - ", passed ? "" : "not ", tap_count);
    vprintf(format, arguments);
    putchar('\n');
    return passed;
}

bool tap_ok(bool passed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tap_result(passed, format, arguments);
    va_end(arguments);
    return passed;
}

bool tap_equal(unsigned long long got, unsigned long long expected, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tap_result(got == expected, format, arguments);
    va_end(arguments);
    if (got != expected)
        printf("# got %llu, expected %llu\n", got, expected);
    return got == expected;
}

void tap_skip(const char *name, const char *reason)
{
    printf("ok %u - %s # SKIP %s\n", ++tap_count, name, reason);
}

int tap_end(void)
{
    printf("1..%u\n", tap_count);
    return tap_count != 0 && tap_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void support_failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    if (support_clean_up != NULL)
        support_clean_up();
    abort();
}
