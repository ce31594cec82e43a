/* SPDX-License-Identifier: MIT */
/*
 * confmodel.h - a configuration in memory: what a file or a segment says, sorted by name.
 *
 * INVARIANTS  once tl_confmodel_sort() was called
 *   I1  No two tiers, levels, scopes or prices have the same name; each table is sorted by it (bytes, not locale).
 *   I2  Everything that is pointed to lies in the arena.
 */
#ifndef TL_CONFMODEL_H
#define TL_CONFMODEL_H

#include <tlshm/config.h>

#include "arena.h"
#include "confrule.h"

enum { TL_SECTIONS = 9 };

struct tl_table {
    char *rows; /* all zero: empty */
    size_t count, room, size;
};

struct tlshm_config {
    struct tl_arena arena;
    tlshm_config_settings settings;
    struct tl_table tiers, levels, scopes, prices;
    unsigned section_line[TL_SECTIONS]; /* by the bit's number; 0: not from a file */
};

/* An empty one without sections; NULL without memory. */
tlshm_config *tl_confmodel_new(void);

/* One row more, zeroed, valid until the next one; NULL without memory. */
tlshm_config_tier *tl_confmodel_add_tier(tlshm_config *c);
tlshm_config_level *tl_confmodel_add_level(tlshm_config *c);
tlshm_config_scope *tl_confmodel_add_scope(tlshm_config *c);
tlshm_config_price *tl_confmodel_add_price(tlshm_config *c);

/* Copies limits into the arena. False without memory. */
bool tl_confmodel_limits(tlshm_config *c, tlshm_config_limits *out, const tlshm_limit *limits, unsigned count);

/* Of rows with the same name one stays. */
void tl_confmodel_sort(tlshm_config *c);

/* Drops what names a tier that is not there: default tiers, and scopes. */
void tl_confmodel_prune(tlshm_config *c);

/* By name, in a sorted table; NULL if there is none. */
const tlshm_config_tier *tl_confmodel_tier(const tlshm_config *c, const char *name);
const tlshm_config_level *tl_confmodel_level(const tlshm_config *c, const char *name);
const tlshm_config_scope *tl_confmodel_scope(const tlshm_config *c, const char *key);

/*
 * The scope whose latches stop everything. Its latches stand in the sections pause_at and shutoff_at, without their flags,
 * and not among its limits.
 */
#define TL_CONFMODEL_GLOBAL "global:"
#define TL_LIMIT_LATCHES (TLSHM_LIMIT_PAUSES | TLSHM_LIMIT_SHUTS_OFF)

#endif
