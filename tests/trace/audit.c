/* SPDX-License-Identifier: MIT */
/* audit.c - what the others do meanwhile, and what can be seen afterwards. See ground.h. */
#include "ground.h"

#include "space.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {"agent:a",   "agent:b", "agent:n",  "tenant:t", "tenant:n",
                                   "project:p", "user:u",  "user:new", "global:"};
#define KEYS (sizeof keys / sizeof keys[0])

unsigned ground_guests;

bool ground_wrong(struct finding *wrong, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wrong->text, sizeof wrong->text, format, arguments);
    va_end(arguments);
    return false;
}

/* ----------------------------------------------------------------------------------------------------- the others */

#define CALL(call, verdict)                                                                                            \
    do {                                                                                                               \
        int rc_ = (call);                                                                                              \
        if (rc_ != (verdict))                                                                                          \
            return ground_wrong(wrong, "others: %s: %d %s", #call, rc_, tlshm_error_text(rc_));                        \
    } while (0)

static bool work(tlshm_t *t, uint64_t tag, struct finding *wrong)
{
    tlshm_amounts more = {{1}};
    tlshm_id id = 0;
    int64_t left = 0;
    CALL(ground_reserve(t, "agent:a tenant:t", 11, tag, NULL, &id), TLSHM_OK);
    CALL(tlshm_extend(t, id, &more, HOUR(2), NULL), TLSHM_OK);
    CALL(ground_settle(t, id, 10), TLSHM_OK);
    CALL(ground_settle(t, id, 9), TLSHM_REPLAY);
    CALL(ground_reserve(t, "agent:b tenant:t", 3, tag + 1, NULL, &id), TLSHM_OK);
    CALL(tlshm_refund(t, id, NULL), TLSHM_OK);
    CALL(tlshm_remaining(t, "tenant:t", 0, TLSHM_TOKENS, &left), 0);
    return true;
}

/* Needs a seat, too. */
static bool newcomer(struct finding *wrong)
{
    tlshm_t *t = ground_attach();
    bool well = work(t, 110, wrong);
    tlshm_detach(t);
    return well;
}

bool ground_others(tlshm_t *t, struct finding *wrong)
{
    if (!work(t, 100, wrong) || !newcomer(wrong))
        return false;
    CALL(tlshm_reap(t, NULL), 0);
    return true;
}

/* ----------------------------------------------------------------------------------------------------- invariants */

static void first_fault(void *context, const char *text)
{
    struct finding *wrong = context;
    if (wrong->text[0] == 0)
        ground_wrong(wrong, "verify: %s", text);
}

bool ground_sound(tlshm_t *t, bool quiet, struct finding *wrong)
{
    tlshm_verify_report report = {.faults = 0};
    struct finding fault = {{0}};
    int rc = tlshm_verify(t, first_fault, &fault, &report);
    if (rc != 0) {
        *wrong = fault;
        return rc > 0 ? false : ground_wrong(wrong, "verify: %s", tlshm_error_text(rc));
    }
    if (report.busy != 0)
        return ground_wrong(wrong, "verify: %llu scopes changed all the time", (unsigned long long)report.busy);
    if (quiet && report.sheets == 0)
        return ground_wrong(wrong, "an operation is still open");
    return true;
}

/* ------------------------------------------------------------------------------------------------------- the sight */

__attribute__((format(printf, 2, 3))) static void say(struct sight *sight, const char *format, ...)
{
    size_t length = strlen(sight->text);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(sight->text + length, sizeof sight->text - length, format, arguments);
    va_end(arguments);
    MUST(more >= 0 && length + (size_t)more < sizeof sight->text, "more can be seen than there is room for");
}

static void say_amounts(struct sight *sight, const char *name, const uint64_t *of)
{
    say(sight, " %s", name);
    for (unsigned u = 0; u < TLSHM_CONCURRENCY + 1; u++)
        say(sight, "%c%llu", u == 0 ? ' ' : ',', (unsigned long long)of[u]);
}

static bool see_scope(tlshm_t *t, const char *key, struct sight *sight, struct finding *wrong)
{
    tlshm_scope_usage usage;
    CALL(tlshm_usage(t, key, 0, &usage), 0);
    if (strcmp(key, "agent:a") == 0) {
        sight->held = (int64_t)usage.held[TLSHM_TOKENS];
        sight->used = (int64_t)usage.used[TLSHM_TOKENS];
    }
    say(sight, "%s: seen %d", key, usage.seen);
    say_amounts(sight, "held", usage.held);
    say_amounts(sight, "used", usage.used);
    say(sight, " flags %d%d limits %d %s", usage.paused, usage.shutoff, (int)usage.source, usage.tier);
    for (unsigned i = 0; i < usage.limit_count; i++) {
        const tlshm_limit_usage *l = &usage.limits[i];
        say(sight, " [unit %d kind %d cap %llu used %llu held %llu left %lld]", (int)l->limit.unit,
            (int)l->limit.window.kind, (unsigned long long)l->limit.cap, (unsigned long long)l->used,
            (unsigned long long)l->held, (long long)l->remaining);
    }
    say(sight, "\n");
    return true;
}

/* By tag: which record a reservation is in says nothing. Two of one tag are a fault. */
static bool see_reservations(tlshm_t *t, struct sight *sight, struct finding *wrong)
{
    tlshm_reservation_info info[GROUND_RECORDS], one;
    bool there[256] = {false};
    unsigned count = 0;
    uint64_t cursor = 0;
    int rc;
    while ((rc = tlshm_reservation_next(t, &cursor, &one)) == 1) {
        if (count == GROUND_RECORDS || one.tag > 255 || there[one.tag])
            return ground_wrong(wrong, "reservation %u of tag %llu is one too many", count,
                                (unsigned long long)one.tag);
        there[one.tag] = true;
        info[count++] = one;
    }
    if (rc < 0)
        return ground_wrong(wrong, "reservations: %s", tlshm_error_text(rc));
    for (uint64_t tag = 0; tag < 256; tag++)
        for (unsigned i = 0; i < count; i++)
            if (info[i].tag == tag) {
                say(sight, "tag %llu: %s %u scopes, outcome %d, %llu s left,", (unsigned long long)tag,
                    tlshm_status_name((int)info[i].status), info[i].scope_count, (int)info[i].outcome,
                    (unsigned long long)(info[i].expires_in_ns / SEC(1)));
                say_amounts(sight, "estimate", info[i].estimate.of);
                say_amounts(sight, "charged", info[i].charged.of);
                say(sight, " key %u\n", info[i].idempotency_len);
            }
    return true;
}

static bool see_tiers(tlshm_t *t, struct sight *sight, struct finding *wrong)
{
    char name[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1];
    unsigned cursor = 0, rank = 0, count = 0;
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    int rc;
    while ((rc = tlshm_level_next(t, &cursor, name, &rank, tier)) == 1)
        say(sight, "level %s %u %s; ", name, rank, tier);
    for (cursor = 0; rc == 0 && (rc = tlshm_tier_next(t, &cursor, name)) == 1; rc = 0) {
        CALL(tlshm_tier_get(t, name, limits, &count), 0);
        say(sight, "tier %s %u; ", name, count);
    }
    say(sight, "\n");
    return rc == 0 ? true : ground_wrong(wrong, "tiers and levels: %s", tlshm_error_text(rc));
}

/* The name beside: nothing, or a whole segment. No other file may be left. */
static bool see_directory(struct sight *sight, struct finding *wrong)
{
    char path[sizeof ground_path];
    unsigned files = 0;
    tlshm_t *t = NULL;
    int rc = tlshm_attach(&t, ground_other, 0, NULL);
    if (rc != 0 && rc != -TLSHM_ENOENT)
        return ground_wrong(wrong, "the new segment: %s", tlshm_error_text(rc));
    if (rc == 0) {
        bool well = ground_sound(t, true, wrong) && see_tiers(t, sight, wrong);
        tlshm_detach(t);
        if (!well)
            return false;
    }
    snprintf(path, sizeof path, "%s", ground_path);
    *strrchr(path, '/') = 0;
    DIR *dir = opendir(path);
    MUST(dir != NULL, "opendir %s", path);
    while (readdir(dir) != NULL)
        files++;
    closedir(dir);
    say(sight, "files %u\n", files - 2);
    return true;
}

static bool see(tlshm_t *t, struct sight *sight, struct finding *wrong)
{
    tlshm_segment_info info;
    sight->text[0] = 0;
    for (unsigned i = 0; i < KEYS; i++)
        if (!see_scope(t, keys[i], sight, wrong))
            return false;
    if (!see_reservations(t, sight, wrong) || !see_tiers(t, sight, wrong) || !see_directory(sight, wrong))
        return false;
    CALL(tlshm_get_segment(t, &info), 0);
    say(sight, "held %u ended %u tiers %u flags %d%d overrun %d\n", info.reservations_held, info.reservations_ended,
        info.tiers, info.paused, info.shutoff, (int)info.overrun);
    if (info.seats_taken != 1 + ground_guests)
        return ground_wrong(wrong, "%u seats are taken by %u threads", info.seats_taken, 1 + ground_guests);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- what is left */

/* New keys until there is no room for one more. */
static unsigned room_for_scopes(tlshm_t *t)
{
    char key[24];
    tlshm_handle handle;
    unsigned made = 0;
    for (;; made++) {
        snprintf(key, sizeof key, "org:fill%u", made);
        if (made > GROUND_SCOPES || tlshm_resolve(t, key, 0, &handle) != 0)
            return made;
    }
}

static unsigned room_for_lists(tlshm_t *t)
{
    const tlshm_limit limit = {.unit = TLSHM_CONCURRENCY, .cap = 5};
    char key[24];
    unsigned made = 0;
    for (;; made++) {
        snprintf(key, sizeof key, "org:fill%u", made);
        if (made > GROUND_LISTS || tlshm_scope_limits_set(t, key, 0, &limit, 1) != 0)
            return made;
    }
}

static unsigned room_for_reservations(tlshm_t *t)
{
    tlshm_id id;
    unsigned made = 0;
    while (made <= GROUND_RECORDS && ground_reserve(t, "project:p", 1, 200, NULL, &id) == TLSHM_OK)
        made++;
    return made;
}

/* A thread takes a seat for each attachment. */
static unsigned room_for_seats(void)
{
    tlshm_t *t[GROUND_SEATS + 1];
    tlshm_handle handle;
    unsigned made = 0, taken = 0;
    for (bool more = true; more && made <= GROUND_SEATS; made++) {
        t[made] = ground_attach();
        more = tlshm_resolve(t[made], "project:p", 0, &handle) == 0;
        taken += more ? 1 : 0;
    }
    while (made > 0)
        tlshm_detach(t[--made]);
    return taken;
}

/* All that is held ends with its deadline. */
static bool let_expire(tlshm_t *t, struct finding *wrong)
{
    tlshm_segment_info info;
    tlshm_scope_usage usage;
    uint64_t boot = 0, wall = 0;
    CALL(tlshm_clock_get(t, &boot, &wall), 0);
    CALL(tlshm_clock_set(t, boot + HOUR(3), wall + HOUR(3)), 0);
    CALL(tlshm_reap(t, NULL), 0);
    CALL(tlshm_get_segment(t, &info), 0);
    if (info.reservations_held != 0)
        return ground_wrong(wrong, "%u holds outlive their deadline", info.reservations_held);
    for (unsigned i = 0; i < KEYS; i++) {
        CALL(tlshm_usage(t, keys[i], 0, &usage), 0);
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            if (usage.held[u] != 0)
                return ground_wrong(wrong, "%s: %llu of unit %u are held when no hold is left", keys[i],
                                    (unsigned long long)usage.held[u], u);
    }
    return ground_sound(t, true, wrong);
}

/* Free and taken places are all that there are. */
static bool say_room(tlshm_t *t, struct sight *sight, struct finding *wrong)
{
    tlshm_segment_info info, full;
    CALL(tlshm_get_segment(t, &info), 0);
    unsigned scopes = room_for_scopes(t), lists = room_for_lists(t);
    unsigned reservations = room_for_reservations(t), seats = room_for_seats();
    say(sight, "room for %u scopes, %u lists, %u reservations, %u seats\n", scopes, lists, reservations, seats);
    CALL(tlshm_get_segment(t, &full), 0); /* a scope that a dead process had begun may have come to life only now */
    if (full.scopes_live != GROUND_SCOPES || full.reservations_held != GROUND_RECORDS ||
        info.reservations_held + reservations != GROUND_RECORDS || info.seats_taken + seats != GROUND_SEATS)
        return ground_wrong(wrong, "places are lost: full with %u scopes, %u holds and %u more, %u seats and %u more",
                            full.scopes_live, info.reservations_held, reservations, info.seats_taken, seats);
    return true;
}

bool ground_audit(tlshm_t *t, struct sight *sight, struct finding *wrong)
{
    CALL(tlshm_reap(t, NULL), 0);
    return ground_sound(t, true, wrong) && see(t, sight, wrong) && say_room(t, sight, wrong) && let_expire(t, wrong);
}
