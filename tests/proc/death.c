/* SPDX-License-Identifier: MIT */
/* death.c - see death.h. */
#include "death.h"

#include "atomic.h"

#include <signal.h>
#include <unistd.h>

long death_after = -1;

static void stored(void)
{
    if (death_after >= 0 && death_after-- == 0)
        kill(getpid(), SIGKILL);
}

void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)address;
    if (access != TL_READ)
        stored();
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address, (void)expected, (void)desired;
    if (done)
        stored();
}
