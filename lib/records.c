/* SPDX-License-Identifier: MIT */
/* records.c - finding a record for a new reservation. See records.h. */
#include "records.h"

#define BLOCK_MAX 64u /* records that a thread walks through before it asks for more: the cursor is seldom touched */

enum fitness { TAKEN, TOO_FRESH, USABLE };

/* Whether a new reservation may have a record, after reading it. */
static int judge_record(struct tl_thread *thread, uint32_t index, uint64_t now, enum fitness *fitness)
{
    const struct tl_map *map = thread->hand.map;
    struct tl_record *was = &thread->txn.was;
    *fitness = TAKEN;
    if (shm_status(tl_load(&map->records[index].head)) == SHM_HELD)
        return 0;
    int rc = tl_txn_record(&thread->hand, index, TL_TIMES, was);
    if (rc < 0 || shm_status(was->head) == SHM_HELD)
        return rc;
    bool kept = shm_status(was->head) == SHM_EXPIRED && now < was->body.ended + map->retention_ns;
    *fitness = kept ? TOO_FRESH : USABLE;
    return 0;
}

TL_COLD void tl_records_refill(struct tl_thread *thread)
{
    const struct tl_map *map = thread->hand.map;
    thread->block = thread->block ? (uint32_t)tl_min(thread->block * 2, BLOCK_MAX) : 1;
    uint64_t from = tl_add(&map->header->record_cursor, thread->block) % map->reservations;
    thread->record = (uint32_t)from;
    thread->record_end = thread->record + thread->block;
}

static uint32_t next_record(struct tl_thread *thread)
{
    const struct tl_map *map = thread->hand.map;
    if (thread->record >= thread->record_end)
        tl_records_refill(thread);
    return tl_records_at(map, thread->record++);
}

int tl_records_pick(struct tl_thread *thread, uint64_t now)
{
    uint32_t fresh = UINT32_MAX, looks = thread->hand.map->reservations + BLOCK_MAX;
    enum fitness fitness;
    for (uint32_t i = 0; i < looks; i++) {
        uint32_t index = next_record(thread);
        int rc = judge_record(thread, index, now, &fitness);
        if (rc < 0)
            return rc;
        if (TL_LIKELY(fitness == USABLE)) {
            tl_records_fetch_next(thread);
            return 1;
        }
        if (fitness == TOO_FRESH && fresh == UINT32_MAX)
            fresh = index;
    }
    if (fresh == UINT32_MAX)
        return 0;
    int rc = judge_record(thread, fresh, now, &fitness);
    if (rc == 0 && fitness != TAKEN)
        tl_count(&thread->hand.seat->counter[SHM_N_EARLY_REUSE]);
    return rc < 0 ? rc : fitness != TAKEN;
}
