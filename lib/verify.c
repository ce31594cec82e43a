/* SPDX-License-Identifier: MIT */
/*
 * verify.c - recomputes the invariants of layout.h on a segment that others are using.
 *
 * HOW  Holds on a scope change only with its head, or when the operation that swung its head last is decided. So: snapshot
 * the scopes, walk the reservations and add up what the HELD ones say, take the snapshots again. Where both are the same,
 * the sum must be the scope's `held` to the unit; else nothing can be said, and these scopes alone are taken again. Who owns each node can be established only
 * while no operation is under way and nothing moved in between.
 */
#include <tlshm/stats.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "book.h"
#include "directory.h"
#include "ending.h"
#include "expiry.h"
#include "models.h"

#define ROUNDS 50 /* walks over the reservations before a scope is called busy */

struct audit {
    struct tlshm *t;
    struct tl_hand hand;
    tlshm_verify_found found;
    void *context;
    tlshm_verify_report report;
    struct scope {
        bool live, settled;
        uint64_t head;
        uint64_t held[TLSHM_UNITS], due;
        uint64_t sum[TLSHM_UNITS], first;
    } * scope; /* by cell, from the first scope on */
};

__attribute__((format(printf, 2, 3))) static void fault(struct audit *a, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    a->report.faults++;
    if (a->found)
        a->found(a->context, text);
}

static void name_of(struct audit *a, uint32_t cell, char *buf)
{
    if (tl_directory_key(&a->hand, tl_directory_live(&a->hand, cell), buf) <= 0)
        snprintf(buf, TLSHM_KEY_MAX + 1, "cell %u", cell);
}

/* ------------------------------------------------------------------------------------------------------- windows */

static void check_window(struct audit *a, uint32_t cell, const struct tl_view *view, unsigned i)
{
    char name[TLSHM_KEY_MAX + 1];
    unsigned unit = tl_shape_unit(tl_view_shape(view, i));
    uint64_t total = tl_view_used(view, unit);
    uint64_t used = tl_history_used(a->hand.map, cell, view, i, view->time);
    bool carried =
        tl_peek(&view->window[i].start) > total; /* use carried into a new window may be more than was used since */
    if ((carried || used <= total) || !tl_txn_current(&a->hand, cell, view))
        return;
    name_of(a, cell, name);
    fault(a, "%s: window %u (%s): %llu used inside it, but only %llu were ever used (I5)", name, i,
          tlshm_unit_name((int)unit), (unsigned long long)used, (unsigned long long)total);
}

static void check_ranges(struct audit *a, uint32_t cell, const struct tl_view *view)
{
    char name[TLSHM_KEY_MAX + 1];
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        if (tl_view_held(view, u) <= TL_SUM_MAX && tl_view_used(view, u) <= TL_SUM_MAX)
            continue;
        name_of(a, cell, name);
        fault(a, "%s: %s: held %llu, used %llu: out of range", name, tlshm_unit_name((int)u),
              (unsigned long long)tl_view_held(view, u), (unsigned long long)tl_view_used(view, u));
    }
    for (unsigned i = 0; i < view->windows; i++)
        check_window(a, cell, view, i);
}

/* --------------------------------------------------------------------------------------------------------- holds */

static bool take_scope(struct audit *a, uint32_t cell)
{
    struct scope *s = &a->scope[cell - a->hand.map->tier_cells];
    struct tl_view view;
    if (s->settled)
        return false;
    s->live = tl_directory_live(&a->hand, cell) != 0;
    if (!s->live)
        return false;
    if (tl_txn_snapshot(&a->hand, cell, &view) < 0) {
        fault(a, "cell %u: its balance sheet cannot be read", cell);
        s->settled = true;
        return false;
    }
    s->head = view.head;
    tl_view_all_held(&view, s->held);
    s->due = tl_view_due(&view);
    memset(s->sum, 0, sizeof s->sum);
    s->first = TL_FOREVER;
    check_ranges(a, cell, &view);
    return true;
}

/* Certain only if the hold is still there after the look at the horizon. */
static void check_horizon(struct audit *a, const struct tl_record *record)
{
    const struct tl_map *map = a->hand.map;
    uint64_t horizon = tl_load(&map->horizons[record->index / SHM_BLOCK]);
    bool tied = tl_horizon_ties(record->body.info);
    if ((horizon & TL_HORIZON_DOUBTED) || tl_horizon_covers(horizon, record->body.deadline, tied) ||
        tl_load(&map->records[record->index].head) != record->head)
        return;
    fault(a, "reservation %u ends at %llu%s, and its block's horizon does not know (I7)", record->index,
          (unsigned long long)record->body.deadline, tied ? " or with its owner" : "");
}

static void add_up(void *context, const struct tl_record *record)
{
    struct audit *a = context;
    const struct tl_map *map = a->hand.map;
    a->report.reservations++;
    check_horizon(a, record);
    for (unsigned i = 0; i < tl_body_scopes(&record->body); i++) {
        uint32_t cell = tl_handle_cell(record->body.scope[i]);
        if (!tl_map_is_scope(map, cell))
            continue;
        struct scope *s = &a->scope[cell - map->tier_cells];
        s->first = tl_min(s->first, record->body.deadline);
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            s->sum[u] += u == TLSHM_REQUESTS ? 0 : record->body.estimate[u];
    }
}

/* True when something can be said of the scope. */
static bool judge_scope(struct audit *a, uint32_t cell)
{
    struct scope *s = &a->scope[cell - a->hand.map->tier_cells];
    char name[TLSHM_KEY_MAX + 1];
    struct tl_view view;
    uint64_t held[TLSHM_UNITS];
    if (tl_txn_snapshot(&a->hand, cell, &view) < 0 || view.head != s->head || tl_view_due(&view) != s->due)
        return false;
    tl_view_all_held(&view, held);
    if (memcmp(held, s->held, sizeof held) != 0)
        return false;
    s->settled = true;
    a->report.scopes++;
    name_of(a, cell, name);
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (s->sum[u] != s->held[u])
            fault(a, "%s: %s: held is %llu, but its HELD reservations add up to %llu (I3)", name,
                  tlshm_unit_name((int)u), (unsigned long long)s->held[u], (unsigned long long)s->sum[u]);
    if (s->first < s->due)
        fault(a, "%s: a hold is due at %llu, before the time %llu that the scope knows (I6)", name,
              (unsigned long long)s->first, (unsigned long long)s->due);
    return true;
}

/* One walk. Returns how many scopes are still open. */
static uint64_t check_round(struct audit *a)
{
    const struct tl_map *map = a->hand.map;
    uint64_t open = 0;
    for (uint32_t cell = map->tier_cells; cell < map->scope_end; cell++)
        open += take_scope(a, cell);
    if (open == 0)
        return 0;
    a->report.reservations = 0;
    if (tl_expiry_walk(&a->hand, add_up, a) < 0)
        fault(a, "a reservation's record leads nowhere");
    open = 0;
    for (uint32_t cell = map->tier_cells; cell < map->scope_end; cell++) {
        struct scope *s = &a->scope[cell - map->tier_cells];
        if (s->live && !s->settled)
            open += !judge_scope(a, cell);
    }
    return open;
}

/* --------------------------------------------------------------------------------------------------------- nodes */

/* Operations begun so far by all seats; odd: one is under way. */
static uint64_t activity(const struct tl_map *map, bool *quiet)
{
    uint64_t sum = 0;
    *quiet = true;
    for (uint32_t s = 0; s < map->seat_count; s++) {
        uint64_t cur = tl_load(&map->seats[s].cur);
        *quiet &= !(cur & 1);
        sum += cur;
    }
    return sum;
}

static void see(unsigned char *seen, uint64_t node, uint32_t count)
{
    if (node < count && seen[node] < 2)
        seen[node]++;
}

static void see_all(const struct tl_map *map, unsigned char *sheets, unsigned char *bodies)
{
    for (uint32_t i = 0; i < map->cell_count; i++)
        see(sheets, shm_node(tl_load(&map->cells[i].head)), map->sheet_count);
    for (uint32_t i = 0; i < map->record_count; i++)
        see(bodies, shm_node(tl_load(&map->records[i].head)), map->body_count);
    for (uint32_t s = 0; s < map->seat_count; s++) {
        for (unsigned j = 0; j < SHM_SPARES; j++)
            see(sheets, tl_load(&map->seats[s].spare[j]), map->sheet_count);
        see(bodies, tl_load(&map->seats[s].spare_body), map->body_count);
    }
}

static void judge_nodes(struct audit *a, const unsigned char *seen, uint32_t count, const char *what)
{
    for (uint32_t i = 0; i < count; i++)
        if (seen[i] != 1)
            fault(a, "%s %u is %s (I1)", what, i, seen[i] ? "in two places" : "lost");
}

/* Each node is in exactly one place; can be said only if nothing happened meanwhile. */
static void check_nodes(struct audit *a)
{
    const struct tl_map *map = a->hand.map;
    unsigned char *sheets = calloc(map->sheet_count, 1), *bodies = calloc(map->body_count, 1);
    bool quiet_before, quiet_after;
    uint64_t before = activity(map, &quiet_before);
    if (sheets && bodies && quiet_before) {
        see_all(map, sheets, bodies);
        if (activity(map, &quiet_after) == before && quiet_after) {
            judge_nodes(a, sheets, map->sheet_count, "sheet");
            judge_nodes(a, bodies, map->body_count, "body");
            a->report.sheets = map->sheet_count;
        }
    }
    free(sheets);
    free(bodies);
}

/* Every live cell can be found by its key. */
static void check_directory(struct audit *a)
{
    const struct tl_map *map = a->hand.map;
    char key[TLSHM_KEY_MAX + 1];
    for (uint32_t cell = 0; cell < map->scope_end; cell++) {
        uint64_t handle = tl_directory_live(&a->hand, cell), found = 0;
        int len = handle ? tl_directory_key(&a->hand, handle, key) : 0;
        if (len <= 0)
            continue;
        int rc = tl_directory_find(&a->hand, key, (size_t)len, &found);
        if ((rc < 0 || found != handle) && tl_directory_live(&a->hand, cell) == handle)
            fault(a, "%s: cell %u is live, but its key leads to %s", key, cell, rc < 0 ? "nothing" : "another cell");
    }
}

static void check_models(struct audit *a)
{
    for (uint32_t number = 1; number <= a->hand.map->model_count; number++)
        if (tl_models_is_garbage(a->hand.map, number))
            fault(a, "model %u has a name that is none (I8)", number);
}

int tlshm_verify(tlshm_t *t, tlshm_verify_found found, void *context, tlshm_verify_report *report)
{
    struct audit a = {.t = t, .found = found, .context = context};
    if (!t)
        return -TLSHM_EINVAL;
    tl_segment_look(t, &a.hand);
    a.scope = calloc(t->map.scope_end - t->map.tier_cells, sizeof *a.scope);
    if (!a.scope)
        return -TLSHM_ENOMEM;
    for (unsigned round = 0; round < ROUNDS; round++) {
        a.report.busy = check_round(&a);
        if (a.report.busy == 0)
            break;
    }
    check_nodes(&a);
    check_directory(&a);
    check_models(&a);
    free(a.scope);
    if (report)
        *report = a.report;
    return tl_segment_answer(t, (int)tl_min(a.report.faults, INT32_MAX));
}
