/* SPDX-License-Identifier: MIT */
/*
 * peer_tlshm.c - the library through its public calls, scopes given as handles or as keys.
 *
 * Each trial has a segment of its own, of default geometry unless it needs more scopes, under a name that carries the
 * foreman's pid. The foreman makes the scopes; the workers, forked later, know their keys and handles from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tlshm/admin.h>
#include <tlshm/error.h>
#include <tlshm/stats.h>

#include "peer.h"

#define SCOPES_DEFAULT 4096
#define OWN_LISTS_MAX 512 /* scopes that get a list of limits each; more than that follow the default of their level */

static struct {
    char name[64];
    tlshm_t *attachment; /* of this process, while it has one */
    char (*key)[PLAN_KEY_SIZE];
    tlshm_handle *handle;
    int strings; /* scopes are given as keys */
    tlshm_scope scope[PLAN_SCOPES_MAX];
    tlshm_request request;
    tlshm_amounts actual, more;
    tlshm_handle last; /* scope of the call, read by the looking acts */
    const char *last_key;
    tlshm_id id;
} t;

static int say(const char *what, int code, const struct tlshm_error *error)
{
    fprintf(stderr, "tlshm: %s: %s\n", what, error ? error->text : tlshm_error_text(code));
    return -1;
}

static int attach(void)
{
    struct tlshm_error error;
    int code = tlshm_attach(&t.attachment, t.name, 0, &error);
    return code < 0 ? say("attach", code, &error) : 0;
}

static void detach(void)
{
    tlshm_detach(t.attachment);
    t.attachment = NULL;
}

/* -------------------------------------------------------------------------------------------------------- setup */

static int add_levels(void)
{
    for (unsigned i = plan_own_levels; plan_levels[i]; i++) {
        int code = tlshm_level_add(t.attachment, plan_levels[i], PLAN_SCOPES_MAX);
        if (code < 0)
            return say(plan_levels[i], code, NULL);
    }
    return 0;
}

static int limit_levels(const tlshm_limit *list, unsigned count)
{
    int code = tlshm_tier_set(t.attachment, "bench", list, count);
    for (unsigned i = 0; code >= 0 && plan_levels[i]; i++)
        code = tlshm_default_set(t.attachment, plan_levels[i], "bench");
    return code < 0 ? say("default limits", code, NULL) : 0;
}

static int make_scope(const struct plan *plan, unsigned slot, const tlshm_limit *list, unsigned count)
{
    plan_slot_key(plan, slot, t.key[slot]);
    int code = tlshm_resolve(t.attachment, t.key[slot], 0, &t.handle[slot]);
    if (code >= 0 && count > 0)
        code = tlshm_scope_limits_set(t.attachment, t.key[slot], 0, list, count);
    return code < 0 ? say(t.key[slot], code, NULL) : 0;
}

static int make_scopes(const struct plan *plan)
{
    tlshm_limit list[PLAN_LIMITS_MAX];
    unsigned slots = plan_slots(plan), count = plan_limit_list(plan, list);
    t.key = calloc(slots, sizeof *t.key);
    t.handle = calloc(slots, sizeof *t.handle);
    if (!t.key || !t.handle)
        return say("scopes", -TLSHM_ENOMEM, NULL);
    int result = add_levels();
    if (result == 0 && slots > OWN_LISTS_MAX)
        result = limit_levels(list, count);
    for (unsigned slot = 0; result == 0 && slot < slots; slot++)
        result = make_scope(plan, slot, list, slots > OWN_LISTS_MAX ? 0 : count);
    return result;
}

static int setup(const struct plan *plan)
{
    unsigned slots = plan_slots(plan);
    const tlshm_geometry geometry = {
        .reservations = PLAN_RESERVATIONS,
        .scopes = slots > SCOPES_DEFAULT ? slots : SCOPES_DEFAULT,
        .limits_per_scope = slots > SCOPES_DEFAULT ? PLAN_LIMITS_MAX : 0, /* room is made resident when created */
    };
    struct tlshm_error error;
    snprintf(t.name, sizeof t.name, "/dev/shm/tlshm-bench-%ld", (long)getpid());
    int code = tlshm_create(t.name, &geometry, &error);
    if (code < 0) {
        say("create", code, &error);
        t.name[0] = '\0'; /* what lies there is not ours to destroy */
        return -1;
    }
    if (attach() != 0)
        return -1;
    int result = make_scopes(plan);
    detach(); /* before the fork: each worker attaches for itself */
    return result;
}

static int join_as(int strings)
{
    t.strings = strings;
    t.request = (tlshm_request)TLSHM_REQUEST_INIT;
    t.request.scopes = t.scope;
    return attach();
}

static int join(const struct plan *plan, unsigned process)
{
    (void)plan;
    (void)process;
    return join_as(0);
}

static int join_strings(const struct plan *plan, unsigned process)
{
    (void)plan;
    (void)process;
    return join_as(1);
}

static void choose(const struct plan_call *call)
{
    t.request.scope_count = call->count;
    for (unsigned i = 0; i < call->count; i++) {
        const char *key = t.key[call->slot[i]];
        t.scope[i] = t.strings ? (tlshm_scope){.key = key, .len = strlen(key)}
                               : (tlshm_scope){.handle = t.handle[call->slot[i]]};
        t.last_key = key;
        t.last = t.handle[call->slot[i]];
    }
    for (unsigned u = 0; u < PLAN_UNITS; u++) {
        if (u == TLSHM_CONCURRENCY)
            continue; /* never given by the caller */
        t.request.estimate.of[u] = call->estimate[u];
        t.more.of[u] = call->more[u];
        t.actual.of[u] = call->actual[u];
    }
}

/* --------------------------------------------------------------------------------------------------------- acts */

static int reserve(void)
{
    return tlshm_reserve(t.attachment, &t.request, &t.id, NULL);
}

static int settle(void)
{
    return tlshm_settle(t.attachment, t.id, &t.actual, TLSHM_EXACT, NULL);
}

static int pair(void)
{
    int answer = reserve();
    return answer != TLSHM_OK ? answer : settle();
}

static int refuse(void)
{
    int answer = reserve();
    return answer < 0 ? answer : answer != TLSHM_REFUSED;
}

static int stream(void)
{
    int answer = reserve();
    for (unsigned i = 0; answer == TLSHM_OK && i < PLAN_EXTENDS; i++)
        answer = tlshm_extend(t.attachment, t.id, &t.more, 0, NULL);
    return answer != TLSHM_OK ? answer : settle();
}

static int remaining(void)
{
    int64_t left;
    return t.strings ? tlshm_remaining(t.attachment, t.last_key, 0, TLSHM_TOKENS, &left)
                     : tlshm_remaining_handle(t.attachment, t.last, TLSHM_TOKENS, &left);
}

static int look(void)
{
    tlshm_scope_usage usage;
    return t.strings ? tlshm_usage(t.attachment, t.last_key, 0, &usage)
                     : tlshm_usage_handle(t.attachment, t.last, &usage);
}

/* -------------------------------------------------------------------------------------------------------- audit */

static void say_fault(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "tlshm: %s\n", text);
}

static int audit_slots(const struct plan *plan, const struct plan_book *books)
{
    tlshm_scope_usage usage;
    for (unsigned slot = 0; slot < plan_slots(plan); slot++) {
        int code = tlshm_usage_handle(t.attachment, t.handle[slot], &usage);
        if (code < 0)
            return say(t.key[slot], code, NULL);
        if (peer_audit_slot("tlshm", plan, slot, &books[slot], usage.used, usage.held) != 0)
            return -1;
    }
    return 0;
}

/* Where processes were killed the library's own invariants are recomputed too. */
static int audit(const struct plan *plan, const struct plan_book *books)
{
    if (attach() != 0)
        return -1;
    int result = audit_slots(plan, books);
    if (result == 0 && plan->workload == PLAN_KILLED) {
        tlshm_verify_report report;
        result = tlshm_verify(t.attachment, say_fault, NULL, &report) == 0 ? 0 : -1;
    }
    detach();
    return result;
}

static void teardown(void)
{
    detach();
    if (t.name[0] != '\0')
        tlshm_destroy(t.name, NULL);
    t.name[0] = '\0';
    free(t.key);
    free(t.handle);
    t.key = NULL;
    t.handle = NULL;
}

#define TLSHM_ACTS                                                                                                     \
    {                                                                                                                  \
        [ACT_PAIR] = pair, [ACT_RESERVE] = reserve, [ACT_SETTLE] = settle, [ACT_REFUSE] = refuse,                      \
        [ACT_STREAM] = stream, [ACT_REMAINING] = remaining, [ACT_USAGE] = look                                         \
    }

const struct peer peer_tlshm = {
    .name = "tlshm",
    .keys = "handle",
    .setup = setup,
    .join = join,
    .leave = detach,
    .choose = choose,
    .act = TLSHM_ACTS,
    .audit = audit,
    .teardown = teardown,
};

const struct peer peer_tlshm_string = {
    .name = "tlshm",
    .keys = "string",
    .setup = setup,
    .join = join_strings,
    .leave = detach,
    .choose = choose,
    .act = TLSHM_ACTS,
    .audit = audit,
    .teardown = teardown,
};
