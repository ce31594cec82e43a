/* SPDX-License-Identifier: MIT */
/* trace_test.c - the trace reader of tlshm-replay: every format, every kind of damage, and what it says about it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "../../tools/replay/generate.h"
#include "../../tools/replay/trace.h"
#include "../../tools/replay/write.h"
#include "tap.h"

enum { WHY_MAX = 600, TIMEOUT_S = 300 };

static char place[] = "/tmp/trace-test-XXXXXX", path[64];

#define FLEET "t_s,tenant,session,agent,model,input_tokens,cached_tokens_ttl5m,output_tokens,api_time_s\n"
#define SESSIONS                                                                                                       \
    "session,agent,t_s,model,input_tokens,cached_tokens,cached_tokens_ttl5m,output_tokens,stream,stop,api_time_s,"     \
    "ttft_s,think_time_s\n"
#define AZURE "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define MOONCAKE "t_ms,input_tokens,output_tokens,cached_prefix_tokens\n"

static void put_bytes(const char *bytes, size_t size, const char *mode)
{
    gzFile file = gzopen(path, mode);
    MUST(file && gzwrite(file, bytes, (unsigned)size) == (int)size && gzclose(file) == Z_OK, "%s", path);
}

static void put(const char *text)
{
    put_bytes(text, strlen(text), "wbT");
}

/* The first record of a text, or what was wrong with it. */
static struct trace_record first_of(const char *text, enum trace_format *format, char why[WHY_MAX])
{
    struct trace_record r = {0};
    put(text);
    why[0] = '\0';
    struct trace *t = trace_open(path, false, why, WHY_MAX);
    if (!t)
        return r;
    *format = trace_format(t);
    if (trace_next(t, &r) != 1)
        snprintf(why, WHY_MAX, "%s", trace_why(t));
    trace_close(t);
    return r;
}

/* ------------------------------------------------------------------------------------------------------------ formats */

static const struct {
    const char *text;
    enum trace_format format;
    struct trace_record expected;
} good[] = {
    {FLEET "8.29,t01,0122,main,big,66456,64000,105,4.69\n",
     TRACE_FLEET,
     {8290000000, 4690000000, 66456, 64000, 105, "t01", "0122", "main", "big"}},
    {FLEET "0,t,s,a,m,1,0,0,\r\n", TRACE_FLEET, {0, 0, 1, 0, 0, "t", "s", "a", "m"}},
    {"\xef\xbb\xbf" FLEET "1,t,s,a,m,1,0,0,0\n", TRACE_FLEET, {1000000000, 0, 1, 0, 0, "t", "s", "a", "m"}},
    {SESSIONS "0001,a001,19,big,72762,71168,70000,296,0,tool_use,9.19,,12\n",
     TRACE_SESSIONS,
     {19000000000, 9190000000, 72762, 70000, 296, "", "0001", "a001", "big"}},
    {AZURE "2023-11-16 18:17:03.9799600,4808,10", TRACE_AZURE, {1700158623979960000, 0, 4808, 0, 10, "", "", "", ""}},
    {AZURE "2024-02-29T00:00:00,1,2", TRACE_AZURE, {1709164800000000000, 0, 1, 0, 2, "", "", "", ""}},
    {MOONCAKE "3000,7322,490,512\n", TRACE_MOONCAKE, {3000000000, 0, 7322, 512, 490, "", "", "", ""}},
    {"extra,t_ms,output_tokens,input_tokens\nx,1.0000015,2,3\n", TRACE_MOONCAKE, {1000001, 0, 3, 0, 2, "", "", "", ""}},
};

static bool same(const struct trace_record *a, const struct trace_record *b)
{
    return a->t_ns == b->t_ns && a->api_ns == b->api_ns && a->input == b->input && a->cached == b->cached &&
           a->output == b->output && strcmp(a->tenant, b->tenant) == 0 && strcmp(a->session, b->session) == 0 &&
           strcmp(a->agent, b->agent) == 0 && strcmp(a->model, b->model) == 0;
}

static void test_formats(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char why[WHY_MAX];
        enum trace_format format = TRACE_FLEET;
        struct trace_record r = first_of(good[i].text, &format, why);
        tap_ok(why[0] == '\0' && format == good[i].format && same(&r, &good[i].expected),
               "row %zu is read exactly (%s)", i, why[0] ? why : trace_format_name(format));
    }
}

/* ------------------------------------------------------------------------------------------------------------- damage */

static const struct {
    const char *name, *text, *says;
} bad[] = {
    {"an empty file", "", "empty"},
    {"a foreign header", "a,b,c\n1,2,3\n", "no known trace format"},
    {"a header without output tokens", "t_ms,input_tokens\n1,2\n", "no known trace format"},
    {"a column too few", FLEET "1,t,s,a,m,1,0,0\n", ":2: 8 columns where the header has 9"},
    {"a column too many", MOONCAKE "1,2,3,0,5\n", ":2: 5 columns"},
    {"a negative amount", MOONCAKE "1,-2,3,0\n", ":2: '-2' is not a number of tokens"},
    {"a fraction of a token", MOONCAKE "1,2.5,3,0\n", "'2.5' is not a number of tokens"},
    {"no amount", MOONCAKE "1,,3,0\n", "'' is not a number of tokens"},
    {"an amount beyond reason", MOONCAKE "1,1000000001,3,0\n", "is not a number of tokens"},
    {"an amount beyond 64 bits", MOONCAKE "1,18446744073709551617,3,0\n", "is not a number of tokens"},
    {"more cached than there is", MOONCAKE "1,2,3,4\n", "more cached tokens"},
    {"no time", MOONCAKE ",2,3,0\n", "'' is not a time"},
    {"a time in words", MOONCAKE "noon,2,3,0\n", "'noon' is not a time"},
    {"a time beyond 64 bits", MOONCAKE "99999999999999,2,3,0\n", "is not a time"},
    {"two points", MOONCAKE "1.2.3,2,3,0\n", "is not a time"},
    {"a date without a time", AZURE "2023-11-16,1,2\n", "is not a date and time"},
    {"the 31st of April", AZURE "2023-04-31 00:00:00,1,2\n", "is not a date and time"},
    {"an hour too late", AZURE "2023-04-30 25:00:00,1,2\n", "is not a date and time"},
    {"a duration in words", FLEET "1,t,s,a,m,1,0,0,long\n", "'long' is not a duration"},
    {"a tab in a name", FLEET "1,t\tt,s,a,m,1,0,0,1\n", "control character"},
};

static void test_damage(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char why[WHY_MAX];
        enum trace_format format;
        first_of(bad[i].text, &format, why);
        tap_ok(strstr(why, bad[i].says) && strstr(why, path), "%s: %s", bad[i].name, why);
    }
}

static void test_long_name(void)
{
    char text[2 * TRACE_NAME_MAX + sizeof FLEET + 64], name[TRACE_NAME_MAX + 2], why[WHY_MAX];
    enum trace_format format;
    memset(name, 'x', sizeof name);
    name[TRACE_NAME_MAX] = '\0';
    snprintf(text, sizeof text, FLEET "1,%s,s,a,m,1,0,0,1\n", name);
    struct trace_record r = first_of(text, &format, why);
    tap_ok(strcmp(r.tenant, name) == 0, "the longest name is kept whole");
    snprintf(text, sizeof text, FLEET "1,%sx,s,a,m,1,0,0,1\n", name);
    first_of(text, &format, why);
    tap_ok(strstr(why, "a name of more than") != NULL, "a longer one is refused: %s", why);
}

static void test_long_line(void)
{
    char why[WHY_MAX];
    enum trace_format format;
    static char text[sizeof MOONCAKE + 10000] = MOONCAKE;
    memset(text + sizeof MOONCAKE - 1, '1', 9000);
    first_of(text, &format, why);
    tap_ok(strstr(why, ":2: a line of more than") != NULL, "an endless line is refused: %s", why);
}

static void test_nul(void)
{
    static const char text[] = MOONCAKE "1,2\0,3,0\n";
    char why[WHY_MAX] = "";
    struct trace_record r;
    put_bytes(text, sizeof text - 1, "wbT");
    struct trace *t = trace_open(path, false, why, sizeof why);
    MUST(t, "%s", why);
    tap_ok(trace_next(t, &r) == -1, "a NUL byte is refused: %s", trace_why(t));
    trace_close(t);
}

/* ---------------------------------------------------------------------------------------------------------- whole files */

static uint64_t read_all(bool skip_bad, uint64_t *skipped, int *last, char why[WHY_MAX])
{
    struct trace_record r;
    uint64_t rows = 0;
    struct trace *t = trace_open(path, skip_bad, why, WHY_MAX);
    MUST(t, "%s", why);
    while ((*last = trace_next(t, &r)) == 1)
        rows++;
    *skipped = trace_skipped(t);
    snprintf(why, WHY_MAX, "%s", trace_why(t));
    trace_close(t);
    return rows;
}

static void test_skipping(void)
{
    static const char text[] = MOONCAKE "1,2,3,0\nbad\n\n2,2,3,0\n3,x,3,0\n4,2,3,0";
    char why[WHY_MAX];
    uint64_t skipped;
    int last;
    put(text);
    tap_equal(read_all(true, &skipped, &last, why), 3, "bad rows are passed over, empty lines ignored");
    tap_equal(skipped, 2, "and counted");
    tap_ok(last == 0, "to the end");
    tap_equal(read_all(false, &skipped, &last, why), 1, "without skipping the first bad row ends it");
    tap_ok(last == -1 && strstr(why, ":3: ") != NULL, "with its line: %s", why);
}

static void test_gzip(void)
{
    char why[WHY_MAX];
    uint64_t skipped;
    int last;
    enum { ROWS = 20000 };
    gzFile file = gzopen(path, "wb");
    gzputs(file, MOONCAKE);
    for (int i = 0; i < ROWS; i++)
        gzprintf(file, "%d,%d,%d,0\n", i, i * 7919 % 100003, i % 977);
    MUST(gzclose(file) == Z_OK, "%s", path);
    tap_equal(read_all(false, &skipped, &last, why), ROWS, "a gzipped trace is read whole");
    tap_ok(last == 0, "and ends well");
    FILE *plain = fopen(path, "rb");
    MUST(plain && fseek(plain, 0, SEEK_END) == 0, "%s", path);
    long size = ftell(plain);
    fclose(plain);
    MUST(truncate(path, size / 2) == 0, "%s", path);
    tap_ok(read_all(true, &skipped, &last, why) < ROWS && last == -1,
           "one that is cut short is an error, not an end: %s", why);
}

static void test_absent(void)
{
    char why[WHY_MAX];
    unlink(path);
    tap_ok(!trace_open(path, false, why, sizeof why) && strstr(why, "No such file"), "an absent file: %s", why);
    tap_ok(!trace_open(place, false, why, sizeof why), "a directory: %s", why);
}

/* --------------------------------------------------------------------------------------------------- there and back */

static void test_round_trip(void)
{
    const struct generate_settings settings = {3, 500, 13, 40, UINT64_C(3600000000000)};
    char why[WHY_MAX];
    struct trace_record made, read;
    struct generate *g = generate_start(&settings);
    struct write *w = write_start(path);
    MUST(g && w, "%s", path);
    while (generate_next(g, &made))
        MUST(write_record(w, &made), "%s", path);
    generate_end(g);
    MUST(write_end(w, why, sizeof why), "%s", why);

    uint64_t rows = 0, equal = 0;
    g = generate_start(&settings);
    struct trace *t = trace_open(path, false, why, sizeof why);
    MUST(g && t, "%s", why);
    while (generate_next(g, &made) && trace_next(t, &read) == 1) {
        made.t_ns -= made.t_ns % 10000000; /* the format has hundredths */
        made.api_ns -= made.api_ns % 10000000;
        rows++;
        equal += same(&made, &read);
    }
    tap_equal(rows, settings.requests, "a generated trace has as many calls as were asked for");
    tap_equal(equal, rows, "written and read again it is the same");
    trace_close(t);
    generate_end(g);
}

int main(void)
{
    tap_begin(TIMEOUT_S);
    MUST(mkdtemp(place), "%s", place);
    snprintf(path, sizeof path, "%s/trace", place);
    test_formats();
    test_damage();
    test_long_name();
    test_long_line();
    test_nul();
    test_skipping();
    test_gzip();
    test_round_trip();
    test_absent();
    unlink(path);
    rmdir(place);
    return tap_end();
}
