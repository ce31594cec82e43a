/* SPDX-License-Identifier: MIT */
/* keys.c - the process-local cache of resolved keys. */
#include "rcu.h"

#include <urcu/rculfhash.h>

#include <stdlib.h>

#include "keys.h"

#define BUCKETS 4096

struct entry {
    struct cds_lfht_node node;
    tl_word handle;
    size_t len;
    char key[];
};

struct wanted {
    const void *key;
    size_t len;
};

int tl_keys_init(struct tl_keys *keys)
{
    tl_rcu_start();
    keys->table = cds_lfht_new_flavor(BUCKETS, BUCKETS, BUCKETS, 0, &urcu_bp_flavor, NULL);
    return keys->table ? 0 : -TLSHM_ENOMEM;
}

void tl_keys_destroy(struct tl_keys *keys)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    if (!keys->table)
        return;
    urcu_bp_read_lock();
    /* By nodes: the macro for entries computes an entry from the null pointer at the end. */
    cds_lfht_for_each(keys->table, &iter, node)
    {
        cds_lfht_del(keys->table, node);
        free(caa_container_of(node, struct entry, node)); /* nobody else reads any more */
    }
    urcu_bp_read_unlock();
    cds_lfht_destroy(keys->table, NULL);
    keys->table = NULL;
}

static int is_wanted(struct cds_lfht_node *node, const void *key)
{
    const struct entry *entry = caa_container_of(node, struct entry, node);
    const struct wanted *wanted = key;
    /* Stored last when it was made, so loaded first: the table's own publication is not visible to race detectors. */
    return tl_load(&entry->handle) && entry->len == wanted->len && memcmp(entry->key, wanted->key, wanted->len) == 0;
}

static struct entry *find(struct tl_keys *keys, uint64_t hash, const struct wanted *wanted)
{
    struct cds_lfht_iter iter;
    cds_lfht_lookup(keys->table, (unsigned long)hash, is_wanted, wanted, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    return node ? caa_container_of(node, struct entry, node) : NULL;
}

uint64_t tl_keys_get(struct tl_keys *keys, uint64_t hash, const void *key, size_t len)
{
    const struct wanted wanted = {key, len};
    urcu_bp_read_lock();
    struct entry *entry = find(keys, hash, &wanted);
    uint64_t handle = entry ? tl_load_relaxed(&entry->handle) : 0;
    urcu_bp_read_unlock();
    return handle;
}

static struct entry *make_entry(struct tl_keys *keys, const void *key, size_t len, uint64_t handle)
{
    if (tl_load_relaxed(&keys->count) >= TL_KEYS_MAX)
        return NULL;
    struct entry *entry = malloc(sizeof *entry + len);
    if (!entry)
        return NULL;
    tl_add(&keys->count, 1);
    cds_lfht_node_init(&entry->node);
    entry->len = len;
    memcpy(entry->key, key, len);
    tl_store_release(&entry->handle, handle);
    return entry;
}

void tl_keys_put(struct tl_keys *keys, uint64_t hash, const void *key, size_t len, uint64_t handle)
{
    const struct wanted wanted = {key, len};
    urcu_bp_read_lock();
    struct entry *entry = find(keys, hash, &wanted);
    if (!entry && (entry = make_entry(keys, key, len, handle))) {
        struct cds_lfht_node *there =
            cds_lfht_add_unique(keys->table, (unsigned long)hash, is_wanted, &wanted, &entry->node);
        if (there != &entry->node) {
            free(entry); /* never seen by anybody */
            entry = caa_container_of(there, struct entry, node);
        }
    }
    if (entry)
        tl_store_relaxed(&entry->handle, handle);
    urcu_bp_read_unlock();
}
