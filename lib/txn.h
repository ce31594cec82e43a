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

#include "body.h"
#include "clock.h"
#include "history.h"
#include "horizon.h"

/* What one thread works with: the mapping, its clock, its seat. */
struct tl_hand {
    const struct tl_map *map;
    struct tl_clock clock;
    struct shm_seat *seat; /* NULL: read-only */
    uint32_t seat_index;
    uint64_t owner;                   /* what the bodies of its reservations say of it, see body.h */
    unsigned foreign[SHM_CELLS_MAX];  /* operations for which cell j of an operation is still marked by the owner */
    uint32_t spare_of[SHM_CELLS_MAX]; /* cell + 1 whose installed sheet spare j was, windows and all; 0: none */
    uint64_t written;                 /* how often spares have been, on the general way (lane.h) */
    bool stuck;                       /* a mutex of this mapping could not be let go (seat.h) */
};

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
    struct tl_body body;
};

#define TL_NONE UINT32_MAX

/* One operation in the making. */
struct tl_txn {
    unsigned ordered; /* the first scopes that were put in order last (views.h); 0: others */
    unsigned lanes;   /* the cells that the thread has lanes of (lane.h), in this order; 0: of none */
    uint64_t order_of[TLSHM_SCOPES_MAX];
    unsigned cells;
    uint32_t cell[SHM_CELLS_MAX];  /* most shared first: then conflicts happen at the first head, where they are free */
    uint32_t asked[SHM_CELLS_MAX]; /* the place of each in the caller's order */
    struct tl_view view[SHM_CELLS_MAX]; /* the state that it is computed from */
    uint64_t delta[SHM_BALANCE_WORDS];  /* what it adds to each balance (modulo 2^64); due and incarnation 0 */
    bool wide;                          /* some of the delta's second line is not 0; else it is not looked at */
    uint64_t due[SHM_CELLS_MAX];        /* each balance's next due time */
    unsigned apart;                     /* a cell whose balance is replaced by `instead`, or TL_NONE */
    uint64_t instead[SHM_BALANCE_WORDS];
    struct tl_record was; /* the record that it changes */
    unsigned status;      /* the record's next status; its next content is in the seat's spare body */
    uint64_t sum_max;     /* no sum of a balance may be above it */
    unsigned mended;      /* views whose time went back with the clock (views.h), by bit */
    uint64_t now;         /* clock, read after the snapshots */
    int64_t offset;       /* wall minus boot then */
};

/*
 * The mark of the sheet that `head` names and `ref` was read from, an undecided writer finished and marked first; 0: look
 * at the head again. A read-only hand concludes the same without writing. Not a mark but all its bits: the sheet leads to
 * nonsense.
 */
uint64_t tl_txn_resolve(struct tl_hand *hand, uint32_t cell, uint64_t head, struct shm_sheet *sheet, uint64_t ref);

/* The buckets that the operation of a sheet opens itself begin with what was before it. */
void tl_txn_open_buckets(const struct tl_map *map, const struct shm_sheet *sheet, struct tl_view *view, int64_t offset);

/* The time of a sheet whose operation was decided: the operation's, or the later one that its ref's mark dates it to. */
TL_INLINE uint64_t tl_txn_time(const struct shm_sheet *sheet, uint64_t ref)
{
    return tl_max(tl_peek(&sheet->time1), ref & SHM_MARKS ? ref >> 2 : 0);
}

/* How many windows a sheet of this stamp has. */
TL_INLINE unsigned tl_txn_windows(const struct tl_map *map, uint64_t stamp)
{
    return (unsigned)tl_min(stamp & 255, map->limits);
}

/* Leads a view to the committed state of a sheet whose outcome is known: it was decided unless `mark` says otherwise. */
TL_INLINE void tl_txn_lead(const struct tl_map *map, const struct shm_sheet *sheet, uint64_t mark, struct tl_view *view)
{
    int64_t offset = (int64_t)tl_peek(&sheet->offset1);
    view->wide = tl_peek(&sheet->wide) != 0;
    view->edge = tl_peek(&sheet->edge);
    view->offset = tl_peek(&sheet->offset);
    view->stamp = tl_peek(&sheet->windows);
    view->windows = tl_txn_windows(map, view->stamp);
    view->window = sheet->window;
    view->moved = 0;
    if (TL_UNLIKELY((mark & SHM_MARKS) == SHM_BEFORE)) {
        view->time = tl_peek(&sheet->time);
        view->balance = sheet->before.word;
        return;
    }
    view->time = tl_txn_time(sheet, mark);
    view->balance = sheet->after.word;
    if (TL_UNLIKELY(view->time >= view->edge || tl_history_stepped(offset, view->offset)))
        tl_txn_open_buckets(map, sheet, view, offset);
}

/* The seat's own operations are over when it looks: what is not marked was decided (L1). */
TL_INLINE bool tl_txn_is_own(const struct tl_hand *hand, uint64_t ref)
{
    return !(ref & SHM_MARKS) && shm_ref_seat(ref) == hand->seat_index && hand->seat;
}

/* Is the operation that wrote `ref` still open? A ref has the lower 50 bits of its number. */
TL_INLINE bool tl_txn_is_open(const struct tl_map *map, uint64_t ref)
{
    return shm_ref_seat(ref) < map->seat_count &&
           (tl_load(&map->seats[shm_ref_seat(ref)].cur) ^ shm_cur_open(ref >> 14)) << 13 == 0;
}

/* Rule M: may a record leave the body that has this ref? */
TL_INLINE bool tl_txn_is_over(const struct tl_hand *hand, uint64_t ref)
{
    return (ref & SHM_MARKS) || tl_txn_is_own(hand, ref) || !tl_txn_is_open(hand->map, ref);
}

/*
 * Resolves a cell: finishes and marks an undecided writer, then leads the view to the state. All that is read through the
 * view is true if the head is still the same afterwards. The caller checks the cell's range. 0 or -TLSHM_ECORRUPT.
 */
TL_INLINE int tl_txn_view(struct tl_hand *hand, uint32_t cell, struct tl_view *view)
{
    const struct tl_map *map = hand->map;
    for (;;) {
        uint64_t head = tl_load(&map->cells[cell].head);
        if (TL_UNLIKELY(shm_node(head) >= map->sheet_count))
            return -TLSHM_ECORRUPT;
        struct shm_sheet *sheet = tl_map_sheet(map, shm_node(head));
        uint64_t ref = tl_load(&sheet->ref), mark = SHM_AFTER;
        if (!tl_txn_is_own(hand, ref)) {
            mark = tl_txn_resolve(hand, cell, head, sheet, ref);
            if (TL_UNLIKELY(mark == 0))
                continue;
            if (TL_UNLIKELY((mark & SHM_MARKS) == SHM_MARKS))
                return -TLSHM_ECORRUPT;
        }
        view->head = head;
        view->ref = ref;
        tl_txn_lead(map, sheet, mark, view);
        return 0;
    }
}

/* The same, and the view is a private copy that was true at one moment (V2). */
int tl_txn_snapshot(struct tl_hand *hand, uint32_t cell, struct tl_view *view);

/* Is the view still the cell's state? */
TL_INLINE bool tl_txn_current(const struct tl_hand *hand, uint32_t cell, const struct tl_view *view)
{
    tl_fence_acquire();
    return tl_load(&hand->map->cells[cell].head) == view->head;
}

/* Copies a record, so much of it. 0 or -TLSHM_ECORRUPT. */
TL_INLINE int tl_txn_record(const struct tl_hand *hand, uint32_t record, enum tl_depth depth, struct tl_record *out)
{
    const struct tl_map *map = hand->map;
    const tl_word *head_word = &map->records[record].head;
    out->index = record;
    for (;;) {
        out->head = tl_load(head_word);
        if (TL_UNLIKELY(shm_node(out->head) >= map->body_count))
            return -TLSHM_ECORRUPT;
        const struct shm_body *body = &map->bodies[shm_node(out->head)];
        tl_body_times(body, &out->body);
        if (depth != TL_TIMES)
            tl_body_rest(body, depth, &out->body);
        tl_fence_acquire();
        if (TL_LIKELY(tl_load(head_word) == out->head)) /* V3 */
            return 0;
    }
}

/* The seat's spare body, which the caller fills in before a commit; NULL: the seat says nonsense. */
TL_INLINE struct shm_body *tl_txn_spare_body(const struct tl_hand *hand)
{
    uint64_t spare = tl_load_relaxed(&hand->seat->spare_body);
    tl_fence_release(); /* E3 */
    return TL_LIKELY(spare < hand->map->body_count) ? &hand->map->bodies[spare] : NULL;
}

/*
 * Carries out the operation that `txn` describes. Returns 1: done; 0: another operation got through first, nothing was
 * changed; -TLSHM_ERANGE: a sum would be above sum_max; -TLSHM_ECORRUPT. All of `txn` is set, and the spare body is
 * written; of `was`, index, head and the body's TL_TIMES.
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

/* ---------------------------------------------------------------------------- the owner's side, shared with straight.c */

#define TL_DATED(date) (((date) << 2) | SHM_AFTER)
#define TL_MARK_FOR 6 /* operations after a foreign one: readers then need not visit the seat's line */

TL_INLINE uint64_t tl_txn_next_number(const struct shm_seat *seat)
{
    return (tl_load_relaxed(&seat->cur) >> 1) + 1;
}

/* What a sheet says of the operation that writes it at `time1`, which found the state as of `time`. Its ref goes first. */
TL_INLINE void tl_txn_write_origin(struct shm_sheet *sheet, uint64_t ref, uint64_t time1, int64_t offset, uint64_t time)
{
    tl_store_release(&sheet->ref, ref);
    tl_store_relaxed(&sheet->time1, time1);
    tl_store_relaxed(&sheet->offset1, (uint64_t)offset);
    tl_store_relaxed(&sheet->time, time);
}

/* Has spare j the windows of the cell, as of that stamp? It was an installed sheet of it then. */
TL_INLINE bool tl_txn_has_windows(const struct tl_hand *hand, unsigned j, uint32_t cell, const struct shm_sheet *sheet,
                                  uint64_t stamp)
{
    return hand->spare_of[j] == cell + 1 && tl_load_relaxed(&sheet->windows) == stamp;
}

TL_INLINE void tl_txn_write_windows(struct shm_sheet *sheet, uint64_t edge, uint64_t offset, uint64_t stamp,
                                    const struct shm_window *from, unsigned windows)
{
    tl_store_relaxed(&sheet->edge, edge);
    tl_store_relaxed(&sheet->offset, offset);
    tl_store_relaxed(&sheet->windows, stamp);
    for (unsigned i = 0; i < windows; i++)
        tl_copy_across(&sheet->window[i].shape, &from[i].shape, SHM_WINDOW_WORDS);
}

/* Step j of the seat's operation: the head of its cell as it was found, and its place; the sheet is spare j. */
TL_INLINE void tl_txn_write_step(struct shm_seat *seat, unsigned j, uint64_t head, uint64_t place)
{
    tl_store_relaxed(&seat->step[j].expected, head);
    tl_store_relaxed(&seat->step[j].place, place);
}

/* What the seat's operation decides. */
TL_INLINE void tl_txn_write_goal(struct shm_seat *seat, unsigned cells, uint32_t record, uint64_t from, uint64_t to)
{
    tl_store_relaxed(&seat->record, (uint64_t)cells << 32 | record);
    tl_store_relaxed(&seat->from, from);
    tl_store_relaxed(&seat->to, to);
}

TL_INLINE void tl_txn_close(struct shm_seat *seat, uint64_t number)
{
    tl_store_release(&seat->cur, number << 1); /* E2 */
}

/*
 * After the decision of an operation of one's own: marks sheet j if it is dated, or if other seats used the cell lately
 * (`before`: the ref of the sheet that it displaced), whose readers are spared a look at this seat. True: it is marked.
 */
TL_INLINE bool tl_txn_mark_own(struct tl_hand *hand, unsigned j, uint64_t before, struct shm_sheet *sheet, uint64_t ref,
                               uint64_t date)
{
    if (TL_UNLIKELY(!(before & SHM_MARKS) && shm_ref_seat(before) != hand->seat_index))
        hand->foreign[j] = TL_MARK_FOR;
    bool shared = hand->foreign[j] && hand->foreign[j]--;
    if (TL_LIKELY(!shared && !date))
        return false;
    tl_cas(&sheet->ref, ref, TL_DATED(date));
    return true;
}

/*
 * The first head of the seat's open operation is in, and then somebody was met: as it was published, it is carried on and
 * ended. 1: decided; 0: not; -TLSHM_ECORRUPT. `edge`: as for the date of tl_txn_mark_own().
 */
int tl_txn_go_on(struct tl_hand *hand, uint64_t number, uint64_t edge);

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
