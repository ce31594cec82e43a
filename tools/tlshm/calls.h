/* SPDX-License-Identifier: MIT */
/* calls.h - what the commands that reserve and settle share, with amounts and by model. */
#ifndef TOOLS_TLSHM_CALLS_H
#define TOOLS_TLSHM_CALLS_H

#include <tlshm/config.h>
#include <tlshm/model.h>

#include "cli.h"

/* Answers; each returns the exit code. `guess` is NULL for a reserve with amounts. */
int calls_refused(struct cli *cli, const tlshm_refusal *why);
int calls_admitted(struct cli *cli, tlshm_id id, bool replay, const tlshm_guess *guess);
int calls_fits(struct cli *cli, bool replay, const tlshm_guess *guess);
int calls_ended(struct cli *cli, tlshm_id id, int verdict, const tlshm_result *result);

/* Counts and service from their options; false after having complained. */
bool price_counts(struct cli *cli, tlshm_counts *counts);
bool price_service(struct cli *cli, enum tlshm_service *service);

/*
 * The table that --prices names, else the prices of the configuration (NULL: none), else the table that $TLSHM_PRICES
 * names, else NULL. EXIT_OK, or the exit code after having reported.
 */
int price_table(struct cli *cli, const tlshm_config *config, tlshm_prices **out);

/* Says on standard error why a call has no price; nothing if it has one. `prices` NULL: no table was named. */
void price_say_lack(struct cli *cli, const tlshm_prices *prices, const tlshm_price_call *call);

/* Reads what a provider answered; "-" is standard input. EXIT_OK, or the exit code after having reported. */
int answer_read(struct cli *cli, const char *name, tlshm_answer *out);

/*
 * `tlshm reserve --model` and `would-fit --model`, with scopes, ttl, key, tag and requests in place; and the two kinds of
 * `tlshm settle` by counts.
 */
int model_reserve(struct cli *cli, const tlshm_request *request);
int model_would_fit(struct cli *cli, const tlshm_request *request);
int model_settle(struct cli *cli, const char *text, tlshm_id id);

/* Is this settle one by counts? */
bool model_is_meant(const struct cli *cli);

/* What a reservation is for, into the open object; nothing if it does not tell. */
void model_emit(struct cli *cli, struct emit *e, const tlshm_reservation_info *info);

#endif
