/* SPDX-License-Identifier: MIT */
/* draft.h - the prices of one model while a file is read: numbers out of JSON, and complaints about those that are none. */
#ifndef TL_DRAFT_H
#define TL_DRAFT_H

#include <jansson.h>

#include "catalogue.h"

/* A file that is being read. */
struct tl_reading {
    struct tl_catalogue *catalogue;
    tlshm_price_warning warning; /* may be NULL */
    void *context;
};

void tl_draft_warn(const struct tl_reading *r, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct tl_draft {
    const struct tl_reading *reading;
    const char *name;
    unsigned count;
    bool refused; /* one of the prices is nonsense, and so nobody knows what the others are worth */
    struct tl_rate rates[TL_RATES_MAX + 1];
};

/* `key` is what the file calls it; `scale` makes pico-dollars of it (price.h). JSON's null is no price. */
void tl_draft_add(struct tl_draft *d, const char *key, const json_t *value, unsigned scale, struct tl_rate rate);

/* A whole number of tokens from which on a price holds; refuses the model if it is none. */
bool tl_draft_step(struct tl_draft *d, const char *key, const json_t *value, uint64_t *above);

/* The model as it is in the catalogue, with one tariff or without; NULL without memory. */
struct tl_model *tl_draft_keep(struct tl_draft *d, struct tl_provider *provider, bool elsewhere);

#endif
