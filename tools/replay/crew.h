/* SPDX-License-Identifier: MIT */
/*
 * crew.h - the worker processes: started, given orders, killed, buried and replaced.
 *
 * A call belongs to one place in the crew from its reserve to its settle, whoever sits there. When a worker dies,
 *   - the call that it was in the middle of is made again by its successor, with the same idempotency key or id;
 *   - orders that it had not begun are passed on;
 *   - its calls that were with the provider are lost, and their holds left to their deadlines.
 */
#ifndef REPLAY_CREW_H
#define REPLAY_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stage.h"
#include "worker.h"

enum { CREW_MAX = 256 };

struct crew_member {
    pid_t pid;
    int fd;
    order *orders; /* of this tick */
    size_t count, room, done, sent;
};

struct crew {
    struct stage *stage;
    struct crew_member *members;
    unsigned count;
    uint64_t frontier; /* no call at or above it has been ordered */
    uint64_t deaths;   /* by SIGKILL, whoever sent it */
    uint64_t cut_off;  /* calls into the library that a death interrupted */
    char why[400];     /* after a function returned false */
};

/* `count` is 1 .. CREW_MAX. crew_end() is due also after it failed. */
bool crew_start(struct crew *c, struct stage *stage, unsigned count);

/* Adds to what the call's worker has to do in this tick. */
bool crew_order(struct crew *c, order o);

/* Hands the orders out. */
bool crew_send(struct crew *c);

/*
 * Both pick the worker that has the most to do, and return false when there is none.
 *   doom    before crew_send(): has it killed `delay_ns` after the beginning of one of its calls, which `pick` picks:
 *           mostly inside the library
 *   strike  after crew_send(): kills it `delay_ns` later, wherever it is then
 */
bool crew_doom(struct crew *c, uint64_t pick, uint64_t delay_ns);
bool crew_strike(struct crew *c, uint64_t delay_ns);

/* Waits until all orders are carried out, by whomever. */
bool crew_wait(struct crew *c);

/* Lets the workers go. */
void crew_end(struct crew *c);

#endif
