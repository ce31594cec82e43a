/* SPDX-License-Identifier: MIT */
/*
 * segment.h - a process's attachment, and what each of its threads has in it.
 *
 * LIFE OF AN ATTACHMENT It is mapped as long as the process is attached or a thread has a seat in it: a robust mutex must
 * not be unmapped while it is held, since the C library's and the kernel's lists of held mutexes lead through it. So
 * detach gives back the caller's seat, and the mapping goes with the last thread that had one.
 *
 * FORK The child shares the attachment's memory but none of the parent's seats: threads of another fork generation are
 * dropped unseen, and the child's first call takes a seat of its own.
 */
#ifndef TL_SEGMENT_H
#define TL_SEGMENT_H

#include <signal.h>

#include "keys.h"
#include "lane.h"
#include "os.h"
#include "seat.h"

struct tlshm {
    struct tl_map map;
    struct tl_clock clock; /* each thread starts from a copy */
    struct tl_keys keys;
    tl_word overrun; /* address of the choice in force, or 0; see segment.c */
    tl_word users;   /* 1 for being attached, 1 for each thread with a seat */
    tl_word fork_generation;
    tl_word unmapped_slept; /* stands in for the header's word on a read-only attachment */
    tl_word stuck;          /* not 0: the mapping must stay, see tl_seat_release() */
    tl_word lost;           /* not 0: the file was cut short, and other memory stands in its place (presence.c) */
    uint64_t device, inode;
    char path[256];
};

/* What one thread of this process has in one attachment. */
struct tl_thread {
    struct tl_thread *next; /* the thread's other attachments */
    struct tlshm *t;
    struct tl_hand hand;
    volatile sig_atomic_t busy;                   /* inside a call: a signal handler must not come in */
    uint32_t record;                              /* where this thread looks for the next free record ... */
    uint32_t record_end;                          /* ... until here: its block of the table */
    uint32_t block;                               /* how many records it took last */
    struct tl_txn txn;                            /* the operation in the making: too large for every stack */
    struct tl_limits_memo memo[TLSHM_SCOPES_MAX]; /* what its scopes are limited to, by txn.cell */
    struct tl_ceiling ceiling[TL_CEILINGS];       /* what it lately found them to admit */
    struct tl_lane lane[TLSHM_SCOPES_MAX];        /* the cells of txn as it left them, see txn.lanes */
    struct tl_lanes lanes;
};

/* What this thread has in its attachments, and the fork generation that it had when it got it. */
extern __thread struct tl_thread *tl_segment_threads __attribute__((tls_model("initial-exec")));
extern __thread uint64_t tl_segment_generation __attribute__((tls_model("initial-exec")));

int tl_segment_enter_anew(struct tlshm *t, struct tl_thread **out);

/*
 * Was the segment lost (tlshm_fault())? What is found in its memory from then on means nothing. Looked at when a call
 * enters, and again before it answers (tl_segment_answer()).
 */
TL_INLINE bool tl_segment_lost(const struct tlshm *t)
{
    return TL_UNLIKELY(tl_load_relaxed(&t->lost) != 0);
}

TL_INLINE int tl_segment_answer(const struct tlshm *t, int rc)
{
    return tl_segment_lost(t) ? -TLSHM_ETRUNCATED : rc;
}

/*
 * For a call that only looks: what this thread has here already, if it is not inside a call; else NULL. Not for long: it is
 * left with tl_segment_leave().
 */
TL_INLINE struct tl_thread *tl_segment_visit(const struct tlshm *t)
{
    struct tl_thread *thread = tl_segment_threads;
    bool mine = thread && thread->t == t && tl_load_relaxed(tl_os_fork_word) == tl_segment_generation;
    if (TL_UNLIKELY(!mine || thread->busy || tl_segment_lost(t)))
        return NULL;
    thread->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    return thread;
}

/*
 * Enters a call that writes: finds or makes the thread's seat. On 0 the caller leaves with tl_segment_leave().
 * 0, -TLSHM_EINVAL, -TLSHM_EREADONLY, -TLSHM_EREENTRANT, -TLSHM_ENOSEAT, -TLSHM_ENOMEM, -TLSHM_ETRUNCATED: it was lost.
 */
TL_INLINE int tl_segment_enter(struct tlshm *t, struct tl_thread **out)
{
    struct tl_thread *thread = tl_segment_visit(t);
    if (TL_UNLIKELY(!thread))
        return tl_segment_enter_anew(t, out);
    *out = thread;
    return 0;
}

TL_INLINE void tl_segment_leave(struct tl_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = 0;
}

/* A hand that only looks: no seat, no thread. */
void tl_segment_look(struct tlshm *t, struct tl_hand *hand);

/* The caller's own overrun rule, or NULL. */
void tl_segment_overrun(struct tlshm *t, tlshm_overrun_function *function, void **context);

/* Sets it; the former one stays readable for calls that are using it. 0 or -TLSHM_ENOMEM. */
int tl_segment_set_overrun(struct tlshm *t, tlshm_overrun_function function, void *context);

/* Does the attachment's path lead elsewhere now? */
bool tl_segment_unlinked(const struct tlshm *t);

/* The levels that every segment has, the most shared first: a level's rank is its index. */
enum { TL_SEGMENT_LEVELS = 6 };
extern const char *const tl_segment_levels[TL_SEGMENT_LEVELS];

int tl_segment_path(const char *name, char *buf, size_t size);
int tl_segment_create(const char *name, const tlshm_geometry *geometry, struct tlshm_error *err);
int tl_segment_attach(struct tlshm **out, const char *name, unsigned flags, struct tlshm_error *err);
void tl_segment_detach(struct tlshm *t);
void tl_segment_release(struct tlshm *t);
int tl_segment_destroy(const char *name, struct tlshm_error *err);

#endif
