/* SPDX-License-Identifier: MIT */
/*
 * books.h - holds the ledger against the segment while nobody moves. The segment is asked through public calls alone.
 *
 *   B1  an admitted reservation is there, once, under the id, the scopes and the amounts that were asked for
 *   B2  what was refused or never asked is not there
 *   B3  it ended by the one call that was told so, or by one that nobody lived to hear of, and was charged what that
 *       call's amounts come to
 *   B4  for every scope and unit: used = sum of the charges, held = sum of the estimates of what is HELD
 *   B5  no strict scope is beyond a cap
 *
 * A reservation is looked at in the epoch that makes it and in the next one, and then its books are closed: whatever is
 * still held is ended here, its charge goes into the sums, and its record may be used again.
 */
#ifndef TLSHM_TESTS_BOOKS_H
#define TLSHM_TESTS_BOOKS_H

#include "ledger.h"

#include <tlshm/stats.h>

#define BOOKS_DOUBTS 4096
#define BOOKS_EPOCHS 16 /* scopes of older epochs are forgotten */
#define BOOKS_SCOPES (LEDGER_FIXED + BOOKS_EPOCHS * LEDGER_FRESH)

struct books {
    struct ledger *ledger;
    tlshm_t *look; /* read-only */
    tlshm_t *t;
    uint64_t first; /* tags below are closed */
    unsigned doubt_count;
    uint64_t doubts[BOOKS_DOUBTS];      /* calls of the dead, since the last closing */
    uint64_t audits, doubted, resolved; /* audits made; calls in doubt; those that turned out to have happened */
    uint64_t random;
    tlshm_amounts base[BOOKS_SCOPES], used[BOOKS_SCOPES], held[BOOKS_SCOPES];
    tlshm_handle handles[BOOKS_SCOPES];
    unsigned char state[LEDGER_TAGS], count[LEDGER_TAGS];
    tlshm_reservation_info rows[LEDGER_TAGS];
};

struct books *books_open(struct ledger *l, tlshm_t *t, uint64_t seed);
void books_close(struct books *b);

/* An actor died: whatever its slot says is in doubt. */
void books_died(struct books *b, unsigned actor);

/*
 * One audit while nobody moves. `reaped`: what the dead left has been finished, so that it can be said for certain what
 * happened. Faults go to the ledger.
 */
void books_audit(struct books *b, bool reaped);

/*
 * After an audit of what was reaped: ends and closes what is old, and starts the next epoch with so many tags. `living`:
 * there are actors that will go on, stopped in the middle of whatever they did.
 */
void books_turn(struct books *b, bool living, uint64_t tags);

/* Tags that are neither closed nor new. */
uint64_t books_open_tags(const struct books *b);

#endif
