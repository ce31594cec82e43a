/* SPDX-License-Identifier: MIT */
/* ids.h - what callers know a reservation by: {generation:40 | record:24}. */
#ifndef TL_IDS_H
#define TL_IDS_H

#include "txn.h"

#define TL_TRIES_MAX (1u << 16) /* lost races before a call gives up: never met, but no loop is endless */
#define TL_TTL_MAX_NS (UINT64_C(1) << 61)
#define TL_GENERATION_MASK ((UINT64_C(1) << 40) - 1)

TL_INLINE tlshm_id tl_id(uint32_t record, uint64_t generation)
{
    return generation << SHM_NODE_BITS | record;
}

/* Does a record hold this reservation? */
TL_INLINE bool tl_id_is(tlshm_id id, const struct tl_record *record)
{
    return id >> SHM_NODE_BITS == (record->body.generation & TL_GENERATION_MASK);
}

#endif
