/* SPDX-License-Identifier: MIT */
/* limits.c - reading, publishing and freeing limit lists. See limits.h. */
#include "limits.h"

enum { LIST_FREE = 0, LIST_CLAIMED = 1, LIST_LIVE = 2 };

/* The policy words on the way from a scope to its list, as they were read. */
struct trail {
    const struct tl_map *map;
    bool pending;    /* some of the words are: then `change` counts too */
    uint64_t change; /* as it was when the first of them was met */
    unsigned count;
    const tl_word *word[4]; /* at most: the scope, its tier that is gone, its level, the level's tier */
    uint64_t seen[4];
};

static uint64_t follow(struct trail *trail, const tl_word *word)
{
    uint64_t seen = tl_load(word);
    trail->word[trail->count] = word;
    trail->seen[trail->count++] = seen;
    if (TL_UNLIKELY((seen & TL_POLICY_PENDING) && !trail->pending)) {
        trail->pending = true;
        trail->change = tl_pending_change(trail->map);
    }
    return tl_pending_said(trail->map, word, seen, trail->change);
}

static bool unchanged(const struct trail *trail)
{
    bool same = true;
    tl_fence_acquire();
    for (unsigned i = 0; i < trail->count; i++)
        same &= tl_load(trail->word[i]) == trail->seen[i];
    return same && (!trail->pending || tl_pending_change(trail->map) == trail->change);
}

static int read_list(const struct tl_map *map, uint32_t index, struct tl_limits *out)
{
    if (index >= map->list_count)
        return -TLSHM_ECORRUPT;
    const struct shm_list *list = tl_map_list(map, index);
    unsigned count = (unsigned)tl_min(tl_load_relaxed(&list->count), map->limits);
    for (unsigned i = 0; i < count; i++) {
        out->shape[i] = tl_load_relaxed(&list->limit[i].shape);
        out->cap[i] = tl_load_relaxed(&list->limit[i].cap);
    }
    out->count = count;
    return 0;
}

/* A tier's limits; `gone` tells that it was unset. */
static int read_tier(const struct tl_map *map, struct trail *trail, uint32_t cell, struct tl_limits *out, bool *gone)
{
    out->count = 0;
    if (cell >= map->tier_cells)
        return -TLSHM_ECORRUPT;
    uint64_t policy = follow(trail, &map->cells[cell].policy);
    *gone = tl_policy_kind(policy) == TL_POLICY_GONE;
    out->tier = cell;
    return tl_policy_kind(policy) == TL_POLICY_OWN ? read_list(map, tl_policy_index(policy), out) : 0;
}

static int read_default(const struct tl_map *map, struct trail *trail, uint32_t level, struct tl_limits *out)
{
    bool gone = true;
    out->source = TLSHM_LIMITS_NONE;
    out->count = 0;
    if (level >= map->tier_cells)
        return -TLSHM_ECORRUPT;
    uint64_t policy = follow(trail, &map->cells[level].policy);
    if (tl_policy_kind(policy) != TL_POLICY_TIER)
        return 0;
    int rc = read_tier(map, trail, tl_policy_index(policy), out, &gone);
    out->source = gone ? TLSHM_LIMITS_NONE : TLSHM_LIMITS_DEFAULT;
    return rc;
}

static int read_once(const struct tl_map *map, struct trail *trail, const tl_word *word, struct tl_limits *out)
{
    bool gone = true;
    int rc = 0;
    uint64_t policy = follow(trail, word);
    out->flags = policy & (TL_POLICY_PAUSED | TL_POLICY_SHUTOFF);
    switch (tl_policy_kind(policy)) {
    case TL_POLICY_OWN:
        out->source = TLSHM_LIMITS_OWN;
        return read_list(map, tl_policy_index(policy), out);
    case TL_POLICY_TIER:
        out->source = TLSHM_LIMITS_TIER;
        rc = read_tier(map, trail, tl_policy_index(policy), out, &gone);
        break;
    default:
        break;
    }
    return rc == 0 && gone ? read_default(map, trail, tl_policy_level(policy), out) : rc;
}

static int read_whole(const struct tl_map *map, const tl_word *policy, struct trail *trail, struct tl_limits *out)
{
    for (;;) {
        trail->map = map;
        trail->pending = false;
        trail->change = 0;
        trail->count = 0;
        int rc = read_once(map, trail, policy, out);
        if (TL_LIKELY(unchanged(trail)))
            return rc;
    }
}

int tl_limits_read(const struct tl_map *map, const tl_word *policy, struct tl_limits *out)
{
    struct trail trail;
    return read_whole(map, policy, &trail, out);
}

TL_COLD int tl_limits_refresh(const struct tl_map *map, const tl_word *policy, struct tl_limits_memo *memo)
{
    struct trail trail;
    memo->known = false;
    int rc = read_whole(map, policy, &trail, &memo->limits);
    if (rc < 0)
        return rc;
    bool own = tl_policy_kind(trail.seen[0]) == TL_POLICY_OWN;
    memo->key = own ? trail.seen[0] : trail.seen[0] & tl_ones(TL_POLICY_VERSION);
    memo->known = !trail.pending;
    memo->policy = trail.seen[0];
    memo->words = trail.count - 1;
    for (unsigned i = 0; i < memo->words; i++) {
        memo->word[i] = trail.word[i + 1];
        memo->seen[i] = trail.seen[i + 1];
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------- claim, publish */

#define EPOCH_BITS 26
#define GENERATION (UINT64_C(1) << 40)

/* A state word of the next generation, claimed by this seat. */
static uint64_t claim_word(const struct tl_hand *hand, uint64_t free_word)
{
    uint64_t epoch = tl_load_relaxed(&hand->seat->epoch) & tl_ones(EPOCH_BITS);
    return (free_word & ~(GENERATION - 1)) + GENERATION +
           (epoch << 14 | (uint64_t)hand->seat_index << 2 | LIST_CLAIMED);
}

/* The same list and generation in another state. */
TL_INLINE uint64_t with_state(uint64_t word, unsigned state)
{
    return (word & ~(GENERATION - 1)) | state;
}

/* A free list, claimed; `word` is its state then. UINT32_MAX: there is none. */
static uint32_t claim(struct tl_hand *hand, uint64_t *word)
{
    const struct tl_map *map = hand->map;
    uint64_t from = tl_load_relaxed(&map->header->list_cursor);
    for (uint32_t i = 0; i < map->list_count; i++) {
        uint32_t index = (uint32_t)((from + i) % map->list_count);
        tl_word *state = &tl_map_list(map, index)->state;
        uint64_t seen = tl_load(state);
        *word = claim_word(hand, seen);
        if ((seen & 3) == LIST_FREE && tl_cas(state, seen, *word)) {
            tl_store_relaxed(&map->header->list_cursor, index + 1);
            return index;
        }
    }
    return UINT32_MAX;
}

bool tl_limits_redirect(struct tl_hand *hand, tl_word *policy, uint64_t seen, uint64_t want)
{
    const struct tl_map *map = hand->map;
    bool stays = tl_policy_kind(want) == TL_POLICY_OWN && tl_policy_index(want) == tl_policy_index(seen);
    bool had = tl_policy_kind(seen) == TL_POLICY_OWN && !stays && tl_policy_index(seen) < map->list_count;
    tl_word *state = had ? &tl_map_list(map, tl_policy_index(seen))->state : NULL;
    /* Read while the list is still led to: afterwards it may be somebody else's. */
    uint64_t word = had ? tl_load(state) : 0;
    if (!tl_cas(policy, seen, want))
        return false;
    if (had)
        tl_cas(state, word, with_state(word, LIST_FREE));
    return true;
}

/* Before a policy word leads to the list: whoever follows it is to find the bit. */
static void tell_latches(const struct tl_map *map, const uint64_t *shape, unsigned count)
{
    tl_word *flags = &map->header->flags;
    for (unsigned i = 0; i < count; i++)
        while (tl_shape_latch(shape[i]) != TL_LATCH_NONE && !(tl_load(flags) & SHM_LATCHES)) {
            uint64_t seen = tl_load(flags);
            tl_cas(flags, seen, seen | SHM_LATCHES);
        }
}

int tl_limits_claim(struct tl_hand *hand, const uint64_t *shape, const uint64_t *cap, unsigned count, uint32_t *index,
                    uint64_t *word)
{
    *index = claim(hand, word);
    if (*index == UINT32_MAX && tl_limits_sweep(hand))
        *index = claim(hand, word);
    if (*index == UINT32_MAX)
        return -TLSHM_ENOROOM;
    struct shm_list *list = tl_map_list(hand->map, *index);
    tl_store_relaxed(&list->count, count);
    for (unsigned i = 0; i < count; i++) {
        tl_store_relaxed(&list->limit[i].shape, shape[i]);
        tl_store_relaxed(&list->limit[i].cap, cap[i]);
    }
    tl_fence_release();
    tell_latches(hand->map, shape, count);
    return 0;
}

void tl_limits_end_claim(struct tl_hand *hand, uint32_t index, uint64_t word, bool live)
{
    tl_cas(&tl_map_list(hand->map, index)->state, word, with_state(word, live ? LIST_LIVE : LIST_FREE));
}

int tl_limits_publish(struct tl_hand *hand, tl_word *policy, uint64_t seen, const uint64_t *shape, const uint64_t *cap,
                      unsigned count)
{
    uint64_t word;
    uint32_t index;
    int rc = tl_limits_claim(hand, shape, cap, count, &index, &word);
    if (rc < 0)
        return rc;
    bool done = tl_limits_redirect(hand, policy, seen, tl_policy_change(seen, TL_POLICY_OWN, index));
    tl_limits_end_claim(hand, index, word, done);
    return done;
}

/* --------------------------------------------------------------------------------------------------------- sweep */

static bool is_of(uint64_t policy, uint32_t index)
{
    return tl_policy_kind(policy) == TL_POLICY_OWN && tl_policy_index(policy) == index;
}

/* A pending word leads to two lists: what it was and what it is going to be. */
static bool leads_to(const struct tl_map *map, const tl_word *word, uint32_t index)
{
    for (;;) {
        uint64_t seen = tl_load(word);
        if (is_of(seen, index))
            return true;
        if (!(seen & TL_POLICY_PENDING))
            return false;
        bool next = is_of(tl_peek(tl_pending_next(map, word)), index);
        tl_fence_acquire();
        if (tl_load(word) == seen)
            return next;
    }
}

static bool is_referenced(const struct tl_map *map, uint32_t index)
{
    for (uint32_t cell = 0; cell < map->scope_end; cell++)
        if (leads_to(map, &map->cells[cell].policy, index))
            return true;
    return false;
}

static bool may_be_left_behind(const struct tl_map *map, uint64_t state)
{
    uint32_t seat = (uint32_t)(state >> 2) & 0xfff;
    if ((state & 3) == LIST_LIVE)
        return true;
    if ((state & 3) != LIST_CLAIMED)
        return false;
    uint64_t epoch = state >> 14 & tl_ones(EPOCH_BITS);
    return seat >= map->seat_count || (tl_load(&map->seats[seat].epoch) & tl_ones(EPOCH_BITS)) != epoch;
}

unsigned tl_limits_sweep(struct tl_hand *hand)
{
    const struct tl_map *map = hand->map;
    unsigned freed = 0;
    for (uint32_t i = 0; i < map->list_count; i++) {
        tl_word *state = &tl_map_list(map, i)->state;
        uint64_t seen = tl_load(state);
        if (may_be_left_behind(map, seen) && !is_referenced(map, i) && tl_cas(state, seen, with_state(seen, LIST_FREE)))
            freed++;
    }
    return freed;
}

unsigned tl_limits_lists_used(const struct tl_map *map)
{
    unsigned used = 0;
    for (uint32_t i = 0; i < map->list_count; i++)
        used += (tl_load(&tl_map_list(map, i)->state) & 3) != LIST_FREE;
    return used;
}
