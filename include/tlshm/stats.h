/* SPDX-License-Identifier: MIT */
/*
 * tlshm/stats.h - looking at a segment: everything here works on a read-only attachment, beside running workers, and
 * writes nothing.
 */
#ifndef TLSHM_STATS_H
#define TLSHM_STATS_H

#include <tlshm.h>
#include <tlshm/admin.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Sums of the seats' counters; each only grows. */
typedef struct tlshm_counters {
    uint64_t admitted;
    uint64_t refused[TLSHM_REASONS]; /* by reason */
    uint64_t replayed; /* reserves that were answered from their idempotency key; repeated settles are not counted */
    uint64_t settled;
    uint64_t late;
    uint64_t refunded;
    uint64_t expired;
    uint64_t extended;
    uint64_t retries;     /* commits that lost a race and were made again */
    uint64_t early_reuse; /* expired records reused before their retention was over: the table is too small */
    uint64_t recycled;    /* idle scopes whose place was given to another key */
} tlshm_counters;

typedef struct tlshm_segment_info {
    char path[256];
    uint64_t bytes;
    tlshm_geometry geometry;
    uint64_t fingerprint;    /* of the layout */
    uint32_t version;        /* of the layout */
    uint64_t age_ns;         /* since it was created, on the segment's clock */
    int64_t created_wall_ns; /* wall clock at creation, since 1970 */
    uint32_t creator_pid;
    int destroyed; /* the file was unlinked by tlshm_destroy() */
    int unlinked;  /* the path now leads elsewhere or nowhere: a new attach would not find this segment */
    int paused, shutoff;
    enum tlshm_overrun overrun;
    uint32_t scopes_live;
    uint32_t reservations_held; /* overdue ones that nobody has expired yet included */
    uint32_t reservations_ended, seats_taken, tiers, limit_lists_used;
    uint64_t reaper_age_ns; /* since a reaper's last pass; TLSHM_NEVER: none yet */
    uint32_t reaper_pid;
    uint64_t reaper_passes, reaper_lag_max_ns;
    tlshm_counters counters;
} tlshm_segment_info;

int tlshm_get_segment(tlshm_t *t, tlshm_segment_info *out);

/* Iterates over scopes: *cursor starts at 0. Returns 1 and a handle, 0 at the end, or an error. */
int tlshm_scope_next(tlshm_t *t, uint64_t *cursor, tlshm_handle *out);

/* The same as tlshm_usage() by handle. */
int tlshm_usage_handle(tlshm_t *t, tlshm_handle scope, tlshm_scope_usage *out);

/* Iterates over reservations that are HELD or still readable. *cursor starts at 0. Returns 1, 0 at the end. */
int tlshm_reservation_next(tlshm_t *t, uint64_t *cursor, tlshm_reservation_info *out);

enum tlshm_seat_state { TLSHM_SEAT_FREE = 0, TLSHM_SEAT_TAKEN = 1, TLSHM_SEAT_DEAD = 2 };
typedef struct tlshm_seat_info {
    uint32_t seat;
    enum tlshm_seat_state state; /* DEAD: the owner's process is gone as far as /proc tells; a hint */
    uint32_t pid, tid;           /* as the owner saw them */
    uint64_t age_ns;             /* since it was taken */
    int in_call;                 /* an operation is published and not yet closed */
    uint64_t operations;         /* committed through this seat, by all its owners */
} tlshm_seat_info;
int tlshm_seat_next(tlshm_t *t, uint64_t *cursor, tlshm_seat_info *out);

/*
 * Recomputes the segment's invariants beside running workers. `found` is called with one sentence for each thing that
 * does not add up, and may be NULL. Returns the number of faults, 0 for a sound segment, or an error.
 */
typedef struct tlshm_verify_report {
    uint64_t scopes;       /* scopes whose holds were recomputed and compared */
    uint64_t busy;         /* scopes that changed at every try: nothing can be said of them */
    uint64_t reservations; /* HELD ones counted */
    uint64_t sheets;       /* nodes whose single owner was established; 0 when operations were under way */
    uint64_t faults;
} tlshm_verify_report;
typedef void (*tlshm_verify_found)(void *context, const char *text);
int tlshm_verify(tlshm_t *t, tlshm_verify_found found, void *context, tlshm_verify_report *report);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
