/* SPDX-License-Identifier: MIT */
/* Two processes reserve on the same two scopes, in opposite orders. */
#define SEATS 2
#define CELLS 2
#define RECORDS 2
#define STEPS 2
#define REVERSED(who) (who == 1)

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 3; amount = 1
    :: who == 1 && turn == 0 -> kind = RESERVE; r = 1; set = 3; amount = 2
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
