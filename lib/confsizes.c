/* SPDX-License-Identifier: MIT */
/* confsizes.c - the geometry in a configuration file, and what it has room for. See confsizes.h. */
#include "confsizes.h"

#include <grp.h>
#include <stdlib.h>

#include "layout.h"

static void *geometry_field(struct tl_reading *r, const struct tl_field *field)
{
    return (char *)&r->config->settings.geometry + field->place;
}

static void read_size(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                      const struct tl_node *value)
{
    (void)key;
    uint64_t number;
    uint32_t low = 0, high = 0;
    if (tl_layout_range(field->name, &low, &high) && tl_confvalue_number(r, value, low, high, &number))
        *(uint32_t *)geometry_field(r, field) = (uint32_t)number;
}

static void read_retention(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                           const struct tl_node *value)
{
    (void)key;
    uint64_t ns;
    if (!tl_confvalue_duration(r, value, &ns))
        return;
    tlshm_geometry geometry = {.retention_ns = ns};
    if (ns == 0 || tlshm_geometry_bytes(&geometry) == 0)
        tl_confvalue_fault(r, value, 0, "expected a time above 0 and below 36 years, not %.64s", value->text);
    else
        *(uint64_t *)geometry_field(r, field) = ns;
}

static void read_mode(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                      const struct tl_node *value)
{
    (void)key;
    if (!tl_confvalue_text(r, value, "permissions in octal such as 0660"))
        return;
    bool octal = value->len >= 3 && value->len <= 4 && strspn(value->text, "01234567") == value->len;
    unsigned long mode = octal ? strtoul(value->text, NULL, 8) : 0;
    if (mode == 0 || mode > 0777)
        tl_confvalue_fault(r, value, 0, "expected permissions in octal such as 0660, not '%.64s'", value->text);
    else
        *(uint32_t *)geometry_field(r, field) = (uint32_t)mode;
}

static void read_group(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                       const struct tl_node *value)
{
    (void)key;
    uint64_t gid;
    struct group entry, *found = NULL;
    char names[16384]; /* of the group's members, which nobody asks for */
    if (!tl_confvalue_text(r, value, "a group's name or number"))
        return;
    if (value->text[0] >= '0' && value->text[0] <= '9') {
        if (tl_confvalue_number(r, value, 0, UINT32_MAX - 1, &gid))
            *(uint32_t *)geometry_field(r, field) = (uint32_t)gid;
    } else if (getgrnam_r(value->text, &entry, names, sizeof names, &found) == 0 && found) {
        *(uint32_t *)geometry_field(r, field) = (uint32_t)found->gr_gid;
    } else {
        tl_confvalue_fault(r, value, 0, "unknown group '%.64s': this machine does not have it", value->text);
    }
}

static void read_flag(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                      const struct tl_node *value)
{
    (void)key;
    static const char *const words[] = {"false", "true"};
    unsigned index;
    if (tl_confvalue_word(r, value, words, TL_COUNT_OF(words), &index))
        *(int *)geometry_field(r, field) = (int)index;
}

#define SIZE(name)                                                                                                     \
    {                                                                                                                  \
#name, read_size, offsetof(tlshm_geometry, name), 0                                                            \
    }
static const struct tl_field geometry_fields[] = {
    SIZE(scopes),
    SIZE(reservations),
    SIZE(limits_per_scope),
    SIZE(slices),
    SIZE(seats),
    SIZE(tiers),
    SIZE(limit_lists),
    SIZE(models),
    {"retention", read_retention, offsetof(tlshm_geometry, retention_ns), 0},
    {"mode", read_mode, offsetof(tlshm_geometry, mode), 0},
    {"group", read_group, offsetof(tlshm_geometry, group), 0},
    {"virtual_clock", read_flag, offsetof(tlshm_geometry, virtual_clock), 0},
};

/* What the geometry allows bounds what the file may say; without one, any segment that there can be does. */
void tl_confsizes_read(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                       const struct tl_node *value)
{
    (void)field, (void)key;
    const char *what;
    if (!tl_conffields_read(r, value, geometry_fields, TL_COUNT_OF(geometry_fields)))
        return;
    tlshm_geometry full = r->config->settings.geometry;
    if (tl_layout_geometry(&full, &what) < 0)
        return; /* told already */
    r->limits_max = full.limits_per_scope;
    r->slices_max = full.slices;
}

/* Rooms of the segment that the whole file must fit into. */
void tl_confsizes_rooms(struct tl_reading *r, const struct tl_node *key)
{
    const char *what;
    const tlshm_config *c = r->config;
    tlshm_geometry full = c->settings.geometry;
    size_t lists = c->tiers.count;
    if (tl_layout_geometry(&full, &what) < 0)
        return;
    for (size_t i = 0; i < c->scopes.count; i++)
        lists += !tlshm_config_get_scope(c, i)->tier;
    if (c->tiers.count > full.tiers)
        tl_confvalue_fault(r, key, 0, "room for %u tiers, and the file has %zu", full.tiers, c->tiers.count);
    if (c->scopes.count > full.scopes)
        tl_confvalue_fault(r, key, 0, "room for %u scopes, and the file has %zu", full.scopes, c->scopes.count);
    if (lists > full.limit_lists)
        tl_confvalue_fault(r, key, 0, "room for %u limit lists, and the file has %zu", full.limit_lists, lists);
}
