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

#define DATED(date) (((date) << 2) | SHM_AFTER)
#define UNSOUND SHM_MARKS /* in place of a mark: what the sheet leads to cannot be an operation */

TL_INLINE uint64_t own_head(const struct operation *op, unsigned j)
{
    return shm_next_head(op->expected[j], op->own[j]);
}

TL_INLINE tl_word *cell_head(const struct tl_map *map, uint32_t cell)
{
    return &map->cells[cell].head;
}

TL_INLINE bool seat_known(const struct tl_map *map, uint64_t ref)
{
    return shm_ref_seat(ref) < map->seat_count;
}

/* Is the operation that wrote `ref` still open? */
TL_INLINE bool is_open(const struct tl_map *map, uint64_t ref)
{
    return seat_known(map, ref) && tl_load(&map->seats[shm_ref_seat(ref)].cur) == shm_cur_open(ref >> 14);
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
    if (!is_open(map, ref))
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
    return is_open(map, ref);
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
    tl_cas(record, op->from, op->to); /* the decision */
}

/* An operation could not be read. It stands still while it is open: then what it says is garbage. */
static uint64_t closed_outcome(const struct tl_map *map, struct shm_sheet *sheet, uint64_t ref)
{
    if (is_open(map, ref))
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
    if (!is_open(map, ref))
        return 0; /* L2; and a date counts only if the operation was still open after it was read */
    uint64_t mark = decided ? DATED(date) : ref | SHM_BEFORE;
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
    if (!is_open(map, ref))
        return 0; /* L2, and the date as above */
    return decided ? DATED(date) : ref | SHM_BEFORE;
}

/* Copies the committed state of a sheet whose outcome is known. */
TL_INLINE void load_view(const struct tl_map *map, struct shm_sheet *sheet, uint64_t mark, struct tl_view *view)
{
    tl_copy_in(&view->tail.time, &sheet->time, 4);
    unsigned windows = (unsigned)tl_min(view->tail.windows, map->limits);
    for (unsigned i = 0; i < windows; i++)
        tl_copy_in(&view->window[i].shape, &sheet->window[i].shape, SHM_WINDOW_WORDS);
    view->tail.windows = windows;
    view->moved = 0;
    if (TL_UNLIKELY((mark & SHM_MARKS) == SHM_BEFORE)) {
        tl_copy_in(view->balance.held, sheet->before.held, SHM_BALANCE_WORDS);
        return;
    }
    uint64_t time = tl_max(tl_load_relaxed(&sheet->time1), mark >> 2);
    int64_t offset = (int64_t)tl_load_relaxed(&sheet->offset1);
    if (TL_UNLIKELY(time >= view->tail.edge || tl_history_stepped(offset, view->tail.offset)))
        tl_copy_in(view->balance.held, sheet->before.held, SHM_BALANCE_WORDS); /* buckets open with what was before */
    tl_history_advance(map, view, time, offset);
    tl_copy_in(view->balance.held, sheet->after.held, SHM_BALANCE_WORDS);
}

/* The mark of the sheet that `head` names; 0: look again. */
TL_INLINE uint64_t resolve(struct tl_hand *hand, const tl_word *head_word, uint64_t head, struct shm_sheet *sheet)
{
    uint64_t ref = tl_load(&sheet->ref);
    if (ref & SHM_MARKS)
        return ref;
    if (tl_load(head_word) != head)
        return 0; /* V1 */
    if (TL_LIKELY(!is_open(hand->map, ref)))
        return tl_load(&sheet->ref) == ref ? SHM_AFTER : 0; /* L1 */
    return hand->seat ? outcome(hand, sheet, ref) : outcome_readonly(hand, sheet, ref);
}

int tl_txn_snapshot(struct tl_hand *hand, uint32_t cell, struct tl_view *view)
{
    const struct tl_map *map = hand->map;
    const tl_word *head_word = cell_head(map, cell);
    for (;;) {
        uint64_t head = tl_load(head_word);
        if (TL_UNLIKELY(shm_node(head) >= map->sheet_count))
            return -TLSHM_ECORRUPT;
        struct shm_sheet *sheet = tl_map_sheet(map, shm_node(head));
        uint64_t mark = resolve(hand, head_word, head, sheet);
        if (TL_UNLIKELY(mark == 0))
            continue;
        if (TL_UNLIKELY((mark & SHM_MARKS) == UNSOUND))
            return -TLSHM_ECORRUPT;
        load_view(map, sheet, mark, view);
        view->head = head;
        tl_fence_acquire();
        if (TL_LIKELY(tl_load(head_word) == head)) /* V2 */
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
        if (shm_node(head) >= map->sheet_count || resolve(hand, head_word, head, tl_map_sheet(map, shm_node(head))))
            return;
    }
}

int tl_txn_record(const struct tl_hand *hand, uint32_t record, enum tl_depth depth, struct tl_record *out)
{
    const struct tl_map *map = hand->map;
    const tl_word *head_word = &map->records[record].head;
    out->index = record;
    for (;;) {
        out->head = tl_load(head_word);
        if (TL_UNLIKELY(shm_node(out->head) >= map->body_count))
            return -TLSHM_ECORRUPT;
        const struct shm_body *body = &map->bodies[shm_node(out->head)];
        tl_copy_in(&out->body.ref, &body->ref, TL_TIMES);
        if (depth != TL_TIMES)
            tl_copy_in(&out->body.ref + TL_TIMES, &body->ref + TL_TIMES, TL_PLAIN - TL_TIMES);
        if (depth == TL_WHOLE && TL_UNLIKELY(tl_body_idempotency_len(&out->body)))
            tl_copy_in(&out->body.ref + TL_PLAIN, &body->ref + TL_PLAIN, TL_WHOLE - TL_PLAIN);
        tl_fence_acquire();
        if (TL_LIKELY(tl_load(head_word) == out->head)) /* V3 */
            return 0;
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
    if (!(was->body.ref & SHM_MARKS) && TL_UNLIKELY(is_open(hand->map, was->body.ref)))
        mark_last_operation(hand, was);
}

/* The edge of a sheet's windows after the operation, when it opens a bucket itself. */
TL_COLD static uint64_t edge_after(const struct tl_map *map, const struct tl_view *view, uint64_t time1, int64_t offset)
{
    struct tl_view later = *view;
    tl_history_advance(map, &later, time1, offset);
    return later.tail.edge;
}

/* Writes sheet j of the operation into its spare. Returns its new sums, or-ed together. */
TL_INLINE uint64_t write_sheet(const struct tl_map *map, const struct tl_txn *txn, unsigned j, uint32_t spare,
                               uint64_t ref, uint64_t *edge)
{
    const struct tl_view *view = &txn->view[j];
    struct shm_sheet *sheet = tl_map_sheet(map, spare);
    uint64_t time1 = tl_max(txn->now, view->tail.time), sums = 0;
    tl_store_release(&sheet->ref, ref);
    tl_store_relaxed(&sheet->time1, time1);
    tl_store_relaxed(&sheet->offset1, (uint64_t)txn->offset);
    tl_copy_out(sheet->before.held, view->balance.held, SHM_BALANCE_WORDS);
    if (TL_UNLIKELY(j == txn->apart)) {
        tl_words_out(sheet->after.held, txn->instead.held, SHM_BALANCE_WORDS);
    } else {
        sums = tl_sum_out(sheet->after.held, view->balance.held, txn->delta.held, SHM_BALANCE_WORDS);
        tl_store_relaxed(&sheet->after.due, txn->due[j]);
    }
    tl_words_out(&sheet->time, &view->tail.time, 4);
    for (unsigned i = 0; i < view->tail.windows; i++)
        tl_copy_out(&sheet->window[i].shape, &view->window[i].shape, SHM_WINDOW_WORDS);
    bool stands = time1 < view->tail.edge && !tl_history_stepped(txn->offset, view->tail.offset);
    *edge = tl_min(*edge, TL_LIKELY(stands) ? view->tail.edge : edge_after(map, view, time1, txn->offset));
    return sums;
}

/* Writes the sheets of the operation and its steps. 0, -TLSHM_ERANGE, -TLSHM_ECORRUPT: a spare that is none. */
TL_INLINE int write_sheets(struct tl_hand *hand, const struct tl_txn *txn, uint64_t ref, struct operation *op,
                           uint64_t *edge)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t sums = 0;
    *edge = TL_FOREVER;
    for (unsigned j = 0; j < txn->cells; j++) {
        uint64_t spare = tl_load_relaxed(&seat->spare[j]);
        if (TL_UNLIKELY(spare >= map->sheet_count))
            return -TLSHM_ECORRUPT;
        op->cell[j] = txn->cell[j];
        op->expected[j] = txn->view[j].head;
        op->own[j] = (uint32_t)spare;
        sums |= write_sheet(map, txn, j, op->own[j], ref, edge);
        tl_store_relaxed(&seat->step[j].expected, op->expected[j]);
        tl_store_relaxed(&seat->step[j].place, (uint64_t)op->cell[j] << 32 | op->own[j]);
    }
    return TL_LIKELY(sums <= txn->sum_max) ? 0 : -TLSHM_ERANGE;
}

/* Writes all of the operation, still invisible. 0 or an error, as above. */
TL_INLINE int write_operation(struct tl_hand *hand, struct tl_txn *txn, uint64_t ref, struct operation *op,
                              uint64_t *edge)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t body = tl_load_relaxed(&seat->spare_body);
    if (TL_UNLIKELY(body >= map->body_count))
        return -TLSHM_ECORRUPT;
    op->record = txn->was.index;
    op->from = txn->was.head;
    op->cells = txn->cells;
    op->body = (uint32_t)body;
    op->to = shm_record_head(txn->status, op->from, op->body);
    tl_fence_release(); /* E3 */
    int rc = write_sheets(hand, txn, ref, op, edge);
    txn->next->ref = ref;
    if (TL_LIKELY(!tl_body_idempotency_len(txn->next)))
        tl_words_out(&map->bodies[op->body].ref, &txn->next->ref, TL_PLAIN);
    else
        tl_words_out(&map->bodies[op->body].ref, &txn->next->ref, TL_WHOLE);
    tl_store_relaxed(&seat->record, (uint64_t)op->cells << 32 | op->record);
    tl_store_relaxed(&seat->from, op->from);
    tl_store_relaxed(&seat->to, op->to);
    return rc;
}

/* The spares that the seat has after a decided operation: what it displaced. */
TL_INLINE void take_displaced(struct shm_seat *seat, const struct operation *op)
{
    for (unsigned j = 0; j < op->cells; j++)
        tl_store_relaxed(&seat->spare[j], shm_node(op->expected[j]));
    tl_store_relaxed(&seat->spare_body, shm_node(op->from));
}

TL_INLINE void close_operation(struct shm_seat *seat, uint64_t number)
{
    tl_store_release(&seat->cur, number << 1); /* E2 */
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
            tl_cas(&tl_map_sheet(map, op->own[j])->ref, ref, DATED(date));
        take_displaced(seat, op);
    } else {
        uint32_t spare[SHM_CELLS_MAX];
        for (unsigned j = 0; j < op->cells; j++)
            spare[j] = undo_sheet(map, op, j, ref);
        for (unsigned j = 0; j < op->cells; j++)
            tl_store_relaxed(&seat->spare[j], spare[j]);
    }
    close_operation(seat, number);
    return decided;
}

/* The owner's way when nobody interferes: the same CASes in the same order, without looking again. False: see drive. */
TL_INLINE bool straight_through(const struct tl_map *map, const struct operation *op)
{
    for (unsigned j = 1; j < op->cells; j++)
        if (TL_UNLIKELY(!tl_cas(cell_head(map, op->cell[j]), op->expected[j], own_head(op, j))))
            return false;
    return tl_cas(&map->records[op->record].head, op->from, op->to); /* the decision */
}

/* After a decision of one's own: dates if an edge passed meanwhile, marks where other seats were met lately, closes. */
TL_INLINE void close_decided(struct tl_hand *hand, const struct operation *op, uint64_t number, uint64_t edge)
{
    const struct tl_map *map = hand->map;
    uint64_t ref = shm_ref(hand->seat_index, number), date = tl_clock_now(&hand->clock) & SHM_DATE_MASK;
    bool crossed = date >= edge;
    for (unsigned j = 0; j < op->cells; j++) {
        bool foreign = hand->foreign[j] && hand->foreign[j]--;
        if (TL_UNLIKELY(crossed || foreign))
            tl_cas(&tl_map_sheet(map, op->own[j])->ref, ref, DATED(crossed ? date : 0));
    }
    take_displaced(hand->seat, op);
    close_operation(hand->seat, number);
}

#define MARK_FOR 6 /* operations after a foreign one: readers then need not visit the seat's line */

/* Remembers which cells other seats use: their readers are spared a look at this seat. */
TL_INLINE void notice_foreign(struct tl_hand *hand, const struct tl_txn *txn)
{
    for (unsigned j = 0; j < txn->cells; j++) {
        uint64_t ref = tl_load_relaxed(&tl_map_sheet(hand->map, shm_node(txn->view[j].head))->ref);
        if (TL_UNLIKELY(!(ref & SHM_MARKS) && shm_ref_seat(ref) != hand->seat_index))
            hand->foreign[j] = MARK_FOR;
    }
}

static bool put_history(struct tl_hand *hand, const struct tl_txn *txn)
{
    for (unsigned j = 0; j < txn->cells; j++)
        if (TL_UNLIKELY(txn->view[j].moved) && !tl_history_put(hand->map, txn->cell[j], &txn->view[j]))
            return false;
    return true;
}

int tl_txn_commit(struct tl_hand *hand, struct tl_txn *txn)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t number = (tl_load_relaxed(&seat->cur) >> 1) + 1, ref = shm_ref(hand->seat_index, number);
    struct operation op;
    ensure_marked(hand, &txn->was);
    if (!put_history(hand, txn))
        return 0;
    notice_foreign(hand, txn);
    uint64_t edge;
    int rc = write_operation(hand, txn, ref, &op, &edge);
    if (TL_UNLIKELY(rc < 0))
        return rc;
    tl_fence_release();
    tl_store_release(&seat->cur, shm_cur_open(number)); /* E1 */
    if (!tl_cas(cell_head(map, op.cell[0]), op.expected[0], own_head(&op, 0))) {
        close_operation(seat, number); /* never visible: the nodes are still private */
        return 0;
    }
    if (TL_LIKELY(straight_through(map, &op))) {
        close_decided(hand, &op, number, edge);
        return 1;
    }
    drive(map, &op);
    return finish(hand, &op, number, edge);
}

int tl_txn_commit_cell(struct tl_hand *hand, struct tl_txn *txn)
{
    int rc = tl_txn_record(hand, hand->map->reservations + hand->seat_index, TL_TIMES, &txn->was);
    if (rc < 0)
        return rc;
    txn->cells = 1;
    txn->status = SHM_FREE;
    txn->apart = 0;
    txn->sum_max = TL_FOREVER;
    txn->next = &txn->body;
    memset(&txn->body, 0, sizeof txn->body);
    txn->body.generation = txn->was.body.generation + 1;
    txn->body.info = tl_body_info(1, 0, 0, 0, UINT32_MAX);
    txn->body.scope[0] = tl_handle(txn->cell[0], txn->view[0].balance.incarnation);
    return tl_txn_commit(hand, txn);
}

int tl_txn_inherit(struct tl_hand *hand)
{
    const struct tl_map *map = hand->map;
    struct shm_seat *seat = hand->seat;
    uint64_t cur = tl_load(&seat->cur), number = cur >> 1, ref = shm_ref(hand->seat_index, number);
    struct operation op;
    if (!(cur & 1)) {
        /* It may have died between writing spares of an operation and publishing it: those must not carry its number. */
        close_operation(seat, number + 1);
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
        close_operation(seat, number);
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
