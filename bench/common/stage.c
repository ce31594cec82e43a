/* SPDX-License-Identifier: MIT */
/* stage.c - segments of any size. */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tlshm/admin.h>

#define DAY_NS UINT64_C(86400000000000)
#define SEATS 320
#define RECORDS_DEFAULT 16384
#define TIER "bench"

static const char *const levels[] = {"agent", "tenant"};

static int say(const struct stage *s, const char *what, int code, const struct tlshm_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", s->path, what, error ? error->text : tlshm_error_text(code));
    return -1;
}

/* The records that there are. */
static unsigned records_of(const struct stage_need *need)
{
    const unsigned asked = need->records ? need->records : need->live + need->live / 4;
    return asked > RECORDS_DEFAULT ? asked : RECORDS_DEFAULT;
}

static int create(struct stage *s)
{
    const struct stage_need *need = &s->need;
    static unsigned number;
    const tlshm_geometry geometry = {
        .scopes = need->agents + need->tenants,
        .reservations = records_of(need),
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
                                .cap = STAGE_CAP};
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

/* Holds that stay, of all agents in turn, from a number on. */
static int hold(struct stage *s, uint64_t number, unsigned count, uint64_t ttl_ns, tlshm_id *ids)
{
    const uint64_t usual = s->request.ttl_ns;
    int answer = TLSHM_OK;
    s->request.ttl_ns = ttl_ns;
    for (unsigned i = 0; answer == TLSHM_OK && i < count; i++) {
        stage_choose(s, number + i);
        answer = tlshm_reserve(s->attachment, &s->request, &ids[i], NULL);
    }
    s->request.ttl_ns = usual;
    if (answer == TLSHM_OK)
        return 0;
    fprintf(stderr, "%s: a hold was answered with %d\n", s->path, answer);
    return -1;
}

int stage_hold(struct stage *s, uint64_t number, uint64_t ttl_ns)
{
    tlshm_id id;
    return hold(s, number, 1, ttl_ns, &id);
}

/* The whole table is filled and all but `live` of the holds are settled, drawn at random. */
static int strew(struct stage *s, tlshm_id *id, unsigned count, unsigned live)
{
    uint64_t random = 1;
    for (unsigned left = count; left > live; left--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const unsigned drawn = (unsigned)((random >> 33) % left);
        int answer = tlshm_settle(s->attachment, id[drawn], &s->actual, TLSHM_EXACT, NULL);
        if (answer != TLSHM_OK) {
            fprintf(stderr, "%s: a settle was answered with %d\n", s->path, answer);
            return -1;
        }
        id[drawn] = id[left - 1];
    }
    return 0;
}

static int live(struct stage *s)
{
    const unsigned count = records_of(&s->need);
    tlshm_id *id = calloc(count, sizeof *id);
    int code = id ? hold(s, 0, count, s->need.ttl_ns ? s->need.ttl_ns : DAY_NS, id) : -1;
    if (code == 0)
        code = strew(s, id, count, s->need.live);
    free(id);
    return code;
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
    return need->live > 0 ? live(s) : 0;
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
