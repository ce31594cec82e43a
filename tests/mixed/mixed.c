/* SPDX-License-Identifier: MIT */
/*
 * mixed.c - long runs of mixed load with crashes: memory, descriptors, seats, scopes, lists and spare sheets stay bounded.
 *
 * Processes make all calls while threads and children come and go, limits and configurations change, and workers and the
 * reaper are killed, stopped and continued at random. Once a second, or N/600 s, it is noted what all that needs. Now and
 * then all stand still: then each sheet and body is in exactly one place, every sum is right, and nobody has more seats
 * than there are threads. In the end nothing may have grown from the second third of the time to the last one.
 *
 * The clock is the real one. --out DIR keeps the figures and a graph of them.
 */
#include "mixed.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 120 /* for processes to come to rest on a busy machine */
#define SEATS 64
#define FRESH_A_SECOND 40 /* scopes that nobody has used before: with those that come back there is always room */

static struct {
    unsigned seconds, workers;
    uint64_t seed;
    const char *out;
} options = {.seconds = 10};

static struct run {
    struct space space;
    struct mixed_board *board;
    int fd; /* the board's, for executed workers */
    uint64_t random, start_ns, next_row_ns, next_rest_ns;
    uint64_t paced_ns, going_ns; /* when it was last looked, and how long all has gone on by then */
    unsigned count;
    struct worker {
        pid_t pid;
        bool stopped;
        uint64_t wake_ns;
    } worker[MIXED_ACTORS];
    uint64_t kills, reaper_kills, stops, rests, sheets;
    uint64_t full, expired, recycled; /* when last all stood still */
    struct mixed_figures figures;
} run;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return SEC(t.tv_sec) + (uint64_t)t.tv_nsec;
}

static uint64_t below(uint64_t n)
{
    run.random = run.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (run.random >> 24) % n;
}

static void nap_ms(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000L * (long)ms}, NULL);
}

/* ---------------------------------------------------------------------------------------------------------- processes */

static enum mixed_role role_of(unsigned index)
{
    return index < MIXED_MORTAL ? (enum mixed_role)index : MIXED_MORTAL;
}

static bool is_mortal(unsigned index)
{
    return role_of(index) >= MIXED_REAPER;
}

static struct mixed_board *map_board(int fd)
{
    void *at = mmap(NULL, sizeof(struct mixed_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(at != MAP_FAILED, "mmap: %s", strerror(errno));
    return at;
}

/* argv: --actor INDEX FD SEED PARENT */
_Noreturn static void live(char **argv)
{
    unsigned index = (unsigned)atoi(argv[2]);
    struct mixed_board *board = map_board(atoi(argv[3]));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(argv[5]))
        _exit(2);
    MUST(nice(10) != -1, "nice: %s", strerror(errno)); /* whoever watches must come to its turn */
    close(atoi(argv[3]));
    mixed_live(board, index, role_of(index), strtoull(argv[4], NULL, 10));
}

static void spawn(unsigned index)
{
    char number[16], fd[16], seed[24], parent[16];
    snprintf(number, sizeof number, "%u", index);
    snprintf(fd, sizeof fd, "%d", run.fd);
    snprintf(seed, sizeof seed, "%" PRIu64, below(UINT64_C(1) << 40));
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    atomic_store(&run.board->actor[index].resting, 0);
    pid_t pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        execl("/proc/self/exe", "mixed", "--actor", number, fd, seed, parent, (char *)NULL);
        _exit(3);
    }
    run.worker[index] = (struct worker){.pid = pid};
}

static void note_change(unsigned index, int status)
{
    struct worker *w = &run.worker[index];
    if (WIFSTOPPED(status)) {
        w->stopped = true;
        run.stops++;
        return;
    }
    w->pid = 0;
    if (!is_mortal(index) || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        mixed_fault(run.board, "worker %u ended with status %x", index, (unsigned)status);
    run.kills++;
    run.reaper_kills += role_of(index) == MIXED_REAPER;
}

/* What has happened to the workers; the dead are replaced. */
static void watch(void)
{
    int status;
    for (unsigned i = 0; i < run.count; i++) {
        struct worker *w = &run.worker[i];
        if (w->pid != 0 && waitpid(w->pid, &status, WNOHANG | WUNTRACED) == w->pid)
            note_change(i, status);
        if (w->pid == 0)
            spawn(i);
    }
}

static void go_on(struct worker *w)
{
    w->stopped = false;
    kill(w->pid, SIGCONT);
}

static void disturb(void)
{
    uint64_t now = now_ns();
    unsigned i = MIXED_REAPER + (unsigned)below(run.count - MIXED_REAPER);
    struct worker *w = &run.worker[i];
    watch();
    for (unsigned k = 0; k < run.count; k++)
        if (run.worker[k].stopped && run.worker[k].wake_ns <= now)
            go_on(&run.worker[k]);
    if (below(8) != 0 || w->stopped)
        return;
    w->wake_ns = now + MS(1) + below(below(6) == 0 ? SEC(1) : MS(40));
    kill(w->pid, below(2) == 0 ? SIGKILL : SIGSTOP);
}

/* --------------------------------------------------------------------------------------------------------------- rest */

static bool all_rest(void)
{
    for (unsigned i = 0; i < run.count; i++) {
        if (run.worker[i].stopped)
            go_on(&run.worker[i]);
        if (!atomic_load(&run.board->actor[i].resting))
            return false;
    }
    return true;
}

static void verify_found(void *context, const char *text)
{
    mixed_fault(context, "verify: %s", text);
}

/* The dead are cleared away, and then everything is where it belongs, whatever happened before. */
static void check_rest(void)
{
    tlshm_verify_report report = {.faults = 0};
    tlshm_segment_info info;
    int rc = tlshm_reap(run.space.t, NULL);
    if (rc >= 0)
        rc = tlshm_verify(run.space.t, verify_found, run.board, &report);
    if (rc < 0 || tlshm_get_segment(run.space.t, &info) != 0)
        mixed_fault(run.board, "reap or verify: %s", tlshm_error_name(rc));
    else if (report.busy != 0 || report.sheets == 0)
        mixed_fault(run.board, "all stand still, and %" PRIu64 " scopes change, %" PRIu64 " sheets have one place",
                    report.busy, report.sheets);
    else if (info.seats_taken > run.count + 1)
        mixed_fault(run.board, "%u seats are taken by %u threads", info.seats_taken, run.count + 1);
    else if (info.counters.early_reuse != 0)
        mixed_fault(run.board, "expired reservations were forgotten too early");
    else {
        run.full = info.counters.refused[TLSHM_FULL];
        run.expired = info.counters.expired;
        run.recycled = info.counters.recycled;
    }
    run.sheets = report.sheets;
    run.rests++;
}

static void rest(void)
{
    uint64_t until = now_ns() + SEC(PATIENCE_S);
    atomic_store(&run.board->rest, 1);
    for (watch(); !all_rest(); watch()) {
        MUST(now_ns() < until, "they do not come to rest");
        nap_ms(1);
    }
    check_rest();
    atomic_store(&run.board->rest, 0);
    run.next_rest_ns = now_ns() + SEC(2) + SEC(options.seconds) / 200;
}

/* ------------------------------------------------------------------------------------------------------------ figures */

static void take_row(void)
{
    tlshm_segment_info info;
    uint64_t *row = mixed_row(&run.figures);
    pid_t steady = run.worker[MIXED_STEADY].pid, parent = run.worker[MIXED_PARENT].pid;
    MUST(tlshm_get_segment(run.space.t, &info) == 0, "segment");
    row[MIXED_SECONDS] = (now_ns() - run.start_ns) / SEC(1);
    row[MIXED_STEADY_KB] = mixed_memory_kb(steady);
    row[MIXED_PARENT_KB] = mixed_memory_kb(parent);
    row[MIXED_WATCH_KB] = mixed_memory_kb(getpid());
    row[MIXED_STEADY_FDS] = mixed_descriptors(steady);
    row[MIXED_PARENT_FDS] = mixed_descriptors(parent);
    row[MIXED_WATCH_FDS] = mixed_descriptors(getpid());
    row[MIXED_SEATS] = info.seats_taken;
    row[MIXED_SCOPES] = info.scopes_live;
    row[MIXED_LISTS] = info.limit_lists_used;
    row[MIXED_TIERS] = info.tiers;
    row[MIXED_HELD] = info.reservations_held;
    row[MIXED_ENDED] = info.reservations_ended;
    row[MIXED_SHEETS] = run.sheets;
    mixed_directory(run.space.dir, &row[MIXED_SHM_KB], &row[MIXED_FILES]);
    row[MIXED_CALLS] = atomic_load(&run.board->calls);
    row[MIXED_REFUSED] = atomic_load(&run.board->refused);
    row[MIXED_EXPIRED] = info.counters.expired;
    row[MIXED_RECYCLED] = info.counters.recycled;
    row[MIXED_KILLS] = run.kills;
    row[MIXED_STOPS] = run.stops;
    run.next_row_ns += options.seconds > 600 ? SEC(options.seconds) / 600 : options.seconds < 20 ? MS(500) : SEC(1);
}

static bool everything_happened(void)
{
    const struct mixed_board *b = run.board;
    return run.kills > 0 && run.reaper_kills > 0 && run.stops > 0 && run.expired > 0 && run.recycled > 0 &&
           atomic_load(&b->refused) > 0 && atomic_load(&b->threads) > 0 && atomic_load(&b->children) > 0 &&
           atomic_load(&b->applied) > 0;
}

static void report(void)
{
    const struct mixed_board *b = run.board;
    const uint64_t *last = run.figures.row[run.figures.rows - 1];
    printf("# %" PRIu64 " calls, %" PRIu64 " refused, %" PRIu64 " expired, %" PRIu64 " scopes recycled\n",
           last[MIXED_CALLS], last[MIXED_REFUSED], last[MIXED_EXPIRED], last[MIXED_RECYCLED]);
    printf("# %" PRIu64 " attachments, %" PRIu64 " threads, %" PRIu64 " children, %" PRIu64 " configurations applied\n",
           atomic_load(&b->attached), atomic_load(&b->threads), atomic_load(&b->children), atomic_load(&b->applied));
    if (!tap_equal(atomic_load(&b->faults), 0, "every answer is a legal one, and all adds up in %" PRIu64 " rests",
                   run.rests))
        printf("# %s\n", b->fault);
    printf("# %" PRIu64 " killed, %" PRIu64 " of them reapers, %" PRIu64 " stopped\n", run.kills, run.reaper_kills,
           run.stops);
    tap_ok(everything_happened(),
           "kills, stops, refusals, expiries, recycled scopes, threads, children, configurations: all happened");
    tap_equal(atomic_load(&b->full) + run.full, 0, "there was always room: idle scopes, lists and records come back");
    mixed_judge(&run.figures);
}

/* --------------------------------------------------------------------------------------------------------------- main */

static void set_up(void)
{
    tlshm_geometry g = {.scopes = 384,
                        .reservations = 4096,
                        .seats = SEATS,
                        .limit_lists = 128,
                        .slices = 20,
                        .tiers = 16,
                        .retention_ns = MS(100)};
    space_open(&run.space, &g);
    run.fd = memfd_create("mixed", 0);
    MUST(run.fd >= 0 && ftruncate(run.fd, sizeof(struct mixed_board)) == 0, "memfd: %s", strerror(errno));
    run.board = map_board(run.fd);
    strcpy(run.board->path, run.space.path);
    space_limits(&run.space, "global:", "tokens 1M per 1s/10; cost $5 per hour");
    run.random = options.seed;
    run.count = MIXED_REAPER + 1 + options.workers;
    for (unsigned i = 0; i < run.count; i++)
        spawn(i);
    run.start_ns = run.next_row_ns = run.paced_ns = now_ns();
    rest();
}

static void tear_down(void)
{
    for (unsigned i = 0; i < run.count; i++) {
        kill(run.worker[i].pid, SIGKILL);
        waitpid(run.worker[i].pid, NULL, 0);
    }
    munmap(run.board, sizeof *run.board);
    close(run.fd);
    space_close(&run.space);
}

/* A busy machine needs longer until there is something to be judged. */
static bool is_over(void)
{
    uint64_t since = now_ns() - run.start_ns;
    bool enough = everything_happened() && run.figures.rows >= MIXED_ROWS_LEAST && run.rests > 2;
    return atomic_load(&run.board->faults) != 0 || since >= SEC(options.seconds) + SEC(PATIENCE_S) ||
           (enough && since >= SEC(options.seconds));
}

/* So many new scopes as time allows; who was held up for long, with all others, does not make up for it at once. */
static void pace(void)
{
    uint64_t now = now_ns(), gone = now - run.paced_ns;
    run.going_ns += gone < SEC(1) ? gone : SEC(1);
    run.paced_ns = now;
    atomic_store(&run.board->fresh_most, run.going_ns / (SEC(1) / FRESH_A_SECOND));
}

static void play(void)
{
    while (!is_over()) {
        pace();
        disturb();
        if (now_ns() >= run.next_rest_ns)
            rest();
        if (now_ns() >= run.next_row_ns)
            take_row();
        nap_ms(4);
    }
    rest();
    take_row();
}

static void usage(FILE *out)
{
    fputs("Usage: mixed [--seconds N] [--workers N] [--seed N] [--out DIR]\n"
          "Mixed load with crashes: nothing may grow. --workers: processes that are stopped and killed, by default two "
          "and\n"
          "one for each processor. --out: where mixed.csv and a graph, mixed.svg, are left.\n",
          out);
}

static bool parse(int argc, char **argv, bool *help)
{
    static const struct option table[] = {
        {"seconds", required_argument, NULL, 's'}, {"workers", required_argument, NULL, 'w'},
        {"seed", required_argument, NULL, 'n'},    {"out", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    unsigned long processors = (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
    options.workers = (unsigned)(processors < 14 ? 2 + processors : 16);
    options.seed = now_ns();
    for (int c; (c = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (c == 's')
            options.seconds = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'w')
            options.workers = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'n')
            options.seed = strtoull(optarg, NULL, 10);
        else if (c == 'o')
            options.out = optarg;
        else {
            *help = c == 'h';
            return *help;
        }
    }
    return optind == argc && options.seconds > 0 && options.seconds < 1000000 && options.workers > 0 &&
           options.workers <= 32;
}

int main(int argc, char **argv)
{
    bool help = false;
    if (argc == 6 && strcmp(argv[1], "--actor") == 0)
        live(argv);
    bool legal = parse(argc, argv, &help);
    if (!legal || help) {
        usage(help ? stdout : stderr);
        return help ? EXIT_SUCCESS : 2;
    }
    tap_begin(options.seconds + 4 * PATIENCE_S);
    set_up();
    printf("# seed %" PRIu64 ", %u s, %u workers\n", options.seed, options.seconds, options.workers);
    play();
    report();
    tear_down();
    if (options.out != NULL)
        tap_ok(mixed_write(&run.figures, options.out), "the figures are %s/mixed.csv", options.out);
    free(run.figures.row);
    return tap_end();
}
