/* SPDX-License-Identifier: MIT */
/* plan.c - the scopes, limits and amounts that every peer is measured with. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "peer.h"

#define HOUR_NS UINT64_C(3600000000000)
#define CAP (UINT64_C(1) << 52) /* finite, so that it is checked; far, so that nothing is refused */

const uint64_t plan_estimate[PLAN_UNITS] = {1200, 18000000, 1, 1};
const uint64_t plan_actual[PLAN_UNITS] = {700, 10500000, 1, 0};

/* Six scopes that can all be a process's own; global: could not. The sixth level is added by the peer that needs it. */
static const char *const levels[PLAN_SCOPES_MAX] = {"agent", "tenant", "user", "project", "org", "team"};
const char *const plan_extra_levels[] = {"team", NULL};

static const char *const workload_names[] = {"alone", "distinct", "hot", "stopped"};

const char *plan_workload_name(enum plan_workload workload)
{
    return workload_names[workload];
}

static int is_shared(const struct plan *plan, unsigned scope)
{
    return scope > 0 && (plan->workload == PLAN_HOT || plan->workload == PLAN_STOPPED);
}

void plan_key(const struct plan *plan, unsigned process, unsigned scope, char key[32])
{
    if (is_shared(plan, scope))
        snprintf(key, 32, "%s:shared", levels[scope]);
    else
        snprintf(key, 32, "%s:worker-%u", levels[scope], process);
}

unsigned plan_slot(const struct plan *plan, unsigned process, unsigned scope)
{
    return (is_shared(plan, scope) ? 0 : process + 1) * PLAN_SCOPES_MAX + scope;
}

unsigned plan_slots(const struct plan *plan)
{
    return (plan->processes + 1) * PLAN_SCOPES_MAX;
}

uint64_t plan_expected(const struct plan *plan, unsigned process, unsigned scope, const uint64_t *pairs)
{
    uint64_t sum = 0;
    if (!is_shared(plan, scope))
        return pairs[process];
    for (unsigned i = 0; i < plan->processes; i++)
        sum += pairs[i];
    return sum;
}

unsigned plan_limit_list(const struct plan *plan, tlshm_limit list[PLAN_UNITS])
{
    const tlshm_window hour = {.kind = TLSHM_WINDOW_ROLLING, .slices = 60, .length_ns = HOUR_NS};
    list[0] = (tlshm_limit){.unit = TLSHM_TOKENS, .window = hour, .cap = CAP};
    if (plan->limits == PLAN_ONE_WINDOW)
        return 1;
    list[1] = (tlshm_limit){.unit = TLSHM_COST, .window = hour, .cap = CAP};
    list[2] = (tlshm_limit){.unit = TLSHM_REQUESTS, .window = hour, .cap = CAP};
    list[3] = (tlshm_limit){.unit = TLSHM_CONCURRENCY, .window = {.kind = TLSHM_WINDOW_NONE}, .cap = CAP};
    return 4;
}

void *peer_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    perror("cannot map shared memory");
    return NULL;
}

void peer_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

int peer_audit_failed(const char *peer, const char *key, const char *what, uint64_t found, uint64_t wanted)
{
    fprintf(stderr, "%s: %s of %s is %" PRIu64 ", should be %" PRIu64 "\n", peer, what, key, found, wanted);
    return -1;
}
