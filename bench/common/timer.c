/* SPDX-License-Identifier: MIT */
/* timer.c - calibration of the stopwatch. */
#include "timer.h"

#include <math.h>

#include "histogram.h"

#define CALIBRATE_NS 50000000
#define READINGS 20000

uint64_t timer_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static double measure_tick_ns(void)
{
    uint64_t clock = timer_clock_ns(), ticks = timer_start(), clock_end;
    do {
        clock_end = timer_clock_ns();
    } while (clock_end - clock < CALIBRATE_NS);
    return (double)(clock_end - clock) / (double)(timer_stop() - ticks);
}

/* Differences after delays that share no period with the counter. */
static void read_differences(uint64_t *difference, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = timer_start();
        for (volatile unsigned wait = i % 37; wait > 0; wait--)
            continue;
        difference[i] = timer_stop() - start;
    }
}

static uint64_t gap_before(const uint64_t *difference, unsigned i)
{
    uint64_t here = difference[i], last = difference[i - 1];
    return here > last ? here - last : last - here;
}

/* The smallest gap between two differences, averaged over all gaps that are this one and not the next. */
static double smallest_step(const uint64_t *difference, unsigned count)
{
    uint64_t least = UINT64_MAX, sum = 0, steps = 0;
    for (unsigned i = 1; i < count; i++) {
        uint64_t gap = gap_before(difference, i);
        least = gap > 1 && gap < least ? gap : least; /* 1 is rounding */
    }
    for (unsigned i = 1; i < count; i++) {
        uint64_t gap = gap_before(difference, i);
        if (gap >= least && gap < least + (least + 1) / 2) {
            sum += gap;
            steps++;
        }
    }
    return steps > 0 ? (double)sum / (double)steps : 1;
}

/* Ticks the counter moves at once: only believed if nearly all differences are multiples of it. */
static double measure_step(void)
{
    static uint64_t difference[READINGS];
    read_differences(difference, READINGS);
    double step = smallest_step(difference, READINGS);
    unsigned multiples = 0;
    for (unsigned i = 0; i < READINGS; i++) {
        double ratio = (double)difference[i] / step;
        if (fabs(ratio - round(ratio)) * step <= 1 + ratio * 0.05)
            multiples++;
    }
    return step > 4 && multiples * 20u >= READINGS * 19u ? step : 1;
}

static double measure_cost_steps(const struct timer *t)
{
    static struct histogram readings;
    for (unsigned i = 0; i < READINGS * 5; i++) {
        uint64_t start = timer_start();
        histogram_add(&readings, timer_steps(t, timer_stop() - start));
    }
    return histogram_quantile(&readings, 0.5);
}

void timer_calibrate(struct timer *t)
{
    t->tick_ns = measure_tick_ns();
    t->step = measure_step();
    t->per_step = 1 / t->step;
    t->cost_ns = measure_cost_steps(t) * t->step * t->tick_ns;
}

double timer_ns(const struct timer *t, double steps)
{
    double ns = steps * t->step * t->tick_ns - t->cost_ns;
    return ns > 0 ? ns : 0;
}
