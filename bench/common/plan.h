/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what all peers are asked to do in a trial: how many processes, which calls, on which scopes, under which limits.
 *
 * A plan numbers its scopes: a slot. Peers make a budget for each slot and are told slots and amounts of a call.
 */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include <stdint.h>

#include <tlshm.h>

#define PLAN_SCOPES_MAX 6
#define PLAN_LIMITS_MAX 4
#define PLAN_UNITS 4            /* tokens, cost, requests, concurrency: the first four of enum tlshm_unit */
#define PLAN_RESERVATIONS 16384 /* records of every peer that keeps them: tlshm's default geometry */
#define PLAN_EXTENDS 8          /* of one stream */
#define PLAN_KEY_SIZE 32

enum plan_workload {
    PLAN_ALONE,     /* one process, its own scopes */
    PLAN_DISTINCT,  /* each process its own scopes */
    PLAN_HOT,       /* own agents, all other scopes shared; likewise below when there are several processes */
    PLAN_RESERVE,   /* the reserve alone; its settle is not timed */
    PLAN_REFUSED,   /* no room, every reserve is refused */
    PLAN_STREAM,    /* reserve, extends, settle */
    PLAN_REMAINING, /* one reads what remains of the last scope, the others make pairs */
    PLAN_USAGE,     /* the same, all about the scope */
    PLAN_STOPPED,   /* hot, the last process is stopped inside a call, over and over */
    PLAN_KILLED,    /* hot, the last process is killed every 10 ms, and replaced */
    PLAN_MIX,       /* agents and tenants as a skewed crowd has them, amounts from a trace */
    PLAN_WORKLOADS
};

/* What a process does in a step. */
enum plan_act { ACT_PAIR, ACT_RESERVE, ACT_SETTLE, ACT_REFUSE, ACT_STREAM, ACT_REMAINING, ACT_USAGE, ACTS };

struct mix;

struct plan {
    enum plan_workload workload;
    unsigned processes;
    unsigned scopes;
    unsigned units;        /* that are limited: 1 (tokens), or all PLAN_UNITS */
    unsigned windows;      /* rolling ones for each unit; 0: a cap for life */
    const struct mix *mix; /* PLAN_MIX */
};

/* One call: its scopes, the agent first, and amounts by unit. Concurrency is what a live hold counts for. */
struct plan_call {
    unsigned count;
    uint32_t slot[PLAN_SCOPES_MAX];
    uint64_t estimate[PLAN_UNITS], more[PLAN_UNITS], actual[PLAN_UNITS];
};

/* What a slot's books should say after a trial. */
struct plan_book {
    uint64_t used[PLAN_UNITS], held[PLAN_UNITS];
    uint64_t calls; /* reserves, extends and settles that went through it */
    int loose;      /* a process that used it was killed: nothing exact can be asked for */
};

const char *plan_workload_name(enum plan_workload workload);

/* PLAN_WORKLOADS for none. */
enum plan_workload plan_workload_find(const char *name);

enum plan_act plan_act(const struct plan *plan, unsigned process);

/* Is something held of the first process's scopes before anybody is there? */
int plan_begins_with_hold(const struct plan *plan);

/* The one that is stopped or killed; the number of processes when there is none. */
unsigned plan_victim(const struct plan *plan);

/* Whether this process's calls are the trial's figures. */
int plan_counts(const struct plan *plan, unsigned process);

/* The n-th call of a process. All are the same but for PLAN_MIX. */
void plan_call(const struct plan *plan, unsigned process, uint64_t n, struct plan_call *call);

/* Limits of each scope, the same list for every peer. Returns their number. */
unsigned plan_limit_list(const struct plan *plan, tlshm_limit list[PLAN_LIMITS_MAX]);

unsigned plan_slots(const struct plan *plan);
void plan_slot_key(const struct plan *plan, unsigned slot, char key[PLAN_KEY_SIZE]);

/* By slot, from the steps that each process has made. NULL after a message; free() it. */
struct plan_book *plan_books(const struct plan *plan, const uint64_t *steps);

/* Levels of the keys, NULL at the end; the first `plan_own_levels` of them are in every segment. */
extern const char *const plan_levels[];
extern const unsigned plan_own_levels;

#endif
