/* SPDX-License-Identifier: MIT */
/* run.c - the loop over ticks: move the clock, order what is due, kill somebody now and then, reap. */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <tlshm/admin.h>
#include <tlshm/stats.h>

#include "random.h"
#include "signals.h"
#include "term.h"

extern char **environ;

#define NS_PER_S UINT64_C(1000000000)
#define VIRTUAL_BOOT_NS (24 * 3600 * NS_PER_S) /* room to look back from, as on a host that is up for a day */
#define INSIDE_SPREAD_NS 6000                  /* about as long as a call takes a worker that has just woken up */
#define OUTSIDE_SPREAD_NS 50000                /* about as long as it takes the worker to wake up and make its calls */
#define DRAIN_STEP_NS NS_PER_S
#define REAPER_PATIENCE_NS (5 * NS_PER_S)
#define REAPER_STEP_NS (NS_PER_S / 50)

struct event {
    uint64_t t_ns;
    order order;
};

struct play {
    struct run *run;
    struct event *events;
    size_t count, next;
    struct random random;
    uint64_t kills_left, next_kill_event, next_kill_ns, next_reap_ns, deaths_reaped;
    uint64_t now_ns; /* of the trace */
    pid_t reaper;
    struct term_progress progress;
};

static uint64_t really_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static bool complain(struct run *r, const char *what, const char *why)
{
    snprintf(r->why, sizeof r->why, "%s: %s", what, why);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------- events */

/* A call's reserve comes before its settle even when it took no time. */
static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool make_events(struct play *p)
{
    const struct stage *s = p->run->stage;
    p->count = 2 * s->head->call_count;
    p->events = calloc(p->count, sizeof *p->events);
    if (!p->events)
        return complain(p->run, "events", strerror(errno));
    for (uint64_t i = 0; i < s->head->call_count; i++) {
        p->events[2 * i] = (struct event){s->calls[i].t_ns, order_make(i, ORDER_RESERVE)};
        p->events[2 * i + 1] = (struct event){s->calls[i].t_ns + s->calls[i].api_ns, order_make(i, ORDER_SETTLE)};
    }
    qsort(p->events, p->count, sizeof *p->events, by_time);
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- clock */

static void set_clock(const struct run *r, uint64_t trace_ns)
{
    tlshm_clock_set(r->segment, r->start_ns + trace_ns, r->start_wall_ns + trace_ns);
}

/* Trace time that is over, given what the next event is; moves or awaits the segment's clock. False: asked to stop. */
static bool advance(struct play *p, uint64_t *until_ns)
{
    struct run *r = p->run;
    const struct run_settings *set = r->settings;
    uint64_t due_ns = p->events[p->next].t_ns;
    if (set->is_virtual) {
        *until_ns = (due_ns + set->tick_ns - 1) / set->tick_ns * set->tick_ns;
        set_clock(r, *until_ns);
        return !signals_stop();
    }
    uint64_t boot_ns, wall_ns;
    for (;;) {
        if (tlshm_clock_get(r->segment, &boot_ns, &wall_ns) < 0)
            return false;
        *until_ns = (uint64_t)((double)(boot_ns - r->start_ns) * set->speed);
        if (*until_ns >= due_ns)
            return !signals_stop();
        if (signals_sleep((uint64_t)ceil((double)(due_ns - *until_ns) / set->speed)))
            return false;
    }
}

static bool start_clock(struct run *r)
{
    if (r->settings->is_virtual) {
        r->start_ns = VIRTUAL_BOOT_NS;
        r->start_wall_ns = (uint64_t)r->settings->wall_start_ns;
        int code = tlshm_clock_set(r->segment, r->start_ns, r->start_wall_ns);
        return code >= 0 || complain(r, "virtual clock", tlshm_error_text(code));
    }
    int code = tlshm_clock_get(r->segment, &r->start_ns, &r->start_wall_ns);
    return code >= 0 || complain(r, "clock", tlshm_error_text(code));
}

/* ------------------------------------------------------------------------------------------------------------- reaping */

static bool reap(struct run *r, tlshm_reap_report *report)
{
    int code = tlshm_reap(r->segment, report);
    if (code < 0)
        return complain(r, "reaper's pass", tlshm_error_text(code));
    if (report->lag_max_ns > r->lag_max_ns)
        r->lag_max_ns = report->lag_max_ns;
    return true;
}

/* Dead workers' seats are freed at once, so that many kills don't run out of them. */
static bool reap_if_due(struct play *p, uint64_t at_ns)
{
    struct run *r = p->run;
    tlshm_reap_report report;
    bool due = at_ns >= p->next_reap_ns || r->crew.deaths != p->deaths_reaped;
    if (r->settings->reaper || !due)
        return true;
    p->next_reap_ns = at_ns + r->settings->reap_every_ns;
    p->deaths_reaped = r->crew.deaths;
    return reap(r, &report);
}

static bool start_reaper(struct play *p)
{
    const struct run_settings *set = p->run->settings;
    if (!set->reaper)
        return true;
    char option[] = "--segment";
    char *const argv[] = {(char *)set->reaper, option, (char *)set->segment, NULL};
    int code = posix_spawnp(&p->reaper, set->reaper, NULL, NULL, argv, environ);
    return code == 0 || complain(p->run, set->reaper, strerror(code));
}

static bool end_reaper(struct play *p)
{
    int status = 0;
    if (p->reaper <= 0)
        return true;
    kill(p->reaper, SIGTERM);
    while (waitpid(p->reaper, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0 || complain(p->run, p->run->settings->reaper, "the reaper failed");
}

/* -------------------------------------------------------------------------------------------------------------- kills */

/* The kills that are left share out what is left of the trace; each comes anywhere in its part. */
static void plan_kill(struct play *p)
{
    double part = p->kills_left ? (double)(p->count - p->next) / (double)p->kills_left : 0;
    p->next_kill_event = p->kills_left ? p->next + (uint64_t)(random_unit(&p->random) * part) : UINT64_MAX;
}

enum strike { STRIKE_NONE, STRIKE_OUTSIDE, STRIKE_INSIDE };

/*
 * Every other kill is set to come inside a call; the others come from outside, whenever they arrive: between calls, while
 * the worker waits, or in one.
 */
static enum strike strike_due(struct play *p)
{
    uint64_t every_ns = p->run->settings->kill_every_ns;
    bool by_count = p->next > p->next_kill_event, by_clock = every_ns && really_ns() >= p->next_kill_ns;
    if (by_count) {
        p->kills_left--;
        plan_kill(p);
    }
    if (by_clock)
        p->next_kill_ns = really_ns() + every_ns;
    if (!by_count && !by_clock)
        return STRIKE_NONE;
    return random_bits(&p->random) & 1 ? STRIKE_OUTSIDE : STRIKE_INSIDE;
}

static bool send_and_strike(struct play *p)
{
    struct crew *crew = &p->run->crew;
    enum strike strike = strike_due(p);
    double unit = random_unit(&p->random);
    if (strike == STRIKE_INSIDE)
        crew_doom(crew, random_bits(&p->random), (uint64_t)(unit * INSIDE_SPREAD_NS));
    bool good = crew_send(crew);
    if (good && strike == STRIKE_OUTSIDE)
        crew_strike(crew, (uint64_t)(unit * OUTSIDE_SPREAD_NS));
    return good;
}

/* --------------------------------------------------------------------------------------------------------------- ticks */

static bool order_due(struct play *p, uint64_t until_ns)
{
    for (; p->next < p->count && p->events[p->next].t_ns <= until_ns; p->next++)
        if (!crew_order(&p->run->crew, p->events[p->next].order))
            return false;
    return true;
}

static bool tick(struct play *p, uint64_t until_ns)
{
    struct run *r = p->run;
    p->now_ns = until_ns;
    if (!order_due(p, until_ns) || !send_and_strike(p) || !crew_wait(&r->crew))
        return complain(r, "replay", r->crew.why);
    term_progress_at(&p->progress, p->next);
    return reap_if_due(p, until_ns);
}

static bool play_trace(struct play *p)
{
    struct run *r = p->run;
    uint64_t until_ns;
    term_progress_start(&p->progress, "replaying", p->count);
    plan_kill(p);
    p->next_kill_ns = really_ns() + r->settings->kill_every_ns;
    bool good = true;
    while (good && p->next < p->count && !r->interrupted) {
        if (advance(p, &until_ns))
            good = tick(p, until_ns);
        else
            r->interrupted = true;
    }
    term_progress_end(&p->progress);
    return good;
}

/* --------------------------------------------------------------------------------------------------------------- drain */

/* A reaper of its own gets the time for the pass that the leap of the clock made due. */
static void await_reaper(const struct play *p)
{
    tlshm_segment_info info;
    for (uint64_t waited_ns = 0; p->reaper > 0 && waited_ns < REAPER_PATIENCE_NS; waited_ns += REAPER_STEP_NS) {
        if (tlshm_get_segment(p->run->segment, &info) < 0 || info.reservations_held == 0 || signals_stop())
            return;
        signals_sleep(REAPER_STEP_NS);
    }
}

/* In the steps of a reaper, so that the lag that it reports is one that a reaper would have. */
static bool drain_virtually(struct play *p)
{
    struct run *r = p->run;
    uint64_t end_ns = p->now_ns + r->stage->head->rules.ttl_ns + r->settings->tick_ns;
    tlshm_reap_report report;
    for (uint64_t at_ns = p->now_ns; !r->settings->reaper && at_ns < end_ns; at_ns += r->settings->reap_every_ns) {
        set_clock(r, at_ns);
        if (!reap(r, &report))
            return false;
    }
    set_clock(r, end_ns);
    await_reaper(p);
    return reap(r, &report);
}

static bool drain_really(struct play *p)
{
    struct run *r = p->run;
    struct term_progress progress;
    tlshm_reap_report report = {0};
    term_progress_start(&progress, "waiting for lost holds to expire", 0);
    bool good;
    while ((good = reap(r, &report)) && report.live > 0 && !r->interrupted) {
        term_progress_at(&progress, report.live);
        uint64_t nap_ns = report.next_due_ns < DRAIN_STEP_NS ? report.next_due_ns : DRAIN_STEP_NS;
        r->interrupted = signals_sleep(nap_ns);
    }
    term_progress_end(&progress);
    return good;
}

static bool play_and_drain(struct play *p)
{
    if (!play_trace(p))
        return false;
    return p->run->settings->is_virtual ? drain_virtually(p) : drain_really(p);
}

bool run_play(struct run *r)
{
    struct play p = {.run = r, .random = {r->settings->seed}, .kills_left = r->settings->kills};
    uint64_t begun_ns = really_ns();
    bool good = make_events(&p) && start_clock(r) && start_reaper(&p);
    if (good && !crew_start(&r->crew, r->stage, r->settings->workers))
        good = complain(r, "replay", r->crew.why);
    good = good && play_and_drain(&p);
    r->took_ns = really_ns() - begun_ns;
    crew_end(&r->crew);
    good = end_reaper(&p) && good;
    free(p.events);
    return good;
}
