/* SPDX-License-Identifier: MIT */
/* json.c - the reader of JSON in pieces: what it takes, what it tells, and numbers without loss. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "json.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ----------------------------------------------------------------------------------------------------- what is told */

enum { ANY = 1, OTHERS = 2 };
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL, 0, 0                                                                                               \
    }

static const struct tl_json_spot leaf[] = {{"c", NULL, 3, ANY}, {"d", NULL, 4 | TL_JSON_PIECES, ANY}, END};
static const struct tl_json_spot list[] = {{TL_JSON_EACH, leaf, 2, ANY}, END};
static const struct tl_json_spot top[] = {{"a", NULL, 5, ANY}, {"b", list, 6, ANY}, {"o", NULL, 7, OTHERS}, END};
static const struct tl_json_spot root = {"root", top, 1, ANY};

struct story {
    char text[4000];
    size_t length;
};

static void tell(void *context, const struct tl_json_spot *spot, enum tl_json_event event, const char *text,
                 unsigned length)
{
    static const char marks[] = "ntf#\"{[}]~";
    struct story *s = context;

    /* Pieces differ with the cut, what they say together does not. */
    if (event != TL_JSON_PIECE)
        s->length += (size_t)snprintf(s->text + s->length, sizeof s->text - s->length, "%d%c",
                                      spot->what & ~TL_JSON_PIECES, marks[event]);
    if (length == TL_JSON_LONG)
        s->length += (size_t)snprintf(s->text + s->length, sizeof s->text - s->length, "long");
    else if (event == TL_JSON_NUMBER || event == TL_JSON_STRING || event == TL_JSON_PIECE)
        s->length += (size_t)snprintf(s->text + s->length, sizeof s->text - s->length, "%.*s", (int)length, text);
    if (event != TL_JSON_PIECE)
        s->length += (size_t)snprintf(s->text + s->length, sizeof s->text - s->length, " ");
}

/* Reads all of it, in pieces of `most` bytes; the byte at which it was wrong, or the length. */
static size_t read_all(struct tl_json *j, const char *bytes, size_t n, size_t most, struct story *s)
{
    memset(s, 0, sizeof *s);
    tl_json_start(j, &root, ANY);
    for (size_t done = 0; done < n;) {
        size_t now = n - done < most ? n - done : most, took = 0;

        while (took < now && !tl_json_broken(j))
            took += tl_json_feed(j, bytes + done + took, now - took, tell, s);
        done += took;
        if (tl_json_broken(j))
            return done;
    }
    return n;
}

static const struct {
    const char *bytes;
    const char *story;
} stories[] = {
    {"{}", "1{ 1} "},
    {" { } ", "1{ 1} "},
    {"[]", "1[ 1] "},
    {"17 ", "1#17 "},
    {"\"x\"", "1\"x "},
    {"null", "1n "},
    {"{\"a\":1,\"z\":2,\"a\":3}", "1{ 5#1 5#3 1} "},
    {"{\"a\":-1.5e+7}", "1{ 5#-1.5e+7 1} "},
    {"{\"a\":true,\"a\":false,\"a\":null}", "1{ 5t 5f 5n 1} "},
    {"{\"a\":{\"a\":1,\"b\":[{\"c\":1}]}}", "1{ 5{ 5} 1} "},
    {"{\"z\":{\"a\":1,\"b\":[{\"c\":1}]}}", "1{ 1} "},
    {"{\"z\":[[[{\"a\":[]}]]],\"a\":[]}", "1{ 5[ 5] 1} "},
    {"{\"b\":[{\"c\":1},2,{\"z\":3},[{\"c\":4}],{\"c\":5}]}", "1{ 6[ 2{ 3#1 2} 2#2 2{ 2} 2[ 2] 2{ 3#5 2} 6] 1} "},
    {"{\"b\":{\"c\":1,\"\":2}}", "1{ 6{ 6} 1} "},
    {"{\"b\":[{\"\":1}]}", "1{ 6[ 2{ 2} 6] 1} "},
    {"{\"o\":1}", "1{ 1} "},
    {"{\"a\\u0000\":1,\"\\u0061\":2}", "1{ 5#2 1} "},
    {"{\"a\":\"\\\"\\\\\\/\\n\\t\"}", "1{ 5\"\"\\/\n\t 1} "},
    {"{\"a\":\"\\u00e9\\u20ac\\ud83d\\ude00\"}", "1{ 5\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 1} "},
    {"{\"a\":\"\\ud83d\"}", "1{ 5\"\xef\xbf\xbd 1} "},
    {"{\"a\":\"\\ud83dx\"}", "1{ 5\"\xef\xbf\xbdx 1} "},
    {"{\"a\":\"\\ude00\"}", "1{ 5\"\xef\xbf\xbd 1} "},
    {"{\"a\":\"\\ud83d\\ud83d\\ude00\"}", "1{ 5\"\xef\xbf\xbd\xf0\x9f\x98\x80 1} "},
    {"{\"b\":[{\"d\":\"one\\u0074wo\"}]}", "1{ 6[ 2{ onetwo4\" 2} 6] 1} "},
    {"{} {\"a\":1}", "1{ 1} 1{ 5#1 1} "},
    {"{}{}", "1{ 1} 1{ 1} "},
    {"1 2", "1#1 "},
};

Test(json, tells_what_is_at_the_spots)
{
    for (size_t i = 0; i < COUNT_OF(stories); i++) {
        for (size_t most = 1; most <= strlen(stories[i].bytes); most++) {
            struct tl_json j;
            struct story s;

            cr_expect_eq(read_all(&j, stories[i].bytes, strlen(stories[i].bytes), most, &s), strlen(stories[i].bytes));
            cr_expect_str_eq(s.text, stories[i].story, "%s by %zu: %s", stories[i].bytes, most, s.text);
        }
    }
}

/* Texts that just fit, and that just don't. */
Test(json, long_texts_are_told_as_long)
{
    for (int n = TL_JSON_TEXT - 1; n <= TL_JSON_TEXT + 1; n++) {
        char bytes[1000], expected[1000];
        struct tl_json j;
        struct story s;

        snprintf(bytes, sizeof bytes, "{\"a\":\"%0*d\",\"a\":%0*d,\"%0*d\":1}", n, 0, n, 0, n, 0);
        memset(strchr(strchr(bytes, ',') + 1, ':') + 1, '1', (size_t)n); /* a number has no zeros in front */
        if (n > TL_JSON_TEXT)
            snprintf(expected, sizeof expected, "1{ 5\"long 5#long 1} ");
        else
            snprintf(expected, sizeof expected, "1{ 5\"%0*d 5#%.*s 1} ", n, 0, n,
                     strchr(strchr(bytes, ',') + 1, ':') + 1);
        for (size_t most = 1; most < sizeof bytes; most *= 3) {
            read_all(&j, bytes, strlen(bytes), most, &s);
            cr_expect_str_eq(s.text, expected, "%d by %zu: %s", n, most, s.text);
        }
    }
}

/* -------------------------------------------------------------------------------------------------- what is no JSON */

static const struct {
    const char *bytes;
    size_t wrong; /* the byte that is */
} faults[] = {
    {"}", 0},
    {"{]", 1},
    {"[}", 1},
    {"{,}", 1},
    {"[,]", 1},
    {"{\"a\"}", 4},
    {"{\"a\":}", 5},
    {"{\"a\" 1}", 5},
    {"{\"a\":1,}", 7},
    {"[1,]", 3},
    {"[1 2]", 3},
    {"{1:2}", 1},
    {"{a:2}", 1},
    {"[01]", 2},
    {"[-]", 2},
    {"[+1]", 1},
    {"[.5]", 1},
    {"[1.]", 3},
    {"[1.e5]", 3},
    {"[1e]", 3},
    {"[1e+]", 4},
    {"[1e5.5]", 4},
    {"[0x1]", 2},
    {"[--1]", 2},
    {"[tru]", 4},
    {"[truE]", 4},
    {"[nul]", 4},
    {"[falsey]", 6},
    {"[NaN]", 1},
    {"[\"\\x\"]", 3},
    {"[\"\\u12g4\"]", 6},
    {"[\"a\nb\"]", 3},
    {"[\"\x01\"]", 2},
    {"'a'", 0},
    {"[1]]", 3},
    {"{}x", 2},
    {"[1}", 2},
    {"{\"a\":[1}", 7},
    {"[\"a\":1]", 4},
    {"{\"a\",1}", 4},
    {"{\"a\":1 \"b\":2}", 7},
};

Test(json, stops_at_the_first_wrong_byte)
{
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        for (size_t most = 1; most <= strlen(faults[i].bytes); most++) {
            struct tl_json j;
            struct story s;
            size_t at = read_all(&j, faults[i].bytes, strlen(faults[i].bytes), most, &s);

            cr_expect(tl_json_broken(&j) && at == faults[i].wrong, "%s by %zu: %zu", faults[i].bytes, most, at);
            cr_expect_eq(tl_json_feed(&j, "{}", 2, tell, &s), 0, "%s: nothing is taken after it", faults[i].bytes);
        }
    }
}

/* A NUL is no blank and no end of anything. */
Test(json, nuls_are_bytes)
{
    static const char after_escape[] = "[\"\\\0\"]", between[] = "[1\0]", inside[] = "[\"\0\"]";
    struct tl_json j;
    struct story s;

    cr_expect_eq(read_all(&j, after_escape, sizeof after_escape - 1, 1, &s), 3);
    cr_expect_eq(read_all(&j, between, sizeof between - 1, 1, &s), 2);
    cr_expect_eq(read_all(&j, inside, sizeof inside - 1, 1, &s), 2);
}

Test(json, knows_whether_a_document_has_ended)
{
    static const char document[] = "{\"a\":[1,{\"b\":\"c\"}]}";
    struct tl_json j;
    struct story s;

    for (size_t n = 0; n < sizeof document; n++) {
        read_all(&j, document, n, 1, &s);
        cr_expect_eq(tl_json_idle(&j), n == 0 || n == sizeof document - 1, "%zu bytes", n);
        cr_expect_eq(j.taken, n);
    }
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

static const struct {
    const char *text;
    int shift;
    bool up;
    int rc;
    uint64_t value;
} numbers[] = {
    {"0", 0, false, 0, 0},
    {"-0", 0, false, 0, 0},
    {"0.000e99", 0, false, 0, 0},
    {"7", 0, false, 0, 7},
    {"-7", 0, false, -TLSHM_ERANGE, 0},
    {"-0.001", 0, true, -TLSHM_ERANGE, 0},
    {"7.0", 0, false, 0, 7},
    {"7.5", 0, false, -TLSHM_EINVAL, 0},
    {"7.5", 1, false, 0, 75},
    {"7.5", 0, true, 0, 8},
    {"700e-2", 0, false, 0, 7},
    {"701e-2", 0, false, -TLSHM_EINVAL, 0},
    {"1e3", 0, false, 0, 1000},
    {"1E+3", 0, false, 0, 1000},
    {"0.001e3", 0, false, 0, 1},
    {"18446744073709551615", 0, false, 0, UINT64_MAX},
    {"18446744073709551616", 0, false, -TLSHM_ERANGE, 0},
    {"1844674407370955161.5", 1, false, 0, UINT64_MAX},
    {"18446744073709551615.1", 0, true, -TLSHM_ERANGE, 0},
    {"1e19", 0, false, 0, UINT64_C(10000000000000000000)},
    {"1e20", 0, false, -TLSHM_ERANGE, 0},
    {"1e999999999999999999999", 0, false, -TLSHM_ERANGE, 0},
    {"1e-999999999999999999999", 0, false, -TLSHM_EINVAL, 0},
    {"1e-999999999999999999999", 0, true, 0, 1},
    {"0.0133176", 9, true, 0, 13317600},
    {"4.8e-05", 9, true, 0, 48000},
    {"0.0000000001", 9, true, 0, 1},
    {"0.000000001000000000000000000000000000000001", 9, true, 0, 2},
};

Test(json, numbers_are_exact)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        uint64_t value = 4711;
        int rc =
            tl_json_whole(numbers[i].text, (unsigned)strlen(numbers[i].text), numbers[i].shift, numbers[i].up, &value);

        cr_expect_eq(rc, numbers[i].rc, "%s: %d", numbers[i].text, rc);
        cr_expect_eq(value, rc ? 4711 : numbers[i].value, "%s: %llu", numbers[i].text, (unsigned long long)value);
    }
}
