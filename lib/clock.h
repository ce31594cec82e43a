/* SPDX-License-Identifier: MIT */
/*
 * clock.h - one clock for everybody who uses a segment: boot time, coarse, and the wall clock's distance from it.
 *
 * Linux has no coarse boot-time clock, and a precise one costs more than all windows of a call. So the time is coarse
 * monotonic plus the time spent in suspend, which is kept in the segment and looked up again ten times a second. Right
 * after a resume a thread may for that long see a time that is too early: use leaves its window a little late, never
 * early. A segment with a virtual clock reads its time from its own header: simulations and tests move it.
 */
#ifndef TL_CLOCK_H
#define TL_CLOCK_H

#include "atomic.h"
#include "vdso.h"

/* Two readings of a coarse clock may differ by a tick or two: it has gone back only if by more. */
#define TL_BACK_TOLERANCE_NS UINT64_C(20000000)

struct tl_clock {
    const tl_word *virtual_boot; /* NULL: the system's clock */
    const tl_word *virtual_wall;
    tl_word *slept;      /* shared, only grows */
    bool readonly;       /* then `slept` is only read */
    tl_word next_look;   /* monotonic time of the next look at suspend and wall clock */
    tl_word wall_offset; /* wall minus boot at the last look */
};

/* The system's clocks, behind a table so that tests can suspend and step them. */
struct tl_clock_source {
    uint64_t (*mono_coarse)(void);
    uint64_t (*mono)(void);
    uint64_t (*boot)(void);
    uint64_t (*wall)(void);
};
extern const struct tl_clock_source *tl_clock_source;
extern const struct tl_clock_source tl_clock_system;

/* The system's coarse one: the kernel's function, once it has been looked for. */
extern _Atomic(tl_vdso_clock) tl_clock_quick;

TL_INLINE uint64_t tl_clock_coarse(void)
{
    struct timespec t;
    if (TL_UNLIKELY(tl_clock_source != &tl_clock_system))
        return tl_clock_source->mono_coarse();
    atomic_load_explicit(&tl_clock_quick, memory_order_relaxed)(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Boot time in ns. */
uint64_t tl_clock_look(struct tl_clock *clock, uint64_t mono);

TL_INLINE uint64_t tl_clock_now(struct tl_clock *clock)
{
    if (TL_UNLIKELY(clock->virtual_boot != NULL))
        return tl_load(clock->virtual_boot);
    uint64_t mono = tl_clock_coarse();
    if (TL_UNLIKELY(mono >= tl_load_relaxed(&clock->next_look)))
        return tl_clock_look(clock, mono);
    return mono + tl_load_relaxed(clock->slept);
}

/* The same soon after it: suspend and the wall clock are not looked at in between. */
TL_INLINE uint64_t tl_clock_again(const struct tl_clock *clock)
{
    if (TL_UNLIKELY(clock->virtual_boot != NULL))
        return tl_load(clock->virtual_boot);
    return tl_clock_coarse() + tl_load_relaxed(clock->slept);
}

/* Looks at the system's clocks now, not at the next turn: a reading that seems to go back has to be sure. */
TL_INLINE void tl_clock_doubt(struct tl_clock *clock)
{
    tl_store_relaxed(&clock->next_look, 0);
}

/* Wall minus boot, ns, as of the last look, when tl_clock_now() has just been called. */
TL_INLINE int64_t tl_clock_wall_offset(const struct tl_clock *clock)
{
    if (TL_UNLIKELY(clock->virtual_boot != NULL))
        return (int64_t)(tl_load(clock->virtual_wall) - tl_load(clock->virtual_boot));
    return (int64_t)tl_load_relaxed(&clock->wall_offset);
}

/* The wall clock at a boot time that tl_clock_now() has just told. The clocks of a segment that was spoilt may wrap. */
TL_INLINE uint64_t tl_clock_wall(const struct tl_clock *clock, uint64_t boot)
{
    return boot + (uint64_t)tl_clock_wall_offset(clock);
}

/* A clock for another thread of the same process, with what this one knows. */
TL_INLINE void tl_clock_copy(struct tl_clock *to, const struct tl_clock *from)
{
    to->virtual_boot = from->virtual_boot;
    to->virtual_wall = from->virtual_wall;
    to->slept = from->slept;
    to->readonly = from->readonly;
    tl_store_relaxed(&to->wall_offset, tl_load_relaxed(&from->wall_offset));
    tl_store_relaxed(&to->next_look, tl_load_relaxed(&from->next_look));
}

/* Boot minus monotonic now: what `slept` starts with. */
uint64_t tl_clock_slept(void);

#endif
