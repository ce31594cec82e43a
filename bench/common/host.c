/* SPDX-License-Identifier: MIT */
/* host.c - reads /proc; what can't be read stays empty or zero. */
#include "host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "crew.h"
#include "timer.h"

static void read_cpuinfo(struct host *h)
{
    char line[4096];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        if (strncmp(line, "model name", 10) == 0 && h->cpu[0] == '\0')
            snprintf(h->cpu, sizeof h->cpu, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        if (strncmp(line, "flags", 5) == 0 && strstr(value, " hypervisor"))
            h->virtual_machine = 1;
    }
    if (file)
        fclose(file);
}

/* Clock ticks that all processors were busy, and that the hypervisor took. */
static void read_stat(uint64_t *busy, uint64_t *steal)
{
    uint64_t user = 0, nice = 0, system = 0, irq = 0, softirq = 0;
    *steal = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file) {
        if (fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64, &user,
                   &nice, &system, &irq, &softirq, steal) != 6)
            *steal = 0;
        fclose(file);
    }
    *busy = user + nice + system + irq + softirq;
}

void host_begin(struct host *h)
{
    struct utsname name;
    memset(h, 0, sizeof *h);
    read_cpuinfo(h);
    if (uname(&name) == 0)
        snprintf(h->kernel, sizeof h->kernel, "%.40s %.50s", name.sysname, name.release);
#ifdef __clang__
    snprintf(h->compiler, sizeof h->compiler, "clang %s", __clang_version__);
#else
    snprintf(h->compiler, sizeof h->compiler, "gcc %s", __VERSION__);
#endif
    h->processors = crew_processors();
    if (getloadavg(&h->load, 1) != 1)
        h->load = 0;
    h->start_ns = timer_clock_ns();
    read_stat(&h->busy_start, &h->steal_start);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static double own_seconds(void)
{
    double sum = 0;
    const int who[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (unsigned i = 0; i < sizeof who / sizeof *who; i++) {
        struct rusage use;
        if (getrusage(who[i], &use) == 0)
            sum += seconds(use.ru_utime) + seconds(use.ru_stime);
    }
    return sum;
}

void host_end(struct host *h)
{
    uint64_t busy, steal;
    read_stat(&busy, &steal);
    double tick = 1 / (double)sysconf(_SC_CLK_TCK);
    double all = (double)(timer_clock_ns() - h->start_ns) * 1e-9 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    double other = (double)(busy - h->busy_start) * tick - own_seconds();
    h->other_share = other > 0 ? other / all : 0;
    h->steal_share = (double)(steal - h->steal_start) * tick / all;
}
