/* SPDX-License-Identifier: MIT */
/* Room for two units in each scope: one is held, two more are asked for by two processes while the first is given back. */
#define SEATS 2
#define CELLS 2
#define RECORDS 3
#define STEPS 2
#define CAP 2

#include "../words.pml"

inline start() { hold(0, 1, 1) }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 1; set = 3; amount = 1
    :: who == 0 && turn == 1 -> kind = REFUND; r = 0
    :: who == 1 && turn == 0 -> kind = RESERVE; r = 2; set = 3; amount = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
