/* SPDX-License-Identifier: MIT */
/*
 * peer.h - what is measured: a way to reserve and settle, behind one interface.
 *
 * A trial: setup() in the foreman, then in each forked worker join(), choose() and acts over and over, then audit() and
 * teardown() in the foreman. The foreman may join() and leave() between setup and the fork. A peer keeps its state in
 * its own file; one trial runs at a time. All but choose() and the acts say on stderr what went wrong.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#include "plan.h"

struct peer {
    const char *name;                                       /* tlshm, floor, mutex, ... */
    const char *keys;                                       /* how scopes are named in a call: handle, string */
    const char *(*missing)(void);                           /* why it can't take part here, or NULL; NULL: it can */
    int (*setup)(const struct plan *plan);                  /* 0, or -1 after a message */
    int (*join)(const struct plan *plan, unsigned process); /* 0, or -1 after a message */
    void (*leave)(void);
    void (*choose)(const struct plan_call *call); /* what the next acts are about */
    int (*act[ACTS])(void); /* 0, or what was answered instead. NULL: does not know that. The reservation that a settle
                               means is that of the last reserve; a refuse is done well when it is refused */
    int (*audit)(const struct plan *plan, const struct plan_book *books); /* by slot: 0 if the books are exact */
    void (*teardown)(void);
    void (*close)(void); /* after the last trial; NULL: nothing to do */
};

extern const struct peer peer_floor, peer_mutex, peer_mutex_each, peer_tlshm, peer_tlshm_string, peer_redis,
    peer_memcached;

/* Memory shared with workers forked later; NULL after a message. */
void *peer_map(size_t bytes);
void peer_unmap(void *memory, size_t bytes);

/* Says on stderr that a slot's books are wrong, and returns -1. */
int peer_audit_failed(const char *peer, const struct plan *plan, unsigned slot, const char *what, uint64_t found,
                      uint64_t wanted);

/* Compares used and held of one slot with its book. */
int peer_audit_slot(const char *peer, const struct plan *plan, unsigned slot, const struct plan_book *book,
                    const uint64_t *used, const uint64_t *held);

#endif
