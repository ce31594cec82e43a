/* SPDX-License-Identifier: MIT */
/*
 * server.h - a server of our own for a peer: on a socket in a directory of its own, gone when the foreman is.
 *
 * The server is a process group of its own, so that a terminal's Ctrl-C reaches the foreman alone, who then ends it; it
 * also ends with a foreman that was killed.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include <sys/types.h>

struct server {
    pid_t pid; /* 0: not running */
    char directory[64];
    char socket[96];
};

/* Whether a program is on the PATH (or in the sbin directories). */
int server_installed(const char *program);

/*
 * Makes the directory, sets `socket`, starts the program and waits until the socket takes connections. In `argv` the
 * word "@SOCKET" is replaced by the socket's path. 0, or -1 after a message, with nothing left behind.
 */
int server_start(struct server *s, const char *const argv[]);

/* A connected socket, or -1 without a message. */
int server_connect(const struct server *s);

/* Ends it and removes the directory. Harmless when it is not running. */
void server_stop(struct server *s);

#endif
