/* SPDX-License-Identifier: MIT */
/*
 * stage.h - plays calls on a space and keeps books of its own beside it. After every step it asserts, for each scope:
 *
 *   I1 right after an admission no limit that it touched is passed
 *   I2 used is the sum of what was charged
 *   I3 held is the sum of the estimates of live holds
 *   I4 a refusal changes nothing in any scope
 *   I5 a reservation ends once: the verdict of each settle, refund and extend is the one that its status calls for
 *   I6 a hold is gone at its deadline
 *   I7 a remaining amount never wraps: it is cap - used - held, and at most the cap
 *   I9 what tlshm_would_fit() says before a reserve is what the reserve says
 *
 * I8 (a retry succeeds after retry_after and not before) moves the clock: stage_retry().
 */
#ifndef TLSHM_TESTS_STAGE_H
#define TLSHM_TESTS_STAGE_H

#include "space.h"

#define STAGE_SCOPES 64
#define STAGE_HOLDS 4096

struct stage_hold {
    tlshm_id id;
    unsigned scope_count, scopes[TLSHM_SCOPES_MAX];
    tlshm_amounts estimate, charged;
    enum tlshm_status status;
    uint64_t deadline; /* ns since the space was opened */
};

struct stage {
    struct space space;
    uint64_t ttl_ns;         /* of the next reserves */
    const char *idempotency; /* of the next reserves, or NULL */
    int rc;                  /* of the last call */
    tlshm_refusal why;       /* of the last refusal */
    tlshm_result result;     /* of the last settle or refund */
    unsigned scope_count, hold_count;
    char scopes[STAGE_SCOPES][TLSHM_KEY_MAX + 1];
    struct stage_hold holds[STAGE_HOLDS];
};

struct stage *stage_open(const tlshm_geometry *geometry);
void stage_close(struct stage *s);

void stage_at(struct stage *s, uint64_t now);

/* The id, or 0 when it was refused (see why); anything else than these fails the test. */
tlshm_id stage_reserve(struct stage *s, const char *scopes, const char *amounts);

/* Their verdicts. `amounts` NULL: an unknown outcome (settle), none (extend). */
int stage_settle(struct stage *s, tlshm_id id, const char *amounts);
int stage_settle_as(struct stage *s, tlshm_id id, const char *amounts, enum tlshm_outcome outcome);
int stage_refund(struct stage *s, tlshm_id id);
int stage_extend(struct stage *s, tlshm_id id, const char *amounts, uint64_t ttl_ns);

/* After a refusal: the same request is refused one ns before its retry_after and admitted at it. Its new id. */
tlshm_id stage_retry(struct stage *s, const char *scopes, const char *amounts);

enum tlshm_status stage_status(const struct stage *s, tlshm_id id);

/* All assertions above that hold between calls. */
void stage_check(struct stage *s);

#endif
