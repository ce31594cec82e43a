/* SPDX-License-Identifier: MIT */
/*
 * window.h - the shape of a limit, packed into one word, and the arithmetic on it. Pure.
 *
 * SHAPE
 *   rolling    {latch:2 | width in us:48 | slices:7 | strict:1 | unit:4 | kind:2}
 *   calendar   {latch:2 | zone:8 | anchor:5 | period:2 | 0:1 | unit:4 | kind:2}
 *   lifetime   {latch:2 | unit:4 | kind:2}
 *   none       {unit:4 | kind:2}
 *   request    {1:1 | unit:4 | kind none:2}    unit may be TLSHM_TIME
 * Two limits with the same shape count the same thing; a shape of 0 is no limit. Kind none counts
 * nothing: concurrency is held only, and a request is compared with its own.
 * Every accessor gives a value in range for any word: shapes are read from memory that is not trusted.
 */
#ifndef TL_WINDOW_H
#define TL_WINDOW_H

#include <tlshm.h>

#include "base.h"

TL_INLINE unsigned tl_shape_kind(uint64_t shape)
{
    return shape & 3;
}

TL_INLINE unsigned tl_shape_unit(uint64_t shape)
{
    unsigned unit = (shape >> 2) & 15;
    return unit < TLSHM_UNITS ? unit : 0;
}

/* Of single requests: whoever adds up or compares with use leaves it out. */
TL_INLINE bool tl_shape_is_request(uint64_t shape)
{
    return (shape & 67) == 64;
}

/* Of those, the one whose unit is none of the amounts: tl_shape_unit() says nothing about it. */
TL_INLINE bool tl_shape_is_time(uint64_t shape)
{
    return tl_shape_is_request(shape) && (shape >> 2 & 15) == TLSHM_TIME;
}

/* What happens when it is reached, see latch.h; of concurrency and single requests, nothing. */
enum tl_latch { TL_LATCH_NONE = 0, TL_LATCH_PAUSE = 1, TL_LATCH_SHUTOFF = 2 };

TL_INLINE enum tl_latch tl_shape_latch(uint64_t shape)
{
    unsigned latch = (unsigned)(shape >> 62);
    return (enum tl_latch)((shape & 3) == 0 ? 0 : latch < 3 ? latch : TL_LATCH_SHUTOFF);
}

/* Is it compared otherwise than used + held + needed with the cap? */
TL_INLINE bool tl_shape_is_special(uint64_t shape)
{
    return tl_shape_is_request(shape) || shape >> 62 != 0;
}

/* Buckets that count, 1..64; strict counts one more than the window is long. */
TL_INLINE unsigned tl_shape_slices(uint64_t shape)
{
    unsigned slices = ((shape >> 7) & 127) + ((shape >> 6) & 1);
    return slices - 1 < 64 ? slices : 64;
}

TL_INLINE uint64_t tl_shape_width_ns(uint64_t shape)
{
    uint64_t us = shape << 2 >> 16;
    return us ? us * 1000 : 1000;
}

TL_INLINE unsigned tl_shape_period(uint64_t shape)
{
    return (shape >> 7) & 3;
}

TL_INLINE unsigned tl_shape_anchor(uint64_t shape)
{
    return (shape >> 9) & 31;
}

TL_INLINE unsigned tl_shape_zone(uint64_t shape)
{
    return (shape >> 14) & 255;
}

/*
 * The shape of a limit; `zone` is the index of its time zone in the segment. `slices_max`: what the segment's rings
 * hold. 0, or -TLSHM_EINVAL / -TLSHM_ERANGE.
 */
int tl_shape_pack(const tlshm_limit *limit, unsigned zone, unsigned slices_max, uint64_t *out);

/* The inverse, but for the zone's name and the cap. */
void tl_shape_unpack(uint64_t shape, tlshm_limit *out);

#endif
