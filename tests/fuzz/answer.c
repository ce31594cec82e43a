/* SPDX-License-Identifier: MIT */
/*
 * answer.c - fuzz target: answers of providers. What is promised: no crash, the same answer however the bytes are cut, no
 * part of a count above its total, and amounts or an error.
 *
 * INPUT  {way, provider, cuts} and then bytes. The way's low bits say how they become an answer: as they are, or each as a
 * token of what answers are made of, as they are or inside an event or a message with sound checksums.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include <tlshm/answer.h>

#include "answers.h"
#include "tap.h"

enum { TEXT_MAX = 1 << 15, TOKEN_MAX = 64, CUTS = 3 };
enum way { WAY_BYTES, WAY_TOKENS, WAY_EVENT, WAY_CHUNK, WAYS };

/* Keys and words that mean something, and the marks between them: a random line of these is often nearly an answer. */
static const char *const tokens[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "{",
    "}",
    "\"a\":{",
    "null",
    "true",
    "0",
    "17",
    "-3",
    "4.5",
    "1e3",
    "9007199254740992",
    "18446744073709551616",
    "\"\"",
    "\"AUDIO\"",
    "\"1h\"",
    "\"message\"",
    "\"compaction\"",
    "\"\\u0061\"",
    "\"\\ud83d\"",
    "\n",
    "\n\n",
    "\r",
    "data: ",
    "event: ",
    ": ",
    "[DONE]",
    "\"usage\":{",
    "\"usage\":",
    "\"prompt_tokens\":5,",
    "\"completion_tokens\":6",
    "\"total_tokens\":",
    "\"input_tokens\":7,",
    "\"output_tokens\":8",
    "\"prompt_tokens_details\":{\"cached_tokens\":9}",
    "\"cache_read_input_tokens\":",
    "\"cache_creation_input_tokens\":",
    "\"cache_creation\":{\"ephemeral_1h_input_tokens\":2}",
    "\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":",
    "\"iterations\":[{\"type\":\"x\",\"model\":\"y\",\"output_tokens\":",
    "\"usageMetadata\":{\"promptTokenCount\":4,",
    "\"thoughtsTokenCount\":",
    "\"promptTokensDetails\":[{\"modality\":\"AUDIO\",\"tokenCount\":",
    "\"billed_units\":{",
    "\"tokens\":{",
    "\"meta\":{",
    "\"inputTokens\":3,",
    "\"outputTokens\":1",
    "\"cacheDetails\":[{\"ttl\":\"1h\",",
    "\"inputTokens\":",
    "\"type\":\"message_delta\",",
    "\"type\":\"message_start\",\"message\":{",
    "\"type\":\"message_stop\"",
    "\"type\":\"response.completed\",\"response\":{",
    "\"type\":\"error\",",
    "\"error\":{\"code\":",
    "\"error\":",
    "\"model\":\"m\",",
    "\"choices\":[{\"finish_reason\":\"stop\",",
    "\"delta\":{\"tool_calls\":[{\"id\":\"i\"}]}",
    "\"candidates\":[{\"finishReason\":1}],",
    "\"content\":[{\"type\":\"tool_use\"}],",
    "\"output\":[{\"type\":\"x_call\"}],",
    "\"done\":true,",
    "\"amazon-bedrock-invocationMetrics\":{\"inputTokenCount\":1,\"outputTokenCount\":2}",
    "\"results\":[{\"tokenCount\":3},{\"tokenCount\":",
    "\"bytes\":\"e30=\"",
    "\xef\xbb\xbf",
    "\"cost\":1.5e-7,",
};

static char text[TEXT_MAX + TOKEN_MAX], framed[4 * TEXT_MAX];

static size_t take_text(struct bytes *in, bool as_tokens)
{
    size_t n = 0;

    while (bytes_left(in) && n < TEXT_MAX) {
        unsigned byte = bytes_8(in);
        const char *token = tokens[byte % (sizeof tokens / sizeof *tokens)];

        if (as_tokens) {
            memcpy(text + n, token, strlen(token));
            n += strlen(token);
        } else {
            text[n++] = (char)byte;
        }
    }
    text[n] = '\0';
    return n;
}

static size_t frame(enum way way, size_t n)
{
    static const char head[] = "event: message\ndata: ", tail[] = "\n\ndata: [DONE]\n\n";

    if (way == WAY_CHUNK)
        return answers_chunk(framed, text);
    if (way != WAY_EVENT) {
        memcpy(framed, text, n);
        return n;
    }
    memcpy(framed, head, sizeof head - 1);
    memcpy(framed + sizeof head - 1, text, n);
    memcpy(framed + sizeof head - 1 + n, tail, sizeof tail - 1);
    return sizeof head - 1 + n + sizeof tail - 1;
}

static void read_answer(size_t n, unsigned provider, const uint8_t *cuts, unsigned cut_count, tlshm_answer *out)
{
    tlshm_answer_parser parser;
    size_t done = 0;

    MUST(tlshm_answer_begin(&parser, (enum tlshm_provider)provider) == 0, "begin");
    for (unsigned i = 0; done < n; i++) {
        size_t now = cut_count ? 1u + cuts[i % cut_count] : n;

        now = now < n - done ? now : n - done;
        MUST(tlshm_answer_feed(&parser, framed + done, now) == 0, "feed");
        done += now;
    }
    MUST(tlshm_answer_end(&parser, 0, out) == 0, "end");
}

static void check_counts(const tlshm_counts *c)
{
    MUST(c->cache_read + c->cache_write_5m + c->cache_write_1h <= c->input_total, "cached input is above the input");
    MUST(c->input_audio + c->input_image + c->input_video <= c->input_total, "kinds of input are above the input");
    MUST(c->cache_read_audio <= c->cache_read && c->cache_read_audio <= c->input_audio, "cached audio");
    MUST(c->reasoning <= c->output_total, "reasoning is above the output");
    MUST(c->output_audio + c->output_image <= c->output_total, "kinds of output are above the output");
    MUST(c->web_searches <= c->tool_calls, "searches are above the calls");
}

static void check_answer(const tlshm_answer *a)
{
    static const tlshm_counts none;
    tlshm_amounts amounts;
    int rc = tlshm_answer_amounts(a, &amounts);

    MUST(rc == 0 || rc == -TLSHM_ERANGE, "amounts: %d", rc);
    MUST(a->outcome <= TLSHM_AT_LEAST, "outcome %d", (int)a->outcome);
    MUST(a->outcome != TLSHM_UNKNOWN || memcmp(&a->counts, &none, sizeof none) == 0, "counts of an unknown use");
    MUST(a->outcome != TLSHM_EXACT || (!a->error[0] && !a->problem[0]), "exact in spite of a problem");
    MUST(memchr(a->model, '\0', sizeof a->model) && memchr(a->other_model, '\0', sizeof a->other_model), "a name");
    MUST(memchr(a->error, '\0', sizeof a->error) && memchr(a->problem, '\0', sizeof a->problem), "a text");
    check_counts(&a->counts);
    check_counts(&a->others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, data + size};
    enum way way = (enum way)bytes_below(&in, WAYS);
    unsigned provider = bytes_below(&in, TLSHM_PROVIDERS);
    tlshm_answer whole, cut;
    uint8_t cuts[CUTS];

    for (unsigned i = 0; i < CUTS; i++)
        cuts[i] = (uint8_t)(bytes_8(&in) % (8u << i));
    size_t n = frame(way, take_text(&in, way != WAY_BYTES));
    read_answer(n, provider, NULL, 0, &whole);
    check_answer(&whole);
    read_answer(n, provider, cuts, CUTS, &cut);
    MUST(memcmp(&whole, &cut, sizeof whole) == 0, "it depends on how it is cut: '%s' or '%s'", whole.problem,
         cut.problem);
    return 0;
}
