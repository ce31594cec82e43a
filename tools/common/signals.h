/* SPDX-License-Identifier: MIT */
/*
 * signals.h - SIGINT and SIGTERM ask a tool to stop, SIGHUP asks a daemon to read its files again.
 *
 * The handlers set a flag and write one byte to a pipe, so that a loop can either look at the flag or poll() the pipe.
 * A second SIGINT or SIGTERM while the first is still being obeyed ends the process at once, as the default does.
 */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#define SIGNALS_HANGUP 1u /* handle SIGHUP too */

/* Installs the handlers; once, before threads are made. False if the system has no pipe for us (errno tells). */
bool signals_start(unsigned flags);

/* The signal that asked to stop, or 0. */
int signals_stop(void);

/* True once for each (burst of) SIGHUP. */
bool signals_hangup(void);

/* Readable when a signal has come; for poll() beside other descriptors. Emptied by signals_sleep() and _drain(). */
int signals_fd(void);
void signals_drain(void);

/* Sleeps for `ns` or until a signal comes. True: asked to stop. */
bool signals_sleep(uint64_t ns);

#endif
