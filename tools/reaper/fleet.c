/* SPDX-License-Identifier: MIT */
/*
 * fleet.c - the segments that the reaper looks after: which there are, which came and went, one pass over all.
 */
#include "fleet.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/stats.h>

#include "emit.h"
#include "guard.h"

/* ------------------------------------------------------------------------------------------------------ membership */

static struct segment *find(const struct fleet *f, const char *path)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->segments[i]->path, path) == 0)
            return f->segments[i];
    return NULL;
}

static int grow(struct fleet *f)
{
    if (f->count < f->room)
        return 0;
    size_t room = f->room ? 2 * f->room : 8;
    struct segment **segments = realloc(f->segments, room * sizeof *segments);
    if (segments == NULL)
        return -TLSHM_ENOMEM;
    f->segments = segments;
    f->room = room;
    return 0;
}

static int append(struct fleet *f, const char *name, const char *path, bool named)
{
    struct segment *s = calloc(1, sizeof *s);
    if (s == NULL || grow(f) != 0 || (s->name = strdup(name)) == NULL) {
        free(s);
        return -TLSHM_ENOMEM;
    }
    snprintf(s->path, sizeof s->path, "%s", path);
    s->named = named;
    f->segments[f->count++] = s;
    return 0;
}

int fleet_add(struct fleet *f, const char *name)
{
    char path[PATH_MAX];
    if (tlshm_path(name, path, sizeof path) != 0)
        return -TLSHM_EINVAL;
    return find(f, path) != NULL ? 0 : append(f, name, path, true);
}

static void drop(struct fleet *f, size_t i)
{
    guard_detach(f->segments[i]->tlshm);
    free(f->segments[i]->name);
    free(f->segments[i]);
    f->segments[i] = f->segments[--f->count];
}

void fleet_free(struct fleet *f)
{
    while (f->count > 0)
        drop(f, f->count - 1);
    free(f->segments);
    f->segments = NULL;
    f->room = 0;
}

/* --------------------------------------------------------------------------------------------------------- trouble */

static void trouble(const struct fleet *f, struct segment *s, int code, const char *text)
{
    if (s->trouble != code)
        journal_say(f->journal, JOURNAL_TROUBLE, s->name, NULL, "%s (%s)", text, tlshm_error_name(code));
    s->trouble = code;
}

/* Leaves the segment alone until its path leads to another file. */
static void refuse(const struct fleet *f, struct segment *s, int code, const char *text)
{
    if (stat(s->path, &s->refused) != 0)
        memset(&s->refused, 0, sizeof s->refused);
    guard_detach(s->tlshm);
    s->tlshm = NULL;
    trouble(f, s, code, text);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------------ came, went */

static void attached(const struct fleet *f, struct segment *s, const tlshm_segment_info *info)
{
    s->virtual_clock = info->geometry.virtual_clock != 0;
    s->trouble = 0;
    s->told_absent = false;
    memset(&s->report, 0, sizeof s->report);
    memset(&s->refused, 0, sizeof s->refused);
    journal_say(f->journal, JOURNAL_WATCHING, s->name, NULL, "watching, %" PRIu32 " holds are live",
                info->reservations_held);
}

static void absent(const struct fleet *f, struct segment *s)
{
    if (s->named && !s->told_absent)
        journal_say(f->journal, JOURNAL_WAITING, s->name, NULL, "there is no such segment yet");
    s->told_absent = true;
    s->trouble = 0;
}

/* True if the segment is attached now. */
static bool attach(const struct fleet *f, struct segment *s, bool force)
{
    struct stat now;
    if (stat(s->path, &now) != 0 && errno == ENOENT)
        return absent(f, s), false;
    bool same = same_file(&now, &s->refused);
    if (!force && s->trouble != 0 && same)
        return false;
    if (!same)
        s->trouble = 0; /* another file: what is wrong with it is news */
    struct tlshm_error error;
    tlshm_segment_info info;
    int rc = guard_attach(&s->tlshm, s->name, 0, &error);
    if (rc == -TLSHM_ENOENT)
        return absent(f, s), false;
    if (rc != 0) {
        s->tlshm = NULL;
        return refuse(f, s, rc, error.text), false;
    }
    rc = tlshm_get_segment(s->tlshm, &info);
    if (rc != 0)
        return refuse(f, s, rc, tlshm_error_text(rc)), false;
    return attached(f, s, &info), true;
}

/* Detaches from a segment that no new caller can find any more. */
static void check_gone(const struct fleet *f, struct segment *s)
{
    tlshm_segment_info info;
    int rc = tlshm_stale(s->tlshm);
    if (rc == -TLSHM_ETRUNCATED) {
        refuse(f, s, rc, tlshm_error_text(rc));
    } else if (rc == 1 && tlshm_get_segment(s->tlshm, &info) == 0) {
        guard_detach(s->tlshm);
        s->tlshm = NULL;
        s->told_absent = false;
        journal_say(f->journal, JOURNAL_GONE, s->name, NULL, "gone: %s",
                    info.destroyed ? "it was destroyed" : "its file was removed or replaced");
    }
}

/* --------------------------------------------------------------------------------------------------- the directory */

static bool is_candidate(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
}

/* Names in the default place stand for themselves; elsewhere the name is the path. */
static int add_entry(struct fleet *f, const char *file)
{
    char path[PATH_MAX], usual[PATH_MAX];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/%s", f->directory, file) >= (int)sizeof path)
        return 0;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || find(f, path) != NULL)
        return 0;
    bool by_name = tlshm_path(file, usual, sizeof usual) == 0 && strcmp(usual, path) == 0;
    return append(f, by_name ? file : path, path, false);
}

static void directory_trouble(struct fleet *f, int sys)
{
    if (!f->directory_trouble && sys != ENOENT)
        journal_say(f->journal, JOURNAL_TROUBLE, NULL, NULL, "%s: %s", f->directory, strerror(sys));
    f->directory_trouble = sys != ENOENT;
}

static void read_directory(struct fleet *f)
{
    DIR *dir = opendir(f->directory);
    if (dir == NULL) {
        directory_trouble(f, errno);
        return;
    }
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;)
        if (is_candidate(entry))
            rc = add_entry(f, entry->d_name);
    closedir(dir);
    if (rc != 0)
        directory_trouble(f, ENOMEM);
    else
        f->directory_trouble = false;
}

/* Forgets what was only found in the directory and is no longer there. */
static void forget_absent(struct fleet *f)
{
    for (size_t i = f->count; i-- > 0;)
        if (!f->segments[i]->named && f->segments[i]->tlshm == NULL && f->segments[i]->told_absent)
            drop(f, i);
}

size_t fleet_scan(struct fleet *f, bool force)
{
    size_t fresh = 0;
    if (f->directory != NULL)
        read_directory(f);
    for (size_t i = 0; i < f->count; i++) {
        struct segment *s = f->segments[i];
        if (s->tlshm != NULL)
            check_gone(f, s);
        if (s->tlshm == NULL)
            fresh += attach(f, s, force);
    }
    forget_absent(f);
    return fresh;
}

/* ---------------------------------------------------------------------------------------------------------- a pass */

static void tell(const struct fleet *f, const struct segment *s)
{
    const tlshm_reap_report *r = &s->report;
    char lag[EMIT_FIGURE];
    if (r->seats_freed > 0)
        journal_say(f->journal, JOURNAL_SEATS, s->name, r, "freed %" PRIu64 " %s of dead threads", r->seats_freed,
                    r->seats_freed == 1 ? "seat" : "seats");
    if (r->lag_max_ns > f->lag_limit_ns)
        journal_say(f->journal, JOURNAL_LAG, s->name, r, "expired a hold that had been overdue for %s",
                    emit_human_duration(r->lag_max_ns, lag));
    if (f->journal->verbose)
        journal_say(f->journal, JOURNAL_PASS, s->name, r,
                    "expired %" PRIu64 ", finished %" PRIu64 ", %" PRIu64 " holds are live", r->expired, r->finished,
                    r->live);
}

static void passed(struct fleet *f, struct segment *s)
{
    if (s->trouble != 0)
        journal_say(f->journal, JOURNAL_RECOVERED, s->name, NULL, "recovered");
    s->trouble = 0;
    f->expired += s->report.expired;
    f->seats_freed += s->report.seats_freed;
    tell(f, s);
}

uint64_t fleet_pass(struct fleet *f)
{
    uint64_t next = TLSHM_NEVER;
    for (size_t i = 0; i < f->count; i++) {
        struct segment *s = f->segments[i];
        int rc = s->tlshm != NULL ? tlshm_reap(s->tlshm, &s->report) : 0;
        if (rc == -TLSHM_ECORRUPT || rc == -TLSHM_ETRUNCATED)
            refuse(f, s, rc, tlshm_error_text(rc));
        else if (rc != 0) /* such as no seat free: may be over at the next pass */
            trouble(f, s, rc, tlshm_error_text(rc));
        else if (s->tlshm != NULL)
            passed(f, s);
        /* A virtual clock stands still: its deadlines say nothing about our sleep. */
        if (rc == 0 && s->tlshm != NULL && !s->virtual_clock && s->report.next_due_ns < next)
            next = s->report.next_due_ns;
    }
    return next;
}

/* --------------------------------------------------------------------------------------------------------- figures */

size_t fleet_attached(const struct fleet *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        n += f->segments[i]->tlshm != NULL;
    return n;
}

uint64_t fleet_live(const struct fleet *f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        n += f->segments[i]->tlshm != NULL ? f->segments[i]->report.live : 0;
    return n;
}

size_t fleet_troubled(const struct fleet *f)
{
    size_t n = f->directory_trouble;
    for (size_t i = 0; i < f->count; i++)
        n += f->segments[i]->trouble != 0 || f->segments[i]->tlshm == NULL;
    return n;
}
