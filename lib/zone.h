/* SPDX-License-Identifier: MIT */
/*
 * zone.h - loads a time zone from the system's zone information files (TZif, RFC 8536).
 *
 * For whoever sets a limit, not for the calls that count: it opens a file. The answer is a plain struct that needs no
 * file any more (calendar.h). It knows the changes from 2020 on and the rule for the years after the last one.
 */
#ifndef TL_ZONE_H
#define TL_ZONE_H

#include <stddef.h>

#include "calendar.h"

/*
 * Loads "Europe/Berlin" from $TZDIR, or from /usr/share/zoneinfo. "" and "UTC" need no file; both are named "UTC" in
 * the result. Returns 0, or -TLSHM_EZONE: no such zone, a malformed file, one with leap seconds ("right/..."), more
 * changes than fit. *out is written on success only. Uses 24 KiB of stack and no heap.
 */
int tl_zone_load(const char *name, struct tl_zone *out);

/* The same from a file's bytes, any bytes. Pure. */
int tl_zone_parse(const char *name, const void *bytes, size_t size, struct tl_zone *out);

#endif
