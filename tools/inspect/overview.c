/* SPDX-License-Identifier: MIT */
/*
 * overview.c - the segment at a glance: is it open, is it full, is the reaper alive, who is near a limit.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "inspect.h"
#include "term.h"

enum { LOADED_DEFAULT = 10, WARNINGS_MAX = 12, WARNING_TEXT_MAX = 256, LABEL_COLUMN = 14 };
enum { FRAME_LINES = 15 }; /* of a live view, without warnings and scopes */
#define NS_PER_S UINT64_C(1000000000)
#define REAPER_LATE_NS (10 * NS_PER_S) /* ten of its periods: it is gone or stuck */

static const uint64_t table_warm_percent = 90;

struct warnings {
    unsigned count;
    char text[WARNINGS_MAX][WARNING_TEXT_MAX];
};

/* ---------------------------------------------------------------------------------------------------------- warnings */

static __attribute__((format(printf, 2, 3))) void warn(struct warnings *w, const char *format, ...)
{
    if (w->count == WARNINGS_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(w->text[w->count++], WARNING_TEXT_MAX, format, arguments);
    va_end(arguments);
}

static void warn_table(struct warnings *w, const char *what, uint64_t taken, uint64_t room)
{
    if (room > 0 && taken * 100 >= room * table_warm_percent)
        warn(w, "the table of %s is nearly full: %" PRIu64 " of %" PRIu64, what, taken, room);
}

static void warn_reaper(struct warnings *w, const tlshm_segment_info *info)
{
    char age[EMIT_FIGURE];
    if (info->reaper_age_ns == TLSHM_NEVER)
        warn(w, "no reaper has looked after this segment yet; holds expire only when they stand in someone's way");
    else if (info->reaper_age_ns > REAPER_LATE_NS && !info->geometry.virtual_clock)
        warn(w, "the reaper's last pass was %s ago: is process %" PRIu32 " alive?",
             emit_human_duration(info->reaper_age_ns, age), info->reaper_pid);
}

static void collect(struct warnings *w, const tlshm_segment_info *info)
{
    if (info->shutoff)
        warn(w, "SHUT OFF: every new call is refused until someone runs tlshm resume");
    if (info->paused)
        warn(w, "PAUSED: every new call is refused until someone runs tlshm resume");
    if (info->destroyed || info->unlinked)
        warn(w, "the segment was %s; processes that attach now find another one, or none",
             info->destroyed ? "destroyed" : "removed or replaced");
    warn_reaper(w, info);
    warn_table(w, "scopes", info->scopes_live, info->geometry.scopes);
    warn_table(w, "reservations (held)", info->reservations_held, info->geometry.reservations);
    warn_table(w, "seats", info->seats_taken, info->geometry.seats);
    warn_table(w, "tiers", info->tiers, info->geometry.tiers);
    warn_table(w, "lists of limits", info->limit_lists_used, info->geometry.limit_lists);
    if (info->counters.early_reuse > 0)
        warn(w,
             "%" PRIu64 " expired records were reused before their retention was over: a late settle may be lost; "
             "the table of reservations is too small",
             info->counters.early_reuse);
}

static void emit_warnings(struct emit *e, const struct warnings *w)
{
    emit_array_begin(e, "warnings");
    for (unsigned i = 0; i < w->count; i++)
        emit_text(e, NULL, w->text[i]);
    emit_array_end(e);
}

/* -------------------------------------------------------------------------------------------------------------- JSON */

static void emit_identity(struct emit *e, const tlshm_segment_info *info)
{
    char text[EMIT_FIGURE];
    emit_text(e, "path", info->path);
    emit_u64(e, "bytes", info->bytes);
    emit_plain(e, "layout_version", info->version);
    snprintf(text, sizeof text, "%016" PRIx64, info->fingerprint);
    emit_text(e, "layout_fingerprint", text);
    emit_time(e, "created_at_ns", info->created_wall_ns);
    emit_duration(e, "age_ns", info->age_ns);
    emit_plain(e, "creator_pid", info->creator_pid);
    emit_bool(e, "virtual_clock", info->geometry.virtual_clock != 0);
    emit_bool(e, "destroyed", info->destroyed != 0);
    emit_bool(e, "unlinked", info->unlinked != 0);
    emit_bool(e, "paused", info->paused != 0);
    emit_bool(e, "shutoff", info->shutoff != 0);
    emit_text(e, "overrun", info->overrun == TLSHM_CAP_AT_ESTIMATE ? "cap" : "actual");
}

static void emit_table_row(struct emit *e, const char *table, uint64_t taken, uint64_t room)
{
    emit_object_begin(e, NULL);
    emit_text(e, "table", table);
    emit_u64(e, "taken", taken);
    emit_u64(e, "room", room);
    emit_real(e, "percent", room > 0 ? 100.0 * (double)taken / (double)room : 0, 1);
    emit_object_end(e);
}

static void emit_tables(struct emit *e, const tlshm_segment_info *info)
{
    emit_array_begin(e, "tables");
    emit_table_row(e, "scopes", info->scopes_live, info->geometry.scopes);
    emit_table_row(e, "reservations_held", info->reservations_held, info->geometry.reservations);
    emit_table_row(e, "reservations_ended", info->reservations_ended, info->geometry.reservations);
    emit_table_row(e, "seats", info->seats_taken, info->geometry.seats);
    emit_table_row(e, "tiers", info->tiers, info->geometry.tiers);
    emit_table_row(e, "limit_lists", info->limit_lists_used, info->geometry.limit_lists);
    emit_array_end(e);
    emit_object_begin(e, "geometry");
    emit_u64(e, "limits_per_scope", info->geometry.limits_per_scope);
    emit_u64(e, "slices", info->geometry.slices);
    emit_duration(e, "retention_ns", info->geometry.retention_ns);
    emit_object_end(e);
}

static void emit_reaper(struct emit *e, const tlshm_segment_info *info)
{
    emit_object_begin(e, "reaper");
    emit_duration(e, "last_pass_ago_ns", info->reaper_age_ns);
    if (info->reaper_age_ns == TLSHM_NEVER)
        emit_null(e, "pid", "none");
    else
        emit_plain(e, "pid", info->reaper_pid);
    emit_u64(e, "passes", info->reaper_passes);
    emit_duration(e, "lag_max_ns", info->reaper_lag_max_ns);
    emit_object_end(e);
}

static void emit_refused(struct emit *e, const tlshm_counters *c)
{
    emit_object_begin(e, "refused");
    for (int reason = TLSHM_ADMITTED + 1; reason < TLSHM_REASONS; reason++)
        emit_u64(e, tlshm_reason_name(reason), c->refused[reason]);
    emit_object_end(e);
}

static void emit_counters(struct emit *e, const tlshm_counters *c)
{
    emit_object_begin(e, "counters");
    emit_u64(e, "admitted", c->admitted);
    emit_u64(e, "replayed", c->replayed);
    emit_u64(e, "extended", c->extended);
    emit_u64(e, "settled", c->settled);
    emit_u64(e, "late", c->late);
    emit_u64(e, "refunded", c->refunded);
    emit_u64(e, "expired", c->expired);
    emit_u64(e, "retries", c->retries);
    emit_u64(e, "recycled", c->recycled);
    emit_u64(e, "early_reuse", c->early_reuse);
    emit_refused(e, c);
    emit_object_end(e);
}

/* ------------------------------------------------------------------------------------------------------------- rates */

/* What happened in a second, between the frame before and this one. */
struct rates {
    bool known;
    double admitted, refused, settled, refunded, expired, retries;
};

static uint64_t refused_sum(const tlshm_counters *c)
{
    uint64_t sum = 0;
    for (int reason = 0; reason < TLSHM_REASONS; reason++)
        sum += c->refused[reason];
    return sum;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static double rate(uint64_t before, uint64_t after, double seconds)
{
    return after > before && seconds > 0 ? (double)(after - before) / seconds : 0;
}

static struct rates take_rates(struct inspect *in, const tlshm_counters *c)
{
    uint64_t now = now_ns();
    double seconds = (double)(now - in->before_ns) / (double)NS_PER_S;
    const tlshm_counters *b = &in->before;
    struct rates r = {
        .known = in->has_before,
        .admitted = rate(b->admitted, c->admitted, seconds),
        .refused = rate(refused_sum(b), refused_sum(c), seconds),
        .settled = rate(b->settled, c->settled, seconds),
        .refunded = rate(b->refunded, c->refunded, seconds),
        .expired = rate(b->expired, c->expired, seconds),
        .retries = rate(b->retries, c->retries, seconds),
    };
    in->before = *c;
    in->before_ns = now;
    in->has_before = true;
    return r;
}

static void emit_rates(struct emit *e, const struct rates *r)
{
    if (!r->known)
        return;
    emit_object_begin(e, "per_second");
    emit_real(e, "admitted", r->admitted, 1);
    emit_real(e, "refused", r->refused, 1);
    emit_real(e, "settled", r->settled, 1);
    emit_real(e, "refunded", r->refunded, 1);
    emit_real(e, "expired", r->expired, 1);
    emit_real(e, "retries", r->retries, 1);
    emit_object_end(e);
}

/* -------------------------------------------------------------------------------------------------------------- text */

static void label(FILE *out, const char *text)
{
    fprintf(out, "%-*s", LABEL_COLUMN, text);
}

static void print_share(FILE *out, const char *what, uint64_t taken, uint64_t room)
{
    char a[EMIT_FIGURE], b[EMIT_FIGURE];
    label(out, what);
    fprintf(out, "%s of %s (%.1f %%)\n", emit_human_u64(taken, a), emit_human_u64(room, b),
            room > 0 ? 100.0 * (double)taken / (double)room : 0);
}

static void print_identity(FILE *out, const tlshm_segment_info *info)
{
    char age[EMIT_FIGURE], bytes[EMIT_FIGURE];
    const char *state = info->shutoff ? "SHUT OFF" : info->paused ? "PAUSED" : "open";
    enum term_style style = info->shutoff || info->paused ? TERM_RED : TERM_GREEN;
    fprintf(out, "%s%s%s  ", term_style(out, TERM_BOLD), info->path, term_style(out, TERM_PLAIN));
    fprintf(out, "%s%s%s\n", term_style(out, style), state, term_style(out, TERM_PLAIN));
    fprintf(out, "%s bytes, made %s ago by process %" PRIu32 "\n", emit_human_u64(info->bytes, bytes),
            emit_human_duration(info->age_ns, age), info->creator_pid);
    fprintf(out, "overruns are charged %s%s\n",
            info->overrun == TLSHM_CAP_AT_ESTIMATE ? "up to the estimate" : "in full",
            info->geometry.virtual_clock ? ", virtual clock" : "");
}

static void print_warnings(FILE *out, const struct warnings *w)
{
    for (unsigned i = 0; i < w->count; i++)
        fprintf(out, "%s! %s%s\n", term_style(out, TERM_RED), w->text[i], term_style(out, TERM_PLAIN));
    fputc('\n', out);
}

static void print_tables(FILE *out, const tlshm_segment_info *info)
{
    char ended[EMIT_FIGURE];
    print_share(out, "scopes", info->scopes_live, info->geometry.scopes);
    print_share(out, "holds", info->reservations_held, info->geometry.reservations);
    label(out, "");
    fprintf(out, "and %s ended ones that can still be read\n", emit_human_u64(info->reservations_ended, ended));
    print_share(out, "seats", info->seats_taken, info->geometry.seats);
    print_share(out, "limit lists", info->limit_lists_used, info->geometry.limit_lists);
}

static void print_reaper(FILE *out, const tlshm_segment_info *info)
{
    char age[EMIT_FIGURE], passes[EMIT_FIGURE], lag[EMIT_FIGURE];
    label(out, "reaper");
    if (info->reaper_age_ns == TLSHM_NEVER) {
        fputs("none yet\n", out);
        return;
    }
    fprintf(out, "process %" PRIu32 ", last pass %s ago, %s passes, worst lag %s\n", info->reaper_pid,
            emit_human_duration(info->reaper_age_ns, age), emit_human_u64(info->reaper_passes, passes),
            emit_human_duration(info->reaper_lag_max_ns, lag));
}

static void print_count(FILE *out, const char *word, uint64_t count, const struct rates *r, double per_second)
{
    char figure[EMIT_FIGURE];
    fprintf(out, "%s %s", word, emit_human_u64(count, figure));
    if (r->known)
        fprintf(out, " (%.1f/s)", per_second);
}

static void print_counters(FILE *out, const tlshm_counters *c, const struct rates *r)
{
    char a[EMIT_FIGURE], b[EMIT_FIGURE], d[EMIT_FIGURE];
    label(out, "calls");
    print_count(out, "admitted", c->admitted, r, r->admitted);
    print_count(out, ", refused", refused_sum(c), r, r->refused);
    fprintf(out, ", replayed %s, extended %s\n", emit_human_u64(c->replayed, a), emit_human_u64(c->extended, b));
    label(out, "ended");
    print_count(out, "settled", c->settled, r, r->settled);
    fprintf(out, ", late %s", emit_human_u64(c->late, a));
    print_count(out, ", refunded", c->refunded, r, r->refunded);
    print_count(out, ", expired", c->expired, r, r->expired);
    fputc('\n', out);
    label(out, "inside");
    print_count(out, "retries", c->retries, r, r->retries);
    fprintf(out, ", scopes recycled %s, records reused early %s\n", emit_human_u64(c->recycled, b),
            emit_human_u64(c->early_reuse, d));
}

static void print_refused(FILE *out, const tlshm_counters *c)
{
    char figure[EMIT_FIGURE];
    if (refused_sum(c) == 0)
        return;
    label(out, "refused for");
    const char *gap = "";
    for (int reason = 0; reason < TLSHM_REASONS; reason++) {
        if (c->refused[reason] == 0)
            continue;
        fprintf(out, "%s%s %s", gap, tlshm_reason_name(reason), emit_human_u64(c->refused[reason], figure));
        gap = ", ";
    }
    fputc('\n', out);
}

/* -------------------------------------------------------------------------------------------------------------- view */

/* A live view shows as many scopes as the screen has room for. */
static uint64_t loaded_rows(const struct inspect *in, const struct warnings *w)
{
    uint64_t rows = in->rows_max == UINT64_MAX ? LOADED_DEFAULT : in->rows_max;
    if (!in->watch || in->json || !term_is(in->out))
        return rows;
    uint64_t height = term_height(in->out), taken = FRAME_LINES + w->count;
    uint64_t room = height > taken ? height - taken : 1;
    return rows < room ? rows : room;
}

static void emit_loaded(struct emit *e, const struct inspect *in, const struct picks *picks, uint64_t rows)
{
    emit_array_begin(e, "most_loaded");
    scopes_emit(e, in, picks, rows);
    emit_array_end(e);
}

static int show_json(const struct inspect *in, const tlshm_segment_info *info, const struct warnings *w,
                     const struct rates *r, const struct picks *picks)
{
    struct emit *e = inspect_emit(in);
    emit_warnings(e, w);
    emit_identity(e, info);
    emit_tables(e, info);
    emit_reaper(e, info);
    emit_counters(e, &info->counters);
    emit_rates(e, r);
    emit_loaded(e, in, picks, loaded_rows(in, w));
    return inspect_end(in, e, 0);
}

static int show_text(const struct inspect *in, const tlshm_segment_info *info, const struct warnings *w,
                     const struct rates *r, const struct picks *picks)
{
    print_identity(in->out, info);
    print_warnings(in->out, w);
    print_tables(in->out, info);
    print_reaper(in->out, info);
    print_counters(in->out, &info->counters, r);
    print_refused(in->out, &info->counters);
    fputc('\n', in->out);
    struct emit *e = inspect_emit(in);
    emit_loaded(e, in, picks, loaded_rows(in, w));
    return inspect_end(in, e, 0);
}

int view_overview(void *context, int argc, char **argv)
{
    struct inspect *in = context;
    tlshm_segment_info info;
    struct picks picks = {0};
    struct warnings warnings = {0};
    (void)argc, (void)argv;
    int rc = tlshm_get_segment(in->tlshm, &info), exit_code;
    if (rc == 0)
        rc = scopes_pick(in, &picks);
    if (rc == 0) {
        struct rates rates = take_rates(in, &info.counters);
        collect(&warnings, &info);
        exit_code = in->json ? show_json(in, &info, &warnings, &rates, &picks)
                             : show_text(in, &info, &warnings, &rates, &picks);
    } else {
        exit_code = inspect_fail(in, rc);
    }
    picks_free(&picks);
    return exit_code;
}
