/* SPDX-License-Identifier: MIT */
/*
 * match.h - rules that say which names are meant: equals, starts_with, ends_with, contains, regex, or, and.
 *
 * Letter case does not matter. A regular expression is PCRE2's, which takes Python's apart from a few rarities; what it
 * may cost is bounded, and one that exceeds the bound does not match.
 */
#ifndef TL_MATCH_H
#define TL_MATCH_H

#include "base.h"

enum tl_match_kind {
    TL_MATCH_NEVER, /* a rule that was not understood */
    TL_MATCH_EQUALS,
    TL_MATCH_STARTS,
    TL_MATCH_ENDS,
    TL_MATCH_CONTAINS,
    TL_MATCH_REGEX,
    TL_MATCH_OR,
    TL_MATCH_AND
};

struct tl_clause {
    enum tl_match_kind kind;
    const char *text; /* in lower case; a regular expression as it was written */
    size_t length;
    void *regex;                   /* compiled */
    const struct tl_clause *child; /* OR, AND: the first part */
    const struct tl_clause *next;  /* the next part of the same OR or AND */
};

/* Does the rule mean this name, given in lower case? Any thread. */
bool tl_match(const struct tl_clause *clause, const char *text, size_t length);

/* NULL if it is none, or too large a one. */
void *tl_match_compile(const char *pattern, size_t length);
void tl_match_release(void *regex);

/* ASCII letters in lower case; the rest, UTF-8 included, as it is. */
void tl_match_fold(char *to, const char *from, size_t length);

#endif
