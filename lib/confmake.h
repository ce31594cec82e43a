/* SPDX-License-Identifier: MIT */
/* confmake.h - what differs between a segment and a configuration, made to be so at one instant. */
#ifndef TL_CONFMAKE_H
#define TL_CONFMAKE_H

#include "confdiff.h"
#include "segment.h"

/*
 * Makes all changes but the fixed ones. What is new is made where nobody sees it; then all policy words turn at once
 * (change.h). 0; or an error, then nothing is in force that was not, and `failed` is the change that could not be prepared,
 * or NULL. -TLSHM_ECONTENDED: others changed limits again and again, or apply a configuration.
 */
int tl_confmake(struct tlshm *t, const struct tl_changes *changes, const struct tl_change **failed);

#endif
