/* SPDX-License-Identifier: MIT */
/* One hold on two scopes: it is settled while it expires. */
#define SEATS 2
#define CELLS 2
#define RECORDS 1
#define STEPS 2

#include "../words.pml"

byte settle; /* what its caller was told */

inline start() { hold(0, 3, 2) }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = SETTLE; r = 0; amount = 3
    :: who == 1 && turn == 0 -> kind = EXPIRE; r = 0
    :: else
    fi
}

inline heard() { settle = (who == 0 -> told : settle) }
inline at_end()
{
    assert(settle == AGAIN || (STATUS(record[0]) == SETTLED && used_up[0] == 3 && used_up[1] == 3))
}

#include "../calls.pml"
