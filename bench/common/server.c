/* SPDX-License-Identifier: MIT */
/* server.c - starting, waiting for, and ending a peer's server. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crew.h"
#include "timer.h"

#define WORDS_MAX 24
#define POLL_NS 2000000
#define START_NS UINT64_C(10000000000)
#define END_NS UINT64_C(5000000000)

static const char *search_path(void)
{
    const char *path = getenv("PATH");
    return path ? path : "/usr/bin:/bin";
}

int server_installed(const char *program)
{
    char copy[4096], file[4352], *rest = copy, *place;
    snprintf(copy, sizeof copy, "%s:/usr/sbin:/usr/local/sbin", search_path());
    while ((place = strsep(&rest, ":")) != NULL) {
        snprintf(file, sizeof file, "%s/%s", place, program);
        if (access(file, X_OK) == 0)
            return 1;
    }
    return 0;
}

static int make_place(struct server *s)
{
    const char *base = getenv("TMPDIR");
    memset(s, 0, sizeof *s);
    snprintf(s->directory, sizeof s->directory, "%s/tlshm-bench-XXXXXX", base && strlen(base) < 32 ? base : "/tmp");
    if (!mkdtemp(s->directory)) {
        perror(s->directory);
        s->directory[0] = '\0';
        return -1;
    }
    snprintf(s->socket, sizeof s->socket, "%s/socket", s->directory);
    return 0;
}

/* Only what is safe between fork and exec. */
static void become(const struct server *s, const char *const argv[])
{
    const char *words[WORDS_MAX + 1] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (unsigned i = 0; argv[i] && i < WORDS_MAX; i++)
        words[i] = strcmp(argv[i], "@SOCKET") == 0 ? s->socket : argv[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    if (chdir(s->directory) == 0)
        execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

int server_connect(const struct server *s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", s->socket);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int has_ended(struct server *s)
{
    pid_t pid;
    while ((pid = waitpid(s->pid, NULL, WNOHANG)) < 0 && errno == EINTR)
        continue;
    if (pid != 0)
        s->pid = 0;
    return pid != 0;
}

static int wait_answering(struct server *s, const char *name)
{
    const uint64_t until = timer_clock_ns() + START_NS;
    int fd;
    while ((fd = server_connect(s)) < 0) {
        if (has_ended(s) || timer_clock_ns() > until) {
            fprintf(stderr, "%s did not start\n", name);
            return -1;
        }
        if (crew_nap(POLL_NS) != 0)
            return -1;
    }
    close(fd);
    return 0;
}

int server_start(struct server *s, const char *const argv[])
{
    if (make_place(s) != 0)
        return -1;
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0)
        become(s, argv);
    if (s->pid < 0) {
        perror("cannot start a server");
        s->pid = 0;
    }
    if (s->pid > 0 && wait_answering(s, argv[0]) == 0)
        return 0;
    server_stop(s);
    return -1;
}

/* Waits whatever signals come: what was interrupted still has to leave nothing behind. */
static void end(struct server *s)
{
    const uint64_t until = timer_clock_ns() + END_NS;
    kill(s->pid, SIGTERM);
    while (!has_ended(s) && timer_clock_ns() < until)
        usleep(POLL_NS / 1000);
    if (s->pid == 0)
        return;
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    s->pid = 0;
}

void server_stop(struct server *s)
{
    if (s->pid > 0)
        end(s);
    if (s->directory[0] == '\0')
        return;
    unlink(s->socket);
    if (rmdir(s->directory) != 0)
        perror(s->directory);
    s->directory[0] = '\0';
}
