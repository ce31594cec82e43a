/* SPDX-License-Identifier: MIT */
/*
 * watch.h - the memory that traced processes share: whether it has changed, and what it says whoever of them wrote it.
 */
#ifndef TLSHM_TESTS_WATCH_H
#define TLSHM_TESTS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where a word of that memory has the number of the process that wrote it: fewer than 64 bits. */
struct watch_field {
    size_t word;
    unsigned shift, bits;
};

/* The memory to be compared. Its fields, in ascending order, stay the caller's. */
void watch_memory(const void *memory, size_t bytes, const struct watch_field *fields, size_t count);

/* Since the last look. */
bool watch_has_changed(void);

/* What it says, whichever number the process has: one that stands in its field is left out, all else counts. */
uint64_t watch_state(pid_t pid);

/* Do others see what a process has at this address of its own? */
bool watch_is_shared(pid_t pid, uint64_t address);

#endif
