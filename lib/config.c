/* SPDX-License-Identifier: MIT */
/* config.c - configurations from files and from segments, and what of them no segment holds. */
#include <tlshm/config.h>
#include <tlshm/stats.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "confread.h"
#include "pending.h"
#include "segment.h"

/* ------------------------------------------------------------------------------------------------------ from a file */

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
        tl_faults_fail(err, rc, 0, name, tlshm_error_text(rc));
    tl_faults_free(&faults);
    return rc;
}

int tlshm_config_parse(tlshm_config **out, const char *text, size_t size, tlshm_config_fault fault, void *context,
                       struct tlshm_error *err)
{
    if (!out || (!text && size))
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    if (size > TLSHM_CONFIG_BYTES_MAX)
        return tl_faults_fail(err, -TLSHM_ERANGE, 0, NULL, "the text is too large for a configuration");
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
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    FILE *file = fopen(path, "rbe");
    if (!file)
        return tl_faults_fail(err, system_error(errno), errno, path, strerror(errno));
    errno = 0;
    int rc = read_all(file, &text, &size), sys = errno;
    fclose(file);
    if (rc < 0)
        tl_faults_fail(err, rc, sys, path, rc == -TLSHM_ESYS ? strerror(sys) : tlshm_error_text(rc));
    else if (size > TLSHM_CONFIG_BYTES_MAX)
        rc = tl_faults_fail(err, -TLSHM_ERANGE, 0, path, "the file is too large for a configuration");
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

/* What of the limits has just this flag of the latches, or none; it is not kept. False without memory. */
static bool keep_limits(tlshm_config *c, const tlshm_scope_usage *usage, unsigned latch, tlshm_config_limits *out)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < usage->limit_count; i++) {
        if ((usage->limits[i].limit.flags & TL_LIMIT_LATCHES) != latch)
            continue;
        limits[count] = usage->limits[i].limit;
        limits[count++].flags &= ~TL_LIMIT_LATCHES;
    }
    return tl_confmodel_limits(c, out, limits, count);
}

static int add_global(tlshm_config *c, tlshm_config_scope *scope, const tlshm_scope_usage *usage)
{
    bool kept = keep_limits(c, usage, 0, &scope->limits) &&
                keep_limits(c, usage, TLSHM_LIMIT_PAUSES, &c->settings.pause_at) &&
                keep_limits(c, usage, TLSHM_LIMIT_SHUTS_OFF, &c->settings.shutoff_at);
    return kept ? 0 : -TLSHM_ENOMEM;
}

static int add_scope(tlshm_config *c, const char *key, const tlshm_scope_usage *usage)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    tlshm_config_scope *scope = tl_confmodel_add_scope(c);
    if (!scope || !(scope->key = keep(c, key)))
        return -TLSHM_ENOMEM;
    if (usage->source == TLSHM_LIMITS_TIER)
        return (scope->tier = keep(c, usage->tier)) ? 0 : -TLSHM_ENOMEM;
    if (strcmp(key, TL_CONFMODEL_GLOBAL) == 0)
        return add_global(c, scope, usage);
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
    c->settings.sections = TLSHM_CONFIG_GEOMETRY | TLSHM_CONFIG_OVERRUN | TLSHM_CONFIG_TIERS | TLSHM_CONFIG_LEVELS |
                           TLSHM_CONFIG_SCOPES | TLSHM_CONFIG_PAUSE_AT | TLSHM_CONFIG_SHUTOFF_AT;
    if ((rc = read_tiers(c, t)) < 0 || (rc = read_levels(c, t)) < 0 || (rc = read_scopes(c, t)) < 0)
        return rc;
    tl_confmodel_sort(c);
    tl_confmodel_prune(c); /* a tier that was unset is still named by what had it */
    return 0;
}

#define READS 64 /* again while configurations are being applied */

/* 0; 1: a configuration was applied meanwhile, what was read may be half of each; or an error. */
static int read_once(tlshm_config **out, tlshm_t *t)
{
    uint64_t change = tl_pending_change(&t->map);
    tlshm_config *c = tl_confmodel_new();
    int rc = c ? read_segment(c, t) : -TLSHM_ENOMEM;
    if (rc == 0 && tl_pending_change(&t->map) != change)
        rc = 1;
    if (rc == 0)
        *out = c;
    else
        tlshm_config_free(c);
    return rc;
}

int tlshm_config_read(tlshm_config **out, tlshm_t *t)
{
    int rc = 1;
    if (!out || !t)
        return -TLSHM_EINVAL;
    for (unsigned reads = 0; rc == 1 && reads < READS; reads++)
        rc = read_once(out, t);
    return rc == 1 ? -TLSHM_ECONTENDED : rc;
}
