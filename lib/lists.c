/* SPDX-License-Identifier: MIT */
/* lists.c - from limits to shapes and caps. See lists.h. */
#include "lists.h"

#include "zones.h"

int tl_lists_shape(struct tl_hand *hand, const tlshm_limit *limit, uint64_t *shape)
{
    unsigned zone = 0;
    int rc = 0;
    if (limit->window.kind == TLSHM_WINDOW_CALENDAR) {
        if (!memchr(limit->window.zone, 0, sizeof limit->window.zone))
            return -TLSHM_EZONE;
        rc = tl_zones_get(hand, limit->window.zone, &zone);
    }
    return rc < 0 ? rc : tl_shape_pack(limit, zone, hand->map->slices, shape);
}

int tl_lists_find(const struct tl_list *list, uint64_t shape)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->shape[i] == shape)
            return (int)i;
    return -1;
}

int tl_lists_pack(struct tl_hand *hand, const tlshm_limit *limits, unsigned count, struct tl_list *out)
{
    out->count = 0;
    if (count > hand->map->limits)
        return -TLSHM_ENOROOM;
    for (unsigned i = 0; i < count; i++) {
        uint64_t shape;
        int rc = tl_lists_shape(hand, &limits[i], &shape);
        if (rc < 0)
            return rc;
        if (tl_lists_find(out, shape) >= 0)
            return -TLSHM_EINVAL; /* the same limit twice */
        out->shape[out->count] = shape;
        out->cap[out->count++] = limits[i].cap;
    }
    return 0;
}
