/* SPDX-License-Identifier: MIT */
/* jitter.c - delays and deaths between accesses to shared words. */
#include "jitter.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "atomic.h"

static __thread struct {
    uint64_t random, life;
    int on;
} jitter;

uint64_t jitter_below(uint64_t *random, uint64_t n)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*random >> 33) % n;
}

void jitter_begin(uint64_t seed, uint64_t life)
{
    jitter.random = seed;
    jitter.life = life;
    jitter.on = 1;
}

void jitter_end(void)
{
    jitter.on = 0;
}

void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)access;
    (void)address;
    if (!jitter.on)
        return;
    if (jitter.life != JITTER_NO_DEATH && jitter.life-- == 0)
        kill(getpid(), SIGKILL);
    uint64_t what = jitter_below(&jitter.random, 64);
    if (what == 0)
        sched_yield();
    for (uint64_t i = 0; what < 8 && i < what * 64; i++)
        tl_relax();
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address;
    (void)expected;
    (void)desired;
    (void)done;
}
