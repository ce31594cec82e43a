/* SPDX-License-Identifier: MIT */
/* faults.c - a growing list of faults. See faults.h. */
#include "faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct tl_fault *add(struct tl_faults *f)
{
    if (f->count == TLSHM_CONFIG_FAULTS_MAX) {
        f->lost++;
        return NULL;
    }
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 16;
        struct tl_fault *list = realloc(f->list, room * sizeof *list);
        if (!list) {
            f->no_memory = true;
            return NULL;
        }
        f->list = list;
        f->room = room;
    }
    return &f->list[f->count++];
}

/* Control characters become '?', the second half of U+0080..U+009F included; a character cut at the end goes. */
static void make_printable(char *text)
{
    size_t n = strlen(text), end = n;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool c1 = i > 0 && (unsigned char)text[i - 1] == 0xc2 && c >= 0x80 && c < 0xa0;
        if (c < 0x20 || c == 0x7f || c1)
            text[i] = text[i - (c1 != 0)] = '?';
    }
    while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
        end--;
    if (end == 0 || !((unsigned char)text[end - 1] & 0x80))
        return;
    unsigned char lead = (unsigned char)text[end - 1];
    size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (n - (end - 1) < whole)
        text[end - 1] = 0;
}

void tl_faults_add(struct tl_faults *f, unsigned line, unsigned column, const char *format, ...)
{
    struct tl_fault *fault = add(f);
    va_list arguments;
    if (!fault)
        return;
    fault->line = line;
    fault->column = column;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    make_printable(fault->text);
}

static int by_place(const void *left, const void *right)
{
    const struct tl_fault *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return strcmp(a->text, b->text);
}

static void tell_first(const struct tl_faults *f, const char *name, struct tlshm_error *err)
{
    const struct tl_fault *first = &f->list[0];
    size_t more = f->count - 1 + f->lost;
    *err = (struct tlshm_error){.code = -TLSHM_EINVAL};
    int n = snprintf(err->text, sizeof err->text, "%s%sline %u, column %u: %s", name ? name : "", name ? ": " : "",
                     first->line, first->column, first->text);
    if (more && n > 0 && (size_t)n < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - (size_t)n, " (and %zu more)", more);
    make_printable(err->text);
}

void tl_faults_tell(struct tl_faults *f, const char *name, tlshm_config_fault tell, void *context,
                    struct tlshm_error *err)
{
    char text[64];
    if (f->count == 0)
        return;
    qsort(f->list, f->count, sizeof *f->list, by_place);
    for (size_t i = 0; tell && i < f->count; i++)
        tell(context, f->list[i].line, f->list[i].column, f->list[i].text);
    if (tell && f->lost) {
        snprintf(text, sizeof text, "%zu more faults are not shown", f->lost);
        tell(context, f->list[f->count - 1].line, f->list[f->count - 1].column, text);
    }
    if (err)
        tell_first(f, name, err);
}

int tl_faults_fail(struct tlshm_error *err, int code, int sys, const char *name, const char *what)
{
    if (!err)
        return code;
    *err = (struct tlshm_error){.code = code, .sys = sys};
    snprintf(err->text, sizeof err->text, "%.150s%s%s", name ? name : "", name ? ": " : "", what);
    return code;
}

void tl_faults_free(struct tl_faults *f)
{
    free(f->list);
    *f = (struct tl_faults){0};
}
