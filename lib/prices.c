/* SPDX-License-Identifier: MIT */
/*
 * prices.c - a process's price table: the handle, its snapshots, and the price of a call.
 *
 * STATES   A handle leads to one snapshot: a catalogue (shared by the snapshots that were made since it was read), the
 *          overrides and the default. A snapshot never changes. Whoever changes something makes a new one from the one
 *          that is there and swings the handle's word; then waits until nobody reads the old one, and frees it.
 *
 * INVARIANTS
 *   I1  The word is swung from the snapshot that the new one was made from, inside one read side: that snapshot cannot
 *       be freed meanwhile, so its address cannot come back as another one's, and no change is lost.
 *   I2  A catalogue is freed when the last snapshot that leads to it is. References are taken inside the read side of a
 *       snapshot that has one.
 *
 * PROGRESS Readers never wait. Writers wait for readers, and never for each other but inside liburcu.
 *
 * WHY NOT a lock for writers: a child that is forked while another thread holds it could never take it again. liburcu's
 * own locks are held over a fork by its handlers (rcu.h).
 */
#include "rcu.h"

#include "prices.h"

#include <stdlib.h>

#include "clock.h"
#include "pricefile.h"
#include "pricetext.h"
#include "text.h"

#define OVERRIDES_MAX 4096

struct override {
    char name[TLSHM_MODEL_MAX + 1]; /* in lower case; empty: the default */
    unsigned count;
    struct tl_rate rates[TLSHM_PARTS];
};

/* A catalogue and how many snapshots lead to it. */
struct shared_catalogue {
    tl_word references;
    struct tl_catalogue *catalogue;
    struct tl_pricefile_id id;
};

struct snapshot {
    struct shared_catalogue *shared; /* NULL: no file */
    const struct override *fallback; /* the default; one of the overrides */
    unsigned count;
    struct override overrides[];
};

struct tlshm_prices {
    tl_word snapshot;
    char *path; /* NULL: nothing to read again */
};

/* --------------------------------------------------------------------------------------------------------- snapshots */

static const struct snapshot *look(const tlshm_prices *prices)
{
    return (const struct snapshot *)(uintptr_t)tl_load(&prices->snapshot);
}

static void drop_shared(struct shared_catalogue *shared)
{
    if (!shared || tl_add(&shared->references, UINT64_MAX) != 1)
        return;
    tl_fence_acquire();
    tl_catalogue_free(shared->catalogue);
    free(shared);
}

static void drop_snapshot(const struct snapshot *s)
{
    drop_shared(s->shared);
    free((void *)(uintptr_t)s);
}

static const struct override *find_override(const struct snapshot *s, struct tl_span name)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strlen(s->overrides[i].name) == name.length && memcmp(s->overrides[i].name, name.text, name.length) == 0)
            return &s->overrides[i];
    return NULL;
}

static void find_fallback(struct snapshot *s)
{
    s->fallback = find_override(s, (struct tl_span){"", 0});
}

/* A copy of the snapshot with room for one more override, which has its own reference to `shared`. */
static struct snapshot *copy_snapshot(const struct snapshot *from, struct shared_catalogue *shared)
{
    unsigned count = from ? from->count : 0;
    struct snapshot *s = malloc(sizeof *s + (count + 1) * sizeof *s->overrides);
    if (!s)
        return NULL;
    s->shared = shared;
    s->count = count;
    if (count)
        memcpy(s->overrides, from->overrides, count * sizeof *s->overrides);
    find_fallback(s);
    if (shared)
        tl_add(&shared->references, 1);
    return s;
}

static int fail(struct tlshm_error *err, int code, const char *text)
{
    if (!err)
        return code;
    *err = (struct tlshm_error){.code = code};
    struct tl_text w = {err->text, sizeof err->text, 0};
    tl_text_put(&w, text);
    tl_text_end(&w);
    return code;
}

/* A change to a copy of the current snapshot; 0 or an error. */
typedef int change(struct snapshot *s, void *context);

/* Makes the change in a copy of what is there and swings the handle to it, until nobody else did so meanwhile. */
static int apply(tlshm_prices *prices, struct shared_catalogue *shared, change *make, void *context)
{
    for (;;) {
        tl_rcu_begin();
        const struct snapshot *old = look(prices);
        struct snapshot *made = copy_snapshot(old, shared ? shared : old->shared);
        int rc = !made ? -TLSHM_ENOMEM : make ? make(made, context) : 0;
        bool swung = !rc && tl_cas(&prices->snapshot, (uintptr_t)old, (uintptr_t)made);
        tl_rcu_end();
        if (!swung && made)
            drop_snapshot(made);
        if (rc)
            return rc;
        if (!swung)
            continue;
        tl_rcu_wait();
        drop_snapshot(old);
        return 0;
    }
}

/* ----------------------------------------------------------------------------------------------------- open and close */

static struct shared_catalogue *share(struct tl_catalogue *catalogue, const struct tl_pricefile_id *id)
{
    struct shared_catalogue *shared = calloc(1, sizeof *shared);
    if (!shared)
        return NULL;
    tl_store_relaxed(&shared->references, 1); /* the maker's own */
    shared->catalogue = catalogue;
    shared->id = *id;
    return shared;
}

/* A handle that leads to a catalogue, which becomes its own; NULL for none. */
static int make_handle(tlshm_prices **out, const char *path, struct tl_catalogue *catalogue,
                       const struct tl_pricefile_id *id)
{
    tl_rcu_start();
    tlshm_prices *prices = calloc(1, sizeof *prices);
    struct shared_catalogue *shared = catalogue ? share(catalogue, id) : NULL;
    struct snapshot *first = copy_snapshot(NULL, shared);
    char *copy = path ? strdup(path) : NULL;
    bool made = prices && first && (!catalogue || shared) && (!path || copy);
    if (!made) {
        if (first)
            drop_snapshot(first);
        if (shared)
            drop_shared(shared);
        else
            tl_catalogue_free(catalogue);
        free(copy);
        free(prices);
        return -TLSHM_ENOMEM;
    }
    drop_shared(shared); /* the snapshot has its own reference */
    prices->path = copy;
    tl_store_release(&prices->snapshot, (uintptr_t)first);
    *out = prices;
    return 0;
}

int tlshm_prices_open(tlshm_prices **out, const char *path, tlshm_price_warning warning, void *context,
                      struct tlshm_error *err)
{
    struct tl_catalogue *catalogue = NULL;
    struct tl_pricefile_id id = {0};
    if (!out)
        return fail(err, -TLSHM_EINVAL, "no place for the table");
    int rc = path ? tl_pricefile_load(&catalogue, path, &id, warning, context, err) : 0;
    if (rc)
        return rc;
    rc = make_handle(out, path, catalogue, &id);
    return rc ? fail(err, rc, tlshm_error_text(rc)) : 0;
}

int tlshm_prices_parse(tlshm_prices **out, const void *bytes, size_t size, tlshm_price_warning warning, void *context,
                       struct tlshm_error *err)
{
    struct tl_catalogue *catalogue;
    struct tl_pricefile_id id = {0};
    if (!out || (!bytes && size))
        return fail(err, -TLSHM_EINVAL, "no bytes, or no place for the table");
    int rc = tl_pricefile_parse(&catalogue, "the table", size ? bytes : "", size, warning, context, err);
    if (rc)
        return rc;
    rc = make_handle(out, NULL, catalogue, &id);
    return rc ? fail(err, rc, tlshm_error_text(rc)) : 0;
}

void tlshm_prices_close(tlshm_prices *prices)
{
    if (!prices)
        return;
    drop_snapshot(look(prices));
    free(prices->path);
    free(prices);
}

int tlshm_prices_reload(tlshm_prices *prices, tlshm_price_warning warning, void *context, struct tlshm_error *err)
{
    struct tl_catalogue *catalogue;
    struct tl_pricefile_id id;
    if (!prices || !prices->path)
        return prices ? 0 : fail(err, -TLSHM_EINVAL, "no table");
    int rc = tl_pricefile_look(prices->path, &id, err);
    if (rc)
        return rc;
    tl_rcu_begin();
    bool same = memcmp(&look(prices)->shared->id, &id, sizeof id) == 0;
    tl_rcu_end();
    if (same)
        return 0;
    rc = tl_pricefile_load(&catalogue, prices->path, &id, warning, context, err);
    if (rc)
        return rc;
    struct shared_catalogue *shared = share(catalogue, &id);
    if (!shared) {
        tl_catalogue_free(catalogue);
        return fail(err, -TLSHM_ENOMEM, tlshm_error_text(-TLSHM_ENOMEM));
    }
    rc = apply(prices, shared, NULL, NULL);
    drop_shared(shared);
    return rc ? fail(err, rc, tlshm_error_text(rc)) : 1;
}

/* --------------------------------------------------------------------------------------------------------- overrides */

static int put_override(struct snapshot *s, void *context)
{
    const struct override *wanted = context;
    struct override *there =
        (struct override *)(uintptr_t)find_override(s, (struct tl_span){wanted->name, strlen(wanted->name)});
    if (!there && s->count == OVERRIDES_MAX)
        return -TLSHM_ERANGE;
    if (!there)
        there = &s->overrides[s->count++];
    *there = *wanted;
    find_fallback(s);
    return 0;
}

static int take_override(struct snapshot *s, void *context)
{
    const struct override *wanted = context;
    struct override *there =
        (struct override *)(uintptr_t)find_override(s, (struct tl_span){wanted->name, strlen(wanted->name)});
    if (!there)
        return -TLSHM_ENOENT;
    *there = s->overrides[--s->count];
    find_fallback(s);
    return 0;
}

int tlshm_prices_override(tlshm_prices *prices, const char *model, const char *price, struct tlshm_error *err)
{
    struct override wanted = {.count = 0};
    size_t length = model ? strlen(model) : 0;
    if (!prices || (model && (length == 0 || length > TLSHM_MODEL_MAX)))
        return fail(err, -TLSHM_EINVAL, "no table, or a model's name that is empty or too long");
    tl_match_fold(wanted.name, length ? model : "", length);
    int rc = price ? tl_pricetext_parse(price, wanted.rates, &wanted.count, err) : 0;
    if (rc)
        return rc;
    rc = apply(prices, NULL, price ? put_override : take_override, &wanted);
    if (rc == -TLSHM_ENOENT)
        return fail(err, rc, "there is no such price to take away");
    if (rc == -TLSHM_ERANGE)
        return fail(err, rc, "too many overrides");
    return rc ? fail(err, rc, tlshm_error_text(rc)) : 0;
}

int tl_prices_put(tlshm_prices *prices, const char *model, const struct tl_rate *rates, unsigned count)
{
    struct override wanted = {.count = count};
    size_t length = strlen(model);
    if (length > TLSHM_MODEL_MAX)
        return -TLSHM_EINVAL;
    tl_match_fold(wanted.name, model, length);
    memcpy(wanted.rates, rates, count * sizeof *rates);
    struct snapshot *s = (struct snapshot *)(uintptr_t)tl_load_relaxed(&prices->snapshot);
    s = realloc(s, sizeof *s + (s->count + 1) * sizeof *s->overrides);
    if (!s)
        return -TLSHM_ENOMEM;
    tl_store_relaxed(&prices->snapshot, (uintptr_t)s);
    return put_override(s, &wanted);
}

/* ------------------------------------------------------------------------------------------------------------- prices */

/* A call's names in lower case. */
struct names {
    char text[2 * TLSHM_MODEL_MAX + 2]; /* provider/model */
    struct tl_span whole, provider, model;
};

/* False for names that no table can have. */
static bool take_names(struct names *n, const tlshm_price_call *call)
{
    size_t provider = call->provider ? strlen(call->provider) : 0, model = strlen(call->model);
    if (provider > TLSHM_MODEL_MAX || model > TLSHM_MODEL_MAX || !model)
        return false;
    tl_match_fold(n->text, provider ? call->provider : "", provider);
    n->text[provider] = '/';
    tl_match_fold(n->text + provider + 1, call->model, model);
    n->whole = (struct tl_span){n->text, provider + 1 + model};
    n->provider = (struct tl_span){n->text, provider};
    n->model = (struct tl_span){n->text + provider + 1, model};
    return true;
}

static void put_name(char *to, size_t size, const char *name)
{
    size_t length = strnlen(name, size - 1);
    memcpy(to, name, length);
    to[length] = '\0';
}

static const struct override *find_override_of(const struct snapshot *s, const struct names *n)
{
    const struct override *o = n->provider.length ? find_override(s, n->whole) : NULL;
    return o ? o : find_override(s, n->model);
}

static int sum(const struct tl_rate *rates, unsigned count, const tlshm_price_call *call,
               enum tlshm_price_source source, tlshm_cost *out)
{
    int rc = tl_price_sum(rates, count, &call->counts, call->service, out);
    if (rc < 0)
        return rc;
    out->source = source;
    out->lack = rc ? TLSHM_LACKS_PART : TLSHM_LACKS_NOTHING;
    return rc;
}

static int price_by_table(const struct snapshot *s, const struct names *n, const tlshm_price_call *call,
                          tlshm_cost *out)
{
    const struct tl_model *m =
        s->shared ? tl_catalogue_find(s->shared->catalogue, n->provider, n->model, call->model) : NULL;
    if (!m)
        return TLSHM_UNKNOWN_MODEL;
    put_name(out->model, sizeof out->model, m->name);
    put_name(out->provider, sizeof out->provider, m->provider->name);
    if (m->lack != TLSHM_LACKS_NOTHING) {
        out->lack = m->lack;
        return TLSHM_UNKNOWN_MODEL;
    }
    const struct tl_tariff *t =
        tl_catalogue_tariff(m, call->wall_ns ? call->wall_ns : (int64_t)tl_clock_source->wall());
    return sum(t->rates, t->count, call, TLSHM_PRICE_TABLE, out);
}

static int price_by_default(const struct snapshot *s, const tlshm_price_call *call, tlshm_cost *out)
{
    int rc = sum(s->fallback->rates, s->fallback->count, call, TLSHM_PRICE_DEFAULT, out);
    if (rc == TLSHM_OK)
        *out->model = *out->provider = '\0';
    return rc;
}

/* `n` is NULL for a name that no table can have. */
static int price_in(const struct snapshot *s, const struct names *n, const tlshm_price_call *call, tlshm_cost *out)
{
    const struct override *o = n ? find_override_of(s, n) : NULL;
    int rc = TLSHM_UNKNOWN_MODEL;
    out->lack = TLSHM_LACKS_MODEL;
    if (o) {
        put_name(out->model, sizeof out->model, o->name);
        return sum(o->rates, o->count, call, TLSHM_PRICE_OVERRIDE, out);
    }
    if (n)
        rc = price_by_table(s, n, call, out);
    if (rc == TLSHM_UNKNOWN_MODEL && s->fallback)
        rc = price_by_default(s, call, out);
    return rc;
}

int tlshm_price(const tlshm_prices *prices, const tlshm_price_call *call, tlshm_cost *out)
{
    struct names names;
    tlshm_cost cost = {0};
    if (!prices || !call || !out || !call->model || (unsigned)call->service >= TLSHM_SERVICES)
        return -TLSHM_EINVAL;
    int rc = tl_price_check(&call->counts);
    if (rc < 0)
        return rc;
    bool plausible = take_names(&names, call);
    tl_rcu_begin();
    rc = price_in(look(prices), plausible ? &names : NULL, call, &cost);
    tl_rcu_end();
    if (rc >= 0)
        *out = cost;
    return rc;
}

/* ------------------------------------------------------------------------------------------------------------- looks */

int tlshm_prices_get(const tlshm_prices *prices, tlshm_prices_info *out)
{
    if (!prices || !out)
        return -TLSHM_EINVAL;
    tl_rcu_begin();
    const struct snapshot *s = look(prices);
    *out = s->shared ? s->shared->catalogue->info : (tlshm_prices_info){0};
    out->has_default = s->fallback != NULL;
    out->overrides = s->count - (s->fallback != NULL);
    tl_rcu_end();
    return 0;
}

int tlshm_prices_nearest(const tlshm_prices *prices, const char *model, char *buf, size_t size)
{
    char folded[TLSHM_MODEL_MAX];
    size_t length = model ? strlen(model) : 0;
    if (!prices || !model || !buf || size <= TLSHM_MODEL_MAX)
        return -TLSHM_EINVAL;
    length = length > sizeof folded ? sizeof folded : length;
    tl_match_fold(folded, model, length);
    *buf = '\0';
    tl_rcu_begin();
    const struct snapshot *s = look(prices);
    const struct tl_model *m =
        s->shared ? tl_catalogue_nearest(s->shared->catalogue, (struct tl_span){folded, length}) : NULL;
    if (m)
        put_name(buf, size, m->name);
    tl_rcu_end();
    return (int)strlen(buf);
}
