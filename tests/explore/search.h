/* SPDX-License-Identifier: MIT */
/*
 * search.h - running schedules of a scene: all of a kind, a random sample of a kind, or a given one.
 *
 * A schedule is a list of choices: before its n-th step, switch to another fibre, kill the one that would go on, or move
 * the clock. Without a choice the running fibre goes on to its end, then the next one in order.
 */
#ifndef TLSHM_EXPLORE_SEARCH_H
#define TLSHM_EXPLORE_SEARCH_H

#include <stdio.h>

#include "scene.h"

#define CHOICES_MAX 8
#define STEPS_MAX 6000 /* a schedule that takes more goes round in circles */

enum { KILL = FIBRES, TICK_0 = FIBRES + 1 };

struct choice {
    unsigned step;
    unsigned action; /* a fibre; KILL; TICK_0 + n: the scene's n-th move of the clock */
};

struct schedule {
    unsigned count;
    struct choice choice[CHOICES_MAX];
};

/* At most so many of each. */
struct bounds {
    unsigned preemptions, kills, ticks;
};

struct search {
    const struct scene *scene;
    struct bounds bounds;
    bool words;     /* every word is a step */
    double seconds; /* of the processor */
    /* the result */
    unsigned long schedules, steps;
    unsigned longest;
    bool cut;    /* time was up before all had been run */
    bool failed; /* then fault_text says why, and `schedule` is the one */
    struct schedule schedule;
};

/* Depth first; the first choices are taken from all over the schedule, so that a cut does not leave out its end. */
void search_all(struct search *search);
void search_random(struct search *search, uint64_t seed);

/* One schedule; `trace`: each step is printed there, unless NULL. */
void search_one(struct search *search, const struct schedule *schedule, FILE *trace);

/* "12:1 40:kill 41:+2": as printed by a failed search. False: it is none. */
bool search_parse(const struct scene *scene, const char *text, struct schedule *out);
void search_format(const struct scene *scene, const struct schedule *schedule, char *buf, size_t size);

/* What one schedule takes from the ground: prepares the scene for all that follow. */
void search_begin(struct search *search);

#endif
