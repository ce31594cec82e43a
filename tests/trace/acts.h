/* SPDX-License-Identifier: MIT */
/*
 * acts.h - the calls that the tracer steps through, and what each may leave behind.
 *
 * They run in the process that is killed or stopped, but for `before` (in the tracer) and `rival` (in another process).
 */
#ifndef TLSHM_TESTS_ACTS_H
#define TLSHM_TESTS_ACTS_H

#include "ground.h"

#define ACT_WAYS 3

enum act_rival {
    RIVAL_NONE,
    RIVAL_ONE,  /* one of the two gets `verdict`, the other one `second` */
    RIVAL_BOTH, /* each gets its verdict, and both have an effect */
};

struct act {
    const char *name;
    enum start start;
    void (*before)(void);       /* makes act_t, which the process then gets by the fork; or NULL */
    void (*prepare)(void);      /* makes act_t */
    int (*run)(void);           /* the call; its verdict */
    int verdict;                /* what it must be */
    int64_t held, used;         /* what it changes of agent:a's tokens */
    int (*way[ACT_WAYS])(void); /* what else it may have got done when it dies: parts of it, from less to more */
    enum act_rival rivalry;
    int (*rival)(void); /* while it is stopped */
    int second;
};

extern const struct act acts[];
extern const unsigned act_count;

void act_attached(void); /* prepares: an attachment alone */

extern tlshm_t *act_t; /* this process's attachment, NULL when it has none (any more) */

#endif
