/* SPDX-License-Identifier: MIT */
/*
 * report.c - the figures of one pass, for every output alike.
 */
#include "report.h"

void report_emit(struct emit *e, const tlshm_reap_report *report)
{
    emit_u64(e, "expired", report->expired);
    emit_duration(e, "lag_max_ns", report->lag_max_ns);
    emit_u64(e, "seats_freed", report->seats_freed);
    emit_u64(e, "finished", report->finished);
    emit_u64(e, "live", report->live);
    emit_duration(e, "next_due_ns", report->next_due_ns);
}
