/* SPDX-License-Identifier: MIT */
/*
 * tlshm/config.h - one file for people that says what a segment is to have: geometry, tiers, levels and their default
 * tiers, overrides of single scopes, prices, estimates, caps. tlshm.conf(5) describes it.
 *
 * What to know first:
 *   - A configuration is read whole or not at all, and does not change afterwards. All faults of a file are told, each
 *     with line and column, not only the first.
 *   - A section that the file has is the whole truth about what it speaks of; a section that it does not have leaves the
 *     segment as it is.
 *   - Applying never touches what is used or held. It takes effect at the next reserve.
 *
 * The functions are safe from any thread; one configuration may be read by several threads at once. They allocate memory,
 * read files, and are for administrators, not for the way of a call: never call them from a signal handler. None of them
 * waits for another process. After fork, parent and child each have their own copy.
 */
#ifndef TLSHM_CONFIG_H
#define TLSHM_CONFIG_H

#include <tlshm/admin.h>
#include <tlshm/model.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TLSHM_CONFIG_BYTES_MAX (UINT64_C(1) << 26) /* of a file */
#define TLSHM_CONFIG_FAULTS_MAX 1000               /* more than these are not told */

typedef struct tlshm_config tlshm_config;

/* --------------------------------------------------------------------------------------------------------- reading */

/* Called for each fault, in the order of the file. `line` and `column` count from 1, columns in characters. */
typedef void (*tlshm_config_fault)(void *context, unsigned line, unsigned column, const char *text);

/*
 * Reads a file. `fault` may be NULL: then only the first fault is told, in `err`, which may be NULL as well. Time zones
 * and a group's name are looked up on this machine. Free it with tlshm_config_free().
 * Returns 0, -EINVAL (the file has faults: they were told), -ERANGE (it is too large), -ENOENT -EACCES -ESYS -ENOMEM.
 */
int tlshm_config_load(tlshm_config **out, const char *path, tlshm_config_fault fault, void *context,
                      struct tlshm_error *err);

/* The same for text in memory, any bytes. */
int tlshm_config_parse(tlshm_config **out, const char *text, size_t size, tlshm_config_fault fault, void *context,
                       struct tlshm_error *err);

/*
 * What is in force in a segment: the geometry, tiers, levels, and every scope that has a tier or limits of its own. Works
 * read-only. A file that is applied meanwhile is in it whole or not at all. Apart from that each tier and each scope is read
 * at one instant, but not all at the same; what a concurrent change of one does may be in it or not. Returns 0, -EINVAL
 * -ENOMEM -ECORRUPT, -ECONTENDED (files were applied all the time).
 */
int tlshm_config_read(tlshm_config **out, tlshm_t *t);

/* NULL is allowed. */
void tlshm_config_free(tlshm_config *config);

/* --------------------------------------------------------------------------------------------------------- looking */

/* Sections, as bits: which of them a configuration has. */
#define TLSHM_CONFIG_GEOMETRY (1u << 0)
#define TLSHM_CONFIG_OVERRUN (1u << 1)
#define TLSHM_CONFIG_TIERS (1u << 2)
#define TLSHM_CONFIG_LEVELS (1u << 3)
#define TLSHM_CONFIG_SCOPES (1u << 4)
#define TLSHM_CONFIG_PAUSE_AT (1u << 5)
#define TLSHM_CONFIG_SHUTOFF_AT (1u << 6)
#define TLSHM_CONFIG_PRICES (1u << 7)
#define TLSHM_CONFIG_ESTIMATES (1u << 8)

typedef struct tlshm_config_limits {
    const tlshm_limit *limit;
    unsigned count;
} tlshm_config_limits;

typedef struct tlshm_config_tier {
    const char *name;
    tlshm_config_limits limits;
    unsigned line; /* in the file; 0 when it was read from a segment */
} tlshm_config_tier;

typedef struct tlshm_config_level {
    const char *name;
    const char *tier; /* the default tier, or NULL for none */
    unsigned rank;
    unsigned line;
} tlshm_config_level;

typedef struct tlshm_config_scope {
    const char *key;
    const char *tier;           /* NULL: limits of its own */
    tlshm_config_limits limits; /* empty when it has a tier */
    unsigned line;
} tlshm_config_scope;

/* What a model's tokens cost, in pico-dollars for one token; TLSHM_UNLIMITED where it is not said. */
enum tlshm_config_rate {
    TLSHM_CONFIG_INPUT = 0,
    TLSHM_CONFIG_OUTPUT = 1,
    TLSHM_CONFIG_CACHE_READ = 2,
    TLSHM_CONFIG_CACHE_WRITE = 3,
    TLSHM_CONFIG_CACHE_WRITE_1H = 4,
    TLSHM_CONFIG_REASONING = 5,
    TLSHM_CONFIG_RATES = 6
};
typedef struct tlshm_config_price {
    const char *model; /* "" for the price of models that nothing else is known of */
    uint64_t pusd[TLSHM_CONFIG_RATES];
    unsigned line;
} tlshm_config_price;

/* How much to hold for a call whose output is not known yet: for tlshm_model_reserve(). 0 where it is not said. */
typedef tlshm_bounds tlshm_config_estimates;

typedef struct tlshm_config_settings {
    unsigned sections;       /* TLSHM_CONFIG_... */
    tlshm_geometry geometry; /* 0 where it is not said */
    enum tlshm_overrun overrun;
    int keep_unlisted;              /* scopes that the file does not list keep the limits that they have */
    tlshm_config_limits pause_at;   /* what calls that name global: may use until everything pauses */
    tlshm_config_limits shutoff_at; /* the same until everything is shut off. Without the flags of latches */
    const char *prices_path;        /* NULL for none */
    tlshm_config_estimates estimates;
} tlshm_config_settings;

/* What is pointed to lives as long as the configuration. */
const tlshm_config_settings *tlshm_config_get_settings(const tlshm_config *config);

/* The index-th one, in the order of names; NULL beyond the last. */
const tlshm_config_tier *tlshm_config_get_tier(const tlshm_config *config, size_t index);
const tlshm_config_level *tlshm_config_get_level(const tlshm_config *config, size_t index);
const tlshm_config_scope *tlshm_config_get_scope(const tlshm_config *config, size_t index);
const tlshm_config_price *tlshm_config_get_price(const tlshm_config *config, size_t index);

/* Takes a piece of a text. Anything but 0 ends the writing. */
typedef int (*tlshm_config_put)(void *context, const char *text, size_t size);

/* Writes a configuration as a file that reads back to the same. Returns 0, -EINVAL, or what `put` returned. */
int tlshm_config_write(const tlshm_config *config, tlshm_config_put put, void *context);

/*
 * The prices of a configuration: its table, overrides and default, as they are read now. Close it with
 * tlshm_prices_close(); the configuration is not needed for it. tlshm_pricing_open_config() follows changes as well.
 * Returns 0, -EINVAL (a bad argument, or there is no section `prices`), -ERANGE (too many prices of one's own), or as
 * tlshm_prices_open() does. `err` may be NULL.
 */
int tlshm_config_prices(tlshm_prices **out, const tlshm_config *config, struct tlshm_error *err);

/* -------------------------------------------------------------------------------------------------------- applying */

enum tlshm_config_part {
    TLSHM_CONFIG_PART_GEOMETRY = 0,
    TLSHM_CONFIG_PART_OVERRUN = 1,
    TLSHM_CONFIG_PART_TIER = 2,
    TLSHM_CONFIG_PART_LEVEL = 3,
    TLSHM_CONFIG_PART_SCOPE = 4
};

/* One thing that is not in the segment as it is in the file. */
typedef struct tlshm_config_change {
    enum tlshm_config_part part;
    const char *name;   /* of the tier, level, scope or size; "" for the overrun policy */
    unsigned line;      /* in the file; 0: it is not there */
    int fixed;          /* settled when the segment was created: applying does not change it */
    const char *before; /* as the file would say it, lines separated by \n; NULL: the segment does not have it */
    const char *after;  /* the same for the file */
} tlshm_config_change;

/* The change and its texts are valid during the call. */
typedef void (*tlshm_config_changed)(void *context, const tlshm_config_change *change);

/*
 * What applying would change. `changed` may be NULL. `err` may be NULL. Works read-only.
 * Returns the number of differences, fixed ones included, or -EINVAL -ENOMEM -ECORRUPT.
 */
int tlshm_config_diff(tlshm_t *t, const tlshm_config *config, tlshm_config_changed changed, void *context,
                      struct tlshm_error *err);

/*
 * Makes the changes, and calls `changed` (may be NULL) for each that was made, and for each fixed difference. First all
 * that can be checked is checked: that the segment has room for the tiers, levels, lists and time zones, and its slices
 * are enough. If something does not fit, nothing is changed and `err` says what. All changes take effect at one instant:
 * each reserve goes by what was in force before for all of its scopes, or by what is in force afterwards. A process that
 * dies in the middle has changed nothing or all. On the way old limit lists and new ones are both there: the segment needs
 * so many free ones as the file changes. Held and used amounts stay. Calls that change limits one by one go on beside it.
 *   tiers    are defined or replaced; those that are not in the file are removed last
 *   levels   new ones are added; a level that the file gives no default has none
 *   scopes   that the file lists get its tier or limits; those with a tier or limits of their own that it does not list,
 *            whoever set them, go back to the level's default, or stay if the file says `unlisted_scopes: keep`
 *   pause_at, shutoff_at  become latches among the limits of the scope global:, which has a list of its own then
 *   prices   are in no segment: if the file has the section, everybody who follows prices is told to read them again
 *            (tlshm/pricing.h), also if nothing else was changed
 * Returns how many changes were made, -ENOROOM -ERANGE (it does not fit), -EINVAL, -ECONTENDED (others change limits all
 * the time, or are in the middle of applying a file: nothing was changed), or as tlshm_tier_set() and its kin do.
 */
int tlshm_config_apply(tlshm_t *t, const tlshm_config *config, tlshm_config_changed changed, void *context,
                       struct tlshm_error *err);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
