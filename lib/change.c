/* SPDX-License-Identifier: MIT */
/* change.c - opening, installing, deciding and clearing changes of many policy words. See change.h. */
#include "change.h"

#include "seat.h"

#define EPOCH_BITS 26
#define NUMBER 40 /* the lowest bit of a change's number */
#define WAITS 100 /* for another change; each waits longer than the one before, up to a bound */

static uint64_t with_state(uint64_t change, enum tl_change_state state)
{
    return (change & ~UINT64_C(3)) | state;
}

/* None, after it. */
static uint64_t none_after(uint64_t change)
{
    return change >> NUMBER << NUMBER;
}

static uint64_t owned_by(const struct tl_hand *hand)
{
    uint64_t epoch = tl_load_relaxed(&hand->seat->epoch) & tl_ones(EPOCH_BITS);
    return epoch << 14 | (uint64_t)hand->seat_index << 2;
}

static uint32_t seat_of(uint64_t change)
{
    return (uint32_t)(change >> 2) & 0xfff;
}

/* A seat has one change at a time: what is its own and open still, at its next one, was left. */
static bool is_left(const struct tl_hand *hand, uint64_t change)
{
    uint32_t seat = seat_of(change);
    uint64_t epoch = change >> 14 & tl_ones(EPOCH_BITS);
    return seat >= hand->map->seat_count || seat == hand->seat_index ||
           (tl_load(&hand->map->seats[seat].epoch) & tl_ones(EPOCH_BITS)) != epoch;
}

/* ---------------------------------------------------------------------------------------------------------- clearing */

/*
 * Leads a pending word to what it says, unless the change is open. The CAS from the word that was read tells that it was
 * pending all the time, and so that `change` and the table's content are those of its change (P3).
 */
static void settle(struct tl_hand *hand, tl_word *word)
{
    uint64_t seen = tl_load(word);
    if (!(seen & TL_POLICY_PENDING))
        return;
    uint64_t change = tl_pending_change(hand->map), version = (seen >> TL_POLICY_VERSION) + 1;
    if (tl_pending_state(change) == TL_CHANGE_OPEN)
        return;
    uint64_t want = tl_pending_said(hand->map, word, seen, change);
    tl_limits_redirect(hand, word, seen, (want & tl_ones(TL_POLICY_VERSION)) | version << TL_POLICY_VERSION);
}

uint64_t tl_change_settled(struct tl_hand *hand, tl_word *word)
{
    for (;;) {
        uint64_t seen = tl_load(word);
        if (TL_LIKELY(!(seen & TL_POLICY_PENDING)))
            return seen;
        uint64_t change = tl_pending_change(hand->map);
        if (tl_pending_state(change) == TL_CHANGE_OPEN && tl_load(word) == seen)
            tl_cas(&hand->map->header->change, change, with_state(change, TL_CHANGE_OFF));
        settle(hand, word);
    }
}

bool tl_change_clear(struct tl_hand *hand)
{
    const struct tl_map *map = hand->map;
    tl_word *place = &map->header->change;
    uint64_t change = tl_load(place);
    if (tl_pending_state(change) == TL_CHANGE_NONE)
        return true;
    if (!is_left(hand, change))
        return false;
    if (tl_pending_state(change) == TL_CHANGE_OPEN) {
        tl_cas(place, change, with_state(change, TL_CHANGE_OFF));
        change = tl_load(place);
        if (tl_pending_state(change) == TL_CHANGE_OPEN)
            return false; /* another one by now */
    }
    for (uint32_t cell = 0; cell < map->scope_end; cell++)
        settle(hand, &map->cells[cell].policy);
    settle(hand, &map->header->overrun);
    if (is_left(hand, change))
        tl_cas(place, change, none_after(change)); /* P2: nobody has it who could make a word pending */
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ making */

/* 0 and the change, open; or -TLSHM_ECONTENDED. */
static int open_change(struct tl_hand *hand, uint64_t *change)
{
    tl_word *place = &hand->map->header->change;
    uint64_t unused = 0;
    for (unsigned waits = 0; waits < WAITS; waits++) {
        uint64_t seen = tl_load(place);
        *change = (none_after(seen) + (UINT64_C(1) << NUMBER)) | owned_by(hand) | TL_CHANGE_OPEN;
        if (tl_pending_state(seen) == TL_CHANGE_NONE) {
            if (tl_cas(place, seen, *change))
                return 0;
            continue;
        }
        if (!is_left(hand, seen) && waits % 16 == 0)
            tl_seat_visit(hand, seat_of(seen), &unused, &unused); /* it may be dead without anybody knowing */
        if (!tl_change_clear(hand))
            tl_txn_lost(hand, 0, waits);
    }
    return -TLSHM_ECONTENDED;
}

/* Makes a word pending. False: the change was broken off, or the word is pending already. */
static bool install(struct tl_hand *hand, struct tl_turn *turn, uint64_t change)
{
    tl_word *next = tl_pending_next(hand->map, turn->word);
    while (tl_pending_change(hand->map) == change) {
        uint64_t seen = tl_load(turn->word);
        if (seen & TL_POLICY_PENDING)
            return false;
        uint64_t said = seen & tl_ones(TL_POLICY_VERSION), version = seen >> TL_POLICY_VERSION;
        uint64_t pending = (version + 1) << TL_POLICY_VERSION | TL_POLICY_PENDING | said;
        tl_fence_release(); /* whoever sees this sees that the word has left its last change */
        tl_store_release(next, tl_policy_change(pending, turn->kind, turn->index)); /* P1 */
        if (!tl_limits_redirect(hand, turn->word, seen, pending))
            continue;
        turn->pending = pending;
        return true;
    }
    return false;
}

static bool install_all(struct tl_hand *hand, struct tl_turn *turns, size_t count, uint64_t change)
{
    for (size_t i = 0; i < count; i++)
        if (!install(hand, &turns[i], change))
            return false;
    return true;
}

static void settle_all(struct tl_hand *hand, const struct tl_turn *turns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (turns[i].pending && tl_load(turns[i].word) == turns[i].pending)
            settle(hand, turns[i].word);
}

/* The lists that were claimed are in force, or nobody's. */
static void end_lists(struct tl_hand *hand, const struct tl_turn *turns, size_t count, bool done)
{
    for (size_t i = 0; i < count; i++)
        if (turns[i].kind == TL_POLICY_OWN)
            tl_limits_end_claim(hand, turns[i].index, turns[i].list, done);
}

static int make(struct tl_hand *hand, struct tl_turn *turns, size_t count, tl_change_check check, const void *context)
{
    tl_word *place = &hand->map->header->change;
    uint64_t change;
    int rc = open_change(hand, &change);
    if (rc < 0)
        return rc;
    bool whole = install_all(hand, turns, count, change) && (!check || check(hand, context));
    bool done = whole && tl_cas(place, change, with_state(change, TL_CHANGE_DECIDED));
    if (!done)
        tl_cas(place, change, with_state(change, TL_CHANGE_OFF)); /* or somebody else has */
    settle_all(hand, turns, count);
    tl_cas(place, with_state(change, done ? TL_CHANGE_DECIDED : TL_CHANGE_OFF), none_after(change));
    return done;
}

int tl_change_make(struct tl_hand *hand, struct tl_turn *turns, size_t count, tl_change_check check,
                   const void *context)
{
    for (size_t i = 0; i < count; i++)
        turns[i].pending = 0;
    int rc = make(hand, turns, count, check, context);
    end_lists(hand, turns, count, rc == 1);
    return rc;
}
