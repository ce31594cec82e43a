/* SPDX-License-Identifier: MIT */
/*
 * emit.h - one emitter for text and JSON: a command says what there is, once, and the format follows from --json.
 *
 *     struct emit *e = emit_new(stdout, json ? EMIT_JSON : EMIT_TEXT);
 *     emit_text(e, "path", path);
 *     emit_array_begin(e, "scopes");
 *     for each: emit_object_begin(e, NULL); emit_text(e, "scope", key); emit_u64(e, "used", used); emit_object_end(e);
 *     emit_array_end(e);
 *     return emit_end(e);
 *
 * The outermost value is an object, open from the start. Keys are JSON names (lower case, words joined by '_', units as
 * suffixes: _ns, _nusd). Inside an array the key is NULL.
 *   JSON  the object, indented or on one line, and a newline. Integers up to 2^53 are numbers, larger ones strings, so that nobody's
 *         double loses a digit. Absent things (never, unlimited) are null. emit_nusd() and durations are integers.
 *   text  an object is a list of "label  value" lines; a nested object, the same under a heading; an array of objects,
 *         an aligned table whose columns are the keys; an array of plain values, one line joined by commas. Objects
 *         inside a table's row become columns of their own. What is empty is shown as "-". Labels are the keys without
 *         '_' and without unit suffixes. Numbers have thousands separators, money is in dollars, durations are rounded
 *         down to two units. A terminal shows as many columns of a table as fit into its width.
 * Everything is kept in memory until emit_end().
 */
#ifndef TOOLS_EMIT_H
#define TOOLS_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tlshm.h>

enum emit_format { EMIT_TEXT, EMIT_JSON, EMIT_JSON_LINE };

struct emit; /* opaque */

/* Never NULL: without memory the process ends with the exit code of a library error. */
struct emit *emit_new(FILE *out, enum emit_format format);

/* Writes everything and frees the emitter. Returns 0, or -1 if memory ran out or the stream took not all of it. */
int emit_end(struct emit *e);

/* Frees the emitter; nothing is written. */
void emit_drop(struct emit *e);

bool emit_is_json(const struct emit *e);

void emit_object_begin(struct emit *e, const char *key);
void emit_object_end(struct emit *e);
void emit_array_begin(struct emit *e, const char *key);
void emit_array_end(struct emit *e);

void emit_text(struct emit *e, const char *key, const char *value); /* bytes that are no UTF-8 are shown as \xNN */
void emit_bytes(struct emit *e, const char *key, const void *value, size_t size); /* the same for any bytes */
void emit_u64(struct emit *e, const char *key, uint64_t value);
void emit_i64(struct emit *e, const char *key, int64_t value);
void emit_real(struct emit *e, const char *key, double value, int decimals);
void emit_bool(struct emit *e, const char *key, bool value);       /* text: yes, no */
void emit_null(struct emit *e, const char *key, const char *word); /* JSON: null; text: the word ("never") */
void emit_plain(struct emit *e, const char *key, uint64_t value);  /* a pid, a port: no thousands separators */

/* An amount in a unit's own figures: text "1,500,000" or "$1.50", JSON the integer. UNLIMITED is "unlimited" / null. */
void emit_amount(struct emit *e, const char *key, enum tlshm_unit unit, uint64_t value);

/* A signed remainder in a unit's own figures; INT64_MAX is "unlimited" / null. */
void emit_remaining(struct emit *e, const char *key, enum tlshm_unit unit, int64_t value);

/* Nanoseconds: text "2 h 5 min", JSON the integer. TLSHM_NEVER is "never" / null. */
void emit_duration(struct emit *e, const char *key, uint64_t ns);

/* Wall-clock nanoseconds since 1970: text "2026-01-31 12:00:00 UTC", JSON the integer. */
void emit_time(struct emit *e, const char *key, int64_t wall_ns);

/* An id: the same text in both formats, as the tools take it: 16 hexadecimal digits. */
void emit_id(struct emit *e, const char *key, tlshm_id id);

/* An object with a figure for each unit; in text, for those that are not 0. */
void emit_amounts(struct emit *e, const char *key, const tlshm_amounts *amounts);

/* The same figures for those who print by themselves. Each returns `buf`. */
#define EMIT_FIGURE 40 /* bytes that hold any of them */
char *emit_human_u64(uint64_t value, char *buf);
char *emit_human_nusd(int64_t nusd, char *buf);
char *emit_human_amount(enum tlshm_unit unit, uint64_t value, char *buf);
char *emit_human_duration(uint64_t ns, char *buf);

#endif
