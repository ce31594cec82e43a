/* SPDX-License-Identifier: MIT */
/* words.c - words, numbers, amounts and lengths of time in texts that people write. See words.h. */
#include "words.h"

enum { QUOTED_MAX = 48 };

static const struct tl_scale amount_scales[] = {
    {"k", UINT64_C(1000)},       {"K", UINT64_C(1000)},          {"M", UINT64_C(1000000)},
    {"G", UINT64_C(1000000000)}, {"T", UINT64_C(1000000000000)}, {"", 1},
};

/* ---------------------------------------------------------------------------------------------------------- reading */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool tl_words_digit(char c)
{
    return c >= '0' && c <= '9';
}

void tl_words_next(struct tl_words *w)
{
    w->word += w->length;
    while (is_blank(*w->word))
        w->word++;
    w->length = 0;
    while (w->word[w->length] && !is_blank(w->word[w->length]))
        w->length++;
}

void tl_words_start(struct tl_words *w, const char *text, struct tl_words_fault *fault)
{
    *w = (struct tl_words){.text = text, .word = text, .fault = fault};
    tl_words_next(w);
}

bool tl_words_is(const struct tl_words *w, const char *word)
{
    return strlen(word) == w->length && memcmp(w->word, word, w->length) == 0;
}

char tl_words_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Bytes that could disturb a terminal or break a UTF-8 sequence in two are shown as '?'. */
static void put_quoted(struct tl_text *w, const char *word, size_t length)
{
    tl_text_put(w, "'");
    for (size_t i = 0; i < length && i < QUOTED_MAX; i++)
        tl_text_put_bytes(w, word[i] > ' ' && word[i] < 0x7f ? &word[i] : "?", 1);
    tl_text_put(w, length > QUOTED_MAX ? "...'" : "'");
}

int tl_words_fail(const struct tl_words *w, int code, const char *before, const char *after)
{
    struct tl_words_fault *fault = w->fault;
    if (!fault)
        return code;
    *fault = (struct tl_words_fault){.code = code, .column = (unsigned)(w->word - w->text) + 1};
    struct tl_text out = {fault->text, sizeof fault->text, 0};
    tl_text_put(&out, before);
    if (w->length)
        put_quoted(&out, w->word, w->length);
    else
        tl_text_put(&out, "the end of the text");
    tl_text_put(&out, after);
    tl_text_end(&out);
    return code;
}

int tl_words_expected(const struct tl_words *w, const char *what)
{
    return tl_words_fail(w, -TLSHM_EINVAL, what, "");
}

int tl_words_end(const struct tl_words *w)
{
    return w->length ? tl_words_fail(w, -TLSHM_EINVAL, "unexpected ", "") : 0;
}

int tl_words_last(struct tl_words *w)
{
    tl_words_next(w);
    return tl_words_end(w);
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

static size_t count_digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && tl_words_digit(at[n]))
        n++;
    return n;
}

bool tl_words_scan(const char *at, const char *end, struct tl_number *out)
{
    *out = (struct tl_number){.whole = at, .whole_length = count_digits(at, end)};
    out->end = at + out->whole_length;
    if (out->whole_length == 0 || out->end == end || *out->end != '.')
        return out->whole_length > 0;
    out->fraction = out->end + 1;
    out->fraction_length = count_digits(out->fraction, end);
    out->end = out->fraction + out->fraction_length;
    return out->fraction_length > 0;
}

int tl_words_scale(const struct tl_number *number, uint64_t one, uint64_t *out)
{
    uint64_t value = 0, place = one;
    for (size_t i = 0; i < number->whole_length; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(number->whole[i] - '0'), &value))
            return -TLSHM_ERANGE;
    if (__builtin_mul_overflow(value, one, &value))
        return -TLSHM_ERANGE;
    for (size_t i = 0; i < number->fraction_length; i++) {
        uint64_t digit = (uint64_t)(number->fraction[i] - '0');
        if (digit && place % 10)
            return -TLSHM_EINVAL;
        place /= 10;
        if (__builtin_add_overflow(value, digit * place, &value))
            return -TLSHM_ERANGE;
    }
    *out = value;
    return 0;
}

static bool find_scale(const struct tl_scale *scales, size_t count, const char *at, const char *end, uint64_t *factor)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(scales[i].suffix) != (size_t)(end - at) || memcmp(scales[i].suffix, at, (size_t)(end - at)) != 0)
            continue;
        *factor = scales[i].factor;
        return true;
    }
    return false;
}

int tl_words_number_fault(const struct tl_words *w, int code, const char *too_fine)
{
    if (code == -TLSHM_ERANGE)
        return tl_words_fail(w, code, "", " is too large");
    return tl_words_fail(w, code, "", too_fine);
}

/* ---------------------------------------------------------------------------------------------------------- amounts */

static bool money_factor(const char *word, const struct tl_number *number, const char *end, uint64_t *one)
{
    if (*word != '$') {
        *one = 1;
        return end - number->end == 1 && *number->end == 'n';
    }
    if (!find_scale(amount_scales, TL_COUNT_OF(amount_scales), number->end, end, one))
        return false;
    if (__builtin_mul_overflow(*one, TL_DOLLAR_NUSD, one))
        *one = 0; /* no factor is: even one of these is out of range */
    return true;
}

static int read_money(const struct tl_words *w, uint64_t *out)
{
    const char *end = w->word + w->length;
    struct tl_number number;
    uint64_t one;
    if (!w->length || !tl_words_scan(w->word + (*w->word == '$'), end, &number) ||
        !money_factor(w->word, &number, end, &one))
        return tl_words_expected(w, "expected an amount of money such as $0.50, 500000n or unlimited, not ");
    int rc = one ? tl_words_scale(&number, one, out) : -TLSHM_ERANGE;
    return rc ? tl_words_number_fault(w, rc, " is finer than a nano-dollar") : 0;
}

int tl_words_count(const struct tl_words *w, uint64_t *out)
{
    const char *end = w->word + w->length;
    struct tl_number number;
    uint64_t one;
    if (!tl_words_scan(w->word, end, &number) ||
        !find_scale(amount_scales, TL_COUNT_OF(amount_scales), number.end, end, &one))
        return tl_words_expected(w, "expected an amount such as 500, 10k, 1.5M or unlimited, not ");
    int rc = tl_words_scale(&number, one, out);
    return rc ? tl_words_number_fault(w, rc, " is no whole number") : 0;
}

int tl_words_amount(const struct tl_words *w, enum tlshm_unit unit, uint64_t *out)
{
    uint64_t value = TLSHM_UNLIMITED;
    if (!tl_words_is(w, "unlimited")) {
        int rc = unit == TLSHM_COST ? read_money(w, &value) : tl_words_count(w, &value);
        if (rc)
            return rc;
        if (value == TLSHM_UNLIMITED)
            return tl_words_number_fault(w, -TLSHM_ERANGE, "");
    }
    *out = value;
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- durations */

int tl_words_duration(const struct tl_words *w, uint64_t *ns, const char *what)
{
    const char *end = w->word + w->length;
    struct tl_number number;
    uint64_t one;
    if (!tl_words_scan(w->word, end, &number) || !find_scale(tl_text_durations, TL_DURATIONS, number.end, end, &one))
        return tl_words_expected(w, what);
    int rc = tl_words_scale(&number, one, ns);
    if (!rc && *ns == TLSHM_NEVER)
        rc = -TLSHM_ERANGE;
    return rc ? tl_words_number_fault(w, rc, " is finer than a nanosecond") : 0;
}
