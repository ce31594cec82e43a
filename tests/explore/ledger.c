/* SPDX-License-Identifier: MIT */
/* ledger.c - what decisions mean, and whether the segment says the same. See ledger.h. */
#include "ledger.h"

#include <stdarg.h>
#include <stdio.h>

#include "ending.h"
#include "scene.h"
#include "tap.h"

#define CHARGES 96
#define VERSIONS 160
#define OPEN UINT64_MAX

/* A part of used, and when it came about: somewhere between the decision and the close of its operation. */
struct charge {
    unsigned place, unit, seat;
    uint64_t amount, operation, decided, closed;
};

/* A scope cell's budget as the ledger has it. */
struct place {
    uint64_t held[TLSHM_UNITS], used[TLSHM_UNITS];
    unsigned windows, old_windows; /* of its sheet, and those before they were last exchanged ... */
    uint64_t shape[TLSHM_LIMITS_MAX], old_shape[TLSHM_LIMITS_MAX];
    uint64_t exchanged;       /* ... at this time ... */
    unsigned exchanged_after; /* ... after so many charges */
    uint64_t incarnation;
    unsigned news;     /* counts what its windows' answers depend on */
    uint64_t followed; /* the head whose windows are known */
};

static struct ledger {
    struct place place[CELLS];
    unsigned versions, charges, records, rings;
    unsigned done[SEATS][DEEDS];
    struct charge charge[CHARGES];
} now, kept;

/* Append only, so going back needs no more than the counts. */
static struct version {
    uint64_t held[CELLS][TLSHM_UNITS], used[CELLS][TLSHM_UNITS];
} version_log[VERSIONS];
static struct tl_record record_log[VERSIONS];

static unsigned leave_out, limit_count;
static uint64_t limit_shape[TLSHM_LIMITS_MAX], limit_cap[TLSHM_LIMITS_MAX];

char fault_text[256];

void fault(const char *format, ...)
{
    va_list arguments;
    if (fault_text[0])
        return;
    va_start(arguments, format);
    vsnprintf(fault_text, sizeof fault_text, format, arguments);
    va_end(arguments);
}

static unsigned place_of(uint64_t handle)
{
    return tl_handle_cell(handle) - world.map.tier_cells;
}

static unsigned places(void)
{
    return leave_out & LEDGER_MORE ? CELLS : SCOPES;
}

/* --------------------------------------------------------------------------------------------------------- windows */

/* Since when a window counts that is looked at at `then`. */
static uint64_t beginning(uint64_t shape, uint64_t then)
{
    uint64_t width = tl_shape_width_ns(shape), buckets = then / width + 1;
    switch (tl_shape_kind(shape)) {
    case TLSHM_WINDOW_ROLLING:
        return buckets > tl_shape_slices(shape) ? (buckets - tl_shape_slices(shape)) * width : 0;
    case TLSHM_WINDOW_CALENDAR:
        return then / HOUR * HOUR;
    default:
        return 0;
    }
}

/* After an exchange of limits a window takes over what the one of the same shape, or at the same place, had. */
static bool was_taken_over(const struct place *place, unsigned window, uint64_t when)
{
    for (unsigned i = 0; i < place->old_windows; i++) {
        if (tl_shape_kind(place->old_shape[i]) == TLSHM_WINDOW_NONE)
            continue;
        bool same = place->old_shape[i] == place->shape[window];
        bool instead = i == window && tl_shape_unit(place->old_shape[i]) == tl_shape_unit(place->shape[window]);
        if ((same || instead) && when >= beginning(place->old_shape[i], place->exchanged))
            return true;
    }
    return false;
}

/* The least that window `window` of a place may say: what was decided within it, of the first `count` charges. */
static uint64_t least(unsigned at, unsigned window, uint64_t shape, uint64_t then, unsigned count)
{
    const struct place *place = &now.place[at];
    uint64_t sum = 0, from = beginning(shape, then), late = leave_out & LEDGER_LATE ? TICK : 0;
    for (unsigned i = 0; i < count; i++) {
        const struct charge *c = &now.charge[i];
        uint64_t when = c->decided - late;
        if (c->place != at || c->unit != tl_shape_unit(shape) || when < from)
            continue;
        if (i >= place->exchanged_after || was_taken_over(place, window, when))
            sum += c->amount;
    }
    return sum;
}

/* A window that took over what another one had keeps it as of the exchange: longer, maybe, than it would have. */
static bool may_keep_longer(const struct place *place, unsigned window)
{
    for (unsigned i = 0; i < place->old_windows; i++)
        if (place->old_shape[i] == place->shape[window])
            return false;
    return place->old_windows != 0;
}

/* The most that it may say: what was closed within it, or is not closed yet. */
static uint64_t most(unsigned at, unsigned window, uint64_t shape, uint64_t then)
{
    if ((leave_out & LEDGER_LOWER) || may_keep_longer(&now.place[at], window))
        return UINT64_MAX;
    uint64_t sum = 0, from = beginning(shape, then);
    for (unsigned i = 0; i < now.charges; i++) {
        const struct charge *c = &now.charge[i];
        if (c->place == at && c->unit == tl_shape_unit(shape) && c->closed >= from)
            sum += c->amount;
    }
    return sum;
}

/* New windows come with a head, before anything is decided. */
static void notice_windows(struct place *place, const struct tl_view *view)
{
    bool same = place->windows == view->windows;
    for (unsigned i = 0; same && i < place->windows; i++)
        same = place->shape[i] == tl_view_shape(view, i);
    if (same)
        return;
    place->old_windows = place->windows;
    memcpy(place->old_shape, place->shape, sizeof place->shape);
    place->windows = (unsigned)view->windows;
    for (unsigned i = 0; i < place->windows; i++)
        place->shape[i] = tl_view_shape(view, i);
    place->exchanged = world_now();
    place->exchanged_after = now.charges;
}

static void check_window(unsigned at, const struct tl_view *view, unsigned i, unsigned ahead)
{
    uint64_t shape = tl_view_shape(view, i), then = world_now() + ahead * TICK;
    uint32_t cell = world.map.tier_cells + at;
    uint64_t used = tl_history_used(&world.map, cell, view, i, then);
    uint64_t low = least(at, i, shape, then, now.charges);
    uint64_t high = most(at, i, shape, then);
    if (used < low)
        fault("use vanished: scope %u window %u in %u ticks says %llu, not %llu", at, i, ahead,
              (unsigned long long)used, (unsigned long long)low);
    if (used > high)
        fault("use counted too long: scope %u window %u in %u ticks says %llu, not %llu", at, i, ahead,
              (unsigned long long)used, (unsigned long long)high);
}

static void check_windows(unsigned at, const struct tl_view *view)
{
    static const unsigned ahead[] = {0, 1, 2, 3, 6};
    for (unsigned i = 0; i < view->windows; i++) {
        if (tl_shape_kind(tl_view_shape(view, i)) == TLSHM_WINDOW_NONE)
            continue;
        for (unsigned k = 0; k < sizeof ahead / sizeof ahead[0]; k++)
            check_window(at, view, i, ahead[k]);
    }
}

/* ------------------------------------------------------------------------------------------------------- decisions */

static void add_charge(unsigned place, unsigned unit, uint64_t amount, uint64_t ref)
{
    MUST(now.charges < CHARGES, "more charges than the ledger holds");
    now.place[place].used[unit] += amount;
    now.place[place].news++;
    now.charge[now.charges++] = (struct charge){.place = place,
                                                .unit = unit,
                                                .seat = shm_ref_seat(ref),
                                                .amount = amount,
                                                .operation = ref >> 14,
                                                .decided = world_now(),
                                                .closed = OPEN};
}

static void log_version(void)
{
    MUST(now.versions < VERSIONS, "more decisions than the ledger holds");
    for (unsigned i = 0; i < CELLS; i++) {
        memcpy(version_log[now.versions].held[i], now.place[i].held, sizeof now.place[i].held);
        memcpy(version_log[now.versions].used[i], now.place[i].used, sizeof now.place[i].used);
    }
    now.versions++;
}

static void read_body(uint64_t head, struct tl_record *out)
{
    const struct shm_body *body = &world.map.bodies[shm_node(head)];
    memset(out, 0, sizeof *out);
    out->head = head;
    tl_body_times(body, &out->body);
    tl_body_rest(body, TL_WHOLE, &out->body);
}

static void log_record(const struct tl_record *record)
{
    MUST(now.records < VERSIONS, "more decisions than the ledger holds");
    record_log[now.records++] = *record;
}

/* Which deed leads from one state of a record to the next; DEEDS: none may. */
static enum deed deed_of(const struct tl_record *from, const struct tl_record *to)
{
    unsigned was = shm_status(from->head), is = shm_status(to->head);
    bool same = from->body.generation == to->body.generation;
    if (was != SHM_HELD && is == SHM_HELD)
        return same ? DEEDS : RESERVED;
    if (!same)
        return DEEDS;
    if (was == SHM_EXPIRED && is == SHM_SETTLED)
        return SETTLED;
    if (was != SHM_HELD)
        return DEEDS;
    switch (is) {
    case SHM_HELD:
        return EXTENDED;
    case SHM_SETTLED:
        return SETTLED;
    case SHM_REFUNDED:
        return REFUNDED;
    case SHM_EXPIRED:
        return EXPIRED;
    default:
        return DEEDS;
    }
}

/* What a deed adds to held (negative: modulo 2^64) and to used. */
static void amounts_of(enum deed deed, const struct tl_record *from, const struct tl_record *to, uint64_t *held,
                       uint64_t *used)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        uint64_t was = shm_status(from->head) == SHM_HELD ? from->body.estimate[u] : 0;
        uint64_t is = shm_status(to->head) == SHM_HELD ? to->body.estimate[u] : 0;
        bool at_once = u == TLSHM_REQUESTS;
        held[u] = at_once ? 0 : is - was;
        used[u] = !at_once ? (deed == SETTLED ? to->body.charged[u] : 0) : deed == RESERVED ? is : 0;
    }
}

/* Whatever has just been admitted is within every limit that counts it. */
static void check_caps(unsigned at, const uint64_t *held, const uint64_t *used)
{
    if ((leave_out & LEDGER_NO_CAPS) || at >= SCOPES)
        return;
    for (unsigned i = 0; i < limit_count; i++) {
        unsigned unit = tl_shape_unit(limit_shape[i]);
        if (tl_shape_is_request(limit_shape[i]) || (held[unit] == 0 && used[unit] == 0))
            continue;
        bool windowed = tl_shape_kind(limit_shape[i]) != TLSHM_WINDOW_NONE;
        bool latch = tl_shape_latch(limit_shape[i]) != TL_LATCH_NONE; /* it goes by what was used before */
        uint64_t sum = latch ? 1 - used[unit] : now.place[at].held[unit];
        sum += windowed ? least(at, i, limit_shape[i], world_now(), now.charges) : 0;
        if (sum > limit_cap[i])
            fault("admitted above limit %u of scope %u: %llu", i, at, (unsigned long long)sum);
    }
}

/* And what a single request comes to with it is within every limit on that, its life from its beginning on included. */
static void check_request(const struct tl_body *from, const struct tl_body *to, bool anew)
{
    for (unsigned i = 0; i < limit_count && !(leave_out & LEDGER_NO_CAPS); i++) {
        unsigned unit = tl_shape_unit(limit_shape[i]);
        bool time = tl_shape_is_time(limit_shape[i]);
        uint64_t was = time ? from->deadline : from->estimate[unit], is = time ? to->deadline : to->estimate[unit];
        uint64_t whole = time ? to->deadline - to->created : to->estimate[unit];
        if (tl_shape_is_request(limit_shape[i]) && (anew || is != was) && whole > limit_cap[i])
            fault("admitted above limit %u on single requests: %llu", i, (unsigned long long)whole);
    }
}

static void book(enum deed deed, const struct tl_record *from, const struct tl_record *to)
{
    uint64_t held[TLSHM_UNITS], used[TLSHM_UNITS];
    amounts_of(deed, from, to, held, used);
    if (deed == RESERVED || deed == EXTENDED)
        check_request(&from->body, &to->body, deed == RESERVED);
    for (unsigned j = 0; j < tl_body_scopes(&to->body); j++) {
        unsigned at = place_of(to->body.scope[j]);
        if (at >= CELLS) {
            fault("a body names cell %u", tl_handle_cell(to->body.scope[j]));
            return;
        }
        if (now.place[at].incarnation != tl_handle_incarnation(to->body.scope[j]))
            fault("an operation on scope %u by a stale handle", at);
        for (unsigned u = 0; u < TLSHM_UNITS; u++) {
            now.place[at].held[u] += held[u];
            if (used[u])
                add_charge(at, u, used[u], to->body.ref);
        }
        if (deed == RESERVED || deed == EXTENDED)
            check_caps(at, held, used);
    }
}

static void decide(long index, uint64_t expected, uint64_t desired)
{
    struct tl_record from, to;
    read_body(expected, &from);
    read_body(desired, &to);
    to.index = (uint32_t)index;
    enum deed deed = deed_of(&from, &to);
    if (to.body.ref & SHM_MARKS)
        fault("record %ld: a body is marked before it is decided", index);
    else if (deed == DEEDS)
        fault("record %ld goes from status %u generation %llu to %u generation %llu", index, shm_status(expected),
              (unsigned long long)from.body.generation, shm_status(desired), (unsigned long long)to.body.generation);
    else if (deed != RESERVED && memcmp(from.body.scope, to.body.scope, sizeof to.body.scope) != 0)
        fault("record %ld changes its scopes", index);
    else if (to.body.deadline < from.body.deadline && deed == EXTENDED)
        fault("record %ld: extending moves the deadline to an earlier time", index);
    if (fault_text[0])
        return;
    now.done[shm_ref_seat(to.body.ref)][deed]++;
    book(deed, &from, &to);
    log_version();
    log_record(&to);
}

/* Is anything used inside a window of this shape? */
static bool is_used(unsigned at, uint64_t shape)
{
    for (unsigned i = 0; i < now.charges && tl_shape_kind(shape) != TLSHM_WINDOW_NONE; i++) {
        const struct charge *c = &now.charge[i];
        if (c->place == at && c->unit == tl_shape_unit(shape) && c->decided >= beginning(shape, world_now()))
            return true;
    }
    return false;
}

/* A scope's incarnation has ended: nothing of it may be held or used in a window. Its windows went with the head. */
static void retire(unsigned at)
{
    struct place *place = &now.place[at];
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (place->held[u])
            fault("scope %u is retired while something of it is held", at);
    for (unsigned i = 0; i < place->old_windows; i++)
        if (is_used(at, place->old_shape[i]))
            fault("scope %u is retired while something of it is used", at);
    *place = (struct place){.incarnation = place->incarnation + 1};
    for (unsigned i = 0; i < now.charges; i++)
        if (now.charge[i].place == at)
            now.charge[i].place = CELLS;
    log_version();
}

/* An operation on one cell was decided by its seat's own record: either nothing changes, or the scope is retired. */
static void decide_cell(long record)
{
    const struct shm_seat *seat = &world.map.seats[record - (long)world.map.reservations];
    uint64_t place = tl_load_relaxed(&seat->step[0].place);
    const struct shm_sheet *sheet = tl_map_sheet(&world.map, (uint32_t)place);
    unsigned at = (unsigned)(place >> 32) - world.map.tier_cells;
    if (at >= CELLS)
        fault("an operation on cell %u", (unsigned)(place >> 32));
    else if (tl_load_relaxed(&sheet->after.word[SHM_INCARNATION]) !=
             tl_load_relaxed(&sheet->before.word[SHM_INCARNATION]))
        retire(at);
}

static bool ignoring;

void ledger_ignore(bool on)
{
    ignoring = on;
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    long record = world_record_at(address);
    if (!done || ignoring)
        return;
    fibre_quiet(true);
    if (record >= (long)world.map.reservations)
        decide_cell(record);
    else if (record >= 0)
        decide(record, expected, desired);
    else if (world_policy_at(address) >= 0 || address == &world.map.header->flags)
        scene_policy_changed(address, expected, desired);
    else if (world_in_history(address))
        now.rings++;
    fibre_quiet(false);
}

/* ---------------------------------------------------------------------------------------------------- after a step */

static void close_charges(void)
{
    for (unsigned i = 0; i < now.charges; i++) {
        struct charge *c = &now.charge[i];
        uint64_t other = tl_load_relaxed(&world.map.seats[c->seat].cur) ^ shm_cur_open(c->operation);
        if (c->closed == OPEN && other << 13 != 0) { /* refs have the lower 50 bits of a number */
            c->closed = world_now();
            if (c->place < CELLS)
                now.place[c->place].news++;
        }
    }
}

/* The earliest deadline of the HELD reservations that name a cell. */
static uint64_t earliest_deadline(uint32_t cell)
{
    uint64_t earliest = TL_FOREVER;
    for (unsigned i = 0; i < RECORDS; i++) {
        uint64_t head = tl_load_relaxed(&world.map.records[i].head);
        const struct shm_body *body = &world.map.bodies[shm_node(head)];
        unsigned scopes = tl_load_relaxed(&body->info) & 15;
        for (unsigned j = 0; j < scopes && shm_status(head) == SHM_HELD; j++)
            if (tl_handle_cell(tl_load_relaxed(j < 2 ? &body->scope[j] : &body->more_scopes[j - 2])) == cell)
                earliest = tl_min(earliest, tl_load_relaxed(&body->deadline));
    }
    return earliest;
}

/* What is held must not be hidden behind a horizon that lies later. */
static void check_horizon(void)
{
    uint64_t horizon = tl_load_relaxed(&world.map.horizons[0]);
    for (unsigned i = 0; i < RECORDS && !(horizon & TL_HORIZON_DOUBTED); i++) {
        uint64_t head = tl_load_relaxed(&world.map.records[i].head);
        const struct shm_body *body = &world.map.bodies[shm_node(head)];
        if (shm_status(head) != SHM_HELD)
            continue;
        if (tl_horizon_time(horizon) > tl_load_relaxed(&body->deadline))
            fault("record %u: its hold ends before the block's horizon", i);
        if (tl_horizon_ties(tl_load_relaxed(&body->info)) && !(horizon & TL_HORIZON_TIED))
            fault("record %u: its hold is tied, and the block's horizon is not", i);
    }
}

static void check_balance(unsigned at, const struct tl_view *view)
{
    const struct place *place = &now.place[at];
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        if (tl_view_held(view, u) != place->held[u])
            fault("scope %u holds %lld of unit %u, not %lld", at, (long long)tl_view_held(view, u), u,
                  (long long)place->held[u]);
        if (tl_view_used(view, u) != place->used[u])
            fault("scope %u has used %lld of unit %u, not %lld", at, (long long)tl_view_used(view, u), u,
                  (long long)place->used[u]);
    }
    if (tl_view_due(view) > earliest_deadline(world.map.tier_cells + at))
        fault("scope %u: due is later than the deadline of a hold", at);
}

/* What the answers of a scope's windows depend on; while it is the same, they are not computed again. */
struct answers {
    uint64_t now, head, time, used;
    unsigned rings, news;
};
static struct answers answered[CELLS];

static bool is_news(unsigned at, const struct tl_view *view)
{
    struct answers is = {world_now(), view->head, view->time, tl_view_used(view, 0), now.rings, now.place[at].news};
    if (memcmp(&is, &answered[at], sizeof is) == 0)
        return false;
    answered[at] = is;
    return true;
}

static struct tl_hand looker(void)
{
    struct tl_hand hand = world.thread[HARNESS].hand;
    hand.seat = NULL;
    return hand;
}

void ledger_check(void)
{
    struct tl_hand hand = looker();
    close_charges();
    check_horizon();
    for (unsigned at = 0; at < places() && !fault_text[0]; at++) {
        struct tl_view view;
        if (tl_txn_snapshot(&hand, world.map.tier_cells + at, &view) < 0) {
            fault("scope %u: its sheet leads nowhere", at);
            return;
        }
        check_balance(at, &view);
        notice_windows(&now.place[at], &view);
        now.place[at].followed = view.head;
        if (is_news(at, &view))
            check_windows(at, &view);
    }
}

/* A sheet's windows are written before its head is, and never again. */
void ledger_follow(void)
{
    struct tl_hand hand = looker();
    close_charges();
    for (unsigned at = 0; at < places() && !fault_text[0]; at++) {
        struct tl_view view;
        uint32_t cell = world.map.tier_cells + at;
        if (tl_load_relaxed(&world.map.cells[cell].head) == now.place[at].followed)
            continue;
        if (tl_txn_snapshot(&hand, cell, &view) < 0) {
            fault("scope %u: its sheet leads nowhere", at);
            return;
        }
        notice_windows(&now.place[at], &view);
        now.place[at].followed = view.head;
    }
}

/* ------------------------------------------------------------------------------------------------- end of schedule */

static void count_nodes(const char *what, uint32_t count, const unsigned char *owners)
{
    for (uint32_t i = 0; i < count; i++)
        if (owners[i] != 1)
            fault("%s %u has %u owners", what, i, owners[i]);
}

void ledger_check_nodes(void)
{
    const struct tl_map *map = &world.map;
    unsigned char sheets[1 << 10] = {0}, bodies[1 << 10] = {0};
    MUST(map->sheet_count < sizeof sheets && map->body_count < sizeof bodies, "too many nodes to count");
    for (uint32_t i = 0; i < map->cell_count; i++)
        sheets[shm_node(tl_load_relaxed(&map->cells[i].head)) % sizeof sheets]++;
    for (uint32_t i = 0; i < map->record_count; i++)
        bodies[shm_node(tl_load_relaxed(&map->records[i].head)) % sizeof bodies]++;
    for (uint32_t s = 0; s < map->seat_count; s++) {
        for (unsigned j = 0; j < SHM_SPARES; j++)
            sheets[tl_load_relaxed(&map->seats[s].spare[j]) % sizeof sheets]++;
        bodies[tl_load_relaxed(&map->seats[s].spare_body) % sizeof bodies]++;
    }
    count_nodes("sheet", map->sheet_count, sheets);
    count_nodes("body", map->body_count, bodies);
}

void ledger_check_holds(void)
{
    uint64_t held[CELLS][TLSHM_UNITS] = {{0}};
    for (uint32_t i = 0; i < world.map.reservations; i++) {
        struct tl_record record;
        uint64_t head = tl_load_relaxed(&world.map.records[i].head);
        if (shm_status(head) != SHM_HELD)
            continue;
        read_body(head, &record);
        for (unsigned j = 0; j < tl_body_scopes(&record.body); j++)
            for (unsigned u = 0; u < TLSHM_UNITS; u++)
                if (u != TLSHM_REQUESTS)
                    held[place_of(record.body.scope[j]) % CELLS][u] += record.body.estimate[u];
    }
    for (unsigned at = 0; at < CELLS; at++)
        if (memcmp(held[at], now.place[at].held, sizeof held[at]) != 0)
            fault("scope %u: what is held is not what its reservations hold", at);
}

void ledger_check_empty(void)
{
    struct tl_hand hand = looker();
    for (unsigned at = 0; at < SCOPES; at++) {
        struct tl_view view;
        if (tl_txn_snapshot(&hand, world.map.tier_cells + at, &view) < 0)
            fault("scope %u: its sheet leads nowhere", at);
        for (unsigned i = 0; !fault_text[0] && i < view.windows; i++)
            if (tl_shape_kind(tl_view_shape(&view, i)) == TLSHM_WINDOW_ROLLING &&
                tl_history_used(&world.map, world.map.tier_cells + at, &view, i, world_now()) != 0)
                fault("scope %u window %u never rolls out", at, i);
    }
}

/* --------------------------------------------------------------------------------------------------------- readers */

struct ledger_moment ledger_moment(void)
{
    return (struct ledger_moment){now.versions, now.charges, world_now()};
}

static bool was_so(unsigned at, unsigned version, const struct tl_view *view)
{
    bool same = true;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        same &= tl_view_held(view, u) == (uint64_t)version_log[version].held[at][u] &&
                tl_view_used(view, u) == (uint64_t)version_log[version].used[at][u];
    return same;
}

void ledger_check_read(unsigned at, const struct tl_view *view, const struct ledger_moment *since)
{
    for (unsigned v = since->versions - 1; v < now.versions; v++)
        if (was_so(at, v, view))
            return;
    fault("a reader of scope %u sees a balance that never was", at);
}

void ledger_check_used(unsigned at, const struct tl_view *view, const uint64_t *used, uint64_t time,
                       const struct ledger_moment *since)
{
    close_charges();
    for (unsigned i = 0; i < view->windows; i++) {
        uint64_t shape = tl_view_shape(view, i);
        if (used[i] < least(at, i, shape, world_now(), since->charges))
            fault("a reader of scope %u misses use in window %u", at, i);
        if (used[i] > most(at, i, shape, time))
            fault("a reader of scope %u sees too much use in window %u", at, i);
    }
}

void ledger_check_record(const struct tl_record *record)
{
    size_t size = offsetof(struct tl_body, idempotency) - offsetof(struct tl_body, generation);
    if (shm_status(record->head) == SHM_FREE)
        return;
    for (unsigned i = 0; i < now.records; i++) {
        const struct tl_record *known = &record_log[i];
        if (known->index == record->index && known->head == record->head) {
            if (memcmp(&known->body.generation, &record->body.generation, size) != 0)
                fault("a reader of record %u sees a body that never was", record->index);
            return;
        }
    }
    fault("a reader of record %u sees a head that never was", record->index);
}

uint64_t ledger_least(unsigned at, unsigned limit, uint64_t shape)
{
    return least(at, limit, shape, world_now(), now.charges);
}

uint64_t ledger_most(unsigned at, unsigned limit, uint64_t shape)
{
    close_charges();
    return most(at, limit, shape, world_now());
}

/* ----------------------------------------------------------------------------------------------------------- begin */

void ledger_open(const tlshm_limit *limits, unsigned count, unsigned out)
{
    memset(&now, 0, sizeof now);
    for (unsigned i = 0; i < CELLS; i++)
        now.place[i].incarnation = 1;
    leave_out = out;
    limit_count = count;
    world_shapes(limits, count, limit_shape, limit_cap);
    log_version();
}

void ledger_keep(void)
{
    kept = now;
}

void ledger_restore(void)
{
    now = kept;
    memset(answered, 0, sizeof answered);
    fault_text[0] = 0;
}

void ledger_went_back(unsigned ticks)
{
    uint64_t by = ticks * TICK;
    for (unsigned i = 0; i < now.charges; i++) {
        now.charge[i].decided -= by;
        if (now.charge[i].closed != OPEN)
            now.charge[i].closed -= by;
    }
}

unsigned ledger_done(unsigned seat, enum deed deed)
{
    return now.done[seat][deed];
}
