/* SPDX-License-Identifier: MIT */
/*
 * tiers.c - the view of tiers and of the levels that follow them.
 */
#include "inspect.h"

enum { LIMIT_TEXT_MAX = 160 };

static void tier_emit(struct emit *e, const struct inspect *in, const char *tier)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    char text[LIMIT_TEXT_MAX];
    unsigned count;
    if (tlshm_tier_get(in->tlshm, tier, limits, &count) != 0)
        return; /* removed since */
    emit_object_begin(e, NULL);
    emit_text(e, "tier", tier);
    emit_array_begin(e, "limits");
    for (unsigned i = 0; i < count; i++) {
        tlshm_limit_format(&limits[i], text, sizeof text);
        emit_text(e, NULL, text);
    }
    emit_array_end(e);
    emit_object_end(e);
}

static void level_emit(struct emit *e, const char *level, unsigned rank, const char *tier)
{
    emit_object_begin(e, NULL);
    emit_text(e, "level", level);
    emit_plain(e, "rank", rank);
    if (*tier)
        emit_text(e, "default_tier", tier);
    else
        emit_null(e, "default_tier", "none (unlimited)");
    emit_object_end(e);
}

int view_tiers(void *context, int argc, char **argv)
{
    struct inspect *in = context;
    char name[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0, rank;
    int rc;
    (void)argc, (void)argv;
    struct emit *e = inspect_emit(in);
    emit_array_begin(e, "tiers");
    while ((rc = tlshm_tier_next(in->tlshm, &cursor, name)) > 0)
        tier_emit(e, in, name);
    emit_array_end(e);
    emit_array_begin(e, "levels");
    for (cursor = 0; rc == 0 && (rc = tlshm_level_next(in->tlshm, &cursor, name, &rank, tier)) > 0; rc = 0)
        level_emit(e, name, rank, tier);
    emit_array_end(e);
    return inspect_end(in, e, rc);
}
