/* SPDX-License-Identifier: MIT */
/* space.c - how much memory do a scope and a reservation take, and how long do create and attach? */
#include <string.h>
#include <unistd.h>

#include <tlshm/admin.h>

#include "questions.h"

#define TIMES 15
#define SCOPES 100000u
#define RECORDS 100000u
#define LARGE 1000000u /* reservations */

/* What another `more` of them add to a segment, by one. */
static double bytes_each(const tlshm_geometry *few, const tlshm_geometry *many, unsigned more)
{
    return (double)(tlshm_geometry_bytes(many) - tlshm_geometry_bytes(few)) / more;
}

static void measure_bytes(struct report *report)
{
    const tlshm_geometry scopes = {.scopes = SCOPES, .limits_per_scope = 4, .slices = 60};
    const tlshm_geometry twice = {.scopes = 2 * SCOPES, .limits_per_scope = 4, .slices = 60};
    const tlshm_geometry records = {.reservations = RECORDS};
    const tlshm_geometry more = {.reservations = 2 * RECORDS};
    report_fact_add(report, "memory of a scope with four windows of 60 slices", "B",
                    bytes_each(&scopes, &twice, SCOPES));
    report_fact_add(report, "memory of a reservation", "B", bytes_each(&records, &more, RECORDS));
    report_fact_add(report, "a segment of the default geometry", "MB",
                    (double)tlshm_geometry_bytes(&(tlshm_geometry){.scopes = 0}) * 1e-6);
}

struct names {
    const char *create, *attach, *first;
};

/* One life of a segment: create, attach, one call (which takes a seat), detach. */
static int live_once(struct report *report, const struct names *names, const char *path, const tlshm_geometry *geometry)
{
    struct tlshm_error error;
    tlshm_t *t = NULL;
    tlshm_handle handle;
    uint64_t start = timer_clock_ns();
    int code = tlshm_create(path, geometry, &error);
    if (code < 0) {
        fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    uint64_t created = timer_clock_ns();
    code = tlshm_attach(&t, path, 0, &error);
    uint64_t attached = timer_clock_ns();
    if (code == 0)
        code = tlshm_resolve(t, "agent:first", 0, &handle);
    uint64_t first = timer_clock_ns();
    tlshm_detach(t);
    unlink(path);
    if (code != 0) {
        fprintf(stderr, "%s: %s\n", path, tlshm_error_text(code));
        return -1;
    }
    report_fact_add(report, names->create, "ms", (double)(created - start) * 1e-6);
    report_fact_add(report, names->attach, "us", (double)(attached - created) * 1e-3);
    report_fact_add(report, names->first, "us", (double)(first - attached) * 1e-3);
    return 0;
}

static int measure_life(const struct settings *s, struct report *report)
{
    static const struct names usual = {"create", "attach", "first call of a thread"};
    static const struct names large = {"create, 1000000 reservations", "attach, 1000000 reservations",
                                       "first call of a thread, 1000000 reservations"};
    const tlshm_geometry geometry = {.reservations = 0}, larger = {.reservations = LARGE};
    const unsigned times = s->mode == MODE_SMOKE ? 1 : TIMES;
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/tlshm-bench-%ld-space", (long)getpid());
    for (unsigned i = 0; i < times; i++) {
        if (live_once(report, &usual, path, &geometry) != 0)
            return -1;
    }
    for (unsigned i = 0; s->mode == MODE_FULL && i < 3; i++) {
        if (live_once(report, &large, path, &larger) != 0)
            return -1;
    }
    return 0;
}

int space_run(const struct settings *s, struct report *report)
{
    measure_bytes(report);
    return measure_life(s, report);
}
