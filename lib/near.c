/* SPDX-License-Identifier: MIT */
/* near.c - the distance of words, row by row. See near.h. */
#include "near.h"

#include <limits.h>

enum { LENGTH_MAX = 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Three rows of the table of distances between beginnings: two letters back, one back, and the one in the making. */
struct rows {
    unsigned row[3][LENGTH_MAX + 1];
};

static void next_row(struct rows *r, const char *a, size_t i, const char *b, size_t b_len)
{
    unsigned *before = r->row[(i + 1) % 3], *last = r->row[(i + 2) % 3], *now = r->row[i % 3];
    now[0] = (unsigned)i;
    for (size_t j = 1; j <= b_len; j++) {
        bool same = a[i - 1] == b[j - 1];
        now[j] = least(last[j - 1] + !same, least(last[j], now[j - 1]) + 1);
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
            now[j] = least(now[j], before[j - 2] + 1);
    }
}

unsigned tl_near_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct rows r;
    if (a_len > LENGTH_MAX || b_len > LENGTH_MAX)
        return UINT_MAX;
    for (size_t j = 0; j <= b_len; j++)
        r.row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++)
        next_row(&r, a, i, b, b_len);
    return r.row[a_len % 3][b_len];
}

bool tl_near_enough(unsigned distance, size_t length)
{
    return distance <= (length < 4 ? 1 : length < 8 ? 2 : 3);
}

const char *tl_near_name(const char *word, size_t len, const char *const *names, size_t count)
{
    const char *best = NULL;
    unsigned nearest = UINT_MAX;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = tl_near_distance(word, len, names[i], strlen(names[i]));
        if (distance >= nearest || !tl_near_enough(distance, len))
            continue;
        nearest = distance;
        best = names[i];
    }
    return best;
}
