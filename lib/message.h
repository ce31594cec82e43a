/* SPDX-License-Identifier: MIT */
/* message.h - sentences of providers about their limits: what was hit, how much there is, when to try again. */
#ifndef TL_MESSAGE_H
#define TL_MESSAGE_H

#include "quota.h"

/* True if something was believed. What the text says of the limit that was hit goes before what is known already. */
bool tl_message_take(tlshm_quota *q, struct tl_slice text);

#endif
