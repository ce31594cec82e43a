/* SPDX-License-Identifier: MIT */
/*
 * directory.h - from a key to its cell: hash buckets of chained cells, lock-free, with cells that can be given to
 * another key when they are idle.
 *
 * STATES of a cell's life word
 *   free     {incarnation to come:62 | 0:2}; all zero before the first
 *   claimed  {incarnation:24 | epoch:26 | seat:12 | 1:2}   its key is being written by that seat; stale when the seat has
 *            another epoch
 *   live     {2:2 | incarnation:62}       in the chain of its bucket
 *   Incarnations have the 40 bits that handles have, and come round.
 *   A live cell whose sheet has a newer incarnation was retired: handles of the old one fail at their next commit, the
 *   cell is taken out of its chain and becomes free.
 *
 * INVARIANTS
 *   D1  A key has at most one live cell. New cells enter at the head of a chain by a CAS on the bucket word that the
 *       search started from, so whoever inserted the same key meanwhile is noticed.
 *   D2  A key is read between two looks at the link that led to it: a cell in a chain is not rewritten. And again after
 *       its handle was made: it may have been given to another key in between.
 *   D3  Chain words carry a version that grows with every change, and across reuse of the cell.
 *   D4  A cell is retired only when nothing is held, nothing is used in any window, nobody gave it limits or flags, and
 *       it was idle for the retention time: then no reservation that may still be settled names it.
 *   D5  Who retires a cell takes a snapshot, then looks at its policy word, then commits on the snapshot. Who changed the
 *       policy word commits on the cell after it (keep). So the former finds the change, or cannot commit; or it was
 *       first, and the latter finds the cell retired.
 *
 * CRASH A stale claim is examined by whoever looks for a free cell: in the chain means live, else it is free. A retired
 * cell is buried by whoever meets it in its chain or looks for a free one.
 */
#ifndef TL_DIRECTORY_H
#define TL_DIRECTORY_H

#include "txn.h"

/* Cells of tiers and levels are apart from those of scopes, so that keys from outside cannot crowd them out. */
enum tl_directory_kind { TL_KEY_TIER, TL_KEY_SCOPE };

/* Looks a key up. 0 and the handle; -TLSHM_ENOENT; -TLSHM_ECORRUPT. Works read-only. */
int tl_directory_find(struct tl_hand *hand, const void *key, size_t len, uint64_t *handle);

/*
 * Looks a key up and creates it if it is new, with `policy` and `rank`. 0 and the handle; -TLSHM_ENOROOM; -ECORRUPT.
 * `created` may be NULL.
 */
int tl_directory_make(struct tl_hand *hand, enum tl_directory_kind kind, const void *key, size_t len, uint64_t policy,
                      uint64_t rank, uint64_t *handle, bool *created);

/* The key of a handle's cell: its length, or -TLSHM_ESTALE. `buf` has 256 bytes. Works read-only. */
int tl_directory_key(struct tl_hand *hand, uint64_t handle, char *buf);

/* The handle of a live cell, or 0. Works read-only. */
uint64_t tl_directory_live(struct tl_hand *hand, uint32_t cell);

/*
 * After a change of the policy word that a handle leads to: it counts from now on, whoever was about to recycle the cell
 * (D5). 0; -TLSHM_ESTALE: somebody has, and the change is lost; -TLSHM_ECORRUPT, -TLSHM_ECONTENDED.
 */
int tl_directory_keep(struct tl_hand *hand, uint64_t handle);

/*
 * Would tl_directory_make() find a cell for each of `want` new scopes now, not counting those that the same call uses?
 * Works read-only. Its cost grows with the table only where hardly any cell is free.
 */
struct tl_kept {
    unsigned count;
    const uint32_t *cell;
};
bool tl_directory_has_room(struct tl_hand *hand, unsigned want, const struct tl_kept *kept);

#define TL_DIRECTORY_LOOKS 512 /* cells looked at in one search for idle ones */

/* Gives idle cells back, at most `most` of those looked at; returns how many. See D4. */
unsigned tl_directory_recycle(struct tl_hand *hand, unsigned most);

#endif
