/* SPDX-License-Identifier: MIT */
/* txn.c - snapshot, drive, commit, finish, inherit. The protocol is described in txn.h; read that first. */
#include "txn.h"

#include <sched.h>
#include <time.h>

/* An operation as its seat publishes it, in private memory, every index checked. */
struct operation {
    uint64_t from, to;
    uint32_t record, body;
    unsigned cells;
    uint32_t cell[SHM_CELLS_MAX];
    uint32_t own[SHM_CELLS_MAX];
    uint64_t expected[SHM_CELLS_MAX];
};

#define UNSOUND SHM_MARKS /* in place of a mark: what the sheet leads to cannot be an operation */

TL_INLINE uint64_t own_head(const struct operation *op, unsigned j)
{
    return shm_next_head(op->expected[j], op->own[j]);
}

TL_INLINE tl_word *cell_head(const struct tl_map *map, uint32_t cell)
{
    return &map->cells[cell].head;
}

static bool read_steps(const struct tl_map *map, const struct shm_seat *seat, struct operation *op)
{
    for (unsigned j = 0; j < op->cells; j++) {
        op->expected[j] = tl_load(&seat->step[j].expected);
        uint64_t place = tl_load(&seat->step[j].place);
        op->cell[j] = (uint32_t)(place >> 32);
        op->own[j] = (uint32_t)place;
        if (op->cell[j] >= map->cell_count || op->own[j] >= map->sheet_count)
            return false;
    }
    return true;
}

/* Reads somebody's operation; false if it is not open, or no longer when it had been read (V4). */
static bool read_operation(const struct tl_map *map, uint64_t ref, struct operation *op)
{
    if (!tl_txn_is_open(map, ref))
        return false;
    const struct shm_seat *seat = &map->seats[shm_ref_seat(ref)];
    uint64_t record = tl_load(&seat->record);
    op->record = (uint32_t)record;
    op->cells = (unsigned)(record >> 32);
    op->from = tl_load(&seat->from);
    op->to = tl_load(&seat->to);
    op->body = shm_node(op->to);
    if (op->cells - 1 >= SHM_CELLS_MAX || op->record >= map->record_count || op->body >= map->body_count)
        return false;
    if (!read_steps(map, seat, op))
        return false;
    tl_fence_acquire();
    return tl_txn_is_open(map, ref);
}

/* Carries out the CASes of an operation whose first head is in. Wait-free, idempotent, computes nothing. */
TL_COLD static void drive(const struct tl_map *map, const struct operation *op)
{
    tl_word *record = &map->records[op->record].head;
    for (unsigned j = 1; j < op->cells; j++) {
        tl_word *head = cell_head(map, op->cell[j]);
        for (;;) {
            if (tl_load(record) != op->from)
                return; /* decided already */
            uint64_t seen = tl_load(head);
            if (seen == own_head(op, j))
                break;
            if (seen != op->expected[j])
                return; /* it can never be decided any more */
            tl_cas(head, op->expected[j], own_head(op, j));
        }
    }
    tl_horizon_meet(map, op->record, op->to);
    tl_cas(record, op->from, op->to); /* the decision */
}

/* An operation could not be read. It stands still while it is open: then what it says is garbage. */
static uint64_t closed_outcome(const struct tl_map *map, struct shm_sheet *sheet, uint64_t ref)
{
    if (tl_txn_is_open(map, ref))
        return UNSOUND;
    return tl_load(&sheet->ref) == ref ? SHM_AFTER : 0; /* L1 */
}

/* The mark of an unmarked sheet that was seen installed; 0: look again. Writes, so it needs a writable mapping. */
TL_COLD static uint64_t outcome(struct tl_hand *hand, struct shm_sheet *sheet, uint64_t ref)
{
    const struct tl_map *map = hand->map;
    struct operation op;
    if (!read_operation(map, ref, &op))
        return closed_outcome(map, sheet, ref);
    drive(map, &op);
    bool decided = tl_load(&map->records[op.record].head) == op.to;
    uint64_t date = decided ? tl_clock_now(&hand->clock) & SHM_DATE_MASK : 0;
    if (!tl_txn_is_open(map, ref))
        return 0; /* L2; and a date counts only if the operation was still open after it was read */
    uint64_t mark = decided ? TL_DATED(date) : ref | SHM_BEFORE;
    return tl_cas(&sheet->ref, ref, mark) ? mark : 0;
}

/* The same for who may not write: an operation that is decided but open is dated now (over-counts at most). */
TL_COLD static uint64_t outcome_readonly(struct tl_hand *hand, struct shm_sheet *sheet, uint64_t ref)
{
    const struct tl_map *map = hand->map;
    struct operation op;
    if (!read_operation(map, ref, &op))
        return closed_outcome(map, sheet, ref);
    bool decided = tl_load(&map->records[op.record].head) == op.to;
    uint64_t date = decided ? tl_clock_now(&hand->clock) & SHM_DATE_MASK : 0;
    if (!tl_txn_is_open(map, ref))
        return 0; /* L2, and the date as above */
    return decided ? TL_DATED(date) : ref | SHM_BEFORE;
}

TL_COLD void tl_txn_open_buckets(const struct tl_map *map, const struct shm_sheet *sheet, struct tl_view *view,
                                 int64_t offset)
{
    view->balance = sheet->before.word;
    tl_history_advance(map, view, view->time, offset);
    tl_view_own_balance(view, sheet->after.word);
}

uint64_t tl_txn_resolve(struct tl_hand *hand, uint32_t cell, uint64_t head, struct shm_sheet *sheet, uint64_t ref)
{
    if (ref & SHM_MARKS)
        return ref;
    if (tl_load(cell_head(hand->map, cell)) != head)
        return 0; /* V1 */
    if (TL_LIKELY(!tl_txn_is_open(hand->map, ref)))
        return tl_load(&sheet->ref) == ref ? SHM_AFTER : 0; /* L1 */
    return hand->seat ? outcome(hand, sheet, ref) : outcome_readonly(hand, sheet, ref);
}

int tl_txn_snapshot(struct tl_hand *hand, uint32_t cell, struct tl_view *view)
{
    for (;;) {
        int rc = tl_txn_view(hand, cell, view);
        if (rc < 0)
            return rc;
        tl_view_own(view);
        if (TL_LIKELY(tl_txn_current(hand, cell, view))) /* V2 */
            return 0;
    }
}

/* Marks a cell's sheet if it is not: nothing of it is wanted. */
static void settle_mark(struct tl_hand *hand, uint32_t cell)
{
    const struct tl_map *map = hand->map;
    const tl_word *head_word = cell_head(map, cell);
    for (;;) {
        uint64_t head = tl_load(head_word);
        if (shm_node(head) >= map->sheet_count)
            return;
        struct shm_sheet *sheet = tl_map_sheet(map, shm_node(head));
        if (tl_txn_resolve(hand, cell, head, sheet, tl_load(&sheet->ref)))
            return;
    }
}

/* Rule M: the record may leave its word only when every node of the operation that wrote it is marked, the body last. */
TL_COLD static void mark_last_operation(struct tl_hand *hand, const struct tl_record *was)
{
    const struct tl_map *map = hand->map;
    struct tl_record whole;
    if (tl_txn_record(hand, was->index, TL_PLAIN, &whole) < 0 || whole.head != was->head)
        return; /* it has moved on: the caller's commit will fail */
    for (unsigned j = 0; j < tl_body_scopes(&whole.body); j++) {
        uint32_t cell = tl_handle_cell(whole.body.scope[j]);
        if (cell < map->cell_count)
            settle_mark(hand, cell);
    }
    if (tl_body_idempotency_cell(&whole.body) < map->cell_count)
        settle_mark(hand, tl_body_idempotency_cell(&whole.body));
    if (tl_load(&map->records[was->index].head) == was->head)
        tl_cas(&map->bodies[shm_node(was->head)].ref, was->body.ref, was->body.ref | SHM_AFTER);
}

TL_INLINE void ensure_marked(struct tl_hand *hand, const struct tl_record *was)
{
    if (TL_UNLIKELY(!tl_txn_is_over(hand, was->body.ref)))
        mark_last_operation(hand, was);
}

/* The edge of a sheet's windows after the operation, when it opens a bucket itself. */
TL_COLD static uint64_t edge_after(const struct tl_map *map, const struct tl_view *view, uint64_t time1, int64_t offset)
{
    struct tl_view later;
    tl_view_clone(&later, view);
    tl_history_advance(map, &later, time1, offset);
    return later.edge;
}

/* Both balances of a sheet whose cell is set apart: not a sum, but `instead`. */
TL_COLD static void replace_balance(const struct tl_txn *txn, unsigned j, struct shm_sheet *sheet)
{
    const struct tl_view *view = &txn->view[j];
    tl_store_relaxed(&sheet->wide, view->wide);
    tl_copy_across(sheet->before.word, view->balance, SHM_NARROW_WORDS);
    tl_words_out(sheet->after.word, txn->instead, SHM_NARROW_WORDS);
    if (!view->wide)
        return;
    tl_copy_across(sheet->before_wide.word, view->balance + SHM_SECOND, SHM_NARROW_WORDS);
    tl_words_out(sheet->after_wide.word, txn->instead + SHM_NARROW_WORDS, SHM_NARROW_WORDS);
}

/* The second lines of both balances. Returns the new sums, or-ed together. */
TL_COLD static uint64_t step_wide(const struct tl_txn *txn, unsigned j, struct shm_sheet *sheet)
{
    static const alignas(16) tl_word nothing[SHM_NARROW_WORDS];
    static const uint64_t no_delta[SHM_NARROW_WORDS];
    const struct tl_view *view = &txn->view[j];
    tl_store_relaxed(&sheet->wide, 1);
    return tl_step_out(sheet->before_wide.word, sheet->after_wide.word,
                       view->wide ? view->balance + SHM_SECOND : nothing,
                       txn->wide ? txn->delta + SHM_NARROW_WORDS : no_delta, SHM_NARROW_WORDS);
}

/* Both balances of a sheet. Returns the new sums, or-ed together. */
TL_INLINE uint64_t step_balance(const struct tl_txn *txn, unsigned j, struct shm_sheet *sheet)
{
    const struct tl_view *view = &txn->view[j];
    if (TL_UNLIKELY(j == txn->apart)) {
        replace_balance(txn, j, sheet);
        return 0;
    }
    tl_store_relaxed(&sheet->wide, 0);
    uint64_t sums = tl_step_out(sheet->before.word, sheet->after.word, view->balance, txn->delta, SHM_NARROW_WORDS);
    tl_store_relaxed(&sheet->after.word[SHM_DUE], txn->due[j]);
    return TL_UNLIKELY(view->wide || txn->wide) ? sums | step_wide(txn, j, sheet) : sums;
}

TL_COLD static void write_windows(struct tl_hand *hand, const struct tl_txn *txn, unsigned j, struct shm_sheet *sheet)
{
    const struct tl_view *view = &txn->view[j];
    hand->spare_of[j] = 0; /* what is copied is true only if the operation gets through */
    tl_txn_write_windows(sheet, view->edge, view->offset, view->stamp, view->window, view->windows);
}

/* Writes sheet j of the operation into its spare. Returns its new sums, or-ed together. */
TL_INLINE uint64_t write_sheet(struct tl_hand *hand, const struct tl_txn *txn, unsigned j, struct shm_sheet *sheet,
                               uint64_t ref, uint64_t *edge)
{
    const struct tl_view *view = &txn->view[j];
    uint64_t time1 = tl_max(txn->now, view->time);
    tl_txn_write_origin(sheet, ref, time1, txn->offset, view->time);
    uint64_t sums = step_balance(txn, j, sheet);
    if (TL_UNLIKELY(!tl_txn_has_windows(hand, j, txn->cell[j], sheet, view->stamp)))
        write_windows(hand, txn, j, sheet);
    bool stands = time1 < view->edge && !tl_history_stepped(txn->offset, view->offset);
    *edge = tl_min(*edge, TL_LIKELY(stands) ? view->edge : edge_after(hand->map, view, time1, txn->offset));
    return sums;
}

/* Writes the sheets of the operation and its steps. 0, -TLSHM_ERANGE, -TLSHM_ECORRUPT: a spare that is none. */
TL_INLINE int write_sheets(struct tl_hand *hand, const struct tl_txn *txn, unsigned cells, uint64_t ref, uint64_t *edge)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t sums = 0;
    *edge = TL_FOREVER;
    for (unsigned j = 0; j < cells; j++) {
        uint64_t spare = tl_load_relaxed(&seat->spare[j]);
        if (TL_UNLIKELY(spare >= map->sheet_count))
            return -TLSHM_ECORRUPT;
        sums |= write_sheet(hand, txn, j, tl_map_sheet(map, (uint32_t)spare), ref, edge);
        tl_txn_write_step(seat, j, txn->view[j].head, shm_place(txn->cell[j], (uint32_t)spare));
    }
    return TL_LIKELY(sums <= txn->sum_max) ? 0 : -TLSHM_ERANGE;
}

/* Writes all of the operation, still invisible: the body was written before. Returns `to`, or 0: a spare that is none. */
TL_INLINE uint64_t write_decision(struct tl_hand *hand, const struct tl_txn *txn, unsigned cells, uint64_t ref)
{
    struct shm_seat *seat = hand->seat;
    uint64_t body = tl_load_relaxed(&seat->spare_body), from = txn->was.head;
    if (TL_UNLIKELY(body >= hand->map->body_count))
        return 0;
    uint64_t to = shm_record_head(txn->status, from, (uint32_t)body);
    tl_store_relaxed(&hand->map->bodies[body].ref, ref);
    tl_txn_write_goal(seat, cells, txn->was.index, from, to);
    return to;
}

/* The spares that the seat has after a decided operation: what it displaced. */
TL_INLINE void take_displaced(struct shm_seat *seat, const struct tl_txn *txn, unsigned cells)
{
    for (unsigned j = 0; j < cells; j++)
        tl_store_relaxed(&seat->spare[j], shm_node(txn->view[j].head));
    tl_store_relaxed(&seat->spare_body, shm_node(txn->was.head));
}

/* What became of sheet j of an operation that was not decided: the spare that the seat has in its place afterwards. */
static uint32_t undo_sheet(const struct tl_map *map, const struct operation *op, unsigned j, uint64_t ref)
{
    tl_word *head = cell_head(map, op->cell[j]);
    struct shm_sheet *own = tl_map_sheet(map, op->own[j]);
    uint64_t seen = tl_load(head);
    /* Close the door: a helper that sleeps before this very CAS must find it done, or it would install a sheet that is
     * a spare again. Installed now, the sheet means the state below it: nothing changes. */
    while (seen == op->expected[j]) {
        tl_cas(head, op->expected[j], own_head(op, j));
        seen = tl_load(head);
    }
    if (seen == own_head(op, j)) {
        tl_cas(&own->ref, ref, ref | SHM_BEFORE);
        return shm_node(op->expected[j]);
    }
    /* Never installed, or installed and displaced: those who displace a sheet of an open operation mark it first. */
    return tl_load(&own->ref) == ref ? op->own[j] : shm_node(op->expected[j]);
}

/* Owner or heir: marks, closes doors, exchanges nodes, closes. `edge` 0: date in any case. Returns 1 if decided. */
TL_COLD static int finish(struct tl_hand *hand, const struct operation *op, uint64_t number, uint64_t edge)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t ref = shm_ref(hand->seat_index, number);
    /* Moved on and decided: then somebody marked the body first (rule M). */
    bool decided = tl_load(&map->records[op->record].head) == op->to || tl_load(&map->bodies[op->body].ref) != ref;
    if (decided) {
        uint64_t date = tl_clock_now(&hand->clock) & SHM_DATE_MASK;
        for (unsigned j = 0; j < op->cells && date >= edge; j++)
            tl_cas(&tl_map_sheet(map, op->own[j])->ref, ref, TL_DATED(date));
        for (unsigned j = 0; j < op->cells; j++)
            tl_store_relaxed(&seat->spare[j], shm_node(op->expected[j]));
        tl_store_relaxed(&seat->spare_body, shm_node(op->from));
    } else {
        uint32_t spare[SHM_CELLS_MAX];
        for (unsigned j = 0; j < op->cells; j++)
            spare[j] = undo_sheet(map, op, j, ref);
        for (unsigned j = 0; j < op->cells; j++)
            tl_store_relaxed(&seat->spare[j], spare[j]);
    }
    memset(hand->spare_of, 0, sizeof hand->spare_of);
    tl_txn_close(seat, number);
    return decided;
}

/* Swings the head of cell j to spare j. */
TL_INLINE bool swing(const struct tl_hand *hand, const struct tl_txn *txn, unsigned j)
{
    uint64_t head = txn->view[j].head, own = shm_next_head(head, (uint32_t)tl_load_relaxed(&hand->seat->spare[j]));
    return tl_cas(cell_head(hand->map, txn->cell[j]), head, own);
}

/* The owner's way when nobody interferes: the same CASes in the same order, without looking again. False: see drive. */
TL_INLINE bool straight_through(const struct tl_hand *hand, const struct tl_txn *txn, unsigned cells, uint64_t to)
{
    const struct tl_map *map = hand->map;
    for (unsigned j = 1; j < cells; j++)
        if (TL_UNLIKELY(!swing(hand, txn, j)))
            return false;
    tl_horizon_meet(map, txn->was.index, to);
    return tl_cas(&map->records[txn->was.index].head, txn->was.head, to); /* the decision */
}

/* After a decision of one's own: dates if an edge passed meanwhile, marks where other seats were met lately, closes. */
TL_INLINE void close_decided(struct tl_hand *hand, const struct tl_txn *txn, unsigned cells, uint64_t number,
                             uint64_t edge)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t date = tl_clock_now(&hand->clock) & SHM_DATE_MASK;
    for (unsigned j = 0; j < cells; j++) {
        struct shm_sheet *sheet = tl_map_sheet(map, (uint32_t)tl_load_relaxed(&seat->spare[j]));
        tl_txn_mark_own(hand, j, txn->view[j].ref, sheet, shm_ref(hand->seat_index, number), date >= edge ? date : 0);
        hand->spare_of[j] = txn->cell[j] + 1;
    }
    take_displaced(seat, txn, cells);
    tl_txn_close(seat, number);
}

/* Somebody got in between, after the first head was in: the operation as it was published decides what is to be done. */
TL_COLD int tl_txn_go_on(struct tl_hand *hand, uint64_t number, uint64_t edge)
{
    struct operation op;
    if (!read_operation(hand->map, shm_ref(hand->seat_index, number), &op))
        return -TLSHM_ECORRUPT;
    drive(hand->map, &op);
    return finish(hand, &op, number, edge);
}

TL_INLINE bool put_history(struct tl_hand *hand, const struct tl_txn *txn, unsigned cells)
{
    for (unsigned j = 0; j < cells; j++)
        if (TL_UNLIKELY(txn->view[j].moved) && !tl_history_put(hand->map, txn->cell[j], &txn->view[j]))
            return false;
    return true;
}

TL_INLINE int commit(struct tl_hand *hand, struct tl_txn *txn, unsigned cells)
{
    struct shm_seat *seat = hand->seat;
    uint64_t number = tl_txn_next_number(seat), ref = shm_ref(hand->seat_index, number), edge;
    hand->written++; /* and may become others: whichever txn this is, lanes are of former ones */
    ensure_marked(hand, &txn->was);
    if (!put_history(hand, txn, cells))
        return 0;
    tl_fence_release(); /* E3 */
    int rc = write_sheets(hand, txn, cells, ref, &edge);
    if (TL_UNLIKELY(rc < 0))
        return rc;
    uint64_t to = write_decision(hand, txn, cells, ref);
    if (TL_UNLIKELY(to == 0))
        return -TLSHM_ECORRUPT;
    tl_fence_release();
    tl_store_release(&seat->cur, shm_cur_open(number)); /* E1 */
    if (!swing(hand, txn, 0)) {
        tl_txn_close(seat, number); /* never visible: the nodes are still private */
        return 0;
    }
    if (TL_UNLIKELY(!straight_through(hand, txn, cells, to)))
        return tl_txn_go_on(hand, number, edge);
    close_decided(hand, txn, cells, number, edge);
    return 1;
}

/* The common number of cells is compiled for itself. */
int tl_txn_commit(struct tl_hand *hand, struct tl_txn *txn)
{
    return TL_LIKELY(txn->cells == 2) ? commit(hand, txn, 2) : commit(hand, txn, txn->cells);
}

int tl_txn_commit_cell(struct tl_hand *hand, struct tl_txn *txn)
{
    txn->ordered = 0; /* cell[0] is another than was put there in order */
    int rc = tl_txn_record(hand, hand->map->reservations + hand->seat_index, TL_TIMES, &txn->was);
    if (rc < 0)
        return rc;
    txn->cells = 1;
    txn->status = SHM_FREE;
    txn->apart = 0;
    txn->sum_max = TL_FOREVER;
    txn->wide = false;
    struct tl_body body = {.generation = txn->was.body.generation + 1, .info = tl_body_info(1, 0, 0, 0, UINT32_MAX)};
    body.scope[0] = tl_handle(txn->cell[0], tl_view_incarnation(&txn->view[0]));
    struct shm_body *spare = tl_txn_spare_body(hand);
    if (!spare)
        return -TLSHM_ECORRUPT;
    tl_body_write(spare, &body);
    return tl_txn_commit(hand, txn);
}

int tl_txn_inherit(struct tl_hand *hand)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t cur = tl_load(&seat->cur), number = cur >> 1, ref = shm_ref(hand->seat_index, number);
    struct operation op;
    memset(hand->spare_of, 0, sizeof hand->spare_of);
    if (!(cur & 1)) {
        /* It may have died between writing spares of an operation and publishing it: those must not carry its number. */
        tl_txn_close(seat, number + 1);
        return 0;
    }
    if (!read_operation(map, ref, &op))
        return -TLSHM_ECORRUPT;
    uint64_t head = tl_load(cell_head(map, op.cell[0]));
    bool installed =
        head == own_head(&op, 0) || (head != op.expected[0] && tl_load(&tl_map_sheet(map, op.own[0])->ref) != ref);
    if (installed) {
        drive(map, &op);
        finish(hand, &op, number, 0);
    } else {
        tl_txn_close(seat, number);
    }
    return 0;
}

bool tl_txn_help(struct tl_hand *hand, uint32_t seat)
{
    const struct tl_map *map = hand->map;
    uint64_t cur = tl_load(&map->seats[seat].cur);
    struct operation op;
    if (!(cur & 1) || !read_operation(map, shm_ref(seat, cur >> 1), &op))
        return false;
    for (unsigned j = 0; j < op.cells; j++)
        settle_mark(hand, op.cell[j]);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- courtesy */

#define TURN_NS 3800    /* measured: throughput of a hot scope is best at 4 to 5 us, p99.9 grows with it */
#define SHORT_PAUSES 16 /* the first collision was an accident */
#define DOUBLINGS 3
#define YIELD_AFTER 2

static uint64_t mono_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void pause_for(uint64_t ns)
{
#ifndef TL_HOOKS /* the explorer decides itself who goes on */
    uint64_t start = mono_ns();
    do
        for (int i = 0; i < 8; i++)
            tl_relax();
    while (mono_ns() - start < ns);
#else
    (void)ns;
    (void)mono_ns;
#endif
}

TL_COLD void tl_txn_lost(struct tl_hand *hand, uint32_t cell, unsigned failures)
{
    if (failures == 0) {
        unsigned pauses = SHORT_PAUSES / 2 + (hand->seat_index * 7u) % SHORT_PAUSES;
        for (unsigned i = 0; i < pauses; i++)
            tl_relax();
    } else {
        unsigned doubled = failures - 1 < DOUBLINGS ? failures - 1 : DOUBLINGS;
        pause_for((uint64_t)TURN_NS << doubled);
    }
    if (failures > YIELD_AFTER)
        sched_yield();
    tl_store_relaxed(&hand->map->cells[cell].knock, hand->seat_index + 1);
}

TL_COLD bool tl_txn_step_aside(struct tl_hand *hand, uint32_t cell, bool *stepped)
{
    tl_word *knock = &hand->map->cells[cell].knock;
    uint64_t who = tl_load_relaxed(knock);
    if (TL_LIKELY(who == 0) || *stepped)
        return false;
    *stepped = true;
    tl_store_relaxed(knock, 0);
    if (who == hand->seat_index + 1)
        return false;
    pause_for(TURN_NS);
    tl_store_relaxed(knock, hand->seat_index + 1);
    return true;
}
