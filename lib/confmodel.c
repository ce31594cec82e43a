/* SPDX-License-Identifier: MIT */
/* confmodel.c - tables that grow, and what is looked up in them. See confmodel.h. */
#include "confmodel.h"

#include <stdlib.h>

/* A row begins with its name. */
struct named {
    const char *name;
};

tlshm_config *tl_confmodel_new(void)
{
    tlshm_config *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->tiers.size = sizeof(tlshm_config_tier);
    c->levels.size = sizeof(tlshm_config_level);
    c->scopes.size = sizeof(tlshm_config_scope);
    c->prices.size = sizeof(tlshm_config_price);
    return c;
}

void tlshm_config_free(tlshm_config *c)
{
    if (!c)
        return;
    free(c->tiers.rows);
    free(c->levels.rows);
    free(c->scopes.rows);
    free(c->prices.rows);
    tl_arena_free(&c->arena);
    free(c);
}

/* ---------------------------------------------------------------------------------------------------------- filling */

static void *add(struct tl_table *table)
{
    if (table->count == table->room) {
        size_t room = table->room ? 2 * table->room : 16;
        char *rows = realloc(table->rows, room * table->size);
        if (!rows)
            return NULL;
        table->rows = rows;
        table->room = room;
    }
    return memset(table->rows + table->count++ * table->size, 0, table->size);
}

tlshm_config_tier *tl_confmodel_add_tier(tlshm_config *c)
{
    return add(&c->tiers);
}

tlshm_config_level *tl_confmodel_add_level(tlshm_config *c)
{
    return add(&c->levels);
}

tlshm_config_scope *tl_confmodel_add_scope(tlshm_config *c)
{
    return add(&c->scopes);
}

tlshm_config_price *tl_confmodel_add_price(tlshm_config *c)
{
    tlshm_config_price *price = add(&c->prices);
    for (unsigned i = 0; price && i < TLSHM_CONFIG_RATES; i++)
        price->pusd[i] = TLSHM_UNLIMITED;
    return price;
}

bool tl_confmodel_limits(tlshm_config *c, tlshm_config_limits *out, const tlshm_limit *limits, unsigned count)
{
    tlshm_limit *copy = tl_arena_take(&c->arena, count * sizeof *limits);
    if (!copy)
        return false;
    if (count)
        memcpy(copy, limits, count * sizeof *limits);
    out->limit = copy;
    out->count = count;
    return true;
}

/* --------------------------------------------------------------------------------------------------------- looking */

static int by_name(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void sort(struct tl_table *table)
{
    size_t kept = 0;
    if (table->count)
        qsort(table->rows, table->count, table->size, by_name);
    for (size_t i = 0; i < table->count; i++) {
        char *from = table->rows + i * table->size, *to = table->rows + kept * table->size;
        if (kept && by_name(to - table->size, from) == 0)
            continue;
        memmove(to, from, table->size);
        kept++;
    }
    table->count = kept;
}

void tl_confmodel_sort(tlshm_config *c)
{
    sort(&c->tiers);
    sort(&c->levels);
    sort(&c->scopes);
    sort(&c->prices);
}

static const void *find(const struct tl_table *table, const char *name)
{
    const struct named key = {name};
    return table->count ? bsearch(&key, table->rows, table->count, table->size, by_name) : NULL;
}

const tlshm_config_tier *tl_confmodel_tier(const tlshm_config *c, const char *name)
{
    return find(&c->tiers, name);
}

const tlshm_config_level *tl_confmodel_level(const tlshm_config *c, const char *name)
{
    return find(&c->levels, name);
}

const tlshm_config_scope *tl_confmodel_scope(const tlshm_config *c, const char *key)
{
    return find(&c->scopes, key);
}

void tl_confmodel_prune(tlshm_config *c)
{
    tlshm_config_level *levels = (void *)c->levels.rows;
    tlshm_config_scope *scopes = (void *)c->scopes.rows;
    size_t kept = 0;
    for (size_t i = 0; i < c->levels.count; i++)
        if (levels[i].tier && !tl_confmodel_tier(c, levels[i].tier))
            levels[i].tier = NULL;
    for (size_t i = 0; i < c->scopes.count; i++)
        if (!scopes[i].tier || tl_confmodel_tier(c, scopes[i].tier))
            scopes[kept++] = scopes[i];
    c->scopes.count = kept;
}

static const void *row(const struct tl_table *table, size_t index)
{
    return index < table->count ? table->rows + index * table->size : NULL;
}

const tlshm_config_settings *tlshm_config_get_settings(const tlshm_config *config)
{
    return config ? &config->settings : NULL;
}

const tlshm_config_tier *tlshm_config_get_tier(const tlshm_config *config, size_t index)
{
    return config ? row(&config->tiers, index) : NULL;
}

const tlshm_config_level *tlshm_config_get_level(const tlshm_config *config, size_t index)
{
    return config ? row(&config->levels, index) : NULL;
}

const tlshm_config_scope *tlshm_config_get_scope(const tlshm_config *config, size_t index)
{
    return config ? row(&config->scopes, index) : NULL;
}

const tlshm_config_price *tlshm_config_get_price(const tlshm_config *config, size_t index)
{
    return config ? row(&config->prices, index) : NULL;
}
