/* SPDX-License-Identifier: MIT */
/*
 * journal.h - what happened, one line an event, on stderr: for people, or as JSON for a collector of logs.
 */
#ifndef TLSHM_REAPER_JOURNAL_H
#define TLSHM_REAPER_JOURNAL_H

#include <stdbool.h>

#include <tlshm/admin.h>

/* The name in JSON is the word in small letters: "start", "stop", ... */
enum journal_event {
    JOURNAL_START,
    JOURNAL_STOP,
    JOURNAL_WATCHING, /* a segment came */
    JOURNAL_WAITING,  /* a segment that was asked for by name is not there yet */
    JOURNAL_GONE,     /* a segment was destroyed or replaced */
    JOURNAL_SEATS,    /* seats of dead threads were freed */
    JOURNAL_LAG,      /* a hold had been overdue for longer than it should */
    JOURNAL_TROUBLE,  /* a segment, or the place of segments, cannot be used */
    JOURNAL_RECOVERED,
    JOURNAL_PASS, /* only when asked for */
    JOURNAL_EVENTS
};

struct journal {
    const char *tool;
    bool json;
    bool verbose; /* every pass */
    bool brief;   /* only what keeps a segment from being looked after */
};

/* `segment` and `report` may be NULL. JSON carries the report's figures beside the text. */
void journal_say(const struct journal *j, enum journal_event event, const char *segment,
                 const tlshm_reap_report *report, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
