/* SPDX-License-Identifier: MIT */
/*
 * confvalue.h - from nodes of a configuration file to values.
 *
 * Each function tells what is wrong with a node, at the column where it is wrong, and returns false; the value is written on
 * success only. A BROKEN node was told before: it is false without a further word.
 */
#ifndef TL_CONFVALUE_H
#define TL_CONFVALUE_H

#include "confmodel.h"
#include "conftree.h"

enum { TL_READING_ZONES = 32, TL_READING_GUESSES = 64 };

/* A configuration in the making. */
struct tl_reading {
    tlshm_config *config;
    struct tl_faults *faults;
    unsigned limits_max, slices_max; /* as the geometry says, or the most that any may say */
    const char *window[TLSHM_UNITS]; /* of limits that name none, or NULL */
    char zone[TL_READING_ZONES][48]; /* that were found on this machine */
    unsigned zones;
    unsigned guesses; /* how many more times we look for what was meant: it takes its time */
    bool no_memory;
};

/* A fault at a byte of a node's text, or at its beginning if that place can't be told. */
void tl_confvalue_fault(struct tl_reading *r, const struct tl_node *node, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "unknown WHAT 'word'", and the nearest of the names if there is one near. */
void tl_confvalue_unknown(struct tl_reading *r, const struct tl_node *node, const char *what, const char *const *names,
                          size_t count);

/* "expected WHAT, not a list". Nothing for a node that is broken. */
void tl_confvalue_expected(struct tl_reading *r, const struct tl_node *node, const char *what);

bool tl_confvalue_text(struct tl_reading *r, const struct tl_node *node, const char *what);
bool tl_confvalue_word(struct tl_reading *r, const struct tl_node *node, const char *const *words, size_t count,
                       unsigned *index);
bool tl_confvalue_number(struct tl_reading *r, const struct tl_node *node, uint64_t min, uint64_t max, uint64_t *out);
bool tl_confvalue_duration(struct tl_reading *r, const struct tl_node *node, uint64_t *ns);
bool tl_confvalue_rate(struct tl_reading *r, const struct tl_node *node, uint64_t *pusd);
bool tl_confvalue_share(struct tl_reading *r, const struct tl_node *node, uint32_t *ppm);

/* A list of limits; of those on single requests too if they are allowed there. */
bool tl_confvalue_limits(struct tl_reading *r, const struct tl_node *node, bool requests, tlshm_config_limits *out);

/* "per 1h", as it stands in limits of this unit. */
bool tl_confvalue_window(struct tl_reading *r, const struct tl_node *node, enum tlshm_unit unit);

#endif
