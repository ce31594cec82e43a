/* SPDX-License-Identifier: MIT */
/* match.c - rules that say which names are meant. */
#include "match.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { PATTERN_MAX = 256, STEPS_MAX = 100000, DEPTH_MAX = 1000, HEAP_KIB = 1024 };

/* --------------------------------------------------------------------------------------------- regular expressions */

void *tl_match_compile(const char *pattern, size_t length)
{
    int error;
    PCRE2_SIZE at;
    if (length > PATTERN_MAX)
        return NULL;
    return pcre2_compile((PCRE2_SPTR)pattern, length, PCRE2_CASELESS | PCRE2_NEVER_BACKSLASH_C, &error, &at, NULL);
}

void tl_match_release(void *regex)
{
    pcre2_code_free(regex);
}

static bool run_regex(const pcre2_code *regex, const char *text, size_t length)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    bool found = false;
    if (data && context) {
        pcre2_set_match_limit(context, STEPS_MAX);
        pcre2_set_depth_limit(context, DEPTH_MAX);
        pcre2_set_heap_limit(context, HEAP_KIB);
        found = pcre2_match(regex, (PCRE2_SPTR)text, length, 0, 0, data, context) >= 0;
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return found;
}

/* ------------------------------------------------------------------------------------------------------------- rules */

static bool any_of(const struct tl_clause *part, const char *text, size_t length)
{
    for (; part; part = part->next)
        if (tl_match(part, text, length))
            return true;
    return false;
}

/* Of nothing: no. A rule without parts means no name. */
static bool all_of(const struct tl_clause *part, const char *text, size_t length)
{
    bool matched = part != NULL;
    for (; part && matched; part = part->next)
        matched = tl_match(part, text, length);
    return matched;
}

bool tl_match(const struct tl_clause *c, const char *text, size_t length)
{
    switch (c->kind) {
    case TL_MATCH_EQUALS:
        return length == c->length && memcmp(text, c->text, length) == 0;
    case TL_MATCH_STARTS:
        return length >= c->length && memcmp(text, c->text, c->length) == 0;
    case TL_MATCH_ENDS:
        return length >= c->length && memcmp(text + length - c->length, c->text, c->length) == 0;
    case TL_MATCH_CONTAINS:
        return memmem(text, length, c->text, c->length) != NULL;
    case TL_MATCH_REGEX:
        return run_regex(c->regex, text, length);
    case TL_MATCH_OR:
        return any_of(c->child, text, length);
    case TL_MATCH_AND:
        return all_of(c->child, text, length);
    case TL_MATCH_NEVER:
        break;
    }
    return false;
}

void tl_match_fold(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] - 'A' + 'a') : from[i];
}
