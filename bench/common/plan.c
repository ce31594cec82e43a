/* SPDX-License-Identifier: MIT */
/* plan.c - the scopes, limits and amounts that every peer is measured with, and the books that must come out. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

#define MINUTE_NS UINT64_C(60000000000)
#define HOUR_NS (60 * MINUTE_NS)
#define DAY_NS (24 * HOUR_NS)
#define CAP (UINT64_C(1) << 52) /* finite, so that it is checked; far, so that nothing is refused */

static const uint64_t estimate[PLAN_UNITS] = {1200, 18000000, 1, 1};
static const uint64_t more[PLAN_UNITS] = {100, 1500000, 0, 0};
static const uint64_t actual[PLAN_UNITS] = {700, 10500000, 1, 0};

/* Six scopes that can all be a process's own; global: could not. */
const char *const plan_levels[PLAN_SCOPES_MAX + 1] = {"agent", "tenant", "user", "project", "org", "team", NULL};
const unsigned plan_own_levels = 5;

static const char *const workload_names[PLAN_WORKLOADS] = {
    "alone", "distinct", "hot", "reserve", "refused", "stream", "remaining", "usage", "stopped", "killed", "mix",
};

const char *plan_workload_name(enum plan_workload workload)
{
    return workload_names[workload];
}

enum plan_workload plan_workload_find(const char *name)
{
    unsigned i = 0;
    while (i < PLAN_WORKLOADS && strcmp(name, workload_names[i]) != 0)
        i++;
    return (enum plan_workload)i;
}

/* -------------------------------------------------------------------------------------------------------- roles */

enum plan_act plan_act(const struct plan *plan, unsigned process)
{
    switch (plan->workload) {
    case PLAN_RESERVE:
        return ACT_RESERVE;
    case PLAN_REFUSED:
        return ACT_REFUSE;
    case PLAN_STREAM:
        return ACT_STREAM;
    case PLAN_REMAINING:
        return process == 0 ? ACT_REMAINING : ACT_PAIR;
    case PLAN_USAGE:
        return process == 0 ? ACT_USAGE : ACT_PAIR;
    default:
        return ACT_PAIR;
    }
}

unsigned plan_victim(const struct plan *plan)
{
    return plan->workload == PLAN_STOPPED || plan->workload == PLAN_KILLED ? plan->processes - 1 : plan->processes;
}

int plan_counts(const struct plan *plan, unsigned process)
{
    if (plan->workload == PLAN_REMAINING || plan->workload == PLAN_USAGE)
        return process == 0;
    return process != plan_victim(plan);
}

/* ------------------------------------------------------------------------------------------------------- scopes */

static int is_shared(const struct plan *plan, unsigned scope)
{
    return scope > 0 && plan->processes > 1 && plan->workload != PLAN_DISTINCT;
}

/* Of the plans without a mix: first the shared scopes, then those of each process. */
static unsigned slot_of(const struct plan *plan, unsigned process, unsigned scope)
{
    return (is_shared(plan, scope) ? 0 : process + 1) * PLAN_SCOPES_MAX + scope;
}

unsigned plan_slots(const struct plan *plan)
{
    return plan->mix ? plan->mix->agents + plan->mix->tenants : (plan->processes + 1) * PLAN_SCOPES_MAX;
}

static void mix_key(const struct mix *mix, unsigned slot, char key[PLAN_KEY_SIZE])
{
    if (slot < mix->agents)
        snprintf(key, PLAN_KEY_SIZE, "agent:a%05u", slot);
    else
        snprintf(key, PLAN_KEY_SIZE, "tenant:t%03u", slot - mix->agents);
}

void plan_slot_key(const struct plan *plan, unsigned slot, char key[PLAN_KEY_SIZE])
{
    if (plan->mix)
        mix_key(plan->mix, slot, key);
    else if (slot < PLAN_SCOPES_MAX)
        snprintf(key, PLAN_KEY_SIZE, "%s:shared", plan_levels[slot]);
    else
        snprintf(key, PLAN_KEY_SIZE, "%s:worker-%u", plan_levels[slot % PLAN_SCOPES_MAX], slot / PLAN_SCOPES_MAX - 1);
}

/* Each process begins at another place of the mix. */
static void mix_call(const struct plan *plan, unsigned process, uint64_t n, struct plan_call *call)
{
    const struct mix_item *item = &plan->mix->item[(n + (uint64_t)process * (MIX_ITEMS / 64)) % MIX_ITEMS];
    call->count = 2;
    call->slot[0] = item->agent;
    call->slot[1] = plan->mix->agents + item->tenant;
    mix_amounts(item, call);
}

void plan_call(const struct plan *plan, unsigned process, uint64_t n, struct plan_call *call)
{
    if (plan->mix) {
        mix_call(plan, process, n, call);
        return;
    }
    call->count = plan->scopes;
    for (unsigned i = 0; i < plan->scopes; i++)
        call->slot[i] = slot_of(plan, process, i);
    memcpy(call->estimate, estimate, sizeof estimate);
    memcpy(call->more, more, sizeof more);
    memcpy(call->actual, actual, sizeof actual);
}

/* ------------------------------------------------------------------------------------------------------- limits */

static tlshm_window window_of(unsigned number)
{
    static const uint64_t length[PLAN_LIMITS_MAX] = {HOUR_NS, MINUTE_NS, DAY_NS, 30 * DAY_NS};
    return (tlshm_window){.kind = TLSHM_WINDOW_ROLLING, .slices = 60, .length_ns = length[number]};
}

/* Refused: one hold fills the budget. */
static uint64_t cap_of(const struct plan *plan, enum tlshm_unit unit)
{
    return plan->workload == PLAN_REFUSED && unit == TLSHM_TOKENS ? estimate[TLSHM_TOKENS] : CAP;
}

unsigned plan_limit_list(const struct plan *plan, tlshm_limit list[PLAN_LIMITS_MAX])
{
    const unsigned units = plan->units > 1 ? TLSHM_CONCURRENCY : 1;
    unsigned count = 0;
    for (unsigned u = 0; u < units; u++) {
        enum tlshm_unit unit = (enum tlshm_unit)u;
        for (unsigned w = 0; w < plan->windows && count < PLAN_LIMITS_MAX; w++)
            list[count++] = (tlshm_limit){.unit = unit, .window = window_of(w), .cap = cap_of(plan, unit)};
        if (plan->windows == 0)
            list[count++] =
                (tlshm_limit){.unit = unit, .window = {.kind = TLSHM_WINDOW_LIFETIME}, .cap = cap_of(plan, unit)};
    }
    if (plan->units > 1 && count < PLAN_LIMITS_MAX)
        list[count++] = (tlshm_limit){.unit = TLSHM_CONCURRENCY, .window = {.kind = TLSHM_WINDOW_NONE}, .cap = CAP};
    return count;
}

/* -------------------------------------------------------------------------------------------------------- books */

static unsigned calls_of(enum plan_act act)
{
    switch (act) {
    case ACT_PAIR:
    case ACT_RESERVE: /* each is settled */
        return 2;
    case ACT_STREAM:
        return 2 + PLAN_EXTENDS;
    default:
        return 0;
    }
}

static void book_add(struct plan_book *books, const struct plan_call *call, enum plan_act act, uint64_t times)
{
    unsigned calls = calls_of(act);
    for (unsigned i = 0; calls > 0 && i < call->count; i++) {
        struct plan_book *book = &books[call->slot[i]];
        book->calls += calls * times;
        for (unsigned u = 0; u < PLAN_UNITS; u++)
            book->used[u] += call->actual[u] * times;
    }
}

static void book_process(const struct plan *plan, struct plan_book *books, unsigned process, uint64_t steps)
{
    const uint64_t kinds = plan->mix ? MIX_ITEMS : 1;
    struct plan_call call;
    for (uint64_t n = 0; n < kinds; n++) {
        plan_call(plan, process, n, &call);
        book_add(books, &call, plan_act(plan, process), steps / kinds + (n < steps % kinds));
    }
}

int plan_begins_with_hold(const struct plan *plan)
{
    return plan->workload == PLAN_REFUSED || plan->workload == PLAN_REMAINING;
}

/* That hold, made for the first process. */
static void book_filling(const struct plan *plan, struct plan_book *books)
{
    struct plan_call call;
    plan_call(plan, 0, 0, &call);
    for (unsigned i = 0; i < call.count; i++) {
        memcpy(books[call.slot[i]].held, call.estimate, sizeof call.estimate);
        books[call.slot[i]].held[TLSHM_REQUESTS] = 0;
        books[call.slot[i]].used[TLSHM_REQUESTS] += call.estimate[TLSHM_REQUESTS];
    }
}

static void book_killed(const struct plan *plan, struct plan_book *books)
{
    struct plan_call call;
    plan_call(plan, plan_victim(plan), 0, &call);
    for (unsigned i = 0; i < call.count; i++)
        books[call.slot[i]].loose = 1;
}

struct plan_book *plan_books(const struct plan *plan, const uint64_t *steps)
{
    struct plan_book *books = calloc(plan_slots(plan), sizeof *books);
    if (!books) {
        fprintf(stderr, "out of memory for the books of a trial\n");
        return NULL;
    }
    for (unsigned process = 0; process < plan->processes; process++)
        book_process(plan, books, process, steps[process]);
    if (plan_begins_with_hold(plan))
        book_filling(plan, books);
    if (plan->workload == PLAN_KILLED)
        book_killed(plan, books);
    return books;
}
