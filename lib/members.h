/* SPDX-License-Identifier: MIT */
/*
 * members.h - a walk over the scalars of a JSON text, for looking at error bodies: no tree, no allocation, and as much
 * as can be read of a text that is cut off or not quite JSON.
 *
 * One pass. Depth is bounded by a bit for each level; of keys the innermost TL_MEMBERS_PATH outermost levels are kept
 * as they stand in the text, escapes and all (no key that anybody looks for has any). Strings are decoded into one
 * place and cut there. What is not JSON between values, such as the "data:" of event streams, is passed over.
 */
#ifndef TL_MEMBERS_H
#define TL_MEMBERS_H

#include "base.h"
#include "moment.h"

enum { TL_MEMBERS_DEPTH = 64, TL_MEMBERS_PATH = 16, TL_MEMBERS_TEXT = 2048 };

/* Where the walk is. Elements of an array have the array's key. */
struct tl_members {
    unsigned depth;
    struct tl_slice key[TL_MEMBERS_PATH]; /* key[d]: of the value at depth d; empty at the top */
};

struct tl_members_visitor {
    /* A string, number or word (true, null). `text` is valid during the call. */
    void (*scalar)(void *context, const struct tl_members *m, struct tl_slice text, bool quoted);
    /* An object begins or ends: m->depth is that of its members. */
    void (*object)(void *context, const struct tl_members *m, bool begins);
    void *context;
};

/* The key of the current value; empty below the kept levels. */
struct tl_slice tl_members_key(const struct tl_members *m);

/* Is one of the keys on the way from the top to the current value, its own included, this lower-case word? */
bool tl_members_inside(const struct tl_members *m, const char *word);

void tl_members_walk(const char *text, size_t n, const struct tl_members_visitor *visitor);

#endif
