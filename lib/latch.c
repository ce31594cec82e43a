/* SPDX-License-Identifier: MIT */
/* latch.c - setting switches by limits that are reached. See latch.h. */
#include "latch.h"

#include "directory.h"
#include "views.h"

#define TRIES 64 /* whoever changes a scope so often meanwhile looks at its latches, too */

static bool is_global(struct tl_hand *hand, uint64_t handle)
{
    static const char name[] = "global:";
    char key[TLSHM_KEY_MAX + 1];
    return tl_directory_key(hand, handle, key) == sizeof name - 1 && memcmp(key, name, sizeof name - 1) == 0;
}

/*
 * Sets the switch of a latch of this shape, reached while the segment's flags were `flags` and the policy word of the scope
 * was `policy`. Nothing if either has changed since.
 */
static void set_switch(struct tl_hand *hand, uint64_t handle, uint64_t shape, uint64_t flags, uint64_t policy)
{
    const struct tl_map *map = hand->map;
    bool pauses = tl_shape_latch(shape) == TL_LATCH_PAUSE;
    if (is_global(hand, handle)) {
        tl_cas(&map->header->flags, flags, flags | (pauses ? SHM_PAUSED : SHM_SHUTOFF));
        return;
    }
    if (policy & TL_POLICY_PENDING)
        return; /* a change of many is under way: whoever comes next, comes to the same */
    uint64_t flag = pauses ? TL_POLICY_PAUSED : TL_POLICY_SHUTOFF;
    tl_cas(&map->cells[tl_handle_cell(handle)].policy, policy, policy | flag);
}

/* Of several that are reached the sternest counts: shutoff. 0: none is. */
static uint64_t reached(const struct tl_hand *hand, uint32_t cell, const struct tl_view *view,
                        const struct tl_limits *limits, uint64_t now)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < limits->count; i++) {
        uint64_t shape = limits->shape[i];
        if (tl_shape_latch(shape) <= tl_shape_latch(found))
            continue;
        if (tl_history_used(hand->map, cell, view, i, now) >= limits->cap[i])
            found = shape;
    }
    return found;
}

static bool has_latch(const struct tl_limits *limits)
{
    bool has = false;
    for (unsigned i = 0; i < limits->count; i++)
        has |= tl_shape_latch(limits->shape[i]) != 0;
    return has;
}

/* One look: 1, it is reached; 0; or -1: the scope has changed meanwhile. The words are read before the clock (A1). */
static int look_once(struct tl_hand *hand, uint64_t handle)
{
    const struct tl_map *map = hand->map;
    uint32_t cell = tl_handle_cell(handle);
    struct tl_limits limits;
    struct tl_view view;
    uint64_t flags = tl_load(&map->header->flags), policy = tl_load(&map->cells[cell].policy);
    if (tl_limits_read(map, &map->cells[cell].policy, &limits) < 0 || !has_latch(&limits) ||
        tl_txn_view(hand, cell, &view) < 0 || tl_view_incarnation(&view) != tl_handle_incarnation(handle))
        return 0;
    uint64_t now = tl_clock_now(&hand->clock);
    if (tl_views_adopt(hand, cell, &view, &limits, now, tl_clock_wall_offset(&hand->clock), false) != 0)
        return -1;
    uint64_t shape = reached(hand, cell, &view, &limits, now);
    if (!tl_txn_current(hand, cell, &view))
        return -1;
    if (shape)
        set_switch(hand, handle, shape, flags, policy);
    return shape != 0;
}

bool tl_latch_look(struct tl_hand *hand, uint64_t handle)
{
    int found = -1;
    for (unsigned tries = 0; found < 0 && tries < TRIES; tries++)
        found = look_once(hand, handle);
    return found > 0;
}

void tl_latch_all(struct tl_hand *hand)
{
    const struct tl_map *map = hand->map;
    for (uint32_t cell = map->tier_cells; cell < map->scope_end && tl_latch_any(map); cell++) {
        uint64_t handle = tl_directory_live(hand, cell);
        if (handle)
            tl_latch_look(hand, handle);
    }
}
