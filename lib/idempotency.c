/* SPDX-License-Identifier: MIT */
/* idempotency.c - finding and entering idempotency keys. See idempotency.h. */
#include "idempotency.h"

#include "ending.h"
#include "hash.h"

static uint32_t cell_of(const struct tl_map *map, uint64_t hash)
{
    return map->scope_end + (uint32_t)((hash >> 24) % (map->cell_count - map->scope_end));
}

static uint64_t hash_key(const struct tl_thread *thread, const struct tl_ask *ask)
{
    return tl_hash(ask->key, ask->key_len, tl_load_relaxed(&thread->hand.map->header->hash_seed));
}

/* Never 0: an entry of 0 is empty. */
static uint64_t fingerprint_of(uint64_t hash)
{
    return (hash & SHM_NODE_MASK) | 1;
}

static uint64_t make_entry(uint64_t hash, uint64_t generation, uint32_t record)
{
    return fingerprint_of(hash) << 40 | (generation & 0xffff) << 24 | record;
}

/* Reads an entry's record. 1: it still holds the reservation that the entry was made for; 0: no; or an error. */
static int read_entry(const struct tl_thread *thread, uint32_t cell, uint64_t entry, struct tl_record *record)
{
    uint32_t index = (uint32_t)(entry & SHM_NODE_MASK);
    if (entry == 0 || index >= thread->hand.map->reservations)
        return 0;
    int rc = tl_txn_record(&thread->hand, index, TL_WHOLE, record);
    if (rc < 0)
        return rc;
    return shm_status(record->head) != SHM_FREE && (record->body.generation & 0xffff) == (entry >> 24 & 0xffff) &&
           tl_body_idempotency_cell(&record->body) == cell;
}

static bool same_key(const struct tl_body *body, const struct tl_ask *ask)
{
    return tl_body_idempotency_len(body) == ask->key_len && memcmp(body->idempotency, ask->key, ask->key_len) == 0;
}

uint64_t tl_idempotency_fingerprint(const struct tl_ask *ask)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < ask->scopes; i++)
        set += tl_hash(&ask->scope[i], sizeof ask->scope[i], 1);
    return ask->model ? ask->model->fingerprint + set : tl_hash(ask->need, sizeof ask->need, set);
}

int tl_idempotency_find(struct tl_thread *thread, const struct tl_ask *ask, tlshm_id *id)
{
    uint64_t hash = hash_key(thread, ask);
    uint32_t cell = cell_of(thread->hand.map, hash);
    struct tl_view view;
    struct tl_record record;
    int rc = tl_txn_snapshot(&thread->hand, cell, &view);
    if (rc < 0)
        return rc;
    uint64_t entry[SHM_IDEM_ENTRIES];
    tl_view_balance(&view, entry);
    for (unsigned i = 0; i < SHM_IDEM_ENTRIES; i++) {
        if (entry[i] >> 40 != fingerprint_of(hash))
            continue;
        rc = read_entry(thread, cell, entry[i], &record);
        if (rc < 0)
            return rc;
        if (rc == 0 || !same_key(&record.body, ask))
            continue;
        if (record.body.request != ask->fingerprint)
            return -TLSHM_EMISMATCH;
        *id = tl_id(record.index, record.body.generation);
        return TLSHM_REPLAY;
    }
    return 0;
}

/*
 * The entry to overwrite: an empty or dead one, else that of the reservation that ended first. -1: all are held. -2: one
 * is the key itself, entered meanwhile.
 */
static int choose_entry(const struct tl_thread *thread, uint32_t cell, const uint64_t *entry, const struct tl_ask *ask)
{
    uint64_t oldest = TL_FOREVER;
    int chosen = -1;
    for (int i = 0; i < SHM_IDEM_ENTRIES; i++) {
        struct tl_record record;
        int rc = read_entry(thread, cell, entry[i], &record);
        if (rc > 0 && same_key(&record.body, ask))
            return -2;
        uint64_t age = 0;
        if (rc > 0)
            age = shm_status(record.head) == SHM_HELD ? TL_FOREVER : record.body.ended + 1;
        if (age < oldest) {
            oldest = age;
            chosen = i;
        }
    }
    return chosen;
}

int tl_idempotency_has_room(struct tl_thread *thread, const struct tl_ask *ask, uint64_t now)
{
    const struct tl_map *map = thread->hand.map;
    uint32_t cell = cell_of(map, hash_key(thread, ask));
    struct tl_view view;
    int rc = tl_txn_snapshot(&thread->hand, cell, &view);
    for (unsigned i = 0; rc == 0 && i < SHM_IDEM_ENTRIES; i++) {
        struct tl_record record;
        if (read_entry(thread, cell, tl_view_word(&view, i), &record) <= 0)
            return 1;
        if (shm_status(record.head) != SHM_HELD || record.body.deadline <= now || tl_body_is_orphan(map, &record.body))
            return 1;
    }
    return rc;
}

int tl_idempotency_enter(struct tl_thread *thread, const struct tl_ask *ask, uint64_t generation, uint32_t *entered)
{
    struct tl_txn *txn = &thread->txn;
    uint64_t hash = hash_key(thread, ask);
    uint32_t cell = cell_of(thread->hand.map, hash);
    unsigned j = txn->cells;
    int rc = tl_txn_snapshot(&thread->hand, cell, &txn->view[j]);
    if (rc < 0)
        return rc;
    tl_view_balance(&txn->view[j], txn->instead);
    int chosen = choose_entry(thread, cell, txn->instead, ask);
    if (chosen < 0)
        return chosen == -1 ? 0 : 2;
    txn->apart = j;
    txn->instead[chosen] = make_entry(hash, generation, txn->was.index);
    txn->cell[j] = cell;
    txn->asked[j] = UINT32_MAX;
    txn->cells = j + 1;
    *entered = cell;
    return 1;
}
