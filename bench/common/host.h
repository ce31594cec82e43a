/* SPDX-License-Identifier: MIT */
/* host.h - facts about the machine without which figures mean nothing. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include <stdint.h>

struct host {
    char cpu[96];
    char kernel[96];
    char compiler[64];
    unsigned processors; /* that this process may use */
    int virtual_machine;
    double load;                      /* of the last minute, before the run */
    double other_share;               /* of all processor time during the run: taken by other processes than ours */
    double steal_share;               /* of all processor time during the run: taken by the hypervisor */
    uint64_t busy_start, steal_start; /* clock ticks */
    uint64_t start_ns;
};

/* Before the run, and after it. */
void host_begin(struct host *h);
void host_end(struct host *h);

#endif
