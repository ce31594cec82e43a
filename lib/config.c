/* SPDX-License-Identifier: MIT */
/* config.c - the public calls about configurations: reading files and segments, comparing, applying. */
#include <tlshm/config.h>
#include <tlshm/stats.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "confdiff.h"
#include "confread.h"
#include "directory.h"
#include "limits.h"
#include "scopes.h"
#include "zones.h"

/* ------------------------------------------------------------------------------------------------------ from a file */

static int fail(struct tlshm_error *err, int code, int sys, const char *name, const char *what)
{
    if (!err)
        return code;
    *err = (struct tlshm_error){.code = code, .sys = sys};
    snprintf(err->text, sizeof err->text, "%.150s%s%s", name ? name : "", name ? ": " : "", what);
    return code;
}

static int parse(tlshm_config **out, const char *text, size_t size, struct tl_faults *faults)
{
    struct tl_tree tree;
    tlshm_config *c = tl_confmodel_new();
    if (!c)
        return -TLSHM_ENOMEM;
    int rc = tl_conftree_read(&tree, text, size, faults);
    if (rc == 0 && tree.root)
        rc = tl_confread(c, tree.root, faults);
    tl_conftree_free(&tree);
    if (rc == 0 && faults->no_memory)
        rc = -TLSHM_ENOMEM;
    if (rc == 0 && faults->count)
        rc = -TLSHM_EINVAL;
    if (rc == 0)
        *out = c;
    else
        tlshm_config_free(c);
    return rc;
}

/* `name` stands before the first fault in `err`; NULL for a text without one. */
static int parse_named(tlshm_config **out, const char *name, const char *text, size_t size, tlshm_config_fault fault,
                       void *context, struct tlshm_error *err)
{
    struct tl_faults faults = {0};
    int rc = parse(out, text, size, &faults);
    if (rc == -TLSHM_EINVAL)
        tl_faults_tell(&faults, name, fault, context, err);
    else if (rc < 0)
        fail(err, rc, 0, name, tlshm_error_text(rc));
    tl_faults_free(&faults);
    return rc;
}

int tlshm_config_parse(tlshm_config **out, const char *text, size_t size, tlshm_config_fault fault, void *context,
                       struct tlshm_error *err)
{
    if (!out || (!text && size))
        return fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    if (size > TLSHM_CONFIG_BYTES_MAX)
        return fail(err, -TLSHM_ERANGE, 0, NULL, "the text is too large for a configuration");
    return parse_named(out, NULL, text ? text : "", size, fault, context, err);
}

static int system_error(int sys)
{
    return sys == ENOENT || sys == ENOTDIR ? -TLSHM_ENOENT : sys == EACCES ? -TLSHM_EACCES : -TLSHM_ESYS;
}

/* All bytes of a stream; the caller frees them. One byte more than is allowed is read to see that there is one. */
static int read_all(FILE *file, char **out, size_t *size)
{
    size_t room = 0, count = 0, got;
    char *bytes = NULL;
    do {
        room = room ? 2 * room : 16384;
        if (room > TLSHM_CONFIG_BYTES_MAX)
            room = TLSHM_CONFIG_BYTES_MAX + 1;
        char *more = realloc(bytes, room);
        if (!more) {
            free(bytes);
            return -TLSHM_ENOMEM;
        }
        bytes = more;
        got = fread(bytes + count, 1, room - count, file);
        count += got;
    } while (count == room && room <= TLSHM_CONFIG_BYTES_MAX);
    *out = bytes;
    *size = count;
    return ferror(file) ? -TLSHM_ESYS : 0;
}

int tlshm_config_load(tlshm_config **out, const char *path, tlshm_config_fault fault, void *context,
                      struct tlshm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (!out || !path)
        return fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    FILE *file = fopen(path, "rbe");
    if (!file)
        return fail(err, system_error(errno), errno, path, strerror(errno));
    errno = 0;
    int rc = read_all(file, &text, &size), sys = errno;
    fclose(file);
    if (rc < 0)
        fail(err, rc, sys, path, rc == -TLSHM_ESYS ? strerror(sys) : tlshm_error_text(rc));
    else if (size > TLSHM_CONFIG_BYTES_MAX)
        rc = fail(err, -TLSHM_ERANGE, 0, path, "the file is too large for a configuration");
    else
        rc = parse_named(out, path, text, size, fault, context, err);
    free(text);
    return rc;
}

/* -------------------------------------------------------------------------------------------------- from a segment */

static const char *keep(tlshm_config *c, const char *text)
{
    return tl_arena_copy(&c->arena, text, strlen(text));
}

static int read_tiers(tlshm_config *c, tlshm_t *t)
{
    char name[TLSHM_NAME_MAX + 1];
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned cursor = 0, count;
    int rc;
    while ((rc = tlshm_tier_next(t, &cursor, name)) > 0) {
        rc = tlshm_tier_get(t, name, limits, &count);
        if (rc == -TLSHM_ENOENT)
            continue; /* removed since */
        tlshm_config_tier *tier = rc < 0 ? NULL : tl_confmodel_add_tier(c);
        if (rc < 0)
            return rc;
        if (!tier || !(tier->name = keep(c, name)) || !tl_confmodel_limits(c, &tier->limits, limits, count))
            return -TLSHM_ENOMEM;
    }
    return rc;
}

static int read_levels(tlshm_config *c, tlshm_t *t)
{
    char name[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0, rank;
    int rc;
    while ((rc = tlshm_level_next(t, &cursor, name, &rank, tier)) > 0) {
        tlshm_config_level *level = tl_confmodel_add_level(c);
        if (!level || !(level->name = keep(c, name)) || (*tier && !(level->tier = keep(c, tier))))
            return -TLSHM_ENOMEM;
        level->rank = rank;
    }
    return rc;
}

static int add_scope(tlshm_config *c, const char *key, const tlshm_scope_usage *usage)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    tlshm_config_scope *scope = tl_confmodel_add_scope(c);
    if (!scope || !(scope->key = keep(c, key)))
        return -TLSHM_ENOMEM;
    if (usage->source == TLSHM_LIMITS_TIER)
        return (scope->tier = keep(c, usage->tier)) ? 0 : -TLSHM_ENOMEM;
    for (unsigned i = 0; i < usage->limit_count; i++)
        limits[i] = usage->limits[i].limit;
    return tl_confmodel_limits(c, &scope->limits, limits, usage->limit_count) ? 0 : -TLSHM_ENOMEM;
}

static int read_scopes(tlshm_config *c, tlshm_t *t)
{
    char key[TLSHM_KEY_MAX + 1];
    tlshm_scope_usage usage;
    tlshm_handle handle;
    uint64_t cursor = 0;
    int rc;
    while ((rc = tlshm_scope_next(t, &cursor, &handle)) > 0) {
        rc = tlshm_scope_key(t, handle, key, sizeof key);
        if (rc >= 0)
            rc = tlshm_usage_handle(t, handle, &usage);
        if (rc == -TLSHM_ESTALE)
            continue; /* recycled since: it had nothing of its own */
        if (rc >= 0 && (usage.source == TLSHM_LIMITS_OWN || usage.source == TLSHM_LIMITS_TIER))
            rc = add_scope(c, key, &usage);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int read_segment(tlshm_config *c, tlshm_t *t)
{
    tlshm_segment_info info;
    int rc = tlshm_get_segment(t, &info);
    if (rc < 0)
        return rc;
    c->settings.geometry = info.geometry;
    c->settings.overrun = info.overrun;
    c->settings.sections =
        TLSHM_CONFIG_GEOMETRY | TLSHM_CONFIG_OVERRUN | TLSHM_CONFIG_TIERS | TLSHM_CONFIG_LEVELS | TLSHM_CONFIG_SCOPES;
    if ((rc = read_tiers(c, t)) < 0 || (rc = read_levels(c, t)) < 0 || (rc = read_scopes(c, t)) < 0)
        return rc;
    tl_confmodel_sort(c);
    tl_confmodel_prune(c); /* a tier that was unset is still named by what had it */
    return 0;
}

int tlshm_config_read(tlshm_config **out, tlshm_t *t)
{
    if (!out || !t)
        return -TLSHM_EINVAL;
    tlshm_config *c = tl_confmodel_new();
    int rc = c ? read_segment(c, t) : -TLSHM_ENOMEM;
    if (rc == 0)
        *out = c;
    else
        tlshm_config_free(c);
    return rc;
}

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
        return fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    int rc = tlshm_config_read(&plan->now, t);
    if (rc < 0)
        return fail(err, rc, 0, NULL, tlshm_error_text(rc));
    rc = tl_confdiff(plan->now, config, &plan->arena, &plan->changes, err);
    if (rc == -TLSHM_ENOMEM)
        fail(err, rc, 0, NULL, tlshm_error_text(rc));
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
    size_t names, levels, lists;
    bool spare; /* one list is replaced by another */
};

static bool has_list(const struct tl_told *told)
{
    return told->there && told->limits && !told->tier;
}

/* A tier that was unset has its place still. */
static bool needs_place(struct tl_hand *hand, const struct tl_change *c)
{
    uint32_t cell;
    if (c->now.there)
        return false;
    if (c->part == TLSHM_CONFIG_PART_TIER)
        return tl_scopes_internal(hand, "tier", c->name, &cell) == -TLSHM_ENOENT;
    return c->part == TLSHM_CONFIG_PART_LEVEL;
}

static struct need need_of(struct tl_hand *hand, const struct tl_changes *changes)
{
    struct need need = {0};
    for (size_t i = 0; i < changes->count; i++) {
        const struct tl_change *c = &changes->list[i];
        need.names += needs_place(hand, c);
        need.levels += c->part == TLSHM_CONFIG_PART_LEVEL && !c->now.there;
        need.lists += has_list(&c->want) && !has_list(&c->now);
        need.spare |= has_list(&c->want) && has_list(&c->now);
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

/* Time zones that a segment has not met yet. More than it can have at all are not counted. */
struct new_zones {
    const char *name[SHM_ZONES_MAX + 1];
    unsigned count;
};

static void count_zone(const struct tl_map *map, const char *name, struct new_zones *zones)
{
    bool known = tl_zones_has(map, name);
    for (unsigned i = 0; !known && i < zones->count; i++)
        known = strcmp(zones->name[i], name) == 0;
    if (!known && zones->count < TL_COUNT_OF(zones->name))
        zones->name[zones->count++] = name;
}

static size_t zones_needed(const struct tl_map *map, const struct tl_changes *changes)
{
    struct new_zones zones = {.count = 0};
    for (size_t i = 0; i < changes->count; i++) {
        const struct tl_told *want = &changes->list[i].want;
        for (unsigned k = 0; has_list(want) && k < want->limits->count; k++)
            count_zone(map, want->limits->limit[k].window.zone, &zones);
    }
    return zones.count;
}

static size_t places_left(struct tl_hand *hand)
{
    size_t left = 0;
    for (uint32_t cell = 0; cell < hand->map->tier_cells; cell++)
        left += tl_directory_live(hand, cell) == 0;
    return left;
}

/* A list is replaced by a new one before the old one is free: on the way there is one more. */
static int check_rooms(tlshm_t *t, const struct plan *plan, struct tlshm_error *err)
{
    struct tl_hand hand;
    tl_segment_look(t, &hand);
    struct need need = need_of(&hand, &plan->changes);
    size_t places = places_left(&hand);
    size_t lists = left_of(hand.map->list_count, tl_limits_lists_used(hand.map));
    size_t levels = left_of(SHM_LEVELS_MAX, plan->now->levels.count);
    size_t zones = zones_needed(hand.map, &plan->changes);
    if (need.names > places)
        return no_room(err, "tiers and levels", need.names, places);
    if (need.levels > levels)
        return no_room(err, "levels", need.levels, levels);
    if (need.lists + need.spare > lists)
        return no_room(err, "limit lists", need.lists + need.spare, lists);
    if (zones > tl_zones_left(hand.map))
        return no_room(err, "time zones", zones, tl_zones_left(hand.map));
    return 0;
}

static int change_level(tlshm_t *t, const struct tl_change *c)
{
    int rc = c->now.there ? 0 : tlshm_level_add(t, c->name, c->want.rank);
    return rc < 0 ? rc : tlshm_default_set(t, c->name, c->want.tier);
}

static int change_scope(tlshm_t *t, const struct tl_change *c)
{
    if (!c->want.there || c->want.tier)
        return tlshm_scope_tier_set(t, c->name, 0, c->want.tier);
    return tlshm_scope_limits_set(t, c->name, 0, c->want.limits->limit, c->want.limits->count);
}

static int change_one(tlshm_t *t, const struct tl_change *c)
{
    int rc = 0;
    switch (c->part) {
    case TLSHM_CONFIG_PART_OVERRUN:
        return tlshm_overrun_set(t, (enum tlshm_overrun)c->value);
    case TLSHM_CONFIG_PART_TIER:
        if (c->want.there)
            return tlshm_tier_set(t, c->name, c->want.limits->limit, c->want.limits->count);
        rc = tlshm_tier_unset(t, c->name);
        return rc == -TLSHM_ENOENT ? 0 : rc; /* somebody else was quicker */
    case TLSHM_CONFIG_PART_LEVEL:
        return change_level(t, c);
    case TLSHM_CONFIG_PART_SCOPE:
        return change_scope(t, c);
    default:
        return 0;
    }
}

/*
 * Makes the changes one after the other, in the list's order. This is the only place that writes to the segment. How many
 * were made is told even if one of them fails.
 */
static int make_changes(tlshm_t *t, const struct tl_changes *changes, size_t *made, const struct tl_change **failed)
{
    *made = 0;
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->list[i].fixed)
            continue;
        int rc = change_one(t, &changes->list[i]);
        if (rc < 0) {
            *failed = &changes->list[i];
            return rc;
        }
        ++*made;
    }
    return 0;
}

static int fail_change(struct tlshm_error *err, int rc, const struct tl_change *change, size_t made)
{
    if (!err)
        return rc;
    *err = (struct tlshm_error){.code = rc};
    snprintf(err->text, sizeof err->text, "%.64s: %s; %zu changes were made before that", change->name,
             tlshm_error_text(rc), made);
    return rc;
}

/* `fixed`: tell fixed differences too. */
static int apply(tlshm_t *t, const struct plan *plan, bool fixed, tlshm_config_changed changed, void *context,
                 struct tlshm_error *err)
{
    const struct tl_change *failed = NULL;
    size_t made;
    int rc = check_rooms(t, plan, err);
    if (rc < 0)
        return rc;
    rc = make_changes(t, &plan->changes, &made, &failed);
    if (rc < 0)
        return fail_change(err, rc, failed, made);
    for (size_t i = 0; changed && i < plan->changes.count; i++)
        if (fixed || !plan->changes.list[i].fixed)
            tl_confdiff_tell(&plan->changes.list[i], changed, context);
    return made > INT32_MAX ? INT32_MAX : (int)made;
}

/*
 * A tier that was unset and is defined again is in force again for the levels and scopes that had it, which show nothing of
 * it until then. So what was applied is compared once more.
 */
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
    return rc < 0 ? rc : total;
}

/* -------------------------------------------------------------------------------------------------------------- idle */

struct idle {
    tlshm_config_fault fault;
    void *context;
    int count;
};

static void tell_idle(struct idle *idle, unsigned line, const char *what)
{
    if (idle->fault)
        idle->fault(idle->context, line, 1, what);
    idle->count++;
}

static void idle_requests(struct idle *idle, const tlshm_config_limits *limits, unsigned line, const char *name)
{
    char text[384];
    if (tl_confrule_none(&limits->request))
        return;
    snprintf(text, sizeof text, "%s: caps on single requests", name);
    tell_idle(idle, line, text);
}

int tlshm_config_idle(const tlshm_config *config, tlshm_config_fault fault, void *context)
{
    struct idle idle = {fault, context, 0};
    const tlshm_config_tier *tier;
    const tlshm_config_scope *scope;
    if (!config)
        return -TLSHM_EINVAL;
    for (size_t i = 0; (tier = tlshm_config_get_tier(config, i)) != NULL; i++)
        idle_requests(&idle, &tier->limits, tier->line, tier->name);
    for (size_t i = 0; (scope = tlshm_config_get_scope(config, i)) != NULL; i++)
        idle_requests(&idle, &scope->limits, scope->line, scope->key);
    static const struct {
        unsigned section;
        const char *name;
    } sections[] = {{TLSHM_CONFIG_PAUSE_AT, "pause_at"},
                    {TLSHM_CONFIG_SHUTOFF_AT, "shutoff_at"},
                    {TLSHM_CONFIG_PRICES, "prices"},
                    {TLSHM_CONFIG_ESTIMATES, "estimates"}};
    for (size_t i = 0; i < TL_COUNT_OF(sections); i++)
        if (config->settings.sections & sections[i].section)
            tell_idle(&idle, config->section_line[tl_top_bit(sections[i].section)], sections[i].name);
    return idle.count;
}
