/* SPDX-License-Identifier: MIT */
/* aws.c - from bytes of an Amazon event stream to headers that matter and payloads. */
#include "aws.h"

enum { PRELUDE = 12, CRC_BYTES = 4, HEADERS_MAX = 128 * 1024, WHOLE_MAX = 24 * 1024 * 1024 };
enum part { NAME_LENGTH, NAME, TYPE, VALUE_LENGTH_HIGH, VALUE_LENGTH_LOW, VALUE };
enum kept { KEPT_NONE, KEPT_EVENT, KEPT_MESSAGE, KEPT_EXCEPTION };

struct run {
    struct tl_aws *a;
    tl_aws_tell *tell;
    void *context;
};

void tl_aws_start(struct tl_aws *a)
{
    memset(a, 0, sizeof *a);
}

bool tl_aws_inside(const struct tl_aws *a)
{
    return a->at > 0;
}

/* Reflected CRC-32, polynomial 0xedb88320, half a byte at a time. */
static uint32_t crc_byte(uint32_t crc, unsigned char byte)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };

    crc ^= byte;
    crc = crc >> 4 ^ table[crc & 15];
    return crc >> 4 ^ table[crc & 15];
}

static uint32_t crc_bytes(uint32_t crc, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        crc = crc_byte(crc, (unsigned char)bytes[i]);
    return crc;
}

static void wrong(const struct run *r)
{
    r->a->wrong = true;
    r->tell(r->context, TL_AWS_WRONG, NULL, 0);
}

static void begin_message(struct tl_aws *a)
{
    a->crc = UINT32_MAX;
    a->part = NAME_LENGTH;
    a->event[0] = a->message[0] = a->exception[0] = '\0';
}

/* The prelude: two lengths and their checksum. */
static void prelude_byte(const struct run *r, unsigned char byte)
{
    struct tl_aws *a = r->a;

    a->number = a->number << 8 | byte;
    a->at++;
    if (a->at <= 8)
        a->crc = crc_byte(a->crc, byte);
    if (a->at == 4)
        a->whole = a->number;
    else if (a->at == 8)
        a->payload = a->number; /* the headers' length as yet */
    if (a->at < PRELUDE)
        return;
    if (a->number != ~a->crc || a->whole < PRELUDE + CRC_BYTES || a->whole > WHOLE_MAX || a->payload > HEADERS_MAX ||
        a->payload > a->whole - PRELUDE - CRC_BYTES) {
        wrong(r);
        return;
    }
    a->payload += PRELUDE;
    a->trailer = a->whole - CRC_BYTES;
    for (int shift = 24; shift >= 0; shift -= 8)
        a->crc = crc_byte(a->crc, (unsigned char)(a->number >> shift));
}

/* ---------------------------------------------------------------------------------------------------------- headers */

static char *kept_place(struct tl_aws *a)
{
    switch (a->kept) {
    case KEPT_EVENT:
        return a->event;
    case KEPT_MESSAGE:
        return a->message;
    case KEPT_EXCEPTION:
        return a->exception;
    default:
        return NULL;
    }
}

static enum kept kept_of(const char *name)
{
    if (strcmp(name, ":event-type") == 0)
        return KEPT_EVENT;
    if (strcmp(name, ":message-type") == 0)
        return KEPT_MESSAGE;
    if (strcmp(name, ":exception-type") == 0 || strcmp(name, ":error-code") == 0)
        return KEPT_EXCEPTION;
    return KEPT_NONE;
}

static void begin_part(struct tl_aws *a, enum part part, unsigned length)
{
    a->part = (uint8_t)part;
    a->left = (uint16_t)length;
    a->matched = 0;
}

static void begin_value(struct tl_aws *a, unsigned length)
{
    if (kept_place(a))
        kept_place(a)[0] = '\0';
    begin_part(a, length ? VALUE : NAME_LENGTH, length);
}

static bool begin_typed(struct tl_aws *a, unsigned type)
{
    /* true, false, byte, short, int, long; bytes and strings say their length; timestamp, uuid */
    static const uint8_t lengths[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};

    if (type >= sizeof lengths)
        return false;
    if (type != 7)
        a->kept = KEPT_NONE;
    if (type == 6 || type == 7)
        begin_part(a, VALUE_LENGTH_HIGH, 0);
    else
        begin_value(a, lengths[type]);
    return true;
}

/* Overlong names are none of ours: the last place of `name` stays a NUL. */
static void keep_byte(struct tl_aws *a, char *place, unsigned room, unsigned char byte)
{
    if (place && a->matched < room) {
        place[a->matched++] = (char)byte;
        place[a->matched] = '\0';
    }
}

static bool header_byte(struct tl_aws *a, unsigned char byte)
{
    switch (a->part) {
    case NAME_LENGTH:
        a->name[0] = '\0';
        begin_part(a, NAME, byte);
        return byte > 0;
    case NAME:
        keep_byte(a, a->name, sizeof a->name - 1, byte);
        if (--a->left == 0)
            a->part = TYPE;
        return true;
    case TYPE:
        a->kept = (uint8_t)kept_of(a->name);
        return begin_typed(a, byte);
    case VALUE_LENGTH_HIGH:
        begin_part(a, VALUE_LENGTH_LOW, (unsigned)byte << 8);
        return true;
    case VALUE_LENGTH_LOW:
        begin_value(a, a->left | byte);
        return true;
    default:
        keep_byte(a, kept_place(a), TL_AWS_VALUE, byte);
        if (--a->left == 0)
            a->part = NAME_LENGTH;
        return true;
    }
}

/* --------------------------------------------------------------------------------------------------------- messages */

static size_t headers(const struct run *r, const char *bytes, size_t n)
{
    struct tl_aws *a = r->a;
    size_t now = tl_min(n, a->payload - a->at);

    for (size_t i = 0; i < now; i++)
        if (!header_byte(a, (unsigned char)bytes[i])) {
            wrong(r);
            return n;
        }
    a->crc = crc_bytes(a->crc, bytes, now);
    a->at += (uint32_t)now;
    if (a->at == a->payload && a->part != NAME_LENGTH)
        wrong(r);
    return now;
}

static size_t payload(const struct run *r, const char *bytes, size_t n)
{
    struct tl_aws *a = r->a;
    size_t now = tl_min(n, a->trailer - a->at);

    a->crc = crc_bytes(a->crc, bytes, now);
    a->at += (uint32_t)now;
    r->tell(r->context, TL_AWS_PAYLOAD, bytes, now);
    return now;
}

static void trailer_byte(const struct run *r, unsigned char byte)
{
    struct tl_aws *a = r->a;

    a->number = a->number << 8 | byte;
    if (++a->at < a->whole)
        return;
    a->at = 0;
    if (a->number == ~a->crc)
        r->tell(r->context, TL_AWS_END, NULL, 0);
    else
        wrong(r);
}

static size_t take(const struct run *r, const char *bytes, size_t n)
{
    struct tl_aws *a = r->a;

    if (a->at == 0)
        begin_message(a);
    if (a->at >= PRELUDE && a->at < a->payload)
        return headers(r, bytes, n);
    if (a->at >= PRELUDE && a->at < a->trailer)
        return payload(r, bytes, n);
    if (a->at < PRELUDE)
        prelude_byte(r, (unsigned char)*bytes);
    else
        trailer_byte(r, (unsigned char)*bytes);
    return 1;
}

void tl_aws_feed(struct tl_aws *a, const char *bytes, size_t n, tl_aws_tell *tell, void *context)
{
    struct run r = {a, tell, context};

    for (size_t done = 0; done < n && !a->wrong;)
        done += take(&r, bytes + done, n - done);
}
