/* SPDX-License-Identifier: MIT */
/*
 * picks.c - a list of things to show, sorted by one figure, and the view that is nothing but such a list.
 */
#include <stdlib.h>

#include "inspect.h"

enum { PICKS_FIRST = 64 };

int picks_add(struct picks *p, double key, uint64_t what)
{
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : PICKS_FIRST;
        struct pick *all = realloc(p->all, room * sizeof *all);
        if (all == NULL)
            return -TLSHM_ENOMEM;
        p->all = all;
        p->room = room;
    }
    p->all[p->count++] = (struct pick){key, what};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct pick *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->what > b->what) - (a->what < b->what); /* so that a live view stands still */
}

void picks_sort(struct picks *p)
{
    if (p->count > 0)
        qsort(p->all, p->count, sizeof *p->all, compare);
}

void picks_free(struct picks *p)
{
    free(p->all);
    *p = (struct picks){0};
}

int picks_view(struct inspect *in, const char *name, picks_function *pick, picks_emitter *show, const char *none)
{
    struct picks picks = {0};
    int rc = pick(in, &picks);
    if (rc != 0) {
        picks_free(&picks);
        return inspect_fail(in, rc);
    }
    struct emit *e = inspect_emit(in);
    emit_array_begin(e, name);
    show(e, in, &picks, in->rows_max);
    emit_array_end(e);
    if (!in->json && picks.count == 0)
        fprintf(in->out, "%s\n", none);
    picks_free(&picks);
    return inspect_end(in, e, 0);
}
