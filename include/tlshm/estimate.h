/* SPDX-License-Identifier: MIT */
/*
 * tlshm/estimate.h - how many tokens a text may cost, before anybody has counted them.
 *
 * An upper bound for ordinary text and byte-level BPE tokenizers of 100,000 tokens and more, such as OpenAI's
 * cl100k_base and o200k_base, by script and by what the text looks like (prose, code, figures). It is close for English
 * and code, and looser for scripts that the tokenizers treat differently: the dearer one counts. It never exceeds one
 * token for each byte, which is what such a tokenizer needs at the very worst.
 *
 * "Ordinary" is what people and programs write. Random letters, rare characters of classical Chinese and texts made to
 * be dear can cost more; a request's own framing (roles, tools, images) is not in its text. Who needs certainty takes
 * the bytes.
 *
 * Nothing here needs a segment, allocates, or knows a locale: any thread, any process, in a signal handler. The work is
 * linear in the bytes. The figures were measured, with what is in tests/estimate.
 */
#ifndef TLSHM_ESTIMATE_H
#define TLSHM_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* An estimate under way: a text that comes in pieces. One struct is for one thread at a time. */
typedef struct tlshm_estimate {
    uint64_t bytes; /* taken so far */
    uint64_t sum;   /* the rest is private */
    uint64_t word;
    uint32_t code_point;
    uint32_t run;
    uint32_t range;
    uint8_t kind;
    uint8_t last;
    uint8_t familiar;
    uint8_t dear;
    uint8_t missing;
    uint8_t taken;
    uint8_t jumbled;
    uint8_t reserved[5];
} tlshm_estimate;

/* Starts. Returns 0 or -EINVAL. */
int tlshm_estimate_begin(tlshm_estimate *e);

/*
 * Takes a piece of UTF-8, cut anywhere, also inside a character: how a text is cut makes no difference. A byte that is
 * no UTF-8 counts as a token. Returns 0 or -EINVAL.
 */
int tlshm_estimate_feed(tlshm_estimate *e, const void *text, size_t n);

/* The tokens of what was taken so far; taking may go on. Returns 0 or -EINVAL. */
int tlshm_estimate_end(const tlshm_estimate *e, uint64_t *tokens);

/* The tokens of a whole text. `text` may be NULL if n is 0. Returns 0 or -EINVAL. */
int tlshm_estimate_text(const void *text, size_t n, uint64_t *tokens);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
