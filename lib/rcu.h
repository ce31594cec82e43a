/* SPDX-License-Identifier: MIT */
/* rcu.h - the one way to liburcu: its flavour, how it is called, and its handlers of forks. */
#ifndef TL_RCU_H
#define TL_RCU_H

#ifndef TL_URCU_CALLS /* sanitizer builds call into liburcu: its inlined readers are less aligned than their type says */
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#endif
#include <urcu/urcu-bp.h>

/*
 * liburcu's own table of reader threads must follow a fork, or a child waits for readers that it has not got. Whoever uses
 * liburcu calls this before its first read side: so the handlers are there in a static program too, and are there once.
 */
void tl_rcu_start(void);

/* ThreadSanitizer does not see into liburcu: it is told that whoever waited comes after the ends of all read sides. */
#ifdef __SANITIZE_THREAD__
#define TL_RCU_TOLD
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TL_RCU_TOLD
#endif
#endif
#ifdef TL_RCU_TOLD
void __tsan_acquire(void *place);
void __tsan_release(void *place);
extern char tl_rcu_order;
#endif

static inline void tl_rcu_begin(void)
{
    urcu_bp_read_lock();
}

static inline void tl_rcu_end(void)
{
#ifdef TL_RCU_TOLD
    __tsan_release(&tl_rcu_order);
#endif
    urcu_bp_read_unlock();
}

/* Until all read sides that are under way have ended. */
static inline void tl_rcu_wait(void)
{
    urcu_bp_synchronize_rcu();
#ifdef TL_RCU_TOLD
    __tsan_acquire(&tl_rcu_order);
#endif
}

#endif
