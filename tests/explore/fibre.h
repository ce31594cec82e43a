/* SPDX-License-Identifier: MIT */
/*
 * fibre.h - the explored processes: each runs on a stack of its own and stops before every access to shared memory, until
 * it is stepped again. One that is never stepped again has been killed, or stopped for ever.
 */
#ifndef TLSHM_EXPLORE_FIBRE_H
#define TLSHM_EXPLORE_FIBRE_H

#include "atomic.h"

#define FIBRES 3
#define NO_FIBRE FIBRES

/* What all fibres of the next schedule run; they are as if never started. */
void fibre_begin(void (*body)(unsigned fibre));

/* Lets a fibre do the access before which it stands, and go on to the next one. False: it has come to its end. */
bool fibre_step(unsigned fibre);

/* The fibre that runs now; NO_FIBRE: the harness itself. */
unsigned fibre_running(void);

/* The access before which a fibre stands. NULL before its first step. */
const volatile void *fibre_address(unsigned fibre);
enum tl_access fibre_access(unsigned fibre);

/* The running fibre's accesses are no steps while this is on: the oracle looks from inside a compare-and-swap. */
void fibre_quiet(bool on);

/* Called when the harness's own looking takes more accesses than it ever should; it must not return. */
void fibre_watch(void (*give_up)(void));

/* Blocks are copied word by word, and each access is a step. */
extern bool every_word;
void every_hook(enum tl_access access, const volatile void *address);

#endif
