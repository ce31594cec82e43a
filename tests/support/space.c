/* SPDX-License-Identifier: MIT */
/* space.c - segments, clocks and requests for tests. */
#include "space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tlshm_geometry space_geometry(void)
{
    return (tlshm_geometry){.scopes = 256,
                            .reservations = 1024,
                            .seats = 64,
                            .slices = 64,
                            .tiers = 16,
                            .limit_lists = 64,
                            .virtual_clock = 1};
}

tlshm_geometry space_tiny_geometry(void)
{
    return (tlshm_geometry){.scopes = 8,
                            .reservations = 64,
                            .limits_per_scope = 2,
                            .slices = 4,
                            .seats = 4,
                            .tiers = 2,
                            .limit_lists = 4,
                            .virtual_clock = 1};
}

/* The spaces of this process that are open: a test that aborts leaves no segment behind. */
static struct {
    pid_t owner;
    char dir[128], path[160];
} opened[8];
#define OPENED (sizeof opened / sizeof opened[0])

static void opened_remove(void)
{
    for (unsigned i = 0; i < OPENED; i++)
        if (opened[i].owner == getpid()) {
            unlink(opened[i].path);
            rmdir(opened[i].dir);
        }
}

static void opened_add(const struct space *s)
{
    unsigned i = 0;
    support_clean_up = opened_remove;
    while (i < OPENED && opened[i].owner == getpid())
        i++;
    if (i == OPENED)
        return;
    opened[i].owner = getpid();
    strcpy(opened[i].dir, s->dir);
    strcpy(opened[i].path, s->path);
}

static void opened_drop(const struct space *s)
{
    for (unsigned i = 0; i < OPENED; i++)
        if (strcmp(opened[i].dir, s->dir) == 0)
            opened[i].owner = 0;
}

void space_make_dir(struct space *s, const char *under)
{
    if (under == NULL)
        under = getenv("TMPDIR");
    if (under == NULL)
        under = "/dev/shm";
    *s = (struct space){.now = 0};
    snprintf(s->dir, sizeof s->dir, "%s/tlshm-test-XXXXXX", under);
    MUST(mkdtemp(s->dir) != NULL, "mkdtemp %s: %s", s->dir, strerror(errno));
    snprintf(s->path, sizeof s->path, "%.*s/segment", (int)sizeof s->dir, s->dir);
    opened_add(s);
}

void space_open(struct space *s, const tlshm_geometry *geometry)
{
    tlshm_geometry usual = space_geometry();
    struct tlshm_error err;
    if (geometry == NULL)
        geometry = &usual;
    space_make_dir(s, NULL);
    MUST(tlshm_create(s->path, geometry, &err) == 0, "create %s: %s", s->path, err.text);
    s->t = space_attach(s);
    if (geometry->virtual_clock)
        space_at(s, 0);
}

void space_close(struct space *s)
{
    tlshm_detach(s->t);
    s->t = NULL;
    unlink(s->path);
    opened_drop(s);
    MUST(rmdir(s->dir) == 0, "rmdir %s: %s", s->dir, strerror(errno));
}

tlshm_t *space_attach(const struct space *s)
{
    struct tlshm_error err;
    tlshm_t *t = NULL;
    MUST(tlshm_attach(&t, s->path, 0, &err) == 0, "attach %s: %s", s->path, err.text);
    return t;
}

void space_at(struct space *s, uint64_t now)
{
    int rc = tlshm_clock_set(s->t, SPACE_BOOT_NS + now, SPACE_WALL_NS + now);
    MUST(rc == 0, "clock: %s", tlshm_error_text(rc));
    s->now = now;
}

bool refusal_same(const tlshm_refusal *a, const tlshm_refusal *b)
{
    char limit[2][160] = {"", ""};
    tlshm_limit_format(&a->limit, limit[0], sizeof limit[0]);
    tlshm_limit_format(&b->limit, limit[1], sizeof limit[1]);
    return a->reason == b->reason && a->scope == b->scope && strcmp(a->key, b->key) == 0 &&
           strcmp(limit[0], limit[1]) == 0 && a->requested == b->requested && a->used == b->used &&
           a->held == b->held && a->remaining == b->remaining && a->retry_after_ns == b->retry_after_ns;
}

tlshm_limit limit_of(const char *text)
{
    struct tlshm_error err;
    tlshm_limit limit;
    MUST(tlshm_limit_parse(text, &limit, &err) == 0, "limit \"%s\": %s", text, err.text);
    return limit;
}

void space_limits(const struct space *s, const char *key, const char *limits)
{
    char text[1024], *rest = text;
    tlshm_limit list[TLSHM_LIMITS_MAX];
    unsigned count = 0;
    MUST(strlen(limits) < sizeof text, "limits too long");
    strcpy(text, limits);
    for (char *one; (one = strsep(&rest, ";")) != NULL;)
        list[count++] = limit_of(one + strspn(one, " "));
    int rc = tlshm_scope_limits_set(s->t, key, 0, list, count);
    MUST(rc == 0, "limits of %s: %s", key, tlshm_error_text(rc));
}

int64_t space_remaining(const struct space *s, const char *key, enum tlshm_unit unit)
{
    int64_t left = 0;
    int rc = tlshm_remaining(s->t, key, 0, unit, &left);
    MUST(rc == 0, "remaining of %s: %s", key, tlshm_error_text(rc));
    return left;
}

tlshm_scope_usage space_usage(const struct space *s, const char *key)
{
    tlshm_scope_usage usage;
    int rc = tlshm_usage(s->t, key, 0, &usage);
    MUST(rc == 0, "usage of %s: %s", key, tlshm_error_text(rc));
    return usage;
}

static int unit_of(const char *name, size_t len)
{
    for (int u = 0; u < TLSHM_UNITS; u++)
        if (strlen(tlshm_unit_name(u)) == len && memcmp(tlshm_unit_name(u), name, len) == 0)
            return u;
    support_failed(__FILE__, __LINE__, "no unit %.*s", (int)len, name);
}

tlshm_amounts amounts_of(const char *text)
{
    tlshm_amounts a = {{0}};
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "=");
        int unit = unit_of(text, len);
        char *end = NULL;
        a.of[unit] = strtoull(text + len + 1, &end, 10);
        text = end + strspn(end, " ");
    }
    return a;
}

const tlshm_request *ask_for(struct ask *a, const char *scopes, const char *amounts)
{
    char *rest = a->text;
    MUST(strlen(scopes) < sizeof a->text, "scopes too long");
    strcpy(a->text, scopes);
    a->request = (tlshm_request)TLSHM_REQUEST_INIT;
    for (char *key; (key = strsep(&rest, " ")) != NULL;)
        a->scopes[a->request.scope_count++] = (tlshm_scope){.key = key};
    a->request.scopes = a->scopes;
    a->request.estimate = amounts_of(amounts);
    return &a->request;
}
