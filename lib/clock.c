/* SPDX-License-Identifier: MIT */
/* clock.c - the system's clocks. */
#include "clock.h"

#define LOOK_EVERY_NS UINT64_C(100000000)
#define SLEPT_STEP_NS UINT64_C(2000000) /* smaller differences are the time between two clock reads */

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static int find_first(clockid_t id, struct timespec *out)
{
    tl_vdso_clock found = tl_vdso_find_clock();
    atomic_store_explicit(&tl_clock_quick, found, memory_order_relaxed);
    return found(id, out);
}

_Atomic(tl_vdso_clock) tl_clock_quick = find_first;

static uint64_t mono_coarse(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

static uint64_t mono(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t boot(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

static uint64_t wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

const struct tl_clock_source tl_clock_system = {mono_coarse, mono, boot, wall};
const struct tl_clock_source *tl_clock_source = &tl_clock_system;

/* Never more than the true value: the monotonic clock is read after the other one. */
uint64_t tl_clock_slept(void)
{
    uint64_t b = tl_clock_source->boot(), m = tl_clock_source->mono();
    return b > m ? b - m : 0;
}

TL_COLD uint64_t tl_clock_look(struct tl_clock *clock, uint64_t mono_now)
{
    uint64_t measured = tl_clock_slept();
    uint64_t slept = tl_load_relaxed(clock->slept);
    while (measured > slept + SLEPT_STEP_NS && !clock->readonly) {
        if (tl_cas(clock->slept, slept, measured))
            break;
        slept = tl_load_relaxed(clock->slept);
    }
    slept = tl_load_relaxed(clock->slept);
    uint64_t now = mono_now + slept;
    tl_store_relaxed(&clock->wall_offset, tl_clock_source->wall() - (tl_clock_source->mono() + slept));
    tl_store_relaxed(&clock->next_look, mono_now + LOOK_EVERY_NS);
    return now;
}
