/* SPDX-License-Identifier: MIT */
/* random.c - splitmix64, and the distributions that the generator draws from. */
#include "random.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t random_bits(struct random *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(r->state);
}

double random_unit(struct random *r)
{
    return to_unit(random_bits(r));
}

/* Box and Muller; the second variate of each pair is thrown away, as nobody waits for it. */
static double normal(struct random *r)
{
    double u = 1.0 - random_unit(r), angle = 2.0 * M_PI * random_unit(r);
    return sqrt(-2.0 * log(u)) * cos(angle);
}

double random_lognormal(struct random *r, double median, double sigma)
{
    return median * exp(sigma * normal(r));
}

uint64_t random_hash(uint64_t seed, uint64_t number)
{
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ (number * UINT64_C(0xd1342543de82ef95)));
}

double random_hash_unit(uint64_t seed, uint64_t number)
{
    return to_unit(random_hash(seed, number));
}

uint64_t random_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

unsigned random_skewed(double unit, unsigned count, double exponent)
{
    double total = 0, sum = 0;
    for (unsigned k = 0; k < count; k++)
        total += pow(k + 1, -exponent);
    for (unsigned k = 0; k < count; k++) {
        sum += pow(k + 1, -exponent);
        if (unit * total < sum)
            return k;
    }
    return count - 1;
}
