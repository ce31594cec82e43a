/* SPDX-License-Identifier: MIT */
/*
 * emit.c - one tree of jansson values for both formats.
 *
 * For JSON the tree holds the values themselves. For text it holds strings: one mark (which side of its column a value
 * leans to) and what is to be shown. Everything else about text is decided when the tree is printed.
 */
#include "emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "options.h"
#include "term.h"

enum { DEPTH_MAX = 16, COLUMNS_MAX = 48, INDENT = 2, GAP = 2 };
enum { LEAN_LEFT = 'l', LEAN_RIGHT = 'r' };

#define EXACT_MAX (INT64_C(1) << 53)
#define SECOND_NS UINT64_C(1000000000)

struct emit {
    FILE *out;
    enum emit_format format;
    bool failed;
    int depth;
    json_t *stack[DEPTH_MAX]; /* stack[0] owns all */
};

/* Out of memory, or a tool that nests without end: nothing sensible can be printed. */
static _Noreturn void give_up(void)
{
    fputs("out of memory while preparing the output\n", stderr);
    exit(EXIT_LIBRARY);
}

struct emit *emit_new(FILE *out, enum emit_format format)
{
    struct emit *e = calloc(1, sizeof *e);
    if (!e)
        give_up();
    e->out = out;
    e->format = format;
    e->stack[0] = json_object();
    if (!e->stack[0])
        give_up();
    return e;
}

bool emit_is_json(const struct emit *e)
{
    return e->format != EMIT_TEXT;
}

/* -------------------------------------------------------------------------------------------------------- the tree */

static void add(struct emit *e, const char *key, json_t *value)
{
    json_t *top = e->stack[e->depth];
    int rc = key ? json_object_set_new(top, key, value) : json_array_append_new(top, value);
    e->failed |= rc != 0;
}

static void add_shown(struct emit *e, const char *key, char lean, const char *text)
{
    add(e, key, json_sprintf("%c%s", lean, text));
}

static void open_value(struct emit *e, const char *key, json_t *value)
{
    add(e, key, value);
    if (e->failed || e->depth + 1 >= DEPTH_MAX)
        give_up();
    e->stack[++e->depth] = value;
}

void emit_object_begin(struct emit *e, const char *key)
{
    open_value(e, key, json_object());
}

void emit_object_end(struct emit *e)
{
    e->depth--;
}

void emit_array_begin(struct emit *e, const char *key)
{
    open_value(e, key, json_array());
}

void emit_array_end(struct emit *e)
{
    e->depth--;
}

/* --------------------------------------------------------------------------------------------------------- figures */

char *emit_human_u64(uint64_t value, char *buf)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *at = buf;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return buf;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

/* At least cents, and as many places more as there are digits: nothing is rounded away. */
char *emit_human_nusd(int64_t nusd, char *buf)
{
    uint64_t size = magnitude(nusd);
    char whole[EMIT_FIGURE], places[16];
    snprintf(places, sizeof places, "%09" PRIu64, size % SECOND_NS);
    for (int i = 8; i >= 2 && places[i] == '0'; i--)
        places[i] = '\0';
    snprintf(buf, EMIT_FIGURE, "%s$%s.%s", nusd < 0 ? "-" : "", emit_human_u64(size / SECOND_NS, whole), places);
    return buf;
}

char *emit_human_amount(enum tlshm_unit unit, uint64_t value, char *buf)
{
    if (value == TLSHM_UNLIMITED)
        return strcpy(buf, "unlimited");
    if (unit == TLSHM_TIME)
        return emit_human_duration(value, buf);
    if (unit == TLSHM_COST && value <= INT64_MAX)
        return emit_human_nusd((int64_t)value, buf);
    return emit_human_u64(value, buf);
}

static char *human_short(uint64_t ns, char *buf)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 2 && ns < units[i].ns)
        i++;
    uint64_t tenths = ns / (units[i].ns >= 10 ? units[i].ns / 10 : 1);
    if (units[i].ns >= 10 && tenths < 100)
        snprintf(buf, EMIT_FIGURE, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[i].name);
    else
        snprintf(buf, EMIT_FIGURE, "%" PRIu64 " %s", ns / units[i].ns, units[i].name);
    return buf;
}

char *emit_human_duration(uint64_t ns, char *buf)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    if (ns == TLSHM_NEVER)
        return strcpy(buf, "never");
    if (ns < SECOND_NS)
        return ns ? human_short(ns, buf) : strcpy(buf, "0 s");
    uint64_t seconds = ns / SECOND_NS;
    size_t i = 0;
    while (seconds < units[i].seconds)
        i++;
    int n = snprintf(buf, EMIT_FIGURE, "%" PRIu64 " %s", seconds / units[i].seconds, units[i].name);
    uint64_t rest = i + 1 < sizeof units / sizeof *units ? seconds % units[i].seconds / units[i + 1].seconds : 0;
    if (rest)
        snprintf(buf + n, EMIT_FIGURE - (size_t)n, " %" PRIu64 " %s", rest, units[i + 1].name);
    return buf;
}

/* ---------------------------------------------------------------------------------------------------------- values */

static void add_escaped(struct emit *e, const char *key, const unsigned char *bytes, size_t size)
{
    size_t room = 4 * size + 2;
    char *text = malloc(room), *at = text;
    if (!text) {
        e->failed = true;
        return;
    }
    if (!emit_is_json(e))
        *at++ = LEAN_LEFT;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] >= ' ' && bytes[i] < 0x7f)
            *at++ = (char)bytes[i];
        else
            at += sprintf(at, "\\x%02x", bytes[i]);
    }
    add(e, key, json_stringn(text, (size_t)(at - text)));
    free(text);
}

static bool has_controls(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < ' ' || bytes[i] == 0x7f)
            return true;
    return false;
}

void emit_bytes(struct emit *e, const char *key, const void *value, size_t size)
{
    /* Control characters would be obeyed by a terminal; jansson refuses what is no UTF-8. */
    json_t *string = has_controls(value, size) ? NULL
                     : emit_is_json(e)         ? json_stringn(value, size)
                                               : json_sprintf("%c%.*s", LEAN_LEFT, (int)size, (const char *)value);
    if (string)
        add(e, key, string);
    else
        add_escaped(e, key, value, size);
}

void emit_text(struct emit *e, const char *key, const char *value)
{
    emit_bytes(e, key, value, strlen(value));
}

static json_t *exact_integer(uint64_t size, bool negative)
{
    if (size <= (uint64_t)EXACT_MAX)
        return json_integer(negative ? -(json_int_t)size : (json_int_t)size);
    return json_sprintf("%s%" PRIu64, negative ? "-" : "", size);
}

static void add_number(struct emit *e, const char *key, uint64_t size, bool negative)
{
    char figure[EMIT_FIGURE];
    if (emit_is_json(e))
        add(e, key, exact_integer(size, negative));
    else
        add(e, key, json_sprintf("%c%s%s", LEAN_RIGHT, negative ? "-" : "", emit_human_u64(size, figure)));
}

void emit_u64(struct emit *e, const char *key, uint64_t value)
{
    add_number(e, key, value, false);
}

void emit_i64(struct emit *e, const char *key, int64_t value)
{
    add_number(e, key, magnitude(value), value < 0);
}

void emit_plain(struct emit *e, const char *key, uint64_t value)
{
    if (emit_is_json(e))
        add(e, key, exact_integer(value, false));
    else
        add(e, key, json_sprintf("%c%" PRIu64, LEAN_RIGHT, value));
}

void emit_real(struct emit *e, const char *key, double value, int decimals)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    if (emit_is_json(e))
        add(e, key, json_real(strtod(text, NULL)));
    else
        add_shown(e, key, LEAN_RIGHT, text);
}

void emit_bool(struct emit *e, const char *key, bool value)
{
    if (emit_is_json(e))
        add(e, key, json_boolean(value));
    else
        add_shown(e, key, LEAN_LEFT, value ? "yes" : "no");
}

static void add_absent(struct emit *e, const char *key, char lean, const char *word)
{
    if (emit_is_json(e))
        add(e, key, json_null());
    else
        add_shown(e, key, lean, word);
}

void emit_null(struct emit *e, const char *key, const char *word)
{
    add_absent(e, key, LEAN_LEFT, word);
}

void emit_amount(struct emit *e, const char *key, enum tlshm_unit unit, uint64_t value)
{
    char figure[EMIT_FIGURE];
    if (value == TLSHM_UNLIMITED)
        add_absent(e, key, LEAN_RIGHT, "unlimited");
    else if (emit_is_json(e))
        add(e, key, exact_integer(value, false));
    else
        add_shown(e, key, LEAN_RIGHT, emit_human_amount(unit, value, figure));
}

void emit_remaining(struct emit *e, const char *key, enum tlshm_unit unit, int64_t value)
{
    char figure[EMIT_FIGURE];
    if (value == INT64_MAX)
        add_absent(e, key, LEAN_RIGHT, "unlimited");
    else if (unit == TLSHM_TIME && value >= 0 && !emit_is_json(e))
        add_shown(e, key, LEAN_RIGHT, emit_human_duration((uint64_t)value, figure));
    else if (unit == TLSHM_COST && !emit_is_json(e))
        add_shown(e, key, LEAN_RIGHT, emit_human_nusd(value, figure));
    else
        emit_i64(e, key, value);
}

void emit_duration(struct emit *e, const char *key, uint64_t ns)
{
    char figure[EMIT_FIGURE];
    if (ns == TLSHM_NEVER)
        add_absent(e, key, LEAN_RIGHT, "never");
    else if (emit_is_json(e))
        add(e, key, exact_integer(ns, false));
    else
        add_shown(e, key, LEAN_RIGHT, emit_human_duration(ns, figure));
}

void emit_time(struct emit *e, const char *key, int64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / (int64_t)SECOND_NS);
    struct tm parts;
    char text[64];
    if (emit_is_json(e) || !gmtime_r(&seconds, &parts)) {
        emit_i64(e, key, wall_ns);
        return;
    }
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    add_shown(e, key, LEAN_LEFT, text);
}

void emit_id(struct emit *e, const char *key, tlshm_id id)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, id);
    emit_text(e, key, text);
}

void emit_amounts(struct emit *e, const char *key, const tlshm_amounts *amounts)
{
    emit_object_begin(e, key);
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (amounts->of[unit] || emit_is_json(e))
            emit_amount(e, tlshm_unit_name(unit), (enum tlshm_unit)unit, amounts->of[unit]);
    emit_object_end(e);
}

/* ---------------------------------------------------------------------------------------------------- text: pieces */

/* Columns on the screen: one for each character, as none of what is shown here is wide or combining by habit. */
static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void pad(FILE *out, size_t n)
{
    while (n-- > 0)
        fputc(' ', out);
}

static bool ends_with(const char *text, size_t n, const char *suffix)
{
    size_t k = strlen(suffix);
    return n > k && memcmp(text + n - k, suffix, k) == 0;
}

/* "reaper_lag_max_ns" to "reaper lag max". */
static void label_of(const char *key, char *label, size_t size)
{
    size_t n = strlen(key);
    if (ends_with(key, n, "_ns"))
        n -= 3;
    else if (ends_with(key, n, "_nusd"))
        n -= 5;
    n = n < size ? n : size - 1;
    for (size_t i = 0; i < n; i++)
        label[i] = key[i] == '_' ? ' ' : key[i];
    label[n] = '\0';
}

static const char *shown(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? text + 1 : "";
}

static bool leans_right(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && *text == LEAN_RIGHT;
}

/* An array of plain values on one line, as a new string value. */
static json_t *joined(const json_t *array)
{
    json_t *line = json_sprintf("%c", LEAN_LEFT);
    for (size_t i = 0; line && i < json_array_size(array); i++) {
        json_t *longer =
            json_sprintf("%s%s%s", json_string_value(line), i ? ", " : "", shown(json_array_get(array, i)));
        json_decref(line);
        line = longer;
    }
    return line;
}

static bool is_table(const json_t *value)
{
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

/* ---------------------------------------------------------------------------------------------------- text: tables */

struct table {
    json_t *rows; /* array of flat objects */
    size_t columns;
    const char *keys[COLUMNS_MAX];
    char labels[COLUMNS_MAX][64];
    size_t widths[COLUMNS_MAX];
    bool right[COLUMNS_MAX];
};

/* Objects inside a row become columns "outer_inner"; arrays of plain values one cell. */
static void flatten(json_t *flat, const char *prefix, json_t *row)
{
    const char *key;
    json_t *value;
    json_object_foreach(row, key, value)
    {
        char name[128];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "_" : "", key);
        if (json_is_object(value))
            flatten(flat, name, value);
        else if (json_is_array(value))
            json_object_set_new(flat, name, joined(value));
        else
            json_object_set(flat, name, value);
    }
}

static size_t column_of(struct table *t, const char *key)
{
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(t->keys[i], key) == 0)
            return i;
    if (t->columns == COLUMNS_MAX)
        return COLUMNS_MAX;
    size_t i = t->columns++;
    t->keys[i] = key;
    label_of(key, t->labels[i], sizeof t->labels[i]);
    t->widths[i] = width_of(t->labels[i]);
    return i;
}

static void measure(struct table *t, json_t *row)
{
    const char *key;
    json_t *value;
    json_object_foreach(row, key, value)
    {
        size_t i = column_of(t, key), n = width_of(shown(value));
        if (i == COLUMNS_MAX)
            continue;
        t->right[i] |= leans_right(value);
        if (n > t->widths[i])
            t->widths[i] = n;
    }
}

/* A narrow terminal shows the first columns: lines that are broken in two can't be read as a table. */
static void fit(struct table *t, FILE *out, size_t indent)
{
    if (!term_is(out))
        return;
    size_t room = term_width(out), columns = 0;
    for (size_t end = indent; columns < t->columns; columns++) {
        end += t->widths[columns] + (columns ? GAP : 0);
        if (columns && end > room)
            break;
    }
    t->columns = columns;
}

static void print_cell(FILE *out, const struct table *t, size_t i, const char *text)
{
    size_t space = t->widths[i] - width_of(text);
    bool last = i + 1 == t->columns;
    if (t->right[i])
        pad(out, space);
    fputs(text, out);
    if (!last)
        pad(out, (t->right[i] ? 0 : space) + GAP);
}

static void print_head(FILE *out, const struct table *t, size_t indent)
{
    pad(out, indent);
    fputs(term_style(out, TERM_BOLD), out);
    for (size_t i = 0; i < t->columns; i++)
        print_cell(out, t, i, t->labels[i]);
    fputs(term_style(out, TERM_PLAIN), out);
    fputc('\n', out);
}

static void print_table(FILE *out, json_t *array, size_t indent)
{
    struct table t = {.rows = json_array()};
    size_t index;
    json_t *row;
    json_array_foreach(array, index, row)
    {
        json_t *flat = json_object();
        flatten(flat, "", row);
        measure(&t, flat);
        json_array_append_new(t.rows, flat);
    }
    fit(&t, out, indent);
    print_head(out, &t, indent);
    json_array_foreach(t.rows, index, row)
    {
        pad(out, indent);
        for (size_t i = 0; i < t.columns; i++)
            print_cell(out, &t, i, shown(json_object_get(row, t.keys[i])));
        fputc('\n', out);
    }
    json_decref(t.rows);
}

/* --------------------------------------------------------------------------------------------------- text: objects */

static bool is_empty(const json_t *value)
{
    return (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static bool is_line(const json_t *value)
{
    return is_empty(value) || (!json_is_object(value) && !is_table(value));
}

static size_t label_column(json_t *object)
{
    const char *key;
    json_t *value;
    size_t widest = 0;
    json_object_foreach(object, key, value)
    {
        char label[64];
        label_of(key, label, sizeof label);
        if (is_line(value) && width_of(label) > widest)
            widest = width_of(label);
    }
    return widest + GAP;
}

static void print_line(FILE *out, const char *label, const json_t *value, size_t column)
{
    json_t *line = json_is_array(value) ? joined(value) : NULL;
    const char *text = is_empty(value) ? "-" : shown(line ? line : value);
    fputs(label, out);
    if (*text)
        pad(out, column - width_of(label));
    fprintf(out, "%s\n", text);
    json_decref(line);
}

static void print_object(FILE *out, json_t *object, size_t indent)
{
    size_t column = label_column(object);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char label[64];
        label_of(key, label, sizeof label);
        pad(out, indent);
        if (is_line(value)) {
            print_line(out, label, value, column);
            continue;
        }
        fprintf(out, "%s:\n", label);
        if (json_is_object(value))
            print_object(out, value, indent + INDENT);
        else
            print_table(out, value, indent + INDENT);
    }
}

/* A lone table needs no heading: the command has said what it is. */
static void print_text(FILE *out, json_t *root)
{
    json_t *only = json_object_iter_value(json_object_iter(root));
    if (json_object_size(root) == 1 && is_table(only))
        print_table(out, only, 0);
    else if (json_object_size(root) == 1 && json_is_array(only) && json_array_size(only) == 0)
        return;
    else
        print_object(out, root, 0);
}

void emit_drop(struct emit *e)
{
    json_decref(e->stack[0]);
    free(e);
}

int emit_end(struct emit *e)
{
    if (!e->failed && emit_is_json(e)) {
        e->failed = json_dumpf(e->stack[0], e->out, e->format == EMIT_JSON ? JSON_INDENT(2) : 0) != 0;
        fputc('\n', e->out);
    } else if (!e->failed) {
        print_text(e->out, e->stack[0]);
    }
    bool failed = e->failed || fflush(e->out) != 0 || ferror(e->out);
    emit_drop(e);
    return failed ? -1 : 0;
}
