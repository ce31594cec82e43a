/* SPDX-License-Identifier: MIT */
/*
 * journal.c - what happened, one line an event, on stderr.
 *
 * A line is written whole in one go, so that the lines of two reapers on one terminal or pipe don't mix.
 */
#include "journal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emit.h"
#include "report.h"

enum { JOURNAL_TEXT_MAX = 1024 };
#define NS_PER_S INT64_C(1000000000)

static const char *const event_names[JOURNAL_EVENTS] = {
    [JOURNAL_START] = "start",     [JOURNAL_STOP] = "stop",       [JOURNAL_WATCHING] = "watching",
    [JOURNAL_WAITING] = "waiting", [JOURNAL_GONE] = "gone",       [JOURNAL_SEATS] = "seats",
    [JOURNAL_LAG] = "lag",         [JOURNAL_TROUBLE] = "trouble", [JOURNAL_RECOVERED] = "recovered",
    [JOURNAL_PASS] = "pass",
};

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void write_json(FILE *out, enum journal_event event, const char *segment, const tlshm_reap_report *report,
                       const char *text)
{
    struct emit *e = emit_new(out, EMIT_JSON_LINE);
    emit_time(e, "time_ns", wall_ns());
    emit_text(e, "event", event_names[event]);
    if (segment != NULL)
        emit_text(e, "segment", segment);
    emit_text(e, "text", text);
    if (report != NULL)
        report_emit(e, report);
    emit_end(e);
}

static void write_text(FILE *out, const char *tool, const char *segment, const char *text)
{
    if (segment != NULL)
        fprintf(out, "%s: %s: %s\n", tool, segment, text);
    else
        fprintf(out, "%s: %s\n", tool, text);
}

void journal_say(const struct journal *j, enum journal_event event, const char *segment,
                 const tlshm_reap_report *report, const char *format, ...)
{
    if (j->brief && event != JOURNAL_TROUBLE && event != JOURNAL_WAITING)
        return;
    char text[JOURNAL_TEXT_MAX], *line = NULL;
    size_t size = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    FILE *out = open_memstream(&line, &size);
    if (out == NULL)
        return;
    if (j->json)
        write_json(out, event, segment, report, text);
    else
        write_text(out, j->tool, segment, text);
    if (fclose(out) == 0)
        fwrite(line, 1, size, stderr);
    free(line);
}
