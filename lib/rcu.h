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

#endif
