/* SPDX-License-Identifier: MIT */
/* calls.c - calls on the explored segment, compared with the ledger. See calls.h. */
#include "calls.h"

#include "change.h"
#include "ending.h"
#include "expiry.h"
#include "idempotency.h"
#include "ledger.h"
#include "limiter.h"
#include "remaining.h"
#include "views.h"

struct deeds {
    unsigned of[DEEDS];
};

static struct deeds deeds_of(unsigned seat)
{
    struct deeds deeds;
    for (unsigned d = 0; d < DEEDS; d++)
        deeds.of[d] = ledger_done(seat, (enum deed)d);
    return deeds;
}

/* Since `before`, has the seat done `deed` so many times? Others' overdue holds may have been expired on the way. */
static void expect(unsigned seat, const char *call, const struct deeds *before, enum deed deed, unsigned times)
{
    for (unsigned d = 0; d < DEEDS; d++) {
        unsigned done = ledger_done(seat, (enum deed)d) - before->of[d], due = d == (unsigned)deed ? times : 0;
        if (done != due && d != EXPIRED)
            fault("%s of seat %u says %u but has done %u", call, seat, due, done);
    }
}

static void expect_no_error(const char *call, int rc, int allowed)
{
    if (rc < 0 && rc != allowed)
        fault("%s fails with %s", call, tlshm_error_name(rc));
}

static uint64_t said(const tl_word *word)
{
    return atomic_load_explicit(word, memory_order_relaxed); /* no step of the explorer's */
}

/* The reservation names the scopes that were asked for, in that order, unless it is another's by now. */
static void expect_scopes(tlshm_id id, const uint64_t *scope, unsigned scopes)
{
    uint64_t head = said(&world.map.records[id & SHM_NODE_MASK].head);
    const struct shm_body *body = &world.map.bodies[shm_node(head)];
    if ((said(&body->generation) & TL_GENERATION_MASK) != id >> SHM_NODE_BITS)
        return;
    for (unsigned i = 0; i < scopes; i++)
        if (said(i < 2 ? &body->scope[i] : &body->more_scopes[i - 2]) != scope[i])
            fault("a reservation names another scope %u than was asked for", i);
}

void call_fill(const struct booking *b, tlshm_scope *scopes, tlshm_request *request)
{
    unsigned count = 0;
    *request = (tlshm_request){.scopes = scopes, .ttl_ns = (b->ttl ? b->ttl : LONG) * TICK, .flags = b->flags};
    for (unsigned i = 0; i < SCOPES; i++)
        if (b->scopes >> i & 1)
            scopes[count++] = (tlshm_scope){.handle = world.handle[i]};
    if (b->handle)
        scopes[count++] = (tlshm_scope){.handle = b->handle};
    if (b->name)
        scopes[count++] = (tlshm_scope){.key = b->name};
    request->scope_count = count;
    request->estimate.of[TLSHM_TOKENS] = b->tokens;
    request->estimate.of[TLSHM_REQUESTS] = 1;
    request->estimate.of[TLSHM_INPUT_TOKENS] = b->input;
    request->idempotency_key = b->key;
    request->idempotency_len = b->key ? strlen(b->key) : 0;
}

static struct tl_no said_no[SEATS];

const struct tl_no *call_why(unsigned seat)
{
    return &said_no[seat];
}

int call_reserve(unsigned seat, const struct booking *b, tlshm_id *id)
{
    struct tl_thread *thread = &world.thread[seat];
    struct deeds before = deeds_of(seat);
    tlshm_scope scopes[TLSHM_SCOPES_MAX];
    tlshm_request request;
    struct tl_ask ask;
    struct tl_no no = {0};
    call_fill(b, scopes, &request);
    for (unsigned i = 0; i < request.scope_count; i++)
        ask.scope[i] = scopes[i].handle;
    thread->record = b->record;
    thread->record_end = world.map.reservations;
    int rc = tl_limiter_reserve(thread, &request, &ask, id, &no);
    said_no[seat] = no;
    expect_no_error("reserve", rc, -TLSHM_ESTALE);
    expect(seat, "reserve", &before, RESERVED, rc == TLSHM_OK);
    if (rc == TLSHM_OK)
        expect_scopes(*id, ask.scope, request.scope_count);
    return rc;
}

int call_extend(unsigned seat, tlshm_id id, uint64_t tokens, unsigned ttl)
{
    struct deeds before = deeds_of(seat);
    const uint64_t more[TLSHM_UNITS] = {[TLSHM_TOKENS] = tokens};
    struct tl_no no = {0};
    int rc = tl_limiter_extend(&world.thread[seat], id, more, ttl * TICK, &no);
    expect_no_error("extend", rc, -TLSHM_EUNKNOWN);
    expect(seat, "extend", &before, EXTENDED, rc == TLSHM_OK);
    return rc;
}

#define TOO_MUCH ((UINT64_C(1) << 62) + 1)

static void expect_out_of_range(unsigned seat, const char *call, const struct deeds *before, int rc)
{
    if (rc != -TLSHM_ERANGE)
        fault("%s of more than a sum may be says %d", call, rc);
    expect(seat, call, before, RESERVED, 0);
}

void call_settle_too_much(unsigned seat, tlshm_id id)
{
    struct deeds before = deeds_of(seat);
    const uint64_t actual[TLSHM_UNITS] = {[TLSHM_TOKENS] = TOO_MUCH};
    struct tl_ending ending = {.to = TLSHM_SETTLED, .used = {.of = actual, .outcome = TLSHM_EXACT}};
    expect_out_of_range(seat, "settle", &before, tl_ending_run(&world.thread[seat], id, &ending, NULL, NULL));
}

void call_reserve_too_much(unsigned seat, unsigned record, unsigned scopes)
{
    struct deeds before = deeds_of(seat);
    tlshm_scope none[TLSHM_SCOPES_MAX] = {{NULL, 0, 0}};
    tlshm_request request = {.scopes = none, .ttl_ns = LONG * TICK, .estimate.of = {[TLSHM_TOKENS] = TOO_MUCH}};
    struct tl_ask ask;
    struct tl_no no = {0};
    tlshm_id id;
    for (unsigned i = 0; i < SCOPES; i++)
        if (scopes >> i & 1)
            ask.scope[request.scope_count++] = world.handle[i];
    world.thread[seat].record = record;
    expect_out_of_range(seat, "reserve", &before, tl_limiter_reserve(&world.thread[seat], &request, &ask, &id, &no));
}

static int end_with(unsigned seat, tlshm_id id, enum tlshm_status to, const uint64_t *actual, tlshm_result *result)
{
    static const enum deed deeds[] = {
        [TLSHM_SETTLED] = SETTLED, [TLSHM_REFUNDED] = REFUNDED, [TLSHM_EXPIRED] = EXPIRED};
    struct deeds before = deeds_of(seat);
    struct tl_ending ending = {.to = to, .used = {.of = actual, .outcome = TLSHM_EXACT}};
    int rc = tl_ending_run(&world.thread[seat], id, &ending, result, NULL);
    expect_no_error("end", rc, -TLSHM_EUNKNOWN);
    expect(seat, "end", &before, deeds[to], rc == TLSHM_OK || rc == TLSHM_LATE);
    return rc;
}

int call_end(unsigned seat, tlshm_id id, enum tlshm_status to, uint64_t tokens)
{
    return end_with(seat, id, to, (const uint64_t[TLSHM_UNITS]){[TLSHM_TOKENS] = tokens}, NULL);
}

int call_settle_wide(unsigned seat, tlshm_id id, uint64_t tokens, uint64_t input)
{
    const uint64_t actual[TLSHM_UNITS] = {[TLSHM_TOKENS] = tokens, [TLSHM_INPUT_TOKENS] = input};
    tlshm_result result;
    int rc = end_with(seat, id, TLSHM_SETTLED, actual, &result);
    if (rc == TLSHM_OK && result.charged.of[TLSHM_INPUT_TOKENS] != input)
        fault("a settle has forgotten its input tokens");
    return rc;
}

void call_pair(unsigned seat, unsigned record, unsigned scopes, uint64_t tokens, enum tlshm_status to, uint64_t charge)
{
    struct booking booking = {.record = record, .scopes = scopes, .tokens = tokens};
    tlshm_id id;
    if (call_reserve(seat, &booking, &id) == TLSHM_OK)
        call_end(seat, id, to, charge);
}

void call_expire_all(unsigned seat)
{
    tl_expiry_all(&world.thread[seat], NULL);
}

void call_tick(int ticks)
{
    tl_load(&world.map.header->virtual_boot);
    world_tick(ticks);
}

/*
 * As seat.c does when the kernel has said that the owner is dead. The heir is another thread, which may have had a seat
 * before: it brings along what it knew of that one's spares.
 */
static void inherit(unsigned seat)
{
    struct shm_seat *shared = &world.map.seats[seat];
    struct tl_hand *hand = &world.thread[seat].hand;
    const struct tl_hand *former = &world.thread[fibre_running()].hand;
    memcpy(hand->spare_of, former->spare_of, sizeof hand->spare_of);
    if (tl_txn_inherit(hand) < 0)
        fault("seat %u cannot be inherited", seat);
    tl_store_release(&shared->epoch, tl_load(&shared->epoch) + 1);
}

bool call_inherit(unsigned *seat)
{
    for (unsigned i = 0; i < FIBRES; i++) {
        if (!world.dead[i] || i == fibre_running())
            continue;
        world.dead[i] = false;
        inherit(i);
        *seat = i;
        return true;
    }
    return false;
}

/* ----------------------------------------------------------------------------------------------------------- looks */

void call_look(unsigned seat, unsigned scope, bool readonly)
{
    struct tl_hand hand = world.thread[seat].hand;
    struct ledger_moment since = ledger_moment();
    struct tl_view view;
    uint64_t used[TLSHM_LIMITS_MAX], time;
    if (readonly) {
        hand.seat = NULL;
        hand.seat_index = 0; /* as it is in who never had one: it is not seat 0 */
    }
    do {
        if (tl_txn_snapshot(&hand, world.cell[scope], &view) < 0) {
            fault("scope %u: its sheet leads nowhere", scope);
            return;
        }
        ledger_check_read(scope, &view, &since);
        time = tl_clock_now(&hand.clock);
        for (unsigned i = 0; i < view.windows; i++)
            used[i] = tl_history_used(&world.map, world.cell[scope], &view, i, time);
    } while (!tl_txn_current(&hand, world.cell[scope], &view));
    fibre_quiet(true);
    ledger_check_used(scope, &view, used, time, &since);
    fibre_quiet(false);
}

void call_look_record(unsigned seat, unsigned index)
{
    struct tl_record record = {0}; /* compared as a whole */
    if (tl_txn_record(&world.thread[seat].hand, index, TL_WHOLE, &record) < 0)
        fault("record %u leads nowhere", index);
    else
        ledger_check_record(&record);
}

/* What a limit leaves of `held`, and of what its window says is used. */
static int64_t limit_leaves(const struct tl_view *view, const struct tl_limits *limits, unsigned i, uint32_t cell,
                            uint64_t held)
{
    uint64_t shape = limits->shape[i], taken = 0;
    if (limits->cap[i] == TLSHM_UNLIMITED)
        return INT64_MAX;
    if (!tl_shape_is_request(shape))
        taken = held + tl_history_used(&world.map, cell, view, i, world_now());
    return (int64_t)(limits->cap[i] - taken);
}

/* The same as tl_remaining(), the long way and of this very moment. */
static int64_t left_exactly(uint32_t cell, enum tlshm_unit unit)
{
    struct tl_hand hand = world.thread[HARNESS].hand;
    struct tl_view view;
    struct tl_limits limits;
    uint64_t held[TLSHM_UNITS];
    int64_t least = INT64_MAX;
    hand.seat = NULL;
    if (tl_txn_snapshot(&hand, cell, &view) < 0 ||
        tl_limits_read(&world.map, &world.map.cells[cell].policy, &limits) < 0)
        return -1;
    tl_views_adopt(&hand, cell, &view, &limits, world_now(), tl_clock_wall_offset(&hand.clock), false);
    tl_view_all_held(&view, held);
    tl_expiry_discount(&hand, cell, world_now(), held);
    for (unsigned i = 0; i < limits.count; i++)
        if (tl_shape_unit(limits.shape[i]) == unit) {
            int64_t left = limit_leaves(&view, &limits, i, cell, held[unit]);
            least = left < least ? left : least;
        }
    return least;
}

int64_t call_remaining(unsigned seat, uint64_t handle, enum tlshm_unit unit)
{
    struct ledger_moment since = ledger_moment(), until;
    int64_t left = INT64_MAX;
    if (!tl_remaining(&world.thread[seat], handle, unit, &left))
        return INT64_MAX;
    until = ledger_moment();
    if (since.versions != until.versions || since.charges != until.charges || since.time != until.time)
        return left;
    fibre_quiet(true);
    int64_t exact = left_exactly(tl_handle_cell(handle), unit);
    fibre_quiet(false);
    if (left != exact)
        fault("a ceiling leaves %lld, but there is %lld left", (long long)left, (long long)exact);
    return left;
}

/* ---------------------------------------------------------------------------------------------- limits, directory */

void call_publish(unsigned seat, tl_word *policy, const tlshm_limit *limits, unsigned count)
{
    uint64_t shape[TLSHM_LIMITS_MAX], cap[TLSHM_LIMITS_MAX];
    int rc;
    world_shapes(limits, count, shape, cap);
    do {
        uint64_t seen = tl_change_settled(&world.thread[seat].hand, policy);
        rc = tl_limits_publish(&world.thread[seat].hand, policy, seen, shape, cap, count);
    } while (rc == 0);
    expect_no_error("publish", rc, -TLSHM_ENOROOM);
}

#define HANDLES 16

static struct {
    const char *key;
    uint64_t handle;
} given[HANDLES];
static unsigned given_count;

/* The key of a handle is the one that it was given for; or the handle is stale. */
static void check_handle(const char *key, uint64_t handle)
{
    char name[TLSHM_KEY_MAX + 1];
    struct tl_hand hand = world.thread[HARNESS].hand;
    hand.seat = NULL;
    if (tl_directory_key(&hand, handle, name) >= 0 && strcmp(name, key) != 0)
        fault("the handle given for %s is that of %s", key, name);
}

void call_forget_handles(void)
{
    given_count = 0;
}

void call_check_handles(void)
{
    char key[CELLS][TLSHM_KEY_MAX + 1];
    struct tl_hand hand = world.thread[HARNESS].hand;
    hand.seat = NULL;
    for (unsigned i = 0; i < given_count; i++)
        check_handle(given[i].key, given[i].handle);
    for (uint32_t i = 0; i < CELLS; i++) {
        uint64_t handle = tl_directory_live(&hand, world.map.tier_cells + i);
        if (!handle || tl_directory_key(&hand, handle, key[i]) < 0)
            key[i][0] = 0;
        for (uint32_t k = 0; k < i && key[i][0]; k++)
            if (strcmp(key[i], key[k]) == 0)
                fault("%s has two cells", key[i]);
    }
}

static uint64_t note_handle(const char *key, uint64_t handle)
{
    fibre_quiet(true);
    check_handle(key, handle);
    fibre_quiet(false);
    if (given_count < HANDLES) {
        given[given_count].key = key;
        given[given_count++].handle = handle;
    }
    return handle;
}

uint64_t call_make(unsigned seat, const char *key)
{
    uint64_t handle = 0;
    int rc = tl_directory_make(&world.thread[seat].hand, TL_KEY_SCOPE, key, strlen(key),
                               tl_policy(TL_POLICY_DEFAULT, 0, 0), 1, &handle, NULL);
    expect_no_error("make", rc, -TLSHM_ENOROOM);
    return rc < 0 ? 0 : note_handle(key, handle);
}

uint64_t call_find(unsigned seat, const char *key)
{
    uint64_t handle = 0;
    int rc = tl_directory_find(&world.thread[seat].hand, key, strlen(key), &handle);
    expect_no_error("find", rc, -TLSHM_ENOENT);
    return rc < 0 ? 0 : note_handle(key, handle);
}

bool call_limit(unsigned seat, const char *key, const tlshm_limit *limits, unsigned count)
{
    struct tl_hand *hand = &world.thread[seat].hand;
    for (unsigned tries = 0; tries < CELLS; tries++) {
        uint64_t handle = call_make(seat, key), shape[TLSHM_LIMITS_MAX], cap[TLSHM_LIMITS_MAX];
        tl_word *policy = &world.map.cells[tl_handle_cell(handle)].policy;
        if (!handle)
            return false;
        world_shapes(limits, count, shape, cap);
        uint64_t seen = tl_change_settled(hand, policy);
        if (tl_directory_live(hand, tl_handle_cell(handle)) != handle ||
            tl_limits_publish(hand, policy, seen, shape, cap, count) != 1)
            continue;
        int rc = tl_directory_keep(hand, handle);
        expect_no_error("keep", rc, -TLSHM_ESTALE);
        if (rc == 0)
            return true;
    }
    return false;
}
