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

static bool load_trace(const struct settings *s, struct plan *plan, struct report *report, char *why, size_t size)
{
    struct trace_record record;
    struct trace *t = trace_open(s->trace, s->skip_bad, why, size);
    if (!t)
        return false;
    int got;
    bool room = true;
    for (uint64_t number = 0; room && (got = trace_next(t, &record)) == 1; number++) {
        cast_complete(&s->cast, trace_format(t), number, &record);
        room = plan_add(plan, &record);
    }
    if (!room)
        snprintf(why, size, "%s: out of memory", s->trace);
    else if (got < 0)
        snprintf(why, size, "%s", trace_why(t));
    report->trace = s->trace;
    report->format = trace_format_name(trace_format(t));
    report->skipped = trace_skipped(t);
    trace_close(t);
    return room && got == 0;
}

static bool load_generated(const struct settings *s, struct plan *plan, struct report *report, char *why, size_t size)
{
    struct trace_record record;
    struct generate *g = generate_start(&s->generate);
    bool room = g != NULL;
    while (room && generate_next(g, &record))
        room = plan_add(plan, &record);
    generate_end(g);
    if (!room)
        snprintf(why, size, "out of memory");
    report->trace = "generated";
    report->format = trace_format_name(TRACE_FLEET);
    return room;
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
    int code = plan_stage(plan, &head, &stage);
    if (code != 0)
        return fail(strerror(code));
    code = replay(s, &stage, report);
    stage_end(&stage);
    return code;
}

static int load_and_replay(struct settings *s)
{
    char why[WHY_MAX];
    struct plan plan = {0};
    struct report report = {0};
    bool loaded =
        s->trace ? load_trace(s, &plan, &report, why, sizeof why) : load_generated(s, &plan, &report, why, sizeof why);
    int code = loaded ? stage_and_replay(s, &plan, &report) : fail(why);
    plan_end(&plan);
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
