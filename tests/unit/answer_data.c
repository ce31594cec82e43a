/* SPDX-License-Identifier: MIT */
/*
 * answer_data.c - recorded answers: what the library makes of them against a second opinion.
 *
 * Usage: answer_data FOLDER, where FOLDER has providers/ and prices/. The second opinions are the formulas below for
 * recorded usage and streams, and the counts that genai-prices expects for its own bodies. Where the latter differ, a
 * reason in the table says why, and each reason must be met.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <zlib.h>

#include <tlshm/answer.h>

#include "answers.h"
#include "tap.h"

enum { TIMEOUT_S = 250, PATH_SIZE = 1024, LINE_SIZE = 1 << 16 };

static const char *folder;

/* ------------------------------------------------------------------------------------------------------------- JSON */

static uint64_t figure(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
}

static bool has(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return value && !json_is_null(value);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The same details go by three names. */
static json_t *details(const json_t *usage, const char *side)
{
    static const char *const endings[] = {"tokens_details", "token_details"};
    char key[64];

    for (size_t i = 0; i < 2; i++) {
        snprintf(key, sizeof key, "%s_%s", side, endings[i]);
        if (has(usage, key))
            return json_object_get(usage, key);
    }
    return NULL;
}

/* The tokens of one modality in a list of Gemini's, by its name or number. */
static uint64_t of_modality(const json_t *list, const char *name, int number)
{
    uint64_t sum = 0;
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        json_t *kind = json_object_get(entry, "modality");

        if ((json_is_string(kind) && strcmp(json_string_value(kind), name) == 0) ||
            (json_is_integer(kind) && json_integer_value(kind) == number))
            sum += figure(entry, "tokenCount");
    }
    return sum;
}

/* ----------------------------------------------------------------------------------------------- the second opinion */

static tlshm_counts of_chat(const json_t *u)
{
    json_t *in = details(u, "prompt"), *out = details(u, "completion");
    uint64_t total = figure(u, "total_tokens");
    tlshm_counts c = {
        .input_total = has(u, "prompt_tokens") ? figure(u, "prompt_tokens") : total,
        .cache_read =
            larger(larger(figure(in, "cached_tokens"), figure(u, "cached_tokens")), figure(u, "num_cached_tokens")),
        .cache_write_5m = figure(in, "cache_write_tokens"),
        .input_audio = figure(in, "audio_tokens"),
        .input_image = figure(in, "image_tokens"),
        .input_video = figure(in, "video_tokens"),
        .reasoning = figure(out, "reasoning_tokens"),
        .output_audio = figure(out, "audio_tokens"),
        .output_image = figure(out, "image_tokens"),
        .web_searches = figure(json_object_get(u, "server_tool_use_details"), "web_search_requests"),
    };

    c.output_total = larger(figure(u, "completion_tokens"), total > c.input_total ? total - c.input_total : 0);
    return c;
}

static tlshm_counts of_responses(const json_t *u)
{
    json_t *in = details(u, "input"), *out = details(u, "output");
    tlshm_counts c = {
        .input_total = figure(u, "input_tokens"),
        .cache_read = figure(in, "cached_tokens"),
        .cache_write_5m = figure(in, "cache_write_tokens"),
        .output_total = figure(u, "output_tokens"),
        .reasoning = figure(out, "reasoning_tokens"),
    };

    return c;
}

static tlshm_counts of_messages(const json_t *u)
{
    json_t *creation = json_object_get(u, "cache_creation"), *tools = json_object_get(u, "server_tool_use"), *step;
    uint64_t read = figure(u, "cache_read_input_tokens"), write = figure(u, "cache_creation_input_tokens");
    tlshm_counts c = {
        .input_total = figure(u, "input_tokens") + read + write,
        .cache_read = read,
        .cache_write_1h = figure(creation, "ephemeral_1h_input_tokens"),
        .output_total = figure(u, "output_tokens"),
        .reasoning = figure(details(u, "output"), "thinking_tokens"),
        .web_searches = figure(tools, "web_search_requests"),
    };
    size_t i;

    c.cache_write_5m = write - c.cache_write_1h;
    json_array_foreach(json_object_get(u, "iterations"), i, step)
    {
        tlshm_counts more = of_messages(step);

        if (strcmp(json_string_value(json_object_get(step, "type")), "compaction") != 0)
            continue;
        c.input_total += more.input_total;
        c.cache_read += more.cache_read;
        c.cache_write_5m += more.cache_write_5m;
        c.cache_write_1h += more.cache_write_1h;
        c.output_total += more.output_total;
    }
    return c;
}

static tlshm_counts of_gemini(const json_t *u)
{
    json_t *in = json_object_get(u, has(u, "promptTokenDetails") ? "promptTokenDetails" : "promptTokensDetails");
    json_t *tool = json_object_get(u, "toolUsePromptTokensDetails"),
           *out = json_object_get(u, "candidatesTokensDetails");
    tlshm_counts c = {
        .input_total = figure(u, "promptTokenCount") + figure(u, "toolUsePromptTokenCount"),
        .cache_read = figure(u, "cachedContentTokenCount"),
        .input_audio = of_modality(in, "AUDIO", 4) + of_modality(tool, "AUDIO", 4),
        .input_image = of_modality(in, "IMAGE", 2) + of_modality(in, "DOCUMENT", 5) + of_modality(tool, "IMAGE", 2) +
                       of_modality(tool, "DOCUMENT", 5),
        .input_video = of_modality(in, "VIDEO", 3) + of_modality(tool, "VIDEO", 3),
        .cache_read_audio = of_modality(json_object_get(u, "cacheTokensDetails"), "AUDIO", 4),
        .output_total = figure(u, "candidatesTokenCount") + figure(u, "thoughtsTokenCount"),
        .reasoning = figure(u, "thoughtsTokenCount"),
        .output_audio = of_modality(out, "AUDIO", 4),
        .output_image = of_modality(out, "IMAGE", 2),
    };

    if (!has(u, "promptTokenCount") && !has(u, "candidatesTokenCount"))
        c.output_total = figure(u, "totalTokenCount");
    return c;
}

static tlshm_counts of_bedrock(const json_t *u)
{
    uint64_t read = figure(u, "cacheReadInputTokenCount"), write = figure(u, "cacheWriteInputTokenCount"), hour = 0;
    json_t *entry;
    size_t i;

    json_array_foreach(json_object_get(u, "cacheDetails"), i,
                       entry) if (strcmp(json_string_value(json_object_get(entry, "ttl")), "1h") == 0) hour +=
        figure(entry, "inputTokens");
    return (tlshm_counts){.input_total = figure(u, "inputTokens") + read + write,
                          .cache_read = read,
                          .cache_write_5m = write - hour,
                          .cache_write_1h = hour,
                          .output_total = figure(u, "outputTokens")};
}

static tlshm_counts of_cohere(const json_t *units)
{
    return (tlshm_counts){.input_total = figure(units, "input_tokens") + figure(units, "image_tokens"),
                          .input_image = figure(units, "image_tokens"),
                          .output_total = figure(units, "output_tokens")};
}

/* By what its keys are. */
static tlshm_counts of_usage(const char *where, const json_t *u)
{
    if (strcmp(where, "x_groq") == 0)
        return of_chat(json_object_get(u, "usage"));
    if (strcmp(where, "usageMetadata") == 0)
        return of_gemini(u);
    if (strncmp(where, "meta.", 5) == 0)
        return of_cohere(u);
    if (has(u, "billed_units"))
        return of_cohere(json_object_get(u, "billed_units"));
    if (has(u, "inputTokens"))
        return of_bedrock(u);
    if (!has(u, "input_tokens") && !has(u, "output_tokens"))
        return of_chat(u);
    return has(u, "input_tokens_details") ? of_responses(u) : of_messages(u);
}

/* --------------------------------------------------------------------------------------------------- recorded usage */

/* The document that has the usage at that place, such as "response.usage". */
static json_t *document_of(const char *where, json_t *usage)
{
    char path[64], *dot;
    json_t *document = json_object(), *at = document;

    snprintf(path, sizeof path, "%s", where);
    char *key = path;
    for (; (dot = strchr(key, '.')); key = dot + 1) {
        *dot = '\0';
        json_object_set_new(at, key, json_object());
        at = json_object_get(at, key);
    }
    json_object_set(at, key, usage);
    return document;
}

static bool same(const tlshm_counts *got, const tlshm_counts *expected, const char *what)
{
    tlshm_counts bare = *got;
    char differ[400];

    bare.tool_calls = expected->tool_calls; /* the text around the usage is not there */
    if (!*answers_differ(&bare, expected, differ, sizeof differ))
        return true;
    fprintf(stderr, "# %s: %s\n", what, differ);
    return false;
}

static bool read_document(json_t *document, tlshm_answer *out)
{
    char *text = json_dumps(document, JSON_COMPACT);
    bool ok = answers_read(text, strlen(text), TLSHM_PROVIDER_ANY, 0, out);

    free(text);
    return ok;
}

static bool block_agrees(json_t *row)
{
    const char *where = json_string_value(json_object_get(row, "where"));
    json_t *usage = json_object_get(row, "usage"), *document = document_of(where, usage);
    tlshm_counts expected = of_usage(where, usage), none = {0};
    tlshm_answer got;
    char *shown = json_dumps(usage, JSON_COMPACT);
    bool ok = read_document(document, &got) && same(&got.counts, &expected, shown);

    if ((got.outcome == TLSHM_UNKNOWN) != (memcmp(&expected, &none, sizeof none) == 0)) {
        fprintf(stderr, "# outcome %d of %s\n", got.outcome, shown);
        ok = false;
    }
    free(shown);
    json_decref(document);
    return ok;
}

/* Each line of a file of JSON; rows and how many of them agree. */
static void each_line(const char *name, bool (*agrees)(json_t *), unsigned *rows, unsigned *good)
{
    static char line[LINE_SIZE];
    char path[PATH_SIZE];
    FILE *file;

    snprintf(path, sizeof path, "%s/providers/%s", folder, name);
    file = fopen(path, "r");
    MUST(file, "%s", path);
    while (fgets(line, sizeof line, file)) {
        json_t *row = json_loads(line, 0, NULL);

        MUST(row, "%s: line %u", path, *rows + 1);
        *good += agrees(row);
        ++*rows;
        json_decref(row);
    }
    fclose(file);
}

/* ------------------------------------------------------------------------------------------------- recorded streams */

static char *read_file(const char *path, size_t *n)
{
    gzFile file = gzopen(path, "rb");
    size_t room = 1 << 16;
    char *bytes = malloc(room);

    MUST(file && bytes, "%s", path);
    *n = 0;
    for (int now; (now = gzread(file, bytes + *n, (unsigned)(room - *n))) > 0;) {
        *n += (size_t)now;
        if (*n == room)
            MUST((bytes = realloc(bytes, room *= 2)), "memory");
    }
    gzclose(file);
    return bytes;
}

/* message_start has what message_delta leaves out: both are in the index only as the last one. */
static bool is_partial(json_t *usage)
{
    return has(usage, "output_tokens") && !has(usage, "input_tokens");
}

static bool stream_agrees(json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "file"));
    json_t *usage = json_object_get(row, "final_usage"), *groq = json_object_get(usage, "usage");
    char path[PATH_SIZE];
    tlshm_answer got;
    size_t n;

    snprintf(path, sizeof path, "%s/providers/sse/%s", folder, name);
    char *bytes = read_file(path, &n);
    bool ok = answers_read(bytes, n, TLSHM_PROVIDER_ANY, 0, &got);
    bool nothing = json_is_null(usage) || (has(usage, "seed") && !groq); /* a limit's or a tool's error came first */
    tlshm_counts expected = {0};

    free(bytes);
    if (!nothing)
        expected = of_usage(has(usage, "promptTokenCount") ? "usageMetadata" : "usage", groq ? groq : usage);
    if (is_partial(usage))
        expected.input_total = got.counts.input_total, expected.cache_read = got.counts.cache_read,
        expected.cache_write_5m = got.counts.cache_write_5m;
    if (got.outcome != (nothing ? TLSHM_UNKNOWN : TLSHM_EXACT) || got.problem[0] || !got.model[0])
        ok = fprintf(stderr, "# %s: outcome %d, %s\n", name, got.outcome, got.problem) < 0;
    return same(&got.counts, &expected, name) && ok && (!is_partial(usage) || got.counts.input_total > 0);
}

/* ---------------------------------------------------------------------------------------- what genai-prices expects */

/* Why counts differ on purpose. */
static bool has_steps(json_t *usage)
{
    json_t *step;
    size_t i;

    json_array_foreach(json_object_get(usage, "iterations"), i,
                       step) if (strcmp(json_string_value(json_object_get(step, "type")), "compaction") ==
                                 0) return true;
    return false;
}

static bool has_plain_cached(json_t *usage)
{
    return figure(usage, "cached_tokens") || figure(usage, "num_cached_tokens");
}

static struct reason {
    const char *why;
    bool (*applies)(json_t *usage);
    unsigned met;
} reasons[] = {
    {"compactions are charged beside the figures on top", has_steps, 0},
    {"cached input is told without details", has_plain_cached, 0},
};

/* The extractor that was written for this shape, among the many that can read it. */
static const char *extractor_of(json_t *body)
{
    json_t *usage = json_object_get(body, "usage");

    if (has(body, "usageMetadata"))
        return "google/default";
    if (has(body, "meta"))
        return "cohere/embeddings";
    if (has(usage, "billed_units"))
        return "cohere/default";
    if (has(usage, "inputTokens"))
        return "aws/default";
    if (has(usage, "input_tokens"))
        return has(usage, "input_tokens_details") ? "openai/responses" : "anthropic/default";
    if (!has(usage, "completion_tokens"))
        return "openai/embeddings";
    return has(usage, "cost") ? "openrouter/chat" : "openai/chat";
}

static json_t *extracted_by(json_t *row, const char *name)
{
    json_t *entry, *extractor;
    size_t i, k;

    json_array_foreach(json_object_get(row, "extracted"), i, entry)
        json_array_foreach(json_object_get(entry, "extractors"), k, extractor)
    {
        char this[128];

        snprintf(this, sizeof this, "%s/%s", json_string_value(json_object_get(extractor, "provider_id")),
                 json_string_value(json_object_get(extractor, "api_flavor")));
        if (strcmp(this, name) == 0)
            return json_object_get(entry, "usage");
    }
    return NULL;
}

static bool row_agrees(json_t *row)
{
    json_t *body = json_object_get(row, "body"), *usage = json_object_get(body, "usage");
    json_t *expected = extracted_by(row, extractor_of(body));
    char *shown = json_dumps(body, JSON_COMPACT);
    tlshm_answer got;
    bool ok = read_document(body, &got);

    if (!expected)
        fprintf(stderr, "# %s of %s\n", extractor_of(body), shown);
    const tlshm_counts counts = {
        .input_total = figure(expected, "input_tokens"),
        .cache_read = figure(expected, "cache_read_tokens"),
        .cache_write_5m = figure(expected, "cache_write_tokens"),
        .input_audio = figure(expected, "input_audio_tokens"),
        .input_image = figure(expected, "input_image_tokens"),
        .input_video = figure(expected, "input_video_tokens"),
        .cache_read_audio = figure(expected, "cache_audio_read_tokens"),
        .output_total = figure(expected, "output_tokens"),
        .reasoning = figure(expected, "output_reasoning_tokens"),
        .output_audio = figure(expected, "output_audio_tokens"),
        .output_image = figure(expected, "output_image_tokens"),
        .web_searches = figure(expected, "web_searches"),
    };
    char differ[400];

    got.counts.tool_calls = 0;
    if (*answers_differ(&got.counts, &counts, differ, sizeof differ)) {
        bool excused = false;

        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
            if (reasons[i].applies(usage))
                excused = ++reasons[i].met;
        if (!excused)
            fprintf(stderr, "# %s: %s\n", shown, differ);
        ok &= excused;
    }
    free(shown);
    return ok && expected;
}

static void test_golden(void)
{
    char path[PATH_SIZE];
    json_t *rows, *row;
    size_t n, i;
    unsigned good = 0;

    snprintf(path, sizeof path, "%s/prices/genai-prices_usages.json.gz", folder);
    char *bytes = read_file(path, &n);
    rows = json_loadb(bytes, n, 0, NULL);
    free(bytes);
    MUST(json_is_array(rows), "%s", path);
    json_array_foreach(rows, i, row) good += row_agrees(row);
    tap_ok(json_array_size(rows) > 0, "bodies of genai-prices");
    tap_equal(good, json_array_size(rows), "all are counted as expected, or a reason says why not");
    for (i = 0; i < sizeof reasons / sizeof *reasons; i++)
        tap_ok(reasons[i].met > 0, "a reason that is met %u times: %s", reasons[i].met, reasons[i].why);
    json_decref(rows);
}

int main(int argc, char **argv)
{
    unsigned rows = 0, good = 0;

    MUST(argc == 2, "usage: %s FOLDER", argv[0]);
    folder = argv[1];
    tap_begin(TIMEOUT_S);
    each_line("usage_blocks.jsonl", block_agrees, &rows, &good);
    tap_ok(rows > 0, "recorded usage");
    tap_equal(good, rows, "all of it is counted as the formulas say");
    rows = good = 0;
    each_line("sse/INDEX.jsonl", stream_agrees, &rows, &good);
    tap_ok(rows > 0, "recorded streams");
    tap_equal(good, rows, "all of them are counted as their last figures say");
    test_golden();
    return tap_end();
}
