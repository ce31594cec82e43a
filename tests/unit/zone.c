/* SPDX-License-Identifier: MIT */
/*
 * zone.c - loading zones: every zone of this system against the C library, files made by hand, hostile files.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tlshm/error.h>

#include "zone.h"

#define NS INT64_C(1000000000)
#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define YEAR_2020_S INT64_C(1577836800)
#define YEAR_2100_S INT64_C(4102444800)

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ------------------------------------------------------------------------------------ against the C library's zones */

static const char *zone_directory(void)
{
    const char *directory = getenv("TZDIR");
    return directory && *directory ? directory : "/usr/share/zoneinfo";
}

static void need_system_zones(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/Europe/Amsterdam", zone_directory());
    if (access(path, R_OK) != 0) {
        cr_skip_test("no time zone files in %s", zone_directory());
    }
}

static void enter_zone(const char *name)
{
    char value[300];
    snprintf(value, sizeof value, ":%s", name);
    setenv("TZ", value, 1);
    tzset();
}

static int32_t libc_offset(int64_t s)
{
    time_t clock = s;
    struct tm tm;
    cr_assert_not_null(localtime_r(&clock, &tm));
    return (int32_t)tm.tm_gmtoff;
}

static void compare_at(const struct tl_zone *zone, int64_t s)
{
    int32_t ours = tl_zone_offset(zone, s);
    int32_t theirs = libc_offset(s);
    cr_assert(ours == theirs, "%s at %lld: %d, the C library says %d", zone->name, (long long)s, ours, theirs);
}

/* The first second of the offset that the C library has at `high` but not at `low`. */
static int64_t find_change(int64_t low, int64_t high)
{
    int32_t before = libc_offset(low);
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (libc_offset(middle) == before) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* The periods on either side of a change are the same one, or one ends where the other begins. */
static void expect_tile_at(const struct tl_zone *zone, int64_t s)
{
    for (unsigned period = TLSHM_HOUR; period <= TLSHM_MONTH; period++) {
        int64_t start[2], end[2];
        for (int after = 0; after < 2; after++) {
            int64_t ns = s * NS - 1 + after;
            tl_calendar_period(zone, period, 0, ns, &start[after], &end[after]);
            cr_assert(start[after] <= ns && ns < end[after], "%s period %u at %lld", zone->name, period, (long long)s);
        }
        cr_assert(end[0] == start[1] || (start[0] == start[1] && end[0] == end[1]), "%s period %u at %lld", zone->name,
                  period, (long long)s);
    }
}

/* Each week, and where two weeks differ the seconds around the change. Returns how many changes there were. */
static unsigned compare_zone(const struct tl_zone *zone)
{
    const int64_t week = 7 * 86400;
    unsigned changes = 0;
    for (int64_t s = YEAR_2020_S; s < YEAR_2100_S; s += week) {
        compare_at(zone, s);
        if (libc_offset(s) != libc_offset(s + week)) {
            int64_t at = find_change(s, s + week);
            compare_at(zone, at - 1);
            compare_at(zone, at);
            compare_at(zone, at + 1);
            expect_tile_at(zone, at);
            changes++;
        }
    }
    return changes;
}

static bool is_zone_file(const char *path)
{
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t got = fread(magic, 1, sizeof magic, file);
    fclose(file);
    return got == sizeof magic && memcmp(magic, "TZif", sizeof magic) == 0;
}

static unsigned zones_compared, changes_compared;

/* "posix" repeats the zones, "right" has leap seconds, see below. */
static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    const char *name = path + strlen(zone_directory()) + 1;
    if (type != FTW_F || strncmp(name, "posix/", 6) == 0 || strncmp(name, "right/", 6) == 0) {
        return 0;
    }
    struct tl_zone zone;
    int result = tl_zone_load(name, &zone);
    if (!is_zone_file(path)) {
        cr_expect_eq(result, -TLSHM_EZONE, "%s is no zone", name);
        return 0;
    }
    cr_expect_eq(result, 0, "%s", name);
    if (result == 0) {
        enter_zone(name);
        cr_expect(tl_zone_valid(&zone));
        cr_expect_str_eq(zone.name, name);
        changes_compared += compare_zone(&zone);
        zones_compared++;
    }
    return 0;
}

Test(zone, every_zone_agrees_with_the_c_library)
{
    need_system_zones();
    cr_assert_eq(nftw(zone_directory(), visit, 16, 0), 0);
    cr_expect_gt(zones_compared, 1);
    cr_expect_gt(changes_compared, 100);
}

/* Random seconds, where the weekly walk never looks. */
Test(zone, random_instants_agree_with_the_c_library)
{
    static const char *const names[] = {"Europe/Amsterdam",    "Africa/Casablanca", "Africa/Cairo",
                                        "Australia/Lord_Howe", "America/Nuuk",      "America/New_York",
                                        "Asia/Kathmandu",      "Europe/Dublin",     "Asia/Gaza"};
    uint64_t state = UINT64_C(0x853c49e6748fea9b);
    need_system_zones();
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct tl_zone zone;
        if (tl_zone_load(names[i], &zone) != 0) {
            cr_expect_neq(i, 0); /* older or smaller sets lack some, but not the first, see need_system_zones() */
            continue;
        }
        enter_zone(names[i]);
        for (int round = 0; round < 5000; round++) {
            uint64_t width = (uint64_t)(YEAR_2100_S - YEAR_2020_S);
            compare_at(&zone, YEAR_2020_S + (int64_t)(next_random(&state) % width));
        }
    }
}

Test(zone, a_day_of_a_real_zone)
{
    struct tl_zone zone;
    int64_t start, end;
    need_system_zones();
    cr_assert_eq(tl_zone_load("Europe/Amsterdam", &zone), 0);
    tl_calendar_period(&zone, TLSHM_DAY, 0, INT64_C(1711846800) * NS, &start, &end); /* 2024-03-31 01:00 UTC */
    cr_expect_eq(start, INT64_C(1711839600) * NS);
    cr_expect_eq(end - start, 23 * 3600 * NS);
    tl_calendar_period(&zone, TLSHM_DAY, 0, INT64_C(1729990800) * NS, &start, &end); /* 2024-10-27 01:00 UTC */
    cr_expect_eq(start, INT64_C(1729980000) * NS);
    cr_expect_eq(end - start, 25 * 3600 * NS);
}

Test(zone, leap_second_files_are_refused)
{
    struct tl_zone zone;
    char path[4096];
    need_system_zones();
    snprintf(path, sizeof path, "%s/right/Europe/Amsterdam", zone_directory());
    if (access(path, R_OK) != 0) {
        cr_skip_test("no %s", path);
    }
    cr_expect_eq(tl_zone_load("right/Europe/Amsterdam", &zone), -TLSHM_EZONE);
}

/* ------------------------------------------------------------------------------------------------ files made by hand */

struct file {
    unsigned char bytes[65536];
    size_t size;
};

static void put(struct file *f, const void *bytes, size_t size)
{
    cr_assert_leq(f->size + size, sizeof f->bytes);
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
}

static void put_number(struct file *f, uint64_t value, unsigned size)
{
    for (unsigned i = size; i-- > 0;) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        put(f, &byte, 1);
    }
}

/* What a made file says. Changes go to type 1, 0, 1, 0 ... */
struct recipe {
    char version;
    uint32_t changes;
    int64_t first_s;
    int64_t step_s;
    int32_t offset_s[2];
    uint32_t types;
    uint32_t leaps;
    const char *footer;
};

static const struct recipe plain = {.version = '2',
                                    .changes = 4,
                                    .first_s = INT64_C(1700000000),
                                    .step_s = 86400 * 100,
                                    .offset_s = {3600, 7200},
                                    .types = 2,
                                    .footer = "\nCET-1CEST,M3.5.0,M10.5.0/3\n"};

static void put_block(struct file *f, const struct recipe *r, uint32_t changes, unsigned time_size)
{
    put(f, "TZif", 4);
    put(f, &r->version, 1);
    put(f, (char[15]){0}, 15);
    const uint32_t counts[] = {2, 2, r->leaps, changes, r->types, 4};
    for (size_t i = 0; i < LENGTH(counts); i++) {
        put_number(f, counts[i], 4);
    }
    for (uint32_t i = 0; i < changes; i++) {
        put_number(f, (uint64_t)(r->first_s + i * r->step_s), time_size);
    }
    for (uint32_t i = 0; i < changes; i++) {
        put_number(f, (i + 1) % 2, 1);
    }
    for (unsigned type = 0; type < r->types; type++) {
        put_number(f, (uint32_t)r->offset_s[type % 2], 4);
        put_number(f, 0, 2);
    }
    put(f, (char[4]){0}, 4); /* names; zeros, which would pass for a type if one were read here */
    for (uint32_t i = 0; i < r->leaps; i++) {
        put(f, (char[12]){0}, time_size + 4);
    }
    put(f, (char[4]){0}, 4);
}

static void make_file(struct file *f, const struct recipe *r)
{
    f->size = 0;
    put_block(f, r, r->version ? 0 : r->changes, 4);
    if (r->version) {
        put_block(f, r, r->changes, 8);
        put(f, r->footer, strlen(r->footer));
    }
}

/* Parses a copy that ends where the bytes end, so that a sanitizer sees the first byte read too far. */
static int parse_exact(const void *bytes, size_t size, struct tl_zone *out)
{
    void *copy = malloc(size ? size : 1);
    cr_assert_not_null(copy);
    memcpy(copy, bytes, size);
    int result = tl_zone_parse("Made/By_hand", copy, size, out);
    free(copy);
    return result;
}

static int parse_recipe(const struct recipe *r, struct tl_zone *out)
{
    struct file f;
    make_file(&f, r);
    return parse_exact(f.bytes, f.size, out);
}

Test(zone, a_made_file)
{
    struct tl_zone zone;
    cr_assert_eq(parse_recipe(&plain, &zone), 0);
    cr_expect_str_eq(zone.name, "Made/By_hand");
    cr_expect_eq(zone.count, 4);
    cr_expect_eq(tl_zone_offset(&zone, plain.first_s - 1), 3600);
    cr_expect_eq(tl_zone_offset(&zone, plain.first_s), 7200);
    cr_expect_eq(tl_zone_offset(&zone, plain.first_s + plain.step_s), 3600);
    cr_expect_eq(zone.rule.mode, TL_ZONE_SEASONS);
    cr_expect_eq(tl_zone_offset(&zone, INT64_C(1751328000)), 7200); /* 2025-07-01 */
    cr_expect_eq(tl_zone_offset(&zone, INT64_C(1767225600)), 3600); /* 2026-01-01 */
}

Test(zone, changes_before_2020_leave_their_offset)
{
    struct recipe old = plain;
    struct tl_zone zone;
    old.first_s = INT64_C(-3000000000);
    old.changes = 400;
    old.step_s = 1000000;
    old.footer = "\n\n";
    cr_assert_eq(parse_recipe(&old, &zone), 0);
    cr_expect_eq(zone.count, 0);
    cr_expect_eq(tl_zone_offset(&zone, YEAR_2020_S), 3600);
    old.changes = 399;
    cr_assert_eq(parse_recipe(&old, &zone), 0);
    cr_expect_eq(tl_zone_offset(&zone, YEAR_2020_S), 7200);
}

Test(zone, version_1_has_no_rule)
{
    struct recipe v1 = plain;
    struct tl_zone zone;
    v1.version = 0;
    cr_assert_eq(parse_recipe(&v1, &zone), 0);
    cr_expect_eq(zone.count, 4);
    cr_expect_eq(zone.rule.mode, TL_ZONE_NO_RULE);
    cr_expect_eq(tl_zone_offset(&zone, plain.first_s), 7200);
    cr_expect_eq(tl_zone_offset(&zone, INT64_C(1751328000)), 3600); /* 2025-07-01: as the last change left it */
}

/* 32-bit times are signed. */
Test(zone, version_1_before_1970)
{
    struct recipe v1 = plain;
    struct tl_zone zone;
    v1.version = 0;
    v1.first_s = -2000000000;
    v1.changes = 3;
    cr_assert_eq(parse_recipe(&v1, &zone), 0);
    cr_expect_eq(zone.count, 0);
    cr_expect_eq(tl_zone_offset(&zone, YEAR_2020_S), 7200);
}

Test(zone, as_many_changes_as_fit)
{
    struct recipe many = plain;
    struct tl_zone zone;
    many.changes = TL_ZONE_CHANGES;
    cr_expect_eq(parse_recipe(&many, &zone), 0);
    many.changes = TL_ZONE_CHANGES + 1;
    cr_expect_eq(parse_recipe(&many, &zone), -TLSHM_EZONE);
}

Test(zone, malformed_files)
{
    struct tl_zone untouched, zone;
    memset(&untouched, 0x5a, sizeof untouched);
    zone = untouched;

#define REFUSED(field, value)                                                                                          \
    do {                                                                                                               \
        struct recipe bad = plain;                                                                                     \
        bad.field = (value);                                                                                           \
        cr_expect_eq(parse_recipe(&bad, &zone), -TLSHM_EZONE, "%s = %s", #field, #value);                              \
        cr_expect_eq(memcmp(&zone, &untouched, sizeof zone), 0, "%s = %s", #field, #value);                            \
    } while (0)
    REFUSED(version, '1');
    REFUSED(version, 1);
    REFUSED(leaps, 1);
    REFUSED(step_s, 0);
    REFUSED(step_s, -1);
    REFUSED(first_s, INT64_MAX - 4 * plain.step_s);
    REFUSED(offset_s[0], TL_ZONE_OFFSET_MAX_S + 1);
    REFUSED(offset_s[0], INT32_MIN);
    REFUSED(offset_s[1], INT32_MAX);
#undef REFUSED
}

/* Faults that the finished zone would not show. */
Test(zone, malformed_where_nothing_is_kept)
{
    struct recipe typeless = plain, unordered = plain;
    struct tl_zone zone;
    typeless.changes = 0;
    cr_expect_eq(parse_recipe(&typeless, &zone), 0);
    typeless.types = 0;
    cr_expect_eq(parse_recipe(&typeless, &zone), -TLSHM_EZONE);
    unordered.first_s = 0;
    cr_expect_eq(parse_recipe(&unordered, &zone), 0);
    unordered.step_s = 0;
    cr_expect_eq(parse_recipe(&unordered, &zone), -TLSHM_EZONE);
}

Test(zone, bad_bytes_of_a_good_file)
{
    struct file f;
    struct tl_zone zone;
    make_file(&f, &plain);
    size_t second = 44 + 2 * 6 + 4 + 4; /* where the header with the 64-bit times begins */
    size_t indices = second + 44 + 4 * 8;
    const struct {
        const char *what;
        size_t at;
        unsigned char value;
    } table[] = {{"first magic", 0, 'X'},
                 {"second magic", second, 'X'},
                 {"a type that there is not", indices, 2},
                 {"huge time count", second + 32, 0xff},
                 {"huge type count", second + 36, 0xff},
                 {"no types", second + 39, 0},
                 {"huge flag count", second + 20, 0xff},
                 {"huge first block", 32, 0xff}};
    for (size_t i = 0; i < LENGTH(table); i++) {
        struct file bad = f;
        cr_assert_neq(bad.bytes[table[i].at], table[i].value, "%s", table[i].what);
        bad.bytes[table[i].at] = table[i].value;
        cr_expect_eq(parse_exact(bad.bytes, bad.size, &zone), -TLSHM_EZONE, "%s", table[i].what);
    }
}

/* --------------------------------------------------------------------------------------------------------- footers */

Test(zone, good_footers)
{
    static const struct {
        const char *footer;
        uint32_t mode;
        int32_t std_offset_s, dst_offset_s, start_time_s, end_time_s;
    } table[] = {
        {"\n\n", TL_ZONE_NO_RULE, 0, 0, 0, 0},
        {"\nUTC0\n", TL_ZONE_FIXED, 0, 0, 0, 0},
        {"\n<+0545>-5:45\n", TL_ZONE_FIXED, 20700, 0, 0, 0},
        {"\nABC+1:02:03\n", TL_ZONE_FIXED, -3723, 0, 0, 0},
        {"\nEST5EDT,M3.2.0,M11.1.0\n", TL_ZONE_SEASONS, -18000, -14400, 7200, 7200},
        {"\nIST-1GMT0,M10.5.0,M3.5.0/1\n", TL_ZONE_SEASONS, 3600, 0, 7200, 3600},
        {"\n<-02>2<-01>,M3.5.0/-1,M10.5.0/0\n", TL_ZONE_SEASONS, -7200, -3600, -3600, 0},
        {"\nEET-2EEST,M4.5.5/0,M10.5.4/24\n", TL_ZONE_SEASONS, 7200, 10800, 0, 86400},
        {"\nXXX3EDT4,0/0,J365/23\n", TL_ZONE_SEASONS, -10800, -14400, 0, 82800},
        {"\nABC0DEF,J1/-167:59:59,365/+167\n", TL_ZONE_SEASONS, 0, 3600, -604799, 601200},
        {"\nUTC0\nwhat a later version adds", TL_ZONE_FIXED, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < LENGTH(table); i++) {
        struct recipe r = plain;
        struct tl_zone zone;
        r.footer = table[i].footer;
        cr_expect_eq(parse_recipe(&r, &zone), 0, "%s", r.footer);
        cr_expect_eq(zone.rule.mode, table[i].mode, "%s", r.footer);
        cr_expect_eq(zone.rule.std_offset_s, table[i].std_offset_s, "%s", r.footer);
        cr_expect_eq(zone.rule.dst_offset_s, table[i].dst_offset_s, "%s", r.footer);
        cr_expect_eq(zone.rule.start.time_s, table[i].start_time_s, "%s", r.footer);
        cr_expect_eq(zone.rule.end.time_s, table[i].end_time_s, "%s", r.footer);
    }
}

Test(zone, bad_footers)
{
    static const char *const table[] = {
        "",
        "\n",
        "UTC0\n",
        "\nUTC0",
        "\nUTC\n",
        "\nUT0\n",
        "\n0\n",
        "\n<+05-5\n",
        "\n<+0545-5:45\n",
        "\nUTC25\n",
        "\nUTC--1\n",
        "\nUTC1:60\n",
        "\nUTC1:\n",
        "\nUTC99999999999999999999\n",
        "\nUTC0 \n",
        "\nEST5EDT\n",
        "\nEST5EDT,\n",
        "\nEST5EDT,M3.2.0\n",
        "\nEST5EDT,M3.2.0,\n",
        "\nEST5EDT,M3.2.0,M11.1.0,\n",
        "\nEST5EDT,M13.2.0,M11.1.0\n",
        "\nEST5EDT,M0.2.0,M11.1.0\n",
        "\nEST5EDT,M3.6.0,M11.1.0\n",
        "\nEST5EDT,M3.0.0,M11.1.0\n",
        "\nEST5EDT,M3.2.7,M11.1.0\n",
        "\nEST5EDT,M3.2,M11.1.0\n",
        "\nEST5EDT,J0,M11.1.0\n",
        "\nEST5EDT,J366,M11.1.0\n",
        "\nEST5EDT,366,M11.1.0\n",
        "\nEST5EDT,M3.2.0/168,M11.1.0\n",
        "\nEST5EDT,M3.2.0/,M11.1.0\n",
        "\nEST?EDT,M3.2.0,M11.1.0\n",
    };
    for (size_t i = 0; i < LENGTH(table); i++) {
        struct recipe r = plain;
        struct tl_zone zone;
        r.footer = table[i];
        cr_expect_eq(parse_recipe(&r, &zone), -TLSHM_EZONE, "footer %zu: %s", i, table[i]);
    }
}

/* --------------------------------------------------------------------------------------------------- hostile files */

/* A file cut anywhere lacks its end, whatever is there. */
static void expect_truncations_refused(const unsigned char *bytes, size_t size)
{
    struct tl_zone zone;
    cr_assert_eq(parse_exact(bytes, size, &zone), 0);
    for (size_t length = 0; length < size; length++) {
        cr_expect_eq(parse_exact(bytes, length, &zone), -TLSHM_EZONE, "cut at %zu of %zu", length, size);
    }
}

/* Either refused, or a zone that is sound all over. */
static bool expect_sound(const unsigned char *bytes, size_t size)
{
    struct tl_zone zone;
    int result = parse_exact(bytes, size, &zone);
    if (result != 0) {
        cr_expect_eq(result, -TLSHM_EZONE);
        return false;
    }
    cr_assert(tl_zone_valid(&zone));
    for (int64_t s = YEAR_2020_S; s < YEAR_2100_S; s += 10000000) {
        int64_t start, end;
        cr_assert_leq(abs(tl_zone_offset(&zone, s)), TL_ZONE_OFFSET_MAX_S);
        tl_calendar_period(&zone, (unsigned)(s / 10000000 % 4), 31, s * NS, &start, &end);
        cr_assert(start <= s * NS && s * NS < end);
    }
    return true;
}

static void expect_flips_sound(const unsigned char *bytes, size_t size, int rounds)
{
    uint64_t state = UINT64_C(0xda942042e4dd58b5);
    unsigned char *flipped = malloc(size);
    int accepted = 0;
    cr_assert_not_null(flipped);
    for (int round = 0; round < rounds; round++) {
        memcpy(flipped, bytes, size);
        for (uint64_t flips = 1 + next_random(&state) % 4; flips > 0; flips--) {
            flipped[next_random(&state) % size] = (unsigned char)next_random(&state);
        }
        accepted += expect_sound(flipped, size);
    }
    free(flipped);
    cr_expect(accepted > 0 && accepted < rounds, "%d of %d accepted: the flips test one outcome only", accepted,
              rounds);
}

Test(zone, truncated_and_flipped_made_files)
{
    struct file f;
    struct recipe v1 = plain;
    make_file(&f, &plain);
    expect_truncations_refused(f.bytes, f.size);
    expect_flips_sound(f.bytes, f.size, 20000);
    v1.version = 0;
    make_file(&f, &v1);
    expect_truncations_refused(f.bytes, f.size);
    expect_flips_sound(f.bytes, f.size, 5000);
}

Test(zone, truncated_and_flipped_real_files)
{
    static const char *const names[] = {"Europe/Amsterdam", "Africa/Casablanca"};
    need_system_zones();
    for (size_t i = 0; i < LENGTH(names); i++) {
        static unsigned char bytes[65536];
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", zone_directory(), names[i]);
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file, "%s", path);
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        expect_truncations_refused(bytes, size);
        expect_flips_sound(bytes, size, 5000);
    }
}

/* -------------------------------------------------------------------------------------------- names and directories */

Test(zone, utc_needs_no_file)
{
    struct tl_zone zone;
    setenv("TZDIR", "/nonexistent", 1);
    static const char *const names[] = {"", "UTC"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        memset(&zone, 0x5a, sizeof zone);
        cr_expect_eq(tl_zone_load(names[i], &zone), 0);
        cr_expect_str_eq(zone.name, "UTC");
        cr_expect(tl_zone_valid(&zone));
        cr_expect_eq(tl_zone_offset(&zone, YEAR_2020_S), 0);
    }
    cr_expect_eq(tl_zone_load("Europe/Amsterdam", &zone), -TLSHM_EZONE);
}

/* A directory of zones of our own, which every test below fills with what it needs. */
static char directory[64];

static void make_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/tlshm-zone-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    setenv("TZDIR", directory, 1);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_directory(void)
{
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void path_of(char path[300], const char *name)
{
    snprintf(path, 300, "%s/%s", directory, name);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[300];
    path_of(path, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

Test(zone, files_of_a_directory_of_ones_own, .init = make_directory, .fini = remove_directory)
{
    struct file f;
    struct tl_zone zone;
    char path[300], link[300];
    make_file(&f, &plain);
    write_file("Good", f.bytes, f.size);
    cr_expect_eq(tl_zone_load("Good", &zone), 0);
    cr_expect_str_eq(zone.name, "Good");
    path_of(path, "Good");
    path_of(link, "Link");
    cr_assert_eq(symlink(path, link), 0);
    cr_expect_eq(tl_zone_load("Link", &zone), 0);
    cr_expect_str_eq(zone.name, "Link");
    cr_expect_eq(tl_zone_load("Absent", &zone), -TLSHM_EZONE);
}

Test(zone, what_is_no_zone_file, .init = make_directory, .fini = remove_directory)
{
    struct file f;
    struct tl_zone zone;
    char path[300];
    make_file(&f, &plain);
    memset(f.bytes + f.size, ' ', sizeof f.bytes - f.size);
    write_file("Huge", f.bytes, sizeof f.bytes);
    cr_expect_eq(tl_zone_load("Huge", &zone), -TLSHM_EZONE);
    write_file("Empty", "", 0);
    cr_expect_eq(tl_zone_load("Empty", &zone), -TLSHM_EZONE);
    write_file("Text", "This is no zone.\n", 17);
    cr_expect_eq(tl_zone_load("Text", &zone), -TLSHM_EZONE);
    path_of(path, "Pipe");
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(tl_zone_load("Pipe", &zone), -TLSHM_EZONE); /* and does not wait for a writer */
    path_of(path, "Directory");
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_eq(tl_zone_load("Directory", &zone), -TLSHM_EZONE);
}

/* Each of these names leads to a good file, were it not for the name. */
Test(zone, names_that_are_refused, .init = make_directory, .fini = remove_directory)
{
    static const char *const files[] = {"Above", "Sub/Good", "Sub/With.dot", "Sub/With space", "Sub/\xc3\xa9t\xc3\xa9"};
    static const char *const names[] = {"../Above", "../Sub/Good", "./Good",           "/Good",
                                        "With.dot", "With space",  "\xc3\xa9t\xc3\xa9"};
    struct file f;
    struct tl_zone zone;
    char path[300];
    make_file(&f, &plain);
    path_of(path, "Sub");
    cr_assert_eq(mkdir(path, 0700), 0);
    for (size_t i = 0; i < LENGTH(files); i++) {
        write_file(files[i], f.bytes, f.size);
    }
    setenv("TZDIR", path, 1);
    cr_expect_eq(tl_zone_load("Good", &zone), 0);
    for (size_t i = 0; i < LENGTH(names); i++) {
        cr_expect_eq(tl_zone_load(names[i], &zone), -TLSHM_EZONE, "%s", names[i]);
        cr_expect_eq(tl_zone_parse(names[i], f.bytes, f.size, &zone), -TLSHM_EZONE, "%s", names[i]);
    }
}

Test(zone, the_longest_name, .init = make_directory, .fini = remove_directory)
{
    struct file f;
    struct tl_zone zone;
    char name[TL_ZONE_NAME_SIZE + 1];
    make_file(&f, &plain);
    memset(name, 'x', sizeof name);
    name[TL_ZONE_NAME_SIZE] = '\0';
    write_file(name, f.bytes, f.size);
    cr_expect_eq(tl_zone_load(name, &zone), -TLSHM_EZONE);
    name[TL_ZONE_NAME_SIZE - 1] = '\0';
    write_file(name, f.bytes, f.size);
    cr_expect_eq(tl_zone_load(name, &zone), 0);
    cr_expect_str_eq(zone.name, name);
}
