/* SPDX-License-Identifier: MIT */
/* lists.h - lists of limits as callers write them, turned into shapes and caps. */
#ifndef TL_LISTS_H
#define TL_LISTS_H

#include "limits.h"

/* A list of limits as shapes and caps, in private memory. */
struct tl_list {
    unsigned count;
    uint64_t shape[TLSHM_LIMITS_MAX];
    uint64_t cap[TLSHM_LIMITS_MAX];
};

/*
 * The shape of a limit; its time zone is read from the system's files if the segment doesn't have it. 0, -TLSHM_EZONE,
 * -TLSHM_EINVAL and what else tl_zones_get() and tl_shape_pack() say.
 */
int tl_lists_shape(struct tl_hand *hand, const tlshm_limit *limit, uint64_t *shape);

/* The same for a whole list. -TLSHM_ENOROOM: more limits than a scope has; -TLSHM_EINVAL: the same limit twice. */
int tl_lists_pack(struct tl_hand *hand, const tlshm_limit *limits, unsigned count, struct tl_list *out);

/* The place of a shape in a list, or -1. */
int tl_lists_find(const struct tl_list *list, uint64_t shape);

#endif
