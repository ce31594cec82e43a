/* SPDX-License-Identifier: MIT */
/*
 * zones.h - the time zones of a segment: each loaded once, by whoever first sets a limit in it, and never changed, so that
 * workers need no files. A shape's zone 0 is UTC, n is entry n - 1 of the table.
 */
#ifndef TL_ZONES_H
#define TL_ZONES_H

#include "txn.h"

/* The number of a zone, loading it if it is new. 0, -TLSHM_EZONE, -TLSHM_ENOROOM. */
int tl_zones_get(struct tl_hand *hand, const char *name, unsigned *zone);

/* Whether a segment has a zone (or needs no place for it), and how many more it can have. Work read-only. */
bool tl_zones_has(const struct tl_map *map, const char *name);
unsigned tl_zones_left(const struct tl_map *map);

/* A limit as the public headers have it. */
void tl_zones_limit(const struct tl_map *map, uint64_t shape, uint64_t cap, tlshm_limit *out);

#endif
