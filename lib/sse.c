/* SPDX-License-Identifier: MIT */
/* sse.c - from bytes of an event stream to the data of its events. */
#include "sse.h"

enum state { LINE_START, FIELD_NAME, VALUE_START, VALUE, SKIP };
enum field { FIELD_DATA, FIELD_EVENT, FIELD_OTHER };

static const char *const field_names[] = {"data", "event"};

void tl_sse_start(struct tl_sse *s)
{
    memset(s, 0, sizeof *s);
}

static void end_event(struct tl_sse *s, tl_sse_tell *tell, void *context)
{
    if (s->has_data)
        tell(context, TL_SSE_END, NULL, 0);
    s->has_data = false;
    s->name[s->name_length = 0] = '\0';
}

static void begin_value(struct tl_sse *s, tl_sse_tell *tell, void *context)
{
    if (s->field == FIELD_DATA) {
        if (s->has_data)
            tell(context, TL_SSE_DATA, "\n", 1);
        s->has_data = true;
    } else if (s->field == FIELD_EVENT) {
        s->name[s->name_length = 0] = '\0';
    }
}

/* A name that ends where the line ends is a field with an empty value. */
static void end_line(struct tl_sse *s, tl_sse_tell *tell, void *context)
{
    if (s->state == LINE_START) {
        end_event(s, tell, context);
        return;
    }
    if (s->state == FIELD_NAME && s->field != FIELD_OTHER && field_names[s->field][s->matched] == '\0')
        begin_value(s, tell, context);
    s->state = LINE_START;
}

static void name_byte(struct tl_sse *s, char c, tl_sse_tell *tell, void *context)
{
    bool whole = s->field != FIELD_OTHER && field_names[s->field][s->matched] == '\0';

    if (c == ':' && whole) {
        s->state = VALUE_START;
        begin_value(s, tell, context);
    } else if (c == ':') {
        s->state = SKIP;
    } else if (whole || s->field == FIELD_OTHER || field_names[s->field][s->matched] != c) {
        s->field = FIELD_OTHER;
        s->state = SKIP;
    } else {
        s->matched++;
    }
}

static void begin_line(struct tl_sse *s, char c, tl_sse_tell *tell, void *context)
{
    s->field = c == 'd' ? FIELD_DATA : c == 'e' ? FIELD_EVENT : FIELD_OTHER;
    s->matched = 0;
    s->state = FIELD_NAME;
    name_byte(s, c, tell, context);
}

static size_t value_bytes(struct tl_sse *s, const char *bytes, size_t n, tl_sse_tell *tell, void *context)
{
    size_t length = 0;

    while (length < n && bytes[length] != '\n' && bytes[length] != '\r')
        length++;
    if (s->state == SKIP || length == 0)
        return length;
    if (s->field == FIELD_DATA) {
        tell(context, TL_SSE_DATA, bytes, length);
        return length;
    }
    for (size_t i = 0; i < length && s->name_length < TL_SSE_NAME; i++)
        s->name[s->name_length++] = bytes[i];
    s->name[s->name_length] = '\0';
    return length;
}

static size_t take(struct tl_sse *s, const char *bytes, size_t n, tl_sse_tell *tell, void *context)
{
    bool lf_of_cr = s->after_cr && *bytes == '\n';

    s->after_cr = *bytes == '\r';
    if (lf_of_cr)
        return 1;
    if (*bytes == '\n' || *bytes == '\r') {
        end_line(s, tell, context);
        return 1;
    }
    switch (s->state) {
    case LINE_START:
        begin_line(s, *bytes, tell, context);
        return 1;
    case FIELD_NAME:
        name_byte(s, *bytes, tell, context);
        return 1;
    case VALUE_START:
        s->state = VALUE;
        if (*bytes == ' ')
            return 1;
        /* fall through */
    default:
        return value_bytes(s, bytes, n, tell, context);
    }
}

void tl_sse_feed(struct tl_sse *s, const char *bytes, size_t n, tl_sse_tell *tell, void *context)
{
    for (size_t done = 0; done < n;)
        done += take(s, bytes + done, n - done, tell, context);
}

void tl_sse_close(struct tl_sse *s, tl_sse_tell *tell, void *context)
{
    if (s->state != LINE_START)
        end_line(s, tell, context);
    end_event(s, tell, context);
}
