/* SPDX-License-Identifier: MIT */
/* bymodel.c - reserving and settling by model: from counts to amounts, and the way into the daily calls. */
#include <tlshm/admin.h>
#include <tlshm/model.h>

#include "api.h"
#include "ask.h"
#include "hash.h"
#include "look.h"
#include "models.h"
#include "price.h"

_Static_assert(TLSHM_MODEL_MAX == TL_MODELS_NAME_MAX, "names");

/* --------------------------------------------------------------------------------------------------------- arguments */

static int check_bounds(const tlshm_bounds *b)
{
    bool crossed = b->output_cap && b->output_floor > b->output_cap;
    if (crossed || b->quantile_ppm > TL_MODELS_ALL_PPM || b->max_share_ppm > TL_MODELS_ALL_PPM ||
        b->cached_discount_ppm > TL_MODELS_ALL_PPM)
        return -TLSHM_EINVAL;
    bool large = b->output_default > TLSHM_AMOUNT_MAX || b->output_floor > TLSHM_AMOUNT_MAX;
    return large ? -TLSHM_ERANGE : 0;
}

static int check_call(const tlshm_model_call *call)
{
    const tlshm_counts *c = &call->counts;
    if (!call->model || (unsigned)call->service >= TLSHM_SERVICES || c->output_total || c->reasoning ||
        c->output_audio || c->output_image)
        return -TLSHM_EINVAL;
    if (call->max_output > TLSHM_AMOUNT_MAX && call->max_output != TLSHM_OUTPUT_NONE)
        return -TLSHM_ERANGE;
    return tl_price_check(c);
}

/* What there is to know before an estimate. */
struct estimating {
    tlshm_t *t;
    const tlshm_model_call *call;
    const tlshm_prices *prices;
    tlshm_bounds bounds; /* with defaults in place, but for the share */
    struct tl_model_name name;
    uint32_t number; /* of the model in the table, or TL_MODELS_NONE */
    tlshm_price_call price;
};

/* Now, as the segment sees it, whose clocks may say nonsense. 0 would be the system's. */
static int64_t wall_now(tlshm_t *t)
{
    struct tl_hand hand;
    tl_segment_look(t, &hand);
    int64_t wall = (int64_t)tl_clock_wall(&hand.clock, tl_clock_now(&hand.clock));
    return wall ? wall : 1;
}

static int prepare(struct estimating *e, tlshm_t *t, const tlshm_model_call *call, const tlshm_bounds *bounds,
                   const tlshm_prices *prices)
{
    *e = (struct estimating){.t = t, .call = call, .prices = prices};
    if (!t || !call)
        return -TLSHM_EINVAL;
    if (bounds)
        e->bounds = *bounds;
    int rc = check_bounds(&e->bounds);
    if (rc == 0)
        rc = check_call(call);
    if (rc == 0)
        rc = tl_models_name(&t->map, call->provider, call->model, &e->name);
    if (rc < 0)
        return rc;
    e->number = tl_models_find(&t->map, &e->name);
    e->price = (tlshm_price_call){.model = call->model, .provider = call->provider, .service = call->service};
    e->price.wall_ns = wall_now(t);
    e->price.counts = call->counts;
    return 0;
}

static uint64_t share_of(uint64_t amount, uint32_t ppm)
{
    return (uint64_t)((tl_pusd)amount * ppm / TL_MODELS_ALL_PPM);
}

/* Adds what counts come to. Of cached tokens those that are discounted are no tokens. */
static int add_amounts(const tlshm_counts *counts, uint32_t discount_ppm, tlshm_amounts *sum)
{
    tlshm_amounts add;
    int rc = tlshm_counts_amounts(counts, &add);
    if (rc < 0)
        return rc;
    add.of[TLSHM_TOKENS] -= share_of(counts->cache_read, discount_ppm);
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        sum->of[u] += add.of[u];
    return 0;
}

/* --------------------------------------------------------------------------------------------------------- the output */

static uint64_t or_else(uint64_t value, uint64_t fallback)
{
    return value ? value : fallback;
}

/* What may be generated, before limits are looked at. */
static void bound_output(const struct estimating *e, tlshm_guess *g)
{
    const tlshm_bounds *b = &e->bounds;
    g->source = TLSHM_OUTPUT_GIVEN;
    g->output = e->call->max_output == TLSHM_OUTPUT_NONE ? 0 : e->call->max_output;
    if (e->call->max_output == 0) {
        uint32_t ppm = (uint32_t)or_else(b->quantile_ppm, TLSHM_QUANTILE_DEFAULT_PPM);
        uint64_t learned = tl_models_quantile(&e->t->map, e->number, ppm, NULL);
        g->source = learned ? TLSHM_OUTPUT_LEARNED : TLSHM_OUTPUT_ASSUMED;
        g->output = or_else(learned, or_else(b->output_default, TLSHM_OUTPUT_DEFAULT));
        if (g->output < b->output_floor) {
            g->output = b->output_floor;
            g->changed |= TLSHM_OUTPUT_RAISED;
        }
    }
    if (b->output_cap && g->output > b->output_cap) {
        g->output = b->output_cap;
        g->changed |= TLSHM_OUTPUT_CAPPED;
    }
}

/* Tokens of output that a cost leaves room for; all that there is when they cost nothing. */
static uint64_t affordable(const tlshm_cost *cost, uint64_t room_nusd)
{
    tl_pusd room = (tl_pusd)room_nusd * 1000, fixed = (tl_pusd)cost->input_pusd + cost->request_pusd;
    uint64_t rate = cost->lines[TLSHM_PART_OUTPUT].pusd;
    if (rate == 0)
        return TL_FOREVER;
    return room > fixed ? (uint64_t)tl_min((uint64_t)((room - fixed) / rate), TLSHM_AMOUNT_MAX) : 0;
}

/* What one limit leaves for the output of one hold. `cost` is NULL when it is not known. */
static uint64_t output_within(uint64_t shape, uint64_t room, uint64_t input, const tlshm_cost *cost)
{
    switch (tl_shape_unit(shape)) {
    case TLSHM_TOKENS:
        return room > input ? room - input : 0;
    case TLSHM_OUTPUT_TOKENS:
        return room;
    case TLSHM_COST:
        return cost ? affordable(cost, room) : TL_FOREVER;
    default:
        return TL_FOREVER;
    }
}

/* What limits leave for an output. */
struct room {
    uint64_t shared; /* those over a time: with the share that one hold may have of them */
    uint64_t single; /* those on single requests: with all of them */
};

static void look_at_room(const struct tl_limits *limits, uint32_t ppm, uint64_t input, const tlshm_cost *cost,
                         struct room *room)
{
    for (unsigned i = 0; i < limits->count; i++) {
        uint64_t shape = limits->shape[i], cap = limits->cap[i];
        if (cap == TLSHM_UNLIMITED)
            continue;
        if (tl_shape_is_request(shape))
            room->single = tl_min(room->single, output_within(shape, cap, input, cost));
        else
            room->shared = tl_min(room->shared, output_within(shape, share_of(cap, ppm), input, cost));
    }
}

static void cut(tlshm_guess *g, uint64_t most, uint32_t why)
{
    if (g->output <= most)
        return;
    g->output = most;
    g->changed |= why;
}

/*
 * Cuts the output so that the hold takes no more than its share of any limit. What nobody has asked for is no more than a
 * single request may have either.
 */
static int cut_output(const struct estimating *e, const tlshm_scope *scopes, unsigned count, const tlshm_cost *cost,
                      tlshm_guess *g)
{
    bool given = g->source == TLSHM_OUTPUT_GIVEN;
    uint32_t ppm = (uint32_t)or_else(e->bounds.max_share_ppm, given ? 0 : TLSHM_SHARE_DEFAULT_PPM);
    const tlshm_counts *c = &e->call->counts;
    uint64_t input = c->input_total - share_of(c->cache_read, e->bounds.cached_discount_ppm);
    struct room room = {TL_FOREVER, TL_FOREVER};
    struct tl_look look;
    for (unsigned i = 0; ppm && g->output && i < count; i++) {
        int rc = scopes[i].handle ? tl_look_at(e->t, scopes[i].handle, false, &look)
                                  : tl_look_for(e->t, scopes[i].key, scopes[i].len, false, &look);
        if (rc < 0)
            return rc;
        look_at_room(&look.limits, ppm, input, cost, &room);
    }
    cut(g, tl_max(room.shared, or_else(e->bounds.output_floor, 1)), TLSHM_OUTPUT_SHARED);
    if (!given)
        cut(g, tl_max(room.single, 1), TLSHM_OUTPUT_LIMITED);
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- the estimate */

/* Prices a call as far as it goes. TLSHM_OK, TLSHM_UNKNOWN_MODEL, or an error. */
static int price(const tlshm_prices *prices, const tlshm_price_call *call, tlshm_cost *cost)
{
    if (prices && call->model && call->model[0])
        return tlshm_price(prices, call, cost);
    memset(cost, 0, sizeof *cost);
    return TLSHM_UNKNOWN_MODEL;
}

static int price_output(struct estimating *e, uint64_t output, tlshm_cost *cost, tlshm_guess *g)
{
    e->price.counts.output_total = output;
    int rc = price(e->prices, &e->price, cost);
    g->priced = rc == TLSHM_OK;
    g->lack = rc == TLSHM_OK ? TLSHM_LACKS_NOTHING : cost->lack;
    return rc < 0 ? rc : 0;
}

static int estimate(struct estimating *e, const tlshm_scope *scopes, unsigned count, tlshm_guess *out)
{
    tlshm_cost cost;
    tlshm_guess g = {.priced = 0};
    bound_output(e, &g);
    uint64_t wanted = g.output;
    int rc = price_output(e, wanted, &cost, &g);
    if (rc == 0)
        rc = cut_output(e, scopes, count, g.priced ? &cost : NULL, &g);
    if (rc == 0 && g.output != wanted)
        rc = price_output(e, g.output, &cost, &g);
    if (rc == 0)
        rc = add_amounts(&e->price.counts, e->bounds.cached_discount_ppm, &g.amounts);
    if (rc < 0)
        return rc;
    g.amounts.of[TLSHM_COST] = g.priced ? cost.nusd : 0;
    *out = g;
    return 0;
}

int tlshm_model_guess(tlshm_t *t, const tlshm_scope *scopes, unsigned scope_count, const tlshm_model_call *call,
                      const tlshm_bounds *bounds, const tlshm_prices *prices, tlshm_guess *out)
{
    struct estimating e;
    if (!out || scope_count > TLSHM_SCOPES_MAX || (scope_count && !scopes))
        return -TLSHM_EINVAL;
    int rc = prepare(&e, t, call, bounds, prices);
    if (rc == 0)
        rc = estimate(&e, scopes, scope_count, out);
    return t ? tl_segment_answer(t, rc) : rc;
}

/* ------------------------------------------------------------------------------------------------------------- reserve */

static int check_request(const tlshm_request *request)
{
    if (!request || !request->scopes || request->scope_count == 0 || request->scope_count > TLSHM_SCOPES_MAX)
        return -TLSHM_EINVAL;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (u != TLSHM_REQUESTS && request->estimate.of[u])
            return -TLSHM_EINVAL;
    return 0;
}

/* What a repeat must have in common with the first: what the caller said, not what came of it. */
static uint64_t fingerprint(const struct estimating *e, const tlshm_request *request)
{
    const uint64_t rest[] = {e->name.hash, (uint64_t)e->call->service, e->call->max_output,
                             request->estimate.of[TLSHM_REQUESTS]};
    return tl_hash(rest, sizeof rest, tl_hash(&e->call->counts, sizeof e->call->counts, 1));
}

/* The answer to a repeat tells what is held, not what would be now. */
static void tell_held(tlshm_t *t, tlshm_id id, tlshm_guess *g)
{
    tlshm_reservation_info info;
    if (tlshm_reservation(t, id, &info) < 0)
        return;
    g->amounts = info.estimate;
    g->amounts.of[TLSHM_REQUESTS] = g->amounts.of[TLSHM_CONCURRENCY] = 0;
    g->output = info.estimate.of[TLSHM_OUTPUT_TOKENS];
}

/* Limits on single requests go by what the caller allows the model, though less may be held. */
static void ask_whole(struct estimating *e, const tlshm_request *full, const tlshm_guess *g, uint64_t *whole)
{
    tlshm_cost cost;
    uint64_t allowed = e->call->max_output;
    memcpy(whole, full->estimate.of, sizeof full->estimate.of);
    whole[TLSHM_REQUESTS] = tl_max(whole[TLSHM_REQUESTS], 1);
    if (g->source != TLSHM_OUTPUT_GIVEN || allowed == TLSHM_OUTPUT_NONE || g->output >= allowed)
        return;
    whole[TLSHM_OUTPUT_TOKENS] = allowed;
    whole[TLSHM_TOKENS] += allowed - g->output;
    e->price.counts.output_total = allowed;
    if (g->priced)
        whole[TLSHM_COST] = price(e->prices, &e->price, &cost) == TLSHM_OK ? cost.nusd : TLSHM_AMOUNT_MAX;
}

/* The request with the amounts that it comes to, and what is asked beside them. */
static int fill_in(struct estimating *e, const tlshm_request *request, tlshm_guess *g, tlshm_request *full,
                   struct tl_ask_model *model)
{
    int rc = estimate(e, request->scopes, request->scope_count, g);
    if (rc < 0)
        return rc;
    *full = *request;
    full->estimate = g->amounts;
    full->estimate.of[TLSHM_REQUESTS] = request->estimate.of[TLSHM_REQUESTS];
    *model = (struct tl_ask_model){.fingerprint = fingerprint(e, request), .unpriced = !g->priced};
    ask_whole(e, full, g, model->whole);
    return 0;
}

static int reserve(struct estimating *e, struct tl_thread *thread, const tlshm_request *request, tlshm_id *id,
                   tlshm_guess *g, tlshm_refusal *why)
{
    tlshm_request full;
    struct tl_ask_model model;
    int rc = fill_in(e, request, g, &full, &model);
    if (rc < 0)
        return rc;
    uint32_t number = e->number;
    if (number == TL_MODELS_NONE && (g->priced || !e->prices)) /* else whoever invents names could fill the table */
        number = tl_models_enter(&thread->hand, &e->name);
    model.word = tl_model_word(number, number ? e->call->service : 0, e->bounds.cached_discount_ppm);
    return tl_api_reserve_in(e->t, thread, &full, &model, id, why);
}

int tlshm_model_reserve(tlshm_t *t, const tlshm_request *request, const tlshm_model_call *call,
                        const tlshm_bounds *bounds, const tlshm_prices *prices, tlshm_id *id, tlshm_guess *guess,
                        tlshm_refusal *why)
{
    struct estimating e;
    struct tl_thread *thread;
    tlshm_guess g;
    int rc = id ? check_request(request) : -TLSHM_EINVAL;
    if (rc == 0)
        rc = prepare(&e, t, call, bounds, prices);
    if (rc == 0)
        rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    rc = reserve(&e, thread, request, id, &g, why);
    tl_segment_leave(thread);
    rc = tl_segment_answer(t, rc);
    if (rc == TLSHM_REPLAY)
        tell_held(t, *id, &g);
    if (rc >= 0 && guess)
        *guess = g;
    return rc;
}

int tlshm_model_would_fit(tlshm_t *t, const tlshm_request *request, const tlshm_model_call *call,
                          const tlshm_bounds *bounds, const tlshm_prices *prices, tlshm_guess *guess,
                          tlshm_refusal *why)
{
    struct estimating e;
    tlshm_request full;
    struct tl_ask_model model;
    tlshm_guess g;
    int rc = check_request(request);
    if (rc == 0)
        rc = prepare(&e, t, call, bounds, prices);
    if (rc == 0)
        rc = fill_in(&e, request, &g, &full, &model);
    if (rc == 0)
        rc = tl_api_would_fit(t, &full, &model, why);
    if (rc >= 0 && guess)
        *guess = g;
    return rc;
}

/* -------------------------------------------------------------------------------------------------------------- settle */

int tlshm_usage_of_answer(const tlshm_answer *answer, tlshm_model_usage *out)
{
    if (!answer || !out)
        return -TLSHM_EINVAL;
    *out = (tlshm_model_usage){.counts = answer->counts,
                               .others = answer->others,
                               .model = answer->model[0] ? answer->model : NULL,
                               .other_model = answer->other_model[0] ? answer->other_model : NULL,
                               .has_cost = answer->has_cost != 0,
                               .cost_nusd = answer->cost_nusd};
    return 0;
}

/* Whom a reservation is for. */
struct whom {
    char provider[TLSHM_MODEL_MAX + 1], model[TLSHM_MODEL_MAX + 1];
    tlshm_price_call call;
};

static void ask_whom(tlshm_t *t, const tlshm_reservation_info *info, const tlshm_model_usage *usage, struct whom *w)
{
    int64_t at = (int64_t)((uint64_t)wall_now(t) - info->age_ns);
    w->call = (tlshm_price_call){.model = usage->model, .wall_ns = at ? at : 1, .counts = usage->counts};
    if (!info->model || !tl_models_read(&t->map, info->model, w->provider, w->model))
        return;
    w->call.model = w->model;
    w->call.provider = w->provider[0] ? w->provider : NULL;
    w->call.service = info->service < TLSHM_SERVICES ? (enum tlshm_service)info->service : TLSHM_SERVICE_STANDARD;
}

static bool uses_others(const tlshm_model_usage *usage)
{
    return usage->others.input_total || usage->others.output_total || usage->others.tool_calls;
}

/* What both models cost. TLSHM_OK, TLSHM_UNKNOWN_MODEL, or an error. */
static int price_usage(const tlshm_prices *prices, const struct whom *w, const tlshm_model_usage *usage,
                       tlshm_cost *cost, uint64_t *nusd)
{
    tlshm_price_call other = w->call;
    tlshm_cost of_others;
    int rc = price(prices, &w->call, cost);
    *nusd = rc == TLSHM_OK ? cost->nusd : 0;
    if (rc != TLSHM_OK || !uses_others(usage))
        return rc;
    other.counts = usage->others;
    if (usage->other_model && usage->other_model[0])
        other.model = usage->other_model;
    rc = price(prices, &other, &of_others);
    if (rc == TLSHM_UNKNOWN_MODEL) { /* its own is not known: better that of the model that asked it than none */
        other.model = w->call.model;
        rc = price(prices, &other, &of_others);
    }
    *nusd += rc == TLSHM_OK ? of_others.nusd : 0;
    return rc;
}

/* A discount that is none, in a segment that was spoilt, is all of it. */
static int usage_amounts(const tlshm_model_usage *usage, uint32_t discount_ppm, tlshm_amounts *out)
{
    discount_ppm = (uint32_t)tl_min(discount_ppm, TL_MODELS_ALL_PPM);
    *out = (tlshm_amounts){{0}};
    int rc = add_amounts(&usage->counts, discount_ppm, out);
    return rc < 0 ? rc : add_amounts(&usage->others, discount_ppm, out);
}

int tlshm_model_settle(tlshm_t *t, tlshm_id id, const tlshm_model_usage *usage, enum tlshm_outcome outcome,
                       const tlshm_prices *prices, tlshm_result *result, tlshm_cost *cost)
{
    tlshm_reservation_info info;
    struct whom whom;
    tlshm_amounts actual;
    tlshm_cost found;
    if (outcome == TLSHM_UNKNOWN)
        return tlshm_settle(t, id, NULL, outcome, result);
    if (!t || !usage)
        return -TLSHM_EINVAL;
    int rc = tlshm_reservation(t, id, &info);
    if (rc == 0)
        rc = usage_amounts(usage, info.cached_discount_ppm, &actual);
    if (rc < 0)
        return rc;
    ask_whom(t, &info, usage, &whom);
    rc = price_usage(prices, &whom, usage, &found, &actual.of[TLSHM_COST]);
    if (rc == TLSHM_UNKNOWN_MODEL)
        actual.of[TLSHM_COST] = usage->has_cost ? usage->cost_nusd : info.estimate.of[TLSHM_COST];
    if (rc >= 0)
        rc = tlshm_settle(t, id, &actual, outcome, result);
    if (rc >= 0 && cost)
        *cost = found;
    return rc;
}
