/* SPDX-License-Identifier: MIT */
/*
 * segment.c - fuzz target: a live segment whose bytes are changed between calls, and in the middle of them, by somebody
 * who means it; every public call and every look that a tool takes. What is promised (G8): an answer or an error, never a
 * crash, never an endless loop, never a write outside, and nothing written to the caller's places on an error.
 *
 * INPUT  {state} then steps: {opcode, its arguments}. Half of the opcodes are damage.
 */
#include "ground.h"
#include "space.h"
#include "tap.h"

#include <string.h>
#include <tlshm/model.h>
#include <tlshm/stats.h>

#define IDS 8
#define WALK_MAX 1000 /* more than any table of the ground has entries */

static struct {
    tlshm_t *t;
    struct bytes in;
    tlshm_id ids[IDS];
    tlshm_handle handles[IDS];
} play;

/* An error of the list, or a verdict that the call may give. */
static int check(const char *call, int rc, int most)
{
    MUST(rc > -TLSHM_ERRORS_END && rc <= most, "%s returned %d", call, rc);
    MUST(rc > -TLSHM_ERRORS_END && strcmp(tlshm_error_name(rc), "E?") != 0, "%s returned %d", call, rc);
    return rc;
}

#define CALL(most, function, ...) (ground_begin_call(#function), check(#function, function(__VA_ARGS__), most))

/* A place that a failed call must leave as it was. */
#define UNTOUCHED UINT64_C(0x5aa5a55a12344321)

static void expect_untouched(const char *call, int rc, uint64_t place)
{
    MUST(rc >= 0 || place == UNTOUCHED, "%s failed and wrote its answer", call);
}

static struct bytes *in(void)
{
    return &play.in;
}

/* --------------------------------------------------------------------------------------------------------- arguments */

/* The first ones are scopes that are there. */
static const char *any_key(void)
{
    unsigned which = bytes_8(in());
    return ground_keys[which < 224 ? which % 5 : which % GROUND_KEYS];
}

static tlshm_id any_id(void)
{
    unsigned which = bytes_8(in());
    return which % 16 == 15 ? bytes_take(in(), 8) : play.ids[which % IDS];
}

static tlshm_handle any_handle(void)
{
    unsigned which = bytes_8(in());
    return which % 16 == 15 ? bytes_take(in(), 8) : play.handles[which % IDS];
}

static tlshm_amounts any_amounts(void)
{
    tlshm_amounts a = {{0}};
    unsigned which = bytes_8(in()) | 1u << TLSHM_TOKENS;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (which >> u & 1)
            a.of[u] = u == TLSHM_CONCURRENCY ? 0 : (which & 0x80) != 0 ? bytes_take(in(), 6) : bytes_8(in());
    return a;
}

static tlshm_limit any_limit(void)
{
    static const char *const texts[] = {
        "tokens 5000 per 1m/4 strict", "concurrency 3",
        "requests 2 per day",          "tokens 9 lifetime",
        "tokens unlimited per 1h/4",   "cost $3 per day in Europe/Berlin",
        "tool_calls 0 per 1s/1",       "tokens 3M per week",
    };
    tlshm_limit limit;
    MUST(tlshm_limit_parse(texts[bytes_below(in(), 8)], &limit, NULL) == 0, "limit");
    return limit;
}

static const char *any_tier(void)
{
    static const char *const tiers[] = {"pro", "none", "new", "agent"};
    return tiers[bytes_below(in(), 4)];
}

/* ------------------------------------------------------------------------------------------------------- daily calls */

static void remember(tlshm_id id)
{
    memmove(play.ids + 1, play.ids, sizeof play.ids - sizeof play.ids[0]);
    play.ids[0] = id;
}

static void one_reserve(void)
{
    tlshm_scope scopes[TLSHM_SCOPES_MAX];
    tlshm_request r = TLSHM_REQUEST_INIT;
    tlshm_refusal why;
    tlshm_id id = UNTOUCHED;
    unsigned shape = bytes_8(in());
    r.scopes = scopes;
    r.scope_count = 1 + shape % 5;
    for (unsigned i = 0; i < r.scope_count; i++) {
        bool by_handle = (shape & 0x80) != 0 && i % 2 == 0;
        scopes[i] = (tlshm_scope){.key = by_handle ? NULL : any_key(), .handle = by_handle ? any_handle() : 0};
        for (unsigned j = 0; j < i; j++)
            if (scopes[j].key != NULL && scopes[j].key == scopes[i].key)
                scopes[i].key = ground_keys[(shape + i) % 5];
    }
    r.estimate = any_amounts();
    r.flags = (shape & 0x40) != 0 ? TLSHM_FREE_ON_DEATH : 0;
    r.ttl_ns = 1 + ((shape & 0x20) != 0 ? bytes_take(in(), 6) : bytes_take(in(), 4));
    if ((shape & 0x10) != 0) {
        r.idempotency_key = bytes_8(in()) % 2 == 0 ? "first" : "second";
        r.idempotency_len = strlen(r.idempotency_key);
    }
    CALL(TLSHM_REPLAY, tlshm_would_fit, play.t, &r, (shape & 8) != 0 ? &why : NULL);
    int rc = CALL(TLSHM_REPLAY, tlshm_reserve, play.t, &r, &id, (shape & 8) != 0 ? &why : NULL);
    expect_untouched("reserve", rc, id);
    if (rc == TLSHM_OK || rc == TLSHM_REPLAY)
        remember(id);
    if (rc == TLSHM_REFUSED && (shape & 8) != 0) {
        char text[512];
        tlshm_refusal_text(&why, text, sizeof text);
    }
}

static void one_settle(void)
{
    tlshm_amounts actual = any_amounts();
    tlshm_result result;
    CALL(TLSHM_LATE, tlshm_settle, play.t, any_id(), &actual, (enum tlshm_outcome)bytes_below(in(), 3), &result);
}

/* ------------------------------------------------------------------------------------------------------ calls by model */

static tlshm_bounds any_bounds(void)
{
    unsigned which = bytes_8(in());
    return (tlshm_bounds){.output_default = which & 1 ? bytes_16(in()) : 0,
                          .quantile_ppm = which & 2 ? 1 + bytes_16(in()) : 0,
                          .max_share_ppm = which & 4 ? 1 + bytes_16(in()) : 0,
                          .cached_discount_ppm = which & 8 ? 1 + bytes_16(in()) : 0};
}

static void one_model_reserve(void)
{
    static const char *const names[] = {"known", "new", "other", "more"};
    struct ask a;
    tlshm_id id = UNTOUCHED;
    tlshm_guess guess = {.output = UNTOUCHED};
    tlshm_refusal why;
    tlshm_bounds bounds = any_bounds();
    tlshm_model_call call = {.model = names[bytes_below(in(), 4)], .max_output = bytes_8(in()) / 16};
    call.counts.input_total = 1 + bytes_8(in());
    ask_for(&a, bytes_8(in()) % 2 ? "agent:a tenant:t" : "agent:b", NULL);
    a.request.idempotency_key = bytes_8(in()) % 4 == 0 ? "first" : NULL;
    a.request.idempotency_len = 5;
    int rc = CALL(TLSHM_REPLAY, tlshm_model_reserve, play.t, &a.request, &call, &bounds, NULL, &id, &guess, &why);
    expect_untouched("model_reserve", rc, id);
    expect_untouched("model_reserve", rc, guess.output);
    MUST(rc != TLSHM_OK || guess.output <= TLSHM_AMOUNT_MAX, "a guess out of range");
    if (rc == TLSHM_OK || rc == TLSHM_REPLAY)
        remember(id);
}

static void one_model_settle(void)
{
    tlshm_model_usage usage = {.counts = {.input_total = bytes_8(in()), .output_total = bytes_16(in())}};
    tlshm_result result;
    CALL(TLSHM_LATE, tlshm_model_settle, play.t, any_id(), &usage, (enum tlshm_outcome)bytes_below(in(), 3), NULL,
         &result, NULL);
}

static void one_refund(void)
{
    CALL(TLSHM_ENDED, tlshm_refund, play.t, any_id(), NULL);
}

static void one_extend(void)
{
    tlshm_amounts more = any_amounts();
    tlshm_refusal why;
    uint64_t ttl = bytes_take(in(), 5);
    more.of[TLSHM_REQUESTS] = 0;
    CALL(TLSHM_ENDED, tlshm_extend, play.t, any_id(), &more, ttl, &why);
}

static void one_resolve(void)
{
    tlshm_handle handle = UNTOUCHED;
    int rc = CALL(0, tlshm_resolve, play.t, any_key(), 0, &handle);
    expect_untouched("resolve", rc, handle);
    if (rc == 0)
        play.handles[bytes_below(in(), IDS)] = handle;
}

static void one_remaining(void)
{
    int64_t left = (int64_t)UNTOUCHED;
    enum tlshm_unit unit = (enum tlshm_unit)bytes_below(in(), TLSHM_UNITS);
    int rc = CALL(0, tlshm_remaining, play.t, any_key(), 0, unit, &left);
    expect_untouched("remaining", rc, (uint64_t)left);
    left = (int64_t)UNTOUCHED;
    rc = CALL(0, tlshm_remaining_handle, play.t, any_handle(), unit, &left);
    expect_untouched("remaining_handle", rc, (uint64_t)left);
}

/* --------------------------------------------------------------------------------------------------------- admin calls */

static void one_limit(void)
{
    tlshm_limit limit = any_limit();
    switch (bytes_below(in(), 6)) {
    case 0:
        CALL(0, tlshm_limit_set, play.t, any_key(), 0, &limit);
        break;
    case 1:
        CALL(0, tlshm_limit_unset, play.t, any_key(), 0, &limit);
        break;
    case 2:
        CALL(0, tlshm_scope_limits_set, play.t, any_key(), 0, &limit, bytes_below(in(), 2));
        break;
    case 3:
        CALL(0, tlshm_tier_limit_set, play.t, any_tier(), &limit);
        break;
    case 4:
        CALL(0, tlshm_tier_limit_unset, play.t, any_tier(), &limit);
        break;
    default:
        CALL(0, tlshm_tier_set, play.t, any_tier(), &limit, bytes_below(in(), 2));
    }
}

static void one_tier(void)
{
    static const char *const levels[] = {"agent", "tenant", "team", "another"};
    switch (bytes_below(in(), 5)) {
    case 0:
        CALL(0, tlshm_tier_unset, play.t, any_tier());
        break;
    case 1:
        CALL(0, tlshm_default_set, play.t, levels[bytes_below(in(), 4)], any_tier());
        break;
    case 2:
        CALL(0, tlshm_default_set, play.t, levels[bytes_below(in(), 4)], NULL);
        break;
    case 3:
        CALL(0, tlshm_level_add, play.t, levels[bytes_below(in(), 4)], bytes_8(in()));
        break;
    default:
        CALL(0, tlshm_scope_tier_set, play.t, any_key(), 0, bytes_8(in()) % 2 != 0 ? any_tier() : NULL);
    }
}

static void one_switch(void)
{
    int on = (int)bytes_below(in(), 2);
    switch (bytes_below(in(), 5)) {
    case 0:
        CALL(0, tlshm_pause, play.t, on);
        break;
    case 1:
        CALL(0, tlshm_shutoff, play.t, on);
        break;
    case 2:
        CALL(0, tlshm_scope_pause, play.t, any_key(), 0, on);
        break;
    case 3:
        CALL(0, tlshm_scope_shutoff, play.t, any_key(), 0, on);
        break;
    default:
        CALL(0, tlshm_overrun_set, play.t, on ? TLSHM_CAP_AT_ESTIMATE : TLSHM_CHARGE_ACTUAL);
    }
}

static void one_reap(void)
{
    CALL(0, tlshm_reap, play.t, NULL);
}

static void one_clock(void)
{
    uint64_t boot = 0, wall = 0;
    unsigned how = bytes_8(in());
    CALL(0, tlshm_clock_get, play.t, &boot, &wall);
    uint64_t step = bytes_take(in(), how % 16 == 15 ? 8 : 5);
    boot = how % 4 == 3 ? boot - step : boot + step;
    wall = (how & 4) != 0 ? wall + step : wall - bytes_take(in(), 6);
    CALL(0, tlshm_clock_set, play.t, boot, wall);
}

/* --------------------------------------------------------------------------------------------------------------- looks */

static void look_at_scopes(tlshm_t *t)
{
    uint64_t cursor = 0;
    tlshm_handle handle;
    unsigned walked = 0;
    while (CALL(1, tlshm_scope_next, t, &cursor, &handle) == 1) {
        char key[TLSHM_KEY_MAX + 1];
        tlshm_scope_usage usage;
        MUST(++walked < WALK_MAX, "the walk over scopes does not end");
        int len = tlshm_scope_key(t, handle, key, sizeof key);
        MUST(len < (int)sizeof key && (len < 0 || key[len] == '\0'), "key of %d bytes", len);
        CALL(0, tlshm_usage_handle, t, handle, &usage);
    }
}

static void look_at_reservations(tlshm_t *t)
{
    uint64_t cursor = 0;
    tlshm_reservation_info info;
    unsigned walked = 0;
    int rc;
    /* A record that leads nowhere is an error, and those behind it are still there. */
    while ((rc = CALL(1, tlshm_reservation_next, t, &cursor, &info)) != 0) {
        char key[TLSHM_KEY_MAX + 1];
        MUST(++walked < WALK_MAX, "the walk over reservations does not end");
        if (rc < 0)
            continue;
        MUST(info.scope_count <= TLSHM_SCOPES_MAX && info.idempotency_len <= TLSHM_IDEMPOTENCY_MAX, "counts");
        for (unsigned i = 0; i < info.scope_count; i++)
            check("scope_key", tlshm_scope_key(t, info.scopes[i], key, sizeof key), TLSHM_KEY_MAX);
        CALL(0, tlshm_reservation, t, info.id, &info);
    }
}

static void look_at_tiers(tlshm_t *t)
{
    char name[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0, walked = 0, count, rank;
    while (CALL(1, tlshm_tier_next, t, &cursor, name) == 1) {
        tlshm_limit limits[TLSHM_LIMITS_MAX];
        char text[256];
        MUST(++walked < WALK_MAX && strnlen(name, sizeof name) < sizeof name, "tiers");
        if (CALL(0, tlshm_tier_get, t, name, limits, &count) < 0)
            continue;
        MUST(count <= TLSHM_LIMITS_MAX, "%u limits", count);
        for (unsigned i = 0; i < count; i++)
            tlshm_limit_format(&limits[i], text, sizeof text);
    }
    cursor = 0;
    while (CALL(1, tlshm_level_next, t, &cursor, name, &rank, tier) == 1)
        MUST(++walked < WALK_MAX && strnlen(tier, sizeof tier) < sizeof tier, "levels");
}

static void look_at_models(tlshm_t *t)
{
    tlshm_model_info info;
    uint32_t cursor = 0;
    unsigned walked = 0;
    int rc;
    while ((rc = CALL(1, tlshm_model_next, t, &cursor, &info)) != 0) {
        uint64_t output = UNTOUCHED;
        MUST(++walked < WALK_MAX, "the walk over models does not end");
        if (rc < 0)
            continue;
        MUST(info.model[0] != '\0' && strlen(info.model) + strlen(info.provider) <= TLSHM_MODEL_MAX, "a name");
        rc = CALL(1, tlshm_model_output, t, info.number, 1 + bytes_16(in()), &output);
        MUST((rc == 1) == (output != UNTOUCHED), "model_output returned %d", rc);
    }
}

static void look_at_seats(tlshm_t *t)
{
    uint64_t cursor = 0;
    tlshm_seat_info info;
    unsigned walked = 0;
    while (CALL(1, tlshm_seat_next, t, &cursor, &info) == 1)
        MUST(++walked < WALK_MAX, "the walk over seats does not end");
}

static void found(void *context, const char *text)
{
    (void)context;
    MUST(text[0] != '\0', "an empty finding");
}

/* What tlshm-inspect and the reaper look at. */
static void look_at_everything(tlshm_t *t)
{
    tlshm_segment_info info;
    tlshm_verify_report report;
    tlshm_scope_usage usage;
    CALL(0, tlshm_get_segment, t, &info);
    look_at_scopes(t);
    look_at_reservations(t);
    look_at_tiers(t);
    look_at_models(t);
    look_at_seats(t);
    for (unsigned i = 0; i < GROUND_KEYS; i++)
        CALL(0, tlshm_usage, t, ground_keys[i], 0, &usage);
    CALL(INT32_MAX, tlshm_verify, t, found, NULL, &report);
}

/* --------------------------------------------------------------------------------------------------------- the program */

static struct tlshm_error why_not;

static void attach(void)
{
    if (CALL(0, tlshm_attach, &play.t, ground_path(), 0, &why_not) < 0) {
        MUST(why_not.text[0] != '\0', "an error without a text");
        play.t = NULL;
    }
}

static void detach(void)
{
    ground_begin_call("tlshm_detach");
    tlshm_detach(play.t);
    play.t = NULL;
}

static void look_readonly(void)
{
    tlshm_t *t = NULL;
    if (CALL(0, tlshm_attach, &t, ground_path(), TLSHM_READONLY, NULL) < 0)
        return;
    look_at_everything(t);
    tlshm_detach(t);
}

static void one_attachment(void)
{
    switch (bytes_below(in(), 4)) {
    case 0:
        detach();
        attach();
        break;
    case 1:
        ground_reseal();
        detach();
        attach();
        break;
    case 2:
        ground_begin_call("tlshm_thread_release");
        tlshm_thread_release(play.t);
        break;
    default:
        look_readonly();
    }
}

static void step(void)
{
    static void (*const calls[])(void) = {
        one_reserve, one_settle, one_refund, one_extend,     one_resolve,       one_remaining,    one_limit, one_tier,
        one_switch,  one_reap,   one_clock,  one_attachment, one_model_reserve, one_model_settle, one_reap,  one_extend,
    };
    unsigned op = bytes_8(in());
    if (op >= 160)
        ground_damage(in());
    else if (op >= 128)
        ground_damage_later(in(), bytes_16(in()) % 1024);
    else if (play.t != NULL)
        calls[op % (sizeof calls / sizeof calls[0])]();
    else if (op % 16 == 11)
        one_attachment();
}

/* Ids and handles as callers got them before. */
static void fetch_names(void)
{
    tlshm_reservation_info info;
    uint64_t cursor = 0, scope = 0;
    for (unsigned i = 0; i < IDS && CALL(1, tlshm_reservation_next, play.t, &cursor, &info) == 1; i++)
        play.ids[i] = info.id;
    for (unsigned i = 0; i < IDS && CALL(1, tlshm_scope_next, play.t, &scope, &play.handles[i]) == 1; i++)
        continue;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&play, 0, sizeof play);
    play.in = (struct bytes){data, data + size};
    ground_reset(bytes_8(in()));
    attach();
    MUST(play.t != NULL, "the ground cannot be attached: %s", why_not.text);
    fetch_names();
    while (bytes_left(in()) > 0)
        step();
    if (play.t != NULL)
        look_at_everything(play.t);
    detach();
    look_readonly();
    return 0;
}
