/* SPDX-License-Identifier: MIT */
/*
 * crew.h - worker processes that start together: forked ones that run a function, and ones that are executed afresh.
 * A worker leaves with _exit, dies with its parent, and is killed by its own alarm when it hangs.
 */
#ifndef TLSHM_TESTS_CREW_H
#define TLSHM_TESTS_CREW_H

#include "tap.h"

/* AddressSanitizer's allocator does not follow a fork: the child would wait for a lock that another thread held. */
#if defined(__SANITIZE_ADDRESS__)
#define FORK_BESIDE_THREADS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORK_BESIDE_THREADS 0
#endif
#endif
#ifndef FORK_BESIDE_THREADS
#define FORK_BESIDE_THREADS 1
#endif

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CREW_MAX 64

/* Memory that all workers of a crew see. Each writes its own line, and the counters that they share. */
struct crew_board {
    _Atomic unsigned arrived, gate;
    _Atomic uint64_t shared[8];
    struct crew_line {
        uint64_t of[16];
    } lines[CREW_MAX];
};

struct crew {
    int fd; /* the board's, inherited by executed workers */
    struct crew_board *board;
    unsigned count;
    unsigned killed; /* of the last crew_join(): how many were ended by SIGKILL */
    pid_t pids[CREW_MAX];
};

/* One worker's view. */
struct crew_seat {
    unsigned index;
    struct crew_board *board;
};

/* Returns 0 when all went well for this worker. */
typedef int crew_work(struct crew_seat *seat, void *context);

void crew_open(struct crew *c);
void crew_close(struct crew *c);

/* Adds `count` forked workers. */
void crew_fork(struct crew *c, unsigned count, crew_work *work, void *context);

/* Adds `count` workers that execute this program again: see crew_take_over(). */
void crew_exec(struct crew *c, unsigned count, const char *work, const char *argument);

/* In main(), first: runs an executed worker and does not return; returns in the parent. */
struct crew_role {
    const char *name;
    crew_work *work; /* its context is the argument string */
};
void crew_take_over(int argc, char **argv, const struct crew_role *roles);

/* In a worker: says that it has arrived at a numbered gate and waits until the parent opens it. */
void crew_wait(struct crew_seat *seat, unsigned gate);

/* In the parent: waits until `count` arrivals were counted since the last gate, and lets them pass gate `gate`. */
void crew_gather(struct crew *c, unsigned count);
void crew_let(struct crew *c, unsigned gate);

void crew_kill(struct crew *c, unsigned index);

/* Waits for all; the number of workers that did not leave with 0 (killed ones included). Ready for the next crew. */
unsigned crew_join(struct crew *c);

/* Zeroed memory that workers forked from now on share; for as long as the process lives. */
void *crew_share(size_t size);

/* The sum of one field over all lines. */
uint64_t crew_sum(const struct crew *c, unsigned field);

#endif
