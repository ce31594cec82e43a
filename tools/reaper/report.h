/* SPDX-License-Identifier: MIT */
/*
 * report.h - the figures of one pass, for every output alike.
 */
#ifndef TLSHM_REAPER_REPORT_H
#define TLSHM_REAPER_REPORT_H

#include <tlshm/admin.h>

#include "emit.h"

/* Adds the figures to the object that is open. */
void report_emit(struct emit *e, const tlshm_reap_report *report);

#endif
