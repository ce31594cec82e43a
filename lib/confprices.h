/* SPDX-License-Identifier: MIT */
/* confprices.h - the sections `prices` and `estimates` of a configuration file. */
#ifndef TL_CONFPRICES_H
#define TL_CONFPRICES_H

#include "conffields.h"

void tl_confprices_read(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                        const struct tl_node *value);
void tl_confprices_estimates(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                             const struct tl_node *value);

#endif
