/* SPDX-License-Identifier: MIT */
/* confmake.c - from changes to policy words that turn at once. See confmake.h. */
#include "confmake.h"

#include <stdlib.h>

#include "change.h"
#include "directory.h"
#include "lists.h"
#include "scopes.h"

#define TRIES 16 /* each is made anew because somebody else changed limits meanwhile */

/* The words that are to turn, and the scopes that they are of: 0 for none. */
struct making {
    struct tlshm *t;
    struct tl_hand *hand;
    struct tl_turn *turns;
    uint64_t *handle;
    size_t count, room;
};

static int make_room(struct making *m)
{
    size_t room = m->room ? 2 * m->room : 64;
    if (m->count < m->room)
        return 0;
    struct tl_turn *turns = realloc(m->turns, room * sizeof *turns);
    if (turns)
        m->turns = turns;
    uint64_t *handle = turns ? realloc(m->handle, room * sizeof *handle) : NULL;
    if (!handle)
        return -TLSHM_ENOMEM;
    m->handle = handle;
    m->room = room;
    return 0;
}

static int add_turn(struct making *m, tl_word *word, uint64_t handle, enum tl_policy_kind kind, uint32_t index)
{
    int rc = make_room(m);
    if (rc < 0)
        return rc;
    m->handle[m->count] = handle;
    m->turns[m->count++] = (struct tl_turn){.word = word, .kind = kind, .index = index};
    return 0;
}

static tl_word *policy_of(const struct making *m, uint32_t cell)
{
    return &m->hand->map->cells[cell].policy;
}

static int add_list(struct making *m, tl_word *word, uint64_t handle, const tlshm_config_limits *limits)
{
    struct tl_list list;
    int rc = tl_lists_pack(m->hand, limits->limit, limits->count, &list);
    if (rc == 0)
        rc = make_room(m); /* before the claim: nothing is to fail between that and its turn */
    if (rc < 0)
        return rc;
    struct tl_turn turn = {.word = word, .kind = TL_POLICY_OWN};
    rc = tl_limits_claim(m->hand, list.shape, list.cap, list.count, &turn.index, &turn.list);
    if (rc < 0)
        return rc;
    m->handle[m->count] = handle;
    m->turns[m->count++] = turn;
    return 0;
}

/* To a tier, or for NULL to what the level says; of a level: to none. */
static int add_tier(struct making *m, tl_word *word, uint64_t handle, const char *tier)
{
    uint32_t cell = 0;
    int rc = tier ? tl_scopes_internal(m->hand, "tier", tier, &cell) : 0;
    return rc < 0 ? rc : add_turn(m, word, handle, tier ? TL_POLICY_TIER : TL_POLICY_DEFAULT, cell);
}

/* -------------------------------------------------------------------------------------------------- one change's turns */

static int prepare_tier(struct making *m, const struct tl_change *c)
{
    uint32_t cell;
    int rc = c->want.there ? tl_scopes_make_internal(m->hand, "tier", c->name, 0, &cell)
                           : tl_scopes_internal(m->hand, "tier", c->name, &cell);
    if (!c->want.there && rc == -TLSHM_ENOENT)
        return 0;
    if (rc < 0)
        return rc;
    return c->want.there ? add_list(m, policy_of(m, cell), 0, c->want.limits)
                         : add_turn(m, policy_of(m, cell), 0, TL_POLICY_GONE, 0);
}

static int prepare_level(struct making *m, const struct tl_change *c)
{
    uint32_t cell;
    int rc = c->now.there ? tl_scopes_internal(m->hand, "level", c->name, &cell)
                          : tl_scopes_make_internal(m->hand, "level", c->name, c->want.rank, &cell);
    return rc < 0 ? rc : add_tier(m, policy_of(m, cell), 0, c->want.tier);
}

static int prepare_scope(struct making *m, const struct tl_change *c)
{
    uint64_t handle;
    int rc = tl_scopes_resolve_anew(m->t, m->hand, c->name, 0, &handle);
    if (rc == -TLSHM_ELEVEL)
        rc = tl_scopes_make_early(m->hand, c->name, &handle); /* its level is about to be there */
    if (rc < 0)
        return rc;
    tl_word *word = policy_of(m, tl_handle_cell(handle));
    if (!c->want.there || c->want.tier)
        return add_tier(m, word, handle, c->want.tier);
    return add_list(m, word, handle, c->want.limits);
}

static int prepare(struct making *m, const struct tl_change *c)
{
    switch (c->part) {
    case TLSHM_CONFIG_PART_OVERRUN:
        return add_turn(m, &m->hand->map->header->overrun, 0, TL_POLICY_DEFAULT, (uint32_t)c->value);
    case TLSHM_CONFIG_PART_TIER:
        return prepare_tier(m, c);
    case TLSHM_CONFIG_PART_LEVEL:
        return prepare_level(m, c);
    case TLSHM_CONFIG_PART_SCOPE:
        return prepare_scope(m, c);
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------------------------------------------------ the whole */

static bool turns_already(const struct making *m, const tl_word *word)
{
    bool found = false;
    for (size_t i = 0; !found && i < m->count; i++)
        found = m->turns[i].word == word;
    return found;
}

/* Does a tier come back that a word still leads to, which has shown nothing of it? */
static bool comes_back(const struct making *m, uint64_t policy)
{
    uint32_t tier = tl_policy_index(policy);
    if (tl_policy_kind(policy) != TL_POLICY_TIER || tier >= m->hand->map->tier_cells)
        return false;
    return tl_scopes_internal_gone(m->hand, tier) && turns_already(m, policy_of(m, tier));
}

/* What a tier was taken from when it was unset must not have it again when it is defined anew. */
static int let_go_of_gone(struct making *m)
{
    int rc = 0;
    for (uint32_t cell = 0; rc == 0 && cell < m->hand->map->scope_end; cell++) {
        tl_word *word = policy_of(m, cell);
        uint64_t policy = tl_pending_read(m->hand->map, word);
        if (comes_back(m, policy) && !turns_already(m, word))
            rc = add_turn(m, word, 0, TL_POLICY_DEFAULT, 0);
    }
    return rc;
}

/* In the list's order: tiers are made before what leads to them. */
static int prepare_all(struct making *m, const struct tl_changes *changes, const struct tl_change **failed)
{
    int rc = 0;
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->list[i].fixed)
            continue;
        rc = prepare(m, &changes->list[i]);
        if (rc < 0) {
            *failed = &changes->list[i];
            return rc;
        }
    }
    return let_go_of_gone(m);
}

/* No scope was given to another key. With its word pending it is attended, and stays once it is kept. */
static bool still_there(struct tl_hand *hand, const void *context)
{
    const struct making *m = context;
    bool there = true;
    for (size_t i = 0; there && i < m->count; i++)
        there = !m->handle[i] || tl_directory_keep(hand, m->handle[i]) == 0;
    return there;
}

static void give_lists_back(const struct making *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->turns[i].kind == TL_POLICY_OWN)
            tl_limits_end_claim(m->hand, m->turns[i].index, m->turns[i].list, false);
}

static int try_once(struct making *m, const struct tl_changes *changes, const struct tl_change **failed)
{
    m->count = 0;
    int rc = prepare_all(m, changes, failed);
    if (rc == 0)
        return tl_change_make(m->hand, m->turns, m->count, still_there, m);
    give_lists_back(m);
    return rc;
}

int tl_confmake(struct tlshm *t, const struct tl_changes *changes, const struct tl_change **failed)
{
    struct tl_thread *thread;
    struct making m = {.t = t};
    *failed = NULL;
    int rc = tl_segment_enter(t, &thread);
    if (rc < 0)
        return rc;
    m.hand = &thread->hand;
    rc = 0;
    for (unsigned tries = 0; rc == 0 && tries < TRIES; tries++)
        rc = try_once(&m, changes, failed);
    tl_segment_leave(thread);
    free(m.turns);
    free(m.handle);
    if (rc == 0)
        rc = -TLSHM_ECONTENDED;
    return tl_segment_answer(t, rc < 0 ? rc : 0);
}
