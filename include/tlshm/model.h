/* SPDX-License-Identifier: MIT */
/*
 * tlshm/model.h - reserving and settling by model: counts in, and what they come to is worked out here.
 *
 *     tlshm_model_call call = {.model = "gpt-4o"};
 *     call.counts.input_total = 1200;                                          (max_output: left open)
 *     tlshm_model_reserve(t, &request, &call, &bounds, prices, &id, NULL, &why);
 *     ...
 *     tlshm_usage_of_answer(&answer, &usage);
 *     tlshm_model_settle(t, id, &usage, answer.outcome, prices, NULL, NULL);
 *
 * What to know first:
 *   - The segment keeps which model a reservation is for, so a settle from any process is priced as the reserve was: the
 *     same provider, model and service, at the prices of the time of the reserve as far as the table has them by date.
 *   - How much output to hold for: what the caller allows the model at most; else the bound that a share (95 %) of the
 *     model's calls stayed below, learned from the settles of all processes; else a default.
 *   - What is learned are counts of output tokens, not money: new prices hold at once. Each call is learned once, from
 *     its first settle that is exact and tells of output tokens, by tlshm_model_settle() or tlshm_settle() alike. A process
 *     that is killed inside of that settle may leave the call unlearned.
 *   - Old calls count less and less: half for every 512 of the model that came after them.
 *   - The table of models is of fixed size (`models` of the geometry), and nothing is ever taken out of it. A model for
 *     which there is no room is not learned: everything else goes on. Nor is one that the price table has no price for, so
 *     that nobody fills the table with invented names; a default price, or no price table, lets all names in.
 *   - Letter case of models and providers does not matter. A name and its provider have TLSHM_MODEL_MAX bytes together.
 *
 * Fork, threads and processes as tlshm.h says. Not from signal handlers where prices are used (tlshm/price.h). Nothing
 * here waits for another process.
 */
#ifndef TLSHM_MODEL_H
#define TLSHM_MODEL_H

#include <tlshm.h>
#include <tlshm/answer.h>
#include <tlshm/counts.h>
#include <tlshm/price.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TLSHM_OUTPUT_NONE UINT64_MAX        /* a max_output: the call has no output, such as an embedding */
#define TLSHM_OUTPUT_DEFAULT UINT64_C(4096) /* tokens */
#define TLSHM_QUANTILE_DEFAULT_PPM 950000u
#define TLSHM_SHARE_DEFAULT_PPM 500000u

/*
 * How much output to hold for. Zero-initialise, then set what is to be otherwise; the section `estimates` of a
 * configuration file fills it (tlshm/config.h).
 */
typedef struct tlshm_bounds {
    uint64_t output_default; /* tokens, while too little was learned of a model. 0: TLSHM_OUTPUT_DEFAULT */
    uint64_t output_floor;   /* tokens: what is learned, and the default, count as no less. 0: 1 */
    uint64_t output_cap;     /* tokens: never more, whatever the caller allows the model. 0: none */
    uint32_t quantile_ppm;   /* the share of a model's calls to cover, in a million. 0: TLSHM_QUANTILE_DEFAULT_PPM.
                                1,000,000: the largest output that was learned */
    uint32_t max_share_ppm;  /* the most that one hold may take of a limit. 0: TLSHM_SHARE_DEFAULT_PPM where the output
                                is learned or the default, and no bound where the caller gave one */
    uint32_t
        cached_discount_ppm; /* how much of each token that is read from a provider's cache does not count as one, in a
                                     million. 0: each counts in full; 1,000,000: none does */
} tlshm_bounds;

/*
 * The discount is for the unit tokens alone, at the reserve and, kept with the reservation, at tlshm_model_settle(): a call
 * comes to input_total + output_total less that share of cache_read, rounded up. input_tokens stay what the model reads, and
 * the cost is that of the prices.
 */

/* A call that is about to be made. Zero-initialise. */
typedef struct tlshm_model_call {
    const char *model;    /* as the provider or the caller names it */
    const char *provider; /* NULL: as the model's name tells */
    enum tlshm_service service;
    tlshm_counts counts; /* what is expected of input and tool calls; the output's counts must be 0 */
    uint64_t max_output; /* tokens that the model is allowed, reasoning included (max_tokens); 0: not told */
} tlshm_model_call;

/* Where the output of an estimate comes from. */
enum tlshm_output_source {
    TLSHM_OUTPUT_GIVEN = 0,   /* max_output */
    TLSHM_OUTPUT_LEARNED = 1, /* the quantile of the model's calls */
    TLSHM_OUTPUT_ASSUMED = 2  /* the default: too little was learned */
};

/* What then changed it, as bits. */
#define TLSHM_OUTPUT_RAISED 1u  /* by the floor */
#define TLSHM_OUTPUT_CAPPED 2u  /* by the cap */
#define TLSHM_OUTPUT_SHARED 4u  /* cut to the share of a limit */
#define TLSHM_OUTPUT_LIMITED 8u /* cut to what a single request may have */

/* What a call is estimated to take. */
typedef struct tlshm_guess {
    tlshm_amounts amounts; /* tokens, input and output tokens, tool calls, and cost if it is known */
    uint64_t output;       /* tokens held for the output */
    enum tlshm_output_source source;
    uint32_t changed;           /* TLSHM_OUTPUT_RAISED, ... */
    int priced;                 /* 0: there is no price: amounts.of[TLSHM_COST] is 0 and means nothing */
    enum tlshm_price_lack lack; /* not priced: why not; LACKS_NOTHING: no table was given */
} tlshm_guess;

/*
 * Estimates a call without reserving. `scopes` may be NULL and `scope_count` 0: then no limit is looked at. `bounds` may
 * be NULL: all defaults. `prices` may be NULL: no cost. Works read-only, and enters no model.
 *   The output is max_output; or the learned quantile; or the default. Of the last two, no less than output_floor; of
 *   all, no more than output_cap; and no more than makes the hold take max_share of any limit on tokens, output tokens or
 *   cost over a window or a lifetime that the scopes have: the output is cut, down to the floor at least (1 if there is
 *   none), the input never. If the caller gave no max_output, it is also cut to what limits on single requests leave: who
 *   means to keep those passes `output` on to the model as its maximum. A max_output that was given is compared with them
 *   as it is, though less may be held for it.
 * A price's date is that of the segment's clock. Returns 0, -EINVAL (also: floor above cap, ppm above a million, parts that
 * are more than their whole, counts of output), -ERANGE (a count or the cost above TLSHM_AMOUNT_MAX), -EKEY -ELEVEL
 * -ESTALE -ECORRUPT -ETRUNCATED.
 */
int tlshm_model_guess(tlshm_t *t, const tlshm_scope *scopes, unsigned scope_count, const tlshm_model_call *call,
                      const tlshm_bounds *bounds, const tlshm_prices *prices, tlshm_guess *out);

/*
 * tlshm_reserve() with what the call is estimated to take. request->estimate must be 0 but for requests. A repeat with the
 * same idempotency key must have the same scopes and the same call; what was learned, bounds and prices may have changed:
 * it gets the first answer, and `guess` tells what is held. A call without a price (none in the table, or no table) is
 * refused for UNKNOWN_MODEL by the first scope that has a limit on cost; where cost is not limited it is admitted and its
 * cost is 0. `guess` may be NULL; it is written on every verdict.
 * Returns the verdicts and errors of tlshm_reserve(), and the errors of tlshm_model_guess().
 */
int tlshm_model_reserve(tlshm_t *t, const tlshm_request *request, const tlshm_model_call *call,
                        const tlshm_bounds *bounds, const tlshm_prices *prices, tlshm_id *id, tlshm_guess *guess,
                        tlshm_refusal *why);

/*
 * The verdict and the details that tlshm_model_reserve() would have now, as tlshm_would_fit(): nothing is held or made, no
 * model is entered, no seat is taken, and it works read-only. `guess` may be NULL; on TLSHM_REPLAY it tells what the call
 * would be estimated to take now, not what is held.
 * Returns the verdicts and errors of tlshm_would_fit(), and the errors of tlshm_model_guess().
 */
int tlshm_model_would_fit(tlshm_t *t, const tlshm_request *request, const tlshm_model_call *call,
                          const tlshm_bounds *bounds, const tlshm_prices *prices, tlshm_guess *guess,
                          tlshm_refusal *why);

/* What a call used. Zero-initialise, then set what you know. */
typedef struct tlshm_model_usage {
    tlshm_counts counts;
    tlshm_counts others;     /* of another model that was asked for advice, as in tlshm_answer */
    const char *model;       /* who answered; only where the reservation has no model. NULL: not told */
    const char *other_model; /* NULL or empty: priced like the model that was asked */
    int has_cost;
    uint64_t cost_nusd; /* has_cost: what the provider says that it charged. Only where there is no price */
} tlshm_model_usage;

/* The use that an answer tells of. Points into the answer. Returns 0 or -EINVAL. */
int tlshm_usage_of_answer(const tlshm_answer *answer, tlshm_model_usage *out);

/*
 * tlshm_settle() with what the call used, priced as it was reserved. A cost that nobody knows is not 0: without a price the
 * provider's own figure counts, and without that the hold's estimate. `usage` may be NULL for TLSHM_UNKNOWN. `result` and
 * `cost` may be NULL; `cost` tells the price of `counts`, or in `lack` why there is none (LACKS_NOTHING with an empty model:
 * no table, or no model). It is not written for TLSHM_UNKNOWN.
 * Returns the verdicts and errors of tlshm_settle(), -EINVAL for parts that are more than their whole.
 */
int tlshm_model_settle(tlshm_t *t, tlshm_id id, const tlshm_model_usage *usage, enum tlshm_outcome outcome,
                       const tlshm_prices *prices, tlshm_result *result, tlshm_cost *cost);

/* ------------------------------------------------------------------------------------------------ what was learned */

typedef struct tlshm_model_info {
    uint32_t number;                    /* as tlshm_reservation_info has it */
    char model[TLSHM_MODEL_MAX + 1];    /* in lower case */
    char provider[TLSHM_MODEL_MAX + 1]; /* empty: none was given */
    uint64_t learned;                   /* calls ever */
    uint64_t calls;                     /* how many of them still count, older ones in part */
} tlshm_model_info;

/* The model of a number. Works read-only. Returns 0, -EINVAL, -ENOENT, -ECORRUPT (its name is none), -ETRUNCATED. */
int tlshm_model_get(tlshm_t *t, uint32_t number, tlshm_model_info *out);

/*
 * Iterates over models: *cursor starts at 0. Returns 1, 0 at the end, -EINVAL, -ETRUNCATED, or -ECORRUPT for a place whose
 * name is none; the next call goes on behind it. Works read-only.
 */
int tlshm_model_next(tlshm_t *t, uint32_t *cursor, tlshm_model_info *out);

/*
 * The smallest bound, of those that the table tells apart, that covers `ppm` (1 .. 1,000,000) in a million of a model's
 * calls: not below the true one by more than the next call may change it, above it by at most a sixteenth. `output` is set
 * on 1. Works read-only. Returns 1; 0: too little is known for that share (95 % takes 19 calls); -EINVAL, -ENOENT,
 * -ETRUNCATED.
 */
int tlshm_model_output(tlshm_t *t, uint32_t number, uint32_t ppm, uint64_t *output);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
