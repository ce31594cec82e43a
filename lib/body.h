/* SPDX-License-Identifier: MIT */
/*
 * body.h - a reservation's contents in private memory, by unit, and the way there and back.
 *
 * INFO {scopes:4 | outcome:4 | flags:8 | idempotency length:8 | idempotency cell + 1:24 | wide:1}
 */
#ifndef TL_BODY_H
#define TL_BODY_H

#include "layout.h"

struct tl_body {
    uint64_t ref, generation, info, owner, created, deadline, ended, tag;
    uint64_t estimate[TLSHM_UNITS]; /* concurrency: 1 */
    uint64_t charged[TLSHM_UNITS];
    uint64_t request; /* with an idempotency key; else 0 */
    uint64_t scope[TLSHM_SCOPES_MAX];
    uint64_t idempotency[TLSHM_IDEMPOTENCY_MAX / 8];
    uint64_t model; /* if it is wide: see tl_body_model() */
};

#define TL_BODY_WIDE (UINT64_C(1) << 48)

/* The units of a body's two parts, in the order of its words. */
static const unsigned char tl_body_plain[SHM_PLAIN_UNITS] = {TLSHM_TOKENS, TLSHM_COST, TLSHM_REQUESTS};
static const unsigned char tl_body_wide[SHM_PLAIN_UNITS] = {TLSHM_INPUT_TOKENS, TLSHM_OUTPUT_TOKENS, TLSHM_TOOL_CALLS};

/* ------------------------------------------------------------------------------------------------------ packed words */

TL_INLINE unsigned tl_body_scopes(const struct tl_body *body)
{
    unsigned n = body->info & 15;
    return n <= TLSHM_SCOPES_MAX ? n : TLSHM_SCOPES_MAX;
}

TL_INLINE unsigned tl_body_outcome(const struct tl_body *body)
{
    return (body->info >> 4) & 15;
}

TL_INLINE unsigned tl_body_flags(const struct tl_body *body)
{
    return (body->info >> 8) & 255;
}

TL_INLINE unsigned tl_body_idempotency_len(const struct tl_body *body)
{
    unsigned n = (body->info >> 16) & 255;
    return n <= TLSHM_IDEMPOTENCY_MAX ? n : TLSHM_IDEMPOTENCY_MAX;
}

/* The idempotency cell that the reserve entered, or UINT32_MAX. */
TL_INLINE uint32_t tl_body_idempotency_cell(const struct tl_body *body)
{
    return (uint32_t)(body->info >> 24 & SHM_NODE_MASK) - 1;
}

TL_INLINE uint64_t tl_body_info(unsigned scopes, unsigned outcome, unsigned flags, unsigned len, uint32_t cell)
{
    return scopes | (uint64_t)outcome << 4 | (uint64_t)(flags & 255) << 8 | (uint64_t)len << 16 |
           ((uint64_t)(cell + 1) & SHM_NODE_MASK) << 24;
}

/* Who reserved. A process id takes no more than 22 bits on Linux; an epoch of 30 bits does not recur in a hold's life. */
#define TL_OWNER_EPOCH_BITS 30

TL_INLINE uint64_t tl_body_owner(uint64_t pid, uint64_t epoch, uint32_t seat)
{
    return pid << 42 | (epoch & tl_ones(TL_OWNER_EPOCH_BITS)) << 12 | seat;
}

TL_INLINE uint32_t tl_owner_pid(uint64_t owner)
{
    return (uint32_t)(owner >> 42);
}

TL_INLINE uint32_t tl_owner_seat(uint64_t owner)
{
    return (uint32_t)owner & 0xfff;
}

/* Is the seat still in the hands that it was in? */
TL_INLINE bool tl_owner_epoch_is(uint64_t owner, uint64_t epoch)
{
    return ((owner >> 12 ^ epoch) & tl_ones(TL_OWNER_EPOCH_BITS)) == 0;
}

/* Tied to a thread, and the seat that it had is not its any more. */
TL_INLINE bool tl_body_is_orphan(const struct tl_map *map, const struct tl_body *body)
{
    uint32_t seat = tl_owner_seat(body->owner);
    if (!(tl_body_flags(body) & TLSHM_FREE_ON_DEATH) || seat >= map->seat_count)
        return false;
    return !tl_owner_epoch_is(body->owner, tl_load(&map->seats[seat].epoch));
}

/* {discount in ppm:20 | service:4 | model + 1:24} of a reservation that was made for a model, else 0. */
TL_INLINE uint64_t tl_body_model(const struct tl_body *body)
{
    return body->info & TL_BODY_WIDE ? body->model : 0;
}

/* Such a word, and its parts: the number of the model or 0, the service, how much of a cached token does not count. */
TL_INLINE uint64_t tl_model_word(uint32_t number, unsigned service, uint32_t discount_ppm)
{
    return (uint64_t)discount_ppm << 28 | (uint64_t)service << SHM_NODE_BITS | number;
}

TL_INLINE uint32_t tl_model_number(uint64_t word)
{
    return (uint32_t)(word & SHM_NODE_MASK);
}

TL_INLINE unsigned tl_model_service(uint64_t word)
{
    return (unsigned)(word >> SHM_NODE_BITS & 15);
}

TL_INLINE uint32_t tl_model_discount(uint64_t word)
{
    return (uint32_t)(word >> 28 & tl_ones(20));
}

TL_INLINE bool tl_amounts_wide(const uint64_t *of)
{
    return (of[TLSHM_INPUT_TOKENS] | of[TLSHM_OUTPUT_TOKENS] | of[TLSHM_TOOL_CALLS]) != 0;
}

/* Words from the deadline on that an ending keeps as they are. */
#define TL_BODY_KEPT 10

/* ------------------------------------------------------------------------------------------------------ there and back */

/* How much of a body is wanted. */
enum tl_depth {
    TL_TIMES, /* ref, info, generation, deadline, ended */
    TL_PLAIN, /* all but the idempotency key and `request` */
    TL_WHOLE
};

/* Copies a body that may be changing: the caller looks at its record's head again. What it does not have becomes 0. */
TL_INLINE void tl_body_times(const struct shm_body *from, struct tl_body *to)
{
    to->ref = tl_peek(&from->ref);
    to->info = tl_peek(&from->info);
    to->ended = tl_peek(&from->ended);
    to->deadline = tl_peek(&from->deadline);
    to->generation = tl_peek(&from->generation);
}
void tl_body_rest(const struct shm_body *from, enum tl_depth depth, struct tl_body *to);

/* The owner of a spare body writes it, but for `ref`. */
void tl_body_write(struct shm_body *to, const struct tl_body *from);

/*
 * The same for a reservation that ends: `from` is its body as it was, which is read once more and stands while its
 * record's head does; `body` is that in private, with what has changed: info, ended, charged.
 */
void tl_body_write_end(struct shm_body *to, const struct shm_body *from, const struct tl_body *body);

#endif
