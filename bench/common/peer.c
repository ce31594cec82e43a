/* SPDX-License-Identifier: MIT */
/* peer.c - what several peers need. */
#include "peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

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

int peer_audit_failed(const char *peer, const struct plan *plan, unsigned slot, const char *what, uint64_t found,
                      uint64_t wanted)
{
    char key[PLAN_KEY_SIZE];
    plan_slot_key(plan, slot, key);
    fprintf(stderr, "%s, %s: %s of %s is %" PRIu64 ", should be %" PRIu64 "\n", peer,
            plan_workload_name(plan->workload), what, key, found, wanted);
    return -1;
}

int peer_audit_slot(const char *peer, const struct plan *plan, unsigned slot, const struct plan_book *book,
                    const uint64_t *used, const uint64_t *held)
{
    for (unsigned u = 0; u < PLAN_UNITS && !book->loose; u++) {
        if (held[u] != book->held[u])
            return peer_audit_failed(peer, plan, slot, "held", held[u], book->held[u]);
        if (u != TLSHM_CONCURRENCY && used[u] != book->used[u])
            return peer_audit_failed(peer, plan, slot, "used", used[u], book->used[u]);
    }
    return 0;
}
