/* SPDX-License-Identifier: MIT */
/* venue.h - the segment that a replay runs on: made to measure, with the limits that were asked for. */
#ifndef REPLAY_VENUE_H
#define REPLAY_VENUE_H

#include <tlshm.h>

#include "audit.h"
#include "stage.h"

/* Creates and attaches. NULL with one line in `why`; nothing is left behind then. */
tlshm_t *venue_open(const struct stage_head *head, bool virtual_clock, unsigned workers,
                    const struct level_limits limits[STAGE_LEVELS], char *why, size_t size);

/* Detaches; removes the segment unless it is to be kept. */
void venue_close(tlshm_t *segment, const char *name, bool keep);

#endif
