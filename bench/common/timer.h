/* SPDX-License-Identifier: MIT */
/*
 * timer.h - the stopwatch around one call, and what the stopwatch itself costs.
 *
 * On x86 the time-stamp counter, fenced on both sides so that the timed work neither starts before the first reading
 * nor runs on after the second; elsewhere clock_gettime(). Readings are compared within one pinned process only.
 */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define TIMER_NAME "rdtsc"

static inline uint64_t timer_start(void)
{
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

static inline uint64_t timer_stop(void)
{
    unsigned cpu;
    uint64_t ticks = __rdtscp(&cpu);
    _mm_lfence();
    return ticks;
}
#else
#define TIMER_NAME "clock_gettime"

static inline uint64_t timer_start(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t timer_stop(void)
{
    return timer_start();
}
#endif

struct timer {
    double tick_ns;  /* of one tick */
    double cost_ns;  /* that an empty timing shows: subtracted from every quantile */
    double step;     /* ticks: counters of virtual machines often move in steps of many */
    double per_step; /* 1 / step */
};

/* Measures the three, for about a tenth of a second. */
void timer_calibrate(struct timer *t);

/* A difference of two readings in whole steps, for a histogram. */
static inline uint64_t timer_steps(const struct timer *t, uint64_t ticks)
{
    return (uint64_t)((double)ticks * t->per_step + 0.5);
}

/* A quantile of such a histogram in nanoseconds, without the timer's own cost. */
double timer_ns(const struct timer *t, double steps);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t timer_clock_ns(void);

#endif
