/* SPDX-License-Identifier: MIT */
/*
 * worker.h - the program's other face: a process that makes the calls it is told to make.
 *
 * The coordinator starts it with the stage and a socket of packets at fixed descriptors. A packet to the worker is an
 * array of orders; the answer, when all are carried out, is one byte. It ends when the socket does, and is killed by
 * the kernel when the coordinator is gone.
 */
#ifndef REPLAY_WORKER_H
#define REPLAY_WORKER_H

#include <stdint.h>

#define WORKER_WORD "--be-a-worker" /* argv[1]; then the desk's number and the coordinator's pid */

enum { WORKER_STAGE_FD = 3, WORKER_SOCKET_FD = 4, WORKER_ORDERS_MAX = 256 };

/* What is to be done about a call; or, to die this many nanoseconds later, inside the call that comes next. */
enum order_kind { ORDER_RESERVE = 0, ORDER_SETTLE = 1, ORDER_DIE = 2 };

/* A call's number (of ORDER_DIE: the delay) and a kind. */
typedef uint64_t order;

static inline order order_make(uint64_t call, enum order_kind kind)
{
    return call << 2 | (uint64_t)kind;
}

static inline uint64_t order_call(order o)
{
    return o >> 2;
}

static inline enum order_kind order_kind_of(order o)
{
    return (enum order_kind)(o & 3);
}

int worker_main(int argc, char **argv);

#endif
