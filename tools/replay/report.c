/* SPDX-License-Identifier: MIT */
/* report.c - one list of figures for both formats, and bars for people. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "money.h"
#include "term.h"

enum { BAR_CELLS = 50, KEY_MAX = 48 };

static const double quantiles[] = {0.5, 0.99, 0.999};
static const char *const quantile_names[] = {"p50", "p99", "p999"};
enum { QUANTILES = sizeof quantiles / sizeof *quantiles };

struct latencies {
    struct histogram reserve, refuse, settle;
};

static void merge(const struct stage *stage, struct latencies *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < stage->head->desk_count; i++) {
        histogram_merge(&out->reserve, &stage->desks[i].reserve);
        histogram_merge(&out->refuse, &stage->desks[i].refuse);
        histogram_merge(&out->settle, &stage->desks[i].settle);
    }
}

static uint64_t crashes(const struct stage *stage)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stage->head->desk_count; i++)
        sum += stage->desks[i].crashes;
    return sum;
}

/* ------------------------------------------------------------------------------------------------------------ figures */

static void emit_calls(struct emit *e, const struct audit *a)
{
    emit_u64(e, "requests", a->asked);
    emit_u64(e, "admitted", a->admitted);
    emit_u64(e, "refused", a->refused);
    emit_u64(e, "settled", a->settled);
    emit_u64(e, "late", a->late);
    emit_u64(e, "replayed", a->replayed);
    emit_u64(e, "failed", a->failed);
    emit_object_begin(e, "refused_by_reason");
    for (int reason = 0; reason < TLSHM_REASONS; reason++)
        if (a->refused_for[reason])
            emit_u64(e, tlshm_reason_name(reason), a->refused_for[reason]);
    emit_object_end(e);
    emit_object_begin(e, "refused_by_level");
    for (int level = 0; level < STAGE_LEVELS; level++)
        if (a->refused_by[level])
            emit_u64(e, stage_levels[level], a->refused_by[level]);
    emit_object_end(e);
}

static void emit_deaths(struct emit *e, const struct run *run, const struct audit *a)
{
    uint64_t crashed = crashes(run->stage);
    emit_u64(e, "workers", run->settings->workers);
    emit_u64(e, "killed", run->crew.deaths > crashed ? run->crew.deaths - crashed : 0);
    emit_u64(e, "crashed", crashed);
    emit_u64(e, "cut_off", run->crew.cut_off);
    emit_u64(e, "lost", a->lost);
    emit_u64(e, "expired", a->info.counters.expired);
    emit_duration(e, "reaper_lag_max_ns",
                  run->lag_max_ns > a->info.reaper_lag_max_ns ? run->lag_max_ns : a->info.reaper_lag_max_ns);
}

static void emit_latency(struct emit *e, const char *name, const struct histogram *h)
{
    char key[KEY_MAX];
    for (int i = 0; i < QUANTILES; i++) {
        snprintf(key, sizeof key, "%s_%s_ns", name, quantile_names[i]);
        emit_duration(e, key, histogram_quantile(h, quantiles[i]));
    }
    snprintf(key, sizeof key, "%s_max_ns", name);
    emit_duration(e, key, h->max);
}

static void emit_verdict(struct emit *e, const struct audit *a)
{
    emit_text(e, "verify", a->verify.faults == 0 ? "ok" : "faulty");
    emit_u64(e, "verify_faults", a->verify.faults);
    emit_u64(e, "limits_not_followed", a->unknown_limits);
    emit_bool(e, "sound", audit_is_sound(a));
    emit_u64(e, "faults", a->faults);
    emit_array_begin(e, "fault_texts");
    for (uint64_t i = 0; i < a->faults && i < AUDIT_FAULTS_SHOWN; i++)
        emit_text(e, NULL, a->fault_texts[i]);
    emit_array_end(e);
}

static void emit_all(struct emit *e, const struct report *r, const struct latencies *l)
{
    const struct stage *s = r->run->stage;
    emit_text(e, "trace", r->trace);
    emit_text(e, "format", r->format);
    emit_u64(e, "skipped_rows", r->skipped);
    emit_duration(e, "trace_ns", s->calls[s->head->call_count - 1].t_ns);
    emit_duration(e, "took_ns", r->run->took_ns);
    emit_text(e, "time", r->run->settings->is_virtual ? "virtual" : "real");
    emit_bool(e, "interrupted", r->run->interrupted);
    emit_calls(e, r->audit);
    emit_deaths(e, r->run, r->audit);
    money_emit_sums(e, r->audit, r->tariff);
    if (emit_is_json(e)) {
        emit_latency(e, "reserve", &l->reserve);
        emit_latency(e, "refuse", &l->refuse);
        emit_latency(e, "settle", &l->settle);
    }
    money_emit_tenants(e, r->audit);
    money_emit_models(e, r->audit, r->tariff);
    if (emit_is_json(e))
        emit_verdict(e, r->audit);
}

/* ---------------------------------------------------------------------------------------------------------- for people */

static unsigned bar_of(uint64_t value, uint64_t most)
{
    return value == 0 ? 0 : 1 + (unsigned)(value * (BAR_CELLS - 1) / most);
}

static void print_bars(FILE *out, const struct histogram *h)
{
    uint64_t most = 0;
    unsigned first = HISTOGRAM_POWERS, last = 0;
    for (unsigned power = 0; power < HISTOGRAM_POWERS; power++) {
        uint64_t value = histogram_power(h, power);
        most = value > most ? value : most;
        first = value && power < first ? power : first;
        last = value ? power : last;
    }
    for (unsigned power = first; power <= last && most > 0; power++) {
        char edge[EMIT_FIGURE];
        uint64_t value = histogram_power(h, power);
        fprintf(out, "  < %10s %8" PRIu64 " ", emit_human_duration(UINT64_C(2) << power, edge), value);
        for (unsigned i = bar_of(value, most); i > 0; i--)
            fputc('#', out);
        fputc('\n', out);
    }
}

static void print_latency(FILE *out, const char *name, const struct histogram *h)
{
    char text[EMIT_FIGURE];
    if (h->total == 0)
        return;
    fprintf(out, "\n%s%s%s  %" PRIu64 " calls", term_style(out, TERM_BOLD), name, term_style(out, TERM_PLAIN),
            h->total);
    for (int i = 0; i < QUANTILES; i++)
        fprintf(out, ", p%g %s", quantiles[i] * 100, emit_human_duration(histogram_quantile(h, quantiles[i]), text));
    fprintf(out, ", max %s\n", emit_human_duration(h->max, text));
    print_bars(out, h);
}

static void print_verdict(FILE *out, const struct audit *a)
{
    bool sound = audit_is_sound(a);
    fprintf(out, "\n%s%s%s", term_style(out, sound ? TERM_GREEN : TERM_RED), sound ? "Sound" : "NOT SOUND",
            term_style(out, TERM_PLAIN));
    uint64_t scopes = a->run->stage->head->scope_count + a->run->stage->head->rules.global;
    if (sound)
        fprintf(out, ": what %" PRIu64 " scopes hold and have used is what the ledger says, to the last token.\n",
                scopes);
    else
        fprintf(out, ": %" PRIu64 " faults in %" PRIu64 " scopes.\n", a->faults, scopes);
    for (uint64_t i = 0; i < a->faults && i < AUDIT_FAULTS_SHOWN; i++)
        fprintf(out, "  %s\n", a->fault_texts[i]);
    if (a->faults > AUDIT_FAULTS_SHOWN)
        fprintf(out, "  ... and %" PRIu64 " more\n", a->faults - AUDIT_FAULTS_SHOWN);
    if (a->unknown_limits)
        fprintf(out, "  %u limits have windows that the ledger can't follow (time zone, anchor)\n", a->unknown_limits);
}

int report_print(const struct report *r, FILE *out, bool json)
{
    static struct latencies latencies; /* too large for the stack of a small machine */
    merge(r->run->stage, &latencies);
    struct emit *e = emit_new(out, json ? EMIT_JSON : EMIT_TEXT);
    emit_all(e, r, &latencies);
    int code = emit_end(e);
    if (!json) {
        print_latency(out, "reserve, admitted", &latencies.reserve);
        print_latency(out, "reserve, refused", &latencies.refuse);
        print_latency(out, "settle", &latencies.settle);
        print_verdict(out, r->audit);
    }
    return code == 0 && fflush(out) == 0 ? 0 : -1;
}
