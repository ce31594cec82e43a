/* SPDX-License-Identifier: MIT */
/* One works on a scope with the same few sheets; a helper may sleep before it marks one of them. */
#define SEATS 2
#define CELLS 1
#define RECORDS 2
#define STEPS 1

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 1; amount = 1
    :: who == 0 && turn == 1 -> kind = SETTLE; r = 0; amount = 2
    :: who == 0 && turn == 2 -> kind = RESERVE; r = 1; set = 1; amount = 1
    :: who == 1 && turn == 0 -> kind = LOOK; set = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
