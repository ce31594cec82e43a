/* SPDX-License-Identifier: MIT */
/* A reaper carries out what another process has begun on two scopes, which is killed anywhere. */
#define SEATS 2
#define CELLS 2
#define RECORDS 2
#define STEPS 2
#define KILLS
#define HELPS

#include "../words.pml"

inline start() { skip }
inline play() { run worker(0, 0); run worker(1, 1) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 3; amount = 1
    :: who == 1 && turn == 0 -> kind = HELP; r = 0
    :: who == 1 && turn == 1 -> kind = RESERVE; r = 1; set = 2; amount = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
