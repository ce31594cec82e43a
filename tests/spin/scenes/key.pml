/* SPDX-License-Identifier: MIT */
/* Two processes reserve with the same idempotency key, each on a scope of its own. */
#define SEATS 2
#define CELLS 3
#define RECORDS 2
#define STEPS 2
#define KEY_CELL 2

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 5; amount = 1
    :: who == 1 && turn == 0 -> kind = RESERVE; r = 1; set = 6; amount = 2
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { assert(STATUS(record[0]) == FREE || STATUS(record[1]) == FREE) }

#include "../calls.pml"
