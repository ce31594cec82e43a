/* SPDX-License-Identifier: MIT */
/* answers.h - reads answers as they would come over a wire: whole, byte by byte, and cut at random. */
#ifndef TLSHM_TESTS_ANSWERS_H
#define TLSHM_TESTS_ANSWERS_H

#include <stddef.h>

#include <tlshm/answer.h>

#include "tap.h"

/* Reads in every way; false, after having said so on stderr, if what is known depends on the way. */
bool answers_read(const char *bytes, size_t n, enum tlshm_provider provider, unsigned flags, tlshm_answer *out);

/* What differs between two counts, as "name got/expected ...", into `buf`; empty when nothing does. */
const char *answers_differ(const tlshm_counts *got, const tlshm_counts *expected, char *buf, size_t size);

/* One message of an Amazon event stream at `out`, which has room; its length. */
size_t answers_message(char *out, const char *event, const char *type, const void *payload, size_t n);

/* The twelve bytes that a message begins with: two lengths and their checksum. */
void answers_prelude(char *out, uint32_t whole, uint32_t headers);

/* Puts the checksum behind the `n` bytes of a message; its length. */
size_t answers_seal(char *out, size_t n);

/* The message of a chunk: the document in base64 inside of another one. */
size_t answers_chunk(char *out, const char *document);

#endif
