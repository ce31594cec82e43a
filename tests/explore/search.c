/* SPDX-License-Identifier: MIT */
/* search.c - one schedule, all schedules, some schedules. See search.h. */
#include "search.h"

#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

#include "asks.h"

static const int usual_ticks[TICKS_MAX] = {1, 2, 7, 65};

/* What a schedule was like before each of its steps: which choices are possible there. */
struct steps {
    unsigned count;
    unsigned char fibre[STEPS_MAX];   /* the one that goes on */
    unsigned char living[STEPS_MAX];  /* bits: those that could instead */
    unsigned char changes[STEPS_MAX]; /* it stands before a write: killing it is different from killing it earlier */
};

/* The schedule that runs. */
static struct {
    const struct scene *scene;
    unsigned fibre;
    bool over[FIBRES]; /* at its end, or dead */
    bool dead[FIBRES];
    unsigned known; /* so many steps were checked in a schedule that began alike */
    FILE *trace;
} run;

static struct steps levels[CHOICES_MAX + 1];
static jmp_buf way_out;

static const int *ticks_of(const struct scene *scene)
{
    return scene->ticks[0] ? scene->ticks : usual_ticks;
}

static void give_up(void)
{
    fault("looking at the segment never ends");
    longjmp(way_out, 1);
}

/* ---------------------------------------------------------------------------------------------------- one schedule */

/* What comes of the first `step` steps of a schedule was checked if they were known. */
static void check(unsigned step)
{
    if (step < run.known)
        ledger_follow();
    else
        ledger_check();
    scene_moment();
}

static void move_clock(unsigned n, unsigned step)
{
    int ticks = ticks_of(run.scene)[n];
    world_tick(ticks);
    if (ticks < 0)
        ledger_went_back((unsigned)-ticks);
    check(step);
}

static void choose(unsigned action, unsigned step)
{
    if (action == KILL)
        run.dead[run.fibre] = run.over[run.fibre] = world.dead[run.fibre] = true;
    else if (action >= TICK_0)
        move_clock(action - TICK_0, step);
    else
        run.fibre = action;
}

/* The fibre that goes on; NO_FIBRE: all are over. */
static unsigned next_fibre(void)
{
    if (!run.over[run.fibre])
        return run.fibre;
    for (unsigned i = 0; i < FIBRES; i++)
        if (!run.over[i])
            return i;
    return NO_FIBRE;
}

static bool changes_something(unsigned fibre)
{
    return fibre_address(fibre) != NULL && fibre_access(fibre) != TL_READ;
}

static void note_step(struct steps *steps)
{
    unsigned living = 0;
    for (unsigned i = 0; i < FIBRES; i++)
        living |= run.over[i] ? 0 : 1u << i;
    steps->fibre[steps->count] = (unsigned char)run.fibre;
    steps->living[steps->count] = (unsigned char)living;
    steps->changes[steps->count] = changes_something(run.fibre);
    steps->count++;
}

static void print_step(unsigned step)
{
    static const char *const accesses[] = {"reads", "writes", "swaps"};
    char name[64] = "begins";
    if (fibre_address(run.fibre))
        world_name(fibre_address(run.fibre), name, sizeof name);
    fprintf(run.trace, "%5u  %u %s %s\n", step, run.fibre, accesses[fibre_access(run.fibre)], name);
}

static void one_step(struct steps *steps)
{
    bool look = changes_something(run.fibre) || fibre_address(run.fibre) == NULL;
    if (changes_something(run.fibre) && ask_is_open(run.fibre))
        fault("who only asks writes");
    uint64_t before = world_now();
    note_step(steps);
    if (run.trace)
        print_step(steps->count - 1);
    if (!fibre_step(run.fibre))
        run.over[run.fibre] = true;
    if (look || world_now() != before)
        check(steps->count - 1);
}

static void play(const struct schedule *schedule, struct steps *steps)
{
    unsigned next = 0;
    while (!fault_text[0]) {
        while (next < schedule->count && schedule->choice[next].step == steps->count)
            choose(schedule->choice[next++].action, steps->count);
        run.fibre = next_fibre() == NO_FIBRE ? run.fibre : next_fibre();
        if (run.over[run.fibre])
            return;
        if (steps->count == STEPS_MAX)
            fault("no end after %u steps", STEPS_MAX);
        else
            one_step(steps);
    }
}

/* Finds every scope's state by an ordinary seat: marks and finishes what it meets. */
static void resolve_all(void)
{
    struct tl_view view;
    for (unsigned i = 0; i < CELLS && !fault_text[0]; i++)
        if (tl_txn_snapshot(&world.thread[HARNESS].hand, world.map.tier_cells + i, &view) < 0)
            fault("scope %u: its sheet leads nowhere", i);
    ledger_check();
    ledger_check_holds();
}

/* The dead are inherited as seat.c does; a fibre that came to its end has left its seat as a released one. */
static void inherit_all(void)
{
    for (unsigned i = 0; i < FIBRES; i++) {
        struct shm_seat *seat = &world.map.seats[i];
        if (tl_txn_inherit(&world.thread[i].hand) < 0 || (tl_load_relaxed(&seat->cur) & 1))
            fault("seat %u cannot be inherited", i);
        tl_store_relaxed(&seat->epoch, tl_load_relaxed(&seat->epoch) + 1);
    }
}

/* Life goes on: more buckets on top of what the schedule left. */
static void afterwards(void)
{
    for (int i = 1; i <= 2 && !fault_text[0]; i++) {
        world_tick(i);
        call_pair(HARNESS, 3, S0, 1, TLSHM_SETTLED, 1);
        call_pair((unsigned)i, 3, S1 | S2, 1, TLSHM_SETTLED, 2);
        ledger_check();
    }
}

static void audit(void)
{
    resolve_all();
    inherit_all();
    resolve_all();
    ledger_check_nodes();
    if (run.scene->finish && !fault_text[0])
        run.scene->finish();
    if (!fault_text[0])
        afterwards();
    call_check_handles();
    ledger_check_holds();
    ledger_check_nodes();
}

static void restore(const struct scene *scene)
{
    world_restore();
    ledger_restore();
    scene_reset();
    memset(run.over, 0, sizeof run.over);
    run.over[2] = scene->two;
    memset(run.dead, 0, sizeof run.dead);
    run.scene = scene;
    run.fibre = 0;
    fibre_begin(scene->act);
}

/* Runs a schedule, of which so many steps are known; false: something is wrong. */
static bool try_schedule(struct search *search, const struct schedule *schedule, unsigned known, struct steps *steps)
{
    restore(search->scene);
    run.known = known;
    steps->count = 0;
    every_word = search->words;
    if (setjmp(way_out) == 0) {
        play(schedule, steps);
        if (!fault_text[0])
            audit();
    }
    search->schedules++;
    search->steps += steps->count;
    if (steps->count > search->longest)
        search->longest = steps->count;
    if (!fault_text[0])
        return true;
    search->failed = true;
    search->schedule = *schedule;
    return false;
}

void search_begin(struct search *search)
{
    fault_text[0] = 0;
    fibre_watch(give_up);
    if (setjmp(way_out) == 0) {
        scene_prepare(search->scene);
        world_keep();
        ledger_keep();
    }
    if (fault_text[0])
        search->failed = true;
}

void search_one(struct search *search, const struct schedule *schedule, FILE *trace)
{
    run.trace = trace;
    try_schedule(search, schedule, 0, &levels[0]);
    run.trace = NULL;
}

/* ------------------------------------------------------------------------------------------------------------- all */

/* Of the processor: how far a search gets does not depend on who else runs. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double deadline;

static bool is_cut(struct search *search)
{
    if ((search->schedules & 63) == 0 && now_s() >= deadline)
        search->cut = true;
    return search->cut;
}

static bool may_choose(const struct steps *steps, unsigned step, unsigned action, const struct bounds *left)
{
    if (action == KILL)
        return left->kills > 0 && steps->changes[step];
    if (action >= TICK_0)
        return left->ticks > 0;
    return left->preemptions > 0 && action != steps->fibre[step] && (steps->living[step] >> action & 1);
}

static void deeper(struct search *search, struct schedule *schedule, struct bounds left, unsigned from);

static void take_choice(struct search *search, struct schedule *schedule, struct bounds left, unsigned step,
                        unsigned action)
{
    if (action == KILL)
        left.kills--;
    else if (action >= TICK_0)
        left.ticks--;
    else
        left.preemptions--;
    schedule->choice[schedule->count++] = (struct choice){step, action};
    /* After a switch the other one takes a step; a kill or a tick may be followed by another choice at once. */
    deeper(search, schedule, left, action < KILL ? step + 1 : step);
    schedule->count--;
}

/* The n-th of `count` positions, in an order that jumps about: neighbours come far apart. */
static unsigned spread(unsigned n, unsigned count)
{
    static const unsigned primes[] = {7919, 7907, 7901};
    unsigned stride = primes[0];
    for (unsigned i = 0; i < 3 && count % stride == 0; i++)
        stride = primes[i];
    return (unsigned)((unsigned long)n * stride % count);
}

static void deeper(struct search *search, struct schedule *schedule, struct bounds left, unsigned from)
{
    struct steps *steps = &levels[schedule->count];
    unsigned known = schedule->count ? schedule->choice[schedule->count - 1].step : 0;
    bool none_left = left.preemptions + left.kills + left.ticks == 0;
    if (search->failed || is_cut(search) || !try_schedule(search, schedule, known, steps) || none_left)
        return;
    unsigned positions = steps->count > from ? steps->count - from : 0;
    for (unsigned n = 0; n < positions; n++) {
        unsigned step = from + (schedule->count ? n : spread(n, positions));
        for (unsigned action = 0; action < TICK_0 + TICKS_MAX && !search->failed && !search->cut; action++)
            if (may_choose(steps, step, action, &left))
                take_choice(search, schedule, left, step, action);
    }
}

void search_all(struct search *search)
{
    struct schedule schedule = {0};
    deadline = now_s() + search->seconds;
    deeper(search, &schedule, search->bounds, 0);
}

/* ---------------------------------------------------------------------------------------------------------- random */

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void add_sorted(struct schedule *schedule, unsigned step, unsigned action)
{
    unsigned i = schedule->count++;
    for (; i > 0 && schedule->choice[i - 1].step > step; i--)
        schedule->choice[i] = schedule->choice[i - 1];
    schedule->choice[i] = (struct choice){step, action};
}

static void draw_schedule(const struct bounds *bounds, unsigned length, uint64_t *state, struct schedule *schedule)
{
    schedule->count = 0;
    for (unsigned i = 0; i < bounds->preemptions; i++)
        add_sorted(schedule, (unsigned)(draw(state) % length), (unsigned)(draw(state) % FIBRES));
    for (unsigned i = 0; i < bounds->kills; i++)
        add_sorted(schedule, (unsigned)(draw(state) % length), KILL);
    for (unsigned i = 0; i < bounds->ticks; i++)
        add_sorted(schedule, (unsigned)(draw(state) % length), TICK_0 + (unsigned)(draw(state) % TICKS_MAX));
}

void search_random(struct search *search, uint64_t seed)
{
    struct schedule schedule = {0};
    if (!try_schedule(search, &schedule, 0, &levels[0]))
        return;
    unsigned length = levels[0].count;
    deadline = now_s() + search->seconds;
    while (!search->failed && !is_cut(search)) {
        draw_schedule(&search->bounds, length, &seed, &schedule);
        try_schedule(search, &schedule, 0, &levels[1]);
    }
}

/* ------------------------------------------------------------------------------------------------------------ texts */

void search_format(const struct scene *scene, const struct schedule *schedule, char *buf, size_t size)
{
    size_t at = 0;
    buf[0] = 0;
    for (unsigned i = 0; i < schedule->count && at < size; i++) {
        const struct choice *c = &schedule->choice[i];
        const char *space = i ? " " : "";
        int n;
        if (c->action == KILL)
            n = snprintf(buf + at, size - at, "%s%u:kill", space, c->step);
        else if (c->action >= TICK_0)
            n = snprintf(buf + at, size - at, "%s%u:%+d", space, c->step, ticks_of(scene)[c->action - TICK_0]);
        else
            n = snprintf(buf + at, size - at, "%s%u:%u", space, c->step, c->action);
        at += (size_t)n;
    }
}

static bool parse_action(const struct scene *scene, const char *text, unsigned *action)
{
    char *end;
    long value = strtol(text, &end, 10);
    *action = KILL;
    if (strncmp(text, "kill", 4) == 0)
        return true;
    if (end == text)
        return false;
    *action = (unsigned)value;
    if (*text != '+' && *text != '-')
        return value >= 0 && value < FIBRES;
    for (unsigned i = 0; i < TICKS_MAX; i++)
        if (ticks_of(scene)[i] == value) {
            *action = TICK_0 + i;
            return true;
        }
    return false;
}

bool search_parse(const struct scene *scene, const char *text, struct schedule *out)
{
    out->count = 0;
    while (*text && out->count < CHOICES_MAX) {
        char *end;
        struct choice *c = &out->choice[out->count++];
        c->step = (unsigned)strtoul(text, &end, 10);
        if (end == text || *end != ':' || !parse_action(scene, end + 1, &c->action))
            return false;
        text = end + strcspn(end, " ");
        text += strspn(text, " ");
    }
    return *text == 0;
}
