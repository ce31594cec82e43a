/* SPDX-License-Identifier: MIT */
/*
 * seat.h - a thread's place in the segment, and who may have it next.
 *
 * A seat is held through a robust, process-shared mutex that the thread locks when it takes the seat and keeps locked
 * for its life. Only the kernel decides that a thread is dead: trylock then says owner-died, also after exec, after a kill
 * inside another pid namespace, or while a forked child lives on. A thread that is alive, stopped or has closed every
 * descriptor keeps its seat. One that unmapped the segment behind our back keeps it for ever: that seat is lost, nobody
 * waits for it.
 */
#ifndef TL_SEAT_H
#define TL_SEAT_H

#include "txn.h"

/*
 * Takes a free seat, or that of a dead thread after finishing what it left. Sets hand->seat. 0, -TLSHM_ENOSEAT,
 * -TLSHM_ECORRUPT. The search starts at `start`, any number.
 */
int tl_seat_take(struct tl_hand *hand, uint32_t start);

/*
 * Gives the calling thread's seat back. False: a mutex could not be let go, because somebody wrote into it; then the
 * mapping must stay for as long as the process lives.
 */
bool tl_seat_release(struct tl_hand *hand);

/*
 * Frees the seat of a dead thread after finishing what it left; carries the open operation of any other thread to its
 * decision. `freed` and `finished` count. Needs no seat.
 */
void tl_seat_visit(struct tl_hand *hand, uint32_t seat, uint64_t *freed, uint64_t *finished);

#endif
