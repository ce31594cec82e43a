/* SPDX-License-Identifier: MIT */
/*
 * txn.h - the engine: several balances and one reservation go from one state to the next together, whoever dies.
 *
 * THE PROTOCOL
 *   A cell's head names an immutable sheet; a record's head names an immutable body and a status. An operation computes
 *   new sheets and a new body on the spares of its seat, publishes itself in the seat (`cur` open), swings the heads of
 *   its cells one by one, each from the version it was computed from, and is decided by the CAS of the record's head,
 *   from -> to. A sheet whose operation was decided counts as its `after`, else as its `before`. Whoever meets an
 *   undecided operation carries out its remaining CASes (drive) and marks the sheet with the outcome: helpers compute
 *   nothing. When it is over, the owner takes the displaced nodes as its next spares and closes (`cur`).
 *
 * WHO CONCLUDES WHAT from a sheet that is not marked
 *   L1  Its operation is closed, and it is still not marked: it was decided. Aborted sheets are marked before the close.
 *   L2  Its operation is open, and the record is not at `to`: it was not decided; concluded only while still open.
 *   L3  Rule M: a record leaves `to` only when the operation is closed or all its nodes are marked, the body last. So an
 *       open, unmarked operation whose record is neither at `from` nor at `to` was never decided.
 *
 * LOOKS AGAIN
 *   V1  only an installed sheet may be marked     V2  a sheet was read whole if its head is still the same
 *   V3  likewise a body                           V4  an operation was read whole if its seat is still open
 *
 * CRASH
 *   C1 before the first head: nothing is visible.  C2 after it: anybody who meets the sheet drives and marks it.
 *   C3 after the decision: likewise.               C4 before the close: the heir recomputes the exchange and closes.
 *   Woken after a year: its plain stores go to its own seat and spares (nobody else got them), its CASes expect words
 *   that do not recur.
 *
 * PROGRESS Lock-free. drive() and marking are bounded; a snapshot or commit is repeated only because another operation
 * got through. Nobody waits for a stopped process.
 *
 * DATES Every operation reads the clock after its snapshots (time1) and again after the decision. If an edge of one of
 * its windows lies between, its sheets are marked with the later date (history.h, W5).
 */
#ifndef TL_TXN_H
#define TL_TXN_H

#include "clock.h"
#include "history.h"
#include "layout.h"

/* What one thread works with: the mapping, its clock, its seat. */
struct tl_hand {
    const struct tl_map *map;
    struct tl_clock clock;
    struct shm_seat *seat; /* NULL: read-only */
    uint32_t seat_index;
    unsigned foreign[SHM_CELLS_MAX]; /* operations for which cell j of an operation is still marked by the owner */
};

struct tl_body {
    uint64_t ref, generation, info, owner, pid, created, deadline, ended;
    uint64_t estimate[TLSHM_UNITS], tag;
    uint64_t charged[TLSHM_UNITS], request;
    uint64_t scope[TLSHM_SCOPES_MAX];
    uint64_t idempotency[TLSHM_IDEMPOTENCY_MAX / 8];
};

TL_INLINE unsigned tl_body_scopes(const struct tl_body *body)
{
    unsigned n = body->info & 15;
    return n <= TLSHM_SCOPES_MAX ? n : TLSHM_SCOPES_MAX;
}

TL_INLINE unsigned tl_body_outcome(const struct tl_body *body)
{
    return (body->info >> 4) & 15;
}

TL_INLINE unsigned tl_body_flags(const struct tl_body *body)
{
    return (body->info >> 8) & 255;
}

TL_INLINE unsigned tl_body_idempotency_len(const struct tl_body *body)
{
    unsigned n = (body->info >> 16) & 255;
    return n <= TLSHM_IDEMPOTENCY_MAX ? n : TLSHM_IDEMPOTENCY_MAX;
}

/* The idempotency cell that the reserve entered, or UINT32_MAX. */
TL_INLINE uint32_t tl_body_idempotency_cell(const struct tl_body *body)
{
    return (uint32_t)(body->info >> 24 & SHM_NODE_MASK) - 1;
}

TL_INLINE uint64_t tl_body_info(unsigned scopes, unsigned outcome, unsigned flags, unsigned len, uint32_t cell)
{
    return scopes | (uint64_t)outcome << 4 | (uint64_t)(flags & 255) << 8 | (uint64_t)len << 16 |
           ((uint64_t)(cell + 1) & SHM_NODE_MASK) << 24;
}

TL_INLINE uint32_t tl_handle_cell(uint64_t handle)
{
    return (uint32_t)(handle & SHM_NODE_MASK);
}

TL_INLINE uint64_t tl_handle_incarnation(uint64_t handle)
{
    return handle >> SHM_NODE_BITS;
}

TL_INLINE uint64_t tl_handle(uint32_t cell, uint64_t incarnation)
{
    return incarnation << SHM_NODE_BITS | cell;
}

/* A reservation in private memory, whole as of `head`. */
struct tl_record {
    uint64_t head;
    uint32_t index;
    alignas(16) struct tl_body body;
};

#define TL_NONE UINT32_MAX

/* One operation in the making. */
struct tl_txn {
    unsigned cells;
    uint32_t cell[SHM_CELLS_MAX];  /* most shared first: then conflicts happen at the first head, where they are free */
    uint32_t asked[SHM_CELLS_MAX]; /* the place of each in the caller's order */
    struct tl_view view[SHM_CELLS_MAX];  /* the state that it is computed from */
    alignas(16) struct tl_balance delta; /* what it adds to each balance (modulo 2^64); due and incarnation 0 */
    uint64_t due[SHM_CELLS_MAX];         /* each balance's next due time */
    unsigned apart;                      /* a cell whose balance is replaced by `instead`, or TL_NONE */
    alignas(16) struct tl_balance instead;
    struct tl_record was; /* the record that it changes */
    unsigned status;      /* the record's next status ... */
    struct tl_body *next; /* ... and content: `body`, or `was.body` changed in place */
    alignas(16) struct tl_body body;
    uint64_t sum_max; /* no sum of a balance may be above it */
    unsigned mended;  /* views whose time went back with the clock (views.h), by bit */
    uint64_t now;     /* clock, read after the snapshots */
    int64_t offset;   /* wall minus boot then */
};

/*
 * Resolves a cell: finishes and marks an undecided writer, then copies the state. The caller checks the cell's range.
 * 0 or -TLSHM_ECORRUPT. A read-only hand concludes the same without writing.
 */
int tl_txn_snapshot(struct tl_hand *hand, uint32_t cell, struct tl_view *view);

/* Is the view still the cell's state? */
TL_INLINE bool tl_txn_current(const struct tl_hand *hand, uint32_t cell, const struct tl_view *view)
{
    tl_fence_acquire();
    return tl_load(&hand->map->cells[cell].head) == view->head;
}

/* How much of a body is wanted. */
enum tl_depth {
    TL_TIMES = 8,              /* up to `ended` */
    TL_PLAIN = SHM_BODY_PLAIN, /* all but the idempotency key */
    TL_WHOLE = SHM_BODY_WORDS
};

/* Copies a record, so much of it. 0 or -TLSHM_ECORRUPT. */
int tl_txn_record(const struct tl_hand *hand, uint32_t record, enum tl_depth depth, struct tl_record *out);

/*
 * Carries out the operation that `txn` describes. Returns 1: done; 0: another operation got through first, nothing was
 * changed; -TLSHM_ERANGE: a sum would be above sum_max; -TLSHM_ECORRUPT. All of `txn` is set; of `was`, head and the body up to TL_TIMES.
 */
int tl_txn_commit(struct tl_hand *hand, struct tl_txn *txn);

/*
 * The same for an operation on the balance of cell[0] alone, which no reservation takes part in: it is decided by the
 * seat's own record. `cell[0]`, `view[0]`, `instead` (the balance it leaves), `now`, `offset` are set.
 */
int tl_txn_commit_cell(struct tl_hand *hand, struct tl_txn *txn);

/*
 * Finishes what the former owner of a seat left and takes its spares over. `hand->seat` is that seat, and its owner is
 * certainly gone: the kernel said so, or it let go itself. Idempotent until its last store.
 */
int tl_txn_inherit(struct tl_hand *hand);

/* Carries the open operation of any seat to its decision and marks its sheets. True if there was one. */
bool tl_txn_help(struct tl_hand *hand, uint32_t seat);

/*
 * Courtesy between those who race for one cell. All hints: nobody waits for anybody, each pause is bounded.
 * lost() after a failed commit: pauses, longer each time, and leaves a knock before the next try. aside() before a
 * commit: true, once a call, if somebody knocked: it has paused for one turn, and the snapshots are to be made again.
 */
void tl_txn_lost(struct tl_hand *hand, uint32_t cell, unsigned failures);
bool tl_txn_step_aside(struct tl_hand *hand, uint32_t cell, bool *stepped);

TL_INLINE bool tl_txn_aside(struct tl_hand *hand, uint32_t cell, bool *stepped)
{
    return TL_UNLIKELY(tl_load_relaxed(&hand->map->cells[cell].knock) != 0) && tl_txn_step_aside(hand, cell, stepped);
}

#endif
