/* SPDX-License-Identifier: MIT */
/*
 * reservations.c - the view of many reservations, and one reservation explained.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/model.h>

#include "inspect.h"

/* ---------------------------------------------------------------------------------------------------------- picking */

static bool names_scope(const struct inspect *in, const tlshm_reservation_info *info, const char *key)
{
    char other[TLSHM_KEY_MAX + 1];
    for (unsigned i = 0; i < info->scope_count; i++)
        if (tlshm_scope_key(in->tlshm, info->scopes[i], other, sizeof other) >= 0 && strcmp(other, key) == 0)
            return true;
    return false;
}

static bool passes(const struct inspect *in, const tlshm_reservation_info *info)
{
    return (in->status == 0 || (int)info->status == in->status) && (in->pid == 0 || info->owner_pid == in->pid) &&
           (in->scope == NULL || names_scope(in, info, in->scope));
}

int reservations_pick(const struct inspect *in, struct picks *p)
{
    uint64_t cursor = 0;
    tlshm_reservation_info info;
    int rc;
    while ((rc = tlshm_reservation_next(in->tlshm, &cursor, &info)) > 0)
        if (passes(in, &info) && (rc = picks_add(p, -(double)info.age_ns, info.id)) != 0)
            return rc;
    picks_sort(p);
    return rc;
}

/* ---------------------------------------------------------------------------------------------------------- showing */

static void scopes_of(struct emit *e, const struct inspect *in, const tlshm_reservation_info *info)
{
    char key[TLSHM_KEY_MAX + 1];
    emit_array_begin(e, "scopes");
    for (unsigned i = 0; i < info->scope_count; i++)
        if (tlshm_scope_key(in->tlshm, info->scopes[i], key, sizeof key) >= 0)
            emit_text(e, NULL, key);
        else
            emit_text(e, NULL, "?");
    emit_array_end(e);
}

static const char *outcome_name(const tlshm_reservation_info *info)
{
    static const char *const names[] = {
        [TLSHM_EXACT] = "exact", [TLSHM_UNKNOWN] = "unknown", [TLSHM_AT_LEAST] = "at_least"};
    return (unsigned)info->outcome < sizeof names / sizeof *names ? names[info->outcome] : "?";
}

/* What it is for: "provider/model", or as it was named. */
static void emit_model(struct emit *e, const struct inspect *in, const tlshm_reservation_info *info)
{
    tlshm_model_info model;
    char text[2 * TLSHM_MODEL_MAX + 2];
    if (!info->model || tlshm_model_get(in->tlshm, info->model, &model) < 0) {
        emit_null(e, "model", "-");
        return;
    }
    snprintf(text, sizeof text, "%s%s%s", model.provider, model.provider[0] ? "/" : "", model.model);
    emit_text(e, "model", text);
}

static void emit_rest(struct emit *e, const tlshm_reservation_info *info)
{
    if (info->status == TLSHM_SETTLED)
        emit_text(e, "outcome", outcome_name(info));
    else
        emit_null(e, "outcome", "-");
    if (info->idempotency_len > 0)
        emit_bytes(e, "idempotency_key", info->idempotency_key, info->idempotency_len);
    else
        emit_null(e, "idempotency_key", "-");
}

static void emit_info(struct emit *e, const struct inspect *in, const tlshm_reservation_info *info)
{
    emit_id(e, "id", info->id);
    emit_text(e, "status", tlshm_status_name((int)info->status));
    emit_duration(e, "age_ns", info->age_ns);
    if (info->status == TLSHM_HELD)
        emit_duration(e, "expires_in_ns", info->expires_in_ns);
    else
        emit_null(e, "expires_in_ns", "-");
    if (info->status != TLSHM_HELD)
        emit_duration(e, "ended_ago_ns", info->ended_ago_ns);
    else
        emit_null(e, "ended_ago_ns", "-");
    owner_emit(e, info->owner_pid);
    emit_amounts(e, "estimate", &info->estimate);
    emit_amounts(e, "charged", &info->charged);
    scopes_of(e, in, info);
    emit_plain(e, "tag", info->tag);
    emit_model(e, in, info);
    emit_rest(e, info);
}

/* When it ends or ended, in one column. */
static const char *end_text(const tlshm_reservation_info *info, char *buf, size_t size)
{
    char figure[EMIT_FIGURE];
    if (info->status == TLSHM_HELD)
        snprintf(buf, size, "in %s", emit_human_duration(info->expires_in_ns, figure));
    else
        snprintf(buf, size, "%s ago", emit_human_duration(info->ended_ago_ns, figure));
    return buf;
}

/* As much as a line has room for. */
static void emit_row(struct emit *e, const struct inspect *in, const tlshm_reservation_info *info)
{
    char text[AMOUNTS_TEXT_MAX];
    emit_id(e, "id", info->id);
    emit_text(e, "status", tlshm_status_name((int)info->status));
    emit_duration(e, "age", info->age_ns);
    emit_text(e, "ends", end_text(info, text, sizeof text));
    owner_emit(e, info->owner_pid);
    emit_text(e, "estimate", amounts_text(info->estimate.of, false, text, sizeof text));
    emit_text(e, "charged", amounts_text(info->charged.of, false, text, sizeof text));
    emit_plain(e, "tag", info->tag);
    emit_model(e, in, info);
    scopes_of(e, in, info);
}

void reservations_emit(struct emit *e, const struct inspect *in, const struct picks *p, uint64_t max)
{
    tlshm_reservation_info info;
    for (size_t i = 0; i < p->count && i < max; i++) {
        if (tlshm_reservation(in->tlshm, p->all[i].what, &info) != 0)
            continue; /* its place was needed since it was picked */
        emit_object_begin(e, NULL);
        if (emit_is_json(e))
            emit_info(e, in, &info);
        else
            emit_row(e, in, &info);
        emit_object_end(e);
    }
}

int view_reservations(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    return picks_view(context, "reservations", reservations_pick, reservations_emit, "no reservation matches");
}

/* ----------------------------------------------------------------------------------------------------- one explained */

static void explain_held(FILE *out, const tlshm_reservation_info *info)
{
    char left[EMIT_FIGURE];
    fprintf(
        out,
        "It is live: its estimate counts as held on every scope below. Unless it is settled, refunded or extended,\n"
        "it expires in %s and is given back.\n",
        emit_human_duration(info->expires_in_ns, left));
}

static void explain_ended(FILE *out, const tlshm_reservation_info *info)
{
    char ago[EMIT_FIGURE];
    emit_human_duration(info->ended_ago_ns, ago);
    switch (info->status) {
    case TLSHM_SETTLED:
        fprintf(out, "It was settled %s ago%s.\n", ago,
                info->outcome == TLSHM_UNKNOWN    ? "; what was used is unknown, so the estimate was charged"
                : info->outcome == TLSHM_AT_LEAST ? "; only a part of the use was known, so the larger of that and the "
                                                    "estimate was charged"
                                                  : " with the actual use");
        break;
    case TLSHM_REFUNDED:
        fprintf(out, "It was refunded %s ago: nothing is held, and nothing but the request itself was charged.\n", ago);
        break;
    default:
        fprintf(out,
                "It expired %s ago: nobody settled it in time, nothing is held any more. A late settle still records\n"
                "the use, once.\n",
                ago);
    }
}

static void explain(FILE *out, const tlshm_reservation_info *info)
{
    char age[EMIT_FIGURE], command[64];
    fprintf(out, "Reservation %016" PRIx64 " is %s.\n", info->id, tlshm_status_name((int)info->status));
    fprintf(out, "It was reserved %s ago by process %" PRIu32, emit_human_duration(info->age_ns, age), info->owner_pid);
    if (owner_command(info->owner_pid, command, sizeof command))
        fprintf(out, ", which is now \"%s\" here.\n", command);
    else
        fprintf(out, "; there is no such process here any more.\n");
    if (info->status == TLSHM_HELD)
        explain_held(out, info);
    else
        explain_ended(out, info);
}

static bool parse_id(const char *text, tlshm_id *id)
{
    char *end;
    errno = 0;
    if (text[strspn(text, "0123456789abcdefABCDEF")] != '\0' || text[0] == '\0')
        return false;
    *id = strtoull(text, &end, 16);
    return errno == 0 && *end == '\0' && *id != 0;
}

int view_reservation(void *context, int argc, char **argv)
{
    struct inspect *in = context;
    tlshm_reservation_info info;
    tlshm_id id;
    (void)argc;
    if (!parse_id(argv[0], &id))
        return options_complain(in->tool, "'%s' is no reservation id: up to 16 hexadecimal digits", argv[0]);
    int rc = tlshm_reservation(in->tlshm, id, &info);
    if (rc != 0)
        return inspect_fail(in, rc);
    struct emit *e = inspect_emit(in);
    if (!in->json) {
        explain(in->out, &info);
        fputc('\n', in->out);
    }
    emit_info(e, in, &info);
    return inspect_end(in, e, 0);
}
