/* SPDX-License-Identifier: MIT */
/*
 * refusal.c - refusals as people read them: one sentence each.
 */
#include "text.h"

/* One unit, rounded up: who comes back then is not too early. */
static void put_wait(struct tl_text *w, uint64_t ns)
{
    static const struct {
        uint64_t ns, below; /* the unit, and up to how many of them it is used */
        const char *name;
    } units[] = {{1000000, 1000, " ms"},
                 {TL_SECOND_NS, 120, " s"},
                 {60 * TL_SECOND_NS, 120, " min"},
                 {3600 * TL_SECOND_NS, 48, " h"},
                 {86400 * TL_SECOND_NS, UINT64_MAX, " d"}};
    size_t i = 0;
    while (ns / units[i].ns >= units[i].below)
        i++;
    tl_text_put_number(w, ns / units[i].ns + (ns % units[i].ns != 0));
    tl_text_put(w, units[i].name);
}

static void put_plain(struct tl_text *w, uint64_t amount, enum tlshm_unit unit)
{
    if (unit == TLSHM_COST)
        tl_text_put_money(w, amount, true);
    else if (unit == TLSHM_TIME)
        put_wait(w, amount);
    else
        tl_text_put_grouped(w, amount);
}

/* "1,000,000 tokens", "$50", "1 tool call". */
static void put_figure(struct tl_text *w, uint64_t amount, enum tlshm_unit unit)
{
    static const char *const nouns[TLSHM_UNITS] = {
        [TLSHM_TOKENS] = "token",
        [TLSHM_COST] = "",
        [TLSHM_REQUESTS] = "request",
        [TLSHM_CONCURRENCY] = "call",
        [TLSHM_INPUT_TOKENS] = "input token",
        [TLSHM_OUTPUT_TOKENS] = "output token",
        [TLSHM_TOOL_CALLS] = "tool call",
    };
    if (unit == TLSHM_COST || unit == TLSHM_TIME) {
        put_plain(w, amount, unit);
        return;
    }
    tl_text_put_grouped(w, amount);
    tl_text_put(w, " ");
    tl_text_put(w, (unsigned)unit < TLSHM_UNITS ? nouns[unit] : "?");
    tl_text_put(w, amount == 1 ? "" : "s");
}

static void put_cap(struct tl_text *w, const tlshm_limit *limit)
{
    put_figure(w, limit->cap, limit->unit);
    if (limit->unit == TLSHM_CONCURRENCY)
        tl_text_put(w, " at once");
    else if (limit->window.kind == TLSHM_WINDOW_LIFETIME)
        tl_text_put(w, " in its lifetime");
    else
        tl_text_put_window(w, &limit->window);
}

static void put_scope(struct tl_text *w, const tlshm_refusal *why)
{
    tl_text_put(w, *why->key ? why->key : "the segment");
}

static void put_retry(struct tl_text *w, uint64_t ns)
{
    if (ns == TLSHM_NEVER) {
        tl_text_put(w, "waiting does not help");
    } else if (ns == 0) {
        tl_text_put(w, "try again now");
    } else {
        tl_text_put(w, "try again in ");
        put_wait(w, ns);
    }
}

static void put_limit_reason(struct tl_text *w, const tlshm_refusal *why)
{
    enum tlshm_unit unit = why->limit.unit;
    put_scope(w, why);
    tl_text_put(w, " is over its limit of ");
    put_cap(w, &why->limit);
    tl_text_put(w, ": ");
    if (unit != TLSHM_CONCURRENCY) {
        put_plain(w, why->used, unit);
        tl_text_put(w, " used, ");
    }
    put_plain(w, why->held, unit);
    tl_text_put(w, " held, ");
    put_plain(w, why->requested, unit);
    tl_text_put(w, " requested; ");
    put_retry(w, why->retry_after_ns);
}

static void put_never_fits(struct tl_text *w, const tlshm_refusal *why)
{
    put_figure(w, why->requested, why->limit.unit);
    tl_text_put(w, " can never fit into ");
    put_scope(w, why);
    tl_text_put(w, "'s limit of ");
    put_cap(w, &why->limit);
    tl_text_put(w, "; waiting does not help");
}

static void put_too_large(struct tl_text *w, const tlshm_refusal *why)
{
    uint64_t cap = why->limit.cap;
    put_scope(w, why);
    tl_text_put(w, " allows a single request ");
    put_figure(w, cap, why->limit.unit);
    tl_text_put(w, why->limit.unit == TLSHM_TIME ? " of time: " : ": ");
    put_plain(w, why->requested, why->limit.unit);
    tl_text_put(w, " requested, ");
    put_plain(w, why->requested - (cap < why->requested ? cap : why->requested), why->limit.unit);
    tl_text_put(w, " too much; waiting does not help");
}

/* By a person, or just now by a latch, which is named. */
static void put_switched(struct tl_text *w, const tlshm_refusal *why, const char *state)
{
    bool latched = (why->limit.flags & (TLSHM_LIMIT_PAUSES | TLSHM_LIMIT_SHUTS_OFF)) != 0;
    put_scope(w, why);
    tl_text_put(w, state);
    if (!latched)
        return;
    tl_text_put(w, ": ");
    put_plain(w, why->used, why->limit.unit);
    tl_text_put(w, " used of ");
    put_cap(w, &why->limit);
}

int tlshm_refusal_text(const tlshm_refusal *why, char *buf, size_t size)
{
    struct tl_text w = {buf, size, 0};
    switch (why->reason) {
    case TLSHM_ADMITTED:
        tl_text_put(&w, "the request was admitted");
        break;
    case TLSHM_LIMIT:
        put_limit_reason(&w, why);
        break;
    case TLSHM_NEVER_FITS:
        put_never_fits(&w, why);
        break;
    case TLSHM_PAUSED:
        put_switched(&w, why, " is paused");
        break;
    case TLSHM_SHUTOFF:
        put_switched(&w, why, " is shut off until a person resumes it");
        break;
    case TLSHM_REQUEST_TOO_LARGE:
        put_too_large(&w, why);
        break;
    case TLSHM_UNKNOWN_MODEL:
        put_scope(&w, why);
        tl_text_put(&w, " limits cost, and the model has no price");
        break;
    case TLSHM_FULL:
        tl_text_put(&w, "the segment has no room for one more scope or reservation");
        break;
    default:
        tl_text_put(&w, "refused for a reason that this version does not know");
        break;
    }
    return tl_text_end(&w);
}
