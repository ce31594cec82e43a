/* SPDX-License-Identifier: MIT */
/* errorbody.c - from the members of a body to messages, codes, headers and quotas. */
#include "errorbody.h"

#include "headers.h"
#include "members.h"
#include "message.h"

#define SECOND_NS UINT64_C(1000000000)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* One of Google's violations, until its object ends. */
struct violation {
    bool named;
    bool has_limit;
    uint64_t limit;
    struct tl_quota_key key;
};

struct reading {
    tlshm_quota *q;
    struct violation violation;
    bool believed;
};

static bool is_one_of(struct tl_slice word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tl_moment_is(word, words[i]))
            return true;
    return false;
}

static bool is_success(const tlshm_quota *q)
{
    return q->status >= 200 && q->status < 300;
}

static bool is_error(const tlshm_quota *q, const struct tl_members *m)
{
    if (tl_members_inside(m, "error") || tl_members_inside(m, "errors"))
        return true;
    return m->depth <= 1 && !is_success(q);
}

/* ------------------------------------------------------------------------------------------------- Google's violations */

static bool contains(struct tl_slice text, const char *part)
{
    for (; text.n > 0; text.at++, text.n--)
        if (tl_moment_begins(text, part))
            return true;
    return false;
}

/* "GenerateRequestsPerDayPerProjectPerModel-FreeTier", ".../generate_content_free_tier_input_token_count" */
static void take_quota_name(struct violation *v, struct tl_slice text)
{
    unsigned hints = 0;
    if (contains(text, "inputtoken") || contains(text, "input_token"))
        hints |= TL_HINT_INPUT;
    else if (contains(text, "outputtoken") || contains(text, "output_token"))
        hints |= TL_HINT_OUTPUT;
    else if (contains(text, "token"))
        hints |= TL_HINT_TOKENS;
    else if (contains(text, "request"))
        hints |= TL_HINT_REQUESTS;
    if (hints)
        v->key.kind = tl_quota_kind(hints);
    if (contains(text, "perday") || contains(text, "per_day"))
        v->key.window_ns = 86400 * SECOND_NS;
    else if (contains(text, "perminute") || contains(text, "per_minute"))
        v->key.window_ns = 60 * SECOND_NS;
    v->named = true;
}

static bool take_violation_member(struct reading *r, struct tl_slice key, struct tl_slice text)
{
    struct violation *v = &r->violation;
    if (tl_moment_is(key, "quotavalue")) {
        v->has_limit = tl_quota_amount(r->q, text, &v->limit);
        return v->has_limit;
    }
    bool id = tl_moment_is(key, "quotaid");
    if (!id && !tl_moment_is(key, "quotametric"))
        return false;
    take_quota_name(v, text);
    if (id)
        tl_quota_name(&v->key, text);
    return true;
}

static void store_violation(struct reading *r)
{
    struct violation *v = &r->violation;
    tlshm_quota_limit *hit = &r->q->hit;
    tlshm_quota_limit *limit = v->named ? tl_quota_entry(r->q, &v->key) : NULL;
    if (!limit)
        return;
    if (v->has_limit)
        limit->limit = v->limit, limit->said |= TLSHM_SAID_LIMIT;
    limit->said |= TLSHM_SAID_REJECTED;
    if (!(hit->said & TLSHM_SAID_REJECTED) || limit->window_ns > hit->window_ns)
        *hit = *limit;
    r->believed = true;
}

static void see_object(void *context, const struct tl_members *m, bool begins)
{
    struct reading *r = context;
    if (!begins && tl_members_inside(m, "violations") && tl_members_inside(m, "error"))
        store_violation(r);
    r->violation = (struct violation){.key = {.kind = TLSHM_QUOTA_OTHER}};
}

/* ---------------------------------------------------------------------------------------------------------- members */

static bool take_code(tlshm_quota *q, struct tl_slice text)
{
    bool tokens = tl_moment_is(text, "tokens");
    enum tlshm_quota_cause cause = tl_quota_code(text);
    tl_quota_refused(q, cause);
    if ((!tokens && !tl_moment_is(text, "requests")) || q->hit.said & TLSHM_SAID_KIND)
        return cause != TLSHM_QUOTA_NONE;
    q->hit.kind = tokens ? TLSHM_QUOTA_TOKENS : TLSHM_QUOTA_REQUESTS;
    q->hit.said |= TLSHM_SAID_KIND;
    return true;
}

static bool take_delay(tlshm_quota *q, struct tl_slice text, uint64_t unit_ns)
{
    uint64_t in_ns;
    int64_t wall_ns;
    if (!tl_quota_instant(q, text, unit_ns, &in_ns, &wall_ns))
        return false;
    tl_quota_retry(q, in_ns);
    return true;
}

static bool take_member(struct reading *r, struct tl_slice key, struct tl_slice text, bool quoted)
{
    static const char *const messages[] = {"message", "msg", "detail", "details", "error", "raw", "error_description"};
    static const char *const codes[] = {"code", "type", "__type", "status", "reason", "status_code"};
    static const char *const delays[] = {"retrydelay", "retry_after", "retryafter", "retry_after_seconds"};
    if (is_one_of(key, codes, COUNT_OF(codes)))
        return take_code(r->q, text);
    if (is_one_of(key, delays, COUNT_OF(delays)))
        return take_delay(r->q, text, SECOND_NS);
    if (tl_moment_is(key, "retry_after_ms"))
        return take_delay(r->q, text, SECOND_NS / 1000);
    return quoted && is_one_of(key, messages, COUNT_OF(messages)) && tl_message_take(r->q, text);
}

static void see_scalar(void *context, const struct tl_members *m, struct tl_slice text, bool quoted)
{
    struct reading *r = context;
    struct tl_slice key = tl_members_key(m);
    if (!is_error(r->q, m) || tl_moment_is(text, "null"))
        return;
    if (m->depth == 0)
        r->believed |= tl_message_take(r->q, text);
    else if (tl_members_inside(m, "violations"))
        r->believed |= take_violation_member(r, key, text);
    else if (tl_members_inside(m, "headers"))
        r->believed |= tl_headers_take(r->q, key, text);
    else
        r->believed |= take_member(r, key, text, quoted);
}

/* ------------------------------------------------------------------------------------------------------------- body */

/* Spaces, line ends and a byte order mark in front. */
static struct tl_slice without_lead(struct tl_slice body)
{
    if (tl_moment_begins(body, "\xef\xbb\xbf"))
        body.at += 3, body.n -= 3;
    while (body.n > 0 && (*body.at == ' ' || *body.at == '\t' || *body.at == '\n' || *body.at == '\r'))
        body.at++, body.n--;
    return body;
}

static bool is_json(struct tl_slice body)
{
    return body.n > 0 && *body.at && strchr("{[\"", *body.at);
}

/* The walk passes over the names of the fields of an event stream. */
static bool is_events(struct tl_slice body)
{
    return tl_moment_begins(body, "data:") || tl_moment_begins(body, "event:") || tl_moment_begins(body, "id:") ||
           tl_moment_begins(body, ":");
}

bool tl_errorbody_take(tlshm_quota *q, struct tl_slice body)
{
    struct reading r = {.q = q};
    struct tl_members_visitor visitor = {see_scalar, see_object, &r};
    body = without_lead(body);
    if (body.n > TLSHM_QUOTA_BODY_MAX)
        body.n = TLSHM_QUOTA_BODY_MAX;
    if (is_json(body) || is_events(body)) {
        tl_members_walk(body.at, body.n, &visitor);
        return r.believed;
    }
    if (is_success(q))
        return false;
    if (body.n > TL_MEMBERS_TEXT)
        body.n = TL_MEMBERS_TEXT;
    return tl_message_take(q, body);
}
