/* SPDX-License-Identifier: MIT */
/* fit.c - a question is answered as a reserve would be, and changes nothing at all. */
#include "stage.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tlshm/stats.h>
#include <unistd.h>

static struct space space;
static tlshm_t *looker; /* may not write */
static tlshm_refusal why;

static void open_with(const tlshm_geometry *geometry)
{
    space_open(&space, geometry);
    cr_assert_eq(tlshm_attach(&looker, space.path, TLSHM_READONLY, NULL), 0);
    memset(&why, 0, sizeof why);
}

static void open_space(void)
{
    open_with(NULL);
}

static void close_space(void)
{
    tlshm_detach(looker);
    space_close(&space);
}

TestSuite(fit, .init = open_space, .fini = close_space, .timeout = 120);

/* Starts again with another segment. */
static void open_anew(const tlshm_geometry *geometry)
{
    close_space();
    open_with(geometry);
}

static unsigned char *content(size_t *size)
{
    struct stat st;
    FILE *file = fopen(space.path, "rb");
    cr_assert(file && fstat(fileno(file), &st) == 0);
    unsigned char *bytes = malloc((size_t)st.st_size);
    cr_assert(bytes && fread(bytes, 1, (size_t)st.st_size, file) == (size_t)st.st_size);
    fclose(file);
    *size = (size_t)st.st_size;
    return bytes;
}

/* Asks both attachments, with and without a place for details: one answer, and not a byte of the segment is another. */
static int ask_both(const tlshm_request *request)
{
    size_t before_size, after_size;
    unsigned char *before = content(&before_size);
    tlshm_refusal other;
    int rc = tlshm_would_fit(looker, request, &why);
    cr_expect_eq(tlshm_would_fit(space.t, request, &other), rc);
    if (rc == TLSHM_REFUSED)
        cr_expect(refusal_same(&why, &other));
    cr_expect_eq(tlshm_would_fit(space.t, request, NULL), rc);
    unsigned char *after = content(&after_size);
    cr_expect_eq(before_size, after_size);
    cr_expect_eq(memcmp(before, after, before_size), 0, "a question has changed the segment");
    free(before);
    free(after);
    return rc;
}

/* Asks, then reserves: the answers are one. */
static int ask_then_reserve(const tlshm_request *request, tlshm_id *id)
{
    tlshm_refusal came;
    int foretold = ask_both(request), rc = tlshm_reserve(space.t, request, id, &came);
    cr_expect_eq(foretold, rc, "foretold %d, came about %d", foretold, rc);
    if (foretold == TLSHM_REFUSED && rc == TLSHM_REFUSED)
        cr_expect(refusal_same(&why, &came), "foretold %s of %s, came about %s of %s",
                  tlshm_reason_name((int)why.reason), why.key, tlshm_reason_name((int)came.reason), came.key);
    return rc;
}

static int ask(const char *scopes, const char *amounts)
{
    struct ask a;
    return ask_both(ask_for(&a, scopes, amounts));
}

static int both(const char *scopes, const char *amounts)
{
    struct ask a;
    tlshm_id id;
    return ask_then_reserve(ask_for(&a, scopes, amounts), &id);
}

static tlshm_id reserve(const char *scopes, const char *amounts, uint64_t ttl_ns)
{
    struct ask a;
    tlshm_id id = 0;
    ask_for(&a, scopes, amounts);
    a.request.ttl_ns = ttl_ns;
    cr_assert_eq(tlshm_reserve(space.t, &a.request, &id, NULL), TLSHM_OK);
    return id;
}

static void set_default(const char *level, const char *tier, const char *limit)
{
    tlshm_limit only = limit_of(limit);
    cr_assert_eq(tlshm_tier_set(space.t, tier, &only, 1), 0);
    cr_assert_eq(tlshm_default_set(space.t, level, tier), 0);
}

/* ----------------------------------------------------------------------------------------------------- what is new */

Test(fit, new_scopes_are_judged_and_not_made)
{
    tlshm_segment_info info;
    set_default("agent", "small", "tokens 100 per 1h");
    set_default("tenant", "large", "tokens 1000 per month in Europe/Berlin");
    space_limits(&space, "user:u", "tokens 50 lifetime");
    cr_expect_eq(ask("agent:new tenant:new", "tokens=100"), TLSHM_OK);
    cr_expect_eq(ask("agent:new tenant:new", "tokens=101"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_NEVER_FITS);
    cr_expect_str_eq(why.key, "agent:new");
    cr_expect_eq(why.limit.cap, 100);
    cr_expect_eq(why.requested, 101);
    cr_expect_eq(why.retry_after_ns, TLSHM_NEVER);
    cr_expect_eq(ask("tenant:new agent:new", "tokens=1001"), TLSHM_REFUSED);
    cr_expect_str_eq(why.key, "tenant:new", "the first of the caller's");
    cr_expect_eq(ask("tenant:new user:u agent:new", "tokens=51"), TLSHM_REFUSED);
    cr_expect_str_eq(why.key, "user:u");
    cr_expect_eq(why.scope, 1);
    cr_expect_eq(space_usage(&space, "agent:new").seen, 0);
    cr_assert_eq(tlshm_get_segment(space.t, &info), 0);
    cr_expect_eq(info.scopes_live, 1);
    cr_expect_eq(both("agent:new tenant:new", "tokens=100"), TLSHM_OK);
    cr_expect_eq(both("agent:new tenant:new", "tokens=100"), TLSHM_REFUSED);
    cr_expect_eq(both("agent:newer tenant:new", "tokens=100"), TLSHM_OK);
}

Test(fit, a_key_of_a_length_is_named_whole)
{
    tlshm_scope scope = {.key = "agent:abcdef", .len = 9};
    tlshm_request request = TLSHM_REQUEST_INIT;
    tlshm_id id;
    set_default("agent", "none", "tokens 0 per 1h");
    request.scopes = &scope;
    request.scope_count = 1;
    request.estimate.of[TLSHM_TOKENS] = 1;
    cr_expect_eq(ask_both(&request), TLSHM_REFUSED);
    cr_expect_str_eq(why.key, "agent:abc");
    cr_expect_eq(ask_then_reserve(&request, &id), TLSHM_REFUSED);
}

Test(fit, the_same_scope_twice_is_an_error)
{
    cr_expect_eq(ask("agent:new agent:new", "tokens=1"), -TLSHM_EINVAL);
    cr_expect_eq(ask("agent:new tenant:t agent:new", "tokens=1"), -TLSHM_EINVAL);
    cr_expect_eq(both("agent:a tenant:t", "tokens=1"), TLSHM_OK);
    cr_expect_eq(both("agent:a agent:a", "tokens=1"), -TLSHM_EINVAL);
    cr_expect_eq(both("agent:a tenant:t", "tokens=1"), TLSHM_OK);
}

/* --------------------------------------------------------------------------------------------------- what refuses */

Test(fit, pauses_and_shutoffs)
{
    space_limits(&space, "agent:a", "tokens 5 per request");
    tlshm_scope_pause(space.t, "agent:a", 0, 1);
    cr_expect_eq(both("agent:a tenant:new", "tokens=9"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_PAUSED);
    cr_expect_str_eq(why.key, "agent:a");
    tlshm_scope_shutoff(space.t, "tenant:t", 0, 1);
    cr_expect_eq(both("agent:a tenant:t", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_SHUTOFF);
    cr_expect_eq(why.scope, 1);
    tlshm_pause(space.t, 1);
    cr_expect_eq(both("agent:new", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_PAUSED);
    cr_expect_eq(why.scope, UINT32_MAX);
    tlshm_shutoff(space.t, 1);
    cr_expect_eq(both("agent:new", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_SHUTOFF);
}

Test(fit, too_large_before_never_before_now)
{
    space_limits(&space, "agent:a", "tokens 50 per 1h; tokens 100 lifetime");
    set_default("tenant", "usual", "tokens 100 per request");
    cr_expect_eq(both("agent:a tenant:t", "tokens=101"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_REQUEST_TOO_LARGE);
    cr_expect_str_eq(why.key, "tenant:t");
    cr_expect_eq(why.requested, 101);
    cr_expect_eq(both("agent:a tenant:t", "tokens=60"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_NEVER_FITS);
    cr_expect_eq(both("agent:a tenant:t", "tokens=50"), TLSHM_OK);
    cr_expect_eq(both("agent:a tenant:t", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_LIMIT);
    cr_expect_eq(why.held, 50);
    space_limits(&space, "agent:a", "time 0s per request");
    cr_expect_eq(both("agent:a", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_REQUEST_TOO_LARGE);
}

/* The wait is that of the whole request: use that rolls out of one scope, holds that end on another. */
Test(fit, the_wait_is_exact)
{
    space_limits(&space, "agent:a", "tokens 100 per 60s; concurrency 3");
    space_limits(&space, "tenant:t", "tokens 150 per 1h strict; cost $10 per day");
    tlshm_amounts used = amounts_of("tokens=80 cost=4");
    cr_assert_eq(tlshm_settle(space.t, reserve("agent:a tenant:t", "tokens=80", SEC(9)), &used, TLSHM_EXACT, NULL), 0);
    space_at(&space, SEC(20));
    reserve("tenant:t", "tokens=40", SEC(100));
    cr_expect_eq(both("agent:a tenant:t new:", "tokens=40"), -TLSHM_EKEY);
    cr_expect_eq(both("agent:a tenant:t user:new", "tokens=40"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_LIMIT);
    uint64_t wait = why.retry_after_ns;
    cr_expect_eq(wait, SEC(100));
    space_at(&space, SEC(20) + wait - 1);
    cr_expect_eq(both("agent:a tenant:t user:new", "tokens=40"), TLSHM_REFUSED);
    cr_expect_eq(why.retry_after_ns, 1);
    space_at(&space, SEC(20) + wait);
    cr_expect_eq(both("agent:a tenant:t user:new", "tokens=40"), TLSHM_OK);
}

/* Nobody has expired them yet, and a question does not either. */
Test(fit, overdue_holds_are_not_in_the_way)
{
    tlshm_segment_info info;
    space_limits(&space, "agent:a", "tokens 100 per 1h; input_tokens 100 per 1h");
    space_limits(&space, "tenant:t", "concurrency 2");
    reserve("agent:a tenant:t", "tokens=70 input_tokens=90", SEC(10));
    reserve("agent:a tenant:t", "tokens=20", SEC(50));
    cr_expect_eq(ask("agent:a tenant:t", "tokens=50"), TLSHM_REFUSED);
    cr_expect_eq(why.retry_after_ns, SEC(10));
    space_at(&space, SEC(10));
    cr_expect_eq(ask("agent:a tenant:t", "tokens=80 input_tokens=100"), TLSHM_OK);
    cr_expect_eq(ask("agent:a tenant:t", "tokens=81"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_LIMIT);
    cr_expect_eq(why.held, 20);
    cr_expect_eq(why.retry_after_ns, SEC(40));
    cr_expect_eq(ask("agent:a tenant:t", "tokens=101"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_NEVER_FITS);
    cr_expect_eq(why.held, 20);
    cr_assert_eq(tlshm_get_segment(space.t, &info), 0);
    cr_expect_eq(info.reservations_held, 2, "they are there still");
    cr_expect_eq(both("agent:a tenant:t", "tokens=81"), TLSHM_REFUSED);
    cr_expect_eq(both("agent:a tenant:t", "tokens=80 input_tokens=100"), TLSHM_OK);
}

/* ----------------------------------------------------------------------------------------------- idempotency keys */

static int with_key(const char *key, const char *scopes, const char *amounts)
{
    struct ask a;
    tlshm_id id;
    ask_for(&a, scopes, amounts);
    a.request.idempotency_key = key;
    a.request.idempotency_len = strlen(key);
    return ask_then_reserve(&a.request, &id);
}

Test(fit, a_repeat_is_a_replay_whatever_has_come)
{
    space_limits(&space, "agent:a", "tokens 100 per 1h");
    cr_expect_eq(with_key("one", "agent:a tenant:t", "tokens=100"), TLSHM_OK);
    cr_expect_eq(with_key("one", "agent:a tenant:t", "tokens=100"), TLSHM_REPLAY);
    cr_expect_eq(with_key("one", "tenant:t agent:a", "tokens=100"), TLSHM_REPLAY);
    cr_expect_eq(with_key("one", "agent:a tenant:t", "tokens=99"), -TLSHM_EMISMATCH);
    cr_expect_eq(with_key("one", "agent:a tenant:new", "tokens=100"), -TLSHM_EMISMATCH);
    cr_expect_eq(with_key("two", "agent:a tenant:t", "tokens=1"), TLSHM_REFUSED);
    tlshm_pause(space.t, 1);
    cr_expect_eq(with_key("one", "agent:a tenant:t", "tokens=100"), TLSHM_REPLAY);
}

/* ---------------------------------------------------------------------------------------------------- full tables */

Test(fit, a_full_table_of_reservations)
{
    tlshm_geometry g = space_geometry();
    g.reservations = 64;
    open_anew(&g);
    for (unsigned i = 0; i < 64; i++)
        reserve("agent:a", "tokens=1", SEC(30 + i));
    cr_expect_eq(both("agent:b", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_FULL);
    cr_expect_eq(why.retry_after_ns, SEC(30));
    space_limits(&space, "agent:c", "tokens 5 lifetime");
    cr_expect_eq(both("agent:c", "tokens=6"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_NEVER_FITS);
    space_at(&space, SEC(30));
    cr_expect_eq(both("agent:b", "tokens=1"), TLSHM_OK);
    cr_expect_eq(both("agent:b", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.retry_after_ns, SEC(1));
}

static void *reserve_tied(void *unused)
{
    struct ask a;
    tlshm_id id;
    (void)unused;
    ask_for(&a, "agent:a", "tokens=1");
    a.request.flags = TLSHM_FREE_ON_DEATH;
    for (unsigned i = 0; i < 64; i++)
        cr_assert_eq(tlshm_reserve(space.t, &a.request, &id, NULL), TLSHM_OK);
    return NULL;
}

/* A thread that has ended has left a table full of holds that were tied to it. */
Test(fit, a_table_full_of_orphans_has_room)
{
    pthread_t thread;
    tlshm_geometry g = space_geometry();
    g.reservations = 64;
    open_anew(&g);
    cr_expect_eq(both("agent:b", "tokens=1 requests=2"), TLSHM_OK);
    cr_assert_eq(tlshm_reap(space.t, NULL), 0);
    space_at(&space, HOUR(1));
    cr_assert_eq(pthread_create(&thread, NULL, reserve_tied, NULL), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_expect_eq(both("agent:b", "tokens=1"), TLSHM_OK);
}

/* Holds with new keys, until the table is full of holds or says that it has no place for a key. False: the former. */
static bool fill_places(unsigned round, tlshm_id *ids, unsigned *count)
{
    struct ask a;
    tlshm_refusal came;
    reserve("agent:late", "tokens=1", MS(10)); /* overdue: its deadline is not the first at which there is room */
    space_at(&space, space.now + SEC(1));
    ask_for(&a, "agent:a", "tokens=1");
    for (*count = 0; *count < 1024; ++*count) {
        char key[32];
        snprintf(key, sizeof key, "key %u of %u", *count, round);
        a.request.idempotency_key = key;
        a.request.idempotency_len = strlen(key);
        int foretold = tlshm_would_fit(looker, &a.request, &why);
        int rc = tlshm_reserve(space.t, &a.request, &ids[*count], &came);
        cr_assert_eq(foretold, rc);
        if (rc != TLSHM_REFUSED)
            continue;
        cr_expect_eq(came.reason, TLSHM_FULL);
        cr_expect(refusal_same(&why, &came));
        return true;
    }
    return false;
}

/* Few keys share a place. Which of them do is another matter in every segment, so some rounds may be needed. */
Test(fit, no_place_for_an_idempotency_key)
{
    static tlshm_id ids[1024];
    unsigned count = 0, round = 0;
    while (!fill_places(round, ids, &count) && ++round < 100)
        for (unsigned i = 0; i < count; i++)
            cr_assert_eq(tlshm_refund(space.t, ids[i], NULL), TLSHM_OK);
    cr_expect_lt(round, 100, "no place was ever full");
    cr_expect_eq(both("agent:a", "tokens=1"), TLSHM_OK, "without a key");
}

/* Makes scopes until there is no room; returns how many there were. The attachments of the test remember none of them. */
static unsigned fill_scopes(const char *level)
{
    tlshm_t *other = space_attach(&space);
    tlshm_handle handle;
    char key[32];
    unsigned count = 0;
    do
        snprintf(key, sizeof key, "%s:%u", level, count++);
    while (tlshm_resolve(other, key, 0, &handle) == 0);
    tlshm_detach(other);
    return count - 1;
}

static void pause_scopes(const char *level, unsigned from, unsigned to, int on)
{
    char key[32];
    for (unsigned i = from; i < to; i++) {
        snprintf(key, sizeof key, "%s:%u", level, i);
        cr_assert_eq(tlshm_scope_pause(space.t, key, 0, on), 0);
    }
}

Test(fit, a_full_table_of_scopes)
{
    tlshm_geometry g = space_geometry();
    g.scopes = 64;
    g.retention_ns = SEC(100);
    open_anew(&g);
    cr_expect_eq(fill_scopes("agent"), 64);
    cr_expect_eq(both("agent:1 tenant:new", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_FULL);
    cr_expect_eq(why.retry_after_ns, TLSHM_NEVER);
    cr_expect_eq(both("agent:1 agent:2", "tokens=1"), TLSHM_OK);
    space_at(&space, SEC(100));
    pause_scopes("agent", 0, 64, 1);
    cr_expect_eq(both("tenant:new", "tokens=1"), TLSHM_REFUSED, "what has flags stays");
    cr_expect_eq(why.reason, TLSHM_FULL);
    pause_scopes("agent", 3, 8, 0);
    cr_expect_eq(both("tenant:new", "tokens=1"), TLSHM_REFUSED, "what was just changed stays for a while");
    space_at(&space, SEC(200));
    cr_expect_eq(ask("tenant:new", "tokens=1"), TLSHM_OK, "what is idle makes room");
    cr_expect_eq(both("user:a user:b user:c user:d user:e user:f", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_FULL);
    space_at(&space, SEC(300));
    cr_expect_eq(both("user:u user:v user:w user:x user:y", "tokens=1"), TLSHM_OK);
}

/* Of a full table only the scope that is asked for itself is idle: it is no room for the other one. */
Test(fit, a_scope_makes_no_room_for_its_neighbour)
{
    tlshm_geometry g = space_geometry();
    g.scopes = 64;
    g.retention_ns = SEC(100);
    open_anew(&g);
    cr_expect_eq(fill_scopes("agent"), 64);
    space_at(&space, SEC(100));
    pause_scopes("agent", 1, 64, 1);
    cr_expect_eq(ask("tenant:new", "tokens=1"), TLSHM_OK);
    cr_expect_eq(ask("agent:0 tenant:new", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_FULL);
    cr_expect_eq(ask("agent:1 tenant:new", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_PAUSED);
    cr_expect_eq(both("agent:0 tenant:new", "tokens=1"), TLSHM_REFUSED, "the new one takes the cell of the other");
    cr_expect_eq(why.reason, TLSHM_FULL);
}

/* --------------------------------------------------------------------------------------------------------- errors */

Test(fit, handles_and_stale_ones)
{
    tlshm_scope scopes[2] = {{.key = "agent:a"}, {.key = "tenant:t"}};
    tlshm_request request = TLSHM_REQUEST_INIT;
    tlshm_geometry g = space_geometry();
    tlshm_id id;
    g.scopes = 64;
    g.retention_ns = SEC(100);
    open_anew(&g);
    request.scopes = scopes;
    request.scope_count = 2;
    request.estimate.of[TLSHM_TOKENS] = 5;
    cr_assert_eq(tlshm_resolve(space.t, "agent:a", 0, &scopes[0].handle), 0);
    space_limits(&space, "tenant:t", "tokens 9 per 1h");
    cr_expect_eq(ask_then_reserve(&request, &id), TLSHM_OK);
    cr_expect_eq(ask_then_reserve(&request, &id), TLSHM_REFUSED);
    cr_expect_str_eq(why.key, "tenant:t");
    cr_assert_eq(tlshm_refund(space.t, id, NULL), TLSHM_OK);
    space_at(&space, HOUR(2));
    cr_assert_eq(tlshm_reap(space.t, NULL), 0);
    fill_scopes("user"); /* the idle scope's place is given away */
    cr_expect_eq(ask_then_reserve(&request, &id), -TLSHM_ESTALE);
    scopes[0].handle = UINT64_MAX;
    cr_expect_eq(ask_both(&request), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_reserve(space.t, &request, &id, NULL), -TLSHM_EINVAL);
}

/* A process goes on asking by key for a scope whose place was given away meanwhile. */
Test(fit, a_key_outlives_its_handle)
{
    tlshm_geometry g = space_geometry();
    g.scopes = 64;
    g.retention_ns = SEC(100);
    open_anew(&g);
    cr_expect_eq(ask("agent:a", "tokens=1"), TLSHM_OK);
    cr_expect_eq(both("agent:a", "tokens=1"), TLSHM_OK);
    space_at(&space, HOUR(2));
    cr_assert_eq(tlshm_reap(space.t, NULL), 0);
    space_at(&space, HOUR(4));
    cr_expect_eq(fill_scopes("user"), 64);
    cr_expect_eq(both("agent:a", "tokens=1"), TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_FULL);
    space_at(&space, HOUR(6));
    cr_expect_eq(both("agent:a", "tokens=1"), TLSHM_OK);
}

Test(fit, bad_arguments_write_nothing)
{
    struct ask a;
    tlshm_request r;
    tlshm_refusal before;
    memset(&why, 0x5a, sizeof why);
    memcpy(&before, &why, sizeof why);
    ask_for(&a, "agent:a", "tokens=1");
#define BAD(expected, change)                                                                                          \
    do {                                                                                                               \
        r = a.request;                                                                                                 \
        change;                                                                                                        \
        cr_expect_eq(tlshm_would_fit(space.t, &r, &why), expected, "%s", #change);                                     \
        cr_expect_eq(tlshm_would_fit(looker, &r, &why), expected, "%s", #change);                                      \
    } while (0)
    BAD(-TLSHM_EINVAL, r.scopes = NULL);
    BAD(-TLSHM_EINVAL, r.scope_count = 0);
    BAD(-TLSHM_EINVAL, r.scope_count = TLSHM_SCOPES_MAX + 1);
    BAD(-TLSHM_EINVAL, r.flags = 2);
    BAD(-TLSHM_EINVAL, r.ttl_ns = 0);
    BAD(-TLSHM_ERANGE, r.ttl_ns = UINT64_MAX);
    BAD(-TLSHM_EEMPTY, memset(&r.estimate, 0, sizeof r.estimate));
    BAD(-TLSHM_ERANGE, r.estimate.of[TLSHM_COST] = TLSHM_AMOUNT_MAX + 1);
    BAD(-TLSHM_EINVAL, r.estimate.of[TLSHM_CONCURRENCY] = 1);
    BAD(-TLSHM_EINVAL, r.idempotency_key = "k");
    BAD(-TLSHM_EKEY, a.scopes[0].key = NULL);
    BAD(-TLSHM_EKEY, a.scopes[0].key = "agent:");
    BAD(-TLSHM_EKEY, a.scopes[0].key = "agent:\xff");
    BAD(-TLSHM_ELEVEL, a.scopes[0].key = "team:x");
    cr_expect_eq(tlshm_would_fit(space.t, NULL, &why), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_would_fit(NULL, &a.request, &why), -TLSHM_EINVAL);
    a.scopes[0].key = "agent:a";
    cr_expect_eq(tlshm_would_fit(looker, &a.request, &why), TLSHM_OK);
    cr_expect_eq(memcmp(&before, &why, sizeof why), 0, "something was written");
}

/* Sums end in an error: the question says so too. */
Test(fit, sums_near_their_end)
{
    struct ask a;
    tlshm_id id;
    int rc = TLSHM_OK;
    unsigned calls = 0;
    space_limits(&space, "agent:a", "requests unlimited lifetime");
    ask_for(&a, "agent:a", NULL);
    a.request.estimate.of[TLSHM_REQUESTS] = TLSHM_AMOUNT_MAX;
    for (; rc == TLSHM_OK && calls < 1000; calls++)
        rc = ask_then_reserve(&a.request, &id);
    cr_expect_eq(rc, -TLSHM_ERANGE);
    cr_expect_gt(calls, 4);
    space_limits(&space, "agent:b", "output_tokens unlimited lifetime");
    ask_for(&a, "agent:b", NULL);
    a.request.estimate.of[TLSHM_OUTPUT_TOKENS] = TLSHM_AMOUNT_MAX;
    for (rc = TLSHM_OK, calls = 0; rc == TLSHM_OK && calls < 1000; calls++)
        rc = calls % 64 < 62 ? tlshm_reserve(space.t, &a.request, &id, NULL) : ask_then_reserve(&a.request, &id);
    cr_expect_eq(rc, -TLSHM_ERANGE);
    cr_expect_eq(ask_then_reserve(&a.request, &id), -TLSHM_ERANGE);
}

/* ---------------------------------------------------------------------------------------------------------- clocks */

static void set_clock(int64_t boot_s, int64_t wall_s)
{
    cr_assert_eq(tlshm_clock_set(space.t, (uint64_t)((int64_t)SPACE_BOOT_NS + boot_s * 1000000000),
                                 (uint64_t)((int64_t)SPACE_WALL_NS + wall_s * 1000000000)),
                 0);
}

/* Use stays in its window after the clock went back, and counts from then on, before and after a reserve has noted it. */
Test(fit, a_clock_that_went_back)
{
    static const struct {
        int64_t boot_s, wall_s;
    } steps[] = {{-500, -500}, {-440, -440}, {-439, -90000}, {-439, 90000}, {-300, 90100}, {-2000, 200}};
    tlshm_amounts used = amounts_of("tokens=80");
    space_limits(&space, "agent:a", "tokens 100 per 60s; tokens 200 per day; requests 4 per 10s strict");
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct ask a;
        tlshm_id id;
        int rc = ask_then_reserve(ask_for(&a, "agent:a", "tokens=80"), &id);
        if (rc == TLSHM_OK)
            cr_assert_eq(tlshm_settle(space.t, id, &used, TLSHM_EXACT, NULL), TLSHM_OK);
        cr_expect_eq(both("agent:a", "tokens=101"), TLSHM_REFUSED);
        cr_expect_eq(both("agent:a tenant:new", "tokens=90"), TLSHM_REFUSED, "step %u", i);
        set_clock(steps[i].boot_s, steps[i].wall_s);
        cr_expect_eq(ask("agent:a", "tokens=30"), ask("agent:a tenant:new", "tokens=30"), "step %u", i);
        both("agent:a", "tokens=30");
        both("agent:a", "tokens=100");
    }
}

/* ---------------------------------------------------------------------------------------------------------- others */

static atomic_bool enough;

/* Two scopes that always hold the same. It pauses, or the question could see another change in each of its tries. */
static void *hold_both(void *unused)
{
    struct ask a;
    tlshm_id id;
    (void)unused;
    ask_for(&a, "tenant:t agent:a", "tokens=60");
    while (!atomic_load(&enough)) {
        if (tlshm_reserve(space.t, &a.request, &id, NULL) == TLSHM_OK) {
            usleep(20);
            tlshm_refund(space.t, id, NULL);
        }
        usleep(20);
    }
    return NULL;
}

/* While others come and go an answer is true of one moment: either both scopes are full, or neither is. */
Test(fit, answers_are_of_one_moment)
{
    pthread_t thread;
    struct ask a;
    unsigned seen[2] = {0, 0};
    space_limits(&space, "agent:a", "tokens 100 lifetime");
    space_limits(&space, "tenant:t", "tokens 100 lifetime");
    cr_expect_eq(both("tenant:t agent:a", "cost=1"), TLSHM_OK);
    ask_for(&a, "tenant:t agent:a", "tokens=50");
    atomic_store(&enough, false);
    cr_assert_eq(pthread_create(&thread, NULL, hold_both, NULL), 0);
    for (unsigned i = 0; i < 2000000 && (i < 20000 || !seen[0] || !seen[1]); i++) {
        int rc = tlshm_would_fit(i % 2 ? looker : space.t, &a.request, &why);
        cr_assert(rc == TLSHM_OK || rc == TLSHM_REFUSED, "%d", rc);
        seen[rc]++;
        if (rc == TLSHM_REFUSED && (why.scope != 0 || why.held != 60))
            cr_assert_fail("%s holds %u, the other nothing", why.key, (unsigned)why.held);
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    cr_expect(seen[0] && seen[1], "nothing came or nothing went");
}
