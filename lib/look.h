/* SPDX-License-Identifier: MIT */
/* look.h - what a scope or a reservation shows to those who only look: nothing is written, no seat is taken. */
#ifndef TL_LOOK_H
#define TL_LOOK_H

#include "segment.h"

/* A scope at one instant. */
struct tl_look {
    uint64_t handle; /* 0: never seen, this is what a first call would meet */
    uint32_t cell;
    uint64_t now;
    struct tl_view view;
    struct tl_limits limits;
    uint64_t held[TLSHM_UNITS];      /* without overdue holds */
    uint64_t used[TLSHM_LIMITS_MAX]; /* inside the window of each limit */
    bool detailed;
    uint64_t total[TLSHM_UNITS];      /* detailed: used since the scope was first used */
    uint64_t falls[TLSHM_LIMITS_MAX]; /* detailed: when that next gets less by itself, or TL_FOREVER */
};

/* 0, -TLSHM_ESTALE, -TLSHM_EINVAL, -TLSHM_ECORRUPT. */
int tl_look_at(struct tlshm *t, uint64_t handle, bool detailed, struct tl_look *look);

/* By key. Also -TLSHM_EKEY, -TLSHM_ELEVEL. */
int tl_look_for(struct tlshm *t, const char *key, size_t len, bool detailed, struct tl_look *look);

/* The limits that a scope of this sound key would have if it were made now. 0, -TLSHM_ELEVEL, -TLSHM_ECORRUPT. */
int tl_look_unseen(struct tl_hand *hand, const char *key, size_t len, struct tl_limits *limits);

int64_t tl_look_remaining(const struct tl_look *look, enum tlshm_unit unit);
void tl_look_usage(struct tlshm *t, const struct tl_look *look, tlshm_scope_usage *out);
void tl_look_reservation(struct tl_hand *hand, const struct tl_record *record, tlshm_reservation_info *out);

#endif
