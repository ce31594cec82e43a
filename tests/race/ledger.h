/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - the actors' own books, in shared memory outside the segment: what each is about to ask, and what it was told.
 *
 * Every reservation has a tag, and an entry that its first actor fills before it asks. An actor writes the call that it
 * is in into its slot, one word, before the call, and takes it out after the answer is written down. So for an actor that
 * dies at any instruction there is one call at most of which nobody knows what became of it; the segment must tell.
 *
 * Whatever a call carries follows from the entry and the word, so that a word is enough to say what was asked.
 */
#ifndef TLSHM_TESTS_LEDGER_H
#define TLSHM_TESTS_LEDGER_H

#include "space.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LEDGER_ACTORS 32
#define LEDGER_TAGS (1u << 16) /* an entry is used again after so many tags */
#define LEDGER_SCOPES 6        /* most scopes of a request */
#define LEDGER_EXTENDS 3       /* most extends of a reservation */
#define LEDGER_FIXED 16        /* scopes that are there from the start; the first ones are the strict ones */
#define LEDGER_STRICT 5        /* their limits stay, what names them never expires: used + held <= cap, always */
#define LEDGER_FRESH 6         /* scopes that each epoch brings along */

enum ledger_op {
    LEDGER_IDLE,
    LEDGER_RESERVE,
    LEDGER_SETTLE, /* with a share of what was asked for */
    LEDGER_SETTLE_UNKNOWN,
    LEDGER_SETTLE_AT_LEAST,
    LEDGER_REFUND,
    LEDGER_EXTEND
};

/* A call in one word: {tag:40 | share:16 | op:8}. The share, of 65536, scales the entry's amounts. */
static inline uint64_t ledger_call(enum ledger_op op, uint64_t share, uint64_t tag)
{
    return tag << 24 | (share & 0xffff) << 8 | (uint64_t)op;
}

static inline enum ledger_op ledger_call_op(uint64_t call)
{
    return (enum ledger_op)(call & 0xff);
}

static inline uint64_t ledger_call_share(uint64_t call)
{
    return call >> 8 & 0xffff;
}

static inline uint64_t ledger_call_tag(uint64_t call)
{
    return call >> 24;
}

enum ledger_extend { LEDGER_EXTEND_ASKED = 1, LEDGER_EXTEND_DONE = 2, LEDGER_EXTEND_NOT = 3 };

struct ledger_entry {
    _Atomic uint64_t ready; /* the tag; 0 while what follows is being written */
    _Atomic uint32_t keyed; /* it has an idempotency key: anybody may ask again */
    uint32_t flags;
    bool strict; /* it names a strict scope */
    unsigned scope_count;
    uint32_t scope[LEDGER_SCOPES];
    uint64_t need[TLSHM_UNITS];
    uint64_t ttl_ns;
    _Atomic uint64_t admitted;               /* answers that said OK */
    _Atomic uint64_t id;                     /* as the first answer told it */
    _Atomic uint64_t end;                    /* the call that ended it */
    _Atomic uint64_t outcome;                /* hash of the status and the charge, as the first answer told them */
    _Atomic uint64_t extend[LEDGER_EXTENDS]; /* {share:16 | enum ledger_extend:8} */
    _Atomic uint64_t closed;                 /* the tag, when its books are closed: nobody is to act on it */
};

struct ledger {
    char path[160]; /* the segment */
    _Atomic uint64_t next_tag, tag_end;
    _Atomic uint64_t recent; /* tags from here on may be acted on */
    _Atomic uint64_t epoch;
    _Atomic uint64_t operations, refused, limits_full;
    _Atomic unsigned faults;
    char fault[256]; /* the first one */
    _Atomic uint64_t slot[LEDGER_ACTORS];
    struct ledger_entry entries[LEDGER_TAGS];
};

static inline struct ledger_entry *ledger_at(struct ledger *l, uint64_t tag)
{
    return &l->entries[tag % LEDGER_TAGS];
}

/* Gives a fresh segment its limits and an empty ledger its first tags. */
void ledger_begin(struct ledger *l, const struct space *s, uint64_t tags);

/* Lets actors use so many more tags, and scopes that were never seen. */
void ledger_next_epoch(struct ledger *l, uint64_t tags);

/* The n-th scope of an epoch. */
uint32_t ledger_fresh_scope(uint64_t epoch, unsigned n);
uint64_t ledger_scope_epoch(uint32_t scope);

void ledger_key(uint32_t scope, char *buf, size_t size);

/* The limits that a scope of the fixed ones starts with, in words. */
const char *ledger_limits(uint32_t scope);

/* The request of an entry; `scopes` and `keys` are its memory. */
struct ledger_ask {
    tlshm_request request;
    tlshm_scope scopes[LEDGER_SCOPES];
    char keys[LEDGER_SCOPES][32], idempotency[24];
};
void ledger_request(const struct ledger_entry *e, uint64_t tag, struct ledger_ask *out);

/* The share of an entry's amounts that an extend asks for. No requests, no concurrency. */
tlshm_amounts ledger_part(const struct ledger_entry *e, uint64_t share);

/* The use that a settle reports: up to what was asked for, or twice as much where no strict scope is concerned. */
tlshm_amounts ledger_actual(const struct ledger_entry *e, uint64_t share);

/* What a call that ends a reservation of this estimate charges under a policy. Requests are those of the entry. */
tlshm_amounts ledger_charge(const struct ledger_entry *e, uint64_t call, const tlshm_amounts *estimate,
                            enum tlshm_overrun policy);

enum tlshm_status ledger_end_status(uint64_t call);

/* Writes answers down. What contradicts an earlier answer is a fault. */
void ledger_admitted(struct ledger *l, uint64_t tag, tlshm_id id, bool first);
void ledger_ended(struct ledger *l, uint64_t call, const tlshm_result *result);
void ledger_outcome(struct ledger *l, uint64_t tag, const tlshm_result *result);

/* Notes what must not be; the first text is kept. */
void ledger_fault(struct ledger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
