/* SPDX-License-Identifier: MIT */
/* ceiling.c - computing ceilings. See ceiling.h. */
#include "ceiling.h"

/* cap + B of one limit, where B may be below 0 (use carried into a window that began later). */
static uint64_t ceiling_of(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                           uint64_t cap, uint64_t now)
{
    uint64_t total = tl_view_used(view, tl_shape_unit(tl_view_shape(view, i)));
    uint64_t inside = tl_history_used(map, cell, view, i, now);
    if (total >= inside)
        return cap > TL_FOREVER - (total - inside) ? TL_FOREVER : cap + (total - inside);
    return cap - tl_min(cap, inside - total);
}

static void note_request(struct tl_ceiling *c, uint64_t shape, uint64_t cap)
{
    uint64_t *least = tl_shape_is_time(shape) ? &c->time : &c->request[tl_shape_unit(shape)];
    *least = tl_min(*least, cap);
    c->requests = true;
}

static void compute(struct tl_ceiling *c, const struct tl_map *map, uint32_t cell, const struct tl_view *view,
                    const struct tl_limits *limits, uint64_t now)
{
    for (unsigned unit = 0; unit < TLSHM_UNITS; unit++)
        c->most.of[unit] = c->cap[unit] = c->request[unit] = TL_FOREVER;
    c->time = TL_FOREVER;
    c->requests = false;
    for (unsigned i = 0; i < limits->count; i++) {
        unsigned unit = tl_shape_unit(limits->shape[i]);
        if (limits->cap[i] == TLSHM_UNLIMITED)
            continue;
        if (TL_UNLIKELY(tl_shape_is_request(limits->shape[i]))) {
            note_request(c, limits->shape[i], limits->cap[i]);
            continue;
        }
        c->most.of[unit] = tl_min(c->most.of[unit], ceiling_of(map, cell, view, i, limits->cap[i], now));
        c->cap[unit] = tl_min(c->cap[unit], limits->cap[i]);
    }
    for (unsigned unit = 0; unit < TLSHM_UNITS; unit++)
        c->most.of[unit] = tl_min(c->most.of[unit], TL_CEILING_MOST);
}

TL_COLD void tl_ceiling_note(struct tl_ceiling *all, const struct tl_map *map, uint32_t cell,
                             const struct tl_view *view, const struct tl_limits_memo *memo, uint64_t now)
{
    struct tl_ceiling *c = &all[cell % TL_CEILINGS];
    bool met = c->of == cell + 1;
    if (tl_ceiling_is_of(c, cell, view->stamp) && now < view->edge && tl_ceiling_in_force(c))
        return;
    c->notes++;
    c->of = cell + 1;
    c->words = 0;
    if (!met || !memo->known || memo->limits.flags || !tl_view_has_stamp(view) || now >= view->edge)
        return;
    compute(c, map, cell, view, &memo->limits, now);
    tl_fence_acquire();
    if (tl_load(&map->cells[cell].head) != view->head)
        return; /* what was computed may be of a sheet that was used again */
    c->stamp = view->stamp;
    c->word[0] = c->word[1] = &map->cells[cell].policy;
    c->seen[0] = c->seen[1] = memo->policy;
    for (unsigned i = 0; i < memo->words; i++) {
        c->word[i + 1] = memo->word[i];
        c->seen[i + 1] = memo->seen[i];
    }
    c->words = (uint16_t)(memo->words + 1);
}
