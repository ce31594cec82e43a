/* SPDX-License-Identifier: MIT */
/* starts.c - the segments that scenes begin with. See starts.h. */
#include "starts.h"

#include "limits.h"
#include "tap.h"

uint32_t tier_cells[2], level_cell;
struct answers answers;

/* Buckets of one tick and of two, the latter one longer than the window; and an hour that ends in six ticks. */
unsigned usual_limits(uint64_t cap, tlshm_limit *limits)
{
    limits[0] = world_rolling(TLSHM_TOKENS, 2, 1, 0, cap);
    limits[1] = world_rolling(TLSHM_TOKENS, 2, 2, TLSHM_LIMIT_STRICT, cap);
    limits[2] = world_calendar(cap);
    return 3;
}

void open_named(const char *first, const tlshm_limit *limits, unsigned count, unsigned leave_out)
{
    world_open(first, limits, count);
    ledger_open(limits, count, leave_out);
    ledger_check();
}

void open_with(const tlshm_limit *limits, unsigned count, unsigned leave_out)
{
    open_named(NULL, limits, count, leave_out);
}

/* Lets the clock go on, with a call on scopes 0 and 1. Amounts are powers of two, so that a sum tells its parts. */
void use(int ticks, uint64_t tokens)
{
    const struct booking booking = {.record = 3, .scopes = S0 | S1, .tokens = 1};
    tlshm_id id;
    world_tick(ticks);
    MUST(call_reserve(HARNESS, &booking, &id) == TLSHM_OK, "no use to begin with");
    ledger_check(); /* it sees the windows begin before anything is used in them */
    call_end(HARNESS, id, SETTLE, tokens);
    ledger_check();
}

void hold(uint64_t tokens, unsigned ttl)
{
    const struct booking booking = {.record = 0, .scopes = S0 | S1, .tokens = tokens, .ttl = ttl};
    MUST(call_reserve(HARNESS, &booking, &world.hold) == TLSHM_OK, "no hold to begin with");
    ledger_check();
}

void open_usual(uint64_t cap, unsigned leave_out)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(cap, limits);
    open_with(limits, count, leave_out);
    use(3, 16);
    use(1, 32);
    use(1, 64);
}

void start_usual(void)
{
    open_usual(PLENTY, 0);
    hold(1, LONG);
}

/* The hold is overdue. */
void start_overdue(void)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(PLENTY, limits);
    open_with(limits, count, 0);
    use(3, 16);
    use(1, 32);
    hold(1, 1);
    use(1, 64);
}

void start_empty(void)
{
    open_usual(PLENTY, 0);
}

tlshm_id reserve(unsigned fibre, unsigned record, unsigned scopes, uint64_t tokens, unsigned ttl)
{
    const struct booking booking = {.record = record, .scopes = scopes, .tokens = tokens, .ttl = ttl};
    tlshm_id id = 0;
    return call_reserve(fibre, &booking, &id) == TLSHM_OK ? id : 0;
}

void call_often(unsigned fibre, unsigned scopes, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        call_pair(fibre, 8 + fibre, scopes, 1, SETTLE, 1);
        ledger_check();
    }
    world.warm = true;
}

void warm_up(unsigned scopes)
{
    for (unsigned fibre = 0; fibre < FIBRES; fibre++)
        call_often(fibre, scopes, 3);
}

uint32_t make_internal(const char *key)
{
    uint64_t handle;
    MUST(tl_directory_make(&world.thread[HARNESS].hand, TL_KEY_TIER, key, strlen(key),
                           tl_policy(TL_POLICY_DEFAULT, 0, 0), 0, &handle, NULL) == 0,
         "no cell for %s", key);
    return tl_handle_cell(handle);
}

void lead(unsigned seat, uint32_t from, enum tl_policy_kind kind, uint32_t to)
{
    tl_word *policy = &world.map.cells[from].policy;
    uint64_t seen;
    do
        seen = tl_load(policy);
    while (!tl_limits_redirect(&world.thread[seat].hand, policy, seen, tl_policy_change(seen, kind, to)));
}

/* Limits that come by way of the level's default tier, for threads that have read nothing yet. */
void start_default(void)
{
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = usual_limits(40, limits);
    open_with(NULL, 0, 0);
    tl_store_relaxed(&world.map.header->scope_cursor, 0); /* as in a real segment: the first cell is a level's */
    level_cell = make_internal("level:tenant");
    MUST(level_cell == 0, "the level's cell is %u", level_cell);
    tier_cells[0] = make_internal("tier:a");
    call_publish(HARNESS, &world.map.cells[tier_cells[0]].policy, limits, count);
    lead(HARNESS, level_cell, TL_POLICY_TIER, tier_cells[0]);
    for (unsigned i = 0; i < SCOPES; i++)
        tl_store_relaxed(&world.map.cells[world.cell[i]].policy, tl_policy(TL_POLICY_DEFAULT, level_cell, 0));
    ledger_open(limits, count, 0);
}
