/* SPDX-License-Identifier: MIT */
/* zones.c - finding and adding time zones. See zones.h. */
#include "zones.h"

#include "window.h"
#include "zone.h"

enum { ZONE_FREE = 0, ZONE_CLAIMED = 1, ZONE_LIVE = 2 };

static unsigned find(const struct tl_map *map, const char *name)
{
    struct tl_zone zone;
    for (unsigned i = 1; i <= SHM_ZONES_MAX; i++) {
        if ((tl_load(&map->zones[i - 1].state) & 3) != ZONE_LIVE)
            continue;
        tl_history_zone(map, i, &zone);
        if (strncmp(zone.name, name, sizeof zone.name) == 0)
            return i;
    }
    return 0;
}

#define EPOCH_BITS 50

/* Free, or claimed by a seat that has moved on. */
static bool is_claimable(const struct tl_map *map, uint64_t state)
{
    uint32_t seat = (uint32_t)(state >> 2) & 0xfff;
    if ((state & 3) != ZONE_CLAIMED)
        return (state & 3) == ZONE_FREE;
    return seat >= map->seat_count || ((tl_load(&map->seats[seat].epoch) ^ state >> 14) & tl_ones(EPOCH_BITS)) != 0;
}

static int add(struct tl_hand *hand, const struct tl_zone *zone)
{
    const struct tl_map *map = hand->map;
    uint64_t word[sizeof *zone / 8];
    uint64_t mine = tl_load_relaxed(&hand->seat->epoch) << 14 | (uint64_t)hand->seat_index << 2 | ZONE_CLAIMED;
    memcpy(word, zone, sizeof *zone);
    for (unsigned i = 0; i < SHM_ZONES_MAX; i++) {
        struct shm_zone *shared = &map->zones[i];
        uint64_t state = tl_load(&shared->state);
        if (!is_claimable(map, state) || !tl_cas(&shared->state, state, mine))
            continue;
        for (unsigned w = 0; w < sizeof *zone / 8; w++)
            tl_store_relaxed(&shared->zone[w], word[w]);
        tl_store_release(&shared->state, ZONE_LIVE);
        return 0;
    }
    return -TLSHM_ENOROOM;
}

bool tl_zones_has(const struct tl_map *map, const char *name)
{
    return !name[0] || strcmp(name, "UTC") == 0 || find(map, name) != 0;
}

unsigned tl_zones_left(const struct tl_map *map)
{
    unsigned left = 0;
    for (unsigned i = 0; i < SHM_ZONES_MAX; i++)
        left += (tl_load(&map->zones[i].state) & 3) != ZONE_LIVE;
    return left;
}

int tl_zones_get(struct tl_hand *hand, const char *name, unsigned *zone)
{
    struct tl_zone loaded;
    *zone = 0;
    if (!name[0] || strcmp(name, "UTC") == 0)
        return 0;
    *zone = find(hand->map, name);
    if (*zone)
        return 0;
    int rc = tl_zone_load(name, &loaded);
    if (rc == 0)
        rc = add(hand, &loaded);
    if (rc == 0)
        *zone = find(hand->map, name); /* the first, should two have added it at once */
    return rc == 0 && *zone == 0 ? -TLSHM_EZONE : rc;
}

void tl_zones_limit(const struct tl_map *map, uint64_t shape, uint64_t cap, tlshm_limit *out)
{
    struct tl_zone zone;
    tl_shape_unpack(shape, out);
    out->cap = cap;
    if (out->window.kind != TLSHM_WINDOW_CALENDAR || tl_shape_zone(shape) == 0)
        return;
    tl_history_zone(map, tl_shape_zone(shape), &zone);
    memcpy(out->window.zone, zone.name, sizeof out->window.zone);
    out->window.zone[sizeof out->window.zone - 1] = 0;
}
