/* SPDX-License-Identifier: MIT */
/*
 * aws.h - the binary framing application/vnd.amazon.eventstream, in pieces of any length.
 *
 *     offset  bytes
 *          0      4  length of the whole message    } big-endian
 *          4      4  length of the headers          }
 *          8      4  CRC-32 of the bytes before it  }
 *         12      h  headers: length (1) name, type (1), value
 *     12 + h      p  payload
 * 12 + h + p      4  CRC-32 of everything before it
 *
 * What is told of a payload counts only once TL_AWS_END has come: the checksum stands behind it.
 */
#ifndef TL_AWS_H
#define TL_AWS_H

#include "base.h"

enum { TL_AWS_VALUE = 63 }; /* bytes of a header's value that are kept */

enum tl_aws_part {
    TL_AWS_PAYLOAD, /* bytes; the headers are known */
    TL_AWS_END,     /* the message was whole */
    TL_AWS_WRONG    /* it was not, or its headers are none. Nothing more will be told */
};
typedef void tl_aws_tell(void *context, enum tl_aws_part part, const char *bytes, size_t n);

struct tl_aws {
    uint32_t at;               /* bytes of this message that have been taken */
    uint32_t whole;            /* its length */
    uint32_t payload, trailer; /* where they begin */
    uint32_t crc;              /* of what has been taken, without the last four bytes */
    uint32_t number;           /* big-endian one that is being read */
    uint16_t left;             /* bytes of the header's part that are still to come */
    uint8_t part;              /* of the header */
    uint8_t kept;              /* which header's value is kept */
    uint8_t matched;           /* bytes of `name` */
    bool wrong;
    char name[24];
    char event[TL_AWS_VALUE + 1];     /* ":event-type"; terminated; empty when there was none */
    char message[TL_AWS_VALUE + 1];   /* ":message-type" */
    char exception[TL_AWS_VALUE + 1]; /* ":exception-type" or ":error-code" */
};

void tl_aws_start(struct tl_aws *a);
void tl_aws_feed(struct tl_aws *a, const char *bytes, size_t n, tl_aws_tell *tell, void *context);

/* Inside a message. */
bool tl_aws_inside(const struct tl_aws *a);

#endif
