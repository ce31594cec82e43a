/* SPDX-License-Identifier: MIT */
/* A process is killed anywhere in a reserve; its heir finishes and works on with its spares, while another one looks. */
#define SEATS 2
#define CELLS 2
#define RECORDS 2
#define STEPS 2
#define KILLS
#define HEIRS

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 0); run worker(2, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 3; amount = 1
    :: who == 1 && turn == 0 -> kind = INHERIT
    :: who == 1 && turn == 1 -> kind = RESERVE; r = 1; set = 3; amount = 2
    :: who == 2 && turn == 0 -> kind = LOOK; set = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
