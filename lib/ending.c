/* SPDX-License-Identifier: MIT */
/* ending.c - settle, refund, expire: one step that releases a hold and books its charge. See ending.h. */
#include "ending.h"

#include "book.h"
#include "models.h"
#include "views.h"

/* Reads the reservation of an id into txn.was and puts its scopes in order. */
int tl_ending_find(struct tl_thread *thread, tlshm_id id)
{
    struct tl_record *was = &thread->txn.was;
    uint32_t index = (uint32_t)(id & SHM_NODE_MASK);
    if (index >= thread->hand.map->reservations)
        return -TLSHM_EUNKNOWN;
    int rc = tl_txn_record(&thread->hand, index, TL_WHOLE, was);
    if (rc < 0)
        return rc;
    if (shm_status(was->head) == SHM_FREE || shm_status(was->head) > SHM_EXPIRED || !tl_id_is(id, was))
        return -TLSHM_EUNKNOWN;
    rc = tl_views_order(thread->hand.map, &thread->txn, was->body.scope, tl_body_scopes(&was->body));
    return rc < 0 || thread->txn.cells == 0 ? -TLSHM_ECORRUPT : 0;
}

/* What one unit is charged when the reservation ends this way. */
TL_INLINE uint64_t charge_one(const struct tl_body *body, const struct tl_ending *ending, unsigned unit)
{
    return tl_charge(&ending->used.charging, (enum tlshm_unit)unit, ending->used.outcome, body->estimate[unit],
                     ending->used.of ? ending->used.of[unit] : 0);
}

/* Charges one unit, and sets what that adds to every balance: less held (if `held`), more used. */
TL_INLINE uint64_t charge_unit(struct tl_txn *txn, const struct tl_ending *ending, bool held, bool settled, unsigned u)
{
    struct tl_body *body = &txn->was.body;
    uint64_t charge = settled ? charge_one(body, ending, u) : 0;
    body->charged[u] = txn->delta[shm_used_at[u]] = charge;
    txn->delta[shm_held_at[u]] = held ? 0 - body->estimate[u] : 0;
    return charge;
}

/* The units of the balance's second line: mostly there is nothing of them. */
TL_COLD static uint64_t charge_wide(struct tl_txn *txn, const struct tl_ending *ending, bool held, bool settled)
{
    uint64_t most = 0;
    memset(txn->delta + SHM_NARROW_WORDS, 0, (SHM_BALANCE_WORDS - SHM_NARROW_WORDS) * sizeof txn->delta[0]);
    for (unsigned u = TLSHM_INPUT_TOKENS; u < TLSHM_UNITS; u++)
        most = tl_max(most, charge_unit(txn, ending, held, settled, u));
    return most;
}

/*
 * Sets what the reservation will have been charged when it ends this way. Requests were charged at admission, concurrency
 * is never used. A caller's own rule may charge what nobody spoke of.
 */
static int charge_all(struct tl_txn *txn, const struct tl_ending *ending, bool held, bool settled)
{
    txn->delta[shm_held_at[TLSHM_CONCURRENCY]] = held ? UINT64_MAX : 0;
    txn->delta[shm_used_at[TLSHM_REQUESTS]] = txn->delta[SHM_DUE] = txn->delta[SHM_INCARNATION] = 0;
    uint64_t tokens = charge_unit(txn, ending, held, settled, TLSHM_TOKENS);
    uint64_t most = tl_max(tokens, charge_unit(txn, ending, held, settled, TLSHM_COST));
    txn->wide = (txn->was.body.info & TL_BODY_WIDE) || ending->used.charging.function ||
                (ending->used.of && tl_amounts_wide(ending->used.of));
    if (TL_UNLIKELY(txn->wide))
        most = tl_max(most, charge_wide(txn, ending, held, settled));
    return TL_UNLIKELY(most > TLSHM_AMOUNT_MAX) ? -TLSHM_ERANGE : 0;
}

/* Each balance's next due time: with its last hold gone, none. */
static void set_due(struct tl_txn *txn)
{
    for (unsigned j = 0; j < txn->cells; j++) {
        const struct tl_view *view = &txn->view[j];
        uint64_t left = tl_view_held(view, TLSHM_CONCURRENCY) + txn->delta[shm_held_at[TLSHM_CONCURRENCY]];
        txn->due[j] = left == 0 ? TL_FOREVER : tl_view_due(view);
    }
}

static int report_end(const struct tl_body *body, unsigned status, tlshm_result *result, int verdict)
{
    if (result) {
        result->status = (enum tlshm_status)status;
        memcpy(result->charged.of, body->charged, sizeof result->charged.of);
    }
    return verdict;
}

/* Commits the end of txn.was as `status`. 1, 0 or an error. */
static int commit_end(struct tl_thread *thread, bool held, unsigned status, const struct tl_ending *ending)
{
    struct tl_txn *txn = &thread->txn;
    struct tl_body *body = &txn->was.body;
    int rc = charge_all(txn, ending, held, status == SHM_SETTLED);
    if (rc < 0)
        return rc;
    struct shm_body *spare = tl_txn_spare_body(&thread->hand);
    if (TL_UNLIKELY(!spare))
        return -TLSHM_ECORRUPT;
    set_due(txn);
    /* A hold expires at its deadline, whenever somebody gets to it. */
    body->ended = status == SHM_EXPIRED ? tl_min(body->deadline, txn->now) : txn->now;
    body->info = (body->info & ~(UINT64_C(15) << 4)) | (uint64_t)ending->used.outcome << 4;
    tl_body_write_end(spare, &thread->hand.map->bodies[shm_node(txn->was.head)], body);
    txn->status = status;
    txn->apart = TL_NONE;
    return tl_book_commit(&thread->hand, txn);
}

/* What an ending means for a reservation that is not held any more; -1: it goes on (a late settle). */
static int ended_verdict(const struct tl_thread *thread, const struct tl_ending *ending)
{
    const struct tl_txn *txn = &thread->txn;
    unsigned status = shm_status(txn->was.head);
    if (ending->to == TLSHM_EXPIRED)
        return TLSHM_ENDED;
    if (status != SHM_EXPIRED)
        return TLSHM_REPLAY;
    if (ending->to == TLSHM_REFUNDED)
        return TLSHM_ENDED;
    /* Once the retention is over, its scopes may have been given to other keys. */
    bool kept = txn->now < txn->was.body.ended + thread->hand.map->retention_ns;
    return kept ? -1 : -TLSHM_EUNKNOWN;
}

struct end_step {
    int verdict;     /* what the call returns if the step is made, or now if nothing is to be done */
    bool held;       /* the hold is released */
    unsigned status; /* the next status */
    bool nothing;    /* report the verdict, change nothing */
};

/* Decides what an ending does to txn.was as of txn.now. */
static struct end_step decide_end(const struct tl_thread *thread, const struct tl_ending *ending)
{
    const struct tl_txn *txn = &thread->txn;
    struct end_step step = {TLSHM_OK, true, (unsigned)ending->to, false};
    bool overdue = txn->was.body.deadline <= txn->now;
    if (shm_status(txn->was.head) != SHM_HELD) {
        step.held = false;
        step.verdict = ended_verdict(thread, ending);
        step.nothing = step.verdict != -1;
        if (!step.nothing)
            step.verdict = TLSHM_LATE;
        return step;
    }
    if (ending->to == TLSHM_EXPIRED) {
        step.nothing = !overdue && !ending->forced;
        step.verdict = step.nothing ? TLSHM_ENDED : TLSHM_OK;
    } else if (overdue && ending->to == TLSHM_SETTLED) {
        step.verdict = TLSHM_LATE; /* expiry and late settle in one step */
    } else if (overdue) {
        step.verdict = TLSHM_ENDED; /* a refund that comes too late finds the hold expired */
        step.status = SHM_EXPIRED;
    }
    return step;
}

static void count_end(struct tl_thread *thread, const struct end_step *step)
{
    unsigned which = SHM_N_SETTLED;
    if (step->verdict == TLSHM_LATE)
        which = SHM_N_LATE;
    else if (step->status == SHM_REFUNDED)
        which = SHM_N_REFUNDED;
    else if (step->status == SHM_EXPIRED)
        which = SHM_N_EXPIRED;
    tl_count(&thread->hand.seat->counter[which]);
}

/* Whoever's operation settled a call that it knows the output of teaches it: so each call is learned once. */
TL_INLINE void teach(const struct tl_thread *thread, const struct end_step *step, const struct tl_actual *used)
{
    uint64_t model = tl_body_model(&thread->txn.was.body);
    bool known = step->status == SHM_SETTLED && used->outcome == TLSHM_EXACT && used->of;
    if (TL_UNLIKELY(model != 0) && known && used->of[TLSHM_OUTPUT_TOKENS])
        tl_models_teach(thread->hand.map, tl_model_number(model), used->of[TLSHM_OUTPUT_TOKENS]);
}

int tl_ending_run_anyhow(struct tl_thread *thread, tlshm_id id, const struct tl_ending *ending, tlshm_result *result,
                         uint64_t *lag_ns)
{
    struct tl_txn *txn = &thread->txn;
    bool stepped = false;
    for (unsigned failures = 0; failures < TL_TRIES_MAX; failures++) {
        int rc = tl_ending_find(thread, id);
        if (rc < 0)
            return rc;
        bool late = shm_status(txn->was.head) == SHM_EXPIRED && ending->to == TLSHM_SETTLED;
        if (shm_status(txn->was.head) == SHM_HELD || late)
            rc = tl_views_take(&thread->hand, txn, txn->was.body.scope);
        else
            tl_views_read_clock(&thread->hand, txn);
        if (rc == -TLSHM_ESTALE && tl_load(&thread->hand.map->records[txn->was.index].head) != txn->was.head)
            continue;            /* it ended meanwhile, and its scope may be another's now */
        if (rc == -TLSHM_ESTALE) /* only after a retention that is over, or in a segment that says nonsense */
            return shm_status(txn->was.head) == SHM_HELD ? -TLSHM_ECORRUPT : -TLSHM_EUNKNOWN;
        if (rc < 0)
            return rc;
        if (rc > 0)
            continue;
        struct end_step step = decide_end(thread, ending);
        if (step.nothing)
            return step.verdict < 0 ? step.verdict
                                    : report_end(&txn->was.body, shm_status(txn->was.head), result, step.verdict);
        if (tl_txn_aside(&thread->hand, txn->cell[0], &stepped))
            continue; /* it has paused: look again */
        rc = commit_end(thread, step.held, step.status, ending);
        if (rc < 0)
            return rc;
        if (TL_LIKELY(rc == 1)) {
            count_end(thread, &step);
            teach(thread, &step, &ending->used);
            if (lag_ns)
                *lag_ns = txn->now > txn->was.body.deadline ? txn->now - txn->was.body.deadline : 0;
            return report_end(&txn->was.body, step.status, result, step.verdict);
        }
        tl_count(&thread->hand.seat->counter[SHM_N_RETRIES]);
        tl_txn_lost(&thread->hand, txn->cell[0], failures);
    }
    return -TLSHM_ECONTENDED;
}
