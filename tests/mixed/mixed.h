/* SPDX-License-Identifier: MIT */
/*
 * mixed.h - what the processes of the mixed run share: who they are, when they rest, and what went wrong.
 */
#ifndef TLSHM_TESTS_MIXED_H
#define TLSHM_TESTS_MIXED_H

#include "space.h"

#include <stdatomic.h>
#include <sys/types.h>
#include <tlshm/stats.h>

#define MIXED_ACTORS 64
#define MIXED_ROWS_LEAST 9 /* in each third something must be seen */

/* What an actor does. The first two live as long as the run: what they need is measured. */
enum mixed_role {
    MIXED_STEADY, /* calls, and attaches anew now and then */
    MIXED_PARENT, /* starts threads and children that call, and waits for them */
    MIXED_REAPER, /* passes, is killed and starts again */
    MIXED_MORTAL, /* calls and changes limits, is stopped, killed and starts again */
};

struct mixed_board {
    char path[160];                     /* the segment */
    _Atomic unsigned rest;              /* all stand still between two calls */
    _Atomic uint64_t fresh, fresh_most; /* scopes that were never seen are numbered; so many there may be by now */
    _Atomic uint64_t calls, refused, full, applied, attached, threads, children;
    _Atomic unsigned faults;
    char fault[256]; /* the first one */
    struct mixed_actor {
        _Atomic unsigned resting; /* it stands still */
    } actor[MIXED_ACTORS];
};

/* Notes what must not be; the first text is kept. */
void mixed_fault(struct mixed_board *board, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The life of an actor; it ends by a signal only. */
_Noreturn void mixed_live(struct mixed_board *board, unsigned index, enum mixed_role role, uint64_t seed);

/* What is seen at one moment. Rows of the figures, columns of the CSV. */
enum mixed_column {
    MIXED_SECONDS,
    MIXED_STEADY_KB, /* memory of the two that live long, */
    MIXED_PARENT_KB,
    MIXED_WATCH_KB, /* and of the one that looks */
    MIXED_STEADY_FDS,
    MIXED_PARENT_FDS,
    MIXED_WATCH_FDS,
    MIXED_SEATS,
    MIXED_SCOPES,
    MIXED_LISTS,
    MIXED_TIERS,
    MIXED_HELD,
    MIXED_ENDED,
    MIXED_SHEETS, /* that are in one place, when last all stood still */
    MIXED_SHM_KB, /* of the segment's directory */
    MIXED_FILES,  /* in it */
    MIXED_CALLS,  /* since the start, as all that follow */
    MIXED_REFUSED,
    MIXED_EXPIRED,
    MIXED_RECYCLED,
    MIXED_KILLS,
    MIXED_STOPS,
    MIXED_COLUMNS
};

struct mixed_figures {
    unsigned rows, room;
    uint64_t (*row)[MIXED_COLUMNS];
};

/* A row with nothing in it yet. */
uint64_t *mixed_row(struct mixed_figures *figures);

/* Memory and descriptors of a process; the directory of the segment. */
uint64_t mixed_memory_kb(pid_t pid);
uint64_t mixed_descriptors(pid_t pid);
void mixed_directory(const char *path, uint64_t *kb, uint64_t *files);

/*
 * Nothing grows: in the last third of the run no figure that is bounded was higher than in the second one, but for a
 * slack. One result for each.
 */
void mixed_judge(const struct mixed_figures *figures);

/* Writes mixed.csv and mixed.gp in a directory, and mixed.svg if there is gnuplot. False: it could not, and said so. */
bool mixed_write(const struct mixed_figures *figures, const char *directory);

#endif
