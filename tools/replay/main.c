/* SPDX-License-Identifier: MIT */
/* main.c - tlshm-replay: a trace in, a replay on a segment of its own, a report out. */
#include <stdio.h>
#include <string.h>

#include <tlshm.h>

#include "audit.h"
#include "generate.h"
#include "plan.h"
#include "report.h"
#include "run.h"
#include "settings.h"
#include "signals.h"
#include "tariff.h"
#include "trace.h"
#include "venue.h"
#include "worker.h"
#include "write.h"

enum { WHY_MAX = 600 };

static int fail(const char *why)
{
    return tool_fail(&settings_tool, EXIT_LIBRARY, "%s", why);
}

/* ------------------------------------------------------------------------------------------------------------- traces */

/* What calls are collected with. */
struct load {
    struct plan plan;
    struct tariff tariff;
    char why[WHY_MAX];
};

static bool add(struct load *l, const struct trace_record *record, bool dated)
{
    struct quote quote;
    if (!tariff_quote(&l->tariff, record, dated, &quote, l->why, sizeof l->why))
        return false;
    bool room = plan_add(&l->plan, record, &quote);
    if (!room)
        snprintf(l->why, sizeof l->why, "out of memory");
    return room;
}

static bool load_trace(const struct settings *s, struct load *l, struct report *report)
{
    struct trace_record record;
    struct trace *t = trace_open(s->trace, s->skip_bad, l->why, sizeof l->why);
    if (!t)
        return false;
    int got;
    bool good = true, dated = trace_format(t) == TRACE_AZURE;
    for (uint64_t number = 0; good && (got = trace_next(t, &record)) == 1; number++) {
        cast_complete(&s->cast, trace_format(t), number, &record);
        good = add(l, &record, dated);
    }
    if (good && got < 0)
        snprintf(l->why, sizeof l->why, "%s", trace_why(t));
    report->trace = s->trace;
    report->format = trace_format_name(trace_format(t));
    report->skipped = trace_skipped(t);
    trace_close(t);
    return good && got == 0;
}

static bool load_generated(const struct settings *s, struct load *l, struct report *report)
{
    struct trace_record record;
    struct generate *g = generate_start(&s->generate);
    bool good = g != NULL;
    if (!g)
        snprintf(l->why, sizeof l->why, "out of memory");
    while (good && generate_next(g, &record))
        good = add(l, &record, false);
    generate_end(g);
    report->trace = "generated";
    report->format = trace_format_name(TRACE_FLEET);
    return good;
}

static int write_generated(const struct settings *s)
{
    char why[WHY_MAX];
    struct trace_record record;
    struct generate *g = generate_start(&s->generate);
    if (!g)
        return fail("out of memory");
    struct write *w = write_start(s->output);
    if (!w) {
        generate_end(g);
        return tool_fail(&settings_tool, EXIT_LIBRARY, "%s: %m", s->output);
    }
    while (generate_next(g, &record) && write_record(w, &record))
        continue;
    generate_end(g);
    return write_end(w, why, sizeof why) ? EXIT_OK : fail(why);
}

/* ------------------------------------------------------------------------------------------------------------- replay */

static int conclude(const struct settings *s, struct run *run, struct report *report)
{
    char why[WHY_MAX];
    struct audit audit;
    int code;
    if (!audit_make(&audit, run, s->limits, why, sizeof why)) {
        code = fail(why);
    } else {
        report->run = run;
        report->audit = &audit;
        code = report_print(report, stdout, s->json) == 0 ? EXIT_OK : fail("the report could not be written");
        if (code == EXIT_OK && !audit_is_sound(&audit))
            code = EXIT_REFUSED;
    }
    audit_end(&audit);
    return code;
}

static int replay(const struct settings *s, struct stage *stage, struct report *report)
{
    char why[WHY_MAX];
    struct run run = {.settings = &s->run, .stage = stage};
    run.segment = venue_open(stage->head, s->run.is_virtual, s->run.workers, s->limits, why, sizeof why);
    if (!run.segment)
        return fail(why);
    int code = run_play(&run) ? conclude(s, &run, report) : fail(run.why);
    venue_close(run.segment, s->segment, s->keep);
    return code;
}

static int stage_and_replay(struct settings *s, struct plan *plan, struct report *report)
{
    struct stage stage;
    struct stage_head head = {.desk_count = s->run.workers, .rules = s->rules};
    memcpy(head.segment, s->segment, sizeof head.segment);
    if (plan->call_count == 0)
        return fail("the trace is empty");
    /* A trace with dates brings its own. */
    if (strcmp(report->format, trace_format_name(TRACE_AZURE)) == 0)
        s->run.wall_start_ns = plan_start_ns(plan);
    if (!tariff_pack(&s->tariff, &head.tariff))
        return fail("the text of a price is too long");
    int code = plan_stage(plan, report->tariff, &head, &stage);
    if (code != 0)
        return fail(strerror(code));
    code = replay(s, &stage, report);
    stage_end(&stage);
    return code;
}

static int load_and_replay(struct settings *s)
{
    struct load l = {0};
    struct report report = {.tariff = &l.tariff};
    bool loaded = tariff_open(&l.tariff, &s->tariff, s->run.wall_start_ns, l.why, sizeof l.why);
    if (loaded)
        loaded = s->trace ? load_trace(s, &l, &report) : load_generated(s, &l, &report);
    int code = loaded ? stage_and_replay(s, &l.plan, &report) : fail(l.why);
    plan_end(&l.plan);
    tariff_close(&l.tariff);
    return code;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], WORKER_WORD) == 0)
        return worker_main(argc, argv);
    struct settings settings;
    int code;
    if (!settings_read(&settings, argc, argv, &code))
        return code;
    if (settings.output)
        return write_generated(&settings);
    if (!signals_start(0))
        return fail("no pipe for signals");
    return load_and_replay(&settings);
}
