/* SPDX-License-Identifier: MIT */
/*
 * term.h - what a tool may do when it talks to a terminal, and must not do otherwise: colours, progress, redrawing.
 *
 * NO_COLOR (any value but the empty one) and TERM=dumb switch colours off.
 */
#ifndef TOOLS_TERM_H
#define TOOLS_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_RED, TERM_GREEN, TERM_YELLOW };

bool term_is(FILE *stream);
bool term_has_colours(FILE *stream);

/* Columns and lines of the terminal behind `stream`; $COLUMNS and $LINES, else 80 and 24, when it has none. */
unsigned term_width(FILE *stream);
unsigned term_height(FILE *stream);

/* The escape sequence of a style, "" where the stream has no colours. TERM_PLAIN ends a style. */
const char *term_style(FILE *stream, enum term_style style);

/* A bar on stderr; nothing at all when stderr is no terminal. Cheap to call often: it draws when something moved. */
struct term_progress {
    const char *label;
    uint64_t total; /* 0: unknown, a count is shown */
    uint64_t drawn; /* the last state on the screen, in cells or in steps; private */
    bool active;
};
void term_progress_start(struct term_progress *p, const char *label, uint64_t total);
void term_progress_at(struct term_progress *p, uint64_t done);
void term_progress_end(struct term_progress *p); /* wipes the bar */

/*
 * A live view on stdout. begin hides the cursor and switches to the other screen; frame goes to the top left corner
 * and wipes what is there; end restores. All three do nothing when stdout is no terminal: frames then just follow each
 * other. Each frame is written at once, so that it does not flicker.
 */
void term_live_begin(void);
void term_live_frame(void);
void term_live_flush(void);
void term_live_end(void);

#endif
