/* SPDX-License-Identifier: MIT */
/*
 * tlshm/counts.h - what one call of a model used, in one meaning for all providers.
 *
 * Providers disagree on what their figures contain (cached input inside or outside, reasoning inside or outside).
 * Here every figure is either a total or a part of one: a part is never above its total, and totals hold their parts.
 *
 *     input_total  = fresh input + cache_read + cache_write_5m + cache_write_1h
 *     output_total = visible output + reasoning
 *
 * Input and output are also split by kind. input_audio, input_image and input_video are parts of input_total, whether
 * read from a cache or not; cache_read_audio is a part of both cache_read and input_audio. What is in none of them is
 * text, or was not told apart by the provider.
 */
#ifndef TLSHM_COUNTS_H
#define TLSHM_COUNTS_H

#include <stdint.h>

/* Tokens, unless it says otherwise. Zero-initialise, then set what you know. */
typedef struct tlshm_counts {
    uint64_t input_total;      /* all input, cache reads and writes included */
    uint64_t cache_read;       /* of input_total: read from a cache */
    uint64_t cache_write_5m;   /* of input_total: written to a cache for 5 minutes, or for a time that was not told */
    uint64_t cache_write_1h;   /* of input_total: written to a cache for an hour */
    uint64_t input_audio;      /* of input_total */
    uint64_t input_image;      /* of input_total; pages of documents count as images */
    uint64_t input_video;      /* of input_total */
    uint64_t cache_read_audio; /* of cache_read and of input_audio */
    uint64_t output_total;     /* all output, reasoning included */
    uint64_t reasoning;        /* of output_total: thinking, shown or not */
    uint64_t output_audio;     /* of output_total */
    uint64_t output_image;     /* of output_total */
    uint64_t tool_calls;       /* calls of tools that the model asked for, run by the provider or not: a number */
    uint64_t web_searches;     /* of tool_calls: web searches that the provider ran and charges for: a number */
} tlshm_counts;

#endif
