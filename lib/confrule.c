/* SPDX-License-Identifier: MIT */
/* confrule.c - rates and shares. See confrule.h. */
#include "confrule.h"

#define DOLLAR_PUSD UINT64_C(1000000000000)

enum { PERCENT_PPM = 10000, RATE_PLACES = 6, SHARE_PLACES = 4 };

/* ------------------------------------------------------------------------------------------------------------ rates */

static const char *const rate_names[TLSHM_CONFIG_RATES] = {
    [TLSHM_CONFIG_INPUT] = "input",
    [TLSHM_CONFIG_OUTPUT] = "output",
    [TLSHM_CONFIG_CACHE_READ] = "cache_read",
    [TLSHM_CONFIG_CACHE_WRITE] = "cache_write",
    [TLSHM_CONFIG_CACHE_WRITE_1H] = "cache_write_1h",
    [TLSHM_CONFIG_REASONING] = "reasoning",
};

const char *tl_confrule_rate_name(unsigned rate)
{
    return rate_names[rate];
}

#define RATE_EXPECTED "expected a price such as $2.50 per 1M, not "

/* "$2.50" in pico-dollars. */
static int read_dollars(const struct tl_words *w, uint64_t *pusd)
{
    struct tl_number number;
    const char *end = w->word + w->length;
    if (!w->length || *w->word != '$' || !tl_words_scan(w->word + 1, end, &number) || number.end != end)
        return tl_words_expected(w, RATE_EXPECTED);
    int rc = tl_words_scale(&number, DOLLAR_PUSD, pusd);
    return rc ? tl_words_number_fault(w, rc, " is finer than a pico-dollar") : 0;
}

static int read_per(struct tl_words *w, uint64_t *tokens)
{
    tl_words_next(w);
    if (!tl_words_is(w, "per"))
        return tl_words_expected(w, "expected 'per', as in $2.50 per 1M, not ");
    tl_words_next(w);
    int rc = tl_words_count(w, tokens);
    if (rc == 0 && *tokens == 0)
        rc = tl_words_fail(w, -TLSHM_EINVAL, "a price for ", " tokens says nothing");
    return rc;
}

int tl_confrule_rate(const char *text, uint64_t *pusd, struct tl_words_fault *fault)
{
    struct tl_words w, money;
    uint64_t dollars, tokens;
    tl_words_start(&w, text, fault);
    money = w;
    int rc = read_dollars(&w, &dollars);
    if (rc || (rc = read_per(&w, &tokens)))
        return rc;
    tl_words_next(&w);
    if (tl_words_is(&w, "tokens"))
        tl_words_next(&w);
    if ((rc = tl_words_end(&w)))
        return rc;
    if (dollars % tokens)
        return tl_words_fail(&money, -TLSHM_EINVAL, "", " is no whole number of pico-dollars for one token");
    *pusd = dollars / tokens;
    return 0;
}

/* `value` with the decimal point `places` digits from the right; zeros at the end are left out, but for `least`. */
static void put_decimal(struct tl_text *w, uint64_t value, unsigned places, unsigned least)
{
    char digits[16];
    uint64_t one = 1;
    for (unsigned i = 0; i < places; i++)
        one *= 10;
    tl_text_put_number(w, value / one);
    value %= one;
    if (value == 0)
        return;
    for (unsigned i = places; i-- > 0; value /= 10)
        digits[i] = (char)('0' + value % 10);
    while (places > least && digits[places - 1] == '0')
        places--;
    tl_text_put(w, ".");
    tl_text_put_bytes(w, digits, places);
}

/* A million tokens at so many pico-dollars cost so many millionths of a dollar. */
void tl_confrule_put_rate(struct tl_text *w, uint64_t pusd)
{
    tl_text_put(w, "$");
    put_decimal(w, pusd, RATE_PLACES, 2);
    tl_text_put(w, " per 1M");
}

/* ----------------------------------------------------------------------------------------------------------- shares */

#define SHARE_EXPECTED "expected a share such as 95% or 0.95, not "

int tl_confrule_share(const char *text, uint32_t *ppm, struct tl_words_fault *fault)
{
    struct tl_words w;
    struct tl_number number;
    uint64_t value;
    tl_words_start(&w, text, fault);
    const char *end = w.word + w.length;
    if (!tl_words_scan(w.word, end, &number))
        return tl_words_expected(&w, SHARE_EXPECTED);
    bool percent = number.end < end && *number.end == '%';
    if (number.end + percent != end)
        return tl_words_expected(&w, SHARE_EXPECTED);
    int rc = tl_words_scale(&number, percent ? PERCENT_PPM : TL_SHARE_ONE, &value);
    if (rc)
        return tl_words_number_fault(&w, rc, " is finer than a millionth");
    if (value == 0 || value > TL_SHARE_ONE)
        return tl_words_fail(&w, -TLSHM_ERANGE, "expected a share above 0 and up to 100%, not ", "");
    if ((rc = tl_words_last(&w)) == 0)
        *ppm = (uint32_t)value;
    return rc;
}

void tl_confrule_put_share(struct tl_text *w, uint32_t ppm)
{
    put_decimal(w, ppm, SHARE_PLACES, 0);
    tl_text_put(w, "%");
}
