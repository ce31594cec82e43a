/* SPDX-License-Identifier: MIT */
/* asks.c - questions, and the reserves that they are compared with. See asks.h. */
#include "asks.h"

#include "explain.h"
#include "ledger.h"
#include "scopes.h"
#include "tap.h"

#define ANSWERS 64
#define TIMES 8

struct told {
    int rc;
    tlshm_refusal why; /* if it was refused */
};

/* One fibre's, and what would have been told since it began. */
static struct question {
    bool open;
    const struct booking *booking;
    unsigned answers, times, moments;
    int64_t time[TIMES]; /* that the clock has shown since then, in ticks */
    struct told answer[ANSWERS];
} questions[FIBRES];

struct tlshm *ask_attachment(void)
{
    static struct tlshm t;
    static bool ready;
    if (!ready)
        MUST(tl_keys_init(&t.keys) == 0, "no memory for keys");
    ready = true;
    tl_store_relaxed(&t.keys.count, TL_KEYS_MAX);
    memcpy((void *)&t.map, (const void *)&world.map, sizeof t.map);
    tl_clock_copy(&t.clock, &world.thread[HARNESS].hand.clock);
    return &t;
}

/* ------------------------------------------------------------------------------------------------------- the oracle */

static int resolve_all(struct tl_thread *thread, const tlshm_request *request, struct tl_ask *ask)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < request->scope_count; i++) {
        ask->scope[i] = request->scopes[i].handle;
        if (!ask->scope[i])
            rc = tl_scopes_resolve_anew(ask_attachment(), &thread->hand, request->scopes[i].key, 0, &ask->scope[i]);
    }
    return rc;
}

/* What a reserve is told that is made now and alone. */
static struct told reserve_now(const struct booking *booking)
{
    struct tl_thread *thread = &world.thread[HARNESS];
    tlshm_scope scopes[TLSHM_SCOPES_MAX];
    tlshm_request request;
    struct tl_ask ask;
    struct tl_no no = {.detailed = true};
    struct told told = {0};
    tlshm_id id;
    call_fill(booking, scopes, &request);
    thread->record = RECORDS;
    thread->record_end = world.map.reservations;
    told.rc = resolve_all(thread, &request, &ask);
    if (told.rc == 0)
        told.rc = tl_limiter_reserve(thread, &request, &ask, &id, &no);
    if (told.rc == -TLSHM_ENOROOM)
        told = (struct told){TLSHM_REFUSED, {.reason = TLSHM_FULL, .scope = UINT32_MAX, .retry_after_ns = TLSHM_NEVER}};
    else if (told.rc == TLSHM_REFUSED)
        tl_explain(thread, ask.scope, ask.scopes, ask.need, &no, TL_FOREVER, &told.why);
    return told;
}

static bool same_reason(const tlshm_refusal *a, const tlshm_refusal *b)
{
    return a->reason == b->reason && a->scope == b->scope && strcmp(a->key, b->key) == 0;
}

static bool same_figures(const tlshm_refusal *a, const tlshm_refusal *b)
{
    return a->requested == b->requested && a->used == b->used && a->held == b->held && a->remaining == b->remaining &&
           a->limit.cap == b->limit.cap && (a->retry_after_ns == TLSHM_NEVER) == (b->retry_after_ns == TLSHM_NEVER);
}

static bool same(const struct told *a, const struct told *b, bool details)
{
    return a->rc == b->rc &&
           (a->rc != TLSHM_REFUSED || !details || (same_reason(&a->why, &b->why) && same_figures(&a->why, &b->why)));
}

static int64_t ticks_now(void)
{
    return (int64_t)(world_now() / TICK);
}

static bool is_among(const struct question *q, const struct told *told, bool details)
{
    for (unsigned i = 0; i < q->answers; i++)
        if (same(&q->answer[i], told, details))
            return true;
    return false;
}

/*
 * Who is inside an operation that is not decided gets no further: a reserve would carry it out, and who only looks takes it
 * as not done. That record goes on without it.
 */
static void break_off_all(void)
{
    for (unsigned i = 0; i < SEATS; i++) {
        const struct shm_seat *seat = &world.map.seats[i];
        uint32_t record = (uint32_t)tl_load_relaxed(&seat->record);
        uint64_t from = tl_load_relaxed(&seat->from);
        if ((tl_load_relaxed(&seat->cur) & 1) == 0 || tl_load_relaxed(&world.map.records[record].head) != from)
            continue;
        uint64_t next = shm_record_head(shm_status(from), from, shm_node(from));
        tl_store_relaxed(&world.map.records[record].head, next);
    }
}

static void note_answer(struct question *q, int64_t time)
{
    ledger_ignore(true);
    world_set_aside();
    break_off_all();
    world_tick((int)(time - ticks_now()));
    const struct told told = reserve_now(q->booking);
    world_take_back();
    ledger_ignore(false);
    if (is_among(q, &told, true))
        return;
    MUST(q->answers < ANSWERS, "more answers than a question has room for");
    q->answer[q->answers++] = told;
}

/* A call reads the clock once: what it meets after that it judges by that time. */
static void note_answers(struct question *q)
{
    bool known = false;
    q->moments++;
    for (unsigned i = 0; i < q->times; i++)
        known |= q->time[i] == ticks_now();
    MUST(known || q->times < TIMES, "more times than a question has room for");
    if (!known)
        q->time[q->times++] = ticks_now();
    for (unsigned i = 0; i < q->times; i++)
        note_answer(q, q->time[i]);
}

void ask_moment(void)
{
    for (unsigned i = 0; i < FIBRES; i++)
        if (questions[i].open)
            note_answers(&questions[i]);
}

bool ask_is_open(unsigned fibre)
{
    return questions[fibre].open;
}

void ask_forget(void)
{
    for (unsigned i = 0; i < FIBRES; i++)
        questions[i].open = false;
}

/* ------------------------------------------------------------------------------------------------------ the question */

static void begin(struct question *q, const struct booking *booking)
{
    q->booking = booking;
    q->answers = q->times = q->moments = 0;
    fibre_quiet(true);
    note_answers(q);
    fibre_quiet(false);
    q->open = true;
}

static void compare(const struct question *q, const struct told *told, bool details)
{
    const struct told *first = &q->answer[0];
    bool walked = told->rc == TLSHM_REFUSED && told->why.reason == TLSHM_FULL && q->moments > 1;
    if (is_among(q, told, details) || walked)
        return;
    fault("who asks is told %d (reason %u, scope %u, used %llu, held %llu), and no reserve is: the first of %u is told "
          "%d "
          "(%u, %u, %llu, %llu)",
          told->rc, told->why.reason, told->why.scope, (unsigned long long)told->why.used,
          (unsigned long long)told->why.held, q->answers, first->rc, first->why.reason, first->why.scope,
          (unsigned long long)first->why.used, (unsigned long long)first->why.held);
}

int ask_fit(unsigned fibre, const struct booking *booking, bool details)
{
    struct question *q = &questions[fibre];
    tlshm_scope scopes[TLSHM_SCOPES_MAX];
    tlshm_request request;
    struct told told = {0};
    call_fill(booking, scopes, &request);
    begin(q, booking);
    told.rc = tlshm_would_fit(ask_attachment(), &request, details ? &told.why : NULL);
    q->open = false;
    compare(q, &told, details);
    return told.rc;
}
