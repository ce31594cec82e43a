/* SPDX-License-Identifier: MIT */
/*
 * seats.c - the view of seats: which threads use the segment, which of them are dead.
 */
#include "inspect.h"

static const char *state_name(enum tlshm_seat_state state)
{
    return state == TLSHM_SEAT_TAKEN ? "TAKEN" : state == TLSHM_SEAT_DEAD ? "DEAD" : "FREE";
}

static void seat_emit(struct emit *e, const tlshm_seat_info *seat)
{
    emit_object_begin(e, NULL);
    emit_plain(e, "seat", seat->seat);
    emit_text(e, "state", state_name(seat->state));
    owner_emit(e, seat->pid);
    emit_plain(e, "thread", seat->tid);
    emit_duration(e, "age_ns", seat->age_ns);
    emit_bool(e, "in_call", seat->in_call != 0);
    emit_u64(e, "operations", seat->operations);
    emit_object_end(e);
}

int view_seats(void *context, int argc, char **argv)
{
    struct inspect *in = context;
    tlshm_seat_info seat;
    uint64_t cursor = 0, shown = 0;
    int rc;
    (void)argc, (void)argv;
    struct emit *e = inspect_emit(in);
    emit_array_begin(e, "seats");
    while ((rc = tlshm_seat_next(in->tlshm, &cursor, &seat)) > 0)
        if (seat.state != TLSHM_SEAT_FREE && shown++ < in->rows_max)
            seat_emit(e, &seat);
    emit_array_end(e);
    if (!in->json && shown == 0)
        fputs("no seat is taken\n", in->out);
    return inspect_end(in, e, rc);
}
