/* SPDX-License-Identifier: MIT */
/* A process stopped for ever after it decided a settle, before it closed it. Two others want the record for another scope. */
#define SEATS 3
#define CELLS 2
#define RECORDS 1
#define STEPS 1

#include "../words.pml"

inline start()
{
    hold(0, 1, 2);
    used_up[0] = 1;
    decided[0] = 1 << 1;
    sheet[CELLS].ref = REF(1, 0);
    sheet[CELLS].before = 2;
    sheet[CELLS].after = 16;
    seat[0].cur = OPEN(1);
    seat[0].count = 1;
    seat[0].from = record[0];
    seat[0].expected[0] = head[0];
    seat[0].own[0] = CELLS;
    body[RECORDS].ref = REF(1, 0);
    body[RECORDS].generation = 1;
    body[RECORDS].cells = 1;
    body[RECORDS].charge = 1;
    seat[0].to = RECORD(SETTLED, seat[0].from, RECORDS);
    record[0] = seat[0].to;
    head[0] = NEXT(head[0], CELLS)
}

inline play() { run worker(0, 1); run worker(1, 2) }

inline script()
{
    if
    :: who == 0 && turn == 0 -> kind = RESERVE; r = 0; set = 2; amount = 1
    :: who == 1 && turn == 0 -> kind = RESERVE; r = 0; set = 2; amount = 2
    :: who == 1 && turn == 1 -> kind = LOOK; set = 1
    :: else
    fi
}

inline heard() { told = told }
inline at_end() { true }

#include "../calls.pml"
