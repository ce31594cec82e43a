/* SPDX-License-Identifier: MIT */
/* members.c - the walk: one character class decides what comes next. */
#include "members.h"

struct walk {
    const char *text;
    size_t n, at;
    const struct tl_members_visitor *visitor;
    struct tl_members m;
    uint64_t objects;   /* bit d: what holds the values of depth d is an object */
    bool expects_value; /* inside an object, after a colon */
    char place[TL_MEMBERS_TEXT];
};

static bool in_object(const struct walk *w)
{
    return w->m.depth > 0 && w->objects >> (w->m.depth - 1) & 1;
}

struct tl_slice tl_members_key(const struct tl_members *m)
{
    return m->depth < TL_MEMBERS_PATH ? m->key[m->depth] : (struct tl_slice){"", 0};
}

bool tl_members_inside(const struct tl_members *m, const char *word)
{
    for (unsigned d = 0; d <= m->depth && d < TL_MEMBERS_PATH; d++)
        if (tl_moment_is(m->key[d], word))
            return true;
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- strings */

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3f));
    out[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

static bool read_hex(const char *at, size_t n, uint32_t *value)
{
    *value = 0;
    if (n < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = tl_moment_lower(at[i]);
        bool letter = c >= 'a' && c <= 'f';
        if (!letter && !tl_moment_digit(c))
            return false;
        *value = *value << 4 | (uint32_t)(letter ? c - 'a' + 10 : c - '0');
    }
    return true;
}

/* One escape, at its backslash: how many characters it takes. Halves of a pair are shown as '?'. */
static size_t read_escape(const char *at, size_t n, char *out, size_t *length)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    uint32_t c;
    *length = 1;
    if (n < 2) {
        *out = '?';
        return n;
    }
    const char *found = strchr(from, at[1]);
    if (at[1] == 'u' && read_hex(at + 2, n - 2, &c)) {
        *length = put_utf8(c >= 0xd800 && c < 0xe000 ? '?' : c, out);
        return 6;
    }
    *out = found && at[1] ? to[found - from] : at[1];
    return 2;
}

/* From behind the opening quote to behind the closing one. The raw text is for keys, the decoded one for values. */
static void read_string(struct walk *w, struct tl_slice *raw, struct tl_slice *decoded)
{
    size_t start = w->at, length = 0;
    char piece[4];
    while (w->at < w->n && w->text[w->at] != '"') {
        size_t more = 1, taken = 1;
        piece[0] = w->text[w->at];
        if (piece[0] == '\\')
            taken = read_escape(w->text + w->at, w->n - w->at, piece, &more);
        w->at += taken;
        if (length + more > sizeof w->place)
            continue;
        memcpy(w->place + length, piece, more);
        length += more;
    }
    *raw = (struct tl_slice){w->text + start, w->at - start};
    *decoded = (struct tl_slice){w->place, length};
    if (w->at < w->n)
        w->at++;
}

/* ------------------------------------------------------------------------------------------------------------- steps */

static void set_key(struct walk *w, struct tl_slice key)
{
    if (w->m.depth < TL_MEMBERS_PATH)
        w->m.key[w->m.depth] = key;
    w->expects_value = true;
}

static void take_scalar(struct walk *w, struct tl_slice text, bool quoted)
{
    w->visitor->scalar(w->visitor->context, &w->m, text, quoted);
    w->expects_value = false;
}

static void take_string(struct walk *w)
{
    struct tl_slice raw, decoded;
    w->at++;
    read_string(w, &raw, &decoded);
    if (in_object(w) && !w->expects_value)
        set_key(w, raw);
    else
        take_scalar(w, decoded, true);
}

static bool is_word(char c)
{
    return tl_moment_letter(c) || tl_moment_digit(c) || c == '-' || c == '+' || c == '.' || c == '_';
}

static void take_bare(struct walk *w)
{
    size_t start = w->at;
    while (w->at < w->n && is_word(w->text[w->at]))
        w->at++;
    if (w->m.depth > 0 && (!in_object(w) || w->expects_value))
        take_scalar(w, (struct tl_slice){w->text + start, w->at - start}, false);
}

/* A new level starts with the key of the value that it is. */
static bool enter(struct walk *w, bool object)
{
    struct tl_slice key = tl_members_key(&w->m);
    if (w->m.depth == TL_MEMBERS_DEPTH)
        return false;
    w->objects &= ~(UINT64_C(1) << w->m.depth);
    w->objects |= (uint64_t)object << w->m.depth;
    w->m.depth++;
    if (w->m.depth < TL_MEMBERS_PATH)
        w->m.key[w->m.depth] = object ? (struct tl_slice){"", 0} : key;
    w->expects_value = false;
    if (object && w->visitor->object)
        w->visitor->object(w->visitor->context, &w->m, true);
    return true;
}

static void leave(struct walk *w, bool object)
{
    if (w->m.depth == 0)
        return;
    if (object && w->visitor->object)
        w->visitor->object(w->visitor->context, &w->m, false);
    w->m.depth--;
    w->expects_value = false;
}

/* False: too deep, nothing more is looked at. */
static bool step(struct walk *w)
{
    char c = w->text[w->at];
    if (c == '"') {
        take_string(w);
        return true;
    }
    if (is_word(c)) {
        take_bare(w);
        return true;
    }
    w->at++;
    if (c == '{' || c == '[')
        return enter(w, c == '{');
    if (c == '}' || c == ']')
        leave(w, c == '}');
    else if (c == ',')
        w->expects_value = false;
    return true;
}

void tl_members_walk(const char *text, size_t n, const struct tl_members_visitor *visitor)
{
    struct walk w = {.text = text, .n = n, .visitor = visitor};
    for (unsigned d = 0; d < TL_MEMBERS_PATH; d++)
        w.m.key[d] = (struct tl_slice){"", 0};
    while (w.at < w.n && step(&w))
        continue;
}
