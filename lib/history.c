/* SPDX-License-Identifier: MIT */
/* history.c - windows: opening buckets, use inside them, and the ring of past buckets' starts. See history.h. */
#include "history.h"

#define MARKS 64

TL_INLINE uint64_t bucket_of(uint64_t word)
{
    return word & tl_ones(TL_BUCKET_BITS);
}

/* Tag and ring. */
TL_INLINE uint64_t home_of(uint64_t word)
{
    return word & ~tl_ones(TL_BUCKET_BITS);
}

TL_INLINE uint64_t tag_of(uint64_t word)
{
    return word & ~tl_ones(TL_START_BITS);
}

/* A window's words, read once each. */
struct window {
    uint64_t shape, bucket, start, marks;
};

static struct window window_of(const struct tl_view *view, unsigned i)
{
    const struct shm_window *w = &view->window[i];
    return (struct window){tl_peek(&w->shape), tl_peek(&w->bucket), tl_peek(&w->start), tl_peek(&w->marks)};
}

static void set_window(struct tl_view *view, unsigned i, const struct window *w)
{
    struct shm_window *own = &view->own_window[i];
    tl_store_relaxed(&own->shape, w->shape);
    tl_store_relaxed(&own->bucket, w->bucket);
    tl_store_relaxed(&own->start, w->start);
    tl_store_relaxed(&own->marks, w->marks);
}

/* The ring word of one bucket of the window that has the bucket word `home`. */
TL_INLINE tl_word *ring_word(const struct tl_map *map, uint32_t cell, uint64_t home, uint64_t bucket)
{
    unsigned ring = tl_history_ring(home);
    return &tl_map_ring(map, cell, ring < map->limits ? ring : 0)[bucket & (map->ring_words - 1)];
}

void tl_history_zone(const struct tl_map *map, unsigned zone, struct tl_zone *out)
{
    memset(out, 0, sizeof *out); /* no name, no change, no rule: UTC */
    if (zone == 0 || zone > SHM_ZONES_MAX)
        return;
    struct shm_zone *shared = &map->zones[zone - 1];
    uint64_t words[sizeof(struct tl_zone) / 8];
    for (unsigned i = 0; i < sizeof(struct tl_zone) / 8; i++)
        words[i] = tl_load_relaxed(&shared->zone[i]);
    memcpy(out, words, sizeof *out);
    if ((tl_load(&shared->state) & 3) != 2 || !tl_zone_valid(out))
        memset(out, 0, sizeof *out);
}

/* A calendar period: its number (its start in wall seconds), its length, and its end in boot time. */
struct period {
    uint64_t number, length, end;
};

/* The one that the wall clock is in at boot time `time`. */
static struct period period_at(const struct tl_map *map, uint64_t shape, uint64_t time, int64_t offset)
{
    struct tl_zone zone;
    int64_t start_ns, end_ns;
    tl_history_zone(map, tl_shape_zone(shape), &zone);
    tl_calendar_period(&zone, tl_shape_period(shape), tl_shape_anchor(shape), (int64_t)(time + (uint64_t)offset),
                       &start_ns, &end_ns);
    uint64_t number = (uint64_t)(start_ns / INT64_C(1000000000)) & tl_ones(TL_BUCKET_BITS);
    uint64_t end = (uint64_t)end_ns - (uint64_t)offset;
    /* a period that ends before it began would end at every look */
    return (struct period){number, (uint64_t)(end_ns - start_ns), tl_max(end, time + 1)};
}

/* The time until which nothing in window i changes. */
static uint64_t window_edge(const struct window *w)
{
    switch (tl_shape_kind(w->shape)) {
    case TLSHM_WINDOW_ROLLING:
        return (bucket_of(w->bucket) + 1) * tl_shape_width_ns(w->shape);
    case TLSHM_WINDOW_CALENDAR:
        return w->marks;
    default:
        return TL_FOREVER;
    }
}

void tl_history_set_edge(struct tl_view *view)
{
    uint64_t edge = TL_FOREVER;
    for (unsigned i = 0; i < view->windows; i++) {
        struct window w = window_of(view, i);
        edge = tl_min(edge, window_edge(&w));
    }
    view->edge = edge;
}

static void roll_rolling(struct tl_view *view, unsigned i, struct window *w)
{
    uint64_t bucket = view->time / tl_shape_width_ns(w->shape), was = bucket_of(w->bucket);
    if (bucket <= was)
        return;
    if (!(view->moved >> i & 1)) {
        view->moved |= 1u << i;
        view->old_bucket[i] = w->bucket;
        view->old_start[i] = w->start;
    }
    uint64_t gap = bucket - was;
    w->marks = gap >= MARKS ? 1 : w->marks << gap | 1;
    w->bucket = home_of(w->bucket) | bucket;
    w->start = tl_view_used(view, tl_shape_unit(w->shape));
}

/*
 * A period lasts until the boot time that was computed for its end, whatever the wall clock does meanwhile: a step inside
 * the period moves that end, a step out of it does not. So no step refills, none locks out for longer than a period.
 *
 * If the wall clock went back just before the end (a leap second, a clock that is slewed), it is still in the same period
 * at that time. Then the next one begins early, and not once more when the wall clock gets there.
 */
static void roll_calendar(const struct tl_map *map, struct tl_view *view, struct window *w, int64_t offset)
{
    bool over = view->time >= w->marks;
    if (!over && !tl_history_stepped(offset, view->offset))
        return;
    struct period now = period_at(map, w->shape, view->time, offset);
    bool same = now.number == bucket_of(w->bucket);
    if (over && same && now.end - view->time < now.length / 2)
        now = period_at(map, w->shape, now.end, offset);
    if (over || same)
        w->marks = now.end;
    if (!over)
        return;
    w->bucket = home_of(w->bucket) | now.number;
    w->start = tl_view_used(view, tl_shape_unit(w->shape));
}

TL_COLD void tl_history_roll(const struct tl_map *map, struct tl_view *view, int64_t offset)
{
    tl_view_own(view);
    for (unsigned i = 0; i < view->windows; i++) {
        struct window w = window_of(view, i);
        if (tl_shape_kind(w.shape) == TLSHM_WINDOW_ROLLING)
            roll_rolling(view, i, &w);
        else if (tl_shape_kind(w.shape) == TLSHM_WINDOW_CALENDAR)
            roll_calendar(map, view, &w, offset);
        set_window(view, i, &w);
    }
    if (tl_history_stepped(offset, view->offset))
        view->offset = (uint64_t)offset;
    tl_view_set_windows(view, view->windows);
    tl_history_set_edge(view);
}

uint64_t tl_history_used_before(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                                unsigned unit, unsigned back)
{
    uint64_t used = tl_view_used(view, unit), home = tl_peek(&view->window[i].bucket);
    uint64_t bucket = bucket_of(home) - back;
    if ((view->moved >> i & 1) && bucket == bucket_of(view->old_bucket[i]))
        return used - view->old_start[i];
    return (used - tl_load(ring_word(map, cell, home, bucket))) & tl_ones(TL_START_BITS);
}

uint64_t tl_history_used_later(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                               uint64_t then)
{
    struct window w = window_of(view, i);
    unsigned unit = tl_shape_unit(w.shape);
    switch (tl_shape_kind(w.shape)) {
    case TLSHM_WINDOW_LIFETIME:
        return tl_view_used(view, unit) - w.start;
    case TLSHM_WINDOW_CALENDAR:
        return then >= w.marks ? 0 : tl_view_used(view, unit) - w.start;
    case TLSHM_WINDOW_ROLLING:
        break;
    default:
        return 0;
    }
    unsigned slices = tl_shape_slices(w.shape);
    uint64_t later = 0;
    if (then >= window_edge(&w))
        later = then / tl_shape_width_ns(w.shape) - bucket_of(w.bucket);
    return later >= slices ? 0 : tl_history_used_newest(map, cell, view, i, unit, tl_ones(slices - (unsigned)later));
}

uint64_t tl_history_next_fall(const struct tl_view *view, unsigned i, uint64_t now)
{
    struct window w = window_of(view, i);
    unsigned kind = tl_shape_kind(w.shape);
    if (kind == TLSHM_WINDOW_CALENDAR)
        return now < w.marks ? w.marks : TL_FOREVER;
    if (kind != TLSHM_WINDOW_ROLLING)
        return TL_FOREVER;
    uint64_t width = tl_shape_width_ns(w.shape), slices = tl_shape_slices(w.shape);
    uint64_t current = tl_max(now / width, bucket_of(w.bucket)), later = current - bucket_of(w.bucket);
    if (later >= slices)
        return TL_FOREVER;
    uint64_t inside = w.marks & tl_ones((unsigned)(slices - later));
    return inside ? (bucket_of(w.bucket) - tl_top_bit(inside) + slices) * width : TL_FOREVER;
}

uint64_t tl_history_next_drop(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                              uint64_t now)
{
    uint64_t used = tl_history_used(map, cell, view, i, now);
    for (uint64_t then = now;;) {
        uint64_t next = tl_history_next_fall(view, i, then);
        if (next <= then || next == TL_FOREVER) /* the former only in a sheet that says nonsense */
            return TL_FOREVER;
        if (tl_history_used(map, cell, view, i, next) < used)
            return next;
        then = next;
    }
}

void tl_history_restart(const struct tl_map *map, struct tl_view *view, unsigned i, const struct tl_restart *restart)
{
    struct window w = {.shape = restart->shape, .marks = 1};
    struct period period = {0};
    view->moved &= ~(1u << i);
    w.start = tl_view_used(view, tl_shape_unit(w.shape)) - restart->carried;
    switch (tl_shape_kind(w.shape)) {
    case TLSHM_WINDOW_ROLLING:
        period.number = restart->time / tl_shape_width_ns(w.shape);
        break;
    case TLSHM_WINDOW_CALENDAR:
        period = period_at(map, w.shape, restart->time, restart->offset);
        w.marks = period.end;
        break;
    case TLSHM_WINDOW_LIFETIME:
        w.start = 0;
        break;
    default:
        break;
    }
    w.bucket = restart->tag << TL_START_BITS | (uint64_t)restart->ring << TL_BUCKET_BITS | bucket_of(period.number);
    set_window(view, i, &w);
}

void tl_history_went_back(const struct tl_map *map, uint32_t cell, struct tl_view *view, uint64_t now, int64_t offset,
                          uint64_t tag)
{
    uint64_t used[TLSHM_LIMITS_MAX];
    tl_view_own(view);
    for (unsigned i = 0; i < view->windows; i++)
        used[i] = tl_history_used(map, cell, view, i, view->time);
    view->time = now;
    view->offset = (uint64_t)offset;
    for (unsigned i = 0; i < view->windows; i++) {
        struct window w = window_of(view, i);
        const struct tl_restart restart = {w.shape, used[i], tag, tl_history_ring(w.bucket), now, offset};
        tl_history_restart(map, view, i, &restart);
    }
    tl_view_set_windows(view, view->windows);
    tl_history_set_edge(view);
}

static bool put_word(tl_word *word, uint64_t want, const tl_word *head, uint64_t expected)
{
    for (;;) {
        uint64_t seen = tl_load(word);
        if (seen == want)
            return true;
        if (tl_load(head) != expected)
            return false;
        tl_cas(word, seen, want);
    }
}

TL_COLD bool tl_history_put(const struct tl_map *map, uint32_t cell, const struct tl_view *view)
{
    for (unsigned i = 0; i < view->windows; i++) {
        if (!(view->moved >> i & 1))
            continue;
        uint64_t want = tag_of(view->old_bucket[i]) | (view->old_start[i] & tl_ones(TL_START_BITS));
        tl_word *word = ring_word(map, cell, view->old_bucket[i], bucket_of(view->old_bucket[i]));
        if (!put_word(word, want, &map->cells[cell].head, view->head))
            return false;
    }
    return true;
}
