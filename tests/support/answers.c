/* SPDX-License-Identifier: MIT */
/* answers.c - feeding answers in every way, and making the binary ones. */
#include "answers.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------------- reading */

static uint64_t step(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Pieces of at most `most` bytes; their lengths are drawn if `seed` is not 0. Each piece is in memory of its own. */
static void read_pieces(const char *bytes, size_t n, size_t most, uint64_t seed, enum tlshm_provider provider,
                        unsigned flags, tlshm_answer *out)
{
    tlshm_answer_parser parser;

    MUST(tlshm_answer_begin(&parser, provider) == 0, "begin");
    for (size_t done = 0; done < n;) {
        size_t now = seed ? 1 + step(&seed) % most : most;
        char *piece;

        now = now < n - done ? now : n - done;
        MUST((piece = malloc(now)) != NULL, "memory");
        memcpy(piece, bytes + done, now);
        MUST(tlshm_answer_feed(&parser, piece, now) == 0, "feed");
        free(piece);
        done += now;
    }
    MUST(tlshm_answer_end(&parser, flags, out) == 0, "end");
}

bool answers_read(const char *bytes, size_t n, enum tlshm_provider provider, unsigned flags, tlshm_answer *out)
{
    static const struct {
        size_t most;
        uint64_t seed;
    } ways[] = {{1, 0}, {2, 0}, {7, 1}, {100, 2}, {1000, 3}, {5, 4}};

    read_pieces(bytes, n, n ? n : 1, 0, provider, flags, out);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        tlshm_answer other;
        char differ[400];

        read_pieces(bytes, n, ways[i].most, ways[i].seed, provider, flags, &other);
        if (memcmp(out, &other, sizeof other) == 0)
            continue;
        fprintf(stderr, "in pieces of up to %zu bytes: outcome %d/%d, problem '%s'/'%s', %s\n", ways[i].most,
                other.outcome, out->outcome, other.problem, out->problem,
                answers_differ(&other.counts, &out->counts, differ, sizeof differ));
        return false;
    }
    return true;
}

const char *answers_differ(const tlshm_counts *got, const tlshm_counts *expected, char *buf, size_t size)
{
    static const char *const names[] = {
        "input_total",  "cache_read",   "cache_write_5m",   "cache_write_1h", "input_audio",
        "input_image",  "input_video",  "cache_read_audio", "output_total",   "reasoning",
        "output_audio", "output_image", "tool_calls",       "web_searches",
    };
    const uint64_t *a = &got->input_total, *b = &expected->input_total;
    size_t length = 0;

    _Static_assert(sizeof names / sizeof *names == sizeof *got / sizeof *a, "a name for every count");
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && length < size; i++)
        if (a[i] != b[i])
            length +=
                (size_t)snprintf(buf + length, size - length, "%s %" PRIu64 "/%" PRIu64 " ", names[i], a[i], b[i]);
    return buf;
}

/* --------------------------------------------------------------------------------------------------------- messages */

/* Bit by bit, from the definition: not the library's way. */
static uint32_t checksum(const char *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < 8 * n; i++) {
        uint32_t bit = (uint32_t)((unsigned char)bytes[i / 8] >> (i % 8) & 1);

        crc = crc >> 1 ^ ((crc ^ bit) & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void put_number(char *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (char)(value >> (24 - 8 * i));
}

static size_t put_header(char *out, const char *name, const char *value)
{
    size_t a = strlen(name), b = strlen(value);

    out[0] = (char)a;
    memcpy(out + 1, name, a);
    out[1 + a] = 7;
    out[2 + a] = (char)(b >> 8);
    out[3 + a] = (char)b;
    memcpy(out + 4 + a, value, b);
    return 4 + a + b;
}

void answers_prelude(char *out, uint32_t whole, uint32_t headers)
{
    put_number(out, whole);
    put_number(out + 4, headers);
    put_number(out + 8, checksum(out, 8));
}

size_t answers_seal(char *out, size_t n)
{
    put_number(out + n, checksum(out, n));
    return n + 4;
}

size_t answers_message(char *out, const char *event, const char *type, const void *payload, size_t n)
{
    enum { PRELUDE = 12 };
    bool exception = strcmp(type, "exception") == 0;
    size_t at = PRELUDE;

    at += put_header(out + at, exception ? ":exception-type" : ":event-type", event);
    at += put_header(out + at, ":content-type", "application/json");
    /* One header of a type that has no length of its own: a time. */
    memcpy(out + at, "\x04time\x08\0\0\1\x9a\0\0\0\0", 14);
    at += 14;
    at += put_header(out + at, ":message-type", type);
    answers_prelude(out, (uint32_t)(at + n + 4), (uint32_t)(at - PRELUDE));
    if (n)
        memcpy(out + at, payload, n);
    return answers_seal(out, at + n);
}

static size_t put_base64(char *out, const char *text, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t at = 0;

    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            out[at++] = i + k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return at;
}

size_t answers_chunk(char *out, const char *document)
{
    size_t n = strlen(document), length;
    char *envelope = malloc(2 * n + 64);

    MUST(envelope, "memory");
    length = (size_t)sprintf(envelope, "{\"bytes\":\"");
    length += put_base64(envelope + length, document, n);
    length += (size_t)sprintf(envelope + length, "\",\"p\":\"abcdefgh\"}");
    length = answers_message(out, "chunk", "event", envelope, length);
    free(envelope);
    return length;
}
