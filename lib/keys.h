/* SPDX-License-Identifier: MIT */
/*
 * keys.h - a process's own memory of which key has which handle: a liburcu hash table, read without locks, so that a
 * call with string keys seldom goes to the shared directory. Entries are never freed before detach (their number is
 * bounded); a stale one is updated in place.
 */
#ifndef TL_KEYS_H
#define TL_KEYS_H

#include "atomic.h"

struct cds_lfht;

struct tl_keys {
    struct cds_lfht *table;
    tl_word count;
};

#define TL_KEYS_MAX 65536 /* further keys go to the directory each time */

/* 0 or -TLSHM_ENOMEM. */
int tl_keys_init(struct tl_keys *keys);

/* No thread may use it any more. */
void tl_keys_destroy(struct tl_keys *keys);

/* The handle remembered for a key, or 0. `hash` is the key's. */
uint64_t tl_keys_get(struct tl_keys *keys, uint64_t hash, const void *key, size_t len);

/* Remembers a handle, or corrects it. Never fails: what does not fit is not remembered. */
void tl_keys_put(struct tl_keys *keys, uint64_t hash, const void *key, size_t len, uint64_t handle);

#endif
