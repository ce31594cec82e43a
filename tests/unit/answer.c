/* SPDX-License-Identifier: MIT */
/* answer.c - bodies and streams in the shapes that providers send, each read in every way that it may be cut. */
#include <criterion/criterion.h>

#include <string.h>

#include <tlshm/answer.h>

#include "answers.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct answer_case {
    const char *name;
    const char *bytes;
    enum tlshm_provider provider;
    unsigned flags;
    tlshm_answer expected; /* problem: a part of the text */
};

static void check(const struct answer_case *c, const char *bytes, size_t n)
{
    tlshm_answer got;
    char differ[400];

    cr_assert(answers_read(bytes, n, c->provider, c->flags, &got), "%s: depends on how it is cut", c->name);
    cr_expect_eq(got.outcome, c->expected.outcome, "%s: outcome %d", c->name, got.outcome);
    answers_differ(&got.counts, &c->expected.counts, differ, sizeof differ);
    cr_expect_eq(differ[0], '\0', "%s: %s", c->name, differ);
    answers_differ(&got.others, &c->expected.others, differ, sizeof differ);
    cr_expect_eq(differ[0], '\0', "%s: others: %s", c->name, differ);
    cr_expect_str_eq(got.model, c->expected.model, "%s: model '%s'", c->name, got.model);
    cr_expect_str_eq(got.other_model, c->expected.other_model, "%s: other model '%s'", c->name, got.other_model);
    cr_expect_str_eq(got.error, c->expected.error, "%s: error '%s'", c->name, got.error);
    cr_expect_eq(got.refused, c->expected.refused, "%s: refused %d", c->name, (int)got.refused);
    cr_expect_eq(got.has_cost, c->expected.has_cost, "%s: has_cost", c->name);
    cr_expect_eq(got.cost_nusd, c->expected.cost_nusd, "%s: cost %llu", c->name, (unsigned long long)got.cost_nusd);
    cr_expect(c->expected.problem[0] ? strstr(got.problem, c->expected.problem) != NULL : got.problem[0] == '\0',
              "%s: problem '%s'", c->name, got.problem);
}

static void check_all(const struct answer_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(&cases[i], cases[i].bytes, strlen(cases[i].bytes));
}

/* ----------------------------------------------------------------------------------------------------------- bodies */

#define CHAT(usage)                                                                                                    \
    "{\"id\":\"c1\",\"object\":\"chat.completion\",\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"message\":"         \
    "{\"role\":\"assistant\",\"content\":\"hello\"},\"finish_reason\":\"stop\"}],\"usage\":" usage "}"
#define CLAUDE(content, usage)                                                                                         \
    "{\"id\":\"m1\",\"type\":\"message\",\"model\":\"claude-x\",\"content\":[" content                                 \
    "],\"stop_reason\":\"end_turn\","                                                                                  \
    "\"usage\":" usage "}"
#define GEMINI(parts, usage)                                                                                           \
    "{\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"},\"finishReason\":\"STOP\"}],"            \
    "\"usageMetadata\":" usage ",\"modelVersion\":\"gemini-x\"}"
#define D50 "01234567890123456789012345678901234567890123456789"
#define D100 D50 D50
#define TEXT "{\"type\":\"text\",\"text\":\"hello\"}"

static const struct answer_case bodies[] = {
    {"chat, cached input is inside",
     CHAT("{\"prompt_tokens\":2000,\"completion_tokens\":300,\"total_tokens\":2300,\"prompt_tokens_details\":"
          "{\"cached_tokens\":1024,\"audio_tokens\":7},\"completion_tokens_details\":{\"reasoning_tokens\":256,"
          "\"audio_tokens\":3,\"accepted_prediction_tokens\":0}}"),
     TLSHM_PROVIDER_OPENAI,
     0,
     {.counts = {.input_total = 2000,
                 .cache_read = 1024,
                 .input_audio = 7,
                 .output_total = 300,
                 .reasoning = 256,
                 .output_audio = 3},
      .model = "gpt-x"}},
    {"chat, details are null",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":6,\"total_tokens\":11,"
          "\"prompt_tokens_details\":null,\"completion_tokens_details\":null}"),
     0,
     0,
     {.counts = {.input_total = 5, .output_total = 6}, .model = "gpt-x"}},
    {"chat, no usage", CHAT("null"), 0, 0, {.outcome = TLSHM_UNKNOWN, .model = "gpt-x"}},
    {"chat, half of the usage is null",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":null}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST, .counts = {.input_total = 5}, .model = "gpt-x"}},
    {"chat, hidden thoughts show in the total",
     CHAT("{\"prompt_tokens\":10,\"completion_tokens\":20,\"total_tokens\":530}"),
     TLSHM_PROVIDER_GEMINI,
     0,
     {.counts = {.input_total = 10, .output_total = 520}, .model = "gpt-x"}},
    {"xAI, reasoning is beside, and the total shows it",
     CHAT("{\"prompt_tokens\":10,\"completion_tokens\":20,\"total_tokens\":130,\"completion_tokens_details\":"
          "{\"reasoning_tokens\":100}}"),
     0,
     0,
     {.counts = {.input_total = 10, .output_total = 120, .reasoning = 100}, .model = "gpt-x"}},
    {"xAI, reasoning is beside, and there is no total",
     CHAT("{\"prompt_tokens\":10,\"completion_tokens\":20,\"completion_tokens_details\":{\"reasoning_tokens\":9}}"),
     TLSHM_PROVIDER_XAI,
     0,
     {.counts = {.input_total = 10, .output_total = 29, .reasoning = 9}, .model = "gpt-x"}},
    {"reasoning above the output raises it",
     CHAT("{\"prompt_tokens\":10,\"completion_tokens\":20,\"completion_tokens_details\":{\"reasoning_tokens\":29}}"),
     0,
     0,
     {.counts = {.input_total = 10, .output_total = 29, .reasoning = 29}, .model = "gpt-x"}},
    {"DeepSeek's cache",
     CHAT("{\"prompt_tokens\":700,\"completion_tokens\":10,\"total_tokens\":710,\"prompt_cache_hit_tokens\":640,"
          "\"prompt_cache_miss_tokens\":60}"),
     TLSHM_PROVIDER_DEEPSEEK,
     0,
     {.counts = {.input_total = 700, .cache_read = 640, .output_total = 10}, .model = "gpt-x"}},
    {"Mistral's cache",
     CHAT("{\"prompt_tokens\":700,\"completion_tokens\":10,\"total_tokens\":710,\"num_cached_tokens\":64}"),
     TLSHM_PROVIDER_MISTRAL,
     0,
     {.counts = {.input_total = 700, .cache_read = 64, .output_total = 10}, .model = "gpt-x"}},
    {"OpenRouter's cost and cache writes",
     CHAT("{\"prompt_tokens\":3214,\"completion_tokens\":100,\"total_tokens\":3314,\"cost\":0.01355025,"
          "\"prompt_tokens_details\":{\"cached_tokens\":0,\"cache_write_tokens\":3211,\"video_tokens\":0},"
          "\"server_tool_use_details\":{\"web_search_requests\":2}}"),
     TLSHM_PROVIDER_OPENROUTER,
     0,
     {.has_cost = 1,
      .cost_nusd = 13550250,
      .counts = {.input_total = 3214, .cache_write_5m = 3211, .output_total = 100, .tool_calls = 2, .web_searches = 2},
      .model = "gpt-x"}},
    {"a cost is rounded up",
     CHAT("{\"prompt_tokens\":1,\"completion_tokens\":1,\"cost\":4.80000000001e-05}"),
     0,
     0,
     {.has_cost = 1, .cost_nusd = 48001, .counts = {.input_total = 1, .output_total = 1}, .model = "gpt-x"}},
    {"a cost taken apart",
     CHAT("{\"prompt_tokens\":1,\"completion_tokens\":1,\"cost\":{\"total_cost\":0.006}}"),
     0,
     0,
     {.has_cost = 1, .cost_nusd = 6000000, .counts = {.input_total = 1, .output_total = 1}, .model = "gpt-x"}},
    {"a gateway that tells Anthropic's figures inside of a chat completion's",
     CHAT("{\"prompt_tokens\":1500,\"completion_tokens\":20,\"total_tokens\":1520,\"cache_read_input_tokens\":1000,"
          "\"cache_creation_input_tokens\":400,\"prompt_tokens_details\":{\"cached_tokens\":1000}}"),
     0,
     0,
     {.counts = {.input_total = 1500, .cache_read = 1000, .cache_write_5m = 400, .output_total = 20},
      .model = "gpt-x"}},
    {"and one that tells them beside",
     CHAT("{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":1520,\"cache_read_input_tokens\":1000,"
          "\"cache_creation_input_tokens\":400}"),
     0,
     0,
     {.counts = {.input_total = 1500, .cache_read = 1000, .cache_write_5m = 400, .output_total = 20},
      .model = "gpt-x"}},
    {"cached input above the input raises it",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":6,\"prompt_tokens_details\":{\"cached_tokens\":9}}"),
     0,
     0,
     {.counts = {.input_total = 9, .cache_read = 9, .output_total = 6}, .model = "gpt-x"}},
    {"calls of tools in a chat",
     "{\"object\":\"chat.completion\",\"model\":\"gpt-x\",\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":["
     "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
     "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
     "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}",
     0,
     0,
     {.counts = {.input_total = 1, .output_total = 2, .tool_calls = 2}, .model = "gpt-x"}},
    {"embeddings",
     "{\"object\":\"list\",\"data\":[{\"embedding\":[0.5,-0.25]}],\"model\":\"embed-x\",\"usage\":"
     "{\"prompt_tokens\":8,\"total_tokens\":8}}",
     0,
     0,
     {.counts = {.input_total = 8}, .model = "embed-x"}},
    {"a total alone is input",
     "{\"model\":\"rank-x\",\"usage\":{\"total_tokens\":43}}",
     0,
     0,
     {.counts = {.input_total = 43}, .model = "rank-x"}},
    {"responses",
     "{\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"model\":\"gpt-x\",\"output\":["
     "{\"type\":\"reasoning\",\"id\":\"r\"},{\"type\":\"web_search_call\",\"id\":\"w\"},{\"type\":\"function_call\","
     "\"id\":\"f\",\"arguments\":\"{}\"},{\"type\":\"message\",\"id\":\"m\"}],\"usage\":{\"input_tokens\":4020,"
     "\"input_tokens_details\":{\"cached_tokens\":12,\"cache_write_tokens\":4000},\"output_tokens\":50,"
     "\"output_tokens_details\":{\"reasoning_tokens\":20},\"total_tokens\":4070}}",
     TLSHM_PROVIDER_OPENAI,
     0,
     {.counts = {.input_total = 4020,
                 .cache_read = 12,
                 .cache_write_5m = 4000,
                 .output_total = 50,
                 .reasoning = 20,
                 .tool_calls = 2,
                 .web_searches = 1},
      .model = "gpt-x"}},
    {"messages, cached input is beside",
     CLAUDE(TEXT,
            "{\"input_tokens\":3,\"cache_creation_input_tokens\":500,\"cache_read_input_tokens\":1111,"
            "\"cache_creation\":{\"ephemeral_5m_input_tokens\":420,\"ephemeral_1h_input_tokens\":80},"
            "\"output_tokens\":33,\"output_tokens_details\":{\"thinking_tokens\":20},\"service_tier\":\"standard\"}"),
     TLSHM_PROVIDER_ANTHROPIC,
     0,
     {.counts = {.input_total = 1614,
                 .cache_read = 1111,
                 .cache_write_5m = 420,
                 .cache_write_1h = 80,
                 .output_total = 33,
                 .reasoning = 20},
      .model = "claude-x"}},
    {"messages, tools of the caller and of the provider",
     CLAUDE("{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{\"query\":\"q\"}},"
            "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[]},"
            "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}",
            "{\"input_tokens\":3,\"output_tokens\":33,\"server_tool_use\":{\"web_search_requests\":1,"
            "\"web_fetch_requests\":0}}"),
     0,
     0,
     {.counts = {.input_total = 3, .output_total = 33, .tool_calls = 2, .web_searches = 1}, .model = "claude-x"}},
    {"messages, a compaction is beside the figures",
     CLAUDE(TEXT, "{\"input_tokens\":180,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"
                  "\"output_tokens\":8,\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":100,"
                  "\"output_tokens\":82,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":55096,"
                  "\"cache_creation\":{\"ephemeral_5m_input_tokens\":96,\"ephemeral_1h_input_tokens\":55000}},"
                  "{\"type\":\"message\",\"input_tokens\":180,\"output_tokens\":8}]}"),
     0,
     0,
     {.counts =
          {.input_total = 55381, .cache_read = 5, .cache_write_5m = 96, .cache_write_1h = 55000, .output_total = 90},
      .model = "claude-x"}},
    {"messages, an adviser is another model",
     CLAUDE(TEXT, "{\"input_tokens\":30,\"output_tokens\":8,\"iterations\":[{\"type\":\"message\",\"input_tokens\":10,"
                  "\"output_tokens\":3},{\"type\":\"advisor_message\",\"model\":\"claude-y\",\"input_tokens\":40,"
                  "\"cache_read_input_tokens\":2,\"output_tokens\":5},{\"type\":\"message\",\"input_tokens\":20,"
                  "\"output_tokens\":5}]}"),
     0,
     0,
     {.counts = {.input_total = 30, .output_total = 8},
      .others = {.input_total = 42, .cache_read = 2, .output_total = 5},
      .model = "claude-x",
      .other_model = "claude-y"}},
    {"messages, two advisers have no one name",
     CLAUDE(TEXT, "{\"input_tokens\":30,\"output_tokens\":8,\"iterations\":[{\"type\":\"advisor_message\",\"model\":"
                  "\"claude-z\",\"input_tokens\":1},{\"type\":\"advisor_message\",\"model\":\"claude-y\","
                  "\"input_tokens\":40}]}"),
     0,
     0,
     {.counts = {.input_total = 30, .output_total = 8}, .others = {.input_total = 41}, .model = "claude-x"}},
    {"Gemini, thoughts and results of tools are beside",
     GEMINI("{\"text\":\"hello\"}",
            "{\"promptTokenCount\":338,\"candidatesTokenCount\":20,\"thoughtsTokenCount\":908,"
            "\"toolUsePromptTokenCount\":50,\"cachedContentTokenCount\":300,\"totalTokenCount\":1316,"
            "\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":100},{\"tokenCount\":200,\"modality\":"
            "\"AUDIO\"},{\"modality\":\"VIDEO\",\"tokenCount\":38}],\"toolUsePromptTokensDetails\":[{\"modality\":"
            "\"AUDIO\",\"tokenCount\":7}],\"cacheTokensDetails\":[{\"modality\":\"AUDIO\",\"tokenCount\":150}],"
            "\"candidatesTokensDetails\":[{\"modality\":\"IMAGE\",\"tokenCount\":12}]}"),
     TLSHM_PROVIDER_GEMINI,
     0,
     {.counts = {.input_total = 388,
                 .cache_read = 300,
                 .input_audio = 207,
                 .input_video = 38,
                 .cache_read_audio = 150,
                 .output_total = 928,
                 .reasoning = 908,
                 .output_image = 12},
      .model = "gemini-x"}},
    {"Gemini, modalities as numbers, and zeros left out",
     GEMINI("{\"functionCall\":{\"name\":\"f\",\"args\":{}}},{\"functionCall\":{\"name\":\"g\",\"args\":{}}}",
            "{\"promptTokenCount\":5,\"totalTokenCount\":9,\"thoughtsTokenCount\":4,\"trafficType\":1,"
            "\"promptTokensDetails\":[{\"modality\":2,\"tokenCount\":3},{\"modality\":5,\"tokenCount\":1}]}"),
     TLSHM_PROVIDER_VERTEX,
     0,
     {.counts = {.input_total = 5, .input_image = 4, .output_total = 4, .reasoning = 4, .tool_calls = 2},
      .model = "gemini-x"}},
    {"Gemini, nothing but the kind of traffic",
     GEMINI("", "{\"trafficType\":\"ON_DEMAND\"}"),
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .model = "gemini-x"}},
    {"Converse",
     "{\"metrics\":{\"latencyMs\":1234},\"output\":{\"message\":{\"content\":[{\"text\":\"hello\"},{\"toolUse\":"
     "{\"toolUseId\":\"t\",\"name\":\"f\",\"input\":{}}}],\"role\":\"assistant\"}},\"stopReason\":\"tool_use\","
     "\"usage\":"
     "{\"inputTokens\":20,\"outputTokens\":5,\"totalTokens\":1125,\"cacheReadInputTokens\":1000,"
     "\"cacheReadInputTokenCount\":1000,\"cacheWriteInputTokens\":100,\"cacheWriteInputTokenCount\":100,"
     "\"cacheDetails\":[{\"inputTokens\":60,\"ttl\":\"1h\"},{\"inputTokens\":40,\"ttl\":\"5m\"}],"
     "\"serverToolUsage\":{}}}",
     TLSHM_PROVIDER_BEDROCK,
     0,
     {.counts = {.input_total = 1120,
                 .cache_read = 1000,
                 .cache_write_5m = 40,
                 .cache_write_1h = 60,
                 .output_total = 5,
                 .tool_calls = 1}}},
    {"Llama on Bedrock",
     "{\"generation\":\"hello\",\"prompt_token_count\":26,\"generation_token_count\":70,\"stop_reason\":\"stop\"}",
     0,
     0,
     {.counts = {.input_total = 26, .output_total = 70}}},
    {"Titan on Bedrock",
     "{\"inputTextTokenCount\":5,\"results\":[{\"tokenCount\":30,\"outputText\":\"a\",\"completionReason\":\"FINISH\"},"
     "{\"tokenCount\":12,\"outputText\":\"b\"}]}",
     0,
     0,
     {.counts = {.input_total = 5, .output_total = 42}}},
    {"Cohere charges for less than it used",
     "{\"id\":\"c\",\"message\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\"}}]},"
     "\"finish_reason\":\"COMPLETE\",\"usage\":{\"billed_units\":{\"input_tokens\":91,\"output_tokens\":31},"
     "\"cached_tokens\":1024,\"tokens\":{\"input_tokens\":1622,\"output_tokens\":44}}}",
     TLSHM_PROVIDER_COHERE,
     0,
     {.counts = {.input_total = 91, .output_total = 31, .tool_calls = 1}}},
    {"Cohere without what it charges for",
     "{\"usage\":{\"cached_tokens\":1024,\"tokens\":{\"input_tokens\":1622,\"output_tokens\":44}}}",
     0,
     0,
     {.counts = {.input_total = 1622, .cache_read = 1024, .output_total = 44}}},
    {"Cohere's embeddings",
     "{\"meta\":{\"billed_units\":{\"input_tokens\":4,\"image_tokens\":300}}}",
     0,
     0,
     {.counts = {.input_total = 304, .input_image = 300}}},
    {"Ollama",
     "{\"model\":\"llama\",\"message\":{\"role\":\"assistant\",\"content\":\"hi\",\"tool_calls\":[{\"function\":"
     "{\"name\":\"f\",\"arguments\":{}}}]},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":26,"
     "\"eval_count\":290}",
     TLSHM_PROVIDER_OLLAMA,
     0,
     {.counts = {.input_total = 26, .output_total = 290, .tool_calls = 1}, .model = "llama"}},
};

Test(answer, bodies)
{
    check_all(bodies, COUNT_OF(bodies));
}

/* --------------------------------------------------------------------------------------------- what is not believed */

static const struct answer_case doubtful[] = {
    {"usage in the model's own text",
     "{\"model\":\"gpt-x\",\"choices\":[{\"message\":{\"content\":\"{\\\"usage\\\":{\\\"prompt_tokens\\\":9}}\"},"
     "\"finish_reason\":\"stop\"}]}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .model = "gpt-x"}},
    {"usage among the arguments of a call",
     CLAUDE("{\"type\":\"tool_use\",\"id\":\"t\",\"input\":{\"usage\":{\"input_tokens\":1},\"model\":\"free\"}}",
            "{\"input_tokens\":30,\"output_tokens\":8}"),
     0,
     0,
     {.counts = {.input_total = 30, .output_total = 8, .tool_calls = 1}, .model = "claude-x"}},
    {"usage one level too deep",
     "{\"data\":{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN}},
    {"Cohere speaks chat completions too",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":6}"),
     TLSHM_PROVIDER_COHERE,
     0,
     {.counts = {.input_total = 5, .output_total = 6}, .model = "gpt-x"}},
    {"Gemini's shape from OpenAI",
     GEMINI("", "{\"promptTokenCount\":5}"),
     TLSHM_PROVIDER_OPENAI,
     0,
     {.outcome = TLSHM_UNKNOWN}},
    {"a negative figure",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":-6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.input_total = 5},
      .model = "gpt-x",
      .problem = "document 1, byte 199: completion_tokens is no figure: -6"}},
    {"a figure with a fraction",
     CHAT("{\"prompt_tokens\":5.5,\"completion_tokens\":6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.output_total = 6},
      .model = "gpt-x",
      .problem = "prompt_tokens is no figure: 5.5"}},
    {"figures that are whole all the same",
     CHAT("{\"prompt_tokens\":5.0,\"completion_tokens\":6e2}"),
     0,
     0,
     {.counts = {.input_total = 5, .output_total = 600}, .model = "gpt-x"}},
    {"a figure above the range",
     CHAT("{\"prompt_tokens\":9007199254740993,\"completion_tokens\":6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.output_total = 6},
      .model = "gpt-x",
      .problem = "prompt_tokens is no figure: 9007199254740993"}},
    {"the largest figure",
     CHAT("{\"prompt_tokens\":9007199254740992,\"completion_tokens\":0}"),
     0,
     0,
     {.counts = {.input_total = UINT64_C(1) << 53}, .model = "gpt-x"}},
    {"a figure of a thousand digits would do no better",
     CHAT("{\"prompt_tokens\":123456789012345678901234567890123456789012345678901234567890,\"completion_tokens\":6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.output_total = 6},
      .model = "gpt-x",
      .problem = "prompt_tokens is no figure: 123456789012345678901234567890..."}},
    {"a figure as a text",
     CHAT("{\"prompt_tokens\":\"5\",\"completion_tokens\":6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.output_total = 6},
      .model = "gpt-x",
      .problem = "prompt_tokens is no figure: a text"}},
    {"a figure that is an object",
     CHAT("{\"prompt_tokens\":{\"n\":5},\"completion_tokens\":6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.output_total = 6},
      .model = "gpt-x",
      .problem = "prompt_tokens is no figure: an object"}},
    {"output alone",
     CHAT("{\"completion_tokens\":6}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST, .counts = {.output_total = 6}, .model = "gpt-x"}},
    {"a key with escapes is the same key",
     CHAT("{\"prompt\\u005ftokens\":5,\"\\u0063ompletion_tokens\":6}"),
     0,
     0,
     {.counts = {.input_total = 5, .output_total = 6}, .model = "gpt-x"}},
    {"the last of two equal keys counts",
     "{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2},\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}"
     "}",
     0,
     0,
     {.counts = {.input_total = 3, .output_total = 4}}},
    {"a model's name with a NUL is none",
     "{\"model\":\"a\\u0000b\",\"usage\":{\"total_tokens\":1}}",
     0,
     0,
     {.counts = {.input_total = 1}}},
    {"an error",
     "{\"error\":{\"message\":\"slow down\",\"type\":\"tokens\",\"param\":null,\"code\":\"rate_limit_exceeded\"}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "rate_limit_exceeded"}},
    {"Anthropic's error",
     "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "overloaded_error"}},
    {"Google's error, in an array",
     "[{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\"}}]",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "RESOURCE_EXHAUSTED"}},
    {"an error that has only a number",
     "{\"error\":{\"code\":503,\"message\":\"m\"}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "503"}},
    {"an error that is a text",
     "{\"error\":\"model not found\"}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "error"}},
    {"an error beside usage",
     "{\"model\":\"gpt-x\",\"error\":{\"code\":\"x\"},\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
     0,
     0,
     {.outcome = TLSHM_AT_LEAST, .counts = {.input_total = 1, .output_total = 2}, .model = "gpt-x", .error = "x"}},
    {"an error whose best name is null",
     "{\"error\":{\"message\":\"m\",\"type\":\"server_error\",\"status\":\"\",\"code\":null}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "server_error"}},
    {"the better of two names wins, whichever comes first",
     "{\"error\":{\"code\":\"rate_limit_exceeded\",\"status\":\"s\",\"type\":\"tokens\"}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .refused = 1, .error = "rate_limit_exceeded"}},
    {"a long name of an error is cut",
     "{\"error\":{\"code\":\"" D100 "\"}}",
     0,
     0,
     {.outcome = TLSHM_UNKNOWN,
      .refused = 1,
      .error = "012345678901234567890123456789012345678901234567890123456789012"}},
    {"a long name of a model is none",
     "{\"model\":\"" D100 "\",\"model\":\"" D100 D100 "\",\"usage\":{\"total_tokens\":1}}",
     0,
     0,
     {.counts = {.input_total = 1}, .model = D100}},
    {"a long type is none",
     "{\"type\":\"" D100 D100 "\",\"usage\":{\"total_tokens\":1}}",
     0,
     0,
     {.counts = {.input_total = 1}}},
    {"of two problems the first is told",
     CHAT("{\"prompt_tokens\":-1,\"completion_tokens\":-2}"),
     0,
     0,
     {.outcome = TLSHM_UNKNOWN, .model = "gpt-x", .problem = "prompt_tokens is no figure: -1"}},
    {"a sum above the range",
     CLAUDE(
         TEXT,
         "{\"input_tokens\":30,\"output_tokens\":8,\"iterations\":[{\"type\":\"x\",\"input_tokens\":9007199254740992},"
         "{\"type\":\"x\",\"input_tokens\":1}]}"),
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.input_total = 9007199254741022, .output_total = 8},
      .model = "claude-x",
      .problem = "a sum of figures is out of range"}},
    {"a step of no type is one of the figures",
     CLAUDE(TEXT,
            "{\"input_tokens\":30,\"output_tokens\":8,\"iterations\":[{\"input_tokens\":30,\"output_tokens\":8}]}"),
     0,
     0,
     {.counts = {.input_total = 30, .output_total = 8}, .model = "claude-x"}},
    {"nothing", "", 0, 0, {.outcome = TLSHM_UNKNOWN}},
    {"blanks", " \n", 0, 0, {.outcome = TLSHM_UNKNOWN}},
    {"a page", "<html>", 0, 0, {.outcome = TLSHM_UNKNOWN, .problem = "markup"}},
    {"compressed", "\x1f\x8b\x08", 0, 0, {.outcome = TLSHM_UNKNOWN, .problem = "compressed"}},
    {"a number", "17", 0, 0, {.outcome = TLSHM_UNKNOWN, .problem = "neither JSON nor an event stream"}},
    {"a body that broke off",
     "{\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3",
     0,
     TLSHM_ANSWER_CUT,
     {.outcome = TLSHM_AT_LEAST, .counts = {.input_total = 12}, .problem = "byte 50: the document is not finished"}},
    {"a body that broke off, and nobody noticed",
     "{\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,",
     0,
     0,
     {.outcome = TLSHM_AT_LEAST, .counts = {.input_total = 12, .output_total = 3}, .problem = "not finished"}},
    {"a body that goes wrong",
     "{\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}]",
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.input_total = 12, .output_total = 3},
      .problem = "byte 51: this is no JSON"}},
    {"a whole body on a broken connection",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":6}"),
     0,
     TLSHM_ANSWER_CUT,
     {.counts = {.input_total = 5, .output_total = 6}, .model = "gpt-x"}},
    {"a whole document on a broken connection, with no reason to have stopped",
     "{\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}",
     0,
     TLSHM_ANSWER_CUT,
     {.outcome = TLSHM_AT_LEAST, .counts = {.input_total = 5, .output_total = 6}}},
    {"bytes after the body",
     CHAT("{\"prompt_tokens\":5,\"completion_tokens\":6}") "x",
     0,
     0,
     {.outcome = TLSHM_AT_LEAST,
      .counts = {.input_total = 5, .output_total = 6},
      .model = "gpt-x",
      .problem = "no JSON"}},
};

Test(answer, what_is_not_believed)
{
    check_all(doubtful, COUNT_OF(doubtful));
}

/* -------------------------------------------------------------------------------------------------------- arguments */

Test(answer, arguments)
{
    tlshm_answer_parser parser;
    tlshm_answer answer;
    tlshm_amounts amounts;

    memset(&parser, 0, sizeof parser);
    cr_expect_eq(tlshm_answer_begin(NULL, TLSHM_PROVIDER_ANY), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_begin(&parser, TLSHM_PROVIDERS), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_begin(&parser, (enum tlshm_provider) - 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_feed(&parser, "", 0), -TLSHM_EINVAL, "a parser that was not made ready");
    cr_expect_eq(tlshm_answer_end(&parser, 0, &answer), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_begin(&parser, TLSHM_PROVIDER_ANY), 0);
    cr_expect_eq(tlshm_answer_feed(&parser, NULL, 0), 0);
    cr_expect_eq(tlshm_answer_feed(&parser, NULL, 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_feed(NULL, "", 0), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_end(&parser, 2, &answer), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_end(&parser, 0, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_end(NULL, 0, &answer), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_amounts(NULL, &amounts), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_answer_amounts(&answer, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_counts_amounts(NULL, &amounts), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_counts_amounts(&answer.counts, NULL), -TLSHM_EINVAL);
}

/* ---------------------------------------------------------------------------------------------------------- amounts */

Test(answer, amounts_are_of_both_models)
{
    tlshm_answer answer = {
        .counts =
            {.input_total = 10, .cache_read = 9, .output_total = 5, .reasoning = 4, .tool_calls = 2, .web_searches = 1},
        .others = {.input_total = 100, .output_total = 50}};
    tlshm_amounts amounts;

    memset(&amounts, 0xff, sizeof amounts);
    cr_assert_eq(tlshm_answer_amounts(&answer, &amounts), 0);
    cr_expect_eq(amounts.of[TLSHM_TOKENS], 165);
    cr_expect_eq(amounts.of[TLSHM_INPUT_TOKENS], 110);
    cr_expect_eq(amounts.of[TLSHM_OUTPUT_TOKENS], 55);
    cr_expect_eq(amounts.of[TLSHM_TOOL_CALLS], 2);
    cr_expect_eq(amounts.of[TLSHM_COST], 0);
    cr_expect_eq(amounts.of[TLSHM_REQUESTS], 0);
    cr_expect_eq(amounts.of[TLSHM_CONCURRENCY], 0);
    cr_assert_eq(tlshm_counts_amounts(&answer.counts, &amounts), 0);
    cr_expect_eq(amounts.of[TLSHM_TOKENS], 15);
}

Test(answer, amounts_have_a_range)
{
    tlshm_counts counts = {.input_total = TLSHM_AMOUNT_MAX - 1, .output_total = 1};
    tlshm_answer answer = {.counts = {.input_total = TLSHM_AMOUNT_MAX}};
    tlshm_amounts amounts = {{7}};

    cr_expect_eq(tlshm_counts_amounts(&counts, &amounts), 0);
    cr_expect_eq(amounts.of[TLSHM_TOKENS], TLSHM_AMOUNT_MAX);
    counts.output_total = 2;
    cr_expect_eq(tlshm_counts_amounts(&counts, &amounts), -TLSHM_ERANGE);
    counts = (tlshm_counts){.input_total = UINT64_MAX};
    cr_expect_eq(tlshm_counts_amounts(&counts, &amounts), -TLSHM_ERANGE);
    counts = (tlshm_counts){.tool_calls = TLSHM_AMOUNT_MAX + 1};
    cr_expect_eq(tlshm_counts_amounts(&counts, &amounts), -TLSHM_ERANGE);
    answer.others.output_total = 1;
    cr_expect_eq(tlshm_answer_amounts(&answer, &amounts), -TLSHM_ERANGE);
    answer.others.output_total = UINT64_MAX;
    cr_expect_eq(tlshm_answer_amounts(&answer, &amounts), -TLSHM_ERANGE);
    cr_expect_eq(amounts.of[TLSHM_TOKENS], TLSHM_AMOUNT_MAX, "an error writes nothing");
}
