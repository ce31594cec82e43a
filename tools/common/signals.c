/* SPDX-License-Identifier: MIT */
/* signals.c - a flag and a self-pipe; see signals.h. */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t hangups;
static int pipe_ends[2] = {-1, -1};

static void wake(void)
{
    int saved = errno;
    /* A full pipe has been readable for long: nothing is lost. */
    if (write(pipe_ends[1], "", 1) < 0)
        errno = saved;
}

static void on_stop(int number)
{
    stop_signal = number;
    wake();
}

static void on_hangup(int number)
{
    (void)number;
    hangups = 1;
    wake();
}

static bool install(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

bool signals_start(unsigned flags)
{
    if (pipe_ends[0] < 0 && pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    /* SA_RESETHAND: the second one kills. No SA_RESTART: a blocking call returns, so that the loop sees the flag. */
    return install(SIGINT, on_stop, (int)SA_RESETHAND) && install(SIGTERM, on_stop, (int)SA_RESETHAND) &&
           (!(flags & SIGNALS_HANGUP) || install(SIGHUP, on_hangup, 0));
}

int signals_stop(void)
{
    return stop_signal;
}

bool signals_hangup(void)
{
    bool seen = hangups;
    hangups = 0;
    return seen;
}

int signals_fd(void)
{
    return pipe_ends[0];
}

void signals_drain(void)
{
    char bytes[64];
    while (read(pipe_ends[0], bytes, sizeof bytes) > 0)
        continue;
}

bool signals_sleep(uint64_t ns)
{
    struct pollfd entry = {.fd = pipe_ends[0], .events = POLLIN};
    struct timespec wait = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    if (!stop_signal && ppoll(&entry, 1, &wait, NULL) > 0)
        signals_drain();
    return stop_signal != 0;
}
