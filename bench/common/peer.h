/* SPDX-License-Identifier: MIT */
/*
 * peer.h - what is measured: a way to reserve and settle, behind one interface, and the plan that all peers follow.
 *
 * A trial: setup() in the foreman, then in each forked worker join() and pair() over and over, then audit() and
 * teardown() in the foreman. A peer keeps its state in its own file; one trial runs at a time.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdint.h>

#include <tlshm.h>

#define PLAN_SCOPES_MAX 6
#define PLAN_UNITS 4            /* tokens, cost, requests, concurrency: the first four of enum tlshm_unit */
#define PLAN_RESERVATIONS 16384 /* records of every peer that keeps them: tlshm's default geometry */

enum plan_workload { PLAN_ALONE, PLAN_DISTINCT, PLAN_HOT, PLAN_STOPPED };

/* What a scope is limited by. */
enum plan_limits {
    PLAN_ONE_WINDOW, /* tokens over a rolling hour */
    PLAN_EACH_UNIT   /* tokens, cost and requests over a rolling hour each, and concurrency */
};

struct plan {
    enum plan_workload workload;
    unsigned processes;
    unsigned scopes;
    enum plan_limits limits;
};

struct peer {
    const char *name;                                       /* tlshm, floor, mutex */
    const char *keys;                                       /* how scopes are named in a call: handle, string */
    int (*setup)(const struct plan *plan);                  /* 0, or -1 after a message */
    int (*join)(const struct plan *plan, unsigned process); /* 0, or -1 after a message */
    int (*pair)(void);                                      /* reserve + settle: 0, or what was answered instead */
    int (*audit)(const struct plan *plan, const uint64_t *pairs); /* by process: 0 if the books are exact */
    void (*teardown)(void);
};

extern const struct peer peer_floor, peer_mutex, peer_tlshm, peer_tlshm_string;

/* The amounts of each pair, by unit. Concurrency is what a live hold counts for. */
extern const uint64_t plan_estimate[PLAN_UNITS], plan_actual[PLAN_UNITS];

/* Limits of each scope, the same list for every peer. Returns their number. */
unsigned plan_limit_list(const struct plan *plan, tlshm_limit list[PLAN_UNITS]);

/* The key of one of a process's scopes; the first is the agent. Shared scopes have one key for all processes. */
void plan_key(const struct plan *plan, unsigned process, unsigned scope, char key[32]);

/* The same as a number below plan_slots(). */
unsigned plan_slot(const struct plan *plan, unsigned process, unsigned scope);
unsigned plan_slots(const struct plan *plan);

/* Pairs that went through a scope of a process, itself and those that share it. */
uint64_t plan_expected(const struct plan *plan, unsigned process, unsigned scope, const uint64_t *pairs);

const char *plan_workload_name(enum plan_workload workload);

/* Levels that plan_key() uses beyond those that every segment has: NULL at the end. */
extern const char *const plan_extra_levels[];

/* Memory shared with workers forked later; NULL after a message. */
void *peer_map(size_t bytes);
void peer_unmap(void *memory, size_t bytes);

/* Says on stderr that a scope's books are wrong, and returns -1. */
int peer_audit_failed(const char *peer, const char *key, const char *what, uint64_t found, uint64_t wanted);

#endif
