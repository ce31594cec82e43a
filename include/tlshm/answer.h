/* SPDX-License-Identifier: MIT */
/*
 * tlshm/answer.h - what a provider's answer says of its own use: from a body or an event stream to counts, on the fly.
 *
 *     tlshm_answer_parser parser;
 *     tlshm_answer answer;
 *     tlshm_amounts actual;
 *
 *     tlshm_answer_begin(&parser, TLSHM_PROVIDER_ANY);
 *     while ((n = read(...)) > 0)
 *         tlshm_answer_feed(&parser, bytes, n);
 *     tlshm_answer_end(&parser, n < 0 ? TLSHM_ANSWER_CUT : 0, &answer);
 *     if (answer.refused)
 *         tlshm_refund(t, id, NULL);
 *     else if (tlshm_answer_amounts(&answer, &actual) == 0)  (add the cost, which is priced elsewhere)
 *         tlshm_settle(t, id, &actual, answer.outcome, NULL);
 *
 * What is read: one JSON document; documents one after the other (a line each, or not), or in one array; server-sent
 * events; Amazon event streams. Compressed bodies must be decompressed first. The shapes: chat completions and
 * responses of OpenAI and of those who speak alike (Azure, Mistral, Groq, DeepSeek, OpenRouter, xAI and others),
 * messages of Anthropic, generateContent of Gemini and Vertex, Converse and the models' own shapes on Bedrock, chat of
 * Cohere, and Ollama's own. Figures are looked for at their places in the document alone: no text of the model is ever
 * believed.
 *
 * The parser is of fixed size and never allocates, whatever comes. It is plain data: it may be copied, moved and
 * abandoned at any time. Each function is safe from any thread, process and signal handler as long as no other one
 * uses the same parser; no segment is needed, and after fork parent and child each have a parser of their own.
 */
#ifndef TLSHM_ANSWER_H
#define TLSHM_ANSWER_H

#include <tlshm.h>
#include <tlshm/counts.h>
#include <tlshm/provider.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TLSHM_ANSWER_MODEL_MAX 127 /* bytes of a model's name; a longer one is not reported */
#define TLSHM_ANSWER_ERROR_MAX 63  /* bytes of an error's name; a longer one is cut */

#define TLSHM_ANSWER_CUT 1u /* the connection broke, or the caller stopped reading before the end */

/* Caller-allocated; nothing of it is meant to be touched. */
typedef struct tlshm_answer_parser {
    uint64_t opaque[512];
} tlshm_answer_parser;

/* What is known of the use. */
typedef struct tlshm_answer {
    /*
     * For tlshm_settle(). EXACT: the answer ended as its shape says that answers end, with its final figures. AT_LEAST:
     * it told some, and then broke, was cut, told of an error, or had figures that could not be believed. UNKNOWN: it
     * told nothing; all counts are 0.
     */
    enum tlshm_outcome outcome;
    uint32_t has_cost;
    uint32_t refused;    /* 1: an error is all that it told, so the provider did not begin, and a refund is in place */
    tlshm_counts counts; /* of the model that was asked */
    tlshm_counts others; /* of another model that it asked for advice: billed beside, at that model's price */
    uint64_t cost_nusd;  /* has_cost: what the provider says that it charged, rounded up (OpenRouter, Perplexity) */
    char model[TLSHM_ANSWER_MODEL_MAX + 1];       /* as reported; empty when it was not */
    char other_model[TLSHM_ANSWER_MODEL_MAX + 1]; /* of `others`; empty when there is none, or more than one */
    char error[TLSHM_ANSWER_ERROR_MAX + 1]; /* an error in the answer, such as "rate_limit_exceeded"; else empty */
    char problem[120]; /* what was wrong with the answer and at which byte, in words; empty when nothing was */
} tlshm_answer;

/*
 * Makes the parser ready for an answer. ANY takes every shape. Any other provider takes only the shapes that it speaks,
 * and says what a figure means where providers with the same shape differ: xAI's completion tokens leave reasoning out.
 * Returns 0, or -EINVAL for NULL or an unknown provider.
 */
int tlshm_answer_begin(tlshm_answer_parser *parser, enum tlshm_provider provider);

/*
 * Takes the next bytes of the answer; how it is cut into pieces makes no difference. Whatever is wrong with them is no
 * error of this call: the answer tells of it. Takes time in proportion to `n`. `bytes` may be NULL if `n` is 0.
 * Returns 0, or -EINVAL.
 */
int tlshm_answer_feed(tlshm_answer_parser *parser, const void *bytes, size_t n);

/*
 * What is known when the answer ends here. `flags`: 0, or TLSHM_ANSWER_CUT. The parser is left as it was, so this may
 * be asked at any time, and bytes may follow. Returns 0, or -EINVAL.
 */
int tlshm_answer_end(const tlshm_answer_parser *parser, unsigned flags, tlshm_answer *out);

/*
 * The amounts to settle with: tokens, input_tokens, output_tokens and tool_calls, of both models together. Cost,
 * requests and concurrency are 0. Returns 0, -EINVAL, or -ERANGE if one is above TLSHM_AMOUNT_MAX.
 */
int tlshm_answer_amounts(const tlshm_answer *answer, tlshm_amounts *out);

/* The same of bare counts, wherever they are from. */
int tlshm_counts_amounts(const tlshm_counts *counts, tlshm_amounts *out);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
