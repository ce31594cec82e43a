/* SPDX-License-Identifier: MIT */
/* expiry.c - walking the table of reservations for what is overdue. See expiry.h. */
#include "expiry.h"

#include <stdlib.h>

#include "ending.h"
#include "views.h"

#define AHEAD 8 /* heads looked ahead, so that their bodies are on the way when they are read */

/* ---------------------------------------------------------------------------------------------------------------- walks */

static void fetch_ahead(const struct tl_map *map, uint32_t index)
{
    if (index >= map->reservations)
        return;
    uint64_t head = tl_load_relaxed(&map->records[index].head);
    if (shm_status(head) == SHM_HELD && shm_node(head) < map->body_count)
        __builtin_prefetch(&map->bodies[shm_node(head)]);
}

/* Reads so much of a record if it is HELD. 1, 0 or an error. */
static int read_held(const struct tl_hand *hand, uint32_t index, enum tl_depth depth, struct tl_record *record)
{
    if (shm_status(tl_load(&hand->map->records[index].head)) != SHM_HELD)
        return 0;
    int rc = tl_txn_record(hand, index, depth, record);
    return rc < 0 ? rc : shm_status(record->head) == SHM_HELD;
}

int tl_expiry_walk(const struct tl_hand *hand, tl_expiry_visit visit, void *context)
{
    struct tl_record record;
    for (uint32_t i = 0; i < hand->map->reservations; i++) {
        fetch_ahead(hand->map, i + AHEAD);
        int rc = read_held(hand, i, TL_PLAIN, &record);
        if (rc < 0)
            return rc;
        if (rc > 0)
            visit(context, &record);
    }
    return 0;
}

static bool names(const struct tl_body *body, uint32_t cell)
{
    for (unsigned i = 0; i < tl_body_scopes(body); i++)
        if (tl_handle_cell(body->scope[i]) == cell)
            return true;
    return false;
}

static bool in_time(const struct tl_search *search, const struct tl_body *body)
{
    return body->deadline >= search->from && body->deadline < search->before;
}

static int search_block(const struct tl_hand *hand, uint32_t block, struct tl_search *search)
{
    struct tl_record record;
    for (uint32_t i = block * SHM_BLOCK; i < (block + 1) * SHM_BLOCK; i++) {
        fetch_ahead(hand->map, i + AHEAD);
        int rc = read_held(hand, i, TL_TIMES, &record);
        if (rc > 0 && in_time(search, &record.body)) /* most are told by their first line */
            rc = read_held(hand, i, TL_PLAIN, &record);
        else if (rc >= 0)
            continue;
        if (rc < 0)
            return rc;
        if (rc > 0 && in_time(search, &record.body) && (search->cell == TL_NONE || names(&record.body, search->cell)))
            search->visit(search, &record);
    }
    return 0;
}

int tl_expiry_search(const struct tl_hand *hand, struct tl_search *search)
{
    const struct tl_map *map = hand->map;
    int rc = 0;
    for (uint32_t block = 0; rc == 0 && block < map->block_count && search->from < search->before; block++)
        if (tl_horizon_time(tl_load(&map->horizons[block])) < search->before)
            rc = search_block(hand, block, search);
    return rc;
}

static void lower_before(void *context, const struct tl_record *record)
{
    struct tl_search *search = context;
    search->before = record->body.deadline;
}

/* The block whose horizon is the next one, from a time on; block_count: none. */
static uint32_t next_block(const struct tl_map *map, uint64_t from)
{
    uint32_t next = map->block_count;
    uint64_t first = TL_FOREVER;
    for (uint32_t block = 0; block < map->block_count; block++) {
        uint64_t time = tl_horizon_time(tl_load(&map->horizons[block]));
        if (time >= from && time < first) {
            first = time;
            next = block;
        }
    }
    return next;
}

/* What is most likely the first is read before all others, which mostly need not be read then. */
uint64_t tl_expiry_first(const struct tl_hand *hand, uint64_t from)
{
    struct tl_search search = {.cell = TL_NONE, .from = from, .before = TL_FOREVER, .visit = lower_before};
    uint32_t next = next_block(hand->map, tl_max(from, 1)); /* 0: doubted */
    if (next == hand->map->block_count || search_block(hand, next, &search) == 0)
        tl_expiry_search(hand, &search);
    return search.before;
}

/* ---------------------------------------------------------------------------------------------------------------- sweep */

#define BATCH 32   /* blocks whose horizons are raised after one look at the seats */
#define OTHERS 256 /* overdue holds of other scopes that a refusal ends on its way: else each would read them again */

/* Expires what is due, and raises the horizons of the blocks that it reads. */
struct sweep {
    struct tl_thread *thread;
    uint64_t now;
    const uint32_t *cell; /* only holds on these, and some others; NULL: all */
    unsigned cells, others;
    bool orphans; /* also those tied to a thread that is gone */
    bool failed;  /* some of what should have ended may be there still */
    unsigned blocks;
    uint32_t block[BATCH];
    uint64_t doubted[BATCH];
    uint64_t first; /* of the block that is read: the earliest deadline left ... */
    bool tied;      /* ... and whether a hold that is left is tied */
    struct tl_expiry_report report;
};

static bool concerns(struct sweep *s, const struct tl_body *body)
{
    for (unsigned i = 0; i < s->cells; i++)
        if (names(body, s->cell[i]))
            return true;
    return !s->cell || (s->others && s->others--);
}

/* Ends a hold if its time has come. True if it is over. */
static bool end_hold(struct sweep *s, uint32_t index, bool due)
{
    struct tl_ending how = {.to = TLSHM_EXPIRED};
    struct tl_record record;
    uint64_t lag = 0;
    int rc = read_held(&s->thread->hand, index, TL_PLAIN, &record);
    if (rc <= 0)
        return rc == 0;
    how.forced = s->orphans && tl_body_is_orphan(s->thread->hand.map, &record.body);
    if (!how.forced && !(due && concerns(s, &record.body)))
        return false;
    rc = tl_ending_run(s->thread, tl_id(index, record.body.generation), &how, NULL, &lag);
    if (rc != TLSHM_OK) {
        s->failed |= rc < 0 && rc != -TLSHM_EUNKNOWN;
        return false; /* somebody else has ended or extended it: the next look tells */
    }
    s->report.expired++;
    s->report.lag_max_ns = tl_max(s->report.lag_max_ns, lag);
    return true;
}

/* 0 or an error. */
static int sweep_record(struct sweep *s, uint32_t index)
{
    struct tl_record record;
    int rc = read_held(&s->thread->hand, index, TL_TIMES, &record);
    if (rc <= 0)
        return rc;
    bool due = record.body.deadline <= s->now, tied = tl_horizon_ties(record.body.info);
    if ((due || (tied && s->orphans)) && end_hold(s, index, due))
        return 0;
    s->report.live++;
    s->first = tl_min(s->first, record.body.deadline);
    s->tied |= tied;
    return 0;
}

/* The body of a record that is HELD, or NULL. */
static const struct shm_body *held_body(const struct tl_map *map, uint32_t index)
{
    uint64_t head = tl_load_relaxed(&map->records[index].head);
    return shm_status(head) == SHM_HELD && shm_node(head) < map->body_count ? &map->bodies[shm_node(head)] : NULL;
}

static void fetch_sheet(const struct tl_map *map, uint64_t handle)
{
    uint32_t cell = tl_handle_cell(handle);
    uint32_t sheet = cell < map->cell_count ? shm_node(tl_load_relaxed(&map->cells[cell].head)) : map->sheet_count;
    if (sheet >= map->sheet_count)
        return;
    __builtin_prefetch(&tl_map_sheet(map, sheet)->ref);
    __builtin_prefetch(&tl_map_sheet(map, sheet)->after);
}

static void fetch_cell(const struct tl_map *map, uint64_t handle)
{
    if (tl_handle_cell(handle) < map->cell_count)
        __builtin_prefetch(&map->cells[tl_handle_cell(handle)], 1);
}

/*
 * Where many holds are due at once, each is in other places of the memory: those of a whole block are fetched together, a
 * step further each time. Twice as fast. Nothing is decided on what is read here.
 */
static void fetch_block(const struct sweep *s, uint32_t block)
{
    const struct tl_map *map = s->thread->hand.map;
    for (unsigned step = 0; step < 3; step++)
        for (uint32_t i = block * SHM_BLOCK; i < (block + 1) * SHM_BLOCK; i++) {
            const struct shm_body *body = held_body(map, i);
            if (body && step == 0) {
                __builtin_prefetch(&body->ref);
                __builtin_prefetch(&body->created);
            } else if (body && tl_load_relaxed(&body->deadline) <= s->now) {
                for (unsigned j = 0; j < 2; j++)
                    (step == 1 ? fetch_cell : fetch_sheet)(map, tl_load_relaxed(&body->scope[j]));
            }
        }
}

static int sweep_block(struct sweep *s, uint32_t block)
{
    s->first = TL_FOREVER;
    s->tied = false;
    fetch_block(s, block);
    for (uint32_t i = block * SHM_BLOCK; i < (block + 1) * SHM_BLOCK; i++) {
        int rc = sweep_record(s, i);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Reads the blocks that were doubted. One that cannot be read stays doubted. */
static void sweep_batch(struct sweep *s)
{
    const struct tl_map *map = s->thread->hand.map;
    if (s->blocks)
        tl_horizon_meet_all(map);
    for (unsigned i = 0; i < s->blocks; i++) {
        if (sweep_block(s, s->block[i]) < 0)
            s->failed = true;
        else
            tl_horizon_trust(&map->horizons[s->block[i]], s->doubted[i], s->first, s->tied);
    }
    s->blocks = 0;
}

static uint64_t count_held(const struct tl_map *map, uint32_t block)
{
    uint64_t held = 0;
    for (uint32_t i = block * SHM_BLOCK; i < (block + 1) * SHM_BLOCK; i++)
        held += shm_status(tl_load_relaxed(&map->records[i].head)) == SHM_HELD;
    return held;
}

static void sweep_all(struct sweep *s)
{
    const struct tl_map *map = s->thread->hand.map;
    for (uint32_t block = 0; block < map->block_count; block++) {
        uint64_t word = tl_load(&map->horizons[block]), time = tl_horizon_time(word);
        bool due = time <= s->now || (s->orphans && (word & TL_HORIZON_TIED));
        if (!due) {
            if (!s->cell && time != TL_FOREVER)
                s->report.live += count_held(map, block);
            continue;
        }
        s->block[s->blocks] = block;
        s->doubted[s->blocks++] = tl_horizon_doubt(&map->horizons[block]);
        if (s->blocks == BATCH)
            sweep_batch(s);
    }
    sweep_batch(s);
}

/* ------------------------------------------------------------------------------------------------- one scope's holds */

static void find_due(void *context, const struct tl_record *record)
{
    struct tl_search *search = context;
    uint64_t *due = search->context;
    *due = tl_min(*due, record->body.deadline);
}

/*
 * A time before which no hold on the cell ends, later than `now`; or one that is not later. What the horizons that lie ahead
 * say of all scopes is good enough: it holds at least until a block's time comes.
 */
static uint64_t due_of(const struct tl_hand *hand, uint32_t cell, uint64_t now)
{
    const struct tl_map *map = hand->map;
    uint64_t due = TL_FOREVER;
    struct tl_search search = {.cell = cell, .before = TL_FOREVER, .visit = find_due, .context = &due};
    for (uint32_t block = 0; block < map->block_count; block++) {
        uint64_t time = tl_horizon_time(tl_load(&map->horizons[block]));
        if (time > now)
            due = tl_min(due, time);
        else if (search_block(hand, block, &search) < 0)
            return 0;
    }
    return due;
}

/* Sets the scope's due time to what its holds say. Lost to a change of its holds, it stays early: harmless. */
static void raise_due(struct tl_thread *thread, uint32_t cell)
{
    struct tl_txn *txn = &thread->txn;
    if (tl_txn_snapshot(&thread->hand, cell, &txn->view[0]) < 0)
        return;
    tl_views_read_clock(&thread->hand, txn);
    if (tl_view_due(&txn->view[0]) > txn->now)
        return;
    uint64_t due = due_of(&thread->hand, cell, txn->now);
    if (due <= txn->now)
        return;
    txn->cell[0] = cell;
    tl_view_balance(&txn->view[0], txn->instead);
    txn->instead[SHM_DUE] = due;
    tl_txn_commit_cell(&thread->hand, txn);
}

bool tl_expiry_in_the_way(struct tl_thread *thread, unsigned scopes)
{
    uint32_t late[SHM_CELLS_MAX];
    struct sweep s = {.thread = thread, .now = thread->txn.now, .cell = late, .others = OTHERS};
    for (unsigned j = 0; j < scopes; j++)
        if (tl_view_due(&thread->txn.view[j]) <= s.now)
            late[s.cells++] = thread->txn.cell[j];
    if (s.cells == 0)
        return false;
    sweep_all(&s);
    for (unsigned i = 0; i < s.cells; i++)
        raise_due(thread, late[i]);
    return true; /* txn was used: the caller decides anew */
}

/* ------------------------------------------------------------------------------------------------------- everything */

/*
 * The scopes that something is held on and whose due time has passed, to be set anew after one walk for all of them: their
 * own earliest deadlines.
 */
struct dues {
    struct tl_thread *thread;
    uint64_t now;
    struct due {
        uint64_t head, first; /* first 0: not looked at yet; head 0: not late */
    } * of;                   /* by cell, from the first scope on */
    uint32_t *late;           /* the cells that are late */
    uint32_t count;
};

/* Each snapshot settles the outcome of what was met. */
static void note_late(void *context, const struct tl_record *record)
{
    struct dues *dues = context;
    const struct tl_map *map = dues->thread->hand.map;
    struct tl_view *view = &dues->thread->txn.view[0];
    for (unsigned i = 0; i < tl_body_scopes(&record->body); i++) {
        uint32_t cell = tl_handle_cell(record->body.scope[i]);
        if (!tl_map_is_scope(map, cell) || dues->of[cell - map->tier_cells].first)
            continue;
        struct due *due = &dues->of[cell - map->tier_cells];
        due->first = TL_FOREVER;
        if (tl_txn_snapshot(&dues->thread->hand, cell, view) < 0 || tl_view_due(view) > dues->now)
            continue;
        due->head = view->head;
        dues->late[dues->count++] = cell;
    }
}

static void note_due(void *context, const struct tl_record *record)
{
    struct dues *dues = context;
    const struct tl_map *map = dues->thread->hand.map;
    for (unsigned i = 0; i < tl_body_scopes(&record->body); i++) {
        uint32_t cell = tl_handle_cell(record->body.scope[i]);
        if (!tl_map_is_scope(map, cell))
            continue;
        struct due *due = &dues->of[cell - map->tier_cells];
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

static void raise_late(struct dues *dues)
{
    const struct tl_hand *hand = &dues->thread->hand;
    uint32_t first = hand->map->tier_cells;
    if (tl_expiry_walk(hand, note_late, dues) < 0 || dues->count == 0 || tl_expiry_walk(hand, note_due, dues) < 0)
        return;
    for (uint32_t i = 0; i < dues->count; i++)
        set_due(dues->thread, dues->late[i], &dues->of[dues->late[i] - first]);
}

/*
 * With it, looks and refusals need not look at the horizons wherever a reaper runs. It reads all that is held, so it comes
 * the more seldom the more that is: DUES_PAUSE_NS is some three hundred times what a hold takes.
 */
#define DUES_PAUSE_NS 100000

static void raise_all(struct tl_thread *thread, uint64_t now, uint64_t live)
{
    const struct tl_map *map = thread->hand.map;
    uint32_t scopes = map->scope_end - map->tier_cells;
    uint64_t at = tl_load_relaxed(&map->header->reaper_dues);
    bool far = at > now + (uint64_t)map->reservations * DUES_PAUSE_NS; /* the clock went back */
    if (live == 0 || (at > now && !far))
        return;
    tl_store_relaxed(&map->header->reaper_dues, now + live * DUES_PAUSE_NS);
    struct dues dues = {thread, now, calloc(scopes, sizeof *dues.of), calloc(scopes, sizeof *dues.late), 0};
    if (dues.of && dues.late)
        raise_late(&dues);
    free(dues.of);
    free(dues.late);
}

/* Epochs only grow: the same sum is the same epochs. */
static uint64_t sum_epochs(const struct tl_map *map)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < map->seat_count; s++)
        sum += tl_load(&map->seats[s].epoch);
    return sum;
}

uint64_t tl_expiry_all(struct tl_thread *thread, struct tl_expiry_report *report)
{
    const struct tl_map *map = thread->hand.map;
    struct sweep s = {.thread = thread, .now = tl_clock_now(&thread->hand.clock)};
    uint64_t epochs = sum_epochs(map);
    s.orphans = epochs != tl_load(&map->header->reaper_epochs);
    sweep_all(&s);
    if (s.orphans && !s.failed)
        tl_store_release(&map->header->reaper_epochs, epochs);
    raise_all(thread, s.now, s.report.live);
    if (!report)
        return s.report.expired;
    s.report.next_due = tl_expiry_first(&thread->hand, 0);
    *report = s.report;
    return s.report.expired;
}

/* ------------------------------------------------------------------------------------------------------------ looks */

static void take_off(void *context, const struct tl_record *record)
{
    struct tl_search *search = context;
    uint64_t *held = search->context;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (u != TLSHM_REQUESTS)
            held[u] -= tl_min(held[u], record->body.estimate[u]);
}

int tl_expiry_discount(const struct tl_hand *hand, uint32_t cell, uint64_t now, uint64_t *held)
{
    struct tl_search overdue = {.cell = cell, .before = now + 1, .visit = take_off, .context = held};
    return tl_expiry_search(hand, &overdue);
}
