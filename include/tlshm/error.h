/* SPDX-License-Identifier: MIT */
/*
 * tlshm/error.h - every error the library can return, once.
 *
 * A function returns a negative TLSHM_E... for an error, and 0 or above for success or a verdict. An error never
 * admits a call, and an error changes nothing. The list below is the only place where errors are defined: the enum,
 * tlshm_error_name(), tlshm_error_text() and the table in tlshm(7) are made from it.
 */
#ifndef TLSHM_ERROR_H
#define TLSHM_ERROR_H

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, text) */
#define TLSHM_ERRORS(X)                                                                                                \
    X(EINVAL, 1, "bad argument")                                                                                       \
    X(EKEY, 2, "malformed or over-long scope key")                                                                     \
    X(ELEVEL, 3, "unknown level: the part of the key before the colon")                                                \
    X(ERANGE, 4, "amount out of range")                                                                                \
    X(EEMPTY, 5, "an estimate must be positive in at least one unit")                                                  \
    X(EUNKNOWN, 6, "unknown reservation id")                                                                           \
    X(EMISMATCH, 7, "idempotency key was used before with other scopes or amounts")                                    \
    X(ENOENT, 8, "no such segment, scope, tier or limit")                                                              \
    X(EEXIST, 9, "it exists already")                                                                                  \
    X(EACCES, 10, "permission denied")                                                                                 \
    X(ENOSPC, 11, "not enough space for the segment")                                                                  \
    X(ENOSEAT, 12, "every seat is taken: more threads use the segment than its geometry allows")                       \
    X(ENOROOM, 13, "a table of the segment is full")                                                                   \
    X(ECORRUPT, 14, "the segment is corrupt")                                                                          \
    X(EFOREIGN, 15, "not a tlshm segment")                                                                             \
    X(ELAYOUT, 16, "the segment has another version or layout")                                                        \
    X(ETRUNCATED, 17, "the segment file is shorter than its header says")                                              \
    X(EBOOT, 18, "the segment is from before the last boot")                                                           \
    X(ECLOCK, 19, "this process sees another boot-time clock (time namespace)")                                        \
    X(EREADONLY, 20, "attached read-only")                                                                             \
    X(EREENTRANT, 21, "called from a signal handler that interrupted a call on the same thread")                       \
    X(ESTALE, 22, "the handle's scope was recycled: resolve the key again")                                            \
    X(ENOMEM, 23, "out of memory")                                                                                     \
    X(ESYS, 24, "a system call failed")                                                                                \
    X(ECONTENDED, 25, "gave up after a very large number of lost races; nothing was changed")                          \
    X(EZONE, 26, "unknown time zone")

enum tlshm_errno_ {
#define TLSHM_X(name, number, text) TLSHM_##name = number,
    TLSHM_ERRORS(TLSHM_X)
#undef TLSHM_X
        TLSHM_ERRORS_END
};

/* What went wrong in words, for the calls that read files, texts or the system. Filled on an error only. */
struct tlshm_error {
    int code;       /* negative TLSHM_E..., as returned */
    int sys;        /* errno of the system call that failed, or 0 */
    char text[240]; /* one line that names what was wrong and where; never empty after an error */
};

/* "ECORRUPT" for -TLSHM_ECORRUPT, "OK" for 0 and above, "E?" for an unknown number. Static strings; any thread. */
const char *tlshm_error_name(int code);

/* The text of the list above, for people. Static strings; any thread. */
const char *tlshm_error_text(int code);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
