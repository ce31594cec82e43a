/* SPDX-License-Identifier: MIT */
/*
 * scope.c - one scope explained: what limits it, what it holds and for whom, and whether a new call would pass.
 *
 * The limiter itself is asked when such a call would fit. It names one limit only: what is told of each, and when it gets
 * its first relief, is from a look.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "inspect.h"
#include "term.h"

enum { SENTENCE_MAX = 512, LIMIT_TEXT_MAX = 160, SENTENCES_MAX = TLSHM_LIMITS_MAX + 4 };
#define NS_PER_S INT64_C(1000000000)

/* What there is to know about one scope, and what follows from it for a new call. */
struct story {
    const struct inspect *in;
    const char *key;
    int64_t wall_ns;
    tlshm_scope_usage usage;
    tlshm_segment_info segment;
    struct picks holds;
    uint64_t first_hold_ends_ns; /* TLSHM_NEVER: it holds nothing */
    uint64_t fits_in_ns;         /* 0: now; TLSHM_NEVER: waiting does not help */
    unsigned refusals;
    char why[SENTENCES_MAX][SENTENCE_MAX];
};

/* --------------------------------------------------------------------------------------------------- would it pass? */

static char *sentence(struct story *s)
{
    return s->why[s->refusals < SENTENCES_MAX - 1 ? s->refusals++ : SENTENCES_MAX - 1];
}

static void check_flags(struct story *s)
{
    if (s->segment.shutoff)
        snprintf(sentence(s), SENTENCE_MAX, "the whole segment is shut off, until someone resumes it (tlshm resume)");
    if (s->segment.paused)
        snprintf(sentence(s), SENTENCE_MAX, "the whole segment is paused, until someone resumes it (tlshm resume)");
    if (s->usage.shutoff)
        snprintf(sentence(s), SENTENCE_MAX, "the scope is shut off, until someone resumes it (tlshm resume %s)",
                 s->key);
    if (s->usage.paused)
        snprintf(sentence(s), SENTENCE_MAX, "the scope is paused, until someone resumes it (tlshm resume %s)", s->key);
}

static bool asked_anything(const tlshm_amounts *asked)
{
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (asked->of[unit] > 0)
            return true;
    return false;
}

/* What the call needs of a unit: it is one request and one hold; if its size was left open, at least one of all else. */
static uint64_t need(const struct story *s, enum tlshm_unit unit)
{
    uint64_t asked = s->in->asked.of[unit];
    bool always = unit == TLSHM_REQUESTS || unit == TLSHM_CONCURRENCY || !asked_anything(&s->in->asked);
    return asked == 0 && always ? 1 : asked;
}

static char *clock_text(const struct story *s, uint64_t in_ns, char *buf)
{
    time_t at = (time_t)((s->wall_ns + (int64_t)in_ns) / NS_PER_S);
    struct tm parts;
    if (gmtime_r(&at, &parts) == NULL || strftime(buf, EMIT_FIGURE, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        strcpy(buf, "?");
    return buf;
}

/* "frees up in ..." for use; and for holds the deadline of the first. */
static void append_relief(const struct story *s, const tlshm_limit_usage *at, char *text)
{
    char in_text[EMIT_FIGURE], at_text[EMIT_FIGURE];
    size_t n = strlen(text);
    const char *word = at->limit.window.kind == TLSHM_WINDOW_CALENDAR ? "the period ends" : "use frees up";
    if (at->used > 0 && at->frees_in_ns != TLSHM_NEVER) {
        snprintf(text + n, SENTENCE_MAX - n, "; %s in %s, at %s", word, emit_human_duration(at->frees_in_ns, in_text),
                 clock_text(s, at->frees_in_ns, at_text));
        n = strlen(text);
    }
    if (at->held > 0 && s->first_hold_ends_ns != TLSHM_NEVER)
        snprintf(text + n, SENTENCE_MAX - n, "; the first hold ends in %s at the latest",
                 emit_human_duration(s->first_hold_ends_ns, in_text));
    else if (at->used > 0 && at->frees_in_ns == TLSHM_NEVER)
        snprintf(text + n, SENTENCE_MAX - n, "; waiting does not help, only a higher limit does");
}

/* A limit on single requests: it counts nothing, so neither use nor waiting comes into it. */
static void check_request(struct story *s, const tlshm_limit *limit)
{
    char text[LIMIT_TEXT_MAX], wanted[EMIT_FIGURE], above[EMIT_FIGURE];
    tlshm_limit_format(limit, text, sizeof text);
    if (limit->unit == TLSHM_TIME) { /* it shortens holds and refuses none, unless there is no time at all */
        if (limit->cap == 0)
            snprintf(sentence(s), SENTENCE_MAX, "\"%s\" leaves a request no time to live; only a higher limit helps",
                     text);
        return;
    }
    uint64_t needed = need(s, limit->unit);
    if (needed <= limit->cap)
        return;
    snprintf(
        sentence(s), SENTENCE_MAX,
        "\"%s\" is what a single request may ask for, and %s is too much by %s; send a smaller one, waiting does not "
        "help",
        text, emit_human_amount(limit->unit, needed, wanted),
        emit_human_amount(limit->unit, needed - limit->cap, above));
}

static void check_limit(struct story *s, const tlshm_limit_usage *at)
{
    char limit[LIMIT_TEXT_MAX], used[EMIT_FIGURE], held[EMIT_FIGURE], wanted[EMIT_FIGURE];
    enum tlshm_unit unit = at->limit.unit;
    if (at->limit.window.kind == TLSHM_WINDOW_REQUEST) {
        check_request(s, &at->limit);
        return;
    }
    uint64_t needed = need(s, unit);
    if (needed == 0 || at->limit.cap == TLSHM_UNLIMITED || (at->remaining >= 0 && (uint64_t)at->remaining >= needed))
        return;
    tlshm_limit_format(&at->limit, limit, sizeof limit);
    emit_human_amount(unit, needed, wanted);
    char *text = sentence(s);
    if (needed > at->limit.cap) {
        snprintf(text, SENTENCE_MAX, "%s %s can never fit into the limit \"%s\"", wanted, tlshm_unit_name((int)unit),
                 limit);
        return;
    }
    snprintf(text, SENTENCE_MAX, "of \"%s\" %s are used and %s held, which leaves no room for %s", limit,
             emit_human_amount(unit, at->used, used), emit_human_amount(unit, at->held, held), wanted);
    append_relief(s, at, text);
}

static void check(struct story *s)
{
    check_flags(s);
    for (unsigned i = 0; i < s->usage.limit_count; i++)
        check_limit(s, &s->usage.limits[i]);
}

/* What no look at the scope tells: full tables, and the time at which all of its limits admit the call. */
static int ask(struct story *s)
{
    tlshm_scope scope = {.key = s->key};
    tlshm_request request = TLSHM_REQUEST_INIT;
    tlshm_refusal why;
    request.scopes = &scope;
    request.scope_count = 1;
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        request.estimate.of[unit] = unit == TLSHM_CONCURRENCY ? 0 : need(s, (enum tlshm_unit)unit);
    int rc = tlshm_would_fit(s->in->tlshm, &request, &why);
    s->fits_in_ns = rc == TLSHM_REFUSED ? why.retry_after_ns : 0;
    if (rc == TLSHM_REFUSED && why.reason == TLSHM_FULL)
        tlshm_refusal_text(&why, sentence(s), SENTENCE_MAX);
    return rc < 0 ? rc : 0;
}

/* ----------------------------------------------------------------------------------------------------------- reading */

static int read_first_hold(struct story *s)
{
    tlshm_reservation_info info;
    s->first_hold_ends_ns = TLSHM_NEVER;
    for (size_t i = 0; i < s->holds.count; i++) {
        int rc = tlshm_reservation(s->in->tlshm, s->holds.all[i].what, &info);
        if (rc == -TLSHM_ECORRUPT)
            return rc;
        if (rc == 0 && info.status == TLSHM_HELD && info.expires_in_ns < s->first_hold_ends_ns)
            s->first_hold_ends_ns = info.expires_in_ns;
    }
    return 0;
}

static int read_story(struct story *s, struct inspect *in)
{
    int rc = tlshm_usage(in->tlshm, s->key, 0, &s->usage);
    if (rc == 0)
        rc = tlshm_get_segment(in->tlshm, &s->segment);
    if (rc != 0)
        return rc;
    s->wall_ns = inspect_wall_ns(in);
    in->status = TLSHM_HELD;
    in->scope = s->key;
    rc = reservations_pick(in, &s->holds);
    return rc != 0 ? rc : read_first_hold(s);
}

/* ----------------------------------------------------------------------------------------------------------- telling */

static void tell_source(const struct story *s, FILE *out)
{
    int level = (int)strcspn(s->key, ":");
    switch (s->usage.source) {
    case TLSHM_LIMITS_OWN:
        fprintf(out, "Its limits are its own.\n");
        break;
    case TLSHM_LIMITS_TIER:
        fprintf(out, "Its limits come from its tier \"%s\".\n", s->usage.tier);
        break;
    case TLSHM_LIMITS_DEFAULT:
        fprintf(out, "Its limits come from \"%s\", the default tier of level %.*s.\n", s->usage.tier, level, s->key);
        break;
    default:
        fprintf(out, "It has no limits, nor has level %.*s a default tier: everything is admitted and counted.\n",
                level, s->key);
    }
    if (!s->usage.seen)
        fprintf(out, "It has never been used; this is what a first call would meet.\n");
}

static void tell_bars(const struct story *s, FILE *out)
{
    char text[LIMIT_TEXT_MAX];
    for (unsigned i = 0; term_is(out) && i < s->usage.limit_count; i++) {
        double percent = load_percent(&s->usage.limits[i]);
        tlshm_limit_format(&s->usage.limits[i].limit, text, sizeof text);
        load_bar(out, percent);
        if (percent >= 0)
            fprintf(out, " %5.1f %%  %s\n", percent, text);
    }
}

static void tell_limits(const struct story *s, FILE *out)
{
    if (s->usage.limit_count == 0)
        return;
    fputc('\n', out);
    tell_bars(s, out);
    struct emit *e = emit_new(out, EMIT_TEXT);
    emit_array_begin(e, "limits");
    for (unsigned i = 0; i < s->usage.limit_count; i++) {
        emit_object_begin(e, NULL);
        limit_emit(e, &s->usage.limits[i], s->wall_ns);
        emit_object_end(e);
    }
    emit_array_end(e);
    emit_end(e);
}

static void tell_totals(const struct story *s, FILE *out)
{
    char text[AMOUNTS_TEXT_MAX];
    amounts_text(s->usage.used, true, text, sizeof text);
    if (text[0] != '\0')
        fprintf(out, "\nUsed since it is known: %s.\n", text);
    else
        fputs("\nNothing was ever charged to it.\n", out);
}

static void tell_holds(const struct story *s, FILE *out)
{
    if (s->holds.count == 0) {
        fputs("\nIt holds nothing now.\n", out);
        return;
    }
    fprintf(out, "\nLive holds, oldest first (%zu):\n", s->holds.count);
    struct emit *e = emit_new(out, EMIT_TEXT);
    emit_array_begin(e, "holds");
    reservations_emit(e, s->in, &s->holds, s->in->rows_max);
    emit_array_end(e);
    emit_end(e);
    if (s->holds.count > s->in->rows_max)
        fprintf(out, "... and %" PRIu64 " more\n", (uint64_t)s->holds.count - s->in->rows_max);
}

static void tell_wait(const struct story *s, FILE *out)
{
    char in_text[EMIT_FIGURE], at_text[EMIT_FIGURE];
    if (s->fits_in_ns != 0 && s->fits_in_ns != TLSHM_NEVER)
        fprintf(out, "If nothing else happens, the same call fits in %s, at %s.\n",
                emit_human_duration(s->fits_in_ns, in_text), clock_text(s, s->fits_in_ns, at_text));
}

static void tell_verdict(const struct story *s, FILE *out)
{
    char text[AMOUNTS_TEXT_MAX], size[AMOUNTS_TEXT_MAX + sizeof " of "] = "";
    if (amounts_text(s->in->asked.of, true, text, sizeof text)[0] != '\0')
        snprintf(size, sizeof size, " of %s", text);
    if (s->refusals == 0) {
        fprintf(out, "\n%sNew calls%s are admitted as far as this scope is concerned.%s\n", term_style(out, TERM_GREEN),
                size, term_style(out, TERM_PLAIN));
        return;
    }
    fprintf(out, "\n%sNew calls%s are refused because%s\n", term_style(out, TERM_RED), size,
            term_style(out, TERM_PLAIN));
    for (unsigned i = 0; i < s->refusals; i++)
        fprintf(out, "  - %s.\n", s->why[i]);
    tell_wait(s, out);
}

static void tell(const struct story *s)
{
    FILE *out = s->in->out;
    fprintf(out, "%s%s%s\n", term_style(out, TERM_BOLD), s->key, term_style(out, TERM_PLAIN));
    tell_source(s, out);
    tell_limits(s, out);
    tell_totals(s, out);
    tell_holds(s, out);
    tell_verdict(s, out);
}

/* -------------------------------------------------------------------------------------------------------------- JSON */

static void emit_story(const struct story *s, struct emit *e)
{
    scope_emit(e, s->in, s->key, &s->usage, s->wall_ns);
    emit_bool(e, "segment_paused", s->segment.paused != 0);
    emit_bool(e, "segment_shutoff", s->segment.shutoff != 0);
    emit_array_begin(e, "holds");
    reservations_emit(e, s->in, &s->holds, s->in->rows_max);
    emit_array_end(e);
    emit_u64(e, "holds_count", s->holds.count);
    emit_object_begin(e, "new_calls");
    emit_amounts(e, "asked", &s->in->asked);
    emit_bool(e, "admitted", s->refusals == 0);
    emit_array_begin(e, "refused_because");
    for (unsigned i = 0; i < s->refusals; i++)
        emit_text(e, NULL, s->why[i]);
    emit_array_end(e);
    emit_duration(e, "retry_after_ns", s->fits_in_ns);
    emit_object_end(e);
}

int view_scope(void *context, int argc, char **argv)
{
    struct inspect *in = context;
    struct story s = {.in = in, .key = argv[0]};
    (void)argc;
    int rc = read_story(&s, in), exit_code = EXIT_OK;
    if (rc == 0) {
        check(&s);
        rc = ask(&s);
    }
    if (rc != 0) {
        exit_code = inspect_fail(in, rc);
    } else {
        struct emit *e = inspect_emit(in);
        if (in->json)
            emit_story(&s, e);
        else
            tell(&s);
        exit_code = inspect_end(in, e, 0);
    }
    picks_free(&s.holds);
    return exit_code;
}
