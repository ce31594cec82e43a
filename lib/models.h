/* SPDX-License-Identifier: MIT */
/*
 * models.h - which models reservations are for, and how many tokens each of them answers with: a table of names, and a
 * histogram for each.
 *
 * NAMES  Provider and model in lower case, found by hash among a few places from where the hash points to (open addresses).
 * A place is free, then claimed by a seat, then live with its name, and that for ever: reservations name it by its number,
 * and those that ended long ago still do. If all the places of a name are taken, the model is not learned, and that is all.
 *   M1  A live place never changes but for its counters.
 *   M2  A claim whose seat has another epoch by now is of somebody who is dead (seat.h): the place may be claimed anew.
 *   M3  Of two processes that enter the same name at once both may get a place. Whoever looks later finds the first of
 *       them; what the second learns in between is lost. Nobody waits for a claim.
 *
 * OUTPUTS  A histogram with buckets of a width of at most a sixteenth of their values: an upper bound is at most 6.25 % above
 * what it bounds. Each output weighs TL_MODELS_UNIT; after every TL_MODELS_AGE outputs of the model all that came before
 * weigh half. Nothing sweeps over the buckets: each word has the age as of which its weight is meant, and whoever touches
 * it next takes the halves off.
 *   M4  A word's age is never above `learned` / TL_MODELS_AGE, as looked at after the word. Else it is garbage and weighs
 *       nothing.
 *   M5  With one process at a time, the i-th output (from 0) is added at age i / TL_MODELS_AGE: weight = (weight >>
 *       (age - word's age)) + TL_MODELS_UNIT. What the table says of a sequence of outputs can so be computed without it.
 *   M6  An output is counted in `learned`, then in its bucket; whoever is killed in between leaves one output that weighs
 *       nothing.
 *
 * QUANTILE  The bound that covers a share q is the end of the first bucket up to which the weight is at least q * (all +
 * TL_MODELS_UNIT). The one more is the call that is asked for: of n outputs and one more in any order, the last is not
 * above the ceil(q * (n + 1))-th with a probability of at least q (split conformal prediction). Where that is more than
 * there is, as with 95 % and fewer than 19 outputs, nothing is known yet.
 *
 * PROGRESS  Lock-free; a bounded number of steps whatever is in the table.
 */
#ifndef TL_MODELS_H
#define TL_MODELS_H

#include "txn.h"

#define TL_MODELS_AGE 512
#define TL_MODELS_UNIT (UINT64_C(1) << 16)
#define TL_MODELS_PLACES 32 /* looked at for a name */
#define TL_MODELS_NONE 0    /* numbers count from 1 */
#define TL_MODELS_NAME_MAX 255
#define TL_MODELS_ALL_PPM 1000000

/* A name as the table has it. */
struct tl_model_name {
    uint64_t word[SHM_MODEL_NAME_WORDS];
    uint64_t hash;
};

/* Which bucket an output is counted in, and the largest output of a bucket. */
TL_INLINE unsigned tl_models_bucket(uint64_t output)
{
    uint64_t top = (UINT64_C(1) << SHM_MODEL_TOP) - 1;
    output = tl_min(output, top);
    if (output >> SHM_MODEL_BITS == 0)
        return (unsigned)output;
    unsigned shift = tl_top_bit(output) - SHM_MODEL_BITS;
    return (shift << SHM_MODEL_BITS) + (unsigned)(output >> shift);
}

TL_INLINE uint64_t tl_models_bucket_end(unsigned bucket)
{
    unsigned doubling = bucket >> SHM_MODEL_BITS;
    if (doubling == 0)
        return bucket;
    uint64_t in = (bucket & tl_ones(SHM_MODEL_BITS)) | UINT64_C(1) << SHM_MODEL_BITS;
    return ((in + 1) << (doubling - 1)) - 1;
}

/* 0, or -TLSHM_EINVAL: an empty name, or one that is too long together with its provider. `provider` may be NULL. */
int tl_models_name(const struct tl_map *map, const char *provider, const char *model, struct tl_model_name *out);

/* The number of a name, or TL_MODELS_NONE. `enter` needs a seat and finds a place for it, if there is one. */
uint32_t tl_models_find(const struct tl_map *map, const struct tl_model_name *name);
uint32_t tl_models_enter(struct tl_hand *hand, const struct tl_model_name *name);

/* Provider and model of a number, NUL-terminated. False: nothing is there, or garbage. */
bool tl_models_read(const struct tl_map *map, uint32_t number, char provider[TL_MODELS_NAME_MAX + 1],
                    char model[TL_MODELS_NAME_MAX + 1]);

/* Has the place of a number a name that it should not have? */
bool tl_models_is_garbage(const struct tl_map *map, uint32_t number);

/* One more output. Numbers without a live place are ignored. */
void tl_models_teach(const struct tl_map *map, uint32_t number, uint64_t output);

/* The bound that covers `ppm` of a million, or 0: nothing is known. `calls` (may be NULL): what it is known from. */
uint64_t tl_models_quantile(const struct tl_map *map, uint32_t number, uint32_t ppm, uint64_t *calls);

#endif
