/* SPDX-License-Identifier: MIT */
/* acts.c - see acts.h. */
#include "acts.h"

#include "space.h"

#include <string.h>

tlshm_t *act_t;

static tlshm_result result;
static tlshm_refusal why;
static tlshm_id made;

/* ------------------------------------------------------------------------------------------------------ beforehand */

void act_attached(void)
{
    act_t = ground_attach();
}

/* Has a seat, knows the keys, and has drawn a record. */
static void warm(void)
{
    tlshm_id id = 0;
    act_attached();
    MUST(ground_reserve(act_t, "user:u", 1, 90, NULL, &id) == TLSHM_OK, "a first reserve");
    MUST(tlshm_refund(act_t, id, NULL) == TLSHM_OK, "a first refund");
    const char *const keys[] = {"agent:a", "tenant:t", "user:u", "project:p"};
    tlshm_handle handle;
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
        MUST(tlshm_resolve(act_t, keys[i], 0, &handle) == 0, "%s", keys[i]);
}

static void as_it_is(void)
{
}

/* Attached for the rival, which has nothing else. */
static tlshm_t *rivals;

static int with_rival(int (*call)(void))
{
    tlshm_t *own = act_t;
    rivals = act_t = ground_attach();
    int rc = call();
    tlshm_detach(rivals);
    act_t = own;
    return rc;
}

/* -------------------------------------------------------------------------------------------------------- reserves */

static int reserve(void)
{
    return ground_reserve(act_t, "agent:a tenant:t", 7, 50, NULL, &made);
}

static int reserve_widely(void)
{
    return ground_reserve(act_t, "agent:a user:u project:p tenant:t", 7, 50, "second", &made);
}

static int rival_reserves_widely(void)
{
    return with_rival(reserve_widely);
}

static int refuse_explained(void)
{
    struct ask a;
    ask_for(&a, "agent:a tenant:t", "tokens=499950");
    return tlshm_reserve(act_t, &a.request, &made, &why);
}

static int refuse(void)
{
    return ground_reserve(act_t, "agent:a tenant:t", 499950, 50, NULL, &made);
}

static int replay(void)
{
    struct ask a;
    ask_for(&a, "agent:a tenant:t", "tokens=60");
    a.request.idempotency_key = ground_key;
    a.request.idempotency_len = strlen(ground_key);
    int rc = tlshm_reserve(act_t, &a.request, &made, NULL);
    return rc != TLSHM_REPLAY || made == ground_id[KNOWN_KEYED] ? rc : -TLSHM_EUNKNOWN;
}

static int reserve_much(void)
{
    return ground_reserve(act_t, "agent:a tenant:t", 450000, 50, NULL, &made);
}

static int reserve_new(void)
{
    return ground_reserve(act_t, "agent:n tenant:n", 7, 50, NULL, &made);
}

static int resolve_new_agent(void)
{
    tlshm_handle handle;
    return tlshm_resolve(act_t, "agent:n", 0, &handle);
}

static int resolve_new_both(void)
{
    tlshm_handle handle;
    int rc = resolve_new_agent();
    return rc == 0 ? tlshm_resolve(act_t, "tenant:n", 0, &handle) : rc;
}

static int reserve_new_too(void)
{
    return ground_reserve(act_t, "agent:n tenant:n", 5, 51, NULL, &made);
}

static int rival_reserves_new(void)
{
    return with_rival(reserve_new_too);
}

static int resolve_old(void)
{
    tlshm_handle handle;
    return tlshm_resolve(act_t, "agent:a", 0, &handle);
}

static int resolve_recycled(void)
{
    tlshm_handle handle;
    return tlshm_resolve(act_t, "user:new", 0, &handle);
}

/* --------------------------------------------------------------------------------------------------------- endings */

static int settle(void)
{
    return ground_settle(act_t, ground_id[KNOWN_HELD], 650);
}

static int rival_settles(void)
{
    return with_rival(settle);
}

static int settle_again(void)
{
    return ground_settle(act_t, ground_id[KNOWN_SETTLED], 11);
}

static int settle_late(void)
{
    return ground_settle(act_t, ground_id[KNOWN_EXPIRED], 75);
}

static int rival_settles_late(void)
{
    return with_rival(settle_late);
}

static int settle_overdue(void)
{
    return ground_settle(act_t, ground_id[KNOWN_OVERDUE], 75);
}

static int refund(void)
{
    return tlshm_refund(act_t, ground_id[KNOWN_HELD], &result);
}

static int rival_refunds(void)
{
    return with_rival(refund);
}

static int extend(void)
{
    tlshm_amounts more = {{50, 5}};
    return tlshm_extend(act_t, ground_id[KNOWN_HELD], &more, HOUR(2), NULL);
}

static int extend_too_far(void)
{
    tlshm_amounts more = {{499950}};
    return tlshm_extend(act_t, ground_id[KNOWN_HELD], &more, HOUR(2), &why);
}

/* ----------------------------------------------------------------------------------------------------------- looks */

static int look(void)
{
    static const char *const keys[] = {"agent:a", "tenant:t", "agent:never"};
    tlshm_scope_usage usage;
    tlshm_reservation_info info;
    int64_t left;
    int rc = 0;
    for (unsigned i = 0; i < 3 && rc == 0; i++) {
        rc = tlshm_usage(act_t, keys[i], 0, &usage);
        if (rc == 0)
            rc = tlshm_remaining(act_t, keys[i], 0, TLSHM_TOKENS, &left);
    }
    return rc == 0 ? tlshm_reservation(act_t, ground_id[KNOWN_HELD], &info) : rc;
}

/* --------------------------------------------------------------------------------------------------- comings, goings */

static int attach(void)
{
    return tlshm_attach(&act_t, ground_path, 0, NULL);
}

static int detach(void)
{
    tlshm_detach(act_t);
    act_t = NULL;
    return 0;
}

static int release(void)
{
    tlshm_thread_release(act_t);
    return 0;
}

static int create(void)
{
    const tlshm_geometry g = {.scopes = 1,
                              .reservations = 64,
                              .limits_per_scope = 1,
                              .slices = 1,
                              .seats = 4,
                              .tiers = 1,
                              .limit_lists = 1,
                              .virtual_clock = 1};
    return tlshm_create(ground_other, &g, NULL);
}

static int reap(void)
{
    return tlshm_reap(act_t, NULL);
}

/* --------------------------------------------------------------------------------------------------------- changes */

static int limit_set(void)
{
    const tlshm_limit limit = limit_of("tokens 900k per 1m/4");
    return tlshm_limit_set(act_t, "tenant:t", 0, &limit);
}

static int limit_of_new(void)
{
    const tlshm_limit limit = limit_of("concurrency 7");
    return tlshm_limit_set(act_t, "agent:n", 0, &limit);
}

static int limit_unset(void)
{
    const tlshm_limit limit = limit_of("requests 1000 per 1h/8");
    return tlshm_limit_unset(act_t, "agent:a", 0, &limit);
}

static int tier_set(void)
{
    const tlshm_limit limits[2] = {limit_of("tokens 5M per 1h/8"), limit_of("concurrency 50")};
    return tlshm_tier_set(act_t, "pro", limits, 2);
}

static void warm_with_tier(void)
{
    warm();
    MUST(tier_set() == 0, "a tier");
    MUST(tlshm_scope_tier_set(act_t, "user:u", 0, "pro") == 0, "a scope's tier");
}

static int tier_unset(void)
{
    return tlshm_tier_unset(act_t, "pro");
}

static int tier_assign(void)
{
    return tlshm_scope_tier_set(act_t, "tenant:t", 0, "pro");
}

static int default_set(void)
{
    return tlshm_default_set(act_t, "project", "pro");
}

static int level_add(void)
{
    return tlshm_level_add(act_t, "team", 3);
}

static int scope_pause(void)
{
    return tlshm_scope_pause(act_t, "user:u", 0, 1);
}

static int cap(void)
{
    return tlshm_overrun_set(act_t, TLSHM_CAP_AT_ESTIMATE);
}

const struct act acts[] = {
    {"reserve", START_CALM, .prepare = warm, .run = reserve, .held = 7},
    {"reserve with an idempotency key over four scopes", START_CALM, .prepare = warm, .run = reserve_widely, .held = 7,
     .rivalry = RIVAL_ONE, .rival = rival_reserves_widely, .second = TLSHM_REPLAY},
    {"reserve refused", START_CALM, .prepare = warm, .run = refuse, .verdict = TLSHM_REFUSED},
    {"reserve refused with details", START_CALM, .prepare = warm, .run = refuse_explained, .verdict = TLSHM_REFUSED},
    {"reserve replayed", START_CALM, .prepare = warm, .run = replay, .verdict = TLSHM_REPLAY},
    {"settle", START_CALM, .prepare = warm, .run = settle, .held = -GROUND_TOKENS, .used = 650, .rivalry = RIVAL_ONE,
     .rival = rival_settles, .second = TLSHM_REPLAY},
    {"settle against refund", START_CALM, .prepare = warm, .run = settle, .held = -GROUND_TOKENS, .used = 650,
     .rivalry = RIVAL_ONE, .rival = rival_refunds, .second = TLSHM_REPLAY},
    {"settle again", START_CALM, .prepare = warm, .run = settle_again, .verdict = TLSHM_REPLAY},
    {"late settle", START_CALM, .prepare = warm, .run = settle_late, .verdict = TLSHM_LATE, .used = 75,
     .rivalry = RIVAL_ONE, .rival = rival_settles_late, .second = TLSHM_REPLAY},
    {"settle of an overdue hold", START_LATE, .prepare = warm, .run = settle_overdue, .verdict = TLSHM_LATE,
     .used = 75},
    {"refund", START_CALM, .prepare = warm, .run = refund, .held = -GROUND_TOKENS, .rivalry = RIVAL_ONE,
     .rival = rival_refunds, .second = TLSHM_REPLAY},
    {"extend", START_CALM, .prepare = warm, .run = extend, .held = 50},
    {"extend refused", START_CALM, .prepare = warm, .run = extend_too_far, .verdict = TLSHM_REFUSED},
    {"expire, then reserve", START_LATE, .prepare = warm, .run = reserve_much, .held = 450000},
    {"expire, then refuse", START_LATE, .prepare = warm, .run = refuse, .verdict = TLSHM_REFUSED},
    {"reaper's pass", START_LATE, .prepare = warm, .run = reap},
    {"first use of scopes", START_CALM, .prepare = warm, .run = reserve_new,
     .way = {resolve_new_agent, resolve_new_both}, .rivalry = RIVAL_BOTH, .rival = rival_reserves_new},
    {"recycling of a scope", START_CROWDED, .prepare = warm, .run = resolve_recycled},
    {"attach", START_CALM, .prepare = as_it_is, .run = attach},
    {"first call", START_CALM, .prepare = act_attached, .run = resolve_old},
    {"a child's first call", START_CALM, .before = warm, .prepare = as_it_is, .run = reserve, .held = 7},
    {"detach", START_CALM, .prepare = warm, .run = detach},
    {"release of a seat", START_CALM, .prepare = warm, .run = release},
    {"create", START_CALM, .prepare = as_it_is, .run = create, .rivalry = RIVAL_ONE, .rival = create,
     .second = -TLSHM_EEXIST},
    {"remaining and usage", START_LATE, .prepare = warm, .run = look},
    {"limit changed", START_CALM, .prepare = warm, .run = limit_set},
    {"limit of a new scope", START_CALM, .prepare = warm, .run = limit_of_new, .way = {resolve_new_agent}},
    {"limit removed", START_CALM, .prepare = warm, .run = limit_unset},
    {"tier made", START_CALM, .prepare = warm, .run = tier_set},
    {"tier replaced", START_CALM, .prepare = warm_with_tier, .run = tier_set},
    {"tier removed", START_CALM, .prepare = warm_with_tier, .run = tier_unset},
    {"tier of a scope", START_CALM, .prepare = warm_with_tier, .run = tier_assign},
    {"tier of a level", START_CALM, .prepare = warm_with_tier, .run = default_set},
    {"level added", START_CALM, .prepare = warm, .run = level_add},
    {"scope paused", START_CALM, .prepare = warm, .run = scope_pause},
    {"overrun policy", START_CALM, .prepare = warm, .run = cap},
    {"first call after deaths", START_WRECKED, .prepare = act_attached, .run = resolve_old},
    {"reserve after deaths", START_WRECKED, .prepare = act_attached, .run = reserve, .held = 7},
    {"reaper's pass after deaths", START_WRECKED, .prepare = act_attached, .run = reap},
    {"usage after deaths", START_WRECKED, .prepare = act_attached, .run = look},
};
const unsigned act_count = sizeof acts / sizeof acts[0];
