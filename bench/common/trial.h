/* SPDX-License-Identifier: MIT */
/* trial.h - one peer, one plan, once: fresh memory, fresh processes, warm-up, measurement, audit. */
#ifndef BENCH_TRIAL_H
#define BENCH_TRIAL_H

#include "peer.h"
#include "timer.h"

struct trial_pace {
    uint64_t warm_ns;
    uint64_t timed_ns; /* every pair with the stopwatch: latencies */
    uint64_t free_ns;  /* without: throughput */
    unsigned stops;    /* of the victim, for PLAN_STOPPED */
    uint64_t stop_ns;  /* length of each stop, and of the comparison after it */
};

struct trial_result {
    double p50_ns, p99_ns, p999_ns, max_ns;
    double pairs_per_s;
    double kept; /* PLAN_STOPPED: the others' throughput during stops to that while the victim rests; NAN otherwise */
    double blocked; /* PLAN_STOPPED: share of the stops during which the others came to rest; NAN otherwise */
};

/* 0; or -1 after a message, or when interrupted. Leaves neither processes nor memory behind in any case. */
int trial_run(const struct peer *peer, const struct plan *plan, const struct trial_pace *pace,
              const struct timer *timer, struct trial_result *result);

#endif
