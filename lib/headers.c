/* SPDX-License-Identifier: MIT */
/* headers.c - the names and values of headers. */
#include "headers.h"

#define SECOND_NS UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { PART_MAX = 512 }; /* bytes of a name or value that are looked at */

/* --------------------------------------------------------------------------------------------- names made of words */

enum field { FIELD_NONE, FIELD_LIMIT, FIELD_REMAINING, FIELD_RESET, FIELD_USED, FIELD_SHARE, FIELD_STATUS };

static const struct {
    const char *word;
    enum field field;
} fields[] = {
    {"limit", FIELD_LIMIT}, {"remaining", FIELD_REMAINING}, {"reset", FIELD_RESET},
    {"used", FIELD_USED},   {"utilization", FIELD_SHARE},   {"status", FIELD_STATUS},
};

/* Longer ones first where one is the start of another. */
static const struct {
    const char *prefix;
    const char *name;
} prefixes[] = {
    {"x-ratelimit-", ""},        {"x-rate-limit-", ""},          {"ratelimit-", ""},
    {"rate-limit-", ""},         {"anthropic-ratelimit-", ""},   {"anthropic-priority-", "priority"},
    {"anthropic-fast-", "fast"}, {"x-trial-endpoint-", "trial"}, {"x-endpoint-", ""},
};

/* A name, taken apart. */
struct subject {
    struct tl_quota_key key;
    enum field field;
    unsigned hints;
    uint64_t count; /* the 10 of "10-second" */
};

static enum field field_of(struct tl_slice word)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (tl_moment_is(word, fields[i].word))
            return fields[i].field;
    return FIELD_NONE;
}

static bool take_count(struct subject *s, struct tl_slice word)
{
    struct tl_decimal number;
    if (tl_moment_decimal(word, &number) != word.n || number.whole == 0 || number.whole > 1000)
        return false;
    s->count = number.whole;
    return true;
}

static void take_word(struct subject *s, struct tl_slice word)
{
    enum field field = field_of(word);
    unsigned hint = tl_quota_hint(word);
    uint64_t window;
    if (word.n == 0)
        return;
    if (field && !s->field)
        s->field = field;
    else if (hint)
        s->hints |= hint;
    else if (tl_moment_window(word, &window) && window <= TLSHM_QUOTA_FAR_NS)
        s->key.window_ns = window;
    else if (!take_count(s, word))
        tl_quota_name(&s->key, word);
}

static void take_words(struct subject *s, struct tl_slice words)
{
    size_t from = 0;
    for (size_t i = 0; i <= words.n; i++) {
        if (i < words.n && words.at[i] != '-' && words.at[i] != '_')
            continue;
        take_word(s, (struct tl_slice){words.at + from, i - from});
        from = i + 1;
    }
}

/* Without a word for what is counted it is requests, unless another word says that it is something else. */
static void conclude(struct subject *s)
{
    bool requests = !(s->hints & ~(unsigned)TL_HINT_NOTHING) && s->key.name_len == 0;
    s->key.kind = requests ? TLSHM_QUOTA_REQUESTS : tl_quota_kind(s->hints);
    if (s->count && s->key.window_ns && s->count <= TLSHM_QUOTA_FAR_NS / s->key.window_ns)
        s->key.window_ns *= s->count;
}

static bool subject_of(struct tl_slice name, struct subject *s)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        const char *own = prefixes[i].name;
        size_t n = strlen(prefixes[i].prefix);
        if (!tl_moment_begins(name, prefixes[i].prefix))
            continue;
        *s = (struct subject){0};
        if (*own)
            tl_quota_name(&s->key, (struct tl_slice){own, strlen(own)});
        take_words(s, (struct tl_slice){name.at + n, name.n - n});
        conclude(s);
        return s->field != FIELD_NONE;
    }
    return false;
}

/* ----------------------------------------------------------------------------------------------------------- values */

/* "100, 100;w=60": older drafts put the policy behind the number. "1,000" is no such list, and no number either. */
static struct tl_slice first_member(struct tl_slice value)
{
    size_t n = 0;
    if (value.n == 0 || !memchr(value.at, '=', value.n))
        return value;
    while (n < value.n && value.at[n] != ',' && value.at[n] != ';')
        n++;
    return tl_moment_trim((struct tl_slice){value.at, n});
}

/* "Sat, 01 Jan" has a comma of its own. */
static bool take_reset(tlshm_quota *q, const struct subject *s, struct tl_slice value)
{
    uint64_t in_ns;
    int64_t wall_ns;
    if (!tl_quota_instant(q, value, SECOND_NS, &in_ns, &wall_ns))
        return false;
    tlshm_quota_limit *limit = tl_quota_entry(q, &s->key);
    if (limit)
        tl_quota_set_reset(limit, in_ns, wall_ns);
    return limit != NULL;
}

static bool take_status(tlshm_quota *q, const struct subject *s, struct tl_slice value)
{
    tlshm_quota_limit *limit = tl_moment_is(value, "rejected") ? tl_quota_entry(q, &s->key) : NULL;
    if (limit)
        limit->said |= TLSHM_SAID_REJECTED;
    return limit != NULL;
}

static bool take_number(tlshm_quota *q, const struct subject *s, struct tl_slice value)
{
    uint64_t number;
    bool share = s->field == FIELD_SHARE;
    if (!(share ? tl_quota_share(q, value, &number) : tl_quota_amount(q, first_member(value), &number)))
        return false;
    tlshm_quota_limit *limit = tl_quota_entry(q, &s->key);
    if (!limit)
        return false;
    switch (s->field) {
    case FIELD_LIMIT:
        limit->limit = number;
        limit->said |= TLSHM_SAID_LIMIT;
        break;
    case FIELD_REMAINING:
        limit->remaining = number;
        limit->said |= TLSHM_SAID_REMAINING;
        break;
    case FIELD_USED:
        limit->used = number;
        limit->said |= TLSHM_SAID_USED;
        break;
    default:
        limit->share_ppm = number;
        limit->said |= TLSHM_SAID_SHARE;
        break;
    }
    return true;
}

static bool take_subject(tlshm_quota *q, const struct subject *s, struct tl_slice value)
{
    if (s->field == FIELD_RESET)
        return take_reset(q, s, value);
    return s->field == FIELD_STATUS ? take_status(q, s, value) : take_number(q, s, value);
}

/* ------------------------------------------------------------------------------------------------- lists of the IETF */

/* What one member of a list said; members without a name of their own are one limit. */
struct member {
    struct tl_quota_key key;
    bool has_limit, has_remaining, has_reset;
    uint64_t limit, remaining, reset_in_ns;
    int64_t reset_wall_ns;
};

static bool store_member(tlshm_quota *q, const struct member *m)
{
    if (!m->has_limit && !m->has_remaining && !m->has_reset)
        return false;
    tlshm_quota_limit *limit = tl_quota_entry(q, &m->key);
    if (!limit)
        return false;
    if (m->has_limit)
        limit->limit = m->limit, limit->said |= TLSHM_SAID_LIMIT;
    if (m->has_remaining)
        limit->remaining = m->remaining, limit->said |= TLSHM_SAID_REMAINING;
    if (m->has_reset)
        tl_quota_set_reset(limit, m->reset_in_ns, m->reset_wall_ns);
    return true;
}

static struct tl_slice unquoted(struct tl_slice text)
{
    if (text.n >= 2 && *text.at == '"' && text.at[text.n - 1] == '"')
        return (struct tl_slice){text.at + 1, text.n - 2};
    return text;
}

static void take_window(tlshm_quota *q, struct member *m, struct tl_slice value)
{
    uint64_t seconds;
    if (!tl_quota_amount(q, value, &seconds))
        return;
    if (seconds == 0 || seconds > TLSHM_QUOTA_FAR_NS / SECOND_NS)
        q->disbelieved++;
    else
        m->key.window_ns = seconds * SECOND_NS;
}

static void take_what(struct member *m, struct tl_slice what)
{
    if (tl_moment_is(what, "concurrent-requests"))
        m->key.kind = TLSHM_QUOTA_CONCURRENCY;
    else if (!tl_moment_is(what, "requests"))
        m->key.kind = TLSHM_QUOTA_OTHER;
}

static void take_pair(tlshm_quota *q, struct member *m, struct tl_slice key, struct tl_slice value)
{
    if (tl_moment_is(key, "r") || tl_moment_is(key, "remaining"))
        m->has_remaining = tl_quota_amount(q, value, &m->remaining);
    else if (tl_moment_is(key, "t") || tl_moment_is(key, "reset"))
        m->has_reset = tl_quota_instant(q, value, SECOND_NS, &m->reset_in_ns, &m->reset_wall_ns);
    else if (tl_moment_is(key, "q") || tl_moment_is(key, "limit"))
        m->has_limit = tl_quota_amount(q, value, &m->limit);
    else if (tl_moment_is(key, "w"))
        take_window(q, m, value);
    else if (tl_moment_is(key, "qu"))
        take_what(m, unquoted(value));
}

/* The last of several bare strings is the name: some put a description in front of it. */
static void take_item(tlshm_quota *q, struct member *m, struct tl_slice item)
{
    const char *equals = item.n ? memchr(item.at, '=', item.n) : NULL;
    if (equals && *item.at != '"') {
        size_t n = (size_t)(equals - item.at);
        take_pair(q, m, tl_moment_trim((struct tl_slice){item.at, n}),
                  tl_moment_trim((struct tl_slice){equals + 1, item.n - n - 1}));
    } else if (item.n && tl_moment_digit(*item.at)) {
        m->has_limit = tl_quota_amount(q, item, &m->limit);
    } else if (item.n) {
        m->key.name_len = 0;
        memset(m->key.name, 0, sizeof m->key.name);
        tl_quota_name(&m->key, unquoted(item));
    }
}

static struct member new_member(void)
{
    return (struct member){.key = {.kind = TLSHM_QUOTA_REQUESTS, .loose = true}};
}

static bool take_list(tlshm_quota *q, struct tl_slice value)
{
    struct member m = new_member();
    bool quoted = false, believed = false;
    size_t from = 0;
    for (size_t i = 0; i <= value.n; i++) {
        char c = i < value.n ? value.at[i] : ',';
        if (i < value.n && c == '"')
            quoted = !quoted;
        if ((quoted && i < value.n) || (c != ',' && c != ';'))
            continue;
        take_item(q, &m, tl_moment_trim((struct tl_slice){value.at + from, i - from}));
        from = i + 1;
        if (c == ';')
            continue;
        believed |= store_member(q, &m);
        m = new_member();
    }
    return believed;
}

/* ---------------------------------------------------------------------------------------------------- single headers */

static bool take_retry(tlshm_quota *q, struct tl_slice value, uint64_t unit_ns)
{
    uint64_t in_ns;
    int64_t wall_ns;
    if (!tl_quota_instant(q, value, unit_ns, &in_ns, &wall_ns))
        return false;
    tl_quota_retry(q, in_ns);
    return true;
}

static bool take_retry_after(tlshm_quota *q, struct tl_slice value)
{
    return take_retry(q, value, SECOND_NS);
}

static bool take_retry_after_ms(tlshm_quota *q, struct tl_slice value)
{
    return take_retry(q, value, MILLISECOND_NS);
}

static bool take_should_retry(tlshm_quota *q, struct tl_slice value)
{
    bool yes = tl_moment_is(value, "true");
    if (!yes && !tl_moment_is(value, "false"))
        return false;
    q->said &= ~(TLSHM_SAID_RETRY | TLSHM_SAID_NO_RETRY);
    q->said |= yes ? TLSHM_SAID_RETRY : TLSHM_SAID_NO_RETRY;
    return true;
}

static bool take_date(tlshm_quota *q, struct tl_slice value)
{
    if (!tl_moment_date(value, &q->date_wall_ns)) {
        q->disbelieved++;
        return false;
    }
    q->said |= TLSHM_SAID_DATE;
    return true;
}

static bool take_error_type(tlshm_quota *q, struct tl_slice value)
{
    enum tlshm_quota_cause cause = tl_quota_code(value);
    tl_quota_refused(q, cause);
    return cause != TLSHM_QUOTA_NONE;
}

/* Azure names the policy that refused. */
static bool take_policy(tlshm_quota *q, struct tl_slice value)
{
    bool tokens = tl_moment_is(value, "deploymentratelimit-token");
    if ((!tokens && !tl_moment_is(value, "deploymentratelimit-call")) || q->hit.said & TLSHM_SAID_KIND)
        return false;
    q->hit.kind = tokens ? TLSHM_QUOTA_TOKENS : TLSHM_QUOTA_REQUESTS;
    q->hit.said |= TLSHM_SAID_KIND;
    return true;
}

static const struct {
    const char *name;
    bool (*take)(tlshm_quota *q, struct tl_slice value);
} singles[] = {
    {"retry-after", take_retry_after},
    {"retry-after-ms", take_retry_after_ms},
    {"x-ms-retry-after-ms", take_retry_after_ms},
    {"x-should-retry", take_should_retry},
    {"date", take_date},
    {"x-amzn-errortype", take_error_type},
    {"policy-id", take_policy},
    {"ratelimit", take_list},
    {"ratelimit-policy", take_list},
    {"x-ratelimit", take_list},
    {"x-ratelimit-policy", take_list},
};

bool tl_headers_take(tlshm_quota *q, struct tl_slice name, struct tl_slice value)
{
    struct subject s;
    if (name.n > PART_MAX)
        return false;
    name = tl_moment_trim(name);
    bool known = false;
    size_t i = 0;
    while (i < COUNT_OF(singles) && !tl_moment_is(name, singles[i].name))
        i++;
    known = i < COUNT_OF(singles) || subject_of(name, &s);
    if (!known)
        return false;
    if (value.n > PART_MAX) {
        q->disbelieved++;
        return false;
    }
    value = tl_moment_trim(value);
    return i < COUNT_OF(singles) ? singles[i].take(q, value) : take_subject(q, &s, value);
}
