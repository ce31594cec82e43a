/* SPDX-License-Identifier: MIT */
/*
 * tlshm/provider.h - what a model provider says of its own limits: from the headers and the error body of an answer to
 * "N left until T", "try again in T" and "never send this again".
 *
 *     tlshm_quota q;
 *     tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 429, now_wall_ns);
 *     for each header: tlshm_quota_header(&q, name, name_len, value, value_len);
 *     tlshm_quota_body(&q, body, body_len);        only for what may be an error
 *     tlshm_quota_end(&q);
 *
 * What to know first:
 *   - Nothing here needs a segment, allocates, keeps state outside of the struct, or looks at a clock or a locale: any
 *     thread, any process, after fork, in a signal handler. One struct is for one thread at a time.
 *   - Each value is believed or not, on its own: what is negative, no number, above TLSHM_AMOUNT_MAX or more than
 *     TLSHM_QUOTA_FAR_NS away from now is counted in `disbelieved` and changes nothing else. (-1 is Azure's word for
 *     "not known".)
 *   - A field means something only if its bit is in `said`; fields that were not said are 0.
 *   - Waiting times are rounded up to a nanosecond, what is left is rounded down.
 *   - The work is linear in what is given, and bounded: names and values above 512 bytes are not looked at, bodies
 *     only up to TLSHM_QUOTA_BODY_MAX.
 *
 * The formats are those that the providers' public documentation and their recorded answers show; tlshm_quota_begin(3)
 * has the list.
 */
#ifndef TLSHM_PROVIDER_H
#define TLSHM_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include <tlshm.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TLSHM_QUOTA_LIMITS_MAX 12
#define TLSHM_QUOTA_NAME_MAX 55                        /* bytes of a limit's own name */
#define TLSHM_QUOTA_BODY_MAX 65536                     /* bytes of a body that are looked at */
#define TLSHM_QUOTA_FAR_NS UINT64_C(31622400000000000) /* 366 days: nothing further away is believed */

/*
 * Who answered, where the caller knows. For a quota a hint: names and formats are recognised without it. With it, limits
 * whose window the provider's documentation fixes get that window (Anthropic: a minute; Groq: requests a day, tokens a
 * minute). What it says of an answer's use: tlshm_answer_begin().
 */
enum tlshm_provider {
    TLSHM_PROVIDER_ANY = 0,
    TLSHM_PROVIDER_OPENAI = 1,
    TLSHM_PROVIDER_AZURE = 2,
    TLSHM_PROVIDER_ANTHROPIC = 3,
    TLSHM_PROVIDER_GEMINI = 4,
    TLSHM_PROVIDER_VERTEX = 5,
    TLSHM_PROVIDER_BEDROCK = 6,
    TLSHM_PROVIDER_MISTRAL = 7,
    TLSHM_PROVIDER_GROQ = 8,
    TLSHM_PROVIDER_COHERE = 9,
    TLSHM_PROVIDER_DEEPSEEK = 10,
    TLSHM_PROVIDER_OPENROUTER = 11,
    TLSHM_PROVIDER_XAI = 12,
    TLSHM_PROVIDER_OLLAMA = 13,
    TLSHM_PROVIDERS = 14
};

/* What a provider counts. Where tlshm counts it too, the number is that of the unit. */
enum tlshm_quota_kind {
    TLSHM_QUOTA_TOKENS = TLSHM_TOKENS,
    TLSHM_QUOTA_REQUESTS = TLSHM_REQUESTS,
    TLSHM_QUOTA_CONCURRENCY = TLSHM_CONCURRENCY,
    TLSHM_QUOTA_INPUT_TOKENS = TLSHM_INPUT_TOKENS,
    TLSHM_QUOTA_OUTPUT_TOKENS = TLSHM_OUTPUT_TOKENS,
    TLSHM_QUOTA_IMAGES = 32,
    TLSHM_QUOTA_AUDIO = 33,
    TLSHM_QUOTA_SHARE = 34, /* of a subscription; only its share in use is told */
    TLSHM_QUOTA_OTHER = 35  /* see the limit's name */
};

/* Bits of `said`. */
#define TLSHM_SAID_KIND 1u
#define TLSHM_SAID_LIMIT 2u
#define TLSHM_SAID_REMAINING 4u
#define TLSHM_SAID_RESET 8u
#define TLSHM_SAID_USED 16u
#define TLSHM_SAID_REQUESTED 32u
#define TLSHM_SAID_SHARE 64u
#define TLSHM_SAID_REJECTED 128u    /* this limit is said to have refused */
#define TLSHM_SAID_RETRY_AFTER 256u /* of tlshm_quota, like the next four */
#define TLSHM_SAID_WAIT 512u
#define TLSHM_SAID_DATE 1024u
#define TLSHM_SAID_RETRY 2048u    /* "retry this": x-should-retry: true */
#define TLSHM_SAID_NO_RETRY 4096u /* x-should-retry: false; an advice about this moment, unlike never_retry */

/* One limit of the provider. */
typedef struct tlshm_quota_limit {
    enum tlshm_quota_kind kind;
    uint32_t said;
    uint64_t window_ns;                  /* 0: not known. A month counts as 30 days */
    char name[TLSHM_QUOTA_NAME_MAX + 1]; /* what tells it from others of its kind and window; often empty */
    uint64_t limit;
    uint64_t remaining;
    uint64_t used;
    uint64_t requested;    /* by the call that was refused */
    uint64_t share_ppm;    /* in use, in millionths; may exceed 1,000,000 */
    uint64_t reset_in_ns;  /* from now; 0 if that is past. Some providers mean "full again", some "some again" */
    int64_t reset_wall_ns; /* the same since 1970; may be past */
} tlshm_quota_limit;

/* Why the call was refused; the later one wins when an answer tells of several. */
enum tlshm_quota_cause {
    TLSHM_QUOTA_NONE = 0,       /* it was not, as far as can be seen */
    TLSHM_QUOTA_OVERLOADED = 1, /* the provider is busy: nobody's limit */
    TLSHM_QUOTA_LIMIT = 2,      /* a rate limit: see `hit` */
    TLSHM_QUOTA_UNPAID = 3,     /* no credit or budget left: until a person acts */
    TLSHM_QUOTA_TOO_LARGE = 4   /* this request will never fit */
};

typedef struct tlshm_quota {
    enum tlshm_provider provider;
    int status; /* of HTTP; 0: not known */
    int64_t now_wall_ns;
    uint32_t said;
    /* set by tlshm_quota_end() */
    enum tlshm_quota_cause cause;
    int never_retry;  /* TOO_LARGE, UNPAID, or more was requested than the whole limit. Whatever else was said */
    uint64_t wait_ns; /* SAID_WAIT: how long to wait before the same call; TLSHM_NEVER with never_retry */
    /* set as they come */
    uint64_t retry_after_ns; /* as said, on whatever answer: it is also seen on answers that succeeded */
    int64_t retry_at_wall_ns;
    int64_t date_wall_ns;  /* the answer's own Date */
    tlshm_quota_limit hit; /* the limit that refused; kind with SAID_KIND only */
    unsigned limit_count;
    unsigned disbelieved; /* values */
    unsigned dropped;     /* values of limits that found no room */
    tlshm_quota_limit limits[TLSHM_QUOTA_LIMITS_MAX];
} tlshm_quota;

/*
 * Starts with an answer. `status`: of HTTP, 0 if not known. `now_wall_ns`: since 1970, the caller's clock, or the
 * answer's own date for one that was recorded. Returns 0, or -EINVAL (an unknown provider, a time before 1970).
 */
int tlshm_quota_begin(tlshm_quota *q, enum tlshm_provider provider, int status, int64_t now_wall_ns);

/*
 * Takes one header, in any order; letters of either case; blanks around the value don't matter. A limit's last value
 * counts. Returns 1 if something in it was believed, 0 if not (another header, or a bad value), or -EINVAL.
 */
int tlshm_quota_header(tlshm_quota *q, const char *name, size_t name_len, const char *value, size_t value_len);

/*
 * Takes a body: JSON, an event stream, or plain text. Only messages and codes of an error are believed, never what a
 * model wrote; with a status of success that is what stands below "error". Returns as tlshm_quota_header().
 */
int tlshm_quota_body(tlshm_quota *q, const void *body, size_t len);

/*
 * Draws the conclusions: cause, never_retry, hit, wait. May be called again after more was taken. Where only the reset
 * of an exhausted limit is known, the wait is until then. Returns 0 or -EINVAL.
 */
int tlshm_quota_end(tlshm_quota *q);

/* "anthropic", ...; "input_tokens", ...; "LIMIT", ...: static strings, "?" for a number out of range. */
const char *tlshm_provider_name(int provider);
const char *tlshm_quota_kind_name(int kind);
const char *tlshm_quota_cause_name(int cause);

/* The provider of a name, NUL-terminated, letters of either case; -EINVAL for none of them. */
int tlshm_provider_parse(const char *name);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
