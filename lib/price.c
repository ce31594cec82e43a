/* SPDX-License-Identifier: MIT */
/* price.c - rates and sums. */
#include "price.h"

#include <stdio.h>
#include <stdlib.h>

enum { NONE = TLSHM_PARTS, DIGITS_MAX = 17 };

static const char *const part_names[TLSHM_PARTS] = {
    [TLSHM_PART_INPUT] = "input",
    [TLSHM_PART_CACHE_READ] = "cache_read",
    [TLSHM_PART_CACHE_WRITE] = "cache_write",
    [TLSHM_PART_CACHE_WRITE_1H] = "cache_write_1h",
    [TLSHM_PART_INPUT_AUDIO] = "input_audio",
    [TLSHM_PART_CACHE_READ_AUDIO] = "cache_read_audio",
    [TLSHM_PART_INPUT_IMAGE] = "input_image",
    [TLSHM_PART_OUTPUT] = "output",
    [TLSHM_PART_REASONING] = "reasoning",
    [TLSHM_PART_OUTPUT_AUDIO] = "output_audio",
    [TLSHM_PART_OUTPUT_IMAGE] = "output_image",
    [TLSHM_PART_SEARCH] = "search",
    [TLSHM_PART_REQUEST] = "request",
};

static const char *const service_names[TLSHM_SERVICES] = {
    [TLSHM_SERVICE_STANDARD] = "standard",
    [TLSHM_SERVICE_BATCH] = "batch",
    [TLSHM_SERVICE_PRIORITY] = "priority",
    [TLSHM_SERVICE_FLEX] = "flex",
};

/* What a part without a rate is charged as. */
static const uint8_t whole_of[TLSHM_PARTS] = {
    [TLSHM_PART_INPUT] = NONE,
    [TLSHM_PART_CACHE_READ] = TLSHM_PART_INPUT,
    [TLSHM_PART_CACHE_WRITE] = TLSHM_PART_INPUT,
    [TLSHM_PART_CACHE_WRITE_1H] = TLSHM_PART_CACHE_WRITE,
    [TLSHM_PART_INPUT_AUDIO] = TLSHM_PART_INPUT,
    [TLSHM_PART_CACHE_READ_AUDIO] = TLSHM_PART_INPUT_AUDIO,
    [TLSHM_PART_INPUT_IMAGE] = TLSHM_PART_INPUT,
    [TLSHM_PART_OUTPUT] = NONE,
    [TLSHM_PART_REASONING] = TLSHM_PART_OUTPUT,
    [TLSHM_PART_OUTPUT_AUDIO] = TLSHM_PART_OUTPUT,
    [TLSHM_PART_OUTPUT_IMAGE] = TLSHM_PART_OUTPUT,
    [TLSHM_PART_SEARCH] = NONE,
    [TLSHM_PART_REQUEST] = NONE,
};

const char *tlshm_part_name(int part)
{
    return part >= 0 && part < TLSHM_PARTS ? part_names[part] : "?";
}

const char *tlshm_service_name(int service)
{
    return service >= 0 && service < TLSHM_SERVICES ? service_names[service] : "?";
}

/* ------------------------------------------------------------------------------------------------- published numbers */

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* "1.25e-07" in any locale: whatever is no digit before the exponent is the point, after the first digit. */
static struct decimal take_apart(const char *text)
{
    struct decimal d = {0, 1};
    for (; *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            continue;
        d.digits = d.digits * 10 + (uint64_t)(*text - '0');
        d.exponent--;
    }
    d.exponent += (int)strtol(text + 1, NULL, 10);
    return d;
}

static struct decimal shortest(double value)
{
    char text[48];
    int digits = 15;
    do
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
    while (strtod(text, NULL) != value && digits++ < DIGITS_MAX);
    return take_apart(text);
}

enum tl_price_fault tl_price_read(double value, unsigned scale, uint64_t max, uint64_t *pusd)
{
    if (value != value)
        return TL_PRICE_NO_NUMBER;
    if (value < 0)
        return TL_PRICE_NEGATIVE;
    if (value > 1e9) /* dollars, per whatever: so the sums below stay in range */
        return TL_PRICE_ABSURD;
    struct decimal d = shortest(value);
    tl_pusd whole = d.digits;
    int exponent = d.exponent + (int)scale;
    for (; exponent > 0 && whole; exponent--)
        whole *= 10;
    for (bool rest = false; exponent < 0; exponent++) {
        rest = rest || whole % 10;
        whole /= 10;
        if (exponent == -1)
            whole += rest;
        else if (!whole) { /* less than one, whatever is left to divide */
            whole = rest;
            break;
        }
    }
    if (whole > max)
        return TL_PRICE_ABSURD;
    *pusd = (uint64_t)whole;
    return TL_PRICE_OK;
}

uint64_t tl_price_max(unsigned part)
{
    return part >= TLSHM_PART_SEARCH ? TLSHM_REQUEST_MAX_PUSD : TLSHM_PRICE_MAX_PUSD;
}

/* ------------------------------------------------------------------------------------------------------------- rates */

unsigned tl_price_add(struct tl_rate *rates, unsigned count, struct tl_rate rate)
{
    for (unsigned i = 0; i < count; i++) {
        if (rates[i].part != rate.part || rates[i].service != rate.service || rates[i].above != rate.above)
            continue;
        rates[i].pusd = tl_max(rates[i].pusd, rate.pusd);
        return count;
    }
    rates[count] = rate;
    return count + 1;
}

bool tl_price_any(const struct tl_rate *rates, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (rates[i].part < TLSHM_PART_SEARCH)
            return true;
    return false;
}

bool tl_price_free(const struct tl_rate *rates, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (rates[i].pusd)
            return false;
    return tl_price_any(rates, count);
}

/* The part's rate for a service in a call with so much input; NULL if there is none. */
static const struct tl_rate *find_rate(const struct tl_rate *rates, unsigned count, unsigned part, unsigned service,
                                       uint64_t input)
{
    const struct tl_rate *best = NULL;
    for (unsigned i = 0; i < count; i++) {
        const struct tl_rate *rate = &rates[i];
        if (rate->part != part || rate->service != service || (rate->above && rate->above >= input))
            continue;
        if (!best || rate->above > best->above)
            best = rate;
    }
    return best;
}

/*
 * A service's rate; the standard one where there is none. When the standard rate knows of a step that the service's does
 * not, the dearer of them: what the provider charges beyond it was not published.
 */
static bool rate_of(const struct tl_rate *rates, unsigned count, unsigned part, unsigned service, uint64_t input,
                    uint64_t *pusd)
{
    const struct tl_rate *standard = find_rate(rates, count, part, TLSHM_SERVICE_STANDARD, input);
    const struct tl_rate *own = service ? find_rate(rates, count, part, service, input) : NULL;
    if (!standard && !own)
        return false;
    if (own && (!standard || own->above >= standard->above))
        *pusd = own->pusd;
    else
        *pusd = own ? tl_max(own->pusd, standard->pusd) : standard->pusd;
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- sums */

static bool in_range(const tlshm_counts *c)
{
    const uint64_t counts[] = {c->input_total,  c->cache_read,   c->cache_write_5m,   c->cache_write_1h, c->input_audio,
                               c->input_image,  c->input_video,  c->cache_read_audio, c->output_total,   c->reasoning,
                               c->output_audio, c->output_image, c->web_searches};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > TLSHM_AMOUNT_MAX)
            return false;
    return true;
}

/* Are the parts no more than their whole? Counts are in range, so sums of them don't wrap. */
static bool is_whole(const tlshm_counts *c)
{
    uint64_t cached = c->cache_read + c->cache_write_5m + c->cache_write_1h;
    return cached <= c->input_total && c->input_audio + c->input_image + c->input_video <= c->input_total &&
           c->cache_read_audio <= c->cache_read && c->cache_read_audio <= c->input_audio &&
           cached - c->cache_read_audio + c->input_audio <= c->input_total &&
           c->reasoning + c->output_audio + c->output_image <= c->output_total;
}

/*
 * How many tokens are charged as what (I2). How many of the images were cached was not told: as few as possible, since
 * fresh ones are dearer.
 */
static void split(const tlshm_counts *c, tlshm_cost_line *lines)
{
    lines[TLSHM_PART_CACHE_READ].count = c->cache_read - c->cache_read_audio;
    lines[TLSHM_PART_CACHE_READ_AUDIO].count = c->cache_read_audio;
    lines[TLSHM_PART_CACHE_WRITE].count = c->cache_write_5m;
    lines[TLSHM_PART_CACHE_WRITE_1H].count = c->cache_write_1h;
    lines[TLSHM_PART_INPUT_AUDIO].count = c->input_audio - c->cache_read_audio;
    lines[TLSHM_PART_REASONING].count = c->reasoning;
    lines[TLSHM_PART_OUTPUT_AUDIO].count = c->output_audio;
    lines[TLSHM_PART_OUTPUT_IMAGE].count = c->output_image;
    lines[TLSHM_PART_SEARCH].count = c->web_searches;
    lines[TLSHM_PART_REQUEST].count = 1;
    uint64_t fresh =
        c->input_total - c->cache_read - c->cache_write_5m - c->cache_write_1h - lines[TLSHM_PART_INPUT_AUDIO].count;
    lines[TLSHM_PART_INPUT_IMAGE].count = tl_min(c->input_image, fresh);
    lines[TLSHM_PART_INPUT].count = fresh - lines[TLSHM_PART_INPUT_IMAGE].count;
    lines[TLSHM_PART_OUTPUT].count = c->output_total - c->reasoning - c->output_audio - c->output_image;
}

/* The rate of each line that counts something; the first part without one, or NONE. */
static unsigned look_up(const struct tl_rate *rates, unsigned count, unsigned service, uint64_t input,
                        tlshm_cost_line *lines)
{
    for (unsigned part = 0; part < TLSHM_PARTS; part++) {
        if (!lines[part].count)
            continue;
        unsigned as = part;
        while (as != NONE && !rate_of(rates, count, as, service, input, &lines[part].pusd))
            as = whole_of[as];
        if (as == NONE && part < TLSHM_PART_SEARCH)
            return part;
        if (as == NONE && part == TLSHM_PART_REQUEST)
            lines[part].count = 0;
    }
    return NONE;
}

static tl_pusd add_up(const tlshm_cost_line *lines, unsigned from, unsigned to)
{
    tl_pusd sum = 0;
    for (unsigned part = from; part <= to; part++)
        sum += (tl_pusd)lines[part].count * lines[part].pusd;
    return sum;
}

int tl_price_check(const tlshm_counts *counts)
{
    if (!in_range(counts))
        return -TLSHM_ERANGE;
    return is_whole(counts) ? 0 : -TLSHM_EINVAL;
}

int tl_price_sum(const struct tl_rate *rates, unsigned count, const tlshm_counts *counts, enum tlshm_service service,
                 tlshm_cost *out)
{
    tlshm_cost_line lines[TLSHM_PARTS] = {{0, 0}};
    int rc = tl_price_check(counts);
    if (rc)
        return rc;
    split(counts, lines);
    unsigned lacking = look_up(rates, count, service, counts->input_total, lines);
    if (lacking != NONE) {
        out->part = (enum tlshm_part)lacking;
        return TLSHM_UNKNOWN_MODEL;
    }
    tl_pusd input = add_up(lines, TLSHM_PART_INPUT, TLSHM_PART_INPUT_IMAGE);
    tl_pusd output = add_up(lines, TLSHM_PART_OUTPUT, TLSHM_PART_OUTPUT_IMAGE);
    tl_pusd request = add_up(lines, TLSHM_PART_SEARCH, TLSHM_PART_REQUEST);
    tl_pusd nusd = (input + output + request + 999) / 1000;
    if (nusd > TLSHM_AMOUNT_MAX)
        return -TLSHM_ERANGE;
    out->nusd = (uint64_t)nusd;
    out->pusd = (uint64_t)(input + output + request);
    out->input_pusd = (uint64_t)input;
    out->output_pusd = (uint64_t)output;
    out->request_pusd = (uint64_t)request;
    memcpy(out->lines, lines, sizeof lines);
    return 0;
}
