/* SPDX-License-Identifier: MIT */
/* money.c - sums, tenants with their budgets, and models with how far their estimates were off. */
#include "money.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meter.h"

/* ----------------------------------------------------------------------------------------------------------------- sums */

static const char *prices_text(const struct tariff *t)
{
    const struct tariff_settings *s = t->settings;
    if (s->table)
        return s->table;
    return s->flat_given || s->price_count > 0 ? "command line" : "example";
}

/* The same calls with exact estimates, less what there was. Below 0 where smaller calls had made way for a larger one. */
static void emit_over_reservation(struct emit *e, const struct audit *a)
{
    const struct scope_sums *all = &a->sums[a->run->stage->head->scope_count];
    const struct ideal *ideal = &a->ideal;
    emit_object_begin(e, "lost_by_over_reservation");
    if (ideal->known) {
        emit_i64(e, "requests", (int64_t)(ideal->admitted - a->admitted));
        emit_i64(e, "tokens", (int64_t)(ideal->used_tokens - all->used[TLSHM_TOKENS]));
        emit_remaining(e, "cost_nusd", TLSHM_COST, (int64_t)(ideal->used_nusd - all->used[TLSHM_COST]));
    } else {
        emit_null(e, "requests", "unknown");
        emit_null(e, "tokens", "unknown");
        emit_null(e, "cost_nusd", "unknown");
    }
    emit_object_end(e);
}

void money_emit_sums(struct emit *e, const struct audit *a, const struct tariff *t)
{
    const struct scope_sums *all = &a->sums[a->run->stage->head->scope_count];
    emit_text(e, "prices", prices_text(t));
    emit_u64(e, "unpriced_requests", a->refused_for[TLSHM_UNKNOWN_MODEL]);
    emit_amount(e, "used_tokens", TLSHM_TOKENS, all->used[TLSHM_TOKENS]);
    emit_amount(e, "used_nusd", TLSHM_COST, all->used[TLSHM_COST]);
    emit_amount(e, "overspend_tokens", TLSHM_TOKENS, a->overspend[TLSHM_TOKENS]);
    emit_amount(e, "overspend_nusd", TLSHM_COST, a->overspend[TLSHM_COST]);
    emit_amount(e, "overrun_tokens", TLSHM_TOKENS, a->overrun[TLSHM_TOKENS]);
    emit_amount(e, "overrun_nusd", TLSHM_COST, a->overrun[TLSHM_COST]);
    emit_object_begin(e, "refused_by_unit");
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (a->refused_unit[unit])
            emit_u64(e, tlshm_unit_name(unit), a->refused_unit[unit]);
    emit_object_end(e);
    emit_over_reservation(e, a);
}

/* -------------------------------------------------------------------------------------------------------------- tenants */

struct tenant {
    const char *key;
    const struct scope_sums *sums;
};

static int by_tokens(const void *x, const void *y)
{
    const struct tenant *a = x, *b = y;
    uint64_t m = a->sums->used[TLSHM_TOKENS], n = b->sums->used[TLSHM_TOKENS];
    return m != n ? (m < n ? 1 : -1) : strcmp(a->key, b->key);
}

static struct tenant *tenants_of(const struct audit *a, size_t *count)
{
    const struct stage *s = a->run->stage;
    struct tenant *list = calloc(s->head->scope_count + 1, sizeof *list);
    *count = 0;
    for (uint64_t i = 0; list && i < s->head->scope_count; i++)
        if (strncmp(s->scopes[i].key, "tenant:", strlen("tenant:")) == 0)
            list[(*count)++] = (struct tenant){s->scopes[i].key + strlen("tenant:"), &a->sums[i]};
    if (list)
        qsort(list, *count, sizeof *list, by_tokens);
    return list;
}

/* What the budget's window may hold, and the most that it ever did. */
static void emit_budget(struct emit *e, const struct scope_sums *sums, const tlshm_limit *budget)
{
    uint64_t peak = sums->peak_nusd;
    emit_amount(e, "budget_nusd", TLSHM_COST, budget->cap);
    if (meter_knows(budget)) {
        emit_amount(e, "peak_nusd", TLSHM_COST, peak);
        emit_amount(e, "over_nusd", TLSHM_COST, peak > budget->cap ? peak - budget->cap : 0);
    } else {
        emit_null(e, "peak_nusd", "unknown");
        emit_null(e, "over_nusd", "unknown");
    }
    emit_u64(e, "refused_for_cost", sums->refused_for_cost);
}

void money_emit_tenants(struct emit *e, const struct audit *a)
{
    size_t count;
    struct tenant *list = tenants_of(a, &count);
    const tlshm_limit *budget = audit_budget(a);
    emit_array_begin(e, "tenants");
    for (size_t i = 0; i < count; i++) {
        const struct scope_sums *sums = list[i].sums;
        emit_object_begin(e, NULL);
        emit_text(e, "tenant", list[i].key);
        emit_u64(e, "requests", sums->requests);
        emit_u64(e, "admitted", sums->admitted);
        emit_u64(e, "refused", sums->refused);
        emit_amount(e, "tokens", TLSHM_TOKENS, sums->used[TLSHM_TOKENS]);
        emit_amount(e, "cost_nusd", TLSHM_COST, sums->used[TLSHM_COST]);
        if (budget)
            emit_budget(e, sums, budget);
        emit_object_end(e);
    }
    emit_array_end(e);
    free(list);
}

/* --------------------------------------------------------------------------------------------------------------- models */

struct ratios {
    double *values;
    size_t count;
};

/* What the calls of one model came to; the money and the ratios are those of the settled ones. */
struct model_sums {
    uint64_t requests, settled, unpriced, covered, estimate_nusd, actual_nusd;
    struct ratios cost, tokens;
};

static void free_models(struct model_sums *models, size_t count)
{
    for (size_t i = 0; models && i < count; i++) {
        free(models[i].cost.values);
        free(models[i].tokens.values);
    }
    free(models);
}

/* Calls that used nothing have no ratio. */
static void add_ratio(struct ratios *r, uint64_t estimate, uint64_t actual)
{
    if (actual > 0)
        r->values[r->count++] = (double)estimate / (double)actual;
}

static void add_call(struct model_sums *m, const struct stage *s, uint64_t number)
{
    const struct stage_call *call = &s->calls[number];
    tlshm_amounts estimate, actual;
    m->unpriced += !call->priced;
    if (s->ledger[number].phase != PHASE_SETTLED)
        return;
    stage_estimate(s, number, &estimate);
    stage_actual(call, &actual);
    m->settled++;
    m->covered += actual.of[TLSHM_OUTPUT_TOKENS] <= estimate.of[TLSHM_OUTPUT_TOKENS];
    m->estimate_nusd += estimate.of[TLSHM_COST];
    m->actual_nusd += actual.of[TLSHM_COST];
    add_ratio(&m->cost, estimate.of[TLSHM_COST], actual.of[TLSHM_COST]);
    add_ratio(&m->tokens, estimate.of[TLSHM_TOKENS], actual.of[TLSHM_TOKENS]);
}

static bool room_for_ratios(struct model_sums *m)
{
    m->cost.values = calloc(m->requests + 1, sizeof *m->cost.values);
    m->tokens.values = calloc(m->requests + 1, sizeof *m->tokens.values);
    return m->cost.values && m->tokens.values;
}

/* One for each model of the tariff. NULL when out of memory. */
static struct model_sums *sum_models(const struct audit *a, const struct tariff *t)
{
    const struct stage *s = a->run->stage;
    struct model_sums *models = calloc(t->count, sizeof *models);
    bool room = models != NULL;
    for (uint64_t i = 0; room && i < s->head->call_count; i++)
        models[s->calls[i].model].requests++;
    for (size_t i = 0; room && i < t->count; i++)
        room = room_for_ratios(&models[i]);
    for (uint64_t i = 0; room && i < s->head->call_count; i++)
        add_call(&models[s->calls[i].model], s, i);
    if (room)
        return models;
    free_models(models, t->count);
    return NULL;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The smallest value that this share of all does not exceed. The values are sorted. */
static void emit_quantile(struct emit *e, const char *key, const struct ratios *r, double share)
{
    size_t rank = (size_t)ceil(share * (double)r->count);
    if (r->count == 0)
        emit_null(e, key, "-");
    else
        emit_real(e, key, r->values[rank > 0 ? rank - 1 : 0], 3);
}

static void emit_ratios(struct emit *e, struct ratios *r, const char *p50, const char *p95)
{
    qsort(r->values, r->count, sizeof *r->values, by_value);
    emit_quantile(e, p50, r, 0.5);
    emit_quantile(e, p95, r, 0.95);
}

static const char *source_text(const struct tariff_model *model, const struct model_sums *m)
{
    static const char *const sources[] = {
        [TLSHM_PRICE_TABLE] = "table", [TLSHM_PRICE_OVERRIDE] = "given", [TLSHM_PRICE_DEFAULT] = "flat"};
    return m->unpriced > 0 ? "unknown" : sources[model->source];
}

static void emit_model(struct emit *e, const struct tariff_model *model, struct model_sums *m)
{
    emit_object_begin(e, NULL);
    emit_text(e, "model", model->name);
    emit_text(e, "price", source_text(model, m));
    emit_u64(e, "requests", m->requests);
    emit_u64(e, "settled", m->settled);
    emit_amount(e, "cost_nusd", TLSHM_COST, m->actual_nusd);
    emit_amount(e, "estimate_nusd", TLSHM_COST, m->estimate_nusd);
    if (m->settled > 0)
        emit_real(e, "covered", (double)m->covered / (double)m->settled, 4);
    else
        emit_null(e, "covered", "-");
    emit_ratios(e, &m->cost, "cost_ratio_p50", "cost_ratio_p95");
    emit_ratios(e, &m->tokens, "token_ratio_p50", "token_ratio_p95");
    emit_object_end(e);
}

void money_emit_models(struct emit *e, const struct audit *a, const struct tariff *t)
{
    struct model_sums *models = sum_models(a, t);
    uint64_t unpriced = 0;
    emit_array_begin(e, "models");
    for (size_t i = 0; models && i < t->count; i++) {
        emit_model(e, t->models[i], &models[i]);
        unpriced += models[i].unpriced > 0;
    }
    emit_array_end(e);
    emit_u64(e, "unpriced_models", unpriced);
    free_models(models, t->count);
}
