/* SPDX-License-Identifier: MIT */
/* pricetext.c - a model's price as people write it. */
#include "pricetext.h"

#include <tlshm/admin.h>

#include "text.h"

enum { WORD_MAX = 64, MILLION_PER_NANO = 1000 }; /* nano-dollars per million tokens in one pico-dollar per token */

struct reader {
    const char *text;
    const char *at;
    char word[WORD_MAX];
    size_t column; /* of the word, from 1 */
    struct tlshm_error *err;
};

static bool is_gap(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

/* False at the end of the text. A word that is too long is cut, and then is none. */
static bool next_word(struct reader *r)
{
    size_t length = 0;
    while (is_gap(*r->at))
        r->at++;
    r->column = (size_t)(r->at - r->text) + 1;
    for (; *r->at && !is_gap(*r->at); r->at++)
        if (length < WORD_MAX - 1)
            r->word[length++] = *r->at;
    r->word[length] = '\0';
    return length > 0;
}

static int fail(const struct reader *r, int code, const char *what)
{
    if (!r->err)
        return code;
    *r->err = (struct tlshm_error){.code = code};
    struct tl_text w = {r->err->text, sizeof r->err->text, 0};
    tl_text_put(&w, "column ");
    tl_text_put_number(&w, r->column);
    tl_text_put(&w, ": ");
    tl_text_put(&w, what);
    tl_text_end(&w);
    return code;
}

static bool find_part(const char *word, uint8_t *part)
{
    for (int i = 0; i < TLSHM_PARTS; i++) {
        if (strcmp(word, tlshm_part_name(i)) != 0)
            continue;
        *part = (uint8_t)i;
        return true;
    }
    return false;
}

/* The word behind a part: nano-dollars per million tokens, or for one search or request. Rounded up. */
static int read_money(struct reader *r, uint8_t part, uint64_t *pusd)
{
    uint64_t nusd;
    if (!next_word(r) || tlshm_amount_parse(r->word, TLSHM_COST, &nusd, NULL) != 0 || nusd == TLSHM_UNLIMITED)
        return fail(r, -TLSHM_EINVAL, "expected an amount of money such as $3 or $0.25");
    if (part >= TLSHM_PART_SEARCH)
        nusd = nusd > TLSHM_REQUEST_MAX_PUSD ? nusd : nusd * MILLION_PER_NANO;
    else
        nusd = nusd / MILLION_PER_NANO + (nusd % MILLION_PER_NANO != 0);
    if (nusd > tl_price_max(part))
        return fail(r, -TLSHM_ERANGE, "that is more than any model costs");
    *pusd = nusd;
    return 0;
}

static int read_rate(struct reader *r, struct tl_rate *rates, unsigned *count)
{
    struct tl_rate rate = {0};
    if (!find_part(r->word, &rate.part))
        return fail(r, -TLSHM_EINVAL,
                    "expected free, or input, output, cache_read, cache_write, cache_write_1h, reasoning, input_audio, "
                    "output_audio, cache_read_audio, input_image, output_image, search or request");
    for (unsigned i = 0; i < *count; i++)
        if (rates[i].part == rate.part)
            return fail(r, -TLSHM_EINVAL, "this has its price already");
    int rc = read_money(r, rate.part, &rate.pusd);
    if (!rc)
        rates[(*count)++] = rate;
    return rc;
}

static void set_free(struct tl_rate *rates, unsigned *count)
{
    rates[0] = (struct tl_rate){.part = TLSHM_PART_INPUT};
    rates[1] = (struct tl_rate){.part = TLSHM_PART_OUTPUT};
    *count = 2;
}

int tl_pricetext_parse(const char *text, struct tl_rate *rates, unsigned *count, struct tlshm_error *err)
{
    struct reader r = {.text = text, .at = text, .err = err};
    struct tl_rate found[TLSHM_PARTS];
    unsigned n = 0;
    bool more = next_word(&r);
    if (more && strcmp(r.word, "free") == 0) {
        set_free(found, &n);
        if (next_word(&r))
            return fail(&r, -TLSHM_EINVAL, "nothing follows free");
        more = false;
    }
    for (; more; more = next_word(&r)) {
        int rc = read_rate(&r, found, &n);
        if (rc)
            return rc;
    }
    if (!tl_price_any(found, n))
        return fail(&r, -TLSHM_EINVAL, "expected free, or a price of tokens such as input $3");
    memcpy(rates, found, n * sizeof *rates);
    *count = n;
    return 0;
}
