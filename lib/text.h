/* SPDX-License-Identifier: MIT */
/*
 * text.h - writing texts for people into places of any size, and the words that writing and reading share.
 *
 * No allocation, no locale, no state: any thread, any signal handler.
 */
#ifndef TL_TEXT_H
#define TL_TEXT_H

#include <tlshm.h>

#include "base.h"

#define TL_SECOND_NS UINT64_C(1000000000)
#define TL_DOLLAR_NUSD UINT64_C(1000000000)
#define TL_COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { TL_SLICES_DEFAULT = 60, TL_WEEK_DAYS = 7, TL_PERIODS = 4, TL_DURATIONS = 8 };

/* What a suffix multiplies by. */
struct tl_scale {
    const char *suffix;
    uint64_t factor;
};

extern const char *const tl_text_periods[TL_PERIODS];         /* by enum tlshm_period */
extern const char *const tl_text_days[TL_WEEK_DAYS + 1];      /* from 1, Monday */
extern const struct tl_scale tl_text_durations[TL_DURATIONS]; /* the largest first */

/* Text that may be longer than its place: `length` goes on counting. */
struct tl_text {
    char *buf;
    size_t size;
    size_t length;
};

void tl_text_put(struct tl_text *w, const char *text);
void tl_text_put_bytes(struct tl_text *w, const char *bytes, size_t n);
void tl_text_put_number(struct tl_text *w, uint64_t value);

/* "1,000,000" */
void tl_text_put_grouped(struct tl_text *w, uint64_t value);

/* Whole dollars, or at least cents: "$3", "$0.50", "$0.000001". */
void tl_text_put_money(struct tl_text *w, uint64_t nusd, bool grouped);

/* " per 1h", " per week from friday", " lifetime"; nothing for a limit without a window. */
void tl_text_put_window(struct tl_text *w, const tlshm_window *window);

/* Terminates what there was room for; the length of the whole. */
int tl_text_end(struct tl_text *w);

#endif
