/* SPDX-License-Identifier: MIT */
/*
 * scenes_latches.c - limits that stop a scope, or everything, once they are reached. The ledger knows whether one may be
 * reached; so at each change of a switch it is told whether that was due: a switch goes on by itself only if its latch was
 * reached since a person last touched it, and never off.
 */
#include "asks.h"
#include "starts.h"

#include "change.h"
#include "latch.h"
#include "tap.h"

#define CAP 40 /* of which 32 are used when scenes begin */
#define USED 16

/* Scopes whose latches are watched. */
static struct {
    bool on, global;
    bool reached[SCOPES]; /* since a person last changed its limits or its switch */
} watched, watched_from_start;

static bool by_person[FIBRES + 1];

/* ---------------------------------------------------------------------------------------------------------- oracle */

static bool may_be_reached(unsigned scope)
{
    struct tl_limits limits;
    if (tl_limits_read(&world.map, &world.map.cells[world.cell[scope]].policy, &limits) < 0)
        return false;
    for (unsigned i = 0; i < limits.count; i++)
        if (tl_shape_latch(limits.shape[i]) && ledger_most(scope, i, limits.shape[i]) >= limits.cap[i])
            return true;
    return false;
}

void latch_moment(void)
{
    for (unsigned i = 0; watched.on && i < SCOPES; i++)
        watched.reached[i] |= may_be_reached(i);
}

/* Scenes begin with what was so at their start; a new one watches nothing. */
void latch_forget(void)
{
    watched = watched_from_start;
    memset(by_person, 0, sizeof by_person);
}

void latch_watch_nothing(void)
{
    watched.on = watched_from_start.on = false;
}

static void latch_watch(bool global)
{
    memset(&watched, 0, sizeof watched);
    watched.global = global;
    watched.on = true;
    latch_moment();
    watched_from_start = watched;
}

static void check_switched(unsigned scope, bool segment, uint64_t on, uint64_t off)
{
    if (off)
        fault("a switch of scope %u goes off by itself", scope);
    if (on && segment != (watched.global && scope == 0))
        fault("the latch of scope %u sets another's switch", scope);
    if (on & (segment ? SHM_PAUSED : TL_POLICY_PAUSED))
        fault("the latch of scope %u pauses", scope);
    if (on && !watched.reached[scope])
        fault("a latch stops scope %u that was not reached since somebody let it go on", scope);
}

void latch_switched(const volatile void *address, uint64_t before, uint64_t after)
{
    bool segment = address == &world.map.header->flags;
    long cell = segment ? (long)world.cell[0] : world_policy_at(address);
    uint64_t mask = segment ? SHM_PAUSED | SHM_SHUTOFF : TL_POLICY_PAUSED | TL_POLICY_SHUTOFF;
    for (unsigned i = 0; watched.on && i < SCOPES; i++)
        if (cell == (long)world.cell[i]) {
            if (by_person[fibre_running()])
                watched.reached[i] = may_be_reached(i);
            else
                check_switched(i, segment, after & ~before & mask, before & ~after & mask);
        }
}

static bool is_stopped(unsigned scope)
{
    bool segment = watched.global && scope == 0;
    uint64_t word = tl_load_relaxed(segment ? &world.map.header->flags : &world.map.cells[world.cell[scope]].policy);
    return (word & (segment ? SHM_SHUTOFF : TL_POLICY_SHUTOFF)) != 0;
}

/* ----------------------------------------------------------------------------------------------------------- people */

/* As admin.c does it. */
static void resume(unsigned fibre, unsigned scope)
{
    tl_word *policy = &world.map.cells[world.cell[scope]].policy;
    uint64_t seen;
    by_person[fibre] = true;
    if (watched.global && scope == 0)
        tlshm_shutoff(ask_attachment(), 0);
    else
        do
            seen = tl_change_settled(&world.thread[fibre].hand, policy);
        while (!tl_cas(policy, seen, tl_policy_switch(seen, TL_POLICY_SHUTOFF, false)));
    by_person[fibre] = false;
}

static tlshm_limit latch_of(uint64_t cap)
{
    return world_rolling(TLSHM_TOKENS, 2, 1, TLSHM_LIMIT_SHUTS_OFF, cap);
}

static void allow_more(unsigned fibre, unsigned scope)
{
    const tlshm_limit limit = latch_of(PLENTY);
    by_person[fibre] = true;
    call_publish(fibre, &world.map.cells[world.cell[scope]].policy, &limit, 1);
    by_person[fibre] = false;
}

/* ------------------------------------------------------------------------------------------------------------ scenes */

static void start_named(const char *first, unsigned leave_out)
{
    const tlshm_limit limit = latch_of(CAP);
    open_named(first, &limit, 1, leave_out);
    use(3, USED);
    use(1, USED);
    hold(CAP, LONG); /* more than is left: what is held does not count */
}

static void start_latch(void)
{
    start_named(NULL, 0);
    latch_watch(false);
}

static void start_latch_global(void)
{
    start_named("global:", 0);
    latch_watch(true);
}

static void start_warm_latch(void)
{
    start_named(NULL, 0);
    for (unsigned fibre = 0; fibre < FIBRES; fibre++)
        for (unsigned i = 0; i < 3; i++)
            call_pair(fibre, 8 + fibre, S0 | S1, 1, REFUND, 0);
    ledger_check();
    world.warm = true;
    latch_watch(false);
}

/* All that it allows is used; nobody has noticed. */
static void reach(void)
{
    call_end(HARNESS, world.hold, SETTLE, CAP - 2 * USED);
    ledger_check();
}

static void start_reached(void)
{
    start_named(NULL, LEDGER_NO_CAPS);
    reach();
    latch_watch(false);
}

static void start_reached_global(void)
{
    start_named("global:", LEDGER_NO_CAPS);
    reach();
    latch_watch(true);
}

/* Who is refused by a latch has set its switch, or found it set; then it stops what does not ask for its unit, too. */
static void ask_for(unsigned fibre, uint64_t tokens)
{
    bool stopped = is_stopped(0);
    const struct booking booking = {.record = 1 + fibre, .scopes = S0 | S1, .tokens = tokens};
    tlshm_id id;
    int rc = call_reserve(fibre, &booking, &id);
    if (rc == TLSHM_OK && stopped)
        fault("a reserve is admitted on a scope that is shut off");
    if (rc == TLSHM_OK)
        call_end(fibre, id, SETTLE, 1);
    else if (!is_stopped(0) && !is_stopped(1))
        fault("a latch has refused and its switch is off");
}

static void act_latch(unsigned fibre)
{
    if (fibre == 0)
        call_end(0, world.hold, SETTLE, CAP - 2 * USED);
    else if (fibre == 2)
        tl_latch_all(&world.thread[2].hand);
    if (fibre != 2) {
        ask_for(fibre, 2 * CAP);
        ask_for(fibre, 0);
    }
}

/* What is reached at the end is found by the reaper, whoever died. */
static void finish_latch(void)
{
    bool reached[SCOPES];
    const tlshm_limit limit = latch_of(CAP);
    uint64_t shape, cap;
    world_shapes(&limit, 1, &shape, &cap);
    for (unsigned i = 0; i < SCOPES; i++)
        reached[i] = ledger_least(i, 0, shape) >= cap;
    tl_latch_all(&world.thread[HARNESS].hand);
    for (unsigned i = 0; i < SCOPES; i++)
        if (reached[i] && !is_stopped(i))
            fault("the reaper does not stop scope %u, whose latch is reached", i);
    watched.on = false;
}

/* A person waits until nothing is left in the window, or allows more, and resumes: that is the end of it. */
static void let_go_on(unsigned fibre, bool more)
{
    tlshm_id id;
    const struct booking booking = {.record = 1, .scopes = S0, .tokens = 1};
    if (more)
        allow_more(fibre, 0);
    else
        call_tick(2);
    resume(fibre, 0);
    if (call_reserve(fibre, &booking, &id) != TLSHM_OK)
        fault("a reserve is refused after the scope was resumed");
}

static void beside_who_lets_it_go_on(unsigned fibre, bool more)
{
    const struct booking booking = {.record = 2, .scopes = S0, .tokens = 1};
    if (fibre == 1)
        let_go_on(1, more);
    else if (fibre == 0)
        call_reserve(0, &booking, &answers.id[0]);
    else
        tl_latch_all(&world.thread[2].hand);
}

static void act_resume(unsigned fibre)
{
    beside_who_lets_it_go_on(fibre, false);
}

static void act_more(unsigned fibre)
{
    beside_who_lets_it_go_on(fibre, true);
}

/* A limit that is none of them is reached first; then one that pauses, and one that shuts off: the sterner one counts. */
static tlshm_id second;

static void start_two(void)
{
    const tlshm_limit limits[] = {world_rolling(TLSHM_TOKENS, 2, 1, 0, 2 * CAP),
                                  world_rolling(TLSHM_TOKENS, 2, 1, TLSHM_LIMIT_PAUSES, 5 * CAP),
                                  world_rolling(TLSHM_TOKENS, 2, 1, TLSHM_LIMIT_SHUTS_OFF, 5 * CAP)};
    open_with(limits, COUNT(limits), 0);
    hold(CAP, LONG);
    second = reserve(HARNESS, 1, S0 | S1, CAP, 0);
    ledger_check();
    latch_watch(false);
}

static void act_two(unsigned fibre)
{
    if (fibre != 0) {
        tl_latch_all(&world.thread[fibre].hand);
        return;
    }
    call_end(0, world.hold, SETTLE, 2 * CAP);
    tl_latch_all(&world.thread[0].hand);
    call_end(0, second, SETTLE, 3 * CAP);
    call_tick(0);
}

/* What somebody looks at goes to a scope that has used more. */
static void start_moved(void)
{
    start_named(NULL, LEDGER_NO_CAPS);
    allow_more(HARNESS, 1);
    call_pair(HARNESS, 3, S1, 1, SETTLE, 4 * CAP);
    ledger_check();
    latch_watch(false);
}

static void act_moved(unsigned fibre)
{
    for (unsigned i = 0; fibre == 0 && i < 6; i++)
        call_pair(0, 1, i < 3 ? S0 : S1, 1, REFUND, 0);
    if (fibre == 1)
        tl_latch_look(&world.thread[1].hand, world.handle[0]);
}

/* Two windows change places: what the longer one has says nothing of the shorter one's latch. */
static unsigned two_windows(bool turned, tlshm_limit *limits)
{
    limits[turned] = world_rolling(TLSHM_TOKENS, 2, 1, TLSHM_LIMIT_SHUTS_OFF, turned ? 2 * CAP : PLENTY);
    limits[!turned] = world_rolling(TLSHM_TOKENS, 2, 30, TLSHM_LIMIT_SHUTS_OFF, PLENTY);
    return 2;
}

static void start_turned(void)
{
    tlshm_limit limits[2];
    open_with(limits, two_windows(false, limits), LEDGER_NO_CAPS);
    use(3, 2 * CAP);
    use(5, USED);
    use(1, USED);
    latch_watch(false);
}

static void act_turned(unsigned fibre)
{
    tlshm_limit limits[2];
    if (fibre == 0) {
        by_person[0] = true;
        call_publish(0, &world.map.cells[world.cell[0]].policy, limits, two_windows(true, limits));
        by_person[0] = false;
    }
    tl_latch_look(&world.thread[fibre].hand, world.handle[0]);
}

static void finish_resumed(void)
{
    watched.on = false;
}

const struct scene scenes_of_latches[] = {
    {"latch", "a settle reaches a latch while others reserve", start_latch, act_latch, finish_latch},
    {"latch-warm", "the same, straight", start_warm_latch, act_latch, finish_latch, .brief = true},
    {"latch-global", "the same for the whole segment", start_latch_global, act_latch, finish_latch, .brief = true},
    {"latch-resume", "a person resumes while a latch is noticed", start_reached, act_resume, finish_resumed,
     .brief = true},
    {"latch-resume-global", "the same for the whole segment", start_reached_global, act_resume, finish_resumed,
     .brief = true},
    {"latch-two", "one pauses, another one shuts off", start_two, act_two, finish_resumed, .two = true, .brief = true},
    {"latch-moved", "a sheet that is looked at is used again", start_moved, act_moved, finish_resumed, .two = true,
     .words = true, .brief = true},
    {"latch-windows", "limits change places", start_turned, act_turned, finish_resumed, .two = true, .brief = true},
    {"latch-more", "more is allowed meanwhile", start_reached, act_more, finish_resumed, .brief = true},
};
const unsigned count_of_latches = COUNT(scenes_of_latches);
