/* SPDX-License-Identifier: MIT */
/*
 * notify.h - telling the service manager how this daemon fares: the datagram protocol of sd_notify(3).
 */
#ifndef TLSHM_REAPER_NOTIFY_H
#define TLSHM_REAPER_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* One manager's socket; without a manager every send is a quiet no-op. */
struct notify {
    int fd; /* -1: nobody listens */
    struct sockaddr_un address;
    socklen_t address_len;
    uint64_t watchdog_ns; /* a WATCHDOG=1 is due within this time; 0: no watchdog */
};

/*
 * Reads NOTIFY_SOCKET (a path, or '@' and an abstract name), WATCHDOG_USEC and WATCHDOG_PID. Removes all three from
 * the environment. Returns 0, also when nobody listens, or -1 with errno for a socket that cannot be used.
 */
int notify_open(struct notify *n);

/*
 * Sends assignments such as "READY=1\nSTATUS=3 segments". A manager that is gone or slow never delays the caller.
 * Returns 1 when it was delivered or nobody listens, 0 when it was lost and may be sent again.
 */
int notify_send(const struct notify *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

void notify_close(struct notify *n);

#endif
