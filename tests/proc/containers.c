/* SPDX-License-Identifier: MIT */
/*
 * containers.c - processes that share the file and not the rest: other pid namespaces (each with its own pid 1), time
 * namespaces, mounts, daemons that close every descriptor, files that are removed or replaced while they are used.
 */
#include "crew.h"
#include "space.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tlshm/stats.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static struct space space;
static struct crew crew;

/* What a worker saw, where the parent can read it. */
#define RESULT 0
#define PID 1
#define ID 2

/* Namespaces of our own need root, or a user namespace around them. Returns false, and why in errno. */
static bool leave(int flags)
{
    return unshare(flags) == 0 || (geteuid() != 0 && unshare(flags | CLONE_NEWUSER) == 0);
}

static bool can_leave(int flags, const char *name)
{
    pid_t child = fork();
    if (child == 0)
        _exit(leave(flags) ? 0 : errno);
    int status = 0;
    MUST(waitpid(child, &status, 0) == child, "waitpid");
    if (status == 0)
        return true;
    tap_skip(name, strerror(WEXITSTATUS(status)));
    return false;
}

static int run_child(int (*work)(void))
{
    pid_t child = fork();
    if (child == 0)
        _exit(work());
    int status = -1;
    MUST(child > 0 && waitpid(child, &status, 0) == child, "child");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static tlshm_id reserve(tlshm_t *t, const char *scopes, uint32_t flags)
{
    struct ask a;
    tlshm_id id = 0;
    ask_for(&a, scopes, "tokens=1");
    a.request.flags = flags;
    return tlshm_reserve(t, &a.request, &id, NULL) == TLSHM_OK ? id : 0;
}

/* ------------------------------------------------------------------------------------------------------ pid namespaces */

/* Pid 1 of a namespace of its own: attaches, holds, and waits for what comes. */
static int container(struct crew_seat *seat, void *context)
{
    uint64_t *line = seat->board->lines[seat->index].of;
    (void)context;
    MUST(leave(CLONE_NEWPID), "unshare: %s", strerror(errno));
    pid_t inner = fork();
    if (inner == 0) {
        tlshm_t *t = space_attach(&space);
        line[PID] = (uint64_t)getpid();
        line[ID] = reserve(t, "agent:contained", TLSHM_FREE_ON_DEATH);
        crew_wait(seat, 1);
        tlshm_amounts use = {{2}};
        _exit(tlshm_settle(t, line[ID], &use, TLSHM_EXACT, NULL) == TLSHM_OK ? 0 : 1);
    }
    line[RESULT] = (uint64_t)inner; /* as seen from outside */
    int status = -1;
    waitpid(inner, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

static void pid_namespaces(void)
{
    tlshm_reap_report report;
    tlshm_reservation_info info;
    if (!can_leave(CLONE_NEWPID, "containers with pids of their own"))
        return;
    crew_fork(&crew, 2, container, NULL);
    crew_gather(&crew, 2);
    const struct crew_line *line = crew.board->lines;
    tap_ok(line[0].of[PID] == 1 && line[1].of[PID] == 1, "two containers, each with its own pid 1");
    tap_ok(tlshm_reservation(space.t, line[0].of[ID], &info) == 0 && info.owner_pid == 1,
           "a hold's owner is shown as it saw itself");
    MUST(tlshm_reap(space.t, &report) == 0, "reap");
    tap_equal(report.live, 2, "a reaper outside frees nothing of theirs while they live");
    kill((pid_t)line[0].of[RESULT], SIGKILL);
    while (tlshm_reap(space.t, &report) == 0 && report.seats_freed == 0)
        sched_yield(); /* until the kernel has told of the death */
    tap_equal(report.seats_freed, 1, "one is killed: its seat is freed, and not that of the other pid 1");
    tlshm_reap(space.t, &report);
    tap_equal(report.live, 1, "and only its hold is given back");
    crew_let(&crew, 1);
    tap_equal(crew_join(&crew), 1, "the other one goes on and settles");
    tap_equal(space_usage(&space, "agent:contained").used[TLSHM_TOKENS], 2, "what it used is counted");
}

/* ----------------------------------------------------------------------------------------------------- time namespaces */

static char real_path[200];

/* Enters a time namespace whose boot-time clock is ahead; then runs `work` in it. */
static int in_time(const char *offsets, int (*work)(void))
{
    if (!leave(CLONE_NEWTIME))
        return 200;
    int fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0 || write(fd, offsets, strlen(offsets)) != (ssize_t)strlen(offsets))
        return 201;
    close(fd);
    return run_child(work);
}

static int attach_real(void)
{
    tlshm_t *t = NULL;
    struct tlshm_error err;
    int rc = tlshm_attach(&t, real_path, 0, &err);
    if (rc == 0 && reserve(t, "agent:a", 0) == 0)
        return 100;
    tlshm_detach(t);
    return -rc;
}

static int attach_virtual(void)
{
    return reserve(space_attach(&space), "agent:elsewhen", 0) != 0 ? 0 : 1;
}

static int create_there(void)
{
    char path[220];
    snprintf(path, sizeof path, "%s-there", real_path);
    tlshm_geometry g = space_geometry();
    g.virtual_clock = 0;
    return -tlshm_create(path, &g, NULL);
}

static int other_time(void)
{
    return in_time("boottime 1000 0\nmonotonic 500 0\n", attach_real);
}

static int same_time(void)
{
    return in_time("boottime 0 0\n", attach_real);
}

static int other_time_virtual(void)
{
    return in_time("boottime 1000 0\n", attach_virtual);
}

static int made_elsewhen(void)
{
    return in_time("boottime 1000 0\n", create_there);
}

/* Its children's clock is another, its own is not, and which offsets are its own cannot be read. */
static int in_between(void)
{
    return leave(CLONE_NEWTIME) ? attach_real() : 200;
}

static void time_namespaces(void)
{
    struct tlshm_error err = {0};
    char there[220];
    tlshm_t *t = NULL;
    tlshm_geometry g = space_geometry();
    g.virtual_clock = 0;
    if (!can_leave(CLONE_NEWTIME, "time namespaces"))
        return;
    snprintf(real_path, sizeof real_path, "%s/real", space.dir);
    snprintf(there, sizeof there, "%s-there", real_path);
    MUST(tlshm_create(real_path, &g, &err) == 0, "create: %s", err.text);
    tap_equal((unsigned)run_child(attach_real), 0, "a segment with a real clock can be attached where it was made");
    tap_equal((unsigned)run_child(other_time), TLSHM_ECLOCK, "and not where the boot-time clock is another");
    tap_equal((unsigned)run_child(same_time), 0, "but in a time namespace without an offset");
    tap_equal((unsigned)run_child(other_time_virtual), 0, "a virtual clock is the same everywhere");
    tap_equal((unsigned)run_child(in_between), TLSHM_ECLOCK,
              "who has left for another time and is not there is refused");
    tap_equal((unsigned)run_child(made_elsewhen), 0, "a segment is made in another time");
    tap_ok(tlshm_attach(&t, there, 0, &err) == -TLSHM_ECLOCK, "and refused here: %s", err.text);
    tap_equal((unsigned)tlshm_destroy(there, NULL), 0, "but can be destroyed");
    unlink(real_path);
}

/* -------------------------------------------------------------------------------------------------------------- mounts */

/* The same file under another name, as a container has it. */
static int mounted_elsewhere(void)
{
    char path[320], place[300];
    tlshm_t *t = NULL;
    snprintf(place, sizeof place, "%s/mounted", space.dir);
    snprintf(path, sizeof path, "%s/segment", place);
    if (!leave(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return 2;
    if (mkdir(place, 0700) != 0 || mount(space.dir, place, NULL, MS_BIND, NULL) != 0)
        return 3;
    if (tlshm_attach(&t, path, 0, NULL) != 0 || reserve(t, "agent:mounted", 0) == 0 || tlshm_stale(t) != 0)
        return 4;
    umount2(place, MNT_DETACH);
    return tlshm_stale(t) == 1 && reserve(t, "agent:mounted", 0) != 0 ? 0 : 5;
}

static void mounts(void)
{
    char place[300];
    if (!can_leave(CLONE_NEWNS, "the file under another mount"))
        return;
    snprintf(place, sizeof place, "%s/mounted", space.dir);
    tap_equal((unsigned)run_child(mounted_elsewhere), 0, "the file under another mount, even when the mount goes");
    rmdir(place);
    tap_equal(space_usage(&space, "agent:mounted").held[TLSHM_TOKENS], 2, "is the same segment");
}

/* ------------------------------------------------------------------------------------------------------------- daemons */

static void close_everything(void)
{
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
}

/* Attaches, has a seat, and only then becomes a daemon, as some servers do. */
static int becomes_a_daemon(struct crew_seat *seat, void *context)
{
    tlshm_t *t = space_attach(&space);
    uint64_t *line = seat->board->lines[seat->index].of;
    (void)context;
    if (reserve(t, "agent:daemon", 0) == 0)
        return 1;
    close_everything();
    if (chdir("/") != 0 || (setsid() < 0 && errno != EPERM))
        return 2;
    line[ID] = reserve(t, "agent:daemon agent:new", 0); /* a new scope, too */
    if (line[ID] == 0 || tlshm_stale(t) != 0)
        return 3;
    crew_wait(seat, 1);
    pause();
    return 4;
}

static void daemons(void)
{
    tlshm_reap_report report;
    uint64_t taken = 0, cursor = 0;
    tlshm_seat_info info;
    tlshm_reap(space.t, NULL); /* what earlier children left */
    memset(crew.board->lines, 0, sizeof crew.board->lines);
    crew_fork(&crew, 1, becomes_a_daemon, NULL);
    crew_gather(&crew, 1);
    tap_ok(crew.board->lines[0].of[ID] != 0, "a worker that closed every descriptor goes on reserving");
    MUST(tlshm_reap(space.t, &report) == 0, "reap");
    while (tlshm_seat_next(space.t, &cursor, &info) == 1)
        taken += info.pid == (uint32_t)crew.pids[0] ? 1 : 0;
    tap_equal(taken + report.seats_freed, 1, "and keeps its seat: no lock of it was in a descriptor");
    crew_let(&crew, 1);
    crew_kill(&crew, 0);
    crew_join(&crew);
    MUST(tlshm_reap(space.t, &report) == 0, "reap");
    tap_equal(report.seats_freed, 1, "until it is killed");
}

/* --------------------------------------------------------------------------------------------- removed, replaced, moved */

static void files_that_go(void)
{
    struct space own;
    char moved[200];
    tlshm_t *fresh = NULL;
    space_open(&own, NULL);
    snprintf(moved, sizeof moved, "%s/moved", own.dir);
    tap_equal((unsigned)tlshm_stale(own.t), 0, "a file that is there is the one");
    MUST(rename(own.path, moved) == 0, "rename");
    tap_equal((unsigned)tlshm_stale(own.t), 1, "moved away, it is not");
    MUST(rename(moved, own.path) == 0, "rename");
    tap_equal((unsigned)tlshm_stale(own.t), 0, "moved back, it is");
    MUST(unlink(own.path) == 0, "unlink");
    tap_equal((unsigned)tlshm_stale(own.t), 1, "removed, it is not");
    MUST(tlshm_create(own.path, NULL, NULL) == 0, "create");
    tap_equal((unsigned)tlshm_stale(own.t), 1, "replaced, it is not");
    tap_ok(reserve(own.t, "agent:a", 0) != 0, "those who have it go on");
    MUST(tlshm_attach(&fresh, own.path, 0, NULL) == 0, "attach");
    int64_t left = 0;
    tap_equal((unsigned)tlshm_stale(fresh), 0, "who attaches now gets the new one");
    tap_ok(tlshm_remaining(fresh, "agent:a", 0, TLSHM_TOKENS, &left) == 0 && left == INT64_MAX, "which is empty");
    tlshm_detach(fresh);
    MUST(tlshm_destroy(own.path, NULL) == 0, "destroy");
    tap_equal((unsigned)tlshm_stale(NULL), (unsigned)-TLSHM_EINVAL, "no attachment is an error");
    space_close(&own);
}

int main(void)
{
    tap_begin(300);
    space_open(&space, NULL);
    crew_open(&crew);
    pid_namespaces();
    time_namespaces();
    mounts();
    daemons();
    files_that_go();
    tap_equal((unsigned long long)tlshm_verify(space.t, NULL, NULL, NULL), 0, "the segment is sound");
    crew_close(&crew);
    space_close(&space);
    return tap_end();
}
