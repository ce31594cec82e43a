/* SPDX-License-Identifier: MIT */
/* confread.c - tiers, levels and scopes of a configuration file, and the file as a whole. See confread.h. */
#include "confread.h"

#include <stdlib.h>

#include "confprices.h"
#include "confsizes.h"
#include "scopes.h"

static bool check_name(struct tl_reading *r, const struct tl_node *key, const char *what)
{
    if (tl_scopes_check_name(key->text) == 0)
        return true;
    tl_confvalue_fault(r, key, 0, "expected the name of a %s (1 to %d letters, digits, '.', '_' or '-'), not '%.64s'",
                       what, TLSHM_NAME_MAX, key->text);
    return false;
}

/* -------------------------------------------------------------------------------------------------- windows, tiers */

static void read_window(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value)
{
    const char *names[TLSHM_UNITS];
    for (int unit = 0; unit < TLSHM_UNITS; unit++) {
        names[unit] = tlshm_unit_name(unit);
        if (!tl_conffields_is(key, names[unit]))
            continue;
        if (unit == TLSHM_CONCURRENCY)
            tl_confvalue_fault(r, key, 0, "concurrency has no window");
        else
            tl_confvalue_window(r, value, (enum tlshm_unit)unit);
        return;
    }
    tl_confvalue_unknown(r, key, "unit", names, TLSHM_UNITS);
}

static void read_windows(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                         const struct tl_node *value)
{
    (void)field, (void)key;
    tl_conffields_names(r, value, "a map of units to windows", read_window);
}

/* A tier whose limits are wrong is known all the same: what names it is not wrong as well. */
static void read_tier(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value)
{
    tlshm_config_limits limits = {0};
    if (!check_name(r, key, "tier"))
        return;
    tl_confvalue_limits(r, value, true, &limits);
    tlshm_config_tier *tier = tl_confmodel_add_tier(r->config);
    const char *name = tl_conffields_keep(r, key->text, key->len);
    r->no_memory |= !tier;
    if (r->no_memory)
        return;
    *tier = (tlshm_config_tier){.name = name, .limits = limits, .line = key->line};
}

static void read_tiers(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                       const struct tl_node *value)
{
    (void)field, (void)key;
    tl_conffields_names(r, value, "a map of tiers to lists of limits", read_tier);
    if (!r->no_memory)
        tl_confmodel_sort(r->config);
}

static void tell_no_tier(struct tl_reading *r, const struct tl_node *node)
{
    size_t count = r->config->tiers.count;
    const char **names = calloc(count + 1, sizeof *names);
    r->no_memory |= !names;
    for (size_t i = 0; names && i < count; i++)
        names[i] = tlshm_config_get_tier(r->config, i)->name;
    if (names)
        tl_confvalue_unknown(r, node, "tier", names, count);
    free(names);
}

/* The name of a tier that the file has; NULL after having told that it is not. */
static const char *tier_named(struct tl_reading *r, const struct tl_node *node, const char *what)
{
    if (!tl_confvalue_text(r, node, what) || r->no_memory)
        return NULL;
    const tlshm_config_tier *tier = tl_confmodel_tier(r->config, node->text);
    if (!tier && strpbrk(node->text, " \t"))
        tl_confvalue_fault(r, node, 0, "expected %s, not '%.64s'", what, node->text);
    else if (!tier)
        tell_no_tier(r, node);
    return tier ? tier->name : NULL;
}

/* ----------------------------------------------------------------------------------------------------------- levels */

static bool first_level(const char *name, unsigned *rank)
{
    for (unsigned i = 0; i < TL_SEGMENT_LEVELS; i++) {
        if (strcmp(tl_segment_levels[i], name) != 0)
            continue;
        *rank = i;
        return true;
    }
    return false;
}

/* A level as its map says it. */
struct level {
    const char *tier;
    const struct tl_node *ranked;
    uint64_t rank;
};

static void read_level_map(struct tl_reading *r, const struct tl_node *map, struct level *out)
{
    static const char *const names[] = {"default", "rank"};
    for (const struct tl_node *key = map->first; key; key = key->next->next) {
        if (tl_conffields_is(key, "default"))
            out->tier = tier_named(r, key->next, "a tier");
        else if (tl_conffields_is(key, "rank") && tl_confvalue_number(r, key->next, 0, UINT32_MAX, &out->rank))
            out->ranked = key->next;
        else if (key->kind == TL_NODE_TEXT && !tl_conffields_is(key, "rank"))
            tl_confvalue_unknown(r, key, "key", names, TL_COUNT_OF(names));
    }
}

/* The rank that a level has or is given. */
static void rank_level(struct tl_reading *r, const struct tl_node *key, const struct level *level, unsigned *rank)
{
    bool first = first_level(key->text, rank);
    if (first && level->ranked && level->rank != *rank)
        tl_confvalue_fault(r, level->ranked, 0, "the rank of %s is %u in every segment", key->text, *rank);
    else if (!first && !level->ranked)
        tl_confvalue_fault(r, key, 0, "a new level needs a rank: write %s: {rank: 3, default: TIER}", key->text);
    else if (!first && (strcmp(key->text, "level") == 0 || strcmp(key->text, "tier") == 0))
        tl_confvalue_fault(r, key, 0, "no level may be called '%s'", key->text);
    else if (!first)
        *rank = (unsigned)level->rank;
}

static void read_level(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value)
{
    struct level level = {0};
    unsigned rank = 0;
    if (!check_name(r, key, "level"))
        return;
    if (value->kind == TL_NODE_MAP)
        read_level_map(r, value, &level);
    else
        level.tier = tier_named(r, value, "a tier, or {rank: N, default: TIER}");
    rank_level(r, key, &level, &rank);
    tlshm_config_level *row = tl_confmodel_add_level(r->config);
    const char *name = tl_conffields_keep(r, key->text, key->len);
    r->no_memory |= !row;
    if (r->no_memory)
        return;
    *row = (tlshm_config_level){.name = name, .tier = level.tier, .rank = rank, .line = key->line};
}

static void read_levels(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                        const struct tl_node *value)
{
    (void)field;
    size_t added = 0;
    unsigned rank;
    tl_conffields_names(r, value, "a map of levels to tiers", read_level);
    if (r->no_memory)
        return;
    tl_confmodel_sort(r->config);
    for (size_t i = 0; i < r->config->levels.count; i++)
        added += !first_level(tlshm_config_get_level(r->config, i)->name, &rank);
    if (added > SHM_LEVELS_MAX - TL_SEGMENT_LEVELS)
        tl_confvalue_fault(r, key, 0, "there can be %d levels beside the %d that every segment has, not %zu",
                           SHM_LEVELS_MAX - TL_SEGMENT_LEVELS, TL_SEGMENT_LEVELS, added);
}

/* ----------------------------------------------------------------------------------------------------------- scopes */

static void tell_no_level(struct tl_reading *r, const struct tl_node *key, size_t length)
{
    const char *names[TL_SEGMENT_LEVELS + SHM_LEVELS_MAX];
    size_t count = 0, levels = r->config->levels.count;
    for (; count < TL_SEGMENT_LEVELS; count++)
        names[count] = tl_segment_levels[count];
    for (size_t i = 0; i < levels && count < TL_COUNT_OF(names); i++)
        names[count++] = tlshm_config_get_level(r->config, i)->name;
    struct tl_node word = *key;
    word.len = length;
    word.text = tl_conffields_keep(r, key->text, length);
    if (word.text)
        tl_confvalue_unknown(r, &word, "level", names, count);
}

static bool check_level(struct tl_reading *r, const struct tl_node *key, const char *scope)
{
    char name[TLSHM_NAME_MAX + 1];
    unsigned rank;
    size_t length = strcspn(scope, ":"); /* at most TLSHM_NAME_MAX in a sound key */
    memcpy(name, scope, length);
    name[length] = 0;
    if (first_level(name, &rank) || tl_confmodel_level(r->config, name))
        return true;
    tell_no_level(r, key, length);
    return false;
}

/* "global" is short for "global:", which is hard to read as a key. */
static const char *scope_key(struct tl_reading *r, const struct tl_node *key)
{
    const char *scope = tl_conffields_is(key, "global") ? "global:" : key->text;
    if (tl_scopes_check(scope, strlen(scope)) < 0)
        tl_confvalue_fault(r, key, 0, "expected a scope such as tenant:acme, not '%.64s'", key->text);
    else if (check_level(r, key, scope))
        return scope;
    return NULL;
}

/* They are said once, in the sections of their own. */
static void refuse_latches(struct tl_reading *r, const struct tl_node *list, const tlshm_config_limits *limits,
                           const char *where)
{
    const struct tl_node *item = list->first;
    for (unsigned i = 0; item && i < limits->count; i++, item = item->next)
        if (limits->limit[i].flags & TL_LIMIT_LATCHES)
            tl_confvalue_fault(r, item, 0, "%s", where);
}

static void read_scope(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value)
{
    tlshm_config_scope scope = {.key = scope_key(r, key), .line = key->line};
    bool sound = true;
    if (value->kind == TL_NODE_LIST)
        sound = tl_confvalue_limits(r, value, true, &scope.limits);
    else
        sound = (scope.tier = tier_named(r, value, "a tier or a list of limits such as [tokens 1M per 1h]")) != NULL;
    if (!sound || !scope.key)
        return;
    if (strcmp(scope.key, TL_CONFMODEL_GLOBAL) == 0 && !scope.tier)
        refuse_latches(r, value, &scope.limits,
                       "what pauses or shuts off everything stands under pause_at or shutoff_at");
    scope.key = tl_conffields_keep(r, scope.key, strlen(scope.key));
    tlshm_config_scope *row = r->no_memory ? NULL : tl_confmodel_add_scope(r->config);
    r->no_memory |= !row;
    if (row)
        *row = scope;
}

static void read_scopes(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                        const struct tl_node *value)
{
    (void)field, (void)key;
    const struct tl_node *first = NULL;
    tl_conffields_names(r, value, "a map of scopes to tiers or lists of limits", read_scope);
    for (const struct tl_node *k = value->kind == TL_NODE_MAP ? value->first : NULL; k; k = k->next->next) {
        if (!tl_conffields_is(k, "global") && !tl_conffields_is(k, "global:"))
            continue;
        if (first)
            tl_confvalue_fault(r, k, 0, "'global:' is given twice: first in line %u", first->line);
        first = k;
    }
}

static void read_unlisted(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                          const struct tl_node *value)
{
    (void)field, (void)key;
    static const char *const words[] = {"reset", "keep"};
    unsigned index;
    if (tl_confvalue_word(r, value, words, TL_COUNT_OF(words), &index))
        r->config->settings.keep_unlisted = (int)index;
}

/* --------------------------------------------------------------------------------------------------- overrun, caps */

static void read_overrun(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                         const struct tl_node *value)
{
    (void)field, (void)key;
    static const char *const words[] = {[TLSHM_CHARGE_ACTUAL] = "actual", [TLSHM_CAP_AT_ESTIMATE] = "cap"};
    unsigned index;
    if (tl_confvalue_word(r, value, words, TL_COUNT_OF(words), &index))
        r->config->settings.overrun = (enum tlshm_overrun)index;
}

static void read_caps(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                      const struct tl_node *value)
{
    (void)key;
    void *place = (char *)&r->config->settings + field->place;
    if (!tl_confvalue_limits(r, value, false, place))
        return;
    refuse_latches(r, value, place, "what happens when it is reached is said by the section already");
    const tlshm_config_limits *caps = place;
    const struct tl_node *item = value->first;
    for (unsigned i = 0; item && i < caps->count; i++, item = item->next)
        if (caps->limit[i].unit == TLSHM_CONCURRENCY)
            tl_confvalue_fault(r, item, 0, "concurrency is held and not used up: there is nothing to reach");
}

/* Nobody must rely on what is not there. */
static void read_alerts(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                        const struct tl_node *value)
{
    (void)field, (void)value;
    tl_confvalue_fault(r, key, 0, "there are no alerts in this version: nobody would be told");
}

/* --------------------------------------------------------------------------------------------------------- the whole */

static const struct tl_field sections[] = {
    {"windows", read_windows, 0, 0},
    {"geometry", tl_confsizes_read, 0, TLSHM_CONFIG_GEOMETRY},
    {"overrun", read_overrun, 0, TLSHM_CONFIG_OVERRUN},
    {"tiers", read_tiers, 0, TLSHM_CONFIG_TIERS},
    {"levels", read_levels, 0, TLSHM_CONFIG_LEVELS},
    {"scopes", read_scopes, 0, TLSHM_CONFIG_SCOPES},
    {"unlisted_scopes", read_unlisted, 0, 0},
    {"pause_at", read_caps, offsetof(tlshm_config_settings, pause_at), TLSHM_CONFIG_PAUSE_AT},
    {"shutoff_at", read_caps, offsetof(tlshm_config_settings, shutoff_at), TLSHM_CONFIG_SHUTOFF_AT},
    {"prices", tl_confprices_read, 0, TLSHM_CONFIG_PRICES},
    {"estimates", tl_confprices_estimates, 0, TLSHM_CONFIG_ESTIMATES},
    {"alerts", read_alerts, 0, 0},
};

int tl_confread(tlshm_config *config, const struct tl_node *root, struct tl_faults *faults)
{
    struct tl_reading r = {.config = config,
                           .faults = faults,
                           .limits_max = TLSHM_LIMITS_MAX,
                           .slices_max = 64,
                           .guesses = TL_READING_GUESSES};
    if (!tl_conffields_read(&r, root, sections, TL_COUNT_OF(sections)))
        return 0;
    for (size_t i = 0; i < TL_COUNT_OF(sections); i++) {
        const struct tl_node *key = tl_conffields_find(root, sections[i].name);
        if (!key || !sections[i].section)
            continue;
        config->settings.sections |= sections[i].section;
        config->section_line[tl_top_bit(sections[i].section)] = key->line;
    }
    const struct tl_node *geometry = tl_conffields_find(root, "geometry");
    if (geometry)
        tl_confsizes_rooms(&r, geometry);
    if (r.no_memory)
        return -TLSHM_ENOMEM;
    tl_confmodel_sort(config);
    return 0;
}
