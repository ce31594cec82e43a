/* SPDX-License-Identifier: MIT */
/*
 * view.h - the committed state of one cell, as an operation or a look works with it.
 *
 * A view leads to the words of the installed sheet itself: what stands there does not change while the cell's head stands.
 * So whoever reads through a view knows afterwards, by the head, whether all of it was true: an operation by its CAS, a
 * refusal and a look by reading the head again. Until then any word may be garbage of a sheet that was used again; every
 * accessor bears that. What is changed (buckets opened, windows taken over) is changed in the view's own copy.
 */
#ifndef TL_VIEW_H
#define TL_VIEW_H

#include "layout.h"
#include "window.h"

struct tl_view {
    uint64_t head;
    uint64_t ref;    /* of the sheet, as it was found: unmarked, or marked */
    uint64_t time;   /* the state is that of this time ... */
    uint64_t edge;   /* ... and no window changes before this one */
    uint64_t offset; /* wall minus boot that the calendar windows go by */
    uint64_t
        stamp; /* the sheet's `windows` word: two views of a cell with the same one have the same windows and edge */
    unsigned windows;
    unsigned moved; /* windows whose bucket is newer than the sheet's, by bit: their old start is below */
    bool wide;
    const tl_word *balance; /* the sheet's, or own_balance */
    const struct shm_window *window;
    alignas(16) tl_word own_balance[SHM_SECOND + SHM_NARROW_WORDS]; /* its lines as far apart as in a sheet */
    struct shm_window own_window[TLSHM_LIMITS_MAX];
    uint64_t old_bucket[TLSHM_LIMITS_MAX]; /* goes into the ring before anybody commits on top */
    uint64_t old_start[TLSHM_LIMITS_MAX];
};

/* A word of the balance. */
TL_INLINE uint64_t tl_view_word(const struct tl_view *view, unsigned at)
{
    if (at < SHM_NARROW_WORDS)
        return tl_peek(&view->balance[at]);
    return view->wide ? tl_peek(&view->balance[at - SHM_NARROW_WORDS + SHM_SECOND]) : 0;
}

TL_INLINE uint64_t tl_view_held(const struct tl_view *view, unsigned unit)
{
    return tl_view_word(view, shm_held_at[unit]);
}

TL_INLINE uint64_t tl_view_used(const struct tl_view *view, unsigned unit)
{
    return tl_view_word(view, shm_used_at[unit]);
}

TL_INLINE uint64_t tl_view_due(const struct tl_view *view)
{
    return tl_peek(&view->balance[SHM_DUE]);
}

TL_INLINE uint64_t tl_view_incarnation(const struct tl_view *view)
{
    return tl_peek(&view->balance[SHM_INCARNATION]);
}

TL_INLINE uint64_t tl_view_shape(const struct tl_view *view, unsigned i)
{
    return tl_peek(&view->window[i].shape);
}

/* All units of it. */
TL_INLINE void tl_view_all_held(const struct tl_view *view, uint64_t *held)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        held[u] = tl_view_held(view, u);
}

TL_INLINE void tl_view_all_used(const struct tl_view *view, uint64_t *used)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        used[u] = tl_view_used(view, u);
}

/* The whole balance as it stands in a sheet, for an operation that replaces it. */
TL_INLINE void tl_view_balance(const struct tl_view *view, uint64_t *words)
{
    for (unsigned i = 0; i < SHM_BALANCE_WORDS; i++)
        words[i] = tl_view_word(view, i);
}

/* Copies words of one place to another. */
TL_INLINE void tl_view_copy_words(tl_word *to, const tl_word *from, unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        tl_store_relaxed(&to[i], tl_peek(&from[i]));
}

/* The version of the sheet that the next commit installs; versions come round. */
TL_INLINE uint64_t tl_view_next_version(const struct tl_view *view)
{
    return shm_next_head(view->head, 0) >> SHM_NODE_BITS;
}

/* The windows are changed: as the next commit would leave them, they are those of the cell's next version. */
TL_INLINE void tl_view_set_windows(struct tl_view *view, unsigned count)
{
    view->windows = count;
    view->stamp = tl_view_next_version(view) << 8 | count;
}

/* Are the windows those of the sheet, and `stamp` says which? */
TL_INLINE bool tl_view_has_stamp(const struct tl_view *view)
{
    return view->stamp >> 8 != tl_view_next_version(view);
}

/* Makes a balance of a sheet the view's own. */
void tl_view_own_balance(struct tl_view *view, const tl_word *balance);

/* From now on the view is a private copy. */
void tl_view_own(struct tl_view *view);

/* A private copy of a view. */
void tl_view_clone(struct tl_view *to, const struct tl_view *from);

#endif
