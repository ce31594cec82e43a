/* SPDX-License-Identifier: MIT */
/* straight.c - the common call in one go. See straight.h. */
#include "straight.h"

#include "book.h"
#include "records.h"
#include "views.h"

/* The operation: where the record goes, and by what the balances change. */
struct step {
    uint64_t number, ref, from, to, deadline;
    uint64_t now, time1; /* the clock; and what the sheets say, which is never before what they are computed from */
    int64_t offset;
    uint32_t index;
    bool tied; /* with the deadline: of a hold that is made */
    struct shm_body *body;
    struct tl_line delta;
};

/* A cell's part: its next head, and the first line of its balance as it is and as it is to be. */
struct side {
    uint64_t head;
    struct tl_line before, after;
};

/* A call for each of the cells. The first two are written out, so that what is theirs may stay in registers. */
#define FOR_CELLS(cells, call)                                                                                         \
    do {                                                                                                               \
        {                                                                                                              \
            enum { j = 0 };                                                                                            \
            call;                                                                                                      \
        }                                                                                                              \
        if ((cells) > 1) {                                                                                             \
            enum { j = 1 };                                                                                            \
            call;                                                                                                      \
        }                                                                                                              \
        for (unsigned j = 2; j < (cells); j++)                                                                         \
            call;                                                                                                      \
    } while (0)

/* ------------------------------------------------------------------------------------------------------- what is there */

/* Looks at cell j of the operation, and adds to what all have in common. False: something is unusual. */
static bool meet(struct tl_thread *thread, unsigned j, struct tl_lanes *lanes)
{
    const struct tl_hand *hand = &thread->hand;
    const struct tl_map *map = hand->map;
    struct tl_lane *l = &thread->lane[j];
    uint64_t spare = tl_load_relaxed(&hand->seat->spare[j]), handle = thread->txn.order_of[thread->txn.asked[j]];
    l->cell = thread->txn.cell[j];
    l->at = &map->cells[l->cell];
    l->head = tl_load(&l->at->head);
    if (shm_node(l->head) >= map->sheet_count || spare >= map->sheet_count)
        return false;
    l->place = shm_place(l->cell, (uint32_t)spare);
    l->sheet = tl_map_sheet(map, shm_node(l->head));
    l->spare = tl_map_sheet(map, (uint32_t)spare);
    l->ref = tl_load(&l->sheet->ref);
    bool marked = (l->ref & SHM_MARKS) != 0, foreign = !marked && !tl_txn_is_own(hand, l->ref);
    if (foreign && tl_txn_is_open(map, l->ref))
        return false;
    lanes->time = tl_max(lanes->time, tl_txn_time(l->sheet, l->ref));
    l->stamp = tl_peek(&l->sheet->windows);
    l->edge = tl_peek(&l->sheet->edge);
    l->offset = tl_peek(&l->sheet->offset);
    l->ceiling = tl_ceiling_of(thread->ceiling, l->cell);
    l->notes = UINT64_MAX; /* no ceiling has so many: it is to be looked at */
    lanes->edge = tl_min(lanes->edge, l->edge);
    lanes->marking |= foreign || hand->foreign[j] != 0;
    lanes->ready &= tl_txn_has_windows(hand, j, l->cell, l->spare, l->stamp);
    return (!marked || (l->ref & SHM_MARKS) == SHM_AFTER) && tl_peek(&l->sheet->wide) == 0 &&
           !tl_history_stepped((int64_t)tl_peek(&l->sheet->offset1), l->offset) &&
           tl_peek(&l->sheet->after.word[SHM_INCARNATION]) == tl_handle_incarnation(handle);
}

/*
 * The same for all of them. What was read is true if the heads are still the same afterwards; and an operation of another
 * seat that was seen closed was decided if its sheet has no mark then (L1).
 */
TL_COLD static bool meet_all(struct tl_thread *thread, unsigned cells)
{
    struct tl_lanes lanes = {.edge = TL_FOREVER, .offset = INT64_MIN, .ready = true}; /* no offset was seen yet */
    thread->txn.lanes = 0;
    lanes.written = thread->hand.written;
    for (unsigned j = 0; j < cells; j++)
        if (!meet(thread, j, &lanes))
            return false;
    tl_fence_acquire();
    for (unsigned j = 0; j < cells; j++)
        if (tl_lane_differs(&thread->lane[j]))
            return false;
    if (lanes.time >= lanes.edge)
        return false;
    lanes.marking |= !lanes.ready;
    thread->lanes = lanes;
    thread->txn.lanes = cells;
    return true;
}

/* Another distance of the clocks than the last time: does it still go with all windows? */
TL_COLD static bool meet_offset(struct tl_thread *thread, unsigned cells, int64_t offset)
{
    for (unsigned j = 0; j < cells; j++)
        if (tl_history_stepped(offset, thread->lane[j].offset))
            return false;
    thread->lanes.offset = offset;
    return true;
}

/* No bucket is to be opened, and no clock has moved against another. */
TL_INLINE bool are_still(struct tl_thread *thread, unsigned cells, const struct step *step)
{
    const struct tl_lanes *lanes = &thread->lanes;
    return step->now < lanes->edge && step->now + TL_BACK_TOLERANCE_NS >= lanes->time &&
           (TL_LIKELY(step->offset == lanes->offset) || meet_offset(thread, cells, step->offset));
}

TL_INLINE bool all_stand(const struct tl_thread *thread, unsigned cells)
{
    uint64_t differs = 0;
    if (TL_UNLIKELY(thread->txn.lanes != cells || thread->lanes.written != thread->hand.written))
        return false;
    FOR_CELLS(cells, differs |= tl_lane_differs(&thread->lane[j]));
    return differs == 0;
}

/* Looks at the cells, then at the clock. */
TL_INLINE bool look_at_all(struct tl_thread *thread, unsigned cells, struct step *step)
{
    const struct tl_lane *lane = thread->lane;
    if (TL_UNLIKELY(!all_stand(thread, cells)) && !meet_all(thread, cells))
        return false;
    if (TL_UNLIKELY(tl_load_relaxed(&lane[0].at->knock) != 0))
        return false;
    step->now = tl_clock_now(&thread->hand.clock);
    step->time1 = tl_max(step->now, thread->lanes.time);
    step->offset = tl_clock_wall_offset(&thread->hand.clock);
    return are_still(thread, cells, step);
}

/* Reads the balance of a cell and adds to it. Returns the new sums, or-ed together: words that are sums, of two halves. */
TL_INLINE tl_pair add(const struct tl_lane *l, const struct step *step, struct side *s)
{
    tl_line_in(&s->before, l->sheet->after.word);
    TL_UNROLL
    for (unsigned i = 0; i < 4; i++)
        s->after.at[i] = s->before.at[i] + step->delta.at[i];
    /* the places as in layout.h: the second words of these two are no sums */
    return s->after.at[0] | s->after.at[2] | ((s->after.at[1] | s->after.at[3]) & (tl_pair){UINT64_MAX, 0});
}

/* The same for all cells. False: a sum is near its end. */
TL_INLINE bool add_all(const struct tl_thread *thread, unsigned cells, const struct step *step, struct side *s)
{
    tl_pair sums = {0, 0};
    FOR_CELLS(cells, sums |= add(&thread->lane[j], step, &s[j]));
    return TL_LIKELY((sums[0] | sums[1]) < TL_SUM_NEAR);
}

/* Spares that were no sheets of their cells get the windows; what is copied is true if the operation gets through. */
TL_COLD static void make_ready(struct tl_thread *thread, unsigned cells)
{
    struct tl_hand *hand = &thread->hand;
    tl_fence_release(); /* E3 */
    for (unsigned j = 0; j < cells; j++) {
        const struct tl_lane *l = &thread->lane[j];
        if (tl_txn_has_windows(hand, j, l->cell, l->spare, l->stamp))
            continue;
        unsigned windows = tl_txn_windows(hand->map, l->stamp);
        hand->spare_of[j] = 0; /* until it has got through */
        tl_txn_write_windows(l->spare, l->edge, l->offset, l->stamp, l->sheet->window, windows);
    }
}

/* The spare body, and the operation's number. False: there is no spare. */
TL_INLINE bool begin(struct tl_thread *thread, unsigned cells, unsigned status, struct step *step)
{
    const struct tl_hand *hand = &thread->hand;
    uint64_t spare = tl_load_relaxed(&hand->seat->spare_body);
    if (TL_UNLIKELY(spare >= hand->map->body_count))
        return false;
    if (TL_UNLIKELY(!thread->lanes.ready))
        make_ready(thread, cells);
    step->number = tl_txn_next_number(hand->seat);
    step->ref = shm_ref(hand->seat_index, step->number);
    step->to = shm_record_head(status, step->from, (uint32_t)spare);
    step->body = &hand->map->bodies[spare];
    return true;
}

/* ------------------------------------------------------------------------------------------------------- what is done */

/* Writes the sheet that follows. The windows are there already. */
TL_INLINE void write_side(const struct tl_thread *thread, unsigned j, struct side *s, uint64_t due,
                          const struct step *step)
{
    const struct tl_lane *l = &thread->lane[j];
    struct shm_sheet *to = l->spare;
    s->head = shm_next_head(l->head, (uint32_t)l->place);
    tl_txn_write_origin(to, step->ref, step->time1, step->offset, thread->lanes.time);
    tl_store_relaxed(&to->wide, 0);
    s->after.at[SHM_DUE / 2][SHM_DUE % 2] = due;
    tl_line_out(to->before.word, &s->before);
    tl_line_out(to->after.word, &s->after);
}

TL_INLINE bool swing(const struct tl_lane *l, const struct side *s)
{
    return tl_cas(&l->at->head, l->head, s->head);
}

/* After the decision: the same as in general. */
TL_INLINE void close_one(struct tl_thread *thread, unsigned j, const struct side *s, const struct step *step)
{
    struct tl_lane *l = &thread->lane[j];
    tl_store_relaxed(&thread->hand.seat->spare[j], shm_node(l->head));
    tl_lane_turn(l, s->head, step->ref);
}

/*
 * What there is more to do after a decision: marks, where somebody else used a cell lately or an edge has passed; and to
 * remember what spares were displaced from which cell.
 */
TL_COLD static void mark(struct tl_thread *thread, unsigned cells, uint64_t ref, uint64_t date)
{
    for (unsigned j = 0; j < cells; j++) {
        tl_txn_mark_own(&thread->hand, j, thread->lane[j].ref, thread->lane[j].spare, ref, date);
        thread->hand.spare_of[j] = thread->lane[j].cell + 1; /* from now on it is the sheet that was displaced */
    }
    thread->txn.lanes = 0; /* their refs are others now */
}

TL_INLINE void close_straight(struct tl_thread *thread, const struct side *s, unsigned cells, const struct step *step)
{
    struct shm_seat *seat = thread->hand.seat;
    uint64_t date = tl_clock_again(&thread->hand.clock) & SHM_DATE_MASK;
    if (TL_UNLIKELY(date >= thread->lanes.edge || thread->lanes.marking))
        mark(thread, cells, step->ref, date >= thread->lanes.edge ? date : 0);
    FOR_CELLS(cells, close_one(thread, j, &s[j], step));
    thread->lanes.time = step->time1;
    tl_store_relaxed(&seat->spare_body, shm_node(step->from));
    tl_txn_close(seat, step->number);
}

TL_INLINE bool swing_others(const struct tl_lane *lane, const struct side *s, unsigned cells)
{
    if (cells > 1 && TL_UNLIKELY(!swing(&lane[1], &s[1])))
        return false;
    for (unsigned j = 2; j < cells; j++)
        if (TL_UNLIKELY(!swing(&lane[j], &s[j])))
            return false;
    return true;
}

/* Publishes what was written and carries it out. `hold`: it makes one. False: somebody was faster. */
TL_INLINE bool carry_out(struct tl_thread *thread, const struct side *s, unsigned cells, bool hold,
                         const struct step *step)
{
    struct tl_hand *hand = &thread->hand;
    struct shm_seat *seat = hand->seat;
    const struct tl_lane *lane = thread->lane;
    tl_store_relaxed(&step->body->ref, step->ref);
    tl_txn_write_goal(seat, cells, step->index, step->from, step->to);
    FOR_CELLS(cells, tl_txn_write_step(seat, j, lane[j].head, lane[j].place));
    tl_fence_release();
    tl_store_release(&seat->cur, shm_cur_open(step->number)); /* E1 */
    if (TL_UNLIKELY(!swing(&lane[0], &s[0]))) {
        tl_txn_close(seat, step->number); /* never visible: the nodes are still private */
        return false;
    }
    if (hold)
        tl_horizon_meet_hold(hand->map, step->index, step->deadline, step->tied);
    if (TL_UNLIKELY(!swing_others(lane, s, cells) ||
                    !tl_cas(&hand->map->records[step->index].head, step->from, step->to))) {
        thread->txn.lanes = 0;
        return tl_txn_go_on(hand, step->number, thread->lanes.edge) == 1;
    }
    close_straight(thread, s, cells, step);
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- reserve */

enum verdict { FITS, FITS_NOT, UNKNOWN };

/* What is asked for. */
struct want {
    uint64_t need[TLSHM_CONCURRENCY + 1]; /* of the units on a balance's first line */
    uint64_t ttl_ns;
};

/*
 * What the limits that are remembered say; true if the sheets stand. All policy words are those that this thread has seen
 * in former calls, and no word comes back: so all of them stood when the first was looked at, on one side of every change
 * of many (pending.h). Sets the deadline.
 */
TL_INLINE enum verdict judge(struct tl_thread *thread, const struct side *s, unsigned cells, const struct want *want,
                             struct step *step)
{
    struct tl_lane *lane = thread->lane;
    const tl_pair asked = -step->delta.at[0];
    uint64_t ttl = want->ttl_ns;
    tl_pair left = {0, 0};
    bool known = true;
    FOR_CELLS(cells,
              known = known && tl_lane_is_limited(&lane[j]) && tl_ceiling_allows(lane[j].ceiling, want->need, &ttl));
    FOR_CELLS(cells, left |= tl_ceiling_left(lane[j].ceiling, &s[j].after, asked));
    step->deadline = step->now + ttl;
    if (TL_UNLIKELY(!known))
        return UNKNOWN;
    return TL_LIKELY((int64_t)(left[0] | left[1]) >= 0) ? FITS : FITS_NOT;
}

/*
 * It does not fit. Certain if no overdue hold is in the way and the sheets stand; the details would have to be looked for
 * the general way.
 */
static enum tl_straight refuse(const struct tl_thread *thread, unsigned cells, const struct want *want, uint64_t now)
{
    const struct tl_lane *lane = thread->lane;
    bool certain = true, never = false;
    for (unsigned j = 0; certain && j < cells; j++) {
        certain = tl_peek(&lane[j].sheet->after.word[SHM_DUE]) > now;
        never |= tl_ceiling_never(lane[j].ceiling, want->need);
    }
    tl_fence_acquire();
    for (unsigned j = 0; certain && j < cells; j++)
        certain = tl_load(&lane[j].at->head) == lane[j].head;
    if (!certain)
        return TL_STRAIGHT_NOT;
    tl_count(&thread->hand.seat->counter[SHM_N_REFUSED + (never ? TLSHM_NEVER_FITS : TLSHM_LIMIT)]);
    return TL_STRAIGHT_REFUSED;
}

TL_INLINE uint64_t earlier_due(const struct side *s, uint64_t deadline)
{
    return tl_min(s->before.at[SHM_DUE / 2][SHM_DUE % 2], deadline);
}

/* What a reservation adds to the first line of a balance: requests are used, the rest is held. The places as in layout.h. */
TL_INLINE void add_need(struct tl_line *delta, const uint64_t *need)
{
    delta->at[0] = (tl_pair){need[TLSHM_TOKENS], need[TLSHM_COST]};
    delta->at[1] = (tl_pair){1, 0};
    delta->at[2] = (tl_pair){0, 0};
    delta->at[3] = (tl_pair){need[TLSHM_REQUESTS], 0};
}

TL_INLINE enum tl_straight reserve(struct tl_thread *thread, const tlshm_request *request, unsigned cells,
                                   bool detailed, tlshm_id *id)
{
    const uint64_t *of = request->estimate.of;
    const struct want want = {{of[TLSHM_TOKENS], of[TLSHM_COST], tl_max(of[TLSHM_REQUESTS], 1), 1}, request->ttl_ns};
    struct side s[TLSHM_SCOPES_MAX];
    struct step step;
    struct tl_birth birth;
    add_need(&step.delta, want.need);
    if (!look_at_all(thread, cells, &step) || !add_all(thread, cells, &step, s))
        return TL_STRAIGHT_NOT;
    enum verdict verdict = judge(thread, s, cells, &want, &step);
    if (TL_UNLIKELY(verdict != FITS))
        return verdict == FITS_NOT && !detailed ? refuse(thread, cells, &want, step.now) : TL_STRAIGHT_NOT;
    if (!tl_records_next(thread, &step.index, &step.from, &birth.generation) || !begin(thread, cells, SHM_HELD, &step))
        return TL_STRAIGHT_NOT;
    birth.now = step.now;
    birth.deadline = step.deadline;
    birth.info = tl_body_info(cells, TLSHM_EXACT, request->flags, 0, UINT32_MAX);
    birth.tag = request->tag;
    step.tied = tl_horizon_ties(birth.info);
    tl_fence_release(); /* E3 */
    tl_records_write(thread, step.body, &birth, thread->txn.order_of, cells, want.need);
    FOR_CELLS(cells, write_side(thread, j, &s[j], earlier_due(&s[j], step.deadline), &step));
    if (!carry_out(thread, s, cells, true, &step))
        return TL_STRAIGHT_NOT;
    *id = tl_id(step.index, birth.generation);
    tl_count(&thread->hand.seat->counter[SHM_N_ADMITTED]);
    thread->record++;
    tl_records_fetch_next(thread);
    return TL_STRAIGHT_DONE;
}

/* The scopes are those of the last call, in order still. `scope`: their handles, or NULL: the request has them. */
TL_INLINE bool is_usual(const struct tl_txn *txn, const tlshm_request *request, const uint64_t *scope)
{
    const tlshm_scope *scopes = request->scopes;
    if (txn->ordered != request->scope_count || txn->ordered == 0 || (!scopes && !scope))
        return false;
    bool same = true;
    for (unsigned i = 0; same && i < txn->ordered; i++)
        same = txn->order_of[i] == (scope ? scope[i] : scopes[i].handle);
    return same;
}

/*
 * Other scopes than those of the last call: puts them in order. False: some are told by their keys, are none, or limits of
 * some are not remembered, so that the general way has to be taken.
 */
TL_COLD static bool take_scopes(struct tl_thread *thread, const tlshm_request *request, const uint64_t *scope)
{
    uint64_t handle[TLSHM_SCOPES_MAX];
    unsigned count = request->scope_count;
    if (count - 1 >= TLSHM_SCOPES_MAX || (!request->scopes && !scope))
        return false;
    for (unsigned i = 0; i < count; i++) {
        handle[i] = scope ? scope[i] : request->scopes[i].handle;
        uint32_t cell = tl_handle_cell(handle[i]);
        const struct tl_ceiling *c = tl_ceiling_of(thread->ceiling, cell);
        if (handle[i] == 0 || c->of != cell + 1 || !c->words)
            return false;
    }
    return tl_views_order_anew(thread->hand.map, &thread->txn, handle, count) == 0;
}

/* Amounts of units on a balance's first line alone, no key, and all of it as it should be. */
TL_INLINE bool is_simple(const tlshm_request *request)
{
    const uint64_t *of = request->estimate.of;
    uint64_t plain = of[TLSHM_TOKENS] | of[TLSHM_COST] | of[TLSHM_REQUESTS];
    return plain - 1 < TLSHM_AMOUNT_MAX && !tl_amounts_wide(of) && of[TLSHM_CONCURRENCY] == 0 &&
           request->ttl_ns - 1 < TL_TTL_MAX_NS && !(request->flags & ~TLSHM_FREE_ON_DEATH) && !request->idempotency_key;
}

enum tl_straight tl_straight_reserve(struct tl_thread *thread, const tlshm_request *request, const uint64_t *scope,
                                     bool detailed, tlshm_id *id)
{
    uint64_t flags = tl_load_relaxed(&thread->hand.map->header->flags);
    unsigned cells = request->scope_count;
    if (!is_simple(request) || (flags & (SHM_SHUTOFF | SHM_PAUSED)))
        return TL_STRAIGHT_NOT;
    if (TL_UNLIKELY(!is_usual(&thread->txn, request, scope)) && !take_scopes(thread, request, scope))
        return TL_STRAIGHT_NOT;
    /* the common number is compiled for itself */
    detailed |= (flags & SHM_LATCHES) != 0; /* a ceiling may be a latch's: whoever it refuses is to set it */
    return TL_LIKELY(cells == 2) ? reserve(thread, request, 2, detailed, id)
                                 : reserve(thread, request, cells, detailed, id);
}

/* --------------------------------------------------------------------------------------------------------------- settle */

/* What a reservation holds that can be settled straight. */
struct held {
    uint64_t info, deadline, tokens, cost, requests;
    uint64_t charge[2]; /* what is used of tokens and cost */
    const struct shm_body *body;
};

TL_INLINE bool has_usual_scopes(const struct tl_txn *txn, const struct held *h)
{
    bool same = txn->ordered == (h->info & 15) && txn->ordered != 0 &&
                tl_peek(&h->body->scope[0]) == txn->order_of[0] &&
                (txn->ordered < 2 || tl_peek(&h->body->scope[1]) == txn->order_of[1]);
    for (unsigned i = 2; same && i < txn->ordered; i++)
        same = txn->order_of[i] == tl_peek(&h->body->more_scopes[i - 2]);
    return same;
}

/* Other scopes than those of the last call: puts them in order. */
TL_COLD static bool take_its_scopes(struct tl_thread *thread, const struct held *h)
{
    uint64_t handle[TLSHM_SCOPES_MAX];
    unsigned count = (unsigned)(h->info & 15);
    if (count - 1 >= TLSHM_SCOPES_MAX)
        return false;
    for (unsigned i = 0; i < count; i++)
        handle[i] = tl_peek(i < 2 ? &h->body->scope[i] : &h->body->more_scopes[i - 2]);
    return tl_views_order_anew(thread->hand.map, &thread->txn, handle, count) == 0;
}

/* Reads the reservation of an id. True if its record's head stands at the commit. */
TL_INLINE bool read_held(struct tl_thread *thread, tlshm_id id, struct step *step, struct held *h)
{
    const struct tl_map *map = thread->hand.map;
    step->index = (uint32_t)(id & SHM_NODE_MASK);
    if (step->index >= map->reservations)
        return false;
    step->from = tl_load(&map->records[step->index].head);
    if (shm_status(step->from) != SHM_HELD || shm_node(step->from) >= map->body_count)
        return false;
    h->body = &map->bodies[shm_node(step->from)];
    uint64_t ref = tl_peek(&h->body->ref);
    h->info = tl_peek(&h->body->info);
    h->deadline = tl_peek(&h->body->deadline);
    h->tokens = tl_peek(&h->body->estimate[0]);
    h->cost = tl_peek(&h->body->estimate[1]);
    h->requests = tl_peek(&h->body->charged[2]);
    bool plain = !(h->info & TL_BODY_WIDE) && (h->info >> 16 & 255) == 0;
    return plain && tl_txn_is_over(&thread->hand, ref) && /* rule M */
           (tl_peek(&h->body->generation) & TL_GENERATION_MASK) == id >> SHM_NODE_BITS &&
           (TL_LIKELY(has_usual_scopes(&thread->txn, h)) || take_its_scopes(thread, h));
}

TL_INLINE void write_settled(const struct held *h, enum tlshm_outcome outcome, const struct step *step)
{
    struct shm_body *to = step->body;
    tl_copy_across(&to->deadline, &h->body->deadline, TL_BODY_KEPT);
    tl_store_relaxed(&to->info, (h->info & ~(UINT64_C(15) << 4)) | (uint64_t)outcome << 4);
    tl_store_relaxed(&to->ended, step->now);
    tl_store_relaxed(&to->charged[0], h->charge[0]);
    tl_store_relaxed(&to->charged[1], h->charge[1]);
    tl_store_relaxed(&to->charged[2], h->requests);
    if (TL_UNLIKELY((h->info & 15) > 2))
        tl_copy_across(to->more_scopes, h->body->more_scopes, TLSHM_SCOPES_MAX - 2);
}

/* With its last hold gone, a scope has none that is due. */
TL_INLINE uint64_t due_without(const struct side *s)
{
    return s->before.at[1][0] == 1 ? TL_FOREVER : s->before.at[SHM_DUE / 2][SHM_DUE % 2];
}

TL_INLINE void report(const struct held *h, tlshm_result *result)
{
    memset(result->charged.of, 0, sizeof result->charged.of);
    result->status = TLSHM_SETTLED;
    result->charged.of[TLSHM_TOKENS] = h->charge[0];
    result->charged.of[TLSHM_COST] = h->charge[1];
    result->charged.of[TLSHM_REQUESTS] = h->requests;
}

/* What it is charged, and what that and its end add to the first line of a balance. The places as in layout.h. */
TL_INLINE void charge(const struct tl_actual *actual, struct held *h, struct tl_line *delta)
{
    h->charge[0] = actual->of ? actual->of[TLSHM_TOKENS] : 0;
    h->charge[1] = actual->of ? actual->of[TLSHM_COST] : 0;
    if (TL_UNLIKELY(!tl_charge_is_use(&actual->charging, actual->outcome))) {
        h->charge[0] = tl_charge(&actual->charging, TLSHM_TOKENS, actual->outcome, h->tokens, h->charge[0]);
        h->charge[1] = tl_charge(&actual->charging, TLSHM_COST, actual->outcome, h->cost, h->charge[1]);
    }
    delta->at[0] = (tl_pair){0 - h->tokens, 0 - h->cost};
    delta->at[1] = (tl_pair){UINT64_MAX, 0};
    delta->at[2] = (tl_pair){h->charge[0], h->charge[1]};
    delta->at[3] = (tl_pair){0, 0};
}

TL_INLINE enum tl_straight settle(struct tl_thread *thread, const struct tl_actual *actual, struct held *h,
                                  unsigned cells, struct step *step, tlshm_result *result)
{
    struct side s[TLSHM_SCOPES_MAX];
    charge(actual, h, &step->delta);
    if (!look_at_all(thread, cells, step) || h->deadline <= step->now || !add_all(thread, cells, step, s) ||
        !begin(thread, cells, SHM_SETTLED, step))
        return TL_STRAIGHT_NOT;
    tl_fence_release(); /* E3 */
    write_settled(h, actual->outcome, step);
    FOR_CELLS(cells, write_side(thread, j, &s[j], due_without(&s[j]), step));
    if (!carry_out(thread, s, cells, false, step))
        return TL_STRAIGHT_NOT;
    tl_count(&thread->hand.seat->counter[SHM_N_SETTLED]);
    if (result)
        report(h, result);
    return TL_STRAIGHT_DONE;
}

/* Amounts of units on a balance's first line alone, all of them in range; or none. */
TL_INLINE bool is_simple_use(const struct tl_actual *actual)
{
    const uint64_t *of = actual->of;
    if (actual->charging.function || (unsigned)actual->outcome > TLSHM_AT_LEAST)
        return false;
    if (!of)
        return true;
    uint64_t plain = of[TLSHM_TOKENS] | of[TLSHM_COST] | of[TLSHM_REQUESTS] | of[TLSHM_CONCURRENCY];
    return plain <= TLSHM_AMOUNT_MAX && !tl_amounts_wide(of);
}

enum tl_straight tl_straight_settle(struct tl_thread *thread, tlshm_id id, const struct tl_actual *actual,
                                    tlshm_result *result)
{
    struct step step;
    struct held h;
    if (!is_simple_use(actual) || !read_held(thread, id, &step, &h))
        return TL_STRAIGHT_NOT;
    unsigned cells = thread->txn.ordered;
    return TL_LIKELY(cells == 2) ? settle(thread, actual, &h, 2, &step, result)
                                 : settle(thread, actual, &h, cells, &step, result);
}
