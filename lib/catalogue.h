/* SPDX-License-Identifier: MIT */
/*
 * catalogue.h - the models of a price table and how they are found. It is filled once by litellm.c or genai.c and never
 * changed afterwards, so any thread may look.
 */
#ifndef TL_CATALOGUE_H
#define TL_CATALOGUE_H

#include "arena.h"
#include "match.h"
#include "price.h"

enum { TL_RATES_MAX = 128 }; /* of one model at one time: parts, services and steps together */

/* A run of text; not terminated. */
struct tl_span {
    const char *text;
    size_t length;
};

/* When a tariff holds. */
enum tl_tariff_kind { TL_TARIFF_ALWAYS, TL_TARIFF_FROM, TL_TARIFF_DAILY };

struct tl_tariff {
    const struct tl_tariff *next;
    enum tl_tariff_kind kind;
    int64_t from_s;         /* FROM: since 1970 */
    int32_t start_s, end_s; /* DAILY: seconds of the day in UTC; end before start: over midnight */
    const struct tl_rate *rates;
    unsigned count;
};

struct tl_provider;

struct tl_model {
    struct tl_model *next; /* of the same provider (genai) or of the table (LiteLLM) */
    const struct tl_provider *provider;
    const char *name; /* as published */
    struct tl_span folded;
    const struct tl_clause *match;   /* NULL: by name */
    const struct tl_tariff *tariffs; /* in the order of the file; NULL: see lack */
    enum tlshm_price_lack lack;      /* NOTHING, PRICE or SENSE */
};

struct tl_provider {
    struct tl_provider *next;
    const char *name;
    struct tl_span folded;
    const struct tl_clause *model_match; /* NULL: not found by its models' names */
    const struct tl_clause *provider_match;
    const struct tl_span *fallbacks;
    unsigned fallback_count;
    struct tl_model *models, *last;
};

struct tl_regex {
    struct tl_regex *next;
    void *code;
};

/* How many references it has is its owner's business: see prices.c. */
struct tl_catalogue {
    struct tl_arena arena;
    struct tl_provider *providers, *last;
    struct tl_regex *regexes; /* to be released */
    const struct tl_model **index;
    size_t index_size; /* a power of two, or 0: no look-up by name */
    tlshm_prices_info info;
};

/* Each returns NULL without memory (arena.failed is set). Names are copied. */
struct tl_provider *tl_catalogue_add_provider(struct tl_catalogue *c, const char *name, size_t length);
struct tl_model *tl_catalogue_add_model(struct tl_catalogue *c, struct tl_provider *provider, const char *name,
                                        size_t length);

/* Adds a tariff behind those that the model has. */
struct tl_tariff *tl_catalogue_add_tariff(struct tl_catalogue *c, struct tl_model *model, const struct tl_rate *rates,
                                          unsigned count);

/* Counts the model when all its tariffs are there. `elsewhere`: something else than tokens has a price. */
void tl_catalogue_close_model(struct tl_catalogue *c, struct tl_model *model, bool elsewhere);

/* Makes models known by name. 0 or -TLSHM_ENOMEM. */
int tl_catalogue_index(struct tl_catalogue *c);

/* The provider of exactly this name, in lower case; NULL. */
struct tl_provider *tl_catalogue_provider(const struct tl_catalogue *c, struct tl_span name);

/* The model that a call means; NULL. `provider` may be empty. Both in lower case; `exact` is the name as it was given. */
const struct tl_model *tl_catalogue_find(const struct tl_catalogue *c, struct tl_span provider, struct tl_span model,
                                         const char *exact);

/* The rates that hold at an instant. Only for models with tariffs. */
const struct tl_tariff *tl_catalogue_tariff(const struct tl_model *model, int64_t wall_ns);

/* The name most like this one, in lower case; NULL. */
const struct tl_model *tl_catalogue_nearest(const struct tl_catalogue *c, struct tl_span name);

/* A new one, all empty; NULL without memory. */
struct tl_catalogue *tl_catalogue_new(void);
void tl_catalogue_free(struct tl_catalogue *c);

#endif
