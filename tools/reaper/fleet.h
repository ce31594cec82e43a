/* SPDX-License-Identifier: MIT */
/*
 * fleet.h - the segments that the reaper looks after: which there are, which came and went, one pass over all.
 *
 * STATES of a segment
 *   absent    asked for by name, and no such file: looked for at each scan
 *   attached  passes are made
 *   refused   its file cannot be used (corrupt, foreign, no permission): reported once, left alone until the file
 *             at its path is another one, or until a forced scan
 */
#ifndef TLSHM_REAPER_FLEET_H
#define TLSHM_REAPER_FLEET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <tlshm.h>
#include <tlshm/admin.h>

#include "journal.h"

struct segment {
    char *name; /* as people know it */
    char path[PATH_MAX];
    bool named; /* asked for by name, so kept while absent */
    bool virtual_clock;
    tlshm_t *tlshm; /* NULL unless attached */
    int trouble;    /* the last error, already reported; 0: none */
    bool told_absent;
    struct stat refused;      /* the file that was refused; st_ino 0: none */
    tlshm_reap_report report; /* of the last pass */
};

struct fleet {
    const struct journal *journal;
    const char *directory; /* all segments in here; NULL: only those asked for by name */
    bool directory_trouble;
    uint64_t lag_limit_ns;
    struct segment **segments;
    size_t count, room;
    uint64_t expired, seats_freed; /* since the start */
};

/* Adds a segment by name. Returns 0, or -TLSHM_EINVAL for a name that stands for no path, or -TLSHM_ENOMEM. */
int fleet_add(struct fleet *f, const char *name);

/*
 * Looks which segments came and went. `force`: those that were refused are tried again. Returns how many were newly
 * attached.
 */
size_t fleet_scan(struct fleet *f, bool force);

/* One pass over each attached segment. Returns the time until the earliest deadline on a real clock, TLSHM_NEVER. */
uint64_t fleet_pass(struct fleet *f);

size_t fleet_attached(const struct fleet *f);
uint64_t fleet_live(const struct fleet *f);

/* Segments that were asked for, by name or by lying in the directory, and could not be used. */
size_t fleet_troubled(const struct fleet *f);

void fleet_free(struct fleet *f);

#endif
