/* SPDX-License-Identifier: MIT */
/*
 * trial.h - one act: what it does undisturbed, the way through it, and a death or a stop at one point of that.
 */
#ifndef TLSHM_TESTS_TRIAL_H
#define TLSHM_TESTS_TRIAL_H

#include "acts.h"
#include "step.h"

#define TRIAL_SECONDS 300 /* for one point: it takes milliseconds, were it not for the neighbours */

extern unsigned trial_strayed; /* processes that went another way than the first one */

void trial_open(void);
void trial_close(void);

/* Plays the act undisturbed in all its versions, and walks through it. */
const struct step_path *trial_begin(const struct act *act);
void trial_end(void);

/* A process of its own dies, or is stopped and goes on, before instruction n. Deaths in ascending order. */
bool trial_kill(unsigned n, struct finding *wrong);
bool trial_stop(unsigned n, struct finding *wrong);

#endif
