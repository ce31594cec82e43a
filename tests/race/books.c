/* SPDX-License-Identifier: MIT */
/* books.c - the ledger against the segment. */
#include "books.h"

#include "mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOOK_NEW = 0, BOOK_OLD = 1, BOOK_SUMMED = 2, BOOK_CLOSED = 3 };

#define TAG(tag) ((unsigned long long)(tag))

struct books *books_open(struct ledger *l, tlshm_t *t, uint64_t seed)
{
    struct books *b = calloc(1, sizeof *b);
    struct tlshm_error err;
    MUST(b != NULL, "no memory for the books");
    b->ledger = l;
    b->t = t;
    b->first = 1;
    b->random = seed | 1;
    MUST(tlshm_attach(&b->look, l->path, TLSHM_READONLY, &err) == 0, "attach: %s", err.text);
    return b;
}

void books_close(struct books *b)
{
    tlshm_detach(b->look);
    free(b);
}

void books_died(struct books *b, unsigned actor)
{
    uint64_t call = atomic_exchange(&b->ledger->slot[actor], 0);
    if (ledger_call_op(call) == LEDGER_IDLE)
        return;
    MUST(b->doubt_count < BOOKS_DOUBTS, "too many deaths between two audits");
    b->doubts[b->doubt_count++] = call;
    b->doubted++;
}

uint64_t books_open_tags(const struct books *b)
{
    return atomic_load(&b->ledger->next_tag) - b->first;
}

/* ----------------------------------------------------------------------------------------------------------- scopes */

static unsigned scope_place(uint32_t scope)
{
    return scope < LEDGER_FIXED ? scope : LEDGER_FIXED + (scope - LEDGER_FIXED) % (BOOKS_EPOCHS * LEDGER_FRESH);
}

/* Calls `visit` for the fixed scopes and those of this and the two epochs before. */
static void each_scope(struct books *b, void (*visit)(struct books *, uint32_t))
{
    uint64_t now = atomic_load(&b->ledger->epoch);
    for (uint32_t scope = 0; scope < LEDGER_FIXED; scope++)
        visit(b, scope);
    for (uint64_t epoch = now > 2 ? now - 2 : 0; epoch <= now; epoch++)
        for (unsigned n = 0; n < LEDGER_FRESH; n++)
            visit(b, ledger_fresh_scope(epoch, n));
}

static void forget_handle(struct books *b, uint32_t scope)
{
    b->handles[scope_place(scope)] = 0;
}

static void find_handles(struct books *b)
{
    char key[TLSHM_KEY_MAX + 1], wanted[32];
    uint64_t cursor = 0, now = atomic_load(&b->ledger->epoch);
    tlshm_handle handle;
    each_scope(b, forget_handle);
    while (tlshm_scope_next(b->look, &cursor, &handle) == 1) {
        const char *serial = tlshm_scope_key(b->look, handle, key, sizeof key) > 0 ? strstr(key, ":fresh") : NULL;
        if (serial != NULL) {
            uint32_t scope = LEDGER_FIXED + (uint32_t)strtoul(serial + 6, NULL, 10);
            if (ledger_scope_epoch(scope) + BOOKS_EPOCHS > now)
                b->handles[scope_place(scope)] = handle;
        }
        for (uint32_t scope = 0; scope < LEDGER_FIXED && serial == NULL; scope++) {
            ledger_key(scope, wanted, sizeof wanted);
            if (strcmp(key, wanted) == 0)
                b->handles[scope] = handle;
        }
    }
}

/* ------------------------------------------------------------------------------------------------- what may have been */

static uint64_t living_call(const struct books *b, unsigned actor, uint64_t tag)
{
    uint64_t call = atomic_load(&b->ledger->slot[actor]);
    return ledger_call_tag(call) == tag ? call : 0;
}

/* Calls `judge` for each call on the tag whose answer nobody wrote down, until one fits. */
static bool any_unheard(const struct books *b, uint64_t tag, bool (*judge)(const struct books *, uint64_t call))
{
    for (unsigned i = 0; i < b->doubt_count; i++)
        if (ledger_call_tag(b->doubts[i]) == tag && judge(b, b->doubts[i]))
            return true;
    for (unsigned actor = 0; actor < LEDGER_ACTORS; actor++) {
        uint64_t call = living_call(b, actor, tag);
        if (call != 0 && judge(b, call))
            return true;
    }
    return false;
}

static bool is_living(const struct books *b, uint64_t tag)
{
    for (unsigned actor = 0; actor < LEDGER_ACTORS; actor++)
        if (living_call(b, actor, tag) != 0)
            return true;
    return false;
}

static bool is_reserve(const struct books *b, uint64_t call)
{
    (void)b;
    return ledger_call_op(call) == LEDGER_RESERVE;
}

static const tlshm_reservation_info *row_of(const struct books *b, uint64_t tag)
{
    return b->count[tag % LEDGER_TAGS] != 0 ? &b->rows[tag % LEDGER_TAGS] : NULL;
}

/* Does the row look as this call would have left it? */
static bool ended_by(const struct books *b, uint64_t call)
{
    uint64_t tag = ledger_call_tag(call);
    const tlshm_reservation_info *row = row_of(b, tag);
    enum ledger_op op = ledger_call_op(call);
    if (op == LEDGER_RESERVE || op == LEDGER_EXTEND || row->status != ledger_end_status(call))
        return false;
    for (enum tlshm_overrun policy = TLSHM_CHARGE_ACTUAL; policy <= TLSHM_CAP_AT_ESTIMATE; policy++) {
        tlshm_amounts charge = ledger_charge(ledger_at(b->ledger, tag), call, &row->estimate, policy);
        if (memcmp(&charge, &row->charged, sizeof charge) == 0)
            return true;
    }
    return false;
}

/* --------------------------------------------------------------------------------------------------- one reservation */

/* The estimate with the extends that were heard of, and with the last one if `also`. */
static bool estimate_is(const struct ledger_entry *e, const tlshm_amounts *estimate, bool also)
{
    tlshm_amounts sum = {{0}};
    memcpy(sum.of, e->need, sizeof e->need);
    sum.of[TLSHM_CONCURRENCY] = 1;
    for (unsigned i = 0; i < LEDGER_EXTENDS; i++) {
        uint64_t note = atomic_load(&e->extend[i]);
        bool done = (note & 0xff) == LEDGER_EXTEND_DONE || ((note & 0xff) == LEDGER_EXTEND_ASKED && also);
        tlshm_amounts more = ledger_part(e, note >> 8);
        for (unsigned u = 0; u < TLSHM_UNITS && done; u++)
            sum.of[u] += more.of[u];
    }
    return memcmp(&sum, estimate, sizeof sum) == 0;
}

static bool is_extending(const struct books *b, uint64_t call)
{
    (void)b;
    return ledger_call_op(call) == LEDGER_EXTEND;
}

/* B1, the amounts. An extend whose maker died is judged by what is there. */
static void check_estimate(struct books *b, uint64_t tag, const tlshm_reservation_info *row, bool reaped)
{
    struct ledger_entry *e = ledger_at(b->ledger, tag);
    bool without = estimate_is(e, &row->estimate, false), with = estimate_is(e, &row->estimate, true);
    if (!without && !(with && any_unheard(b, tag, is_extending)))
        ledger_fault(b->ledger, "B1 tag %llu: its estimate is %llu tokens", TAG(tag),
                     (unsigned long long)row->estimate.of[TLSHM_TOKENS]);
    if (!reaped || is_living(b, tag))
        return;
    for (unsigned i = 0; i < LEDGER_EXTENDS; i++) {
        uint64_t note = atomic_load(&e->extend[i]);
        if ((note & 0xff) == LEDGER_EXTEND_ASKED)
            atomic_store(&e->extend[i], (note & ~UINT64_C(0xff)) | (without ? LEDGER_EXTEND_NOT : LEDGER_EXTEND_DONE));
    }
}

/* B1, the scopes. */
static void check_scopes(struct books *b, uint64_t tag, const tlshm_reservation_info *row)
{
    const struct ledger_entry *e = ledger_at(b->ledger, tag);
    bool same = row->scope_count == e->scope_count;
    for (unsigned i = 0; same && i < e->scope_count; i++)
        same = row->scopes[i] == b->handles[scope_place(e->scope[i])];
    if (!same)
        ledger_fault(b->ledger, "B1 tag %llu: names other scopes than were asked for", TAG(tag));
}

/* B3 */
static void check_end(struct books *b, uint64_t tag, const tlshm_reservation_info *row)
{
    const struct ledger_entry *e = ledger_at(b->ledger, tag);
    uint64_t end = atomic_load(&e->end);
    tlshm_result result = {row->status, row->charged};
    tlshm_amounts requests = {{0}};
    requests.of[TLSHM_REQUESTS] = e->need[TLSHM_REQUESTS];
    bool open = row->status == TLSHM_HELD || row->status == TLSHM_EXPIRED;
    bool right = open       ? end == 0 && memcmp(&row->charged, &requests, sizeof requests) == 0
                 : end != 0 ? ended_by(b, end)
                            : any_unheard(b, tag, ended_by);
    if (!right)
        ledger_fault(b->ledger, "B3 tag %llu: %s with %llu tokens charged, the call that was answered: %llx", TAG(tag),
                     tlshm_status_name((int)row->status), (unsigned long long)row->charged.of[TLSHM_TOKENS],
                     (unsigned long long)end);
    if (!open)
        ledger_outcome(b->ledger, tag, &result);
}

static void check_present(struct books *b, uint64_t tag, bool reaped)
{
    struct ledger_entry *e = ledger_at(b->ledger, tag);
    const tlshm_reservation_info *row = row_of(b, tag);
    uint64_t id = atomic_load(&e->id);
    if (b->count[tag % LEDGER_TAGS] != 1)
        ledger_fault(b->ledger, "B1 tag %llu: admitted twice", TAG(tag));
    if (atomic_load(&e->ready) != tag) {
        ledger_fault(b->ledger, "B2 tag %llu: was never asked for", TAG(tag));
        return;
    }
    if (id == 0 && !any_unheard(b, tag, is_reserve))
        ledger_fault(b->ledger, "B2 tag %llu: is there, but nobody was told", TAG(tag));
    if (id != 0 && row->id != id)
        ledger_fault(b->ledger, "B1 tag %llu: has the id %llx, not %llx", TAG(tag), (unsigned long long)row->id,
                     (unsigned long long)id);
    if (reaped && id == 0)
        atomic_store(&e->id, row->id);
    check_scopes(b, tag, row);
    check_estimate(b, tag, row, reaped);
    check_end(b, tag, row);
}

static void check_absent(struct books *b, uint64_t tag)
{
    const struct ledger_entry *e = ledger_at(b->ledger, tag);
    if (atomic_load(&e->ready) == tag && atomic_load(&e->id) != 0)
        ledger_fault(b->ledger, "B1 tag %llu: was admitted and is gone", TAG(tag));
}

/* ------------------------------------------------------------------------------------------------------------- sums */

static void add(tlshm_amounts *sum, const tlshm_amounts *more)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        sum->of[u] += more->of[u];
}

static void add_charge(struct books *b, tlshm_amounts *sums, uint64_t tag, const tlshm_amounts *charged)
{
    const struct ledger_entry *e = ledger_at(b->ledger, tag);
    for (unsigned i = 0; i < e->scope_count; i++)
        add(&sums[scope_place(e->scope[i])], charged);
}

static void add_up(struct books *b)
{
    uint64_t next = atomic_load(&b->ledger->next_tag);
    memcpy(b->used, b->base, sizeof b->used);
    memset(b->held, 0, sizeof b->held);
    for (uint64_t tag = b->first; tag < next; tag++) {
        const tlshm_reservation_info *row = row_of(b, tag);
        if (row == NULL || b->state[tag % LEDGER_TAGS] >= BOOK_SUMMED)
            continue;
        add_charge(b, b->used, tag, &row->charged);
        tlshm_amounts estimate = row->estimate;
        estimate.of[TLSHM_REQUESTS] = 0;
        if (row->status == TLSHM_HELD)
            add_charge(b, b->held, tag, &estimate);
    }
}

/* B4 */
static void check_sums(struct books *b, uint32_t scope)
{
    char key[32];
    tlshm_scope_usage usage;
    unsigned place = scope_place(scope);
    ledger_key(scope, key, sizeof key);
    int rc = tlshm_usage(b->look, key, 0, &usage);
    if (rc < 0)
        ledger_fault(b->ledger, "usage of %s: %s", key, tlshm_error_name(rc));
    for (unsigned u = 0; u < TLSHM_UNITS && rc == 0; u++) {
        if (usage.used[u] != b->used[place].of[u])
            ledger_fault(b->ledger, "B4 %s: %llu %s used, charged were %llu", key, (unsigned long long)usage.used[u],
                         tlshm_unit_name((int)u), (unsigned long long)b->used[place].of[u]);
        if (usage.held[u] != b->held[place].of[u])
            ledger_fault(b->ledger, "B4 %s: %llu %s held, reservations add up to %llu", key,
                         (unsigned long long)usage.held[u], tlshm_unit_name((int)u),
                         (unsigned long long)b->held[place].of[u]);
    }
}

/* ------------------------------------------------------------------------------------------------------------ audits */

/* Sorts what the segment has of reservations by tag; what is not of this time must have ended. */
static void read_rows(struct books *b)
{
    tlshm_reservation_info row;
    uint64_t cursor = 0, next = atomic_load(&b->ledger->next_tag);
    int rc;
    memset(b->count, 0, sizeof b->count);
    while ((rc = tlshm_reservation_next(b->look, &cursor, &row)) == 1) {
        bool open = row.tag >= b->first && row.tag < next;
        if (open) {
            b->count[row.tag % LEDGER_TAGS]++;
            b->rows[row.tag % LEDGER_TAGS] = row;
        } else if (row.status == TLSHM_HELD && row.tag != 0) {
            ledger_fault(b->ledger, "B2 tag %llu: held, but its books are closed", TAG(row.tag));
        }
    }
    if (rc < 0)
        ledger_fault(b->ledger, "reading the reservations: %s", tlshm_error_name(rc));
}

void books_audit(struct books *b, bool reaped)
{
    uint64_t next = atomic_load(&b->ledger->next_tag);
    MUST(next - b->first < LEDGER_TAGS, "the ledger is too small: %llu open tags", TAG(next - b->first));
    find_handles(b);
    read_rows(b);
    for (uint64_t tag = b->first; tag < next; tag++) {
        if (b->state[tag % LEDGER_TAGS] >= BOOK_SUMMED)
            continue;
        if (row_of(b, tag) != NULL)
            check_present(b, tag, reaped);
        else
            check_absent(b, tag);
    }
    add_up(b);
    each_scope(b, check_sums);
    mix_look_strict(b->ledger, b->look);
    b->audits++;
}

/* ----------------------------------------------------------------------------------------------------------- closing */

/* Ends what is held or expired. Returns whether it has ended for good. */
static bool end_now(struct books *b, uint64_t tag, tlshm_reservation_info *row)
{
    struct ledger_entry *e = ledger_at(b->ledger, tag);
    enum ledger_op op = mix_below(&b->random, 3) == 0 ? LEDGER_REFUND : LEDGER_SETTLE;
    uint64_t call = ledger_call(row->status == TLSHM_EXPIRED ? LEDGER_SETTLE : op, mix_below(&b->random, 0x10000), tag);
    tlshm_amounts actual = ledger_actual(e, ledger_call_share(call));
    tlshm_result result = {.status = TLSHM_HELD};
    int rc = ledger_call_op(call) == LEDGER_REFUND ? tlshm_refund(b->t, row->id, &result)
                                                   : tlshm_settle(b->t, row->id, &actual, TLSHM_EXACT, &result);
    if (rc != (row->status == TLSHM_EXPIRED ? TLSHM_LATE : TLSHM_OK)) {
        ledger_fault(b->ledger, "tag %llu: ending what is %s: %d", TAG(tag), tlshm_status_name((int)row->status), rc);
        return false;
    }
    ledger_ended(b->ledger, call, &result);
    row->status = result.status;
    row->charged = result.charged;
    check_end(b, tag, row);
    return true;
}

/* Nobody can bring the tag to life any more. */
static bool is_dead(const struct books *b, uint64_t tag, bool living)
{
    bool written = atomic_load(&ledger_at(b->ledger, tag)->ready) == tag;
    return !is_living(b, tag) && (written || !living);
}

/* Calls that nobody lived to hear the answer of, and that happened. */
static void count_resolved(struct books *b, uint64_t tag)
{
    const tlshm_reservation_info *row = row_of(b, tag);
    const struct ledger_entry *e = ledger_at(b->ledger, tag);
    bool ended = row->status == TLSHM_SETTLED || row->status == TLSHM_REFUNDED;
    b->resolved += atomic_load(&e->admitted) == 0;
    b->resolved += ended && atomic_load(&e->end) == 0;
}

/* One step of a tag's life at the end of an epoch. */
static void turn_tag(struct books *b, uint64_t tag, bool living)
{
    unsigned char *state = &b->state[tag % LEDGER_TAGS];
    tlshm_reservation_info *row = row_of(b, tag) != NULL ? &b->rows[tag % LEDGER_TAGS] : NULL;
    if (*state < BOOK_SUMMED && row != NULL) {
        bool ended = row->status == TLSHM_SETTLED || row->status == TLSHM_REFUNDED;
        if (!ended && *state == BOOK_OLD)
            ended = end_now(b, tag, row);
        if (ended)
            count_resolved(b, tag);
        if (ended)
            add_charge(b, b->base, tag, &row->charged);
        *state = ended ? BOOK_SUMMED : BOOK_OLD;
    }
    bool over = row == NULL || *state == BOOK_SUMMED;
    if (*state != BOOK_CLOSED && over && is_dead(b, tag, living)) {
        *state = BOOK_CLOSED;
        atomic_store(&ledger_at(b->ledger, tag)->closed, tag);
    }
}

/* Fresh scopes of the coming epoch take the places of old ones. */
static void clear_places(struct books *b, uint64_t epoch)
{
    for (unsigned n = 0; n < LEDGER_FRESH; n++)
        memset(&b->base[scope_place(ledger_fresh_scope(epoch, n))], 0, sizeof b->base[0]);
}

void books_turn(struct books *b, bool living, uint64_t tags)
{
    uint64_t next = atomic_load(&b->ledger->next_tag);
    for (uint64_t tag = b->first; tag < next; tag++)
        turn_tag(b, tag, living);
    while (b->first < next && b->state[b->first % LEDGER_TAGS] == BOOK_CLOSED)
        b->state[b->first++ % LEDGER_TAGS] = BOOK_NEW;
    b->doubt_count = 0;
    clear_places(b, atomic_load(&b->ledger->epoch) + 1);
    /* The next epoch's actors may act on what this one made. */
    atomic_store(&b->ledger->recent, b->first);
    ledger_next_epoch(b->ledger, tags);
}
