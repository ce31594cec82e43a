/* SPDX-License-Identifier: MIT */
/* views.c - the snapshots that a call decides on. See views.h. */
#include "views.h"

/* ----------------------------------------------------------------------------------------------------- snapshots */

/* {rank:8 | cell:24 | place in the caller's order:8}: in this order every operation takes its cells. */
TL_INLINE uint64_t order_key(uint64_t rank, uint32_t cell, unsigned place)
{
    return tl_min(rank, UINT8_MAX) << 32 | (uint64_t)cell << 8 | place;
}

/* Two handles of one cell: the same scope twice, or one of them was recycled for the other. */
TL_COLD static int twice(uint64_t one, uint64_t other)
{
    return one == other ? -TLSHM_EINVAL : -TLSHM_ESTALE;
}

int tl_views_order_anew(const struct tl_map *map, struct tl_txn *txn, const uint64_t *scope, unsigned scopes)
{
    txn->ordered = txn->lanes = 0;
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
            return twice(scope[txn->asked[j - 1]], scope[txn->asked[j]]);
    }
    memcpy(txn->order_of, scope, scopes * sizeof *scope);
    txn->ordered = txn->cells = scopes;
    return 0;
}

/* The clock was read after the sheets, so a sheet ahead of it proves that the clock itself went back. 1: look again. */
TL_COLD static int mend_clock(struct tl_hand *hand, struct tl_txn *txn)
{
    tl_clock_doubt(&hand->clock);
    tl_views_read_clock(hand, txn);
    for (unsigned j = 0; j < txn->cells; j++) {
        if (txn->now + TL_BACK_TOLERANCE_NS >= txn->view[j].time)
            continue;
        uint64_t tag = tl_add(&hand->map->cells[txn->cell[j]].resets, 1) & 255;
        struct tl_view *view = &txn->view[j];
        if (!tl_map_is_scope(hand->map, txn->cell[j]))
            view->time = txn->now;
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
            tl_view_clone(&txn->view[0], &txn->view[j]);
        }
        tl_view_balance(&txn->view[0], txn->instead);
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
        int rc = tl_txn_view(hand, txn->cell[j], view);
        if (TL_UNLIKELY(rc < 0))
            return rc;
        if (TL_UNLIKELY(tl_view_incarnation(view) != tl_handle_incarnation(scope[txn->asked[j]])))
            return tl_txn_current(hand, txn->cell[j], view) ? -TLSHM_ESTALE : 1;
        latest = tl_max(latest, view->time);
    }
    tl_views_read_clock(hand, txn);
    return TL_UNLIKELY(txn->now + TL_BACK_TOLERANCE_NS < latest) ? mend_clock(hand, txn) : 0;
}

/* ------------------------------------------------------------------------------------------------------- limits */

/* The old window that limit i goes on with: the one of the same shape; or -1. */
static int same_window(const struct tl_view *old, uint64_t shape)
{
    for (unsigned k = 0; k < old->windows; k++)
        if (tl_view_shape(old, k) == shape)
            return (int)k;
    return -1;
}

/* The old window whose use a new limit takes over: of the same unit, at the same place of the list; or -1. */
static int heir_of(const struct tl_view *old, uint64_t shape, unsigned i)
{
    uint64_t former = i < old->windows ? tl_view_shape(old, i) : 0;
    return former != 0 && tl_shape_unit(former) == tl_shape_unit(shape) ? (int)i : -1;
}

static void keep_window(struct tl_view *view, unsigned i, const struct tl_view *old, unsigned k)
{
    tl_view_copy_words(&view->own_window[i].shape, &old->window[k].shape, SHM_WINDOW_WORDS);
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
            kept |= 1u << tl_history_ring(tl_peek(&old->window[k].bucket));
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
    struct tl_view old;
    tl_view_clone(&old, view);
    tl_view_own(view);
    unsigned rings = rings_kept(&old, limits);
    view->moved = 0;
    for (unsigned i = 0; i < limits->count; i++) {
        struct tl_restart restart = {.shape = limits->shape[i], .time = tl_max(now, old.time), .offset = offset};
        int k = same_window(&old, limits->shape[i]);
        if (k >= 0) {
            keep_window(view, i, &old, (unsigned)k);
            continue;
        }
        restart.tag = writing ? tl_add(&hand->map->cells[cell].resets, 1) & 255 : 0;
        start_window(hand, cell, view, &old, i, &restart, &rings);
    }
    tl_view_set_windows(view, limits->count);
    tl_history_set_edge(view);
    return tl_txn_current(hand, cell, &old) ? 0 : 1;
}
