/* SPDX-License-Identifier: MIT */
/* trial.c - see trial.h. */
#include "trial.h"

#include "crew.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned trial_strayed;

/* What the process tells. */
static struct answer {
    int verdict;
    bool returned;
} * answer;

static const struct act *act;
static int (*chosen)(void); /* what the process does between its marks; NULL: nothing */
static struct step_path path;
static struct sight before, after, ways[ACT_WAYS], by_rival;
static unsigned way_count;
static unsigned least; /* deaths come in the order of the path: what the one before had got done */

/* ------------------------------------------------------------------------------------------------------ the process */

static int play(void)
{
    act->prepare();
    step_mark();
    if (chosen != NULL) {
        answer->verdict = chosen();
        answer->returned = true;
    }
    step_mark();
    if (act_t != NULL)
        tlshm_detach(act_t);
    return 0;
}

static pid_t begin(int (*call)(void))
{
    ground_restore(ground_guests != 0 ? START_GUEST : act->start);
    chosen = call;
    *answer = (struct answer){.returned = false};
    return step_start(play);
}

/* Once for all processes of an act: what each gets of this one must be the same. */
static void come_first(void)
{
    act_t = NULL;
    if (act->before == NULL)
        return;
    ground_restore(act->start);
    act->before();
    ground_keep(START_GUEST);
    ground_guests = 1;
}

static void go_last(void)
{
    if (act->before == NULL)
        return;
    ground_restore(START_GUEST);
    tlshm_detach(act_t);
    ground_guests = 0;
}

/* ------------------------------------------------------------------------------------------------------ the others */

/* What they found. */
static struct {
    struct finding wrong;
    struct sight sight;
    int rival;
    bool well;
} * others;

/* `work` in a process of its own, as others are; and so this one's heap, which the next ones get, stays as it is. */
static bool elsewhere(bool (*work)(tlshm_t *t, struct finding *wrong), struct finding *wrong)
{
    others->well = false;
    others->wrong.text[0] = 0;
    pid_t pid = fork();
    MUST(pid >= 0, "fork");
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(TRIAL_SECONDS / 2);
        tlshm_t *t = ground_attach();
        others->well = work(t, &others->wrong);
        tlshm_detach(t);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    if (status != 0)
        return ground_wrong(wrong, "others: %s",
                            WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "held up" : "crashed");
    *wrong = others->wrong;
    return others->well;
}

static bool audit_end(tlshm_t *t, struct finding *wrong)
{
    return ground_audit(t, &others->sight, wrong);
}

static bool audit_all(tlshm_t *t, struct finding *wrong)
{
    return ground_others(t, wrong) && audit_end(t, wrong);
}

static bool only_rival(tlshm_t *t, struct finding *wrong)
{
    (void)t;
    others->rival = act->rival();
    int wanted = act->rivalry == RIVAL_BOTH ? act->verdict : others->rival;
    return (others->rival == wanted && wanted >= 0) || ground_wrong(wrong, "the rival alone: %d", others->rival);
}

/* ---------------------------------------------------------------------------------------------------- expectations */

/* What is there when a process did `call` undisturbed, and then a rival its own. */
static void expect(int (*call)(void), bool rival, struct sight *sight)
{
    struct finding wrong = {{0}};
    pid_t pid = begin(call);
    MUST(step_resume(pid) && step_leave(pid), "%s: undisturbed, it does not end", act->name);
    MUST(call != act->run || answer->verdict == act->verdict, "%s: verdict %d %s", act->name, answer->verdict,
         tlshm_error_text(answer->verdict));
    MUST(!rival || elsewhere(only_rival, &wrong), "%s: %s", act->name, wrong.text);
    MUST(elsewhere(audit_all, &wrong), "%s: undisturbed: %s", act->name, wrong.text);
    *sight = others->sight;
}

static void expect_all(void)
{
    expect(NULL, false, &before);
    expect(act->run, false, &after);
    for (way_count = 0; way_count < ACT_WAYS && act->way[way_count] != NULL; way_count++)
        expect(act->way[way_count], false, &ways[way_count]);
    if (act->rivalry != RIVAL_NONE)
        expect(act->rivalry == RIVAL_BOTH ? act->run : NULL, true, &by_rival);
    MUST(after.held - before.held == act->held && after.used - before.used == act->used,
         "%s: held %+lld, used %+lld tokens", act->name, (long long)(after.held - before.held),
         (long long)(after.used - before.used));
}

static const struct sight *outcome(unsigned i)
{
    return i == 0 ? &before : i <= way_count ? &ways[i - 1] : &after;
}

/* How much of the beginning is the same. */
static size_t common(const struct sight *a, const struct sight *b)
{
    size_t n = 0;
    while (a->text[n] != 0 && a->text[n] == b->text[n])
        n++;
    return n;
}

/* The first line that differs from what is most alike. */
static bool not_as(const struct sight *got, const struct sight *wanted, struct finding *wrong)
{
    size_t at = common(got, wanted);
    while (at > 0 && got->text[at - 1] != '\n')
        at--;
    const char *a = got->text + at, *b = wanted->text + at;
    return ground_wrong(wrong, "there is \"%.*s\", expected was \"%.*s\"", (int)strcspn(a, "\n"), a,
                        (int)strcspn(b, "\n"), b);
}

static bool unlike_any(const struct sight *got, struct finding *wrong)
{
    unsigned best = 0;
    for (unsigned i = 1; i <= way_count + 1; i++)
        if (common(got, outcome(i)) > common(got, outcome(best)))
            best = i;
    return not_as(got, outcome(best), wrong);
}

/* ------------------------------------------------------------------------------------------------------- a death */

static bool judge_death(unsigned n, bool precise, const struct sight *sight, struct finding *wrong)
{
    unsigned low = UINT32_MAX, high = 0;
    for (unsigned i = 0; i <= way_count + 1; i++)
        if (strcmp(sight->text, outcome(i)->text) == 0) {
            low = low == UINT32_MAX ? i : low;
            high = i;
        }
    if (low == UINT32_MAX)
        return unlike_any(sight, wrong);
    if (!precise)
        return true;
    if (high < least)
        return ground_wrong(wrong, "less is done than by a death before: %u, not %u", high, least);
    if (n == 0 && low != 0)
        return ground_wrong(wrong, "it is done before it has begun");
    if (n == path.count && high != way_count + 1)
        return ground_wrong(wrong, "it is undone at its end");
    least = low > least ? low : least;
    return true;
}

/* A process at point n. Once in a while one takes another way there, in the allocator for one: it is stepped then. */
static pid_t arrive(unsigned n, enum step_reach *reach)
{
    pid_t pid = begin(act->run);
    *reach = step_to(pid, &path, n, false);
    if (*reach == STEP_THERE || *reach == STEP_CRASHED || n == path.count)
        return pid;
    trial_strayed++;
    step_kill(pid);
    pid = begin(act->run);
    *reach = step_to(pid, &path, n, true);
    return pid;
}

static bool crashed(struct finding *wrong)
{
    return ground_wrong(wrong, "it crashed on its way: %s", step_fate());
}

bool trial_kill(unsigned n, struct finding *wrong)
{
    enum step_reach reach;
    pid_t pid = arrive(n, &reach);
    step_kill(pid);
    if (reach == STEP_CRASHED)
        return crashed(wrong);
    bool precise = reach == STEP_THERE || n == path.count;
    return elsewhere(audit_all, wrong) && judge_death(n, precise, &others->sight, wrong);
}

/* -------------------------------------------------------------------------------------------------------- a stop */

static pid_t stopped;

/* Seats of the process that is stopped. */
static unsigned its_seats(tlshm_t *t)
{
    tlshm_seat_info info;
    uint64_t cursor = 0;
    unsigned seats = 0;
    while (tlshm_seat_next(t, &cursor, &info) == 1)
        seats += info.pid == (uint32_t)stopped ? 1 : 0;
    return seats;
}

static bool go_on_without_it(tlshm_t *t, struct finding *wrong)
{
    unsigned seats = its_seats(t);
    if (!ground_others(t, wrong))
        return false;
    if (act->rival != NULL)
        others->rival = act->rival();
    if (its_seats(t) != seats)
        return ground_wrong(wrong, "the seat of a stopped process was given away");
    return ground_sound(t, false, wrong);
}

static bool judge_answers(int rival, struct finding *wrong)
{
    if (!answer->returned)
        return ground_wrong(wrong, "it did not come back");
    int mine = answer->verdict;
    bool first = mine == act->verdict && (act->rivalry == RIVAL_NONE || rival == act->second);
    bool second = act->rivalry == RIVAL_ONE && mine == act->second && rival == act->verdict;
    bool both = act->rivalry == RIVAL_BOTH && mine == act->verdict && rival == act->verdict;
    if (!first && !second && !both)
        return ground_wrong(wrong, "verdicts %d and %d of the rival", mine, rival);
    return true;
}

static bool judge_end(struct finding *wrong)
{
    int rival = others->rival;
    bool theirs = act->rivalry == RIVAL_BOTH || (act->rivalry == RIVAL_ONE && rival == act->verdict);
    const struct sight *wanted = theirs ? &by_rival : &after;
    if (!judge_answers(rival, wrong) || !elsewhere(audit_end, wrong))
        return false;
    return strcmp(others->sight.text, wanted->text) == 0 || not_as(&others->sight, wanted, wrong);
}

bool trial_stop(unsigned n, struct finding *wrong)
{
    enum step_reach reach;
    stopped = arrive(n, &reach);
    bool well = reach == STEP_CRASHED ? crashed(wrong) : elsewhere(go_on_without_it, wrong);
    if (well && reach != STEP_AT_END && !step_resume(stopped))
        well = ground_wrong(wrong, "it did not come to its end when it went on: %s", step_fate());
    if (!well)
        step_kill(stopped);
    else if (!step_leave(stopped))
        well = ground_wrong(wrong, "it did not leave well: %s", step_fate());
    return well && judge_end(wrong);
}

/* ------------------------------------------------------------------------------------------------- the wrecked state */

static unsigned dying;

static int reserve_then_die(void)
{
    tlshm_id id;
    return ground_reserve(act_t, "agent:a tenant:t", 13, 60 + dying, NULL, &id);
}

/* Stops it where an operation of its is open, and some atomic instructions later. */
static pid_t stop_inside(const struct act *scene, unsigned later)
{
    tlshm_t *t = ground_attach();
    act = scene;
    chosen = scene->run;
    *answer = (struct answer){.returned = false};
    act_t = NULL;
    pid_t pid = step_start(play);
    for (bool inside = false; !inside;) {
        tlshm_seat_info info;
        uint64_t cursor = 0;
        MUST(step_to_atomic(pid), "wreck: process %u was never inside an operation: %s; it %s %d", dying, step_fate(),
             answer->returned ? "returned" : "has not returned", answer->verdict);
        while (tlshm_seat_next(t, &cursor, &info) == 1)
            inside |= info.pid == (uint32_t)pid && info.in_call;
        if (!inside)
            step_over(pid);
    }
    for (; later > 0; later--) {
        MUST(step_to_atomic(pid), "wreck: the operation has too few atomic instructions: %s", step_fate());
        step_over(pid);
    }
    tlshm_detach(t);
    return pid;
}

/* Each dies at another atomic instruction of its operation; none before all of them are inside. */
static void make_wreck(void)
{
    static const struct act scene = {"wreck", START_CALM, .prepare = act_attached, .run = reserve_then_die};
    pid_t pids[GROUND_SEATS];
    ground_restore(START_CALM);
    for (dying = 0; dying < GROUND_SEATS; dying++)
        pids[dying] = stop_inside(&scene, dying);
    for (unsigned i = 0; i < GROUND_SEATS; i++)
        step_kill(pids[i]);
    ground_keep(START_WRECKED);
}

/* ------------------------------------------------------------------------------------------------------- in and out */

void trial_open(void)
{
    size_t bytes, count;
    answer = crew_share(sizeof *answer);
    others = crew_share(sizeof *others);
    ground_open();
    const void *memory = ground_bytes(&bytes);
    const struct watch_field *fields = ground_numbers(&count);
    watch_memory(memory, bytes, fields, count);
    for (enum start s = START_CALM; s < START_WRECKED; s++)
        ground_make(s);
    make_wreck();
}

void trial_close(void)
{
    ground_close();
}

const struct step_path *trial_begin(const struct act *one)
{
    act = one;
    least = 0;
    come_first();
    expect_all();
    pid_t pid = begin(act->run);
    step_record(pid, &path);
    step_kill(pid);
    return &path;
}

void trial_end(void)
{
    go_last();
}
