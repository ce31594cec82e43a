/* SPDX-License-Identifier: MIT */
/*
 * figures.c - loads, limits, scopes and owners, as every view shows them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "term.h"

enum { BAR_CELLS = 20, LIMIT_TEXT_MAX = 160 };

/* Where a bar turns yellow and red. */
static const double warm = 80, hot = 95, full = 100;

double load_percent(const tlshm_limit_usage *usage)
{
    if (usage->limit.cap == TLSHM_UNLIMITED)
        return -1;
    if (usage->limit.cap == 0)
        return full;
    return full * ((double)usage->used + (double)usage->held) / (double)usage->limit.cap;
}

const tlshm_limit_usage *load_tightest(const tlshm_scope_usage *usage, int unit)
{
    const tlshm_limit_usage *best = NULL;
    for (unsigned i = 0; i < usage->limit_count; i++) {
        const tlshm_limit_usage *at = &usage->limits[i];
        if (at->limit.window.kind == TLSHM_WINDOW_REQUEST || (unit >= 0 && (int)at->limit.unit != unit))
            continue; /* nothing fills a limit on single requests */
        if (best == NULL || load_percent(at) > load_percent(best))
            best = at;
    }
    return best;
}

void load_bar(FILE *out, double percent)
{
    if (!term_is(out) || percent < 0)
        return;
    int cells = percent >= full ? BAR_CELLS : (int)(percent / full * BAR_CELLS);
    enum term_style style = percent >= hot ? TERM_RED : percent >= warm ? TERM_YELLOW : TERM_GREEN;
    fprintf(out, "[%s", term_style(out, style));
    for (int i = 0; i < BAR_CELLS; i++)
        fputc(i < cells ? '#' : '.', out);
    fprintf(out, "%s]", term_style(out, TERM_PLAIN));
}

/* ---------------------------------------------------------------------------------------------------------- limits */

static void percent_emit(struct emit *e, double percent)
{
    if (percent < 0)
        emit_null(e, "percent", "-");
    else
        emit_real(e, "percent", percent, 1);
}

void limit_emit(struct emit *e, const tlshm_limit_usage *usage, int64_t wall_ns)
{
    char text[LIMIT_TEXT_MAX];
    enum tlshm_unit unit = usage->limit.unit;
    tlshm_limit_format(&usage->limit, text, sizeof text);
    emit_text(e, "limit", text);
    if (emit_is_json(e)) {
        emit_text(e, "unit", tlshm_unit_name((int)unit));
        emit_amount(e, "cap", unit, usage->limit.cap);
    }
    emit_amount(e, "used", unit, usage->used);
    emit_amount(e, "held", unit, usage->held);
    emit_remaining(e, "remaining", unit, usage->remaining);
    percent_emit(e, load_percent(usage));
    emit_duration(e, "frees_in_ns", usage->frees_in_ns);
    if (!emit_is_json(e))
        return;
    if (usage->frees_in_ns == TLSHM_NEVER)
        emit_null(e, "frees_at_ns", "never");
    else
        emit_time(e, "frees_at_ns", wall_ns + (int64_t)usage->frees_in_ns);
}

/* ---------------------------------------------------------------------------------------------------------- scopes */

static const char *source_name(enum tlshm_limits_source source)
{
    static const char *const names[] = {
        [TLSHM_LIMITS_NONE] = "none",
        [TLSHM_LIMITS_OWN] = "own",
        [TLSHM_LIMITS_TIER] = "tier",
        [TLSHM_LIMITS_DEFAULT] = "default",
    };
    return (unsigned)source < sizeof names / sizeof *names ? names[source] : "?";
}

static void totals_emit(struct emit *e, const char *key, const uint64_t of[TLSHM_UNITS])
{
    tlshm_amounts amounts;
    memcpy(amounts.of, of, sizeof amounts.of);
    emit_amounts(e, key, &amounts);
}

static void scope_emit_json(struct emit *e, const char *key, const tlshm_scope_usage *usage, int64_t wall_ns)
{
    emit_text(e, "scope", key);
    emit_bool(e, "seen", usage->seen != 0);
    emit_bool(e, "paused", usage->paused != 0);
    emit_bool(e, "shutoff", usage->shutoff != 0);
    emit_text(e, "limits_from", source_name(usage->source));
    if (usage->source == TLSHM_LIMITS_TIER || usage->source == TLSHM_LIMITS_DEFAULT)
        emit_text(e, "tier", usage->tier);
    else
        emit_null(e, "tier", "-");
    emit_array_begin(e, "limits");
    for (unsigned i = 0; i < usage->limit_count; i++) {
        emit_object_begin(e, NULL);
        limit_emit(e, &usage->limits[i], wall_ns);
        emit_object_end(e);
    }
    emit_array_end(e);
    totals_emit(e, "used_ever", usage->used);
    totals_emit(e, "held_now", usage->held);
}

static void scope_emit_row(struct emit *e, const struct inspect *in, const char *key, const tlshm_scope_usage *usage,
                           int64_t wall_ns)
{
    const tlshm_limit_usage *tightest = load_tightest(usage, in->unit);
    emit_text(e, "scope", key);
    if (tightest != NULL) {
        limit_emit(e, tightest, wall_ns);
    } else {
        int unit = in->unit < 0 ? TLSHM_TOKENS : in->unit;
        tlshm_limit_usage open = {.limit = {.unit = (enum tlshm_unit)unit, .cap = TLSHM_UNLIMITED}};
        emit_text(e, "limit", "none");
        emit_amount(e, "used", open.limit.unit, usage->used[unit]);
        emit_amount(e, "held", open.limit.unit, usage->held[unit]);
        emit_remaining(e, "remaining", open.limit.unit, INT64_MAX);
        percent_emit(e, load_percent(&open));
        emit_duration(e, "frees_in_ns", TLSHM_NEVER);
    }
    emit_text(e, "flags", usage->shutoff ? "SHUTOFF" : usage->paused ? "PAUSED" : "");
    emit_text(e, "from", *usage->tier ? usage->tier : source_name(usage->source));
}

void scope_emit(struct emit *e, const struct inspect *in, const char *key, const tlshm_scope_usage *usage,
                int64_t wall_ns)
{
    if (emit_is_json(e))
        scope_emit_json(e, key, usage, wall_ns);
    else
        scope_emit_row(e, in, key, usage, wall_ns);
}

/* --------------------------------------------------------------------------------------------------------- amounts */

/* Appends "5,000 tokens" or "$0.20" to a list. */
static size_t append_amount(char *buf, size_t n, size_t size, enum tlshm_unit unit, uint64_t value)
{
    char figure[EMIT_FIGURE];
    int added = snprintf(buf + n, size - n, "%s%s%s%s", n > 0 ? ", " : "", emit_human_amount(unit, value, figure),
                         unit == TLSHM_COST ? "" : " ", unit == TLSHM_COST ? "" : tlshm_unit_name((int)unit));
    return added > 0 && n + (size_t)added < size ? n + (size_t)added : size - 1;
}

char *amounts_text(const uint64_t of[TLSHM_UNITS], bool with_calls, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (int unit = 0; unit < TLSHM_UNITS; unit++) {
        bool call = unit == TLSHM_REQUESTS || unit == TLSHM_CONCURRENCY;
        if (of[unit] > 0 && (with_calls || !call))
            n = append_amount(buf, n, size, (enum tlshm_unit)unit, of[unit]);
    }
    return buf;
}

/* ---------------------------------------------------------------------------------------------------------- owners */

bool owner_command(uint32_t pid, char *buf, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
    FILE *file = pid != 0 ? fopen(path, "re") : NULL;
    if (file == NULL)
        return false;
    bool read = fgets(buf, (int)size, file) != NULL;
    fclose(file);
    if (read)
        buf[strcspn(buf, "\n")] = '\0';
    return read;
}

void owner_emit(struct emit *e, uint32_t pid)
{
    char command[64];
    emit_plain(e, "owner_pid", pid);
    if (owner_command(pid, command, sizeof command))
        emit_text(e, "owner_command", command);
    else
        emit_null(e, "owner_command", "(gone)");
}
