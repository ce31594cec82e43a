/* SPDX-License-Identifier: MIT */
/* litellm.c - reads LiteLLM's price table. */
#include "litellm.h"

enum { SCALE = 12, STEP = 1000, STEP_DIGITS = 9 };

#define SEARCHES "search_context_cost_per_query"
#define EXAMPLE "sample_spec" /* LiteLLM's entry that explains the others */

static const struct {
    const char *key;
    uint8_t part;
} parts[] = {
    {"input_cost_per_token", TLSHM_PART_INPUT},
    {"cache_read_input_token_cost", TLSHM_PART_CACHE_READ},
    {"input_cost_per_token_cache_hit", TLSHM_PART_CACHE_READ},
    {"cache_creation_input_token_cost", TLSHM_PART_CACHE_WRITE},
    {"cache_creation_input_token_cost_above_1hr", TLSHM_PART_CACHE_WRITE_1H},
    {"input_cost_per_audio_token", TLSHM_PART_INPUT_AUDIO},
    {"cache_read_input_audio_token_cost", TLSHM_PART_CACHE_READ_AUDIO},
    {"input_cost_per_image_token", TLSHM_PART_INPUT_IMAGE},
    {"output_cost_per_token", TLSHM_PART_OUTPUT},
    {"output_cost_per_reasoning_token", TLSHM_PART_REASONING},
    {"output_cost_per_audio_token", TLSHM_PART_OUTPUT_AUDIO},
    {"output_cost_per_image_token", TLSHM_PART_OUTPUT_IMAGE},
    {"input_cost_per_request", TLSHM_PART_REQUEST},
};

static const struct {
    const char *suffix;
    uint8_t service;
} services[] = {
    {"", TLSHM_SERVICE_STANDARD},
    {"_batches", TLSHM_SERVICE_BATCH},
    {"_priority", TLSHM_SERVICE_PRIORITY},
    {"_flex", TLSHM_SERVICE_FLEX},
};

/* -------------------------------------------------------------------------------------------------------------- keys */

/* Takes "_above_200k_tokens" off the front; nothing is a step of 0. False if something else stands there. */
static bool take_step(const char **at, uint64_t *above)
{
    static const char before[] = "_above_", after[] = "k_tokens";
    const char *digit = *at + sizeof before - 1;
    *above = 0;
    if (strncmp(*at, before, sizeof before - 1) != 0)
        return true;
    for (unsigned n = 0; *digit >= '0' && *digit <= '9' && n < STEP_DIGITS; digit++, n++)
        *above = *above * 10 + (uint64_t)(*digit - '0');
    if (*above == 0 || strncmp(digit, after, sizeof after - 1) != 0)
        return false;
    *above *= STEP;
    *at = digit + sizeof after - 1;
    return true;
}

static bool take_service(const char *at, uint8_t *service)
{
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        if (strcmp(at, services[i].suffix) != 0)
            continue;
        *service = services[i].service;
        return true;
    }
    return false;
}

/* What a key prices; false if it is no price of tokens or requests. */
static bool read_key(const char *key, struct tl_rate *rate)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i].key);
        const char *at = key + length;
        if (strncmp(key, parts[i].key, length) != 0)
            continue;
        *rate = (struct tl_rate){.part = parts[i].part};
        if (take_step(&at, &rate->above) && take_service(at, &rate->service))
            return true;
    }
    return false;
}

/* Something else that costs money: "output_cost_per_image": 0.04. */
static bool is_other_price(const char *key, const json_t *value)
{
    return strstr(key, "_cost") && json_is_number(value) && json_number_value(value) > 0;
}

/* ------------------------------------------------------------------------------------------------------------ models */

/* One step of tiered_pricing: its prices hold for more input than its range begins with. */
static void read_tier(struct tl_draft *d, const json_t *tier)
{
    const char *key;
    json_t *value;
    struct tl_rate rate;
    uint64_t above;
    if (!tl_draft_step(d, "tiered_pricing: range", json_array_get(json_object_get(tier, "range"), 0), &above))
        return;
    json_object_foreach((json_t *)tier, key, value)
    {
        if (!read_key(key, &rate))
            continue;
        rate.above = above;
        tl_draft_add(d, key, value, SCALE, rate);
    }
}

/* Searches have such a list too; those entries have no range of tokens. */
static void read_tiers(struct tl_draft *d, const json_t *list)
{
    size_t i;
    json_t *tier;
    json_array_foreach(list, i, tier)
    {
        if (!json_object_get(tier, "max_results_range"))
            read_tier(d, tier);
    }
}

/* By how much is searched: which it was is not told, so the dearest. */
static void read_searches(struct tl_draft *d, const json_t *sizes)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)sizes, key, value)
    {
        tl_draft_add(d, SEARCHES, value, SCALE, (struct tl_rate){.part = TLSHM_PART_SEARCH});
    }
}

/* Everything about one model; true if something else than tokens has a price. */
static bool read_prices(struct tl_draft *d, json_t *entry)
{
    const char *key;
    json_t *value;
    struct tl_rate rate;
    bool elsewhere = false;
    json_object_foreach(entry, key, value)
    {
        if (read_key(key, &rate))
            tl_draft_add(d, key, value, SCALE, rate);
        else if (strcmp(key, "tiered_pricing") == 0)
            read_tiers(d, value);
        else if (strcmp(key, SEARCHES) == 0)
            read_searches(d, value);
        else
            elsewhere = elsewhere || is_other_price(key, value);
    }
    return elsewhere;
}

static struct tl_provider *provider_of(const struct tl_reading *r, const json_t *entry)
{
    char folded[TLSHM_MODEL_MAX];
    const json_t *value = json_object_get(entry, "litellm_provider");
    size_t length = json_string_length(value); /* 0 for what is no string */
    if (length > sizeof folded)
        length = sizeof folded;
    if (length)
        tl_match_fold(folded, json_string_value(value), length);
    struct tl_provider *known = tl_catalogue_provider(r->catalogue, (struct tl_span){folded, length});
    return known ? known : tl_catalogue_add_provider(r->catalogue, length ? json_string_value(value) : "", length);
}

static int read_model(const struct tl_reading *r, const char *name, json_t *entry)
{
    struct tl_draft draft;
    if (!json_is_object(entry) || !*name || strlen(name) > TLSHM_MODEL_MAX) {
        tl_draft_warn(r, name, "left out: not an object, or a name of no or more than %d bytes", TLSHM_MODEL_MAX);
        return 0;
    }
    draft.reading = r;
    draft.name = name;
    draft.count = 0;
    draft.refused = false;
    bool elsewhere = read_prices(&draft, entry);
    struct tl_provider *provider = provider_of(r, entry);
    return provider && tl_draft_keep(&draft, provider, elsewhere) ? 0 : -TLSHM_ENOMEM;
}

bool tl_litellm_is(const json_t *root)
{
    return json_is_object(root);
}

int tl_litellm_read(const struct tl_reading *r, const json_t *root)
{
    const char *name;
    json_t *entry;
    r->catalogue->info.format = TLSHM_PRICES_LITELLM;
    json_object_foreach((json_t *)root, name, entry)
    {
        int rc = strcmp(name, EXAMPLE) == 0 ? 0 : read_model(r, name, entry);
        if (rc)
            return rc;
    }
    return tl_catalogue_index(r->catalogue);
}
