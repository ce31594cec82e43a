/* SPDX-License-Identifier: MIT */
/* seat.c - taking, releasing and inheriting seats. See seat.h. */
#include "seat.h"

#include <errno.h>

#include "os.h"

/* The epoch grows whenever a seat changes hands: claims and ties of the former owner become stale. */
static void next_epoch(struct shm_seat *seat)
{
    tl_store_release(&seat->epoch, tl_load_relaxed(&seat->epoch) + 1);
}

/*
 * The C library believes what a mutex in memory says of its own kind, and aborts on kinds that cannot be. So one that is
 * not of the kind that the segment was made with is not touched.
 */
static bool is_robust(const pthread_mutex_t *lock)
{
#ifdef __GLIBC__
    static const int kind = 0x10 | 0x80;           /* robust, shared among processes: what layout.c asks for */
    return (lock->__data.__kind & ~0x100) == kind; /* 0x100: no elision, which some processors set */
#else
    (void)lock;
    return true;
#endif
}

/* Locks the seat if its owner is gone or there is none. 1: free; 2: its owner died; 0: taken. */
static int try_lock(struct shm_seat *seat)
{
    if (!is_robust(&seat->lock))
        return 0;
    switch (pthread_mutex_trylock(&seat->lock)) {
    case 0:
        return 1;
    case EOWNERDEAD:
        pthread_mutex_consistent(&seat->lock);
        return 2;
    default:
        return 0;
    }
}

/*
 * A mutex that somebody wrote into while it was held is not touched either, and one that says that it is not ours cannot
 * be unlocked: then it stays in the C library's list of held mutexes, and its memory must stay too.
 */
static void unlock(struct tl_hand *hand, struct shm_seat *seat)
{
    if (!is_robust(&seat->lock) || pthread_mutex_unlock(&seat->lock) != 0)
        hand->stuck = true;
}

/* Locked: finishes what the former owner left. A seat that says nonsense is let go again, for nobody to use. */
static int inherit(struct tl_hand *hand, uint32_t index)
{
    hand->seat = &hand->map->seats[index];
    hand->seat_index = index;
    int rc = tl_txn_inherit(hand);
    if (rc == 0) {
        next_epoch(hand->seat);
        return 0;
    }
    unlock(hand, hand->seat);
    hand->seat = NULL;
    return rc;
}

int tl_seat_take(struct tl_hand *hand, uint32_t start)
{
    const struct tl_map *map = hand->map;
    for (uint32_t i = 0; i < map->seat_count; i++) {
        uint32_t index = (start + i) % map->seat_count;
        if (!try_lock(&map->seats[index]))
            continue;
        if (inherit(hand, index) < 0)
            continue;
        tl_store_relaxed(&hand->seat->pid, tl_os_pid());
        tl_store_relaxed(&hand->seat->tid, tl_os_tid());
        tl_store_relaxed(&hand->seat->since, tl_clock_now(&hand->clock));
        hand->owner = tl_body_owner(tl_os_pid(), tl_load_relaxed(&hand->seat->epoch), index);
        return 0;
    }
    return -TLSHM_ENOSEAT;
}

static void let_go(struct tl_hand *hand, struct shm_seat *seat)
{
    tl_store_relaxed(&seat->pid, 0);
    tl_store_relaxed(&seat->tid, 0);
    next_epoch(seat);
    unlock(hand, seat);
}

bool tl_seat_release(struct tl_hand *hand)
{
    let_go(hand, hand->seat);
    hand->seat = NULL;
    return !hand->stuck;
}

void tl_seat_visit(struct tl_hand *hand, uint32_t seat, uint64_t *freed, uint64_t *finished)
{
    struct tl_hand visitor = {.map = hand->map, .seat = hand->seat, .seat_index = hand->seat_index};
    tl_clock_copy(&visitor.clock, &hand->clock);
    if (seat == hand->seat_index && hand->seat)
        return;
    struct shm_seat *visited = &hand->map->seats[seat];
    if (tl_load_relaxed(&visited->pid) == 0)
        return; /* free; a seat that died between lock and pid is taken over by whoever needs one */
    int locked = try_lock(visited);
    if (locked) { /* without a dead owner it was released since the look above: it is let go all the same */
        *finished += tl_load(&visited->cur) & 1;
        if (inherit(&visitor, seat) == 0) {
            let_go(&visitor, visited);
            *freed += locked == 2;
        }
        hand->stuck |= visitor.stuck;
    } else if (tl_load(&visited->cur) & 1) {
        *finished += tl_txn_help(&visitor, seat);
    }
}
