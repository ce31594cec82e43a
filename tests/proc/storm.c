/* SPDX-License-Identifier: MIT */
/*
 * storm.c - worker processes and a reaper are killed, stopped and continued at random instants while they do everything
 * that a segment is for; at intervals nobody moves, and the books are held against the segment (books.h).
 *
 * The parent's signals come at any instruction. In a program with the hooked library the workers also end or stop
 * themselves between two accesses to shared words, which hits the short steps as often as the long ones.
 *
 * Records: a record is used again at the earliest when the search for free ones has gone round the table. The table is so
 * large that this takes more epochs than a reservation's books stay open.
 */
#include "../race/books.h"
#include "../race/hit.h"
#include "../race/mix.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 32768
#define TAGS_AN_EPOCH 4000
#define DEATHS_AN_EPOCH 50 /* each leaves a block of records half used */
#define WORKERS_MAX (LEDGER_ACTORS - 1)
#define TICK_US 400
#define PATIENCE_S 900 /* for a target in signals instead of seconds */

static struct {
    unsigned seconds, workers, target;
    unsigned long long seed;
} options = {.seconds = 20, .workers = 6, .seed = 0};

struct worker {
    pid_t pid;
    bool stopped;
    uint64_t wake_ns;
};

static struct storm {
    struct space space;
    struct ledger *ledger;
    struct books *books;
    int fd; /* the ledger's, for executed workers */
    uint64_t random;
    struct worker workers[LEDGER_ACTORS]; /* the last one in use is the reaper */
    unsigned count;
    unsigned deaths; /* in this epoch */
    uint64_t kills, self_kills, stops, continued;
    uint64_t verified, looks, quiet_verified, lists_left, seats_left;
    uint64_t next_audit_ns;
} storm;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static uint64_t below(uint64_t n)
{
    return mix_below(&storm.random, n);
}

static void nap_us(unsigned us)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000L * (long)us}, NULL);
}

static struct ledger *map_ledger(int fd)
{
    void *at = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(at != MAP_FAILED, "mmap of the ledger: %s", strerror(errno));
    return at;
}

/* ------------------------------------------------------------------------------------------------------ a worker's life */

static void leash(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1)
        _exit(2);
    MUST(nice(10) != -1, "nice: %s", strerror(errno)); /* the parent must come to its turn */
}

static tlshm_t *join(const struct ledger *l)
{
    struct tlshm_error err;
    tlshm_t *t = NULL;
    MUST(tlshm_attach(&t, l->path, 0, &err) == 0, "attach: %s", err.text);
    return t;
}

_Noreturn static void reap_for_ever(struct mix *m)
{
    for (;;) {
        mix_reap(m);
        nap_us(300);
    }
}

/* argv: --actor INDEX FD SEED ROLE */
_Noreturn static void live(char **argv)
{
    struct mix m;
    struct ledger *l = map_ledger(atoi(argv[3]));
    uint64_t seed = strtoull(argv[4], NULL, 10);
    leash();
    mix_begin(&m, l, NULL, (unsigned)atoi(argv[2]), seed);
    m.hit_reach = 160;
    m.hit_seldom = 200;
    if (hit_arm(0, 0)) { /* hooked */
        hit_disarm();
        m.hit_signal = seed % 8 == 0 ? 0 : seed % 8 < 5 ? SIGKILL : SIGSTOP;
    }
    if (m.hit_signal != 0 && seed % 3 == 0) /* attaching and taking a seat, too */
        hit_arm((unsigned)mix_below(&m.random, 200), m.hit_signal);
    m.t = join(l);
    if (strcmp(argv[5], "reaper") == 0)
        reap_for_ever(&m);
    for (;;)
        mix_step(&m);
}

static void spawn(unsigned index)
{
    char number[16], fd[16], seed[24];
    const char *role = index + 1 == storm.count ? "reaper" : "worker";
    snprintf(number, sizeof number, "%u", index);
    snprintf(fd, sizeof fd, "%d", storm.fd);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)below(UINT64_C(1) << 40));
    pid_t pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        execl("/proc/self/exe", "storm", "--actor", number, fd, seed, role, (char *)NULL);
        _exit(3);
    }
    storm.workers[index] = (struct worker){.pid = pid};
}

/* ------------------------------------------------------------------------------------------------------- the signals */

static uint64_t stop_length(void)
{
    return below(12) == 0 ? MS(1 + below(300)) : MS(1) / 4 + below(MS(30));
}

static void send(struct worker *w, int signal)
{
    MUST(kill(w->pid, signal) == 0, "kill %d: %s", (int)w->pid, strerror(errno));
    if (signal == SIGCONT) {
        w->stopped = false;
        storm.continued++;
    }
}

/* What waitpid() said of a worker. A death by anything but SIGKILL is a fault. */
static void note_change(unsigned index, int status)
{
    struct worker *w = &storm.workers[index];
    if (WIFSTOPPED(status)) {
        w->stopped = true;
        w->wake_ns = now_ns() + stop_length();
        storm.stops++;
        return;
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        ledger_fault(storm.ledger, "worker %u ended by itself: status %x", index, (unsigned)status);
    books_died(storm.books, index);
    w->pid = 0;
    storm.kills++;
    storm.deaths++;
}

static void watch(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
        for (unsigned i = 0; i < storm.count; i++)
            if (storm.workers[i].pid == pid)
                note_change(i, status);
}

/* Waits until a signal that was sent has had its effect. */
static void await(unsigned index)
{
    int status = 0;
    while (waitpid(storm.workers[index].pid, &status, WUNTRACED) < 0)
        MUST(errno == EINTR, "waitpid: %s", strerror(errno));
    note_change(index, status);
}

static void stop_all(void)
{
    watch();
    for (unsigned i = 0; i < storm.count; i++)
        if (storm.workers[i].pid != 0 && !storm.workers[i].stopped) {
            send(&storm.workers[i], SIGSTOP);
            await(i);
        }
}

static void kill_all(void)
{
    watch();
    for (unsigned i = 0; i < storm.count; i++)
        if (storm.workers[i].pid != 0)
            send(&storm.workers[i], SIGKILL);
    for (unsigned i = 0; i < storm.count; i++)
        while (storm.workers[i].pid != 0)
            await(i);
}

/* Everybody goes on; the dead are replaced. */
static void go_on(void)
{
    for (unsigned i = 0; i < storm.count; i++) {
        struct worker *w = &storm.workers[i];
        if (w->pid == 0)
            spawn(i);
        else if (w->stopped)
            send(w, SIGCONT);
    }
}

static void disturb(void)
{
    uint64_t now = now_ns();
    watch();
    for (unsigned i = 0; i < storm.count; i++) {
        struct worker *w = &storm.workers[i];
        if (w->pid == 0)
            spawn(i);
        else if (w->stopped && w->wake_ns <= now)
            send(w, below(10) == 0 ? SIGKILL : SIGCONT);
    }
    struct worker *w = &storm.workers[below(storm.count)];
    if (below(6) == 0 && !w->stopped)
        send(w, below(2) == 0 ? SIGKILL : SIGSTOP);
}

/* ---------------------------------------------------------------------------------------------------------- audits */

static void verify_found(void *context, const char *text)
{
    ledger_fault(context, "verify: %s", text);
}

static void verify(bool quiet)
{
    tlshm_verify_report report = {.faults = 0};
    int rc = tlshm_verify(storm.space.t, verify_found, storm.ledger, &report);
    if (rc < 0)
        ledger_fault(storm.ledger, "verify: %s", tlshm_error_name(rc));
    if (quiet && (report.busy != 0 || report.sheets == 0))
        ledger_fault(storm.ledger, "verify: nobody moves, and yet it could not tell");
    storm.verified++;
    storm.quiet_verified += quiet;
}

static void step_clock(void)
{
    uint64_t forward = below(8) == 0 ? SEC(1) + below(SEC(3)) : below(MS(400));
    if (below(9) == 0)
        space_at(&storm.space, storm.space.now - below(SEC(1)));
    else
        space_at(&storm.space, storm.space.now + forward);
}

static unsigned dead_seats(void)
{
    tlshm_seat_info seat;
    uint64_t cursor = 0;
    unsigned dead = 0;
    while (tlshm_seat_next(storm.space.t, &cursor, &seat) == 1)
        dead += seat.state == TLSHM_SEAT_DEAD;
    return dead;
}

/*
 * After a reap: nothing of the dead is left. A living one that was stopped while it took over a seat has that seat with
 * the name of the dead on it; the reaper, which has a seat of its own, may have been stopped while it freed one.
 */
static void check_leavings(bool living)
{
    tlshm_segment_info info;
    MUST(tlshm_get_segment(storm.space.t, &info) == 0, "segment");
    unsigned others = living ? storm.count : 0;
    unsigned taken = 1 + others + (living ? 1 : 0);
    if (dead_seats() > others || info.seats_taken > taken)
        ledger_fault(storm.ledger, "seats: %u of the dead are left, %u taken, %u may be", dead_seats(),
                     info.seats_taken, taken);
    if (!living && info.limit_lists_used > LEDGER_FIXED + 1)
        ledger_fault(storm.ledger, "%u limit lists are in use, %u can be", info.limit_lists_used, LEDGER_FIXED + 1);
    if (info.counters.early_reuse != 0)
        ledger_fault(storm.ledger, "the table of reservations was too small for this");
}

static void reap_all(void)
{
    tlshm_reap_report report;
    int rc = tlshm_reap(storm.space.t, &report);
    if (rc < 0)
        ledger_fault(storm.ledger, "reap: %s", tlshm_error_name(rc));
}

static void audit(bool living)
{
    if (living)
        stop_all();
    else
        kill_all();
    books_audit(storm.books, false);
    reap_all();
    verify(!living);
    check_leavings(living);
    books_audit(storm.books, true);
    books_turn(storm.books, living, TAGS_AN_EPOCH);
    storm.deaths = 0;
    storm.next_audit_ns = now_ns() + MS(250) + below(MS(250));
}

static bool audit_is_due(void)
{
    bool used_up = atomic_load(&storm.ledger->next_tag) >= atomic_load(&storm.ledger->tag_end);
    return now_ns() >= storm.next_audit_ns || used_up || storm.deaths >= DEATHS_AN_EPOCH;
}

static void tick(void)
{
    disturb();
    space_at(&storm.space, storm.space.now + below(MS(2)));
    if (below(16) == 0)
        storm.looks += mix_look_strict(storm.ledger, storm.space.t);
    if (below(60) == 0)
        verify(false);
    if (below(200) == 0)
        reap_all();
    if (audit_is_due()) {
        /* What was not written to the end holds the books open until nobody lives. */
        audit(below(2) == 0 && books_open_tags(storm.books) < LEDGER_TAGS / 3);
        step_clock();
        go_on();
    }
    nap_us(TICK_US);
}

/* ------------------------------------------------------------------------------------------------------------- main */

static bool is_over(uint64_t start)
{
    if (atomic_load(&storm.ledger->faults) != 0)
        return true;
    if (options.target != 0)
        return storm.kills >= options.target && storm.stops >= options.target && storm.continued >= options.target;
    return now_ns() - start >= SEC(options.seconds);
}

static void set_up(void)
{
    tlshm_geometry g = space_geometry();
    g.reservations = RECORDS;
    g.seats = 2 * LEDGER_ACTORS;
    g.retention_ns = SEC(60);
    space_open(&storm.space, &g);
    storm.fd = memfd_create("storm-ledger", 0);
    MUST(storm.fd >= 0 && ftruncate(storm.fd, sizeof(struct ledger)) == 0, "memfd: %s", strerror(errno));
    storm.ledger = map_ledger(storm.fd);
    storm.random = options.seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    storm.count = options.workers + 1;
    ledger_begin(storm.ledger, &storm.space, TAGS_AN_EPOCH);
    space_at(&storm.space, SEC(10));
    storm.books = books_open(storm.ledger, storm.space.t, options.seed);
    storm.next_audit_ns = now_ns() + MS(300);
}

static void report(void)
{
    const struct ledger *l = storm.ledger;
    tlshm_segment_info info;
    MUST(tlshm_get_segment(storm.space.t, &info) == 0, "segment");
    uint64_t operations = atomic_load(&l->operations), refused = atomic_load(&l->refused);
    printf("# seed %llu, %llu operations, %llu kills, %llu stops, %llu continued, %llu audits\n", options.seed,
           (unsigned long long)operations, (unsigned long long)storm.kills, (unsigned long long)storm.stops,
           (unsigned long long)storm.continued, (unsigned long long)storm.books->audits);
    printf("# admitted %llu, refused %llu, replayed %llu, settled %llu, late %llu, refunded %llu, expired %llu, "
           "extended %llu, retries %llu, scopes recycled %llu; no list %llu\n",
           (unsigned long long)info.counters.admitted, (unsigned long long)refused,
           (unsigned long long)info.counters.replayed, (unsigned long long)info.counters.settled,
           (unsigned long long)info.counters.late, (unsigned long long)info.counters.refunded,
           (unsigned long long)info.counters.expired, (unsigned long long)info.counters.extended,
           (unsigned long long)info.counters.retries, (unsigned long long)info.counters.recycled,
           (unsigned long long)atomic_load(&l->limits_full));
    tap_equal(atomic_load(&l->faults), 0, "everything adds up in %llu audits", (unsigned long long)storm.books->audits);
    if (atomic_load(&l->faults) != 0)
        printf("# %s\n", l->fault);
    tap_ok(storm.quiet_verified != 0 && storm.verified > storm.quiet_verified,
           "verified %llu times beside the workers, %llu times at rest",
           (unsigned long long)(storm.verified - storm.quiet_verified), (unsigned long long)storm.quiet_verified);
    tap_ok(storm.looks != 0, "no strict scope beyond a cap in %llu looks", (unsigned long long)storm.looks);
    tap_ok(operations > 1000 && refused != 0, "workers got through: %llu operations", (unsigned long long)operations);
    uint64_t least = options.target != 0 ? options.target : options.seconds;
    tap_ok(storm.kills >= least && storm.stops >= least && storm.continued >= least,
           "%llu kills, %llu stops, %llu continued", (unsigned long long)storm.kills, (unsigned long long)storm.stops,
           (unsigned long long)storm.continued);
    tap_ok(storm.books->doubted != 0, "%llu calls had no answer when their caller died, %llu of them happened",
           (unsigned long long)storm.books->doubted, (unsigned long long)storm.books->resolved);
}

static void usage(void)
{
    puts("Usage: storm [--seconds S] [--seed N] [--workers W] [--kills-target K]\n"
         "Kill and stop worker processes at random and audit the segment. A target in signals replaces the seconds.");
}

static int parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"seconds", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'n'},
        {"workers", required_argument, NULL, 'w'}, {"kills-target", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (c == 's')
            options.seconds = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'n')
            options.seed = strtoull(optarg, NULL, 10);
        else if (c == 'w')
            options.workers = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'k')
            options.target = (unsigned)strtoul(optarg, NULL, 10);
        else
            return c;
    }
    if (options.seed == 0)
        options.seed = now_ns() % 1000000007;
    return optind == argc && options.seconds > 0 && options.workers - 1 < WORKERS_MAX - 1 ? 0 : '?';
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "--actor") == 0)
        live(argv);
    int wrong = parse(argc, argv);
    if (wrong != 0) {
        usage();
        return wrong == 'h' ? 0 : 2;
    }
    tap_begin((options.target != 0 ? PATIENCE_S : options.seconds) + 60);
    set_up();
    printf("# seed %llu\n", options.seed);
    go_on();
    for (uint64_t start = now_ns(); !is_over(start);)
        tick();
    audit(false);
    report();
    books_close(storm.books);
    space_close(&storm.space);
    return tap_end();
}
