/* SPDX-License-Identifier: MIT */
/* look.c - looking at scopes and reservations. See look.h. */
#include "look.h"

#include "directory.h"
#include "ending.h"
#include "expiry.h"
#include "scopes.h"
#include "views.h"
#include "zones.h"

#define TRIES                                                                                                          \
    64 /* a scope that changes each time is shown as it was at the last look, its overdue holds approximately */

#define STALE_TRIES 8 /* scopes recycled between look-up and look, so many times in one call: not by chance */

/* Takes overdue holds off. The operation last met may have been decided during the walk: then it is made again. */
static int discount(struct tl_hand *hand, struct tl_look *look)
{
    struct tl_view again;
    uint64_t was[TLSHM_UNITS], is[TLSHM_UNITS];
    tl_view_own(&look->view);
    int rc = tl_expiry_discount(hand, look->cell, look->now, look->held);
    if (rc == 0)
        rc = tl_txn_snapshot(hand, look->cell, &again);
    if (rc < 0)
        return rc;
    tl_view_all_held(&look->view, was);
    tl_view_all_held(&again, is);
    return memcmp(was, is, sizeof is) != 0;
}

/* One try. 0, 1 (look again) or an error. */
static int look_once(struct tl_hand *hand, struct tl_look *look, bool last)
{
    const struct tl_map *map = hand->map;
    /* The last look is shown even if the scope changes: so that one is made on a copy, which was true at one moment. */
    int rc = last ? tl_txn_snapshot(hand, look->cell, &look->view) : tl_txn_view(hand, look->cell, &look->view);
    if (rc < 0)
        return rc;
    if (tl_view_incarnation(&look->view) != tl_handle_incarnation(look->handle))
        return last || tl_txn_current(hand, look->cell, &look->view) ? -TLSHM_ESTALE : 1;
    look->now = tl_clock_now(&hand->clock);
    int64_t offset = tl_clock_wall_offset(&hand->clock);
    rc = tl_limits_read(map, &map->cells[look->cell].policy, &look->limits);
    if (rc < 0)
        return rc;
    int again = tl_views_adopt(hand, look->cell, &look->view, &look->limits, look->now, offset, false);
    if (again < 0)
        return again;
    for (unsigned i = 0; i < look->limits.count; i++)
        look->used[i] = tl_history_used(map, look->cell, &look->view, i, look->now);
    tl_view_all_held(&look->view, look->held);
    if (look->detailed)
        tl_view_all_used(&look->view, look->total);
    for (unsigned i = 0; look->detailed && i < look->limits.count; i++)
        look->falls[i] = tl_history_next_drop(map, look->cell, &look->view, i, look->now);
    if (TL_UNLIKELY(tl_view_due(&look->view) <= look->now))
        rc = discount(hand, look);
    return rc == 0 && (again || !tl_txn_current(hand, look->cell, &look->view)) ? 1 : rc;
}

int tl_look_at(struct tlshm *t, uint64_t handle, bool detailed, struct tl_look *look)
{
    struct tl_hand hand;
    int rc = 1;
    look->handle = handle;
    look->detailed = detailed;
    look->cell = tl_handle_cell(handle);
    if (!tl_map_is_scope(&t->map, look->cell))
        return -TLSHM_EINVAL;
    tl_segment_look(t, &hand);
    for (unsigned i = 0; rc > 0 && i < TRIES; i++)
        rc = look_once(&hand, look, i + 1 == TRIES);
    return tl_segment_answer(t, rc < 0 ? rc : 0);
}

/* Those of its level's default tier. */
int tl_look_unseen(struct tl_hand *hand, const char *key, size_t len, struct tl_limits *limits)
{
    const char *colon = memchr(key, ':', len);
    char level[TLSHM_NAME_MAX + 1] = "";
    uint32_t cell;
    memcpy(level, key, (size_t)(colon - key));
    int rc = tl_scopes_internal(hand, "level", level, &cell);
    if (rc < 0)
        return rc == -TLSHM_ENOENT ? -TLSHM_ELEVEL : rc;
    tl_word policy;
    tl_store_relaxed(&policy, tl_policy(TL_POLICY_DEFAULT, cell, 0));
    return tl_limits_read(hand->map, &policy, limits);
}

/* A scope that was never seen: no use, and the limits that it would have. */
static int look_at_unseen(struct tl_hand *hand, const char *key, size_t len, struct tl_look *look)
{
    memset(look, 0, sizeof *look);
    look->now = tl_clock_now(&hand->clock);
    return tl_look_unseen(hand, key, len, &look->limits);
}

int tl_look_for(struct tlshm *t, const char *key, size_t len, bool detailed, struct tl_look *look)
{
    struct tl_hand hand;
    uint64_t handle;
    if (key && len == 0)
        len = strnlen(key, TLSHM_KEY_MAX + 1);
    tl_segment_look(t, &hand);
    int rc = tl_scopes_resolve(t, &hand, key, len, false, &handle);
    for (unsigned tries = 1;; tries++) {
        if (rc == -TLSHM_ENOENT)
            rc = look_at_unseen(&hand, key, len, look);
        else if (rc == 0)
            rc = tl_look_at(t, handle, detailed, look);
        if (rc != -TLSHM_ESTALE)
            break;
        if (tries == STALE_TRIES)
            return tl_segment_answer(t, -TLSHM_ECORRUPT);
        rc = tl_scopes_resolve_anew(t, &hand, key, len, &handle);
    }
    return tl_segment_answer(t, rc);
}

static int64_t left_of(uint64_t cap, uint64_t taken)
{
    if (cap == TLSHM_UNLIMITED)
        return INT64_MAX;
    if (cap >= taken)
        return (int64_t)tl_min(cap - taken, INT64_MAX);
    return -(int64_t)(taken - cap);
}

static int64_t remaining_of(const struct tl_look *look, unsigned i)
{
    uint64_t shape = look->limits.shape[i], taken = tl_shape_is_request(shape) ? 0 : look->used[i];
    if (!tl_shape_is_special(shape))
        taken += look->held[tl_shape_unit(shape)];
    return left_of(look->limits.cap[i], taken);
}

/* How much a limit of a special kind admits. Time is no amount, and a latch admits any until it is reached. */
TL_COLD static int64_t special_remaining(const struct tl_look *look, unsigned i)
{
    uint64_t shape = look->limits.shape[i];
    int64_t left = tl_shape_is_time(shape) ? INT64_MAX : remaining_of(look, i);
    return left > 0 && !tl_shape_is_request(shape) ? INT64_MAX : left;
}

int64_t tl_look_remaining(const struct tl_look *look, enum tlshm_unit unit)
{
    int64_t least = INT64_MAX, left;
    for (unsigned i = 0; i < look->limits.count; i++) {
        uint64_t shape = look->limits.shape[i];
        if (tl_shape_unit(shape) != unit)
            continue;
        if (TL_UNLIKELY(tl_shape_is_special(shape)))
            left = special_remaining(look, i);
        else
            left = left_of(look->limits.cap[i], look->used[i] + look->held[unit]);
        least = left < least ? left : least;
    }
    return least;
}

static void show_limit(struct tlshm *t, const struct tl_look *look, unsigned i, tlshm_limit_usage *out)
{
    tl_zones_limit(&t->map, look->limits.shape[i], look->limits.cap[i], &out->limit);
    out->used = look->used[i];
    out->held = tl_shape_is_request(look->limits.shape[i]) ? 0 : look->held[out->limit.unit];
    out->remaining = remaining_of(look, i);
    uint64_t fall = look->handle ? look->falls[i] : TL_FOREVER;
    out->frees_in_ns = fall == TL_FOREVER ? TLSHM_NEVER : fall - tl_min(fall, look->now);
}

void tl_look_usage(struct tlshm *t, const struct tl_look *look, tlshm_scope_usage *out)
{
    struct tl_hand hand;
    tl_segment_look(t, &hand);
    memset(out, 0, sizeof *out);
    if (look->handle) {
        memcpy(out->used, look->total, sizeof out->used);
        memcpy(out->held, look->held, sizeof out->held);
    }
    out->limit_count = look->limits.count;
    for (unsigned i = 0; i < look->limits.count; i++)
        show_limit(t, look, i, &out->limits[i]);
    out->source = look->limits.source;
    if (out->source == TLSHM_LIMITS_TIER || out->source == TLSHM_LIMITS_DEFAULT)
        tl_scopes_internal_name(&hand, look->limits.tier, "tier", out->tier);
    out->paused = (look->limits.flags & TL_POLICY_PAUSED) != 0;
    out->shutoff = (look->limits.flags & TL_POLICY_SHUTOFF) != 0;
    out->seen = look->handle != 0;
}

void tl_look_reservation(struct tl_hand *hand, const struct tl_record *record, tlshm_reservation_info *out)
{
    const struct tl_body *body = &record->body;
    uint64_t now = tl_clock_now(&hand->clock);
    bool held = shm_status(record->head) == SHM_HELD, overdue = held && body->deadline <= now;
    memset(out, 0, sizeof *out);
    out->id = tl_id(record->index, body->generation);
    out->status = overdue ? TLSHM_EXPIRED : (enum tlshm_status)shm_status(record->head);
    out->scope_count = tl_body_scopes(body);
    memcpy(out->scopes, body->scope, out->scope_count * sizeof out->scopes[0]);
    memcpy(out->estimate.of, body->estimate, sizeof out->estimate.of);
    memcpy(out->charged.of, body->charged, sizeof out->charged.of);
    out->outcome = (enum tlshm_outcome)tl_body_outcome(body);
    out->age_ns = now - tl_min(now, body->created);
    out->expires_in_ns = held && !overdue ? body->deadline - now : 0;
    uint64_t ended = held ? body->deadline : body->ended;
    out->ended_ago_ns = held && !overdue ? 0 : now - tl_min(now, ended);
    out->owner_pid = tl_owner_pid(body->owner);
    out->tag = body->tag;
    out->model = tl_model_number(tl_body_model(body));
    out->service = tl_model_service(tl_body_model(body));
    out->cached_discount_ppm = tl_model_discount(tl_body_model(body));
    out->idempotency_len = tl_body_idempotency_len(body);
    if (out->idempotency_len)
        memcpy(out->idempotency_key, body->idempotency, out->idempotency_len);
}
