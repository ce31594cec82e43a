/* SPDX-License-Identifier: MIT */
/*
 * crew.h - worker processes that go through phases together, and the board in shared memory that they report on.
 *
 * The foreman forks the workers, sets phases and reads counters; a worker writes its own member only. Workers die with
 * the foreman. The foreman's waits end early on SIGINT, SIGTERM and SIGHUP; crew_interrupted() then tells.
 */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "histogram.h"

#define CREW_MAX 64

enum crew_phase { CREW_GATHER, CREW_WARM, CREW_TIMED, CREW_FREE, CREW_END };

struct crew_member {
    _Alignas(128) _Atomic uint64_t pairs; /* all that were finished, in every phase */
    _Atomic int inside;                   /* victims: between the start of a call and its return */
    _Atomic int resting;                  /* victims: heard `rest` and make no calls */
    _Alignas(128) _Atomic int rest;       /* the foreman's wish */
    _Alignas(128) struct histogram latency;
};

struct crew_board {
    _Alignas(128) _Atomic int phase;
    _Alignas(128) _Atomic unsigned ready;
    struct crew_member member[];
};

struct crew;

/* The work of process `index`. Returns its exit status. */
typedef int (*crew_work)(struct crew *crew, unsigned index, void *context);

struct crew {
    unsigned count;
    size_t bytes;
    struct crew_board *board;
    crew_work work;
    void *context;
    pid_t pid[CREW_MAX]; /* 0: not running */
};

/* From here on the three signals end waits instead of the program. */
void crew_catch_signals(void);
int crew_interrupted(void); /* the signal's number, or 0 */

/* Sleeps. Returns 0, or -1 when interrupted. */
int crew_nap(uint64_t ns);

/* Forks `count` workers, each pinned to a processor, and waits until all are ready. 0, or -1 after a message. */
int crew_start(struct crew *crew, unsigned count, crew_work work, void *context);

/* In a worker: reports ready and waits for the first phase. */
void crew_ready(struct crew *crew);

static inline enum crew_phase crew_phase_get(struct crew *crew)
{
    return (enum crew_phase)atomic_load_explicit(&crew->board->phase, memory_order_relaxed);
}
void crew_phase_set(struct crew *crew, enum crew_phase phase);

/* -1 after a message if a worker has ended that should not have. */
int crew_check(struct crew *crew);

/* Stops a worker with SIGSTOP, wherever it is, and waits until it stands still. 0, or -1 after a message. */
int crew_stop(struct crew *crew, unsigned index);
void crew_resume(struct crew *crew, unsigned index);

/* Asks a worker to make no calls (it answers through `resting`), until it is asked to go on. 0, or -1 as above. */
int crew_rest(struct crew *crew, unsigned index);
void crew_go_on(struct crew *crew, unsigned index);

/* Kills a worker wherever it is, and starts another one in its place. 0, or -1 after a message. */
int crew_replace(struct crew *crew, unsigned index);

/* Waits, however long it takes, until all workers have ended by themselves. 0, or -1 after a message or a signal. */
int crew_wait(struct crew *crew);

/* The last phase: 0 when all workers ended well within a time-out. Ends them in any case. The board stays. */
int crew_finish(struct crew *crew);

/* Kills what is left, stopped or not, and gives the board back. Harmless when nothing is. */
void crew_close(struct crew *crew);

/* Processors this process may use. */
unsigned crew_processors(void);

#endif
