/* SPDX-License-Identifier: MIT */
/* One died with the first of two heads swung. A helper may sleep before it swings the second one, while another process takes the
 * record away with a scope that has nothing in common, and inherits the seat. */
#define SEATS 3
#define CELLS 3
#define RECORDS 1
#define STEPS 2
#define HEIRS

#include "../words.pml"

inline half_made(n)
{
    sheet[CELLS + n].ref = REF(1, 0);
    sheet[CELLS + n].after = 1;
    seat[0].expected[n] = head[n];
    seat[0].cell[n] = n;
    seat[0].own[n] = CELLS + n
}

inline start()
{
    half_made(0);
    half_made(1);
    body[RECORDS].ref = REF(1, 0);
    body[RECORDS].generation = 1;
    body[RECORDS].cells = 3;
    body[RECORDS].estimate = 1;
    seat[0].cur = OPEN(1);
    seat[0].count = 2;
    seat[0].from = record[0];
    seat[0].to = RECORD(HELD, seat[0].from, RECORDS);
    head[0] = NEXT(head[0], CELLS);
    left[0] = true
}

inline play() { run worker(0, 1); run worker(1, 2) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 4; amount = 2
    :: who == 0 && turn == 1 -> kind = INHERIT; me = 0
    :: who == 0 && turn == 2 -> kind = LOOK; set = 3
    :: who == 1 && turn == 0 -> kind = LOOK; set = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
