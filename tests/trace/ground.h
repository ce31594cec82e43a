/* SPDX-License-Identifier: MIT */
/*
 * ground.h - the segment that processes are killed and stopped in: states to begin with, put back as often as wanted,
 * what the others do meanwhile, and all that can be seen afterwards as one text.
 */
#ifndef TLSHM_TESTS_GROUND_H
#define TLSHM_TESTS_GROUND_H

#include "tap.h"
#include "watch.h"

#include <stddef.h>
#include <stdint.h>
#include <tlshm/stats.h>

/* States to begin with. Limits on agent:a, agent:b and tenant:t; the reservations are those of enum known. */
enum start {
    START_CALM,    /* nothing is overdue */
    START_LATE,    /* one hold is, and nobody has ended it */
    START_CROWDED, /* no cell is free, but some are idle */
    START_WRECKED, /* every seat is that of a process that died inside an operation */
    START_GUEST,   /* as START_CALM, with a seat of the tracer's own */
    STARTS
};

/* Reservations of the states to begin with: indices into ground_id and, plus one, their tags. */
enum known { KNOWN_HELD, KNOWN_EXPIRED, KNOWN_SETTLED, KNOWN_KEYED, KNOWN_OVERDUE, KNOWNS };

#define GROUND_SEATS 4
#define GROUND_SCOPES 16
#define GROUND_RECORDS 64
#define GROUND_LISTS 8
#define GROUND_TIERS 4
#define GROUND_TOKENS 700 /* of the hold */

extern char ground_path[160], ground_other[160]; /* the segment; a name that nobody has */
extern tlshm_id ground_id[KNOWNS];
extern const char *const ground_key; /* of KNOWN_KEYED */

void ground_open(void);
void ground_close(void);

/* Makes one of the first three from public calls. The tracer makes the others, and has them kept as they stand. */
void ground_make(enum start start);
void ground_keep(enum start start);

/* Puts a state back. Nobody may be attached but who is to be surprised. */
void ground_restore(enum start start);

/* The file's bytes, mapped; to be compared. */
const void *ground_bytes(size_t *bytes);

/* Where processes leave their numbers in it: seats, their mutexes, reservations, the reaper's line. In ascending order. */
const struct watch_field *ground_numbers(size_t *count);

tlshm_t *ground_attach(void);
int ground_reserve(tlshm_t *t, const char *scopes, uint64_t tokens, uint64_t tag, const char *key, tlshm_id *id);
int ground_settle(tlshm_t *t, tlshm_id id, uint64_t tokens);

extern unsigned ground_guests; /* seats that stay taken to the end */

/* What is wrong. */
struct finding {
    char text[600];
};

/* All that can be seen, but for what says when and by whom it was done. `held` and `used`: tokens of agent:a. */
struct sight {
    int64_t held, used;
    char text[7000];
};

/* Calls on the same scopes, by this process and a newcomer, and a reaper's pass. False: one was held up or is wrong. */
bool ground_others(tlshm_t *t, struct finding *wrong);

/* The invariants. `quiet`: nobody is inside a call any more, so that every node must be in its place. */
bool ground_sound(tlshm_t *t, bool quiet, struct finding *wrong);

/*
 * Everything at its end: a reaper's pass, the invariants, the sight. Then what can still be made of each kind, and the
 * end of all holds, as part of the sight: a place that was lost on the way is missed there. Uses the segment up.
 */
bool ground_audit(tlshm_t *t, struct sight *sight, struct finding *wrong);

bool ground_wrong(struct finding *wrong, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
