/* SPDX-License-Identifier: MIT */
/*
 * run.h - plays the calls of a stage through a crew, on one segment, along the trace's time.
 *
 * Time goes in ticks: all that is due by the end of a tick is ordered at once and carried out by the workers side by side,
 * in any order between them; the next tick begins when all are done. In virtual time the clock of the segment stands
 * still within a tick, so the ledger knows the instant of every booking exactly. In real time a tick is whatever has
 * become due while the last one was carried out.
 */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <tlshm.h>

#include "crew.h"
#include "stage.h"

struct run_settings {
    unsigned workers;
    bool is_virtual;
    double speed;           /* real time: how many seconds of the trace go by in one */
    uint64_t tick_ns;       /* virtual time */
    uint64_t kills;         /* workers to kill in the course of the trace */
    uint64_t kill_every_ns; /* and one each time this has passed, really; 0: none */
    uint64_t reap_every_ns; /* of the segment's clock */
    const char *reaper;     /* run this program instead of reaping here; NULL: reap here */
    const char *segment;
    uint64_t seed;
    int64_t wall_start_ns; /* virtual time */
};

struct run {
    const struct run_settings *settings;
    struct stage *stage;
    tlshm_t *segment;
    struct crew crew;
    uint64_t start_ns, start_wall_ns; /* segment time of the trace's start */
    uint64_t took_ns;                 /* really */
    uint64_t lag_max_ns;              /* of holds that a pass of the reaper found overdue */
    bool interrupted;
    char why[600];
};

/* Plays until the end or a signal, then waits for the deadlines of what was lost. False: see `why`. */
bool run_play(struct run *r);

#endif
