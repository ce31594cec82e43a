/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - every instruction of every public operation: a process is stepped through a call, and at each point
 *
 *   killed    (SIGKILL). The others go on, a reaper passes, and what can be seen then is either what was there before
 *             the call or what it makes, to the unit, over all scopes and tables; nothing is lost; and who dies later
 *             never leaves less done.
 *   stopped   while the others complete calls on the same scopes, a newcomer takes a seat, a reaper passes, and in
 *             some acts a rival does the same thing. Then it goes on to its end: its verdict is legal, and together
 *             all is as if the calls had been made one after the other.
 *
 * WHY NOT the explorer alone: it stops between accesses to shared words, as the source has them. This one stops between
 * the instructions that the compiler made of it, inside the C library's mutexes and the kernel's lists too, and what is
 * dead here is really dead.
 *
 * POINTS Between any two instructions of the call. The default run takes the points right before and right after each
 * atomic instruction, and a sample of the others (the seed is printed; --seed repeats it): a share for those after an
 * instruction that changed the file or that was a system call, and one for the rest. --writes takes all of the former,
 * --long all points. One step is a whole call where liburcu works on a table of the process's own, and all that one
 * instruction moves or fills where nobody else sees it (step.c). --part I/N takes every N-th of the chosen points, from
 * the I-th on: N processors share them.
 *
 * REPEATING  --only=NAME --kill=N or --stop=N takes one point. Segments have random numbers of their own, so N may have
 * moved a little; --writes --first looks around.
 *
 * WHAT IS COMPARED A text of all that the public headers show (ground.h), with that of processes that were not
 * disturbed. That these are right themselves is other tests' matter; the tokens of one scope are checked here too.
 */
#include "trial.h"

#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SHOWN_MOST 5 /* failures of one act that are described */
#define SAMPLE_WRITES 10
#define SAMPLE_OTHERS 8
#define EXHAUSTIVE_MOST 25000 /* a longer path is sampled by --long too, a hundredfold */

enum { KILLED = 1, STOPPED = 2 };

static struct {
    bool all, writes, first;
    uint64_t seed;
    const char *only;
    unsigned part, parts;
    long kill_at, stop_at;
} options = {.part = 1, .parts = 1, .kill_at = -1, .stop_at = -1};

static const struct act *act;
static const struct step_path *path;
static struct {
    unsigned points, kills, stops, failures;
} count, total;
static char doing[200]; /* for the watchdog */

/* -------------------------------------------------------------------------------------------------- which of them */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Right after an instruction that others can notice. */
static bool is_write(unsigned n)
{
    return n > 0 && (path->points[n - 1].stores || path->points[n - 1].kind == STEP_SYSTEM);
}

static void sample(unsigned char *wanted, bool writes, unsigned most, uint64_t *random)
{
    unsigned candidates = 0;
    for (unsigned n = 0; n <= path->count; n++)
        candidates += is_write(n) == writes ? 1 : 0;
    for (unsigned n = 0; n <= path->count; n++) {
        if (is_write(n) != writes)
            continue;
        if (random_next(random) % candidates < most) { /* so that exactly `most` are chosen */
            wanted[n] |= most % 2 && !options.writes ? KILLED : KILLED | STOPPED;
            most--;
        }
        candidates--;
    }
}

static bool is_there(const char *word)
{
    return options.only == NULL || strstr(word, options.only) != NULL;
}

static unsigned char *choose(uint64_t *random)
{
    static unsigned char wanted[STEP_POINTS_MOST + 1];
    memset(wanted, 0, path->count + 1);
    if (options.kill_at >= 0 || options.stop_at >= 0) {
        if (options.kill_at >= 0 && options.kill_at <= (long)path->count)
            wanted[options.kill_at] |= KILLED;
        if (options.stop_at >= 0 && options.stop_at <= (long)path->count)
            wanted[options.stop_at] |= STOPPED;
        return wanted;
    }
    wanted[0] = wanted[path->count] = KILLED | STOPPED;
    for (unsigned i = 0; i < path->count; i++)
        if (path->points[i].kind == STEP_ATOMIC)
            wanted[i] = wanted[i + 1] = KILLED | STOPPED;
    bool every = options.all && path->count <= EXHAUSTIVE_MOST;
    if (every)
        memset(wanted, KILLED | STOPPED, path->count + 1);
    unsigned more = options.all && !every ? 100 : 1;
    sample(wanted, true, options.writes ? UINT32_MAX : SAMPLE_WRITES * more, random);
    sample(wanted, false, SAMPLE_OTHERS * more, random);
    return wanted;
}

/* ---------------------------------------------------------------------------------------------- the tracer's own part */

#define DISTURBED_ATOMS 40

/* Between its marks: so many atomic instructions. */
static int count_up(void)
{
    static volatile unsigned counter;
    step_mark();
    for (unsigned i = 0; i < DISTURBED_ATOMS; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    step_mark();
    return 0;
}

/* Signals of others, as they may come at any time, neither end a walk nor shorten it. */
static void try_disturbed(void)
{
    static const int signals[] = {SIGSTOP, SIGCONT, SIGCHLD, SIGTERM, SIGTSTP, SIGALRM, SIGSEGV, SIGWINCH, SIGHUP};
    unsigned atoms = 0;
    pid_t pid = step_start(count_up);
    for (; step_to_atomic(pid); atoms += step_decodes() ? 1 : DISTURBED_ATOMS) {
        kill(pid, signals[atoms % (sizeof signals / sizeof signals[0])]);
        if (!step_decodes())
            break;
        step_over(pid);
    }
    bool ends = (step_decodes() || step_resume(pid)) && step_leave(pid);
    tap_ok(atoms == DISTURBED_ATOMS && ends, "signals of others: %u of %u steps; %s", atoms, DISTURBED_ATOMS,
           step_fate());
}

/*
 * A process that comes to a point by another way than the first one, or finds other words there, is judged by less and
 * takes as long as hundreds. That must stay rare: a first walk that was out of the ordinary may spoil one act, no more.
 * None at all is no proof either.
 */
static void judge_ways(void)
{
    unsigned processes = total.kills + total.stops;
    tap_ok(processes != 0 && trial_strayed <= 20 + processes / 8, "%u of %u processes went astray and were stepped",
           trial_strayed, processes);
}

/* ------------------------------------------------------------------------------------------------------------ main */

static void failed(const char *how, unsigned n, const struct finding *wrong)
{
    if (count.failures++ < SHOWN_MOST)
        printf("# %s: %s at %u of %u: %s\n", act->name, how, n, path->count, wrong->text);
    if (options.first) {
        trial_close();
        exit(EXIT_FAILURE);
    }
}

static void on_alarm(int signal)
{
    static const char text[] = "# held up: ";
    (void)signal;
    if (write(STDOUT_FILENO, text, sizeof text - 1) >= 0 && write(STDOUT_FILENO, doing, strlen(doing)) >= 0)
        (void)!write(STDOUT_FILENO, "\n", 1);
    if (support_clean_up != NULL)
        support_clean_up();
    _exit(EXIT_FAILURE);
}

static void watch(const char *how, unsigned n)
{
    snprintf(doing, sizeof doing, "%s: %s at %u", act->name, how, n);
    alarm(TRIAL_SECONDS);
}

static void try_point(unsigned n, unsigned what)
{
    struct finding wrong = {{0}};
    if (what & KILLED) {
        watch("killed", n);
        count.kills++;
        if (!trial_kill(n, &wrong))
            failed("killed", n, &wrong);
    }
    if (what & STOPPED) {
        watch("stopped", n);
        count.stops++;
        if (!trial_stop(n, &wrong))
            failed("stopped", n, &wrong);
    }
}

static void report(void)
{
    unsigned atomic = 0, writes = 0;
    for (unsigned i = 0; i < path->count; i++) {
        atomic += path->points[i].kind == STEP_ATOMIC ? 1 : 0;
        writes += path->points[i].stores ? 1 : 0;
    }
    tap_ok(count.failures == 0, "%s: %u instructions, %u atomic, %u changed the file: %u kills, %u stops, %u failures",
           act->name, path->count, atomic, writes, count.kills, count.stops, count.failures);
    total.points += count.points;
    total.kills += count.kills;
    total.stops += count.stops;
    total.failures += count.failures;
}

/*
 * Each step goes to the traced process and back, and is half as long if neither has to wake another processor. Which one
 * that is, the kernel chooses anew for each act: who wakes goes where there is room.
 */
static void stay_on_one_processor(void)
{
    static cpu_set_t all, one;
    static bool known;
    if (!known)
        known = sched_getaffinity(0, sizeof all, &all) == 0;
    sched_setaffinity(0, sizeof all, &all);
    usleep(1000);
    int here = sched_getcpu();
    if (!known || here < 0 || here >= CPU_SETSIZE)
        return;
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void try_act(const struct act *one)
{
    uint64_t random = options.seed;
    act = one;
    memset(&count, 0, sizeof count);
    watch("undisturbed", 0);
    stay_on_one_processor();
    path = trial_begin(act);
    unsigned char *wanted = choose(&random);
    for (unsigned n = options.part - 1; n <= path->count; n += options.parts) {
        count.points += wanted[n] != 0 ? 1 : 0;
        try_point(n, wanted[n]);
    }
    report();
    trial_end();
}

static void usage(FILE *out)
{
    fputs("Usage: tracer [--long] [--writes] [--part I/N] [--seed N] [--only WORDS] [--kill N] [--stop N] [--first]\n"
          "              [--list]\n",
          out);
}

static uint64_t any_seed(void)
{
    uint64_t seed = 1;
    return getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed ? seed >> 32 : 1;
}

static void read_part(const char *text)
{
    char end;
    if (sscanf(text, "%5u/%5u%c", &options.part, &options.parts, &end) == 2 && options.part >= 1 &&
        options.part <= options.parts)
        return;
    fprintf(stderr, "tracer: --part %s: not I/N with 1 <= I <= N\n", text);
    exit(2);
}

static void read_options(int argc, char **argv)
{
    static const struct option table[] = {{"long", no_argument, NULL, 'l'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"kill", required_argument, NULL, 'k'},
                                          {"stop", required_argument, NULL, 'p'},
                                          {"list", no_argument, NULL, 'i'},
                                          {"first", no_argument, NULL, 'f'},
                                          {"writes", no_argument, NULL, 'w'},
                                          {"part", required_argument, NULL, 'a'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    options.seed = any_seed();
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (option == 'l')
            options.all = true; /* all points */
        else if (option == 's')
            options.seed = strtoull(optarg, NULL, 10);
        else if (option == 'o')
            options.only = optarg;
        else if (option == 'k')
            options.kill_at = strtol(optarg, NULL, 10);
        else if (option == 'p')
            options.stop_at = strtol(optarg, NULL, 10);
        else if (option == 'a')
            read_part(optarg);
        else if (option == 'w')
            options.writes = true; /* all points after an instruction that changed the file */
        else if (option == 'f')
            options.first = true; /* ends with the first failure */
        else if (option == 'i') {
            for (unsigned i = 0; i < act_count; i++)
                puts(acts[i].name);
            exit(EXIT_SUCCESS);
        } else {
            usage(option == 'h' ? stdout : stderr);
            exit(option == 'h' ? EXIT_SUCCESS : 2);
        }
    }
    if (options.kill_at >= 0 || options.stop_at >= 0)
        options.part = options.parts = 1; /* a point is asked for, not a share */
}

int main(int argc, char **argv)
{
    const char *why = NULL;
    read_options(argc, argv);
    tap_begin(TRIAL_SECONDS);
    signal(SIGALRM, on_alarm);
#ifdef __SANITIZE_ADDRESS__
    tap_skip("tracer", "a sanitizer's instructions are not the library's");
    return tap_end();
#endif
    if (!step_possible(&why)) {
        tap_skip("tracer", why);
        return tap_end();
    }
    printf("# seed %" PRIu64 "%s\n", options.seed, step_decodes() ? "" : "; atomic instructions are not told apart");
    stay_on_one_processor();
    if (options.only == NULL)
        try_disturbed();
    trial_open();
    for (unsigned i = 0; i < act_count; i++)
        if (is_there(acts[i].name))
            try_act(&acts[i]);
    judge_ways();
    printf("# %u points, %u kills, %u stops, %u failures\n", total.points, total.kills, total.stops, total.failures);
    trial_close();
    return tap_end();
}
