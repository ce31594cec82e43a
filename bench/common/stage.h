/* SPDX-License-Identifier: MIT */
/* stage.h - a segment with as much in it as is asked for, and pairs on it; no peer but the library. */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include <stdint.h>

#include <tlshm.h>

#define STAGE_CAP (UINT64_C(1) << 52) /* of every limit: finite, so that it is checked */

struct stage_need {
    unsigned agents, tenants;
    unsigned limits; /* of each scope: tokens over rolling windows of different lengths */
    unsigned slices;
    uint64_t length_ns; /* of the first window; the others are longer */
    unsigned live;      /* holds that stay, strewn over the table as ended ones left them */
    unsigned records;   /* room for reservations; 0: a quarter more than live, the default at least */
    uint64_t ttl_ns;    /* of the holds that stay; 0: a day */
    int virtual_clock;
};

struct stage {
    char path[64];
    tlshm_t *attachment;
    struct stage_need need;
    tlshm_handle *handle; /* agents, then tenants */
    tlshm_scope scope[2]; /* of the chosen call */
    tlshm_request request;
    tlshm_amounts actual;
};

/* Creates, attaches, fills, and takes the file's name away unless `named`. 0, or -1 after a message. */
int stage_open(struct stage *s, const struct stage_need *need);
int stage_open_named(struct stage *s, const struct stage_need *need);

/* The scopes of the pairs that follow: one of the agents, and its tenant. */
void stage_choose(struct stage *s, uint64_t number);

/* One more hold that stays, of one of the agents. 0, or -1 after a message. */
int stage_hold(struct stage *s, uint64_t number, uint64_t ttl_ns);

/* One reserve and its settle: 0, or what was answered instead. */
static inline int stage_pair_chosen(struct stage *s)
{
    tlshm_id id;
    int answer = tlshm_reserve(s->attachment, &s->request, &id, NULL);
    return answer != TLSHM_OK ? answer : tlshm_settle(s->attachment, id, &s->actual, TLSHM_EXACT, NULL);
}

static inline int stage_pair(struct stage *s, uint64_t number)
{
    stage_choose(s, number);
    return stage_pair_chosen(s);
}

/* Harmless on a stage that was not opened, or not wholly. */
void stage_close(struct stage *s);

#endif
