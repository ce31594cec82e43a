/* SPDX-License-Identifier: MIT */
/* venue.c - geometry from the trace, limits as the default tiers of the levels. */
#include "venue.h"

#include <stdio.h>

#include <tlshm/admin.h>

#include "guard.h"

enum {
    RESERVATIONS_MIN = 16384,
    RESERVATIONS_MAX = 262144, /* more calls than that reuse the places of those that have ended */
    SEATS_PER_WORKER = 8,      /* a killed worker's seat is taken until a reaper's next pass */
    SEATS_MIN = 256,
    SEATS_MAX = 4000,
    SCOPES_SPARE = 64
};

static uint32_t within(uint64_t value, uint32_t min, uint32_t max)
{
    return value < min ? min : value > max ? max : (uint32_t)value;
}

/* Twice the scopes that the trace names: none has to be recycled. */
static tlshm_geometry geometry_for(const struct stage_head *head, bool virtual_clock, unsigned workers)
{
    tlshm_geometry g = TLSHM_GEOMETRY_INIT;
    g.scopes = within(2 * head->scope_count + SCOPES_SPARE, 1, 4000000);
    g.reservations = within(head->call_count, RESERVATIONS_MIN, RESERVATIONS_MAX);
    g.seats = within((uint64_t)workers * SEATS_PER_WORKER, SEATS_MIN, SEATS_MAX);
    g.virtual_clock = virtual_clock;
    return g;
}

static int set_limits(tlshm_t *segment, const struct level_limits limits[STAGE_LEVELS])
{
    for (unsigned level = 0; level < STAGE_LEVELS; level++) {
        char tier[TLSHM_NAME_MAX + 1];
        snprintf(tier, sizeof tier, "replay-%s", stage_levels[level]);
        if (limits[level].count == 0)
            continue;
        int code = tlshm_tier_set(segment, tier, limits[level].limits, limits[level].count);
        if (code >= 0)
            code = tlshm_default_set(segment, stage_levels[level], tier);
        if (code < 0)
            return code;
    }
    return 0;
}

tlshm_t *venue_open(const struct stage_head *head, bool virtual_clock, unsigned workers,
                    const struct level_limits limits[STAGE_LEVELS], char *why, size_t size)
{
    tlshm_geometry geometry = geometry_for(head, virtual_clock, workers);
    struct tlshm_error error;
    tlshm_t *segment;
    if (tlshm_create(head->segment, &geometry, &error) < 0) {
        snprintf(why, size, "%s", error.text);
        return NULL;
    }
    if (guard_attach(&segment, head->segment, 0, &error) < 0) {
        snprintf(why, size, "%s", error.text);
        tlshm_destroy(head->segment, NULL);
        return NULL;
    }
    int code = set_limits(segment, limits);
    if (code == 0)
        return segment;
    snprintf(why, size, "limits: %s", tlshm_error_text(code));
    venue_close(segment, head->segment, false);
    return NULL;
}

void venue_close(tlshm_t *segment, const char *name, bool keep)
{
    guard_detach(segment);
    if (!keep)
        tlshm_destroy(name, NULL);
}
