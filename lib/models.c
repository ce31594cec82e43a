/* SPDX-License-Identifier: MIT */
/* models.c - names of models and histograms of their outputs. See models.h. */
#include "models.h"

#include "hash.h"
#include "ids.h"
#include "match.h"

enum { FREE = 0, CLAIMED = 1, LIVE = 2, KIND = 3 };

/* ------------------------------------------------------------------------------------------------------------ names */

static uint64_t hash_of(const struct tl_map *map, const uint64_t *word, size_t bytes)
{
    return tl_hash(word, bytes, tl_load_relaxed(&map->header->hash_seed)) & tl_ones(62);
}

int tl_models_name(const struct tl_map *map, const char *provider, const char *model, struct tl_model_name *out)
{
    size_t before = provider ? strnlen(provider, TL_MODELS_NAME_MAX + 1) : 0;
    size_t length = strnlen(model, TL_MODELS_NAME_MAX + 1);
    unsigned char *byte = (unsigned char *)out->word;
    if (length == 0 || before + length > TL_MODELS_NAME_MAX)
        return -TLSHM_EINVAL;
    memset(out->word, 0, sizeof out->word);
    byte[0] = (unsigned char)before;
    byte[1] = (unsigned char)length;
    tl_match_fold((char *)byte + 2, provider ? provider : "", before);
    tl_match_fold((char *)byte + 2 + before, model, length);
    out->hash = hash_of(map, out->word, 2 + before + length);
    return 0;
}

static bool same_name(const struct shm_model *m, const struct tl_model_name *name)
{
    for (unsigned i = 0; i < SHM_MODEL_NAME_WORDS; i++)
        if (tl_load_relaxed(&m->name[i]) != name->word[i])
            return false;
    return true;
}

/* The i-th place of a name. */
static uint32_t place_of(const struct tl_map *map, const struct tl_model_name *name, uint32_t i)
{
    return (uint32_t)((name->hash + i) % map->model_count);
}

static uint32_t places(const struct tl_map *map)
{
    return (uint32_t)tl_min(map->model_count, TL_MODELS_PLACES);
}

uint32_t tl_models_find(const struct tl_map *map, const struct tl_model_name *name)
{
    for (uint32_t i = 0; i < places(map); i++) {
        uint32_t at = place_of(map, name, i);
        uint64_t state = tl_load(&map->models[at].state);
        if (state == FREE)
            break;
        if (state == (name->hash << 2 | LIVE) && same_name(&map->models[at], name))
            return at + 1;
    }
    return TL_MODELS_NONE;
}

/* Free, or claimed by a seat that has moved on (M2). */
static bool is_claimable(const struct tl_map *map, uint64_t state)
{
    uint32_t seat = (uint32_t)(state >> 2) & 0xfff;
    if ((state & KIND) != CLAIMED)
        return state == FREE;
    return seat >= map->seat_count || tl_load(&map->seats[seat].epoch) != state >> 14;
}

uint32_t tl_models_enter(struct tl_hand *hand, const struct tl_model_name *name)
{
    const struct tl_map *map = hand->map;
    uint64_t mine = tl_load_relaxed(&hand->seat->epoch) << 14 | (uint64_t)hand->seat_index << 2 | CLAIMED;
    uint32_t found = tl_models_find(map, name);
    for (uint32_t i = 0; found == TL_MODELS_NONE && i < places(map); i++) {
        struct shm_model *m = &map->models[place_of(map, name, i)];
        uint64_t state = tl_load(&m->state);
        if (!is_claimable(map, state) || !tl_cas(&m->state, state, mine))
            continue;
        tl_words_out(m->name, name->word, SHM_MODEL_NAME_WORDS);
        tl_store_release(&m->state, name->hash << 2 | LIVE);
        found = tl_models_find(map, name); /* the first, should two have entered it at once (M3) */
    }
    return found;
}

/* The place of a number if it is live. */
static struct shm_model *live(const struct tl_map *map, uint32_t number, uint64_t *state)
{
    if (number - 1 >= map->model_count)
        return NULL;
    *state = tl_load(&map->models[number - 1].state);
    return (*state & KIND) == LIVE ? &map->models[number - 1] : NULL;
}

/* Copies a name that has the hash that it should have. */
static bool read_name(const struct tl_map *map, const struct shm_model *m, uint64_t state, uint64_t *word)
{
    const unsigned char *byte = (const unsigned char *)word;
    for (unsigned i = 0; i < SHM_MODEL_NAME_WORDS; i++)
        word[i] = tl_load_relaxed(&m->name[i]);
    size_t bytes = (size_t)byte[0] + byte[1];
    return byte[1] != 0 && bytes <= TL_MODELS_NAME_MAX && hash_of(map, word, bytes + 2) == state >> 2;
}

bool tl_models_read(const struct tl_map *map, uint32_t number, char provider[TL_MODELS_NAME_MAX + 1],
                    char model[TL_MODELS_NAME_MAX + 1])
{
    uint64_t word[SHM_MODEL_NAME_WORDS], state;
    const unsigned char *byte = (const unsigned char *)word;
    const struct shm_model *m = live(map, number, &state);
    if (!m || !read_name(map, m, state, word))
        return false;
    memcpy(provider, byte + 2, byte[0]);
    provider[byte[0]] = '\0';
    memcpy(model, byte + 2 + byte[0], byte[1]);
    model[byte[1]] = '\0';
    return true;
}

bool tl_models_is_garbage(const struct tl_map *map, uint32_t number)
{
    uint64_t word[SHM_MODEL_NAME_WORDS], state = FREE;
    const struct shm_model *m = live(map, number, &state);
    return m ? !read_name(map, m, state, word) : (state & KIND) == KIND;
}

/* ----------------------------------------------------------------------------------------------------------- outputs */

static uint64_t word_of(uint64_t age, uint64_t weight)
{
    return age << 32 | tl_min(weight, UINT32_MAX);
}

static uint64_t age_after(uint64_t learned)
{
    return learned / TL_MODELS_AGE & UINT32_MAX;
}

/* What a word weighs at an age that is not before its own. */
static uint64_t weight_at(uint64_t word, uint64_t age)
{
    uint64_t halves = age - (word >> 32);
    return halves < 32 ? (word & UINT32_MAX) >> halves : 0;
}

void tl_models_teach(const struct tl_map *map, uint32_t number, uint64_t output)
{
    uint64_t state;
    struct shm_model *m = live(map, number, &state);
    if (!m)
        return;
    uint64_t age = age_after(tl_add(&m->learned, 1));
    tl_word *bucket = &m->bucket[tl_models_bucket(output)];
    for (unsigned tries = 0; tries < TL_TRIES_MAX; tries++) {
        uint64_t was = tl_load(bucket);
        if (was >> 32 > age)
            age = tl_max(age, tl_min(was >> 32, age_after(tl_load(&m->learned)))); /* others went on; or M4 */
        uint64_t weight = was >> 32 > age ? 0 : weight_at(was, age);
        if (tl_cas(bucket, was, word_of(age, weight + TL_MODELS_UNIT)))
            return;
    }
}

/* All weights as of one age; returns their sum. */
static uint64_t weigh(const struct shm_model *m, uint32_t weight[SHM_MODEL_BUCKETS])
{
    alignas(16) uint64_t word[SHM_MODEL_BUCKETS];
    uint64_t sum = 0;
    tl_copy_in(word, m->bucket, SHM_MODEL_BUCKETS);
    tl_fence_acquire();
    uint64_t age = age_after(tl_load(&m->learned)); /* after the words (M4) */
    for (unsigned i = 0; i < SHM_MODEL_BUCKETS; i++) {
        weight[i] = word[i] >> 32 > age ? 0 : (uint32_t)weight_at(word[i], age);
        sum += weight[i];
    }
    return sum;
}

uint64_t tl_models_quantile(const struct tl_map *map, uint32_t number, uint32_t ppm, uint64_t *calls)
{
    uint32_t weight[SHM_MODEL_BUCKETS];
    uint64_t state, sum, met = 0;
    const struct shm_model *m = live(map, number, &state);
    if (calls)
        *calls = 0;
    if (!m || (sum = weigh(m, weight)) == 0)
        return 0;
    if (calls)
        *calls = (sum + TL_MODELS_UNIT / 2) / TL_MODELS_UNIT;
    uint64_t need = (ppm * (sum + TL_MODELS_UNIT) + TL_MODELS_ALL_PPM - 1) / TL_MODELS_ALL_PPM;
    if (ppm == TL_MODELS_ALL_PPM)
        need = sum; /* all that is known: the largest */
    if (need > sum)
        return 0;
    unsigned i = 0;
    for (met = weight[0]; met < need; met += weight[++i])
        continue;
    return tl_models_bucket_end(i);
}
