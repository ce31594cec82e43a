/* SPDX-License-Identifier: MIT */
/*
 * sse.h - the lines of a server-sent event stream (WHATWG HTML, "parsing an event stream"), in pieces of any length.
 *
 * Lines end with LF, CRLF or CR. A line that begins with a colon, and every field but `data` and `event`, says nothing.
 * The mark of byte order in front is the caller's to skip.
 */
#ifndef TL_SSE_H
#define TL_SSE_H

#include "base.h"

enum { TL_SSE_NAME = 47 }; /* bytes of an event's name that are kept */

enum tl_sse_part {
    TL_SSE_DATA, /* bytes of an event's data; lines are joined by LF */
    TL_SSE_END   /* an event that had data has ended */
};
typedef void tl_sse_tell(void *context, enum tl_sse_part part, const char *bytes, size_t n);

struct tl_sse {
    uint8_t state;
    uint8_t field;
    uint8_t matched; /* bytes of the field's name */
    bool after_cr;   /* an LF belongs to the line that has just ended */
    bool has_data;
    uint8_t name_length;
    char name[TL_SSE_NAME + 1]; /* of the event; terminated; empty when it had none */
};

void tl_sse_start(struct tl_sse *s);
void tl_sse_feed(struct tl_sse *s, const char *bytes, size_t n, tl_sse_tell *tell, void *context);

/* The stream ends here: an event that lacks only its empty line counts. */
void tl_sse_close(struct tl_sse *s, tl_sse_tell *tell, void *context);

#endif
