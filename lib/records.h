/* SPDX-License-Identifier: MIT */
/*
 * records.h - which record a new reservation gets: the one that ended longest ago first, as far as the table's order tells.
 * Expired ones are kept for the retention time, unless nothing else is left.
 */
#ifndef TL_RECORDS_H
#define TL_RECORDS_H

#include "ids.h"
#include "segment.h"

/* Finds one. 1: txn.was is it, TL_TIMES of it; 0: the table is full of holds; or an error. */
int tl_records_pick(struct tl_thread *thread, uint64_t now);

/* A block goes on at the table's beginning. */
TL_INLINE uint32_t tl_records_at(const struct tl_map *map, uint32_t index)
{
    return index < map->reservations ? index : index - map->reservations;
}

/*
 * Takes a new block of records from the table's order. A thread that lives for one call takes one, one that goes on takes
 * more at a time.
 */
void tl_records_refill(struct tl_thread *thread);

/* The table is walked in its order, so the next content is long out of the caches: it is fetched while this one is used. */
TL_INLINE void tl_records_fetch_next(const struct tl_thread *thread)
{
    const struct tl_map *map = thread->hand.map;
    uint32_t index = tl_records_at(map, thread->record);
    uint32_t node = shm_node(tl_load_relaxed(&map->records[index].head));
    if (node >= map->body_count)
        return;
    __builtin_prefetch(&map->bodies[node].ref, 1);
    __builtin_prefetch(&map->bodies[node].created, 1);
}

/* The record's next generation. 0 with record 0 would be id 0. */
TL_INLINE uint64_t tl_records_generation(uint64_t former)
{
    uint64_t next = (former + 1) & TL_GENERATION_MASK;
    return next ? next : 1;
}

/*
 * The first that tl_records_pick() would look at, if it is plainly free and what wrote it is over (rule M). It is taken by
 * counting thread->record on. True if its head `from` stands at the commit.
 */
TL_INLINE bool tl_records_next(struct tl_thread *thread, uint32_t *index, uint64_t *from, uint64_t *generation)
{
    const struct tl_map *map = thread->hand.map;
    if (TL_UNLIKELY(thread->record >= thread->record_end))
        tl_records_refill(thread);
    *index = tl_records_at(map, thread->record);
    *from = tl_load(&map->records[*index].head);
    unsigned status = shm_status(*from);
    if (status == SHM_HELD || status >= SHM_EXPIRED || shm_node(*from) >= map->body_count)
        return false;
    const struct shm_body *body = &map->bodies[shm_node(*from)];
    uint64_t ref = tl_peek(&body->ref);
    *generation = tl_records_generation(tl_peek(&body->generation));
    return tl_txn_is_over(&thread->hand, ref);
}

/* What a new reservation is told by: its generation, when it begins and ends, `info` as body.h has it, its tag. */
struct tl_birth {
    uint64_t generation, now, deadline, info, tag;
};

/* Writes what every new reservation has into a spare body. `scope`: handles; `need`: of the units of its first part. */
TL_INLINE void tl_records_write(const struct tl_thread *thread, struct shm_body *to, const struct tl_birth *birth,
                                const uint64_t *scope, unsigned scopes, const uint64_t *need)
{
    tl_hook(TL_WRITE, to);
    tl_store_relaxed(&to->info, birth->info);
    tl_store_relaxed(&to->ended, 0);
    tl_store_relaxed(&to->charged[0], 0);
    tl_store_relaxed(&to->charged[1], 0);
    tl_store_relaxed(&to->charged[2], need[TLSHM_REQUESTS]); /* used at admission, for good */
    tl_store_relaxed(&to->deadline, birth->deadline);
    tl_store_relaxed(&to->generation, birth->generation);
    tl_store_relaxed(&to->owner, thread->hand.owner);
    tl_store_relaxed(&to->created, birth->now);
    tl_store_relaxed(&to->tag, birth->tag);
    TL_UNROLL
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++)
        tl_store_relaxed(&to->estimate[i], need[tl_body_plain[i]]);
    tl_store_relaxed(&to->scope[0], scope[0]);
    tl_store_relaxed(&to->scope[1], scopes > 1 ? scope[1] : 0);
    for (unsigned i = 2; i < scopes; i++)
        tl_store_relaxed(&to->more_scopes[i - 2], scope[i]);
}

#endif
