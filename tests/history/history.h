/* SPDX-License-Identifier: MIT */
/*
 * history.h - what concurrent calls were asked and told, and when each began and returned.
 *
 * A history is of one round: it begins and ends at rest. It is legal if its calls can be put one after the other, each
 * between its beginning and its return, so that a plain sequential limiter (sequential.c) gives every answer that was
 * given. A call without a return was cut short by a death: it may have happened, at any time after it began, or not.
 */
#ifndef TLSHM_TESTS_HISTORY_H
#define TLSHM_TESTS_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tlshm.h>

#define SCOPES 3
#define CARRIED 6 /* reservations that a round begins with, at most */
#define WORKERS_MAX 4
#define CALLS_MAX 6 /* of one worker */
#define SLOTS (CARRIED + WORKERS_MAX * CALLS_MAX)
#define LOOKS_MAX (SCOPES + SLOTS) /* at rest, after a round */
#define KEYS 2                     /* idempotency keys of a round; 0 stands for none */
#define OPS_MAX 64

enum op_kind { OP_NONE, OP_RESERVE, OP_SETTLE, OP_REFUND, OP_EXTEND, OP_REMAINING, OP_USAGE, OP_LOOKUP, OP_FIT };

/* Figures of one scope, or of a refusal. */
struct figures {
    uint64_t used, held, requests, live, window; /* tokens, tokens, -, holds, tokens inside the window */
};

/* One call. Its reservation is a slot: a number that the round gives it. */
struct op {
    enum op_kind kind;
    unsigned worker, slot, scopes, key; /* scopes: a set of bits; for looks, the scope's number */
    uint64_t amount;
    _Atomic uint64_t invoked, returned; /* 0: not begun; not returned */
    /* what it was told */
    int rc;
    uint64_t id;
    unsigned status;
    uint64_t charged, estimate;
    int64_t remaining;
    struct figures seen;
    bool explained; /* a refusal with details of one scope's limit */
    unsigned why_scope, why_unit;
};

struct history {
    _Atomic uint64_t now; /* counts beginnings and returns */
    _Atomic uint64_t id[SLOTS];
    unsigned workers, calls, without;
    uint64_t seed, round;
    struct op op[WORKERS_MAX][CALLS_MAX];
};

struct op *history_begin(struct history *h, struct op *op);
void history_end(struct history *h, struct op *op);

/* ------------------------------------------------------------------------------------------- the sequential limiter */

struct limits {
    uint64_t tokens, requests, live; /* caps of one scope: of tokens in its window, of requests, of holds */
    uint64_t latch;                  /* so much used in the window pauses it until a round is over; 0: none */
};
extern const struct limits history_limits[SCOPES];

struct slot {
    uint64_t id;
    uint8_t status, scopes, due; /* due: it expires when time moves on */
    uint16_t estimate, charged;
};

struct state {
    struct figures scope[SCOPES];
    struct slot slot[SLOTS];
    uint8_t key[KEYS + 1]; /* slot + 1 */
};

/* The state after the call, if the answer that it was given is the one due. A cut-short call is given any. */
bool state_apply(struct state *state, const struct op *op);

/* Time moves on by more than every window: use leaves them, and holds that are due expire. */
void state_step(struct state *state);

/* ------------------------------------------------------------------------------------------------------- the search */

struct verdict {
    bool legal, exhausted; /* exhausted: given up */
    struct state end;      /* after the last call */
    unsigned long steps;
};
struct trace {
    const struct state *begin;
    const struct op *const *ops;
    unsigned count;
    uint64_t rest; /* nothing that was cut short happened after this moment */
};
struct verdict search_history(const struct trace *trace);

/* Prints the shortest beginning of an illegal history that is illegal already, without calls that don't matter. */
void search_explain(const struct trace *trace);
void op_print(const struct op *op);

/* ------------------------------------------------------------------------------------------------------- rounds */

enum { WITHOUT_KEYS = 1, WITHOUT_EXTENDS = 2 };

struct plan {
    uint64_t seed;
    unsigned rounds, seconds;
    unsigned without; /* calls that are left out */
};

struct tally {
    unsigned rounds, calls, overlapping, cut, refused, illegal, exhausted, replays, late, asked;
    unsigned long steps;
};

/* Plays rounds until one is illegal or the plan is done. */
void rounds_run(const struct plan *plan, struct tally *tally);

/* An executed worker. */
struct crew_seat;
int rounds_executed(struct crew_seat *seat, void *context);

#endif
