/* SPDX-License-Identifier: MIT */
/* crew.c - forking, pinning, phases and an end in every case. */
#include "crew.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "timer.h"

#define POLL_NS 500000
#define PATIENCE_NS UINT64_C(20000000000)

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static void handle_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void crew_catch_signals(void)
{
    handle_signals(on_signal);
}

int crew_interrupted(void)
{
    return caught;
}

int crew_nap(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (!caught && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
    return caught ? -1 : 0;
}

unsigned crew_processors(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed) : 1;
}

/* Workers take the allowed processors in turn. */
static void pin(unsigned index)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned left = index % (unsigned)CPU_COUNT(&allowed);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || left-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void worker(struct crew *crew, unsigned index)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    handle_signals(SIG_IGN); /* a terminal's Ctrl-C reaches everybody: the foreman ends the workers */
    pin(index);
    _exit(crew->work(crew, index, crew->context));
}

static int board_open(struct crew *crew, unsigned count)
{
    memset(crew, 0, sizeof *crew);
    crew->bytes = sizeof(struct crew_board) + count * sizeof(struct crew_member);
    crew->board = mmap(NULL, crew->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (crew->board != MAP_FAILED)
        return 0;
    crew->board = NULL;
    perror("cannot map the workers' board");
    return -1;
}

static int wait_ready(struct crew *crew)
{
    uint64_t until = timer_clock_ns() + PATIENCE_NS;
    while (atomic_load(&crew->board->ready) < crew->count) {
        if (crew_check(crew) != 0 || crew_nap(POLL_NS) != 0)
            return -1;
        if (timer_clock_ns() > until) {
            fprintf(stderr, "the workers did not get ready\n");
            return -1;
        }
    }
    return 0;
}

static int start_one(struct crew *crew, unsigned index)
{
    pid_t pid = fork();
    if (pid == 0)
        worker(crew, index);
    if (pid < 0) {
        perror("cannot start a worker");
        return -1;
    }
    crew->pid[index] = pid;
    return 0;
}

int crew_start(struct crew *crew, unsigned count, crew_work work, void *context)
{
    if (count > CREW_MAX || board_open(crew, count) != 0)
        return -1;
    crew->work = work;
    crew->context = context;
    fflush(NULL);
    for (; crew->count < count; crew->count++) {
        if (start_one(crew, crew->count) != 0)
            return -1;
    }
    return wait_ready(crew);
}

void crew_ready(struct crew *crew)
{
    atomic_fetch_add(&crew->board->ready, 1);
    while (crew_phase_get(crew) == CREW_GATHER)
        sched_yield();
}

void crew_phase_set(struct crew *crew, enum crew_phase phase)
{
    atomic_store(&crew->board->phase, phase);
}

static int say_ended(struct crew *crew, unsigned index, int status)
{
    crew->pid[index] = 0;
    fprintf(stderr, "worker %u ended with %s %d\n", index, WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return -1;
}

/* 0 running, 1 ended well, -1 after a message. */
static int reap(struct crew *crew, unsigned index)
{
    int status;
    if (crew->pid[index] == 0)
        return 1;
    if (waitpid(crew->pid[index], &status, WNOHANG) != crew->pid[index])
        return 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return say_ended(crew, index, status);
    crew->pid[index] = 0;
    return 1;
}

int crew_check(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        if (reap(crew, i) != 0)
            return -1;
    }
    return 0;
}

int crew_stop(struct crew *crew, unsigned index)
{
    int status;
    pid_t pid = crew->pid[index];
    if (kill(pid, SIGSTOP) != 0)
        return -1;
    while (waitpid(pid, &status, WUNTRACED) != pid) {
        if (errno != EINTR)
            return -1;
    }
    return WIFSTOPPED(status) ? 0 : say_ended(crew, index, status);
}

void crew_resume(struct crew *crew, unsigned index)
{
    kill(crew->pid[index], SIGCONT);
}

int crew_rest(struct crew *crew, unsigned index)
{
    struct crew_member *member = &crew->board->member[index];
    uint64_t until = timer_clock_ns() + PATIENCE_NS;
    atomic_store(&member->rest, 1);
    while (!atomic_load(&member->resting)) {
        if (crew_check(crew) != 0 || crew_nap(POLL_NS) != 0)
            return -1;
        if (timer_clock_ns() > until) {
            fprintf(stderr, "worker %u does not come back from its call\n", index);
            return -1;
        }
    }
    return 0;
}

void crew_go_on(struct crew *crew, unsigned index)
{
    atomic_store(&crew->board->member[index].rest, 0);
}

static void end_one(struct crew *crew, unsigned index)
{
    kill(crew->pid[index], SIGKILL);
    while (waitpid(crew->pid[index], NULL, 0) < 0 && errno == EINTR)
        continue;
    crew->pid[index] = 0;
}

int crew_replace(struct crew *crew, unsigned index)
{
    if (reap(crew, index) != 0)
        return -1;
    end_one(crew, index);
    return start_one(crew, index);
}

static int all_ended(struct crew *crew)
{
    int ended = 1;
    for (unsigned i = 0; i < crew->count; i++) {
        int one = reap(crew, i);
        if (one < 0)
            return -1;
        ended &= one;
    }
    return ended;
}

int crew_wait(struct crew *crew)
{
    int ended;
    while ((ended = all_ended(crew)) == 0) {
        if (crew_nap(POLL_NS) != 0)
            return -1;
    }
    return ended > 0 ? 0 : -1;
}

int crew_finish(struct crew *crew)
{
    uint64_t until = timer_clock_ns() + PATIENCE_NS;
    int ended;
    crew_phase_set(crew, CREW_END);
    while ((ended = all_ended(crew)) == 0) {
        if (crew_nap(POLL_NS) != 0)
            return -1;
        if (timer_clock_ns() > until) {
            fprintf(stderr, "a worker does not come back from its call\n");
            return -1;
        }
    }
    return ended > 0 ? 0 : -1;
}

void crew_close(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        if (crew->pid[i] != 0)
            end_one(crew, i);
    }
    if (crew->board)
        munmap(crew->board, crew->bytes);
    crew->board = NULL;
}
