/* SPDX-License-Identifier: MIT */
/*
 * zone.c - loads a time zone from the system's zone information files (TZif, RFC 8536).
 *
 * A TZif file is a block with 32-bit times and, from version 2 on, a second block with 64-bit times and a footer:
 *
 *     header | data (32-bit) | header | data (64-bit) | \n POSIX TZ string \n
 *
 *     header  "TZif", version, 15 spare bytes, six counts; all numbers big-endian
 *     data    times, one type index each, types {offset:4 dst:1 name:1}, names, leap seconds, two lists of flags
 *
 * The bytes are not trusted: everything goes through a cursor that knows its end, and the result must pass
 * tl_zone_valid() before the caller sees it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include "zone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tlshm/error.h>

#define ZONE_DIRECTORY "/usr/share/zoneinfo"
#define FILE_MAX 16384                  /* the largest real files have about 4 KiB */
#define KEEP_FROM_S INT64_C(1577836800) /* 2020-01-01: no budget's period is older than the library */
#define TYPE_SIZE 6
#define DEFAULT_RULE_TIME_S (2 * 3600)

/* ----------------------------------------------------------------------------------------------------------- cursor */

/* What is left of the bytes. Reading past the end yields zeros and sets `bad`, so a reader asks once, at its end. */
struct cursor {
    const unsigned char *at;
    size_t left;
    bool bad;
};

/* The next `size` bytes, or NULL. */
static const unsigned char *take(struct cursor *c, uint64_t size)
{
    if (c->bad || size > c->left) {
        c->bad = true;
        return NULL;
    }
    const unsigned char *bytes = c->at;
    c->at += size;
    c->left -= (size_t)size;
    return bytes;
}

static uint64_t big_endian(const unsigned char *bytes, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static uint32_t take_u32(struct cursor *c)
{
    const unsigned char *bytes = take(c, 4);
    return bytes ? (uint32_t)big_endian(bytes, 4) : 0;
}

/* Whether the next byte is `wanted`; takes it if so. */
static bool accept(struct cursor *c, char wanted)
{
    if (c->bad || c->left == 0 || *c->at != (unsigned char)wanted) {
        return false;
    }
    return take(c, 1) != NULL;
}

static void expect(struct cursor *c, char wanted)
{
    if (!accept(c, wanted)) {
        c->bad = true;
    }
}

/* ------------------------------------------------------------------------------------- footer: the POSIX TZ string */

/*
 *     std offset [dst [offset] , date [/time] , date [/time]]        "CET-1CEST,M3.5.0,M10.5.0/3"
 *
 * Offsets count west of Greenwich there, and east in struct tl_zone.
 */

static bool is_digit(unsigned char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(unsigned char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* What an abbreviation in angle brackets may hold besides letters. */
static bool is_quotable(unsigned char byte)
{
    return is_digit(byte) || byte == '+' || byte == '-';
}

static int32_t parse_number(struct cursor *c, int32_t max)
{
    int32_t value = 0;
    c->bad |= c->left == 0 || !is_digit(*c->at);
    while (!c->bad && c->left > 0 && is_digit(*c->at)) {
        value = value * 10 + (*take(c, 1) - '0');
        c->bad |= value > max;
    }
    return value;
}

/* [+-]hh[:mm[:ss]] */
static int32_t parse_time(struct cursor *c, int32_t hours_max)
{
    int32_t sign = accept(c, '-') ? -1 : 1;
    if (sign > 0) {
        accept(c, '+');
    }
    int32_t value = parse_number(c, hours_max) * 3600;
    if (accept(c, ':')) {
        value += parse_number(c, 59) * 60;
        if (accept(c, ':')) {
            value += parse_number(c, 59);
        }
    }
    return sign * value;
}

/* Letters, or anything in angle brackets that the standard allows there. The name itself is not needed. */
static void skip_abbreviation(struct cursor *c)
{
    bool quoted = accept(c, '<');
    unsigned length = 0;
    while (!c->bad && c->left > 0 && (is_letter(*c->at) || (quoted && is_quotable(*c->at)))) {
        take(c, 1);
        length++;
    }
    c->bad |= length < 3;
    if (quoted) {
        expect(c, '>');
    }
}

static uint32_t parse_field(struct cursor *c, int32_t max)
{
    return (uint32_t)parse_number(c, max);
}

/* Mm.w.d, Jn or n. Lower bounds are left to tl_zone_valid(). */
static void parse_date(struct cursor *c, struct tl_zone_date *date)
{
    expect(c, ',');
    if (accept(c, 'M')) {
        date->kind = TL_ZONE_WEEKDAY;
        date->month = parse_field(c, 12);
        expect(c, '.');
        date->week = parse_field(c, 5);
        expect(c, '.');
        date->day = parse_field(c, 6);
    } else {
        date->kind = accept(c, 'J') ? TL_ZONE_JULIAN : TL_ZONE_ORDINAL;
        date->day = parse_field(c, 365);
    }
    date->time_s = accept(c, '/') ? parse_time(c, 167) : DEFAULT_RULE_TIME_S;
}

/* An empty string is allowed: the zone then has no rule. */
static void parse_rule(struct cursor *c, struct tl_zone_rule *rule)
{
    if (c->left == 0) {
        return;
    }
    skip_abbreviation(c);
    rule->std_offset_s = -parse_time(c, 24);
    rule->mode = TL_ZONE_FIXED;
    if (c->left > 0) {
        skip_abbreviation(c);
        rule->dst_offset_s = c->left > 0 && *c->at != ',' ? -parse_time(c, 24) : rule->std_offset_s + 3600;
        parse_date(c, &rule->start);
        parse_date(c, &rule->end);
        rule->mode = TL_ZONE_SEASONS;
    }
    c->bad |= c->left > 0;
}

static void parse_footer(struct cursor *c, struct tl_zone_rule *rule)
{
    expect(c, '\n');
    const unsigned char *newline = c->bad ? NULL : memchr(c->at, '\n', c->left);
    if (newline == NULL) {
        c->bad = true;
        return;
    }
    struct cursor line = {c->at, (size_t)(newline - c->at), false};
    parse_rule(&line, rule);
    c->bad |= line.bad;
}

/* ------------------------------------------------------------------------------------------------------------ blocks */

struct header {
    unsigned char version; /* 0, or '2' and up */
    uint32_t ut_flags;
    uint32_t std_flags;
    uint32_t leaps;
    uint32_t times;
    uint32_t types;
    uint32_t name_bytes;
};

static void parse_header(struct cursor *c, struct header *h)
{
    const unsigned char *magic = take(c, 4);
    const unsigned char *version = take(c, 16);
    c->bad |= magic == NULL || memcmp(magic, "TZif", 4) != 0;
    h->version = version ? *version : 0;
    h->ut_flags = take_u32(c);
    h->std_flags = take_u32(c);
    h->leaps = take_u32(c);
    h->times = take_u32(c);
    h->types = take_u32(c);
    h->name_bytes = take_u32(c);
    c->bad |= h->version != 0 && h->version < '2';
}

/* Passes over what follows the types. */
static void skip_tail(struct cursor *c, const struct header *h, unsigned time_size)
{
    take(c, (uint64_t)h->name_bytes + (uint64_t)h->leaps * (time_size + 4) + h->std_flags + h->ut_flags);
}

static void skip_block(struct cursor *c, const struct header *h, unsigned time_size)
{
    take(c, (uint64_t)h->times * (time_size + 1) + (uint64_t)h->types * TYPE_SIZE);
    skip_tail(c, h, time_size);
}

/* The arrays of one block, all of them inside the file. */
struct block {
    const unsigned char *times;
    const unsigned char *indices;
    const unsigned char *types;
    unsigned time_size;
    const struct header *h;
};

static int64_t block_time(const struct block *b, uint32_t i)
{
    uint64_t raw = big_endian(b->times + (size_t)i * b->time_size, b->time_size);
    return b->time_size == 4 ? (int32_t)(uint32_t)raw : (int64_t)raw;
}

static int32_t type_offset(const struct block *b, unsigned type)
{
    return (int32_t)(uint32_t)big_endian(b->types + type * TYPE_SIZE, 4);
}

/* Adds one change. Those before KEEP_FROM_S leave only the offset that they led to. False: no room, or a bad type. */
static bool add_change(struct tl_zone *zone, const struct block *b, uint32_t i)
{
    int64_t from = block_time(b, i);
    unsigned type = b->indices[i];
    if (type >= b->h->types) {
        return false;
    }
    if (from < KEEP_FROM_S) {
        zone->initial_offset_s = type_offset(b, type);
        return true;
    }
    if (zone->count == TL_ZONE_CHANGES) {
        return false;
    }
    zone->change[zone->count++] = (struct tl_zone_change){.from_s = from, .offset_s = type_offset(b, type)};
    return true;
}

static void parse_block(struct cursor *c, const struct header *h, unsigned time_size, struct tl_zone *zone)
{
    struct block b = {.time_size = time_size, .h = h};
    b.times = take(c, (uint64_t)h->times * time_size);
    b.indices = take(c, h->times);
    b.types = take(c, (uint64_t)h->types * TYPE_SIZE);
    skip_tail(c, h, time_size);
    /* With leap seconds the times are no POSIX times. */
    c->bad |= h->leaps != 0 || h->types == 0;
    if (c->bad) {
        return;
    }
    zone->initial_offset_s = type_offset(&b, 0);
    for (uint32_t i = 0; i < h->times && !c->bad; i++) {
        c->bad |= i > 0 && block_time(&b, i) <= block_time(&b, i - 1);
        c->bad |= !add_change(zone, &b, i);
    }
}

static void parse_file(struct cursor *c, struct tl_zone *zone)
{
    struct header h;
    parse_header(c, &h);
    if (h.version == 0) {
        parse_block(c, &h, 4, zone);
        return;
    }
    skip_block(c, &h, 4);
    parse_header(c, &h);
    parse_block(c, &h, 8, zone);
    parse_footer(c, &zone->rule);
}

/* ------------------------------------------------------------------------------------------------------------ names */

/* A dot is not allowed, so no name can lead out of the directory. */
static bool name_valid(const char *name, size_t length)
{
    if (length == 0 || length >= TL_ZONE_NAME_SIZE || *name == '/') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)name[i];
        if (!is_letter(byte) && !is_digit(byte) && strchr("_+/-", byte) == NULL) {
            return false;
        }
    }
    return true;
}

int tl_zone_parse(const char *name, const void *bytes, size_t size, struct tl_zone *out)
{
    struct tl_zone zone = {.count = 0};
    struct cursor c = {bytes, size, false};
    size_t length = strnlen(name, TL_ZONE_NAME_SIZE);

    if (!name_valid(name, length)) {
        return -TLSHM_EZONE;
    }
    memcpy(zone.name, name, length);
    parse_file(&c, &zone);
    if (c.bad || !tl_zone_valid(&zone)) {
        return -TLSHM_EZONE;
    }
    *out = zone;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------- files */

/* Opens a zone's file. Never blocks on what is no plain file, such as a pipe that someone put there. */
static int open_zone(const char *name)
{
    const char *directory = secure_getenv("TZDIR");
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", directory && *directory ? directory : ZONE_DIRECTORY, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Reads up to `size` bytes. A regular file's read is not interrupted by signals, so an error is one. */
static ssize_t read_all(int fd, unsigned char *bytes, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, bytes + got, size - got);
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static int load_file(const char *name, struct tl_zone *out)
{
    unsigned char bytes[FILE_MAX];
    int fd = open_zone(name);
    if (fd < 0) {
        return -TLSHM_EZONE;
    }
    ssize_t size = read_all(fd, bytes, sizeof bytes);
    close(fd);
    if (size < 0 || size == FILE_MAX) {
        return -TLSHM_EZONE;
    }
    return tl_zone_parse(name, bytes, (size_t)size, out);
}

int tl_zone_load(const char *name, struct tl_zone *out)
{
    if (*name == '\0' || strcmp(name, "UTC") == 0) {
        *out = (struct tl_zone){.name = "UTC"};
        return 0;
    }
    if (!name_valid(name, strnlen(name, TL_ZONE_NAME_SIZE))) {
        return -TLSHM_EZONE;
    }
    return load_file(name, out);
}
