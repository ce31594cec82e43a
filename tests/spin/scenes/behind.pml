/* SPDX-License-Identifier: MIT */
/* A conflict behind the first head: one reserves on two scopes, one on the second of them and settles. */
#define SEATS 2
#define CELLS 2
#define RECORDS 2
#define STEPS 2

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 3; amount = 1
    :: who == 1 && turn == 0 -> kind = RESERVE; r = 1; set = 2; amount = 2
    :: who == 1 && turn == 1 -> kind = SETTLE; r = 1; amount = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
