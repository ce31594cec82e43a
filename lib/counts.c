/* SPDX-License-Identifier: MIT */
/*
 * counts.c - what figures contain.
 *
 * RULES
 *   U1  Input: Anthropic and Bedrock leave cache reads and writes out of it, all others count them in. Where a chat
 *       completion tells Anthropic's figures too (gateways do), they are parts of it, unless the total says otherwise.
 *   U2  Output: Gemini tells thoughts beside it, all others count reasoning in; xAI does not, which its total shows.
 *   U3  A total that is above input and output together has output in it that is not shown (thoughts, behind Gemini's
 *       chat completions). A total alone is input (embeddings).
 *   U4  What is billed comes before what was used (Cohere), and what a model says before what its host metered
 *       (Bedrock).
 *   U5  A part above its total raises the total: no figure is charged less than it says.
 */
#include "counts.h"

/* No sum here wraps: slots are at most TLSHM_AMOUNT_MAX. */
_Static_assert(TL_SLOTS < UINT64_MAX / TLSHM_AMOUNT_MAX, "sums of all slots fit");

static bool has(const struct tl_known *known, enum tl_slot slot)
{
    return known->seen >> slot & 1;
}

static uint64_t slot(const struct tl_known *known, enum tl_slot which)
{
    return has(known, which) ? known->slot[which] : 0;
}

bool tl_counts_any(const struct tl_known *known)
{
    static const enum tl_slot telling[] = {
        TL_SLOT_PROMPT,       TL_SLOT_INPUT,         TL_SLOT_OUTPUT,      TL_SLOT_THOUGHTS,     TL_SLOT_TOTAL,
        TL_SLOT_BILLED_INPUT, TL_SLOT_BILLED_OUTPUT, TL_SLOT_METER_INPUT, TL_SLOT_METER_OUTPUT,
    };

    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if (has(known, telling[i]))
            return true;
    return false;
}

bool tl_counts_whole(const struct tl_known *known)
{
    bool input = has(known, TL_SLOT_PROMPT) || has(known, TL_SLOT_INPUT) || has(known, TL_SLOT_BILLED_INPUT) ||
                 has(known, TL_SLOT_METER_INPUT) || has(known, TL_SLOT_TOTAL) || known->omits_zeros;
    uint64_t nulls = known->nulls & ~known->seen;
    bool half = (nulls >> TL_SLOT_PROMPT | nulls >> TL_SLOT_INPUT | nulls >> TL_SLOT_OUTPUT) & 1;

    return input && !half;
}

/* ------------------------------------------------------------------------------------------------------------ input */

/* Written to a cache: `all`, if it is told, says how much, and the parts how long for. */
static void put_writes(tlshm_counts *c, bool told, uint64_t all, uint64_t minutes, uint64_t hour)
{
    if (!told)
        all = minutes + hour;
    c->cache_write_1h += tl_min(hour, all);
    c->cache_write_5m += all - tl_min(hour, all);
}

/* Chat completions: the input has everything in it, and cached parts may be told in two ways. */
static void put_prompt(const struct tl_known *known, tlshm_counts *c)
{
    uint64_t read = slot(known, TL_SLOT_READ), write = slot(known, TL_SLOT_WRITE), prompt = slot(known, TL_SLOT_PROMPT);

    c->input_total = prompt + slot(known, TL_SLOT_TOOL_PROMPT);
    c->cache_read = tl_max(slot(known, TL_SLOT_CACHED), read);
    put_writes(c, true, tl_max(slot(known, TL_SLOT_WRITTEN), write), 0, slot(known, TL_SLOT_WRITE_1H));
    if (slot(known, TL_SLOT_TOTAL) == prompt + slot(known, TL_SLOT_OUTPUT) + read + write)
        c->input_total += read + write;
}

static void put_input(const struct tl_known *known, tlshm_counts *c)
{
    uint64_t written = slot(known, TL_SLOT_WRITTEN);
    bool told = has(known, TL_SLOT_WRITE);

    put_writes(c, told, slot(known, TL_SLOT_WRITE), slot(known, TL_SLOT_WRITE_5M), slot(known, TL_SLOT_WRITE_1H));
    c->input_total = slot(known, TL_SLOT_INPUT) + slot(known, TL_SLOT_READ) + c->cache_write_5m + c->cache_write_1h;
    c->cache_write_5m += written;
    c->cache_read = slot(known, TL_SLOT_READ) + slot(known, TL_SLOT_CACHED);
}

static void put_metered(const struct tl_known *known, tlshm_counts *c)
{
    c->cache_read = slot(known, TL_SLOT_METER_READ);
    c->cache_write_5m = slot(known, TL_SLOT_METER_WRITE);
    c->input_total = slot(known, TL_SLOT_METER_INPUT) + c->cache_read + c->cache_write_5m;
}

static void put_any_input(const struct tl_known *known, tlshm_counts *c)
{
    if (has(known, TL_SLOT_BILLED_INPUT)) {
        c->input_total = slot(known, TL_SLOT_BILLED_INPUT) + slot(known, TL_SLOT_BILLED_IMAGE);
        c->input_image = slot(known, TL_SLOT_BILLED_IMAGE);
    } else if (has(known, TL_SLOT_PROMPT) || known->omits_zeros) {
        put_prompt(known, c);
    } else if (has(known, TL_SLOT_INPUT)) {
        put_input(known, c);
    } else if (has(known, TL_SLOT_METER_INPUT)) {
        put_metered(known, c);
    } else if (!has(known, TL_SLOT_OUTPUT)) {
        c->input_total = slot(known, TL_SLOT_TOTAL);
    }
}

static void put_input_kinds(const struct tl_known *known, tlshm_counts *c)
{
    c->input_audio = slot(known, TL_SLOT_IN_AUDIO) + slot(known, TL_SLOT_TOOL_AUDIO);
    c->input_image += slot(known, TL_SLOT_IN_IMAGE) + slot(known, TL_SLOT_TOOL_IMAGE);
    c->input_video = slot(known, TL_SLOT_IN_VIDEO) + slot(known, TL_SLOT_TOOL_VIDEO);
    c->cache_read_audio = slot(known, TL_SLOT_CACHED_AUDIO);
}

/* ----------------------------------------------------------------------------------------------------------- output */

static void put_output(const struct tl_known *known, int provider, tlshm_counts *c)
{
    uint64_t total = slot(known, TL_SLOT_TOTAL);
    bool said = has(known, TL_SLOT_OUTPUT) || has(known, TL_SLOT_THOUGHTS);

    c->reasoning = slot(known, TL_SLOT_REASONING) + slot(known, TL_SLOT_THOUGHTS);
    c->output_audio = slot(known, TL_SLOT_OUT_AUDIO);
    c->output_image = slot(known, TL_SLOT_OUT_IMAGE);
    if (has(known, TL_SLOT_BILLED_OUTPUT) || has(known, TL_SLOT_BILLED_INPUT)) {
        c->output_total = slot(known, TL_SLOT_BILLED_OUTPUT);
        c->reasoning = tl_min(c->reasoning, c->output_total);
        return;
    }
    c->output_total =
        said ? slot(known, TL_SLOT_OUTPUT) + slot(known, TL_SLOT_THOUGHTS) : slot(known, TL_SLOT_METER_OUTPUT);
    if (provider == TLSHM_PROVIDER_XAI && !has(known, TL_SLOT_TOTAL))
        c->output_total += slot(known, TL_SLOT_REASONING);
    if (total > c->input_total)
        c->output_total = tl_max(c->output_total, total - c->input_total);
}

/* --------------------------------------------------------------------------------------------- tools, and the whole */

static void put_tools(const struct tl_known *known, tlshm_counts *c)
{
    uint64_t searches = slot(known, TL_SLOT_SEARCHES),
             server = tl_max(known->server_calls, slot(known, TL_SLOT_SERVER_CALLS));

    server = tl_max(server, searches + slot(known, TL_SLOT_FETCHES));
    c->tool_calls = tl_max(known->calls, known->outputs) + server;
    c->web_searches = tl_max(searches, known->output_searches);
}

static void add_steps(const struct tl_known *known, enum tl_slot first, tlshm_counts *c)
{
    uint64_t read = slot(known, first + (TL_OF_READ - TL_OF_INPUT));
    uint64_t write = slot(known, first + (TL_OF_WRITE - TL_OF_INPUT)), before = c->cache_write_5m + c->cache_write_1h;

    put_writes(c, write > 0, write, slot(known, first + (TL_OF_WRITE_5M - TL_OF_INPUT)),
               slot(known, first + (TL_OF_WRITE_1H - TL_OF_INPUT)));
    c->input_total += slot(known, first) + read + c->cache_write_5m + c->cache_write_1h - before;
    c->cache_read += read;
    c->output_total += slot(known, first + (TL_OF_OUTPUT - TL_OF_INPUT));
}

/* No part is above its total. */
static void settle_parts(tlshm_counts *c)
{
    c->cache_read = tl_max(c->cache_read, c->cache_read_audio);
    c->input_audio = tl_max(c->input_audio, c->cache_read_audio);
    c->input_total = tl_max(c->input_total, c->cache_read + c->cache_write_5m + c->cache_write_1h);
    c->input_total = tl_max(c->input_total, c->input_audio + c->input_image + c->input_video);
    c->output_total = tl_max(c->output_total, c->reasoning);
    c->output_total = tl_max(c->output_total, c->output_audio + c->output_image);
}

void tl_counts_of(const struct tl_known *known, int provider, tlshm_counts *counts, tlshm_counts *others)
{
    memset(counts, 0, sizeof *counts);
    memset(others, 0, sizeof *others);
    put_any_input(known, counts);
    put_input_kinds(known, counts);
    put_output(known, provider, counts);
    add_steps(known, TL_SLOT_EXTRA_INPUT, counts);
    settle_parts(counts);
    put_tools(known, counts);
    add_steps(known, TL_SLOT_OTHER_INPUT, others);
    settle_parts(others);
}

int tlshm_counts_amounts(const tlshm_counts *counts, tlshm_amounts *out)
{
    tlshm_amounts amounts = {{0}};

    if (!counts || !out)
        return -TLSHM_EINVAL;
    if (counts->input_total > TLSHM_AMOUNT_MAX || counts->output_total > TLSHM_AMOUNT_MAX ||
        counts->input_total + counts->output_total > TLSHM_AMOUNT_MAX || counts->tool_calls > TLSHM_AMOUNT_MAX)
        return -TLSHM_ERANGE;
    amounts.of[TLSHM_TOKENS] = counts->input_total + counts->output_total;
    amounts.of[TLSHM_INPUT_TOKENS] = counts->input_total;
    amounts.of[TLSHM_OUTPUT_TOKENS] = counts->output_total;
    amounts.of[TLSHM_TOOL_CALLS] = counts->tool_calls;
    *out = amounts;
    return 0;
}
