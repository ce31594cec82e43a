/* SPDX-License-Identifier: MIT */
/* step.c - ptrace. See step.h. */
#include "step.h"

#include "watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKER_SECONDS 300
#define VISITS_ROOM 65536
#define REACH_BACK 400 /* instructions looked at for a breakpoint that is hit seldom */

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        MUST(errno == EINTR, "waitpid: %s", strerror(errno));
    return status;
}

/* ------------------------------------------------------------------------------------------------ whose signal it is */

static bool is_fault(int signal)
{
    static const int faults[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                 SIGSYS,  SIGABRT, SIGALRM}; /* the last: its time is over */
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (signal == faults[i])
            return true;
    return false;
}

/*
 * Is it one that the process brought upon itself: a step's trap, its mark, a fault? All others come from outside, of a
 * terminal, a service manager or whoever stops and ends processes, and say nothing about the library.
 */
static bool is_its_own(pid_t pid, int signal)
{
    siginfo_t info = {0};
    if (signal == SIGTRAP)
        return true; /* every step: looking closer would take longer than the step */
    if (signal != SIGSTOP && !is_fault(signal))
        return false;
    if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) != 0)
        return false; /* the stop of a whole group */
    bool sent = info.si_code <= 0;
    return sent ? info.si_pid == pid : signal != SIGSTOP;
}

static int last_status;

/* Waits until it ends or stops for a signal of its own; others are kept from it, and it goes on as before. */
static int wait_on(pid_t pid, int how)
{
    for (;;) {
        last_status = wait_for(pid);
        if (!WIFSTOPPED(last_status) || is_its_own(pid, WSTOPSIG(last_status)))
            return last_status;
        MUST(ptrace(how, pid, NULL, NULL) == 0, "ptrace: go on after a signal: %s", strerror(errno));
    }
}

/* The signal of its own that it stopped for, or 0 when it is gone. */
static int go(pid_t pid, int how)
{
    MUST(ptrace(how, pid, NULL, NULL) == 0, "ptrace: go on: %s", strerror(errno));
    int status = wait_on(pid, how);
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

const char *step_fate(void)
{
    static char text[80];
    if (WIFSTOPPED(last_status))
        snprintf(text, sizeof text, "stopped by SIG%s", sigabbrev_np(WSTOPSIG(last_status)));
    else if (WIFSIGNALED(last_status))
        snprintf(text, sizeof text, "killed by SIG%s", sigabbrev_np(WTERMSIG(last_status)));
    else
        snprintf(text, sizeof text, "exited with %d", WEXITSTATUS(last_status));
    return text;
}

/* --------------------------------------------------------------------------------------------------- the machine */

#ifdef __x86_64__
static bool is_prefix(unsigned char byte)
{
    return (byte & 0xf0) == 0x40 || memchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65", byte, 9) != NULL;
}

/* The traced process was forked from this one: its code is at the same place here. */
static enum step_kind kind_of(uint64_t at)
{
    const unsigned char *code = (const unsigned char *)(uintptr_t)at;
    while (is_prefix(*code))
        code++;
    if (code[0] == 0xf0)
        return STEP_ATOMIC;
    if ((code[0] == 0x86 || code[0] == 0x87) && code[1] < 0xc0)
        return STEP_ATOMIC;
    return code[0] == 0x0f && code[1] == 0x05 ? STEP_SYSTEM : STEP_PLAIN;
}

static uint64_t place_of(pid_t pid)
{
    errno = 0;
    long at = ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), NULL);
    MUST(errno == 0, "ptrace: registers: %s", strerror(errno));
    return (uint64_t)at;
}

/* A hardware breakpoint; `at` 0: none. False if there is no such thing here. */
static bool break_at(pid_t pid, uint64_t at)
{
    const size_t address = offsetof(struct user, u_debugreg[0]), control = offsetof(struct user, u_debugreg[7]);
    if (at == 0)
        return ptrace(PTRACE_POKEUSER, pid, control, 0L) == 0;
    return ptrace(PTRACE_POKEUSER, pid, address, at) == 0 && ptrace(PTRACE_POKEUSER, pid, control, 1L) == 0;
}

static long word_of(pid_t pid, int what, long at)
{
    errno = 0;
    long word = ptrace(what, pid, at, NULL);
    MUST(errno == 0, "ptrace: reading: %s", strerror(errno));
    return word;
}

/* Runs to another instruction, by a trap there: that needs no hardware. */
static int run_until(pid_t pid, long end)
{
    const size_t place = offsetof(struct user, regs.rip);
    long code = word_of(pid, PTRACE_PEEKTEXT, end);
    MUST(ptrace(PTRACE_POKETEXT, pid, end, (code & ~0xffL) | 0xcc) == 0, "ptrace: trap: %s", strerror(errno));
    int signal = go(pid, PTRACE_CONT);
    if (signal == SIGTRAP)
        MUST(ptrace(PTRACE_POKEUSER, pid, place, end) == 0, "ptrace: back: %s", strerror(errno));
    if (signal != 0)
        MUST(ptrace(PTRACE_POKETEXT, pid, end, code) == 0, "ptrace: trap: %s", strerror(errno));
    return signal;
}

/* Runs a function that was just entered to its return. */
static int pass_over(pid_t pid)
{
    const size_t stack = offsetof(struct user, regs.rsp);
    return run_until(pid, word_of(pid, PTRACE_PEEKDATA, word_of(pid, PTRACE_PEEKUSER, (long)stack)));
}

/* Where an instruction ends that moves, fills or compares memory by itself, one step for each word of it; else 0. */
static uint64_t end_of_repetition(uint64_t at)
{
    const unsigned char *code = (const unsigned char *)(uintptr_t)at;
    bool repeats = false;
    for (; is_prefix(*code); code++)
        repeats |= *code == 0xf2 || *code == 0xf3;
    return repeats && *code >= 0xa4 && *code <= 0xaf && *code != 0xa8 && *code != 0xa9 ? (uintptr_t)(code + 1) : 0;
}

/* Where such an instruction writes, if it does. */
static uint64_t target_of_repetition(pid_t pid)
{
    return (uint64_t)word_of(pid, PTRACE_PEEKUSER, offsetof(struct user, regs.rdi));
}

bool step_decodes(void)
{
    return true;
}
#else
static enum step_kind kind_of(uint64_t at)
{
    (void)at;
    return STEP_PLAIN;
}

/* Every point counts as passed once, so that all are reached by steps. */
static uint64_t place_of(pid_t pid)
{
    (void)pid;
    return 0;
}

static bool break_at(pid_t pid, uint64_t at)
{
    (void)pid;
    (void)at;
    return false;
}

static int pass_over(pid_t pid)
{
    return go(pid, PTRACE_SINGLESTEP);
}

static int run_until(pid_t pid, long end)
{
    (void)end;
    return go(pid, PTRACE_SINGLESTEP);
}

static uint64_t end_of_repetition(uint64_t at)
{
    (void)at;
    return 0;
}

static uint64_t target_of_repetition(pid_t pid)
{
    (void)pid;
    return 0;
}

bool step_decodes(void)
{
    return false;
}
#endif

/* ---------------------------------------------------------------------------------------------------- the process */

void step_mark(void)
{
    syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
}

static void run(pid_t parent, int (*work)(void))
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(2);
    alarm(WORKER_SECONDS);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(3);
    _exit(work());
}

/* Threads look for a seat by their number: those with the same rest find the same one. */
static bool is_wanted_number(pid_t pid)
{
    return (unsigned)pid % STEP_CLASSES == 0;
}

/* Uses numbers up until a wanted one is next, unless others take it: a child that shares all memory costs little. */
static void come_near(void)
{
    for (pid_t pid = 0; !is_wanted_number(pid + 1);) {
        pid = vfork();
        if (pid == 0)
            _exit(0);
        MUST(pid > 0, "vfork: %s", strerror(errno));
        wait_for(pid);
    }
}

pid_t step_start(int (*work)(void))
{
    pid_t parent = getpid(), pid;
    for (;;) {
        come_near();
        pid = fork();
        MUST(pid >= 0, "fork: %s", strerror(errno));
        if (pid == 0)
            is_wanted_number(getpid()) ? run(parent, work) : _exit(0);
        if (is_wanted_number(pid))
            break;
        wait_for(pid);
    }
    int status = wait_on(pid, PTRACE_CONT);
    MUST(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "a process did not come to its first mark: %s",
         step_fate());
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
    return pid;
}

static int only_marks(void)
{
    step_mark();
    return 0;
}

bool step_possible(const char **why)
{
    pid_t parent = getpid(), pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0)
        run(parent, only_marks);
    int status = wait_on(pid, PTRACE_CONT);
    *why = "processes may not be traced here";
    if (!WIFSTOPPED(status))
        return false;
    *why = "processes cannot be stepped here";
    bool steps = ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0;
    if (steps)
        status = wait_on(pid, PTRACE_SINGLESTEP);
    if (WIFSTOPPED(status))
        step_kill(pid);
    return steps && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

void step_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    int status;
    do
        status = wait_for(pid);
    while (WIFSTOPPED(status));
}

bool step_resume(pid_t pid)
{
    break_at(pid, 0);
    return go(pid, PTRACE_CONT) == SIGSTOP;
}

bool step_leave(pid_t pid)
{
    if (go(pid, PTRACE_CONT) != 0)
        step_kill(pid);
    return last_status == 0;
}

/* ------------------------------------------------------------------------------------------------- the first walk */

/* What liburcu does to a table of the process's own, when that is made and given up: long walks, each is one step. */
static bool is_passed_over(uint64_t at)
{
    static const char *const names[] = {"_cds_lfht_new", "cds_lfht_destroy", "cds_lfht_first", "cds_lfht_next"};
    static uint64_t functions[4];
    for (unsigned i = 0; i < 4; i++) {
        if (functions[i] == 0)
            functions[i] = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
        MUST(functions[i] != 0, "liburcu's tables have no %s", names[i]);
        if (at == functions[i])
            return true;
    }
    return false;
}

/* Is one step from here more than an instruction's? Also when memory is moved or filled that nobody else sees. */
static bool is_passed(pid_t pid, uint64_t at)
{
    return is_passed_over(at) || (end_of_repetition(at) != 0 && !watch_is_shared(pid, target_of_repetition(pid)));
}

static int pass(pid_t pid, uint64_t at)
{
    return is_passed_over(at) ? pass_over(pid) : run_until(pid, (long)end_of_repetition(at));
}

static int step(pid_t pid, const struct step_point *point)
{
    return point->passed ? pass(pid, point->at) : go(pid, PTRACE_SINGLESTEP);
}

/* How often each instruction was met. Nothing is allocated: the processes to come must find the same heap. */
static struct visit {
    uint64_t at;
    unsigned times;
} visits[VISITS_ROOM];
static unsigned visits_used;

static unsigned visit(uint64_t at)
{
    unsigned i = (unsigned)(at * UINT64_C(0x9e3779b97f4a7c15) >> 32) % VISITS_ROOM;
    while (visits[i].times != 0 && visits[i].at != at)
        i = (i + 1) % VISITS_ROOM;
    visits_used += visits[i].times == 0 ? 1 : 0;
    MUST(visits_used < VISITS_ROOM, "too many different instructions");
    visits[i].at = at;
    return ++visits[i].times;
}

static struct step_point points[STEP_POINTS_MOST];

void step_record(pid_t pid, struct step_path *path)
{
    watch_has_changed();
    uint64_t state = watch_state(pid);
    memset(visits, 0, sizeof visits);
    visits_used = 0;
    *path = (struct step_path){.points = points};
    for (int signal = SIGTRAP; signal == SIGTRAP;) {
        MUST(path->count < STEP_POINTS_MOST, "no end of the stretch");
        struct step_point *point = &points[path->count++];
        point->at = place_of(pid);
        point->again = point > points && point[-1].at == point->at;
        point->time = point->again ? point[-1].time : visit(point->at);
        point->kind = kind_of(point->at);
        point->passed = step_decodes() && is_passed(pid, point->at);
        point->state = state;
        signal = step(pid, point);
        MUST(signal == SIGTRAP || signal == SIGSTOP, "the first walk: %s", step_fate());
        point->stores = watch_has_changed();
        if (point->stores)
            state = watch_state(pid);
    }
    path->count--; /* the last one is the mark */
}

/* --------------------------------------------------------------------------------------------------- to a point */

/* Where to set the breakpoint on the way to point n: as few stops as possible. */
static unsigned best_start(const struct step_path *path, unsigned n)
{
    unsigned best = n;
    for (unsigned back = 0; back <= n && back < REACH_BACK; back++) {
        const struct step_point *point = &path->points[n - back];
        if (!point->again && (path->points[best].again || point->time + back < path->points[best].time + (n - best)))
            best = n - back;
    }
    return best;
}

/* SIGTRAP: stopped where it was wanted. */
static int run_to(pid_t pid, const struct step_point *point)
{
    int signal = SIGTRAP;
    for (unsigned hits = 0; signal == SIGTRAP && hits < point->time; hits++)
        signal = go(pid, PTRACE_CONT);
    break_at(pid, 0);
    return signal;
}

enum step_reach step_to(pid_t pid, const struct step_path *path, unsigned n, bool by_steps)
{
    if (n >= path->count)
        return step_resume(pid) ? STEP_AT_END : STEP_CRASHED;
    int signal = SIGTRAP;
    unsigned from = 0, start = best_start(path, n);
    if (!by_steps && !path->points[start].again && path->points[start].time < start &&
        break_at(pid, path->points[start].at)) {
        signal = run_to(pid, &path->points[start]);
        from = start;
    }
    for (; signal == SIGTRAP && from < n; from++)
        signal = step(pid, &path->points[from]);
    if (signal != SIGTRAP)
        return signal == SIGSTOP ? STEP_AT_END : STEP_CRASHED;
    bool same = place_of(pid) == path->points[n].at && watch_state(pid) == path->points[n].state;
    return same ? STEP_THERE : STEP_ELSEWHERE;
}

bool step_to_atomic(pid_t pid)
{
    int signal = SIGTRAP;
    while (step_decodes() && signal == SIGTRAP) {
        uint64_t at = place_of(pid);
        if (kind_of(at) == STEP_ATOMIC)
            break;
        signal = is_passed(pid, at) ? pass(pid, at) : go(pid, PTRACE_SINGLESTEP);
    }
    return signal == SIGTRAP;
}

void step_over(pid_t pid)
{
    int signal = go(pid, PTRACE_SINGLESTEP);
    MUST(signal == SIGTRAP, "a step: %s", step_fate());
}
