/* SPDX-License-Identifier: MIT */
/* A hold expires and its record is used again for another scope, while it is settled late. */
#define SEATS 2
#define CELLS 2
#define RECORDS 1
#define STEPS 1

#include "../words.pml"

inline start() { hold(0, 1, 2) }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = EXPIRE; r = 0
    :: who == 0 && turn == 1 -> kind = RESERVE; r = 0; set = 2; amount = 1
    :: who == 1 && turn == 0 -> kind = SETTLE; r = 0; amount = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
