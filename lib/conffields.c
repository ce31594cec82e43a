/* SPDX-License-Identifier: MIT */
/* conffields.c - walking through the keys of a map. See conffields.h. */
#include "conffields.h"

enum { FIELDS_MAX = 16 };

bool tl_conffields_is(const struct tl_node *key, const char *name)
{
    return key->kind == TL_NODE_TEXT && strcmp(key->text, name) == 0;
}

static void refuse_unknown(struct tl_reading *r, const struct tl_node *map, const struct tl_field *fields, size_t count)
{
    const char *names[FIELDS_MAX];
    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    for (const struct tl_node *key = map->first; key; key = key->next->next) {
        bool known = key->kind == TL_NODE_BROKEN;
        for (size_t i = 0; i < count; i++)
            known |= tl_conffields_is(key, names[i]);
        if (!known)
            tl_confvalue_unknown(r, key, "key", names, count);
    }
}

bool tl_conffields_read(struct tl_reading *r, const struct tl_node *map, const struct tl_field *fields, size_t count)
{
    if (map->kind != TL_NODE_MAP) {
        tl_confvalue_expected(r, map, "a map of keys");
        return false;
    }
    refuse_unknown(r, map, fields, count);
    for (size_t i = 0; i < count && !r->no_memory; i++)
        for (const struct tl_node *key = map->first; key; key = key->next->next)
            if (tl_conffields_is(key, fields[i].name))
                fields[i].read(r, &fields[i], key, key->next);
    return true;
}

void tl_conffields_names(struct tl_reading *r, const struct tl_node *map, const char *what,
                         void (*read)(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value))
{
    if (map->kind != TL_NODE_MAP) {
        tl_confvalue_expected(r, map, what);
        return;
    }
    for (const struct tl_node *key = map->first; key && !r->no_memory; key = key->next->next)
        if (key->kind == TL_NODE_TEXT)
            read(r, key, key->next);
}

char *tl_conffields_keep(struct tl_reading *r, const char *text, size_t len)
{
    char *copy = tl_arena_copy(&r->config->arena, text, len);
    r->no_memory |= !copy;
    return copy;
}

const struct tl_node *tl_conffields_find(const struct tl_node *map, const char *name)
{
    for (const struct tl_node *key = map->first; key; key = key->next->next)
        if (tl_conffields_is(key, name))
            return key;
    return NULL;
}
