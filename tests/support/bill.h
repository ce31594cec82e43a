/* SPDX-License-Identifier: MIT */
/* bill.h - a space of a test's own with a table of prices, and calls by model on it. */
#ifndef TLSHM_TESTS_BILL_H
#define TLSHM_TESTS_BILL_H

#include "space.h"

#include <tlshm/model.h>

enum { BILL_MODELS = 40 }; /* in the geometry */

extern struct bill {
    struct space space;
    tlshm_prices *prices; /* m: $3 and $15 for a million tokens; gratis; embedding */
    tlshm_guess guess;    /* of the last call, as the next ones */
    tlshm_refusal why;
    tlshm_result result;
    tlshm_cost cost;
} bill;

void bill_open(void);
void bill_close(void);

tlshm_model_call bill_call(const char *model, uint64_t input, uint64_t max_output);

/* Verdicts. */
int bill_reserve(const char *scopes, const tlshm_model_call *call, const tlshm_bounds *bounds, tlshm_id *id);
int bill_settle(tlshm_id id, uint64_t input, uint64_t output, enum tlshm_outcome outcome);

/* Of agent:a and tenant:t; must be admitted. */
tlshm_id bill_hold(const char *model, uint64_t input, uint64_t max_output);

/* A call from beginning to end. */
void bill_teach(const char *model, uint64_t output);

/* The first one of that name; all zero if there is none. */
tlshm_model_info bill_model(const char *name);

/* 0: unknown. */
uint64_t bill_output(const char *name, uint32_t ppm);

unsigned bill_models(tlshm_t *t);

#endif
