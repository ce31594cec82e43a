/* SPDX-License-Identifier: MIT */
/*
 * systemclocks.c - segments that go by the system's clocks, which are replaced here: suspend, a wall clock that is set, and
 * processes that stop inside a call with an old time. See clocks.c for all that a virtual clock can do.
 */
#include "space.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>
#include <tlshm/stats.h>

#include "clock.h"

static struct space space;

/* Monotonic time, time spent suspended, and what the wall clock shows more than the boot clock. */
static struct {
    uint64_t mono, slept, wall;
    unsigned reads; /* of the coarse clock */
    unsigned stop;  /* at this one something happens, and the time from before is told */
    void (*meanwhile)(void);
} fake;

static uint64_t fake_mono(void)
{
    return fake.mono;
}

/* A coarse clock: it stands for 4 ms at a time. */
static uint64_t fake_coarse(void)
{
    uint64_t told = fake.mono - fake.mono % MS(4);
    if (++fake.reads == fake.stop)
        fake.meanwhile();
    return told;
}

static uint64_t fake_boot(void)
{
    return fake.mono + fake.slept;
}

static uint64_t fake_wall(void)
{
    return fake_boot() + fake.wall;
}

static const struct tl_clock_source fake_source = {fake_coarse, fake_mono, fake_boot, fake_wall};
static const struct tl_clock_source *true_source;

static void open_real(void)
{
    tlshm_geometry g = space_geometry();
    g.virtual_clock = 0;
    memset(&fake, 0, sizeof fake);
    fake.mono = HOUR(1000);
    fake.slept = HOUR(50);
    fake.wall = SPACE_WALL_NS;
    true_source = tl_clock_source;
    tl_clock_source = &fake_source;
    space_open(&space, &g);
}

static void close_real(void)
{
    fake.stop = 0;
    cr_expect_eq(tlshm_verify(space.t, NULL, NULL, NULL), 0);
    space_close(&space);
    tl_clock_source = true_source;
}

TestSuite(systemclocks, .init = open_real, .fini = close_real, .timeout = 120);

static int ask_for_tokens(const char *key, uint64_t tokens, tlshm_id *id)
{
    struct ask a;
    tlshm_request request = *ask_for(&a, key, NULL);
    request.estimate.of[TLSHM_TOKENS] = tokens;
    int rc = tlshm_reserve(space.t, &request, id, NULL);
    cr_assert_geq(rc, 0, "%s: %s", key, tlshm_error_name(rc));
    return rc;
}

static bool admits(const char *key)
{
    tlshm_id id = 0;
    int rc = ask_for_tokens(key, 1, &id);
    if (rc == TLSHM_OK)
        cr_assert_eq(tlshm_refund(space.t, id, NULL), TLSHM_OK);
    return rc == TLSHM_OK;
}

static void spend(tlshm_t *t, const char *key, uint64_t tokens)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_request request = *ask_for(&a, key, NULL);
    tlshm_amounts use = {{tokens}};
    request.estimate = use;
    cr_assert_eq(tlshm_reserve(t, &request, &id, NULL), TLSHM_OK);
    cr_assert_eq(tlshm_settle(t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
}

/* Suspend stops the monotonic clock only. It is noticed at the next look, a tenth of a second later at most. */
Test(systemclocks, suspend_counts_as_time)
{
    space_limits(&space, "agent:a", "tokens 100 per 1h");
    space_limits(&space, "agent:b", "tokens 100 lifetime");
    spend(space.t, "agent:a", 100);
    tlshm_id hold = 0;
    cr_assert_eq(ask_for_tokens("agent:b", 100, &hold), TLSHM_OK);
    cr_expect_not(admits("agent:a"));
    fake.slept += HOUR(10);
    fake.mono += MS(110);
    cr_expect(admits("agent:a"), "the window did not pass in suspend");
    cr_expect(admits("agent:b"), "the hold's deadline did not pass in suspend");
}

/* Of two processes one has noticed: both agree, since what was slept is in the segment. */
Test(systemclocks, one_process_tells_all_of_a_suspend)
{
    tlshm_t *other = space_attach(&space);
    space_limits(&space, "agent:a", "tokens 100 per 1h");
    spend(space.t, "agent:a", 100);
    spend(other, "agent:b", 1);
    fake.mono += MS(90);
    spend(other, "agent:b", 1);
    fake.slept += HOUR(10);
    fake.mono += MS(20); /* the first one's look is due, the other's perhaps not */
    cr_assert(admits("agent:a"));
    int64_t left = 0;
    cr_assert_eq(tlshm_remaining(other, "agent:a", 0, TLSHM_TOKENS, &left), 0);
    cr_expect_eq(left, 100);
    tlshm_detach(other);
}

/* A step of the wall clock is met at the next look, as one that was there all the time. */
Test(systemclocks, wall_steps_move_nothing_but_calendars)
{
    space_limits(&space, "agent:a", "tokens 100 per 1h; tokens 100 per day");
    spend(space.t, "agent:a", 100);
    static const int64_t steps[] = {-3600, 3600, 11, -11, -1, 1};
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        fake.wall += (uint64_t)steps[i] * SEC(1);
        fake.mono += MS(110);
        cr_expect_not(admits("agent:a"), "refilled by %" PRId64 " s", steps[i]);
    }
    fake.mono += HOUR(25);
    cr_expect(admits("agent:a"), "locked out");
}

/* A clock never runs ahead of the boot clock, never back, and is behind it by no more than was slept since its last look. */
Test(systemclocks, time_is_late_at_most)
{
    tl_word slept[1] = {fake.slept};
    struct tl_clock clocks[3];
    uint64_t last[3] = {0}, looked[3], state = 88172645463325252u;
    for (unsigned i = 0; i < 3; i++) {
        clocks[i] = (struct tl_clock){.slept = slept};
        looked[i] = fake.mono;
    }
    for (unsigned n = 0; n < 100000; n++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        unsigned i = (unsigned)(state >> 8) % 3;
        fake.mono += (state >> 16) % MS(30);
        if (state % 50 == 0)
            fake.slept += (state >> 20) % HOUR(9);
        if (fake.mono - fake.mono % MS(4) >= tl_load_relaxed(&clocks[i].next_look))
            looked[i] = fake.mono;
        uint64_t now = tl_clock_now(&clocks[i]);
        cr_assert_geq(now, last[i], "call %u: back", n);
        cr_assert_leq(now, fake_boot(), "call %u: ahead", n);
        if (looked[i] == fake.mono) /* it may leave out 2 ms, as often as somebody sleeps so little */
            cr_assert_geq(now + MS(4) + MS(2), fake_boot(), "call %u: late after a look", n);
        last[i] = now;
    }
}

/* ----------------------------------------------------------------------------------- a process that stops with an old time */

static tlshm_t *other;
static unsigned others_use;
static uint64_t pause_ns;

/* What goes on while a process is stopped inside a call: time, and perhaps another process. */
static void time_goes_on(void)
{
    fake.mono += pause_ns;
    if (others_use)
        spend(other, "agent:a tenant:t", others_use);
}

static uint64_t used_of(const char *key, unsigned limit)
{
    return space_usage(&space, key).limits[limit].used;
}

/* One call, reserve or settle, and which of its looks at the clock is the one that it stops at. */
struct stop {
    bool settle;
    unsigned look;
};

static tlshm_id reserve_long(const char *scopes)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_request request = *ask_for(&a, scopes, "tokens=8");
    request.ttl_ns = HOUR(9);
    cr_assert_eq(tlshm_reserve(space.t, &request, &id, NULL), TLSHM_OK);
    return id;
}

/* How many looks the call took. */
static unsigned call_and_stop(const struct stop *stop, const char *scopes)
{
    static const tlshm_amounts use = {{8}};
    tlshm_id id = stop->settle ? reserve_long(scopes) : 0;
    unsigned looks = 0;
    fake.reads = 0;
    fake.stop = stop->look;
    fake.meanwhile = time_goes_on;
    if (!stop->settle) {
        id = reserve_long(scopes);
        looks = fake.reads;
        fake.stop = 0;
    }
    cr_assert_eq(tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
    fake.stop = 0;
    return stop->settle ? fake.reads : looks;
}

static void check_stay(const struct stop *stop, uint64_t least, const char *when)
{
    uint64_t used = used_of("agent:a", 0);
    cr_expect_geq(used, least, "%s stopped at look %u: %" PRIu64 " used %s", stop->settle ? "settle" : "reserve",
                  stop->look, used, when);
}

/*
 * Nothing is lost, nothing counts twice, and what was charged stays for a whole window after the call: only what was dated
 * already, at the last look, may leave earlier. False: the call looks less often.
 */
static bool stop_in_call(const struct stop *stop, const char *scopes)
{
    fake.mono += HOUR(2);
    spend(space.t, scopes, 1); /* windows begin; the limits are known */
    spend(other, scopes, 1);
    fake.mono += MS(40);
    unsigned looks = call_and_stop(stop, scopes);
    cr_assert_eq(space_usage(&space, "agent:a").held[TLSHM_TOKENS], 0);
    uint64_t least = looks == stop->look && stop->settle ? 0 : 8;
    check_stay(stop, least, "right after");
    fake.mono += SEC(58);
    check_stay(stop, least, "58 s later");
    fake.mono += SEC(4);
    cr_expect_eq(used_of("agent:a", 0), 0, "%s stopped at look %u: use stays", stop->settle ? "settle" : "reserve",
                 stop->look);
    return looks >= stop->look;
}

/* Every call, stopped at each look, for every pause. What was charged is what is used, whatever happened meanwhile. */
static void stop_everywhere(bool settle, uint64_t *spent)
{
    for (unsigned look = 1; look < 40; look++) {
        const struct stop stop = {settle, look};
        bool stopped = stop_in_call(&stop, "agent:a tenant:t");
        *spent += 10 + (stopped ? others_use : 0);
        cr_assert_eq(used_of("agent:a", 1), *spent, "%" PRIu64 " charged", *spent);
        if (!stopped) {
            cr_expect_gt(look, 2, "a call looks at the clock at least twice");
            return;
        }
    }
    cr_expect_fail("a call looks at the clock for ever");
}

Test(systemclocks, a_process_that_stops_with_an_old_time)
{
    static const uint64_t pauses[] = {MS(50), SEC(1), SEC(30), SEC(61), HOUR(1)};
    uint64_t spent = 0;
    other = space_attach(&space);
    space_limits(&space, "agent:a", "tokens 100000 per 60s; tokens 100000 lifetime");
    space_limits(&space, "tenant:t", "tokens 100000 per hour; tokens 100000 per 10s/10 strict");
    for (unsigned p = 0; p < 5; p++)
        for (unsigned k = 0; k < 4; k++) {
            others_use = k / 2 ? 3 : 0;
            pause_ns = pauses[p];
            stop_everywhere(k % 2 != 0, &spent);
        }
    cr_expect_eq(space_usage(&space, "tenant:t").used[TLSHM_TOKENS], spent);
    tlshm_detach(other);
}
