/* SPDX-License-Identifier: MIT */
/* crowd.c - what does a pair cost when a skewed crowd of agents and tenants makes calls of real sizes? */
#include "questions.h"

void crowd_plans(const struct settings *s, struct plan_list *list)
{
    if (!s->mix)
        return;
    plan_add(list, PLAN_MIX, 2, 2, PLAN_UNITS, 1);
    list->plan[list->count - 1].mix = s->mix;
    if (s->mode != MODE_FULL)
        return;
    plan_add(list, PLAN_MIX, 8, 2, PLAN_UNITS, 1);
    list->plan[list->count - 1].mix = s->mix;
}
