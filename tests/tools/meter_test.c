/* SPDX-License-Identifier: MIT */
/* meter_test.c - the second opinion of tlshm-replay's audit: that it sees an overspend, and what it does not hold against. */
#include <string.h>

#include <tlshm/admin.h>

#include "../../tools/replay/histogram.h"
#include "../../tools/replay/meter.h"
#include "tap.h"

#define S UINT64_C(1000000000)

enum { TIMEOUT_S = 300 };

static tlshm_limit limit_of(const char *text)
{
    tlshm_limit limit;
    struct tlshm_error why;
    MUST(tlshm_limit_parse(text, &limit, &why) == 0, "%s: %s", text, why.text);
    return limit;
}

static void use(struct meter *m, uint64_t at_ns, uint64_t amount, uint64_t excess)
{
    meter_advance(m, at_ns, 0);
    meter_use(m, at_ns, 0, amount, excess);
}

static void test_rolling(void)
{
    struct meter m;
    tlshm_limit limit = limit_of("tokens 100 per 60s/6");
    meter_start(&m, &limit);
    use(&m, 605 * S, 60, 0);
    use(&m, 621 * S, 40, 0);
    tap_equal(meter_breach(&m), 0, "a full window is no breach");
    meter_use(&m, 621 * S, 0, 1, 0);
    tap_equal(meter_breach(&m), 1, "one more is");
    tap_equal(meter_overspend(&m), 1, "and an overspend");
    meter_advance(&m, 659 * S, 0);
    tap_equal(m.used_sum, 101, "the first bucket counts while it is one of the last six");
    meter_advance(&m, 660 * S, 0);
    tap_equal(m.used_sum, 41, "and no longer");
    meter_advance(&m, 2000 * S, 0);
    tap_equal(m.used_sum, 0, "after a long time nothing counts");
}

static void test_strict(void)
{
    struct meter m;
    tlshm_limit limit = limit_of("tokens 100 per 60s/6 strict");
    meter_start(&m, &limit);
    use(&m, 605 * S, 60, 0);
    meter_advance(&m, 669 * S, 0);
    tap_equal(m.used_sum, 60, "strict counts one bucket more");
    meter_advance(&m, 670 * S, 0);
    tap_equal(m.used_sum, 0, "and no second one");
}

static void test_holds(void)
{
    struct meter m;
    tlshm_limit limit = limit_of("tokens 100 per 60s");
    meter_start(&m, &limit);
    use(&m, 600 * S, 60, 0);
    m.held = 41;
    tap_equal(meter_breach(&m), 1, "holds count against the cap");
    tap_equal(meter_overspend(&m), 0, "but nothing is spent by them");
    m.held = 0;
    meter_use(&m, 600 * S, 0, 50, 10);
    tap_equal(meter_overspend(&m), 10, "an overrun is spent");
    tap_equal(meter_breach(&m), 0, "and explained");
    meter_use(&m, 600 * S, 0, 1, 0);
    tap_equal(meter_breach(&m), 1, "by no more than it was");
}

static void test_calendar(void)
{
    struct meter m;
    const uint64_t january_31 = UINT64_C(1769817600), day = 86400;
    tlshm_limit month = limit_of("tokens 100 per month"), week = limit_of("tokens 100 per week");
    meter_start(&m, &month);
    use(&m, january_31 * S, 5, 0);
    meter_advance(&m, (january_31 + day - 1) * S, 0);
    tap_equal(m.used_sum, 5, "a month lasts to its last second");
    meter_advance(&m, (january_31 + day) * S, 0);
    tap_equal(m.used_sum, 0, "and ends then");
    meter_start(&m, &week);
    use(&m, january_31 * S, 5, 0); /* a Saturday */
    meter_advance(&m, (january_31 + 2 * day - 1) * S, 0);
    tap_equal(m.used_sum, 5, "a week lasts to Sunday");
    meter_advance(&m, (january_31 + 2 * day) * S, 0);
    tap_equal(m.used_sum, 0, "and ends then");
    tlshm_limit zone = limit_of("cost $3 per day in Europe/Berlin");
    tap_ok(!meter_knows(&zone) && meter_knows(&month), "a time zone is not pretended to be known");
}

static void test_histogram(void)
{
    static struct histogram h, twice;
    for (uint64_t i = 1; i <= 100000; i++)
        histogram_add(&h, i);
    uint64_t p50 = histogram_quantile(&h, 0.5), p99 = histogram_quantile(&h, 0.99);
    tap_ok(p50 >= 50000 && p50 <= 50000 + 50000 / 16, "p50 is within a sixteenth: %llu", (unsigned long long)p50);
    tap_ok(p99 >= 99000 && p99 <= 100000, "p99 is within a sixteenth and not above the maximum: %llu",
           (unsigned long long)p99);
    tap_equal(histogram_quantile(&h, 1), 100000, "the last quantile is the maximum");
    uint64_t sum = 0;
    for (unsigned power = 0; power < HISTOGRAM_POWERS; power++)
        sum += histogram_power(&h, power);
    tap_equal(sum, 100000, "every value is in one bar");
    tap_equal(histogram_power(&h, 10), 1024, "in the right one");
    histogram_merge(&twice, &h);
    histogram_merge(&twice, &h);
    tap_equal(twice.total, 200000, "two are merged");
    tap_equal(histogram_quantile(&twice, 0.5), p50, "without a shift");
    histogram_add(&twice, UINT64_MAX);
    tap_equal(histogram_quantile(&twice, 1), UINT64_MAX, "the largest value has a place");
}

int main(void)
{
    tap_begin(TIMEOUT_S);
    test_rolling();
    test_strict();
    test_holds();
    test_calendar();
    test_histogram();
    return tap_end();
}
