/* SPDX-License-Identifier: MIT */
/*
 * scopes.c - the view of many scopes: who is near a limit, who used or holds most.
 */
#include <string.h>

#include "inspect.h"

/* ---------------------------------------------------------------------------------------------------------- picking */

static bool level_matches(const char *key, const char *level)
{
    size_t n = strlen(level);
    return strncmp(key, level, n) == 0 && key[n] == ':';
}

/* What to sort by: the smallest comes first. */
static double sort_key(const struct inspect *in, const tlshm_scope_usage *usage, const tlshm_limit_usage *tightest)
{
    int unit = in->unit < 0 ? TLSHM_TOKENS : in->unit;
    switch (in->sort) {
    case SORT_USED:
        return -(double)(tightest != NULL ? tightest->used : usage->used[unit]);
    case SORT_HELD:
        return -(double)(tightest != NULL ? tightest->held : usage->held[unit]);
    case SORT_REMAINING:
        return (double)(tightest != NULL ? tightest->remaining : INT64_MAX);
    default:
        return tightest != NULL ? -load_percent(tightest) : 1;
    }
}

static int consider(const struct inspect *in, tlshm_handle handle, struct picks *p)
{
    char key[TLSHM_KEY_MAX + 1];
    tlshm_scope_usage usage;
    if (tlshm_scope_key(in->tlshm, handle, key, sizeof key) < 0)
        return 0; /* recycled since */
    if (in->level != NULL && !level_matches(key, in->level))
        return 0;
    int rc = tlshm_usage_handle(in->tlshm, handle, &usage);
    if (rc != 0)
        return rc == -TLSHM_ESTALE ? 0 : rc;
    const tlshm_limit_usage *tightest = load_tightest(&usage, in->unit);
    if (in->over > 0 && (tightest == NULL || load_percent(tightest) < (double)in->over))
        return 0;
    return picks_add(p, sort_key(in, &usage, tightest), handle);
}

int scopes_pick(const struct inspect *in, struct picks *p)
{
    uint64_t cursor = 0;
    tlshm_handle handle;
    int rc;
    while ((rc = tlshm_scope_next(in->tlshm, &cursor, &handle)) > 0) {
        rc = consider(in, handle, p);
        if (rc != 0)
            return rc;
    }
    picks_sort(p);
    return rc;
}

/* ---------------------------------------------------------------------------------------------------------- showing */

static void emit_one(struct emit *e, const struct inspect *in, tlshm_handle handle, int64_t wall_ns)
{
    char key[TLSHM_KEY_MAX + 1];
    tlshm_scope_usage usage;
    if (tlshm_scope_key(in->tlshm, handle, key, sizeof key) < 0 || tlshm_usage_handle(in->tlshm, handle, &usage) != 0)
        return; /* recycled since it was picked */
    emit_object_begin(e, NULL);
    scope_emit(e, in, key, &usage, wall_ns);
    emit_object_end(e);
}

void scopes_emit(struct emit *e, const struct inspect *in, const struct picks *p, uint64_t max)
{
    int64_t wall_ns = inspect_wall_ns(in);
    for (size_t i = 0; i < p->count && i < max; i++)
        emit_one(e, in, p->all[i].what, wall_ns);
}

int view_scopes(void *context, int argc, char **argv)
{
    (void)argc, (void)argv;
    return picks_view(context, "scopes", scopes_pick, scopes_emit, "no scope matches");
}
