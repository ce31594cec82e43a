/* SPDX-License-Identifier: MIT */
/*
 * asks.h - tlshm_would_fit() in scenes.
 *
 * Its oracle is the limiter: while somebody asks, each time that something may have changed, the harness's seat makes the
 * reserve that is asked about, on the segment as it stands, at this time and those that the clock has shown meanwhile, and
 * all that it did is undone. What is answered must be what one
 * of these reserves was told, with its figures, and whether waiting helps; how long is looked up afterwards, and may be of a
 * later moment. That all places are taken is found by a walk, as in a reserve, and need not have been so at one moment if
 * anything changed meanwhile. And who asks writes nothing.
 */
#ifndef TLSHM_EXPLORE_ASKS_H
#define TLSHM_EXPLORE_ASKS_H

#include "calls.h"

/* What a process has of the segment, for calls that need no seat; it remembers no keys. */
struct tlshm *ask_attachment(void);

/* TLSHM_OK, TLSHM_REFUSED, TLSHM_REPLAY or -TLSHM_ESTALE. `details`: of a refusal too. */
int ask_fit(unsigned fibre, const struct booking *booking, bool details);

/* Is this fibre inside of it? */
bool ask_is_open(unsigned fibre);

/* Something may have changed. */
void ask_moment(void);

/* Before each schedule. */
void ask_forget(void);

#endif
