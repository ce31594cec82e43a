/* SPDX-License-Identifier: MIT */
/*
 * replay.c - runs a fuzz target without libFuzzer: the inputs of its corpus, then random ones from a seed.
 *
 * A corpus is a text file with one input a line in hexadecimal, and lines of comment that say what it once found. An input
 * that ends the program is printed, so that it can be put there.
 */
#include "fuzz.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX 4096
#define INPUT_USUAL 512 /* most bytes of a random input */
#define SECONDS 120     /* of one input: a thousand times what any takes on a machine that is busy with other things */

static uint8_t input[INPUT_MAX];
static volatile size_t input_size;
static const char *unpack_to;
static unsigned unpacked;

/* --------------------------------------------------------------------------------------------- what ended the program */

/* In a signal handler: the input that was running, as a line of a corpus. */
static void show_input(void)
{
    static const char digits[] = "0123456789abcdef";
    static char line[2 * INPUT_MAX + 32];
    static const char head[] = "# input: ";
    size_t n = sizeof head - 1;
    memcpy(line, head, n);
    for (size_t i = 0; i < input_size; i++) {
        line[n++] = digits[input[i] >> 4];
        line[n++] = digits[input[i] & 15];
    }
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        return;
}

static void on_death(int number)
{
    show_input();
    signal(number, SIG_DFL);
    raise(number);
}

/* A sanitizer that ends the program calls this first. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch_for_death(void)
{
    static const int signals[] = {SIGABRT, SIGALRM};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], on_death);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(show_input);
    else
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
            signal(faults[i], on_death);
}

/* ------------------------------------------------------------------------------------------------------------- corpus */

static void unpack(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/kept-%03u", unpack_to, ++unpacked);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    MUST(fd >= 0 && write(fd, input, input_size) == (ssize_t)input_size, "%s: %s", path, strerror(errno));
    close(fd);
}

static void run_input(void)
{
    alarm(SECONDS); /* an endless loop that reaches no hook */
    if (unpack_to != NULL)
        unpack();
    else
        LLVMFuzzerTestOneInput(input, input_size);
    alarm(0);
}

static int digit_of(char c)
{
    const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool read_line(const char *line)
{
    size_t digits = strspn(line, "0123456789abcdef");
    if (digits % 2 != 0 || digits / 2 > INPUT_MAX || line[digits + strspn(line + digits, "\n")] != '\0')
        return false;
    input_size = digits / 2;
    for (size_t i = 0; i < input_size; i++)
        input[i] = (uint8_t)(digit_of(line[2 * i]) << 4 | digit_of(line[2 * i + 1]));
    return true;
}

static unsigned run_corpus(const char *path)
{
    static char line[2 * INPUT_MAX + 16];
    unsigned count = 0, number = 0;
    FILE *file = fopen(path, "r");
    MUST(file != NULL, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file) != NULL) {
        number++;
        if (line[0] == '#' || line[0] == '\n')
            continue;
        MUST(read_line(line), "%s: line %u is no input", path, number);
        run_input();
        count++;
    }
    fclose(file);
    return count;
}

/* One file as libFuzzer writes them. */
static void run_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, input, sizeof input) : -1;
    MUST(n >= 0, "%s: %s", path, strerror(errno));
    close(fd);
    input_size = (size_t)n;
    run_input();
}

/* ------------------------------------------------------------------------------------------------------------- random */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void run_random(uint64_t seed, unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        uint64_t state = seed + n;
        input_size = 8 + next_random(&state) % (INPUT_USUAL - 8);
        for (size_t i = 0; i < input_size; i++)
            input[i] = (uint8_t)next_random(&state);
        run_input();
    }
}

static const char *usage = "usage: %s [--corpus FILE] [--random COUNT] [--seed N] [--unpack DIR] [INPUT...]\n"
                           "Runs the inputs of a corpus, random inputs, and inputs as libFuzzer writes them.\n"
                           "--unpack writes the corpus as libFuzzer wants it, and runs nothing.\n";

int main(int argc, char **argv)
{
    const char *corpus = NULL;
    unsigned random = 0, files = 0;
    uint64_t seed = 1;
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--corpus") == 0)
            corpus = argv[i + 1];
        else if (strcmp(argv[i], "--random") == 0)
            random = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--unpack") == 0)
            unpack_to = argv[i + 1];
        else
            break;
    }
    if (i < argc && argv[i][0] == '-')
        return fprintf(stderr, usage, argv[0]), 2;
    tap_begin(SECONDS);
    watch_for_death();
    unsigned kept = corpus != NULL ? run_corpus(corpus) : 0;
    if (corpus != NULL)
        tap_ok(kept > 0, "%u inputs of the corpus", kept);
    if (random > 0) {
        run_random(seed, random);
        tap_ok(true, "%u random inputs from seed %llu", random, (unsigned long long)seed);
    }
    for (; i < argc; i++, files++)
        run_file(argv[i]);
    if (files > 0)
        tap_ok(true, "%u inputs from files", files);
    return tap_end();
}
