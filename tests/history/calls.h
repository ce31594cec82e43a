/* SPDX-License-Identifier: MIT */
/* calls.h - makes a call and notes what was asked and told. */
#ifndef TLSHM_TESTS_CALLS_H
#define TLSHM_TESTS_CALLS_H

#include "history.h"
#include "space.h"

#define CALLS_STEP_NS SEC(1) /* by which time moves on between rounds: more than a window */

extern const char *const calls_key[SCOPES];

/* kind, slot, scopes, key, amount and, for what concerns a reservation, id are set; the rest is noted. */
void calls_make(tlshm_t *t, struct history *h, struct op *op, bool details);

/* Sets the limits of all scopes. */
void calls_limits(struct space *s);

/* What a reservation of this round is found by when its maker died. */
static inline uint64_t calls_tag(const struct history *h, unsigned slot)
{
    return h->round << 8 | slot;
}

#endif
