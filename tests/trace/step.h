/* SPDX-License-Identifier: MIT */
/*
 * step.h - another process, stepped through a stretch of its code instruction by instruction (ptrace), and brought to
 * any instruction of it again.
 *
 * The stretch lies between two marks that the process sets itself. A first walk notes for each instruction where it is,
 * for which time, and what kind it is. Later processes, forked like the first, run to a hardware breakpoint as near as
 * possible before the wanted instruction, and are stepped from there; on machines without, they are stepped all the way.
 *
 * Signals that somebody else sends are kept from the processes: only traps, marks and faults of their own stop them.
 */
#ifndef TLSHM_TESTS_STEP_H
#define TLSHM_TESTS_STEP_H

#include "tap.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STEP_CLASSES 4 /* all processes have numbers of one class, that is, seats of one place in GROUND_SEATS */
#define STEP_POINTS_MOST 200000 /* of a stretch */

enum step_kind { STEP_PLAIN, STEP_ATOMIC, STEP_SYSTEM }; /* locked or exchanging with memory; a system call */

/* One instruction of the stretch. */
struct step_point {
    uint64_t at;
    uint64_t state; /* of the watched memory before it (watch.h) */
    unsigned time;  /* it is executed for the time-th time, from 1 on */
    enum step_kind kind;
    bool stores; /* the watched memory was another after it */
    bool again;  /* the one before, not done yet: it moves or fills memory, and a breakpoint stops it once */
    bool passed; /* a whole call, or all that one instruction moves or fills, see step.c */
};

struct step_path {
    unsigned count;
    struct step_point *points;
};

/* Whether processes can be traced here; else `why` says what is in the way. */
bool step_possible(const char **why);

/* Whether instructions can be told apart; else every one is of the kind STEP_PLAIN. */
bool step_decodes(void);

/* Forks a process that runs `work` and leaves with its result, and brings it to its first mark. */
pid_t step_start(int (*work)(void));

/* In that process: a mark. Nothing happens when nobody traces. */
void step_mark(void);

/* From the first mark to the second. The path is valid until the next record. */
void step_record(pid_t pid, struct step_path *path);

/* From the first mark on: so many instructions of the path. `by_steps`: without a breakpoint. */
enum step_reach {
    STEP_THERE,     /* stopped before point n */
    STEP_AT_END,    /* at the second mark: the path was shorter */
    STEP_ELSEWHERE, /* stopped, but at another instruction than in the first walk, or with other memory */
    STEP_CRASHED    /* a signal that nobody sent */
};
enum step_reach step_to(pid_t pid, const struct step_path *path, unsigned n, bool by_steps);

/* The next atomic instruction from here (any, where they are not told apart); false: the second mark came first. */
bool step_to_atomic(pid_t pid);
void step_over(pid_t pid);

void step_kill(pid_t pid);

/* Lets it run to its second mark, then to its end. */
bool step_resume(pid_t pid);
bool step_leave(pid_t pid);

/* How the process that was waited for last came to stand or to its end, in words. */
const char *step_fate(void);

#endif
