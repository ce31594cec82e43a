/* SPDX-License-Identifier: MIT */
/* calls.c - what do the other calls cost: a refusal next to an admission, an extend in a stream, a look beside writers? */
#include "questions.h"

void calls_plans(const struct settings *s, struct plan_list *list)
{
    plan_add(list, PLAN_RESERVE, 1, 2, 1, 1);
    plan_add(list, PLAN_REFUSED, 1, 2, 1, 1);
    plan_add(list, PLAN_REMAINING, 1, 2, 1, 1);
    if (s->mode == MODE_QUICK)
        return;
    plan_add(list, PLAN_STREAM, 1, 2, 1, 1);
    plan_add(list, PLAN_USAGE, 2, 2, PLAN_UNITS, 1);
    if (s->mode == MODE_SMOKE)
        return;
    plan_add(list, PLAN_REFUSED, 2, 2, 1, 1);
    plan_add(list, PLAN_REMAINING, 2, 2, 1, 1);
    plan_add(list, PLAN_USAGE, 1, 2, PLAN_UNITS, 1);
    plan_add(list, PLAN_STREAM, 2, 2, 1, 1);
}
