/* SPDX-License-Identifier: MIT */
/* tariff.c - a price table of the library's, and a number for each model that a trace names. */
#include "tariff.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stands for the models of calls that name none. No table has it: names have no blanks. */
static const char nameless[] = "not named";

enum { PUSD_TO_DOLLARS_PER_MTOK = 1000000, FIRST_ROOM = 16, PRICE_TEXT = 128 };

/* -------------------------------------------------------------------------------------------------------------- parcels */

static bool pack_text(char *to, size_t size, const char *text)
{
    return snprintf(to, size, "%s", text) < (int)size;
}

bool tariff_pack(const struct tariff_settings *settings, struct tariff_parcel *parcel)
{
    bool fits = true;
    parcel->settings = *settings;
    parcel->has_table = settings->table != NULL;
    if (parcel->has_table)
        fits = pack_text(parcel->table, sizeof parcel->table, settings->table);
    for (unsigned i = 0; i < settings->price_count; i++)
        fits = pack_text(parcel->prices[i], sizeof parcel->prices[i], settings->prices[i]) && fits;
    return fits;
}

struct tariff_settings tariff_unpack(const struct tariff_parcel *parcel)
{
    struct tariff_settings settings = parcel->settings;
    settings.table = parcel->has_table ? parcel->table : NULL;
    for (unsigned i = 0; i < settings.price_count; i++)
        settings.prices[i] = parcel->prices[i];
    return settings;
}

/* -------------------------------------------------------------------------------------------------------------- opening */

static int put_rate(char *buf, size_t size, const char *part, uint64_t pusd)
{
    return snprintf(buf, size, "%s $%" PRIu64 ".%06" PRIu64 " ", part, pusd / PUSD_TO_DOLLARS_PER_MTOK,
                    pusd % PUSD_TO_DOLLARS_PER_MTOK);
}

static bool set_flat(struct tariff *t, const char *model, char *why, size_t size)
{
    const struct tariff_settings *s = t->settings;
    struct tlshm_error err = {0};
    char text[PRICE_TEXT];
    int n = put_rate(text, sizeof text, "input", s->input_pusd);
    n += put_rate(text + n, sizeof text - (size_t)n, "cache_read", s->cached_pusd);
    put_rate(text + n, sizeof text - (size_t)n, "output", s->output_pusd);
    if (tlshm_prices_override(t->prices, model, text, &err) == 0)
        return true;
    snprintf(why, size, "the flat price: %s", err.text);
    return false;
}

static bool set_one(struct tariff *t, const char *text, char *why, size_t size)
{
    struct tlshm_error err = {0};
    char model[TLSHM_MODEL_MAX + 1];
    size_t n = strcspn(text, "=");
    if (text[n] != '=' || n == 0 || n >= sizeof model) {
        snprintf(why, size, "--price: '%s' is not MODEL=PRICE, such as 'm=input $3 output $15'", text);
        return false;
    }
    memcpy(model, text, n);
    model[n] = '\0';
    if (tlshm_prices_override(t->prices, model, text + n + 1, &err) == 0)
        return true;
    snprintf(why, size, "--price: %s: %s", model, err.text);
    return false;
}

bool tariff_open(struct tariff *t, const struct tariff_settings *s, int64_t wall_start_ns, char *why, size_t size)
{
    struct tlshm_error err = {0};
    *t = (struct tariff){.settings = s, .wall_start_ns = wall_start_ns};
    if (tlshm_prices_open(&t->prices, s->table, NULL, NULL, &err) < 0) {
        snprintf(why, size, "prices: %s", err.text);
        return false;
    }
    bool flat_for_all = s->flat_given || (!s->table && s->price_count == 0);
    if (!set_flat(t, nameless, why, size) || (flat_for_all && !set_flat(t, NULL, why, size)))
        return false;
    for (unsigned i = 0; i < s->price_count; i++)
        if (!set_one(t, s->prices[i], why, size))
            return false;
    return true;
}

static void keep_node(void *node)
{
    (void)node; /* the list frees it */
}

void tariff_close(struct tariff *t)
{
    tdestroy(t->tree, keep_node);
    for (size_t i = 0; i < t->count; i++)
        free(t->models[i]);
    free(t->models);
    tlshm_prices_close(t->prices);
    memset(t, 0, sizeof *t);
}

/* --------------------------------------------------------------------------------------------------------------- models */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tariff_model *)a)->name, ((const struct tariff_model *)b)->name);
}

static bool room_for_model(struct tariff *t)
{
    if (t->count < t->room)
        return true;
    size_t room = t->room ? 2 * t->room : FIRST_ROOM;
    struct tariff_model **larger = reallocarray(t->models, room, sizeof *larger);
    if (!larger)
        return false;
    t->models = larger;
    t->room = room;
    return true;
}

/* NULL when out of memory. */
static struct tariff_model *model_of(struct tariff *t, const char *name)
{
    struct tariff_model wanted = {0};
    snprintf(wanted.name, sizeof wanted.name, "%s", name);
    struct tariff_model **found = tfind(&wanted, &t->tree, by_name);
    if (found)
        return *found;
    struct tariff_model *made = room_for_model(t) ? malloc(sizeof *made) : NULL;
    if (!made)
        return NULL;
    *made = wanted;
    made->number = (uint32_t)t->count;
    if (!tsearch(made, &t->tree, by_name)) {
        free(made);
        return NULL;
    }
    return t->models[t->count++] = made;
}

/* -------------------------------------------------------------------------------------------------------------- quoting */

static int64_t wall_of(const struct tariff *t, const struct trace_record *r, bool dated)
{
    int64_t wall_ns = dated ? r->t_ns : t->wall_start_ns + r->t_ns;
    return wall_ns ? wall_ns : 1; /* 0 would be now */
}

/* The verdict, or an error below 0. */
static int price(const struct tariff *t, const tlshm_price_call *call, uint64_t *nusd, enum tlshm_price_source *source)
{
    tlshm_cost cost;
    int verdict = tlshm_price(t->prices, call, &cost);
    if (verdict == TLSHM_OK) {
        *nusd = cost.nusd;
        *source = cost.source;
    }
    return verdict;
}

bool tariff_quote(struct tariff *t, const struct trace_record *r, bool dated, struct quote *out, char *why, size_t size)
{
    struct tariff_model *model = model_of(t, r->model[0] ? r->model : nameless);
    if (!model) {
        snprintf(why, size, "out of memory");
        return false;
    }
    tlshm_price_call call = {.model = model->name, .wall_ns = wall_of(t, r, dated)};
    call.counts = (tlshm_counts){.input_total = r->input, .cache_read = r->cached, .output_total = r->output};
    *out = (struct quote){.model = model->number};
    int verdict = price(t, &call, &out->actual_nusd, &model->source);
    out->estimate_nusd = out->actual_nusd;
    out->estimate_output = r->output;
    if (verdict == TLSHM_OK && !t->settings->exact) {
        call.counts = (tlshm_counts){.input_total = r->input, .output_total = t->settings->output_bound};
        out->estimate_output = t->settings->output_bound;
        verdict = price(t, &call, &out->estimate_nusd, &model->source);
    }
    out->known = verdict == TLSHM_OK;
    if (verdict < 0)
        snprintf(why, size, "the price of a call of '%s': %s", model->name, tlshm_error_text(verdict));
    return verdict >= 0;
}
