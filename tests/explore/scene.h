/* SPDX-License-Identifier: MIT */
/*
 * scene.h - what is explored: a small situation, and what up to three processes do in it. Every scene starts from a
 * segment whose scopes have some use in two buckets and, mostly, one hold.
 */
#ifndef TLSHM_EXPLORE_SCENE_H
#define TLSHM_EXPLORE_SCENE_H

#include "ledger.h"

#define TICKS_MAX 4

struct scene {
    const char *name;
    const char *about;
    void (*prepare)(void);       /* opens world and ledger; NULL: the common start */
    void (*act)(unsigned fibre); /* what fibre 0, 1, 2 does */
    void (*finish)(void);        /* looks at the end of every schedule; may be NULL */
    bool two;                    /* fibre 2 does nothing */
    bool words;                  /* explored word by word too */
    bool deep;                   /* explored with more choices too: it is short */
    bool brief;                  /* explored for a fifth of the time: its point is seen without many preemptions */
    int ticks[TICKS_MAX];        /* by how much the clock may move; none: 1, 2, 7, 65 */
};
/* The n-th scene; NULL after the last one. */
const struct scene *scene_at(unsigned n);

/* Opens world and ledger. */
void scene_prepare(const struct scene *scene);

/* Nothing of a former schedule is known; called before each. */
void scene_reset(void);

/* A policy word, or the segment's switches, have been changed; called from inside the compare-and-swap. */
void scene_policy_changed(const volatile void *address, uint64_t before, uint64_t after);

/* Something may have changed: called between steps. */
void scene_moment(void);

#endif
