/* SPDX-License-Identifier: MIT */
/* term.c - escape sequences, kept away from everything that is no terminal. */
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80, DEFAULT_HEIGHT = 24, BAR_CELLS = 30, COUNT_STEP = 1024 };

bool term_is(FILE *stream)
{
    return isatty(fileno(stream)) == 1;
}

static bool is_dumb(void)
{
    const char *kind = getenv("TERM");
    return !kind || !*kind || strcmp(kind, "dumb") == 0;
}

bool term_has_colours(FILE *stream)
{
    const char *refused = getenv("NO_COLOR");
    return (!refused || !*refused) && !is_dumb() && term_is(stream);
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    unsigned long value = text ? strtoul(text, NULL, 10) : 0;
    return value > 0 && value < 10000 ? (unsigned)value : otherwise;
}

unsigned term_width(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return from_environment("COLUMNS", DEFAULT_WIDTH);
}

unsigned term_height(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        return size.ws_row;
    return from_environment("LINES", DEFAULT_HEIGHT);
}

const char *term_style(FILE *stream, enum term_style style)
{
    static const char *const sequences[] = {
        [TERM_PLAIN] = "\033[0m", [TERM_BOLD] = "\033[1m",   [TERM_DIM] = "\033[2m",
        [TERM_RED] = "\033[31m",  [TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m",
    };
    return term_has_colours(stream) ? sequences[style] : "";
}

/* -------------------------------------------------------------------------------------------------------- progress */

void term_progress_start(struct term_progress *p, const char *label, uint64_t total)
{
    *p = (struct term_progress){.label = label, .total = total, .drawn = UINT64_MAX};
    p->active = term_is(stderr) && !is_dumb();
}

static void draw_bar(const struct term_progress *p, uint64_t cells)
{
    fprintf(stderr, "\r%s [", p->label);
    for (uint64_t i = 0; i < BAR_CELLS; i++)
        fputc(i < cells ? '#' : '.', stderr);
    fprintf(stderr, "] %3u %%", (unsigned)(cells * 100 / BAR_CELLS));
}

void term_progress_at(struct term_progress *p, uint64_t done)
{
    if (!p->active)
        return;
    uint64_t shown = done < p->total ? done : p->total;
    uint64_t state = p->total ? (uint64_t)((double)shown / (double)p->total * BAR_CELLS) : done / COUNT_STEP;
    if (state == p->drawn)
        return;
    p->drawn = state;
    if (p->total)
        draw_bar(p, state);
    else
        fprintf(stderr, "\r%s %llu", p->label, (unsigned long long)done);
    fflush(stderr);
}

void term_progress_end(struct term_progress *p)
{
    if (p->active)
        fputs("\r\033[K", stderr);
    p->active = false;
}

/* ------------------------------------------------------------------------------------------------------- live views */

static bool live;
static char frame[1 << 16];

void term_live_begin(void)
{
    live = term_is(stdout) && !is_dumb();
    if (!live)
        return;
    setvbuf(stdout, frame, _IOFBF, sizeof frame);
    fputs("\033[?1049h\033[?25l", stdout);
}

void term_live_frame(void)
{
    if (live)
        fputs("\033[H\033[2J", stdout);
}

void term_live_flush(void)
{
    fflush(stdout);
}

void term_live_end(void)
{
    if (live)
        fputs("\033[?25h\033[?1049l", stdout);
    live = false;
    fflush(stdout);
}
