/* SPDX-License-Identifier: MIT */
/*
 * message.c - phrases, in letters of either case. A table for each question; the first phrase of a table that occurs in
 * the text answers it, so the more particular ones stand first.
 *
 * Anthropic's sentences about rate limits also speak of "the maximum tokens requested", Gemini's about requests of
 * "billing", Azure's about tokens of "Requests to the ...": single words say nothing.
 */
#include "message.h"

#define MINUTE_NS UINT64_C(60000000000)
#define DAY_NS (1440 * MINUTE_NS)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { NOT_FOUND = -1, REACH = 48 /* bytes between a number and its "per minute" */ };

/* Where the lower-case phrase begins at or behind `from`, as a whole word at its start. */
static ptrdiff_t find(struct tl_slice text, size_t from, const char *phrase)
{
    size_t n = strlen(phrase);
    for (size_t i = from; i + n <= text.n; i++) {
        if (tl_moment_lower(text.at[i]) != *phrase || (i > 0 && tl_moment_letter(text.at[i - 1])))
            continue;
        if (tl_moment_begins((struct tl_slice){text.at + i, text.n - i}, phrase))
            return (ptrdiff_t)i;
    }
    return NOT_FOUND;
}

static struct tl_slice behind(struct tl_slice text, ptrdiff_t at, const char *phrase)
{
    size_t n = (size_t)at + strlen(phrase);
    return (struct tl_slice){text.at + n, text.n - n};
}

/* Steps over the characters in `what`. */
static struct tl_slice skip(struct tl_slice text, const char *what)
{
    while (text.n > 0 && *text.at && strchr(what, *text.at))
        text.at++, text.n--;
    return text;
}

/* ----------------------------------------------------------------------------------------------------- kind, window */

static const struct {
    const char *phrase;
    enum tlshm_quota_kind kind;
    uint64_t window_ns; /* of abbreviations */
} kinds[] = {
    {"(tpm)", TLSHM_QUOTA_TOKENS, MINUTE_NS},
    {"(tpd)", TLSHM_QUOTA_TOKENS, DAY_NS},
    {"(rpm)", TLSHM_QUOTA_REQUESTS, MINUTE_NS},
    {"(rpd)", TLSHM_QUOTA_REQUESTS, DAY_NS},
    {"(ipm)", TLSHM_QUOTA_IMAGES, MINUTE_NS},
    {"(itpm)", TLSHM_QUOTA_INPUT_TOKENS, MINUTE_NS},
    {"(otpm)", TLSHM_QUOTA_OUTPUT_TOKENS, MINUTE_NS},
    {"input tokens per", TLSHM_QUOTA_INPUT_TOKENS, 0},
    {"output tokens per", TLSHM_QUOTA_OUTPUT_TOKENS, 0},
    {"tokens per", TLSHM_QUOTA_TOKENS, 0},
    {"requests per", TLSHM_QUOTA_REQUESTS, 0},
    {"images per", TLSHM_QUOTA_IMAGES, 0},
    {"calls per", TLSHM_QUOTA_REQUESTS, 0},
    {"calls /", TLSHM_QUOTA_REQUESTS, 0},
    {"number of request tokens", TLSHM_QUOTA_TOKENS, 0},
    {"number of input tokens", TLSHM_QUOTA_INPUT_TOKENS, 0},
    {"number of output tokens", TLSHM_QUOTA_OUTPUT_TOKENS, 0},
    {"number of concurrent", TLSHM_QUOTA_CONCURRENCY, 0},
    {"too many concurrent", TLSHM_QUOTA_CONCURRENCY, 0},
    {"number of requests", TLSHM_QUOTA_REQUESTS, 0},
    {"too many tokens", TLSHM_QUOTA_TOKENS, 0},
    {"too many requests", TLSHM_QUOTA_REQUESTS, 0},
    {"input token rate limit", TLSHM_QUOTA_INPUT_TOKENS, 0},
    {"output token rate limit", TLSHM_QUOTA_OUTPUT_TOKENS, 0},
    {"token rate limit", TLSHM_QUOTA_TOKENS, 0},
    {"tokens rate limit", TLSHM_QUOTA_TOKENS, 0},
    {"call rate limit", TLSHM_QUOTA_REQUESTS, 0},
    {"request rate limit", TLSHM_QUOTA_REQUESTS, 0},
    {"requests rate limit", TLSHM_QUOTA_REQUESTS, 0},
    {"maximum context length", TLSHM_QUOTA_TOKENS, 0},
    {"prompt is too long", TLSHM_QUOTA_INPUT_TOKENS, 0},
    {"models-per-", TLSHM_QUOTA_REQUESTS, 0},
};

static const char *const pers[] = {"per ", "per-", "/ ", "/", "models-per-"};

static bool find_kind(struct tl_slice text, enum tlshm_quota_kind *kind)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (find(text, 0, kinds[i].phrase) < 0)
            continue;
        *kind = kinds[i].kind;
        return true;
    }
    return false;
}

static size_t word_length(struct tl_slice text)
{
    size_t n = 0;
    while (n < text.n && (tl_moment_letter(text.at[n]) || tl_moment_digit(text.at[n])))
        n++;
    return n;
}

/* The window behind a "per"; "per million" and "per project" are passed over, and what is out of range. */
static bool find_window(struct tl_slice text, uint64_t *window_ns)
{
    uint64_t window;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!kinds[i].window_ns || find(text, 0, kinds[i].phrase) < 0)
            continue;
        *window_ns = kinds[i].window_ns;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(pers); i++)
        for (ptrdiff_t at = 0; (at = find(text, (size_t)at, pers[i])) >= 0; at++) {
            struct tl_slice rest = behind(text, at, pers[i]);
            if (!tl_moment_window((struct tl_slice){rest.at, word_length(rest)}, &window) ||
                window > TLSHM_QUOTA_FAR_NS)
                continue;
            *window_ns = window;
            return true;
        }
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

enum role { ROLE_LIMIT, ROLE_USED, ROLE_REQUESTED };

static const struct {
    const char *phrase;
    enum role role;
} numbers[] = {
    {"limit", ROLE_LIMIT},
    {"used", ROLE_USED},
    {"current", ROLE_USED},
    {"requested", ROLE_REQUESTED},
    {"resulted in", ROLE_REQUESTED},
    {"too long", ROLE_REQUESTED},
    {"context length is", ROLE_LIMIT},
    {"tokens >", ROLE_LIMIT},
};

static const char *const amounts[] = {"limit of ", "limited to ", "of "};

static bool read_amount(tlshm_quota *q, struct tl_slice text, uint64_t *out)
{
    struct tl_decimal number;
    if (tl_moment_grouped(text, &number) == 0)
        return false;
    if (number.whole > TLSHM_AMOUNT_MAX) {
        q->disbelieved++;
        return false;
    }
    *out = number.whole;
    return true;
}

/* "Limit 30000", "Limit: 3 / min", "Requested ~12903" */
static bool number_behind(tlshm_quota *q, struct tl_slice text, const char *phrase, uint64_t *out)
{
    for (ptrdiff_t at = 0; (at = find(text, (size_t)at, phrase)) >= 0; at++) {
        struct tl_slice rest = behind(text, at, phrase);
        if (rest.n == 0 || !strchr(": ~", *rest.at) || !*rest.at)
            continue;
        rest = skip(rest, ": ~");
        if (rest.n > 0 && tl_moment_digit(*rest.at))
            return read_amount(q, rest, out);
    }
    return false;
}

/* "of 40,000 input tokens per minute", "limited to 10 API calls / minute" */
static bool number_per_window(tlshm_quota *q, struct tl_slice text, uint64_t *out)
{
    uint64_t window;
    for (size_t i = 0; i < COUNT_OF(amounts); i++)
        for (ptrdiff_t at = 0; (at = find(text, (size_t)at, amounts[i])) >= 0; at++) {
            struct tl_slice rest = behind(text, at, amounts[i]);
            if (rest.n == 0 || !tl_moment_digit(*rest.at))
                continue;
            struct tl_slice near = {rest.at, rest.n < REACH ? rest.n : REACH};
            if (find_window(near, &window))
                return read_amount(q, rest, out);
        }
    return false;
}

static void set_number(tlshm_quota_limit *hit, enum role role, uint64_t value)
{
    if (role == ROLE_LIMIT)
        hit->limit = value, hit->said |= TLSHM_SAID_LIMIT;
    else if (role == ROLE_USED)
        hit->used = value, hit->said |= TLSHM_SAID_USED;
    else
        hit->requested = value, hit->said |= TLSHM_SAID_REQUESTED;
}

static bool take_numbers(tlshm_quota *q, struct tl_slice text)
{
    uint64_t value;
    bool believed = false;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (!number_behind(q, text, numbers[i].phrase, &value))
            continue;
        set_number(&q->hit, numbers[i].role, value);
        believed = true;
    }
    if (!(q->hit.said & TLSHM_SAID_LIMIT) && number_per_window(q, text, &value)) {
        set_number(&q->hit, ROLE_LIMIT, value);
        believed = true;
    }
    return believed;
}

/* --------------------------------------------------------------------------------------------------- when to try again */

static const char *const waits[] = {"again in", "retry in", "retry after", "again after", "available in", "wait"};

static bool take_wait(tlshm_quota *q, struct tl_slice text)
{
    uint64_t ns;
    for (size_t i = 0; i < COUNT_OF(waits); i++)
        for (ptrdiff_t at = 0; (at = find(text, (size_t)at, waits[i])) >= 0; at++) {
            struct tl_slice rest = skip(behind(text, at, waits[i]), ": ");
            if (rest.n > 0 && tl_moment_digit(*rest.at) && tl_moment_length(rest, &ns))
                return tl_quota_retry_believed(q, ns);
        }
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ cause */

static const struct {
    const char *phrase;
    enum tlshm_quota_cause cause;
} causes[] = {
    {"request too large", TLSHM_QUOTA_TOO_LARGE},
    {"request exceeds the maximum", TLSHM_QUOTA_TOO_LARGE},
    {"prompt is too long", TLSHM_QUOTA_TOO_LARGE},
    {"input is too long", TLSHM_QUOTA_TOO_LARGE},
    {"maximum context length", TLSHM_QUOTA_TOO_LARGE},
    {"reduce your message size", TLSHM_QUOTA_TOO_LARGE},
    {"input token count exceeds", TLSHM_QUOTA_TOO_LARGE},
    {"insufficient balance", TLSHM_QUOTA_UNPAID},
    {"insufficient credits", TLSHM_QUOTA_UNPAID},
    {"credit balance is too low", TLSHM_QUOTA_UNPAID},
    {"billing hard limit", TLSHM_QUOTA_UNPAID},
    {"rate limit", TLSHM_QUOTA_LIMIT},
    {"too many tokens", TLSHM_QUOTA_LIMIT},
    {"too many requests", TLSHM_QUOTA_LIMIT},
    {"quota exceeded", TLSHM_QUOTA_LIMIT},
    {"exceeded your current quota", TLSHM_QUOTA_LIMIT},
    {"resource exhausted", TLSHM_QUOTA_LIMIT},
    {"limited to", TLSHM_QUOTA_LIMIT},
    {"overloaded", TLSHM_QUOTA_OVERLOADED},
    {"server is busy", TLSHM_QUOTA_OVERLOADED},
};

static bool take_cause(tlshm_quota *q, struct tl_slice text)
{
    for (size_t i = 0; i < COUNT_OF(causes); i++) {
        if (find(text, 0, causes[i].phrase) < 0)
            continue;
        tl_quota_refused(q, causes[i].cause);
        return true;
    }
    return false;
}

static bool take_details(tlshm_quota *q, struct tl_slice text)
{
    enum tlshm_quota_kind kind;
    uint64_t window;
    bool believed = false;
    if (find_kind(text, &kind)) {
        q->hit.kind = kind;
        q->hit.said |= TLSHM_SAID_KIND;
        believed = true;
    }
    if (find_window(text, &window))
        q->hit.window_ns = window;
    believed |= take_numbers(q, text);
    return take_wait(q, text) || believed;
}

bool tl_message_take(tlshm_quota *q, struct tl_slice text)
{
    /* What else an answer says is about a limit only if it was refused for one. */
    if (!take_cause(q, text) && tl_quota_status(q->status) == TLSHM_QUOTA_NONE)
        return false;
    return take_details(q, text) || q->cause != TLSHM_QUOTA_NONE;
}
