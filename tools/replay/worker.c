/* SPDX-License-Identifier: MIT */
/* worker.c - reserves and settles as ordered, and writes down in the ledger what is about to happen and what did. */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <tlshm.h>
#include <tlshm/admin.h>
#include <tlshm/model.h>

#include "guard.h"
#include "options.h"
#include "random.h"
#include "stage.h"

#define NS_PER_S UINT64_C(1000000000)

struct worker {
    struct stage stage;
    struct stage_desk *desk;
    tlshm_t *segment;
    struct tariff_settings settings;
    struct tariff tariff; /* --learned: to price by what is learned */
};

static uint64_t stopwatch_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t segment_ns(const struct worker *w)
{
    uint64_t boot_ns = 0, wall_ns;
    tlshm_clock_get(w->segment, &boot_ns, &wall_ns);
    return boot_ns;
}

/* ---------------------------------------------------------------------------------------------------------- reserve */

static void note_refusal(volatile struct ledger_entry *entry, const tlshm_refusal *why)
{
    entry->reason = why->reason;
    entry->refused_scope = why->scope;
    bool limited = why->reason == TLSHM_LIMIT || why->reason == TLSHM_NEVER_FITS;
    entry->refused_unit = limited ? why->limit.unit : TLSHM_UNITS;
    entry->phase = PHASE_REFUSED;
}

/* What a program does that is asked for a model without a price: what can't be counted is not begun. */
static void refuse_unpriced(volatile struct ledger_entry *entry)
{
    const tlshm_refusal unknown = {.reason = TLSHM_UNKNOWN_MODEL, .scope = UINT32_MAX};
    entry->code = TLSHM_REFUSED;
    note_refusal(entry, &unknown);
}

static void note_admission(volatile struct ledger_entry *entry, tlshm_id id, int verdict)
{
    entry->id = id;
    entry->replayed += verdict == TLSHM_REPLAY;
    entry->phase = PHASE_ADMITTED;
}

enum { SALT_CRASH = 11, SALT_MOMENT };

/*
 * A worker that dies as a crash in the code around the provider's call would make it: right after the admission, half of
 * the time before it has taken notice of the answer (`noted`). An answer to a repeated call is never lost again.
 */
static void crash_maybe(struct worker *w, uint64_t number, int verdict, bool noted)
{
    const struct call_rules *rules = &w->stage.head->rules;
    bool late = random_hash(rules->seed + SALT_MOMENT, number) & 1;
    if (verdict != TLSHM_OK || late != noted || random_hash_unit(rules->seed + SALT_CRASH, number) >= rules->crash_rate)
        return;
    *(volatile uint64_t *)&w->desk->crashes += 1;
    kill(getpid(), SIGKILL);
}

/* A request and the memory that it points to. */
struct asking {
    uint64_t number;
    tlshm_scope scopes[STAGE_LEVELS];
    tlshm_request request;
};

static void ask_for(const struct stage *stage, uint64_t number, struct asking *a)
{
    const char *keys[STAGE_LEVELS];
    const struct stage_call *call = &stage->calls[number];
    *a = (struct asking){.number = number, .request = TLSHM_REQUEST_INIT};
    a->request.scopes = a->scopes;
    a->request.scope_count = stage_scopes(stage, call, keys);
    for (unsigned i = 0; i < a->request.scope_count; i++)
        a->scopes[i].key = keys[i];
    a->request.ttl_ns = stage->head->rules.ttl_ns;
    a->request.idempotency_key = &a->number;
    a->request.idempotency_len = sizeof a->number;
    a->request.tag = number;
    stage_estimate(stage, number, &a->request.estimate);
}

/* By the model's name: the library works out what to hold, as it does for any program. */
static int reserve_learned(struct worker *w, struct asking *a, tlshm_id *id, tlshm_refusal *why)
{
    const struct stage_call *call = &w->stage.calls[a->number];
    volatile struct ledger_entry *entry = &w->stage.ledger[a->number];
    const tlshm_bounds bounds = {.output_default = w->settings.output_bound};
    tlshm_model_call asked = {.model = w->stage.models[call->model].name};
    tlshm_guess guess;
    asked.counts.input_total = call->input;
    a->request.estimate = (tlshm_amounts){{0}};
    int verdict = tlshm_model_reserve(w->segment, &a->request, &asked, &bounds, w->tariff.prices, id, &guess, why);
    for (int unit = 0; verdict >= 0 && unit < TLSHM_UNITS; unit++)
        entry->estimate.of[unit] = guess.amounts.of[unit];
    return verdict;
}

/*
 * Also for a call whose first attempt was cut off by a kill: the idempotency key makes sure that the two are one, and the
 * hold's time counts from the first.
 */
static void reserve(struct worker *w, uint64_t number)
{
    volatile struct ledger_entry *entry = &w->stage.ledger[number];
    struct asking asking;
    if (!w->stage.calls[number].priced) {
        refuse_unpriced(entry);
        return;
    }
    ask_for(&w->stage, number, &asking);
    if (entry->phase == PHASE_WAITING)
        entry->reserved.before_ns = segment_ns(w);
    entry->phase = PHASE_RESERVING;

    tlshm_id id;
    tlshm_refusal why;
    uint64_t start = stopwatch_ns();
    int verdict = w->settings.learned ? reserve_learned(w, &asking, &id, &why)
                                      : tlshm_reserve(w->segment, &asking.request, &id, &why);
    uint64_t took = stopwatch_ns() - start;

    entry->reserved.after_ns = segment_ns(w);
    entry->code = verdict;
    histogram_add(verdict == TLSHM_REFUSED ? &w->desk->refuse : &w->desk->reserve, took);
    if (verdict == TLSHM_REFUSED) {
        note_refusal(entry, &why);
    } else if (verdict == TLSHM_OK || verdict == TLSHM_REPLAY) {
        crash_maybe(w, number, verdict, false);
        note_admission(entry, id, verdict);
        crash_maybe(w, number, verdict, true);
    } else {
        entry->phase = PHASE_FAILED;
    }
}

/* ----------------------------------------------------------------------------------------------------------- settle */

static void note_settlement(volatile struct ledger_entry *entry, int verdict, const tlshm_result *result)
{
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        entry->charged.of[unit] = result->charged.of[unit];
    entry->replayed += verdict == TLSHM_REPLAY;
    entry->late = verdict == TLSHM_LATE;
    entry->phase = PHASE_SETTLED;
}

/* Repeated with the same id when a kill cut the first attempt off: a repeat reports what the first one did. */
static void settle(struct worker *w, uint64_t number)
{
    volatile struct ledger_entry *entry = &w->stage.ledger[number];
    if (entry->phase != PHASE_ADMITTED && entry->phase != PHASE_SETTLING)
        return;
    tlshm_amounts actual;
    tlshm_result result;
    stage_actual(&w->stage.calls[number], &actual);
    if (entry->phase == PHASE_ADMITTED)
        entry->settled.before_ns = segment_ns(w);
    entry->phase = PHASE_SETTLING;

    uint64_t start = stopwatch_ns();
    int verdict = tlshm_settle(w->segment, entry->id, &actual, TLSHM_EXACT, &result);
    uint64_t took = stopwatch_ns() - start;

    entry->settled.after_ns = segment_ns(w);
    entry->code = verdict;
    histogram_add(&w->desk->settle, took);
    if (verdict >= 0)
        note_settlement(entry, verdict, &result);
    else
        entry->phase = PHASE_FAILED;
}

/* ------------------------------------------------------------------------------------------------------------ orders */

/* Has a signal sent after `ns`; 0 takes it back. Returns how long it took to ask for it, or 0 if that can't be done. */
static uint64_t set_timer(timer_t timer, uint64_t ns)
{
    struct itimerspec when = {.it_value = {.tv_nsec = (long)ns}};
    uint64_t start = stopwatch_ns();
    return timer_settime(timer, 0, &when, NULL) == 0 ? stopwatch_ns() - start + 1 : 0;
}

static bool make_timer(timer_t *timer, int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    return timer_create(CLOCK_MONOTONIC, &event, timer) == 0;
}

/*
 * A kill that is sent by another process arrives many calls later. The kernel's timer strikes where it is told to: at any
 * instruction of the call that follows. What it takes to come back from setting one differs a lot between machines, hence
 * the rehearsals, with a signal that is ignored.
 */
static void die_soon(uint64_t delay_ns)
{
    enum { REHEARSALS = 3, REHEARSED_NS = 200000 };
    timer_t rehearsal, timer;
    uint64_t took = NS_PER_S / 10;
    bool good = make_timer(&rehearsal, SIGURG) && make_timer(&timer, SIGKILL);
    for (int i = 0; good && i < REHEARSALS; i++) {
        uint64_t now = set_timer(rehearsal, REHEARSED_NS);
        good = now > 0 && set_timer(rehearsal, 0) > 0;
        took = now < took ? now : took;
    }
    if (!good || set_timer(timer, took + delay_ns) == 0)
        kill(getpid(), SIGKILL);
}

static void carry_out_one(struct worker *w, order o)
{
    switch (order_kind_of(o)) {
    case ORDER_RESERVE:
        reserve(w, order_call(o));
        break;
    case ORDER_SETTLE:
        settle(w, order_call(o));
        break;
    case ORDER_DIE:
        die_soon(order_call(o));
        break;
    }
}

static void carry_out(struct worker *w, const order *orders, size_t count)
{
    for (size_t i = 0; i < count; i++)
        carry_out_one(w, orders[i]);
}

static int serve(struct worker *w)
{
    order orders[WORKER_ORDERS_MAX];
    for (;;) {
        ssize_t n = recv(WORKER_SOCKET_FD, orders, sizeof orders, 0);
        if (n <= 0)
            return n == 0 ? EXIT_OK : EXIT_LIBRARY;
        carry_out(w, orders, (size_t)n / sizeof *orders);
        if (send(WORKER_SOCKET_FD, "", 1, MSG_NOSIGNAL) != 1)
            return EXIT_OK;
    }
}

/* The signal is lost if the coordinator was gone before it was asked for. */
static bool tie_to(pid_t coordinator)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == coordinator;
}

int worker_main(int argc, char **argv)
{
    struct worker w;
    struct tlshm_error why;
    if (argc != 4 || !tie_to((pid_t)strtol(argv[3], NULL, 10)) || stage_map(&w.stage, WORKER_STAGE_FD) != 0)
        return EXIT_USAGE;
    unsigned long desk = strtoul(argv[2], NULL, 10);
    if (desk >= w.stage.head->desk_count)
        return EXIT_USAGE;
    w.desk = &w.stage.desks[desk];
    if (guard_attach(&w.segment, w.stage.head->segment, 0, &why) < 0) {
        snprintf(w.desk->why, sizeof w.desk->why, "%s", why.text);
        return EXIT_LIBRARY;
    }
    int code = EXIT_LIBRARY;
    w.settings = tariff_unpack(&w.stage.head->tariff);
    w.tariff.prices = NULL;
    if (!w.settings.learned || tariff_open(&w.tariff, &w.settings, 0, w.desk->why, sizeof w.desk->why))
        code = serve(&w);
    if (w.settings.learned)
        tariff_close(&w.tariff);
    guard_detach(w.segment);
    return code;
}
