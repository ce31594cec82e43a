/* SPDX-License-Identifier: MIT */
/* latch.c - limits that pause or shut off once they are reached: when, what, for how long, and from a configuration. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tlshm/config.h>
#include <tlshm/stats.h>

#include "space.h"

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

static struct space s;

static int reserve(const char *scopes, const char *amounts, tlshm_id *id, tlshm_refusal *why)
{
    struct ask ask;
    int rc = tlshm_reserve(s.t, ask_for(&ask, scopes, amounts), id, why);
    cr_assert_geq(rc, 0, "%s", tlshm_error_name(rc));
    return rc;
}

static void settle(tlshm_id id, const char *amounts)
{
    tlshm_amounts actual = amounts_of(amounts);
    cr_assert_eq(tlshm_settle(s.t, id, &actual, TLSHM_EXACT, NULL), TLSHM_OK);
}

/* A call that costs what it asked for. */
static int call(const char *scopes, const char *amounts)
{
    tlshm_id id;
    int rc = reserve(scopes, amounts, &id, NULL);
    if (rc == TLSHM_OK)
        settle(id, amounts);
    return rc;
}

static tlshm_segment_info segment(void)
{
    tlshm_segment_info info;
    cr_assert_eq(tlshm_get_segment(s.t, &info), 0);
    return info;
}

static void resume(void)
{
    cr_assert_eq(tlshm_pause(s.t, 0), 0);
    cr_assert_eq(tlshm_shutoff(s.t, 0), 0);
}

/* ------------------------------------------------------------------------------------------------------ when, and what */

Test(latch, it_goes_by_what_was_used_and_not_by_what_is_held)
{
    tlshm_id id[10], more;
    tlshm_refusal why;
    char text[256];
    space_open(&s, NULL);
    space_limits(&s, "global:", "tokens 100 per 1h then shutoff");
    for (unsigned i = 0; i < COUNT_OF(id); i++)
        cr_assert_eq(reserve("global: agent:a", "tokens=50", &id[i], NULL), TLSHM_OK, "%u", i);
    cr_expect_eq(space_remaining(&s, "global:", TLSHM_TOKENS), INT64_MAX, "it admits any amount until it is reached");
    for (unsigned i = 0; i < 9; i++)
        settle(id[i], "tokens=11");
    cr_expect_eq(reserve("global: agent:a", "tokens=1000", &more, &why), TLSHM_OK, "99 used");
    cr_expect(!segment().shutoff);
    settle(id[9], "tokens=1");
    cr_expect_eq(space_remaining(&s, "global:", TLSHM_TOKENS), 0);
    cr_expect(!segment().shutoff, "who settles sets no switch");
    cr_expect_eq(reserve("agent:a global:", "tokens=1", &id[0], &why), TLSHM_REFUSED, "100 used");
    cr_expect_eq(why.reason, TLSHM_SHUTOFF);
    cr_expect_eq(why.scope, 1);
    cr_expect_eq(why.used, 100);
    cr_expect_eq(why.retry_after_ns, TLSHM_NEVER);
    tlshm_refusal_text(&why, text, sizeof text);
    cr_expect_str_eq(text, "global: is shut off until a person resumes it: 100 used of 100 tokens per 1h");
    cr_expect(segment().shutoff && !segment().paused);
    settle(more, "tokens=7");
    cr_expect_eq(space_usage(&s, "global:").used[TLSHM_TOKENS], 107, "settles are never blocked");
    space_close(&s);
}

Test(latch, of_global_it_stops_everything_and_of_another_scope_just_that)
{
    space_open(&s, NULL);
    space_limits(&s, "tenant:t", "cost $1 per 1h then pause");
    space_limits(&s, "global:", "cost $3 lifetime then pause; cost $4 lifetime then shutoff");
    cr_expect_eq(call("tenant:t global:", "cost=1000000000"), TLSHM_OK);
    cr_expect_eq(call("tenant:t global:", "cost=1"), TLSHM_REFUSED);
    cr_expect(space_usage(&s, "tenant:t").paused);
    cr_expect(!segment().paused);
    cr_expect_eq(call("tenant:t", "tokens=1"), TLSHM_REFUSED, "all of the scope's calls");
    cr_expect_eq(call("global:", "cost=2000000000"), TLSHM_OK, "and nobody else's");
    cr_expect_eq(call("tenant:u", "tokens=1"), TLSHM_OK);
    cr_expect_eq(call("global:", "cost=1"), TLSHM_REFUSED);
    cr_expect(segment().paused && !segment().shutoff);
    cr_expect_eq(call("tenant:u", "tokens=1"), TLSHM_REFUSED, "who does not name global: is stopped by it too");
    space_close(&s);
}

Test(latch, what_does_not_use_its_unit_neither_meets_nor_reaches_it)
{
    space_open(&s, NULL);
    space_limits(&s, "global:", "cost 10n per 1h then pause; tokens 1k per 1h");
    cr_expect_eq(call("global:", "cost=10"), TLSHM_OK);
    cr_expect_eq(call("global:", "tokens=10"), TLSHM_OK);
    cr_expect_eq(call("global:", "cost=1 tokens=10"), TLSHM_REFUSED);
    cr_expect(segment().paused);
    space_close(&s);
}

Test(latch, the_reaper_finds_what_nobody_asked_for)
{
    tlshm_id id[2];
    space_open(&s, NULL);
    space_limits(&s, "global:", "cost 10n per 1h then shutoff");
    space_limits(&s, "agent:a", "output_tokens 5 lifetime then pause");
    cr_assert_eq(reserve("global: agent:a", "tokens=1", &id[0], NULL), TLSHM_OK);
    cr_assert_eq(reserve("global: agent:a", "tokens=1", &id[1], NULL), TLSHM_OK);
    settle(id[0], "tokens=1 cost=9 output_tokens=4");
    cr_assert_eq(tlshm_reap(s.t, NULL), 0);
    cr_expect(!segment().shutoff && !space_usage(&s, "agent:a").paused);
    settle(id[1], "tokens=1 cost=1 output_tokens=1");
    cr_assert_eq(tlshm_reap(s.t, NULL), 0);
    cr_expect(segment().shutoff && space_usage(&s, "agent:a").paused);
    space_close(&s);
}

Test(latch, a_scope_of_a_tier_is_paused_alone)
{
    const tlshm_limit limit = limit_of("tokens 5 per 1h then pause");
    space_open(&s, NULL);
    cr_assert_eq(tlshm_tier_set(s.t, "free", &limit, 1), 0);
    cr_assert_eq(tlshm_default_set(s.t, "user", "free"), 0);
    cr_expect_eq(call("user:a", "tokens=5"), TLSHM_OK);
    cr_expect_eq(call("user:a", "tokens=1"), TLSHM_REFUSED);
    cr_expect(space_usage(&s, "user:a").paused);
    cr_expect_eq(call("user:b", "tokens=1"), TLSHM_OK);
    space_close(&s);
}

/* ----------------------------------------------------------------------------------------------------------- how long */

Test(latch, it_stays_when_its_window_has_rolled_on)
{
    space_open(&s, NULL);
    space_limits(&s, "global:", "tokens 10 per 1h then pause");
    cr_expect_eq(call("global:", "tokens=10"), TLSHM_OK);
    cr_expect_eq(call("global:", "tokens=1"), TLSHM_REFUSED);
    space_at(&s, HOUR(5));
    cr_expect_eq(call("global:", "tokens=1"), TLSHM_REFUSED);
    resume();
    cr_expect_eq(call("global:", "tokens=1"), TLSHM_OK);
    space_close(&s);
}

Test(latch, while_it_is_reached_resuming_lasts_until_the_next_call)
{
    const tlshm_limit higher = limit_of("tokens 12 per 1h then pause");
    tlshm_refusal why;
    tlshm_id id;
    space_open(&s, NULL);
    space_limits(&s, "global:", "tokens 10 per 1h then pause");
    cr_expect_eq(call("global:", "tokens=10"), TLSHM_OK);
    cr_expect_eq(call("global:", "tokens=1"), TLSHM_REFUSED);
    resume();
    cr_expect_eq(reserve("global:", "tokens=1", &id, &why), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_PAUSED);
    cr_expect(segment().paused);
    cr_assert_eq(tlshm_limit_set(s.t, "global:", 0, &higher), 0, "the same limit with another cap");
    cr_expect_eq(call("global:", "tokens=1"), TLSHM_REFUSED, "a person resumes");
    resume();
    cr_expect_eq(call("global:", "tokens=2"), TLSHM_OK);
    cr_expect_eq(call("global:", "tokens=1"), TLSHM_REFUSED);
    space_close(&s);
}

Test(latch, nothing_and_without_limit)
{
    space_open(&s, NULL);
    space_limits(&s, "agent:a", "tokens 0 per 1h then pause");
    space_limits(&s, "agent:b", "tokens unlimited per 1h then pause");
    cr_expect_eq(call("agent:a", "tokens=1"), TLSHM_REFUSED);
    cr_expect(space_usage(&s, "agent:a").paused);
    cr_expect_eq(call("agent:b", "tokens=9000000000000000"), TLSHM_OK);
    cr_expect_eq(call("agent:b", "tokens=1"), TLSHM_OK);
    space_close(&s);
}

/* Beside a limit of the same unit: whichever is met first. The limit goes by what is held as well, and says when. */
Test(latch, a_limit_beside_it_goes_on_as_always)
{
    tlshm_refusal why;
    tlshm_id id, other;
    space_open(&s, NULL);
    space_limits(&s, "global:", "tokens 10 per 1m; tokens 15 per 1h then shutoff");
    cr_expect_eq(reserve("global:", "tokens=8", &id, NULL), TLSHM_OK);
    cr_expect_eq(reserve("global:", "tokens=3", &other, &why), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_LIMIT);
    cr_expect_neq(why.retry_after_ns, TLSHM_NEVER);
    settle(id, "tokens=8");
    cr_expect_eq(reserve("global:", "tokens=20", &other, &why), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_NEVER_FITS);
    cr_expect_eq(space_remaining(&s, "global:", TLSHM_TOKENS), 2);
    space_at(&s, SEC(120));
    cr_expect_eq(call("global:", "tokens=7"), TLSHM_OK);
    cr_expect_eq(reserve("global:", "tokens=9", &other, &why), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_SHUTOFF, "it goes before the limit");
    cr_expect(segment().shutoff);
    space_close(&s);
}

Test(latch, an_extension_meets_it_and_more_time_does_not)
{
    tlshm_amounts more = amounts_of("tokens=1");
    tlshm_refusal why;
    tlshm_id id;
    space_open(&s, NULL);
    space_limits(&s, "global:", "tokens 10 per 1h then pause");
    cr_assert_eq(reserve("global:", "tokens=1", &id, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_extend(s.t, id, &more, 0, &why), TLSHM_OK);
    cr_expect_eq(call("global:", "tokens=10"), TLSHM_OK);
    cr_expect_eq(tlshm_extend(s.t, id, &more, 0, &why), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_PAUSED);
    cr_expect_eq(tlshm_extend(s.t, id, NULL, SEC(600), &why), TLSHM_OK);
    settle(id, "tokens=2");
    space_close(&s);
}

/* -------------------------------------------------------------------------------------------------------- many at once */

enum { WORKERS = 4, CAP = 4000 };

/* Calls of one token until it is stopped. 0 when it was told why. */
static int work(void)
{
    struct ask ask;
    tlshm_refusal why;
    tlshm_id id;
    tlshm_amounts one = amounts_of("tokens=1");
    int rc;
    alarm(100);
    while ((rc = tlshm_reserve(s.t, ask_for(&ask, "global: agent:a", "tokens=1"), &id, &why)) == TLSHM_OK)
        if (tlshm_settle(s.t, id, &one, TLSHM_EXACT, NULL) != TLSHM_OK)
            return 2;
    return rc == TLSHM_REFUSED && why.reason == TLSHM_SHUTOFF ? 0 : 3;
}

/* Whoever is admitted saw less used than the cap: beyond it goes only what others held at that moment. */
Test(latch, none_is_admitted_once_it_is_reached, .timeout = 200)
{
    pid_t worker[WORKERS];
    char limit[64];
    space_open(&s, NULL);
    snprintf(limit, sizeof limit, "tokens %d per 1h then shutoff", CAP);
    space_limits(&s, "global:", limit);
    for (unsigned i = 0; i < WORKERS; i++)
        if ((worker[i] = fork()) == 0)
            _exit(work());
    for (unsigned i = 0; i < WORKERS; i++) {
        int status = -1;
        cr_assert_eq(waitpid(worker[i], &status, 0), worker[i]);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "worker %u: %x", i, (unsigned)status);
    }
    uint64_t used = space_usage(&s, "global:").used[TLSHM_TOKENS];
    cr_expect(used >= CAP && used < CAP + WORKERS, "%llu", (unsigned long long)used);
    cr_expect_eq(segment().counters.admitted, used);
    cr_expect_eq(tlshm_verify(s.t, NULL, NULL, NULL), 0);
    space_close(&s);
}

/* --------------------------------------------------------------------------------------------------------------- texts */

Test(latch, it_is_written_behind_the_window)
{
    static const char *const texts[] = {
        "cost $10000 per 1d then shutoff",
        "tokens 5 lifetime then pause",
        "tokens 5 per 1m/6 strict then shutoff",
        "requests 7 per day in Europe/Berlin then pause",
        "tokens unlimited per 1h then pause",
        "cost $1 per month from 15 then pause",
        "output_tokens 5 per week from Fri then shutoff",
    };
    static const struct {
        const char *text, *complaint;
    } wrong[] = {
        {"tokens 5 per 1h then", "expected 'pause' or 'shutoff'"},
        {"tokens 5 per 1h then stop", "expected 'pause' or 'shutoff', not 'stop'"},
        {"tokens 5 per 1h then pause then shutoff", "then"},
        {"tokens 5 per 1h then pause strict", "strict"},
        {"tokens 5 per request then pause", "nothing is counted for single requests"},
        {"time 5s per request then pause", "then"},
        {"concurrency 5 then pause", "then"},
    };
    char buf[128];
    tlshm_limit limit;
    struct tlshm_error err;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        tlshm_limit first = limit_of(texts[i]);
        tlshm_limit_format(&first, buf, sizeof buf);
        limit = limit_of(buf);
        cr_expect_eq(memcmp(&first, &limit, sizeof limit), 0, "%s: %s", texts[i], buf);
        cr_expect_not_null(strstr(buf, strstr(texts[i], " then ")), "%s: %s", texts[i], buf);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        cr_expect_eq(tlshm_limit_parse(wrong[i].text, &limit, &err), -TLSHM_EINVAL, "%s", wrong[i].text);
        cr_expect_not_null(strstr(err.text, wrong[i].complaint), "%s: %s", wrong[i].text, err.text);
    }
}

Test(latch, what_counts_nothing_can_be_none)
{
    tlshm_limit limits[] = {limit_of("tokens 5 per 1h"), limit_of("tokens 5 per request"), limit_of("concurrency 5")};
    space_open(&s, NULL);
    limits[0].flags = TLSHM_LIMIT_PAUSES | TLSHM_LIMIT_SHUTS_OFF;
    limits[1].flags = TLSHM_LIMIT_PAUSES;
    limits[2].flags = TLSHM_LIMIT_SHUTS_OFF;
    for (unsigned i = 0; i < COUNT_OF(limits); i++)
        cr_expect_eq(tlshm_limit_set(s.t, "agent:a", 0, &limits[i]), -TLSHM_EINVAL, "%u", i);
    space_limits(&s, "agent:a",
                 "tokens 5 per 1h/6 then pause; tokens 5 per 1h/6 strict then shutoff; tokens 5 per 1h/6");
    tlshm_scope_usage usage = space_usage(&s, "agent:a");
    cr_assert_eq(usage.limit_count, 3, "one window, three limits");
    cr_expect_eq(usage.limits[0].limit.flags, TLSHM_LIMIT_PAUSES);
    cr_expect_eq(usage.limits[1].limit.flags, TLSHM_LIMIT_SHUTS_OFF | TLSHM_LIMIT_STRICT);
    cr_expect_eq(usage.limits[1].limit.window.slices, 6);
    cr_expect_eq(usage.limits[1].limit.window.length_ns, HOUR(1));
    cr_expect_eq(usage.limits[2].limit.flags, 0);
    space_close(&s);
}

/* ------------------------------------------------------------------------------------------------------ configurations */

static int apply(const char *text, struct tlshm_error *err)
{
    tlshm_config *config;
    cr_assert_eq(tlshm_config_parse(&config, text, strlen(text), NULL, NULL, err), 0, "%s", text);
    int rc = tlshm_config_apply(s.t, config, NULL, NULL, err);
    cr_expect(rc < 0 || tlshm_config_diff(s.t, config, NULL, NULL, NULL) == 0, "applied once is applied: %s", text);
    tlshm_config_free(config);
    return rc;
}

/* The limits of global:, in words. */
static const char *limits_of_global(void)
{
    static char all[512];
    tlshm_scope_usage usage = space_usage(&s, "global:");
    size_t n = 0;
    *all = 0;
    for (unsigned i = 0; i < usage.limit_count; i++) {
        n += (size_t)snprintf(all + n, sizeof all - n, "%s", i ? "; " : "");
        n += (size_t)tlshm_limit_format(&usage.limits[i].limit, all + n, sizeof all - n);
    }
    return all;
}

Test(latch, pause_at_and_shutoff_at_are_latches_of_global)
{
    static const struct {
        const char *file, *limits;
        int changes;
    } steps[] = {
        {"shutoff_at: [cost $10 per 1d]", "cost $10 per 1d then shutoff", 1},
        {"scopes: {global: [tokens 5 per 1h]}", "tokens 5 per 1h; cost $10 per 1d then shutoff", 1},
        {"pause_at: [cost $8 per 1d]", "tokens 5 per 1h; cost $8 per 1d then pause; cost $10 per 1d then shutoff", 1},
        {"scopes: {}", "cost $8 per 1d then pause; cost $10 per 1d then shutoff", 1},
        {"tiers: {t: [requests 9 per 1h]}\nlevels: {global: t}",
         "cost $8 per 1d then pause; cost $10 per 1d then shutoff", 2},
        {"scopes: {}", "requests 9 per 1h; cost $8 per 1d then pause; cost $10 per 1d then shutoff", 1},
        {"unlisted_scopes: keep\nscopes: {}",
         "requests 9 per 1h; cost $8 per 1d then pause; cost $10 per 1d then shutoff", 0},
        {"tiers: {t: [requests 8 per 1h]}\nscopes: {global: t}",
         "requests 8 per 1h; cost $8 per 1d then pause; cost $10 per 1d then shutoff", 2},
        {"pause_at: []", "requests 8 per 1h; cost $10 per 1d then shutoff", 1},
        {"pause_at: []\nshutoff_at: []\nscopes: {global: []}", "", 1},
        {"scopes: {}", "requests 8 per 1h", 1},
        {"overrun: actual", "requests 8 per 1h", 0},
    };
    space_open(&s, NULL);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct tlshm_error err = {0};
        cr_expect_eq(apply(steps[i].file, &err), steps[i].changes, "step %zu: %s", i, err.text);
        cr_expect_str_eq(limits_of_global(), steps[i].limits, "step %zu", i);
    }
    space_close(&s);
}

static int put_text(void *context, const char *text, size_t size)
{
    strncat(context, text, size);
    return 0;
}

Test(latch, what_is_shown_is_what_is_there)
{
    static char text[8192];
    tlshm_config *config;
    space_open(&s, NULL);
    space_limits(&s, "global:", "cost $10 per 1d then shutoff; tokens 5 per 1h; tokens 7 lifetime then pause");
    space_limits(&s, "tenant:t", "tokens 9 per 1h then pause");
    cr_assert_eq(tlshm_config_read(&config, s.t), 0);
    cr_assert_eq(tlshm_config_write(config, put_text, text), 0);
    tlshm_config_free(config);
    cr_expect_not_null(strstr(text, "pause_at:\n  - tokens 7 lifetime\n"), "%s", text);
    cr_expect_not_null(strstr(text, "shutoff_at:\n  - cost $10 per 1d\n"), "%s", text);
    cr_expect_not_null(strstr(text, "tokens 9 per 1h then pause"), "%s", text);
    cr_expect_eq(apply(text, NULL), 0, "%s", text);
    space_close(&s);
}

struct told {
    char text[1024];
};

static void tell(void *context, unsigned line, unsigned column, const char *text)
{
    struct told *told = context;
    size_t n = strlen(told->text);
    snprintf(told->text + n, sizeof told->text - n, "%u:%u %s\n", line, column, text);
}

Test(latch, what_is_wrong_in_a_file_is_told_with_its_place)
{
    static const struct {
        const char *file, *complaints;
    } files[] = {
        {"scopes: {global: [tokens 1 per 1h, tokens 5 per 1h then pause]}",
         "1:36 what pauses or shuts off everything stands under pause_at or shutoff_at\n"},
        {"pause_at: [tokens 5 per 1h then pause]",
         "1:12 what happens when it is reached is said by the section already\n"},
        {"shutoff_at: [concurrency 5]", "1:14 concurrency is held and not used up: there is nothing to reach\n"},
        {"alerts: [80%]", "1:1 there are no alerts in this version: nobody would be told\n"},
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct told told = {""};
        tlshm_config *config;
        cr_expect_eq(tlshm_config_parse(&config, files[i].file, strlen(files[i].file), tell, &told, NULL),
                     -TLSHM_EINVAL);
        cr_expect_str_eq(told.text, files[i].complaints);
    }
}

Test(latch, global_has_room_for_so_many)
{
    struct tlshm_error err = {0};
    tlshm_geometry g = space_geometry();
    g.limits_per_scope = 2;
    space_open(&s, &g);
    cr_expect_eq(apply("scopes:\n  global: [tokens 1 per 1h]\npause_at: [tokens 5 lifetime, cost $1 lifetime]\n", &err),
                 -TLSHM_ERANGE);
    cr_expect_not_null(strstr(err.text, "line 2: global:: more limits than the segment has room for"), "%s", err.text);
    cr_expect_str_eq(limits_of_global(), "");
    space_close(&s);
}
