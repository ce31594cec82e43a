/* SPDX-License-Identifier: MIT */
/*
 * limits.h - which limits a scope has: policy words, and the immutable limit lists that they lead to.
 *
 * POLICY WORD {version:22 | pending:1 | shutoff:1 | paused:1 | kind:2 | level:13 | index:24}
 *   of a scope  default: as its level says.  tier: `index` is the tier's cell.  own: `index` is a limit list
 *   of a level  default: no tier.            tier: as above
 *   of a tier   default: no limits.          own: as above.   gone: the tier was unset; its scopes follow their level
 *   `level` is the cell of the scope's level.
 *   gone, of a level: it is not there yet. pending: it is being changed along with others, see pending.h
 *
 * READING A list is immutable from before a policy word leads to it until after none does. So what was read between two
 * looks at the same (versioned) policy words was in force at that moment. The limits of several scopes are those of one
 * side of every change if CHANGE (pending.h) is the same before and after.
 *
 * LISTS {generation:24 | epoch:26 | seat:12 | free 0, claimed 1, live 2 : 2}: claimed by a seat, filled, published by the
 * CAS of a policy word, then live; freed by who replaced it. A crash in between leaves a list that sweep() finds: claimed
 * with a stale epoch or live, and no policy word leads to it.
 */
#ifndef TL_LIMITS_H
#define TL_LIMITS_H

#include "pending.h"
#include "txn.h"

enum tl_policy_kind { TL_POLICY_DEFAULT = 0, TL_POLICY_TIER = 1, TL_POLICY_OWN = 2, TL_POLICY_GONE = 3 };

#define TL_POLICY_PAUSED (UINT64_C(1) << 39)
#define TL_POLICY_SHUTOFF (UINT64_C(1) << 40)

TL_INLINE unsigned tl_policy_kind(uint64_t policy)
{
    return (policy >> 37) & 3;
}

TL_INLINE uint32_t tl_policy_index(uint64_t policy)
{
    return policy & SHM_NODE_MASK;
}

TL_INLINE uint32_t tl_policy_level(uint64_t policy)
{
    return (policy >> SHM_NODE_BITS) & 0x1fff;
}

TL_INLINE uint64_t tl_policy(enum tl_policy_kind kind, uint32_t level, uint32_t index)
{
    return (uint64_t)kind << 37 | (uint64_t)level << SHM_NODE_BITS | index;
}

/* `word` with another kind and index: level and flags stay, the version grows. */
TL_INLINE uint64_t tl_policy_change(uint64_t word, enum tl_policy_kind kind, uint32_t index)
{
    uint64_t kept = word & (TL_POLICY_PAUSED | TL_POLICY_SHUTOFF);
    return ((word >> TL_POLICY_VERSION) + 1) << TL_POLICY_VERSION | kept |
           tl_policy(kind, tl_policy_level(word), index);
}

/* `word` with a flag that a person turns on or off. The version grows here too: see latch.h, A1. */
TL_INLINE uint64_t tl_policy_switch(uint64_t word, uint64_t flag, bool on)
{
    return (on ? word | flag : word & ~flag) + (UINT64_C(1) << TL_POLICY_VERSION);
}

/* The limits in force for one scope, in private memory. */
struct tl_limits {
    unsigned count;
    enum tlshm_limits_source source;
    uint32_t tier;  /* cell of the tier, for TIER and DEFAULT */
    uint64_t flags; /* TL_POLICY_PAUSED, TL_POLICY_SHUTOFF */
    uint64_t shape[TLSHM_LIMITS_MAX];
    uint64_t cap[TLSHM_LIMITS_MAX];
};

/* The limits that a policy word (of a scope or a tier) leads to now. 0 or -TLSHM_ECORRUPT. Works read-only. */
int tl_limits_read(const struct tl_map *map, const tl_word *policy, struct tl_limits *out);

/* What a thread read last, and the policy words that led there: while they stand, the limits stand. */
struct tl_limits_memo {
    struct tl_limits limits;
    bool known;      /* false: nothing read yet, or under a change: to be read again */
    uint64_t policy; /* the scope's own word, as it was read last */
    uint64_t key;    /* of it, what matters */
    unsigned words;
    const tl_word *word[3];
    uint64_t seen[3];
};

int tl_limits_refresh(const struct tl_map *map, const tl_word *policy, struct tl_limits_memo *memo);

/* Brings a memo to what a scope's policy word leads to now. Cheap while nothing changes. 0 or -TLSHM_ECORRUPT. */
TL_INLINE int tl_limits_recall(const struct tl_map *map, const tl_word *policy, struct tl_limits_memo *memo)
{
    uint64_t word = tl_load(policy);
    /* A list is its scope's alone, and may be used again: the version counts. Else it says no more than the rest. */
    uint64_t key = tl_policy_kind(word) == TL_POLICY_OWN ? word : word & tl_ones(TL_POLICY_VERSION);
    bool same = memo->known && key == memo->key;
    memo->policy = word;
    for (unsigned i = 0; i < memo->words; i++)
        same &= tl_load(memo->word[i]) == memo->seen[i];
    return TL_LIKELY(same) ? 0 : tl_limits_refresh(map, policy, memo);
}

/*
 * Publishes `count` limits under `policy`, which was read as `seen`: one CAS. Returns 1; 0: the word has changed, decide
 * anew; -TLSHM_ENOROOM: no list is free.
 */
int tl_limits_publish(struct tl_hand *hand, tl_word *policy, uint64_t seen, const uint64_t *shape, const uint64_t *cap,
                      unsigned count);

/*
 * A free list with these limits, claimed: for a policy word to lead to. 0, then `claim` is for tl_limits_end_claim(); or
 * -TLSHM_ENOROOM.
 */
int tl_limits_claim(struct tl_hand *hand, const uint64_t *shape, const uint64_t *cap, unsigned count, uint32_t *index,
                    uint64_t *claim);

/* A policy word has come to lead to the list, or none will. */
void tl_limits_end_claim(struct tl_hand *hand, uint32_t index, uint64_t claim, bool live);

/* Changes what a policy word leads to, freeing the list that it had. Returns 1 or 0 as above. */
bool tl_limits_redirect(struct tl_hand *hand, tl_word *policy, uint64_t seen, uint64_t want);

/* Frees lists that a crash left behind. Returns how many. */
unsigned tl_limits_sweep(struct tl_hand *hand);

unsigned tl_limits_lists_used(const struct tl_map *map);

#endif
