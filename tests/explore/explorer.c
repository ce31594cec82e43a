/* SPDX-License-Identifier: MIT */
/*
 * explorer.c - runs the library's own code under every schedule of small scenes: processes that are interrupted, killed
 * or stopped for ever before any access to shared memory, and clocks that move at any time.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
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

#define SHORT_S 2.5 /* a scene's share by default, and ... */
#define LONG_S 60   /* ... with --long */
#define SEED 1

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
    {"seconds", 's', "S", "time for each scene (or, with bounds, for each search)"},
    {"random", 'r', "SEED", "a random sample with these bounds instead of all"},
    {"long", 'l', NULL, "a minute for each scene"},
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
    options.own_bounds = true;
    return end != text && *end == 0 && value <= most;
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
        return number(argument, 4, &options.bounds.preemptions);
    case 'k':
        return number(argument, 2, &options.bounds.kills);
    case 't':
        return number(argument, 2, &options.bounds.ticks);
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

static void report(const char *what)
{
    char schedule[256] = "";
    search_format(current.scene, &current.schedule, schedule, sizeof schedule);
    printf("# %s: %s\n# explorer --config %s%s --schedule '%s' --trace\n", what, fault_text, current.scene->name,
           current.words ? " --words" : "", schedule);
}

/* A call has followed a wild index: as good as a wrong figure. */
static void on_crash(int signal_number)
{
    printf("not ok - %s: crashed by signal %d\n", current.scene->name, signal_number);
    fflush(stdout);
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
    tap_ok(!current.failed, "%s: %s: %lu schedules, %lu steps, longest %u%s", current.scene->name, current.scene->about,
           current.schedules, current.steps, current.longest, text);
    if (current.failed)
        report("fault");
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

static bool run_schedule(const struct scene *scene)
{
    struct schedule schedule;
    if (!search_parse(scene, options.schedule, &schedule)) {
        fprintf(stderr, "explorer: %s is no schedule of %s\n", options.schedule, scene->name);
        return false;
    }
    begin(scene);
    current.words = options.words;
    if (!current.failed)
        search_one(&current, &schedule, options.trace ? stdout : NULL);
    finish("");
    return true;
}

static bool explore(const struct scene *scene)
{
    double time = options.seconds > 0 ? options.seconds : options.longer ? LONG_S : SHORT_S;
    if (options.schedule)
        return run_schedule(scene);
    if (options.own_bounds)
        explore_own(scene, time);
    else
        explore_usual(scene, time);
    return true;
}

static int explore_chosen(void)
{
    unsigned explored = 0;
    catch_crashes();
    tap_begin(0);
    for (unsigned i = 0; scene_at(i); i++)
        if (!options.scene || strcmp(options.scene, scene_at(i)->name) == 0) {
            explored++;
            if (!explore(scene_at(i)))
                return 2;
        }
    if (explored)
        return tap_end();
    fprintf(stderr, "explorer: there is no scene %s\n", options.scene);
    return 2;
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
