/* SPDX-License-Identifier: MIT */
/* counts.h - from a provider's figures to counts of one meaning. */
#ifndef TL_COUNTS_H
#define TL_COUNTS_H

#include <tlshm/counts.h>

#include "report.h"

/* The counts of all that is known; `others` is what another model used. Zeros where nothing is known. */
void tl_counts_of(const struct tl_known *known, int provider, tlshm_counts *counts, tlshm_counts *others);

/* Did the provider tell any use at all; did it tell the input, or what leaves no doubt about it? */
bool tl_counts_any(const struct tl_known *known);
bool tl_counts_whole(const struct tl_known *known);

#endif
