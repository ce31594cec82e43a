/* SPDX-License-Identifier: MIT */
/* layout.c - sizes and places of the sections, their first content, the fingerprint. */
#include "layout.h"

struct range {
    const char *name;
    size_t offset;
    uint32_t fallback, low, high;
};

#define FIELD(name, fallback, low, high)                                                                               \
    {                                                                                                                  \
#name, offsetof(tlshm_geometry, name), fallback, low, high                                                     \
    }
static const struct range ranges[] = {
    FIELD(scopes, 4096, 1, 4000000),
    FIELD(reservations, 16384, 64, 4000000),
    FIELD(limits_per_scope, 8, 1, TLSHM_LIMITS_MAX),
    FIELD(slices, 60, 1, 64),
    FIELD(seats, 256, 1, 4000),
    FIELD(tiers, 64, 1, 4096),
    FIELD(limit_lists, 1024, 1, 1000000),
    FIELD(models, 256, 1, 100000),
};

int tl_layout_geometry(tlshm_geometry *geometry, const char **what)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uint32_t *value = (uint32_t *)(void *)((char *)geometry + ranges[i].offset);
        if (*value == 0)
            *value = ranges[i].fallback;
        if (*value < ranges[i].low || *value > ranges[i].high) {
            *what = ranges[i].name;
            return -TLSHM_EINVAL;
        }
    }
    geometry->reservations = (geometry->reservations + SHM_BLOCK - 1) / SHM_BLOCK * SHM_BLOCK;
    if (geometry->retention_ns == 0)
        geometry->retention_ns = UINT64_C(3600000000000);
    if (geometry->mode == 0)
        geometry->mode = 0660;
    *what = "retention_ns";
    if (geometry->retention_ns > UINT64_C(1) << 60)
        return -TLSHM_EINVAL;
    *what = "mode";
    return geometry->mode & ~UINT32_C(0777) ? -TLSHM_EINVAL : 0;
}

bool tl_layout_range(const char *name, uint32_t *low, uint32_t *high)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (strcmp(ranges[i].name, name) != 0)
            continue;
        *low = ranges[i].low;
        *high = ranges[i].high;
        return true;
    }
    return false;
}

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t n = 1;
    while (n < at_least)
        n *= 2;
    return n;
}

static void count_entries(struct tl_map *map, const tlshm_geometry *g)
{
    map->tier_cells = g->tiers + SHM_LEVELS_MAX;
    map->scope_end = map->tier_cells + g->scopes;
    map->cell_count = map->scope_end + g->reservations / SHM_IDEM_SHARE;
    map->seat_count = g->seats;
    map->reservations = g->reservations;
    map->record_count = g->reservations + g->seats;
    map->block_count = g->reservations / SHM_BLOCK;
    map->sheet_count = map->cell_count + g->seats * SHM_SPARES;
    map->body_count = map->record_count + g->seats;
    map->list_count = g->limit_lists;
    map->model_count = g->models;
    map->bucket_mask = power_of_two(map->scope_end) - 1;
    map->limits = g->limits_per_scope;
    map->slices = g->slices;
    map->ring_words = power_of_two(g->slices);
    map->sheet_bytes = (uint32_t)(sizeof(struct shm_sheet) + map->limits * sizeof(struct shm_window) + 63) & ~63u;
    map->list_bytes = (uint32_t)(sizeof(struct shm_list) + map->limits * sizeof(struct shm_limit) + 63) & ~63u;
    map->retention_ns = g->retention_ns;
}

/* Puts a section of `bytes` at the next page and moves the end behind it. */
static void *place(void *base, uint64_t *end, uint64_t bytes)
{
    void *at = base ? (unsigned char *)base + *end : NULL;
    *end = (*end + bytes + SHM_PAGE - 1) & ~(uint64_t)(SHM_PAGE - 1);
    return at;
}

uint64_t tl_layout_place(struct tl_map *map, const tlshm_geometry *geometry, void *base)
{
    uint64_t end = 0;
    memset(map, 0, sizeof *map);
    count_entries(map, geometry);
    map->header = place(base, &end, sizeof *map->header);
    map->zones = place(base, &end, sizeof *map->zones * SHM_ZONES_MAX);
    map->lists = place(base, &end, (uint64_t)map->list_bytes * map->list_count);
    map->buckets = place(base, &end, sizeof *map->buckets * ((uint64_t)map->bucket_mask + 1));
    map->cells = place(base, &end, sizeof *map->cells * (uint64_t)map->cell_count);
    map->keys = place(base, &end, sizeof *map->keys * (uint64_t)map->scope_end);
    map->seats = place(base, &end, sizeof *map->seats * (uint64_t)map->seat_count);
    map->sheets = place(base, &end, (uint64_t)map->sheet_bytes * map->sheet_count);
    map->bodies = place(base, &end, sizeof *map->bodies * (uint64_t)map->body_count);
    map->records = place(base, &end, sizeof *map->records * (uint64_t)map->record_count);
    map->horizons = place(base, &end, sizeof *map->horizons * (uint64_t)map->block_count);
    map->history = place(base, &end, sizeof *map->history * (uint64_t)geometry->scopes * map->limits * map->ring_words);
    map->next_policy = place(base, &end, sizeof *map->next_policy * ((uint64_t)map->scope_end + 1));
    map->models = place(base, &end, sizeof *map->models * (uint64_t)map->model_count);
    map->bytes = end;
    return end;
}

static void fill_cells(const struct tl_map *map)
{
    for (uint32_t i = 0; i < map->cell_count; i++) {
        struct shm_sheet *sheet = tl_map_sheet(map, i);
        tl_store_relaxed(&map->cells[i].head, UINT64_C(1) << SHM_NODE_BITS | i);
        tl_store_relaxed(&sheet->ref, SHM_AFTER);
        tl_store_relaxed(&sheet->wide, i >= map->scope_end);
        if (i >= map->scope_end)
            continue; /* an idempotency cell has entries there, all empty */
        tl_store_relaxed(&sheet->after.word[SHM_DUE], TL_FOREVER);
        tl_store_relaxed(&sheet->after.word[SHM_INCARNATION], 1);
        tl_store_relaxed(&sheet->before.word[SHM_DUE], TL_FOREVER);
        tl_store_relaxed(&sheet->before.word[SHM_INCARNATION], 1);
    }
}

static void fill_seats(const struct tl_map *map)
{
    for (uint32_t s = 0; s < map->seat_count; s++) {
        struct shm_seat *seat = &map->seats[s];
        pthread_mutexattr_t robust;
        pthread_mutexattr_init(&robust);
        pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&seat->lock, &robust);
        pthread_mutexattr_destroy(&robust);
        for (uint32_t j = 0; j < SHM_SPARES; j++) {
            uint32_t spare = map->cell_count + s * SHM_SPARES + j;
            tl_store_relaxed(&tl_map_sheet(map, spare)->ref, SHM_AFTER);
            tl_store_relaxed(&seat->spare[j], spare);
        }
        tl_store_relaxed(&map->bodies[map->record_count + s].ref, SHM_AFTER);
        tl_store_relaxed(&seat->spare_body, map->record_count + s);
    }
}

void tl_layout_fill(const struct tl_map *map, uint64_t first_generation)
{
    fill_cells(map);
    for (uint32_t i = 0; i < map->record_count; i++) {
        tl_store_relaxed(&map->records[i].head, UINT64_C(1) << SHM_NODE_BITS | i);
        tl_store_relaxed(&map->bodies[i].ref, SHM_AFTER);
        tl_store_relaxed(&map->bodies[i].generation, first_generation);
    }
    for (uint32_t i = 0; i < map->block_count; i++)
        tl_store_relaxed(&map->horizons[i], SHM_HORIZON_NONE);
    fill_seats(map);
}

static uint64_t fold(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

uint64_t tl_layout_fingerprint(void)
{
    static const uint64_t facts[] = {
        SHM_VERSION,
        sizeof(struct shm_header),
        sizeof(struct shm_zone),
        sizeof(struct shm_list),
        sizeof(struct shm_limit),
        sizeof(struct shm_cell),
        sizeof(struct shm_key),
        sizeof(struct shm_seat),
        sizeof(struct shm_sheet),
        sizeof(struct shm_window),
        sizeof(struct shm_body),
        sizeof(struct shm_record),
        sizeof(struct shm_model),
        sizeof(struct tl_zone),
        sizeof(pthread_mutex_t),
        offsetof(struct shm_header, flags),
        offsetof(struct shm_header, change),
        offsetof(struct shm_header, prices),
        offsetof(struct shm_header, record_cursor),
        offsetof(struct shm_header, reaper_pid),
        offsetof(struct shm_header, reaper_dues),
        offsetof(struct shm_seat, spare_body),
        offsetof(struct shm_seat, epoch),
        offsetof(struct shm_seat, lock),
        offsetof(struct shm_seat, counter),
        offsetof(struct shm_body, generation),
        offsetof(struct shm_body, wide),
        offsetof(struct shm_body, more_scopes),
        offsetof(struct shm_model, bucket),
        SHM_POLICY_VERSION,
        SHM_NARROW_WORDS,
        SHM_SECOND,
        SHM_BLOCK,
        SHM_HORIZON_NONE,
        SHM_COUNTERS,
        SHM_CELLS_MAX,
        SHM_SPARES,
        SHM_LEVELS_MAX,
        SHM_ZONES_MAX,
        SHM_IDEM_SHARE,
        SHM_MODEL_BITS,
        SHM_MODEL_TOP,
        TLSHM_UNITS,
    };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        hash = fold(hash, facts[i]);
    return hash;
}

uint64_t tl_layout_checksum(const struct shm_header *header)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const tl_word *word = &header->magic;
    for (unsigned i = 0; i < SHM_IDENTITY_WORDS; i++)
        hash = fold(hash, tl_load_relaxed(&word[i]));
    return hash;
}

void tl_layout_read_geometry(const struct shm_header *header, tlshm_geometry *out)
{
    uint64_t word[8];
    for (unsigned i = 0; i < 8; i++)
        word[i] = tl_load_relaxed(&header->geometry[i]);
    memset(out, 0, sizeof *out);
    out->scopes = (uint32_t)tl_min(word[0], UINT32_MAX);
    out->reservations = (uint32_t)tl_min(word[1], UINT32_MAX);
    out->limits_per_scope = (uint32_t)tl_min(word[2], UINT32_MAX);
    out->slices = (uint32_t)tl_min(word[3], UINT32_MAX);
    out->seats = (uint32_t)tl_min(word[4], UINT32_MAX);
    out->tiers = (uint32_t)tl_min(word[5], UINT32_MAX);
    out->limit_lists = (uint32_t)tl_min(word[6], UINT32_MAX);
    out->retention_ns = word[7];
    out->models = (uint32_t)tl_min(tl_load_relaxed(&header->models), UINT32_MAX);
    out->virtual_clock = tl_load_relaxed(&header->virtual_clock) != 0;
}

void tl_layout_write_geometry(struct shm_header *header, const tlshm_geometry *g)
{
    const uint64_t word[8] = {g->scopes, g->reservations, g->limits_per_scope, g->slices,
                              g->seats,  g->tiers,        g->limit_lists,      g->retention_ns};
    for (unsigned i = 0; i < 8; i++)
        tl_store_relaxed(&header->geometry[i], word[i]);
    tl_store_relaxed(&header->models, g->models);
    tl_store_relaxed(&header->virtual_clock, g->virtual_clock != 0);
}
