/* SPDX-License-Identifier: MIT */
/*
 * views.h - what a call decides on: the cells of its scopes in the one order, views of their sheets, the clock after them,
 * and the windows that are in force.
 */
#ifndef TL_VIEWS_H
#define TL_VIEWS_H

#include "limits.h"
#include "txn.h"

/*
 * Puts the scopes' cells into txn in the order in which every operation takes them: the most shared first.
 * 0; -TLSHM_EINVAL for a handle that is none and for the same scope twice; -TLSHM_ESTALE: a scope has taken another's cell.
 */
int tl_views_order_anew(const struct tl_map *map, struct tl_txn *txn, const uint64_t *scope, unsigned scopes);

/* A handle's rank never changes, so the same handles as before are in order still. */
TL_INLINE int tl_views_order(const struct tl_map *map, struct tl_txn *txn, const uint64_t *scope, unsigned scopes)
{
    bool same = txn->ordered == scopes && scopes != 0;
    for (unsigned i = 0; same && i < scopes; i++)
        same = txn->order_of[i] == scope[i];
    if (!TL_LIKELY(same))
        return tl_views_order_anew(map, txn, scope, scopes);
    txn->cells = scopes;
    return 0;
}

/*
 * Takes a view of every cell of the operation, then reads the clock. `scope` are the handles in the caller's order.
 * 0; 1: look again; -TLSHM_ESTALE: a scope was recycled; -TLSHM_ECORRUPT.
 */
int tl_views_take(struct tl_hand *hand, struct tl_txn *txn, const uint64_t *scope);

/*
 * Makes what tl_views_take() found of a clock that went back last, for a call that will not commit: else each refusal would find
 * it anew, and use would stay in the window until the clock had caught up. Uses txn up. False: nothing could be kept.
 */
bool tl_views_keep_mended(struct tl_hand *hand, struct tl_txn *txn);

TL_INLINE void tl_views_read_clock(struct tl_hand *hand, struct tl_txn *txn)
{
    txn->now = tl_clock_now(&hand->clock);
    txn->offset = tl_clock_wall_offset(&hand->clock);
}

int tl_views_migrate(struct tl_hand *hand, uint32_t cell, struct tl_view *view, const struct tl_limits *limits,
                     uint64_t now, int64_t offset, bool writing);

/*
 * Brings a view to the windows that `limits` asks for. `writing`: it is going to be committed. 0, or 1: look again.
 */
TL_INLINE int tl_views_adopt(struct tl_hand *hand, uint32_t cell, struct tl_view *view, const struct tl_limits *limits,
                             uint64_t now, int64_t offset, bool writing)
{
    bool same = view->windows == limits->count;
    for (unsigned i = 0; same && i < limits->count; i++)
        same = tl_view_shape(view, i) == limits->shape[i];
    return TL_LIKELY(same) ? 0 : tl_views_migrate(hand, cell, view, limits, now, offset, writing);
}

#endif
