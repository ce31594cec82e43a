/* SPDX-License-Identifier: MIT */
/* when.h - dates and times of day as ISO 8601 writes them. Pure. */
#ifndef TL_WHEN_H
#define TL_WHEN_H

#include "base.h"

/* "2026-03-13": its midnight in UTC, seconds since 1970. Years 1970 to 9999. */
bool tl_when_date(const char *text, int64_t *utc_s);

/* "16:30:00Z", "16:30", "16:30:00.5+08:00": the second of the day in UTC. */
bool tl_when_time(const char *text, int32_t *second);

#endif
