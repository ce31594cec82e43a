/* SPDX-License-Identifier: MIT */
/*
 * reaper.c - what does a reaper cost beside many live holds, how soon are many gone that are due at once, and how late
 * are those that are due one after the other?
 *
 * The tlshm-reaper that is shipped is run on a segment full of holds and watched from outside: its processor time as the
 * kernel counts it, and the segment's count of expired holds. The count is polled, and each look walks the table, so
 * lags are known to some milliseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tlshm/admin.h>
#include <tlshm/stats.h>

#include "crew.h"
#include "questions.h"
#include "stage.h"

#define MS UINT64_C(1000000)
#define S_NS (1000 * MS)
#define HOUR_NS (3600 * S_NS)
#define AGENTS 1000
#define TENANTS 10
#define POLL_NS (2 * MS)
#define PATIENCE_NS (20 * S_NS)
#define PASSES 5
#define SPREAD 2000 /* holds that are due one after the other */

struct scale {
    unsigned live, batch;
    uint64_t watch_ns; /* for processor time */
    uint64_t ahead_ns; /* of the instant at which the batch is due: time to make it */
    uint64_t spread_ns;
    uint64_t period_ns; /* of the reaper; its default where the figure means something */
};

static const struct scale scales[] = {
    [MODE_SMOKE] = {2000, 500, 50 * MS, 200 * MS, 100 * MS, 50 * MS},
    [MODE_QUICK] = {100000, 10000, S_NS, 500 * MS, S_NS, S_NS},
    [MODE_FULL] = {1000000, 100000, 10 * S_NS, 3 * S_NS, 4 * S_NS, S_NS},
};

struct watch {
    const struct scale *scale;
    struct report *report;
    struct stage stage;
    pid_t pid; /* of the reaper; 0: not running */
};

/* Names of facts are kept for the whole run, each once. */
__attribute__((format(printf, 1, 0))) static const char *fact_name(const char *format, unsigned number)
{
    static char names[REPORT_FACTS_MAX][64];
    char name[64];
    unsigned i = 0;
    snprintf(name, sizeof name, format, number);
    while (i + 1 < REPORT_FACTS_MAX && names[i][0] != '\0' && strcmp(names[i], name) != 0)
        i++;
    memcpy(names[i], name, sizeof name);
    return names[i];
}

/* ----------------------------------------------------------------------------------------------------- the program */

static void become_reaper(const char *program, const char *path, uint64_t period_ns)
{
    char period[32];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    snprintf(period, sizeof period, "%" PRIu64 "ms", period_ns / MS);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* a terminal's Ctrl-C is for the foreman */
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    execl(program, program, "--segment", path, "--period", period, (char *)NULL);
    _exit(127);
}

static void stop_reaper(struct watch *w)
{
    if (w->pid == 0)
        return;
    kill(w->pid, SIGTERM);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
}

static uint64_t passes_made(struct watch *w)
{
    tlshm_segment_info info;
    return tlshm_get_segment(w->stage.attachment, &info) == 0 ? info.reaper_passes : 0;
}

/* Waits for its first pass. */
static int start_reaper(struct watch *w, const char *program)
{
    const uint64_t before = passes_made(w), until = timer_clock_ns() + PATIENCE_NS;
    fflush(NULL);
    w->pid = fork();
    if (w->pid == 0)
        become_reaper(program, w->stage.path, w->scale->period_ns);
    while (w->pid > 0 && passes_made(w) == before) {
        if (waitpid(w->pid, NULL, WNOHANG) == w->pid) {
            w->pid = 0;
            break;
        }
        if (crew_nap(POLL_NS) != 0 || timer_clock_ns() > until)
            return -1;
    }
    if (w->pid > 0)
        return 0;
    w->pid = 0;
    fprintf(stderr, "%s did not start\n", program);
    return -1;
}

/* Processor time of a process, in nanoseconds. NAN where the kernel does not tell. */
static double cpu_ns(pid_t pid)
{
    char path[64];
    uint64_t ns;
    snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)pid);
    FILE *file = fopen(path, "r");
    int got = file ? fscanf(file, "%" SCNu64, &ns) : 0;
    if (file)
        fclose(file);
    return got == 1 ? (double)ns : NAN;
}

/* ------------------------------------------------------------------------------------------------------- questions */

static double own_cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Processor time of passes made here, without the program around them. */
static int time_passes(struct watch *w, struct stage *stage, const char *name)
{
    for (unsigned i = 0; i < PASSES; i++) {
        const double start = own_cpu_ms();
        int code = tlshm_reap(stage->attachment, NULL);
        const double ms = own_cpu_ms() - start;
        if (code < 0 || crew_interrupted())
            return -1;
        report_fact_add(w->report, name, "ms", ms);
    }
    return 0;
}

/* Passes over a table of scopes that nobody uses any more. */
static int time_scopes(struct watch *w)
{
    const unsigned count = w->scale->live;
    const struct stage_need need = {
        .agents = count - TENANTS, .tenants = TENANTS, .limits = 1, .slices = 60, .length_ns = HOUR_NS};
    static struct stage stage;
    int code = stage_open(&stage, &need);
    if (code == 0)
        code = time_passes(w, &stage, fact_name("a reaper's pass, %u idle scopes: processor time", count));
    stage_close(&stage);
    return code;
}

/* What a look costs while a hold is overdue that no reaper has seen yet. */
static int time_overdue(struct watch *w)
{
    int64_t left;
    if (stage_hold(&w->stage, 0, MS) != 0 || crew_nap(10 * MS) != 0)
        return -1;
    for (unsigned i = 0; i < PASSES; i++) {
        const double start = own_cpu_ms();
        int code = tlshm_remaining_handle(w->stage.attachment, w->stage.handle[0], TLSHM_TOKENS, &left);
        const double ms = own_cpu_ms() - start;
        if (code < 0 || crew_interrupted())
            return -1;
        report_fact_add(w->report, fact_name("remaining beside an overdue hold, %u live ones", w->scale->live), "us",
                        ms * 1e3);
    }
    return 0;
}

/* The reasons of a refusal: when the same request would fit depends on all holds of its scopes. */
static int time_reasons(struct watch *w)
{
    struct stage *s = &w->stage;
    const tlshm_amounts usual = s->request.estimate;
    tlshm_refusal why;
    tlshm_id id;
    stage_choose(s, 0);
    for (unsigned i = 0; i < PASSES; i++) {
        s->request.estimate.of[TLSHM_TOKENS] = STAGE_CAP;
        const double start = own_cpu_ms();
        int answer = tlshm_reserve(s->attachment, &s->request, &id, &why);
        const double ms = own_cpu_ms() - start;
        s->request.estimate = usual;
        if (answer != TLSHM_REFUSED || crew_interrupted()) {
            fprintf(stderr, "%s: what can't fit was answered with %d\n", s->path, answer);
            return -1;
        }
        report_fact_add(w->report, fact_name("a refusal with its reasons, %u live holds", w->scale->live), "us",
                        ms * 1e3);
    }
    return 0;
}

static int watch_idle(struct watch *w)
{
    const double before = cpu_ns(w->pid);
    const uint64_t start = timer_clock_ns();
    if (crew_nap(w->scale->watch_ns) != 0)
        return -1;
    const double share = (cpu_ns(w->pid) - before) / (double)(timer_clock_ns() - start);
    report_fact_add(w->report, fact_name("reaper, %u live holds: of a core", w->scale->live), "%", 100 * share);
    return 0;
}

static uint64_t segment_now(struct watch *w)
{
    uint64_t boot = 0, wall;
    tlshm_clock_get(w->stage.attachment, &boot, &wall);
    return boot;
}

static uint64_t expired_so_far(struct watch *w)
{
    tlshm_segment_info info;
    return tlshm_get_segment(w->stage.attachment, &info) == 0 ? info.counters.expired : 0;
}

/* Holds whose deadlines are `gap` apart, the first one at `first`; 0: all at once. */
static int make_holds(struct watch *w, unsigned count, uint64_t first, double gap)
{
    for (unsigned i = 0; i < count; i++) {
        const uint64_t due = first + (uint64_t)(gap * i), now = segment_now(w);
        if (now >= due) {
            fprintf(stderr, "%s: too slow: holds are due before all of them are made\n", w->stage.path);
            return -1;
        }
        if (stage_hold(&w->stage, i, due - now) != 0)
            return -1;
    }
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Waits until all of them are gone. lag[i] is how long after its deadline the i-th was, if they go in the order of
 * their deadlines, as they do but for one pass.
 */
static int watch_expiry(struct watch *w, unsigned count, uint64_t base, uint64_t first, double gap, double *lag)
{
    const uint64_t until = timer_clock_ns() + w->scale->ahead_ns + w->scale->spread_ns + PATIENCE_NS;
    for (unsigned seen = 0; seen < count;) {
        uint64_t gone = expired_so_far(w) - base, now = segment_now(w);
        for (; seen < count && seen < gone; seen++)
            lag[seen] = (double)now - (double)first - gap * seen;
        if (timer_clock_ns() > until) {
            fprintf(stderr, "%s: the reaper does not expire what is due\n", w->stage.path);
            return -1;
        }
        if (crew_nap(POLL_NS) != 0)
            return -1;
    }
    return 0;
}

static int watch_batch(struct watch *w)
{
    const unsigned count = w->scale->batch;
    const uint64_t base = expired_so_far(w), due = segment_now(w) + w->scale->ahead_ns;
    double *lag = calloc(count, sizeof *lag);
    int code = lag && make_holds(w, count, due, 0) == 0 ? watch_expiry(w, count, base, due, 0, lag) : -1;
    if (code == 0)
        report_fact_add(w->report, fact_name("reaper, %u holds due at once: all gone after", count), "ms",
                        lag[count - 1] * 1e-6);
    free(lag);
    return code;
}

static int watch_lag(struct watch *w)
{
    static double lag[SPREAD];
    const uint64_t base = expired_so_far(w), first = segment_now(w) + w->scale->ahead_ns;
    const double gap = (double)w->scale->spread_ns / SPREAD;
    if (make_holds(w, SPREAD, first, gap) != 0 || watch_expiry(w, SPREAD, base, first, gap, lag) != 0)
        return -1;
    qsort(lag, SPREAD, sizeof *lag, by_size);
    report_fact_add(w->report, "reaper, lag p50", "ms", lag[SPREAD / 2] * 1e-6);
    report_fact_add(w->report, "reaper, lag p99", "ms", lag[SPREAD * 99 / 100] * 1e-6);
    report_fact_add(w->report, "reaper, lag p99 to its period", "x",
                    lag[SPREAD * 99 / 100] / (double)w->scale->period_ns);
    return 0;
}

static int watch(struct watch *w, const struct settings *s)
{
    const struct stage_need need = {
        .agents = AGENTS,
        .tenants = TENANTS,
        .limits = 1,
        .slices = 60,
        .length_ns = HOUR_NS,
        .live = w->scale->live,
        .records = w->scale->live + w->scale->live / 4,
    };
    if (time_scopes(w) != 0 || stage_open_named(&w->stage, &need) != 0 || time_reasons(w) != 0 ||
        time_overdue(w) != 0 ||
        time_passes(w, &w->stage, fact_name("a reaper's pass, %u live holds: processor time", w->scale->live)) != 0)
        return -1;
    if (!s->reaper) {
        report_skip(w->report, "reaper: no program (--reaper) to look at");
        return 0;
    }
    if (start_reaper(w, s->reaper) != 0 || watch_idle(w) != 0 || watch_batch(w) != 0)
        return -1;
    return watch_lag(w);
}

int reaper_run(const struct settings *s, struct report *report)
{
    static struct watch w;
    w.scale = &scales[s->mode];
    w.report = report;
    int code = watch(&w, s);
    stop_reaper(&w);
    stage_close(&w.stage);
    return code;
}
