/* SPDX-License-Identifier: MIT */
/*
 * verify.c - is the segment sound? Recomputes its invariants beside running workers.
 */
#include <inttypes.h>

#include "inspect.h"

enum { EXIT_FAULTS = 1 };

struct findings {
    const struct inspect *in;
    struct emit *e;
};

static void found(void *context, const char *text)
{
    struct findings *f = context;
    if (f->in->json)
        emit_text(f->e, NULL, text);
    else
        fprintf(f->in->out, "fault: %s\n", text);
}

static void summarise_json(struct emit *e, const tlshm_verify_report *report)
{
    emit_bool(e, "sound", report->faults == 0);
    emit_u64(e, "scopes", report->scopes);
    emit_u64(e, "busy", report->busy);
    emit_u64(e, "reservations", report->reservations);
    emit_u64(e, "sheets", report->sheets);
    emit_u64(e, "fault_count", report->faults);
}

static void summarise(FILE *out, const tlshm_verify_report *report)
{
    char scopes[EMIT_FIGURE], reservations[EMIT_FIGURE], figure[EMIT_FIGURE];
    emit_human_u64(report->scopes, scopes);
    emit_human_u64(report->reservations, reservations);
    if (report->faults == 0)
        fputs("sound: ", out);
    else
        fprintf(out, "NOT SOUND, %s %s: ", emit_human_u64(report->faults, figure),
                report->faults == 1 ? "fault" : "faults");
    fprintf(out, "%s scopes, %s reservations checked", scopes, reservations);
    if (report->busy > 0)
        fprintf(out, "; %s scopes were too busy", emit_human_u64(report->busy, figure));
    fputc('\n', out);
}

int view_verify(void *context, int argc, char **argv)
{
    struct inspect *in = context;
    tlshm_verify_report report = {0};
    struct findings findings = {in, inspect_emit(in)};
    (void)argc, (void)argv;
    emit_array_begin(findings.e, "faults");
    int rc = tlshm_verify(in->tlshm, found, &findings, &report);
    emit_array_end(findings.e);
    if (rc >= 0 && in->json)
        summarise_json(findings.e, &report);
    else if (rc >= 0)
        summarise(in->out, &report);
    int exit_code = inspect_end(in, findings.e, rc);
    return exit_code == EXIT_OK && rc > 0 ? EXIT_FAULTS : exit_code;
}
