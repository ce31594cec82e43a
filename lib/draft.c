/* SPDX-License-Identifier: MIT */
/* draft.c - the prices of one model while a file is read. */
#include "draft.h"

#include <stdarg.h>
#include <stdio.h>

enum { COMPLAINT_MAX = 240, SHOWN_MAX = 40, DIGITS = 15 };

void tl_draft_warn(const struct tl_reading *r, const char *where, const char *format, ...)
{
    char text[COMPLAINT_MAX];
    va_list arguments;
    if (!r->warning)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->warning(r->context, where, text);
}

/* A value as the file has it, in so far as there is room. */
static const char *shown(const json_t *value, char *buf)
{
    size_t n = json_dumpb(value, buf, SHOWN_MAX, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    buf[n < SHOWN_MAX ? n : SHOWN_MAX - 1] = '\0';
    return buf;
}

static void refuse(struct tl_draft *d, const char *key, const json_t *value, const char *why)
{
    char text[SHOWN_MAX];
    d->refused = true;
    tl_draft_warn(d->reading, d->name, "%s: %s %s; the model counts as one without a price", key, shown(value, text),
                  why);
}

static const char *complaint(enum tl_price_fault fault, unsigned part)
{
    if (fault == TL_PRICE_NEGATIVE)
        return "is negative";
    if (fault == TL_PRICE_NO_NUMBER)
        return "is no number";
    return part >= TLSHM_PART_SEARCH ? "is absurd: more than $100 for one"
                                     : "is absurd: more than $1,000 per million tokens";
}

void tl_draft_add(struct tl_draft *d, const char *key, const json_t *value, unsigned scale, struct tl_rate rate)
{
    enum tl_price_fault fault = TL_PRICE_NO_NUMBER;
    if (json_is_null(value))
        return;
    if (json_is_number(value))
        fault = tl_price_read(json_number_value(value), scale, tl_price_max(rate.part), &rate.pusd);
    if (fault != TL_PRICE_OK) {
        refuse(d, key, value, complaint(fault, rate.part));
        return;
    }
    if (d->count == TL_RATES_MAX) {
        refuse(d, key, value, "is one price too many");
        return;
    }
    d->count = tl_price_add(d->rates, d->count, rate);
}

bool tl_draft_step(struct tl_draft *d, const char *key, const json_t *value, uint64_t *above)
{
    double number = json_is_number(value) ? json_number_value(value) : -1;
    if (!(number >= 0 && number <= (double)TLSHM_AMOUNT_MAX) || number != (double)(uint64_t)number) {
        refuse(d, key, value, "is no number of tokens");
        return false;
    }
    *above = (uint64_t)number;
    return true;
}

struct tl_model *tl_draft_keep(struct tl_draft *d, struct tl_provider *provider, bool elsewhere)
{
    struct tl_catalogue *c = d->reading->catalogue;
    struct tl_model *model = tl_catalogue_add_model(c, provider, d->name, strlen(d->name));
    if (!model)
        return NULL;
    if (d->refused)
        model->lack = TLSHM_LACKS_SENSE;
    else if (d->count && !tl_catalogue_add_tariff(c, model, d->rates, d->count))
        return NULL;
    tl_catalogue_close_model(c, model, elsewhere);
    return model;
}
