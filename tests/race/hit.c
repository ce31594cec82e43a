/* SPDX-License-Identifier: MIT */
/* hit.c - a signal to oneself at the n-th access to shared words. */
#include "hit.h"

#ifdef TL_HOOKS

#include "atomic.h"

#include <signal.h>
#include <unistd.h>

#define UNARMED (-1)

static __thread long hit_after = UNARMED;
static int hit_signal;
static unsigned hit_swaps; /* left before accesses count */

void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)address;
    if (hit_swaps != 0)
        hit_swaps -= access == TL_SWAP;
    else if (hit_after != UNARMED && hit_after-- == 0)
        tgkill(getpid(), gettid(),
               hit_signal); /* sent to the process, another thread might take it, and this one go on */
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address;
    (void)expected;
    (void)desired;
    (void)done;
}

static bool arm(unsigned swaps, unsigned accesses, int signal)
{
    hit_signal = signal;
    hit_swaps = swaps;
    hit_after = (long)accesses;
    return true;
}

bool hit_arm(unsigned accesses, int signal)
{
    return arm(0, accesses, signal);
}

bool hit_arm_swaps(unsigned swaps, unsigned accesses, int signal)
{
    return arm(swaps, accesses, signal);
}

bool hit_disarm(void)
{
    bool armed = hit_after != UNARMED;
    hit_after = UNARMED;
    return armed;
}

#else

bool hit_arm(unsigned accesses, int signal)
{
    (void)accesses;
    (void)signal;
    return false;
}

bool hit_arm_swaps(unsigned swaps, unsigned accesses, int signal)
{
    return hit_arm(swaps + accesses, signal);
}

bool hit_disarm(void)
{
    return true;
}

#endif
