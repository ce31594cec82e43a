/* SPDX-License-Identifier: MIT */
/*
 * sweep.c - walks through the ledger in the order of time with a meter at every limit: A3 and A4 of audit.h.
 *
 * Only what certainly was there at an instant is counted: a hold from when its reserve had returned until its settle
 * began or its deadline came, a use from when its settle had returned, in the earliest bucket it can be in. Within one
 * instant of virtual time the order is not known; what ended there ends first, and the state that all leads to is the
 * one that has to be within the cap.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit.h"
#include "meter.h"

enum step_kind { STEP_RELEASE, STEP_USE, STEP_REQUEST, STEP_HOLD };

struct step {
    uint64_t at_ns;
    enum step_kind kind;
    uint64_t call;
};

struct sweep {
    struct audit *audit;
    struct step *steps;
    size_t count;
    struct meter **meters; /* one list a scope, the last for global; NULL: none yet */
};

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

static uint64_t release_ns(const volatile struct ledger_entry *entry, uint64_t ttl_ns)
{
    uint64_t deadline_ns = entry->reserved.before_ns + ttl_ns;
    bool settled_first = entry->phase == PHASE_SETTLED && entry->settled.before_ns < deadline_ns;
    return settled_first ? entry->settled.before_ns : deadline_ns;
}

static bool make_steps(struct sweep *w)
{
    const struct stage *s = w->audit->run->stage;
    enum { STEPS_PER_CALL = 4 };
    w->steps = calloc(STEPS_PER_CALL * s->head->call_count + 1, sizeof *w->steps);
    if (!w->steps)
        return false;
    for (uint64_t i = 0; i < s->head->call_count; i++) {
        const volatile struct ledger_entry *entry = &s->ledger[i];
        if (!audit_was_admitted(entry->phase))
            continue;
        uint64_t released_ns = release_ns(entry, s->head->rules.ttl_ns);
        w->steps[w->count++] = (struct step){entry->reserved.after_ns, STEP_REQUEST, i};
        /* A call that was settled in the tick of its reserve held nothing at the tick's end. */
        if (released_ns > entry->reserved.after_ns) {
            w->steps[w->count++] = (struct step){entry->reserved.after_ns, STEP_HOLD, i};
            w->steps[w->count++] = (struct step){released_ns, STEP_RELEASE, i};
        }
        if (entry->phase == PHASE_SETTLED)
            w->steps[w->count++] = (struct step){entry->settled.after_ns, STEP_USE, i};
    }
    qsort(w->steps, w->count, sizeof *w->steps, by_time);
    return true;
}

/* ------------------------------------------------------------------------------------------------------------- meters */

struct meter *audit_meters(struct meter **lists, uint64_t scope, const struct level_limits *limits)
{
    if (lists[scope] || limits->count == 0)
        return lists[scope];
    lists[scope] = calloc(limits->count, sizeof **lists);
    for (unsigned i = 0; lists[scope] && i < limits->count; i++)
        meter_start(&lists[scope][i], &limits->limits[i]);
    return lists[scope];
}

/* What a step means for one meter. */
static void apply(const struct sweep *w, struct meter *m, const struct step *step)
{
    const struct stage *s = w->audit->run->stage;
    const volatile struct ledger_entry *entry = &s->ledger[step->call];
    enum tlshm_unit unit = m->limit->unit;
    tlshm_amounts estimate, actual;
    stage_estimate(s, step->call, &estimate);
    stage_actual(&s->calls[step->call], &actual);
    estimate.of[TLSHM_CONCURRENCY] = 1;
    uint64_t held = unit == TLSHM_REQUESTS ? 0 : estimate.of[unit], used = actual.of[unit];
    uint64_t excess = entry->late ? used : used > held ? used - held : 0, lead_ns = w->audit->wall_lead_ns;
    meter_advance(m, step->at_ns, lead_ns);
    if (step->kind == STEP_HOLD)
        m->held += held;
    else if (step->kind == STEP_RELEASE)
        m->held -= held;
    else if (step->kind == STEP_USE && unit != TLSHM_REQUESTS)
        meter_use(m, entry->settled.before_ns, lead_ns, used, excess);
    else if (step->kind == STEP_REQUEST && unit == TLSHM_REQUESTS)
        meter_use(m, entry->reserved.before_ns, lead_ns, used, 0);
}

static void note_peak(struct audit *a, const struct meter *m, uint64_t scope)
{
    if (m->limit == audit_budget(a) && m->used_sum > a->sums[scope].peak_nusd)
        a->sums[scope].peak_nusd = m->used_sum;
}

static void judge(struct sweep *w, const struct meter *m, const char *key, uint64_t at_ns)
{
    struct audit *a = w->audit;
    uint64_t over = meter_overspend(m), breach = meter_breach(m);
    if (over > a->overspend[m->limit->unit])
        a->overspend[m->limit->unit] = over;
    if (breach == 0)
        return;
    char text[160];
    tlshm_limit_format(m->limit, text, sizeof text);
    audit_fault(a, "%s: %s: %" PRIu64 " used and %" PRIu64 " held at %.3f s", key, text, m->used_sum, m->held,
                (double)(at_ns - a->run->start_ns) / 1e9);
}

static bool step_scope(struct sweep *w, const struct step *step, unsigned level, uint64_t scope, const char *key)
{
    const struct level_limits *limits = &w->audit->limits[level];
    struct meter *meters = audit_meters(w->meters, scope, limits);
    if (limits->count == 0)
        return true;
    if (!meters)
        return false;
    for (unsigned i = 0; i < limits->count; i++) {
        if (!meter_knows(&limits->limits[i]))
            continue;
        apply(w, &meters[i], step);
        judge(w, &meters[i], key, step->at_ns);
        note_peak(w->audit, &meters[i], scope);
    }
    return true;
}

static bool walk(struct sweep *w)
{
    const struct stage *s = w->audit->run->stage;
    for (size_t i = 0; i < w->count; i++) {
        const char *keys[STAGE_LEVELS];
        const struct stage_call *call = &s->calls[w->steps[i].call];
        uint64_t scopes[STAGE_LEVELS] = {call->agent, call->tenant, s->head->scope_count};
        unsigned count = stage_scopes(s, call, keys);
        for (unsigned level = 0; level < count; level++)
            if (!step_scope(w, &w->steps[i], level, scopes[level], keys[level]))
                return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------------------------- A4 */

static bool same_window(const tlshm_limit *a, const tlshm_limit *b)
{
    return a->unit == b->unit && a->flags == b->flags && a->window.kind == b->window.kind &&
           a->window.period == b->window.period && a->window.length_ns == b->window.length_ns;
}

static void compare_limit(struct audit *a, struct meter *m, const char *key, const tlshm_scope_usage *usage)
{
    char text[160];
    tlshm_limit_format(m->limit, text, sizeof text);
    for (unsigned i = 0; i < usage->limit_count; i++) {
        const tlshm_limit_usage *shown = &usage->limits[i];
        if (!same_window(&shown->limit, m->limit))
            continue;
        meter_advance(m, a->now_ns, a->wall_lead_ns);
        if (shown->used != m->used_sum)
            audit_fault(a, "%s: %s: the window shows %" PRIu64 ", the ledger %" PRIu64, key, text, shown->used,
                        m->used_sum);
        return;
    }
    audit_fault(a, "%s: %s: the limit is not there", key, text);
}

static void compare_scope(struct sweep *w, uint64_t scope, const char *key, const struct level_limits *limits)
{
    tlshm_scope_usage usage;
    if (tlshm_usage(w->audit->run->segment, key, 0, &usage) < 0)
        return; /* reported by A1 */
    for (unsigned i = 0; i < limits->count; i++)
        if (meter_knows(&limits->limits[i]) && limits->limits[i].window.kind != TLSHM_WINDOW_NONE)
            compare_limit(w->audit, &w->meters[scope][i], key, &usage);
}

static const struct level_limits *limits_of(const struct sweep *w, const char *key)
{
    bool is_agent = key[0] == stage_levels[0][0];
    return &w->audit->limits[is_agent ? 0 : 1];
}

static void compare(struct sweep *w)
{
    const struct stage *s = w->audit->run->stage;
    if (!w->audit->run->settings->is_virtual)
        return;
    for (uint64_t i = 0; i < s->head->scope_count; i++)
        if (w->meters[i])
            compare_scope(w, i, s->scopes[i].key, limits_of(w, s->scopes[i].key));
    if (w->meters[s->head->scope_count])
        compare_scope(w, s->head->scope_count, "global:", &w->audit->limits[STAGE_LEVELS - 1]);
}

static void count_unknown(struct audit *a)
{
    for (unsigned level = 0; level < STAGE_LEVELS; level++)
        for (unsigned i = 0; i < a->limits[level].count; i++)
            a->unknown_limits += !meter_knows(&a->limits[level].limits[i]);
}

bool audit_sweep(struct audit *a)
{
    uint64_t scopes = a->run->stage->head->scope_count + 1;
    struct sweep w = {.audit = a, .meters = calloc(scopes, sizeof *w.meters)};
    count_unknown(a);
    bool good = w.meters && make_steps(&w) && walk(&w);
    if (good)
        compare(&w);
    for (uint64_t i = 0; w.meters && i < scopes; i++)
        free(w.meters[i]);
    free(w.meters);
    free(w.steps);
    return good;
}
