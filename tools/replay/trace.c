/* SPDX-License-Identifier: MIT */
/* trace.c - CSV rows to records. A table of column names is all that tells the formats apart. */
#include "trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

enum {
    COLUMNS_MAX = 32,
    LINE_MAX_BYTES = 4096,
    WHY_MAX = 512,
    DIGITS_S = 9,  /* decimals from seconds to nanoseconds */
    DIGITS_MS = 6, /* from milliseconds */
    GZIP_BUFFER = 1 << 17
};

enum field {
    FIELD_SKIP,
    FIELD_T_S,
    FIELD_T_MS,
    FIELD_T_DATE,
    FIELD_TENANT,
    FIELD_SESSION,
    FIELD_AGENT,
    FIELD_MODEL,
    FIELD_INPUT,
    FIELD_CACHED,
    FIELD_OUTPUT,
    FIELD_API
};

/* A header may name two of the same field; the one further right counts (cached_tokens_ttl5m is the stricter one). */
static const struct {
    const char *name;
    enum field field;
} columns[] = {
    {"t_s", FIELD_T_S},
    {"t_ms", FIELD_T_MS},
    {"TIMESTAMP", FIELD_T_DATE},
    {"tenant", FIELD_TENANT},
    {"session", FIELD_SESSION},
    {"agent", FIELD_AGENT},
    {"model", FIELD_MODEL},
    {"input_tokens", FIELD_INPUT},
    {"ContextTokens", FIELD_INPUT},
    {"cached_tokens", FIELD_CACHED},
    {"cached_tokens_ttl5m", FIELD_CACHED},
    {"cached_prefix_tokens", FIELD_CACHED},
    {"output_tokens", FIELD_OUTPUT},
    {"GeneratedTokens", FIELD_OUTPUT},
    {"api_time_s", FIELD_API},
};

#define BIT(field) (1u << (field))

/* The first whose fields are all in the header is the format. */
static const struct {
    const char *name;
    enum trace_format format;
    unsigned needs;
} formats[] = {
    {"fleet", TRACE_FLEET, BIT(FIELD_T_S) | BIT(FIELD_TENANT) | BIT(FIELD_SESSION) | BIT(FIELD_AGENT)},
    {"sessions", TRACE_SESSIONS, BIT(FIELD_T_S) | BIT(FIELD_SESSION) | BIT(FIELD_AGENT)},
    {"azure", TRACE_AZURE, BIT(FIELD_T_DATE)},
    {"mooncake", TRACE_MOONCAKE, BIT(FIELD_T_MS)},
};

struct trace {
    gzFile file;
    const char *path;
    enum trace_format format;
    bool skip_bad;
    uint64_t line, skipped;
    size_t column_count;
    enum field fields[COLUMNS_MAX];
    char text[LINE_MAX_BYTES];
    char why[WHY_MAX];
};

static bool complain(struct trace *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct trace *t, const char *format, ...)
{
    int n = t->line ? snprintf(t->why, sizeof t->why, "%s:%llu: ", t->path, (unsigned long long)t->line)
                    : snprintf(t->why, sizeof t->why, "%s: ", t->path);
    if (n < 0 || (size_t)n >= sizeof t->why)
        return false;
    va_list list;
    va_start(list, format);
    vsnprintf(t->why + n, sizeof t->why - (size_t)n, format, list);
    va_end(list);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ lines */

/* A file that ends in the middle of its gzip stream reads short without an error unless one asks. */
static int end_of_file(struct trace *t)
{
    int code;
    const char *text = gzerror(t->file, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return 0;
    complain(t, "%s", code == Z_ERRNO ? strerror(errno) : code == Z_BUF_ERROR ? "the file is cut short" : text);
    return -1;
}

/* Reads one line, without its end. Returns 1, 0 at the end of the file, -1 after a complaint. */
static int read_line(struct trace *t)
{
    if (!gzgets(t->file, t->text, sizeof t->text))
        return end_of_file(t);
    t->line++;
    size_t n = strlen(t->text);
    bool whole = n > 0 && t->text[n - 1] == '\n';
    if (!whole && !gzeof(t->file))
        return complain(t, "a line of more than %d bytes, or a NUL byte", LINE_MAX_BYTES - 2), -1;
    /* The last line may lack its end, but not because the compressed data does. */
    if (!whole && end_of_file(t) < 0)
        return -1;
    while (n > 0 && (t->text[n - 1] == '\n' || t->text[n - 1] == '\r'))
        t->text[--n] = '\0';
    return 1;
}

/* Cuts the line at its commas. Returns how many cells there are, at most `max` + 1. */
static size_t split(char *text, char **cells, size_t max)
{
    size_t n = 0;
    for (char *next = text; next; n++) {
        if (n == max)
            return max + 1;
        cells[n] = next;
        next = strchr(next, ',');
        if (next)
            *next++ = '\0';
    }
    return n;
}

/* ------------------------------------------------------------------------------------------------------------ cells */

/* "12.345" as an integer of 10^-digits; further decimals are dropped. */
static bool parse_decimal(const char *text, unsigned digits, uint64_t *out)
{
    uint64_t value = 0;
    unsigned decimals = 0;
    bool point = false, any = false;
    for (; *text; text++) {
        if (*text == '.' && !point && digits > 0) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            return false;
        any = true;
        if (decimals == digits && point)
            continue;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (unsigned)(*text - '0'), &value))
            return false;
        decimals += point;
    }
    for (; decimals < digits; decimals++)
        if (__builtin_mul_overflow(value, 10u, &value))
            return false;
    *out = value;
    return any && value <= INT64_MAX;
}

/* "2023-11-16 18:17:03.9799600", taken as UTC. */
static bool parse_date(const char *text, int64_t *out)
{
    struct tm date = {0};
    char between;
    int used = 0;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%n", &date.tm_year, &date.tm_mon, &date.tm_mday, &between, &date.tm_hour,
               &date.tm_min, &used) != 6 ||
        used == 0 || (between != ' ' && between != 'T'))
        return false;
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    struct tm given = date;
    int64_t seconds = timegm(&date);
    /* timegm() turns the 31st of April into the 1st of May; here it is a damaged row. */
    if (given.tm_mday != date.tm_mday || given.tm_hour != date.tm_hour || given.tm_min != date.tm_min || seconds < 0)
        return false;
    uint64_t within;
    if (!parse_decimal(text + used, DIGITS_S, &within))
        return false;
    return !__builtin_mul_overflow(seconds, INT64_C(1000000000), out) &&
           !__builtin_add_overflow(*out, (int64_t)within, out);
}

static bool take_time(struct trace *t, const char *cell, unsigned digits, int64_t *out)
{
    uint64_t value;
    if (!parse_decimal(cell, digits, &value))
        return complain(t, "'%s' is not a time", cell);
    *out = (int64_t)value;
    return true;
}

/* An empty cell is an unknown duration. */
static bool take_duration(struct trace *t, const char *cell, uint64_t *out)
{
    *out = 0;
    return *cell == '\0' || parse_decimal(cell, DIGITS_S, out) || complain(t, "'%s' is not a duration", cell);
}

static bool take_tokens(struct trace *t, const char *cell, uint64_t *out)
{
    if (!parse_decimal(cell, 0, out) || *out > TRACE_TOKENS_MAX)
        return complain(t, "'%s' is not a number of tokens", cell);
    return true;
}

static bool take_name(struct trace *t, const char *cell, char out[TRACE_NAME_MAX + 1])
{
    size_t n = strlen(cell);
    if (n > TRACE_NAME_MAX)
        return complain(t, "a name of more than %d bytes", TRACE_NAME_MAX);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)cell[i] < ' ' || cell[i] == '\x7f')
            return complain(t, "a control character in a name");
    memcpy(out, cell, n + 1);
    return true;
}

static bool take_cell(struct trace *t, enum field field, const char *cell, struct trace_record *r)
{
    switch (field) {
    case FIELD_SKIP:
        return true;
    case FIELD_T_S:
        return take_time(t, cell, DIGITS_S, &r->t_ns);
    case FIELD_T_MS:
        return take_time(t, cell, DIGITS_MS, &r->t_ns);
    case FIELD_T_DATE:
        return parse_date(cell, &r->t_ns) || complain(t, "'%s' is not a date and time", cell);
    case FIELD_TENANT:
        return take_name(t, cell, r->tenant);
    case FIELD_SESSION:
        return take_name(t, cell, r->session);
    case FIELD_AGENT:
        return take_name(t, cell, r->agent);
    case FIELD_MODEL:
        return take_name(t, cell, r->model);
    case FIELD_INPUT:
        return take_tokens(t, cell, &r->input);
    case FIELD_CACHED:
        return take_tokens(t, cell, &r->cached);
    case FIELD_OUTPUT:
        return take_tokens(t, cell, &r->output);
    case FIELD_API:
        return take_duration(t, cell, &r->api_ns);
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static bool parse_row(struct trace *t, struct trace_record *r)
{
    char *cells[COLUMNS_MAX];
    size_t n = split(t->text, cells, COLUMNS_MAX);
    if (n != t->column_count)
        return complain(t, "%zu columns where the header has %zu", n, t->column_count);
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < n; i++)
        if (!take_cell(t, t->fields[i], cells[i], r))
            return false;
    if (r->cached > r->input)
        return complain(t, "more cached tokens than input tokens");
    return true;
}

int trace_next(struct trace *t, struct trace_record *out)
{
    for (;;) {
        int got = read_line(t);
        if (got <= 0)
            return got;
        if (t->text[0] == '\0')
            continue;
        if (parse_row(t, out))
            return 1;
        if (!t->skip_bad)
            return -1;
        t->skipped++;
    }
}

static enum field field_of(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].name, name) == 0)
            return columns[i].field;
    return FIELD_SKIP;
}

static bool decide_format(struct trace *t, unsigned present)
{
    const unsigned always = BIT(FIELD_INPUT) | BIT(FIELD_OUTPUT);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        unsigned needs = formats[i].needs | always;
        if ((present & needs) == needs) {
            t->format = formats[i].format;
            return true;
        }
    }
    return complain(t, "the header is that of no known trace format");
}

static bool parse_header(struct trace *t)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    char *cells[COLUMNS_MAX], *text = t->text;
    if (strncmp(text, byte_order_mark, sizeof byte_order_mark - 1) == 0)
        text += sizeof byte_order_mark - 1;
    t->column_count = split(text, cells, COLUMNS_MAX);
    if (t->column_count > COLUMNS_MAX)
        return complain(t, "more than %d columns", COLUMNS_MAX);
    unsigned present = 0;
    for (size_t i = 0; i < t->column_count; i++) {
        t->fields[i] = field_of(cells[i]);
        present |= BIT(t->fields[i]);
    }
    return decide_format(t, present);
}

/* ------------------------------------------------------------------------------------------------------ open, close */

static bool start(struct trace *t)
{
    if (!t->file)
        return complain(t, "%s", errno ? strerror(errno) : "out of memory");
    gzbuffer(t->file, GZIP_BUFFER);
    int got = read_line(t);
    if (got == 0)
        return complain(t, "the file is empty");
    return got > 0 && parse_header(t);
}

struct trace *trace_open(const char *path, bool skip_bad, char *why, size_t size)
{
    struct trace *t = calloc(1, sizeof *t);
    if (!t) {
        snprintf(why, size, "%s: out of memory", path);
        return NULL;
    }
    t->path = path;
    t->skip_bad = skip_bad;
    errno = 0;
    t->file = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rbe");
    if (start(t))
        return t;
    snprintf(why, size, "%s", t->why);
    trace_close(t);
    return NULL;
}

const char *trace_why(const struct trace *t)
{
    return t->why;
}

enum trace_format trace_format(const struct trace *t)
{
    return t->format;
}

const char *trace_format_name(enum trace_format format)
{
    return formats[format].name;
}

uint64_t trace_skipped(const struct trace *t)
{
    return t->skipped;
}

void trace_close(struct trace *t)
{
    if (t && t->file)
        gzclose_r(t->file);
    free(t);
}
