/* SPDX-License-Identifier: MIT */
/*
 * forks.c - attachments across fork, exec, threads, dlopen and thousands of coming and going processes: identities are
 * never mixed up, and nobody's figures move.
 */
#include "crew.h"
#include "space.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tlshm/stats.h>
#include <unistd.h>

static struct space space;
static struct crew crew;

static uint32_t owner_of(tlshm_id id)
{
    tlshm_reservation_info info;
    return tlshm_reservation(space.t, id, &info) == 0 ? info.owner_pid : 0;
}

static tlshm_id reserve_one(tlshm_t *t, const char *scopes)
{
    struct ask a;
    tlshm_id id = 0;
    int rc = tlshm_reserve(t, ask_for(&a, scopes, "tokens=1"), &id, NULL);
    return rc == TLSHM_OK ? id : 0;
}

/* Uses the attachment it was born with, and has a child that does so too. */
static int generations(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    line[0] = (uint64_t)getpid();
    line[1] = reserve_one(space.t, "agent:child");
    pid_t grandchild = fork();
    if (grandchild == 0) {
        line[2] = (uint64_t)getpid();
        line[3] = reserve_one(space.t, "agent:grandchild");
        _exit(line[3] == 0);
    }
    int status = 0;
    (void)context;
    return waitpid(grandchild, &status, 0) != grandchild || status != 0 || line[1] == 0;
}

static void children_have_their_own_identity(void)
{
    tlshm_id before = reserve_one(space.t, "agent:parent");
    crew_fork(&crew, 3, generations, NULL);
    tap_equal(crew_join(&crew), 0, "children and grandchildren use the attachment they inherit");
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t *line = crew.board->lines[i].of;
        tap_equal(owner_of(line[1]), line[0], "a child's hold carries the child's pid");
        tap_equal(owner_of(line[3]), line[2], "a grandchild's hold carries the grandchild's pid");
    }
    tap_equal(owner_of(before), (uint32_t)getpid(), "the parent's hold is still its own");
    tlshm_id after = reserve_one(space.t, "agent:parent");
    tap_equal(owner_of(after), (uint32_t)getpid(), "and so is its next one");
    tap_equal((unsigned)tlshm_refund(space.t, crew.board->lines[0].of[1], NULL), TLSHM_OK,
              "a child's hold can be ended by its parent");
}

/* A child that detaches leaves its parent's attachment alone. */
static int detaching(struct crew_seat *seat, void *context)
{
    (void)context;
    seat->board->lines[seat->index].of[4] = reserve_one(space.t, "agent:leaver");
    tlshm_detach(space.t);
    return 0;
}

static void child_that_detaches(void)
{
    crew_fork(&crew, 4, detaching, NULL);
    tap_equal(crew_join(&crew), 0, "children detach what they inherited");
    tap_ok(reserve_one(space.t, "agent:parent") != 0, "the parent goes on");
    tap_equal(space_usage(&space, "agent:leaver").held[TLSHM_TOKENS], 4, "and the children's holds stay");
}

/* Keeps reserving and settling until the board says stop; notes its own sum. */
static int working(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    tlshm_t *t = space_attach(&space);
    (void)context;
    crew_wait(seat, 1);
    while (atomic_load(&seat->board->shared[0]) == 0) {
        tlshm_amounts three = {{3}};
        tlshm_id id = reserve_one(t, "agent:busy tenant:t");
        if (id == 0 || tlshm_settle(t, id, &three, TLSHM_EXACT, NULL) != TLSHM_OK)
            return 1;
        line[0] += 3;
        line[1]++;
    }
    tlshm_detach(t);
    return 0;
}

/* An executed visitor: attaches, looks or works, detaches. */
static int visiting(struct crew_seat *seat, void *context)
{
    struct space own = {.now = 0};
    snprintf(own.path, sizeof own.path, "%s", (const char *)context);
    own.t = space_attach(&own);
    if (seat->index % 2 == 0) {
        tlshm_id id = reserve_one(own.t, "agent:visitor");
        if (id == 0 || tlshm_refund(own.t, id, NULL) != TLSHM_OK)
            return 1;
    }
    tlshm_detach(own.t);
    return 0;
}

static unsigned visits_executed(unsigned count)
{
    unsigned failed = 0;
    while (count > 0) {
        struct crew visitors = crew;
        visitors.count = 0;
        for (unsigned i = 0; i < 10 && count > 0; i++, count--)
            crew_exec(&visitors, 1, "visiting", space.path);
        for (unsigned i = 0; i < visitors.count; i++) {
            int status = -1;
            MUST(waitpid(visitors.pids[i], &status, 0) == visitors.pids[i], "waitpid");
            failed += status != 0 ? 1 : 0;
        }
    }
    return failed;
}

static unsigned visits_here(unsigned count)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < count; i++) {
        tlshm_t *t = NULL;
        failed += tlshm_attach(&t, space.path, i % 3 == 0 ? TLSHM_READONLY : 0, NULL) != 0 ? 1 : 0;
        if (i % 3 == 1)
            failed += tlshm_refund(t, reserve_one(t, "agent:visitor"), NULL) != TLSHM_OK ? 1 : 0;
        tlshm_detach(t);
    }
    return failed;
}

static void coming_and_going_under_load(void)
{
    memset(crew.board->lines, 0, sizeof crew.board->lines);
    crew_fork(&crew, 2, working, NULL);
    crew_gather(&crew, 2);
    crew_let(&crew, 1);
    tap_equal(visits_here(1000), 0, "a thousand attachments of one process");
    tap_equal(visits_executed(200), 0, "two hundred processes that come and go");
    atomic_store(&crew.board->shared[0], 1);
    tap_equal(crew_join(&crew), 0, "the workers beside them end well");
    tlshm_scope_usage usage = space_usage(&space, "agent:busy");
    tap_equal(usage.used[TLSHM_TOKENS], crew_sum(&crew, 0), "the workers' tokens are those that they counted");
    tap_equal(usage.used[TLSHM_REQUESTS], crew_sum(&crew, 1), "and so are their requests");
    tap_equal(usage.held[TLSHM_TOKENS], 0, "nothing is held");
    tap_equal(space_usage(&space, "agent:visitor").held[TLSHM_TOKENS], 0, "nor by the visitors");
    tlshm_segment_info info;
    tlshm_reap(space.t, NULL); /* children of earlier tests ended without giving theirs back */
    MUST(tlshm_get_segment(space.t, &info) == 0, "segment");
    tap_equal(info.seats_taken, 1, "everybody's seat but this process's is free");
}

struct thread_work {
    pthread_t thread;
    pthread_barrier_t *barrier;
    uint64_t charged, failed;
    bool release;
};

static void *thread_run(void *context)
{
    struct thread_work *work = context;
    pthread_barrier_wait(work->barrier);
    for (unsigned i = 0; i < 3000; i++) {
        tlshm_amounts use = {{1 + i % 5}};
        tlshm_id id = reserve_one(space.t, "agent:threads tenant:threads");
        if (id == 0 || tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL) != TLSHM_OK)
            work->failed++;
        else
            work->charged += use.of[TLSHM_TOKENS];
        if (work->release && i % 100 == 0)
            tlshm_thread_release(space.t);
    }
    return NULL;
}

static void threads_of_one_process(void)
{
    struct thread_work work[8];
    pthread_barrier_t barrier;
    uint64_t charged = 0, failed = 0;
    pthread_barrier_init(&barrier, NULL, 8);
    for (unsigned i = 0; i < 8; i++) {
        work[i] = (struct thread_work){.barrier = &barrier, .release = i % 2 == 0};
        MUST(pthread_create(&work[i].thread, NULL, thread_run, &work[i]) == 0, "thread");
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(work[i].thread, NULL);
        charged += work[i].charged;
        failed += work[i].failed;
    }
    pthread_barrier_destroy(&barrier);
    tap_equal(failed, 0, "eight threads share an attachment");
    tap_equal(space_usage(&space, "tenant:threads").used[TLSHM_TOKENS], charged, "and all that they used is counted");
    tap_equal(space_usage(&space, "tenant:threads").held[TLSHM_TOKENS], 0, "and nothing is held");
}

/* More threads in turn than there are seats: each gives its seat back when it ends. */
static void *thread_once(void *context)
{
    *(tlshm_id *)context = reserve_one(space.t, "agent:short");
    return NULL;
}

static void many_short_threads(void)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < 300; i++) {
        pthread_t thread;
        tlshm_id id = 0;
        MUST(pthread_create(&thread, NULL, thread_once, &id) == 0, "thread");
        pthread_join(thread, NULL);
        admitted += id != 0 && tlshm_refund(space.t, id, NULL) == TLSHM_OK ? 1 : 0;
    }
    tap_equal(admitted, 300, "three hundred threads use sixty-four seats one after the other");
}

static void seats_run_out(void)
{
    struct space small;
    tlshm_geometry g = space_geometry();
    tlshm_t *t[3];
    tlshm_id first = 0, second = 0, third = 0;
    struct ask a;
    g.seats = 2;
    space_open(&small, &g);
    for (unsigned i = 0; i < 3; i++)
        t[i] = space_attach(&small);
    ask_for(&a, "agent:a", "tokens=1");
    tap_equal((unsigned)tlshm_reserve(t[0], &a.request, &first, NULL), TLSHM_OK, "the first seat");
    int rc = tlshm_reserve(t[1], &a.request, &second, NULL);
    int last = tlshm_reserve(t[2], &a.request, &third, NULL);
    tap_ok(rc == TLSHM_OK && (last == TLSHM_OK || last == -TLSHM_ENOSEAT), "a seat too many is an error: %s",
           tlshm_error_name(last));
    for (unsigned i = 0; i < 3; i++)
        tlshm_detach(t[i]);
    tap_equal(space_usage(&small, "agent:a").held[TLSHM_TOKENS], last == TLSHM_OK ? 3 : 2, "and errors admit nobody");
    space_close(&small);
}

/* The library by hand, as bindings load it; unloaded with threads that used it still alive. */
struct loaded {
    int (*attach)(tlshm_t **, const char *, unsigned, struct tlshm_error *);
    int (*reserve_agent)(tlshm_t *, const char *, const char *, uint64_t, uint64_t, tlshm_id *, tlshm_refusal *);
    int (*refund)(tlshm_t *, tlshm_id, tlshm_result *);
    void (*detach)(tlshm_t *);
    pthread_barrier_t *used, *unloaded;
    unsigned failed;
};

static void load_function(void *library, const char *name, void *where)
{
    void *symbol = dlsym(library, name);
    MUST(symbol != NULL, "dlsym %s: %s", name, dlerror());
    memcpy(where, &symbol, sizeof symbol);
}

/* An attachment that nobody can end any more, where a leak checker finds it. */
static tlshm_t *volatile left;

static void *loaded_use(void *context)
{
    struct loaded *l = context;
    tlshm_t *t = NULL;
    tlshm_id id = 0;
    l->failed += l->attach(&t, space.path, 0, NULL) != 0 ? 1 : 0;
    l->failed += l->reserve_agent(t, "loaded", "loaded", 5, 0, &id, NULL) != TLSHM_OK ? 1 : 0;
    l->failed += l->refund(t, id, NULL) != TLSHM_OK ? 1 : 0;
    if (l->used != NULL) {
        left = t;
        pthread_barrier_wait(l->used);
        pthread_barrier_wait(l->unloaded); /* its destructors run after the library was closed */
        return NULL;
    }
    l->detach(t);
    return NULL;
}

static void *library_open(struct loaded *l)
{
    char path[512];
    const char *build = getenv("TLSHM_BUILD");
    snprintf(path, sizeof path, "%s/lib/libtlshm.so.0", build != NULL ? build : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return NULL;
    load_function(library, "tlshm_attach", &l->attach);
    load_function(library, "tlshm_reserve_agent", &l->reserve_agent);
    load_function(library, "tlshm_refund", &l->refund);
    load_function(library, "tlshm_detach", &l->detach);
    return library;
}

static void library_that_is_unloaded(void)
{
    pthread_barrier_t used, unloaded;
    pthread_t thread;
    struct loaded l = {.failed = 0};
    for (unsigned i = 0; i < 20; i++) {
        void *library = library_open(&l);
        if (library == NULL) {
            tap_skip("a library that is unloaded", "TLSHM_BUILD does not lead to it");
            return;
        }
        loaded_use(&l);
        dlclose(library);
    }
    tap_equal(l.failed, 0, "loaded and unloaded twenty times");
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&unloaded, NULL, 2);
    l.used = &used;
    l.unloaded = &unloaded;
    void *library = library_open(&l);
    MUST(pthread_create(&thread, NULL, loaded_use, &l) == 0, "thread");
    pthread_barrier_wait(&used);
    dlclose(library);
    pthread_barrier_wait(&unloaded);
    pthread_join(thread, NULL);
    tap_equal(l.failed, 0, "a thread that used it ends after it was unloaded");
    tap_equal(space_usage(&space, "agent:loaded").held[TLSHM_TOKENS], 0, "and holds nothing");
}

int main(int argc, char **argv)
{
    static const struct crew_role roles[] = {{"visiting", visiting}, {NULL, NULL}};
    crew_take_over(argc, argv, roles);
    tap_begin(300);
    space_open(&space, NULL);
    crew_open(&crew);
    children_have_their_own_identity();
    child_that_detaches();
    coming_and_going_under_load();
    threads_of_one_process();
    many_short_threads();
    seats_run_out();
    library_that_is_unloaded();
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
