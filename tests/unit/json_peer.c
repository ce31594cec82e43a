/* SPDX-License-Identifier: MIT */
/*
 * json_peer.c - the reader of JSON against jansson: on random documents both must tell the same story, and on spoilt
 * ones both must say that they are none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json.h"
#include "tap.h"

enum { DOCUMENTS = 3000, SPOILT = 20000, KEYS = 5, LEVELS = 4, STORY_MAX = 1 << 18, TIMEOUT_S = 120 };

static uint64_t state = 20261130;

static unsigned below(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % n;
}

/* ------------------------------------------------------------------------------------------------------------ spots */

/* Every way of up to LEVELS keys is a spot. The first key stands for the elements of arrays. */
static const char *const keys[KEYS] = {TL_JSON_EACH, "a", "key", "k\xc3\xa9y", "q\"\\"};
static struct tl_json_spot root = {"root", NULL, 1, 1};
static uint16_t spots = 1;

static void plant(struct tl_json_spot *spot, unsigned levels)
{
    struct tl_json_spot *below_it = levels ? calloc(KEYS + 1, sizeof *below_it) : NULL;

    MUST(below_it || !levels, "memory");
    for (unsigned i = 0; levels && i < KEYS; i++) {
        below_it[i] = (struct tl_json_spot){keys[i], NULL, ++spots, 1};
        plant(&below_it[i], levels - 1);
    }
    spot->below = below_it;
}

static const struct tl_json_spot *find(const struct tl_json_spot *spot, const char *key, bool element)
{
    for (const struct tl_json_spot *s = spot ? spot->below : NULL; s && s->key; s++)
        if (strcmp(s->key, key) == 0 && (element || *key))
            return s;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- stories */

struct story {
    size_t length;
    char text[STORY_MAX];
};
static struct story ours, theirs;

static void put(struct story *s, unsigned what, enum tl_json_event event, const char *text, size_t length)
{
    char value[64] = "";

    if (event == TL_JSON_NUMBER)
        snprintf(value, sizeof value, "%.17g", strtod(text, NULL));
    if (event == TL_JSON_STRING && length <= TL_JSON_TEXT)
        snprintf(value, sizeof value, "%zu:", length);
    s->length += (size_t)snprintf(s->text + s->length, STORY_MAX - s->length, "%u:%d:%s", what, event, value);
    MUST(s->length + length + 2 < STORY_MAX, "a story is too long");
    if (event == TL_JSON_STRING && length <= TL_JSON_TEXT) {
        memcpy(s->text + s->length, text, length);
        s->length += length;
    }
    s->text[s->length++] = '\n';
}

static void tell(void *context, const struct tl_json_spot *spot, enum tl_json_event event, const char *text,
                 unsigned length)
{
    char copy[TL_JSON_TEXT + 1];
    size_t n = length < sizeof copy ? length : sizeof copy - 1;

    memcpy(copy, text, n);
    copy[n] = '\0';
    put(context, spot->what, event, copy, length);
}

static void walk(json_t *value, const struct tl_json_spot *spot);

static void walk_members(json_t *value, const struct tl_json_spot *spot)
{
    const char *key;
    json_t *member;
    size_t i;

    json_object_foreach(value, key, member) walk(member, find(spot, key, false));
    json_array_foreach(value, i, member) walk(member, find(spot, TL_JSON_EACH, true));
}

static void walk(json_t *value, const struct tl_json_spot *spot)
{
    static const enum tl_json_event events[] = {
        [JSON_OBJECT] = TL_JSON_OBJECT,  [JSON_ARRAY] = TL_JSON_ARRAY, [JSON_STRING] = TL_JSON_STRING,
        [JSON_INTEGER] = TL_JSON_NUMBER, [JSON_REAL] = TL_JSON_NUMBER, [JSON_TRUE] = TL_JSON_TRUE,
        [JSON_FALSE] = TL_JSON_FALSE,    [JSON_NULL] = TL_JSON_NULL,
    };
    char number[64];

    snprintf(number, sizeof number, "%.17g", json_number_value(value));
    if (spot && json_is_string(value))
        put(&theirs, spot->what, TL_JSON_STRING, json_string_value(value), json_string_length(value));
    else if (spot)
        put(&theirs, spot->what, events[json_typeof(value)], number, 0);
    walk_members(value, spot);
    if (spot && json_is_object(value))
        put(&theirs, spot->what, TL_JSON_END, "", 0);
    if (spot && json_is_array(value))
        put(&theirs, spot->what, TL_JSON_CLOSE, "", 0);
}

/* -------------------------------------------------------------------------------------------------------- documents */

static json_t *make_string(void)
{
    static const char *const parts[] = {
        "a",           "\"", "\\", "/", "\n", "\x01", "\x7f", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "{\"usage\":", "\0x"};
    char text[400];
    size_t length = 0;

    for (unsigned n = below(4) ? below(12) : below(90); n; n--) {
        unsigned which = below(sizeof parts / sizeof *parts);
        size_t size = *parts[which] ? strlen(parts[which]) : 2;

        memcpy(text + length, parts[which], size);
        length += size;
        if (length > sizeof text - 16)
            break;
    }
    return json_stringn(text, length);
}

static json_t *make_number(void)
{
    switch (below(4)) {
    case 0:
        return json_integer(below(10));
    case 1:
        return json_integer((json_int_t)state);
    case 2:
        return json_real((double)below(1000000) / 4096 - 100);
    default:
        return json_real((double)(int64_t)state * (below(2) ? 1e-200 : 1e200));
    }
}

static json_t *make(unsigned levels);

static json_t *make_object(unsigned levels)
{
    static const char *const others[] = {"", "b", "ke", "keys", "a-key-that-is-longer-than-any-that-a-spot-has"};
    json_t *object = json_object();

    for (unsigned n = below(6); n; n--)
        json_object_set_new(object, below(4) ? keys[1 + below(KEYS - 1)] : others[below(5)], make(levels - 1));
    return object;
}

static json_t *make_array(unsigned levels)
{
    json_t *array = json_array();

    for (unsigned n = below(6); n; n--)
        json_array_append_new(array, make(levels - 1));
    return array;
}

static json_t *make(unsigned levels)
{
    unsigned kind = levels ? below(8) : 4 + below(4);

    switch (kind) {
    case 0:
    case 1:
    case 2:
        return make_object(levels);
    case 3:
        return make_array(levels);
    case 4:
        return make_string();
    case 5:
    case 6:
        return make_number();
    default:
        return below(3) ? json_boolean(below(2)) : json_null();
    }
}

/* One whole document and nothing else? A blank ends numbers. */
static bool read_ours(const char *text, size_t n, size_t most)
{
    struct tl_json j;

    ours.length = 0;
    tl_json_start(&j, &root, 1);
    for (size_t done = 0; done < n;) {
        size_t now = n - done < most ? n - done : most, took = tl_json_feed(&j, text + done, now, tell, &ours);

        if (tl_json_broken(&j))
            return false;
        done += took;
        if (tl_json_idle(&j) && ours.length && strspn(text + done, " \t\r\n") != n - done)
            return false;
    }
    tl_json_feed(&j, " ", 1, tell, &ours);
    return tl_json_idle(&j) && ours.length;
}

static void test_stories(void)
{
    unsigned same = 0;

    for (unsigned i = 0; i < DOCUMENTS; i++) {
        static const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(3), JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH};
        json_t *value = make(7);
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17) | flags[below(5)]);

        theirs.length = 0;
        walk(value, &root);
        bool all = true;
        for (size_t most = 1; most < 4000; most = most * 7 + below(5))
            all &= read_ours(text, strlen(text), most) && ours.length == theirs.length &&
                   memcmp(ours.text, theirs.text, ours.length) == 0;
        if (!all)
            fprintf(stderr, "# %s\n", text);
        same += all;
        free(text);
        json_decref(value);
    }
    tap_equal(same, DOCUMENTS, "random documents tell the same story to both");
}

/* ----------------------------------------------------------------------------------------------------------- spoilt */

static size_t spoil(char *text, size_t n)
{
    static const char alphabet[] = "{}[]\",:\\ntrufalse0123456789.eE+- u\x01/";

    for (unsigned edits = 1 + below(3); edits; edits--) {
        size_t at = below((unsigned)n);

        switch (below(3)) {
        case 0:
            text[at] = alphabet[below(sizeof alphabet - 1)];
            break;
        case 1:
            memmove(text + at, text + at + (n > 1), n - at);
            n -= n > 1;
            break;
        default:
            memmove(text + at + 1, text + at, n - at + 1);
            text[at] = alphabet[below(sizeof alphabet - 1)];
            n++;
        }
    }
    text[n] = '\0';
    return n;
}

/* What the two see differently on purpose: jansson has a range for numbers, checks pairs, and has no NULs in keys. */
static bool excused(const char *text, const json_error_t *error)
{
    return json_error_code(error) == json_error_numeric_overflow ||
           json_error_code(error) == json_error_null_byte_in_key || strstr(text, "\\ud") || strstr(text, "\\uD");
}

static void test_spoilt(void)
{
    unsigned agreed = 0, whole = 0, left_out = 0;

    for (unsigned i = 0; i < SPOILT; i++) {
        json_t *value = make(3);
        char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII), *text = malloc(strlen(dumped) + 8);
        json_error_t error = {0};

        MUST(text, "memory");
        strcpy(text, dumped);
        size_t n = spoil(text, strlen(text));
        json_t *again = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
        bool mine = read_ours(text, n, 1 + below(9));

        if (mine == (again != NULL))
            agreed++;
        else if (excused(text, &error))
            left_out++;
        else
            fprintf(stderr, "# %s: ours %d, %s\n", text, mine, error.text);
        whole += mine;
        json_decref(again);
        json_decref(value);
        free(dumped);
        free(text);
    }
    tap_equal(agreed + left_out, SPOILT, "both take and refuse the same");
    tap_ok(whole > SPOILT / 20 && whole < SPOILT && left_out < SPOILT / 20, "%u are whole, %u left out", whole,
           left_out);
}

static void uproot(const struct tl_json_spot *spot)
{
    for (const struct tl_json_spot *s = spot->below; s && s->key; s++)
        uproot(s);
    free((void *)spot->below);
}

int main(void)
{
    tap_begin(TIMEOUT_S);
    plant(&root, LEVELS);
    test_stories();
    test_spoilt();
    uproot(&root);
    return tap_end();
}
