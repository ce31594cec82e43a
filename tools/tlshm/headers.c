/* SPDX-License-Identifier: MIT */
/* headers.c - what a provider's answer, as curl -i shows it, says of the provider's limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tlshm/provider.h>

#include "cli.h"

enum { SHOWN = 40 /* bytes of a bad line */ };

/* A line without its end; `next` is where the one after it begins. */
struct line {
    const char *at;
    size_t n;
    const char *next;
    bool last; /* nothing ended it */
};

/* The headers and the body of the last answer in a text. */
struct answer {
    const char *from; /* first line of the headers */
    size_t from_number;
    const char *body;
    size_t body_length;
    int status;
};

static struct line line_at(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    struct line line = {at, (size_t)((stop ? stop : end) - at), stop ? stop + 1 : end, !stop};
    if (line.n > 0 && line.at[line.n - 1] == '\r')
        line.n--;
    return line;
}

/* "< name: value": curl -v marks what it received. */
static struct line unmarked(struct line line)
{
    if (line.n >= 1 && *line.at == '<' && (line.n == 1 || line.at[1] == ' ')) {
        size_t mark = line.n == 1 ? 1 : 2;
        line.at += mark;
        line.n -= mark;
    }
    return line;
}

/* "HTTP/1.1 429 Too Many Requests" */
static bool read_status(struct line line, int *status)
{
    char text[SHOWN + 1], *rest;
    size_t n = line.n < SHOWN ? line.n : SHOWN;
    memcpy(text, line.at, n);
    text[n] = '\0';
    if (strncmp(text, "HTTP/", 5) != 0 || !(rest = strchr(text, ' ')))
        return false;
    long value = strtol(rest, &rest, 10);
    *status = value >= 100 && value <= 999 ? (int)value : 0;
    return true;
}

/* Answers in front of the last one, such as "100 Continue" or a redirect, are passed over. */
static void find_answer(const char *text, size_t n, struct answer *a)
{
    const char *end = text + n, *at = text;
    size_t number = 1;
    *a = (struct answer){.from = text, .from_number = 1, .body = end};
    while (at < end) {
        struct line line = line_at(at, end), bare = unmarked(line);
        number++;
        at = line.next;
        if (read_status(bare, &a->status)) {
            a->from = at;
            a->from_number = number;
        }
        if (bare.n > 0)
            continue;
        int status;
        if (at < end && read_status(unmarked(line_at(at, end)), &status))
            continue;
        a->body = at;
        break;
    }
    a->body_length = (size_t)(end - a->body);
}

static int bad_line(const struct cli *cli, const char *file, size_t number, struct line line)
{
    char shown[SHOWN + 1];
    size_t n = line.n < SHOWN ? line.n : SHOWN;
    for (size_t i = 0; i < n; i++)
        shown[i] = line.at[i] >= ' ' && line.at[i] < 0x7f ? line.at[i] : '?';
    shown[n] = '\0';
    return options_complain(cli->tool, "%s: line %zu: expected 'name: value', not '%s'", file, number, shown);
}

static int take_headers(const struct cli *cli, const char *file, const struct answer *a, tlshm_quota *q)
{
    size_t number = a->from_number;
    for (const char *at = a->from; at < a->body; number++) {
        struct line line = line_at(at, a->body);
        at = line.next;
        line = unmarked(line);
        const char *colon = line.n ? memchr(line.at, ':', line.n) : NULL;
        if (line.n == 0)
            continue;
        if (!colon || colon == line.at)
            return bad_line(cli, file, number, line);
        size_t name = (size_t)(colon - line.at);
        tlshm_quota_header(q, line.at, name, colon + 1, line.n - name - 1);
    }
    return EXIT_OK;
}

/* ----------------------------------------------------------------------------------------------------- the options */

struct settings {
    enum tlshm_provider provider;
    uint64_t status;
    int64_t now_ns;
    bool own_date; /* now is the answer's Date */
};

static bool read_now(struct cli *cli, struct settings *s)
{
    const char *text = cli->value[OPT_NOW];
    struct timespec now;
    uint64_t seconds;
    s->own_date = text && strcmp(text, "date") == 0;
    if (text && !s->own_date) {
        if (!cli_number(cli, "--now", text, 0, UINT64_C(9000000000), &seconds))
            return false;
        s->now_ns = (int64_t)seconds * 1000000000;
        return true;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    s->now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return true;
}

static bool read_provider(struct cli *cli, enum tlshm_provider *out)
{
    const char *name = cli->value[OPT_PROVIDER];
    int provider = name ? tlshm_provider_parse(name) : TLSHM_PROVIDER_ANY;
    if (provider >= 0) {
        *out = (enum tlshm_provider)provider;
        return true;
    }
    char known[256];
    size_t n = 0;
    for (int i = 0; i < TLSHM_PROVIDERS && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", tlshm_provider_name(i));
    options_complain(cli->tool, "'%s' is no provider that is known, which are %s", name, known);
    return false;
}

static bool read_settings(struct cli *cli, struct settings *s)
{
    const char *status = cli->value[OPT_STATUS];
    *s = (struct settings){.provider = TLSHM_PROVIDER_ANY};
    if (!read_provider(cli, &s->provider))
        return false;
    return (!status || cli_number(cli, "--status", status, 100, 999, &s->status)) && read_now(cli, s);
}

/* ------------------------------------------------------------------------------------------------------ the answer */

static void emit_figure(struct emit *e, const char *key, bool said, uint64_t value)
{
    if (said)
        emit_u64(e, key, value);
    else
        emit_null(e, key, "-");
}

static void emit_length(struct emit *e, const char *key, bool said, uint64_t ns)
{
    if (said)
        emit_duration(e, key, ns);
    else
        emit_null(e, key, "-");
}

static void emit_instant(struct emit *e, const char *key, bool said, int64_t ns)
{
    if (said)
        emit_time(e, key, ns);
    else
        emit_null(e, key, "-");
}

static void emit_limit(struct emit *e, const tlshm_quota_limit *limit)
{
    uint32_t said = limit->said;
    emit_text(e, "kind", said & TLSHM_SAID_KIND ? tlshm_quota_kind_name((int)limit->kind) : "unknown");
    emit_text(e, "name", limit->name);
    emit_length(e, "window_ns", limit->window_ns != 0, limit->window_ns);
    emit_figure(e, "limit", said & TLSHM_SAID_LIMIT, limit->limit);
    emit_figure(e, "remaining", said & TLSHM_SAID_REMAINING, limit->remaining);
    emit_figure(e, "used", said & TLSHM_SAID_USED, limit->used);
    emit_figure(e, "requested", said & TLSHM_SAID_REQUESTED, limit->requested);
    emit_figure(e, "share_ppm", said & TLSHM_SAID_SHARE, limit->share_ppm);
    emit_length(e, "reset_in_ns", said & TLSHM_SAID_RESET, limit->reset_in_ns);
    emit_instant(e, "reset_at_ns", said & TLSHM_SAID_RESET, limit->reset_wall_ns);
}

static void emit_head(struct emit *e, const tlshm_quota *q)
{
    emit_text(e, "provider", tlshm_provider_name((int)q->provider));
    emit_figure(e, "status", q->status != 0, (uint64_t)q->status);
    emit_text(e, "cause", tlshm_quota_cause_name((int)q->cause));
    emit_bool(e, "never_retry", q->never_retry);
    emit_bool(e, "wait_known", q->said & TLSHM_SAID_WAIT);
    emit_length(e, "wait_ns", q->said & TLSHM_SAID_WAIT, q->wait_ns);
    emit_length(e, "retry_after_ns", q->said & TLSHM_SAID_RETRY_AFTER, q->retry_after_ns);
    emit_instant(e, "retry_at_ns", q->said & TLSHM_SAID_RETRY_AFTER, q->retry_at_wall_ns);
    emit_instant(e, "date_ns", q->said & TLSHM_SAID_DATE, q->date_wall_ns);
    emit_u64(e, "disbelieved", q->disbelieved);
    emit_u64(e, "dropped", q->dropped);
}

static int emit_quota(struct cli *cli, const tlshm_quota *q)
{
    struct emit *e = cli_answer(cli);
    emit_head(e, q);
    if (q->hit.said || q->hit.window_ns) {
        emit_object_begin(e, "hit");
        emit_limit(e, &q->hit);
        emit_object_end(e);
    }
    emit_array_begin(e, "limits");
    for (unsigned i = 0; i < q->limit_count; i++) {
        emit_object_begin(e, NULL);
        emit_limit(e, &q->limits[i]);
        emit_object_end(e);
    }
    emit_array_end(e);
    return cli_answered(cli, e, EXIT_OK);
}

static int read_quota(const struct cli *cli, const char *file, const struct answer *a, const struct settings *s,
                      tlshm_quota *q)
{
    int status = s->status ? (int)s->status : a->status;
    tlshm_quota_begin(q, s->provider, status, s->now_ns);
    int failed = take_headers(cli, file, a, q);
    if (failed)
        return failed;
    tlshm_quota_body(q, a->body, a->body_length);
    tlshm_quota_end(q);
    return EXIT_OK;
}

int run_headers(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    const char *file = argc ? argv[0] : "-";
    struct settings s;
    struct answer a;
    tlshm_quota q;
    char *text;
    size_t n;
    if (!read_settings(cli, &s))
        return EXIT_USAGE;
    int failed = cli_read(cli, file, &text, &n);
    if (failed)
        return failed;
    find_answer(text, n, &a);
    failed = read_quota(cli, file, &a, &s, &q);
    if (!failed && s.own_date) {
        if (q.said & TLSHM_SAID_DATE)
            s.now_ns = q.date_wall_ns;
        else
            failed = options_complain(cli->tool, "%s: there is no Date header that --now could use", file);
        if (!failed)
            failed = read_quota(cli, file, &a, &s, &q);
    }
    free(text);
    return failed ? failed : emit_quota(cli, &q);
}
