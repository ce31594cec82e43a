/* SPDX-License-Identifier: MIT */
/* watch.c - see watch.h. */
#include "watch.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t *watched;
static uint64_t *watched_last; /* as it was at the last look, so that few looks take long */
static size_t watched_words;
static const struct watch_field *watched_fields;
static size_t watched_field_count;

void watch_memory(const void *memory, size_t bytes, const struct watch_field *fields, size_t count)
{
    watched = memory;
    watched_words = bytes / sizeof *watched;
    watched_fields = fields;
    watched_field_count = count;
    watched_last = malloc(bytes);
    MUST(watched_last != NULL, "out of memory");
}

bool watch_has_changed(void)
{
    if (memcmp(watched_last, watched, watched_words * sizeof *watched) == 0)
        return false;
    memcpy(watched_last, watched, watched_words * sizeof *watched);
    return true;
}

/* A word without the process's own number in a field of it. */
static uint64_t anybodys(uint64_t word, const struct watch_field *field, uint64_t number)
{
    const uint64_t ones = (UINT64_C(1) << field->bits) - 1;
    return (word >> field->shift & ones) == (number & ones) ? word | ones << field->shift : word;
}

uint64_t watch_state(pid_t pid)
{
    const struct watch_field *field = watched_fields, *end = watched_fields + watched_field_count;
    uint64_t state = 0;
    for (size_t i = 0; i < watched_words; i++) {
        uint64_t word = watched[i];
        for (; field < end && field->word == i; field++)
            word = anybodys(word, field, (uint64_t)pid);
        state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        state ^= state >> 29;
    }
    return state;
}

/* The memory map of a process, as a text. In a room of its own: the processes to come must find the same heap. */
static const char *maps_of(pid_t pid)
{
    static char text[65536], name[40];
    size_t used = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0, "%s: %s", name, strerror(errno));
    for (ssize_t n = 1; n > 0; used += (size_t)n) {
        n = read(fd, text + used, sizeof text - 1 - used);
        MUST(n >= 0, "%s: %s", name, strerror(errno));
    }
    close(fd);
    text[used] = 0;
    return text;
}

bool watch_is_shared(pid_t pid, uint64_t address)
{
    for (const char *line = maps_of(pid); line != NULL; line = strchr(line, '\n')) {
        uint64_t from, to;
        char shared;
        line += strspn(line, "\n");
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*3s%c", &from, &to, &shared) != 3)
            break;
        if (address >= from && address < to)
            return shared == 's';
    }
    return true;
}
