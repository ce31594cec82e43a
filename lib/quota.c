/* SPDX-License-Identifier: MIT */
/* quota.c - belief: which values are taken, and to which limit of the answer they go. */
#include "quota.h"

#define SECOND_NS UINT64_C(1000000000)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Bare numbers of this size are no lengths of time: seconds and milliseconds since 1970, from 2001 to 2286. */
#define EPOCH_S_MIN UINT64_C(1000000000)
#define EPOCH_MS_MIN UINT64_C(1000000000000)
#define EPOCH_MS_MAX UINT64_C(10000000000000)

#define SHARE_MAX 1000 /* times the whole: above that it is no share */

/* ------------------------------------------------------------------------------------------------------------ words */

static const struct {
    const char *word;
    unsigned hint;
} hints[] = {
    {"request", TL_HINT_REQUESTS},
    {"requests", TL_HINT_REQUESTS},
    {"req", TL_HINT_REQUESTS},
    {"call", TL_HINT_REQUESTS},
    {"calls", TL_HINT_REQUESTS},
    {"token", TL_HINT_TOKENS},
    {"tokens", TL_HINT_TOKENS},
    {"input", TL_HINT_INPUT},
    {"prompt", TL_HINT_INPUT},
    {"output", TL_HINT_OUTPUT},
    {"completion", TL_HINT_OUTPUT},
    {"generated", TL_HINT_OUTPUT},
    {"image", TL_HINT_IMAGES},
    {"images", TL_HINT_IMAGES},
    {"audio", TL_HINT_AUDIO},
    {"concurrent", TL_HINT_CONCURRENCY},
    {"concurrency", TL_HINT_CONCURRENCY},
    {"unified", TL_HINT_SHARE},
    {"api", TL_HINT_NOTHING},
    {"per", TL_HINT_NOTHING},
    {"after", TL_HINT_NOTHING},
    {"endpoint", TL_HINT_NOTHING},
    {"connections", TL_HINT_NOTHING},
};

unsigned tl_quota_hint(struct tl_slice word)
{
    for (size_t i = 0; i < COUNT_OF(hints); i++)
        if (tl_moment_is(word, hints[i].word))
            return hints[i].hint;
    return 0;
}

enum tlshm_quota_kind tl_quota_kind(unsigned found)
{
    if (found & TL_HINT_SHARE)
        return TLSHM_QUOTA_SHARE;
    if (found & TL_HINT_CONCURRENCY)
        return TLSHM_QUOTA_CONCURRENCY;
    if (found & TL_HINT_IMAGES)
        return TLSHM_QUOTA_IMAGES;
    if (found & TL_HINT_AUDIO)
        return TLSHM_QUOTA_AUDIO;
    if (found & TL_HINT_INPUT)
        return TLSHM_QUOTA_INPUT_TOKENS;
    if (found & TL_HINT_OUTPUT)
        return TLSHM_QUOTA_OUTPUT_TOKENS;
    if (found & TL_HINT_TOKENS)
        return TLSHM_QUOTA_TOKENS;
    return found & TL_HINT_REQUESTS ? TLSHM_QUOTA_REQUESTS : TLSHM_QUOTA_OTHER;
}

void tl_quota_name(struct tl_quota_key *key, struct tl_slice word)
{
    size_t used = key->name_len;
    if (used > 0 && used < TLSHM_QUOTA_NAME_MAX)
        key->name[used++] = '-';
    for (size_t i = 0; i < word.n && used < TLSHM_QUOTA_NAME_MAX; i++)
        key->name[used++] = word.at[i] >= ' ' && word.at[i] < 0x7f ? word.at[i] : '?';
    key->name_len = used;
}

/* ---------------------------------------------------------------------------------------------------------- entries */

static bool is_entry(const tlshm_quota_limit *limit, const struct tl_quota_key *key)
{
    if (limit->kind != key->kind || strncmp(limit->name, key->name, sizeof key->name) != 0)
        return false;
    return limit->window_ns == key->window_ns || (key->loose && (!limit->window_ns || !key->window_ns));
}

tlshm_quota_limit *tl_quota_entry(tlshm_quota *q, const struct tl_quota_key *key)
{
    tlshm_quota_limit *limit = q->limits;
    for (; limit < q->limits + q->limit_count; limit++) {
        if (!is_entry(limit, key))
            continue;
        limit->window_ns = tl_max(limit->window_ns, key->window_ns);
        return limit;
    }
    if (q->limit_count == TLSHM_QUOTA_LIMITS_MAX) {
        q->dropped++;
        return NULL;
    }
    q->limit_count++;
    *limit = (tlshm_quota_limit){.kind = key->kind, .said = TLSHM_SAID_KIND, .window_ns = key->window_ns};
    memcpy(limit->name, key->name, key->name_len);
    return limit;
}

/* ----------------------------------------------------------------------------------------------------------- causes */

void tl_quota_refused(tlshm_quota *q, enum tlshm_quota_cause cause)
{
    if (cause > q->cause)
        q->cause = cause;
}

enum tlshm_quota_cause tl_quota_status(int status)
{
    switch (status) {
    case 402:
        return TLSHM_QUOTA_UNPAID;
    case 413:
        return TLSHM_QUOTA_TOO_LARGE;
    case 429:
        return TLSHM_QUOTA_LIMIT;
    case 503:
    case 529:
        return TLSHM_QUOTA_OVERLOADED;
    default:
        return TLSHM_QUOTA_NONE;
    }
}

static const struct {
    const char *code; /* in lower case */
    enum tlshm_quota_cause cause;
} codes[] = {
    {"rate_limit_exceeded", TLSHM_QUOTA_LIMIT},
    {"rate_limit_error", TLSHM_QUOTA_LIMIT},
    {"rate_limited", TLSHM_QUOTA_LIMIT},
    {"resource_exhausted", TLSHM_QUOTA_LIMIT},
    {"ratelimitreached", TLSHM_QUOTA_LIMIT},
    {"too_many_requests", TLSHM_QUOTA_LIMIT},
    {"toomanyrequests", TLSHM_QUOTA_LIMIT},
    {"throttlingexception", TLSHM_QUOTA_LIMIT},
    {"servicequotaexceededexception", TLSHM_QUOTA_LIMIT},
    {"toomanyrequestsexception", TLSHM_QUOTA_LIMIT},
    {"insufficient_quota", TLSHM_QUOTA_UNPAID},
    {"billing_error", TLSHM_QUOTA_UNPAID},
    {"billing_hard_limit_reached", TLSHM_QUOTA_UNPAID},
    {"billing_not_active", TLSHM_QUOTA_UNPAID},
    {"request_too_large", TLSHM_QUOTA_TOO_LARGE},
    {"context_length_exceeded", TLSHM_QUOTA_TOO_LARGE},
    {"string_above_max_length", TLSHM_QUOTA_TOO_LARGE},
    {"overloaded_error", TLSHM_QUOTA_OVERLOADED},
    {"server_overloaded", TLSHM_QUOTA_OVERLOADED},
    {"service_tier_capacity_exceeded", TLSHM_QUOTA_OVERLOADED},
    {"serviceunavailableexception", TLSHM_QUOTA_OVERLOADED},
    {"modelnotreadyexception", TLSHM_QUOTA_OVERLOADED},
    {"unavailable", TLSHM_QUOTA_OVERLOADED},
};

/* Bedrock writes "ThrottlingException:" with an address behind it, and "com.amazonaws...#ThrottlingException" too. */
static struct tl_slice bare_code(struct tl_slice code)
{
    const char *hash = memchr(code.at, '#', code.n);
    if (hash)
        code = (struct tl_slice){hash + 1, (size_t)(code.at + code.n - hash) - 1};
    const char *colon = memchr(code.at, ':', code.n);
    if (colon)
        code.n = (size_t)(colon - code.at);
    return code;
}

enum tlshm_quota_cause tl_quota_code(struct tl_slice code)
{
    struct tl_decimal number;
    if (code.n == 3 && tl_moment_decimal(code, &number) == 3)
        return tl_quota_status((int)number.whole);
    code = bare_code(code);
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (tl_moment_is(code, codes[i].code))
            return codes[i].cause;
    return TLSHM_QUOTA_NONE;
}

/* ----------------------------------------------------------------------------------------------------------- values */

static bool disbelieve(tlshm_quota *q)
{
    q->disbelieved++;
    return false;
}

bool tl_quota_amount(tlshm_quota *q, struct tl_slice text, uint64_t *out)
{
    struct tl_decimal number;
    size_t n = tl_moment_decimal(text, &number);
    if (n == 0 || n != text.n || number.whole > TLSHM_AMOUNT_MAX)
        return disbelieve(q);
    *out = number.whole;
    return true;
}

bool tl_quota_share(tlshm_quota *q, struct tl_slice text, uint64_t *ppm)
{
    struct tl_decimal number;
    size_t n = tl_moment_decimal(text, &number);
    if (n == 0 || n != text.n || number.whole >= SHARE_MAX || !tl_moment_scale(&number, 1000000, ppm))
        return disbelieve(q);
    return true;
}

static bool from_now(const tlshm_quota *q, uint64_t length_ns, uint64_t *in_ns, int64_t *wall_ns)
{
    if (length_ns > TLSHM_QUOTA_FAR_NS)
        return false;
    *in_ns = length_ns;
    *wall_ns = q->now_wall_ns + (int64_t)length_ns;
    return true;
}

static bool at_time(const tlshm_quota *q, int64_t at_ns, uint64_t *in_ns, int64_t *wall_ns)
{
    int64_t far;
    if (__builtin_sub_overflow(at_ns, q->now_wall_ns, &far) || far > (int64_t)TLSHM_QUOTA_FAR_NS ||
        far < -(int64_t)TLSHM_QUOTA_FAR_NS)
        return false;
    *in_ns = far > 0 ? (uint64_t)far : 0;
    *wall_ns = at_ns;
    return true;
}

static bool bare_number(const tlshm_quota *q, const struct tl_decimal *number, uint64_t unit_ns, uint64_t *in_ns,
                        int64_t *wall_ns)
{
    uint64_t ns;
    bool epoch = number->whole >= EPOCH_S_MIN && number->whole < EPOCH_MS_MAX;
    if (epoch)
        unit_ns = number->whole >= EPOCH_MS_MIN ? SECOND_NS / 1000 : SECOND_NS;
    if (!tl_moment_scale(number, unit_ns, &ns) || ns > INT64_MAX)
        return false;
    return epoch ? at_time(q, (int64_t)ns, in_ns, wall_ns) : from_now(q, ns, in_ns, wall_ns);
}

bool tl_quota_instant(tlshm_quota *q, struct tl_slice text, uint64_t unit_ns, uint64_t *in_ns, int64_t *wall_ns)
{
    struct tl_decimal number;
    uint64_t length;
    int64_t date;
    bool believed = false;
    size_t n = tl_moment_decimal(text, &number);
    if (n > 0 && n == text.n)
        believed = bare_number(q, &number, unit_ns, in_ns, wall_ns);
    else if (n > 0 && tl_moment_length(text, &length) == text.n)
        believed = from_now(q, length, in_ns, wall_ns);
    else if (tl_moment_date(text, &date))
        believed = at_time(q, date, in_ns, wall_ns);
    return believed || disbelieve(q);
}

void tl_quota_set_reset(tlshm_quota_limit *limit, uint64_t in_ns, int64_t wall_ns)
{
    limit->said |= TLSHM_SAID_RESET;
    limit->reset_in_ns = in_ns;
    limit->reset_wall_ns = wall_ns;
}

/*
 * Headers and text say the same thing in different precision: 540 ms and 1 s, 1.146 s and 2 s. Two statements less than
 * a second apart are one, and the finer counts; else the longer.
 */
void tl_quota_retry(tlshm_quota *q, uint64_t in_ns)
{
    uint64_t old = q->retry_after_ns;
    if (q->said & TLSHM_SAID_RETRY_AFTER) {
        bool same = tl_max(old, in_ns) - tl_min(old, in_ns) < SECOND_NS;
        bool finer = old % SECOND_NS == 0 && in_ns % SECOND_NS != 0;
        bool coarser = old % SECOND_NS != 0 && in_ns % SECOND_NS == 0;
        if (same && (finer || coarser) ? coarser : in_ns < old)
            return;
    }
    q->said |= TLSHM_SAID_RETRY_AFTER;
    q->retry_after_ns = in_ns;
    q->retry_at_wall_ns = q->now_wall_ns + (int64_t)in_ns;
}

bool tl_quota_retry_believed(tlshm_quota *q, uint64_t in_ns)
{
    if (in_ns > TLSHM_QUOTA_FAR_NS)
        return disbelieve(q);
    tl_quota_retry(q, in_ns);
    return true;
}
