/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the same calls over and over, for whoever counts: callgrind instructions, the hooked library accesses.
 *
 * Usage: calls SEGMENT-PATH. One function a kind of call, named count_KIND, which makes CALLS of them. Time stands still,
 * so that every run counts the same. Linked with the hooked library it prints "KIND reads writes swaps", per call;
 * else "KIND" for each kind that was run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/admin.h>

#ifdef TL_HOOKS
#include "atomic.h"
#endif

#define CALLS 640u /* a multiple of the block of records that a thread takes at a time */
#define HOUR_NS UINT64_C(3600000000000)
#define CAP (UINT64_C(1) << 52)
#define SCOPES 6
#define UNITS 3 /* limited over windows where all are */

/* ------------------------------------------------------------------------------------------------------- accesses */

static uint64_t seen[3]; /* reads, writes, swaps */

#ifdef TL_HOOKS
void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)address;
    seen[access == TL_READ ? 0 : access == TL_WRITE ? 1 : 2]++;
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address;
    (void)expected;
    (void)desired;
    (void)done;
}
#endif

/* ---------------------------------------------------------------------------------------------------------- ground */

static struct {
    tlshm_t *t;
    tlshm_request request;
    tlshm_scope scope[SCOPES];
    tlshm_amounts actual, more;
    tlshm_handle last;
} c;

static void fail(const char *what, int code)
{
    fprintf(stderr, "%s: %s\n", what, tlshm_error_text(code));
    exit(1);
}

static void must(const char *what, int code)
{
    if (code != TLSHM_OK)
        fail(what, code);
}

static tlshm_limit rolling(enum tlshm_unit unit, unsigned hours, uint64_t cap)
{
    return (tlshm_limit){
        .unit = unit, .window = {.kind = TLSHM_WINDOW_ROLLING, .slices = 60, .length_ns = hours * HOUR_NS}, .cap = cap};
}

/* `count` scopes of their own for a kind of calls, each with these limits. */
static void stand(const char *kind, unsigned count, const tlshm_limit *list, unsigned limits)
{
    static const char *const level[SCOPES] = {"agent", "tenant", "user", "project", "org", "team"};
    for (unsigned i = 0; i < count; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s:%s", level[i], kind);
        must(key, tlshm_scope_limits_set(c.t, key, 0, list, limits));
        must(key, tlshm_resolve(c.t, key, 0, &c.scope[i].handle));
        c.last = c.scope[i].handle;
    }
    c.request.scope_count = count;
}

static void pairs(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        tlshm_id id;
        must("reserve", tlshm_reserve(c.t, &c.request, &id, NULL));
        must("settle", tlshm_settle(c.t, id, &c.actual, TLSHM_EXACT, NULL));
    }
}

/* ----------------------------------------------------------------------------------------------------------- kinds */

static void set_no_window(void)
{
    const tlshm_limit life = {.unit = TLSHM_TOKENS, .window = {.kind = TLSHM_WINDOW_LIFETIME}, .cap = CAP};
    stand("life", 2, &life, 1);
}

static void set_one_window(void)
{
    const tlshm_limit list[] = {rolling(TLSHM_TOKENS, 1, CAP)};
    stand("one", 2, list, 1);
}

static void set_four_windows(void)
{
    const tlshm_limit list[] = {rolling(TLSHM_TOKENS, 1, CAP), rolling(TLSHM_TOKENS, 2, CAP),
                                rolling(TLSHM_TOKENS, 24, CAP), rolling(TLSHM_TOKENS, 720, CAP)};
    stand("four", 2, list, 4);
}

static void set_all_units(void)
{
    const tlshm_limit list[] = {rolling(TLSHM_TOKENS, 1, CAP),
                                rolling(TLSHM_COST, 1, CAP),
                                rolling(TLSHM_REQUESTS, 1, CAP),
                                {.unit = TLSHM_CONCURRENCY, .window = {.kind = TLSHM_WINDOW_NONE}, .cap = CAP}};
    stand("units", 2, list, UNITS + 1);
}

static void set_six_scopes(void)
{
    const tlshm_limit list[] = {rolling(TLSHM_TOKENS, 1, CAP)};
    stand("six", SCOPES, list, 1);
}

/* One hold leaves no room for another one. */
static void set_refused(void)
{
    const tlshm_limit list[] = {rolling(TLSHM_TOKENS, 1, c.request.estimate.of[TLSHM_TOKENS])};
    tlshm_id id;
    stand("refused", 2, list, 1);
    must("the hold that leaves no room", tlshm_reserve(c.t, &c.request, &id, NULL));
}

#define KIND static __attribute__((noinline)) void

KIND count_pair_no_window(unsigned count)
{
    pairs(count);
}

KIND count_pair_one_window(unsigned count)
{
    pairs(count);
}

KIND count_pair_four_windows(unsigned count)
{
    pairs(count);
}

KIND count_pair_all_units(unsigned count)
{
    pairs(count);
}

KIND count_pair_six_scopes(unsigned count)
{
    pairs(count);
}

KIND count_reserve_refused(unsigned count)
{
    tlshm_id id;
    for (unsigned i = 0; i < count; i++) {
        int answer = tlshm_reserve(c.t, &c.request, &id, NULL);
        if (answer != TLSHM_REFUSED)
            fail("a reserve without room", answer);
    }
}

KIND count_remaining(unsigned count)
{
    int64_t left;
    for (unsigned i = 0; i < count; i++)
        must("remaining", tlshm_remaining_handle(c.t, c.last, TLSHM_TOKENS, &left));
}

/* Of one hold; its reserve is not counted. */
static tlshm_id held;

static void set_extend(void)
{
    set_one_window();
    must("reserve", tlshm_reserve(c.t, &c.request, &held, NULL));
}

KIND count_extend(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        must("extend", tlshm_extend(c.t, held, &c.more, 0, NULL));
}

static const struct {
    const char *name;
    void (*set)(void);
    void (*count)(unsigned count);
} kinds[] = {
    {"pair_no_window", set_no_window, count_pair_no_window},
    {"pair_one_window", set_one_window, count_pair_one_window},
    {"pair_four_windows", set_four_windows, count_pair_four_windows},
    {"pair_all_units", set_all_units, count_pair_all_units},
    {"pair_six_scopes", set_six_scopes, count_pair_six_scopes},
    {"reserve_refused", set_refused, count_reserve_refused},
    {"remaining", set_one_window, count_remaining},
    {"extend", set_extend, count_extend},
};

/* ------------------------------------------------------------------------------------------------------------ main */

static void open_segment(const char *path)
{
    const tlshm_geometry geometry = {.virtual_clock = 1, .scopes = 64};
    struct tlshm_error error;
    if (tlshm_create(path, &geometry, &error) < 0 || tlshm_attach(&c.t, path, 0, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    must("level", tlshm_level_add(c.t, "team", SCOPES));
    c.request = (tlshm_request)TLSHM_REQUEST_INIT;
    c.request.scopes = c.scope;
    c.request.estimate.of[TLSHM_TOKENS] = 1200;
    c.request.estimate.of[TLSHM_COST] = 18000000;
    c.actual.of[TLSHM_TOKENS] = 700;
    c.actual.of[TLSHM_COST] = 10500000;
    c.more.of[TLSHM_TOKENS] = 1;
}

/* Through a pointer that the compiler can't see through: the functions keep their names. */
static void run(void (*volatile count)(unsigned), unsigned times)
{
    count(times);
}

/* The first round is for what is done once: a seat, looked-up limits, resolved symbols, blocks of records. */
int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "Usage: calls SEGMENT-PATH\n");
        return 2;
    }
    open_segment(argv[1]);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kinds[i].set();
        run(kinds[i].count, CALLS);
        memset(seen, 0, sizeof seen);
        run(kinds[i].count, CALLS);
#ifdef TL_HOOKS
        printf("%s %.2f %.2f %.2f\n", kinds[i].name, (double)seen[0] / CALLS, (double)seen[1] / CALLS,
               (double)seen[2] / CALLS);
#else
        printf("%s %u\n", kinds[i].name, 2 * CALLS);
#endif
    }
    tlshm_detach(c.t);
    return tlshm_destroy(argv[1], NULL) < 0;
}
