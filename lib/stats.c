/* SPDX-License-Identifier: MIT */
/* stats.c - the public calls that look at a whole segment. */
#include <tlshm/stats.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "directory.h"
#include "ending.h"
#include "limits.h"
#include "look.h"
#include "scopes.h"

static void sum_counters(const struct tl_map *map, uint64_t *sum)
{
    memset(sum, 0, SHM_COUNTERS * sizeof *sum);
    for (uint32_t s = 0; s < map->seat_count; s++)
        for (unsigned c = 0; c < SHM_COUNTERS; c++)
            sum[c] += tl_load_relaxed(&map->seats[s].counter[c]);
}

static void show_counters(const struct tl_map *map, tlshm_counters *out)
{
    uint64_t sum[SHM_COUNTERS];
    sum_counters(map, sum);
    out->admitted = sum[SHM_N_ADMITTED];
    memcpy(out->refused, &sum[SHM_N_REFUSED], sizeof out->refused);
    out->replayed = sum[SHM_N_REPLAYED];
    out->settled = sum[SHM_N_SETTLED];
    out->late = sum[SHM_N_LATE];
    out->refunded = sum[SHM_N_REFUNDED];
    out->expired = sum[SHM_N_EXPIRED];
    out->extended = sum[SHM_N_EXTENDED];
    out->retries = sum[SHM_N_RETRIES];
    out->early_reuse = sum[SHM_N_EARLY_REUSE];
    out->recycled = sum[SHM_N_RECYCLED];
}

static void count_things(struct tl_hand *hand, tlshm_segment_info *out)
{
    const struct tl_map *map = hand->map;
    char name[TLSHM_NAME_MAX + 1];
    for (uint32_t cell = map->tier_cells; cell < map->scope_end; cell++)
        out->scopes_live += tl_directory_live(hand, cell) != 0;
    for (uint32_t cell = 0; cell < map->tier_cells; cell++)
        out->tiers += tl_policy_kind(tl_pending_read(map, &map->cells[cell].policy)) != TL_POLICY_GONE &&
                      tl_scopes_internal_name(hand, cell, "tier", name);
    for (uint32_t i = 0; i < map->reservations; i++) {
        unsigned status = shm_status(tl_load(&map->records[i].head));
        out->reservations_held += status == SHM_HELD;
        out->reservations_ended += status > SHM_HELD && status <= SHM_EXPIRED;
    }
    for (uint32_t s = 0; s < map->seat_count; s++)
        out->seats_taken += tl_load_relaxed(&map->seats[s].pid) != 0;
    out->limit_lists_used = tl_limits_lists_used(map);
}

int tlshm_get_segment(tlshm_t *t, tlshm_segment_info *out)
{
    struct tl_hand hand;
    if (!t || !out)
        return -TLSHM_EINVAL;
    const struct shm_header *header = t->map.header;
    tl_segment_look(t, &hand);
    uint64_t now = tl_clock_now(&hand.clock), beat = tl_load(&header->reaper_beat);
    uint64_t flags = tl_load(&header->flags), born = tl_load_relaxed(&header->created_boot);
    memset(out, 0, sizeof *out);
    snprintf(out->path, sizeof out->path, "%s", t->path);
    out->bytes = t->map.bytes;
    tl_layout_read_geometry(header, &out->geometry);
    out->fingerprint = tl_load_relaxed(&header->fingerprint);
    out->version = (uint32_t)tl_load_relaxed(&header->version);
    out->age_ns = now - tl_min(now, born);
    out->created_wall_ns = (int64_t)tl_load_relaxed(&header->created_wall);
    out->creator_pid = (uint32_t)tl_load_relaxed(&header->creator_pid);
    out->destroyed = (flags & SHM_DESTROYED) != 0;
    out->unlinked = tl_segment_unlinked(t);
    out->paused = (flags & SHM_PAUSED) != 0;
    out->shutoff = (flags & SHM_SHUTOFF) != 0;
    out->overrun = (enum tlshm_overrun)tl_pending_overrun(&t->map);
    out->reaper_age_ns = beat ? now - tl_min(now, beat) : TLSHM_NEVER;
    out->reaper_pid = (uint32_t)tl_load_relaxed(&header->reaper_pid);
    out->reaper_passes = tl_load_relaxed(&header->reaper_passes);
    out->reaper_lag_max_ns = tl_load_relaxed(&header->reaper_lag_max);
    count_things(&hand, out);
    show_counters(&t->map, &out->counters);
    return tl_segment_answer(t, 0);
}

int tlshm_scope_next(tlshm_t *t, uint64_t *cursor, tlshm_handle *out)
{
    struct tl_hand hand;
    if (!t || !cursor || !out)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    uint64_t count = t->map.scope_end - t->map.tier_cells;
    while (*cursor < count) {
        *out = tl_directory_live(&hand, t->map.tier_cells + (uint32_t)(*cursor)++);
        if (*out)
            return tl_segment_answer(t, 1);
    }
    return tl_segment_answer(t, 0);
}

int tlshm_usage_handle(tlshm_t *t, tlshm_handle scope, tlshm_scope_usage *out)
{
    struct tl_look look;
    if (!t || !out)
        return -TLSHM_EINVAL;
    int rc = tl_look_at(t, scope, true, &look);
    if (rc == 0)
        tl_look_usage(t, &look, out);
    return rc;
}

int tlshm_reservation_next(tlshm_t *t, uint64_t *cursor, tlshm_reservation_info *out)
{
    struct tl_hand hand;
    struct tl_record record;
    if (!t || !cursor || !out)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    while (*cursor < t->map.reservations) {
        uint32_t index = (uint32_t)(*cursor)++;
        unsigned status = shm_status(tl_load(&t->map.records[index].head));
        if (status == SHM_FREE || status > SHM_EXPIRED)
            continue;
        int rc = tl_txn_record(&hand, index, TL_WHOLE, &record);
        if (rc < 0)
            return rc;
        tl_look_reservation(&hand, &record, out);
        return tl_segment_answer(t, 1);
    }
    return tl_segment_answer(t, 0);
}

/* A hint only: pids lie across namespaces and are used again. */
static bool seems_dead(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

int tlshm_seat_next(tlshm_t *t, uint64_t *cursor, tlshm_seat_info *out)
{
    struct tl_hand hand;
    if (!t || !cursor || !out)
        return -TLSHM_EINVAL;
    if (*cursor >= t->map.seat_count)
        return 0;
    uint32_t index = (uint32_t)(*cursor)++;
    const struct shm_seat *seat = &t->map.seats[index];
    tl_segment_look(t, &hand);
    uint64_t now = tl_clock_now(&hand.clock);
    memset(out, 0, sizeof *out);
    out->seat = index;
    out->pid = (uint32_t)tl_load_relaxed(&seat->pid);
    out->tid = (uint32_t)tl_load_relaxed(&seat->tid);
    out->operations = tl_load(&seat->cur) >> 1;
    out->in_call = tl_load(&seat->cur) & 1;
    if (out->pid == 0)
        return tl_segment_answer(t, 1);
    out->state = seems_dead(out->pid) ? TLSHM_SEAT_DEAD : TLSHM_SEAT_TAKEN;
    out->age_ns = now - tl_min(now, tl_load_relaxed(&seat->since));
    return tl_segment_answer(t, 1);
}
