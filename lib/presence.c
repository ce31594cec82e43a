/* SPDX-License-Identifier: MIT */
/*
 * presence.c - is the file still there? For those who are attached while others replace it, remove it or cut it short.
 *
 * LOSS  An access behind the end of a file that was cut short raises SIGBUS: in the middle of any call, of any thread. The
 * library installs no handler. What it offers to the caller's is tlshm_fault(): other memory, all zero, is put where the
 * segment was, the access is made again, and the call goes on to its end on what is garbage now, which it is made for
 * (G8). From then on the attachment is lost: every call says so, and one that was under way admits nothing.
 *
 * WHY NOT a jump out of the call: it would leave the thread's place busy, half-taken seats, memory of its walks, and the
 * C library's list of held mutexes leading into memory that raises the signal again.
 */
#include <tlshm/admin.h>
#include <tlshm/stats.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "segment.h"

int tlshm_fault(tlshm_t *t, const void *address)
{
    if (!t)
        return 0;
    uintptr_t base = (uintptr_t)t->map.header, at = (uintptr_t)address;
    if (at < base || at - base >= t->map.bytes)
        return 0;
    int error = errno;
    int protection = t->map.readonly ? PROT_READ : PROT_READ | PROT_WRITE;
    tl_store_release(&t->lost, 1); /* before anybody can read a zero */
    void *got =
        mmap(t->map.header, t->map.bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    errno = error;
    return got != MAP_FAILED;
}

int tlshm_stale(tlshm_t *t)
{
    struct stat st;
    if (!t)
        return -TLSHM_EINVAL;
    if (tl_segment_lost(t))
        return -TLSHM_ETRUNCATED;
    if (stat(t->path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 1 : errno == EACCES ? -TLSHM_EACCES : -TLSHM_ESYS;
    if ((uint64_t)st.st_dev != t->device || (uint64_t)st.st_ino != t->inode)
        return 1;
    return (uint64_t)st.st_size < t->map.bytes ? -TLSHM_ETRUNCATED : 0;
}
