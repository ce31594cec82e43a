/* SPDX-License-Identifier: MIT */
/* catalogue.c - the models of a price table and how they are found. */
#include "catalogue.h"

#include <stdlib.h>

#include "hash.h"

#define DAY_S 86400
#define SECOND_NS INT64_C(1000000000)

/* ---------------------------------------------------------------------------------------------------------- building */

static bool fold(struct tl_catalogue *c, const char *name, size_t length, struct tl_span *out)
{
    char *text = tl_arena_copy(&c->arena, name, length);
    if (!text)
        return false;
    tl_match_fold(text, name, length);
    *out = (struct tl_span){text, length};
    return true;
}

struct tl_provider *tl_catalogue_add_provider(struct tl_catalogue *c, const char *name, size_t length)
{
    struct tl_provider *provider = tl_arena_take(&c->arena, sizeof *provider);
    if (!provider || !fold(c, name, length, &provider->folded))
        return NULL;
    provider->name = tl_arena_copy(&c->arena, name, length);
    if (!provider->name)
        return NULL;
    if (c->last)
        c->last->next = provider;
    else
        c->providers = provider;
    c->last = provider;
    c->info.providers++;
    return provider;
}

struct tl_model *tl_catalogue_add_model(struct tl_catalogue *c, struct tl_provider *provider, const char *name,
                                        size_t length)
{
    struct tl_model *model = tl_arena_take(&c->arena, sizeof *model);
    if (!model || !fold(c, name, length, &model->folded))
        return NULL;
    model->name = tl_arena_copy(&c->arena, name, length);
    if (!model->name)
        return NULL;
    model->provider = provider;
    if (provider->last)
        provider->last->next = model;
    else
        provider->models = model;
    provider->last = model;
    c->info.models++;
    return model;
}

struct tl_tariff *tl_catalogue_add_tariff(struct tl_catalogue *c, struct tl_model *model, const struct tl_rate *rates,
                                          unsigned count)
{
    struct tl_tariff *tariff = tl_arena_take(&c->arena, sizeof *tariff);
    struct tl_rate *copy = tl_arena_take(&c->arena, sizeof *copy * count);
    if (!tariff || !copy)
        return NULL;
    if (count)
        memcpy(copy, rates, sizeof *copy * count);
    tariff->rates = copy;
    tariff->count = count;
    const struct tl_tariff **link = &model->tariffs;
    while (*link)
        link = (const struct tl_tariff **)&(*link)->next;
    *link = tariff;
    return tariff;
}

/* Tariffs are told apart by what they are worth together: none with tokens is no price, all of them 0 is free. */
void tl_catalogue_close_model(struct tl_catalogue *c, struct tl_model *model, bool elsewhere)
{
    bool priced = model->tariffs != NULL, is_free = priced;
    for (const struct tl_tariff *t = model->tariffs; t; t = t->next) {
        priced = priced && tl_price_any(t->rates, t->count);
        is_free = is_free && tl_price_free(t->rates, t->count);
    }
    if (model->lack == TLSHM_LACKS_NOTHING && (!priced || (is_free && elsewhere)))
        model->lack = TLSHM_LACKS_PRICE;
    if (model->lack == TLSHM_LACKS_SENSE)
        c->info.refused++;
    else if (model->lack == TLSHM_LACKS_PRICE)
        c->info.unpriced++;
    else
        c->info.priced++;
    c->info.free += model->lack == TLSHM_LACKS_NOTHING && is_free;
}

static void enter(struct tl_catalogue *c, const struct tl_model *model)
{
    size_t at = (size_t)tl_hash(model->folded.text, model->folded.length, 0);
    while (c->index[at & (c->index_size - 1)])
        at++;
    c->index[at & (c->index_size - 1)] = model;
}

int tl_catalogue_index(struct tl_catalogue *c)
{
    size_t size = 16;
    while (size < (size_t)c->info.models * 2)
        size *= 2;
    c->index = tl_arena_take(&c->arena, size * sizeof(*c->index));
    if (!c->index)
        return -TLSHM_ENOMEM;
    c->index_size = size;
    for (struct tl_provider *p = c->providers; p; p = p->next)
        for (const struct tl_model *m = p->models; m; m = m->next)
            enter(c, m);
    return 0;
}

struct tl_catalogue *tl_catalogue_new(void)
{
    return calloc(1, sizeof(struct tl_catalogue));
}

void tl_catalogue_free(struct tl_catalogue *c)
{
    if (!c)
        return;
    for (struct tl_regex *r = c->regexes; r; r = r->next)
        tl_match_release(r->code);
    tl_arena_free(&c->arena);
    free(c);
}

/* ------------------------------------------------------------------------------------------------------------- spans */

static bool same(struct tl_span a, struct tl_span b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* "provider/rest": false if there is no slash, or nothing on one side of it. */
static bool split(struct tl_span name, struct tl_span *before, struct tl_span *after)
{
    const char *slash = name.length ? memchr(name.text, '/', name.length) : NULL;
    if (!slash || slash == name.text || slash + 1 == name.text + name.length)
        return false;
    *before = (struct tl_span){name.text, (size_t)(slash - name.text)};
    *after = (struct tl_span){slash + 1, name.length - before->length - 1};
    return true;
}

struct tl_provider *tl_catalogue_provider(const struct tl_catalogue *c, struct tl_span name)
{
    for (struct tl_provider *p = c->providers; p; p = p->next)
        if (same(p->folded, name))
            return p;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- by name */

/* Of names that differ in letter case alone, the one that was given, else the first. `exact` may be NULL. */
static const struct tl_model *by_name(const struct tl_catalogue *c, struct tl_span name, const char *exact)
{
    const struct tl_model *found = NULL;
    for (size_t at = (size_t)tl_hash(name.text, name.length, 0);; at++) {
        const struct tl_model *m = c->index[at & (c->index_size - 1)];
        if (!m)
            return found;
        if (!same(m->folded, name))
            continue;
        if (exact && strcmp(m->name, exact) == 0)
            return m;
        found = found ? found : m;
    }
}

/*
 * LiteLLM tells a provider's ways of serving apart: "vertex_ai-anthropic_models", "bedrock_converse". Who asks for
 * vertex_ai or bedrock means them too.
 */
static bool serves(struct tl_span asked, const struct tl_provider *p)
{
    if (p->folded.length < asked.length || memcmp(p->folded.text, asked.text, asked.length) != 0)
        return false;
    return p->folded.length == asked.length || p->folded.text[asked.length] == '-' ||
           p->folded.text[asked.length] == '_';
}

static const struct tl_model *by_prefixed_name(const struct tl_catalogue *c, struct tl_span provider,
                                               struct tl_span model)
{
    char text[2 * TLSHM_MODEL_MAX + 2];
    if (provider.length + model.length + 1 > sizeof text)
        return NULL;
    memcpy(text, provider.text, provider.length);
    text[provider.length] = '/';
    memcpy(text + provider.length + 1, model.text, model.length);
    return by_name(c, (struct tl_span){text, provider.length + 1 + model.length}, NULL);
}

static const struct tl_model *find_by_name(const struct tl_catalogue *c, struct tl_span provider, struct tl_span model,
                                           const char *exact)
{
    struct tl_span prefix, rest;
    const struct tl_model *m = provider.length ? by_prefixed_name(c, provider, model) : NULL;
    if (m)
        return m;
    m = by_name(c, model, exact);
    if (m && (!provider.length || serves(provider, m->provider)))
        return m;
    if (!split(model, &prefix, &rest) || (provider.length && !same(prefix, provider)))
        return NULL;
    m = by_name(c, rest, exact ? exact + prefix.length + 1 : NULL);
    return m && serves(prefix, m->provider) ? m : NULL;
}

/* ----------------------------------------------------------------------------------------------------------- by rule */

static const struct tl_model *in_provider(const struct tl_provider *p, struct tl_span model)
{
    for (const struct tl_model *m = p->models; m; m = m->next)
        if (tl_match(m->match, model.text, model.length))
            return m;
    for (const struct tl_model *m = p->models; m; m = m->next)
        if (same(m->folded, model))
            return m;
    return NULL;
}

static const struct tl_model *in_provider_or_fallbacks(const struct tl_catalogue *c, const struct tl_provider *p,
                                                       struct tl_span model)
{
    const struct tl_model *m = in_provider(p, model);
    for (unsigned i = 0; !m && i < p->fallback_count; i++) {
        const struct tl_provider *other = tl_catalogue_provider(c, p->fallbacks[i]);
        m = other ? in_provider(other, model) : NULL;
    }
    return m;
}

static const struct tl_provider *meant_by(const struct tl_catalogue *c, struct tl_span name)
{
    const struct tl_provider *p = tl_catalogue_provider(c, name);
    if (p)
        return p;
    for (p = c->providers; p; p = p->next)
        if (p->provider_match && tl_match(p->provider_match, name.text, name.length))
            return p;
    return NULL;
}

static const struct tl_model *find_by_rule(const struct tl_catalogue *c, struct tl_span provider, struct tl_span model)
{
    struct tl_span prefix = {0}, rest = {0};
    bool prefixed = split(model, &prefix, &rest);
    const struct tl_provider *p = NULL;
    const struct tl_model *m = NULL;
    if (provider.length) {
        p = meant_by(c, provider);
        m = p ? in_provider_or_fallbacks(c, p, model) : NULL;
        return m || !p || !prefixed || meant_by(c, prefix) != p ? m : in_provider_or_fallbacks(c, p, rest);
    }
    /* A name that says whose it is has said so. */
    p = prefixed ? tl_catalogue_provider(c, prefix) : NULL;
    if (p && (m = in_provider_or_fallbacks(c, p, rest)))
        return m;
    for (p = c->providers; p && !m; p = p->next)
        if (p->model_match && tl_match(p->model_match, model.text, model.length))
            m = in_provider_or_fallbacks(c, p, model);
    return m;
}

const struct tl_model *tl_catalogue_find(const struct tl_catalogue *c, struct tl_span provider, struct tl_span model,
                                         const char *exact)
{
    if (!model.length)
        return NULL;
    return c->index_size ? find_by_name(c, provider, model, exact) : find_by_rule(c, provider, model);
}

/* ----------------------------------------------------------------------------------------------------------- tariffs */

static bool holds(const struct tl_tariff *t, int64_t wall_ns)
{
    int64_t wall_s = wall_ns / SECOND_NS - (wall_ns % SECOND_NS < 0);
    int64_t of_day = (wall_s % DAY_S + DAY_S) % DAY_S;
    if (t->kind == TL_TARIFF_FROM)
        return wall_s >= t->from_s;
    if (t->kind == TL_TARIFF_ALWAYS)
        return true;
    if (t->start_s <= t->end_s)
        return of_day >= t->start_s && of_day < t->end_s;
    return of_day >= t->start_s || of_day < t->end_s;
}

const struct tl_tariff *tl_catalogue_tariff(const struct tl_model *model, int64_t wall_ns)
{
    const struct tl_tariff *found = model->tariffs;
    for (const struct tl_tariff *t = model->tariffs; t; t = t->next)
        if (holds(t, wall_ns))
            found = t;
    return found;
}

/* ----------------------------------------------------------------------------------------------------------- nearest */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Insertions, deletions and replacements between two names of at most TLSHM_MODEL_MAX bytes. */
static unsigned distance(struct tl_span a, struct tl_span b)
{
    unsigned row[TLSHM_MODEL_MAX + 1];
    for (unsigned j = 0; j <= b.length; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.length; i++) {
        unsigned corner = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.length; j++) {
            unsigned replaced = corner + (a.text[i - 1] != b.text[j - 1]);
            corner = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.length];
}

const struct tl_model *tl_catalogue_nearest(const struct tl_catalogue *c, struct tl_span name)
{
    const struct tl_model *best = NULL;
    unsigned best_distance = (unsigned)name.length / 3 + 2; /* further away is another name */
    for (struct tl_provider *p = c->providers; p; p = p->next)
        for (const struct tl_model *m = p->models; m; m = m->next) {
            size_t a = m->folded.length, b = name.length;
            if ((a > b ? a - b : b - a) >= best_distance)
                continue;
            unsigned d = distance(m->folded, name);
            if (d >= best_distance)
                continue;
            best = m;
            best_distance = d;
        }
    return best;
}
