/* SPDX-License-Identifier: MIT */
/* tap.h - the Test Anything Protocol for tests that are plain programs. */
#ifndef TLSHM_TESTS_TAP_H
#define TLSHM_TESTS_TAP_H

#include <stdbool.h>

/* Stops the whole program after this many seconds: a test that hangs has failed. */
void tap_begin(unsigned seconds);

/* One result; returns `passed`. */
bool tap_ok(bool passed, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for two figures, which are shown when they differ. */
bool tap_equal(unsigned long long got, unsigned long long expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A result that can't be had here; the reason is shown. */
void tap_skip(const char *name, const char *reason);

/* Prints the plan; the program's exit status. No result at all is a failure. */
int tap_end(void);

/* For the ground that tests stand on: says what is wrong and aborts, in a Criterion test as well as in a program. */
_Noreturn void support_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Called once before that abort: removes what would be left behind. */
extern void (*support_clean_up)(void);

#define MUST(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            support_failed(__FILE__, __LINE__, __VA_ARGS__);                                                           \
    } while (0)

#endif
