/* SPDX-License-Identifier: MIT */
/*
 * pair.c - what does a reserve and its settle cost, alone and beside others, next to the least that it could cost, to
 * mutexes and to servers?
 */
#include "questions.h"

/* Alone: without a window, with one, with four; more scopes; all units. */
static void alone(const struct settings *s, struct plan_list *list)
{
    plan_add(list, PLAN_ALONE, 1, 2, 1, 1);
    if (s->mode == MODE_SMOKE)
        return;
    plan_add(list, PLAN_ALONE, 1, 2, 1, 0);
    plan_add(list, PLAN_ALONE, 1, 2, 1, 4);
    plan_add(list, PLAN_ALONE, 1, 6, 1, 1);
    if (s->mode == MODE_QUICK)
        return;
    plan_add(list, PLAN_ALONE, 1, 4, 1, 1);
    plan_add(list, PLAN_ALONE, 1, 2, PLAN_UNITS, 1);
    plan_add(list, PLAN_ALONE, 1, 6, PLAN_UNITS, 1);
}

static void together(const struct settings *s, struct plan_list *list, enum plan_workload workload)
{
    plan_add(list, workload, 2, 2, 1, 1);
    if (s->mode != MODE_FULL)
        return;
    plan_add(list, workload, 8, 2, 1, 1);
    plan_add(list, workload, 32, 2, 1, 1);
    plan_add(list, workload, 2, 2, PLAN_UNITS, 1);
    plan_add(list, workload, 2, PLAN_SCOPES_MAX, 1, 1);
}

void pair_plans(const struct settings *s, struct plan_list *list)
{
    alone(s, list);
    together(s, list, PLAN_DISTINCT);
    together(s, list, PLAN_HOT);
    if (s->mode == MODE_QUICK)
        plan_add(list, PLAN_HOT, 8, 2, 1, 1);
}
