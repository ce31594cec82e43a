/* SPDX-License-Identifier: MIT */
/* A hold on two scopes grows while it is settled. */
#define SEATS 2
#define CELLS 2
#define RECORDS 1
#define STEPS 2

#include "../words.pml"

inline start() { hold(0, 3, 1) }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = EXTEND; r = 0; amount = 1
    :: who == 1 && turn == 0 -> kind = SETTLE; r = 0; amount = 2
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
