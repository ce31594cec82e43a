/* SPDX-License-Identifier: MIT */
/* rcu.c - liburcu's handlers of forks. */
#include "rcu.h"

#include <pthread.h>

#ifdef TL_RCU_TOLD
char tl_rcu_order;
#endif

static void follow_forks(void)
{
    pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, urcu_bp_after_fork_child);
}

void tl_rcu_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, follow_forks);
}
