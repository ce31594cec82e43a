/* SPDX-License-Identifier: MIT */
/* admin.c - the public calls that change what is in force: levels, tiers, limits, flags, policy, clock; and reaping. */
#include <stdio.h>

#include "change.h"
#include "directory.h"
#include "expiry.h"
#include "latch.h"
#include "lists.h"
#include "os.h"
#include "scopes.h"
#include "zones.h"

int tlshm_create(const char *name, const tlshm_geometry *geometry, struct tlshm_error *err)
{
    return tl_segment_create(name, geometry, err);
}

int tlshm_destroy(const char *name, struct tlshm_error *err)
{
    return tl_segment_destroy(name, err);
}

int tlshm_path(const char *name, char *buf, size_t size)
{
    return buf ? tl_segment_path(name, buf, size) : -TLSHM_EINVAL;
}

uint64_t tlshm_geometry_bytes(const tlshm_geometry *geometry)
{
    tlshm_geometry checked = {0};
    struct tl_map map;
    const char *what;
    if (geometry)
        checked = *geometry;
    return tl_layout_geometry(&checked, &what) < 0 ? 0 : tl_layout_place(&map, &checked, NULL);
}

/* ------------------------------------------------------------------------------------------------- limit lists */

/* Adds a limit to a list or changes its cap. */
static int put_limit(const struct tl_map *map, struct tl_list *list, uint64_t shape, uint64_t cap)
{
    int at = tl_lists_find(list, shape);
    if (at < 0) {
        if (list->count >= map->limits)
            return -TLSHM_ENOROOM;
        at = (int)list->count++;
    }
    list->shape[at] = shape;
    list->cap[at] = cap;
    return 0;
}

static int drop_limit(struct tl_list *list, uint64_t shape)
{
    int at = tl_lists_find(list, shape);
    if (at < 0)
        return -TLSHM_ENOENT;
    list->count--;
    for (unsigned i = (unsigned)at; i < list->count; i++) {
        list->shape[i] = list->shape[i + 1];
        list->cap[i] = list->cap[i + 1];
    }
    return 0;
}

/* What is to become of the limits that a policy word leads to. */
struct change {
    enum { REPLACE, PUT, DROP } what;
    struct tl_list list; /* REPLACE */
    uint64_t shape, cap;
};

/*
 * Reads the policy word of a scope that may be given to another key at any time: -TLSHM_ESTALE if it was. When it is after
 * that, the word has another version, and a CAS from `seen` fails.
 */
static int read_policy(struct tl_hand *hand, uint64_t handle, uint64_t *seen)
{
    uint32_t cell = tl_handle_cell(handle);
    *seen = tl_change_settled(hand, &hand->map->cells[cell].policy);
    return tl_directory_live(hand, cell) == handle ? 0 : -TLSHM_ESTALE;
}

/* Reads what is in force for a scope or tier, changes it, publishes it; again if somebody else was quicker. */
static int change_limits(struct tl_hand *hand, uint64_t handle, const struct change *change)
{
    uint32_t cell = tl_handle_cell(handle);
    tl_word *policy = &hand->map->cells[cell].policy;
    struct tl_limits now;
    int rc;
    do {
        struct tl_list list = change->list;
        uint64_t seen;
        rc = read_policy(hand, handle, &seen);
        if (rc == 0)
            rc = tl_limits_read(hand->map, policy, &now);
        if (cell < hand->map->tier_cells && tl_policy_kind(seen) != TL_POLICY_OWN)
            now.count = 0; /* a tier that is new or was unset: it follows no level */
        if (rc == 0 && change->what != REPLACE) {
            list.count = now.count;
            memcpy(list.shape, now.shape, sizeof list.shape);
            memcpy(list.cap, now.cap, sizeof list.cap);
            rc = change->what == PUT ? put_limit(hand->map, &list, change->shape, change->cap)
                                     : drop_limit(&list, change->shape);
        }
        if (rc == 0)
            rc = tl_limits_publish(hand, policy, seen, list.shape, list.cap, list.count);
        else
            return rc;
    } while (rc == 0);
    return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------------------------------------------ scopes as targets */

#define STALE_TRIES 8 /* scopes recycled between look-up and use, so many times in one call: not by chance */

/* Makes the scope and does `work` on its cell; again if the scope was recycled meanwhile. */
typedef int (*scope_work)(struct tl_hand *hand, uint64_t handle, const void *argument);

static int with_scope(tlshm_t *t, const char *key, size_t len, scope_work work, const void *argument)
{
    struct tl_thread *thread;
    uint64_t handle;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    for (unsigned tries = 0; tries < STALE_TRIES; tries++) {
        rc = tl_scopes_resolve_anew(t, &thread->hand, key, len, &handle);
        if (rc == 0)
            rc = work(&thread->hand, handle, argument);
        if (rc == 0)
            rc = tl_directory_keep(&thread->hand, handle);
        if (rc != -TLSHM_ESTALE)
            break;
    }
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

static int do_change(struct tl_hand *hand, uint64_t handle, const void *argument)
{
    return change_limits(hand, handle, argument);
}

int tlshm_scope_limits_set(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limits, unsigned count)
{
    struct tl_thread *thread;
    struct change change = {.what = REPLACE};
    if (count && !limits)
        return -TLSHM_EINVAL;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = tl_lists_pack(&thread->hand, limits, count, &change.list);
    tl_segment_leave(thread);
    return rc < 0 ? tl_segment_answer(t, rc) : with_scope(t, key, len, do_change, &change);
}

/* Packs one limit for a change. */
static int pack_change(tlshm_t *t, const tlshm_limit *limit, struct change *change)
{
    struct tl_thread *thread;
    if (!limit)
        return -TLSHM_EINVAL;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = tl_lists_shape(&thread->hand, limit, &change->shape);
    change->cap = limit->cap;
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

int tlshm_limit_set(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limit)
{
    struct change change = {.what = PUT};
    int rc = pack_change(t, limit, &change);
    return rc < 0 ? rc : with_scope(t, key, len, do_change, &change);
}

int tlshm_limit_unset(tlshm_t *t, const char *key, size_t len, const tlshm_limit *limit)
{
    struct change change = {.what = DROP};
    int rc = pack_change(t, limit, &change);
    return rc < 0 ? rc : with_scope(t, key, len, do_change, &change);
}

/* ----------------------------------------------------------------------------------------------- tiers and levels */

/* A new tier is one that was unset, until its first limits are published: who dies in between has made none. */
static int make_tier(struct tl_hand *hand, const char *tier, uint32_t *cell)
{
    int rc = tl_scopes_check_name(tier);
    return rc < 0 ? rc : tl_scopes_make_internal(hand, "tier", tier, 0, cell);
}

/* An existing tier's cell. */
static int find_tier(struct tl_hand *hand, const char *tier, uint32_t *cell)
{
    int rc = tl_scopes_check_name(tier);
    if (rc == 0)
        rc = tl_scopes_internal(hand, "tier", tier, cell);
    if (rc == 0 && tl_scopes_internal_gone(hand, *cell))
        rc = -TLSHM_ENOENT;
    return rc;
}

int tlshm_tier_set(tlshm_t *t, const char *tier, const tlshm_limit *limits, unsigned count)
{
    struct tl_thread *thread;
    struct change change = {.what = REPLACE};
    uint32_t cell;
    if (count && !limits)
        return -TLSHM_EINVAL;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = tl_lists_pack(&thread->hand, limits, count, &change.list);
    if (rc == 0)
        rc = make_tier(&thread->hand, tier, &cell);
    if (rc == 0)
        rc = change_limits(&thread->hand, tl_directory_live(&thread->hand, cell), &change);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

static int change_tier(tlshm_t *t, const char *tier, const tlshm_limit *limit, bool put)
{
    struct tl_thread *thread;
    struct change change = {.what = put ? PUT : DROP};
    uint32_t cell;
    int rc = pack_change(t, limit, &change);
    if (rc == 0)
        rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = put ? make_tier(&thread->hand, tier, &cell) : find_tier(&thread->hand, tier, &cell);
    if (rc == 0)
        rc = change_limits(&thread->hand, tl_directory_live(&thread->hand, cell), &change);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

int tlshm_tier_limit_set(tlshm_t *t, const char *tier, const tlshm_limit *limit)
{
    return change_tier(t, tier, limit, true);
}

int tlshm_tier_limit_unset(tlshm_t *t, const char *tier, const tlshm_limit *limit)
{
    return change_tier(t, tier, limit, false);
}

/* Points the policy word of a scope, tier or level elsewhere, whatever it leads to now. */
static int point(struct tl_hand *hand, uint64_t handle, enum tl_policy_kind kind, uint32_t index)
{
    tl_word *policy = &hand->map->cells[tl_handle_cell(handle)].policy;
    uint64_t seen;
    int rc;
    do
        rc = read_policy(hand, handle, &seen);
    while (rc == 0 && !tl_limits_redirect(hand, policy, seen, tl_policy_change(seen, kind, index)));
    return rc;
}

int tlshm_tier_unset(tlshm_t *t, const char *tier)
{
    struct tl_thread *thread;
    uint32_t cell;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = find_tier(&thread->hand, tier, &cell);
    if (rc == 0)
        rc = point(&thread->hand, tl_directory_live(&thread->hand, cell), TL_POLICY_GONE, 0);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

int tlshm_tier_get(tlshm_t *t, const char *tier, tlshm_limit *limits, unsigned *count)
{
    struct tl_hand hand;
    struct tl_limits now;
    uint32_t cell;
    if (!t || !limits || !count)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    int rc = find_tier(&hand, tier, &cell);
    if (rc == 0)
        rc = tl_limits_read(hand.map, &hand.map->cells[cell].policy, &now);
    rc = tl_segment_answer(t, rc);
    if (rc < 0)
        return rc;
    *count = now.count;
    for (unsigned i = 0; i < now.count; i++)
        tl_zones_limit(hand.map, now.shape[i], now.cap[i], &limits[i]);
    return 0;
}

int tlshm_tier_next(tlshm_t *t, unsigned *cursor, char name[TLSHM_NAME_MAX + 1])
{
    struct tl_hand hand;
    if (!t || !cursor || !name)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    while (*cursor < hand.map->tier_cells) {
        uint32_t cell = (*cursor)++;
        if (!tl_scopes_internal_gone(&hand, cell) && tl_scopes_internal_name(&hand, cell, "tier", name))
            return tl_segment_answer(t, 1);
    }
    return tl_segment_answer(t, 0);
}

static unsigned count_levels(struct tl_hand *hand)
{
    char name[TLSHM_NAME_MAX + 1];
    unsigned count = 0;
    for (uint32_t cell = 0; cell < hand->map->tier_cells; cell++)
        count += tl_scopes_internal_name(hand, cell, "level", name) && !tl_scopes_internal_gone(hand, cell);
    return count;
}

/* A level is made as one that is gone, and is there with one CAS: who dies in between has added none. */
static int add_level(struct tl_hand *hand, const char *level, unsigned rank)
{
    uint32_t cell;
    int rc = tl_scopes_internal(hand, "level", level, &cell);
    if (rc == 0 && !tl_scopes_internal_gone(hand, cell))
        return -TLSHM_EEXIST;
    if ((rc == 0 || rc == -TLSHM_ENOENT) && count_levels(hand) >= SHM_LEVELS_MAX)
        return -TLSHM_ENOROOM;
    if (rc == 0 || rc == -TLSHM_ENOENT)
        rc = tl_scopes_make_internal(hand, "level", level, rank, &cell);
    while (rc == 0) {
        tl_word *policy = &hand->map->cells[cell].policy;
        uint64_t seen = tl_change_settled(hand, policy);
        if (tl_policy_kind(seen) != TL_POLICY_GONE)
            return -TLSHM_EEXIST; /* somebody else was quicker */
        if (tl_limits_redirect(hand, policy, seen, tl_policy_change(seen, TL_POLICY_DEFAULT, 0)))
            return 0;
    }
    return rc;
}

int tlshm_level_add(tlshm_t *t, const char *level, unsigned rank)
{
    struct tl_thread *thread;
    int rc = tl_scopes_check_name(level);
    if (rc == 0 && (strcmp(level, "level") == 0 || strcmp(level, "tier") == 0))
        rc = -TLSHM_EINVAL; /* the directory keeps levels and tiers under these */
    if (rc == 0)
        rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = add_level(&thread->hand, level, rank);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

int tlshm_level_next(tlshm_t *t, unsigned *cursor, char name[TLSHM_NAME_MAX + 1], unsigned *rank,
                     char tier[TLSHM_NAME_MAX + 1])
{
    struct tl_hand hand;
    if (!t || !cursor || !name || !rank || !tier)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    while (*cursor < hand.map->tier_cells) {
        uint32_t cell = (*cursor)++;
        uint64_t policy = tl_pending_read(hand.map, &hand.map->cells[cell].policy);
        if (tl_policy_kind(policy) == TL_POLICY_GONE || !tl_scopes_internal_name(&hand, cell, "level", name))
            continue;
        *rank = (unsigned)tl_load_relaxed(&hand.map->cells[cell].rank);
        tier[0] = 0;
        if (tl_policy_kind(policy) == TL_POLICY_TIER && tl_policy_index(policy) < hand.map->tier_cells)
            tl_scopes_internal_name(&hand, tl_policy_index(policy), "tier", tier);
        return tl_segment_answer(t, 1);
    }
    return tl_segment_answer(t, 0);
}

/* A tier's cell, or none for NULL. */
static int tier_or_none(struct tl_hand *hand, const char *tier, enum tl_policy_kind *kind, uint32_t *cell)
{
    *kind = tier ? TL_POLICY_TIER : TL_POLICY_DEFAULT;
    *cell = 0;
    return tier ? find_tier(hand, tier, cell) : 0;
}

int tlshm_default_set(tlshm_t *t, const char *level, const char *tier)
{
    struct tl_thread *thread;
    enum tl_policy_kind kind;
    uint32_t level_cell, tier_cell;
    int rc = tl_scopes_check_name(level);
    if (rc == 0)
        rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = tl_scopes_internal(&thread->hand, "level", level, &level_cell);
    if (rc == 0 && tl_scopes_internal_gone(&thread->hand, level_cell))
        rc = -TLSHM_ENOENT;
    if (rc == 0)
        rc = tier_or_none(&thread->hand, tier, &kind, &tier_cell);
    else if (rc == -TLSHM_ENOENT)
        rc = -TLSHM_ELEVEL;
    if (rc == 0)
        rc = point(&thread->hand, tl_directory_live(&thread->hand, level_cell), kind, tier_cell);
    tl_segment_leave(thread);
    return tl_segment_answer(t, rc);
}

static int do_assign(struct tl_hand *hand, uint64_t handle, const void *argument)
{
    enum tl_policy_kind kind;
    uint32_t tier;
    int rc = tier_or_none(hand, argument, &kind, &tier);
    return rc == 0 ? point(hand, handle, kind, tier) : rc;
}

int tlshm_scope_tier_set(tlshm_t *t, const char *key, size_t len, const char *tier)
{
    return with_scope(t, key, len, do_assign, tier);
}

/* ------------------------------------------------------------------------------------------------- flags, policy */

static int set_flag(tlshm_t *t, uint64_t flag, int on)
{
    if (!t)
        return -TLSHM_EINVAL;
    if (t->map.readonly)
        return -TLSHM_EREADONLY;
    uint64_t seen;
    do
        seen = tl_load(&t->map.header->flags);
    while (!tl_cas(&t->map.header->flags, seen, (on ? seen | flag : seen & ~flag) + SHM_SWITCHED));
    return tl_segment_answer(t, 0);
}

int tlshm_pause(tlshm_t *t, int on)
{
    return set_flag(t, SHM_PAUSED, on);
}

int tlshm_shutoff(tlshm_t *t, int on)
{
    return set_flag(t, SHM_SHUTOFF, on);
}

struct flag_change {
    uint64_t flag;
    int on;
};

static int do_flag(struct tl_hand *hand, uint64_t handle, const void *argument)
{
    const struct flag_change *change = argument;
    tl_word *policy = &hand->map->cells[tl_handle_cell(handle)].policy;
    uint64_t seen;
    int rc;
    do
        rc = read_policy(hand, handle, &seen);
    while (rc == 0 && !tl_cas(policy, seen, tl_policy_switch(seen, change->flag, change->on)));
    return rc;
}

int tlshm_scope_pause(tlshm_t *t, const char *key, size_t len, int on)
{
    const struct flag_change change = {TL_POLICY_PAUSED, on};
    return with_scope(t, key, len, do_flag, &change);
}

int tlshm_scope_shutoff(tlshm_t *t, const char *key, size_t len, int on)
{
    const struct flag_change change = {TL_POLICY_SHUTOFF, on};
    return with_scope(t, key, len, do_flag, &change);
}

int tlshm_overrun_set(tlshm_t *t, enum tlshm_overrun policy)
{
    if (!t || (policy != TLSHM_CHARGE_ACTUAL && policy != TLSHM_CAP_AT_ESTIMATE))
        return -TLSHM_EINVAL;
    if (t->map.readonly)
        return -TLSHM_EREADONLY;
    struct tl_thread *thread;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    tl_word *word = &t->map.header->overrun;
    uint64_t seen;
    do
        seen = tl_change_settled(&thread->hand, word);
    while (!tl_cas(word, seen, tl_policy_change(seen, TL_POLICY_DEFAULT, policy)));
    tl_segment_leave(thread);
    return tl_segment_answer(t, 0);
}

int tlshm_overrun_function_set(tlshm_t *t, tlshm_overrun_function function, void *context)
{
    return t ? tl_segment_set_overrun(t, function, context) : -TLSHM_EINVAL;
}

/* ------------------------------------------------------------------------------------------------- reaper, clock */

static void beat(struct tl_hand *hand, const struct tl_expiry_report *report)
{
    struct shm_header *header = hand->map->header;
    tl_store_relaxed(&header->reaper_pid, tl_os_pid());
    tl_add(&header->reaper_passes, 1);
    uint64_t lag = tl_load_relaxed(&header->reaper_lag_max);
    while (report->lag_max_ns > lag && !tl_cas(&header->reaper_lag_max, lag, report->lag_max_ns))
        lag = tl_load_relaxed(&header->reaper_lag_max);
    tl_store_release(&header->reaper_beat, tl_max(tl_clock_now(&hand->clock), 1));
}

int tlshm_reap(tlshm_t *t, tlshm_reap_report *report)
{
    struct tl_thread *thread;
    struct tl_expiry_report found;
    tlshm_reap_report r = {0};
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    for (uint32_t seat = 0; seat < t->map.seat_count; seat++)
        tl_seat_visit(&thread->hand, seat, &r.seats_freed, &r.finished);
    tl_expiry_all(thread, &found);
    if (tl_latch_any(thread->hand.map))
        tl_latch_all(&thread->hand);
    tl_change_clear(&thread->hand);
    if (r.seats_freed)
        tl_limits_sweep(&thread->hand);
    beat(&thread->hand, &found);
    uint64_t now = tl_clock_now(&thread->hand.clock);
    tl_segment_leave(thread);
    if (tl_segment_lost(t))
        return -TLSHM_ETRUNCATED;
    r.expired = found.expired;
    r.lag_max_ns = found.lag_max_ns;
    r.live = found.live;
    r.next_due_ns = found.next_due == TL_FOREVER ? TLSHM_NEVER : found.next_due - tl_min(found.next_due, now);
    if (report)
        *report = r;
    return 0;
}

int tlshm_clock_get(tlshm_t *t, uint64_t *boot_ns, uint64_t *wall_ns)
{
    struct tl_hand hand;
    if (!t || !boot_ns || !wall_ns)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    uint64_t boot = tl_clock_now(&hand.clock), wall = tl_clock_wall(&hand.clock, boot);
    if (tl_segment_lost(t))
        return -TLSHM_ETRUNCATED;
    *boot_ns = boot;
    *wall_ns = wall;
    return 0;
}

int tlshm_clock_set(tlshm_t *t, uint64_t boot_ns, uint64_t wall_ns)
{
    if (!t || !t->clock.virtual_boot || boot_ns > INT64_MAX / 2 || wall_ns > INT64_MAX / 2)
        return -TLSHM_EINVAL;
    if (t->map.readonly)
        return -TLSHM_EREADONLY;
    tl_store_release(&t->map.header->virtual_wall, wall_ns);
    tl_store_release(&t->map.header->virtual_boot, boot_ns);
    return tl_segment_answer(t, 0);
}
