/* SPDX-License-Identifier: MIT */
/* reference.c - the sequential model: scopes, limits, reservations. Slow and obvious on purpose. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#define SCOPES 64 /* a set of scopes is one word */
#define TIERS 16
#define LEVELS 16
#define LIVE_MAX 4096

struct list {
    unsigned count;
    tlshm_limit of[TLSHM_LIMITS_MAX];
};

struct tier {
    char name[TLSHM_NAME_MAX + 1];
    bool exists;
    struct list limits;
};

struct scope {
    char key[TLSHM_KEY_MAX + 1];
    enum tlshm_limits_source source; /* DEFAULT, TIER or OWN */
    struct tier *tier;
    struct list own;
    bool paused, shutoff, seen;
    uint64_t used[TLSHM_UNITS];
    unsigned meter_count; /* the windows that the last admitted reserve met */
    struct meter meters[TLSHM_LIMITS_MAX];
};

struct hold {
    unsigned scope_count;
    unsigned scopes[TLSHM_SCOPES_MAX];
    uint64_t scope_set;
    tlshm_amounts estimate, charged;
    enum tlshm_status status;
    enum tlshm_outcome outcome;
    uint64_t born, deadline, ended;
    char key[TLSHM_IDEMPOTENCY_MAX];
    size_t key_len;
    uint64_t older_keyed; /* id of the one before it that has a key */
};

struct reference {
    struct instant now;
    unsigned scope_count;
    struct scope scopes[SCOPES];
    struct tier tiers[TIERS];
    struct {
        char name[TLSHM_NAME_MAX + 1];
        struct tier *tier;
    } levels[LEVELS];
    bool paused, shutoff;
    enum tlshm_overrun policy;
    tlshm_overrun_function function;
    void *context;
    struct hold *holds;
    uint64_t hold_count, hold_room;
    uint64_t newest_keyed; /* id of the last reservation with an idempotency key, 0 for none */
    unsigned live_count;
    uint64_t live[LIVE_MAX];
};

/* ------------------------------------------------------------------------------------------------- scopes, limits */

struct reference *ref_new(struct instant now)
{
    struct reference *r = calloc(1, sizeof *r);
    if (r == NULL)
        abort();
    r->now = now;
    return r;
}

void ref_free(struct reference *r)
{
    free(r->holds);
    free(r);
}

static struct scope *scope_find(struct reference *r, const char *key)
{
    for (unsigned i = 0; i < r->scope_count; i++)
        if (strcmp(r->scopes[i].key, key) == 0)
            return &r->scopes[i];
    return NULL;
}

static struct scope *scope_get(struct reference *r, const char *key)
{
    struct scope *s = scope_find(r, key);
    if (s != NULL)
        return s;
    if (r->scope_count == SCOPES)
        abort();
    s = &r->scopes[r->scope_count++];
    strcpy(s->key, key);
    s->source = TLSHM_LIMITS_DEFAULT;
    return s;
}

static struct tier *tier_get(struct reference *r, const char *name, bool make)
{
    struct tier *unused = NULL;
    for (unsigned i = 0; i < TIERS; i++) {
        if (r->tiers[i].exists && strcmp(r->tiers[i].name, name) == 0)
            return &r->tiers[i];
        if (!r->tiers[i].exists && unused == NULL)
            unused = &r->tiers[i];
    }
    if (!make)
        return NULL;
    *unused = (struct tier){.exists = true};
    strcpy(unused->name, name);
    return unused;
}

static struct tier **level_default(struct reference *r, const char *key)
{
    size_t len = strcspn(key, ":");
    unsigned i = 0;
    while (r->levels[i].name[0] != '\0' &&
           (strlen(r->levels[i].name) != len || memcmp(r->levels[i].name, key, len) != 0))
        i++;
    memcpy(r->levels[i].name, key, len);
    return &r->levels[i].tier;
}

static const struct list *limits_of(struct reference *r, const struct scope *s)
{
    static const struct list none;
    if (s->source == TLSHM_LIMITS_OWN)
        return &s->own;
    if (s->source == TLSHM_LIMITS_TIER)
        return &s->tier->limits;
    const struct tier *tier = *level_default(r, s->key);
    return tier != NULL ? &tier->limits : &none;
}

static int list_set(struct list *list, const tlshm_limit *limit)
{
    for (unsigned i = 0; i < list->count; i++)
        if (limit_same(&list->of[i], limit)) {
            list->of[i] = *limit;
            return 0;
        }
    if (list->count == TLSHM_LIMITS_MAX)
        return -TLSHM_ENOROOM;
    list->of[list->count++] = *limit;
    return 0;
}

static int list_unset(struct list *list, const tlshm_limit *limit)
{
    for (unsigned i = 0; i < list->count; i++)
        if (limit_same(&list->of[i], limit)) {
            list->count--;
            memmove(&list->of[i], &list->of[i + 1], (list->count - i) * sizeof list->of[0]);
            return 0;
        }
    return -TLSHM_ENOENT;
}

static void list_fill(struct list *list, const tlshm_limit *limits, unsigned count)
{
    list->count = count;
    for (unsigned i = 0; i < count; i++)
        list->of[i] = limits[i];
}

void ref_tier_set(struct reference *r, const char *tier, const tlshm_limit *limits, unsigned count)
{
    list_fill(&tier_get(r, tier, true)->limits, limits, count);
}

int ref_tier_unset(struct reference *r, const char *name)
{
    struct tier *tier = tier_get(r, name, false);
    if (tier == NULL)
        return -TLSHM_ENOENT;
    for (unsigned i = 0; i < r->scope_count; i++)
        if (r->scopes[i].source == TLSHM_LIMITS_TIER && r->scopes[i].tier == tier)
            r->scopes[i].source = TLSHM_LIMITS_DEFAULT;
    for (unsigned i = 0; i < LEVELS; i++)
        if (r->levels[i].tier == tier)
            r->levels[i].tier = NULL;
    tier->exists = false;
    return 0;
}

int ref_tier_limit_set(struct reference *r, const char *tier, const tlshm_limit *limit)
{
    return list_set(&tier_get(r, tier, true)->limits, limit);
}

int ref_tier_limit_unset(struct reference *r, const char *name, const tlshm_limit *limit)
{
    struct tier *tier = tier_get(r, name, false);
    return tier == NULL ? -TLSHM_ENOENT : list_unset(&tier->limits, limit);
}

void ref_default_set(struct reference *r, const char *level, const char *tier)
{
    *level_default(r, level) = tier != NULL ? tier_get(r, tier, false) : NULL;
}

int ref_scope_tier_set(struct reference *r, const char *key, const char *name)
{
    struct tier *tier = name != NULL ? tier_get(r, name, false) : NULL;
    if (name != NULL && tier == NULL)
        return -TLSHM_ENOENT;
    struct scope *s = scope_get(r, key);
    s->source = tier != NULL ? TLSHM_LIMITS_TIER : TLSHM_LIMITS_DEFAULT;
    s->tier = tier;
    return 0;
}

void ref_scope_limits_set(struct reference *r, const char *key, const tlshm_limit *limits, unsigned count)
{
    struct scope *s = scope_get(r, key);
    s->source = TLSHM_LIMITS_OWN;
    list_fill(&s->own, limits, count);
}

/* Changes a copy of what the scope has now, so that a change that fails leaves it following its tier. */
static int scope_edit(struct reference *r, const char *key, const tlshm_limit *limit,
                      int (*edit)(struct list *, const tlshm_limit *))
{
    struct scope *s = scope_get(r, key);
    struct list list = *limits_of(r, s);
    int rc = edit(&list, limit);
    if (rc == 0)
        ref_scope_limits_set(r, key, list.of, list.count);
    return rc;
}

int ref_limit_set(struct reference *r, const char *key, const tlshm_limit *limit)
{
    return scope_edit(r, key, limit, list_set);
}

int ref_limit_unset(struct reference *r, const char *key, const tlshm_limit *limit)
{
    return scope_edit(r, key, limit, list_unset);
}

void ref_pause(struct reference *r, int on)
{
    r->paused = on != 0;
}

void ref_shutoff(struct reference *r, int on)
{
    r->shutoff = on != 0;
}

void ref_scope_pause(struct reference *r, const char *key, int on)
{
    scope_get(r, key)->paused = on != 0;
}

void ref_scope_shutoff(struct reference *r, const char *key, int on)
{
    scope_get(r, key)->shutoff = on != 0;
}

void ref_overrun(struct reference *r, enum tlshm_overrun policy, tlshm_overrun_function function, void *context)
{
    r->policy = policy;
    r->function = function;
    r->context = context;
}

/* --------------------------------------------------------------------------------------------------- use and holds */

static uint64_t held_at(const struct reference *r, const struct scope *s, enum tlshm_unit unit, uint64_t boot)
{
    uint64_t bit = UINT64_C(1) << (s - r->scopes), sum = 0;
    if (unit == TLSHM_REQUESTS)
        return 0;
    for (unsigned i = 0; i < r->live_count; i++) {
        const struct hold *h = &r->holds[r->live[i]];
        if ((h->scope_set & bit) != 0 && h->deadline > boot)
            sum += unit == TLSHM_CONCURRENCY ? 1 : h->estimate.of[unit];
    }
    return sum;
}

/* The window that counts for a limit since it was last met; NULL when it was not there then. */
static const struct meter *meter_of(const struct scope *s, const tlshm_limit *limit)
{
    for (unsigned i = 0; i < s->meter_count; i++)
        if (meter_counts(&s->meters[i], limit))
            return &s->meters[i];
    return NULL;
}

/* The window that ended in favour of a new one: that of the same unit in the same place of the list. */
static const struct meter *meter_before(const struct scope *s, const struct list *list, unsigned index)
{
    bool same_unit = index < s->meter_count && s->meters[index].unit == list->of[index].unit;
    return same_unit ? &s->meters[index] : NULL;
}

static bool is_request(const tlshm_window *window)
{
    return window->kind == TLSHM_WINDOW_REQUEST;
}

static uint64_t use_of(const struct scope *s, const struct meter *m, struct instant at)
{
    if (m == NULL || m->window.kind == TLSHM_WINDOW_NONE || is_request(&m->window))
        return 0;
    return m->window.kind == TLSHM_WINDOW_LIFETIME ? s->used[m->unit] : meter_used(m, at);
}

/* A window that is about to start holds one bucket of that moment. */
static struct meter meter_ahead(const struct reference *r, const struct scope *s, const struct list *list,
                                unsigned index)
{
    struct meter m;
    meter_start(&m, &list->of[index]);
    meter_add(&m, use_of(s, meter_before(s, list, index), r->now), r->now);
    return m;
}

/* What counts for a limit from now on; one that has not been met yet is shown as if it were met now. */
static struct meter meter_in_force(const struct reference *r, const struct scope *s, const struct list *list,
                                   unsigned index)
{
    const struct meter *m = meter_of(s, &list->of[index]);
    return m != NULL ? *m : meter_ahead(r, s, list, index);
}

static uint64_t limit_used(const struct reference *r, const struct scope *s, const struct list *list, unsigned index,
                           struct instant at)
{
    struct meter m = meter_in_force(r, s, list, index);
    return use_of(s, &m, at);
}

static uint64_t limit_falls_in(const struct reference *r, const struct scope *s, const struct list *list,
                               unsigned index, struct instant at)
{
    struct meter m = meter_in_force(r, s, list, index);
    return meter_falls_in(&m, at);
}

/* A new list of limits takes effect: windows go on, end, or start. */
static void scope_meet_limits(struct reference *r, struct scope *s)
{
    const struct list *list = limits_of(r, s);
    struct meter met[TLSHM_LIMITS_MAX];
    for (unsigned i = 0; i < list->count; i++)
        met[i] = meter_in_force(r, s, list, i);
    memcpy(s->meters, met, list->count * sizeof met[0]);
    s->meter_count = list->count;
}

static void scope_charge(struct reference *r, struct scope *s, enum tlshm_unit unit, uint64_t amount)
{
    s->used[unit] += amount;
    for (unsigned i = 0; i < s->meter_count; i++)
        if (s->meters[i].unit == unit)
            meter_add(&s->meters[i], amount, r->now);
}

static struct tlshm_limit_usage limit_usage(const struct reference *r, const struct scope *s, const struct list *list,
                                            unsigned index, struct instant at)
{
    const tlshm_limit *limit = &list->of[index];
    struct tlshm_limit_usage u = {.limit = *limit};
    u.used = limit_used(r, s, list, index, at);
    u.held = is_request(&limit->window) ? 0 : held_at(r, s, limit->unit, at.boot);
    u.remaining = limit->cap == TLSHM_UNLIMITED ? INT64_MAX : (int64_t)(limit->cap - u.used - u.held);
    u.frees_in_ns = limit_falls_in(r, s, list, index, at);
    return u;
}

/* ------------------------------------------------------------------------------------------------------ admission */

/* What a reserve or an extend asks for. An extend's own hold counts as held, and its deadline ends the question. */
struct question {
    bool extends;
    unsigned scope_count;
    struct scope *scopes[TLSHM_SCOPES_MAX];
    uint64_t asked[TLSHM_UNITS], whole[TLSHM_UNITS]; /* the latter with what an extend's hold has already */
    uint64_t life;                                   /* how long it would live from its beginning on, if it is new */
    uint64_t until;                                  /* boot time from which there is nothing to ask any more */
};

/* Calls `each` for every limit that counts what the question asks for, and that may refuse. */
typedef void question_each(struct reference *r, const struct question *q, unsigned scope, const struct list *list,
                           unsigned index, void *context);

static void question_visit(struct reference *r, const struct question *q, question_each *each, void *context)
{
    for (unsigned i = 0; i < q->scope_count; i++) {
        const struct list *list = limits_of(r, q->scopes[i]);
        for (unsigned k = 0; k < list->count; k++)
            if (!is_request(&list->of[k].window) && q->asked[list->of[k].unit] != 0 &&
                list->of[k].cap != TLSHM_UNLIMITED)
                each(r, q, i, list, k, context);
    }
}

struct fit {
    struct instant at;
    bool fits;
};

static void fit_each(struct reference *r, const struct question *q, unsigned scope, const struct list *list,
                     unsigned index, void *context)
{
    struct fit *fit = context;
    struct tlshm_limit_usage u = limit_usage(r, q->scopes[scope], list, index, fit->at);
    fit->fits = fit->fits && (int64_t)q->asked[u.limit.unit] <= u.remaining;
}

static bool fits_in(struct reference *r, const struct question *q, uint64_t ns)
{
    struct fit fit = {{r->now.boot + ns, r->now.wall + ns}, true};
    question_visit(r, q, fit_each, &fit);
    return fit.fits;
}

struct moments {
    unsigned count;
    uint64_t of[LIVE_MAX + TLSHM_SCOPES_MAX * TLSHM_LIMITS_MAX * METER_BUCKETS];
};

static void moments_each(struct reference *r, const struct question *q, unsigned scope, const struct list *list,
                         unsigned index, void *context)
{
    struct moments *m = context;
    uint64_t ns = 0, step = 0;
    do {
        struct instant at = {r->now.boot + ns, r->now.wall + ns};
        step = limit_falls_in(r, q->scopes[scope], list, index, at);
        if (step != TLSHM_NEVER) {
            ns += step;
            m->of[m->count++] = ns;
        }
    } while (step != TLSHM_NEVER);
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Tries every moment at which a figure falls. Figures only fall, so halving finds the first one that fits. */
static uint64_t retry_after(struct reference *r, const struct question *q)
{
    static struct moments m;
    m.count = 0;
    question_visit(r, q, moments_each, &m);
    for (unsigned i = 0; i < r->live_count; i++)
        m.of[m.count++] = r->holds[r->live[i]].deadline - r->now.boot;
    qsort(m.of, m.count, sizeof m.of[0], by_time);
    unsigned low = 0, high = m.count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (fits_in(r, q, m.of[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low < m.count && m.of[low] < q->until - r->now.boot ? m.of[low] : TLSHM_NEVER;
}

static void refuse_each(struct reference *r, const struct question *q, unsigned scope, const struct list *list,
                        unsigned index, void *context)
{
    struct ref_refusal *why = context;
    struct tlshm_limit_usage u = limit_usage(r, q->scopes[scope], list, index, r->now);
    uint64_t asked = q->asked[u.limit.unit];
    bool never = asked > u.limit.cap;
    if (never && !why->never_fits) { /* outranks those that may fit later */
        why->never_fits = true;
        why->count = 0;
    }
    if (why->never_fits ? never : (int64_t)asked > u.remaining)
        why->of[why->count++] = (struct ref_refusing){scope, u, asked};
}

/* What of the question is more than a limit on single requests allows; 0: it is within it. */
static uint64_t too_large(const struct question *q, const tlshm_limit *limit)
{
    uint64_t part;
    if (limit->unit == TLSHM_TIME)
        part = q->extends || limit->cap == 0 ? q->life : 0;
    else
        part = q->asked[limit->unit] != 0 ? q->whole[limit->unit] : 0;
    return part > limit->cap ? part : 0;
}

static bool question_too_large(struct reference *r, const struct question *q, struct ref_refusal *why)
{
    for (unsigned i = 0; i < q->scope_count; i++) {
        const struct list *list = limits_of(r, q->scopes[i]);
        for (unsigned k = 0; k < list->count; k++) {
            uint64_t part = is_request(&list->of[k].window) ? too_large(q, &list->of[k]) : 0;
            if (part != 0)
                why->of[why->count++] = (struct ref_refusing){i, limit_usage(r, q->scopes[i], list, k, r->now), part};
        }
    }
    why->too_large = why->count != 0;
    return why->too_large;
}

static bool question_refused(struct reference *r, const struct question *q, struct ref_refusal *why)
{
    *why = (struct ref_refusal){.paused = r->paused, .shutoff = r->shutoff, .retry_after_ns = TLSHM_NEVER};
    for (unsigned i = 0; i < q->scope_count; i++) {
        why->paused = why->paused || q->scopes[i]->paused;
        why->shutoff = why->shutoff || q->scopes[i]->shutoff;
    }
    if (why->paused || why->shutoff || question_too_large(r, q, why))
        return true;
    question_visit(r, q, refuse_each, why);
    if (why->count != 0 && !why->never_fits)
        why->retry_after_ns = retry_after(r, q);
    return why->count != 0;
}

/* --------------------------------------------------------------------------------------------------- reservations */

static struct hold *hold_of(struct reference *r, uint64_t id)
{
    return id != 0 && id <= r->hold_count ? &r->holds[id - 1] : NULL;
}

static void hold_end(struct reference *r, struct hold *h, enum tlshm_status status, uint64_t when)
{
    for (unsigned i = 0; i < r->live_count; i++)
        if (&r->holds[r->live[i]] == h) {
            r->live[i] = r->live[--r->live_count];
            break;
        }
    h->status = status;
    h->ended = when;
}

void ref_clock(struct reference *r, struct instant now)
{
    r->now = now;
    for (unsigned i = r->live_count; i-- > 0;) {
        struct hold *h = &r->holds[r->live[i]];
        if (h->deadline <= now.boot)
            hold_end(r, h, TLSHM_EXPIRED, h->deadline);
    }
}

static struct hold *hold_new(struct reference *r)
{
    if (r->hold_count == r->hold_room) {
        r->hold_room = r->hold_room != 0 ? r->hold_room * 2 : 1024;
        r->holds = realloc(r->holds, r->hold_room * sizeof r->holds[0]);
    }
    if (r->holds == NULL || r->live_count == LIVE_MAX)
        abort();
    struct hold *h = &r->holds[r->hold_count++];
    r->live[r->live_count++] = r->hold_count - 1;
    *h = (struct hold){.status = TLSHM_HELD, .born = r->now.boot};
    return h;
}

static tlshm_amounts normal_estimate(const tlshm_request *request)
{
    tlshm_amounts e = request->estimate;
    if (e.of[TLSHM_REQUESTS] == 0)
        e.of[TLSHM_REQUESTS] = 1;
    return e;
}

static struct hold *hold_by_key(struct reference *r, const tlshm_request *request)
{
    uint64_t id = request->idempotency_key != NULL ? r->newest_keyed : 0;
    for (; id != 0; id = r->holds[id - 1].older_keyed)
        if (r->holds[id - 1].key_len == request->idempotency_len &&
            memcmp(r->holds[id - 1].key, request->idempotency_key, request->idempotency_len) == 0)
            return &r->holds[id - 1];
    return NULL;
}

static void hold_take_key(struct reference *r, struct hold *h, const tlshm_request *request)
{
    if (request->idempotency_key == NULL)
        return;
    h->key_len = request->idempotency_len;
    memcpy(h->key, request->idempotency_key, h->key_len);
    h->older_keyed = r->newest_keyed;
    r->newest_keyed = r->hold_count;
}

static int hold_replay(struct reference *r, const struct hold *h, const tlshm_request *request, uint64_t *id)
{
    tlshm_amounts e = normal_estimate(request);
    uint64_t set = 0;
    for (unsigned i = 0; i < request->scope_count; i++) {
        const struct scope *s = scope_find(r, request->scopes[i].key);
        set |= s != NULL ? UINT64_C(1) << (s - r->scopes) : 0;
    }
    if (h->scope_count != request->scope_count || set != h->scope_set || memcmp(&e, &h->estimate, sizeof e) != 0)
        return -TLSHM_EMISMATCH;
    *id = (uint64_t)(h - r->holds) + 1;
    return TLSHM_REPLAY;
}

static struct question question_reserve(struct reference *r, const tlshm_request *request)
{
    struct question q = {.scope_count = request->scope_count, .until = UINT64_MAX};
    tlshm_amounts e = normal_estimate(request);
    for (unsigned i = 0; i < q.scope_count; i++)
        q.scopes[i] = scope_get(r, request->scopes[i].key);
    memcpy(q.asked, e.of, sizeof q.asked);
    q.asked[TLSHM_CONCURRENCY] = 1;
    memcpy(q.whole, q.asked, sizeof q.whole);
    q.life = request->ttl_ns;
    return q;
}

/* The time that all scopes allow a single request. */
static uint64_t life_allowed(struct reference *r, const struct question *q)
{
    uint64_t life = q->life;
    for (unsigned i = 0; i < q->scope_count; i++) {
        const struct list *list = limits_of(r, q->scopes[i]);
        for (unsigned k = 0; k < list->count; k++)
            if (list->of[k].unit == TLSHM_TIME && list->of[k].cap < life)
                life = list->of[k].cap;
    }
    return life;
}

static uint64_t hold_admit(struct reference *r, const struct question *q, const tlshm_request *request)
{
    struct hold *h = hold_new(r);
    h->scope_count = q->scope_count;
    h->estimate = normal_estimate(request);
    h->charged.of[TLSHM_REQUESTS] = h->estimate.of[TLSHM_REQUESTS];
    h->deadline = r->now.boot + life_allowed(r, q);
    hold_take_key(r, h, request);
    for (unsigned i = 0; i < q->scope_count; i++) {
        h->scopes[i] = (unsigned)(q->scopes[i] - r->scopes);
        h->scope_set |= UINT64_C(1) << h->scopes[i];
        scope_meet_limits(r, q->scopes[i]);
        scope_charge(r, q->scopes[i], TLSHM_REQUESTS, h->estimate.of[TLSHM_REQUESTS]);
        q->scopes[i]->seen = true;
    }
    return r->hold_count;
}

int ref_reserve(struct reference *r, const tlshm_request *request, uint64_t *id, struct ref_refusal *why)
{
    const struct hold *first = hold_by_key(r, request);
    if (first != NULL)
        return hold_replay(r, first, request, id);
    struct question q = question_reserve(r, request);
    if (question_refused(r, &q, why))
        return TLSHM_REFUSED;
    *id = hold_admit(r, &q, request);
    return TLSHM_OK;
}

static uint64_t charge_of(const struct reference *r, enum tlshm_unit unit, uint64_t estimate, uint64_t actual)
{
    if (r->function != NULL)
        return r->function(r->context, unit, estimate, actual);
    return r->policy == TLSHM_CAP_AT_ESTIMATE && actual > estimate ? estimate : actual;
}

static uint64_t actual_use(const tlshm_amounts *actual, enum tlshm_outcome outcome, unsigned unit, uint64_t estimate)
{
    if (outcome == TLSHM_UNKNOWN)
        return estimate;
    return outcome == TLSHM_AT_LEAST && actual->of[unit] < estimate ? estimate : actual->of[unit];
}

static void hold_charge(struct reference *r, struct hold *h, const tlshm_amounts *actual, enum tlshm_outcome outcome)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        if (u == TLSHM_REQUESTS || u == TLSHM_CONCURRENCY)
            continue;
        h->charged.of[u] =
            charge_of(r, (enum tlshm_unit)u, h->estimate.of[u], actual_use(actual, outcome, u, h->estimate.of[u]));
        for (unsigned i = 0; i < h->scope_count; i++)
            scope_charge(r, &r->scopes[h->scopes[i]], (enum tlshm_unit)u, h->charged.of[u]);
    }
    h->outcome = outcome;
}

static int hold_result(const struct hold *h, int verdict, tlshm_result *result)
{
    result->status = h->status;
    result->charged = h->charged;
    return verdict;
}

int ref_settle(struct reference *r, uint64_t id, const tlshm_amounts *actual, enum tlshm_outcome outcome,
               tlshm_result *result)
{
    struct hold *h = hold_of(r, id);
    if (h == NULL)
        return -TLSHM_EUNKNOWN;
    if (h->status == TLSHM_SETTLED || h->status == TLSHM_REFUNDED)
        return hold_result(h, TLSHM_REPLAY, result);
    bool late = h->status == TLSHM_EXPIRED;
    hold_end(r, h, TLSHM_SETTLED, r->now.boot);
    hold_charge(r, h, actual, outcome);
    return hold_result(h, late ? TLSHM_LATE : TLSHM_OK, result);
}

int ref_refund(struct reference *r, uint64_t id, tlshm_result *result)
{
    struct hold *h = hold_of(r, id);
    if (h == NULL)
        return -TLSHM_EUNKNOWN;
    if (h->status == TLSHM_EXPIRED)
        return hold_result(h, TLSHM_ENDED, result);
    if (h->status != TLSHM_HELD)
        return hold_result(h, TLSHM_REPLAY, result);
    hold_end(r, h, TLSHM_REFUNDED, r->now.boot);
    return hold_result(h, TLSHM_OK, result);
}

static struct question question_extend(struct reference *r, const struct hold *h, const tlshm_amounts *more,
                                       uint64_t ttl_ns)
{
    struct question q = {.extends = true, .scope_count = h->scope_count, .until = h->deadline};
    for (unsigned i = 0; i < q.scope_count; i++)
        q.scopes[i] = &r->scopes[h->scopes[i]];
    for (unsigned u = 0; more != NULL && u < TLSHM_UNITS; u++) {
        q.asked[u] = more->of[u];
        q.whole[u] = h->estimate.of[u] + more->of[u];
    }
    if (ttl_ns != 0 && r->now.boot + ttl_ns > h->deadline)
        q.life = r->now.boot + ttl_ns - h->born;
    return q;
}

static bool amounts_none(const tlshm_amounts *a)
{
    uint64_t any = 0;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        any |= a->of[u];
    return any == 0;
}

int ref_extend(struct reference *r, uint64_t id, const tlshm_amounts *more, uint64_t ttl_ns, struct ref_refusal *why)
{
    struct hold *h = hold_of(r, id);
    if (h == NULL)
        return -TLSHM_EUNKNOWN;
    if (h->status != TLSHM_HELD)
        return TLSHM_ENDED;
    struct question q = question_extend(r, h, more, ttl_ns);
    *why = (struct ref_refusal){.retry_after_ns = TLSHM_NEVER};
    if ((more == NULL || amounts_none(more)) && question_too_large(r, &q, why))
        return TLSHM_REFUSED; /* time alone: what is counted and pauses do not matter */
    if (more != NULL && !amounts_none(more)) {
        if (question_refused(r, &q, why))
            return TLSHM_REFUSED;
        for (unsigned i = 0; i < q.scope_count; i++)
            scope_meet_limits(r, q.scopes[i]);
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            h->estimate.of[u] += more->of[u];
    }
    if (ttl_ns != 0 && r->now.boot + ttl_ns > h->deadline)
        h->deadline = r->now.boot + ttl_ns;
    return TLSHM_OK;
}

/* -------------------------------------------------------------------------------------------------------- figures */

/* A scope that nobody has named yet stands as its level's default has it. */
static struct scope scope_look(struct reference *r, const char *key)
{
    struct scope *s = scope_find(r, key), fresh = {.source = TLSHM_LIMITS_DEFAULT};
    strcpy(fresh.key, key);
    return s != NULL ? *s : fresh;
}

void ref_usage(struct reference *r, const char *key, tlshm_scope_usage *out)
{
    const struct scope *known = scope_find(r, key);
    struct scope look = scope_look(r, key);
    const struct scope *s = known != NULL ? known : &look;
    const struct list *list = limits_of(r, s);
    const struct tier *tier = s->source == TLSHM_LIMITS_TIER      ? s->tier
                              : s->source == TLSHM_LIMITS_DEFAULT ? *level_default(r, s->key)
                                                                  : NULL;
    *out = (tlshm_scope_usage){.limit_count = list->count, .paused = s->paused, .shutoff = s->shutoff, .seen = s->seen};
    out->source = s->source == TLSHM_LIMITS_DEFAULT && tier == NULL ? TLSHM_LIMITS_NONE : s->source;
    strcpy(out->tier, tier != NULL ? tier->name : "");
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        out->used[u] = s->used[u];
        out->held[u] = known != NULL ? held_at(r, known, (enum tlshm_unit)u, r->now.boot) : 0;
    }
    for (unsigned i = 0; i < list->count; i++) {
        if (known != NULL)
            out->limits[i] = limit_usage(r, known, list, i, r->now);
        else
            out->limits[i] = (struct tlshm_limit_usage){list->of[i], 0, 0, (int64_t)list->of[i].cap, TLSHM_NEVER};
        if (list->of[i].cap == TLSHM_UNLIMITED)
            out->limits[i].remaining = INT64_MAX;
    }
}

int64_t ref_remaining(struct reference *r, const char *key, enum tlshm_unit unit)
{
    tlshm_scope_usage u;
    int64_t least = INT64_MAX;
    ref_usage(r, key, &u);
    for (unsigned i = 0; i < u.limit_count; i++)
        if (u.limits[i].limit.unit == unit && u.limits[i].remaining < least)
            least = u.limits[i].remaining;
    return least;
}

void ref_reservation(struct reference *r, uint64_t id, tlshm_reservation_info *out)
{
    const struct hold *h = hold_of(r, id);
    *out = (tlshm_reservation_info){.status = h->status, .scope_count = h->scope_count, .estimate = h->estimate};
    out->charged = h->charged;
    out->outcome = h->outcome;
    out->age_ns = r->now.boot - h->born;
    out->expires_in_ns = h->status == TLSHM_HELD ? h->deadline - r->now.boot : 0;
    out->ended_ago_ns = h->status == TLSHM_HELD ? 0 : r->now.boot - h->ended;
    out->idempotency_len = (unsigned)h->key_len;
    memcpy(out->idempotency_key, h->key, h->key_len);
}

const char *ref_reservation_key(struct reference *r, uint64_t id, unsigned index)
{
    return r->scopes[hold_of(r, id)->scopes[index]].key;
}

uint64_t ref_live(struct reference *r)
{
    return r->live_count;
}

uint64_t ref_next_due(struct reference *r)
{
    uint64_t least = TLSHM_NEVER;
    for (unsigned i = 0; i < r->live_count; i++)
        if (r->holds[r->live[i]].deadline - r->now.boot < least)
            least = r->holds[r->live[i]].deadline - r->now.boot;
    return least;
}
