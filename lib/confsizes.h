/* SPDX-License-Identifier: MIT */
/* confsizes.h - the section `geometry` of a configuration file. */
#ifndef TL_CONFSIZES_H
#define TL_CONFSIZES_H

#include "conffields.h"

/* What the geometry allows bounds what the file may say; without one, any segment that there can be does. */
void tl_confsizes_read(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                       const struct tl_node *value);

/* Once all is read: whether it fits into tables of these sizes. Faults are told at the key. */
void tl_confsizes_rooms(struct tl_reading *r, const struct tl_node *key);

#endif
