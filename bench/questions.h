/* SPDX-License-Identifier: MIT */
/*
 * questions.h - one file a question. Questions about calls put their plans on the list, and all of them are then run
 * together, peer beside peer, round by round; the others measure for themselves.
 */
#ifndef BENCH_QUESTIONS_H
#define BENCH_QUESTIONS_H

#include "report.h"

enum mode { MODE_SMOKE, MODE_QUICK, MODE_FULL };

struct settings {
    enum mode mode;
    unsigned rounds;
    const struct mix *mix; /* NULL: none */
    const char *reaper;    /* path of tlshm-reaper; NULL: none */
    const char *plot, *json, *only, *trace;
    enum plan_workload workload; /* PLAN_WORKLOADS: all */
};

#define PLANS_MAX 64

struct plan_list {
    unsigned count;
    struct plan plan[PLANS_MAX];
};

void plan_add(struct plan_list *list, enum plan_workload workload, unsigned processes, unsigned scopes, unsigned units,
              unsigned windows);

/* Questions about calls. */
void pair_plans(const struct settings *s, struct plan_list *list);
void calls_plans(const struct settings *s, struct plan_list *list);
void faults_plans(const struct settings *s, struct plan_list *list);
void crowd_plans(const struct settings *s, struct plan_list *list);

/* Runs all plans on all peers: 0, or -1 after a message or when interrupted. */
int rounds_run(const struct settings *s, const struct plan_list *list, struct report *report);
void rounds_free(struct report *report);

/* The other ones, likewise. */
int growth_run(const struct settings *s, struct report *report);
int space_run(const struct settings *s, struct report *report);
int reaper_run(const struct settings *s, struct report *report);

#endif
