/* SPDX-License-Identifier: MIT */
/*
 * pending.h - policy words that are under a change of many, and what they say meanwhile.
 *
 * POLICY WORD {version:22 | pending:1 | shutoff:1 | paused:1 | kind:2 | level:13 | index:24}: limits.h says what it means.
 * CHANGE      {number:24 | epoch:26 | seat:12 | none 0, open 1, decided 2, off 3 : 2}, one word of the header
 *
 * A pending word says what it said before, but for its version. Its next content is in the table beside the cells, at the
 * cell's place; the last place is that of the header's overrun word, which has the form of a policy word. Before the
 * change is decided the word counts as what it was, afterwards as what the table has. So the decision, one CAS on CHANGE,
 * changes all of them at once.
 *
 * What was read between two looks at the same CHANGE was all of the same side, since its number grows.
 *
 *   P1  A place in the table is written while its word is not pending, and only by the seat whose change is open.
 *   P2  CHANGE becomes none only when no word is pending any more and none can become so: its owner says it, or it is
 *       certain that the owner is gone.
 *   P3  A pending word is left to one word only, which is of the next version. So whoever has seen a pending word twice
 *       has seen one change in between, and its place in the table.
 */
#ifndef TL_PENDING_H
#define TL_PENDING_H

#include "layout.h"

#define TL_POLICY_PENDING (UINT64_C(1) << 41)
#define TL_POLICY_VERSION SHM_POLICY_VERSION

enum tl_change_state { TL_CHANGE_NONE = 0, TL_CHANGE_OPEN = 1, TL_CHANGE_DECIDED = 2, TL_CHANGE_OFF = 3 };

TL_INLINE uint64_t tl_pending_change(const struct tl_map *map)
{
    return tl_load(&map->header->change);
}

TL_INLINE enum tl_change_state tl_pending_state(uint64_t change)
{
    return (enum tl_change_state)(change & 3);
}

/* The word's next content, in the table. `word` is the policy word of a cell, or the overrun word. */
TL_INLINE tl_word *tl_pending_next(const struct tl_map *map, const tl_word *word)
{
    size_t away = (size_t)((const unsigned char *)word - (const unsigned char *)map->cells);
    return &map->next_policy[word == &map->header->overrun ? map->scope_end : away / sizeof(struct shm_cell)];
}

/* What a word that was read as `seen` says while `change` stands. It is believed if both are still there afterwards. */
TL_INLINE uint64_t tl_pending_said(const struct tl_map *map, const tl_word *word, uint64_t seen, uint64_t change)
{
    if (TL_LIKELY(!(seen & TL_POLICY_PENDING)))
        return seen;
    uint64_t next = tl_pending_state(change) == TL_CHANGE_DECIDED ? tl_peek(tl_pending_next(map, word)) : seen;
    return next & ~TL_POLICY_PENDING;
}

/* What one word says now. */
TL_INLINE uint64_t tl_pending_read(const struct tl_map *map, const tl_word *word)
{
    for (;;) {
        uint64_t seen = tl_load(word);
        if (TL_LIKELY(!(seen & TL_POLICY_PENDING)))
            return seen;
        uint64_t change = tl_pending_change(map), said = tl_pending_said(map, word, seen, change);
        tl_fence_acquire();
        if (tl_load(word) == seen && tl_pending_change(map) == change)
            return said;
    }
}

/* How ends that cost more than the estimate are charged. */
TL_INLINE uint64_t tl_pending_overrun(const struct tl_map *map)
{
    uint64_t seen = tl_load_relaxed(&map->header->overrun);
    return (TL_LIKELY(!(seen & TL_POLICY_PENDING)) ? seen : tl_pending_read(map, &map->header->overrun)) &
           SHM_NODE_MASK;
}

#endif
