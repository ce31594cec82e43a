/* SPDX-License-Identifier: MIT */
/* straight.c - the common call in one go. See straight.h. */
#include "straight.h"

#include "book.h"
#include "records.h"

/* One of the cells: what its head leads to, and the spare that is to follow. */
struct side {
    uint32_t cell;
    uint64_t head, ref, time, stamp, edge;
    const struct shm_sheet *sheet;
    struct shm_sheet *spare;
};

/* The operation: where the record goes, and by what the balances change. */
struct step {
    uint64_t number, ref, from, to, now, edge, sums, deadline;
    int64_t offset;
    uint32_t index;
    struct shm_body *body;
    uint64_t delta[SHM_NARROW_WORDS];
};

/* ------------------------------------------------------------------------------------------------------- what is there */

/* The scopes are those of the last call, in order still. */
TL_INLINE bool is_usual(const struct tl_txn *txn, const uint64_t *scope, unsigned cells)
{
    bool same = txn->ordered == cells && cells != 0;
    for (unsigned i = 0; same && i < cells; i++)
        same = txn->order_of[i] == scope[i];
    return same;
}

/* Looks at cell j of the operation. False: something is unusual. True if the head still stands at the commit. */
TL_INLINE bool look(const struct tl_thread *thread, unsigned j, struct side *s)
{
    const struct tl_hand *hand = &thread->hand;
    const struct tl_map *map = hand->map;
    uint64_t spare = tl_load_relaxed(&hand->seat->spare[j]), handle = thread->txn.order_of[thread->txn.asked[j]];
    s->cell = thread->txn.cell[j];
    s->head = tl_load(&map->cells[s->cell].head);
    if (shm_node(s->head) >= map->sheet_count || spare >= map->sheet_count || hand->spare_of[j] != s->cell + 1)
        return false;
    s->sheet = tl_map_sheet(map, shm_node(s->head));
    s->spare = tl_map_sheet(map, (uint32_t)spare);
    s->ref = tl_load(&s->sheet->ref);
    bool own = tl_txn_is_own(hand, s->ref);
    s->time = tl_max(tl_peek(&s->sheet->time1), own ? 0 : s->ref >> 2);
    s->stamp = tl_peek(&s->sheet->windows);
    s->edge = tl_peek(&s->sheet->edge);
    return (own || (s->ref & SHM_MARKS) == SHM_AFTER) && tl_peek(&s->sheet->wide) == 0 &&
           tl_load_relaxed(&s->spare->windows) == s->stamp &&
           tl_peek(&s->sheet->after.word[SHM_INCARNATION]) == tl_handle_incarnation(handle);
}

/* No bucket is to be opened, and no clock has moved against another. */
TL_INLINE bool is_still(const struct side *s, uint64_t now, int64_t offset)
{
    return tl_max(now, s->time) < s->edge && now + TL_BACK_TOLERANCE_NS >= s->time &&
           !tl_history_stepped(offset, tl_peek(&s->sheet->offset));
}

/* Looks at the cells, then at the clock. */
TL_INLINE bool look_at_all(struct tl_thread *thread, struct side *s, unsigned cells, struct step *step)
{
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++)
        if (!look(thread, j, &s[j]))
            return false;
    if (tl_load_relaxed(&thread->hand.map->cells[s[0].cell].knock) != 0)
        return false;
    step->now = tl_clock_now(&thread->hand.clock);
    step->offset = tl_clock_wall_offset(&thread->hand.clock);
    step->edge = TL_FOREVER;
    bool still = true;
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++) {
        step->edge = tl_min(step->edge, s[j].edge);
        still &= is_still(&s[j], step->now, step->offset);
    }
    return still;
}

/* The spare body, and the operation's number. */
TL_INLINE bool begin(const struct tl_hand *hand, unsigned status, struct step *step)
{
    uint64_t spare = tl_load_relaxed(&hand->seat->spare_body);
    if (spare >= hand->map->body_count)
        return false;
    step->sums = 0;
    step->number = tl_txn_next_number(hand->seat);
    step->ref = shm_ref(hand->seat_index, step->number);
    step->to = shm_record_head(status, step->from, (uint32_t)spare);
    step->body = &hand->map->bodies[spare];
    return true;
}

/* ------------------------------------------------------------------------------------------------------- what is done */

/* Writes the sheet that follows. The windows are there already. */
TL_INLINE void write_side(const struct side *s, uint64_t due, struct step *step)
{
    struct shm_sheet *to = s->spare;
    tl_txn_write_origin(to, step->ref, step->now, step->offset, s->time);
    tl_store_relaxed(&to->wide, 0);
    step->sums |= tl_step_out(to->before.word, to->after.word, s->sheet->after.word, step->delta, SHM_NARROW_WORDS);
    tl_store_relaxed(&to->after.word[SHM_DUE], due);
}

TL_INLINE void write_seat(struct shm_seat *seat, const struct side *s, unsigned cells, const struct step *step)
{
    tl_txn_write_goal(seat, cells, step->index, step->from, step->to);
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++)
        tl_txn_write_step(seat, j, s[j].cell, s[j].head);
}

/* After the decision: the same as in general. */
TL_INLINE void close_straight(struct tl_hand *hand, const struct side *s, unsigned cells, const struct step *step)
{
    struct shm_seat *seat = hand->seat;
    uint64_t date = tl_clock_now(&hand->clock) & SHM_DATE_MASK;
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++) {
        tl_txn_mark_own(hand, j, s[j].ref, s[j].spare, step->ref, date >= step->edge ? date : 0);
        tl_store_relaxed(&seat->spare[j], shm_node(s[j].head));
    }
    tl_store_relaxed(&seat->spare_body, shm_node(step->from));
    tl_txn_close(seat, step->number);
}

TL_INLINE bool swing_others(const struct tl_hand *hand, const struct side *s, unsigned cells)
{
    TL_UNROLL_TWO
    for (unsigned j = 1; j < cells; j++)
        if (TL_UNLIKELY(!tl_txn_swing(hand, j, s[j].cell, s[j].head)))
            return false;
    return true;
}

/* Publishes what was written and carries it out. 1: done; 0: somebody was faster, or a sum is near its end. */
TL_INLINE int carry_out(struct tl_hand *hand, const struct side *s, unsigned cells, const struct step *step)
{
    struct shm_seat *seat = hand->seat;
    if (TL_UNLIKELY(step->sums >= TL_SUM_NEAR))
        return 0;
    tl_store_relaxed(&step->body->ref, step->ref);
    write_seat(seat, s, cells, step);
    tl_fence_release();
    tl_store_release(&seat->cur, shm_cur_open(step->number)); /* E1 */
    if (TL_UNLIKELY(!tl_txn_swing(hand, 0, s[0].cell, s[0].head))) {
        tl_txn_close(seat, step->number); /* never visible: the nodes are still private */
        return 0;
    }
    tl_horizon_meet(hand->map, step->index, step->to);
    if (TL_UNLIKELY(!swing_others(hand, s, cells) ||
                    !tl_cas(&hand->map->records[step->index].head, step->from, step->to)))
        return tl_txn_go_on(hand, step->number, step->edge) == 1;
    close_straight(hand, s, cells, step);
    return 1;
}

/* -------------------------------------------------------------------------------------------------------------- reserve */

enum verdict { FITS, FITS_NOT, UNKNOWN };

/*
 * What the limits that are remembered say; true if the sheets stand. All policy words are those that this thread has seen
 * in former calls, and no word comes back: so all of them stood when the first was looked at, on one side of every change
 * of many (pending.h). Sets the deadline.
 */
TL_INLINE enum verdict judge(const struct tl_thread *thread, const struct side *s, unsigned cells,
                             const struct tl_ask *ask, struct step *step)
{
    const uint64_t *need = ask->need, now = step->now;
    uint64_t ttl = ask->ttl_ns;
    bool fits = true;
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++) {
        const struct tl_ceiling *c = tl_ceiling_of(thread->ceiling, s[j].cell);
        if (!tl_ceiling_stands(c, s[j].cell, s[j].stamp, s[j].edge, now))
            return UNKNOWN;
        if (TL_UNLIKELY(!tl_ceiling_allows(c, need, &ttl)))
            return UNKNOWN;
        fits &= tl_ceiling_fits(c, s[j].sheet->after.word, need);
    }
    step->deadline = now + ttl;
    return TL_LIKELY(fits) ? FITS : FITS_NOT;
}

/*
 * It does not fit. Certain if no overdue hold is in the way and the sheets stand; the details would have to be looked for
 * the general way.
 */
static int refuse(const struct tl_thread *thread, const struct side *s, unsigned cells, const uint64_t *need,
                  uint64_t now, struct tl_no *no)
{
    bool certain = !no->detailed, never = false;
    for (unsigned j = 0; certain && j < cells; j++) {
        certain = tl_peek(&s[j].sheet->after.word[SHM_DUE]) > now;
        never |= tl_ceiling_never(tl_ceiling_of(thread->ceiling, s[j].cell), need);
    }
    tl_fence_acquire();
    for (unsigned j = 0; certain && j < cells; j++)
        certain = tl_load(&thread->hand.map->cells[s[j].cell].head) == s[j].head;
    if (!certain)
        return 0;
    no->reason = never ? TLSHM_NEVER_FITS : TLSHM_LIMIT;
    no->cell = no->limit = UINT32_MAX;
    return TL_STRAIGHT_REFUSED;
}

TL_INLINE uint64_t earlier_due(const struct side *s, uint64_t deadline)
{
    return tl_min(tl_peek(&s->sheet->after.word[SHM_DUE]), deadline);
}

TL_INLINE int reserve(struct tl_thread *thread, const struct tl_ask *ask, unsigned cells, tlshm_id *id,
                      struct tl_no *no)
{
    struct tl_hand *hand = &thread->hand;
    struct side s[TLSHM_SCOPES_MAX];
    struct step step;
    uint64_t generation;
    if (!look_at_all(thread, s, cells, &step))
        return 0;
    enum verdict verdict = judge(thread, s, cells, ask, &step);
    if (TL_UNLIKELY(verdict != FITS))
        return verdict == FITS_NOT ? refuse(thread, s, cells, ask->need, step.now, no) : 0;
    if (!tl_records_next(thread, &step.index, &step.from, &generation) || !begin(hand, SHM_HELD, &step))
        return 0;
    const struct tl_birth birth = {generation, step.now, step.deadline};
    tl_book_need(step.delta, ask->need);
    tl_fence_release(); /* E3 */
    tl_records_write(thread, step.body, ask, cells, tl_body_info(cells, TLSHM_EXACT, ask->flags, 0, UINT32_MAX),
                     &birth);
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++)
        write_side(&s[j], earlier_due(&s[j], step.deadline), &step);
    *id = tl_id(step.index, generation);
    if (!carry_out(hand, s, cells, &step))
        return 0;
    thread->record++;
    tl_records_fetch_next(thread);
    return TL_STRAIGHT_DONE;
}

int tl_straight_reserve(struct tl_thread *thread, const struct tl_ask *ask, tlshm_id *id, struct tl_no *no)
{
    uint64_t flags = tl_load_relaxed(&thread->hand.map->header->flags);
    if (ask->key || !is_usual(&thread->txn, ask->scope, ask->scopes) || tl_amounts_wide(ask->need) ||
        (flags & (SHM_SHUTOFF | SHM_PAUSED)))
        return 0;
    /* the common number is compiled for itself */
    return TL_LIKELY(ask->scopes == 2) ? reserve(thread, ask, 2, id, no) : reserve(thread, ask, ask->scopes, id, no);
}

/* --------------------------------------------------------------------------------------------------------------- settle */

/* What a reservation holds that can be settled straight. */
struct held {
    uint64_t info, deadline, tokens, cost, requests;
    const struct shm_body *body;
};

TL_INLINE bool has_usual_scopes(const struct tl_txn *txn, const struct held *h)
{
    bool same = txn->ordered == (h->info & 15) && txn->ordered != 0 && tl_peek(&h->body->scope[0]) == txn->order_of[0];
    for (unsigned i = 1; same && i < txn->ordered; i++)
        same = txn->order_of[i] == tl_peek(i < 2 ? &h->body->scope[1] : &h->body->more_scopes[i - 2]);
    return same;
}

/* Reads the reservation of an id. True if its record's head stands at the commit. */
TL_INLINE bool read_held(const struct tl_thread *thread, tlshm_id id, struct step *step, struct held *h)
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
           has_usual_scopes(&thread->txn, h);
}

TL_INLINE void write_settled(const struct held *h, enum tlshm_outcome outcome, const struct step *step)
{
    struct shm_body *to = step->body;
    tl_copy_across(&to->deadline, &h->body->deadline, TL_BODY_KEPT);
    tl_store_relaxed(&to->info, (h->info & ~(UINT64_C(15) << 4)) | (uint64_t)outcome << 4);
    tl_store_relaxed(&to->ended, step->now);
    tl_store_relaxed(&to->charged[0], step->delta[4]);
    tl_store_relaxed(&to->charged[1], step->delta[5]);
    tl_store_relaxed(&to->charged[2], h->requests);
    if (TL_UNLIKELY((h->info & 15) > 2))
        tl_copy_across(to->more_scopes, h->body->more_scopes, TLSHM_SCOPES_MAX - 2);
}

/* With its last hold gone, a scope has none that is due. */
TL_INLINE uint64_t due_without(const struct side *s)
{
    return tl_peek(&s->sheet->after.word[2]) == 1 ? TL_FOREVER : tl_peek(&s->sheet->after.word[SHM_DUE]);
}

TL_INLINE void report(const struct step *step, uint64_t requests, tlshm_result *result)
{
    memset(result->charged.of, 0, sizeof result->charged.of);
    result->status = TLSHM_SETTLED;
    result->charged.of[TLSHM_TOKENS] = step->delta[4];
    result->charged.of[TLSHM_COST] = step->delta[5];
    result->charged.of[TLSHM_REQUESTS] = requests;
}

TL_INLINE int settle(struct tl_thread *thread, const struct tl_actual *actual, struct held *h, unsigned cells,
                     struct step *step, tlshm_result *result)
{
    struct side s[TLSHM_SCOPES_MAX];
    const uint64_t *of = actual->of;
    if (!look_at_all(thread, s, cells, step) || h->deadline <= step->now || !begin(&thread->hand, SHM_SETTLED, step))
        return 0;
    step->delta[0] = 0 - h->tokens; /* the places as in layout.h */
    step->delta[1] = 0 - h->cost;
    step->delta[2] = UINT64_MAX;
    step->delta[3] = step->delta[6] = step->delta[7] = 0;
    step->delta[4] = tl_charge(actual->charging, TLSHM_TOKENS, actual->outcome, h->tokens, of ? of[TLSHM_TOKENS] : 0);
    step->delta[5] = tl_charge(actual->charging, TLSHM_COST, actual->outcome, h->cost, of ? of[TLSHM_COST] : 0);
    tl_fence_release(); /* E3 */
    write_settled(h, actual->outcome, step);
    TL_UNROLL_TWO
    for (unsigned j = 0; j < cells; j++)
        write_side(&s[j], due_without(&s[j]), step);
    if (!carry_out(&thread->hand, s, cells, step))
        return 0;
    if (result)
        report(step, h->requests, result);
    return TL_STRAIGHT_DONE;
}

int tl_straight_settle(struct tl_thread *thread, tlshm_id id, const struct tl_actual *actual, tlshm_result *result)
{
    struct step step;
    struct held h;
    if (actual->charging->function || (actual->of && tl_amounts_wide(actual->of)) || !read_held(thread, id, &step, &h))
        return 0;
    unsigned cells = thread->txn.ordered;
    return TL_LIKELY(cells == 2) ? settle(thread, actual, &h, 2, &step, result)
                                 : settle(thread, actual, &h, cells, &step, result);
}
