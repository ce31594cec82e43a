/* SPDX-License-Identifier: MIT */
/* views.c - the snapshots that a call decides on. See views.h. */
#include "views.h"

#define BACK_TOLERANCE_NS UINT64_C(20000000) /* two readings of a coarse clock may differ by a tick or two */

/* ----------------------------------------------------------------------------------------------------- snapshots */

/* {rank:8 | cell:24 | place in the caller's order:8}: in this order every operation takes its cells. */
TL_INLINE uint64_t order_key(uint64_t rank, uint32_t cell, unsigned place)
{
    return tl_min(rank, UINT8_MAX) << 32 | (uint64_t)cell << 8 | place;
}

int tl_views_order(const struct tl_map *map, struct tl_txn *txn, const uint64_t *scope, unsigned scopes)
{
    uint64_t key[SHM_CELLS_MAX];
    for (unsigned i = 0; i < scopes; i++) {
        uint32_t cell = tl_handle_cell(scope[i]);
        if (TL_UNLIKELY(!tl_map_is_scope(map, cell)))
            return -TLSHM_EINVAL;
        uint64_t mine = order_key(tl_load_relaxed(&map->cells[cell].rank), cell, i);
        unsigned j = i;
        for (; j > 0 && key[j - 1] > mine; j--)
            key[j] = key[j - 1];
        key[j] = mine;
    }
    for (unsigned j = 0; j < scopes; j++) {
        txn->cell[j] = (uint32_t)(key[j] >> 8) & SHM_NODE_MASK;
        txn->asked[j] = key[j] & 255;
        if (TL_UNLIKELY(j > 0 && txn->cell[j] == txn->cell[j - 1]))
            return -TLSHM_EINVAL; /* the same scope twice */
    }
    txn->cells = scopes;
    return 0;
}

/* The clock was read after the sheets, so a sheet ahead of it proves that the clock itself went back. 1: look again. */
TL_COLD static int mend_clock(struct tl_hand *hand, struct tl_txn *txn)
{
    tl_clock_doubt(&hand->clock);
    tl_views_read_clock(hand, txn);
    for (unsigned j = 0; j < txn->cells; j++) {
        if (txn->now + BACK_TOLERANCE_NS >= txn->view[j].tail.time)
            continue;
        uint64_t tag = tl_add(&hand->map->cells[txn->cell[j]].resets, 1) & 255;
        struct tl_view *view = &txn->view[j];
        if (!tl_map_is_scope(hand->map, txn->cell[j]))
            view->tail.time = txn->now;
        else
            tl_history_went_back(hand->map, txn->cell[j], view, txn->now, txn->offset, tag);
        if (!tl_txn_current(hand, txn->cell[j], view))
            return 1;
        txn->mended |= 1u << j;
    }
    return 0;
}

bool tl_views_keep_mended(struct tl_hand *hand, struct tl_txn *txn)
{
    unsigned mended = txn->mended;
    bool kept = false;
    for (unsigned j = 0; mended >> j; j++) {
        if (!(mended >> j & 1))
            continue;
        if (j > 0) {
            txn->cell[0] = txn->cell[j];
            txn->view[0] = txn->view[j];
        }
        txn->instead = txn->view[0].balance;
        kept |= tl_txn_commit_cell(hand, txn) >= 0;
    }
    return kept;
}

/* Snapshots every cell of the operation, then reads the clock. 0, 1 (look again) or an error. */
int tl_views_take(struct tl_hand *hand, struct tl_txn *txn, const uint64_t *scope)
{
    uint64_t latest = 0;
    txn->mended = 0;
    for (unsigned j = 0; j < txn->cells; j++) {
        struct tl_view *view = &txn->view[j];
        int rc = tl_txn_snapshot(hand, txn->cell[j], view);
        if (TL_UNLIKELY(rc < 0))
            return rc;
        if (TL_UNLIKELY(view->balance.incarnation != tl_handle_incarnation(scope[txn->asked[j]])))
            return -TLSHM_ESTALE;
        latest = tl_max(latest, view->tail.time);
    }
    tl_views_read_clock(hand, txn);
    return TL_UNLIKELY(txn->now + BACK_TOLERANCE_NS < latest) ? mend_clock(hand, txn) : 0;
}

/* ------------------------------------------------------------------------------------------------------- limits */

/* The old window that limit i goes on with: the one of the same shape; or -1. */
static int same_window(const struct tl_view *old, uint64_t shape)
{
    for (unsigned k = 0; k < old->tail.windows; k++)
        if (old->window[k].shape == shape)
            return (int)k;
    return -1;
}

/* The old window whose use a new limit takes over: of the same unit, at the same place of the list; or -1. */
static int heir_of(const struct tl_view *old, uint64_t shape, unsigned i)
{
    bool same_unit = i < old->tail.windows && old->window[i].shape != 0 &&
                     tl_shape_unit(old->window[i].shape) == tl_shape_unit(shape);
    return same_unit ? (int)i : -1;
}

static void keep_window(struct tl_view *view, unsigned i, const struct tl_view *old, unsigned k)
{
    view->window[i] = old->window[k];
    view->moved |= (old->moved >> k & 1) << i;
    view->old_bucket[i] = old->old_bucket[k];
    view->old_start[i] = old->old_start[k];
}

/* Rings of windows that go on; the rest are free for new ones. */
static unsigned rings_kept(const struct tl_view *old, const struct tl_limits *limits)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < limits->count; i++) {
        int k = same_window(old, limits->shape[i]);
        if (k >= 0)
            kept |= 1u << tl_history_ring(&old->window[k]);
    }
    return kept;
}

/* Starts limit i's window, which no old one goes on in; `rings` are those taken. */
static void start_window(struct tl_hand *hand, uint32_t cell, struct tl_view *view, const struct tl_view *old,
                         unsigned i, struct tl_restart *restart, unsigned *rings)
{
    int heir = heir_of(old, restart->shape, i);
    restart->carried = heir < 0 ? 0 : tl_history_used(hand->map, cell, old, (unsigned)heir, restart->time);
    restart->ring = (unsigned)__builtin_ctz(~*rings);
    *rings |= 1u << restart->ring;
    tl_history_restart(hand->map, view, i, restart);
}

/*
 * Other windows are in force than the sheet has: it takes them over, keeping use, at the next commit. Windows that go on
 * are not brought forward here: a view holds one bucket's start beside the ring (history.h, W2), and has that already.
 */
TL_COLD int tl_views_migrate(struct tl_hand *hand, uint32_t cell, struct tl_view *view, const struct tl_limits *limits,
                             uint64_t now, int64_t offset, bool writing)
{
    const struct tl_view old = *view;
    unsigned rings = rings_kept(&old, limits);
    view->moved = 0;
    for (unsigned i = 0; i < limits->count; i++) {
        struct tl_restart restart = {.shape = limits->shape[i], .time = tl_max(now, old.tail.time), .offset = offset};
        int k = same_window(&old, limits->shape[i]);
        if (k >= 0) {
            keep_window(view, i, &old, (unsigned)k);
            continue;
        }
        restart.tag = writing ? tl_add(&hand->map->cells[cell].resets, 1) & 255 : 0;
        start_window(hand, cell, view, &old, i, &restart, &rings);
    }
    view->tail.windows = limits->count;
    tl_history_set_edge(view);
    return tl_txn_current(hand, cell, &old) ? 0 : 1;
}
