/* SPDX-License-Identifier: MIT */
/*
 * tariff.h - what the calls of a trace cost: estimated before they are made, and really.
 *
 * Where the price comes from, for each model: --price MODEL=TEXT; the table (--prices FILE); the flat price (--price-in
 * and its like). Without a table and without any --price the flat price is an example that holds for all models. With
 * one of them it must be given to count: a model that has no price then is unknown, and its calls are refused.
 * Calls of a trace that names no models cost the flat price.
 *
 * The estimate takes none of the input for cached, since nobody knows that before the call, and the largest output that
 * is allowed, or with --learned what was learned. What was written to a provider's cache is not told by traces, and charged as input.
 */
#ifndef REPLAY_TARIFF_H
#define REPLAY_TARIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tlshm/price.h>

#include "trace.h"

enum { TARIFF_PRICES_MAX = 32 };

struct tariff_settings {
    const char *table;                     /* NULL: none */
    const char *prices[TARIFF_PRICES_MAX]; /* "MODEL=TEXT" */
    unsigned price_count;
    bool flat_given;
    uint64_t input_pusd, cached_pusd, output_pusd; /* the flat price, in pico-dollars for a token */
    uint64_t output_bound;
    bool exact;   /* the estimate is what will be used */
    bool learned; /* the estimate is worked out by the worker, from what the segment has learned of the model */
};

/* The same without pointers, for another process. */
struct tariff_parcel {
    struct tariff_settings settings;
    bool has_table;
    char table[4096], prices[TARIFF_PRICES_MAX][512];
};

/* False if a text is too long. */
bool tariff_pack(const struct tariff_settings *settings, struct tariff_parcel *parcel);

/* The settings, pointing into the parcel. */
struct tariff_settings tariff_unpack(const struct tariff_parcel *parcel);

struct tariff_model {
    char name[TRACE_NAME_MAX + 1];
    uint32_t number;
    enum tlshm_price_source source; /* of the last call that had a price */
};

struct tariff {
    const struct tariff_settings *settings;
    tlshm_prices *prices;
    int64_t wall_start_ns; /* the date of a trace that tells none */
    struct tariff_model **models;
    size_t count, room;
    void *tree; /* of models, by tsearch(3) */
};

/* What one call costs. */
struct quote {
    uint32_t model;
    bool known; /* it has a price */
    uint64_t estimate_output;
    uint64_t estimate_nusd, actual_nusd;
};

/* False with one line in `why`; tariff_close() is due in either case. */
bool tariff_open(struct tariff *t, const struct tariff_settings *settings, int64_t wall_start_ns, char *why,
                 size_t size);

/* False with one line in `why` when memory ran out or the cost is out of range. */
bool tariff_quote(struct tariff *t, const struct trace_record *record, bool dated, struct quote *out, char *why,
                  size_t size);

void tariff_close(struct tariff *t);

#endif
