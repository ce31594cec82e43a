/* SPDX-License-Identifier: MIT */
/* faults.c - what do the others notice of a worker that is stopped inside a call, or killed over and over? */
#include "questions.h"

void faults_plans(const struct settings *s, struct plan_list *list)
{
    plan_add(list, PLAN_STOPPED, 2, 2, 1, 1);
    if (s->mode != MODE_QUICK)
        plan_add(list, PLAN_KILLED, 2, 2, 1, 1);
}
