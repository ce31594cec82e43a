/* SPDX-License-Identifier: MIT */
/* crew.c - posix_spawn() of this same program, a packet socket to each worker, and what its death means for its calls. */
#include "crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

extern char **environ;

enum { FD_FLOOR = 10, PATIENCE_MS = 60000, FIRST_ROOM = 64, SALT_PLACE = 77 };

static bool complain(struct crew *c, unsigned place, const char *text)
{
    snprintf(c->why, sizeof c->why, "worker %u: %s", place, text);
    return false;
}

static unsigned place_of(const struct crew *c, uint64_t call)
{
    return (unsigned)(random_hash(c->stage->head->rules.seed + SALT_PLACE, call) % c->count);
}

/* ----------------------------------------------------------------------------------------------------------- starting */

/*
 * Workers have a process group of their own, so that the terminal's interrupt reaches the coordinator alone and nobody
 * dies in the middle of a call because somebody wants to see the report.
 */
static int spawn(struct crew *c, unsigned place, int stage_fd, int socket_fd)
{
    char name[] = "tlshm-replay", word[] = WORKER_WORD, desk[16], parent[16];
    snprintf(desk, sizeof desk, "%u", place);
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    char *const argv[] = {name, word, desk, parent, NULL};
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);

    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, stage_fd, WORKER_STAGE_FD);
    posix_spawn_file_actions_adddup2(&files, socket_fd, WORKER_SOCKET_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int code = posix_spawn(&c->members[place].pid, "/proc/self/exe", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

/* Descriptors below the floor are where the worker wants its own: dup2() would overwrite one with the other. */
static int lifted(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);
    close(fd);
    return high;
}

static bool hire(struct crew *c, unsigned place)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return complain(c, place, strerror(errno));
    int stage_fd = fcntl(c->stage->fd, F_DUPFD_CLOEXEC, FD_FLOOR), socket_fd = lifted(ends[1]);
    int code = stage_fd < 0 || socket_fd < 0 ? errno : spawn(c, place, stage_fd, socket_fd);
    close(stage_fd);
    close(socket_fd);
    if (code != 0) {
        close(ends[0]);
        c->members[place].pid = 0;
        c->members[place].fd = -1;
        return complain(c, place, strerror(code));
    }
    c->members[place].fd = ends[0];
    return true;
}

bool crew_start(struct crew *c, struct stage *stage, unsigned count)
{
    *c = (struct crew){.stage = stage, .members = calloc(count, sizeof *c->members), .count = count};
    if (!c->members) {
        c->count = 0;
        return complain(c, 0, "out of memory");
    }
    for (unsigned i = 0; i < count; i++)
        c->members[i].fd = -1;
    for (unsigned i = 0; i < count; i++)
        if (!hire(c, i))
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------- orders */

static bool insert(struct crew *c, unsigned place, size_t at, order o)
{
    struct crew_member *m = &c->members[place];
    if (m->count == m->room) {
        size_t room = m->room ? m->room * 2 : FIRST_ROOM;
        order *orders = reallocarray(m->orders, room, sizeof *orders);
        if (!orders)
            return complain(c, place, "out of memory");
        m->orders = orders;
        m->room = room;
    }
    memmove(&m->orders[at + 1], &m->orders[at], (m->count - at) * sizeof *m->orders);
    m->orders[at] = o;
    m->count++;
    return true;
}

bool crew_order(struct crew *c, order o)
{
    unsigned place = place_of(c, order_call(o));
    if (order_call(o) >= c->frontier)
        c->frontier = order_call(o) + 1;
    return insert(c, place, c->members[place].count, o);
}

static bool is_busy(const struct crew_member *m)
{
    return m->done < m->count;
}

static bool bury(struct crew *c, unsigned place);

/* The next packet of orders. A worker that is found dead here is replaced, and its successor gets them. */
static bool send_next(struct crew *c, unsigned place)
{
    struct crew_member *m = &c->members[place];
    size_t count = m->count - m->done;
    if (count > WORKER_ORDERS_MAX)
        count = WORKER_ORDERS_MAX;
    ssize_t n = send(m->fd, m->orders + m->done, count * sizeof *m->orders, MSG_NOSIGNAL);
    m->sent = m->done + count;
    if (n >= 0)
        return true;
    if (errno == EPIPE || errno == ECONNRESET)
        return bury(c, place);
    return complain(c, place, strerror(errno));
}

bool crew_send(struct crew *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (is_busy(&c->members[i]) && !send_next(c, i))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- death */

/* Calls of the dead that were with the provider: their answers reach nobody. */
static void lose_calls(struct crew *c, unsigned place)
{
    for (uint64_t call = 0; call < c->frontier; call++)
        if (c->stage->ledger[call].phase == PHASE_ADMITTED && place_of(c, call) == place)
            c->stage->ledger[call].phase = PHASE_LOST;
}

/* What is left for the successor: reserves that were not answered, settles that were cut off. */
static bool is_left(const struct crew *c, order o)
{
    if (order_kind_of(o) == ORDER_DIE)
        return false;
    uint32_t phase = c->stage->ledger[order_call(o)].phase;
    if (order_kind_of(o) == ORDER_RESERVE)
        return phase == PHASE_WAITING || phase == PHASE_RESERVING;
    /* A call that is still to be reserved is also still to be settled. */
    return phase == PHASE_SETTLING || phase == PHASE_WAITING || phase == PHASE_RESERVING;
}

static bool is_cut_off(const struct crew *c, order o)
{
    if (order_kind_of(o) == ORDER_DIE)
        return false;
    uint32_t phase = c->stage->ledger[order_call(o)].phase;
    return phase == (order_kind_of(o) == ORDER_RESERVE ? PHASE_RESERVING : PHASE_SETTLING);
}

static void keep_what_is_left(struct crew *c, struct crew_member *m)
{
    size_t kept = 0;
    for (size_t i = m->done; i < m->count; i++) {
        c->cut_off += is_cut_off(c, m->orders[i]);
        if (is_left(c, m->orders[i]))
            m->orders[kept++] = m->orders[i];
    }
    m->done = 0;
    m->count = kept;
}

static bool explain_exit(struct crew *c, unsigned place, int status)
{
    char text[300];
    const char *why = c->stage->desks[place].why;
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, sizeof text, "%s", why[0] ? why : "could not start");
    return complain(c, place, text);
}

static bool bury(struct crew *c, unsigned place)
{
    struct crew_member *m = &c->members[place];
    int status;
    pid_t pid = m->pid;
    close(m->fd);
    m->fd = -1;
    m->pid = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return complain(c, place, strerror(errno));
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        return explain_exit(c, place, status);
    c->deaths++;
    lose_calls(c, place);
    keep_what_is_left(c, m);
    return hire(c, place) && (!is_busy(m) || send_next(c, place));
}

/* ------------------------------------------------------------------------------------------------------------ striking */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns)
{
    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        continue;
}

static struct crew_member *busiest(const struct crew *c)
{
    struct crew_member *best = NULL;
    for (unsigned i = 0; i < c->count; i++) {
        struct crew_member *m = &c->members[i];
        if (is_busy(m) && (!best || m->count - m->done > best->count - best->done))
            best = m;
    }
    return best;
}

bool crew_doom(struct crew *c, uint64_t pick, uint64_t delay_ns)
{
    struct crew_member *victim = busiest(c);
    return victim && insert(c, (unsigned)(victim - c->members), pick % victim->count, order_make(delay_ns, ORDER_DIE));
}

bool crew_strike(struct crew *c, uint64_t delay_ns)
{
    struct crew_member *victim = busiest(c);
    if (!victim)
        return false;
    spin(delay_ns);
    return kill(victim->pid, SIGKILL) == 0;
}

/* ------------------------------------------------------------------------------------------------------------- waiting */

/* One worker's socket has something: an answer, or its end. */
static bool attend(struct crew *c, unsigned place)
{
    char answer;
    struct crew_member *m = &c->members[place];
    ssize_t n = recv(m->fd, &answer, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return bury(c, place);
    m->done = m->sent;
    return !is_busy(m) || send_next(c, place);
}

static nfds_t watch(const struct crew *c, struct pollfd *entries, unsigned *places)
{
    nfds_t n = 0;
    for (unsigned i = 0; i < c->count; i++) {
        if (!is_busy(&c->members[i]))
            continue;
        places[n] = i;
        entries[n++] = (struct pollfd){.fd = c->members[i].fd, .events = POLLIN};
    }
    return n;
}

static bool wait_once(struct crew *c, struct pollfd *entries, unsigned *places, nfds_t n)
{
    int ready = poll(entries, n, PATIENCE_MS);
    if (ready == 0)
        return complain(c, places[0], "has not answered for a minute");
    if (ready < 0)
        return errno == EINTR || complain(c, places[0], strerror(errno));
    for (nfds_t i = 0; i < n; i++)
        if (entries[i].revents && !attend(c, places[i]))
            return false;
    return true;
}

bool crew_wait(struct crew *c)
{
    struct pollfd entries[CREW_MAX];
    unsigned places[CREW_MAX];
    for (nfds_t n; (n = watch(c, entries, places)) > 0;)
        if (!wait_once(c, entries, places, n))
            return false;
    for (unsigned i = 0; i < c->count; i++)
        c->members[i].count = c->members[i].done = c->members[i].sent = 0;
    return true;
}

/* ----------------------------------------------------------------------------------------------------------------- end */

static void let_go(struct crew_member *m)
{
    if (m->fd >= 0)
        close(m->fd);
    if (m->pid <= 0)
        return;
    /* Reading the end of its socket is enough for a worker that is well; one that is not answered for must not stay. */
    const struct timespec nap = {.tv_nsec = 1000000};
    for (int tries = 0; tries < 1000; tries++) {
        if (waitpid(m->pid, NULL, WNOHANG) != 0)
            return;
        nanosleep(&nap, NULL);
    }
    kill(m->pid, SIGKILL);
    waitpid(m->pid, NULL, 0);
}

void crew_end(struct crew *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        if (c->members[i].fd >= 0)
            shutdown(c->members[i].fd, SHUT_RDWR);
    }
    for (unsigned i = 0; i < c->count; i++) {
        let_go(&c->members[i]);
        free(c->members[i].orders);
    }
    free(c->members);
    c->members = NULL;
    c->count = 0;
}
