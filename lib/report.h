/* SPDX-License-Identifier: MIT */
/*
 * report.h - what the documents of an answer say, and what is known after each of them.
 *
 * MERGING  A document with figures replaces all that earlier ones said: figures of a stream are cumulative, and the
 * last ones win. A patch (Anthropic's message_delta, a host's metering, a document that broke off) replaces figures of
 * the same name only. Calls of tools are added up.
 */
#ifndef TL_REPORT_H
#define TL_REPORT_H

#include <tlshm/answer.h>

#include "shapes.h"

enum { TL_ENTRY_FIGURES = 6, TL_ENTRY_KIND = 31, TL_CALL_IDS = 32 };

/* The element of a list that is being read. */
struct tl_entry {
    uint64_t count;
    uint64_t figure[TL_ENTRY_FIGURES];
    uint32_t id; /* a hash; 0: it has none */
    bool has_name;
    char kind[TL_ENTRY_KIND + 1];
    char model[TLSHM_ANSWER_MODEL_MAX + 1];
};

/* One document. */
struct tl_report {
    uint64_t slot[TL_SLOTS];
    uint64_t seen;  /* bit: this slot has a figure */
    uint64_t nulls; /* bit: it was null */
    uint64_t base;  /* the count of bytes when the document began, or the one before it ended */
    uint32_t calls, server_calls;
    uint32_t outputs, output_searches; /* of the list of all output */
    uint8_t type;                      /* TL_TYPE_ bits */
    uint8_t error_rank;                /* of its name, the smaller the better; 0: it has none */
    bool open, ready;                  /* inside of it; ended, and not merged yet */
    bool finish, last, omits_zeros, is_error, unsure, others_differ;
    char model[TLSHM_ANSWER_MODEL_MAX + 1];
    char other_model[TLSHM_ANSWER_MODEL_MAX + 1];
    char error[TLSHM_ANSWER_ERROR_MAX + 1];
    struct tl_entry entry;
};

/* All documents so far. */
struct tl_known {
    uint64_t slot[TL_SLOTS];
    uint64_t seen, nulls;
    uint32_t documents;
    uint32_t error_documents; /* of them: errors and nothing else */
    uint32_t calls, server_calls, outputs, output_searches;
    uint32_t call_ids[TL_CALL_IDS]; /* hashes of the last ones */
    uint8_t next_id;
    bool stream;   /* a document was one of several */
    bool finished; /* the model said why it stopped */
    bool settled;  /* there were figures then, or after it */
    bool ended;    /* nothing that matters follows */
    bool unsure;   /* something was not as it should be */
    bool omits_zeros;
    char model[TLSHM_ANSWER_MODEL_MAX + 1];
    char other_model[TLSHM_ANSWER_MODEL_MAX + 1];
    char error[TLSHM_ANSWER_ERROR_MAX + 1];
    char problem[sizeof((tlshm_answer *)0)->problem];
};

struct tl_account {
    struct tl_report doc;
    struct tl_known known;
    bool waits; /* a document counts only when the caller says so: tl_report_merge() */
};

/* A document began, says something, or ended: `spot` is of shapes.h. `taken` is the reader's count of bytes. */
void tl_report_tell(struct tl_account *a, uint64_t taken, const struct tl_json_spot *spot, enum tl_json_event event,
                    const char *text, unsigned length);

/* The document counts: as far as it has come, if it has not ended. */
void tl_report_merge(struct tl_account *a);

/* It does not. */
void tl_report_drop(struct tl_account *a);

/* Something is wrong at this byte of the document that is being read. The first thing wrong is kept in words. */
void tl_report_problem(struct tl_account *a, uint64_t taken, const char *what);

/* An error that is told beside documents. */
void tl_report_error(struct tl_account *a, const char *name);

#endif
