/* SPDX-License-Identifier: MIT */
/* provider.c - the calls of tlshm/provider.h, and what follows from an answer as a whole. */
#include <tlshm/provider.h>

#include "errorbody.h"
#include "headers.h"
#include "quota.h"

#define MINUTE_NS UINT64_C(60000000000)
#define DAY_NS (1440 * MINUTE_NS)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { STATUS_MAX = 999 };

/* ------------------------------------------------------------------------------------------------------------ names */

static const char *const providers[TLSHM_PROVIDERS] = {
    [TLSHM_PROVIDER_ANY] = "any",           [TLSHM_PROVIDER_OPENAI] = "openai",
    [TLSHM_PROVIDER_AZURE] = "azure",       [TLSHM_PROVIDER_ANTHROPIC] = "anthropic",
    [TLSHM_PROVIDER_GEMINI] = "gemini",     [TLSHM_PROVIDER_VERTEX] = "vertex",
    [TLSHM_PROVIDER_BEDROCK] = "bedrock",   [TLSHM_PROVIDER_MISTRAL] = "mistral",
    [TLSHM_PROVIDER_GROQ] = "groq",         [TLSHM_PROVIDER_COHERE] = "cohere",
    [TLSHM_PROVIDER_DEEPSEEK] = "deepseek", [TLSHM_PROVIDER_OPENROUTER] = "openrouter",
    [TLSHM_PROVIDER_XAI] = "xai",           [TLSHM_PROVIDER_OLLAMA] = "ollama",
};

static const char *const kinds[] = {
    [TLSHM_QUOTA_TOKENS] = "tokens",
    [TLSHM_QUOTA_REQUESTS] = "requests",
    [TLSHM_QUOTA_CONCURRENCY] = "concurrency",
    [TLSHM_QUOTA_INPUT_TOKENS] = "input_tokens",
    [TLSHM_QUOTA_OUTPUT_TOKENS] = "output_tokens",
    [TLSHM_QUOTA_IMAGES] = "images",
    [TLSHM_QUOTA_AUDIO] = "audio",
    [TLSHM_QUOTA_SHARE] = "share",
    [TLSHM_QUOTA_OTHER] = "other",
};

static const char *const causes[] = {
    [TLSHM_QUOTA_NONE] = "NONE",     [TLSHM_QUOTA_OVERLOADED] = "OVERLOADED", [TLSHM_QUOTA_LIMIT] = "LIMIT",
    [TLSHM_QUOTA_UNPAID] = "UNPAID", [TLSHM_QUOTA_TOO_LARGE] = "TOO_LARGE",
};

static const char *name_of(const char *const *names, size_t count, int index)
{
    return index >= 0 && (size_t)index < count && names[index] ? names[index] : "?";
}

const char *tlshm_provider_name(int provider)
{
    return name_of(providers, COUNT_OF(providers), provider);
}

const char *tlshm_quota_kind_name(int kind)
{
    return name_of(kinds, COUNT_OF(kinds), kind);
}

const char *tlshm_quota_cause_name(int cause)
{
    return name_of(causes, COUNT_OF(causes), cause);
}

int tlshm_provider_parse(const char *name)
{
    if (!name)
        return -TLSHM_EINVAL;
    for (int i = 0; i < TLSHM_PROVIDERS; i++)
        if (tl_moment_is((struct tl_slice){name, strlen(name)}, providers[i]))
            return i;
    return -TLSHM_EINVAL;
}

/* --------------------------------------------------------------------------------------------------------- taking in */

int tlshm_quota_begin(tlshm_quota *q, enum tlshm_provider provider, int status, int64_t now_wall_ns)
{
    if (!q || (unsigned)provider >= TLSHM_PROVIDERS || status < 0 || status > STATUS_MAX || now_wall_ns < 0 ||
        now_wall_ns > INT64_MAX - (int64_t)TLSHM_QUOTA_FAR_NS)
        return -TLSHM_EINVAL;
    memset(q, 0, sizeof *q);
    q->provider = provider;
    q->status = status;
    q->now_wall_ns = now_wall_ns;
    return 0;
}

int tlshm_quota_header(tlshm_quota *q, const char *name, size_t name_len, const char *value, size_t value_len)
{
    if (!q || !name || (!value && value_len))
        return -TLSHM_EINVAL;
    return tl_headers_take(q, (struct tl_slice){name, name_len}, (struct tl_slice){value ? value : "", value_len});
}

int tlshm_quota_body(tlshm_quota *q, const void *body, size_t len)
{
    if (!q || (!body && len))
        return -TLSHM_EINVAL;
    return tl_errorbody_take(q, (struct tl_slice){body ? body : "", len});
}

/* ------------------------------------------------------------------------------------------------------- conclusions */

/* Windows that a provider's documentation fixes and its headers leave out. */
static const struct {
    enum tlshm_provider provider;
    enum tlshm_quota_kind kind;
    uint64_t window_ns;
} known_windows[] = {
    {TLSHM_PROVIDER_ANTHROPIC, TLSHM_QUOTA_REQUESTS, MINUTE_NS},
    {TLSHM_PROVIDER_ANTHROPIC, TLSHM_QUOTA_TOKENS, MINUTE_NS},
    {TLSHM_PROVIDER_ANTHROPIC, TLSHM_QUOTA_INPUT_TOKENS, MINUTE_NS},
    {TLSHM_PROVIDER_ANTHROPIC, TLSHM_QUOTA_OUTPUT_TOKENS, MINUTE_NS},
    {TLSHM_PROVIDER_GROQ, TLSHM_QUOTA_REQUESTS, DAY_NS},
    {TLSHM_PROVIDER_GROQ, TLSHM_QUOTA_TOKENS, MINUTE_NS},
};

static void know_window(const tlshm_quota *q, tlshm_quota_limit *limit)
{
    for (size_t i = 0; i < COUNT_OF(known_windows); i++)
        if (limit->window_ns == 0 && limit->said & TLSHM_SAID_KIND && known_windows[i].provider == q->provider &&
            known_windows[i].kind == limit->kind)
            limit->window_ns = known_windows[i].window_ns;
}

static bool is_exhausted(const tlshm_quota_limit *limit)
{
    return limit->said & TLSHM_SAID_REJECTED || (limit->said & TLSHM_SAID_REMAINING && limit->remaining == 0);
}

/* Of those that can have refused, the one that takes longest to reset. */
static const tlshm_quota_limit *find_exhausted(const tlshm_quota *q)
{
    const tlshm_quota_limit *found = NULL;
    for (unsigned i = 0; i < q->limit_count; i++) {
        const tlshm_quota_limit *limit = &q->limits[i];
        if (is_exhausted(limit) && (!found || limit->reset_in_ns > found->reset_in_ns))
            found = limit;
    }
    return found;
}

/*
 * The headers' entry for the limit that a message named, or that was found before: of its kind, and of its window as far as
 * both are known; of several the one of its name.
 */
static const tlshm_quota_limit *find_same(const tlshm_quota *q, const tlshm_quota_limit *hit)
{
    const tlshm_quota_limit *found = NULL;
    for (unsigned i = 0; i < q->limit_count; i++) {
        const tlshm_quota_limit *limit = &q->limits[i];
        if (limit->kind != hit->kind ||
            (limit->window_ns != hit->window_ns && limit->window_ns != 0 && hit->window_ns != 0))
            continue;
        if (strcmp(limit->name, hit->name) == 0 && limit->window_ns == hit->window_ns)
            return limit;
        found = found ? found : limit;
    }
    return found;
}

static void complete(tlshm_quota_limit *hit, const tlshm_quota_limit *from)
{
    uint32_t new = from->said & ~hit->said;
    if (new &TLSHM_SAID_LIMIT)
        hit->limit = from->limit;
    if (new &TLSHM_SAID_REMAINING)
        hit->remaining = from->remaining;
    if (new &TLSHM_SAID_USED)
        hit->used = from->used;
    if (new &TLSHM_SAID_SHARE)
        hit->share_ppm = from->share_ppm;
    if (new &TLSHM_SAID_RESET) {
        hit->reset_in_ns = from->reset_in_ns;
        hit->reset_wall_ns = from->reset_wall_ns;
    }
    hit->window_ns = tl_max(hit->window_ns, from->window_ns);
    hit->said |= new;
}

static void find_hit(tlshm_quota *q)
{
    bool named = q->hit.said & TLSHM_SAID_KIND;
    if (!named && q->cause == TLSHM_QUOTA_TOO_LARGE) /* what is exhausted is another matter */
        return;
    const tlshm_quota_limit *entry = named ? find_same(q, &q->hit) : find_exhausted(q);
    if (!entry)
        return;
    complete(&q->hit, entry);
    q->hit.kind = entry->kind;
    if (!*q->hit.name)
        memcpy(q->hit.name, entry->name, sizeof q->hit.name);
}

static bool never_fits(const tlshm_quota_limit *hit)
{
    return hit->said & TLSHM_SAID_REQUESTED && hit->said & TLSHM_SAID_LIMIT && hit->requested > hit->limit;
}

static bool find_wait(const tlshm_quota *q, uint64_t *wait_ns)
{
    if (q->never_retry)
        *wait_ns = TLSHM_NEVER;
    else if (q->cause == TLSHM_QUOTA_NONE)
        return false;
    else if (q->said & TLSHM_SAID_RETRY_AFTER)
        *wait_ns = q->retry_after_ns;
    else if (q->cause == TLSHM_QUOTA_LIMIT && q->hit.said & TLSHM_SAID_RESET)
        *wait_ns = q->hit.reset_in_ns;
    else
        return false;
    return true;
}

int tlshm_quota_end(tlshm_quota *q)
{
    if (!q)
        return -TLSHM_EINVAL;
    tl_quota_refused(q, tl_quota_status(q->status));
    for (unsigned i = 0; i < q->limit_count && i < TLSHM_QUOTA_LIMITS_MAX; i++)
        know_window(q, &q->limits[i]);
    if (q->cause == TLSHM_QUOTA_LIMIT || q->cause == TLSHM_QUOTA_TOO_LARGE)
        find_hit(q);
    if (q->cause == TLSHM_QUOTA_LIMIT)
        know_window(q, &q->hit);
    q->never_retry = q->cause == TLSHM_QUOTA_UNPAID || q->cause == TLSHM_QUOTA_TOO_LARGE ||
                     (q->cause == TLSHM_QUOTA_LIMIT && never_fits(&q->hit));
    q->said &= ~TLSHM_SAID_WAIT;
    q->wait_ns = 0;
    if (find_wait(q, &q->wait_ns))
        q->said |= TLSHM_SAID_WAIT;
    return 0;
}
