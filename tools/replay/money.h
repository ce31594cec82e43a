/* SPDX-License-Identifier: MIT */
/* money.h - the part of the report that is about tokens and dollars. */
#ifndef REPLAY_MONEY_H
#define REPLAY_MONEY_H

#include "audit.h"
#include "emit.h"
#include "tariff.h"

/* What was used, and used too much; what was refused, and for what; what reserving too much cost. */
void money_emit_sums(struct emit *e, const struct audit *a, const struct tariff *t);

void money_emit_tenants(struct emit *e, const struct audit *a);

/* For each model: calls, dollars, and how many times what it used in the end its estimates were. */
void money_emit_models(struct emit *e, const struct audit *a, const struct tariff *t);

#endif
