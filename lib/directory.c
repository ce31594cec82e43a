/* SPDX-License-Identifier: MIT */
/* directory.c - search, insertion and removal in the chains. See directory.h. */
#include "directory.h"

#include "hash.h"

enum { LIFE_FREE = 0, LIFE_CLAIMED = 1, LIFE_LIVE = 2 };

#define TRIES_MAX 10000 /* searches made again; more means that the chain says nonsense */
#define DEAD (UINT64_C(1) << 63)
#define LINK_BITS 24
#define LINK_MASK ((UINT64_C(1) << LINK_BITS) - 1)

TL_INLINE uint64_t link_of(uint64_t word)
{
    return word & LINK_MASK;
}

/* `word` with another link: a new version, not dead. */
TL_INLINE uint64_t relink(uint64_t word, uint64_t link)
{
    return ((((word & ~DEAD) >> LINK_BITS) + 1) << LINK_BITS & ~DEAD) | link;
}

TL_INLINE uint64_t live_word(uint64_t incarnation)
{
    return incarnation << 2 | LIFE_LIVE;
}

#define INCARNATION_BITS 40 /* what a handle has of it */

/* Never 0, as in a handle that is none. */
static uint64_t next_incarnation(uint64_t incarnation)
{
    uint64_t next = (incarnation + 1) & tl_ones(INCARNATION_BITS);
    return next ? next : 1;
}

/* They come round: the half that is ahead of one is newer. */
static bool is_newer(uint64_t incarnation, uint64_t than)
{
    uint64_t ahead = (incarnation - than) & tl_ones(INCARNATION_BITS);
    return ahead != 0 && ahead >> (INCARNATION_BITS - 1) == 0;
}

/* Free for the incarnation to come: no two times of being free are the same word, unless nobody had it in between. */
TL_INLINE uint64_t free_word(uint64_t incarnation)
{
    return incarnation << 2 | LIFE_FREE;
}

#define EPOCH_BITS 26
#define CLAIM_INCARNATION 40

/* `incarnation` is the one that the cell will have: no two claims of a cell are the same word. */
TL_INLINE uint64_t claim_word(const struct tl_hand *hand, uint64_t incarnation)
{
    uint64_t epoch = tl_load_relaxed(&hand->seat->epoch) & tl_ones(EPOCH_BITS);
    return incarnation << CLAIM_INCARNATION | epoch << 14 | (uint64_t)hand->seat_index << 2 | LIFE_CLAIMED;
}

static bool claim_stale(const struct tl_map *map, uint64_t life)
{
    uint32_t seat = (uint32_t)(life >> 2) & 0xfff;
    uint64_t epoch = life >> 14 & tl_ones(EPOCH_BITS);
    return seat >= map->seat_count || (tl_load(&map->seats[seat].epoch) & tl_ones(EPOCH_BITS)) != epoch;
}

/* ------------------------------------------------------------------------------------------------------- keys */

static void write_key(const struct tl_map *map, uint32_t cell, const void *key, size_t len)
{
    alignas(16) uint64_t word[SHM_KEY_WORDS] = {0};
    ((unsigned char *)word)[0] = (unsigned char)len;
    memcpy((unsigned char *)word + 1, key, len);
    tl_words_out(map->keys[cell].word, word, SHM_KEY_WORDS);
}

static size_t read_key(const struct tl_map *map, uint32_t cell, uint64_t *word)
{
    tl_copy_in(word, map->keys[cell].word, SHM_KEY_WORDS);
    return ((unsigned char *)word)[0];
}

static bool key_equals(const struct tl_map *map, uint32_t cell, const void *key, size_t len)
{
    alignas(16) uint64_t word[SHM_KEY_WORDS];
    return read_key(map, cell, word) == len && memcmp((unsigned char *)word + 1, key, len) == 0;
}

/* ------------------------------------------------------------------------------------------------------ search */

/* What a search wants: a key, or a given cell (then `key` is NULL). */
struct wanted {
    const void *key;
    size_t len;
    uint64_t hash;
    uint32_t cell;
};

static bool is_wanted(const struct tl_map *map, const struct wanted *w, uint32_t cell)
{
    if (!w->key)
        return cell == w->cell;
    return tl_load(&map->cells[cell].hash) == w->hash && key_equals(map, cell, w->key, w->len);
}

/*
 * Walks the chain of `w->hash`. Returns 1 and `found`, 0 if it is not there (then `first` is the bucket word that the
 * search started from), or -TLSHM_ECORRUPT. Dead cells are taken out on the way, by who may write.
 */
static int search(struct tl_hand *hand, const struct wanted *w, uint64_t *first, uint32_t *found)
{
    const struct tl_map *map = hand->map;
    uint64_t steps = 0, starts = 0;
restart:
    if (starts++ > TRIES_MAX + (uint64_t)map->scope_end)
        return -TLSHM_ECORRUPT; /* a dead cell that leads back to itself could be taken out for ever */
    steps = 0;
    tl_word *link = &map->buckets[w->hash & map->bucket_mask];
    uint64_t word = *first = tl_load(link);
    while (link_of(word)) {
        if (link_of(word) > map->scope_end || steps++ > map->scope_end)
            return -TLSHM_ECORRUPT;
        uint32_t cell = (uint32_t)link_of(word) - 1;
        uint64_t next = tl_load(&map->cells[cell].next);
        if (tl_load(link) != word)
            goto restart;
        if (next & DEAD && hand->seat) {
            tl_cas(link, word, relink(word, link_of(next)));
            goto restart;
        }
        bool match = !(next & DEAD) && is_wanted(map, w, cell);
        tl_fence_acquire();
        if (tl_load(link) != word)
            goto restart; /* D2 */
        if (match) {
            *found = cell;
            return 1;
        }
        link = &map->cells[cell].next;
        word = next; /* read-only: a dead cell is passed over */
    }
    return 0;
}

static uint64_t incarnation_of(struct tl_hand *hand, uint32_t cell)
{
    struct tl_view view;
    return tl_txn_snapshot(hand, cell, &view) == 0 ? tl_view_incarnation(&view) : 0;
}

/* Out of the chain, then free. `life` is the live word of the retired incarnation. Anybody may do it, twice. */
static void bury(struct tl_hand *hand, uint32_t cell, uint64_t life)
{
    struct shm_cell *c = &hand->map->cells[cell];
    struct wanted w = {.key = NULL, .hash = tl_load(&c->hash), .cell = cell};
    uint64_t first, next = tl_load(&c->next);
    uint32_t found;
    while (!(next & DEAD) && tl_load(&c->life) == life) {
        tl_cas(&c->next, next, next | DEAD);
        next = tl_load(&c->next);
    }
    if (search(hand, &w, &first, &found) == 0)
        tl_cas(&c->life, life, free_word(next_incarnation(life >> 2)));
}

/* Is the cell linked under this key? */
static bool is_linked(struct tl_hand *hand, uint32_t cell, const struct wanted *w)
{
    uint64_t first;
    uint32_t found;
    return search(hand, w, &first, &found) == 1 && found == cell;
}

/* The handle of a cell found in a chain; 0 if it is retired (and then it is buried). */
static uint64_t handle_of(struct tl_hand *hand, uint32_t cell, const struct wanted *w)
{
    struct shm_cell *c = &hand->map->cells[cell];
    uint64_t incarnation = incarnation_of(hand, cell), life = tl_load(&c->life);
    if ((life & 3) == LIFE_CLAIMED) { /* linked by somebody who has not said so yet */
        if (life >> CLAIM_INCARNATION != (incarnation & tl_ones(64 - CLAIM_INCARNATION)) || !is_linked(hand, cell, w))
            return 0; /* of another claim than the sheet: look again */
        if (hand->seat ? !tl_cas(&c->life, life, live_word(incarnation)) : tl_load(&c->life) != life)
            return 0;
        return tl_handle(cell, incarnation);
    }
    if (life == live_word(incarnation))
        return tl_handle(cell, incarnation);
    if ((life & 3) == LIFE_LIVE && is_newer(incarnation, life >> 2) && hand->seat)
        bury(hand, cell, life);
    return 0;
}

/* The cell may have been given to another key between the search and now: is it still this key's, in this incarnation? */
static bool still_has(struct tl_hand *hand, uint64_t handle, const struct wanted *w)
{
    uint32_t cell = tl_handle_cell(handle);
    const struct shm_cell *c = &hand->map->cells[cell];
    uint64_t life, live = live_word(tl_handle_incarnation(handle));
    bool same = key_equals(hand->map, cell, w->key, w->len);
    tl_fence_acquire();
    life = tl_load(&c->life);
    return same && (life == live || ((life & 3) == LIFE_CLAIMED && !hand->seat)); /* a looker cannot make it live */
}

int tl_directory_find(struct tl_hand *hand, const void *key, size_t len, uint64_t *handle)
{
    struct wanted w = {key, len, tl_hash(key, len, tl_load_relaxed(&hand->map->header->hash_seed)), 0};
    uint64_t first;
    uint32_t cell;
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        int rc = search(hand, &w, &first, &cell);
        if (rc <= 0)
            return rc < 0 ? rc : -TLSHM_ENOENT;
        *handle = handle_of(hand, cell, &w);
        if (*handle && still_has(hand, *handle, &w))
            return 0;
        if (!hand->seat)
            return -TLSHM_ENOENT; /* retired: as good as gone */
    }
    return -TLSHM_ECORRUPT;
}

/* ------------------------------------------------------------------------------------------------ claims and retirement */

/* A claim whose seat has moved on: in its chain it is live, else nobody has it. */
static bool take_stale(struct tl_hand *hand, uint32_t cell, uint64_t life)
{
    struct shm_cell *c = &hand->map->cells[cell];
    struct wanted w = {.key = NULL, .hash = tl_load(&c->hash), .cell = cell};
    uint64_t first;
    uint32_t found;
    int rc = search(hand, &w, &first, &found);
    if (rc > 0)
        tl_cas(&c->life, life, live_word(incarnation_of(hand, cell)));
    return rc == 0 && tl_cas(&c->life, life, claim_word(hand, incarnation_of(hand, cell)));
}

/* Gives a claimed cell back that was not linked. */
static void unclaim(struct tl_hand *hand, uint32_t cell)
{
    uint64_t incarnation = incarnation_of(hand, cell);
    tl_cas(&hand->map->cells[cell].life, claim_word(hand, incarnation), free_word(incarnation));
}

static bool try_claim(struct tl_hand *hand, uint32_t cell)
{
    struct shm_cell *c = &hand->map->cells[cell];
    uint64_t life = tl_load(&c->life);
    if ((life & 3) == LIFE_FREE)
        return tl_cas(&c->life, life, claim_word(hand, incarnation_of(hand, cell)));
    return (life & 3) == LIFE_CLAIMED && claim_stale(hand->map, life) && take_stale(hand, cell, life);
}

/* D4, but for the sheet's own part. */
static bool unattended(const struct shm_cell *c)
{
    uint64_t policy = tl_load(&c->policy);
    return ((policy >> 37) & 31) == 0; /* kind default, not paused, not shut off, not pending */
}

static bool is_idle(struct tl_hand *hand, uint32_t cell, const struct tl_view *view, uint64_t now)
{
    if (now < view->time || now - view->time < hand->map->retention_ns)
        return false;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (tl_view_held(view, u))
            return false;
    for (unsigned i = 0; i < view->windows; i++)
        if (tl_history_used(hand->map, cell, view, i, now))
            return false;
    return true;
}

/* May the incarnation that `life` tells of be ended? */
static bool is_retirable(struct tl_hand *hand, uint32_t cell, uint64_t life, const struct tl_view *view, uint64_t now)
{
    if (life != live_word(tl_view_incarnation(view)))
        return true; /* it has been */
    return is_idle(hand, cell, view, now) && tl_txn_current(hand, cell, view);
}

/* Ends the incarnation of an idle cell by an operation on its balance, then takes it out of its chain. */
static bool retire(struct tl_hand *hand, uint32_t cell)
{
    struct shm_cell *c = &hand->map->cells[cell];
    uint64_t life = tl_load(&c->life);
    struct tl_txn txn;
    if ((life & 3) != LIFE_LIVE || tl_txn_snapshot(hand, cell, &txn.view[0]) < 0 || !unattended(c)) /* D5 */
        return false;
    struct tl_view *view = &txn.view[0];
    txn.now = tl_clock_now(&hand->clock);
    txn.offset = tl_clock_wall_offset(&hand->clock);
    if (!is_retirable(hand, cell, life, view, txn.now))
        return false;
    if (life == live_word(tl_view_incarnation(view))) {
        tl_view_set_windows(view, 0);
        view->moved = 0;
        tl_history_set_edge(view);
        txn.cell[0] = cell;
        memset(txn.instead, 0, sizeof txn.instead);
        txn.instead[SHM_DUE] = TL_FOREVER;
        txn.instead[SHM_INCARNATION] = next_incarnation(tl_view_incarnation(view));
        if (tl_txn_commit_cell(hand, &txn) != 1)
            return false;
        tl_count(&hand->seat->counter[SHM_N_RECYCLED]);
    }
    bury(hand, cell, life);
    return true;
}

unsigned tl_directory_recycle(struct tl_hand *hand, unsigned most)
{
    const struct tl_map *map = hand->map;
    uint32_t count = map->scope_end - map->tier_cells, looks = count < TL_DIRECTORY_LOOKS ? count : TL_DIRECTORY_LOOKS;
    uint64_t from = tl_add(&map->header->scope_cursor, looks);
    unsigned retired = 0;
    for (uint32_t i = 0; i < looks && retired < most; i++)
        retired += retire(hand, map->tier_cells + (uint32_t)((from + i) % count));
    return retired;
}

/* A free cell of the kind, claimed by this seat; UINT32_MAX: there is none. */
static uint32_t claim(struct tl_hand *hand, enum tl_directory_kind kind)
{
    const struct tl_map *map = hand->map;
    uint32_t low = kind == TL_KEY_TIER ? 0 : map->tier_cells;
    uint32_t count = (kind == TL_KEY_TIER ? map->tier_cells : map->scope_end) - low;
    for (unsigned turn = 0; turn < 2; turn++) {
        uint64_t from = tl_load_relaxed(&map->header->scope_cursor);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t cell = low + (uint32_t)((from + i) % count);
            if (try_claim(hand, cell)) {
                tl_store_relaxed(&map->header->scope_cursor, from + i + 1);
                return cell;
            }
        }
        if (kind == TL_KEY_TIER)
            break;
        tl_directory_recycle(hand, 64); /* or somebody else has, behind this search */
    }
    return UINT32_MAX;
}

/* ------------------------------------------------------------------------------------------------ is there room? */

/* What try_claim() would say. */
static bool is_claimable(struct tl_hand *hand, uint32_t cell)
{
    struct shm_cell *c = &hand->map->cells[cell];
    uint64_t first, life = tl_load(&c->life);
    uint32_t found;
    struct wanted w = {.key = NULL, .hash = tl_load(&c->hash), .cell = cell};
    if ((life & 3) == LIFE_CLAIMED)
        return claim_stale(hand->map, life) && search(hand, &w, &first, &found) == 0;
    return (life & 3) == LIFE_FREE;
}

/* What retire() would say. */
static bool is_recyclable(struct tl_hand *hand, uint32_t cell)
{
    uint64_t life = tl_load(&hand->map->cells[cell].life);
    struct tl_view view;
    if ((life & 3) != LIFE_LIVE || !unattended(&hand->map->cells[cell]) || tl_txn_snapshot(hand, cell, &view) < 0)
        return false;
    return is_retirable(hand, cell, life, &view, tl_clock_now(&hand->clock));
}

static bool is_kept(uint32_t cell, const struct tl_kept *kept)
{
    for (unsigned i = 0; i < kept->count; i++)
        if (kept->cell[i] == cell)
            return true;
    return false;
}

/* Of so many cells from `from` on, how many could be recycled; no more than `most` are counted. */
static unsigned count_recyclable(struct tl_hand *hand, uint64_t from, uint32_t looks, unsigned most,
                                 const struct tl_kept *kept)
{
    const struct tl_map *map = hand->map;
    unsigned found = 0;
    for (uint32_t i = 0; i < looks && found < most; i++) {
        uint32_t cell = map->tier_cells + (uint32_t)((from + i) % (map->scope_end - map->tier_cells));
        found += !is_kept(cell, kept) && is_recyclable(hand, cell);
    }
    return found;
}

/* As claim() does it: free cells from anywhere; for each that lacks then, a stretch of the table is recycled. */
bool tl_directory_has_room(struct tl_hand *hand, unsigned want, const struct tl_kept *kept)
{
    const struct tl_map *map = hand->map;
    uint32_t count = map->scope_end - map->tier_cells, looks = (uint32_t)tl_min(count, TL_DIRECTORY_LOOKS);
    uint64_t from = tl_load_relaxed(&map->header->scope_cursor);
    for (uint32_t i = 0; want && i < count; i++)
        want -= is_claimable(hand, map->tier_cells + (uint32_t)((from + i) % count));
    for (uint32_t seen = 0; want && seen < count; seen += looks) {
        unsigned found = count_recyclable(hand, from + seen, (uint32_t)tl_min(looks, count - seen), want, kept);
        if (found == 0)
            break;
        want -= found;
    }
    return want == 0;
}

/* ------------------------------------------------------------------------------------------------------- insertion */

/* A commit that leaves the balance of a snapshot as it is. */
static int commit_same(struct tl_hand *hand, uint32_t cell, struct tl_txn *txn)
{
    txn->cell[0] = cell;
    tl_view_balance(&txn->view[0], txn->instead);
    txn->now = tl_clock_now(&hand->clock);
    txn->offset = tl_clock_wall_offset(&hand->clock);
    return tl_txn_commit_cell(hand, txn);
}

/* Making a scope counts as using it: it is not idle before its first call. */
static void touch(struct tl_hand *hand, uint32_t cell)
{
    struct tl_txn txn;
    if (tl_txn_snapshot(hand, cell, &txn.view[0]) == 0)
        commit_same(hand, cell, &txn);
}

static void describe(struct tl_hand *hand, uint32_t cell, const struct wanted *w, uint64_t policy, uint64_t rank)
{
    struct shm_cell *c = &hand->map->cells[cell];
    write_key(hand->map, cell, w->key, w->len);
    tl_store_release(&c->hash, w->hash);
    tl_store_release(&c->rank, rank);
    /* a new version of the policy word: who holds the old one must not take this for it */
    tl_store_release(&c->policy, policy | ((tl_load(&c->policy) >> SHM_POLICY_VERSION) + 1) << SHM_POLICY_VERSION);
}

int tl_directory_make(struct tl_hand *hand, enum tl_directory_kind kind, const void *key, size_t len, uint64_t policy,
                      uint64_t rank, uint64_t *handle, bool *created)
{
    const struct tl_map *map = hand->map;
    struct wanted w = {key, len, tl_hash(key, len, tl_load_relaxed(&map->header->hash_seed)), 0};
    uint32_t mine = UINT32_MAX, cell;
    uint64_t first;
    int rc;
    if (created)
        *created = false;
    for (unsigned tries = 0;; tries++) {
        rc = tries < TRIES_MAX ? 0 : -TLSHM_ECORRUPT;
        if (rc < 0)
            break;
        rc = search(hand, &w, &first, &cell);
        if (rc < 0)
            break;
        if (rc == 1) {
            *handle = handle_of(hand, cell, &w);
            if (*handle == 0 || !still_has(hand, *handle, &w))
                continue;
            rc = 0;
            break;
        }
        if (mine == UINT32_MAX) {
            mine = claim(hand, kind);
            if (mine == UINT32_MAX) {
                rc = -TLSHM_ENOROOM;
                break;
            }
            describe(hand, mine, &w, policy, rank);
            if (kind == TL_KEY_SCOPE)
                touch(hand, mine);
            continue; /* the claim may have taken a while: search again before linking */
        }
        struct shm_cell *c = &map->cells[mine];
        tl_store_release(&c->next, relink(tl_load(&c->next), link_of(first)));
        if (!tl_cas(&map->buckets[w.hash & map->bucket_mask], first, relink(first, mine + 1)))
            continue; /* D1 */
        *handle = handle_of(hand, mine, &w);
        if (created)
            *created = true;
        if (*handle && still_has(hand, *handle, &w))
            return 0;
        mine = UINT32_MAX;
    }
    if (mine != UINT32_MAX)
        unclaim(hand, mine);
    return rc;
}

/* -------------------------------------------------------------------------------------------------- the other way */

uint64_t tl_directory_live(struct tl_hand *hand, uint32_t cell)
{
    uint64_t life = tl_load(&hand->map->cells[cell].life);
    if ((life & 3) != LIFE_LIVE)
        return 0;
    uint64_t incarnation = incarnation_of(hand, cell);
    return life == live_word(incarnation) ? tl_handle(cell, incarnation) : 0;
}

int tl_directory_keep(struct tl_hand *hand, uint64_t handle)
{
    uint32_t cell = tl_handle_cell(handle);
    struct tl_txn txn;
    if (tl_directory_live(hand, cell) != handle)
        return -TLSHM_ESTALE;
    if (!tl_map_is_scope(hand->map, cell))
        return 0; /* tiers and levels stay */
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        int rc = tl_txn_snapshot(hand, cell, &txn.view[0]);
        if (rc == 0 && tl_view_incarnation(&txn.view[0]) != tl_handle_incarnation(handle))
            rc = -TLSHM_ESTALE;
        if (rc == 0)
            rc = commit_same(hand, cell, &txn);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    return -TLSHM_ECONTENDED;
}

int tl_directory_key(struct tl_hand *hand, uint64_t handle, char *buf)
{
    alignas(16) uint64_t word[SHM_KEY_WORDS];
    uint32_t cell = tl_handle_cell(handle);
    if (cell >= hand->map->scope_end)
        return -TLSHM_EINVAL;
    const struct shm_cell *c = &hand->map->cells[cell];
    if (tl_load(&c->life) != live_word(tl_handle_incarnation(handle)))
        return -TLSHM_ESTALE;
    size_t len = read_key(hand->map, cell, word);
    tl_fence_acquire();
    if (tl_load(&c->life) != live_word(tl_handle_incarnation(handle)))
        return -TLSHM_ESTALE;
    memcpy(buf, (unsigned char *)word + 1, len);
    buf[len] = 0;
    return (int)len;
}
