/* SPDX-License-Identifier: MIT */
/* write.h - traces out again, in the fleet format; gzipped when the name ends in .gz. */
#ifndef REPLAY_WRITE_H
#define REPLAY_WRITE_H

#include "trace.h"

struct write;

/* "-" is standard output. NULL with errno when the file can't be made. */
struct write *write_start(const char *path);

/* False when it could not be written; write_end() says why. */
bool write_record(struct write *w, const struct trace_record *record);

/* Ends the file. False with one line in `why` if anything went wrong since the start; the file is then removed. */
bool write_end(struct write *w, char *why, size_t size);

#endif
