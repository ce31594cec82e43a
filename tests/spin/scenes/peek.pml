/* SPDX-License-Identifier: MIT */
/* A reader that may not write looks at a scope while others work on it and on another one with the same spares. */
#define SEATS 2
#define CELLS 2
#define RECORDS 2
#define STEPS 1
#define PEEKS

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 1; amount = 1
    :: who == 0 && turn == 1 -> kind = RESERVE; r = 1; set = 2; amount = 2
    :: who == 0 && turn == 2 -> kind = SETTLE; r = 0; amount = 2
    :: who == 1 && turn == 0 -> kind = PEEK; r = 0
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
