/* SPDX-License-Identifier: MIT */
/* limiter.c - reserve and extend: who is admitted, and what is held. See limiter.h. */
#include "limiter.h"

#include "book.h"
#include "ending.h"
#include "expiry.h"
#include "idempotency.h"
#include "latch.h"
#include "records.h"
#include "verdict.h"
#include "views.h"

/* Reads the limits of scope j and brings its view to them. 0, 1 (look again) or an error. */
TL_INLINE int read_limits(struct tl_thread *thread, unsigned j)
{
    struct tl_txn *txn = &thread->txn;
    struct tl_hand *hand = &thread->hand;
    struct tl_limits_memo *memo = &thread->memo[j];
    int rc = tl_limits_recall(hand->map, &hand->map->cells[txn->cell[j]].policy, memo);
    if (rc < 0)
        return rc;
    return tl_views_adopt(hand, txn->cell[j], &txn->view[j], &memo->limits, txn->now, txn->offset, true);
}

/* Those of all scopes are of the same side of a change of many (pending.h). */
TL_INLINE int read_all_limits(struct tl_thread *thread, unsigned scopes)
{
    uint64_t change = tl_pending_change(thread->hand.map);
    int rc = 0;
    for (unsigned j = 0; rc == 0 && j < scopes; j++)
        rc = read_limits(thread, j);
    return TL_UNLIKELY(rc == 0 && tl_pending_change(thread->hand.map) != change) ? 1 : rc;
}

/* ----------------------------------------------------------------------------------------------------- admission */

/* Was all true that was seen? `keep`: the views are going to be looked at afterwards. */
static bool all_current(struct tl_thread *thread, unsigned scopes, bool keep)
{
    for (unsigned j = 0; keep && j < scopes; j++)
        tl_view_own(&thread->txn.view[j]);
    for (unsigned j = 0; j < scopes; j++)
        if (!tl_txn_current(&thread->hand, thread->txn.cell[j], &thread->txn.view[j]))
            return false;
    return true;
}

static void note_ceilings(struct tl_thread *thread, unsigned scopes)
{
    const struct tl_txn *txn = &thread->txn;
    for (unsigned j = 0; j < scopes; j++)
        tl_ceiling_note(thread->ceiling, thread->hand.map, txn->cell[j], &txn->view[j], &thread->memo[j], txn->now);
}

/*
 * Snapshots, limits, verdict. Returns 0: it fits; TLSHM_REFUSED; or an error. A refusal is certain: its state was whole,
 * and no overdue hold stood in its way.
 */
static int admit(struct tl_thread *thread, const uint64_t *scope, unsigned scopes, const struct tl_want *want,
                 struct tl_no *no)
{
    struct tl_txn *txn = &thread->txn;
    unsigned cleared = 0, passed = 0;
    for (unsigned tries = 0; tries < TL_TRIES_MAX; tries++) {
        int rc = tl_views_take(&thread->hand, txn, scope);
        if (TL_LIKELY(rc == 0))
            rc = read_all_limits(thread, scopes);
        if (TL_UNLIKELY(rc < 0))
            return rc;
        if (TL_UNLIKELY(rc > 0))
            continue;
        if (TL_UNLIKELY(tl_verdict_stopped(thread, scopes, no)))
            return TLSHM_REFUSED;
        if (TL_UNLIKELY(want->unpriced) && tl_verdict_unpriced(thread, scopes, no))
            return TLSHM_REFUSED;
        if (!tl_verdict_refused(thread, scopes, want, no)) {
            note_ceilings(thread, scopes);
            return 0;
        }
        if (!all_current(thread, scopes, no->detailed))
            continue;
        note_ceilings(thread, scopes);
        if (TL_UNLIKELY(txn->mended)) {
            if (!tl_views_keep_mended(&thread->hand, txn))
                return -TLSHM_ECORRUPT;
            rc = tl_views_order(thread->hand.map, txn, scope, scopes);
            if (rc < 0)
                return rc;
            continue;
        }
        /* Its time may have passed meanwhile; in a segment of nonsense it is never found. */
        if ((no->reason == TLSHM_PAUSED || no->reason == TLSHM_SHUTOFF) &&
            !tl_latch_look(&thread->hand, scope[txn->asked[no->cell]]) && passed++ < 4)
            continue;
        if (no->reason != TLSHM_LIMIT || cleared++ > 4 || !tl_expiry_in_the_way(thread, scopes))
            return TLSHM_REFUSED;
        rc = tl_views_order(thread->hand.map, txn, scope, scopes); /* expiring used the same txn */
        if (rc < 0)
            return rc;
    }
    return -TLSHM_ECONTENDED;
}

/* --------------------------------------------------------------------------------------------------------- reserve */

/* A hold lives no longer than its scopes allow a single request. */
TL_INLINE uint64_t ttl_allowed(const struct tl_thread *thread, unsigned scopes, uint64_t ttl_ns)
{
    for (unsigned j = 0; j < scopes; j++) {
        const struct tl_limits *limits = &thread->memo[j].limits;
        for (unsigned i = 0; i < limits->count; i++)
            if (TL_UNLIKELY(tl_shape_is_time(limits->shape[i])))
                ttl_ns = tl_min(ttl_ns, limits->cap[i]);
    }
    return ttl_ns;
}

/* Sets the operation's due times. */
static void set_due(struct tl_txn *txn, unsigned scopes, uint64_t deadline)
{
    for (unsigned j = 0; j < scopes; j++)
        txn->due[j] = tl_min(tl_view_due(&txn->view[j]), deadline);
    txn->apart = TL_NONE;
}

/* What `need` adds to balances, both lines of them. */
static void set_delta(struct tl_txn *txn, const uint64_t *need)
{
    uint64_t *delta = txn->delta;
    tl_book_need(delta, need);
    txn->wide = tl_amounts_wide(need);
    if (TL_LIKELY(!txn->wide))
        return;
    memset(delta + SHM_NARROW_WORDS, 0, (SHM_BALANCE_WORDS - SHM_NARROW_WORDS) * sizeof *delta);
    for (unsigned u = TLSHM_INPUT_TOKENS; u < TLSHM_UNITS; u++)
        delta[shm_held_at[u]] = need[u];
}

/* What few reservations have. */
TL_COLD static void write_rare(struct shm_body *to, const struct tl_ask *ask)
{
    uint64_t key[TLSHM_IDEMPOTENCY_MAX / 8] = {0};
    tl_store_relaxed(&to->wide.model, ask->model ? ask->model->word : 0);
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++) {
        tl_store_relaxed(&to->wide.charged[i], 0);
        tl_store_relaxed(&to->wide.estimate[i], ask->need[tl_body_wide[i]]);
    }
    if (!ask->key)
        return;
    memcpy(key, ask->key, ask->key_len);
    tl_store_relaxed(&to->request, ask->fingerprint);
    tl_words_out(to->idempotency, key, TLSHM_IDEMPOTENCY_MAX / 8);
}

/* Writes the new reservation into the seat's spare body. `entered`: its idempotency cell, or UINT32_MAX. */
TL_INLINE int write_reservation(struct tl_thread *thread, const struct tl_ask *ask, uint64_t generation,
                                uint64_t deadline, uint32_t entered)
{
    struct tl_txn *txn = &thread->txn;
    struct shm_body *to = tl_txn_spare_body(&thread->hand);
    if (TL_UNLIKELY(!to))
        return -TLSHM_ECORRUPT;
    uint64_t info = tl_body_info(ask->scopes, TLSHM_EXACT, ask->flags, ask->key ? (unsigned)ask->key_len : 0, entered) |
                    (txn->wide ? TL_BODY_WIDE : 0);
    const struct tl_birth birth = {generation, txn->now, deadline, info, ask->tag};
    tl_records_write(thread, to, &birth, ask->scope, ask->scopes, ask->need);
    if (TL_UNLIKELY(txn->wide || ask->key))
        write_rare(to, ask);
    txn->status = SHM_HELD;
    return 0;
}

/* Puts the next content into the seat's spare body. */
static int write_body(struct tl_thread *thread, const struct tl_body *body)
{
    struct shm_body *spare = tl_txn_spare_body(&thread->hand);
    if (TL_UNLIKELY(!spare))
        return -TLSHM_ECORRUPT;
    tl_body_write(spare, body);
    return 0;
}

/* What became of one try; AGAIN: it has paused for somebody else. */
enum { LOST = 0, DONE = 1, SAID_NO = 2, AGAIN = 3 };

static int try_reserve(struct tl_thread *thread, const struct tl_ask *ask, tlshm_id *id, struct tl_no *no,
                       bool *stepped)
{
    struct tl_txn *txn = &thread->txn;
    bool unpriced = ask->model && ask->model->unpriced;
    const struct tl_want want = {ask->need, tl_ask_whole(ask), ask->ttl_ns, NULL, unpriced};
    int rc = tl_views_order(thread->hand.map, txn, ask->scope, ask->scopes);
    if (rc == 0)
        rc = admit(thread, ask->scope, ask->scopes, &want, no);
    if (rc < 0)
        return rc;
    if (rc == TLSHM_REFUSED)
        return SAID_NO;
    rc = tl_records_pick(thread, txn->now);
    if (rc <= 0) {
        tl_verdict_no(no, TLSHM_FULL, UINT32_MAX, UINT32_MAX);
        return rc < 0 ? rc : SAID_NO;
    }
    uint64_t deadline = txn->now + ttl_allowed(thread, ask->scopes, ask->ttl_ns),
             generation = tl_records_generation(txn->was.body.generation);
    uint32_t entered = UINT32_MAX;
    set_delta(txn, ask->need);
    set_due(txn, ask->scopes, deadline);
    if (TL_UNLIKELY(ask->key != NULL)) {
        rc = tl_idempotency_enter(thread, ask, generation, &entered);
        if (rc <= 0) {
            tl_verdict_no(no, TLSHM_FULL, UINT32_MAX, UINT32_MAX);
            return rc < 0 ? rc : SAID_NO;
        }
        if (rc == 2)
            return AGAIN;
    }
    if (tl_txn_aside(&thread->hand, txn->cell[0], stepped))
        return AGAIN;
    *id = tl_id(txn->was.index, generation);
    rc = write_reservation(thread, ask, generation, deadline, entered);
    return TL_UNLIKELY(rc < 0) ? rc : tl_book_commit(&thread->hand, txn);
}

static int refuse(struct tl_thread *thread, const struct tl_no *no)
{
    tl_count(&thread->hand.seat->counter[SHM_N_REFUSED + no->reason]);
    return TLSHM_REFUSED;
}

/* A full table may be full of holds that are overdue. */
static bool make_room(struct tl_thread *thread, const struct tl_no *no, bool *made)
{
    if (no->reason != TLSHM_FULL || *made)
        return false;
    *made = true;
    return tl_expiry_all(thread, NULL) > 0;
}

int tl_limiter_reserve_anyhow(struct tl_thread *thread, const tlshm_request *request, const struct tl_ask_model *model,
                              struct tl_ask *ask, tlshm_id *id, struct tl_no *no)
{
    bool stepped = false, made = false;
    tl_ask_fill(ask, request, model);
    if (ask->key)
        ask->fingerprint = tl_idempotency_fingerprint(ask);
    for (unsigned failures = 0; failures < TL_TRIES_MAX; failures++) {
        int rc = ask->key ? tl_idempotency_find(thread, ask, id) : 0;
        if (rc != 0) {
            if (rc == TLSHM_REPLAY)
                tl_count(&thread->hand.seat->counter[SHM_N_REPLAYED]);
            return rc;
        }
        rc = try_reserve(thread, ask, id, no, &stepped);
        if (TL_LIKELY(rc == DONE)) {
            tl_count(&thread->hand.seat->counter[SHM_N_ADMITTED]);
            return TLSHM_OK;
        }
        if (rc < 0)
            return rc;
        if (rc == SAID_NO && !make_room(thread, no, &made)) {
            rc = ask->key ? tl_idempotency_find(thread, ask, id) : 0; /* what stands in the way may be its own first */
            if (rc == TLSHM_REPLAY)
                tl_count(&thread->hand.seat->counter[SHM_N_REPLAYED]);
            return rc != 0 ? rc : refuse(thread, no);
        }
        if (rc == SAID_NO || rc == AGAIN)
            continue;
        tl_count(&thread->hand.seat->counter[SHM_N_RETRIES]);
        tl_txn_lost(&thread->hand, thread->txn.cell[0], failures);
    }
    return -TLSHM_ECONTENDED;
}

/* ---------------------------------------------------------------------------------------------------------- extend */

/* Expires the reservation in txn.was if its time has come; it was found overdue on the way to something else. */
static int expire_overdue(struct tl_thread *thread, tlshm_id id)
{
    const struct tl_ending expiry = {.to = TLSHM_EXPIRED};
    int rc = tl_ending_run(thread, id, &expiry, NULL, NULL);
    return rc < 0 ? rc : TLSHM_ENDED;
}

/* The reservation with more amounts and time. */
static int book_extend(struct tl_thread *thread, const uint64_t *more, uint64_t ttl_ns)
{
    struct tl_txn *txn = &thread->txn;
    struct tl_body *body = &txn->was.body;
    body->deadline = ttl_ns ? tl_max(body->deadline, txn->now + ttl_ns) : body->deadline;
    txn->status = SHM_HELD;
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        body->estimate[u] += more[u];
        if (body->estimate[u] > TLSHM_AMOUNT_MAX)
            return -TLSHM_ERANGE;
    }
    set_delta(txn, more);
    set_due(txn, txn->cells, body->deadline);
    return 0;
}

/* More time alone: pause, shutoff and what is counted do not matter. */
static int admit_time(struct tl_thread *thread, const struct tl_want *want, struct tl_no *no, bool *refused)
{
    struct tl_txn *txn = &thread->txn;
    const struct tl_map *map = thread->hand.map;
    int rc = tl_views_take(&thread->hand, txn, want->held->scope);
    for (unsigned j = 0; rc == 0 && j < txn->cells; j++)
        rc = tl_limits_recall(map, &map->cells[txn->cell[j]].policy, &thread->memo[j]);
    *refused = rc == 0 && tl_verdict_refused(thread, txn->cells, want, no);
    return rc;
}

/* Snapshots and verdict for more of a hold. 0; 1: look again; or an error. */
static int admit_more(struct tl_thread *thread, const uint64_t *more, uint64_t ttl_ns, struct tl_no *no, bool *refused)
{
    struct tl_record held = thread->txn.was; /* admitting may expire others, in the same txn */
    uint64_t whole[TLSHM_UNITS];
    const struct tl_want want = {more, whole, ttl_ns, &held.body, false};
    bool amounts = false;
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        amounts |= more[u] != 0;
        whole[u] = held.body.estimate[u] + more[u];
    }
    if (!amounts)
        return admit_time(thread, &want, no, refused);
    int rc = admit(thread, held.body.scope, thread->txn.cells, &want, no);
    thread->txn.was = held;
    *refused = rc == TLSHM_REFUSED;
    return *refused ? 0 : rc;
}

/* One try, or TLSHM_ENDED. */
static int try_extend(struct tl_thread *thread, tlshm_id id, const uint64_t *more, uint64_t ttl_ns, struct tl_no *no,
                      bool *stepped)
{
    struct tl_txn *txn = &thread->txn;
    bool refused = false;
    int rc = tl_ending_find(thread, id);
    if (rc < 0)
        return rc;
    if (shm_status(txn->was.head) != SHM_HELD)
        return TLSHM_ENDED;
    rc = admit_more(thread, more, ttl_ns, no, &refused);
    if (rc == -TLSHM_ESTALE)
        return LOST; /* it ended meanwhile, or the next look finds it corrupt */
    if (rc < 0)
        return rc;
    if (txn->was.body.deadline <= txn->now)
        return expire_overdue(thread, id);
    /* A refusal is certain only if the hold was still there: its own end may have made room for others. */
    if (refused)
        return tl_load(&thread->hand.map->records[txn->was.index].head) == txn->was.head ? SAID_NO : LOST;
    if (rc > 0)
        return LOST;
    rc = book_extend(thread, more, ttl_ns);
    if (rc < 0)
        return rc;
    if (tl_txn_aside(&thread->hand, txn->cell[0], stepped))
        return AGAIN;
    rc = write_body(thread, &txn->was.body);
    return rc < 0 ? rc : tl_book_commit(&thread->hand, txn);
}

int tl_limiter_extend(struct tl_thread *thread, tlshm_id id, const uint64_t *more, uint64_t ttl_ns, struct tl_no *no)
{
    bool stepped = false;
    for (unsigned failures = 0; failures < TL_TRIES_MAX; failures++) {
        int rc = try_extend(thread, id, more, ttl_ns, no, &stepped);
        if (rc == DONE) {
            tl_count(&thread->hand.seat->counter[SHM_N_EXTENDED]);
            return TLSHM_OK;
        }
        if (rc == SAID_NO)
            return refuse(thread, no);
        if (rc == AGAIN)
            continue;
        if (rc != LOST)
            return rc;
        tl_count(&thread->hand.seat->counter[SHM_N_RETRIES]);
        tl_txn_lost(&thread->hand, thread->txn.cell[0], failures);
    }
    return -TLSHM_ECONTENDED;
}
