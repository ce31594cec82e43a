/* SPDX-License-Identifier: MIT */
/*
 * guard.h - attaching so that a segment whose file is cut short is an error of the calls and not the end of the tool:
 * SIGBUS in a guarded segment is answered with tlshm_fault(); elsewhere it does what it does without.
 */
#ifndef TOOLS_GUARD_H
#define TOOLS_GUARD_H

#include <tlshm.h>

/* As tlshm_attach() and tlshm_detach(). From one thread only. */
int guard_attach(tlshm_t **out, const char *name, unsigned flags, struct tlshm_error *err);
void guard_detach(tlshm_t *t);

#endif
