/* SPDX-License-Identifier: MIT */
/* answer_streams.c - answers that come in parts: framings, providers' order of events, and streams that break. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <tlshm/answer.h>

#include "answers.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What a stream is expected to tell: only what streams differ in. */
struct stream_case {
    const char *name;
    const char *bytes;
    unsigned flags;
    enum tlshm_outcome outcome;
    uint64_t input, output, calls;
    const char *error, *problem; /* NULL: none; problem: a part of the text */
};

static void check(const struct stream_case *c, const char *bytes, size_t n)
{
    tlshm_answer got;

    cr_assert(answers_read(bytes, n, TLSHM_PROVIDER_ANY, c->flags, &got), "%s: depends on how it is cut", c->name);
    cr_expect_eq(got.outcome, c->outcome, "%s: outcome %d", c->name, got.outcome);
    cr_expect_eq(got.counts.input_total, c->input, "%s: input %d", c->name, (int)got.counts.input_total);
    cr_expect_eq(got.counts.output_total, c->output, "%s: output %d", c->name, (int)got.counts.output_total);
    cr_expect_eq(got.counts.tool_calls, c->calls, "%s: calls %d", c->name, (int)got.counts.tool_calls);
    cr_expect_str_eq(got.error, c->error ? c->error : "", "%s: error '%s'", c->name, got.error);
    cr_expect(c->problem ? strstr(got.problem, c->problem) != NULL : got.problem[0] == '\0', "%s: problem '%s'",
              c->name, got.problem);
}

static void check_all(const struct stream_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(&cases[i], cases[i].bytes, strlen(cases[i].bytes));
}

/* ------------------------------------------------------------------------------------------------- chat completions */

#define EVENT(json) "data: " json "\n\n"
#define DELTA "{\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}"
#define STOP                                                                                                           \
    "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}"
#define STOP_WITH(usage)                                                                                               \
    "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]," usage "}"
#define DELTA_WITH(usage) "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{}}]," usage "}"
#define USAGE(in, out) "\"usage\":{\"prompt_tokens\":" #in ",\"completion_tokens\":" #out "}"
#define LAST_USAGE(in, out) "{\"object\":\"chat.completion.chunk\",\"choices\":[]," USAGE(in, out) "}"
#define DONE "data: [DONE]\n\n"
#define PART(call) "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{\"tool_calls\":[" call "]}}]}"

static const struct stream_case chats[] = {
    {"with usage", EVENT(DELTA) EVENT(STOP) EVENT(LAST_USAGE(7, 8)) DONE, 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"usage was not asked for", EVENT(DELTA) EVENT(STOP) DONE, 0, TLSHM_UNKNOWN, 0, 0, 0, NULL, NULL},
    {"usage beside the reason to stop, and no mark of the end", EVENT(DELTA) EVENT(STOP_WITH(USAGE(7, 8))), 0,
     TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"the same on a broken connection", EVENT(DELTA) EVENT(STOP_WITH(USAGE(7, 8))), TLSHM_ANSWER_CUT, TLSHM_AT_LEAST, 7,
     8, 0, NULL, NULL},
    {"a connection that breaks after the end", EVENT(STOP) EVENT(LAST_USAGE(7, 8)) DONE, TLSHM_ANSWER_CUT, TLSHM_EXACT,
     7, 8, 0, NULL, NULL},
    {"usage twice is no sum", EVENT(STOP) EVENT(LAST_USAGE(7, 8)) EVENT(LAST_USAGE(7, 8)) DONE, 0, TLSHM_EXACT, 7, 8, 0,
     NULL, NULL},
    {"usage in every event: the last wins",
     EVENT(DELTA_WITH(USAGE(7, 1))) EVENT(DELTA_WITH(USAGE(7, 2))) EVENT(STOP_WITH(USAGE(7, 3))), 0, TLSHM_EXACT, 7, 3,
     0, NULL, NULL},
    {"usage in every event, and no end", EVENT(DELTA_WITH(USAGE(7, 1))) EVENT(DELTA_WITH(USAGE(7, 2))), 0,
     TLSHM_AT_LEAST, 7, 2, 0, NULL, NULL},
    {"usage only before the reason to stop", EVENT(DELTA_WITH(USAGE(7, 1))) EVENT(STOP), 0, TLSHM_AT_LEAST, 7, 1, 0,
     NULL, NULL},
    {"a second choice that goes on after the usage", EVENT(STOP_WITH(USAGE(7, 3))) EVENT(STOP), 0, TLSHM_AT_LEAST, 7, 3,
     0, NULL, NULL},
    {"usage in every event, broken off inside the last one",
     EVENT(DELTA_WITH(USAGE(7, 1))) "data: {\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2", TLSHM_ANSWER_CUT,
     TLSHM_AT_LEAST, 8, 1, 0, NULL, "document 2, byte 49: the document is not finished"},
    {"Groq's place", EVENT(DELTA) EVENT(STOP_WITH("\"x_groq\":{\"id\":\"r\"," USAGE(18, 73) "}")) DONE, 0, TLSHM_EXACT,
     18, 73, 0, NULL, NULL},
    {"both of Groq's places", EVENT(STOP_WITH("\"x_groq\":{" USAGE(18, 73) "}," USAGE(18, 73))) DONE, 0, TLSHM_EXACT,
     18, 73, 0, NULL, NULL},
    {"an error in the middle",
     EVENT(DELTA_WITH(USAGE(7, 1))) EVENT("{\"error\":{\"code\":\"rate_limit_exceeded\"}}") DONE, 0, TLSHM_AT_LEAST, 7,
     1, 0, "rate_limit_exceeded", NULL},
    {"an error instead of usage", EVENT(DELTA) EVENT("{\"error\":{\"message\":\"m\",\"type\":\"server_error\"}}"), 0,
     TLSHM_UNKNOWN, 0, 0, 0, "server_error", NULL},
    {"a call in parts",
     EVENT(PART("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}"))
         EVENT(PART("{\"index\":0,\"function\":{\"arguments\":\"{}\"}}"))
             EVENT(PART("{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{}\"}}"))
                 EVENT(PART("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}"))
                     EVENT(PART("{\"index\":1,\"id\":null,\"function\":{\"name\":null,\"arguments\":\"x\"}}"))
                         EVENT(STOP_WITH(USAGE(7, 8))),
     0, TLSHM_EXACT, 7, 8, 2, NULL, NULL},
};

Test(answer_streams, chats)
{
    check_all(chats, COUNT_OF(chats));
}

/* -------------------------------------------------------------------------------------------------- other providers */

#define START(usage)                                                                                                   \
    "event: message_start\ndata: "                                                                                     \
    "{\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"content\":[],\"usage\":" usage "}}\n\n"
#define PING "event: ping\ndata: {\"type\": \"ping\"}\n\n"
#define BLOCK(type)                                                                                                    \
    "event: content_block_start\ndata: "                                                                               \
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"" type                                \
    "\",\"id\":\"t\",\"input\":{}}}\n\n"
#define CHANGE(usage)                                                                                                  \
    "event: message_delta\ndata: "                                                                                     \
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":" usage "}\n\n"
#define MESSAGE_STOP "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
#define RESPONSE(type, rest)                                                                                           \
    "event: " type "\ndata: {\"type\":\"" type "\",\"response\":{\"model\":\"m\"," rest "}}\n\n"
#define ITEM(event, type, id)                                                                                          \
    EVENT("{\"type\":\"response.output_item." event "\",\"item\":{\"type\":\"" type "\",\"id\":\"" id "\"}}")
#define CANDIDATE(rest) "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}" rest "}]"

static const struct stream_case others[] = {
    {"messages: the change is cumulative and keeps the input",
     START("{\"input_tokens\":11,\"cache_read_input_tokens\":100,\"output_tokens\":1}") PING BLOCK("text")
         CHANGE("{\"output_tokens\":6}") MESSAGE_STOP,
     0, TLSHM_EXACT, 111, 6, 0, NULL, NULL},
    {"messages: a change that says nulls",
     START("{\"input_tokens\":11,\"output_tokens\":1}") CHANGE("{\"input_tokens\":null,\"output_tokens\":6}")
         MESSAGE_STOP,
     0, TLSHM_EXACT, 11, 6, 0, NULL, NULL},
    {"messages: several changes",
     START("{\"input_tokens\":11,\"output_tokens\":1}") CHANGE("{\"output_tokens\":6}")
         CHANGE("{\"input_tokens\":12,\"output_tokens\":9}") MESSAGE_STOP,
     0, TLSHM_EXACT, 12, 9, 0, NULL, NULL},
    {"messages: a compaction takes the cached input with it",
     START("{\"input_tokens\":100,\"cache_read_input_tokens\":5000,\"output_tokens\":7}")
         CHANGE("{\"input_tokens\":181,\"cache_read_input_tokens\":0,\"output_tokens\":8,\"iterations\":[{\"type\":"
                "\"compaction\",\"input_tokens\":100,\"output_tokens\":83,\"cache_read_input_tokens\":5000},{\"type\":"
                "\"message\",\"input_tokens\":181,\"output_tokens\":8}]}") MESSAGE_STOP,
     0, TLSHM_EXACT, 5281, 91, 0, NULL, NULL},
    {"messages: a later list of steps replaces an earlier one",
     START("{\"input_tokens\":100,\"output_tokens\":7}") CHANGE(
         "{\"output_tokens\":8,\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":10,"
         "\"cache_read_input_tokens\":5000}]}")
         CHANGE("{\"output_tokens\":9,\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":20}]}") MESSAGE_STOP,
     0, TLSHM_EXACT, 120, 9, 0, NULL, NULL},
    {"messages: broken off", START("{\"input_tokens\":11,\"output_tokens\":1}") BLOCK("text"), TLSHM_ANSWER_CUT,
     TLSHM_AT_LEAST, 11, 1, 0, NULL, NULL},
    {"messages: broken off, and nobody noticed", START("{\"input_tokens\":11,\"output_tokens\":1}") BLOCK("text"), 0,
     TLSHM_AT_LEAST, 11, 1, 0, NULL, NULL},
    {"messages: broken off inside an event",
     START("{\"input_tokens\":11,\"output_tokens\":1}") "event: message_delta\ndata: "
                                                        "{\"type\":\"message_delta\",\"usage\":"
                                                        "{\"output_tokens\":6",
     0, TLSHM_AT_LEAST, 11, 1, 0, NULL, "document 2, byte 50: the document is not finished"},
    {"messages: overloaded",
     START("{\"input_tokens\":11,\"output_tokens\":1}") "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                                                        "\"overloaded_error\"}}\n\n",
     0, TLSHM_AT_LEAST, 11, 1, 0, "overloaded_error", NULL},
    {"messages: calls",
     START("{\"input_tokens\":11,\"output_tokens\":1}") BLOCK("tool_use") CHANGE("{\"output_tokens\":6}") MESSAGE_STOP,
     0, TLSHM_EXACT, 11, 6, 1, NULL, NULL},
    {"messages: met in the middle", CHANGE("{\"output_tokens\":6}") MESSAGE_STOP, 0, TLSHM_AT_LEAST, 0, 6, 0, NULL,
     NULL},
    {"responses",
     RESPONSE("response.created", "\"error\":null,\"usage\":null") ITEM("added", "function_call", "f")
         ITEM("done", "function_call", "f")
             RESPONSE("response.completed", "\"output\":[{\"type\":\"function_call\",\"id\":\"f\"}],\"usage\":{"
                                            "\"input_tokens\":255,\"output_tokens\":16,\"total_tokens\":271}"),
     TLSHM_ANSWER_CUT, TLSHM_EXACT, 255, 16, 1, NULL, NULL},
    {"responses: out of tokens",
     RESPONSE("response.incomplete", "\"error\":null,\"usage\":{\"input_tokens\":255,\"output_tokens\":16}"), 0,
     TLSHM_EXACT, 255, 16, 0, NULL, NULL},
    {"responses: a limit inside of a stream that began well",
     RESPONSE("response.created", "\"error\":null,\"usage\":null")
         RESPONSE("response.failed", "\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"m\"},\"usage\":null"),
     0, TLSHM_UNKNOWN, 0, 0, 0, "rate_limit_exceeded", NULL},
    {"responses: an event that is an error",
     "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\"}\n\n", 0, TLSHM_UNKNOWN, 0, 0,
     0, "server_error", NULL},
    {"responses: broken off", RESPONSE("response.created", "\"usage\":null") ITEM("done", "function_call", "f"),
     TLSHM_ANSWER_CUT, TLSHM_UNKNOWN, 0, 0, 0, NULL, NULL},
    {"responses: items that are no calls, or have no name to know them by",
     ITEM("done", "message", "m")
         EVENT("{\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\"}}")
             RESPONSE("response.completed", "\"usage\":{\"input_tokens\":255,\"output_tokens\":16}"),
     0, TLSHM_EXACT, 255, 16, 0, NULL, NULL},
    {"runs: a step's use is not the run's",
     "event: thread.run.step.completed\n" EVENT("{\"object\":\"thread.run.step\"," USAGE(5, 6) "}"), 0, TLSHM_AT_LEAST,
     5, 6, 0, NULL, NULL},
    {"runs",
     "event: thread.run.step.completed\n" EVENT("{\"object\":\"thread.run.step\"," USAGE(
         5, 6) "}") "event: thread.run.completed\n" EVENT("{\"object\":\"thread.run\"," USAGE(50, 60) "}"),
     0, TLSHM_EXACT, 50, 60, 0, NULL, NULL},
    {"Gemini: the last one wins, as a whole",
     EVENT(
         CANDIDATE("") ",\"usageMetadata\":{\"promptTokenCount\":29,\"thoughtsTokenCount\":69,\"totalTokenCount\":98}}")
         EVENT(CANDIDATE(",\"finishReason\":\"STOP\"") ",\"usageMetadata\":{\"promptTokenCount\":29,"
                                                       "\"candidatesTokenCount\":12,\"totalTokenCount\":41}}"),
     0, TLSHM_EXACT, 29, 12, 0, NULL, NULL},
    {"Gemini: broken off",
     EVENT(CANDIDATE("") ",\"usageMetadata\":{\"promptTokenCount\":29,\"candidatesTokenCount\":3}}"), 0, TLSHM_AT_LEAST,
     29, 3, 0, NULL, NULL},
    {"Gemini: what it leaves out is 0",
     EVENT(CANDIDATE(",\"finishReason\":\"STOP\"") ",\"usageMetadata\":{\"candidatesTokenCount\":12}}"), 0, TLSHM_EXACT,
     0, 12, 0, NULL, NULL},
    {"Gemini: refused at once",
     EVENT("{\"promptFeedback\":{\"blockReason\":\"SAFETY\"},\"usageMetadata\":{\"promptTokenCount\":29}}"), 0,
     TLSHM_EXACT, 29, 0, 0, NULL, NULL},
    {"Gemini: an array",
     "[" CANDIDATE("") ",\"usageMetadata\":{\"promptTokenCount\":29,\"candidatesTokenCount\":1}}\n,\r\n" CANDIDATE(
         ",\"finishReason\":\"STOP\"") ",\"usageMetadata\":{\"promptTokenCount\":29,\"candidatesTokenCount\":12}}]",
     0, TLSHM_EXACT, 29, 12, 0, NULL, NULL},
    {"Gemini: an array that broke off",
     "[" CANDIDATE("") ",\"usageMetadata\":{\"promptTokenCount\":29,\"candidatesTokenCount\":1}}\n,", 0, TLSHM_AT_LEAST,
     29, 1, 0, NULL, "document 2, byte 3: the document is not finished"},
    {"Cohere",
     EVENT("{\"type\":\"message-start\",\"id\":\"c\",\"delta\":{\"message\":{\"role\":\"assistant\"}}}") EVENT(
         "{\"type\":\"tool-call-start\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"a\",\"function\":"
         "{\"name\":\"f\"}}}}}")
         EVENT("{\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\",\"usage\":{\"billed_units\":"
               "{\"input_tokens\":3,\"output_tokens\":13},\"tokens\":{\"input_tokens\":71,\"output_tokens\":16}}}}"),
     0, TLSHM_EXACT, 3, 13, 1, NULL, NULL},
    {"Cohere's first way, a line for each",
     "{\"is_finished\":false,\"event_type\":\"text-generation\",\"text\":\"a\"}\n"
     "{\"is_finished\":true,\"event_type\":\"stream-end\",\"response\":{\"meta\":{\"billed_units\":{\"input_tokens\":3,"
     "\"output_tokens\":13}}}}\n",
     TLSHM_ANSWER_CUT, TLSHM_EXACT, 3, 13, 0, NULL, NULL},
    {"Ollama, a line for each",
     "{\"model\":\"l\",\"message\":{\"content\":\"a\"},\"done\":false}\n{\"model\":\"l\",\"done\":true,"
     "\"prompt_eval_count\":26,\"eval_count\":29}\n",
     0, TLSHM_EXACT, 26, 29, 0, NULL, NULL},
    {"Ollama, broken off", "{\"model\":\"l\",\"message\":{\"content\":\"a\"},\"done\":false}\n{\"model\":\"l\",\"do",
     TLSHM_ANSWER_CUT, TLSHM_UNKNOWN, 0, 0, 0, NULL, "document 2, byte 16: the document is not finished"},
    {"documents in a row, and no end", DELTA_WITH(USAGE(7, 1)) DELTA_WITH(USAGE(7, 2)), 0, TLSHM_AT_LEAST, 7, 2, 0,
     NULL, NULL},
};

Test(answer_streams, other_providers)
{
    check_all(others, COUNT_OF(others));
}

/* ---------------------------------------------------------------------------------------------------------- framing */

static const struct stream_case framings[] = {
    {"CRLF", "data: " STOP_WITH(USAGE(7, 8)) "\r\n\r\ndata: [DONE]\r\n\r\n", 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"several lines of data, with CRLF",
     "event: x\r\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}],\r\ndata: " USAGE(7, 8) "}\r\n\r\n", 0, TLSHM_EXACT,
     7, 8, 0, NULL, NULL},
    {"a figure is not continued on the next line", "data: {\"usage\":{\"prompt_tokens\":1\ndata: 2}}\n\n", 0,
     TLSHM_AT_LEAST, 1, 0, 0, NULL, "this is no JSON"},
    {"CR", "data: " STOP_WITH(USAGE(7, 8)) "\r\rdata: [DONE]\r\r", 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"a mark of byte order", "\xef\xbb\xbf" EVENT(STOP_WITH(USAGE(7, 8))) DONE, 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"a mark of byte order before a body", "\xef\xbb\xbf{" USAGE(7, 8) "}", 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"empty lines and comments in front", "\n\n: hold the line\n\n:\n" EVENT(STOP_WITH(USAGE(7, 8))) DONE, 0,
     TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"comments between and within",
     ": x\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}],\n: y\ndata: " USAGE(7, 8) "\ndata: }\n\n" DONE, 0,
     TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"no blank after the colon", "data:" STOP_WITH(USAGE(7, 8)) "\n\ndata:[DONE]\n\n", 0, TLSHM_EXACT, 7, 8, 0, NULL,
     NULL},
    {"fields of other names",
     "id: 1\nretry: 10\ndat: {\"error\":{}}\ndatax: {\"error\":{}}\ndata: " STOP_WITH(USAGE(7, 8)) "\nid\n\n" DONE, 0,
     TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"a field without a colon", "data\ndata: " STOP_WITH(USAGE(7, 8)) "\n\n" DONE, 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"no empty line at the end", EVENT(STOP) "data: " LAST_USAGE(7, 8), 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"no empty line after the mark of the end", EVENT(LAST_USAGE(7, 8)) "data: [DONE]", 0, TLSHM_EXACT, 7, 8, 0, NULL,
     NULL},
    {"half a mark of the end", EVENT(LAST_USAGE(7, 8)) "data: [DON", 0, TLSHM_AT_LEAST, 7, 8, 0, NULL, NULL},
    {"more than a mark of the end", EVENT(LAST_USAGE(7, 8)) "data: [DONE]]\n\n", 0, TLSHM_AT_LEAST, 7, 8, 0, NULL,
     NULL},
    {"data that is no document", "data: ping\n\ndata: 1\n\ndata:\n\n" EVENT(STOP_WITH(USAGE(7, 8))) DONE, 0,
     TLSHM_EXACT, 7, 8, 0, NULL, NULL},
    {"an event that is cut short does no harm to the next one",
     EVENT("{\"choices\":[{\"delta\":") EVENT(STOP_WITH(USAGE(7, 8))) DONE, 0, TLSHM_AT_LEAST, 7, 8, 0, NULL,
     "document 1, byte 21: the document is not finished"},
    {"an event that goes wrong does no harm to the next one", EVENT("{\"choices\"]") EVENT(STOP_WITH(USAGE(7, 8))) DONE,
     0, TLSHM_AT_LEAST, 7, 8, 0, NULL, "document 1, byte 10: this is no JSON"},
    {"an error by the event's name alone", EVENT(DELTA_WITH(USAGE(7, 8))) "event: error\ndata: busy\n\n", 0,
     TLSHM_AT_LEAST, 7, 8, 0, "error", NULL},
    {"an event's name without data says nothing", "event: error\n\n" EVENT(STOP_WITH(USAGE(7, 8))) DONE, 0, TLSHM_EXACT,
     7, 8, 0, NULL, NULL},
    {"a body with blanks around it", "\r\n\t {" USAGE(7, 8) "}\r\n", 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL},
};

Test(answer_streams, framings)
{
    check_all(framings, COUNT_OF(framings));
}

/* -------------------------------------------------------------------------------------------------- Amazon messages */

static char bytes[65536];

#define CONVERSE(out, event, json) answers_message(out, event, "event", json, strlen(json))

static size_t put_converse(char *out, bool whole)
{
    size_t n = CONVERSE(out, "messageStart", "{\"p\":\"abc\",\"role\":\"assistant\"}");

    n += CONVERSE(out + n, "contentBlockStart",
                  "{\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"name\":\"f\",\"toolUseId\":\"t\"}}}");
    n += CONVERSE(out + n, "messageStop", "{\"stopReason\":\"tool_use\"}");
    if (whole)
        n += CONVERSE(
            out + n, "metadata",
            "{\"metrics\":{\"latencyMs\":5},\"usage\":{\"inputTokens\":20,\"outputTokens\":5,\"totalTokens\":125,"
            "\"cacheReadInputTokens\":100}}");
    return n;
}

static size_t put_invoke(char *out)
{
    size_t n =
        answers_chunk(out, "{\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":11,"
                           "\"output_tokens\":1}}}");

    n += answers_chunk(out + n, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":"
                                "{\"output_tokens\":6}}");
    n += answers_chunk(out + n,
                       "{\"type\":\"message_stop\",\"amazon-bedrock-invocationMetrics\":{\"inputTokenCount\":11,"
                       "\"outputTokenCount\":6}}");
    return n;
}

static size_t put_llama(char *out)
{
    size_t n = answers_chunk(out, "{\"generation\":\"a\",\"prompt_token_count\":26,\"generation_token_count\":1,"
                                  "\"stop_reason\":null}");

    n += answers_chunk(out + n, "{\"generation\":\"b\",\"prompt_token_count\":null,\"generation_token_count\":2,"
                                "\"stop_reason\":\"stop\",\"amazon-bedrock-invocationMetrics\":{\"inputTokenCount\":26,"
                                "\"outputTokenCount\":2,\"cacheReadInputTokenCount\":4}}");
    return n;
}

Test(answer_streams, amazon_messages)
{
    static const struct stream_case converse = {"Converse", "", TLSHM_ANSWER_CUT, TLSHM_EXACT, 120, 5, 1, NULL, NULL};
    static const struct stream_case early = {"Converse, cut", "", 0, TLSHM_UNKNOWN, 0, 0, 0, NULL, NULL};
    static const struct stream_case invoke = {"messages", "", TLSHM_ANSWER_CUT, TLSHM_EXACT, 11, 6, 0, NULL, NULL};
    static const struct stream_case llama = {"Llama", "", 0, TLSHM_EXACT, 30, 2, 0, NULL, NULL};

    check(&converse, bytes, put_converse(bytes, true));
    check(&early, bytes, put_converse(bytes, false));
    check(&invoke, bytes, put_invoke(bytes));
    check(&llama, bytes, put_llama(bytes));
}

Test(answer_streams, amazon_exceptions)
{
    static const struct stream_case expected = {"exception",           "",  0, TLSHM_AT_LEAST, 11, 1, 0,
                                                "throttlingException", NULL};
    size_t n = answers_chunk(bytes, "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":11,"
                                    "\"output_tokens\":1}}}");

    n += answers_message(bytes + n, "throttlingException", "exception", "{\"message\":\"slow down\"}", 23);
    check(&expected, bytes, n);
}

/* Every byte of a message is guarded: changed, the message does not count, and what follows is not read. */
Test(answer_streams, amazon_damage)
{
    size_t first = put_converse(bytes, false), n = put_converse(bytes, true);

    for (size_t i = first; i < n; i++) {
        tlshm_answer got;

        bytes[i] ^= 0x20;
        cr_assert(answers_read(bytes, n, TLSHM_PROVIDER_BEDROCK, 0, &got), "byte %zu", i);
        cr_expect_eq(got.outcome, TLSHM_UNKNOWN, "byte %zu", i);
        cr_expect_eq(got.counts.input_total, 0, "byte %zu", i);
        cr_expect(got.problem[0], "byte %zu", i);
        bytes[i] ^= 0x20;
    }
}

/* Lengths that cannot be, with a checksum that says that they are. */
Test(answer_streams, amazon_lengths)
{
    static const struct {
        uint32_t whole, headers;
        const char *problem;
    } lengths[] = {
        {0, 0, "the message is damaged"},
        {15, 0, "the message is damaged"},
        {16, 1, "the message is damaged"},
        {100, 85, "the message is damaged"},
        {1 << 25, 0, "the answer is neither"},
        {1 << 20, 1 << 18, "the message is damaged"},
        {100, UINT32_MAX, "the message is damaged"},
        {100, 84, "the answer ends inside a message"},
        {16, 0, "the answer ends inside a message"},
    };

    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct stream_case c = {"lengths", "", 0, TLSHM_UNKNOWN, 0, 0, 0, NULL, lengths[i].problem};

        answers_prelude(bytes, lengths[i].whole, lengths[i].headers);
        check(&c, bytes, 12);
    }
}

/* Headers that end in the middle of one, in a message whose checksums are right; and an unknown type of a value. */
Test(answer_streams, amazon_headers)
{
    static const struct stream_case expected = {"headers", "", 0,    TLSHM_UNKNOWN,           0,
                                                0,         0,  NULL, "the message is damaged"};
    static const char *const headers[] = {"\x05"
                                          "ab",
                                          "\x01"
                                          "a",
                                          "\x01"
                                          "a\x04xyz",
                                          "\x01"
                                          "a\x0a"};

    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        size_t n = strlen(headers[i]);

        answers_prelude(bytes, (uint32_t)(16 + n), (uint32_t)n);
        memcpy(bytes + 12, headers[i], n);
        check(&expected, bytes, answers_seal(bytes, 12 + n));
    }
}

/* A document of many bytes inside of a chunk. */
Test(answer_streams, amazon_long_chunk)
{
    static const struct stream_case expected = {"long", "", 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL};
    static char document[4000];

    snprintf(document, sizeof document,
             "{\"outputs\":[{\"text\":\"%03000d\"}],\"amazon-bedrock-invocationMetrics\":"
             "{\"inputTokenCount\":7,\"outputTokenCount\":8}}",
             0);
    check(&expected, bytes, answers_chunk(bytes, document));
}

Test(answer_streams, amazon_inner_damage)
{
    static const struct stream_case expected = {
        "inner", "", 0, TLSHM_UNKNOWN, 0, 0, 0, NULL, "the inner document is no JSON"};
    static const char *const inner[] = {"{\"bytes\":\"e30\"}", "{\"bytes\":\"e3!9\"}", "{\"bytes\":\"e3t9\"}",
                                        "{\"bytes\":\"ew==\"}"};
    static const bool wrong[] = {false, true, true, true}; /* the first one is "{}" */

    for (size_t i = 0; i < COUNT_OF(inner); i++) {
        struct stream_case c = expected;

        if (!wrong[i])
            c.problem = NULL;
        check(&c, bytes, answers_message(bytes, "chunk", "event", inner[i], strlen(inner[i])));
    }
}

Test(answer_streams, amazon_end_inside_a_message)
{
    static const struct stream_case expected = {
        "cut", "", 0, TLSHM_UNKNOWN, 0, 0, 0, NULL, "the answer ends inside a message"};
    size_t n = put_converse(bytes, true);

    check(&expected, bytes, n - 1);
}

/* --------------------------------------------------------------------------------------------------------- refusals */

static bool refused(const char *stream, size_t n)
{
    tlshm_answer got;

    cr_assert(answers_read(stream, n, TLSHM_PROVIDER_ANY, 0, &got));
    return got.refused;
}

/* An error is a refusal only if nothing else came, however little. */
Test(answer_streams, refusals)
{
    static const char alone[] = EVENT("{\"error\":{\"code\":\"x\"}}") DONE, plain[] = "event: error\ndata: busy\n\n",
                      late[] = EVENT(DELTA) EVENT("{\"error\":{\"code\":\"x\"}}"),
                      within[] = EVENT("{\"error\":{\"code\":\"x\"},\"choices\":[{\"finish_reason\":\"error\"}]}"),
                      half[] = "{\"error\":{\"code\":\"x\"}", fine[] = EVENT(STOP) DONE;

    cr_expect(refused(alone, sizeof alone - 1));
    cr_expect(refused(plain, sizeof plain - 1));
    cr_expect_not(refused(late, sizeof late - 1));
    cr_expect_not(refused(within, sizeof within - 1));
    cr_expect_not(refused(half, sizeof half - 1));
    cr_expect_not(refused(fine, sizeof fine - 1));
    cr_expect(refused(bytes, answers_message(bytes, "throttlingException", "exception", "{}", 2)));
    cr_expect(refused(bytes, answers_message(bytes, "throttlingException", "exception", "", 0)));
}

/* ---------------------------------------------------------------------------------------------- size, state, copies */

/* A megabyte in one string, nesting at the limit and above it. */
Test(answer_streams, large_documents)
{
    enum { LONG = 1 << 20, DEEP = 512 };
    static char big[LONG + 400];
    static const struct stream_case whole = {"long", "", 0, TLSHM_EXACT, 7, 8, 0, NULL, NULL};
    static const struct stream_case deep = {"deep", "", 0, TLSHM_UNKNOWN, 0, 0, 0, NULL, "byte 516: this is no JSON"};
    size_t n = (size_t)sprintf(big, "{\"choices\":[{\"message\":{\"content\":\"");

    memset(big + n, '\\', LONG);
    n += LONG;
    n += (size_t)sprintf(big + n, "\"}}]," USAGE(7, 8) "}");
    check(&whole, big, n);
    for (size_t level = DEEP - 1; level <= DEEP; level++) {
        n = (size_t)sprintf(big, "{\"x\":");
        memset(big + n, '[', level);
        memset(big + n + level, ']', level);
        n += 2 * level;
        n += (size_t)sprintf(big + n, "," USAGE(7, 8) "}");
        check(level < DEEP ? &whole : &deep, big, n);
    }
}

Test(answer_streams, may_be_asked_at_any_time_and_copied)
{
    static const char stream[] =
        START("{\"input_tokens\":11,\"output_tokens\":1}") CHANGE("{\"output_tokens\":6}") MESSAGE_STOP;
    tlshm_answer_parser parser, copy;
    tlshm_answer before, after;

    cr_assert_eq(tlshm_answer_begin(&parser, TLSHM_PROVIDER_ANY), 0);
    for (size_t i = 0; i + 1 < sizeof stream; i++) {
        cr_assert_eq(tlshm_answer_end(&parser, 0, &before), 0);
        memcpy(&copy, &parser, sizeof copy);
        memset(&parser, 0xa5, sizeof parser);
        cr_assert_eq(tlshm_answer_feed(&copy, stream + i, 1), 0);
        cr_assert_eq(tlshm_answer_end(&copy, 0, &after), 0);
        cr_assert(after.counts.output_total >= before.counts.output_total, "byte %zu", i);
        memcpy(&parser, &copy, sizeof copy);
    }
    cr_expect_eq(after.outcome, TLSHM_EXACT);
    cr_expect_eq(after.counts.output_total, 6);
}

/* However a stream is cut short, less is never told as exact. */
Test(answer_streams, no_prefix_is_exact)
{
    static const char *const streams[] = {
        START("{\"input_tokens\":11,\"output_tokens\":1}") BLOCK("text") CHANGE("{\"output_tokens\":6}") MESSAGE_STOP,
        EVENT(DELTA_WITH(USAGE(11, 2))) EVENT(STOP_WITH(USAGE(11, 6))) DONE,
        EVENT(CANDIDATE("") ",\"usageMetadata\":{\"promptTokenCount\":11,\"candidatesTokenCount\":3}}")
            EVENT(CANDIDATE(",\"finishReason\":\"STOP\"") ",\"usageMetadata\":{\"promptTokenCount\":11,"
                                                          "\"candidatesTokenCount\":6}}"),
    };

    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        for (size_t n = 0; n <= strlen(streams[i]); n++) {
            tlshm_answer got;

            cr_assert(answers_read(streams[i], n, TLSHM_PROVIDER_ANY, 0, &got));
            if (got.outcome == TLSHM_EXACT)
                cr_assert(got.counts.input_total == 11 && got.counts.output_total == 6, "stream %zu, %zu bytes", i, n);
            else
                cr_assert(n < strlen(streams[i]), "stream %zu", i);
        }
    }
}
