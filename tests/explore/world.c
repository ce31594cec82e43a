/* SPDX-License-Identifier: MIT */
/* world.c - building, keeping and restoring the segment; telling its addresses apart. */
#include "world.h"

#include <stdio.h>

#include "directory.h"
#include "limits.h"
#include "tap.h"

#define BYTES (1u << 19)

struct world world;

static alignas(SHM_PAGE) unsigned char memory[BYTES], kept[BYTES];
static uint64_t kept_late;

/* The zones are never written: what changes is the header and all that lies behind them. */
static size_t changing_from(void)
{
    return (size_t)((unsigned char *)world.map.lists - memory);
}

static void mark(tl_word *ref)
{
    if (!(tl_load_relaxed(ref) & SHM_MARKS))
        tl_store_relaxed(ref, SHM_AFTER);
}

/*
 * A closed operation's sheets and body may be marked or not. Marked sheets give the next owner no reason to mark its own,
 * and whoever made the record, a marked body lets it go straight.
 */
static void mark_all(void)
{
    for (uint32_t i = 0; i < world.map.cell_count; i++) {
        uint64_t head = tl_load_relaxed(&world.map.cells[i].head);
        mark(&tl_map_sheet(&world.map, shm_node(head))->ref);
    }
    for (uint32_t i = 0; i < world.map.record_count; i++)
        mark(&world.map.bodies[shm_node(tl_load_relaxed(&world.map.records[i].head))].ref);
}

static struct tl_thread kept_thread[SEATS];

/* Views lead into the segment or nowhere: no operation is in the making. */
static void copy_thread(struct tl_thread *to, const struct tl_thread *from)
{
    memcpy((void *)to, (const void *)from, sizeof *to);
}

void world_keep(void)
{
    mark_all();
    memcpy(kept, memory, world.map.bytes);
    for (unsigned seat = 0; seat < SEATS; seat++)
        copy_thread(&kept_thread[seat], &world.thread[seat]);
    kept_late = tl_load_relaxed(&world.late_clock);
}

static void set_clock(struct tl_clock *clock)
{
    struct shm_header *header = world.map.header;
    clock->virtual_boot = &header->virtual_boot;
    clock->virtual_wall = &header->virtual_wall;
    clock->slept = &header->slept;
}

/*
 * A thread that has just taken its seat remembers nothing; in a warm world it goes on with what it knew when the world was
 * kept.
 */
static void reset_thread(unsigned seat)
{
    struct tl_thread *thread = &world.thread[seat];
    memset(thread, 0, sizeof *thread);
    thread->hand.map = &world.map;
    thread->hand.seat = &world.map.seats[seat];
    thread->hand.seat_index = seat;
    thread->hand.owner = tl_body_owner(0, tl_load_relaxed(&world.map.seats[seat].epoch), seat);
    thread->record_end = world.map.reservations;
    set_clock(&thread->hand.clock);
}

void world_restore(void)
{
    size_t from = changing_from();
    memcpy(memory, kept, sizeof *world.map.header);
    memcpy(memory + from, kept + from, world.map.bytes - from);
    tl_store_relaxed(&world.late_clock, kept_late);
    memset(world.dead, 0, sizeof world.dead);
    for (unsigned seat = 0; seat < SEATS; seat++)
        if (world.warm)
            copy_thread(&world.thread[seat], &kept_thread[seat]);
        else
            reset_thread(seat);
}

static unsigned char set_aside[BYTES];
static struct tl_thread harness_aside;

void world_set_aside(void)
{
    size_t from = changing_from();
    memcpy(set_aside, memory, sizeof *world.map.header);
    memcpy(set_aside + from, memory + from, world.map.bytes - from);
    copy_thread(&harness_aside, &world.thread[HARNESS]);
}

void world_take_back(void)
{
    size_t from = changing_from();
    memcpy(memory, set_aside, sizeof *world.map.header);
    memcpy(memory + from, set_aside + from, world.map.bytes - from);
    copy_thread(&world.thread[HARNESS], &harness_aside);
}

/* ---------------------------------------------------------------------------------------------------------- clock */

uint64_t world_now(void)
{
    return tl_load_relaxed(&world.map.header->virtual_boot);
}

void world_tick(int ticks)
{
    uint64_t now = world_now() + (uint64_t)ticks * TICK;
    tl_store_relaxed(&world.map.header->virtual_boot, now);
    tl_store_relaxed(&world.map.header->virtual_wall, now);
    tl_store_relaxed(&world.late_clock, now - TICK);
}

void world_lag(unsigned seat)
{
    world.thread[seat].hand.clock.virtual_boot = &world.late_clock;
    world.thread[seat].hand.clock.virtual_wall = &world.late_clock;
}

/* ---------------------------------------------------------------------------------------------------------- limits */

tlshm_limit world_rolling(enum tlshm_unit unit, unsigned slices, unsigned ticks, uint32_t flags, uint64_t cap)
{
    tlshm_limit limit = {.unit = unit, .flags = flags, .cap = cap};
    limit.window.kind = TLSHM_WINDOW_ROLLING;
    limit.window.slices = slices;
    limit.window.length_ns = (uint64_t)slices * ticks * TICK;
    return limit;
}

tlshm_limit world_calendar(uint64_t cap)
{
    tlshm_limit limit = {.unit = TLSHM_TOKENS, .cap = cap};
    limit.window.kind = TLSHM_WINDOW_CALENDAR;
    limit.window.period = TLSHM_HOUR;
    return limit;
}

tlshm_limit world_lifetime(uint64_t cap)
{
    tlshm_limit limit = {.unit = TLSHM_TOKENS, .cap = cap};
    limit.window.kind = TLSHM_WINDOW_LIFETIME;
    return limit;
}

tlshm_limit world_request(enum tlshm_unit unit, uint64_t cap)
{
    tlshm_limit limit = {.unit = unit, .cap = cap};
    limit.window.kind = TLSHM_WINDOW_REQUEST;
    return limit;
}

void world_shapes(const tlshm_limit *limits, unsigned count, uint64_t *shape, uint64_t *cap)
{
    for (unsigned i = 0; i < count; i++) {
        MUST(tl_shape_pack(&limits[i], 0, world.map.slices, &shape[i]) == 0, "limit %u has no shape", i);
        cap[i] = limits[i].cap;
    }
}

/* ----------------------------------------------------------------------------------------------------------- build */

static void make_scope(unsigned scope, const char *key, const tlshm_limit *limits, unsigned count)
{
    struct tl_hand *hand = &world.thread[HARNESS].hand;
    uint64_t shape[TLSHM_LIMITS_MAX], cap[TLSHM_LIMITS_MAX];
    int rc = tl_directory_make(hand, TL_KEY_SCOPE, key, strlen(key), tl_policy(TL_POLICY_DEFAULT, 0, 0), scope,
                               &world.handle[scope], NULL);
    MUST(rc == 0, "scope %u: %d", scope, rc);
    world.cell[scope] = tl_handle_cell(world.handle[scope]);
    if (count == 0)
        return;
    tl_word *policy = &world.map.cells[world.cell[scope]].policy;
    world_shapes(limits, count, shape, cap);
    rc = tl_limits_publish(hand, policy, tl_load(policy), shape, cap, count);
    MUST(rc == 1, "limits of scope %u: %d", scope, rc);
}

void world_open(const char *first, const tlshm_limit *limits, unsigned count)
{
    const char *const keys[SCOPES] = {first ? first : "tenant:t", "agent:a", "agent:b"};
    tlshm_geometry geometry = {.scopes = CELLS,
                               .reservations = 64,
                               .limits_per_scope = 4,
                               .slices = 2,
                               .seats = SEATS,
                               .tiers = 2,
                               .limit_lists = 8,
                               .models = 1,
                               .retention_ns = TICK,
                               .virtual_clock = 1};
    const char *what = "";
    MUST(tl_layout_geometry(&geometry, &what) == 0, "geometry: %s", what);
    MUST(tl_layout_place(&world.map, &geometry, memory) <= BYTES, "the segment is too large");
    world.warm = false;
    memset(memory, 0, BYTES);
    tl_layout_fill(&world.map, 1);
    for (unsigned seat = 0; seat < SEATS; seat++) {
        reset_thread(seat);
        tl_store_relaxed(&world.map.seats[seat].epoch, seat + 1);
    }
    tl_store_relaxed(&world.map.header->virtual_boot, START);
    world_tick(0);
    for (unsigned scope = 0; scope < SCOPES; scope++)
        make_scope(scope, keys[scope], limits, count);
}

/* ------------------------------------------------------------------------------------------------------- addresses */

/* The index of the entry of a section that an address lies in, and where in it; -1: not in this section. */
static long entry_at(const volatile void *address, const void *section, size_t size, size_t count, size_t *offset)
{
    uintptr_t at = (uintptr_t)address, from = (uintptr_t)section;
    if (at < from || at >= from + size * count)
        return -1;
    *offset = (at - from) % size;
    return (long)((at - from) / size);
}

const volatile void *world_node(const volatile void *address, bool *ref)
{
    const struct tl_map *map = &world.map;
    size_t offset;
    if (entry_at(address, map->sheets, map->sheet_bytes, map->sheet_count, &offset) < 0 &&
        entry_at(address, map->bodies, sizeof *map->bodies, map->body_count, &offset) < 0)
        return NULL;
    *ref = offset == 0;
    return (const volatile unsigned char *)address - offset;
}

long world_record_at(const volatile void *address)
{
    size_t offset;
    return entry_at(address, world.map.records, sizeof *world.map.records, world.map.record_count, &offset);
}

long world_policy_at(const volatile void *address)
{
    size_t offset;
    long cell = entry_at(address, world.map.cells, sizeof *world.map.cells, world.map.cell_count, &offset);
    return cell >= 0 && offset == offsetof(struct shm_cell, policy) ? cell : -1;
}

bool world_private(const volatile void *address)
{
    const volatile unsigned char *byte = address;
    return (byte < memory || byte >= memory + world.map.bytes) && address != &world.late_clock;
}

bool world_untouched(const volatile void *address)
{
    long record = world_record_at(address);
    return record >= RECORDS && record < (long)world.map.reservations;
}

bool world_in_lists(const volatile void *address)
{
    size_t offset;
    return entry_at(address, world.map.lists, world.map.list_bytes, world.map.list_count, &offset) >= 0;
}

bool world_in_history(const volatile void *address)
{
    size_t offset;
    size_t words = (size_t)CELLS * world.map.limits * world.map.ring_words;
    return entry_at(address, world.map.history, sizeof(tl_word), words, &offset) >= 0;
}

void world_name(const volatile void *address, char *buf, size_t size)
{
    static const char *const cell_words[] = {"head", "knock", "policy", "life", "next", "hash", "rank", "resets"};
    const struct tl_map *map = &world.map;
    size_t offset;
    long i;
    if ((i = entry_at(address, map->cells, sizeof *map->cells, map->cell_count, &offset)) >= 0)
        snprintf(buf, size, "cell %ld %s", i, cell_words[offset / 8]);
    else if ((i = world_record_at(address)) >= 0)
        snprintf(buf, size, "record %ld head", i);
    else if ((i = entry_at(address, map->sheets, map->sheet_bytes, map->sheet_count, &offset)) >= 0)
        snprintf(buf, size, "sheet %ld +%zu", i, offset / 8);
    else if ((i = entry_at(address, map->bodies, sizeof *map->bodies, map->body_count, &offset)) >= 0)
        snprintf(buf, size, "body %ld +%zu", i, offset / 8);
    else if ((i = entry_at(address, map->seats, sizeof *map->seats, map->seat_count, &offset)) >= 0)
        snprintf(buf, size, "seat %ld +%zu", i, offset / 8);
    else if ((i = entry_at(address, map->lists, map->list_bytes, map->list_count, &offset)) >= 0)
        snprintf(buf, size, "list %ld +%zu", i, offset / 8);
    else if ((i = entry_at(address, map->horizons, sizeof *map->horizons, map->block_count, &offset)) >= 0)
        snprintf(buf, size, "horizon %ld", i);
    else if (address == &map->header->virtual_boot || address == &world.late_clock)
        snprintf(buf, size, "clock");
    else if (world_in_history(address))
        snprintf(buf, size, "history +%zu", (size_t)((const volatile tl_word *)address - map->history));
    else
        snprintf(buf, size, "+%zu", (size_t)((const volatile unsigned char *)address - memory));
}
