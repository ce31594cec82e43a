/* SPDX-License-Identifier: MIT */
/* trial.h - one peer, one plan, once: fresh memory, fresh processes, warm-up, measurement, audit. */
#ifndef BENCH_TRIAL_H
#define BENCH_TRIAL_H

#include "histogram.h"
#include "peer.h"
#include "timer.h"

struct trial_pace {
    uint64_t warm_ns;
    uint64_t timed_ns; /* every call with the stopwatch: latencies */
    uint64_t free_ns;  /* without: throughput */
    unsigned stops;    /* of the victim, for PLAN_STOPPED; kills for PLAN_KILLED */
    uint64_t stop_ns;  /* length of each stop, and of the comparison after it */
};

struct trial_result {
    double p50_ns, p99_ns, p999_ns, max_ns;
    double pairs_per_s;
    double kept; /* stopped, killed: the others' throughput meanwhile to that while the victim rests, or lives; NAN */
    double blocked; /* stopped: share of the stops during which the others came to rest; NAN otherwise */
};

/*
 * 0; or -1 after a message, or when interrupted. Leaves neither processes nor memory behind in any case. Latencies are
 * also added to `all`, in steps of the timer.
 */
int trial_run(const struct peer *peer, const struct plan *plan, const struct trial_pace *pace,
              const struct timer *timer, struct trial_result *result, struct histogram *all);

/* Whether a peer knows the calls that a plan is made of. */
int trial_possible(const struct peer *peer, const struct plan *plan);

#endif
