/* SPDX-License-Identifier: MIT */
/* chance.c - random numbers for property tests. See chance.h. */
#include "chance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tap.h"

static uint64_t seed_wanted(void)
{
    const char *text = getenv("TLSHM_SEED");
    uint64_t seed = 1;
    char *end;
    if (text == NULL)
        return seed;
    if (strcmp(text, "random") == 0) {
        MUST(getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed, "no random seed");
        return seed;
    }
    seed = strtoull(text, &end, 0);
    MUST(*text != 0 && *end == 0, "TLSHM_SEED is no number: %s", text);
    return seed;
}

static unsigned times_wanted(void)
{
    const char *text = getenv("TLSHM_ROUNDS");
    char *end;
    if (text == NULL)
        return 1;
    unsigned long times = strtoul(text, &end, 0);
    MUST(*text != 0 && *end == 0 && times >= 1 && times <= 1000000, "TLSHM_ROUNDS is no number of times: %s", text);
    return (unsigned)times;
}

unsigned chance_begin(struct chance *c, const char *name, unsigned rounds)
{
    uint64_t seed = seed_wanted();
    c->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (const char *at = name; *at != 0; at++)
        c->state = (c->state ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    fprintf(stderr, "%s: TLSHM_SEED=%" PRIu64 "\n", name, seed);
    return rounds * times_wanted();
}

/* splitmix64 */
uint64_t chance_word(struct chance *c)
{
    uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t chance_below(struct chance *c, uint64_t below)
{
    return below ? chance_word(c) % below : 0;
}

/* `low` and the distance of `high` from it are far apart or not: what is drawn is a distance, by its bits first. */
uint64_t chance_edgy(struct chance *c, uint64_t low, uint64_t high)
{
    uint64_t span = high - low, beside = chance_below(c, 3);
    switch (chance_below(c, 8)) {
    case 0:
        return low + (beside < span ? beside : span);
    case 1:
        return high - (beside < span ? beside : span);
    default: {
        uint64_t bits = chance_below(c, 65),
                 drawn = bits < 64 ? chance_word(c) & ((UINT64_C(1) << bits) - 1) : chance_word(c);
        return span == UINT64_MAX ? drawn : low + drawn % (span + 1);
    }
    }
}

int chance_one_in(struct chance *c, unsigned n)
{
    return chance_below(c, n) == 0;
}
