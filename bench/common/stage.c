/* SPDX-License-Identifier: MIT */
/* stage.c - segments of any size. */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tlshm/admin.h>

#define DAY_NS UINT64_C(86400000000000)
#define CAP (UINT64_C(1) << 52)
#define SEATS 320
#define RECORDS_DEFAULT 16384
#define TIER "bench"

static const char *const levels[] = {"agent", "tenant"};

static int say(const struct stage *s, const char *what, int code, const struct tlshm_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", s->path, what, error ? error->text : tlshm_error_text(code));
    return -1;
}

static int create(struct stage *s)
{
    const struct stage_need *need = &s->need;
    static unsigned number;
    const unsigned records = need->records ? need->records : need->live + need->live / 4;
    const tlshm_geometry geometry = {
        .scopes = need->agents + need->tenants,
        .reservations = records > RECORDS_DEFAULT ? records : RECORDS_DEFAULT,
        .limits_per_scope = need->limits,
        .slices = need->slices > 60 ? need->slices : 60,
        .seats = SEATS,
        .virtual_clock = need->virtual_clock,
    };
    struct tlshm_error error;
    snprintf(s->path, sizeof s->path, "/dev/shm/tlshm-bench-%ld-%u", (long)getpid(), ++number);
    int code = tlshm_create(s->path, &geometry, &error);
    if (code < 0) {
        say(s, "create", code, &error);
        s->path[0] = '\0'; /* what lies there is not ours to remove */
        return -1;
    }
    code = tlshm_attach(&s->attachment, s->path, 0, &error);
    return code < 0 ? say(s, "attach", code, &error) : 0;
}

static int set_limits(struct stage *s)
{
    tlshm_limit list[TLSHM_LIMITS_MAX];
    for (unsigned i = 0; i < s->need.limits; i++)
        list[i] = (tlshm_limit){.unit = TLSHM_TOKENS,
                                .window = {.kind = TLSHM_WINDOW_ROLLING,
                                           .slices = s->need.slices,
                                           .length_ns = s->need.length_ns * (i + 1)},
                                .cap = CAP};
    int code = tlshm_tier_set(s->attachment, TIER, list, s->need.limits);
    for (unsigned i = 0; code >= 0 && i < sizeof levels / sizeof *levels; i++)
        code = tlshm_default_set(s->attachment, levels[i], TIER);
    return code < 0 ? say(s, "limits", code, NULL) : 0;
}

static int make_scopes(struct stage *s)
{
    const unsigned count = s->need.agents + s->need.tenants;
    char key[32];
    s->handle = calloc(count, sizeof *s->handle);
    for (unsigned i = 0; s->handle && i < count; i++) {
        const int agent = i < s->need.agents;
        snprintf(key, sizeof key, "%s:%u", levels[agent ? 0 : 1], agent ? i : i - s->need.agents);
        int code = tlshm_resolve(s->attachment, key, 0, &s->handle[i]);
        if (code < 0)
            return say(s, key, code, NULL);
    }
    return s->handle ? 0 : say(s, "scopes", -TLSHM_ENOMEM, NULL);
}

void stage_choose(struct stage *s, uint64_t number)
{
    const unsigned agent = (unsigned)(number % s->need.agents);
    s->scope[0].handle = s->handle[agent];
    s->scope[1].handle = s->handle[s->need.agents + agent % s->need.tenants];
}

int stage_hold(struct stage *s, unsigned count, uint64_t ttl_ns)
{
    const uint64_t usual = s->request.ttl_ns;
    int answer = TLSHM_OK;
    tlshm_id id;
    s->request.ttl_ns = ttl_ns;
    for (unsigned i = 0; answer == TLSHM_OK && i < count; i++) {
        stage_choose(s, i);
        answer = tlshm_reserve(s->attachment, &s->request, &id, NULL);
    }
    s->request.ttl_ns = usual;
    if (answer == TLSHM_OK)
        return 0;
    fprintf(stderr, "%s: a hold was answered with %d\n", s->path, answer);
    return -1;
}

int stage_open_named(struct stage *s, const struct stage_need *need)
{
    memset(s, 0, sizeof *s);
    s->need = *need;
    s->request = (tlshm_request)TLSHM_REQUEST_INIT;
    s->request.scopes = s->scope;
    s->request.scope_count = 2;
    s->request.estimate.of[TLSHM_TOKENS] = 1200;
    s->actual.of[TLSHM_TOKENS] = 700;
    if (create(s) != 0 || set_limits(s) != 0 || make_scopes(s) != 0)
        return -1;
    return stage_hold(s, need->live, need->ttl_ns ? need->ttl_ns : DAY_NS);
}

static void take_name(struct stage *s)
{
    if (s->path[0] != '\0')
        unlink(s->path);
}

int stage_open(struct stage *s, const struct stage_need *need)
{
    int code = stage_open_named(s, need);
    take_name(s);
    return code;
}

void stage_close(struct stage *s)
{
    take_name(s);
    tlshm_detach(s->attachment);
    free(s->handle);
    memset(s, 0, sizeof *s);
}
