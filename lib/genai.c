/* SPDX-License-Identifier: MIT */
/* genai.c - reads genai-prices' table. */
#include "genai.h"

#include <stdio.h>

#include "when.h"

enum { SCALE = 6, REQUEST_SCALE = 9, DEPTH_MAX = 16, WHERE_MAX = 2 * TLSHM_MODEL_MAX + 2 };

static const struct {
    const char *key;
    uint8_t part;
    uint8_t scale;
} parts[] = {
    {"input_mtok", TLSHM_PART_INPUT, SCALE},
    {"cache_read_mtok", TLSHM_PART_CACHE_READ, SCALE},
    {"cache_write_mtok", TLSHM_PART_CACHE_WRITE, SCALE},
    {"input_audio_mtok", TLSHM_PART_INPUT_AUDIO, SCALE},
    {"cache_audio_read_mtok", TLSHM_PART_CACHE_READ_AUDIO, SCALE},
    {"input_image_mtok", TLSHM_PART_INPUT_IMAGE, SCALE},
    {"output_mtok", TLSHM_PART_OUTPUT, SCALE},
    {"output_audio_mtok", TLSHM_PART_OUTPUT_AUDIO, SCALE},
    {"output_image_mtok", TLSHM_PART_OUTPUT_IMAGE, SCALE},
    {"requests_kcount", TLSHM_PART_REQUEST, REQUEST_SCALE},
};

static const struct {
    const char *key;
    enum tl_match_kind kind;
} rules[] = {
    {"equals", TL_MATCH_EQUALS},     {"starts_with", TL_MATCH_STARTS}, {"ends_with", TL_MATCH_ENDS},
    {"contains", TL_MATCH_CONTAINS}, {"regex", TL_MATCH_REGEX},        {"or", TL_MATCH_OR},
    {"and", TL_MATCH_AND},
};

/* ------------------------------------------------------------------------------------------------------------- rules */

static struct tl_clause *read_rule(const struct tl_reading *r, const char *where, const json_t *rule, unsigned depth);

static bool read_parts(const struct tl_reading *r, const char *where, const json_t *list, struct tl_clause *clause,
                       unsigned depth)
{
    const struct tl_clause **link = &clause->child;
    size_t i;
    json_t *rule;
    json_array_foreach(list, i, rule)
    {
        struct tl_clause *part = read_rule(r, where, rule, depth);
        if (!part)
            return false;
        *link = part;
        link = &part->next;
    }
    return true;
}

static bool compile(const struct tl_reading *r, struct tl_clause *clause)
{
    struct tl_regex *entry = tl_arena_take(&r->catalogue->arena, sizeof *entry);
    if (!entry)
        return false;
    entry->code = clause->regex = tl_match_compile(clause->text, clause->length);
    entry->next = r->catalogue->regexes;
    r->catalogue->regexes = entry;
    if (!clause->regex)
        clause->kind = TL_MATCH_NEVER;
    return true;
}

/* False without memory. What is not understood leaves NEVER behind. */
static bool fill_rule(const struct tl_reading *r, const char *where, const json_t *value, struct tl_clause *clause,
                      unsigned depth)
{
    if (clause->kind == TL_MATCH_OR || clause->kind == TL_MATCH_AND) {
        bool is_list = json_is_array(value) && depth < DEPTH_MAX;
        clause->kind = is_list ? clause->kind : TL_MATCH_NEVER;
        return !is_list || read_parts(r, where, value, clause, depth + 1);
    }
    clause->length = json_string_length(value);
    if (!clause->length) {
        clause->kind = TL_MATCH_NEVER;
        return true;
    }
    char *text = tl_arena_copy(&r->catalogue->arena, json_string_value(value), clause->length);
    if (!text)
        return false;
    clause->text = text;
    if (clause->kind == TL_MATCH_REGEX)
        return compile(r, clause);
    tl_match_fold(text, text, clause->length);
    return true;
}

static struct tl_clause *read_rule(const struct tl_reading *r, const char *where, const json_t *rule, unsigned depth)
{
    struct tl_clause *clause = tl_arena_take(&r->catalogue->arena, sizeof *clause);
    for (size_t i = 0; clause && i < sizeof rules / sizeof *rules; i++) {
        const json_t *value = json_object_get(rule, rules[i].key);
        if (!value)
            continue;
        clause->kind = rules[i].kind;
        if (!fill_rule(r, where, value, clause, depth))
            return NULL;
        break;
    }
    if (clause && clause->kind == TL_MATCH_NEVER)
        tl_draft_warn(r, where, "a rule that is not understood matches nothing");
    return clause;
}

/* ------------------------------------------------------------------------------------------------------------ prices */

static void read_tiers(struct tl_draft *d, const char *key, const json_t *value, unsigned scale, struct tl_rate rate)
{
    const json_t *tiers = json_object_get(value, "tiers");
    size_t i;
    json_t *tier;
    tl_draft_add(d, key, json_object_get(value, "base"), scale, rate);
    json_array_foreach(tiers, i, tier)
    {
        if (tl_draft_step(d, key, json_object_get(tier, "start"), &rate.above))
            tl_draft_add(d, key, json_object_get(tier, "price"), scale, rate);
    }
}

static void read_prices(struct tl_draft *d, json_t *prices)
{
    const char *key;
    json_t *value;
    json_object_foreach(prices, key, value)
    {
        size_t i = 0;
        while (i < sizeof parts / sizeof *parts && strcmp(key, parts[i].key) != 0)
            i++;
        if (i == sizeof parts / sizeof *parts)
            tl_draft_warn(d->reading, d->name,
                          "%.40s: such a price is not known; it is charged as what it is a part of", key);
        else if (json_is_object(value))
            read_tiers(d, key, value, parts[i].scale, (struct tl_rate){.part = parts[i].part});
        else
            tl_draft_add(d, key, value, parts[i].scale, (struct tl_rate){.part = parts[i].part});
    }
}

/* False if there is one that is not understood: such prices are left out. */
static bool read_constraint(const json_t *when, struct tl_tariff *out)
{
    const char *date = json_string_value(json_object_get(when, "start_date"));
    const char *start = json_string_value(json_object_get(when, "start_time"));
    const char *end = json_string_value(json_object_get(when, "end_time"));
    if (!when || json_is_null(when))
        return true;
    out->kind = date ? TL_TARIFF_FROM : TL_TARIFF_DAILY;
    if (date)
        return tl_when_date(date, &out->from_s);
    return start && end && tl_when_time(start, &out->start_s) && tl_when_time(end, &out->end_s);
}

/* One of several prices of a model. False without memory. */
static bool read_dated(struct tl_draft *d, struct tl_model *model, const json_t *entry)
{
    struct tl_tariff when = {.kind = TL_TARIFF_ALWAYS};
    d->count = 0;
    if (!read_constraint(json_object_get(entry, "constraint"), &when)) {
        tl_draft_warn(d->reading, d->name, "prices with a constraint that is not understood are left out");
        return true;
    }
    read_prices(d, json_object_get(entry, "prices"));
    struct tl_tariff *tariff = tl_catalogue_add_tariff(d->reading->catalogue, model, d->rates, d->count);
    if (!tariff)
        return false;
    tariff->kind = when.kind;
    tariff->from_s = when.from_s;
    tariff->start_s = when.start_s;
    tariff->end_s = when.end_s;
    return true;
}

static bool read_all_prices(struct tl_draft *d, struct tl_model *model, json_t *prices)
{
    size_t i;
    json_t *entry;
    d->count = 0;
    d->refused = false;
    if (!json_is_array(prices)) {
        read_prices(d, prices);
        return tl_catalogue_add_tariff(d->reading->catalogue, model, d->rates, d->count);
    }
    json_array_foreach(prices, i, entry)
    {
        if (!read_dated(d, model, entry))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- models and providers */

/* A string of 1 .. TLSHM_MODEL_MAX bytes; NULL. */
static const char *read_id(const json_t *entry)
{
    const json_t *id = json_object_get(entry, "id");
    size_t length = json_string_length(id);
    return length >= 1 && length <= TLSHM_MODEL_MAX ? json_string_value(id) : NULL;
}

static int read_model(const struct tl_reading *r, struct tl_provider *provider, const json_t *entry)
{
    char where[WHERE_MAX];
    struct tl_draft draft;
    const char *id = read_id(entry);
    if (!id) {
        tl_draft_warn(r, provider->name, "a model without an id, or with one of more than %d bytes, is left out",
                      TLSHM_MODEL_MAX);
        return 0;
    }
    snprintf(where, sizeof where, "%s/%s", provider->name, id);
    draft.reading = r;
    draft.name = where;
    struct tl_model *model = tl_catalogue_add_model(r->catalogue, provider, id, strlen(id));
    if (!model || !(model->match = read_rule(r, where, json_object_get(entry, "match"), 0)))
        return -TLSHM_ENOMEM;
    if (!read_all_prices(&draft, model, json_object_get(entry, "prices")))
        return -TLSHM_ENOMEM;
    if (draft.refused)
        model->lack = TLSHM_LACKS_SENSE;
    tl_catalogue_close_model(r->catalogue, model, false);
    return 0;
}

static bool read_provider_rules(const struct tl_reading *r, struct tl_provider *provider, const json_t *entry)
{
    const json_t *by_model = json_object_get(entry, "model_match");
    const json_t *by_provider = json_object_get(entry, "provider_match");
    if (by_model && !(provider->model_match = read_rule(r, provider->name, by_model, 0)))
        return false;
    return !by_provider || (provider->provider_match = read_rule(r, provider->name, by_provider, 0));
}

static bool read_fallbacks(const struct tl_reading *r, struct tl_provider *provider, const json_t *list)
{
    size_t count = json_array_size(list);
    struct tl_span *spans = tl_arena_take(&r->catalogue->arena, count * sizeof *spans);
    for (size_t i = 0; spans && i < count; i++) {
        const json_t *id = json_array_get(list, i);
        size_t length = json_string_length(id);
        char *text = tl_arena_copy(&r->catalogue->arena, length ? json_string_value(id) : "", length);
        if (!text)
            return false;
        tl_match_fold(text, text, length);
        spans[provider->fallback_count++] = (struct tl_span){text, length};
    }
    provider->fallbacks = spans;
    return spans != NULL;
}

static int read_provider(const struct tl_reading *r, const json_t *entry, size_t place)
{
    const json_t *models = json_object_get(entry, "models");
    const char *id = read_id(entry);
    size_t i;
    json_t *model;
    if (!id || !json_is_array(models)) {
        char where[32];
        snprintf(where, sizeof where, "element %zu", place + 1);
        tl_draft_warn(r, where, "left out: a provider has an id and models");
        return 0;
    }
    struct tl_provider *provider = tl_catalogue_add_provider(r->catalogue, id, strlen(id));
    if (!provider || !read_provider_rules(r, provider, entry) ||
        !read_fallbacks(r, provider, json_object_get(entry, "fallback_model_providers")))
        return -TLSHM_ENOMEM;
    json_array_foreach(models, i, model)
    {
        int rc = read_model(r, provider, model);
        if (rc)
            return rc;
    }
    return 0;
}

bool tl_genai_is(const json_t *root)
{
    return json_is_array(root);
}

int tl_genai_read(const struct tl_reading *r, const json_t *root)
{
    size_t i;
    json_t *entry;
    r->catalogue->info.format = TLSHM_PRICES_GENAI;
    json_array_foreach(root, i, entry)
    {
        int rc = read_provider(r, entry, i);
        if (rc)
            return rc;
    }
    return 0;
}
