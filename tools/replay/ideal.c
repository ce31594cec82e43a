/* SPDX-License-Identifier: MIT */
/*
 * ideal.c - the calls once more, in thought: each reserves exactly what it uses in the end. What is admitted then and was
 * not is the price of reserving too much.
 *
 * An admitted call ends when it really did; one that was refused would have taken the time that the trace tells. A call
 * that was lost holds its amounts until its deadline here as well, and uses nothing.
 */
#include <stdlib.h>

#include "audit.h"
#include "meter.h"

enum event_kind { EVENT_ASK, EVENT_END };

struct event {
    uint64_t at_ns, trace_ns;
    enum event_kind kind;
    uint64_t call;
};

struct thought {
    struct audit *audit;
    struct event *events;
    size_t count;
    bool *admitted; /* by call */
    struct meter **meters;
};

/* Within an instant as run.c has it: in the order of the trace, which has a tick's calls one after the other. */
static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->trace_ns != y->trace_ns)
        return x->trace_ns < y->trace_ns ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static bool is_lost(const volatile struct ledger_entry *entry)
{
    return entry->phase == PHASE_LOST || entry->phase == PHASE_ADMITTED;
}

/* When a refused call would have ended. */
static uint64_t would_end(const struct run *r, uint64_t call)
{
    const struct run_settings *set = r->settings;
    const struct stage_call *c = &r->stage->calls[call];
    uint64_t ticks = (c->t_ns + c->api_ns + set->tick_ns - 1) / set->tick_ns;
    if (set->is_virtual)
        return r->start_ns + ticks * set->tick_ns;
    return r->stage->ledger[call].reserved.before_ns + (uint64_t)((double)c->api_ns / set->speed);
}

static uint64_t end_of(const struct run *r, uint64_t call)
{
    const volatile struct ledger_entry *entry = &r->stage->ledger[call];
    if (is_lost(entry))
        return entry->reserved.before_ns + r->stage->head->rules.ttl_ns;
    return entry->phase == PHASE_SETTLED ? entry->settled.before_ns : would_end(r, call);
}

static bool was_asked(const struct stage *s, uint64_t call)
{
    uint32_t phase = s->ledger[call].phase;
    return s->calls[call].priced && (phase == PHASE_REFUSED || audit_was_admitted(phase));
}

static void make_events(struct thought *t)
{
    const struct stage *s = t->audit->run->stage;
    for (uint64_t i = 0; i < s->head->call_count; i++) {
        if (!was_asked(s, i))
            continue;
        uint64_t begun_ns = s->calls[i].t_ns, ended_ns = begun_ns + s->calls[i].api_ns;
        t->events[t->count++] = (struct event){s->ledger[i].reserved.before_ns, begun_ns, EVENT_ASK, i};
        t->events[t->count++] = (struct event){end_of(t->audit->run, i), ended_ns, EVENT_END, i};
    }
    qsort(t->events, t->count, sizeof *t->events, by_time);
}

/* --------------------------------------------------------------------------------------------------------- one limit */

static uint64_t amount_of(const struct thought *t, const struct event *event, enum tlshm_unit unit)
{
    tlshm_amounts actual;
    stage_actual(&t->audit->run->stage->calls[event->call], &actual);
    return unit == TLSHM_CONCURRENCY ? 1 : actual.of[unit];
}

static bool fits(const struct thought *t, struct meter *m, const struct event *event)
{
    meter_advance(m, event->at_ns, t->audit->wall_lead_ns);
    return m->used_sum + m->held + amount_of(t, event, m->limit->unit) <= m->limit->cap;
}

static void book(const struct thought *t, struct meter *m, const struct event *event)
{
    const volatile struct ledger_entry *entry = &t->audit->run->stage->ledger[event->call];
    enum tlshm_unit unit = m->limit->unit;
    uint64_t amount = amount_of(t, event, unit), lead_ns = t->audit->wall_lead_ns;
    meter_advance(m, event->at_ns, lead_ns);
    if (unit == TLSHM_REQUESTS) {
        if (event->kind == EVENT_ASK)
            meter_use(m, event->at_ns, lead_ns, amount, 0);
    } else if (event->kind == EVENT_ASK) {
        m->held += amount;
    } else {
        m->held -= amount;
        if (unit != TLSHM_CONCURRENCY && !is_lost(entry))
            meter_use(m, event->at_ns, lead_ns, amount, 0);
    }
}

/* ---------------------------------------------------------------------------------------------------------- all limits */

/* The meters of a call, one list a level; false when out of memory. */
static bool meters_of(struct thought *t, uint64_t number, struct meter *lists[STAGE_LEVELS])
{
    const struct stage *s = t->audit->run->stage;
    const struct stage_call *call = &s->calls[number];
    const uint64_t scopes[STAGE_LEVELS] = {call->agent, call->tenant, s->head->scope_count};
    bool room = true;
    for (unsigned level = 0; level < STAGE_LEVELS; level++) {
        const struct level_limits *limits = &t->audit->limits[level];
        lists[level] = audit_meters(t->meters, scopes[level], limits);
        room = room && (lists[level] || limits->count == 0);
    }
    return room;
}

static bool all_fit(const struct thought *t, struct meter *lists[STAGE_LEVELS], const struct event *event)
{
    for (unsigned level = 0; level < STAGE_LEVELS; level++)
        for (unsigned i = 0; i < t->audit->limits[level].count; i++)
            if (!fits(t, &lists[level][i], event))
                return false;
    return true;
}

static void book_all(const struct thought *t, struct meter *lists[STAGE_LEVELS], const struct event *event)
{
    for (unsigned level = 0; level < STAGE_LEVELS; level++)
        for (unsigned i = 0; i < t->audit->limits[level].count; i++)
            book(t, &lists[level][i], event);
}

static void count(struct thought *t, const struct event *event)
{
    struct ideal *ideal = &t->audit->ideal;
    if (event->kind == EVENT_ASK) {
        ideal->admitted++;
    } else if (!is_lost(&t->audit->run->stage->ledger[event->call])) {
        ideal->used_tokens += amount_of(t, event, TLSHM_TOKENS);
        ideal->used_nusd += amount_of(t, event, TLSHM_COST);
    }
}

static bool think(struct thought *t)
{
    struct meter *lists[STAGE_LEVELS];
    for (size_t i = 0; i < t->count; i++) {
        const struct event *event = &t->events[i];
        if (!meters_of(t, event->call, lists))
            return false;
        if (event->kind == EVENT_ASK)
            t->admitted[event->call] = all_fit(t, lists, event);
        if (!t->admitted[event->call])
            continue;
        book_all(t, lists, event);
        count(t, event);
    }
    return true;
}

bool audit_ideal(struct audit *a)
{
    const struct stage_head *head = a->run->stage->head;
    a->ideal.known = a->unknown_limits == 0 && !a->run->interrupted;
    if (!a->ideal.known)
        return true;
    struct thought t = {.audit = a,
                        .events = calloc(2 * head->call_count, sizeof *t.events),
                        .admitted = calloc(head->call_count, sizeof *t.admitted),
                        .meters = calloc(head->scope_count + 1, sizeof *t.meters)};
    bool room = t.events && t.admitted && t.meters;
    if (room) {
        make_events(&t);
        room = think(&t);
    }
    for (uint64_t i = 0; t.meters && i <= head->scope_count; i++)
        free(t.meters[i]);
    free(t.meters);
    free(t.admitted);
    free(t.events);
    return room;
}
