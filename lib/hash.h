/* SPDX-License-Identifier: MIT */
/* hash.h - the one hash of keys. Its values are stored in segments: changing it changes the format. */
#ifndef TL_HASH_H
#define TL_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base.h"

/* `seed` is the segment's own, so that nobody outside can choose keys that collide. */
TL_INLINE uint64_t tl_hash(const void *bytes, size_t count, uint64_t seed)
{
    return XXH64(bytes, count, seed);
}

#endif
