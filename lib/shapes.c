/* SPDX-License-Identifier: MIT */
/*
 * shapes.c - the tree of spots.
 *
 * Read a table from its end: the root is last. A row is a key, what lies below it, what it means, and the kinds of
 * shapes that have it. Rows that nobody's documents have together stand in one table all the same: a document that has
 * an odd mixture is read as one whose parts mean what they say.
 */
#include "shapes.h"

#include <tlshm/answer.h>

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL, 0, 0                                                                                               \
    }
#define EACH TL_JSON_EACH

enum {
    CHAT = TL_SHAPE_CHAT,
    RESPONSES = TL_SHAPE_RESPONSES,
    OPENAI = TL_SHAPE_CHAT | TL_SHAPE_RESPONSES,
    MESSAGES = TL_SHAPE_MESSAGES,
    GEMINI = TL_SHAPE_GEMINI,
    BEDROCK = TL_SHAPE_BEDROCK,
    COHERE = TL_SHAPE_COHERE,
    OLLAMA = TL_SHAPE_OLLAMA,
    ALL = TL_SHAPE_ALL
};

/* ------------------------------------------------------------------------------------------------------------ usage */

static const struct tl_json_spot cached_details[] = {
    {"audio_tokens", NULL, TL_SLOT_CACHED_AUDIO, OPENAI},
    END,
};

static const struct tl_json_spot input_details[] = {
    {"cached_tokens", NULL, TL_SLOT_CACHED, OPENAI},          {"cache_write_tokens", NULL, TL_SLOT_WRITTEN, OPENAI},
    {"cache_creation_tokens", NULL, TL_SLOT_WRITTEN, OPENAI}, {"audio_tokens", NULL, TL_SLOT_IN_AUDIO, OPENAI},
    {"image_tokens", NULL, TL_SLOT_IN_IMAGE, OPENAI},         {"video_tokens", NULL, TL_SLOT_IN_VIDEO, OPENAI},
    {"cached_tokens_details", cached_details, 0, OPENAI},     END,
};

static const struct tl_json_spot output_details[] = {
    {"reasoning_tokens", NULL, TL_SLOT_REASONING, OPENAI},
    {"thinking_tokens", NULL, TL_SLOT_REASONING, MESSAGES},
    {"audio_tokens", NULL, TL_SLOT_OUT_AUDIO, OPENAI},
    {"image_tokens", NULL, TL_SLOT_OUT_IMAGE, OPENAI},
    END,
};

static const struct tl_json_spot creation[] = {
    {"ephemeral_5m_input_tokens", NULL, TL_SLOT_WRITE_5M, MESSAGES},
    {"ephemeral_1h_input_tokens", NULL, TL_SLOT_WRITE_1H, MESSAGES},
    END,
};

static const struct tl_json_spot step_creation[] = {
    {"ephemeral_5m_input_tokens", NULL, TL_OF_WRITE_5M, MESSAGES},
    {"ephemeral_1h_input_tokens", NULL, TL_OF_WRITE_1H, MESSAGES},
    END,
};

static const struct tl_json_spot step[] = {
    {"type", NULL, TL_OF_KIND, MESSAGES},
    {"model", NULL, TL_OF_MODEL, MESSAGES},
    {"input_tokens", NULL, TL_OF_INPUT, MESSAGES},
    {"output_tokens", NULL, TL_OF_OUTPUT, MESSAGES},
    {"cache_read_input_tokens", NULL, TL_OF_READ, MESSAGES},
    {"cache_creation_input_tokens", NULL, TL_OF_WRITE, MESSAGES},
    {"cache_creation", step_creation, 0, MESSAGES},
    END,
};
static const struct tl_json_spot steps[] = {{EACH, step, TL_ENTRY_STEP, MESSAGES}, END};

static const struct tl_json_spot server_tools[] = {
    {"web_search_requests", NULL, TL_SLOT_SEARCHES, MESSAGES | CHAT},
    {"web_fetch_requests", NULL, TL_SLOT_FETCHES, MESSAGES},
    {"tool_calls_executed", NULL, TL_SLOT_SERVER_CALLS, CHAT},
    END,
};

static const struct tl_json_spot cache_write[] = {
    {"ttl", NULL, TL_OF_KIND, BEDROCK},
    {"inputTokens", NULL, TL_OF_COUNT, BEDROCK},
    END,
};
static const struct tl_json_spot cache_writes[] = {{EACH, cache_write, TL_ENTRY_WRITES, BEDROCK}, END};

static const struct tl_json_spot billed[] = {
    {"input_tokens", NULL, TL_SLOT_BILLED_INPUT, COHERE},
    {"output_tokens", NULL, TL_SLOT_BILLED_OUTPUT, COHERE},
    {"image_tokens", NULL, TL_SLOT_BILLED_IMAGE, COHERE},
    END,
};

static const struct tl_json_spot tokens[] = {
    {"input_tokens", NULL, TL_SLOT_PROMPT, COHERE},
    {"output_tokens", NULL, TL_SLOT_OUTPUT, COHERE},
    END,
};

static const struct tl_json_spot total_cost[] = {{"total_cost", NULL, TL_SLOT_COST, CHAT}, END};

static const struct tl_json_spot usage[] = {
    {"prompt_tokens", NULL, TL_SLOT_PROMPT, CHAT | RESPONSES},
    {"completion_tokens", NULL, TL_SLOT_OUTPUT, CHAT | RESPONSES},
    {"input_tokens", NULL, TL_SLOT_INPUT, RESPONSES | MESSAGES},
    {"output_tokens", NULL, TL_SLOT_OUTPUT, RESPONSES | MESSAGES},
    {"total_tokens", NULL, TL_SLOT_TOTAL, OPENAI},
    {"prompt_tokens_details", input_details, 0, OPENAI},
    {"prompt_token_details", input_details, 0, OPENAI},
    {"input_tokens_details", input_details, 0, OPENAI},
    {"input_token_details", input_details, 0, OPENAI},
    {"completion_tokens_details", output_details, 0, OPENAI},
    {"completion_token_details", output_details, 0, OPENAI},
    {"output_tokens_details", output_details, 0, OPENAI | MESSAGES},
    {"output_token_details", output_details, 0, OPENAI},
    {"prompt_cache_hit_tokens", NULL, TL_SLOT_CACHED, CHAT},
    {"num_cached_tokens", NULL, TL_SLOT_CACHED, CHAT},
    {"cached_tokens", NULL, TL_SLOT_CACHED, CHAT | COHERE},
    {"cached_prompt_text_tokens", NULL, TL_SLOT_CACHED, CHAT},
    {"num_search_queries", NULL, TL_SLOT_SEARCHES, CHAT},
    {"cost", total_cost, TL_SLOT_COST, OPENAI},
    {"cache_read_input_tokens", NULL, TL_SLOT_READ, CHAT | MESSAGES},
    {"cache_creation_input_tokens", NULL, TL_SLOT_WRITE, CHAT | MESSAGES},
    {"cache_creation", creation, 0, MESSAGES},
    {"iterations", steps, TL_LIST_STEPS, MESSAGES},
    {"server_tool_use", server_tools, 0, MESSAGES},
    {"server_tool_use_details", server_tools, 0, CHAT},
    {"inputTokens", NULL, TL_SLOT_INPUT, BEDROCK},
    {"outputTokens", NULL, TL_SLOT_OUTPUT, BEDROCK},
    {"totalTokens", NULL, TL_SLOT_TOTAL, BEDROCK},
    {"cacheReadInputTokens", NULL, TL_SLOT_READ, BEDROCK},
    {"cacheReadInputTokenCount", NULL, TL_SLOT_READ, BEDROCK},
    {"cacheWriteInputTokens", NULL, TL_SLOT_WRITE, BEDROCK},
    {"cacheWriteInputTokenCount", NULL, TL_SLOT_WRITE, BEDROCK},
    {"cacheDetails", cache_writes, TL_LIST_WRITES, BEDROCK},
    {"billed_units", billed, 0, COHERE},
    {"tokens", tokens, 0, COHERE},
    END,
};

/* A modality is a word, or its number in the protocol's enumeration. */
static const struct tl_json_spot modality[] = {
    {"modality", NULL, TL_OF_KIND, GEMINI},
    {"tokenCount", NULL, TL_OF_COUNT, GEMINI},
    END,
};
static const struct tl_json_spot in_list[] = {{EACH, modality, TL_ENTRY_IN, GEMINI}, END};
static const struct tl_json_spot tool_list[] = {{EACH, modality, TL_ENTRY_TOOL, GEMINI}, END};
static const struct tl_json_spot cached_list[] = {{EACH, modality, TL_ENTRY_CACHED, GEMINI}, END};
static const struct tl_json_spot out_list[] = {{EACH, modality, TL_ENTRY_OUT, GEMINI}, END};

static const struct tl_json_spot metadata[] = {
    {"promptTokenCount", NULL, TL_SLOT_PROMPT, GEMINI},
    {"candidatesTokenCount", NULL, TL_SLOT_OUTPUT, GEMINI},
    {"responseTokenCount", NULL, TL_SLOT_OUTPUT, GEMINI},
    {"thoughtsTokenCount", NULL, TL_SLOT_THOUGHTS, GEMINI},
    {"cachedContentTokenCount", NULL, TL_SLOT_CACHED, GEMINI},
    {"toolUsePromptTokenCount", NULL, TL_SLOT_TOOL_PROMPT, GEMINI},
    {"totalTokenCount", NULL, TL_SLOT_TOTAL, GEMINI},
    {"promptTokensDetails", in_list, TL_LIST_IN, GEMINI},
    {"promptTokenDetails", in_list, TL_LIST_IN, GEMINI},
    {"toolUsePromptTokensDetails", tool_list, TL_LIST_TOOL, GEMINI},
    {"cacheTokensDetails", cached_list, TL_LIST_CACHED, GEMINI},
    {"candidatesTokensDetails", out_list, TL_LIST_OUT, GEMINI},
    {"responseTokensDetails", out_list, TL_LIST_OUT, GEMINI},
    END,
};

static const struct tl_json_spot metrics[] = {
    {"inputTokenCount", NULL, TL_SLOT_METER_INPUT, BEDROCK},
    {"outputTokenCount", NULL, TL_SLOT_METER_OUTPUT, BEDROCK},
    {"cacheReadInputTokenCount", NULL, TL_SLOT_METER_READ, BEDROCK},
    {"cacheWriteInputTokenCount", NULL, TL_SLOT_METER_WRITE, BEDROCK},
    END,
};

/* ------------------------------------------------------------------------------------------ calls of tools, content */

static const struct tl_json_spot call_function[] = {{"name", NULL, TL_OF_NAME, ALL}, END};

static const struct tl_json_spot call[] = {
    {"id", NULL, TL_OF_ID, ALL},
    {"function", call_function, 0, ALL},
    {"name", NULL, TL_OF_NAME, COHERE},
    END,
};
static const struct tl_json_spot calls[] = {{EACH, call, TL_THING_CALL, ALL}, END};

static const struct tl_json_spot block[] = {
    {"type", NULL, TL_OF_KIND, MESSAGES},
    {"id", NULL, TL_OF_ID, MESSAGES},
    {"toolUse", NULL, TL_CALL, BEDROCK},
    END,
};
static const struct tl_json_spot blocks[] = {{EACH, block, TL_THING_BLOCK, MESSAGES | BEDROCK}, END};

static const struct tl_json_spot item[] = {
    {"type", NULL, TL_OF_KIND, RESPONSES},
    {"id", NULL, TL_OF_ID, RESPONSES},
    END,
};

static const struct tl_json_spot converse_message[] = {{"content", blocks, 0, BEDROCK}, END};

static const struct tl_json_spot output[] = {
    {EACH, item, TL_THING_OUTPUT, RESPONSES},
    {"message", converse_message, 0, BEDROCK},
    END,
};

static const struct tl_json_spot choice_message[] = {{"tool_calls", calls, 0, CHAT}, END};
static const struct tl_json_spot choice[] = {
    {"finish_reason", NULL, TL_FINISH, CHAT},
    {"message", choice_message, 0, CHAT},
    {"delta", choice_message, 0, CHAT},
    END,
};
static const struct tl_json_spot choices[] = {{EACH, choice, 0, CHAT}, END};

static const struct tl_json_spot part[] = {{"functionCall", NULL, TL_CALL, GEMINI}, END};
static const struct tl_json_spot parts[] = {{EACH, part, 0, GEMINI}, END};
static const struct tl_json_spot candidate_content[] = {{"parts", parts, 0, GEMINI}, END};
static const struct tl_json_spot candidate[] = {
    {"finishReason", NULL, TL_FINISH, GEMINI},
    {"content", candidate_content, 0, GEMINI},
    END,
};
static const struct tl_json_spot candidates[] = {{EACH, candidate, 0, GEMINI}, END};
static const struct tl_json_spot feedback[] = {{"blockReason", NULL, TL_FINISH, GEMINI}, END};

/* -------------------------------------------------------------------------------------------------------- documents */

static const struct tl_json_spot error_names[] = {
    {"code", NULL, TL_ERROR_CODE, ALL},
    {"status", NULL, TL_ERROR_STATUS, ALL},
    {"type", NULL, TL_ERROR_TYPE, ALL},
    END,
};

static const struct tl_json_spot meta[] = {
    {"billed_units", billed, 0, COHERE},
    {"tokens", tokens, 0, COHERE},
    END,
};

/* Anthropic's message_start, and what Cohere and Ollama answer with. */
static const struct tl_json_spot message[] = {
    {"model", NULL, TL_MODEL, MESSAGES},
    {"usage", usage, 0, MESSAGES},
    {"content", blocks, 0, MESSAGES},
    {"tool_calls", calls, 0, COHERE | OLLAMA},
    END,
};

static const struct tl_json_spot response[] = {
    {"model", NULL, TL_MODEL, RESPONSES}, {"usage", usage, 0, RESPONSES}, {"error", error_names, TL_ERROR, RESPONSES},
    {"output", output, 0, RESPONSES},     {"meta", meta, 0, COHERE},      END,
};

static const struct tl_json_spot delta_message[] = {{"tool_calls", call, TL_THING_CALL, COHERE}, END};
static const struct tl_json_spot delta[] = {
    {"stop_reason", NULL, TL_FINISH, MESSAGES},
    {"usage", usage, 0, COHERE},
    {"message", delta_message, 0, COHERE},
    END,
};

static const struct tl_json_spot groq[] = {{"usage", usage, 0, CHAT}, END};
static const struct tl_json_spot start[] = {{"toolUse", NULL, TL_CALL, BEDROCK}, END};
static const struct tl_json_spot block_start[] = {{"start", start, 0, BEDROCK}, END};
static const struct tl_json_spot message_stop[] = {{"stopReason", NULL, TL_FINISH, BEDROCK}, END};
static const struct tl_json_spot router[] = {{"invokedModelId", NULL, TL_MODEL, BEDROCK}, END};
static const struct tl_json_spot trace[] = {{"promptRouter", router, 0, BEDROCK}, END};
static const struct tl_json_spot meta_data[] = {
    {"usage", usage, 0, BEDROCK},
    {"trace", trace, 0, BEDROCK},
    END,
};
static const struct tl_json_spot titan_result[] = {{"tokenCount", NULL, TL_RESULT, BEDROCK}, END};
static const struct tl_json_spot titan_results[] = {{EACH, titan_result, 0, BEDROCK}, END};

/* An array at the root holds documents. */
static const struct tl_json_spot document[] = {
    {EACH, document, TL_DOCUMENT, ALL},
    {"type", NULL, TL_TYPE, ALL},
    {"object", NULL, TL_TYPE, OPENAI},
    {"event_type", NULL, TL_TYPE, COHERE},
    {"model", NULL, TL_MODEL, ALL},
    {"modelVersion", NULL, TL_MODEL, GEMINI},
    {"usage", usage, 0, OPENAI | MESSAGES | BEDROCK | COHERE},
    {"usageMetadata", metadata, TL_OMITS_ZEROS, GEMINI},
    {"x_groq", groq, 0, CHAT},
    {"choices", choices, 0, CHAT},
    {"candidates", candidates, 0, GEMINI},
    {"promptFeedback", feedback, 0, GEMINI},
    {"error", error_names, TL_ERROR, ALL},
    {"code", NULL, TL_ERROR_CODE, RESPONSES}, /* if the type is "error" */
    {"message", message, 0, MESSAGES | COHERE | OLLAMA},
    {"content", blocks, 0, MESSAGES},
    {"content_block", block, TL_THING_BLOCK, MESSAGES},
    {"stop_reason", NULL, TL_FINISH, MESSAGES | BEDROCK},
    {"response", response, 0, RESPONSES | COHERE},
    {"output", output, 0, RESPONSES | BEDROCK},
    {"item", item, TL_THING_ITEM, RESPONSES},
    {"delta", delta, 0, MESSAGES | COHERE},
    {"meta", meta, 0, COHERE},
    {"tool_calls", calls, 0, COHERE},
    {"is_finished", NULL, TL_LAST, COHERE},
    {"done", NULL, TL_LAST, OLLAMA},
    {"prompt_eval_count", NULL, TL_SLOT_PROMPT, OLLAMA},
    {"eval_count", NULL, TL_SLOT_OUTPUT, OLLAMA},
    {"start", start, 0, BEDROCK},
    {"stopReason", NULL, TL_FINISH, BEDROCK},
    {"trace", trace, 0, BEDROCK},
    {"messageStop", message_stop, 0, BEDROCK},
    {"contentBlockStart", block_start, 0, BEDROCK},
    {"metadata", meta_data, 0, BEDROCK},
    {"amazon-bedrock-invocationMetrics", metrics, TL_METRICS, BEDROCK},
    {"prompt_token_count", NULL, TL_SLOT_METER_INPUT, BEDROCK},
    {"generation_token_count", NULL, TL_SLOT_METER_OUTPUT, BEDROCK},
    {"inputTextTokenCount", NULL, TL_SLOT_METER_INPUT, BEDROCK},
    {"totalOutputTextTokenCount", NULL, TL_SLOT_METER_OUTPUT, BEDROCK},
    {"completionReason", NULL, TL_FINISH, BEDROCK},
    {"results", titan_results, TL_RESULTS, BEDROCK},
    END,
};

static const struct tl_json_spot envelope[] = {{"bytes", NULL, TL_INNER | TL_JSON_PIECES, BEDROCK}, END};

const struct tl_json_spot tl_shapes_root = {"root", document, TL_DOCUMENT, ALL};
const struct tl_json_spot tl_shapes_envelope = {"envelope", envelope, 0, BEDROCK};

/* ---------------------------------------------------------------------------------------------- types and providers */

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);

    return length >= tail_length && memcmp(text + length - tail_length, tail, tail_length) == 0;
}

unsigned tl_shapes_type(const char *text)
{
    static const char *const finals[] = {".completed", ".incomplete", ".failed", ".cancelled", ".expired", ".done"};

    if (strcmp(text, "message_delta") == 0)
        return TL_TYPE_STREAM | TL_TYPE_PATCH;
    if (strcmp(text, "message_stop") == 0 || strcmp(text, "message-end") == 0 || strcmp(text, "stream-end") == 0)
        return TL_TYPE_STREAM | TL_TYPE_END;
    if (strcmp(text, "error") == 0)
        return TL_TYPE_ERROR;
    if (strcmp(text, "message_start") == 0 || ends_with(text, ".chunk"))
        return TL_TYPE_STREAM;
    if (strstr(text, ".step."))
        return TL_TYPE_STREAM;
    for (size_t i = 0; i < sizeof finals / sizeof *finals; i++)
        if (ends_with(text, finals[i]))
            return TL_TYPE_STREAM | TL_TYPE_FINAL;
    return 0;
}

uint16_t tl_shapes_kinds(int provider)
{
    static const uint16_t kinds[TLSHM_PROVIDERS] = {
        [TLSHM_PROVIDER_ANY] = ALL,
        [TLSHM_PROVIDER_OPENAI] = OPENAI,
        [TLSHM_PROVIDER_AZURE] = OPENAI | MESSAGES | COHERE,
        [TLSHM_PROVIDER_ANTHROPIC] = MESSAGES | CHAT,
        [TLSHM_PROVIDER_GEMINI] = GEMINI | CHAT,
        [TLSHM_PROVIDER_VERTEX] = GEMINI | CHAT | MESSAGES,
        [TLSHM_PROVIDER_BEDROCK] = BEDROCK | OPENAI | MESSAGES | COHERE,
        [TLSHM_PROVIDER_MISTRAL] = CHAT,
        [TLSHM_PROVIDER_GROQ] = OPENAI,
        [TLSHM_PROVIDER_COHERE] = COHERE | CHAT,
        [TLSHM_PROVIDER_DEEPSEEK] = OPENAI | MESSAGES,
        [TLSHM_PROVIDER_OPENROUTER] = OPENAI | MESSAGES,
        [TLSHM_PROVIDER_XAI] = OPENAI | MESSAGES,
        [TLSHM_PROVIDER_OLLAMA] = OLLAMA | OPENAI | MESSAGES,
    };

    return kinds[provider];
}
