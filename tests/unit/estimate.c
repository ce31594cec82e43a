/* SPDX-License-Identifier: MIT */
/* estimate.c - the estimate bounds what real tokenizers count, is not far above it, and does not depend on cuts. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm.h>
#include <tlshm/estimate.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct row {
    const char *kind;
    unsigned cl100k, o200k; /* tokens */
    const char *text;
} rows[] = {
#include "estimate_rows.h"
};

static uint64_t estimate(const char *text, size_t n)
{
    uint64_t tokens = UINT64_MAX;
    cr_assert_eq(tlshm_estimate_text(text, n, &tokens), 0);
    return tokens;
}

static unsigned dearer(const struct row *row)
{
    return row->cl100k > row->o200k ? row->cl100k : row->o200k;
}

/* ------------------------------------------------------------------------------------------------------- the table */

Test(estimate, no_text_costs_more)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t tokens = estimate(rows[i].text, strlen(rows[i].text));
        cr_expect_geq(tokens, dearer(&rows[i]), "%s: %llu, not %u: %s", rows[i].kind, (unsigned long long)tokens,
                      dearer(&rows[i]), rows[i].text);
        cr_expect_leq(tokens, strlen(rows[i].text));
    }
}

/* What a class of texts may be estimated at, in hundredths of what the dearer tokenizer makes of it. */
static const struct {
    const char *kind; /* NULL: any other */
    unsigned most;
} bounds[] = {
    {"prose", 140},      {"markdown", 160}, {"c", 160},     {"python", 160}, {"javascript", 160},
    {"typescript", 160}, {"java", 160},     {"go", 160},    {"rust", 160},   {"html", 160},
    {"css", 160},        {"sql", 160},      {"shell", 160}, {"diff", 160},   {"trace", 160},
    {"log", 160},        {"json", 160},     {"yaml", 160},  {"csv", 160},    {NULL, 175},
};

static unsigned bound_of(const char *kind)
{
    size_t i = 0;
    while (bounds[i].kind && strcmp(bounds[i].kind, kind) != 0)
        i++;
    return bounds[i].most;
}

Test(estimate, no_class_is_far_off)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t estimated = 0, counted = 0, cheaper = 0;
        if (i > 0 && strcmp(rows[i].kind, rows[i - 1].kind) == 0)
            continue;
        for (size_t j = 0; j < COUNT_OF(rows); j++) {
            if (strcmp(rows[i].kind, rows[j].kind) != 0)
                continue;
            estimated += estimate(rows[j].text, strlen(rows[j].text));
            counted += dearer(&rows[j]);
            cheaper += rows[j].cl100k < rows[j].o200k ? rows[j].cl100k : rows[j].o200k;
        }
        fprintf(stderr, "%-14s %5llu estimated, %5llu counted: %.2f, of the cheaper tokenizer %.2f\n", rows[i].kind,
                (unsigned long long)estimated, (unsigned long long)counted, (double)estimated / (double)counted,
                (double)estimated / (double)cheaper);
        cr_expect_leq(estimated * 100, counted * bound_of(rows[i].kind), "%s: %llu for %llu", rows[i].kind,
                      (unsigned long long)estimated, (unsigned long long)counted);
    }
}

/* A quarter of the characters is a usual guess. It is too little for these. */
Test(estimate, chinese_is_not_a_quarter_of_its_characters)
{
    char text[25 * 12 + 1] = "";
    for (int i = 0; i < 25; i++)
        strcat(text, "你好世界");
    cr_expect_geq(estimate(text, strlen(text)), 100);
}

Test(estimate, english_stays_near_a_quarter_of_its_characters)
{
    static const char text[] =
        "You can use it when the door is open, but not after that; they have what you asked for.";
    uint64_t tokens = estimate(text, sizeof text - 1);
    cr_expect_geq(tokens, (sizeof text - 1) / 4);
    cr_expect_leq(tokens, (sizeof text - 1) / 3);
}

/* -------------------------------------------------------------------------------------------------------- small cases */

static const struct {
    const char *text;
    size_t n;
    uint64_t tokens;
} small[] = {
    {"", 0, 0},
    {"a", 1, 1},
    {" ", 1, 1},
    {"\n", 1, 1},
    {"\0\0\0", 3, 3},
    {"the", 3, 1},
    {" the", 4, 1},
    {"the ", 4, 2},
    {"1", 1, 1},
    {"123", 3, 1},
    {"1234", 4, 2},
    {"a 1", 3, 3},
    {"a1", 2, 2},
    {"aB", 2, 2},
    {"\xff", 1, 1},
    {"\xff\xfe\xfd", 3, 3},
    {"\xc3", 1, 1},
    {"\xc3(", 2, 2},
    {"\xe4\xbd", 2, 2},
    {"\xc0\x80", 2, 2},                     /* an over-long form */
    {"\xe0\x80\x80", 3, 3},                 /* likewise */
    {"\xed\xa0\x80", 3, 3},                 /* half of a pair */
    {"\xf4\x90\x80\x80", 4, 4},             /* beyond Unicode */
    {"\xf0\x9f\x98", 3, 3},                 /* cut off */
    {"\xf0\x9f\x98\xf0\x9f\x98\x80", 7, 6}, /* cut off, then whole */
    {"\xef\xbf\xbd", 3, 1},                 /* the replacement character */
};

Test(estimate, small_cases)
{
    for (size_t i = 0; i < COUNT_OF(small); i++)
        cr_expect_eq(estimate(small[i].text, small[i].n), small[i].tokens, "case %zu '%s': %llu", i, small[i].text,
                     (unsigned long long)estimate(small[i].text, small[i].n));
}

/* No more than a token for a byte, for every character there is, alone and in company. */
Test(estimate, never_above_the_bytes)
{
    char text[16];
    for (uint32_t c = 0x80; c < 0x110000; c += c < 0x3000 ? 1 : 61) {
        size_t n = 0;
        if (c >= 0x10000)
            text[n++] = (char)(0xf0 | c >> 18);
        if (c >= 0x800)
            text[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
        text[n] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
        n++;
        text[n++] = (char)(0x80 | (c & 0x3f));
        memcpy(text + n, text, n);
        uint64_t one = estimate(text, n), two = estimate(text, 2 * n);
        cr_assert(one >= 1 && one <= n && two >= one && two <= 2 * n, "U+%04X: %llu, %llu", (unsigned)c,
                  (unsigned long long)one, (unsigned long long)two);
    }
}

/* ------------------------------------------------------------------------------------------------------------- cuts */

static uint64_t in_pieces(const char *text, size_t n, size_t piece)
{
    tlshm_estimate e;
    uint64_t tokens = 0, so_far = 0;
    tlshm_estimate_begin(&e);
    for (size_t at = 0; at < n; at += piece) {
        cr_assert_eq(tlshm_estimate_feed(&e, text + at, n - at < piece ? n - at : piece), 0);
        cr_assert_eq(tlshm_estimate_end(&e, &so_far), 0); /* looking changes nothing */
    }
    cr_assert_eq(e.bytes, n);
    tlshm_estimate_end(&e, &tokens);
    return tokens;
}

Test(estimate, cuts_make_no_difference)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t n = strlen(rows[i].text);
        uint64_t whole = estimate(rows[i].text, n);
        for (size_t piece = 1; piece < 20; piece++)
            cr_expect_eq(in_pieces(rows[i].text, n, piece), whole, "%s, pieces of %zu", rows[i].kind, piece);
    }
}

/* The estimate of a beginning is at most a token above that of the whole: a blank or a broken character at its end. */
Test(estimate, more_text_costs_more)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t n = strlen(rows[i].text);
        uint64_t whole = estimate(rows[i].text, n);
        for (size_t cut = 0; cut < n; cut++)
            cr_assert_leq(estimate(rows[i].text, cut), whole + 3, "%s cut at %zu", rows[i].kind, cut);
    }
}

Test(estimate, long_texts_are_sums)
{
    size_t n = 8u << 20;
    char *text = malloc(n);
    cr_assert(text);
    for (size_t i = 0; i < n; i++)
        text[i] = "the door "[i % 9];
    uint64_t tokens = estimate(text, n);
    cr_expect(tokens >= n / 9 * 2 && tokens <= n / 9 * 2 + 2, "%llu", (unsigned long long)tokens);
    free(text);
}

Test(estimate, bad_arguments)
{
    tlshm_estimate e;
    uint64_t tokens = 4711;
    cr_expect_eq(tlshm_estimate_begin(NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_estimate_begin(&e), 0);
    cr_expect_eq(tlshm_estimate_feed(NULL, "a", 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_estimate_feed(&e, NULL, 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_estimate_feed(&e, NULL, 0), 0);
    cr_expect_eq(tlshm_estimate_end(NULL, &tokens), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_estimate_end(&e, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_estimate_text(NULL, 1, &tokens), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_estimate_text("a", 1, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tokens, 4711);
}
