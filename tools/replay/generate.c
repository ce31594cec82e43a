/* SPDX-License-Identifier: MIT */
/*
 * generate.c - draws sessions, conversations and calls.
 *
 * The figures below are fitted to two public traces: 49,334 calls of 710 recorded coding-agent sessions, and an hour
 * of a fleet of 120 such sessions with 13 tenants. Each is a median and a sigma of a lognormal distribution, or the
 * share of a mixture's second part, unless its comment says otherwise. What is reproduced, within sampling noise:
 * input p50 70 k to 100 k, p99 500 k to 700 k, never above 900 k; output p50 216, p99 about 3.7 k, p99.9 about 8 k; nine
 * tenths of the input read from the cache; half of the tokens with the first of 13 tenants.
 */
#include "generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define SECOND 1e9

const double generate_tenant_exponent = 1.5; /* 13 tenants: 48 %, 17 %, 9 %, 6 % ... */

/* The first input of a conversation: instructions and tools alone, or a context that was resumed. */
static const double fresh_median = 20e3, fresh_sigma = 0.45, resumed_share = 0.55, resumed_median = 110e3,
                    resumed_sigma = 0.80;
static const double input_min = 6343, input_max = 894371; /* extremes of the trace */

/* What a call adds to the context: a tool's answer, or a file and more. */
static const double growth_median = 740, growth_sigma = 1.0, bulk_share = 0.08, bulk_median = 7000, bulk_sigma = 1.2;

/* Calls at which the context is compacted, and to which part of itself (uniform). */
static const double compact_share = 0.009, compact_min = 0.10, compact_max = 0.95;

/* Output: short tool calls, or text and code. */
static const double brief_median = 172, brief_sigma = 0.50, prose_share = 0.33, prose_median = 560, prose_sigma = 1.02;
static const double output_max = 18195; /* the extreme of the trace */

/* Time of the call: until the first token, and for each token of output. */
static const double first_token_s = 2.5, first_token_sigma = 0.40, token_s = 0.0152, token_sigma = 0.35;
static const double api_max_s = 300; /* the timeout of the recorded client */

/* Between two calls of a conversation: tools, or people. */
static const double tool_s = 8.0, tool_sigma = 0.75, person_share = 0.22, person_median_s = 70, person_sigma = 1.6;

/* Calls in a conversation, as a multiple of the mean that was asked for; the end of the trace cuts some short. */
static const double length_median = 0.75, length_sigma = 1.15;

/* Sessions that hand work to sub-agents, and the part of their conversations that does. */
static const double helped_share = 0.09, helper_share = 0.5;

/* A cached prefix is a multiple of the block, and is kept for five minutes after its last use. */
enum { CACHE_BLOCK = 64 };
static const double cache_life_s = 300;

static const struct {
    const char *name;
    double share; /* of sessions */
} models[] = {{"example-large", 0.68}, {"example-medium", 0.30}, {"example-small", 0.02}};

struct call {
    uint64_t t_ns, api_ns;
    uint32_t input, cached, output;
    uint32_t session;
    uint16_t agent; /* 0: main */
};

struct session {
    uint32_t tenant, model, agents;
    bool helped;
};

struct generate {
    struct generate_settings settings;
    struct random random;
    struct call *calls;
    uint64_t made, given;
    struct session *sessions;
    double *tenant_tokens;
    double total_tokens, total_weight;
};

/* ----------------------------------------------------------------------------------------------------------- drawing */

static double mixture(struct random *r, double median, double sigma, double share, double median2, double sigma2)
{
    bool second = random_unit(r) < share;
    return second ? random_lognormal(r, median2, sigma2) : random_lognormal(r, median, sigma);
}

static double within(double value, double min, double max)
{
    return value < min ? min : value > max ? max : value;
}

static double draw_first_input(struct random *r)
{
    double input = mixture(r, fresh_median, fresh_sigma, resumed_share, resumed_median, resumed_sigma);
    return within(input, input_min, input_max);
}

static double draw_next_input(struct random *r, double input)
{
    if (random_unit(r) < compact_share)
        return within(input * (compact_min + random_unit(r) * (compact_max - compact_min)), input_min, input_max);
    double next = input + mixture(r, growth_median, growth_sigma, bulk_share, bulk_median, bulk_sigma);
    /* What would not fit into the model's context is compacted too. */
    return next <= input_max ? next : within(input * compact_min, input_min, input_max);
}

static double draw_output(struct random *r)
{
    return within(mixture(r, brief_median, brief_sigma, prose_share, prose_median, prose_sigma), 1, output_max);
}

static double draw_api_s(struct random *r, double output)
{
    double s =
        random_lognormal(r, first_token_s, first_token_sigma) + output * random_lognormal(r, token_s, token_sigma);
    return within(s, 0, api_max_s);
}

static double draw_gap_s(struct random *r)
{
    return mixture(r, tool_s, tool_sigma, person_share, person_median_s, person_sigma);
}

static uint32_t draw_model(struct random *r)
{
    double unit = random_unit(r), sum = 0;
    for (uint32_t i = 0; i < sizeof models / sizeof *models; i++)
        if (unit < (sum += models[i].share))
            return i;
    return 0;
}

/* --------------------------------------------------------------------------------------------------------- sessions */

static double weight(unsigned tenant)
{
    return pow(tenant + 1, -generate_tenant_exponent);
}

/*
 * The tenant that is furthest behind its share gets the next session. With heavy-tailed sessions, independent draws
 * would put the first tenant anywhere between a third and two thirds.
 */
static uint32_t neediest_tenant(const struct generate *g)
{
    uint32_t best = 0;
    double most = -1e300;
    for (unsigned k = 0; k < g->settings.tenants; k++) {
        double wanted = (g->total_tokens + input_max) * weight(k) / g->total_weight;
        if (wanted - g->tenant_tokens[k] > most) {
            most = wanted - g->tenant_tokens[k];
            best = k;
        }
    }
    return best;
}

static void begin_session(struct generate *g, struct session *s)
{
    s->tenant = neediest_tenant(g);
    s->model = draw_model(&g->random);
    s->helped = random_unit(&g->random) < helped_share;
}

static uint16_t pick_agent(struct generate *g, struct session *s)
{
    if (!s->helped || s->agents == UINT16_MAX || random_unit(&g->random) >= helper_share)
        return 0;
    return (uint16_t)++s->agents;
}

static void add_call(struct generate *g, uint32_t session, const struct call *call)
{
    g->calls[g->made++] = *call;
    double tokens = (double)call->input + call->output;
    g->tenant_tokens[g->sessions[session].tenant] += tokens;
    g->total_tokens += tokens;
}

/* One conversation of at most `most` calls, somewhere in the trace's time. */
static void converse(struct generate *g, uint32_t session, uint64_t most)
{
    struct random *r = &g->random;
    double t = random_unit(r) * (double)g->settings.length_ns / SECOND, input = draw_first_input(r), gap = INFINITY;
    uint64_t kept = 0;
    struct call call = {.session = session, .agent = pick_agent(g, &g->sessions[session])};
    for (uint64_t i = 0; i < most && t * SECOND < (double)g->settings.length_ns; i++) {
        double output = draw_output(r), api = draw_api_s(r, output);
        call.t_ns = (uint64_t)(t * SECOND);
        call.api_ns = (uint64_t)(api * SECOND);
        call.input = (uint32_t)input;
        call.cached =
            gap < cache_life_s ? (uint32_t)(kept < call.input ? kept : call.input) / CACHE_BLOCK * CACHE_BLOCK : 0;
        call.output = (uint32_t)output;
        add_call(g, session, &call);
        kept = call.input;
        gap = draw_gap_s(r);
        t += api + gap;
        input = draw_next_input(r, input);
    }
}

/* How many calls the next conversation may have: one is left for each session that has none yet. */
static uint64_t draw_length(struct generate *g, uint64_t sessions_left)
{
    double mean = (double)g->settings.requests / g->settings.sessions;
    uint64_t wanted = (uint64_t)ceil(random_lognormal(&g->random, length_median * mean, length_sigma));
    uint64_t free = g->settings.requests - g->made - sessions_left;
    return wanted < free ? wanted : free;
}

/* Each session has a conversation first; then sessions drawn at random have another, until there are enough calls. */
static void draw_all(struct generate *g)
{
    uint32_t sessions = g->settings.sessions;
    for (uint32_t s = 0; s < sessions; s++) {
        begin_session(g, &g->sessions[s]);
        converse(g, s, draw_length(g, sessions - s - 1));
    }
    while (g->made < g->settings.requests)
        converse(g, (uint32_t)(random_unit(&g->random) * sessions), draw_length(g, 0));
}

static int by_time(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->session > y->session) - (x->session < y->session);
}

/* ------------------------------------------------------------------------------------------------------------ the API */

struct generate *generate_start(const struct generate_settings *settings)
{
    struct generate *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->settings = *settings;
    if (g->settings.sessions > settings->requests)
        g->settings.sessions = (unsigned)settings->requests;
    g->random.state = settings->seed;
    g->calls = calloc(settings->requests, sizeof *g->calls);
    g->sessions = calloc(g->settings.sessions, sizeof *g->sessions);
    g->tenant_tokens = calloc(settings->tenants, sizeof *g->tenant_tokens);
    if (!g->calls || !g->sessions || !g->tenant_tokens) {
        generate_end(g);
        return NULL;
    }
    for (unsigned k = 0; k < settings->tenants; k++)
        g->total_weight += weight(k);
    draw_all(g);
    qsort(g->calls, g->made, sizeof *g->calls, by_time);
    return g;
}

int generate_next(struct generate *g, struct trace_record *out)
{
    if (g->given == g->made)
        return 0;
    const struct call *c = &g->calls[g->given++];
    const struct session *s = &g->sessions[c->session];
    memset(out, 0, sizeof *out);
    out->t_ns = (int64_t)c->t_ns;
    out->api_ns = c->api_ns;
    out->input = c->input;
    out->cached = c->cached;
    out->output = c->output;
    snprintf(out->tenant, sizeof out->tenant, "t%02u", s->tenant);
    snprintf(out->session, sizeof out->session, "%04u", c->session);
    if (c->agent)
        snprintf(out->agent, sizeof out->agent, "a%03u", c->agent);
    else
        strcpy(out->agent, "main");
    snprintf(out->model, sizeof out->model, "%s", models[s->model].name);
    return 1;
}

void generate_end(struct generate *g)
{
    if (!g)
        return;
    free(g->calls);
    free(g->sessions);
    free(g->tenant_tokens);
    free(g);
}
