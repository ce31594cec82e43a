/* SPDX-License-Identifier: MIT */
/*
 * json.c - the reader of JSON in pieces.
 *
 * STATES  of the reader between two bytes:
 *   VALUE, FIRST      a value must come; FIRST: or the end of the array that has just begun
 *   KEY, KEY_FIRST    a key must come; KEY_FIRST: or the end of the object that has just begun
 *   COLON, AFTER      a colon; a comma or the end of the level
 *   STRING, ESCAPE, HEX          inside a string
 *   MINUS .. EXPONENT            inside a number: each state is what has been read of it last
 *   WORD              inside true, false or null
 *   IDLE, BROKEN      between two documents; after a wrong byte
 */
#include "json.h"

enum state {
    IDLE,
    BROKEN,
    VALUE,
    FIRST,
    KEY,
    KEY_FIRST,
    COLON,
    AFTER,
    STRING,
    ESCAPE,
    HEX,
    WORD,
    MINUS,
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT_MARK,
    EXPONENT_SIGN,
    EXPONENT
};

struct run {
    struct tl_json *j;
    tl_json_tell *tell;
    void *context;
};

static const struct tl_json_spot *root_of(const struct tl_json *j)
{
    return j->way[0];
}

void tl_json_start(struct tl_json *j, const struct tl_json_spot *root, uint16_t kinds)
{
    memset(j, 0, sizeof *j);
    j->way[0] = root;
    j->kinds = kinds;
    j->spot = root;
    j->state = IDLE;
}

bool tl_json_idle(const struct tl_json *j)
{
    return j->state == IDLE;
}

bool tl_json_broken(const struct tl_json *j)
{
    return j->state == BROKEN;
}

static bool in_array(const struct tl_json *j)
{
    unsigned level = j->depth - 1u;

    return j->arrays[level / 64] >> (level % 64) & 1;
}

static void told(const struct run *r, enum tl_json_event event)
{
    struct tl_json *j = r->j;

    if (j->spot && j->spot->what)
        r->tell(r->context, j->spot, event, j->text, j->length);
}

/* ----------------------------------------------------------------------------------------------------------- levels */

/* way[depth] is the spot of the level at that depth; way[0] stays the root, which is no level. */
static const struct tl_json_spot *level_spot(const struct tl_json *j)
{
    return j->depth > 0 && j->depth < TL_JSON_NEAR ? j->way[j->depth] : NULL;
}

static const struct tl_json_spot *find_below(const struct tl_json *j, const char *key, unsigned length)
{
    const struct tl_json_spot *level = level_spot(j);
    char first = length ? key[0] : '\0'; /* tells most keys apart */

    for (const struct tl_json_spot *s = level ? level->below : NULL; s && s->key; s++)
        if (s->key[0] == first && s->kinds & j->kinds && strlen(s->key) == length && memcmp(s->key, key, length) == 0)
            return s;
    return NULL;
}

static void next_element(struct tl_json *j)
{
    j->spot = find_below(j, TL_JSON_EACH, 0);
}

static bool open_level(const struct run *r, bool array)
{
    struct tl_json *j = r->j;

    if (j->depth >= TL_JSON_DEEP)
        return false;
    j->length = 0;
    told(r, array ? TL_JSON_ARRAY : TL_JSON_OBJECT);
    if (array)
        j->arrays[j->depth / 64] |= UINT64_C(1) << (j->depth % 64);
    else
        j->arrays[j->depth / 64] &= ~(UINT64_C(1) << (j->depth % 64));
    j->depth++;
    if (j->depth < TL_JSON_NEAR)
        j->way[j->depth] = j->spot;
    j->state = array ? FIRST : KEY_FIRST;
    if (array)
        next_element(j);
    return true;
}

static void after_value(struct tl_json *j)
{
    if (j->depth > 0) {
        j->state = AFTER;
        return;
    }
    j->state = IDLE;
    j->spot = root_of(j);
}

static bool close_level(const struct run *r, bool array)
{
    struct tl_json *j = r->j;

    if (j->depth == 0 || in_array(j) != array)
        return false;
    j->spot = level_spot(j);
    j->depth--;
    j->length = 0;
    told(r, array ? TL_JSON_CLOSE : TL_JSON_END);
    after_value(j);
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ texts */

static void keep(struct tl_json *j, const char *bytes, size_t n)
{
    size_t room = j->length == TL_JSON_LONG ? 0 : TL_JSON_TEXT - (size_t)j->length;

    if (!j->keeps || n == 0)
        return;
    if (n > room) {
        if (room)
            memcpy(j->text + j->length, bytes, room);
        j->length = TL_JSON_LONG;
        return;
    }
    memcpy(j->text + j->length, bytes, n);
    j->length = (uint16_t)(j->length + n);
}

static bool in_pieces(const struct tl_json *j)
{
    return !j->is_key && j->spot && j->spot->what & TL_JSON_PIECES;
}

static void string_bytes(const struct run *r, const char *bytes, size_t n)
{
    struct tl_json *j = r->j;

    if (j->high) { /* its other half did not come */
        j->high = 0;
        string_bytes(r, "\xef\xbf\xbd", 3);
    }
    if (!in_pieces(j)) {
        keep(j, bytes, n);
        return;
    }
    for (size_t done = 0; done < n;) {
        unsigned now = (unsigned)tl_min(n - done, TL_JSON_LONG - 1);

        r->tell(r->context, j->spot, TL_JSON_PIECE, bytes + done, now);
        done += now;
    }
}

static void code_point(const struct run *r, uint32_t c)
{
    char b[4];
    unsigned n = 0;

    if (c < 0x80) {
        b[n++] = (char)c;
    } else if (c < 0x800) {
        b[n++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        b[n++] = (char)(0xe0 | c >> 12);
        b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        b[n++] = (char)(0xf0 | c >> 18);
        b[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80)
        b[n++] = (char)(0x80 | (c & 0x3f));
    string_bytes(r, b, n);
}

static void code_unit(const struct run *r, uint16_t unit)
{
    struct tl_json *j = r->j;
    uint32_t high = j->high;

    if (unit >= 0xdc00 && unit < 0xe000 && high) {
        j->high = 0;
        code_point(r, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00u));
    } else if (unit >= 0xd800 && unit < 0xdc00) {
        string_bytes(r, "", 0); /* lets go of a half before this one */
        j->high = unit;
    } else {
        code_point(r, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
    }
}

static void begin_text(struct tl_json *j, enum state state, bool is_key)
{
    j->is_key = is_key;
    j->keeps = is_key ? level_spot(j) && level_spot(j)->below : j->spot && j->spot->what;
    j->length = 0;
    j->high = 0;
    j->state = (uint8_t)state;
}

static void end_string(const struct run *r)
{
    struct tl_json *j = r->j;

    string_bytes(r, "", 0);
    if (j->is_key) {
        j->spot = j->keeps && j->length != TL_JSON_LONG ? find_below(j, j->text, j->length) : NULL;
        /* The key of elements is no key that an object can have. */
        if (j->spot && j->length == 0)
            j->spot = NULL;
        j->state = COLON;
        return;
    }
    told(r, TL_JSON_STRING);
    after_value(j);
}

static bool escaped(const struct run *r, char c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = c ? strchr(from, c) : NULL;

    r->j->state = STRING;
    if (found) {
        string_bytes(r, &to[found - from], 1);
        return true;
    }
    r->j->state = HEX;
    r->j->hex = 4;
    r->j->unit = 0;
    return c == 'u';
}

static bool hex_digit(const struct run *r, char c)
{
    struct tl_json *j = r->j;
    unsigned value;

    if (c >= '0' && c <= '9')
        value = (unsigned)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        value = (unsigned)((c | 0x20) - 'a') + 10;
    else
        return false;
    j->unit = (uint16_t)(j->unit << 4 | value);
    if (--j->hex == 0) {
        j->state = STRING;
        code_unit(r, j->unit);
    }
    return true;
}

/* The bytes of a string that stand for themselves, as many as there are. */
static size_t plain_bytes(const char *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && bytes[i] != '"' && bytes[i] != '\\' && (unsigned char)bytes[i] >= 0x20)
        i++;
    return i;
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

/* The state after one more byte of a number, or 0 if it is none of it. */
static enum state number_step(unsigned state, char c)
{
    bool digit = c >= '0' && c <= '9', mark = c == 'e' || c == 'E', sign = c == '+' || c == '-';

    switch (state) {
    case MINUS:
        return c == '0' ? ZERO : digit ? DIGITS : 0;
    case ZERO:
        return c == '.' ? POINT : mark ? EXPONENT_MARK : 0;
    case DIGITS:
        return digit ? DIGITS : c == '.' ? POINT : mark ? EXPONENT_MARK : 0;
    case POINT:
        return digit ? FRACTION : 0;
    case FRACTION:
        return digit ? FRACTION : mark ? EXPONENT_MARK : 0;
    case EXPONENT_MARK:
        return sign ? EXPONENT_SIGN : digit ? EXPONENT : 0;
    default: /* EXPONENT_SIGN, EXPONENT */
        return digit ? EXPONENT : 0;
    }
}

static bool number_whole(unsigned state)
{
    return state == ZERO || state == DIGITS || state == FRACTION || state == EXPONENT;
}

struct digits {
    const char *text;
    unsigned length; /* up to the exponent */
    int64_t point;   /* digits before the decimal point, once shifted */
};

static int64_t exponent_of(const char *text, unsigned length)
{
    const int64_t far = 1000000; /* beyond any text */
    bool minus = length && *text == '-';
    int64_t value = 0;

    for (unsigned i = length && (*text == '-' || *text == '+'); i < length; i++)
        if (value < far)
            value = value * 10 + (text[i] - '0');
    return minus ? -value : value;
}

static struct digits digits_of(const char *text, unsigned length, int shift)
{
    struct digits d = {text, 0, 0};
    bool before_point = true;

    for (; d.length < length && (text[d.length] | 0x20) != 'e'; d.length++) {
        if (text[d.length] == '.')
            before_point = false;
        else if (before_point && text[d.length] != '-')
            d.point++;
    }
    d.point += shift;
    if (d.length < length)
        d.point += exponent_of(text + d.length + 1, length - d.length - 1);
    return d;
}

static bool all_zero(const struct digits *d)
{
    for (unsigned i = 0; i < d->length; i++)
        if (d->text[i] >= '1' && d->text[i] <= '9')
            return false;
    return true;
}

int tl_json_whole(const char *text, unsigned length, int shift, bool up, uint64_t *out)
{
    struct digits d = digits_of(text, length, shift);
    uint64_t value = 0;
    bool rest = false;
    int64_t at = 0; /* digits seen */

    if (all_zero(&d)) {
        *out = 0;
        return 0;
    }
    if (*text == '-')
        return -TLSHM_ERANGE;
    for (unsigned i = 0; i < d.length; i++) {
        if (d.text[i] == '.')
            continue;
        if (at++ >= d.point)
            rest |= d.text[i] != '0';
        else if (__builtin_mul_overflow(value, 10, &value) ||
                 __builtin_add_overflow(value, (uint64_t)(d.text[i] - '0'), &value))
            return -TLSHM_ERANGE;
    }
    for (; value && at < d.point; at++)
        if (__builtin_mul_overflow(value, 10, &value))
            return -TLSHM_ERANGE;
    if (rest && !up)
        return -TLSHM_EINVAL;
    if (rest && ++value == 0)
        return -TLSHM_ERANGE;
    *out = value;
    return 0;
}

/* ----------------------------------------------------------------------------------------------------------- values */

static bool begin_word(struct tl_json *j, const char *rest)
{
    j->expect = rest;
    j->state = WORD;
    j->length = 0;
    return true;
}

static bool begin_value(const struct run *r, char c)
{
    struct tl_json *j = r->j;

    switch (c) {
    case '{':
    case '[':
        return open_level(r, c == '[');
    case '"':
        begin_text(j, STRING, false);
        return true;
    case 't':
        return begin_word(j, "rue");
    case 'f':
        return begin_word(j, "alse");
    case 'n':
        return begin_word(j, "ull");
    default:
        if (c != '-' && (c < '0' || c > '9'))
            return false;
        begin_text(j, c == '-' ? MINUS : c == '0' ? ZERO : DIGITS, false);
        keep(j, &c, 1);
        return true;
    }
}

static bool word_byte(const struct run *r, char c)
{
    struct tl_json *j = r->j;
    /* What it began with can be told from the tail: "rue", "alse", "ull" end in "ue", "se", "ll". */
    char before = j->expect[0];

    if (c != before)
        return false;
    if (*++j->expect)
        return true;
    told(r, before == 'l' ? TL_JSON_NULL : j->expect[-2] == 'u' ? TL_JSON_TRUE : TL_JSON_FALSE);
    after_value(j);
    return true;
}

static bool after_byte(const struct run *r, char c)
{
    struct tl_json *j = r->j;

    if (c == ']' || c == '}')
        return close_level(r, c == ']');
    if (c != ',')
        return false;
    j->state = in_array(j) ? VALUE : KEY;
    if (in_array(j))
        next_element(j);
    return true;
}

/* One byte outside of strings and numbers that is no blank. */
static bool structure_byte(const struct run *r, char c)
{
    struct tl_json *j = r->j;

    switch (j->state) {
    case FIRST:
        return c == ']' ? close_level(r, true) : begin_value(r, c);
    case IDLE:
    case VALUE:
        return begin_value(r, c);
    case KEY_FIRST:
        if (c == '}')
            return close_level(r, false);
        /* fall through */
    case KEY:
        begin_text(j, STRING, true);
        return c == '"';
    case COLON:
        j->state = VALUE;
        return c == ':';
    default:
        return after_byte(r, c);
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes some bytes: at least one, none if the first one is wrong or, after a number, not its own. */
static size_t take(const struct run *r, const char *bytes, size_t n)
{
    struct tl_json *j = r->j;
    size_t plain;

    switch (j->state) {
    case STRING:
        plain = plain_bytes(bytes, n);
        if (plain) {
            string_bytes(r, bytes, plain);
            return plain;
        }
        if (*bytes == '"')
            end_string(r);
        else
            j->state = ESCAPE;
        return *bytes == '"' || *bytes == '\\';
    case ESCAPE:
        return escaped(r, *bytes);
    case HEX:
        return hex_digit(r, *bytes);
    case WORD:
        return word_byte(r, *bytes);
    default:
        return is_blank(*bytes) || structure_byte(r, *bytes);
    }
}

/* The end of a number is seen at the byte after it, which is looked at again. */
static bool number_byte(const struct run *r, char c, bool *taken)
{
    struct tl_json *j = r->j;
    enum state next = number_step(j->state, c);

    *taken = next != 0;
    if (next) {
        j->state = (uint8_t)next;
        keep(j, &c, 1);
        return true;
    }
    if (!number_whole(j->state))
        return false;
    told(r, TL_JSON_NUMBER);
    after_value(j);
    return true;
}

size_t tl_json_feed(struct tl_json *j, const char *bytes, size_t n, tl_json_tell *tell, void *context)
{
    struct run r = {j, tell, context};
    size_t done = 0;

    while (done < n && j->state != BROKEN) {
        bool was_idle = j->state == IDLE, ok = true, one = true;
        size_t now;

        if (j->state >= MINUS) {
            ok = number_byte(&r, bytes[done], &one);
            now = one;
        } else {
            now = take(&r, bytes + done, n - done);
            ok = now > 0;
        }
        if (!ok)
            j->state = BROKEN;
        else
            done += now;
        j->taken += ok ? now : 0;
        if (ok && j->state == IDLE && !was_idle)
            break;
    }
    return done;
}
