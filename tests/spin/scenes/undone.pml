/* SPDX-License-Identifier: MIT */
/* A reserve on two scopes fails behind its first head; its first sheet is marked and displaced while it sleeps. */
#define SEATS 2
#define CELLS 2
#define RECORDS 3
#define STEPS 2

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 3; amount = 1
    :: who == 1 && turn == 0 -> kind = RESERVE; r = 1; set = 2; amount = 1
    :: who == 1 && turn == 1 -> kind = RESERVE; r = 2; set = 1; amount = 2
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
