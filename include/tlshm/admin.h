/* SPDX-License-Identifier: MIT */
/*
 * tlshm/admin.h - making segments, and everything that may be changed while workers run: limits, tiers, defaults,
 * pause, shutoff, overrun policy; and the pass that a reaper makes.
 *
 * Each change is one atomic step: a call sees the old or the new state, never a mixture. It takes effect at the next
 * reserve and keeps what was used. Killing the process that makes a change, at any instruction, leaves either state.
 *
 * What changes a segment takes a seat as the daily calls do: beside what is said below, -EREADONLY, -ENOSEAT, -ENOMEM,
 * -EREENTRANT and -ECORRUPT may be returned.
 *
 * A limit is known by its unit and its window; slices, zone, anchor and all flags are part of the window. In a changed
 * list a limit of the same unit and window goes on with its count, wherever it stands. A new limit takes over the use
 * of the limit of the same unit that stood at the same place of the list; without one it starts with nothing.
 */
#ifndef TLSHM_ADMIN_H
#define TLSHM_ADMIN_H

#include <tlshm.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* How large each table of a segment is; fixed when it is created. Zero means the default in brackets. */
typedef struct tlshm_geometry {
    uint32_t scopes;           /* [4096] keys that can be known at once, 1 .. 4,000,000 */
    uint32_t reservations;     /* [16384] live holds and readable ended ones, 64 .. 4,000,000; rounded up to 64 */
    uint32_t limits_per_scope; /* [8] 1 .. TLSHM_LIMITS_MAX */
    uint32_t slices;           /* [60] most buckets of a rolling window, 1 .. 64 */
    uint32_t seats;            /* [256] threads that may use the segment at once, 1 .. 4000 */
    uint32_t tiers;            /* [64] 1 .. 4096 */
    uint32_t limit_lists;      /* [1024] tiers with limits and scopes with limits of their own, 1 .. 1,000,000 */
    uint64_t retention_ns;     /* [1 h] for how long a late settle of an expired hold is kept possible */
    uint32_t mode;             /* [0660] permission bits of the file */
    uint32_t group;            /* gid of the file; 0: the creator's own */
    int virtual_clock;         /* 1: time stands still until tlshm_clock_set(): tests, simulations */
    uint32_t models;           /* [256] models whose outputs are learned (tlshm/model.h), 1 .. 100,000 */
} tlshm_geometry;

#define TLSHM_GEOMETRY_INIT                                                                                            \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                                             \
    }

/*
 * Creates a segment: all space really allocated, published under its name in one step (nobody can attach to a
 * half-made one), never over an existing file. `geometry` may be NULL for defaults. `err` may be NULL.
 * Returns 0, -EEXIST -EINVAL -ENOSPC -EACCES -ESYS, -ECLOCK: the process has left for a time namespace that it is not in.
 */
int tlshm_create(const char *name, const tlshm_geometry *geometry, struct tlshm_error *err);

/* Bytes that a segment of this geometry takes, 0 if the geometry is out of range. */
uint64_t tlshm_geometry_bytes(const tlshm_geometry *geometry);

/*
 * Unlinks the file and marks the segment destroyed: attached processes keep a working mapping of their own, and can
 * find out with tlshm_get_segment(). Refuses a file that is no segment (-EFOREIGN). Returns 0, -ENOENT -EACCES ...
 */
int tlshm_destroy(const char *name, struct tlshm_error *err);

/* The path that a name stands for, into `buf`. Returns 0 or -EINVAL. */
int tlshm_path(const char *name, char *buf, size_t size);

/* ------------------------------------------------------------------------------------------- levels, tiers, limits */

/*
 * Levels are the parts of keys before the colon. Every segment has global, org, tenant, project, user, agent; more can
 * be added (at most 16). `rank`: how many scopes of other levels share one of this level - 0 is the most shared
 * (global) - used only to order work. Returns 0, -EINVAL, -EEXIST, -ENOROOM.
 */
int tlshm_level_add(tlshm_t *t, const char *level, unsigned rank);

/* Defines a tier, or replaces its limits (all at once). count 0: a tier without limits, everything is admitted. */
int tlshm_tier_set(tlshm_t *t, const char *tier, const tlshm_limit *limits, unsigned count);

/* Removes a tier. Scopes that had it follow their level's default. -ENOENT. */
int tlshm_tier_unset(tlshm_t *t, const char *tier);

/* Reads a tier's limits; `limits` has room for TLSHM_LIMITS_MAX. -ENOENT. Works read-only. */
int tlshm_tier_get(tlshm_t *t, const char *tier, tlshm_limit *limits, unsigned *count);

/* Iterates over tiers: *cursor starts at 0. Returns 1 and the name, 0 at the end. Works read-only. */
int tlshm_tier_next(tlshm_t *t, unsigned *cursor, char name[TLSHM_NAME_MAX + 1]);

/* The tier that a level's scopes have unless told otherwise; NULL for none (unlimited, still counted). */
int tlshm_default_set(tlshm_t *t, const char *level, const char *tier);

/* Iterates over levels: *cursor starts at 0. `tier` is "" for none. Returns 1, 0 at the end. Works read-only. */
int tlshm_level_next(tlshm_t *t, unsigned *cursor, char name[TLSHM_NAME_MAX + 1], unsigned *rank,
                     char tier[TLSHM_NAME_MAX + 1]);

/* Gives one scope a tier; NULL: back to the default. Own limits of the scope are dropped. Creates the scope. */
int tlshm_scope_tier_set(tlshm_t *t, const char *key, size_t len, const char *tier);

/* Replaces all limits of one scope by a list of its own (count 0: explicitly unlimited). Creates the scope. */
int tlshm_scope_limits_set(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limits, unsigned count);

/*
 * Sets one limit of a scope: replaces the cap of the limit with the same unit and window (`strict` included), or adds
 * one. A scope that followed a tier starts from a copy of the tier's limits. -ENOROOM when there is no room for one more.
 */
int tlshm_limit_set(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limit);

/* Removes one limit of a scope (by unit and window), as set does. -ENOENT. */
int tlshm_limit_unset(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limit);

/* The same two for a tier; set creates the tier. */
int tlshm_tier_limit_set(tlshm_t *t, const char *tier, const tlshm_limit *limit);
int tlshm_tier_limit_unset(tlshm_t *t, const char *tier, const tlshm_limit *limit);

/*
 * Limits as people write them: "tokens 1M per 1h", "cost $50 per month", "requests 60 per 1m/12" (12 slices),
 * "cost $3 per day in Europe/Berlin", "tokens 20M per month from 15", "concurrency 5", "tokens 5M lifetime",
 * "tool_calls unlimited per 1h", "tokens 100k per 1m strict", "cost $10k per 1d then shutoff" (or "then pause"). Returns 0, or -EINVAL/-ERANGE with the position in `err`.
 */
int tlshm_limit_parse(const char *text, tlshm_limit *out, struct tlshm_error *err);

/* The inverse; a text that parses to the same limit. Returns the length of the whole text. */
int tlshm_limit_format(const tlshm_limit *limit, char *buf, size_t size);

/* An amount as people write it, for a unit: "10k", "1.5M", "$0.50" (cost; also plain nano-dollars with "n"). */
int tlshm_amount_parse(const char *text, enum tlshm_unit unit, uint64_t *out, struct tlshm_error *err);
int tlshm_amount_format(uint64_t amount, enum tlshm_unit unit, char *buf, size_t size);

/* "300", "300s", "5m", "1h", "1d", "250ms". */
int tlshm_duration_parse(const char *text, uint64_t *ns, struct tlshm_error *err);
int tlshm_duration_format(uint64_t ns, char *buf, size_t size);

/* ---------------------------------------------------------------------------------------------------- pause, policy */

/*
 * Pause and shutoff refuse new reserves and extends of amounts; settle, refund and adding time always work. A latch
 * (TLSHM_LIMIT_PAUSES) sets the same switches; one that is still reached does so again with the next call.
 */
int tlshm_pause(tlshm_t *t, int on);
int tlshm_shutoff(tlshm_t *t, int on);
int tlshm_scope_pause(tlshm_t *t, const char *key, size_t len, int on);
int tlshm_scope_shutoff(tlshm_t *t, const char *key, size_t len, int on);

enum tlshm_overrun { TLSHM_CHARGE_ACTUAL = 0, TLSHM_CAP_AT_ESTIMATE = 1 };

/* What a settle charges, for the whole segment; from the next settle on. */
int tlshm_overrun_set(tlshm_t *t, enum tlshm_overrun policy);

/*
 * The caller's own rule, for settles made through this attachment; NULL: back to the segment's. Must be a pure
 * function (a settle that loses a race calls it again), must not call back into the library. The charge of one unit.
 */
typedef uint64_t (*tlshm_overrun_function)(void *context, enum tlshm_unit unit, uint64_t estimate, uint64_t actual);
int tlshm_overrun_function_set(tlshm_t *t, tlshm_overrun_function function, void *context);

/* ---------------------------------------------------------------------------------------------------- reaper, clock */

typedef struct tlshm_reap_report {
    uint64_t expired;     /* holds expired by this pass */
    uint64_t lag_max_ns;  /* the most overdue of them */
    uint64_t seats_freed; /* seats of dead threads */
    uint64_t finished;    /* operations of dead or stopped threads carried to their end */
    uint64_t live;        /* holds that are left */
    uint64_t next_due_ns; /* until the earliest deadline left; TLSHM_NEVER when none */
} tlshm_reap_report;

/*
 * One pass: expires overdue holds, finishes what dead or stopped threads left, frees seats of the dead (on the kernel's
 * word only), recycles what can be, marks the heartbeat. Any process may do it at any time, several at once, and be
 * killed inside. `report` may be NULL.
 */
int tlshm_reap(tlshm_t *t, tlshm_reap_report *report);

/* Reads the segment's clock: boot time and wall time, ns. Works read-only. */
int tlshm_clock_get(tlshm_t *t, uint64_t *boot_ns, uint64_t *wall_ns);

/* Moves the virtual clock of a segment that has one (-EINVAL otherwise). Any direction. */
int tlshm_clock_set(tlshm_t *t, uint64_t boot_ns, uint64_t wall_ns);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
