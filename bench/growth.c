/* SPDX-License-Identifier: MIT */
/*
 * growth.c - does a call cost more when there is more of something else: scopes, live reservations, limits, slices,
 * attached processes?
 *
 * All points of an axis are made first and then measured in turn, round by round, so that a ratio of two of them is
 * formed within a short time. One worker does all of it; its segments lose their names as soon as they are attached.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crew.h"
#include "questions.h"
#include "stage.h"

#define POINTS_MAX 8
#define S_NS UINT64_C(1000000000)
#define HOUR_NS (3600 * S_NS)
#define AGENTS 1000 /* where scopes are not the question */
#define TENANTS 10

struct point {
    const char *axis;
    uint64_t value;
    struct stage stage;
    struct stage_need need;
    unsigned processes; /* attached ones beside the measured one */
    pid_t *pid;
};

/* What the worker finds out, in memory that the foreman sees. */
struct findings {
    struct report_point point[POINTS_MAX];
};

struct axis {
    const char *name;
    uint64_t value[3][POINTS_MAX]; /* by mode; 0 ends */
    void (*need)(struct point *point);
};

/* --------------------------------------------------------------------------------------------------------- axes */

static void need_scopes(struct point *p)
{
    unsigned tenants = p->value >= 200 ? (unsigned)(p->value / 100) : 1;
    p->need = (struct stage_need){
        .agents = (unsigned)p->value - tenants, .tenants = tenants, .limits = 1, .slices = 60, .length_ns = HOUR_NS};
}

/* The table is a quarter larger than what lives in it, as somebody who knows the load would make it. */
static void need_reservations(struct point *p)
{
    p->need = (struct stage_need){.agents = AGENTS,
                                  .tenants = TENANTS,
                                  .limits = 1,
                                  .slices = 60,
                                  .length_ns = HOUR_NS,
                                  .live = (unsigned)p->value};
}

static void need_limits(struct point *p)
{
    p->need = (struct stage_need){
        .agents = 1, .tenants = 1, .limits = (unsigned)p->value, .slices = 60, .length_ns = HOUR_NS};
}

/* A slice is a second whatever their number: buckets end while it is measured. */
static void need_slices(struct point *p)
{
    p->need = (struct stage_need){
        .agents = 1, .tenants = 1, .limits = 1, .slices = (unsigned)p->value, .length_ns = p->value * S_NS};
}

static void need_processes(struct point *p)
{
    p->need = (struct stage_need){.agents = 1, .tenants = 1, .limits = 1, .slices = 60, .length_ns = HOUR_NS};
    p->processes = (unsigned)p->value - 1;
}

static const struct axis axes[] = {
    {"scopes", {{10, 100}, {10, 1000, 100000}, {10, 100, 1000, 10000, 100000, 1000000}}, need_scopes},
    {"reservations", {{1, 100}, {1, 1000, 100000}, {1, 10, 100, 1000, 10000, 100000, 1000000}}, need_reservations},
    {"limits", {{1, 8}, {1, 8}, {1, 2, 3, 4, 6, 8}}, need_limits},
    {"slices", {{8, 60}, {8, 60}, {8, 16, 32, 60, 64}}, need_slices},
    {"processes", {{1, 4}, {1, 64}, {1, 4, 16, 64, 256}}, need_processes},
};

/* ------------------------------------------------------------------------------------------------------- worker */

/* Makes one call, so that it has a seat, says so, and stays. */
static void attend(struct stage *stage, int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char told = stage_pair(stage, 0) == 0;
    if (write(ready, &told, 1) == 1)
        pause();
    _exit(0);
}

static int attend_all(struct point *p)
{
    int ready[2];
    if (p->processes == 0)
        return 0;
    p->pid = calloc(p->processes, sizeof *p->pid);
    if (!p->pid || pipe(ready) != 0)
        return -1;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < p->processes; i++) {
        char told = 0;
        p->pid[i] = fork();
        if (p->pid[i] == 0)
            attend(&p->stage, ready[1]);
        if (p->pid[i] < 0 || read(ready[0], &told, 1) != 1 || !told)
            code = -1;
    }
    close(ready[0]);
    close(ready[1]);
    return code;
}

static void dismiss(struct point *p)
{
    for (unsigned i = 0; p->pid && i < p->processes; i++) {
        if (p->pid[i] > 0) {
            kill(p->pid[i], SIGKILL);
            waitpid(p->pid[i], NULL, 0);
        }
    }
    free(p->pid);
    stage_close(&p->stage);
}

static int measure(struct point *p, const struct timer *timer, uint64_t ns, uint64_t *random, struct report_point *into)
{
    static struct histogram h;
    memset(&h, 0, sizeof h);
    for (const uint64_t until = timer_clock_ns() + ns; timer_clock_ns() < until;) {
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        stage_choose(&p->stage, *random >> 33);
        uint64_t start = timer_start();
        int answer = stage_pair_chosen(&p->stage);
        uint64_t ticks = timer_stop() - start;
        if (answer != 0)
            return -1;
        histogram_add(&h, timer_steps(timer, ticks));
    }
    into->p50_ns[into->rounds] = timer_ns(timer, histogram_quantile(&h, 0.5));
    into->p99_ns[into->rounds] = timer_ns(timer, histogram_quantile(&h, 0.99));
    into->max_ns[into->rounds] = timer_ns(timer, (double)h.max);
    return 0;
}

struct job {
    const struct settings *settings;
    const struct axis *axis;
    const struct timer *timer;
    struct findings *findings;
};

static int measure_all(const struct job *job, struct point *point, unsigned points)
{
    static const uint64_t lengths_ns[] = {[MODE_SMOKE] = 2000000, [MODE_QUICK] = 40000000, [MODE_FULL] = 150000000};
    const uint64_t length_ns = lengths_ns[job->settings->mode];
    const unsigned rounds = job->settings->rounds;
    uint64_t random = 1;
    for (unsigned round = 0; round <= rounds; round++) { /* the first one is to get warm, and is overwritten */
        for (unsigned i = 0; i < points; i++) {
            const unsigned at = (i + round) % points;
            struct report_point *into = &job->findings->point[at];
            if (measure(&point[at], job->timer, length_ns, &random, into) != 0) {
                fprintf(stderr, "growth of %s, %" PRIu64 ": a pair was not admitted\n", job->axis->name,
                        point[at].value);
                return 1;
            }
            into->rounds = round;
        }
    }
    return 0;
}

static int work(struct crew *crew, unsigned index, void *context)
{
    static struct point point[POINTS_MAX];
    const struct job *job = context;
    const uint64_t *value = job->axis->value[job->settings->mode];
    unsigned points = 0;
    int code = 0;
    (void)index;
    crew_ready(crew);
    for (; code == 0 && points < POINTS_MAX && value[points] > 0; points++) {
        struct point *p = &point[points];
        p->axis = job->axis->name;
        p->value = value[points];
        job->axis->need(p);
        code = stage_open(&p->stage, &p->need) != 0 || attend_all(p) != 0;
    }
    if (code == 0)
        code = measure_all(job, point, points);
    for (unsigned i = 0; i < points; i++)
        dismiss(&point[i]);
    return code;
}

/* ------------------------------------------------------------------------------------------------------ foreman */

static void collect(const struct job *job, struct report *report)
{
    const uint64_t *value = job->axis->value[job->settings->mode];
    for (unsigned i = 0; i < POINTS_MAX && value[i] > 0; i++) {
        struct report_point *found = &job->findings->point[i];
        found->axis = job->axis->name;
        found->value = value[i];
        *report_point_get(report, found->axis, found->value) = *found;
    }
}

static int run_axis(struct job *job, struct report *report)
{
    struct crew crew;
    int code = crew_start(&crew, 1, work, job);
    if (code == 0) {
        crew_phase_set(&crew, CREW_TIMED);
        code = crew_wait(&crew);
    }
    crew_close(&crew);
    if (code == 0)
        collect(job, report);
    return code;
}

int growth_run(const struct settings *s, struct report *report)
{
    struct job job = {.settings = s, .timer = &report->timer, .findings = peer_map(sizeof *job.findings)};
    int code = job.findings ? 0 : -1;
    for (unsigned i = 0; code == 0 && i < sizeof axes / sizeof *axes; i++) {
        job.axis = &axes[i];
        memset(job.findings, 0, sizeof *job.findings);
        code = run_axis(&job, report);
    }
    peer_unmap(job.findings, sizeof *job.findings);
    return code;
}
