/* SPDX-License-Identifier: MIT */
/* os.h - what the library asks of the system, but for mapping the segment (segment.c). */
#ifndef TL_OS_H
#define TL_OS_H

#include "atomic.h"

uint32_t tl_os_pid(void);
uint32_t tl_os_tid(void);

/* The kernel's boot id as two words; false when it cannot be read. */
bool tl_os_boot_id(uint64_t id[2]);

/* Random words; falls back to clock and pid where the kernel has none to give. */
uint64_t tl_os_random(void);

/*
 * This process's offsets of the boot-time and monotonic clocks against the host's (time namespaces), ns. False when they
 * cannot be known: it has left for another time namespace, in which only its children will be.
 */
bool tl_os_clock_namespace(uint64_t *boot_ns, uint64_t *mono_ns);

/* Can an open file be named by its descriptor? Not without /proc. */
bool tl_os_descriptors_have_names(void);

/*
 * The fork generation: the word is never 0, and another one in a forked child than in its parent, however it was forked.
 * While it reads 0 the child has not counted itself: tl_os_count_fork() does, and returns it.
 */
extern const tl_word *tl_os_fork_word;
uint64_t tl_os_count_fork(void);

TL_INLINE uint64_t tl_os_fork_generation(void)
{
    uint64_t generation = tl_load_relaxed(tl_os_fork_word);
    return TL_LIKELY(generation != 0) ? generation : tl_os_count_fork();
}

#endif
