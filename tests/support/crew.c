/* SPDX-License-Identifier: MIT */
/* crew.c - worker processes for tests. */
#include "crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKER_SECONDS 240

static struct crew_board *board_map(int fd)
{
    void *at = mmap(NULL, sizeof(struct crew_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(at != MAP_FAILED, "mmap of the board: %s", strerror(errno));
    return at;
}

void crew_open(struct crew *c)
{
    *c = (struct crew){.fd = memfd_create("tlshm-test-board", 0)};
    MUST(c->fd >= 0 && ftruncate(c->fd, sizeof(struct crew_board)) == 0, "memfd: %s", strerror(errno));
    c->board = board_map(c->fd);
}

void crew_close(struct crew *c)
{
    munmap(c->board, sizeof *c->board);
    close(c->fd);
}

/* A worker must not outlive the test, whichever way that one ends. */
static void worker_leash(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(2);
    alarm(WORKER_SECONDS);
}

static pid_t worker_fork(void)
{
    pid_t parent = getpid(), pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0)
        worker_leash(parent);
    return pid;
}

static unsigned crew_next(const struct crew *c)
{
    MUST(c->count < CREW_MAX, "the crew is too large");
    return c->count;
}

void crew_fork(struct crew *c, unsigned count, crew_work *work, void *context)
{
    while (count-- > 0) {
        struct crew_seat seat = {crew_next(c), c->board};
        pid_t pid = worker_fork();
        if (pid == 0)
            _exit(work(&seat, context));
        c->pids[c->count++] = pid;
    }
}

void crew_exec(struct crew *c, unsigned count, const char *work, const char *argument)
{
    char index[16], fd[16];
    snprintf(fd, sizeof fd, "%d", c->fd);
    while (count-- > 0) {
        snprintf(index, sizeof index, "%u", crew_next(c));
        pid_t pid = worker_fork();
        if (pid == 0) {
            execl("/proc/self/exe", "worker", "--crew", work, index, fd, argument, (char *)NULL);
            _exit(3);
        }
        c->pids[c->count++] = pid;
    }
}

void crew_take_over(int argc, char **argv, const struct crew_role *roles)
{
    if (argc != 6 || strcmp(argv[1], "--crew") != 0)
        return;
    struct crew_seat seat = {(unsigned)atoi(argv[3]), board_map(atoi(argv[4]))};
    worker_leash(getppid());
    for (; roles->name != NULL; roles++)
        if (strcmp(roles->name, argv[2]) == 0)
            _exit(roles->work(&seat, argv[5]));
    _exit(4);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

void crew_wait(struct crew_seat *seat, unsigned gate)
{
    atomic_fetch_add(&seat->board->arrived, 1);
    while (atomic_load(&seat->board->gate) < gate)
        nap();
}

void crew_gather(struct crew *c, unsigned count)
{
    while (atomic_load(&c->board->arrived) < count)
        nap();
    atomic_store(&c->board->arrived, 0);
}

void crew_let(struct crew *c, unsigned gate)
{
    atomic_store(&c->board->gate, gate);
}

void crew_kill(struct crew *c, unsigned index)
{
    kill(c->pids[index], SIGKILL);
}

unsigned crew_join(struct crew *c)
{
    unsigned failed = 0;
    c->killed = 0;
    for (unsigned i = 0; i < c->count; i++) {
        int status = -1;
        while (waitpid(c->pids[i], &status, 0) < 0)
            MUST(errno == EINTR, "waitpid: %s", strerror(errno));
        failed += status != 0 ? 1 : 0;
        c->killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    }
    c->count = 0;
    atomic_store(&c->board->arrived, 0);
    atomic_store(&c->board->gate, 0);
    return failed;
}

void *crew_share(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(at != MAP_FAILED, "mmap: %s", strerror(errno));
    return at;
}

uint64_t crew_sum(const struct crew *c, unsigned field)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CREW_MAX; i++)
        sum += c->board->lines[i].of[field];
    return sum;
}
