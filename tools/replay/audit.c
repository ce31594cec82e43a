/* SPDX-License-Identifier: MIT */
/* audit.c - sums of the ledger against the segment's figures: A1, A2, A5, A6. */
#include "audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void audit_fault(struct audit *a, const char *format, ...)
{
    if (a->faults < AUDIT_FAULTS_SHOWN) {
        va_list list;
        va_start(list, format);
        vsnprintf(a->fault_texts[a->faults], AUDIT_FAULT_TEXT, format, list);
        va_end(list);
    }
    a->faults++;
}

/* ------------------------------------------------------------------------------------------------ the ledger's sums */

static void add_hold(const struct audit *a, struct scope_sums *sums, const struct span *reserved,
                     const tlshm_amounts *estimate)
{
    uint64_t ttl_ns = a->run->stage->head->rules.ttl_ns;
    bool surely = reserved->before_ns + ttl_ns > a->now_ns, maybe = reserved->after_ns + ttl_ns >= a->now_ns;
    for (int unit = 0; unit < TLSHM_UNITS; unit++) {
        uint64_t amount = unit == TLSHM_CONCURRENCY ? 1 : unit == TLSHM_REQUESTS ? 0 : estimate->of[unit];
        sums->held_min[unit] += surely ? amount : 0;
        sums->held_max[unit] += maybe ? amount : 0;
    }
}

static void add_to_scope(const struct audit *a, struct scope_sums *sums, uint64_t number)
{
    const struct stage *s = a->run->stage;
    const volatile struct ledger_entry *entry = &s->ledger[number];
    tlshm_amounts amounts;
    sums->requests += entry->phase != PHASE_WAITING;
    sums->refused += entry->phase == PHASE_REFUSED;
    sums->refused_for_cost += entry->phase == PHASE_REFUSED && entry->refused_unit == TLSHM_COST;
    if (!audit_was_admitted(entry->phase))
        return;
    sums->admitted++;
    sums->used[TLSHM_REQUESTS]++;
    if (entry->phase == PHASE_SETTLED) {
        stage_actual(&s->calls[number], &amounts);
        for (int unit = 0; unit < TLSHM_UNITS; unit++)
            if (unit != TLSHM_REQUESTS)
                sums->used[unit] += amounts.of[unit];
    } else {
        struct span reserved = {entry->reserved.before_ns, entry->reserved.after_ns};
        stage_estimate(s, number, &amounts);
        add_hold(a, sums, &reserved, &amounts);
    }
}

static void add_overrun(struct audit *a, uint64_t number)
{
    const struct stage *s = a->run->stage;
    tlshm_amounts estimate, actual;
    stage_estimate(s, number, &estimate);
    stage_actual(&s->calls[number], &actual);
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (actual.of[unit] > estimate.of[unit])
            a->overrun[unit] += actual.of[unit] - estimate.of[unit];
}

/* A5 for one call: what the settle said it charged. */
static void check_charge(struct audit *a, uint64_t number)
{
    const struct stage *s = a->run->stage;
    tlshm_amounts actual;
    stage_actual(&s->calls[number], &actual);
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (unit != TLSHM_CONCURRENCY && s->ledger[number].charged.of[unit] != actual.of[unit])
            audit_fault(a, "call %" PRIu64 " was charged %" PRIu64 " %s and used %" PRIu64, number,
                        s->ledger[number].charged.of[unit], tlshm_unit_name(unit), actual.of[unit]);
}

static void count_refusal(struct audit *a, const volatile struct ledger_entry *entry)
{
    a->refused++;
    if (entry->reason < TLSHM_REASONS)
        a->refused_for[entry->reason]++;
    if (entry->refused_scope < STAGE_LEVELS)
        a->refused_by[entry->refused_scope]++;
    if (entry->refused_unit < TLSHM_UNITS)
        a->refused_unit[entry->refused_unit]++;
}

static void count(struct audit *a, uint64_t number)
{
    const volatile struct ledger_entry *entry = &a->run->stage->ledger[number];
    uint32_t phase = entry->phase;
    a->asked += phase != PHASE_WAITING;
    a->admitted += audit_was_admitted(phase);
    a->settled += phase == PHASE_SETTLED;
    a->lost += phase == PHASE_LOST || phase == PHASE_ADMITTED;
    a->late += entry->late;
    a->replayed += entry->replayed;
    if (phase == PHASE_REFUSED)
        count_refusal(a, entry);
    if (phase == PHASE_SETTLED) {
        check_charge(a, number);
        add_overrun(a, number);
    }
    if (phase == PHASE_FAILED) {
        a->failed++;
        audit_fault(a, "call %" PRIu64 ": %s (%s)", number, tlshm_error_name(entry->code),
                    tlshm_error_text(entry->code));
    }
}

static void sum_up(struct audit *a)
{
    const struct stage *s = a->run->stage;
    for (uint64_t i = 0; i < s->head->call_count; i++) {
        count(a, i);
        add_to_scope(a, &a->sums[s->calls[i].agent], i);
        add_to_scope(a, &a->sums[s->calls[i].tenant], i);
        add_to_scope(a, &a->sums[s->head->scope_count], i);
    }
}

/* --------------------------------------------------------------------------------------------------- the segment's */

static void check_scope(struct audit *a, const char *key, const struct scope_sums *sums)
{
    tlshm_scope_usage usage;
    int code = tlshm_usage(a->run->segment, key, 0, &usage);
    if (code < 0) {
        audit_fault(a, "%s: %s", key, tlshm_error_text(code));
        return;
    }
    for (int unit = 0; unit < TLSHM_UNITS; unit++) {
        const char *name = tlshm_unit_name(unit);
        if (unit != TLSHM_CONCURRENCY && usage.used[unit] != sums->used[unit])
            audit_fault(a, "%s: %" PRIu64 " %s used, %" PRIu64 " charged", key, usage.used[unit], name,
                        sums->used[unit]);
        if (usage.held[unit] < sums->held_min[unit] || usage.held[unit] > sums->held_max[unit])
            audit_fault(a, "%s: %" PRIu64 " %s held where live holds come to %" PRIu64, key, usage.held[unit], name,
                        sums->held_min[unit]);
    }
}

static void check_scopes(struct audit *a)
{
    const struct stage *s = a->run->stage;
    for (uint64_t i = 0; i < s->head->scope_count; i++)
        check_scope(a, s->scopes[i].key, &a->sums[i]);
    if (s->head->rules.global)
        check_scope(a, "global:", &a->sums[s->head->scope_count]);
    if (a->info.scopes_live > s->head->scope_count + s->head->rules.global)
        audit_fault(a, "%u scopes where the trace names %" PRIu64, a->info.scopes_live, s->head->scope_count);
}

static int by_id(const void *x, const void *y)
{
    tlshm_id a = *(const tlshm_id *)x, b = *(const tlshm_id *)y;
    return (a > b) - (a < b);
}

static bool check_ids(struct audit *a)
{
    const struct stage *s = a->run->stage;
    tlshm_id *ids = calloc(s->head->call_count, sizeof *ids);
    size_t n = 0;
    if (!ids)
        return false;
    for (uint64_t i = 0; i < s->head->call_count; i++)
        if (audit_was_admitted(s->ledger[i].phase))
            ids[n++] = s->ledger[i].id;
    qsort(ids, n, sizeof *ids, by_id);
    for (size_t i = 1; i < n; i++)
        if (ids[i] == ids[i - 1])
            audit_fault(a, "two calls were given the id %016" PRIx64, ids[i]);
    free(ids);
    return true;
}

static void on_verify(void *context, const char *text)
{
    audit_fault(context, "verify: %s", text);
}

static bool read_segment(struct audit *a, char *why, size_t size)
{
    uint64_t wall_ns = 0;
    int code = tlshm_clock_get(a->run->segment, &a->now_ns, &wall_ns);
    a->wall_lead_ns = wall_ns - a->now_ns;
    if (code >= 0)
        code = tlshm_get_segment(a->run->segment, &a->info);
    if (code >= 0)
        code = tlshm_verify(a->run->segment, on_verify, a, &a->verify);
    if (code < 0)
        snprintf(why, size, "%s", tlshm_error_text(code));
    return code >= 0;
}

bool audit_make(struct audit *a, const struct run *run, const struct level_limits *limits, char *why, size_t size)
{
    *a = (struct audit){.run = run, .limits = limits};
    a->sums = calloc(run->stage->head->scope_count + 1, sizeof *a->sums);
    snprintf(why, size, "out of memory");
    if (!a->sums || !read_segment(a, why, size))
        return false;
    sum_up(a);
    check_scopes(a);
    return check_ids(a) && audit_sweep(a) && audit_ideal(a);
}

void audit_end(struct audit *a)
{
    free(a->sums);
    a->sums = NULL;
}

const tlshm_limit *audit_budget(const struct audit *a)
{
    const struct level_limits *tenants = &a->limits[STAGE_TENANT];
    for (unsigned i = 0; i < tenants->count; i++)
        if (tenants->limits[i].unit == TLSHM_COST)
            return &tenants->limits[i];
    return NULL;
}

bool audit_is_sound(const struct audit *a)
{
    return a->faults == 0;
}
