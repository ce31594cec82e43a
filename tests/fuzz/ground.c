/* SPDX-License-Identifier: MIT */
/* ground.c - states of the segment, hooks, damage. See ground.h. */
#include "ground.h"
#include "space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tlshm/model.h>
#include <tlshm/stats.h>
#include <unistd.h>

#define STEPS_MAX 100000000u /* 65536 lost races of the largest operation are less */
#define MOMENTS 12           /* of each call, before so many of its compare-and-swaps */
#define STATES_MAX 128

const char *const ground_keys[GROUND_KEYS] = {"agent:a", "agent:b", "tenant:t", "user:u",
                                              "global:", "agent:c", "org:new",  "nosuch:x"};

static struct space space;
static struct tl_map map; /* a mapping of our own, that no attachment knows of */
static unsigned char *state[STATES_MAX];
static unsigned states;

/* ------------------------------------------------------------------------------------------------------------- hooks */

static struct {
    const char *call;
    uint64_t steps;     /* accesses since the call began */
    unsigned moments;   /* copies still to be taken, one before each compare-and-swap */
    uint64_t damage_at; /* a word is to be changed at this access; 0: none */
    tl_word *word;
    uint64_t value;
} hook;

static void keep_state(bool dead);
static bool is_ours(const tl_word *word);

void tl_hook(enum tl_access access, const volatile void *address)
{
    (void)address;
    hook.steps++;
    if (access == TL_SWAP && hook.moments > 0) {
        hook.moments--;
        keep_state(true);
        keep_state(false);
    }
    if (hook.steps == hook.damage_at && !is_ours(hook.word))
        atomic_store_explicit(hook.word, hook.value, memory_order_relaxed);
    MUST(hook.steps < STEPS_MAX, "%s does not end", hook.call);
}

void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done)
{
    (void)address;
    (void)expected;
    (void)desired;
    (void)done;
}

void ground_begin_call(const char *name)
{
    hook.call = name;
    hook.damage_at -= hook.damage_at > hook.steps ? hook.steps : hook.damage_at;
    hook.steps = 0;
}

/* ------------------------------------------------------------------------------------------------------------ states */

/* Whoever is in a call is dead, or alive and stopped. */
static void keep_state(bool dead)
{
    if (states == STATES_MAX)
        return;
    unsigned char *copy = malloc(map.bytes);
    MUST(copy != NULL, "no memory");
    memcpy(copy, map.header, map.bytes);
    for (uint32_t s = 0; s < map.seat_count; s++) {
        unsigned char *lock = copy + ((unsigned char *)&map.seats[s].lock - (unsigned char *)map.header);
        uint32_t word;
        memcpy(&word, lock, sizeof word);
        word = word == 0 ? 0 : dead ? UINT32_C(0x40000000) | word : 1;
        memcpy(lock, &word, sizeof word);
    }
    state[states++] = copy;
}

static tlshm_id hold(const char *scopes, const char *amounts, const char *key, uint64_t ttl_ns)
{
    struct ask a;
    tlshm_id id = 0;
    ask_for(&a, scopes, amounts);
    a.request.idempotency_key = key;
    a.request.idempotency_len = key != NULL ? strlen(key) : 0;
    a.request.ttl_ns = ttl_ns;
    MUST(tlshm_reserve(space.t, &a.request, &id, NULL) == TLSHM_OK, "reserve %s", scopes);
    return id;
}

static void use(tlshm_id id, const char *amounts)
{
    tlshm_amounts actual = amounts_of(amounts);
    MUST(tlshm_settle(space.t, id, &actual, TLSHM_EXACT, NULL) == TLSHM_OK, "settle");
}

/* A model with calls enough for a bound, and a hold of it. */
static void learn(void)
{
    struct ask a;
    tlshm_id id = 0;
    const tlshm_model_call call = {.model = "known", .max_output = 10, .counts = {.input_total = 1}};
    const tlshm_model_usage usage = {.counts = {.input_total = 1, .output_total = 9}};
    ask_for(&a, "agent:b", NULL);
    for (unsigned i = 0; i < 20; i++) {
        MUST(tlshm_model_reserve(space.t, &a.request, &call, NULL, NULL, &id, NULL, NULL) == TLSHM_OK, "reserve");
        if (i < 19)
            MUST(tlshm_model_settle(space.t, id, &usage, TLSHM_EXACT, NULL, NULL, NULL) == TLSHM_OK, "settle");
    }
}

static void lead_a_life(void)
{
    tlshm_limit tier = limit_of("tokens 10000 per 1m/4");
    MUST(tlshm_tier_set(space.t, "pro", &tier, 1) == 0 && tlshm_default_set(space.t, "agent", "pro") == 0, "tier");
    MUST(tlshm_tier_set(space.t, "none", NULL, 0) == 0 && tlshm_level_add(space.t, "team", 3) == 0, "tier");
    space_limits(&space, "agent:a", "tokens 5000 per 1m/4 strict; concurrency 5");
    space_limits(&space, "tenant:t", "cost $1 per day; tokens 100000 per 1h/3");
    space_limits(&space, "global:", "requests 1000 lifetime; tokens 1M per month");
    MUST(tlshm_scope_tier_set(space.t, "user:u", 0, "pro") == 0, "tier of a scope");
    use(hold("agent:a tenant:t global:", "tokens=100 cost=50", "first", SEC(300)), "tokens=120 cost=60");
    hold("agent:a tenant:t", "tokens=10 cost=5", "second", SEC(30));
    space_at(&space, SEC(70));
    MUST(tlshm_refund(space.t, hold("agent:b user:u", "tokens=7", NULL, SEC(60)), NULL) == TLSHM_OK, "refund");
    MUST(tlshm_reap(space.t, NULL) == 0, "reap");
    hold("agent:b tenant:t global: user:u", "tokens=3 cost=2", NULL, SEC(600));
    hold("agent:a tenant:t", "tokens=10 cost=5", "third", SEC(5));
    MUST(tlshm_scope_pause(space.t, "user:u", 0, 1) == 0, "pause");
    learn();
    space_at(&space, SEC(80));
}

/* Calls whose middle is worth a state, each from rest. */
static void middle_reserve(void)
{
    hold("agent:a tenant:t global:", "tokens=20 cost=10", "fourth", SEC(60));
}

static void middle_settle(void)
{
    tlshm_reservation_info info;
    uint64_t cursor = 0;
    while (tlshm_reservation_next(space.t, &cursor, &info) == 1)
        if (info.status == TLSHM_HELD)
            use(info.id, "tokens=5 cost=5");
}

static void middle_reap(void)
{
    MUST(tlshm_reap(space.t, NULL) == 0, "reap");
}

static void middle_scope(void)
{
    hold("org:middle agent:a", "tokens=1", NULL, SEC(60));
}

static void middle_limits(void)
{
    space_limits(&space, "agent:a", "tokens 6000 per 1m/4; tool_calls 5 per 1h/2");
}

static void middle_model(void)
{
    struct ask a;
    tlshm_id id = 0;
    const tlshm_model_call call = {.model = "new", .counts = {.input_total = 1}};
    const tlshm_model_usage usage = {.counts = {.input_total = 1, .output_total = 9}};
    ask_for(&a, "agent:b", NULL);
    MUST(tlshm_model_reserve(space.t, &a.request, &call, NULL, NULL, &id, NULL, NULL) == TLSHM_OK, "reserve");
    MUST(tlshm_model_settle(space.t, id, &usage, TLSHM_EXACT, NULL, NULL, NULL) == TLSHM_OK, "settle");
}

static void attach(void)
{
    space.t = space_attach(&space);
}

static void rest(void)
{
    tlshm_detach(space.t);
    space.t = NULL;
}

static void play(void (*call)(void))
{
    memcpy(map.header, state[0], map.bytes);
    attach();
    hook.moments = MOMENTS;
    call();
    hook.moments = 0;
    rest();
}

/* How many states have an operation that is open: without them nobody would ever help. */
static unsigned open_states(void)
{
    unsigned open = 0;
    for (unsigned i = 0; i < states; i++)
        for (uint32_t s = 0; s < map.seat_count; s++) {
            uint64_t cur;
            memcpy(&cur, state[i] + ((unsigned char *)&map.seats[s].cur - (unsigned char *)map.header), sizeof cur);
            open += cur & 1;
        }
    return open;
}

static void make_states(void)
{
    static void (*const calls[])(void) = {middle_reserve, middle_settle, middle_reap,
                                          middle_scope,   middle_limits, middle_model};
    keep_state(false);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        play(calls[i]);
    MUST(open_states() * 4 > states, "only %u of %u states are in the middle of an operation", open_states(), states);
}

static void clean_up(void)
{
    unlink(space.path);
    rmdir(space.dir);
}

static void make_ground(void)
{
    const tlshm_geometry g = {.scopes = 7,
                              .reservations = 64,
                              .limits_per_scope = 3,
                              .slices = 4,
                              .seats = 3,
                              .tiers = 3,
                              .limit_lists = 6,
                              .models = 3,
                              .virtual_clock = 1};
    struct tlshm_error err;
    tlshm_geometry checked = g;
    const char *what;
    space_make_dir(&space, NULL);
    atexit(clean_up);
    MUST(tlshm_create(space.path, &g, &err) == 0, "create: %s", err.text);
    MUST(tl_layout_geometry(&checked, &what) == 0, "geometry: %s", what);
    int fd = open(space.path, O_RDWR);
    uint64_t bytes = tl_layout_place(&map, &checked, NULL);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(fd >= 0 && base != MAP_FAILED, "map: %s", strerror(errno));
    close(fd);
    tl_layout_place(&map, &checked, base);
    attach();
    space_at(&space, 0);
    lead_a_life();
    rest();
    make_states();
}

void ground_reset(unsigned number)
{
    if (states == 0)
        make_ground();
    hook.damage_at = 0;
    memcpy(map.header, state[number % states], map.bytes);
}

const char *ground_path(void)
{
    return space.path;
}

/* ------------------------------------------------------------------------------------------------------------ damage */

/* Is the word of the mutex of a seat that this thread has? */
static bool is_ours(const tl_word *word)
{
    size_t at = (size_t)((const unsigned char *)word - (const unsigned char *)map.header);
    for (const struct tl_thread *thread = tl_segment_threads; thread != NULL; thread = thread->next) {
        size_t lock =
            (size_t)((const unsigned char *)&thread->hand.seat->lock - (const unsigned char *)thread->t->map.header);
        if (at >= lock && at < lock + sizeof thread->hand.seat->lock)
            return true;
    }
    return false;
}

/* Where there is something to damage: entries of so many bytes. */
static void *section(unsigned number, size_t *stride, size_t *count)
{
    switch (number) {
    case 0:
        return *stride = sizeof(struct shm_header), *count = 1, map.header;
    case 1:
        return *stride = sizeof(struct shm_zone), *count = SHM_ZONES_MAX, map.zones;
    case 2:
        return *stride = map.list_bytes, *count = map.list_count, map.lists;
    case 3:
        return *stride = sizeof *map.buckets, *count = (size_t)map.bucket_mask + 1, map.buckets;
    case 4:
        return *stride = sizeof *map.cells, *count = map.cell_count, map.cells;
    case 5:
        return *stride = sizeof *map.keys, *count = map.scope_end, map.keys;
    case 6:
        return *stride = sizeof *map.seats, *count = map.seat_count, map.seats;
    case 7:
        return *stride = map.sheet_bytes, *count = map.sheet_count, map.sheets;
    case 8:
        return *stride = sizeof *map.bodies, *count = map.body_count, map.bodies;
    case 9:
        return *stride = sizeof *map.records, *count = map.record_count, map.records;
    case 11:
        return *stride = sizeof *map.models, *count = map.model_count, map.models;
    default:
        *stride = sizeof *map.history;
        *count = (size_t)(map.scope_end - map.tier_cells) * map.limits * map.ring_words;
        return map.history;
    }
}

/* Cells, seats, sheets and heads come up more often than the rest: what is followed is there. */
static tl_word *pick_word(struct bytes *b)
{
    static const unsigned char often[] = {0, 1, 2, 3, 4, 4, 4, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 11, 11};
    size_t stride, count;
    unsigned char *base = section(often[bytes_below(b, sizeof often)], &stride, &count);
    size_t entry = bytes_8(b) % count, word = (stride > 2048 ? bytes_16(b) : bytes_8(b)) % (stride / 8);
    return (tl_word *)(void *)(base + entry * stride + word * 8);
}

/* An index that is just in or just out of one of the ranges. */
static uint64_t near_an_end(struct bytes *b)
{
    const uint32_t ends[] = {map.sheet_count, map.body_count,   map.cell_count,   map.scope_end,
                             map.tier_cells,  map.record_count, map.reservations, map.list_count};
    return ends[bytes_below(b, sizeof ends / sizeof ends[0])] - 1 + bytes_below(b, 3);
}

static uint64_t damaged(struct bytes *b, uint64_t was)
{
    switch (bytes_below(b, 12)) {
    case 0:
        return bytes_take(b, 8);
    case 1:
        return bytes_8(b);
    case 2:
        return ~UINT64_C(0) >> bytes_below(b, 64);
    case 3:
        return was ^ UINT64_C(1) << bytes_below(b, 64);
    case 4:
        return was + (uint64_t)(int64_t)(int8_t)bytes_8(b);
    case 5:
        return atomic_load_explicit(pick_word(b), memory_order_relaxed);
    case 6:
        return (was & ~SHM_NODE_MASK) | near_an_end(b);
    case 7:
        return (was & ~SHM_NODE_MASK) | bytes_16(b);
    case 8:
        return (was & ~UINT64_C(3)) | bytes_below(b, 4);
    case 9:
        return (was & UINT32_MAX) | near_an_end(b) << 32;
    case 10:
        return (was & ~tl_ones(60)) ^ (uint64_t)bytes_below(b, 16) << 60 ^ (was & tl_ones(60));
    default:
        return (was & SHM_NODE_MASK) | bytes_take(b, 5) << SHM_NODE_BITS;
    }
}

void ground_damage(struct bytes *b)
{
    tl_word *word = pick_word(b);
    uint64_t value = damaged(b, atomic_load_explicit(word, memory_order_relaxed));
    if (!is_ours(word))
        atomic_store_explicit(word, value, memory_order_relaxed);
}

void ground_damage_later(struct bytes *b, unsigned accesses)
{
    hook.word = pick_word(b);
    hook.value = damaged(b, atomic_load_explicit(hook.word, memory_order_relaxed));
    hook.damage_at = hook.steps + 1 + accesses;
}

void ground_reseal(void)
{
    tl_store_relaxed(&map.header->magic, SHM_MAGIC);
    tl_store_relaxed(&map.header->version, SHM_VERSION);
    tl_store_relaxed(&map.header->fingerprint, tl_layout_fingerprint());
    tl_store_relaxed(&map.header->virtual_clock, 1);
    tl_store_relaxed(&map.header->checksum, tl_layout_checksum(map.header));
}
