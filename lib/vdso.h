/* SPDX-License-Identifier: MIT */
/*
 * vdso.h - the kernel's clock_gettime(), which it maps into every process: called without the C library in between, whose
 * part of a coarse reading is a third.
 */
#ifndef TL_VDSO_H
#define TL_VDSO_H

#include <time.h>

typedef int (*tl_vdso_clock)(clockid_t id, struct timespec *out);

/* The C library's where the kernel has none or it is not found. Safe from any thread and in a signal handler. */
tl_vdso_clock tl_vdso_find_clock(void);

#endif
