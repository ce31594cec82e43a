/* SPDX-License-Identifier: MIT */
/*
 * space.h - a segment of a test's own: a fresh directory, a clock that stands until it is moved, and requests from text.
 */
#ifndef TLSHM_TESTS_SPACE_H
#define TLSHM_TESTS_SPACE_H

#include "tap.h"

#include <stdint.h>
#include <tlshm/admin.h>

#define MS(n) ((uint64_t)(n)*UINT64_C(1000000))
#define SEC(n) ((uint64_t)(n)*UINT64_C(1000000000))
#define HOUR(n) SEC((n)*UINT64_C(3600))

/* Where the clocks stand when a space opens: an edge of every bucket width in use; Thursday 1 February 2024 in UTC. */
#define SPACE_BOOT_NS HOUR(10000)
#define SPACE_WALL_NS SEC(1706745600)

struct space {
    char dir[128], path[160];
    tlshm_t *t;
    uint64_t now; /* ns since the space was opened */
};

/* A small geometry with a virtual clock, to be changed where a test needs it otherwise. */
tlshm_geometry space_geometry(void);

/* As small as a few scopes and calls need: its tables are soon walked through. */
tlshm_geometry space_tiny_geometry(void);

/* A directory without a segment. `under` is where to make it, NULL for the usual place. */
void space_make_dir(struct space *s, const char *under);

/* A directory with a segment, attached. `geometry` may be NULL. */
void space_open(struct space *s, const tlshm_geometry *geometry);
void space_close(struct space *s);

/* A further attachment of this or another process. */
tlshm_t *space_attach(const struct space *s);

/* Moves both clocks to so many ns after the opening. */
void space_at(struct space *s, uint64_t now);

/* The key's limits, each in the words of tlshm_limit_parse(), separated by ';'. */
void space_limits(const struct space *s, const char *key, const char *limits);

int64_t space_remaining(const struct space *s, const char *key, enum tlshm_unit unit);
tlshm_scope_usage space_usage(const struct space *s, const char *key);

/* Do two refusals say the same? */
bool refusal_same(const tlshm_refusal *a, const tlshm_refusal *b);

tlshm_limit limit_of(const char *text);

/* "tokens=400 cost=30" as amounts. NULL for none. */
tlshm_amounts amounts_of(const char *text);

/* A request for scopes "agent:a tenant:t" (keys without blanks) and amounts as above. */
struct ask {
    char text[TLSHM_SCOPES_MAX * (TLSHM_KEY_MAX + 1)];
    tlshm_scope scopes[TLSHM_SCOPES_MAX];
    tlshm_request request;
};
const tlshm_request *ask_for(struct ask *a, const char *scopes, const char *amounts);

#endif
