/* SPDX-License-Identifier: MIT */
/*
 * confread.h - a tree of nodes as a configuration: which keys there are, and what each may say.
 *
 * The keys of a file are checked in an order of their own, not of the file, so that a section may use what another one
 * says: windows before limits, geometry before what it bounds, tiers before levels and scopes.
 */
#ifndef TL_CONFREAD_H
#define TL_CONFREAD_H

#include "confmodel.h"
#include "conftree.h"

/*
 * Fills an empty configuration. What is wrong is added to `faults`; then the configuration is worth nothing. 0 or
 * -TLSHM_ENOMEM.
 */
int tl_confread(tlshm_config *config, const struct tl_node *root, struct tl_faults *faults);

#endif
