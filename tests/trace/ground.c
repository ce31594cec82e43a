/* SPDX-License-Identifier: MIT */
/* ground.c - states, and what the others do in them. See ground.h. */
#include "ground.h"

#include "body.h"
#include "space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char ground_path[160], ground_other[160];
tlshm_id ground_id[KNOWNS];
const char *const ground_key = "first";

static struct space space; /* the directory; its attachment is used while a state is made */
static unsigned char *mapped;
static size_t bytes;
static struct image {
    unsigned char *bytes;
    tlshm_id id[KNOWNS];
} images[STARTS];

static tlshm_geometry geometry(void)
{
    return (tlshm_geometry){.scopes = GROUND_SCOPES,
                            .reservations = GROUND_RECORDS,
                            .limits_per_scope = 4,
                            .slices = 8,
                            .seats = GROUND_SEATS,
                            .tiers = GROUND_TIERS,
                            .limit_lists = GROUND_LISTS,
                            .models = 1,
                            .virtual_clock = 1};
}

/* ------------------------------------------------------------------------------------------------------- the file */

static void (*clean_up_space)(void);

static void clean_up(void)
{
    unlink(ground_other);
    clean_up_space();
}

void ground_open(void)
{
    tlshm_geometry g = geometry();
    space_open(&space, &g);
    clean_up_space = support_clean_up;
    support_clean_up = clean_up;
    tlshm_detach(space.t);
    strcpy(ground_path, space.path);
    snprintf(ground_other, sizeof ground_other, "%s/other", space.dir);
    bytes = tlshm_geometry_bytes(&g);
    int fd = open(ground_path, O_RDWR | O_CLOEXEC);
    mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(fd >= 0 && mapped != MAP_FAILED, "%s: %s", ground_path, strerror(errno));
    close(fd);
}

void ground_close(void)
{
    unlink(ground_other);
    munmap(mapped, bytes);
    for (unsigned i = 0; i < STARTS; i++)
        free(images[i].bytes);
    space.t = NULL;
    space_close(&space);
}

const void *ground_bytes(size_t *size)
{
    *size = bytes;
    return mapped;
}

/* ----------------------------------------------------------------------------------------------- processes' numbers */

#define NUMBERS_MOST 1024
#define PID_BITS 22 /* the kernel gives no higher numbers */

static struct watch_field numbers[NUMBERS_MOST];
static size_t number_count;

/* From bit `shift` of what is there, on processors that have the lower bytes first. */
static void add_number(const void *place, unsigned shift)
{
    size_t at = (size_t)((const unsigned char *)place - mapped);
    MUST(number_count < NUMBERS_MOST, "too many fields");
    numbers[number_count++] = (struct watch_field){at / 8, (unsigned)(at % 8 * 8) + shift, PID_BITS};
}

static void add_seat(const struct shm_seat *seat)
{
    add_number(&seat->pid, 0);
    add_number(&seat->tid, 0);
#ifdef __GLIBC__
    add_number(&seat->lock.__data.__lock, 0); /* the kernel's flags are above */
    add_number(&seat->lock.__data.__owner, 0);
#endif
}

static int ascending(const void *a, const void *b)
{
    const struct watch_field *one = a, *other = b;
    return (one->word > other->word) - (one->word < other->word);
}

const struct watch_field *ground_numbers(size_t *count)
{
    struct tl_map map;
    tlshm_geometry g = geometry();
    const char *what = "";
    MUST(tl_layout_geometry(&g, &what) == 0 && tl_layout_place(&map, &g, mapped) == bytes, "geometry: %s", what);
    number_count = 0;
    add_number(&map.header->reaper_pid, 0);
    for (uint32_t i = 0; i < map.seat_count; i++)
        add_seat(&map.seats[i]);
    for (uint32_t i = 0; i < map.body_count; i++)
        add_number(&map.bodies[i].owner, (unsigned)__builtin_ctzll(tl_body_owner(1, 0, 0)));
    qsort(numbers, number_count, sizeof numbers[0], ascending);
    *count = number_count;
    return numbers;
}

void ground_keep(enum start start)
{
    struct image *image = &images[start];
    if (image->bytes == NULL)
        image->bytes = malloc(bytes);
    MUST(image->bytes != NULL, "out of memory");
    memcpy(image->bytes, mapped, bytes);
    memcpy(image->id, ground_id, sizeof ground_id);
}

void ground_restore(enum start start)
{
    memcpy(mapped, images[start].bytes, bytes);
    memcpy(ground_id, images[start].id, sizeof ground_id);
    unlink(ground_other);
}

tlshm_t *ground_attach(void)
{
    return space_attach(&space);
}

/* ---------------------------------------------------------------------------------------------------------- calls */

int ground_reserve(tlshm_t *t, const char *scopes, uint64_t tokens, uint64_t tag, const char *key, tlshm_id *id)
{
    struct ask a;
    ask_for(&a, scopes, NULL);
    a.request.estimate.of[TLSHM_TOKENS] = tokens;
    a.request.estimate.of[TLSHM_COST] = tokens * 3;
    a.request.ttl_ns = HOUR(1);
    a.request.tag = tag;
    a.request.idempotency_key = key;
    a.request.idempotency_len = key ? strlen(key) : 0;
    return tlshm_reserve(t, &a.request, id, NULL);
}

int ground_settle(tlshm_t *t, tlshm_id id, uint64_t tokens)
{
    tlshm_amounts actual = {{tokens, tokens * 2}};
    return tlshm_settle(t, id, &actual, TLSHM_EXACT, NULL);
}

/* --------------------------------------------------------------------------------------------------------- states */

static void know(enum known which, uint64_t tokens, uint64_t ttl_ns, const char *key)
{
    struct ask a;
    ask_for(&a, "agent:a tenant:t", NULL);
    a.request.estimate.of[TLSHM_TOKENS] = tokens;
    a.request.ttl_ns = ttl_ns;
    a.request.tag = which + 1;
    a.request.idempotency_key = key;
    a.request.idempotency_len = key ? strlen(key) : 0;
    MUST(tlshm_reserve(space.t, &a.request, &ground_id[which], NULL) == TLSHM_OK, "a hold to begin with");
}

/* A list of its own, though empty: such a scope is never recycled. */
static void attend(const char *key)
{
    int rc = tlshm_scope_limits_set(space.t, key, 0, NULL, 0);
    MUST(rc == 0, "%s: %s", key, tlshm_error_text(rc));
}

static void make_reservations(bool late)
{
    know(KNOWN_HELD, GROUND_TOKENS, HOUR(1), NULL);
    know(KNOWN_EXPIRED, 80, SEC(10), NULL);
    know(KNOWN_SETTLED, 90, HOUR(1), NULL);
    know(KNOWN_KEYED, 60, HOUR(1), ground_key);
    MUST(ground_settle(space.t, ground_id[KNOWN_SETTLED], 85) == TLSHM_OK, "settle");
    space_at(&space, SEC(20));
    MUST(tlshm_reap(space.t, NULL) == 0, "reap");
    if (late)
        know(KNOWN_OVERDUE, 100000, SEC(30), NULL);
    space_at(&space, SEC(70)); /* buckets have passed, and the overdue hold's deadline */
}

/* Cells for keys that nobody uses, until there is no room for one more; then they are idle for long enough. */
static void crowd(void)
{
    char key[24];
    tlshm_handle handle;
    unsigned made = 0;
    for (int rc = 0; rc == 0; made += rc == 0 ? 1 : 0) {
        snprintf(key, sizeof key, "user:idle%u", made);
        rc = tlshm_resolve(space.t, key, 0, &handle);
    }
    MUST(made > 4, "%u cells were free", made);
    space_at(&space, HOUR(3));
    MUST(tlshm_reap(space.t, NULL) == 0, "reap");
}

void ground_make(enum start start)
{
    struct tlshm_error err;
    tlshm_geometry g = geometry();
    char fresh[sizeof space.path];
    snprintf(fresh, sizeof fresh, "%s", ground_other);
    unlink(fresh);
    MUST(tlshm_create(fresh, &g, &err) == 0, "create: %s", err.text);
    MUST(tlshm_attach(&space.t, fresh, 0, &err) == 0, "attach: %s", err.text);
    memset(ground_id, 0, sizeof ground_id);
    space_at(&space, 0);
    space_limits(&space, "tenant:t", "tokens 1M per 1m/4; cost $50 lifetime; requests 1000 per month; concurrency 40");
    space_limits(&space, "agent:a", "tokens 500k per 1m/4; requests 1000 per 1h/8");
    space_limits(&space, "agent:b", "concurrency 60");
    attend("user:u");
    attend("project:p");
    make_reservations(start == START_LATE);
    if (start == START_CROWDED)
        crowd();
    tlshm_detach(space.t);
    space.t = NULL;
    int fd = open(fresh, O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0 && read(fd, mapped, bytes) == (ssize_t)bytes, "%s: %s", fresh, strerror(errno));
    close(fd);
    unlink(fresh);
    ground_keep(start);
}
