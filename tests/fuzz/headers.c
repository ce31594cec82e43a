/* SPDX-License-Identifier: MIT */
/*
 * headers.c - a provider's answer made of the input: whatever it says, what is reported stays in its ranges.
 *
 * INPUT  provider, status, now, then the answer: headers line by line, an empty line, the body. A byte from 0x80 on
 * stands for a fragment of real answers, so that random inputs say something; 0xff escapes the next byte.
 */
#include "fuzz.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include <tlshm/provider.h>

enum { ANSWER_MAX = 1u << 16, STATUSES = 12 };

static const char *const fragments[] = {
    "x-ratelimit-",
    "ratelimit-",
    "anthropic-ratelimit-",
    "x-rate-limit-",
    "anthropic-priority-",
    "ratelimit: ",
    "ratelimit-policy: ",
    "retry-after: ",
    "retry-after-ms: ",
    "date: ",
    "policy-id: DeploymentRatelimit-Token",
    "x-amzn-errortype: ThrottlingException",
    "x-should-retry: false",
    "limit",
    "remaining",
    "reset",
    "used",
    "utilization",
    "status",
    "-",
    "_",
    "requests",
    "tokens",
    "input",
    "output",
    "images",
    "unified",
    "5h",
    "10-second",
    "month",
    ": ",
    "\n",
    "\n\n",
    "0",
    "1",
    "-1",
    "60",
    "4711",
    "9007199254740992",
    "18446744073709551616",
    "1e9",
    "NaN",
    "0.19",
    "1m13.588s",
    "6ms",
    "17.399999999s",
    "300d",
    "2023-11-14T22:13:25Z",
    "Tue, 14 Nov 2023 22:13:50 GMT",
    "1700000060",
    "1700000060500",
    "\"api\";r=999;t=295",
    "\"b\";q=100;w=60",
    ", ",
    ";",
    "=",
    "\"",
    "rejected",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\\",
    "\\u00e9",
    "\"error\":",
    "\"message\":",
    "\"code\":",
    "\"type\":",
    "\"headers\":",
    "\"violations\":",
    "\"quotaId\":",
    "\"quotaMetric\":",
    "\"quotaValue\":",
    "\"retryDelay\":",
    "null",
    "429",
    "\"rate_limit_error\"",
    "\"insufficient_quota\"",
    "\"17s\"",
    "data: ",
    "Rate limit reached on ",
    "tokens per min (TPM): ",
    "Limit 900, Used 700, Requested 300. ",
    "Requested ~12903",
    "Please try again in 6.666s.",
    "Request too large",
    "retry after 7 seconds",
    "of 40,000 input tokens per minute",
    "limited to 10 API calls / minute",
    "prompt is too long: 205000 tokens > 200000 maximum",
    "Too many tokens per day",
    "GenerateRequestsPerDayPerProject",
    "input_token_count",
};

static size_t spell(struct bytes *in, char *text)
{
    size_t n = 0;
    while (bytes_left(in) > 0 && n + 128 < ANSWER_MAX) {
        unsigned c = bytes_8(in);
        if (c < 0x80 || c == 0xff) {
            text[n++] = (char)(c == 0xff ? bytes_8(in) : c);
            continue;
        }
        const char *fragment = fragments[(c - 0x80) % (sizeof fragments / sizeof *fragments)];
        size_t length = strlen(fragment);
        memcpy(text + n, fragment, length);
        n += length;
    }
    return n;
}

/* A copy of just its size, so that a step beyond it is seen. */
static char *copy_of(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    MUST(copy, "out of memory");
    memcpy(copy, text, n);
    return copy;
}

static void check_limit(const tlshm_quota *q, const tlshm_quota_limit *limit)
{
    int64_t far = limit->reset_wall_ns - q->now_wall_ns;
    MUST(memchr(limit->name, '\0', sizeof limit->name), "a name without an end");
    for (const char *c = limit->name; *c; c++)
        MUST(*c >= ' ' && *c < 0x7f, "a name with a byte %d", *c);
    MUST(limit->limit <= TLSHM_AMOUNT_MAX && limit->remaining <= TLSHM_AMOUNT_MAX, "an amount out of range");
    MUST(limit->used <= TLSHM_AMOUNT_MAX && limit->requested <= TLSHM_AMOUNT_MAX, "an amount out of range");
    MUST(limit->share_ppm <= UINT64_C(1000000000), "a share out of range");
    MUST(limit->window_ns <= TLSHM_QUOTA_FAR_NS, "a window out of range");
    MUST(limit->said & TLSHM_SAID_RESET || (!limit->reset_in_ns && !limit->reset_wall_ns), "a reset that nobody said");
    if (limit->said & TLSHM_SAID_RESET)
        MUST(limit->reset_in_ns == (far > 0 ? (uint64_t)far : 0) && limit->reset_in_ns <= TLSHM_QUOTA_FAR_NS &&
                 far >= -(int64_t)TLSHM_QUOTA_FAR_NS,
             "a reset out of range");
}

static void check(const tlshm_quota *q)
{
    MUST(q->limit_count <= TLSHM_QUOTA_LIMITS_MAX, "%u limits", q->limit_count);
    for (unsigned i = 0; i < q->limit_count; i++)
        check_limit(q, &q->limits[i]);
    check_limit(q, &q->hit);
    MUST(q->retry_after_ns <= TLSHM_QUOTA_FAR_NS, "a retry-after out of range");
    if (q->said & TLSHM_SAID_RETRY_AFTER)
        MUST(q->retry_at_wall_ns - q->now_wall_ns == (int64_t)q->retry_after_ns, "two times to retry");
    if (q->said & TLSHM_SAID_WAIT)
        MUST(q->never_retry ? q->wait_ns == TLSHM_NEVER : q->wait_ns <= TLSHM_QUOTA_FAR_NS, "a wait out of range");
    MUST(!q->never_retry || q->cause >= TLSHM_QUOTA_LIMIT, "never again, for no cause");
}

static void take_lines(tlshm_quota *q, const char *text, size_t n)
{
    const char *end = text + n;
    while (text < end && *text != '\n') {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        const char *colon = memchr(text, ':', (size_t)(stop - text));
        size_t name_length = (size_t)((colon ? colon : stop) - text);
        size_t length = colon ? (size_t)(stop - colon) - 1 : 0;
        char *name = copy_of(text, name_length), *value = copy_of(colon ? colon + 1 : "", length);
        int rc = tlshm_quota_header(q, name, name_length, value, length);
        MUST(rc == 0 || rc == 1, "a header returned %d", rc);
        free(name);
        free(value);
        text = stop < end ? stop + 1 : end;
    }
    if (text == end)
        return;
    n = (size_t)(end - text) - 1;
    char *body = copy_of(text + 1, n);
    int rc = tlshm_quota_body(q, body, n);
    MUST(rc == 0 || rc == 1, "a body returned %d", rc);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[STATUSES] = {0, 200, 400, 402, 404, 413, 429, 429, 500, 503, 529, 999};
    static char text[ANSWER_MAX];
    struct bytes in = {data, data + size};
    tlshm_quota q, again;
    enum tlshm_provider provider = (enum tlshm_provider)bytes_below(&in, TLSHM_PROVIDERS);
    int status = statuses[bytes_below(&in, STATUSES)];
    unsigned when = bytes_8(&in);
    int64_t now = when < 250 ? INT64_C(1700000000000000000) : (int64_t)(bytes_take(&in, 8) >> 2);
    MUST(tlshm_quota_begin(&q, provider, status, now) == 0, "begin failed");
    take_lines(&q, text, spell(&in, text));
    MUST(tlshm_quota_end(&q) == 0, "end failed");
    check(&q);
    again = q;
    MUST(tlshm_quota_end(&again) == 0 && memcmp(&q, &again, sizeof q) == 0, "other conclusions from the same answer");
    return 0;
}
