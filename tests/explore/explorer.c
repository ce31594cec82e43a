/* SPDX-License-Identifier: MIT */
/*
 * explorer.c - runs the library's own code under every schedule of small scenes: processes that are interrupted, killed
 * or stopped for ever before any access to shared memory, and clocks that move at any time.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "search.h"
#include "tap.h"

/* They follow every stack, and lose their way when one is left by a jump. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

#define SHORT_S 2 /* a scene's share by default, and ... */
#define LONG_S 60 /* ... with --long */
#define SEED 1
#define JOBS_MAX 64

struct phase {
    struct bounds bounds;
    bool random, words;
    unsigned share; /* of ten */
};

static const struct phase usual_phases[] = {
    {{2, 0, 0}, .share = 4},
    {{1, 1, 0}, .share = 2},
    {{1, 0, 1}, .share = 2},
    {{2, 1, 2}, .random = true, .share = 2},
};

static const struct phase further_phases[] = {
    {{2, 0, 0}, .words = true, .share = 10},
    {{3, 0, 0}, .share = 10},
    {{2, 1, 0}, .share = 10},
};

static struct options {
    const char *scene;
    const char *schedule;
    struct bounds bounds;
    bool own_bounds, random, words, longer, trace, list, help, version;
    uint64_t seed;
    double seconds;
    unsigned jobs; /* 0: as many as there are processors */
} options = {.seed = SEED};

/* ---------------------------------------------------------------------------------------------------------- options */

struct option_entry {
    const char *name;
    int letter;
    const char *argument; /* NULL: it takes none */
    const char *text;
};

static const struct option_entry option_table[] = {
    {"config", 'c', "NAME", "explore one scene only"},
    {"preemptions", 'p', "N", "interrupt fibres at most N times"},
    {"kills", 'k', "N", "kill or stop at most N fibres"},
    {"ticks", 't', "N", "move the clock at most N times"},
    {"words", 'w', NULL, "stop before every word, not before every block"},
    {"seconds", 's', "S", "processor time for each scene (or, with bounds, for each search)"},
    {"random", 'r', "SEED", "a random sample with these bounds instead of all"},
    {"long", 'l', NULL, "a minute for each scene"},
    {"jobs", 'j', "N", "explore N scenes at a time; by default as many as there are processors"},
    {"schedule", 'x', "CHOICES", "run this one schedule of a scene, as a failure prints it"},
    {"trace", 'v', NULL, "with --schedule: print each step"},
    {"list", 'L', NULL, "list the scenes"},
    {"help", 'h', NULL, "show this text"},
    {"version", 'V', NULL, "show the version"},
};
#define OPTIONS (sizeof option_table / sizeof option_table[0])

static void show_help(FILE *out)
{
    fprintf(out, "Usage: explorer [OPTION]...\nRuns the library under all schedules of small scenes.\n\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option_entry *o = &option_table[i];
        fprintf(out, "  -%c, --%s%s%-*s %s\n", o->letter, o->name, o->argument ? " " : "",
                (int)(20 - strlen(o->name) - (o->argument != NULL)), o->argument ? o->argument : "", o->text);
    }
    fprintf(out, "\nWithout bounds each scene is explored with two preemptions; with one and a kill; with one and a\n"
                 "move of the clock; and by a random sample with all of them.\n");
}

static bool number(const char *text, unsigned most, unsigned *out)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *out = (unsigned)value;
    return end != text && *end == 0 && value <= most;
}

static bool bound(const char *text, unsigned most, unsigned *out)
{
    options.own_bounds = true;
    return number(text, most, out);
}

static bool seconds(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == 0 && *out > 0;
}

static bool take_option(int letter, const char *argument)
{
    switch (letter) {
    case 'c':
        options.scene = argument;
        return true;
    case 'p':
        return bound(argument, 4, &options.bounds.preemptions);
    case 'k':
        return bound(argument, 2, &options.bounds.kills);
    case 't':
        return bound(argument, 2, &options.bounds.ticks);
    case 'j':
        return number(argument, JOBS_MAX, &options.jobs) && options.jobs > 0;
    case 's':
        return seconds(argument, &options.seconds);
    case 'r':
        options.random = true;
        options.seed = strtoull(argument, NULL, 10);
        return true;
    case 'x':
        options.schedule = argument;
        return true;
    default:
        break;
    }
    bool *const flags[] = {&options.words, &options.longer, &options.trace,
                           &options.list,  &options.help,   &options.version};
    const char *place = strchr("wlvLhV", letter);
    if (place)
        *flags[place - "wlvLhV"] = true;
    return place != NULL;
}

static bool read_options(int argc, char **argv)
{
    struct option list[OPTIONS + 1] = {{0}};
    char letters[2 * OPTIONS + 1] = "";
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option_entry *o = &option_table[i];
        list[i] = (struct option){o->name, o->argument ? required_argument : no_argument, NULL, o->letter};
        snprintf(letters + strlen(letters), sizeof letters - strlen(letters), "%c%s", o->letter,
                 o->argument ? ":" : "");
    }
    for (int letter; (letter = getopt_long(argc, argv, letters, list, NULL)) != -1;)
        if (!take_option(letter, optarg))
            return false;
    return optind == argc;
}

/* ---------------------------------------------------------------------------------------------------------- running */

static struct search current;

/* What came of a scene; shared with the process that explored it. */
struct outcome {
    bool ended, passed;
    char text[512];
    char schedule[768]; /* the fault and the schedule that shows it */
};
static struct outcome *outcome; /* of the scene that is explored */

static void report_schedule(void)
{
    char schedule[256] = "";
    search_format(current.scene, &current.schedule, schedule, sizeof schedule);
    snprintf(outcome->schedule, sizeof outcome->schedule,
             "# fault: %s\n# explorer --config %s%s --schedule '%s' --trace\n", fault_text, current.scene->name,
             current.words ? " --words" : "", schedule);
}

/* A call has followed a wild index: as good as a wrong figure. */
static void on_crash(int signal_number)
{
    snprintf(outcome->text, sizeof outcome->text, "%s: crashed by signal %d", current.scene->name, signal_number);
    outcome->ended = true;
    _exit(EXIT_FAILURE);
}

static void catch_crashes(void)
{
    static unsigned char stack[64 * 1024];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
}

/* Runs one search on top of what `current` has done for the scene. */
static void run_phase(const struct phase *phase, double time, char *text, size_t size)
{
    size_t at = strlen(text);
    current.bounds = phase->bounds;
    current.words = phase->words;
    current.seconds = time;
    current.cut = false;
    if (phase->random)
        search_random(&current, options.seed);
    else
        search_all(&current);
    snprintf(text + at, size - at, ", %u/%u/%u%s %s", phase->bounds.preemptions, phase->bounds.kills,
             phase->bounds.ticks, phase->words ? " by words" : "",
             phase->random ? "sampled"
             : current.cut ? "cut"
                           : "complete");
}

static void begin(const struct scene *scene)
{
    current = (struct search){.scene = scene};
    search_begin(&current);
}

static void finish(const char *text)
{
    snprintf(outcome->text, sizeof outcome->text, "%s: %s: %lu schedules, %lu steps, longest %u%s", current.scene->name,
             current.scene->about, current.schedules, current.steps, current.longest, text);
    if (current.failed)
        report_schedule();
    outcome->passed = !current.failed;
    outcome->ended = true;
}

static void explore_usual(const struct scene *scene, double time)
{
    char text[256] = "";
    time /= scene->brief ? 5 : 1;
    begin(scene);
    for (size_t i = 0; i < sizeof usual_phases / sizeof usual_phases[0] && !current.failed; i++)
        run_phase(&usual_phases[i], time * usual_phases[i].share / 10, text, sizeof text);
    for (size_t i = 0; i < sizeof further_phases / sizeof further_phases[0] && !current.failed; i++)
        if (further_phases[i].words ? scene->words : scene->deep)
            run_phase(&further_phases[i], time * further_phases[i].share / 10, text, sizeof text);
    finish(text);
}

static void explore_own(const struct scene *scene, double time)
{
    const struct phase phase = {.bounds = options.bounds, .random = options.random, .words = options.words};
    char text[256] = "";
    begin(scene);
    if (!current.failed)
        run_phase(&phase, time, text, sizeof text);
    finish(text);
}

static void run_schedule(const struct scene *scene, const struct schedule *schedule)
{
    begin(scene);
    current.words = options.words;
    if (!current.failed)
        search_one(&current, schedule, options.trace ? stdout : NULL);
    finish("");
}

static void explore(const struct scene *scene)
{
    double time = options.seconds > 0 ? options.seconds : options.longer ? LONG_S : SHORT_S;
    struct schedule schedule;
    if (options.schedule && search_parse(scene, options.schedule, &schedule))
        run_schedule(scene, &schedule);
    else if (options.own_bounds)
        explore_own(scene, time);
    else
        explore_usual(scene, time);
}

/* ------------------------------------------------------------------------------------------------------------ scenes */

#define SCENES_MAX 256

static struct chosen {
    const struct scene *scene[SCENES_MAX];
    pid_t pid[SCENES_MAX];   /* of who explores it; 0: nobody yet, or no more */
    struct outcome *outcome; /* one of each */
    unsigned count, begun, told;
} chosen;

static void choose_scenes(void)
{
    for (unsigned i = 0; scene_at(i); i++) {
        MUST(chosen.count < SCENES_MAX, "more than %u scenes", SCENES_MAX);
        if (!options.scene || strcmp(options.scene, scene_at(i)->name) == 0)
            chosen.scene[chosen.count++] = scene_at(i);
    }
    size_t size = SCENES_MAX * sizeof *chosen.outcome;
    chosen.outcome = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(chosen.outcome != MAP_FAILED, "mmap: %s", strerror(errno));
}

/* A scene has a process of its own: it may crash, and several are explored at a time. */
static void start(unsigned index)
{
    fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    chosen.pid[index] = pid;
    if (pid != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    outcome = &chosen.outcome[index];
    catch_crashes();
    explore(chosen.scene[index]);
    fflush(stdout);
    _exit(EXIT_SUCCESS);
}

static void await_one(void)
{
    int status = 0;
    pid_t pid = wait(&status);
    MUST(pid > 0, "wait: %s", strerror(errno));
    for (unsigned i = 0; i < chosen.begun; i++) {
        struct outcome *o = &chosen.outcome[i];
        if (chosen.pid[i] != pid)
            continue;
        chosen.pid[i] = 0;
        if (!o->ended)
            snprintf(o->text, sizeof o->text, "%s: ended with status %x", chosen.scene[i]->name, (unsigned)status);
    }
}

/* In the order of the scenes, whoever is done first. */
static void tell(void)
{
    for (; chosen.told < chosen.begun && chosen.pid[chosen.told] == 0; chosen.told++) {
        const struct outcome *o = &chosen.outcome[chosen.told];
        tap_ok(o->passed, "%s", o->text);
        fputs(o->schedule, stdout);
    }
}

static unsigned processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static int explore_chosen(void)
{
    unsigned jobs = options.jobs ? options.jobs : processors();
    MUST(nice(10) != -1, "nice: %s", strerror(errno)); /* those who wait for each other go first */
    tap_begin(0);
    choose_scenes();
    if (chosen.count == 0) {
        fprintf(stderr, "explorer: there is no scene %s\n", options.scene);
        return 2;
    }
    struct schedule schedule;
    if (options.schedule && !search_parse(chosen.scene[0], options.schedule, &schedule)) {
        fprintf(stderr, "explorer: %s is no schedule of %s\n", options.schedule, chosen.scene[0]->name);
        return 2;
    }
    for (unsigned ended = 0; ended < chosen.count; ended++) {
        for (; chosen.begun < chosen.count && chosen.begun < ended + jobs; chosen.begun++)
            start(chosen.begun);
        await_one();
        tell();
    }
    return tap_end();
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv) || (options.schedule && !options.scene)) {
        show_help(stderr);
        return 2;
    }
    if (options.help)
        show_help(stdout);
    else if (options.version)
        printf("explorer %s\n", TLSHM_VERSION);
    else if (options.list)
        for (unsigned i = 0; scene_at(i); i++)
            printf("%-16s %s\n", scene_at(i)->name, scene_at(i)->about);
    else if (SANITIZED)
        printf("1..0 # SKIP jumps between stacks are not for this sanitizer\n");
    else
        return explore_chosen();
    return EXIT_SUCCESS;
}
