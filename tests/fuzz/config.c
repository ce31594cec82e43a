/* SPDX-License-Identifier: MIT */
/*
 * config.c - any bytes as a configuration file.
 *
 * The first byte says how the others are meant: as the file itself, or each as a word that such files are made of, so that
 * inputs get past the first fault. Then, whatever it is:
 *   - it is read or told what is wrong with it, at a place that the text has;
 *   - what is read is written so that it reads back to the same;
 *   - what is read is applied to a segment, and nothing but what is fixed differs afterwards; or it does not fit, and
 *     nothing changed;
 *   - what the segment shows is a sound file that differs from it in nothing.
 */
#include "fuzz.h"
#include "space.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlshm/config.h>

enum { TEXT_MAX = 1 << 16 };

static const char *const words[] = {
    "geometry:",
    "scopes:",
    "reservations:",
    "limits_per_scope:",
    "slices:",
    "seats:",
    "tiers:",
    "limit_lists:",
    "retention:",
    "mode:",
    "group:",
    "virtual_clock:",
    "overrun:",
    "windows:",
    "levels:",
    "unlisted_scopes:",
    "pause_at:",
    "shutoff_at:",
    "prices:",
    "path:",
    "default:",
    "overrides:",
    "input:",
    "output:",
    "cache_read:",
    "reasoning:",
    "estimates:",
    "output_default:",
    "output_cap:",
    "output_floor:",
    "output_quantile:",
    "max_share:",
    "cached_discount:",
    "rank:",
    "user:",
    "team:",
    "org:",
    "global:",
    "free:",
    "pro:",
    "free",
    "pro",
    "user:a:",
    "team:x:",
    "\"global:\":",
    "tokens",
    "cost",
    "requests",
    "concurrency",
    "input_tokens",
    "tool_calls",
    "time",
    "per",
    "request",
    "per 1h",
    "per 5m/7",
    "lifetime",
    "per day in Europe/Berlin",
    "per month from 15",
    "per week from sunday",
    "strict",
    "unlimited",
    "$0.50",
    "$5",
    "5",
    "0",
    "10k",
    "1.5M",
    "95%",
    "0.5",
    "60s",
    "1h",
    "cap",
    "actual",
    "keep",
    "reset",
    "true",
    "/p",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n    - ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "\"",
    "'",
    "#",
    "&a ",
    "*a",
    "!t ",
    "|\n",
    "---\n",
    "...\n",
    "\t",
    "\\u2028",
    "\xc3\xa9",
    "\xf0\x9f\x98\x80",
    "\xff",
    "$2 per 1M",
    "{rank: 3}",
    "[tokens 5 per 1h]",
    "[]",
    "{}",
};

struct page {
    char text[TEXT_MAX];
    size_t size;
};

static struct space space;
static unsigned lines;

static void must(bool holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

static int put(void *context, const char *text, size_t size)
{
    struct page *page = context;
    if (page->size + size >= sizeof page->text)
        return 1;
    memcpy(page->text + page->size, text, size);
    page->text[page->size += size] = 0;
    return 0;
}

/* As words; what the text has no room for is left out. */
static void compose(struct bytes *b, struct page *page)
{
    while (bytes_left(b) > 0) {
        const char *word = words[bytes_below(b, sizeof words / sizeof *words)];
        char first = *word, last = page->size ? page->text[page->size - 1] : '\n';
        if (!strchr("\n :,[]{}", first) && !strchr("\n [{\"'", last))
            put(page, " ", 1);
        if (put(page, word, strlen(word)) != 0)
            return;
    }
}

static void on_fault(void *context, unsigned line, unsigned column, const char *text)
{
    (void)context;
    must(line >= 1 && line <= lines && column >= 1 && *text, "a fault is nowhere", text);
    for (const char *c = text; *c; c++)
        must((unsigned char)*c >= 0x20 && *c != 0x7f, "a fault has control characters", text);
}

static tlshm_config *read_config(const char *text, size_t size)
{
    tlshm_config *c = NULL;
    lines = 2;
    for (size_t i = 0; i < size; i++) /* YAML knows further ends of lines than these: each has one of the three bytes */
        lines += text[i] == '\n' || text[i] == '\r' || text[i] == (char)0xc2 || text[i] == (char)0xe2;
    int rc = tlshm_config_parse(&c, text, size, on_fault, NULL, NULL);
    must((rc == 0) == (c != NULL) && (rc == 0 || rc == -TLSHM_EINVAL), "no answer", text);
    return c;
}

static void write_config(const tlshm_config *c, struct page *page)
{
    page->size = page->text[0] = 0;
    int rc = tlshm_config_write(c, put, page);
    must(rc == 0 || rc == 1, "it can't be written", page->text);
    if (rc == 1)
        page->size = 0; /* more than there is room for */
}

static void check_round_trip(const tlshm_config *c)
{
    static struct page first, second;
    write_config(c, &first);
    if (!first.size)
        return;
    tlshm_config *again = read_config(first.text, first.size);
    must(again != NULL, "what was written can't be read", first.text);
    write_config(again, &second);
    must(strcmp(first.text, second.text) == 0, "what was written reads back to something else", first.text);
    tlshm_config_free(again);
}

/* ----------------------------------------------------------------------------------------------------------- a segment */

static void count_loose(void *context, const tlshm_config_change *change)
{
    *(unsigned *)context += !change->fixed;
}

static unsigned differences(const tlshm_config *c)
{
    unsigned loose = 0;
    int rc = tlshm_config_diff(space.t, c, count_loose, &loose, NULL);
    must(rc >= 0, "the difference can't be told", tlshm_error_name(rc));
    return loose;
}

static void show(struct page *page)
{
    tlshm_config *shown = NULL;
    must(tlshm_config_read(&shown, space.t) == 0, "the segment can't be read", "");
    write_config(shown, page);
    tlshm_config_free(shown);
}

static void check_shown(void)
{
    static struct page page;
    show(&page);
    tlshm_config *c = read_config(page.text, page.size);
    must(c != NULL && differences(c) == 0, "what is shown is not what is there", page.text);
    tlshm_config_free(c);
}

static void check_applied(const tlshm_config *c)
{
    static struct page before, after;
    struct tlshm_error err = {0};
    show(&before);
    int rc = tlshm_config_apply(space.t, c, NULL, NULL, &err);
    if (rc >= 0) {
        must(differences(c) == 0, "what was applied is not there", "");
        check_shown();
        return;
    }
    must(rc == -TLSHM_ENOROOM || rc == -TLSHM_ERANGE, "it can't be applied", err.text);
    show(&after);
    must(strcmp(before.text, after.text) == 0, "what does not fit was applied in part", err.text);
    if (rc == -TLSHM_ENOROOM) { /* names of tiers and levels that were once used keep their places */
        space_close(&space);
        space.t = NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct page page;
    struct bytes b = {data, data + size};
    bool as_words = bytes_8(&b) & 1;
    page.size = page.text[0] = 0;
    if (as_words)
        compose(&b, &page);
    else
        put(&page, (const char *)b.at, bytes_left(&b));
    if (!space.t)
        space_open(&space, NULL);
    tlshm_config *c = read_config(page.text, page.size);
    if (c) {
        check_round_trip(c);
        check_applied(c);
    }
    tlshm_config_free(c);
    return 0;
}
