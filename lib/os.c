/* SPDX-License-Identifier: MIT */
/* os.c - system calls. */
#include "os.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t tl_os_pid(void)
{
    return (uint32_t)getpid();
}

uint32_t tl_os_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* Reads a small file whole, NUL-terminated. */
static bool read_file(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, buf, size - 1);
    close(fd);
    buf[n > 0 ? n : 0] = 0;
    return n > 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tl_os_boot_id(uint64_t id[2])
{
    char text[64];
    unsigned digits = 0;
    id[0] = id[1] = 0;
    if (!read_file("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return false;
    for (const char *c = text; *c && digits < 32; c++)
        if (hex_digit(*c) >= 0) {
            id[digits / 16] = id[digits / 16] << 4 | (uint64_t)hex_digit(*c);
            digits++;
        }
    return digits == 32;
}

uint64_t tl_os_random(void)
{
    uint64_t word;
    if (getrandom(&word, sizeof word, GRND_NONBLOCK) == (ssize_t)sizeof word)
        return word;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return ((uint64_t)t.tv_nsec << 32 ^ (uint64_t)t.tv_sec << 16 ^ (uint64_t)getpid()) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The kernel shows the offsets of a process's children, which are its own unless it has left for elsewhere. */
static bool shares_time_with_children(void)
{
    struct stat own, children;
    return stat("/proc/self/ns/time", &own) != 0 || stat("/proc/self/ns/time_for_children", &children) != 0 ||
           own.st_ino == children.st_ino;
}

bool tl_os_clock_namespace(uint64_t *boot_ns, uint64_t *mono_ns)
{
    char text[256], *line;
    long long s, ns;
    *boot_ns = *mono_ns = 0;
    if (!shares_time_with_children())
        return false;
    if (!read_file("/proc/self/timens_offsets", text, sizeof text))
        return true; /* a kernel without time namespaces */
    if ((line = strstr(text, "monotonic")) && sscanf(line, "monotonic %lld %lld", &s, &ns) == 2)
        *mono_ns = (uint64_t)s * 1000000000u + (uint64_t)ns;
    if ((line = strstr(text, "boottime")) && sscanf(line, "boottime %lld %lld", &s, &ns) == 2)
        *boot_ns = (uint64_t)s * 1000000000u + (uint64_t)ns;
    return true;
}

bool tl_os_descriptors_have_names(void)
{
    return access("/proc/self/fd", X_OK) == 0;
}

/* ------------------------------------------------------------------------------------------------ fork generation */

static tl_word without_page = 1;
static tl_word *fork_word = &without_page; /* in a page that the kernel wipes in a child, even one of a bare clone() */
const tl_word *tl_os_fork_word = &without_page;
static tl_word forks = 1; /* this process's ancestors, as far as they counted */

static void forked(void)
{
    tl_store_release(fork_word, 0);
}

__attribute__((constructor)) static void watch_forks(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0)
        fork_word = page;
    tl_store_release(fork_word, tl_load(&forks));
    tl_os_fork_word = fork_word;
    pthread_atfork(NULL, NULL, forked);
}

TL_COLD uint64_t tl_os_count_fork(void)
{
    uint64_t seen = tl_load(&forks);
    /* Threads of the child may come here together: one counts, and the word keeps the first number. */
    if (tl_cas(fork_word, 0, seen + 1))
        tl_cas(&forks, seen, seen + 1);
    return tl_load(fork_word);
}
