/* SPDX-License-Identifier: MIT */
/* confprices.c - prices and estimates in a configuration file. See confprices.h. */
#include "confprices.h"

#include <tlshm/price.h>

/* ----------------------------------------------------------------------------------------------------------- prices */

static void read_rate(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value,
                      tlshm_config_price *price)
{
    const char *names[TLSHM_CONFIG_RATES];
    for (unsigned i = 0; i < TLSHM_CONFIG_RATES; i++) {
        names[i] = tl_confrule_rate_name(i);
        if (!tl_conffields_is(key, names[i]))
            continue;
        if (tl_confvalue_rate(r, value, &price->pusd[i]) && price->pusd[i] > TLSHM_PRICE_MAX_PUSD)
            tl_confvalue_fault(r, value, 0, "that is more than any model costs");
        return;
    }
    tl_confvalue_unknown(r, key, "part of a price", names, TLSHM_CONFIG_RATES);
}

static void add_price(struct tl_reading *r, const struct tl_node *key, const char *model, const struct tl_node *value)
{
    size_t faults = r->faults->count;
    tlshm_config_price *price = tl_confmodel_add_price(r->config);
    const char *name = tl_conffields_keep(r, model, strlen(model));
    r->no_memory |= !price;
    if (r->no_memory)
        return;
    price->model = name;
    price->line = key->line;
    if (value->kind != TL_NODE_MAP) {
        tl_confvalue_expected(r, value, "prices such as {input: $2.50 per 1M, output: $10 per 1M}");
        return;
    }
    for (const struct tl_node *part = value->first; part; part = part->next->next)
        if (part->kind == TL_NODE_TEXT)
            read_rate(r, part, part->next, price);
    bool needed =
        price->pusd[TLSHM_CONFIG_INPUT] == TLSHM_UNLIMITED || price->pusd[TLSHM_CONFIG_OUTPUT] == TLSHM_UNLIMITED;
    if (needed && r->faults->count == faults)
        tl_confvalue_fault(r, key, 0, "a price needs input and output: what is not said would be taken for free");
}

static void read_price(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value)
{
    if (!tl_confvalue_text(r, key, "the name of a model"))
        return;
    if (key->len > TLSHM_MODEL_MAX)
        tl_confvalue_fault(r, key, 0, "the name of a model has at most %d bytes", TLSHM_MODEL_MAX);
    else
        add_price(r, key, key->text, value);
}

static void read_default_price(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                               const struct tl_node *value)
{
    (void)field;
    add_price(r, key, "", value);
}

static void read_price_overrides(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                                 const struct tl_node *value)
{
    (void)field, (void)key;
    tl_conffields_names(r, value, "a map of models to prices", read_price);
}

static void read_prices_path(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                             const struct tl_node *value)
{
    (void)field, (void)key;
    if (!tl_confvalue_text(r, value, "the path of a price table"))
        return;
    if (value->text[0] != '/')
        tl_confvalue_fault(r, value, 0, "expected an absolute path, not '%.64s'", value->text);
    else
        r->config->settings.prices_path = tl_conffields_keep(r, value->text, value->len);
}

static const struct tl_field prices_fields[] = {
    {"path", read_prices_path, 0, 0},
    {"default", read_default_price, 0, 0},
    {"overrides", read_price_overrides, 0, 0},
};

void tl_confprices_read(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                        const struct tl_node *value)
{
    (void)field, (void)key;
    tl_conffields_read(r, value, prices_fields, TL_COUNT_OF(prices_fields));
}

/* --------------------------------------------------------------------------------------------------------- estimates */

static void read_output(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                        const struct tl_node *value)
{
    (void)key;
    uint64_t number;
    if (tl_confvalue_number(r, value, 1, TLSHM_AMOUNT_MAX, &number))
        *(uint64_t *)(void *)((char *)&r->config->settings.estimates + field->place) = number;
}

static void read_share(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                       const struct tl_node *value)
{
    (void)key;
    uint32_t ppm;
    if (tl_confvalue_share(r, value, &ppm))
        *(uint32_t *)(void *)((char *)&r->config->settings.estimates + field->place) = ppm;
}

static const struct tl_field estimates_fields[] = {
    {"output_default", read_output, offsetof(tlshm_config_estimates, output_default), 0},
    {"output_floor", read_output, offsetof(tlshm_config_estimates, output_floor), 0},
    {"output_cap", read_output, offsetof(tlshm_config_estimates, output_cap), 0},
    {"output_quantile", read_share, offsetof(tlshm_config_estimates, quantile_ppm), 0},
    {"max_share", read_share, offsetof(tlshm_config_estimates, max_share_ppm), 0},
    {"cached_discount", read_share, offsetof(tlshm_config_estimates, cached_discount_ppm), 0},
};

void tl_confprices_estimates(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                             const struct tl_node *value)
{
    (void)field;
    const tlshm_config_estimates *e = &r->config->settings.estimates;
    if (!tl_conffields_read(r, value, estimates_fields, TL_COUNT_OF(estimates_fields)))
        return;
    uint64_t cap = e->output_cap ? e->output_cap : UINT64_MAX;
    if (e->output_floor > cap)
        tl_confvalue_fault(r, key, 0, "output_floor is above output_cap");
    if (e->output_default && (e->output_default < e->output_floor || e->output_default > cap))
        tl_confvalue_fault(r, key, 0, "output_default is not between output_floor and output_cap");
}
