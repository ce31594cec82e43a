/* SPDX-License-Identifier: MIT */
/*
 * pricing.c - the prices of a process that are read again when the segment's number for them is raised.
 *
 * STATES   A handle leads to one `state`: a complete table, and how the last reading went. A state never changes. Whoever
 *          reads the files makes the next one, swings the handle's word to it, waits until nobody reads the old one, and
 *          frees it, and its table if that was replaced.
 *
 * INVARIANTS
 *   I1  The word is swung by the thread that has the turn only: no reading is lost, and none overtakes a later one.
 *   I2  `seen` is the number that was read before the files of the last reading were opened. So a number that is raised
 *       after a file was put into place is met by somebody who opens the file after that.
 *   I3  The turn is a fork generation. One of another generation was left by a thread that this process does not have: the
 *       child of a fork takes it, and reads the files by itself since `seen` is still the old one.
 *
 * PROGRESS Prices never wait: who finds the turn taken goes on with the table that is there. A reading waits for readers.
 *
 * WHY NOT tlshm_prices_reload(): with a configuration file the path, the overrides and the default may all be others, and
 * each price must be of one side.
 */
#include "rcu.h"

#include <tlshm/config.h>
#include <tlshm/pricing.h>

#include <stdlib.h>

#include "faults.h"
#include "prices.h"
#include "pricetext.h"
#include "segment.h"

struct state {
    tlshm_prices *table;
    uint64_t version;       /* the segment's number when its files were read */
    struct tlshm_error err; /* of the last reading, which may be a later one */
};

struct own_price {
    char *model; /* "": the default */
    char *price;
};

struct tlshm_pricing {
    tl_word state;
    tl_word seen; /* the segment's number at the last reading */
    tl_word turn; /* 0, or the fork generation of the process in which a thread reads the files */
    tlshm_t *t;
    char *config; /* the configuration file, or NULL */
    char *path;   /* the price table, or NULL; without a configuration file */
    size_t count;
    struct own_price *own;
};

/* ----------------------------------------------------------------------------------------------------------- reading */

/* The one place that `err` is filled from when the text says nothing yet. */
static int put_failed(struct tlshm_error *err, int rc, const char *model)
{
    if (rc < 0)
        tl_faults_fail(err, rc, 0, *model ? model : "the default price",
                       rc == -TLSHM_ERANGE ? "too many prices of one's own" : tlshm_error_text(rc));
    return rc;
}

static int put_own(tlshm_prices *table, const struct own_price *own, struct tlshm_error *err)
{
    struct tl_rate rates[TLSHM_PARTS];
    unsigned count;
    int rc = tl_pricetext_parse(own->price, rates, &count, err);
    return rc < 0 ? rc : put_failed(err, tl_prices_put(table, own->model, rates, count), own->model);
}

/* A configuration was checked: none of its prices is above the largest one. */
static int put_config_price(tlshm_prices *table, const tlshm_config_price *price, struct tlshm_error *err)
{
    static const unsigned char parts[TLSHM_CONFIG_RATES] = {
        [TLSHM_CONFIG_INPUT] = TLSHM_PART_INPUT,
        [TLSHM_CONFIG_OUTPUT] = TLSHM_PART_OUTPUT,
        [TLSHM_CONFIG_CACHE_READ] = TLSHM_PART_CACHE_READ,
        [TLSHM_CONFIG_CACHE_WRITE] = TLSHM_PART_CACHE_WRITE,
        [TLSHM_CONFIG_CACHE_WRITE_1H] = TLSHM_PART_CACHE_WRITE_1H,
        [TLSHM_CONFIG_REASONING] = TLSHM_PART_REASONING,
    };
    struct tl_rate rates[TLSHM_CONFIG_RATES];
    unsigned count = 0;
    for (unsigned i = 0; i < TLSHM_CONFIG_RATES; i++)
        if (price->pusd[i] != TLSHM_UNLIMITED)
            count = tl_price_add(rates, count, (struct tl_rate){.pusd = price->pusd[i], .part = parts[i]});
    return put_failed(err, tl_prices_put(table, price->model, rates, count), price->model);
}

/* Closes the table after an error. */
static int filled(int rc, tlshm_prices *table, tlshm_prices **out)
{
    if (rc < 0)
        tlshm_prices_close(table);
    else
        *out = table;
    return rc;
}

static int read_paths(const tlshm_pricing *p, tlshm_prices **out, struct tlshm_error *err)
{
    tlshm_prices *table;
    int rc = tlshm_prices_open(&table, p->path, NULL, NULL, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < p->count; i++)
        rc = put_own(table, &p->own[i], err);
    return filled(rc, table, out);
}

static int read_prices_of(const tlshm_config *config, const char *file, tlshm_prices **out, struct tlshm_error *err)
{
    const tlshm_config_settings *settings = tlshm_config_get_settings(config);
    const tlshm_config_price *price;
    tlshm_prices *table;
    if (!(settings->sections & TLSHM_CONFIG_PRICES))
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, file, "it has no section 'prices'");
    int rc = tlshm_prices_open(&table, settings->prices_path, NULL, NULL, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && (price = tlshm_config_get_price(config, i)); i++)
        rc = put_config_price(table, price, err);
    return filled(rc, table, out);
}

int tlshm_config_prices(tlshm_prices **out, const tlshm_config *config, struct tlshm_error *err)
{
    if (!out || !config)
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    return read_prices_of(config, "the configuration", out, err);
}

static int read_config(const tlshm_pricing *p, tlshm_prices **out, struct tlshm_error *err)
{
    tlshm_config *config;
    int rc = tlshm_config_load(&config, p->config, NULL, NULL, err);
    if (rc < 0)
        return rc;
    rc = read_prices_of(config, p->config, out, err);
    tlshm_config_free(config);
    return rc;
}

/* ----------------------------------------------------------------------------------------------------------- the turn */

static uint64_t announced(const tlshm_pricing *p)
{
    return tl_load_relaxed(&p->t->map.header->prices);
}

static const struct state *look(const tlshm_pricing *p)
{
    return (const struct state *)(uintptr_t)tl_load(&p->state);
}

static bool take_turn(tlshm_pricing *p)
{
    uint64_t mine = tl_os_fork_generation(), seen = tl_load(&p->turn);
    return seen != mine && tl_cas(&p->turn, seen, mine);
}

/* The next state: with a new table, or with the one that is there and the error. */
static int make_state(const tlshm_pricing *p, uint64_t version, const struct state *old, struct state *next)
{
    tlshm_prices *table = NULL;
    int rc = p->config ? read_config(p, &table, &next->err) : read_paths(p, &table, &next->err);
    if (rc == 0)
        *next = (struct state){.table = table, .version = version};
    else if (old)
        next->table = old->table, next->version = old->version;
    return rc;
}

static void drop_state(const struct state *state, bool with_table)
{
    if (with_table)
        tlshm_prices_close(state->table);
    free((void *)(uintptr_t)state);
}

/* With the turn. */
static int read_again(tlshm_pricing *p, struct tlshm_error *err)
{
    const struct state *old = look(p);
    struct state *next = calloc(1, sizeof *next);
    if (!next)
        return tl_faults_fail(err, -TLSHM_ENOMEM, 0, NULL, tlshm_error_text(-TLSHM_ENOMEM));
    uint64_t version = tl_load(&p->t->map.header->prices); /* I2: before the files */
    int rc = make_state(p, version, old, next);
    if (rc < 0 && err)
        *err = next->err;
    tl_store_release(&p->state, (uintptr_t)next);
    tl_store_release(&p->seen, version);
    tl_rcu_wait();
    drop_state(old, rc == 0);
    return rc < 0 ? rc : 1;
}

static bool is_behind(const tlshm_pricing *p)
{
    return TL_UNLIKELY(announced(p) != tl_load_relaxed(&p->seen));
}

/* Waiting for readers inside a read side would be for ever. What is read of a lost segment means nothing. */
TL_COLD static int catch_up(tlshm_pricing *p, struct tlshm_error *err)
{
    if (urcu_bp_read_ongoing() || tl_segment_lost(p->t) || !take_turn(p))
        return 0;
    int rc = is_behind(p) ? read_again(p, err) : 0; /* somebody else may have had the turn just before */
    tl_store_release(&p->turn, 0);
    return rc;
}

/* ----------------------------------------------------------------------------------------------------- open and close */

static void free_handle(tlshm_pricing *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->own[i].model);
        free(p->own[i].price);
    }
    free(p->own);
    free(p->config);
    free(p->path);
    free(p);
}

static bool copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool copy_own(tlshm_pricing *p, const tlshm_own_price *own, size_t count)
{
    p->own = calloc(count + 1, sizeof *p->own);
    bool copied = p->own != NULL;
    for (; copied && p->count < count; p->count++) {
        struct own_price *to = &p->own[p->count];
        copied = copy_text(&to->model, own[p->count].model ? own[p->count].model : "");
        copied &= copy_text(&to->price, own[p->count].price);
    }
    return copied;
}

static tlshm_pricing *make_handle(tlshm_t *t, const char *config, const char *path, const tlshm_own_price *own,
                                  size_t count)
{
    tlshm_pricing *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->t = t;
    if (copy_text(&p->config, config) && copy_text(&p->path, path) && copy_own(p, own, count))
        return p;
    free_handle(p);
    return NULL;
}

static int open_handle(tlshm_pricing **out, tlshm_pricing *p, struct tlshm_error *err)
{
    struct state *first = p ? calloc(1, sizeof *first) : NULL;
    int rc = -TLSHM_ENOMEM;
    tl_rcu_start();
    if (first) {
        uint64_t version = tl_load(&p->t->map.header->prices);
        rc = make_state(p, version, NULL, first);
        tl_store_relaxed(&p->seen, version);
        tl_store_release(&p->state, (uintptr_t)first);
    }
    if (rc == 0) {
        *out = p;
        return 0;
    }
    if (first && err)
        *err = first->err;
    else
        tl_faults_fail(err, rc, 0, NULL, tlshm_error_text(rc));
    free(first);
    if (p)
        free_handle(p);
    return rc;
}

static bool are_sound(const tlshm_own_price *own, size_t count)
{
    bool sound = own || count == 0;
    for (size_t i = 0; sound && i < count; i++)
        sound = own[i].price && (!own[i].model || *own[i].model);
    return sound;
}

int tlshm_pricing_open(tlshm_pricing **out, tlshm_t *t, const char *path, const tlshm_own_price *own, size_t count,
                       struct tlshm_error *err)
{
    if (!out || !t || !are_sound(own, count))
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    return open_handle(out, make_handle(t, NULL, path, own, count), err);
}

int tlshm_pricing_open_config(tlshm_pricing **out, tlshm_t *t, const char *path, struct tlshm_error *err)
{
    if (!out || !t || !path)
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    return open_handle(out, make_handle(t, path, NULL, NULL, 0), err);
}

void tlshm_pricing_close(tlshm_pricing *p)
{
    if (!p)
        return;
    drop_state(look(p), true);
    free_handle(p);
}

/* --------------------------------------------------------------------------------------------------------------- use */

const tlshm_prices *tlshm_pricing_begin(tlshm_pricing *p)
{
    if (!p)
        return NULL;
    if (is_behind(p))
        catch_up(p, NULL);
    tl_rcu_begin();
    return look(p)->table;
}

void tlshm_pricing_end(tlshm_pricing *p)
{
    if (p)
        tl_rcu_end();
}

int tlshm_pricing_price(tlshm_pricing *p, const tlshm_price_call *call, tlshm_cost *out)
{
    const tlshm_prices *table = tlshm_pricing_begin(p);
    int rc = tlshm_price(table, call, out);
    tlshm_pricing_end(p);
    return rc;
}

int tlshm_pricing_refresh(tlshm_pricing *p, struct tlshm_error *err)
{
    if (!p)
        return tl_faults_fail(err, -TLSHM_EINVAL, 0, NULL, tlshm_error_text(-TLSHM_EINVAL));
    return is_behind(p) ? catch_up(p, err) : 0;
}

int tlshm_pricing_get(const tlshm_pricing *p, tlshm_pricing_info *out)
{
    if (!p || !out)
        return -TLSHM_EINVAL;
    tl_rcu_begin();
    const struct state *state = look(p);
    out->version = state->version;
    out->announced = announced(p);
    out->err = state->err;
    tlshm_prices_get(state->table, &out->prices);
    tl_rcu_end();
    return 0;
}

int tlshm_pricing_announce(tlshm_t *t)
{
    if (!t)
        return -TLSHM_EINVAL;
    if (t->map.readonly)
        return -TLSHM_EREADONLY;
    tl_fence_release(); /* what the caller wrote into files is there before */
    tl_add(&t->map.header->prices, 1);
    return tl_segment_answer(t, 0);
}
