/* SPDX-License-Identifier: MIT */
/*
 * peer_tlshm.c - the library through its public calls, scopes given as handles or as keys.
 *
 * Each trial has a segment of default geometry of its own, under a name that carries the foreman's pid.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tlshm/admin.h>
#include <tlshm/error.h>

#include "peer.h"

static struct {
    char name[64];
    tlshm_t *attachment; /* of this process, while it has one */
    char key[PLAN_SCOPES_MAX][32];
    tlshm_scope scope[PLAN_SCOPES_MAX];
    tlshm_request request;
    tlshm_amounts actual;
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

static int limit_scope(const struct plan *plan, unsigned process, unsigned scope)
{
    tlshm_limit list[PLAN_UNITS];
    unsigned count = plan_limit_list(plan, list);
    char key[32];
    plan_key(plan, process, scope, key);
    int code = tlshm_scope_limits_set(t.attachment, key, 0, list, count);
    return code < 0 ? say(key, code, NULL) : 0;
}

static int limit_all(const struct plan *plan)
{
    for (unsigned i = 0; plan_extra_levels[i]; i++) {
        int code = tlshm_level_add(t.attachment, plan_extra_levels[i], PLAN_SCOPES_MAX);
        if (code < 0)
            return say(plan_extra_levels[i], code, NULL);
    }
    for (unsigned process = 0; process < plan->processes; process++) {
        for (unsigned i = 0; i < plan->scopes; i++) {
            if (limit_scope(plan, process, i) != 0)
                return -1;
        }
    }
    return 0;
}

static int setup(const struct plan *plan)
{
    const tlshm_geometry geometry = {.reservations = PLAN_RESERVATIONS};
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
    int result = limit_all(plan);
    detach(); /* before the fork: each worker attaches for itself */
    return result;
}

static int join(const struct plan *plan, unsigned process)
{
    t.request = (tlshm_request)TLSHM_REQUEST_INIT;
    t.request.scopes = t.scope;
    t.request.scope_count = plan->scopes;
    for (unsigned u = 0; u < PLAN_UNITS; u++) {
        t.request.estimate.of[u] = u == TLSHM_CONCURRENCY ? 0 : plan_estimate[u]; /* never given by the caller */
        t.actual.of[u] = u == TLSHM_CONCURRENCY ? 0 : plan_actual[u];
    }
    for (unsigned i = 0; i < plan->scopes; i++) {
        plan_key(plan, process, i, t.key[i]);
        t.scope[i] = (tlshm_scope){.key = t.key[i], .len = strlen(t.key[i])};
    }
    return attach();
}

static int join_handles(const struct plan *plan, unsigned process)
{
    if (join(plan, process) != 0)
        return -1;
    for (unsigned i = 0; i < plan->scopes; i++) {
        int code = tlshm_resolve(t.attachment, t.key[i], 0, &t.scope[i].handle);
        if (code < 0)
            return say(t.key[i], code, NULL);
    }
    return 0;
}

static int pair(void)
{
    tlshm_id id;
    int answer = tlshm_reserve(t.attachment, &t.request, &id, NULL);
    return answer != TLSHM_OK ? answer : tlshm_settle(t.attachment, id, &t.actual, TLSHM_EXACT, NULL);
}

static int audit_scope(const struct plan *plan, unsigned process, unsigned scope, const uint64_t *pairs)
{
    uint64_t expected = plan_expected(plan, process, scope, pairs);
    tlshm_scope_usage usage;
    char key[32];
    plan_key(plan, process, scope, key);
    int code = tlshm_usage(t.attachment, key, 0, &usage);
    if (code < 0)
        return say(key, code, NULL);
    for (unsigned u = 0; u < PLAN_UNITS; u++) {
        if (usage.held[u] != 0)
            return peer_audit_failed("tlshm", key, "held", usage.held[u], 0);
        if (u != TLSHM_CONCURRENCY && usage.used[u] != plan_actual[u] * expected)
            return peer_audit_failed("tlshm", key, "used", usage.used[u], plan_actual[u] * expected);
    }
    return 0;
}

static int audit(const struct plan *plan, const uint64_t *pairs)
{
    int result = attach();
    for (unsigned process = 0; result == 0 && process < plan->processes; process++) {
        for (unsigned i = 0; result == 0 && i < plan->scopes; i++)
            result = audit_scope(plan, process, i, pairs);
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
}

const struct peer peer_tlshm = {
    "tlshm", "handle", setup, join_handles, pair, audit, teardown,
};
const struct peer peer_tlshm_string = {
    "tlshm", "string", setup, join, pair, audit, teardown,
};
