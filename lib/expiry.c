/* SPDX-License-Identifier: MIT */
/* expiry.c - walking the table of reservations for what is overdue. See expiry.h. */
#include "expiry.h"

#include <stdlib.h>

#include "ending.h"
#include "views.h"

#define AHEAD 8 /* heads looked ahead, so that their bodies are on the way when they are read */

static void fetch_ahead(const struct tl_map *map, uint32_t index)
{
    if (index >= map->reservations)
        return;
    uint64_t head = tl_load_relaxed(&map->records[index].head);
    if (shm_status(head) == SHM_HELD && shm_node(head) < map->body_count)
        __builtin_prefetch(&map->bodies[shm_node(head)]);
}

int tl_expiry_walk(const struct tl_hand *hand, tl_expiry_visit visit, void *context)
{
    const struct tl_map *map = hand->map;
    struct tl_record record;
    for (uint32_t i = 0; i < map->reservations; i++) {
        fetch_ahead(map, i + AHEAD);
        if (shm_status(tl_load(&map->records[i].head)) != SHM_HELD)
            continue;
        int rc = tl_txn_record(hand, i, TL_PLAIN, &record);
        if (rc < 0)
            return rc;
        if (shm_status(record.head) == SHM_HELD)
            visit(context, &record);
    }
    return 0;
}

bool tl_expiry_names(const struct tl_body *body, uint32_t cell)
{
    for (unsigned i = 0; i < tl_body_scopes(body); i++)
        if (tl_handle_cell(body->scope[i]) == cell)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------- one scope's holds */

struct search {
    struct tl_thread *thread;
    uint32_t cell;
    uint64_t now;
    uint64_t expired;
    uint64_t overdue; /* seen and not expired: somebody else may be at it */
    uint64_t due;     /* earliest deadline that is left */
};

static const struct tl_ending expiry = {.to = TLSHM_EXPIRED};

static void expire_on_cell(void *context, const struct tl_record *record)
{
    struct search *s = context;
    if (record->body.deadline > s->now || !tl_expiry_names(&record->body, s->cell))
        return;
    if (tl_ending_run(s->thread, tl_id(record->index, record->body.generation), &expiry, NULL, NULL) == TLSHM_OK)
        s->expired++;
}

static void find_due(void *context, const struct tl_record *record)
{
    struct search *s = context;
    if (!tl_expiry_names(&record->body, s->cell))
        return;
    s->overdue += record->body.deadline <= s->now;
    s->due = tl_min(s->due, record->body.deadline);
}

/* Sets the scope's due time to what its holds say. Lost to a change of its holds, it stays early: harmless. */
static void raise_due(struct tl_thread *thread, uint32_t cell)
{
    struct tl_txn *txn = &thread->txn;
    struct search s = {.cell = cell, .due = TL_FOREVER};
    if (tl_txn_snapshot(&thread->hand, cell, &txn->view[0]) < 0)
        return;
    tl_views_read_clock(&thread->hand, txn);
    s.now = txn->now;
    if (tl_view_due(&txn->view[0]) > s.now || tl_expiry_walk(&thread->hand, find_due, &s) < 0 || s.overdue)
        return;
    txn->cell[0] = cell;
    tl_view_balance(&txn->view[0], txn->instead);
    txn->instead[SHM_DUE] = s.due;
    tl_txn_commit_cell(&thread->hand, txn);
}

bool tl_expiry_in_the_way(struct tl_thread *thread, unsigned scopes)
{
    uint32_t late[SHM_CELLS_MAX];
    unsigned count = 0;
    struct search s = {.thread = thread, .now = thread->txn.now};
    for (unsigned j = 0; j < scopes; j++)
        if (tl_view_due(&thread->txn.view[j]) <= s.now)
            late[count++] = thread->txn.cell[j];
    for (unsigned i = 0; i < count; i++) {
        s.cell = late[i];
        tl_expiry_walk(&thread->hand, expire_on_cell, &s);
        raise_due(thread, late[i]);
    }
    return count > 0; /* txn was used: the caller decides anew */
}

/* ------------------------------------------------------------------------------------------------------- everything */

struct sweep {
    struct tl_thread *thread;
    uint64_t now;
    struct tl_expiry_report report;
};

/* Tied to a thread, and the seat that it had is not its any more. */
static bool orphaned(const struct tl_map *map, const struct tl_body *body)
{
    uint32_t seat = tl_owner_seat(body->owner);
    if (!(tl_body_flags(body) & TLSHM_FREE_ON_DEATH) || seat >= map->seat_count)
        return false;
    return !tl_owner_epoch_is(body->owner, tl_load(&map->seats[seat].epoch));
}

static void expire_any(void *context, const struct tl_record *record)
{
    struct sweep *s = context;
    struct tl_ending how = expiry;
    uint64_t lag = 0;
    how.forced = orphaned(s->thread->hand.map, &record->body);
    if (record->body.deadline > s->now && !how.forced) {
        s->report.live++;
        s->report.next_due = tl_min(s->report.next_due, record->body.deadline);
        return;
    }
    if (tl_ending_run(s->thread, tl_id(record->index, record->body.generation), &how, NULL, &lag) != TLSHM_OK)
        return;
    s->report.expired++;
    s->report.lag_max_ns = tl_max(s->report.lag_max_ns, lag);
}

/* The scopes whose due time has passed, to be set anew after one walk for all of them. */
struct dues {
    const struct tl_map *map;
    struct due {
        uint64_t head, first;
    } * of; /* by cell, from the first scope on; head 0: not concerned */
};

static void note_due(void *context, const struct tl_record *record)
{
    struct dues *dues = context;
    for (unsigned i = 0; i < tl_body_scopes(&record->body); i++) {
        uint32_t cell = tl_handle_cell(record->body.scope[i]);
        if (!tl_map_is_scope(dues->map, cell))
            continue;
        struct due *due = &dues->of[cell - dues->map->tier_cells];
        due->first = tl_min(due->first, record->body.deadline);
    }
}

/* Sets one scope's due time, unless its holds changed since its head was noted. */
static void set_due(struct tl_thread *thread, uint32_t cell, const struct due *due)
{
    struct tl_txn *txn = &thread->txn;
    if (tl_txn_snapshot(&thread->hand, cell, &txn->view[0]) < 0 || txn->view[0].head != due->head)
        return;
    tl_views_read_clock(&thread->hand, txn);
    if (due->first <= txn->now)
        return;
    txn->cell[0] = cell;
    tl_view_balance(&txn->view[0], txn->instead);
    txn->instead[SHM_DUE] = due->first;
    tl_txn_commit_cell(&thread->hand, txn);
}

/* Notes the heads of the scopes whose due time has passed. Each snapshot settles the outcome of what was met. */
static uint32_t find_late(struct tl_thread *thread, struct dues *dues, uint64_t now)
{
    const struct tl_map *map = dues->map;
    struct tl_view view;
    uint32_t late = 0;
    for (uint32_t cell = map->tier_cells; cell < map->scope_end; cell++) {
        struct due *due = &dues->of[cell - map->tier_cells];
        due->first = TL_FOREVER;
        if (tl_txn_snapshot(&thread->hand, cell, &view) < 0 || tl_view_due(&view) > now)
            continue;
        due->head = view.head;
        late++;
    }
    return late;
}

/* With it, looks and refusals need not walk the table wherever a reaper runs. */
static void raise_all(struct tl_thread *thread, uint64_t now)
{
    const struct tl_map *map = thread->hand.map;
    struct dues dues = {map, calloc(map->scope_end - map->tier_cells, sizeof *dues.of)};
    if (dues.of && find_late(thread, &dues, now) > 0 && tl_expiry_walk(&thread->hand, note_due, &dues) == 0)
        for (uint32_t cell = map->tier_cells; cell < map->scope_end; cell++)
            if (dues.of[cell - map->tier_cells].head)
                set_due(thread, cell, &dues.of[cell - map->tier_cells]);
    free(dues.of);
}

uint64_t tl_expiry_all(struct tl_thread *thread, struct tl_expiry_report *report)
{
    struct sweep s = {.thread = thread, .now = tl_clock_now(&thread->hand.clock)};
    s.report.next_due = TL_FOREVER;
    tl_expiry_walk(&thread->hand, expire_any, &s);
    raise_all(thread, s.now);
    if (report)
        *report = s.report;
    return s.report.expired;
}

/* ------------------------------------------------------------------------------------------------------------ looks */

struct discount {
    uint32_t cell;
    uint64_t now;
    uint64_t *held;
};

static void take_off(void *context, const struct tl_record *record)
{
    struct discount *d = context;
    if (record->body.deadline > d->now || !tl_expiry_names(&record->body, d->cell))
        return;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (u != TLSHM_REQUESTS)
            d->held[u] -= tl_min(d->held[u], record->body.estimate[u]);
}

int tl_expiry_discount(const struct tl_hand *hand, uint32_t cell, uint64_t now, uint64_t *held)
{
    struct discount d = {cell, now, held};
    return tl_expiry_walk(hand, take_off, &d);
}
