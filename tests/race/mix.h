/* SPDX-License-Identifier: MIT */
/*
 * mix.h - one actor, a process or a thread, that makes random calls of every kind and keeps the ledger about them.
 */
#ifndef TLSHM_TESTS_MIX_H
#define TLSHM_TESTS_MIX_H

#include "ledger.h"

#define MIX_OWN 12

struct mix {
    struct ledger *ledger;
    tlshm_t *t;
    unsigned actor; /* its slot */
    uint64_t random;
    uint64_t spare_tag; /* of a request that was refused, to be used again */
    unsigned own_count;
    uint64_t own[MIX_OWN]; /* tags of reservations that it made and may extend */
    bool stays;            /* it never gives its seat back */
    int hit_signal;        /* 0, or what to send to oneself in the middle of a call now and then */
    unsigned hit_reach;    /* at an access below this one */
    unsigned hit_seldom;   /* in one of so many calls */
};

void mix_begin(struct mix *m, struct ledger *ledger, tlshm_t *t, unsigned actor, uint64_t seed);

/* One random call. */
void mix_step(struct mix *m);

/* A reaper's pass. */
void mix_reap(struct mix *m);

/* Uniform below n. */
uint64_t mix_below(uint64_t *random, uint64_t n);

/* Looks at every strict scope: more used and held than the cap is a fault. Returns how many limits it saw. */
unsigned mix_look_strict(struct ledger *ledger, tlshm_t *t);

#endif
