/* SPDX-License-Identifier: MIT */
/*
 * inspect.h - what the views of tlshm-inspect share: the attachment, the filters, and how figures are shown.
 */
#ifndef TLSHM_INSPECT_H
#define TLSHM_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tlshm.h>
#include <tlshm/admin.h>
#include <tlshm/stats.h>

#include "emit.h"
#include "options.h"

enum sort { SORT_LOAD, SORT_USED, SORT_HELD, SORT_REMAINING };

struct inspect {
    const struct tool_info *tool;
    const char *segment;
    tlshm_t *tlshm; /* read-only */
    FILE *out;      /* one frame of a view goes here */
    bool json, watch, verify;
    uint64_t interval_ns; /* between two frames */
    uint64_t rows_max;    /* UINT64_MAX: all */

    /* scopes */
    uint64_t over; /* percent */
    enum sort sort;
    int unit; /* below 0: whichever is nearest to its cap */
    const char *level;
    /* reservations */
    int status; /* 0: any */
    const char *scope;
    uint64_t pid; /* 0: any */
    /* scope */
    tlshm_amounts asked;

    /* The frame before, for rates. */
    bool has_before;
    uint64_t before_ns;
    tlshm_counters before;
};

/* Each view shows one frame and returns an exit code. */
int view_overview(void *context, int argc, char **argv);
int view_scopes(void *context, int argc, char **argv);
int view_scope(void *context, int argc, char **argv);
int view_reservations(void *context, int argc, char **argv);
int view_reservation(void *context, int argc, char **argv);
int view_seats(void *context, int argc, char **argv);
int view_tiers(void *context, int argc, char **argv);
int view_verify(void *context, int argc, char **argv);

struct emit *inspect_emit(const struct inspect *in);

/* Ends the emitter, and reports an error of the library if `code` is below 0; the exit code. */
int inspect_end(const struct inspect *in, struct emit *e, int code);

/* Reports an error of the library when nothing else is shown; the exit code. */
int inspect_fail(const struct inspect *in, int code);

/* ---------------------------------------------------------------------------------------------------------- figures */

/* The share of a limit that is used or held, in percent; a cap of 0 is always full; below zero: unlimited. */
double load_percent(const tlshm_limit_usage *usage);

/* The limit of `unit` (below 0: of any) that is nearest to its cap, or NULL when there is none. */
const tlshm_limit_usage *load_tightest(const tlshm_scope_usage *usage, int unit);

/* A bar such as "[######....]" in the colour of its load, on a terminal; nothing otherwise. */
void load_bar(FILE *out, double percent);

/* A limit and how it stands, into the object that is open. JSON has everything, text what fits a line. */
void limit_emit(struct emit *e, const tlshm_limit_usage *usage, int64_t wall_ns);

/* One scope as a row of a table (text), or with everything that is known of it (JSON). */
void scope_emit(struct emit *e, const struct inspect *in, const char *key, const tlshm_scope_usage *usage,
                int64_t wall_ns);

#define AMOUNTS_TEXT_MAX 256

/* "5,000 tokens, $0.20", without the zeros; `with_calls`: requests and concurrency too. Returns `buf`. */
char *amounts_text(const uint64_t of[TLSHM_UNITS], bool with_calls, char *buf, size_t size);

/* The command's name of a process of this pid namespace; false if there is none. */
bool owner_command(uint32_t pid, char *buf, size_t size);

/* owner_pid and owner_command. */
void owner_emit(struct emit *e, uint32_t pid);

int64_t inspect_wall_ns(const struct inspect *in);

/* ------------------------------------------------------------------------------------------------------------ picks */

/* Things to show, smallest key first: a handle or an id, and what to sort by. A segment may have millions. */
struct pick {
    double key;
    uint64_t what;
};
struct picks {
    struct pick *all;
    size_t count, room;
};

/* Returns 0 or -TLSHM_ENOMEM. */
int picks_add(struct picks *p, double key, uint64_t what);
void picks_sort(struct picks *p);
void picks_free(struct picks *p);

typedef int picks_function(const struct inspect *in, struct picks *p);
typedef void picks_emitter(struct emit *e, const struct inspect *in, const struct picks *p, uint64_t max);

/* A view of what is picked; the exit code. `none`: what people are told when there is nothing. */
int picks_view(struct inspect *in, const char *name, picks_function *pick, picks_emitter *show, const char *none);

/* Scopes that the filters let through. Returns 0 or an error; to be freed in either case. */
int scopes_pick(const struct inspect *in, struct picks *p);

/* Shows the first `max` of them as the rows of an array that is open. */
void scopes_emit(struct emit *e, const struct inspect *in, const struct picks *p, uint64_t max);

/* Reservations that the filters let through, oldest first. The same. */
int reservations_pick(const struct inspect *in, struct picks *p);
void reservations_emit(struct emit *e, const struct inspect *in, const struct picks *p, uint64_t max);

#endif
