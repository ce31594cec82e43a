/* SPDX-License-Identifier: MIT */
/*
 * confapply.c - configurations and segments: what is applied is in force, what is used and held stays, what a segment shows
 * can be applied again.
 */
#include "stage.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlshm/config.h>
#include <tlshm/stats.h>

static struct stage *s;

static void open_stage(void)
{
    s = stage_open(NULL);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(confapply, .init = open_stage, .fini = close_stage, .timeout = 240);

/* ------------------------------------------------------------------------------------------------------------ helpers */

struct page {
    char text[1 << 17];
    size_t size;
};

static void add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    p->size += (size_t)vsnprintf(p->text + p->size, sizeof p->text - p->size, format, arguments);
    va_end(arguments);
    cr_assert_lt(p->size, sizeof p->text);
}

static tlshm_config *config_of(const char *text)
{
    struct tlshm_error err = {0};
    tlshm_config *c = NULL;
    cr_assert_eq(tlshm_config_parse(&c, text, strlen(text), NULL, NULL, &err), 0, "%s\n%s", err.text, text);
    return c;
}

/* "scope agent:a: tokens 5 per 1h; cost $1 per 1h -> tier pro" for each change. */
static void note(void *context, const tlshm_config_change *change)
{
    static const char *const parts[] = {"geometry", "overrun", "tier", "level", "scope"};
    struct page *p = context;
    add(p, "%s %s%s:", parts[change->part], change->name, change->fixed ? " (fixed)" : "");
    for (unsigned i = 0; i < 2; i++) {
        const char *lines = i ? change->after : change->before;
        add(p, i ? " -> " : " ");
        add(p, "%s", lines ? "" : "none");
        for (; lines && *lines; lines++)
            add(p, *lines == '\n' ? "; " : "%c", *lines);
    }
    add(p, "\n");
}

typedef int change_function(tlshm_t *t, const tlshm_config *config, tlshm_config_changed changed, void *context,
                            struct tlshm_error *err);

/* What diff or apply tell. */
static const char *told(change_function *run, const char *text)
{
    static struct page page;
    struct tlshm_error err = {0};
    tlshm_config *c = config_of(text);
    page.size = page.text[0] = 0;
    int rc = run(s->space.t, c, note, &page, &err);
    if (rc < 0) {
        page.size = 0;
        add(&page, "%s: %s", tlshm_error_name(rc), err.text);
    }
    tlshm_config_free(c);
    return page.text;
}

static void apply(const char *text)
{
    const char *said = told(tlshm_config_apply, text);
    cr_assert_neq(said[0], 'E', "%s", said);
    cr_assert_str_eq(told(tlshm_config_diff, text), "", "%s", text);
}

static int put(void *context, const char *text, size_t size)
{
    add(context, "%.*s", (int)size, text);
    return 0;
}

/* What is in force, as a file. */
static const char *shown(void)
{
    static struct page page;
    tlshm_config *c = NULL;
    page.size = page.text[0] = 0;
    cr_assert_eq(tlshm_config_read(&c, s->space.t), 0);
    cr_assert_eq(tlshm_config_write(c, put, &page), 0);
    tlshm_config_free(c);
    return page.text;
}

static int64_t left(const char *key)
{
    return space_remaining(&s->space, key, TLSHM_TOKENS);
}

/* -------------------------------------------------------------------------------------------------------------- tests */

static const char base[] =
    "overrun: cap\n"
    "tiers:\n  free: [tokens 100 per 1h]\n  pro: [tokens 1000 per 1h, cost $5 per day in Europe/Berlin]\n"
    "levels: {user: free, team: {rank: 3, default: pro}}\n"
    "scopes: {\"user:vip\": pro, \"user:odd\": [tokens 7 per 1h], \"user:any\": []}\n";

Test(confapply, what_a_file_says_is_in_force)
{
    apply(base);
    cr_expect_eq(left("user:a"), 100);
    cr_expect_eq(left("user:vip"), 1000);
    cr_expect_eq(left("user:odd"), 7);
    cr_expect_eq(left("user:any"), INT64_MAX);
    cr_expect_eq(left("team:x"), 1000);
    cr_expect_eq(left("org:x"), INT64_MAX);
    cr_expect_eq(space_usage(&s->space, "user:any").source, TLSHM_LIMITS_OWN);
    struct ask ask;
    tlshm_id id; /* beside the stage, which counts what is used in full */
    cr_assert_eq(tlshm_reserve(s->space.t, ask_for(&ask, "user:vip", "tokens=10"), &id, NULL), TLSHM_OK);
    tlshm_amounts actual = amounts_of("tokens=15");
    tlshm_result result;
    cr_assert_eq(tlshm_settle(s->space.t, id, &actual, TLSHM_EXACT, &result), 0);
    cr_expect_eq(result.charged.of[TLSHM_TOKENS], 10, "capped at the estimate");
}

Test(confapply, differences_are_told_one_by_one)
{
    cr_expect_str_eq(told(tlshm_config_diff, base),
                     "overrun : actual -> cap\n"
                     "tier free: none -> tokens 100 per 1h\n"
                     "tier pro: none -> tokens 1k per 1h; cost $5 per day in Europe/Berlin\n"
                     "level team: none -> rank 3; default pro\n"
                     "level user:  -> default free\n"
                     "scope user:any: none -> \n"
                     "scope user:odd: none -> tokens 7 per 1h\n"
                     "scope user:vip: none -> tier pro\n");
    apply(base);
    cr_expect_str_eq(told(tlshm_config_diff, "overrun: actual\n"
                                             "tiers:\n  free: [tokens 200 per 1h, concurrency 2]\n  new: []\n"
                                             "levels: {org: new}\n"
                                             "scopes: {\"user:odd\": new, \"user:vip\": [tokens 5 per 1h]}\n"),
                     "overrun : cap -> actual\n"
                     "tier free: tokens 100 per 1h -> tokens 200 per 1h; concurrency 2\n"
                     "tier new: none -> \n"
                     "level org:  -> default new\n"
                     "level team: default pro -> \n"
                     "level user: default free -> \n"
                     "scope user:any:  -> none\n"
                     "scope user:odd: tokens 7 per 1h -> tier new\n"
                     "scope user:vip: tier pro -> tokens 5 per 1h\n"
                     "tier pro: tokens 1k per 1h; cost $5 per day in Europe/Berlin -> none\n");
}

Test(confapply, used_and_held_stay)
{
    apply(base);
    stage_settle(s, stage_reserve(s, "user:a", "tokens=60"), "tokens=60");
    tlshm_id held = stage_reserve(s, "user:a", "tokens=30");
    apply("tiers:\n  free: [tokens 80 per 1h]\nlevels: {user: free}\n");
    cr_expect_eq(left("user:a"), -10);
    cr_expect_eq(stage_reserve(s, "user:a", "tokens=1"), 0);
    cr_expect_eq(stage_settle(s, held, "tokens=30"), TLSHM_OK);
    apply("tiers:\n  free: [tokens 1000 per 1h]\n");
    cr_expect_eq(left("user:a"), 910);
}

Test(confapply, section_that_is_not_there_leaves_the_segment_alone)
{
    apply(base);
    apply("overrun: actual\n");
    cr_expect_eq(left("user:vip"), 1000);
    apply("tiers:\n  free: [tokens 50 per 1h]\n  pro: [tokens 500 per 1h]\n");
    cr_expect_eq(left("user:vip"), 500);
    cr_expect_eq(left("user:a"), 50);
    apply("scopes: {}\n");
    cr_expect_eq(left("user:vip"), 50, "back to the default");
    cr_expect_eq(left("user:odd"), 50);
    apply("levels: {}\n");
    cr_expect_eq(left("user:a"), INT64_MAX);
    apply("tiers: {}\n");
    char name[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0;
    cr_expect_eq(tlshm_tier_next(s->space.t, &cursor, name), 0);
}

Test(confapply, unlisted_scopes_are_kept_when_the_file_says_so)
{
    apply(base);
    space_limits(&s->space, "agent:by-hand", "tokens 3 per 1h");
    apply("unlisted_scopes: keep\nscopes: {\"user:odd\": [tokens 8 per 1h]}\n");
    cr_expect_eq(left("user:odd"), 8);
    cr_expect_eq(left("agent:by-hand"), 3);
    cr_expect_eq(left("user:vip"), 1000);
    apply("scopes: {\"user:odd\": [tokens 8 per 1h]}\n");
    cr_expect_eq(left("agent:by-hand"), INT64_MAX);
    cr_expect_eq(left("user:vip"), 100);
}

/* A tier that was unset is still named by what had it: defining it again must not bring back what the file does not say. */
Test(confapply, tier_that_comes_back_brings_nothing_with_it)
{
    apply(base);
    cr_assert_eq(tlshm_tier_unset(s->space.t, "free"), 0);
    cr_assert_eq(tlshm_tier_unset(s->space.t, "pro"), 0);
    cr_expect_eq(left("user:vip"), INT64_MAX);
    const char *after = shown();
    cr_expect_not(strstr(after, "pro"), "%s", after);
    cr_expect_not(strstr(after, "free"), "%s", after);
    apply("tiers:\n  free: [tokens 1 per 1h]\n  pro: [tokens 2 per 1h]\nlevels: {}\nscopes: {}\n");
    cr_expect_eq(left("user:a"), INT64_MAX);
    cr_expect_eq(left("user:vip"), INT64_MAX);
}

Test(confapply, sizes_are_told_and_stay)
{
    static const char text[] =
        "geometry: {scopes: 300, slices: 64, seats: 10, retention: 2h, mode: 0600, reservations: 1020}\n"
        "levels: {team: {rank: 3}}\n";
    static const char rank[] = "levels: {team: {rank: 4}}\n";
    cr_expect_str_eq(told(tlshm_config_apply, text), "geometry scopes (fixed): 256 -> 300\n"
                                                     "geometry seats (fixed): 64 -> 10\n"
                                                     "geometry retention (fixed): 1h -> 2h\n"
                                                     "level team: none -> rank 3\n");
    cr_expect_str_eq(told(tlshm_config_diff, rank), "level team (fixed): rank 3 -> rank 4\n");
    cr_expect_str_eq(told(tlshm_config_apply, rank), "level team (fixed): rank 3 -> rank 4\n");
}

/* ------------------------------------------------------------------------------------------------- what does not fit */

static void refused(const char *text, const char *why)
{
    char *before = strdup(shown());
    cr_expect_str_eq(told(tlshm_config_apply, text), why, "%s", told(tlshm_config_apply, text));
    cr_expect_str_eq(shown(), before, "nothing was changed");
    free(before);
}

Test(confapply, nothing_is_changed_when_not_all_fits)
{
    static struct page page;
    apply(base);
    add(&page, "overrun: actual\ntiers:\n");
    for (unsigned i = 0; i < 30; i++)
        add(&page, "  t%u: []\n", i);
    refused(page.text, "ENOROOM: the file needs 30 more tiers and levels, and the segment has room for 23");
    page.size = 0;
    add(&page, "overrun: actual\nscopes:\n");
    for (unsigned i = 0; i < 64; i++)
        add(&page, "  user:%u: [tokens 5 per 1h]\n", i);
    refused(page.text, "ENOROOM: the file needs 64 more limit lists, and the segment has room for 60");
    page.size = 0;
    add(&page, "overrun: actual\nlevels:\n");
    for (unsigned i = 0; i < 10; i++)
        add(&page, "  l%u: {rank: 9}\n", i);
    refused(page.text, "ENOROOM: the file needs 10 more levels, and the segment has room for 9");
}

static const char *many_scopes(const char *prefix, unsigned count)
{
    static struct page page;
    page.size = 0;
    add(&page, "scopes:\n");
    for (unsigned i = 0; i < count; i++)
        add(&page, "  user:%s%u: pro\n", prefix, i);
    add(&page, "tiers: {pro: []}\n");
    return page.text;
}

/* Scopes that go back to their default keep their places until they were idle for long enough. */
Test(confapply, scopes_that_have_no_room_are_noticed_before)
{
    apply(many_scopes("a", 200));
    refused(many_scopes("b", 200), "ENOROOM: the file needs 200 more scopes, and the segment has room for 56");
    apply("scopes: {}\n");
    refused(many_scopes("b", 200), "ENOROOM: the file needs 200 more scopes, and the segment has room for 56");
    stage_at(s, s->space.now + HOUR(2));
    apply(many_scopes("b", 200));
}

Test(confapply, time_zones_are_bounded)
{
    static const char *const zones[] = {
        "Europe/Paris",     "Europe/Rome",     "Europe/Madrid",   "Europe/Lisbon",  "Europe/Vienna",  "Europe/Prague",
        "Europe/Athens",    "Europe/Sofia",    "Europe/Dublin",   "Europe/London",  "Europe/Warsaw",  "Europe/Zurich",
        "Asia/Tokyo",       "Asia/Seoul",      "Asia/Dubai",      "Asia/Manila",    "Asia/Tehran",    "Asia/Kolkata",
        "Asia/Singapore",   "Asia/Bangkok",    "America/Chicago", "America/Denver", "America/Bogota", "America/Lima",
        "America/Toronto",  "America/Havana",  "Africa/Cairo",    "Africa/Lagos",   "Africa/Nairobi", "Africa/Tunis",
        "Australia/Sydney", "Pacific/Auckland"};
    static struct page page;
    apply(base); /* Europe/Berlin */
    add(&page, "scopes:\n");
    for (unsigned i = 0; i < sizeof zones / sizeof *zones; i++)
        add(&page, "  user:%u: [tokens 5 per day in %s]\n", i, zones[i]);
    refused(page.text, "ENOROOM: the file needs 32 more time zones, and the segment has room for 31");
}

Test(confapply, small_segments_take_what_fits_them)
{
    struct space small;
    tlshm_geometry geometry = space_geometry();
    struct tlshm_error err = {0};
    geometry.slices = 12;
    geometry.limits_per_scope = 2;
    space_open(&small, &geometry);
    tlshm_config *c = config_of("tiers: {a: [tokens 1 per 1h, tokens 2 per 1h/12]}\n");
    cr_expect_eq(tlshm_config_apply(small.t, c, NULL, NULL, &err), -TLSHM_ERANGE);
    cr_expect_str_eq(err.text, "line 1: a: with the segment's slices, two of the limits are the same");
    tlshm_config_free(c);
    c = config_of("tiers:\n  b: [tokens 1 per 1h/13]\n");
    cr_expect_eq(tlshm_config_apply(small.t, c, NULL, NULL, &err), -TLSHM_ERANGE);
    cr_expect_str_eq(err.text, "line 2: b: a window has more slices than the segment");
    tlshm_config_free(c);
    c = config_of("scopes:\n  user:a: [tokens 1 per 1h, tokens 1 per 2h, tokens 1 per 3h]\n");
    cr_expect_eq(tlshm_config_diff(small.t, c, NULL, NULL, &err), -TLSHM_ERANGE);
    cr_expect_str_eq(err.text, "line 2: user:a: more limits than the segment has room for");
    tlshm_config_free(c);
    c = config_of("tiers: {a: [tokens 1 per 1h, requests 1 per 100ns]}\n"); /* buckets are whole microseconds */
    cr_expect_eq(tlshm_config_apply(small.t, c, NULL, NULL, &err), 1);
    cr_expect_eq(tlshm_config_diff(small.t, c, NULL, NULL, &err), 0);
    tlshm_config_free(c);
    space_close(&small);
}

Test(confapply, bad_arguments)
{
    tlshm_config *c = config_of("overrun: cap\n");
    cr_expect_eq(tlshm_config_read(NULL, s->space.t), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_read(&c, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_diff(NULL, c, NULL, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_apply(s->space.t, NULL, NULL, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_apply(s->space.t, c, NULL, NULL, NULL), 1);
    tlshm_t *reader = NULL;
    cr_assert_eq(tlshm_attach(&reader, s->space.path, TLSHM_READONLY, NULL), 0);
    cr_expect_eq(tlshm_config_diff(reader, c, NULL, NULL, NULL), 0);
    tlshm_config_free(c);
    c = config_of("overrun: actual\n");
    cr_expect_eq(tlshm_config_diff(reader, c, NULL, NULL, NULL), 1);
    struct tlshm_error err = {0};
    cr_expect_eq(tlshm_config_apply(reader, c, NULL, NULL, &err), -TLSHM_EREADONLY);
    cr_expect_eq(err.code, -TLSHM_EREADONLY);
    cr_expect(err.text[0]);
    tlshm_detach(reader);
    tlshm_config_free(c);
}

/* ---------------------------------------------------------------------------------------------------- any file, any day */

static uint64_t state = 20261130;

static unsigned below(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % n;
}

static void add_limits(struct page *p)
{
    static const char *const limits[] = {"tokens %u per 1h",
                                         "tokens %u per 5m/7",
                                         "cost $%u per day in Europe/Berlin",
                                         "cost $0.%u per month from 15",
                                         "requests %uk per week from sunday",
                                         "concurrency %u",
                                         "tool_calls %u lifetime",
                                         "tokens %u lifetime then pause",
                                         "input_tokens %u per 90us strict"};
    unsigned first = below(9), count = below(5);
    add(p, "[");
    for (unsigned i = 0; i < count; i++) {
        add(p, i ? ", " : "");
        char text[80];
        snprintf(text, sizeof text, limits[(first + i) % 9], 1 + below(5));
        add(p, "%s", text);
    }
    add(p, "]\n");
}

/* Those of global: have no more room than it leaves. */
static void add_latches(struct page *p, const char *section)
{
    static const char *const limits[] = {"tokens %u per 1h", "cost $%u per month from 15", "tool_calls %u lifetime"};
    unsigned first = below(3), count = below(3);
    add(p, "%s: [", section);
    for (unsigned i = 0; i < count; i++) {
        char text[80];
        snprintf(text, sizeof text, limits[(first + i) % 3], 1 + below(5));
        add(p, "%s%s", i ? ", " : "", text);
    }
    add(p, "]\n");
}

static void random_file(struct page *p)
{
    unsigned tiers = 1 + below(4);
    p->size = p->text[0] = 0;
    add(p, "overrun: %s\ntiers:\n", below(2) ? "cap" : "actual");
    for (unsigned i = 0; i < tiers; i++)
        add(p, "  t%u: ", i), add_limits(p);
    add(p, "levels:\n  user: t%u\n  team: {rank: 3%s}\n", below(tiers), below(2) ? ", default: t0" : "");
    if (below(2))
        add(p, "  global: t%u\n", below(tiers));
    if (below(2))
        add_latches(p, "pause_at");
    if (below(2))
        add_latches(p, "shutoff_at");
    if (below(2))
        add(p, "unlisted_scopes: keep\n");
    if (below(4) == 0)
        return;
    add(p, "scopes:\n");
    if (below(3) == 0)
        add(p, "  global: t%u\n", below(tiers));
    else if (below(2))
        add(p, "  global: [tokens %u per 7m, concurrency 5]\n", below(9));
    else
        add(p, "  user:z: t0\n");
    for (unsigned i = 0; i < 6; i++)
        if (below(3) == 0)
            add(p, "  \"team:x: %u\": t%u\n", i, below(tiers));
        else if (below(2))
            add(p, "  user:\"%u\": ", i), add_limits(p);
}

/* From any file to any other: afterwards nothing differs, and what is shown differs from nothing and reads back. */
Test(confapply, what_is_applied_is_shown_and_what_is_shown_can_be_applied)
{
    static struct page file;
    for (unsigned i = 0; i < 150; i++) {
        random_file(&file);
        apply(file.text);
        char *all = strdup(shown());
        cr_expect_str_eq(told(tlshm_config_diff, all), "", "%s", all);
        cr_expect_str_eq(told(tlshm_config_apply, all), "");
        tlshm_config *c = config_of(all);
        struct page *again = calloc(1, sizeof *again);
        cr_assert_eq(tlshm_config_write(c, put, again), 0);
        cr_expect_str_eq(again->text, all);
        free(again);
        tlshm_config_free(c);
        free(all);
    }
    cr_expect_eq(tlshm_verify(s->space.t, NULL, NULL, NULL), 0);
}
