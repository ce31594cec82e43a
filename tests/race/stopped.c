/* SPDX-License-Identifier: MIT */
/*
 * stopped.c - a process stops in the middle of a call, before each of its accesses to shared words in turn. Meanwhile the
 * others finish calls on the same scopes and on the same reservation; when it goes on, everything adds up.
 *
 * Nothing is measured: whoever is delayed by the stopped one hangs, and the alarm ends the program.
 *
 * --every N stops it before each N-th access only: for sanitizers, to which a fork is dear, and which look at how memory
 * is accessed and not at what comes of it.
 */
#include "crew.h"
#include "hit.h"
#include "space.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <tlshm/stats.h>
#include <unistd.h>

#define DEADLINE_S 30 /* for one stop */
#define ACCESSES_MOST 4000
#define SCOPES "agent:a tenant:t user:u"

/* What the stopped process tells when it has gone on and returned. */
static struct answer {
    int rc;
    tlshm_id id;
    tlshm_result result;
    bool whole; /* it ended without having been stopped */
} * answer;

static struct space space;
static tlshm_id id;       /* made before */
static int theirs;        /* what another process was told about it meanwhile */
static tlshm_result mine; /* likewise */
static uint64_t used;     /* tokens that tenant:t must have used */
static unsigned turn;     /* counts stops: names and keys are made of it */
static uint64_t others_calls;

static tlshm_id reserve_or_die(const char *scopes, uint64_t tokens, uint64_t ttl_ns)
{
    struct ask a;
    tlshm_id made = 0;
    ask_for(&a, scopes, NULL);
    a.request.estimate.of[TLSHM_TOKENS] = tokens;
    a.request.ttl_ns = ttl_ns;
    tlshm_refusal why = {.reason = TLSHM_ADMITTED};
    int rc = tlshm_reserve(space.t, &a.request, &made, &why);
    MUST(rc == TLSHM_OK, "reserve %s: %d %s", scopes, rc, tlshm_reason_name((int)why.reason));
    return made;
}

static int settle(tlshm_id which, uint64_t tokens, tlshm_result *result)
{
    tlshm_amounts actual = {{tokens}};
    return tlshm_settle(space.t, which, &actual, TLSHM_EXACT, result);
}

static void settle_or_die(tlshm_id which, uint64_t tokens)
{
    int rc = settle(which, tokens, NULL);
    MUST(rc == TLSHM_OK, "settle: %d", rc);
    used += tokens;
}

/* Calls on the same scopes, from this process. All of them must get through. */
static void work(void)
{
    for (unsigned i = 0; i < 3; i++) {
        tlshm_id made = reserve_or_die(SCOPES, 11, HOUR(1));
        MUST(tlshm_extend(space.t, made, NULL, HOUR(2), NULL) == TLSHM_OK, "extend");
        settle_or_die(made, 10);
        tlshm_id other = reserve_or_die("user:u tenant:t", 3, HOUR(1));
        MUST(tlshm_refund(space.t, other, NULL) == TLSHM_OK, "refund");
        space_remaining(&space, "tenant:t", TLSHM_TOKENS);
        others_calls += 6;
    }
}

/* A newcomer needs a seat, too. */
static void newcomer_works(void)
{
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        alarm(DEADLINE_S);
        work();
        _exit(0);
    }
    int status = -1;
    MUST(waitpid(pid, &status, 0) == pid && status == 0, "the newcomer ended with %x", (unsigned)status);
    used += 30;
    others_calls += 18;
}

/* ---------------------------------------------------------------------------------------------------------- the cases */

static void nothing(void)
{
}

static void hold_nine(void)
{
    id = reserve_or_die(SCOPES, 9, MS(50));
}

static void call_reserve(void)
{
    struct ask a;
    ask_for(&a, SCOPES, "tokens=7");
    answer->rc = tlshm_reserve(space.t, &a.request, &answer->id, NULL);
}

static bool reserve_is_whole(void)
{
    if (answer->rc != TLSHM_OK)
        return false;
    settle_or_die(answer->id, 7);
    return true;
}

static int reserve_keyed(const char *scopes, tlshm_id *made)
{
    char key[24];
    struct ask a;
    ask_for(&a, scopes, "tokens=8");
    a.request.idempotency_len = (size_t)snprintf(key, sizeof key, "turn-%u", turn);
    a.request.idempotency_key = key;
    return tlshm_reserve(space.t, &a.request, made, NULL);
}

static void call_keyed(void)
{
    answer->rc = reserve_keyed(SCOPES, &answer->id);
}

static void repeat_keyed(void)
{
    theirs = reserve_keyed(SCOPES, &id);
}

/* There is room for one: what stands in the way of the repeat is its own first. */
#define NARROW "project:one tenant:t"

static void call_keyed_narrow(void)
{
    answer->rc = reserve_keyed(NARROW, &answer->id);
}

static void repeat_keyed_narrow(void)
{
    theirs = reserve_keyed(NARROW, &id);
}

static bool keyed_is_once(void)
{
    if (answer->rc + theirs != TLSHM_OK + TLSHM_REPLAY || answer->rc * theirs != 0 || answer->id != id)
        return false;
    settle_or_die(id, 8);
    return true;
}

static tlshm_id first_use(void)
{
    char scopes[64];
    snprintf(scopes, sizeof scopes, "agent:new%u tenant:t", turn);
    return reserve_or_die(scopes, 5, HOUR(1));
}

static void call_first_use(void)
{
    answer->id = first_use();
    answer->rc = TLSHM_OK;
}

static void use_first(void)
{
    id = first_use();
}

static bool first_use_is_one(void)
{
    char key[32];
    snprintf(key, sizeof key, "agent:new%u", turn);
    bool both = space_usage(&space, key).held[TLSHM_TOKENS] == 10;
    settle_or_die(answer->id, 5);
    settle_or_die(id, 4);
    return both && space_usage(&space, key).used[TLSHM_TOKENS] == 9;
}

static void call_settle(void)
{
    answer->rc = settle(id, 4, &answer->result);
}

static bool settle_is_whole(void)
{
    used += 4;
    return answer->rc == TLSHM_OK && answer->result.charged.of[TLSHM_TOKENS] == 4;
}

static void settle_too(void)
{
    theirs = settle(id, 6, &mine);
}

/*
 * One of the two ended it, and the other one tells the same, or that it knows of no such reservation: the record of an ended
 * one is used again soon in a table as small as this.
 */
static bool ended_once(void)
{
    bool ours = answer->rc == TLSHM_OK;
    int other = ours ? theirs : answer->rc;
    tlshm_reservation_info info;
    used += ours ? answer->result.charged.of[TLSHM_TOKENS] : mine.charged.of[TLSHM_TOKENS];
    if ((!ours && theirs != TLSHM_OK) || (ours && theirs == TLSHM_OK))
        return false;
    if (other == -TLSHM_EUNKNOWN)
        return tlshm_reservation(space.t, id, &info) == -TLSHM_EUNKNOWN;
    return other == TLSHM_REPLAY && memcmp(&answer->result, &mine, sizeof mine) == 0;
}

static void refund_too(void)
{
    theirs = tlshm_refund(space.t, id, &mine);
}

static void call_refund(void)
{
    answer->rc = tlshm_refund(space.t, id, &answer->result);
}

static void expire_too(void)
{
    space_at(&space, space.now + MS(60));
    MUST(tlshm_reap(space.t, NULL) == 0, "reap");
}

/* The charge is booked, before the hold expired or after it. */
static bool settle_is_booked(void)
{
    used += 4;
    return (answer->rc == TLSHM_OK || answer->rc == TLSHM_LATE) && answer->result.status == TLSHM_SETTLED;
}

static void call_extend(void)
{
    tlshm_amounts more = {{5}};
    answer->rc = tlshm_extend(space.t, id, &more, HOUR(1), NULL);
}

static bool extend_is_whole(void)
{
    tlshm_result result;
    int rc = tlshm_settle(space.t, id, NULL, TLSHM_UNKNOWN, &result);
    used += 14;
    return answer->rc == TLSHM_OK && rc == TLSHM_OK && result.charged.of[TLSHM_TOKENS] == 14;
}

/* It was extended in time, or it had ended. */
static bool extend_or_end(void)
{
    tlshm_result result;
    int rc = settle(id, 2, &result);
    used += 2;
    return (answer->rc == TLSHM_OK && rc == TLSHM_OK) || (answer->rc == TLSHM_ENDED && rc == TLSHM_LATE);
}

#define TIGHT "project:tight tenant:t"

static void hold_tight(void)
{
    id = reserve_or_die(TIGHT, 9, HOUR(1));
}

static void call_extend_tight(void)
{
    tlshm_amounts more = {{5}};
    answer->rc = tlshm_extend(space.t, id, &more, 0, NULL);
}

/* What is extended ends, and what there was room for is taken by another one. */
static void end_and_take(void)
{
    settle_or_die(id, 9);
    id = reserve_or_die(TIGHT, 9, HOUR(1));
}

/* There was room while it was held, and it had ended when there was none. */
static bool extend_is_not_refused(void)
{
    settle_or_die(id, 1);
    return answer->rc == TLSHM_OK || answer->rc == TLSHM_ENDED;
}

static void hold_overdue(void)
{
    hold_nine();
    space_at(&space, space.now + MS(60));
}

static void call_reap(void)
{
    answer->rc = tlshm_reap(space.t, NULL);
}

static bool is_expired(void)
{
    tlshm_reservation_info info;
    int rc = tlshm_reservation(space.t, id, &info);
    if (rc != 0 || info.status != TLSHM_EXPIRED)
        printf("# looked up: %d, %s\n", rc, rc == 0 ? tlshm_status_name((int)info.status) : "");
    return answer->rc == 0 && rc == 0 && info.status == TLSHM_EXPIRED;
}

static int set_limits(const char *cap)
{
    tlshm_limit limit[2] = {limit_of(cap), limit_of("tokens 1G per 1s/5")};
    return tlshm_scope_limits_set(space.t, "agent:a", 0, limit, 2);
}

static void call_limits(void)
{
    answer->rc = set_limits("tokens 900M per 2s/9");
}

static void limits_too(void)
{
    theirs = set_limits("tokens 800M per 2s/9");
}

static bool limits_are_of_one(void)
{
    tlshm_scope_usage usage = space_usage(&space, "agent:a");
    uint64_t cap = usage.limits[0].limit.cap;
    return answer->rc == 0 && theirs == 0 && usage.limit_count == 2 && (cap == 900000000 || cap == 800000000);
}

static const struct test {
    const char *name;
    bool newcomer; /* stopped while it takes its seat, too */
    void (*before)(void);
    void (*call)(void); /* in the process that is stopped */
    void (*meanwhile)(void);
    bool (*right)(void); /* after it went on */
} tests[] = {
    {"reserve", false, nothing, call_reserve, nothing, reserve_is_whole},
    {"first call", true, nothing, call_reserve, nothing, reserve_is_whole},
    {"reserve with a key, asked twice", false, nothing, call_keyed, repeat_keyed, keyed_is_once},
    {"reserve with a key, asked twice, with room for one", false, nothing, call_keyed_narrow, repeat_keyed_narrow,
     keyed_is_once},
    {"first use of a scope, by two", false, nothing, call_first_use, use_first, first_use_is_one},
    {"settle", false, hold_nine, call_settle, nothing, settle_is_whole},
    {"settle against settle", false, hold_nine, call_settle, settle_too, ended_once},
    {"settle against refund", false, hold_nine, call_settle, refund_too, ended_once},
    {"refund against settle", false, hold_nine, call_refund, settle_too, ended_once},
    {"settle against expiry", false, hold_nine, call_settle, expire_too, settle_is_booked},
    {"extend", false, hold_nine, call_extend, nothing, extend_is_whole},
    {"extend against expiry", false, hold_nine, call_extend, expire_too, extend_or_end},
    {"extend against a settle and what takes its room", false, hold_tight, call_extend_tight, end_and_take,
     extend_is_not_refused},
    {"a reaper's pass", false, hold_overdue, call_reap, nothing, is_expired},
    {"a reaper's pass against another", false, hold_overdue, call_reap, expire_too, is_expired},
    {"limits of a scope, set by two", false, nothing, call_limits, limits_too, limits_are_of_one},
};

/* ------------------------------------------------------------------------------------------------------- the machinery */

static pid_t start_stopped(const struct test *test, unsigned accesses)
{
    pid_t parent = getpid(), pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid != 0)
        return pid;
    tlshm_handle handle;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || (!test->newcomer && tlshm_resolve(space.t, "tenant:t", 0, &handle) != 0))
        _exit(2);
    MUST(hit_arm(accesses, SIGSTOP), "built without hooks");
    test->call();
    answer->whole = hit_disarm();
    _exit(0);
}

static void verify_found(void *context, const char *text)
{
    (void)context;
    printf("# %s\n", text);
}

/* What ends the reservation comes last, so that its record is not used again by then. */
static void let_others(const struct test *test)
{
    work();
    if (turn % 5 == 0)
        newcomer_works();
    test->meanwhile();
    MUST(tlshm_verify(space.t, verify_found, NULL, NULL) == 0, "not sound beside a stopped process");
}

/* Waits for the process to stop, lets the others work, and waits for its end. False: it was not stopped. */
static bool stop_once(const struct test *test, unsigned accesses)
{
    int status = 0;
    bool stopped = false;
    memset(answer, 0, sizeof *answer);
    test->before();
    pid_t pid = start_stopped(test, accesses);
    while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
        stopped = true;
        let_others(test);
        kill(pid, SIGCONT);
    }
    MUST(status == 0, "%s: ended with %x after a stop at access %u", test->name, (unsigned)status, accesses);
    if (!stopped)
        test->meanwhile();
    MUST(answer->whole == !stopped, "%s: stopped at access %u, or not?", test->name, accesses);
    return stopped;
}

static bool adds_up(void)
{
    tlshm_scope_usage usage = space_usage(&space, "tenant:t");
    bool sums = usage.used[TLSHM_TOKENS] == used && usage.held[TLSHM_TOKENS] == 0;
    if (!sums)
        printf("# used %llu, should be %llu; held %llu\n", (unsigned long long)usage.used[TLSHM_TOKENS],
               (unsigned long long)used, (unsigned long long)usage.held[TLSHM_TOKENS]);
    return tlshm_verify(space.t, verify_found, NULL, NULL) == 0 && sums;
}

static void run(const struct test *test, unsigned first, unsigned every)
{
    unsigned accesses = first, stops = 0, wrong = 0;
    bool stopped = true;
    others_calls = 0;
    for (; stopped && accesses < ACCESSES_MOST && wrong == 0; accesses += every, turn++) {
        alarm(DEADLINE_S);
        space_at(&space, space.now + MS(130));
        stopped = stop_once(test, accesses);
        stops += stopped;
        if (!test->right() || !adds_up()) {
            printf("# stopped at access %u: verdicts %d and %d, statuses %s and %s\n", accesses, answer->rc, theirs,
                   tlshm_status_name((int)answer->result.status), tlshm_status_name((int)mine.status));
            used = space_usage(&space, "tenant:t").used[TLSHM_TOKENS]; /* the next case has a chance */
            wrong++;
        }
    }
    tap_ok(wrong == 0 && !stopped && stops > 0, "%s: stopped %u times, %u access%s apart, others made %llu calls",
           test->name, stops, every, every > 1 ? "es" : "", (unsigned long long)others_calls);
}

static void check_seats(void)
{
    tlshm_segment_info info;
    MUST(tlshm_reap(space.t, NULL) == 0 && tlshm_get_segment(space.t, &info) == 0, "segment");
    tap_equal(info.seats_taken, 1, "all seats but one's own are back");
}

static unsigned read_every(int argc, char **argv)
{
    unsigned long every = 1;
    if (argc == 3 && strcmp(argv[1], "--every") == 0)
        every = strtoul(argv[2], NULL, 10);
    else if (argc != 1)
        every = 0;
    MUST(every > 0 && every < 100, "Usage: stopped [--every N]");
    return (unsigned)every;
}

int main(int argc, char **argv)
{
    unsigned every = read_every(argc, argv);
    tlshm_geometry g = space_geometry();
    g.scopes = 64; /* a reaper looks at each */
    g.reservations = 64;
    g.seats = 8;
    g.retention_ns = SEC(1); /* records of expired ones come back after a few turns */
    tap_begin(DEADLINE_S);
    space_open(&space, &g);
    answer = crew_share(sizeof *answer);
    space_limits(&space, "agent:a", "tokens 1G per 1s/10; requests 1M per 3s/60");
    space_limits(&space, "tenant:t", "tokens 1G per day; concurrency 60");
    space_limits(&space, "project:one", "concurrency 1");
    space_limits(&space, "project:tight", "tokens 20 per 100ms/1");
    for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++)
        run(&tests[i], i % every, every);
    check_seats();
    space_close(&space);
    return tap_end();
}
