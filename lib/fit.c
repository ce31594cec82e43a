/* SPDX-License-Identifier: MIT */
/* fit.c - whether a reserve would be admitted. See fit.h. */
#include "fit.h"

#include "book.h"
#include "directory.h"
#include "expiry.h"
#include "idempotency.h"
#include "look.h"
#include "scopes.h"
#include "verdict.h"
#include "views.h"

#define TRIES 64

void tl_fit_begin(struct tlshm *t, const tlshm_scope *scopes, struct tl_fit *fit)
{
    struct tl_thread *thread = &fit->thread;
    fit->scopes = scopes;
    fit->seen = 0;
    thread->t = t;
    tl_segment_look(t, &thread->hand);
}

/* ------------------------------------------------------------------------------------------------------------- scopes */

static size_t key_length(const tlshm_scope *scope)
{
    return scope->len ? scope->len : strnlen(scope->key, TLSHM_KEY_MAX + 1);
}

void tl_fit_key(const struct tl_fit *fit, unsigned index, char key[TLSHM_KEY_MAX + 1])
{
    size_t len = tl_min(key_length(&fit->scopes[index]), TLSHM_KEY_MAX);
    memcpy(key, fit->scopes[index].key, len);
    key[len] = 0;
}

static bool same_key(const tlshm_scope *a, const tlshm_scope *b)
{
    size_t len = key_length(a);
    return key_length(b) == len && memcmp(a->key, b->key, len) == 0;
}

/* The handle of one of the caller's scopes; 0 if it is new. */
static int resolve(struct tl_fit *fit, const tlshm_scope *scope, bool anew, uint64_t *handle)
{
    struct tlshm *t = fit->thread.t;
    struct tl_hand *hand = &fit->thread.hand;
    *handle = scope->handle;
    if (*handle)
        return 0;
    int rc = anew ? tl_scopes_resolve_anew(t, hand, scope->key, scope->len, handle)
                  : tl_scopes_resolve(t, hand, scope->key, scope->len, false, handle);
    if (rc == -TLSHM_ENOENT)
        *handle = 0;
    return rc == -TLSHM_ENOENT ? 0 : rc;
}

/* A new scope goes behind those that are there. It has no cell: any scope's place in the tables is as good. */
static int add_new(struct tl_fit *fit, unsigned index)
{
    struct tl_txn *txn = &fit->thread.txn;
    for (unsigned j = fit->seen; j < txn->cells; j++)
        if (same_key(&fit->scopes[txn->asked[j]], &fit->scopes[index]))
            return -TLSHM_EINVAL;
    txn->cell[txn->cells] = fit->thread.hand.map->tier_cells;
    txn->asked[txn->cells++] = index;
    return 0;
}

/* Puts the scopes that are there in order, with their places in the caller's. */
static int order_seen(struct tl_fit *fit, const struct tl_ask *ask)
{
    struct tl_txn *txn = &fit->thread.txn;
    uint64_t handle[TLSHM_SCOPES_MAX];
    unsigned place[TLSHM_SCOPES_MAX], count = 0;
    for (unsigned i = 0; i < ask->scopes; i++)
        if (ask->scope[i]) {
            handle[count] = ask->scope[i];
            place[count++] = i;
        }
    int rc = tl_views_order_anew(fit->thread.hand.map, txn, handle, count);
    for (unsigned j = 0; rc == 0 && j < count; j++)
        txn->asked[j] = place[txn->asked[j]];
    fit->seen = count;
    return rc;
}

int tl_fit_resolve(struct tl_fit *fit, bool anew, struct tl_ask *ask)
{
    struct tl_txn *txn = &fit->thread.txn;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < ask->scopes; i++)
        rc = resolve(fit, &fit->scopes[i], anew, &ask->scope[i]);
    if (rc == 0)
        rc = order_seen(fit, ask);
    for (unsigned i = 0; rc == 0 && i < ask->scopes; i++)
        if (!ask->scope[i])
            rc = add_new(fit, i);
    if (rc < 0)
        return rc;
    const struct tl_kept kept = {fit->seen, txn->cell};
    bool room = tl_directory_has_room(&fit->thread.hand, txn->cells - fit->seen, &kept);
    return room ? 0 : -TLSHM_ENOROOM;
}

/* -------------------------------------------------------------------------------------------------------------- views */

/* A clock that went back: what a reserve would make of the view. */
static void mend(struct tl_fit *fit, unsigned j)
{
    struct tl_txn *txn = &fit->thread.txn;
    if (txn->now + TL_BACK_TOLERANCE_NS < txn->view[j].time)
        tl_history_went_back(fit->thread.hand.map, txn->cell[j], &txn->view[j], txn->now, txn->offset, 0);
}

/* What a scope has that was never used. */
static void view_new(struct tl_view *view, uint64_t now, int64_t offset)
{
    memset((void *)view, 0, sizeof *view);
    view->time = now;
    view->edge = TL_FOREVER;
    view->offset = (uint64_t)offset;
    view->balance = view->own_balance;
    view->window = view->own_window;
    tl_store_relaxed(&view->own_balance[SHM_DUE], TL_FOREVER);
}

/* Views of all cells, then the clock. 0, 1 (look again) or an error. */
static int take_views(struct tl_fit *fit, const struct tl_ask *ask, bool last)
{
    struct tl_txn *txn = &fit->thread.txn;
    struct tl_hand *hand = &fit->thread.hand;
    uint64_t latest = 0;
    for (unsigned j = 0; j < fit->seen; j++) {
        struct tl_view *view = &txn->view[j];
        int rc = last ? tl_txn_snapshot(hand, txn->cell[j], view) : tl_txn_view(hand, txn->cell[j], view);
        if (rc < 0)
            return rc;
        if (tl_view_incarnation(view) != tl_handle_incarnation(ask->scope[txn->asked[j]]))
            return last || tl_txn_current(hand, txn->cell[j], view) ? -TLSHM_ESTALE : 1;
        fit->head[j] = view->head;
        tl_view_balance(view, fit->balance[j]);
        latest = tl_max(latest, view->time);
    }
    tl_views_read_clock(hand, txn);
    if (txn->now + TL_BACK_TOLERANCE_NS < latest) {
        tl_clock_doubt(&hand->clock);
        tl_views_read_clock(hand, txn);
    }
    for (unsigned j = 0; j < txn->cells; j++) {
        if (j < fit->seen)
            mend(fit, j);
        else
            view_new(&txn->view[j], txn->now, txn->offset);
    }
    return 0;
}

static int read_limits(struct tl_fit *fit, unsigned j)
{
    struct tl_hand *hand = &fit->thread.hand;
    struct tl_txn *txn = &fit->thread.txn;
    struct tl_limits *limits = &fit->thread.memo[j].limits;
    int rc;
    if (j < fit->seen) {
        rc = tl_limits_read(hand->map, &hand->map->cells[txn->cell[j]].policy, limits);
    } else {
        const tlshm_scope *scope = &fit->scopes[txn->asked[j]];
        rc = tl_look_unseen(hand, scope->key, key_length(scope), limits);
    }
    if (rc < 0)
        return rc;
    rc = tl_views_adopt(hand, txn->cell[j], &txn->view[j], limits, txn->now, txn->offset, false);
    return rc < 0 || j < fit->seen ? rc : 0;
}

/* Those of all scopes are of the same side of a change of many (pending.h). 0, 1 or an error. */
static int read_all_limits(struct tl_fit *fit)
{
    const struct tl_map *map = fit->thread.hand.map;
    uint64_t change = tl_pending_change(map);
    int again = 0;
    for (unsigned j = 0; j < fit->thread.txn.cells; j++) {
        int rc = read_limits(fit, j);
        if (rc < 0)
            return rc;
        again |= rc;
    }
    return again | (tl_pending_change(map) != change);
}

/* Does every cell say what it said, and is what was not there still not there? 0, 1 or an error. */
static int look_again(struct tl_fit *fit)
{
    struct tl_txn *txn = &fit->thread.txn;
    for (unsigned j = 0; j < fit->seen; j++) {
        struct tl_view view;
        uint64_t balance[SHM_BALANCE_WORDS];
        int rc = tl_txn_snapshot(&fit->thread.hand, txn->cell[j], &view);
        if (rc < 0)
            return rc;
        tl_view_balance(&view, balance);
        if (view.head != fit->head[j] || memcmp(balance, fit->balance[j], sizeof balance) != 0)
            return 1;
    }
    for (unsigned j = fit->seen; j < txn->cells; j++) {
        uint64_t handle;
        int rc = resolve(fit, &fit->scopes[txn->asked[j]], true, &handle);
        if (rc < 0 || handle)
            return rc < 0 ? rc : -TLSHM_ESTALE;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------- verdict */

static void set_word(struct tl_view *view, unsigned at, uint64_t value)
{
    if (at < SHM_NARROW_WORDS)
        tl_store_relaxed(&view->own_balance[at], value);
    else if (view->wide)
        tl_store_relaxed(&view->own_balance[at - SHM_NARROW_WORDS + SHM_SECOND], value);
}

/* Takes off what is overdue on cell j, as a refusal would expire it first. */
static int discount(struct tl_fit *fit, unsigned j)
{
    struct tl_txn *txn = &fit->thread.txn;
    struct tl_view *view = &txn->view[j];
    uint64_t held[TLSHM_UNITS];
    tl_view_own(view);
    tl_view_all_held(view, held);
    int rc = tl_expiry_discount(&fit->thread.hand, txn->cell[j], txn->now, held);
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        set_word(view, shm_held_at[u], held[u]);
    set_word(view, SHM_DUE, txn->now + 1);
    return rc;
}

/* 1: some holds were in the way of a limit, and are not any more; 0: none were; or an error. */
static int clear_the_way(struct tl_fit *fit)
{
    struct tl_txn *txn = &fit->thread.txn;
    int cleared = 0;
    for (unsigned j = 0; j < fit->seen; j++) {
        if (tl_view_due(&txn->view[j]) > txn->now)
            continue;
        int rc = discount(fit, j);
        if (rc < 0)
            return rc;
        cleared = 1;
    }
    return cleared;
}

/* What flags and limits say of the views. 0, TLSHM_REFUSED or an error. */
static int decide(struct tl_fit *fit, const struct tl_ask *ask, struct tl_no *no)
{
    struct tl_thread *thread = &fit->thread;
    bool unpriced = ask->model && ask->model->unpriced;
    const struct tl_want want = {ask->need, tl_ask_whole(ask), ask->ttl_ns, NULL, unpriced};
    unsigned scopes = thread->txn.cells;
    if (tl_verdict_stopped(thread, scopes, no) || (unpriced && tl_verdict_unpriced(thread, scopes, no)))
        return TLSHM_REFUSED;
    if (!tl_verdict_refused(thread, scopes, &want, no))
        return 0;
    int cleared = no->reason == TLSHM_LIMIT ? clear_the_way(fit) : 0;
    if (cleared <= 0)
        return cleared < 0 ? cleared : TLSHM_REFUSED;
    return tl_verdict_refused(thread, scopes, &want, no) ? TLSHM_REFUSED : 0;
}

/* --------------------------------------------------------------------------------------------------------------- room */

struct room {
    const struct tl_map *map;
    uint64_t now;
    bool found;
};

static void find_over(void *context, const struct tl_record *record)
{
    struct room *room = context;
    room->found |= record->body.deadline <= room->now || tl_body_is_orphan(room->map, &record->body);
}

/* Is a reservation free, or would be once everything is expired? 1, 0 or an error. */
static int has_record(const struct tl_hand *hand, uint64_t now)
{
    const struct tl_map *map = hand->map;
    struct room room = {map, now, false};
    uint64_t from = tl_load_relaxed(&map->header->record_cursor) % map->reservations;
    for (uint32_t i = 0; i < map->reservations; i++)
        if (shm_status(tl_load(&map->records[(from + i) % map->reservations].head)) != SHM_HELD)
            return 1;
    int rc = tl_expiry_walk(hand, find_over, &room);
    return rc < 0 ? rc : room.found;
}

/* Is there a place for what fits? 0; TLSHM_REFUSED; or an error. */
static int find_room(struct tl_fit *fit, const struct tl_ask *ask, struct tl_no *no)
{
    int rc = has_record(&fit->thread.hand, fit->thread.txn.now);
    if (rc > 0 && ask->key)
        rc = tl_idempotency_has_room(&fit->thread, ask, fit->thread.txn.now);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    tl_verdict_no(no, TLSHM_FULL, UINT32_MAX, UINT32_MAX);
    return TLSHM_REFUSED;
}

/* ------------------------------------------------------------------------------------------------------------- one try */

/* One try. 0, TLSHM_REFUSED, AGAIN: something has changed meanwhile; or an error. The last one is never AGAIN. */
enum { AGAIN = TLSHM_REFUSED + 1 };

static int try_admit(struct tl_fit *fit, const struct tl_ask *ask, struct tl_no *no, bool last)
{
    int rc = take_views(fit, ask, last);
    if (rc == 0)
        rc = read_all_limits(fit);
    if (rc < 0 || (rc > 0 && !last))
        return rc < 0 ? rc : AGAIN;
    int verdict = decide(fit, ask, no);
    if (verdict == 0)
        verdict = find_room(fit, ask, no);
    for (unsigned j = 0; no->detailed && j < fit->thread.txn.cells; j++)
        tl_view_own(&fit->thread.txn.view[j]); /* they are going to be looked at afterwards */
    if (verdict < 0 || last)
        return verdict;
    rc = look_again(fit);
    return rc == 0 ? verdict : rc < 0 ? rc : AGAIN;
}

static int admit(struct tl_fit *fit, const struct tl_ask *ask, struct tl_no *no)
{
    int rc = AGAIN;
    for (unsigned tries = 1; rc == AGAIN && tries <= TRIES; tries++)
        rc = try_admit(fit, ask, no, tries == TRIES);
    return rc;
}

/* --------------------------------------------------------------------------------------------------------------- sums */

/* What a reserve adds to every balance. */
static void set_delta(struct tl_txn *txn, const uint64_t *need)
{
    memset(txn->delta, 0, sizeof txn->delta);
    tl_book_need(txn->delta, need);
    for (unsigned u = TLSHM_INPUT_TOKENS; u < TLSHM_UNITS; u++)
        txn->delta[shm_held_at[u]] = need[u];
    txn->wide = tl_amounts_wide(need);
    txn->apart = TL_NONE;
}

/* The commit looks at all sums together: each must stay below the most, since the number of holds is never 0. */
static int check_sums(struct tl_fit *fit, const struct tl_ask *ask)
{
    struct tl_txn *txn = &fit->thread.txn;
    uint64_t sums = 0;
    txn->cells = fit->seen; /* what is new has none to speak of */
    set_delta(txn, ask->need);
    for (unsigned j = 0; j < txn->cells; j++)
        for (unsigned i = 0; i < SHM_BALANCE_WORDS; i++)
            sums |= i % 4 == SHM_DUE ? 0 : tl_view_word(&txn->view[j], i) + txn->delta[i];
    return sums >= TL_SUM_MAX ? -TLSHM_ERANGE : tl_book_check(&fit->thread.hand, txn);
}

bool tl_fit_stands(struct tl_fit *fit)
{
    return look_again(fit) == 0;
}

/* With a key it is asked once more at the end: what is in the way may be its own first. */
int tl_fit_judge(struct tl_fit *fit, const struct tl_ask *ask, struct tl_no *no)
{
    tlshm_id first;
    int known = ask->key ? tl_idempotency_find(&fit->thread, ask, &first) : 0;
    if (known != 0)
        return known;
    int rc = admit(fit, ask, no);
    if (rc >= 0 && ask->key)
        known = tl_idempotency_find(&fit->thread, ask, &first);
    if (known != 0 || rc != 0)
        return known != 0 ? known : rc;
    return check_sums(fit, ask);
}
