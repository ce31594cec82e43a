/* SPDX-License-Identifier: MIT */
/*
 * answer.c - an answer, from its first byte to what is known of its use.
 *
 * FRAMING  is told by the first byte that is neither a blank nor of a mark of byte order: '{' or '[' begins documents,
 * 0 an Amazon event stream (whose messages are below 16 MiB), ':' or a letter server-sent events. An event or a message
 * holds one document, or something that is none of our business.
 *
 * INVARIANTS
 *   A1  What is known does not depend on how the bytes were cut into pieces.
 *   A2  Nothing that came after the first wrong byte of a document counts, nor does a message with a wrong checksum.
 *   A3  EXACT needs an end: that of a lone document, of an event that is the last one of its kind of stream, or figures
 *       that came no earlier than the reason why the model stopped, on a connection that closed in order.
 */
#include <tlshm/answer.h>

#include "aws.h"
#include "counts.h"
#include "json.h"
#include "report.h"
#include "shapes.h"
#include "sse.h"
#include "text.h"

enum framing { UNTOLD, DOCUMENTS, EVENTS, MESSAGES, ALIEN };
enum event { EVENT_BEGINS, EVENT_DOCUMENT, EVENT_DONE, EVENT_OTHER };

/* A document in base64. */
struct inner {
    uint32_t bits;
    uint8_t digits;
    bool padded, wrong;
    struct tl_json json;
};

struct parser {
    uint64_t magic;
    int provider;
    uint16_t kinds;
    uint8_t framing;
    uint8_t mark;    /* bytes of a mark of byte order */
    uint8_t event;   /* what the event that is being read turned out to be */
    uint8_t done_at; /* bytes of "[DONE]" */
    bool dead;       /* documents: a byte was wrong */
    struct tl_json json;
    struct inner inner;
    union {
        struct tl_sse sse;
        struct tl_aws aws;
    };
    struct tl_account account;
};

#define MAGIC UINT64_C(0x74616c6b73686d31)

_Static_assert(sizeof(struct parser) <= sizeof(tlshm_answer_parser), "the public struct has room for it");
_Static_assert(_Alignof(struct parser) <= _Alignof(tlshm_answer_parser), "and is aligned for it");

static const char done_mark[] = "[DONE]";

/* -------------------------------------------------------------------------------------------------------- documents */

static void tell_inner(void *context, const struct tl_json_spot *spot, enum tl_json_event event, const char *text,
                       unsigned length)
{
    struct parser *p = context;

    tl_report_tell(&p->account, p->inner.json.taken, spot, event, text, length);
}

static void read_inner(struct parser *p, const char *bytes, size_t n)
{
    struct inner *in = &p->inner;

    for (size_t done = 0; done < n && !in->wrong;) {
        done += tl_json_feed(&in->json, bytes + done, n - done, tell_inner, p);
        in->wrong = tl_json_broken(&in->json);
    }
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The byte that one more digit completes; false if it completes none. */
static bool base64_byte(struct inner *in, int digit, char *byte)
{
    in->bits = in->bits << 6 | (uint32_t)digit;
    in->digits = (uint8_t)((in->digits + 1) % 4);
    *byte = (char)(in->bits >> (in->digits ? 8 - 2 * in->digits : 0) & 0xff);
    return in->digits != 1;
}

/* Padding ends it: the last group has given its whole bytes already. */
static void read_base64(struct parser *p, const char *text, size_t n)
{
    enum { BUFFER = 256 };
    struct inner *in = &p->inner;
    char bytes[BUFFER];
    size_t have = 0;
    bool wrong = false;

    for (size_t i = 0; i < n && !wrong && !in->padded; i++) {
        int digit = base64_digit(text[i]);

        in->padded = text[i] == '=';
        wrong = digit < 0 && !in->padded;
        if (digit >= 0)
            have += base64_byte(in, digit, &bytes[have]);
        if (have == BUFFER) {
            read_inner(p, bytes, have);
            have = 0;
        }
    }
    read_inner(p, bytes, have); /* what stood before a wrong digit too */
    in->wrong |= wrong;
}

static void tell_outer(void *context, const struct tl_json_spot *spot, enum tl_json_event event, const char *text,
                       unsigned length)
{
    struct parser *p = context;

    if ((spot->what & ~TL_JSON_PIECES) != TL_INNER)
        tl_report_tell(&p->account, p->json.taken, spot, event, text, length);
    else if (event == TL_JSON_PIECE)
        read_base64(p, text, length);
}

static void no_json(struct parser *p)
{
    tl_report_problem(&p->account, p->json.taken, "this is no JSON");
    p->dead = true;
}

/* Documents that follow each other; an event or a message has one. */
static void read_documents(struct parser *p, const char *bytes, size_t n)
{
    for (size_t done = 0; done < n && !p->dead;) {
        done += tl_json_feed(&p->json, bytes + done, n - done, tell_outer, p);
        if (tl_json_broken(&p->json))
            no_json(p);
    }
}

static void begin_document(struct parser *p, const struct tl_json_spot *root)
{
    tl_json_start(&p->json, root, p->kinds);
    p->dead = false;
}

/* The event or message with the document has ended, and the document should have. */
static void end_document(struct parser *p)
{
    if (!p->dead && !tl_json_idle(&p->json))
        tl_report_problem(&p->account, p->json.taken, "the document is not finished");
    tl_report_merge(&p->account);
}

/* ---------------------------------------------------------------------------------------------------- event streams */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void begin_event(struct parser *p, char c)
{
    if (c == '{') {
        p->event = EVENT_DOCUMENT;
        begin_document(p, &tl_shapes_root);
    } else {
        p->event = c == done_mark[0] ? EVENT_DONE : EVENT_OTHER;
        p->done_at = 0;
    }
}

static void read_done(struct parser *p, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && p->event == EVENT_DONE; i++) {
        if (p->done_at < sizeof done_mark - 1 && bytes[i] == done_mark[p->done_at])
            p->done_at++;
        else if (!is_blank(bytes[i]))
            p->event = EVENT_OTHER;
    }
}

static void read_event(struct parser *p, const char *bytes, size_t n)
{
    while (n && p->event == EVENT_BEGINS) {
        if (!is_blank(*bytes)) {
            begin_event(p, *bytes);
        } else {
            bytes++;
            n--;
        }
    }
    if (p->event == EVENT_DOCUMENT)
        read_documents(p, bytes, n);
    else
        read_done(p, bytes, n);
}

static void end_event(struct parser *p)
{
    struct tl_known *known = &p->account.known;

    if (p->event == EVENT_DOCUMENT) {
        p->account.doc.type |= (uint8_t)tl_shapes_type(p->sse.name);
        end_document(p);
    } else if (p->event == EVENT_DONE && p->done_at == sizeof done_mark - 1) {
        known->ended = true;
    }
    if (strcmp(p->sse.name, "error") == 0 && !known->error[0])
        tl_report_error(&p->account, "error");
    p->event = EVENT_BEGINS;
}

static void tell_event(void *context, enum tl_sse_part part, const char *bytes, size_t n)
{
    if (part == TL_SSE_DATA)
        read_event(context, bytes, n);
    else
        end_event(context);
}

/* -------------------------------------------------------------------------------------------------- Amazon messages */

static void read_payload(struct parser *p, const char *bytes, size_t n)
{
    if (p->event == EVENT_BEGINS) {
        p->event = EVENT_DOCUMENT;
        begin_document(p, strcmp(p->aws.event, "chunk") == 0 ? &tl_shapes_envelope : &tl_shapes_root);
        memset(&p->inner, 0, sizeof p->inner);
        tl_json_start(&p->inner.json, &tl_shapes_root, p->kinds);
    }
    read_documents(p, bytes, n);
}

static void end_message(struct parser *p)
{
    struct tl_known *known = &p->account.known;

    bool exception = strcmp(p->aws.message, "exception") == 0 || strcmp(p->aws.message, "error") == 0;

    if (p->inner.wrong || !tl_json_idle(&p->inner.json))
        tl_report_problem(&p->account, p->inner.json.taken, "the inner document is no JSON");
    if (p->event == EVENT_DOCUMENT) {
        p->account.doc.is_error |= exception;
        p->account.doc.last |= strcmp(p->aws.event, "metadata") == 0;
        end_document(p);
    }
    if (exception)
        tl_report_error(&p->account, p->aws.exception);
    known->stream = true;
    p->event = EVENT_BEGINS;
    memset(&p->inner, 0, sizeof p->inner);
}

static void tell_message(void *context, enum tl_aws_part part, const char *bytes, size_t n)
{
    struct parser *p = context;

    if (part == TL_AWS_PAYLOAD) {
        read_payload(p, bytes, n);
    } else if (part == TL_AWS_END) {
        end_message(p);
    } else {
        tl_report_drop(&p->account);
        tl_report_problem(&p->account, 0, "the message is damaged");
    }
}

/* ---------------------------------------------------------------------------------------------------------- framing */

static bool begins_events(char c)
{
    return c == ':' || (c >= 'a' && c <= 'z');
}

static void alien(struct parser *p, char first)
{
    bool gzip = first == '\x1f', page = first == '<';

    tl_report_problem(&p->account, 0,
                      gzip   ? "the answer is compressed: decompress it first"
                      : page ? "the answer is a page of markup, no JSON and no event stream"
                             : "the answer is neither JSON nor an event stream");
    p->framing = ALIEN;
}

static void choose(struct parser *p, char c)
{
    if (c == '{' || c == '[') {
        p->framing = DOCUMENTS;
        begin_document(p, &tl_shapes_root);
    } else if (c == '\0') {
        p->framing = MESSAGES;
        p->account.waits = true;
        tl_aws_start(&p->aws);
    } else if (begins_events(c)) {
        p->framing = EVENTS;
        p->account.known.stream = true;
        p->account.waits = true;
        tl_sse_start(&p->sse);
    } else {
        alien(p, c);
    }
}

/* Bytes in front of the first one that matters. */
static size_t skip_front(struct parser *p, const char *bytes, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t i = 0;

    while (i < n && (is_blank(bytes[i]) || (p->mark < sizeof mark - 1 && bytes[i] == mark[p->mark]))) {
        p->mark = (uint8_t)(is_blank(bytes[i]) ? sizeof mark - 1 : p->mark + 1u);
        i++;
    }
    return i;
}

static void read_bytes(struct parser *p, const char *bytes, size_t n)
{
    if (p->framing == UNTOLD) {
        size_t front = skip_front(p, bytes, n);

        bytes += front;
        n -= front;
        if (n == 0)
            return;
        choose(p, *bytes);
    }
    if (p->framing == DOCUMENTS)
        read_documents(p, bytes, n);
    else if (p->framing == EVENTS)
        tl_sse_feed(&p->sse, bytes, n, tell_event, p);
    else if (p->framing == MESSAGES)
        tl_aws_feed(&p->aws, bytes, n, tell_message, p);
}

/* ------------------------------------------------------------------------------------------------------- the answer */

/* What has not ended by now is cut. Only whole messages count. */
static void close_all(struct parser *p)
{
    if (p->framing == EVENTS) {
        tl_sse_close(&p->sse, tell_event, p);
    } else if (p->framing == MESSAGES) {
        if (tl_aws_inside(&p->aws)) {
            tl_report_drop(&p->account);
            tl_report_problem(&p->account, 0, "the answer ends inside a message");
        }
    } else if (p->framing == DOCUMENTS) {
        if (!p->dead && !tl_json_idle(&p->json))
            tl_report_problem(&p->account, p->json.taken, "the document is not finished");
        tl_report_merge(&p->account);
    }
}

static enum tlshm_outcome outcome_of(const struct tl_known *known, unsigned flags)
{
    bool cut = flags & TLSHM_ANSWER_CUT;

    if (!tl_counts_any(known))
        return TLSHM_UNKNOWN;
    if (known->unsure || known->error[0] || !tl_counts_whole(known))
        return TLSHM_AT_LEAST;
    if (known->ended)
        return TLSHM_EXACT;
    if (cut)
        return known->finished && !known->stream ? TLSHM_EXACT : TLSHM_AT_LEAST;
    return known->settled || !known->stream ? TLSHM_EXACT : TLSHM_AT_LEAST;
}

static void put_answer(const struct parser *p, unsigned flags, tlshm_answer *out)
{
    const struct tl_known *known = &p->account.known;

    memset(out, 0, sizeof *out);
    out->outcome = outcome_of(known, flags);
    if (out->outcome != TLSHM_UNKNOWN)
        tl_counts_of(known, p->provider, &out->counts, &out->others);
    out->refused = known->error[0] && known->error_documents == known->documents && !known->unsure;
    out->has_cost = known->seen >> TL_SLOT_COST & 1;
    out->cost_nusd = out->has_cost ? known->slot[TL_SLOT_COST] : 0;
    memcpy(out->model, known->model, sizeof out->model);
    memcpy(out->other_model, known->other_model, sizeof out->other_model);
    memcpy(out->error, known->error, sizeof out->error);
    memcpy(out->problem, known->problem, sizeof out->problem);
}

int tlshm_answer_begin(tlshm_answer_parser *parser, enum tlshm_provider provider)
{
    struct parser *p = (struct parser *)parser;

    if (!p || (int)provider < 0 || provider >= TLSHM_PROVIDERS)
        return -TLSHM_EINVAL;
    memset(p, 0, sizeof *p);
    p->magic = MAGIC;
    p->provider = (int)provider;
    p->kinds = tl_shapes_kinds((int)provider);
    return 0;
}

int tlshm_answer_feed(tlshm_answer_parser *parser, const void *bytes, size_t n)
{
    struct parser *p = (struct parser *)parser;

    if (!p || p->magic != MAGIC || (!bytes && n))
        return -TLSHM_EINVAL;
    if (n)
        read_bytes(p, bytes, n);
    return 0;
}

int tlshm_answer_end(const tlshm_answer_parser *parser, unsigned flags, tlshm_answer *out)
{
    struct parser copy;

    if (!parser || !out || flags & ~TLSHM_ANSWER_CUT)
        return -TLSHM_EINVAL;
    memcpy(&copy, parser, sizeof copy);
    if (copy.magic != MAGIC)
        return -TLSHM_EINVAL;
    close_all(&copy);
    put_answer(&copy, flags, out);
    return 0;
}

static void add_counts(tlshm_counts *to, const tlshm_counts *more)
{
    to->input_total += more->input_total;
    to->output_total += more->output_total;
    to->tool_calls += more->tool_calls;
}

int tlshm_answer_amounts(const tlshm_answer *answer, tlshm_amounts *out)
{
    tlshm_counts all;

    if (!answer || !out)
        return -TLSHM_EINVAL;
    if (answer->counts.input_total > TLSHM_AMOUNT_MAX || answer->counts.output_total > TLSHM_AMOUNT_MAX ||
        answer->others.input_total > TLSHM_AMOUNT_MAX || answer->others.output_total > TLSHM_AMOUNT_MAX)
        return -TLSHM_ERANGE;
    all = answer->counts;
    add_counts(&all, &answer->others);
    return tlshm_counts_amounts(&all, out);
}
