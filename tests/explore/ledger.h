/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - the oracle: a ledger that is told of every decision, in its order, and knows nothing of sheets. After each
 * step of a schedule the segment must say what the ledger says.
 *
 * A decision is the compare-and-swap of a record's head. From the bodies before and after it follows what it does to
 * every scope; an edge that no call may take is a fault by itself.
 */
#ifndef TLSHM_EXPLORE_LEDGER_H
#define TLSHM_EXPLORE_LEDGER_H

#include "world.h"

/* What a decided operation was, counted per seat. */
enum deed { RESERVED, EXTENDED, SETTLED, REFUNDED, EXPIRED, DEEDS };

/* What a scene's oracle leaves out, and why. */
enum {
    LEDGER_LOWER = 1,   /* windows may over-count: after the clock went back use is kept longer */
    LEDGER_NO_CAPS = 2, /* admission is not checked: limits change, or clocks differ by a tick */
    LEDGER_LATE = 4,    /* one fibre's clock is a tick behind: its charges may be dated so */
    LEDGER_MORE = 8     /* not left out but added: the cells that are free at the start are looked at too */
};

/* An empty ledger for the open world, whose scopes all have these limits. */
void ledger_open(const tlshm_limit *limits, unsigned count, unsigned leave_out);
void ledger_keep(void);

/* While this is on, what is decided is not booked: it is going to be undone. */
void ledger_ignore(bool on);
void ledger_restore(void);

/* Compares the segment with the ledger; the first difference goes to fault(). */
void ledger_check(void);

/* Instead of it after a step that was checked before, in a schedule that began alike: notes only what it would note. */
void ledger_follow(void);

/* At the end of a schedule: each node has one owner, held is the sum of what is HELD. No operation may be open. */
void ledger_check_nodes(void);
void ledger_check_holds(void);

/* The clock was set back by so many ticks: what was used stays used as long as if it had not been. */
void ledger_went_back(unsigned ticks);

unsigned ledger_done(unsigned seat, enum deed deed);

/* Readers: what was read between two moments must have been true at one of them or between. */
struct ledger_moment {
    unsigned versions, charges;
    uint64_t time;
};
struct ledger_moment ledger_moment(void);
void ledger_check_read(unsigned scope, const struct tl_view *view, const struct ledger_moment *since);
void ledger_check_used(unsigned scope, const struct tl_view *view, const uint64_t *used, uint64_t time,
                       const struct ledger_moment *since);
void ledger_check_record(const struct tl_record *record);

/* What limit `limit` of a scope's window may say now: at least, at most. */
uint64_t ledger_least(unsigned scope, unsigned limit, uint64_t shape);
uint64_t ledger_most(unsigned scope, unsigned limit, uint64_t shape);

/* Nothing may be left in any rolling window: so much time has passed since the last use. */
void ledger_check_empty(void);

/* Says what is wrong with the schedule that runs; the first fault counts. */
void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern char fault_text[256];

#endif
