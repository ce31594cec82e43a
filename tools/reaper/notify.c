/* SPDX-License-Identifier: MIT */
/*
 * notify.c - telling the service manager how this daemon fares: the datagram protocol of sd_notify(3).
 *
 * WHY NOT libsystemd: four datagrams don't justify a library that a container without systemd would have to carry.
 */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTIFY_TEXT_MAX = 512, NS_PER_US = 1000 };

static int address_fill(struct notify *n, const char *name)
{
    size_t len = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof n->address.sun_path) {
        errno = EINVAL;
        return -1;
    }
    n->address.sun_family = AF_UNIX;
    memcpy(n->address.sun_path, name, len);
    if (name[0] == '@')
        n->address.sun_path[0] = '\0';
    /* An abstract name is counted, not terminated: one byte more would be another name. */
    n->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/'));
    return 0;
}

/* The watchdog's interval, if it is meant for this process and not for a parent that passed its environment on. */
static uint64_t watchdog_read(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (usec == NULL || (pid != NULL && strtoull(pid, NULL, 10) != (unsigned long long)getpid()))
        return 0;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(usec, &end, 10);
    int plain = usec[0] >= '0' && usec[0] <= '9' && *end == '\0';
    return plain && errno == 0 && n <= UINT64_MAX / NS_PER_US ? n * NS_PER_US : 0;
}

int notify_open(struct notify *n)
{
    memset(n, 0, sizeof *n);
    n->fd = -1;
    const char *name = getenv("NOTIFY_SOCKET");
    if (name == NULL || name[0] == '\0')
        return 0;
    if (address_fill(n, name) != 0)
        return -1;
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0)
        return -1;
    n->watchdog_ns = watchdog_read();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return 0;
}

int notify_send(const struct notify *n, const char *format, ...)
{
    if (n->fd < 0)
        return 1;
    char text[NOTIFY_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (len <= 0 || (size_t)len >= sizeof text)
        return 0;
    return sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&n->address, n->address_len) == len;
}

void notify_close(struct notify *n)
{
    if (n->fd >= 0) {
        close(n->fd);
        n->fd = -1;
    }
}
