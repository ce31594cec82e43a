/* SPDX-License-Identifier: MIT */
/*
 * confdiff.h - what of a configuration is not so in a segment.
 *
 * Two configurations are compared, the second as the segment would show it once it has it: its windows with the segment's
 * slices and in whole microseconds. Only what the second has a section for counts, and only what a segment holds.
 */
#ifndef TL_CONFDIFF_H
#define TL_CONFDIFF_H

#include "confmodel.h"

/* What a tier, a level or a scope is told. */
struct tl_told {
    bool there;
    const char *tier;                  /* LEVEL, SCOPE: or NULL */
    const tlshm_config_limits *limits; /* TIER, SCOPE without a tier */
    unsigned rank;                     /* LEVEL */
};

struct tl_change {
    enum tlshm_config_part part;
    const char *name;
    unsigned line;
    bool fixed;
    uint64_t now_value, value; /* GEOMETRY, OVERRUN */
    struct tl_told now, want;
};

struct tl_changes {
    struct tl_change *list; /* all zero: none. In an order in which they can be made */
    size_t count, room;
};

/*
 * The changes that lead from `now`, which was read from a segment, to `want`. Both must outlive them. Limits are kept in
 * the arena as the segment will have them. 0, -TLSHM_ENOMEM; -TLSHM_ERANGE: a limit of `want` does not go with the
 * segment's slices, told in `err`.
 */
int tl_confdiff(const tlshm_config *now, const tlshm_config *want, struct tl_arena *arena, struct tl_changes *out,
                struct tlshm_error *err);

/* Tells a change as the public header says. */
void tl_confdiff_tell(const struct tl_change *change, tlshm_config_changed changed, void *context);

void tl_confdiff_free(struct tl_changes *changes);

#endif
