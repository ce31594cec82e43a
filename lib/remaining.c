/* SPDX-License-Identifier: MIT */
/* remaining.c - what is left, by a ceiling and a balance. See remaining.h. */
#include "remaining.h"

#include "book.h"

/* Does the ceiling go with the sheet as of now? Nothing is overdue, and no clock has moved against another. */
static bool goes_with(struct tl_thread *thread, const struct shm_sheet *sheet, uint64_t ref, const struct tl_ceiling *c)
{
    struct tl_hand *hand = &thread->hand;
    if (tl_peek(&sheet->windows) != c->stamp)
        return false;
    uint64_t now = tl_clock_now(&hand->clock);
    uint64_t offset = tl_peek(&sheet->offset), time = tl_txn_time(sheet, ref);
    return tl_max(now, time) < tl_peek(&sheet->edge) && now + TL_BACK_TOLERANCE_NS >= time &&
           !tl_history_stepped(tl_clock_wall_offset(&hand->clock), offset) &&
           !tl_history_stepped((int64_t)tl_peek(&sheet->offset1), offset) && tl_peek(&sheet->after.word[SHM_DUE]) > now;
}

/* What the ceiling leaves. False: it does not say so exactly. */
TL_INLINE bool left_of(const struct tl_ceiling *c, uint64_t taken, unsigned unit, int64_t *out)
{
    int64_t single = c->requests && c->request[unit] < INT64_MAX ? (int64_t)c->request[unit] : INT64_MAX;
    int64_t left = INT64_MAX;
    if (c->cap[unit] != TL_FOREVER) {
        if (c->most.of[unit] == 0 || c->most.of[unit] >= TL_CEILING_MOST || taken >= TL_SUM_NEAR)
            return false;
        left = (int64_t)c->most.of[unit] - (int64_t)taken;
    }
    *out = left < single ? left : single;
    return true;
}

/* The installed sheet of a cell, if its outcome is known; `ref` is its ref. Else NULL. */
static const struct shm_sheet *sheet_of(const struct tl_hand *hand, uint32_t cell, uint64_t *head, uint64_t *ref)
{
    *head = tl_load(&hand->map->cells[cell].head);
    if (shm_node(*head) >= hand->map->sheet_count)
        return NULL;
    const struct shm_sheet *sheet = tl_map_sheet(hand->map, shm_node(*head));
    *ref = tl_load(&sheet->ref);
    if (*ref & SHM_MARKS)
        return (*ref & SHM_MARKS) == SHM_AFTER ? sheet : NULL;
    if (tl_txn_is_own(hand, *ref))
        return sheet;
    return !tl_txn_is_open(hand->map, *ref) && tl_load(&sheet->ref) == *ref ? sheet : NULL; /* L1 */
}

TL_COLD void tl_remaining_learn(struct tl_thread *thread, uint64_t handle)
{
    struct tl_hand *hand = &thread->hand;
    const struct tl_map *map = hand->map;
    struct tl_limits_memo *memo = &thread->memo[0];
    uint32_t cell = tl_handle_cell(handle);
    struct tl_view view;
    if (!tl_map_is_scope(map, cell))
        return;
    const struct shm_sheet *sheet = sheet_of(hand, cell, &view.head, &view.ref);
    uint64_t now = tl_clock_now(&hand->clock);
    if (!sheet || now >= tl_peek(&sheet->edge) || tl_limits_recall(map, &map->cells[cell].policy, memo) < 0)
        return;
    tl_txn_lead(map, sheet, view.ref, &view);
    bool same = view.windows == memo->limits.count;
    for (unsigned i = 0; same && i < view.windows; i++)
        same = tl_view_shape(&view, i) == memo->limits.shape[i];
    if (same && tl_view_has_stamp(&view))
        tl_ceiling_note(thread->ceiling, map, cell, &view, memo, now);
}

bool tl_remaining(struct tl_thread *thread, uint64_t handle, enum tlshm_unit unit, int64_t *out)
{
    const struct tl_map *map = thread->hand.map;
    uint32_t cell = tl_handle_cell(handle);
    const struct tl_ceiling *c = tl_ceiling_of(thread->ceiling, cell);
    int64_t left;
    if (c->of != cell + 1 || !c->words || !tl_ceiling_in_force(c) ||
        (tl_load_relaxed(&map->header->flags) & SHM_LATCHES))
        return false;
    uint64_t head, ref;
    const struct shm_sheet *sheet = sheet_of(&thread->hand, cell, &head, &ref);
    if (!sheet || !goes_with(thread, sheet, ref, c) || tl_peek(&sheet->wide) != 0 ||
        tl_peek(&sheet->after.word[SHM_INCARNATION]) != tl_handle_incarnation(handle))
        return false;
    unsigned held = shm_held_at[unit], used = shm_used_at[unit]; /* what is on the second line is 0 */
    uint64_t taken = (held < SHM_NARROW_WORDS ? tl_peek(&sheet->after.word[held]) : 0) +
                     (used < SHM_NARROW_WORDS ? tl_peek(&sheet->after.word[used]) : 0);
    tl_fence_acquire();
    if (tl_load(&map->cells[cell].head) != head || !left_of(c, taken, unit, &left))
        return false;
    *out = left;
    return true;
}
