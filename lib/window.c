/* SPDX-License-Identifier: MIT */
/* window.c - packing and checking the shape of a limit. */
#include "window.h"

#define LENGTH_US_MAX                                                                                                  \
    ((UINT64_C(1) << 62) / 1000) /* then the end of a stay in a window is a time, whatever the clock says */
#define WIDTH_US_MAX ((UINT64_C(1) << 48) - 1)
#define LATCHES (TLSHM_LIMIT_PAUSES | TLSHM_LIMIT_SHUTS_OFF)
#define REQUEST_BIT (UINT64_C(1) << 6)

static int pack_rolling(const tlshm_limit *limit, unsigned slices_max, uint64_t *out)
{
    uint64_t slices = limit->window.slices ? limit->window.slices : 60;
    bool strict = limit->flags & TLSHM_LIMIT_STRICT;
    if (!limit->window.slices && slices > slices_max)
        slices = slices_max;
    if (slices > slices_max || slices + strict > 64)
        return -TLSHM_ERANGE;
    if (limit->window.length_ns == 0)
        return -TLSHM_EINVAL;
    uint64_t width_ns = limit->window.length_ns / slices + (limit->window.length_ns % slices != 0);
    uint64_t width_us = width_ns / 1000 + (width_ns % 1000 != 0);
    if (width_us > WIDTH_US_MAX || width_us > LENGTH_US_MAX / (slices + strict))
        return -TLSHM_ERANGE;
    *out = width_us << 14 | slices << 7 | (uint64_t)strict << 6;
    return 0;
}

static int pack_calendar(const tlshm_limit *limit, unsigned zone, uint64_t *out)
{
    unsigned anchor = limit->window.anchor, last = 0;
    if ((unsigned)limit->window.period > TLSHM_MONTH || zone > 255)
        return -TLSHM_EINVAL;
    if (limit->window.period == TLSHM_WEEK)
        last = 7;
    if (limit->window.period == TLSHM_MONTH)
        last = 31;
    if (anchor > last)
        return -TLSHM_EINVAL;
    if (last && !anchor) /* the first day, however it is written, is one shape */
        anchor = 1;
    *out = (uint64_t)zone << 14 | (uint64_t)anchor << 9 | (uint64_t)limit->window.period << 7;
    return 0;
}

/* What follows when it is reached; -TLSHM_EINVAL for what is never used up, and for both at once. */
static int pack_latch(const tlshm_limit *limit, uint64_t *out)
{
    unsigned latch = limit->flags & LATCHES;
    bool counts = limit->window.kind != TLSHM_WINDOW_NONE && limit->window.kind != TLSHM_WINDOW_REQUEST;
    if (latch == LATCHES || (latch && !counts))
        return -TLSHM_EINVAL;
    *out = (uint64_t)(latch == TLSHM_LIMIT_PAUSES ? TL_LATCH_PAUSE : latch ? TL_LATCH_SHUTOFF : TL_LATCH_NONE) << 62;
    return 0;
}

int tl_shape_pack(const tlshm_limit *limit, unsigned zone, unsigned slices_max, uint64_t *out)
{
    uint64_t shape = 0, latch;
    int rc = 0;
    bool request = limit->window.kind == TLSHM_WINDOW_REQUEST;
    if ((unsigned)limit->unit >= TLSHM_UNITS && !(request && limit->unit == TLSHM_TIME))
        return -TLSHM_EINVAL;
    if ((limit->flags & ~(TLSHM_LIMIT_STRICT | LATCHES)) || pack_latch(limit, &latch) < 0)
        return -TLSHM_EINVAL;
    if ((limit->flags & TLSHM_LIMIT_STRICT) && limit->window.kind != TLSHM_WINDOW_ROLLING)
        return -TLSHM_EINVAL;
    if ((limit->unit == TLSHM_CONCURRENCY) != (limit->window.kind == TLSHM_WINDOW_NONE))
        return -TLSHM_EINVAL;
    switch (limit->window.kind) {
    case TLSHM_WINDOW_NONE:
    case TLSHM_WINDOW_LIFETIME:
        break;
    case TLSHM_WINDOW_REQUEST:
        shape = REQUEST_BIT;
        break;
    case TLSHM_WINDOW_ROLLING:
        rc = pack_rolling(limit, slices_max, &shape);
        break;
    case TLSHM_WINDOW_CALENDAR:
        rc = pack_calendar(limit, zone, &shape);
        break;
    default:
        return -TLSHM_EINVAL;
    }
    if (rc == 0)
        *out =
            latch | shape | (uint64_t)limit->unit << 2 | (request ? TLSHM_WINDOW_NONE : (uint64_t)limit->window.kind);
    return rc;
}

void tl_shape_unpack(uint64_t shape, tlshm_limit *out)
{
    memset(out, 0, sizeof *out);
    out->unit = (enum tlshm_unit)tl_shape_unit(shape);
    out->window.kind = (enum tlshm_window_kind)tl_shape_kind(shape);
    if (tl_shape_latch(shape) != TL_LATCH_NONE)
        out->flags = tl_shape_latch(shape) == TL_LATCH_PAUSE ? TLSHM_LIMIT_PAUSES : TLSHM_LIMIT_SHUTS_OFF;
    if (tl_shape_is_time(shape))
        out->unit = TLSHM_TIME;
    if (tl_shape_is_request(shape))
        out->window.kind = TLSHM_WINDOW_REQUEST;
    else if (out->window.kind == TLSHM_WINDOW_ROLLING) {
        out->flags |= (shape >> 6) & 1 ? TLSHM_LIMIT_STRICT : 0;
        out->window.slices = tl_shape_slices(shape) - ((shape >> 6) & 1);
        out->window.length_ns = tl_shape_width_ns(shape) * out->window.slices;
    } else if (out->window.kind == TLSHM_WINDOW_CALENDAR) {
        out->window.period = (enum tlshm_period)tl_shape_period(shape);
        out->window.anchor = tl_shape_anchor(shape);
    }
}
