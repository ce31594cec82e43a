/* SPDX-License-Identifier: MIT */
/*
 * confapply.c - from what a segment has to what a configuration says.
 *
 * All is compared and checked before anything is written. What changes the segment is tl_confmake(), all at once.
 */
#include <tlshm/config.h>
#include <tlshm/pricing.h>

#include <stdio.h>

#include "change.h"
#include "confmake.h"
#include "directory.h"
#include "faults.h"
#include "scopes.h"
#include "zones.h"

/* --------------------------------------------------------------------------------------------------------- comparing */

/* What a segment has, and what leads from there to a configuration. */
struct plan {
    tlshm_config *now;
    struct tl_arena arena;
    struct tl_changes changes;
};

static void plan_free(struct plan *plan)
{
    tl_confdiff_free(&plan->changes);
    tl_arena_free(&plan->arena);
    tlshm_config_free(plan->now);
}

static int plan_make(struct plan *plan, tlshm_t *t, const tlshm_config *config, struct tlshm_error *err)
{
    *plan = (struct plan){0};
    if (!t || !config)
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    int rc = tlshm_config_read(&plan->now, t);
    if (rc < 0)
        return tl_faults_fail(err, rc, 0, NULL, tlshm_error_text(rc));
    rc = tl_confdiff(plan->now, config, &plan->arena, &plan->changes, err);
    if (rc == -TLSHM_ENOMEM)
        tl_faults_fail(err, rc, 0, NULL, tlshm_error_text(rc));
    return rc;
}

int tlshm_config_diff(tlshm_t *t, const tlshm_config *config, tlshm_config_changed changed, void *context,
                      struct tlshm_error *err)
{
    struct plan plan;
    int rc = plan_make(&plan, t, config, err);
    for (size_t i = 0; rc == 0 && changed && i < plan.changes.count; i++)
        tl_confdiff_tell(&plan.changes.list[i], changed, context);
    if (rc == 0)
        rc = plan.changes.count > INT32_MAX ? INT32_MAX : (int)plan.changes.count;
    plan_free(&plan);
    return rc;
}

/* ---------------------------------------------------------------------------------------------------------- applying */

/* What the changes need of the segment's tables. Tiers and levels have theirs together. */
struct need {
    size_t names, levels, scopes;
    size_t lists; /* new ones: those that they replace are free only when all is done */
};

static bool has_list(const struct tl_told *told)
{
    return told->there && told->limits && !told->tier;
}

/* A tier that was unset has its place still, and a level that was about to be made. */
static bool needs_place(struct tl_hand *hand, const struct tl_change *c)
{
    uint32_t cell;
    bool tier = c->part == TLSHM_CONFIG_PART_TIER, level = c->part == TLSHM_CONFIG_PART_LEVEL;
    return !c->now.there && (tier || level) &&
           tl_scopes_internal(hand, tier ? "tier" : "level", c->name, &cell) == -TLSHM_ENOENT;
}

static bool is_new_scope(struct tl_hand *hand, const struct tl_change *c)
{
    uint64_t handle;
    return c->part == TLSHM_CONFIG_PART_SCOPE && !c->now.there &&
           tl_directory_find(hand, c->name, strlen(c->name), &handle) == -TLSHM_ENOENT;
}

static struct need need_of(struct tl_hand *hand, const struct tl_changes *changes)
{
    struct need need = {0};
    for (size_t i = 0; i < changes->count; i++) {
        const struct tl_change *c = &changes->list[i];
        need.names += needs_place(hand, c);
        need.scopes += is_new_scope(hand, c);
        need.levels += c->part == TLSHM_CONFIG_PART_LEVEL && !c->now.there;
        need.lists += has_list(&c->want);
    }
    return need;
}

static int no_room(struct tlshm_error *err, const char *what, size_t needed, size_t left)
{
    if (!err)
        return -TLSHM_ENOROOM;
    *err = (struct tlshm_error){.code = -TLSHM_ENOROOM};
    snprintf(err->text, sizeof err->text, "the file needs %zu more %s, and the segment has room for %zu", needed, what,
             left);
    return -TLSHM_ENOROOM;
}

static size_t left_of(size_t room, size_t taken)
{
    return room > taken ? room - taken : 0;
}

/* Time zones that were met, and how many of them a segment does not have yet. A file has no more than a segment. */
struct met_zones {
    const char *name[SHM_ZONES_MAX + 1];
    unsigned count, needed;
};

static void meet_zone(const struct tl_map *map, const char *name, struct met_zones *zones)
{
    for (unsigned i = 0; i < zones->count; i++)
        if (strcmp(zones->name[i], name) == 0)
            return;
    if (zones->count < TL_COUNT_OF(zones->name))
        zones->name[zones->count++] = name;
    zones->needed += !tl_zones_has(map, name);
}

static size_t zones_needed(const struct tl_map *map, const struct tl_changes *changes)
{
    struct met_zones zones = {.count = 0};
    for (size_t i = 0; i < changes->count; i++) {
        const struct tl_told *want = &changes->list[i].want;
        for (unsigned k = 0; has_list(want) && k < want->limits->count; k++)
            meet_zone(map, want->limits->limit[k].window.zone, &zones);
    }
    return zones.needed;
}

static size_t places_left(struct tl_hand *hand, uint32_t from, uint32_t end)
{
    size_t left = 0;
    for (uint32_t cell = from; cell < end; cell++)
        left += tl_directory_live(hand, cell) == 0;
    return left;
}

/* Places for new scopes; if they are not enough, after those of idle ones were given back. */
static size_t scopes_left(tlshm_t *t, struct tl_hand *hand, size_t needed)
{
    const struct tl_map *map = hand->map;
    struct tl_thread *thread;
    size_t left = places_left(hand, map->tier_cells, map->scope_end);
    if (left >= needed || tl_segment_enter(t, &thread) < 0)
        return left;
    for (uint64_t cell = map->tier_cells; cell < map->scope_end; cell += TL_DIRECTORY_LOOKS)
        tl_directory_recycle(&thread->hand, TL_DIRECTORY_LOOKS);
    tl_segment_leave(thread);
    return places_left(hand, map->tier_cells, map->scope_end);
}

/* Free lists; if they are not enough, after those of whoever died in a change were given back. */
static size_t lists_left(tlshm_t *t, struct tl_hand *hand, size_t needed)
{
    const struct tl_map *map = hand->map;
    struct tl_thread *thread;
    size_t left = left_of(map->list_count, tl_limits_lists_used(map));
    if (left >= needed || tl_segment_enter(t, &thread) < 0)
        return left;
    tl_change_clear(&thread->hand);
    tl_limits_sweep(&thread->hand);
    tl_segment_leave(thread);
    return left_of(map->list_count, tl_limits_lists_used(map));
}

static int check_rooms(tlshm_t *t, const struct plan *plan, struct tlshm_error *err)
{
    struct tl_hand hand;
    tl_segment_look(t, &hand);
    struct need need = need_of(&hand, &plan->changes);
    size_t places = places_left(&hand, 0, hand.map->tier_cells);
    size_t lists = lists_left(t, &hand, need.lists);
    size_t levels = left_of(SHM_LEVELS_MAX, plan->now->levels.count);
    size_t zones = zones_needed(hand.map, &plan->changes);
    size_t scopes = scopes_left(t, &hand, need.scopes);
    if (need.names > places)
        return no_room(err, "tiers and levels", need.names, places);
    if (need.levels > levels)
        return no_room(err, "levels", need.levels, levels);
    if (need.lists > lists)
        return no_room(err, "limit lists", need.lists, lists);
    if (need.scopes > scopes)
        return no_room(err, "scopes", need.scopes, scopes);
    if (zones > tl_zones_left(hand.map))
        return no_room(err, "time zones", zones, tl_zones_left(hand.map));
    return 0;
}

static int fail_change(struct tlshm_error *err, int rc, const struct tl_change *change)
{
    if (!err)
        return rc;
    *err = (struct tlshm_error){.code = rc};
    snprintf(err->text, sizeof err->text, "%.64s%s%s; nothing was changed", change ? change->name : "",
             change ? ": " : "", tlshm_error_text(rc));
    return rc;
}

static size_t count_changes(const struct tl_changes *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < changes->count; i++)
        count += !changes->list[i].fixed;
    return count;
}

/* `fixed`: tell fixed differences too. */
static int apply(tlshm_t *t, const struct plan *plan, bool fixed, tlshm_config_changed changed, void *context,
                 struct tlshm_error *err)
{
    const struct tl_change *failed = NULL;
    size_t made = count_changes(&plan->changes);
    int rc = check_rooms(t, plan, err);
    if (rc < 0)
        return rc;
    rc = made ? tl_confmake(t, &plan->changes, &failed) : 0;
    if (rc < 0)
        return fail_change(err, rc, failed);
    for (size_t i = 0; changed && i < plan->changes.count; i++)
        if (fixed || !plan->changes.list[i].fixed)
            tl_confdiff_tell(&plan->changes.list[i], changed, context);
    return made > INT32_MAX ? INT32_MAX : (int)made;
}

/* Somebody else may have changed limits meanwhile. So what was applied is compared once more. */
enum { ROUNDS = 4 };

int tlshm_config_apply(tlshm_t *t, const tlshm_config *config, tlshm_config_changed changed, void *context,
                       struct tlshm_error *err)
{
    int total = 0, rc = 1;
    for (unsigned round = 0; rc > 0 && round < ROUNDS; round++) {
        struct plan plan;
        rc = plan_make(&plan, t, config, err);
        if (rc == 0)
            rc = apply(t, &plan, round == 0, changed, context, err);
        plan_free(&plan);
        total += rc > 0 ? rc : 0;
    }
    if (rc >= 0 && (config->settings.sections & TLSHM_CONFIG_PRICES))
        rc = tlshm_pricing_announce(t);
    return rc < 0 ? rc : total;
}
