/* SPDX-License-Identifier: MIT */
/*
 * words.h - walking through a text of words, and reading numbers, amounts and lengths of time from them.
 *
 * What parse.c and confrule.c share. Exact or an error: no floating point, nothing is rounded, nothing wraps. No
 * allocation, no locale, no state: any thread, any signal handler.
 */
#ifndef TL_WORDS_H
#define TL_WORDS_H

#include <tlshm.h>

#include "text.h"

/* What is wrong with a text, and where. The text names no column: whoever tells it knows where the words stand. */
struct tl_words_fault {
    int code;        /* negative TLSHM_E... */
    unsigned column; /* of the word, in bytes from 1 */
    char text[216];
};

struct tl_words {
    const char *text;
    const char *word; /* the current one, not terminated */
    size_t length;    /* 0 at the end of the text */
    struct tl_words_fault *fault;
};

/* Stands at the first word. Words are separated by blanks. */
void tl_words_start(struct tl_words *w, const char *text, struct tl_words_fault *fault);
void tl_words_next(struct tl_words *w);
bool tl_words_is(const struct tl_words *w, const char *word);

/* "<before>'word'<after>", with "the end of the text" for the word that is not there. Returns `code`. */
int tl_words_fail(const struct tl_words *w, int code, const char *before, const char *after);

/* The same for -TLSHM_EINVAL; `what` ends with "not ". */
int tl_words_expected(const struct tl_words *w, const char *what);

/* No word may be left: 0 or a fault. */
int tl_words_end(const struct tl_words *w);

/* The current word must be the last: 0 or a fault. */
int tl_words_last(struct tl_words *w);

/* A decimal number inside a word: digits, and digits behind a point. */
struct tl_number {
    const char *whole;
    const char *fraction;
    size_t whole_length;
    size_t fraction_length;
    const char *end;
};

bool tl_words_digit(char c);
char tl_words_lower(char c);

/* False: no number stands there. */
bool tl_words_scan(const char *at, const char *end, struct tl_number *out);

/* The number times `one`: 0, -EINVAL if that is no integer, -ERANGE if it does not fit. */
int tl_words_scale(const struct tl_number *number, uint64_t one, uint64_t *out);

/* Tells that of the current word; `too_fine` says what the number is when it is no integer. */
int tl_words_number_fault(const struct tl_words *w, int code, const char *too_fine);

/* The current word as a plain count with k, M, G or T; as an amount of a unit; as a length of time. 0 or a fault. */
int tl_words_count(const struct tl_words *w, uint64_t *out);
int tl_words_amount(const struct tl_words *w, enum tlshm_unit unit, uint64_t *out);
int tl_words_duration(const struct tl_words *w, uint64_t *ns, const char *what);

#define TL_WORDS_LENGTH "expected a length of time such as 300, 5m, 1h, 1d or 250ms, not "

#endif
