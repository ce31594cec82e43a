/* SPDX-License-Identifier: MIT */
/* confdiff.c - comparing configurations, table by table. See confdiff.h. */
#include "confdiff.h"

#include <stdio.h>
#include <stdlib.h>

#include "window.h"

enum { TEXT_MAX = 4096 }; /* holds the lines of any list: at most eight limits */

struct diff {
    const tlshm_config *now, *want;
    struct tl_arena *arena;
    struct tl_changes *out;
    struct tlshm_error *err;
    int rc;
};

static void add(struct diff *d, const struct tl_change *change)
{
    struct tl_changes *out = d->out;
    if (out->count == out->room) {
        size_t room = out->room ? 2 * out->room : 16;
        struct tl_change *list = realloc(out->list, room * sizeof *list);
        if (!list) {
            d->rc = -TLSHM_ENOMEM;
            return;
        }
        out->list = list;
        out->room = room;
    }
    out->list[out->count++] = *change;
}

/* ------------------------------------------------------------------------------------------------------------ limits */

static void refuse(struct diff *d, const char *what, const char *name, unsigned line)
{
    d->rc = -TLSHM_ERANGE;
    if (!d->err)
        return;
    *d->err = (struct tlshm_error){.code = d->rc};
    snprintf(d->err->text, sizeof d->err->text, "line %u: %.64s: %s", line, name, what);
}

/* A limit as a segment with so many slices shows it. */
static bool as_shown(const tlshm_limit *limit, unsigned slices, tlshm_limit *out)
{
    uint64_t shape;
    if (tl_shape_pack(limit, 0, slices, &shape) < 0)
        return false;
    tl_shape_unpack(shape, out);
    memcpy(out->window.zone, limit->window.zone, sizeof out->window.zone);
    out->cap = limit->cap;
    return true;
}

/* Of limits as they are shown: but for the cap. */
static bool same_window(const tlshm_limit *a, const tlshm_limit *b)
{
    const tlshm_window *v = &a->window, *w = &b->window;
    return a->unit == b->unit && a->flags == b->flags && v->kind == w->kind && v->period == w->period &&
           v->slices == w->slices && v->anchor == w->anchor && v->length_ns == w->length_ns &&
           strcmp(v->zone, w->zone) == 0;
}

static bool same_limits(const tlshm_config_limits *a, const tlshm_config_limits *b)
{
    bool same = a->count == b->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = same_window(&a->limit[i], &b->limit[i]) && a->limit[i].cap == b->limit[i].cap;
    return same;
}

static bool listed_twice(const tlshm_limit *limits, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < i; j++)
            if (same_window(&limits[i], &limits[j]))
                return true;
    return false;
}

/* Limits as the segment will show them; NULL after a fault. */
static const tlshm_config_limits *shown(struct diff *d, const char *name, unsigned line,
                                        const tlshm_config_limits *limits)
{
    const tlshm_geometry *g = &d->now->settings.geometry;
    tlshm_limit *list = tl_arena_take(d->arena, limits->count * sizeof *list);
    tlshm_config_limits *out = tl_arena_take(d->arena, sizeof *out);
    if (!list || !out) {
        d->rc = -TLSHM_ENOMEM;
        return NULL;
    }
    bool sound = limits->count <= g->limits_per_scope;
    if (!sound)
        refuse(d, "more limits than the segment has room for", name, line);
    for (unsigned i = 0; sound && i < limits->count; i++)
        if (!(sound = as_shown(&limits->limit[i], g->slices, &list[i])))
            refuse(d, "a window has more slices than the segment", name, line);
    if (sound && listed_twice(list, limits->count)) {
        refuse(d, "with the segment's slices, two of the limits are the same", name, line);
        sound = false;
    }
    *out = (tlshm_config_limits){list, limits->count};
    return sound ? out : NULL;
}

/* ------------------------------------------------------------------------------------------------------------ tables */

static int order(const char *now, const char *want)
{
    if (!now || !want)
        return now ? -1 : 1;
    return strcmp(now, want);
}

static void compare_tier(struct diff *d, const tlshm_config_tier *now, const tlshm_config_tier *want)
{
    struct tl_change change = {.part = TLSHM_CONFIG_PART_TIER, .name = want ? want->name : now->name};
    change.now = (struct tl_told){.there = now != NULL, .limits = now ? &now->limits : NULL};
    if (want) {
        change.line = want->line;
        change.want = (struct tl_told){.there = true, .limits = shown(d, want->name, want->line, &want->limits)};
        if (d->rc < 0 || (now && same_limits(change.now.limits, change.want.limits)))
            return;
    }
    add(d, &change);
}

/* Tiers that are set, or, in a second walk, those that go: nothing must be told a tier that is gone. */
static void compare_tiers(struct diff *d, bool going)
{
    const tlshm_config_tier *now, *want;
    for (size_t i = 0, j = 0; d->rc == 0;) {
        now = tlshm_config_get_tier(d->now, i);
        want = tlshm_config_get_tier(d->want, j);
        if (!now && !want)
            return;
        int side = order(now ? now->name : NULL, want ? want->name : NULL);
        if ((side < 0) == going)
            compare_tier(d, side <= 0 ? now : NULL, side >= 0 ? want : NULL);
        i += side <= 0;
        j += side >= 0;
    }
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct tl_told told_level(const tlshm_config_level *level)
{
    return level ? (struct tl_told){.there = true, .tier = level->tier, .rank = level->rank} : (struct tl_told){0};
}

static void compare_level(struct diff *d, const tlshm_config_level *now, const tlshm_config_level *want)
{
    struct tl_change change = {.part = TLSHM_CONFIG_PART_LEVEL, .name = want ? want->name : now->name};
    change.now = told_level(now);
    change.want = told_level(want);
    change.line = want ? want->line : 0;
    if (!want) { /* a level can't go: it has no default any more */
        change.want = change.now;
        change.want.tier = NULL;
    }
    if (now && change.now.rank != change.want.rank) {
        struct tl_change rank = change;
        rank.fixed = true;
        rank.now.tier = rank.want.tier = NULL;
        add(d, &rank);
        change.want.rank = change.now.rank;
    }
    if (!now || !same_name(change.now.tier, change.want.tier))
        add(d, &change);
}

static void compare_levels(struct diff *d)
{
    const tlshm_config_level *now, *want;
    for (size_t i = 0, j = 0; d->rc == 0;) {
        now = tlshm_config_get_level(d->now, i);
        want = tlshm_config_get_level(d->want, j);
        if (!now && !want)
            return;
        int side = order(now ? now->name : NULL, want ? want->name : NULL);
        compare_level(d, side <= 0 ? now : NULL, side >= 0 ? want : NULL);
        i += side <= 0;
        j += side >= 0;
    }
}

static void compare_scope(struct diff *d, const tlshm_config_scope *now, const tlshm_config_scope *want)
{
    struct tl_change change = {.part = TLSHM_CONFIG_PART_SCOPE, .name = want ? want->key : now->key};
    if (now)
        change.now = (struct tl_told){.there = true, .tier = now->tier, .limits = now->tier ? NULL : &now->limits};
    if (want) {
        change.line = want->line;
        change.want = (struct tl_told){.there = true, .tier = want->tier};
        if (!want->tier && !(change.want.limits = shown(d, want->key, want->line, &want->limits)))
            return;
    }
    bool same = now && want && same_name(now->tier, want->tier);
    if (same && !want->tier)
        same = same_limits(change.now.limits, change.want.limits);
    if (!same)
        add(d, &change);
}

/* Everything else of a scope stands in its own row; see compare_global(). */
static bool is_apart(const tlshm_config_scope *scope)
{
    return strcmp(scope->key, TL_CONFMODEL_GLOBAL) == 0;
}

static void compare_scopes(struct diff *d)
{
    const tlshm_config_scope *now, *want;
    for (size_t i = 0, j = 0; d->rc == 0;) {
        now = tlshm_config_get_scope(d->now, i);
        want = tlshm_config_get_scope(d->want, j);
        if (!now && !want)
            return;
        int side = order(now ? now->key : NULL, want ? want->key : NULL);
        if ((side >= 0 || !d->want->settings.keep_unlisted) && !is_apart(side <= 0 ? now : want))
            compare_scope(d, side <= 0 ? now : NULL, side >= 0 ? want : NULL);
        i += side <= 0;
        j += side >= 0;
    }
}

/* ------------------------------------------------------------------------------------------------------------ global */

/* The sections of the two that count: what the wanted one does not have stays as it is. */
static const tlshm_config *side_of(const struct diff *d, unsigned section)
{
    return d->want->settings.sections & section ? d->want : d->now;
}

static const tlshm_config_limits *limits_of_tier(const struct diff *d, const char *name)
{
    const tlshm_config_tier *tier = name ? tl_confmodel_tier(side_of(d, TLSHM_CONFIG_TIERS), name) : NULL;
    return tier ? &tier->limits : NULL;
}

/* What a scope's limits are without its latches: `scope` NULL follows the default of the level. */
static const tlshm_config_limits *plain_limits(const struct diff *d, const tlshm_config_scope *scope)
{
    if (scope)
        return scope->tier ? limits_of_tier(d, scope->tier) : &scope->limits;
    const tlshm_config_level *level = tl_confmodel_level(side_of(d, TLSHM_CONFIG_LEVELS), "global");
    return limits_of_tier(d, level ? level->tier : NULL);
}

/* A list in the making, in the form that the segment shows. */
struct joint {
    unsigned count, slices;
    tlshm_limit *limit;
};

/* Adds those of `more` that are latches of this kind, or all of it as such. What is there already stays as it is. */
static void append(struct joint *to, const tlshm_config_limits *more, uint32_t latch, bool all)
{
    for (unsigned i = 0; more && i < more->count; i++) {
        tlshm_limit limit = more->limit[i], shown = limit;
        bool there = !all && (limit.flags & TL_LIMIT_LATCHES) != latch;
        limit.flags |= latch;
        if (as_shown(&limit, to->slices, &shown))
            limit = shown; /* else it is refused later */
        for (unsigned k = 0; k < to->count; k++)
            there |= same_window(&to->limit[k], &limit);
        if (!there)
            to->limit[to->count++] = limit;
    }
}

/*
 * The scope as a segment has it: latches behind its other limits. A tier may have some of its own, which go with the
 * others. NULL without memory.
 */
static const tlshm_config_scope *join(struct diff *d, unsigned line, const tlshm_config_limits *plain,
                                      const tlshm_config_limits *pause, const tlshm_config_limits *shutoff)
{
    unsigned most = (plain ? plain->count : 0) + pause->count + shutoff->count;
    struct joint list = {.slices = d->now->settings.geometry.slices};
    tlshm_config_scope *out = tl_arena_take(d->arena, sizeof *out);
    list.limit = tl_arena_take(d->arena, most * sizeof *list.limit);
    if (!list.limit || !out) {
        d->rc = -TLSHM_ENOMEM;
        return NULL;
    }
    append(&list, plain, 0, false);
    append(&list, plain, TLSHM_LIMIT_PAUSES, false);
    append(&list, pause, TLSHM_LIMIT_PAUSES, true);
    append(&list, plain, TLSHM_LIMIT_SHUTS_OFF, false);
    append(&list, shutoff, TLSHM_LIMIT_SHUTS_OFF, true);
    *out = (tlshm_config_scope){.key = TL_CONFMODEL_GLOBAL, .limits = {list.limit, list.count}, .line = line};
    return out;
}

/* Where the file says it. */
static unsigned line_of(const tlshm_config *config, const tlshm_config_scope *scope)
{
    unsigned caps = config->settings.sections & (TLSHM_CONFIG_PAUSE_AT | TLSHM_CONFIG_SHUTOFF_AT);
    return scope ? scope->line : caps ? config->section_line[tl_top_bit(caps)] : 0;
}

/*
 * Latches are limits of the scope global:, and its own. While there are some it has a list of its own, with what it would
 * have without them: a tier that changes later does not change it.
 */
static void compare_global(struct diff *d)
{
    const tlshm_config_settings *had = &d->now->settings, *settings = &d->want->settings;
    const tlshm_config_limits *pause = &side_of(d, TLSHM_CONFIG_PAUSE_AT)->settings.pause_at,
                              *shutoff = &side_of(d, TLSHM_CONFIG_SHUTOFF_AT)->settings.shutoff_at;
    const tlshm_config_scope *now = tl_confmodel_scope(d->now, TL_CONFMODEL_GLOBAL), *want = now, *listed = NULL;
    if (settings->sections & TLSHM_CONFIG_SCOPES) {
        listed = tl_confmodel_scope(d->want, TL_CONFMODEL_GLOBAL);
        want = listed || !settings->keep_unlisted ? listed : now;
    }
    if (pause->count + shutoff->count != 0)
        want = join(d, line_of(d->want, listed), plain_limits(d, want), pause, shutoff);
    if (now && !now->tier)
        now = join(d, 0, &now->limits, &had->pause_at, &had->shutoff_at);
    if (d->rc == 0 && (now || want))
        compare_scope(d, now, want);
}

/* ----------------------------------------------------------------------------------------------------------- figures */

/* What the file does not say, and mode and group, which belong to the file system, are not compared. */
static void compare_geometry(struct diff *d)
{
    const tlshm_geometry *n = &d->now->settings.geometry, *w = &d->want->settings.geometry;
    const struct {
        const char *name;
        uint64_t now, want;
    } sizes[] = {
        {"scopes", n->scopes, w->scopes},
        {"reservations", n->reservations, ((uint64_t)w->reservations + 63) & ~UINT64_C(63)},
        {"limits_per_scope", n->limits_per_scope, w->limits_per_scope},
        {"slices", n->slices, w->slices},
        {"seats", n->seats, w->seats},
        {"tiers", n->tiers, w->tiers},
        {"limit_lists", n->limit_lists, w->limit_lists},
        {"models", n->models, w->models},
        {"retention", n->retention_ns, w->retention_ns},
    };
    for (size_t i = 0; i < TL_COUNT_OF(sizes); i++) {
        if (!sizes[i].want || sizes[i].want == sizes[i].now)
            continue;
        add(d, &(struct tl_change){.part = TLSHM_CONFIG_PART_GEOMETRY,
                                   .name = sizes[i].name,
                                   .fixed = true,
                                   .now_value = sizes[i].now,
                                   .value = sizes[i].want,
                                   .now.there = true,
                                   .want.there = true});
    }
}

static void compare_overrun(struct diff *d)
{
    enum tlshm_overrun now = d->now->settings.overrun, want = d->want->settings.overrun;
    if (now != want)
        add(d, &(struct tl_change){.part = TLSHM_CONFIG_PART_OVERRUN,
                                   .name = "",
                                   .now_value = now,
                                   .value = want,
                                   .now.there = true,
                                   .want.there = true});
}

int tl_confdiff(const tlshm_config *now, const tlshm_config *want, struct tl_arena *arena, struct tl_changes *out,
                struct tlshm_error *err)
{
    struct diff d = {.now = now, .want = want, .arena = arena, .out = out, .err = err};
    unsigned sections = want->settings.sections;
    *out = (struct tl_changes){0};
    if (sections & TLSHM_CONFIG_GEOMETRY)
        compare_geometry(&d);
    if (sections & TLSHM_CONFIG_OVERRUN)
        compare_overrun(&d);
    if (sections & TLSHM_CONFIG_TIERS)
        compare_tiers(&d, false);
    if (sections & TLSHM_CONFIG_LEVELS)
        compare_levels(&d);
    if (sections & (TLSHM_CONFIG_SCOPES | TLSHM_CONFIG_PAUSE_AT | TLSHM_CONFIG_SHUTOFF_AT))
        compare_global(&d);
    if (sections & TLSHM_CONFIG_SCOPES)
        compare_scopes(&d);
    if (sections & TLSHM_CONFIG_TIERS)
        compare_tiers(&d, true);
    return d.rc;
}

void tl_confdiff_free(struct tl_changes *changes)
{
    free(changes->list);
    *changes = (struct tl_changes){0};
}

/* ----------------------------------------------------------------------------------------------------------- telling */

static void put_limits(struct tl_text *w, const tlshm_config_limits *limits)
{
    char text[TEXT_MAX / 8];
    for (unsigned i = 0; i < limits->count; i++) {
        tlshm_limit_format(&limits->limit[i], text, sizeof text);
        tl_text_put(w, i ? "\n" : "");
        tl_text_put(w, text);
    }
}

static void put_figure(struct tl_text *w, const struct tl_change *change, uint64_t value)
{
    char text[64];
    if (change->part == TLSHM_CONFIG_PART_OVERRUN) {
        tl_text_put(w, value == TLSHM_CAP_AT_ESTIMATE ? "cap" : "actual");
    } else if (strcmp(change->name, "retention") == 0) {
        tlshm_duration_format(value, text, sizeof text);
        tl_text_put(w, text);
    } else {
        tl_text_put_number(w, value);
    }
}

static void put_level(struct tl_text *w, const struct tl_told *told, bool ranked)
{
    if (ranked) {
        tl_text_put(w, "rank ");
        tl_text_put_number(w, told->rank);
    }
    if (told->tier) {
        tl_text_put(w, ranked ? "\ndefault " : "default ");
        tl_text_put(w, told->tier);
    }
}

/* Lines; NULL for what is not there. */
static const char *lines(const struct tl_change *change, const struct tl_told *told, uint64_t value, char *buf)
{
    struct tl_text w = {buf, TEXT_MAX, 0};
    if (!told->there)
        return NULL;
    if (change->part == TLSHM_CONFIG_PART_GEOMETRY || change->part == TLSHM_CONFIG_PART_OVERRUN) {
        put_figure(&w, change, value);
    } else if (change->part == TLSHM_CONFIG_PART_LEVEL) {
        put_level(&w, told, change->fixed || !change->now.there);
    } else if (told->tier) {
        tl_text_put(&w, "tier ");
        tl_text_put(&w, told->tier);
    } else {
        put_limits(&w, told->limits);
    }
    tl_text_end(&w);
    return buf;
}

void tl_confdiff_tell(const struct tl_change *change, tlshm_config_changed changed, void *context)
{
    char before[TEXT_MAX], after[TEXT_MAX];
    const tlshm_config_change told = {
        .part = change->part,
        .name = change->name,
        .line = change->line,
        .fixed = change->fixed,
        .before = lines(change, &change->now, change->now_value, before),
        .after = lines(change, &change->want, change->value, after),
    };
    changed(context, &told);
}
