/* SPDX-License-Identifier: MIT */
/*
 * main.c - tlshm-reaper: expires overdue holds and frees the seats of the dead in time, so that callers need not.
 *
 * Nothing depends on it: whoever is about to be refused expires what stands in the way. It may be killed at any
 * instruction, started twice, or be missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tlshm.h>
#include <tlshm/admin.h>

#include "emit.h"
#include "fleet.h"
#include "journal.h"
#include "notify.h"
#include "options.h"
#include "report.h"
#include "signals.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_US UINT64_C(1000)
#define SCAN_NS NS_PER_S                  /* how often segments are looked for, and looked whether they are gone */
#define REST_MIN_NS UINT64_C(10000000)    /* between two passes, however soon a deadline is */
#define REST_FACTOR 9                     /* and for this many times as long as looking took ... */
#define CREDIT_MOST_NS INT64_C(100000000) /* ... but for so much that was saved by resting longer */
#define MANY_ENDED 1000                   /* holds of a pass: ending them took longer than looking for them */
#define PASSES_MOST 8                     /* in a row, before signals and the manager have their turn */
#define SLEEP_SHARE 2    /* of the period: a hold that is made and ends while we sleep waits no longer */
#define WATCHDOG_SHARE 3 /* heartbeats within the manager's interval */
#define PERIOD_MIN_NS UINT64_C(1000000)
#define LAG_DEFAULT_NS (5 * NS_PER_S)

enum { OPT_SEGMENT = 1, OPT_ALL, OPT_DIRECTORY, OPT_PERIOD, OPT_LAG, OPT_ONCE, OPT_JSON, OPT_VERBOSE };

static const struct option_row options[] = {
    {OPT_SEGMENT, "segment", 's', "NAME", "look after this segment, now or as soon as it is there; repeatable"},
    {OPT_ALL, "all", 'a', NULL, "look after every segment in the default place, found again each second"},
    {OPT_DIRECTORY, "directory", 'd', "DIR", "look after every segment in DIR"},
    {OPT_PERIOD, "period", 'p', "TIME", "how late a hold may be expired (1s); passes come at least twice as often"},
    {OPT_LAG, "lag", 'l', "TIME", "report holds that were overdue for longer than this (5s)"},
    {OPT_ONCE, "once", '1', NULL, "make one pass, print its report, exit"},
    {OPT_JSON, "json", 'j', NULL, "print the report, or each event, as JSON"},
    {OPT_VERBOSE, "verbose", 'v', NULL, "report every pass"},
    OPTION_ROWS_END,
};

static const struct tool_info tool = {
    "tlshm-reaper",
    "Expires overdue holds of tlshm segments in time and frees what dead processes left.",
    "[OPTION]...",
    options,
    NULL,
    "Without --segment, --all or --directory the segment named by $TLSHM_SEGMENT is meant.\n"
    "SIGHUP looks at all segments again, SIGTERM and SIGINT end. Events go to stderr.\n"
    "Exit codes: 0 done, 2 wrong usage, 3 a segment could not be used (--once) or the system refused.\n",
};

struct reaper {
    struct journal journal;
    struct fleet fleet;
    struct notify notify;
    uint64_t period_ns;
    bool once;
    bool ready; /* the service manager knows it */
    char directory[4096];
    char status[256]; /* the last one sent */
    /* When what is due, on the monotonic clock. */
    uint64_t scan_at, pass_at, beat_at;
    uint64_t passed_at; /* when the last pass ended */
    int64_t credit_ns;  /* how long looking may take before it has to rest for it */
};

/* --------------------------------------------------------------------------------------------------------- options */

static bool take_duration(const struct option_parser *p, uint64_t min, uint64_t *ns)
{
    struct tlshm_error error;
    uint64_t value;
    if (tlshm_duration_parse(p->argument, &value, &error) != 0) {
        options_complain(&tool, "--%s: %s", p->name, error.text);
        return false;
    }
    if (value < min) {
        options_complain(&tool, "--%s: '%s' is too short", p->name, p->argument);
        return false;
    }
    *ns = value;
    return true;
}

static bool take_segment(struct reaper *r, const char *name)
{
    int rc = fleet_add(&r->fleet, name);
    if (rc != 0)
        options_complain(&tool, "'%s' cannot name a segment: %s", name, tlshm_error_text(rc));
    return rc == 0;
}

static bool take_directory(struct reaper *r, const char *directory)
{
    size_t len = strlen(directory);
    while (len > 1 && directory[len - 1] == '/')
        len--;
    if (len == 0 || len >= sizeof r->directory) {
        options_complain(&tool, "'%s' cannot be a directory", directory);
        return false;
    }
    memcpy(r->directory, directory, len);
    r->directory[len] = '\0';
    r->fleet.directory = r->directory;
    return true;
}

/* The default place is what is left of a segment's path without its name. */
static bool take_all(struct reaper *r)
{
    char path[sizeof r->directory];
    if (tlshm_path("any", path, sizeof path) != 0)
        return false;
    *strrchr(path, '/') = '\0';
    return take_directory(r, path);
}

static bool take(struct reaper *r, const struct option_parser *p, int id)
{
    switch (id) {
    case OPT_SEGMENT:
        return take_segment(r, p->argument);
    case OPT_ALL:
        return take_all(r);
    case OPT_DIRECTORY:
        return take_directory(r, p->argument);
    case OPT_PERIOD:
        return take_duration(p, PERIOD_MIN_NS, &r->period_ns);
    case OPT_LAG:
        return take_duration(p, 0, &r->fleet.lag_limit_ns);
    case OPT_ONCE:
        return r->once = true;
    case OPT_JSON:
        return r->journal.json = true;
    default:
        return r->journal.verbose = true;
    }
}

static bool take_default(struct reaper *r)
{
    const char *name = getenv("TLSHM_SEGMENT");
    if (r->fleet.count > 0 || r->fleet.directory != NULL)
        return true;
    if (name == NULL || name[0] == '\0') {
        options_complain(&tool, "which segment? Give --segment NAME or --all");
        return false;
    }
    return take_segment(r, name);
}

/* Returns -1 to go on, or the exit code. */
static int parse(struct reaper *r, int argc, char **argv)
{
    struct option_parser parser;
    options_start(&parser, &tool, NULL, argc, argv);
    for (int id; (id = options_next(&parser)) > 0;)
        if (!take(r, &parser, id))
            return EXIT_USAGE;
    if (parser.stopped)
        return parser.exit_code;
    if (parser.argc > 0)
        return options_complain(&tool, "unexpected '%s'", parser.argv[0]);
    return take_default(r) ? -1 : EXIT_USAGE;
}

/* -------------------------------------------------------------------------------------------------------- one pass */

static int run_once(struct reaper *r)
{
    r->journal.brief = !r->journal.verbose;
    fleet_scan(&r->fleet, true);
    fleet_pass(&r->fleet);
    struct emit *e = emit_new(stdout, r->journal.json ? EMIT_JSON : EMIT_TEXT);
    emit_array_begin(e, "segments");
    for (size_t i = 0; i < r->fleet.count; i++) {
        const struct segment *s = r->fleet.segments[i];
        if (s->tlshm == NULL || s->trouble != 0)
            continue;
        emit_object_begin(e, NULL);
        emit_text(e, "segment", s->name);
        report_emit(e, &s->report);
        emit_object_end(e);
    }
    emit_array_end(e);
    return emit_end(e) == 0 && fleet_troubled(&r->fleet) == 0 ? EXIT_OK : EXIT_LIBRARY;
}

/* ------------------------------------------------------------------------------------------------------ the daemon */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * At most a tenth of the time goes into looking for what is due, however large the segments are and however soon deadlines
 * follow, unless that would be later than the period allows. Who has rested for long may look a few times in a row: of many
 * that are due together, some mostly come due just after a look. What ends holds is no part of it: after a pass that has
 * ended many another follows at once, and the last one tells what a look takes.
 */
static void pass(struct reaper *r)
{
    uint64_t start, end, next, before;
    unsigned passes = 0;
    int64_t rested = (int64_t)(now_ns() - r->passed_at) / REST_FACTOR;
    r->credit_ns = rested > CREDIT_MOST_NS - r->credit_ns ? CREDIT_MOST_NS : r->credit_ns + rested;
    do {
        before = r->fleet.expired;
        start = now_ns();
        next = fleet_pass(&r->fleet);
        end = now_ns();
    } while (r->fleet.expired - before >= MANY_ENDED && ++passes < PASSES_MOST);
    r->credit_ns -= (int64_t)(end - start);
    r->passed_at = end;
    uint64_t owed = r->credit_ns < 0 ? (uint64_t)-r->credit_ns : 0;
    uint64_t rest = max_u64(REST_MIN_NS, REST_FACTOR * owed), sleep = r->period_ns / SLEEP_SHARE;
    r->pass_at = end + max_u64(min_u64(next, sleep), min_u64(rest, sleep));
}

static void scan(struct reaper *r, bool force)
{
    if (fleet_scan(&r->fleet, force) > 0)
        r->pass_at = 0; /* holds of a new segment may be overdue */
    r->scan_at = now_ns() + SCAN_NS;
}

static void describe(const struct reaper *r, char *text, size_t size)
{
    size_t trouble = fleet_troubled(&r->fleet);
    int n = snprintf(text, size, "%zu segments, %" PRIu64 " live holds; %" PRIu64 " expired, %" PRIu64 " seats freed",
                     fleet_attached(&r->fleet), fleet_live(&r->fleet), r->fleet.expired, r->fleet.seats_freed);
    if (trouble > 0 && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "; %zu cannot be used", trouble);
}

/* Tells the manager what changed; the heartbeat goes out only from here, so a loop that hangs is noticed. */
static void tell(struct reaper *r)
{
    char status[sizeof r->status];
    if (!r->ready)
        r->ready = notify_send(&r->notify, "READY=1");
    describe(r, status, sizeof status);
    if (strcmp(status, r->status) != 0 && notify_send(&r->notify, "STATUS=%s", status))
        memcpy(r->status, status, sizeof status);
    if (r->notify.watchdog_ns == 0) {
        r->beat_at = UINT64_MAX;
    } else if (now_ns() >= r->beat_at) {
        notify_send(&r->notify, "WATCHDOG=1");
        r->beat_at = now_ns() + r->notify.watchdog_ns / WATCHDOG_SHARE;
    }
}

static void reload(struct reaper *r)
{
    notify_send(&r->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_ns() / NS_PER_US);
    r->ready = false;
    scan(r, true);
    r->pass_at = 0;
}

static void loop(struct reaper *r)
{
    while (!signals_stop()) {
        if (signals_hangup())
            reload(r);
        if (now_ns() >= r->scan_at)
            scan(r, false);
        if (now_ns() >= r->pass_at)
            pass(r);
        tell(r);
        uint64_t wake = min_u64(min_u64(r->scan_at, r->pass_at), r->beat_at), now = now_ns();
        if (wake > now)
            signals_sleep(wake - now);
    }
}

static int run_daemon(struct reaper *r)
{
    if (!signals_start(SIGNALS_HANGUP))
        return tool_fail(&tool, EXIT_LIBRARY, "no signal handlers: %s", strerror(errno));
    if (notify_open(&r->notify) != 0)
        return tool_fail(&tool, EXIT_LIBRARY, "cannot use $NOTIFY_SOCKET: %s", strerror(errno));
    char status[sizeof r->status];
    journal_say(&r->journal, JOURNAL_START, NULL, NULL, "started, version %s", tlshm_version());
    loop(r);
    notify_send(&r->notify, "STOPPING=1");
    notify_close(&r->notify);
    describe(r, status, sizeof status);
    journal_say(&r->journal, JOURNAL_STOP, NULL, NULL, "stopped by %s: %s", strsignal(signals_stop()), status);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    static struct reaper r = {.period_ns = NS_PER_S};
    r.journal.tool = tool.name;
    r.fleet.journal = &r.journal;
    r.fleet.lag_limit_ns = LAG_DEFAULT_NS;
    int rc = parse(&r, argc, argv);
    if (rc < 0)
        rc = r.once ? run_once(&r) : run_daemon(&r);
    fleet_free(&r.fleet);
    return rc;
}
