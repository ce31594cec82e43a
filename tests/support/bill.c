/* SPDX-License-Identifier: MIT */
/* bill.c - calls by model, reserved and settled. See bill.h. */
#include "bill.h"

#include <string.h>

struct bill bill;

/* $3 and $15 for a million: 3,000 and 15,000 nano-dollars a token. */
static const char table[] =
    "{\"m\": {\"litellm_provider\": \"p\", \"input_cost_per_token\": 3e-06, \"output_cost_per_token\": 1.5e-05,"
    " \"cache_read_input_token_cost\": 3e-07, \"input_cost_per_token_batches\": 1.5e-06,"
    " \"output_cost_per_token_batches\": 7.5e-06},"
    " \"q/m\": {\"litellm_provider\": \"q\", \"input_cost_per_token\": 9e-06, \"output_cost_per_token\": 9e-06},"
    " \"gratis\": {\"input_cost_per_token\": 0, \"output_cost_per_token\": 0},"
    " \"embedding\": {\"input_cost_per_token\": 1e-07}}";

void bill_open(void)
{
    struct tlshm_error err = {0};
    tlshm_geometry g = space_geometry();
    g.models = BILL_MODELS;
    space_open(&bill.space, &g);
    MUST(tlshm_prices_parse(&bill.prices, table, strlen(table), NULL, NULL, &err) == 0, "prices: %s", err.text);
}

void bill_close(void)
{
    tlshm_prices_close(bill.prices);
    space_close(&bill.space);
}

tlshm_model_call bill_call(const char *model, uint64_t input, uint64_t max_output)
{
    tlshm_model_call call = {.model = model, .max_output = max_output};
    call.counts.input_total = input;
    return call;
}

int bill_reserve(const char *scopes, const tlshm_model_call *call, const tlshm_bounds *bounds, tlshm_id *id)
{
    struct ask a;
    ask_for(&a, scopes, NULL);
    return tlshm_model_reserve(bill.space.t, &a.request, call, bounds, bill.prices, id, &bill.guess, &bill.why);
}

tlshm_id bill_hold(const char *model, uint64_t input, uint64_t max_output)
{
    tlshm_model_call call = bill_call(model, input, max_output);
    tlshm_id id = 0;
    int rc = bill_reserve("agent:a tenant:t", &call, NULL, &id);
    MUST(rc == TLSHM_OK, "reserve: %d", rc);
    return id;
}

int bill_settle(tlshm_id id, uint64_t input, uint64_t output, enum tlshm_outcome outcome)
{
    tlshm_model_usage usage = {.counts = {.input_total = input, .output_total = output}};
    return tlshm_model_settle(bill.space.t, id, &usage, outcome, bill.prices, &bill.result, &bill.cost);
}

void bill_teach(const char *model, uint64_t output)
{
    tlshm_id id = bill_hold(model, 1, 10);
    int rc = bill_settle(id, 1, output, TLSHM_EXACT);
    MUST(rc == TLSHM_OK, "settle: %d", rc);
}

tlshm_model_info bill_model(const char *name)
{
    tlshm_model_info info, none = {0};
    uint32_t cursor = 0;
    while (tlshm_model_next(bill.space.t, &cursor, &info) == 1)
        if (strcmp(info.model, name) == 0)
            return info;
    return none;
}

uint64_t bill_output(const char *name, uint32_t ppm)
{
    uint64_t output = 0;
    int rc = tlshm_model_output(bill.space.t, bill_model(name).number, ppm, &output);
    MUST(rc == 0 || rc == 1, "output of %s: %d", name, rc);
    return output;
}

unsigned bill_models(tlshm_t *t)
{
    tlshm_model_info info;
    uint32_t cursor = 0;
    unsigned count = 0;
    while (tlshm_model_next(t, &cursor, &info) == 1)
        count++;
    return count;
}
