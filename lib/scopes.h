/* SPDX-License-Identifier: MIT */
/* scopes.h - keys as callers write them: checked, split into level and id, resolved to handles. */
#ifndef TL_SCOPES_H
#define TL_SCOPES_H

#include "segment.h"

/* 0, or -TLSHM_EKEY: no level, empty id (but for "global:"), too long, control characters, not UTF-8. */
int tl_scopes_check(const char *key, size_t len);

/* Names of tiers and levels: 1 to TLSHM_NAME_MAX letters, digits, '.', '_', '-'. 0 or -TLSHM_EINVAL. */
int tl_scopes_check_name(const char *name);

/*
 * The handle of a checked or unchecked key; creates the scope when the thread may write and `make`. 0, -TLSHM_EKEY,
 * -TLSHM_ELEVEL, -TLSHM_ENOENT (not made), -TLSHM_ENOROOM, -TLSHM_ECORRUPT.
 */
int tl_scopes_resolve(struct tlshm *t, struct tl_hand *hand, const char *key, size_t len, bool make, uint64_t *handle);

/* The same, not believing what this process remembers: after a handle proved stale. */
int tl_scopes_resolve_anew(struct tlshm *t, struct tl_hand *hand, const char *key, size_t len, uint64_t *handle);

/* Makes the scope of a sound key whose level may be gone still: keys of such a level don't resolve. As above. */
int tl_scopes_make_early(struct tl_hand *hand, const char *key, uint64_t *handle);

/* The cell of a level or a tier ("level", "agent"). 0, -TLSHM_ENOENT, -TLSHM_ECORRUPT. */
int tl_scopes_internal(struct tl_hand *hand, const char *kind, const char *name, uint32_t *cell);

/*
 * Makes it, gone, if it is not there; one that is gone gets the rank. It is there when its policy word says so. 0,
 * -TLSHM_ENOROOM, -TLSHM_ECORRUPT.
 */
int tl_scopes_make_internal(struct tl_hand *hand, const char *kind, const char *name, uint64_t rank, uint32_t *cell);

/* Was it unset, or never set? */
bool tl_scopes_internal_gone(struct tl_hand *hand, uint32_t cell);

/* The name behind "level:" or "tier:" of an internal cell; false if it is not of that kind. */
bool tl_scopes_internal_name(struct tl_hand *hand, uint32_t cell, const char *kind, char name[TLSHM_NAME_MAX + 1]);

#endif
