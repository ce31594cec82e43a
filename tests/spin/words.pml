/* SPDX-License-Identifier: MIT */
/*
 * txn.pml - the protocol of lib/txn.c as a model for spin: how cells and a record go from one state to the next together.
 *
 * A scene (scenes/NAME.pml) says how many seats, cells and records there are, how they begin and what each process calls;
 * then it includes this file. README.md maps what is here to the functions of lib/.
 *
 * GRAIN    Each access to shared words is a step of its own. What a seat writes into its own spares before it publishes
 *          them is one step, unless FINE is defined: then it is one for each node, and so are the reads of an operation.
 * STOPS    A process that is stopped is one that is not scheduled: every schedule is searched, fair or not.
 * DEATH    A killed process leaves at any point between two steps (`unless` around its calls), its seat as it stands.
 * SUMS     One unit. A balance is {used:4 | held:4}; the balance of a key's cell is an entry {generation | record + 1}.
 * GHOSTS   `decided` and `used_up` are written in the step of the decision and read by assertions only.
 *
 * ASSERTED after each step that concerns it
 *   S1  sound(): every cell, read as the protocol reads it, has held = sum of what is HELD and used = sum of charges (I2,
 *       I3, I4, G1, G2). So an operation shows in all its cells or in none.
 *   S2  legal(): a reservation leaves HELD once; only EXPIRED becomes SETTLED later; only what has ended is used again (G4).
 *   S3  own_spare(): plain stores go to nodes that nothing leads to. audit(): at the end each node is in one place (I1).
 *   S4  A mark tells the truth; a caller is told what happened; a snapshot is the cell's state at its second look.
 *   S5  No limit is passed by an admission; a refusal was right at one moment for all its scopes.
 *   S6  A look that writes nothing returns a state that the cell had during the look.
 * And no schedule goes on for ever (pan -l): nobody waits for anybody, whoever is stopped.
 */

#define FREE     0
#define HELD     1
#define SETTLED  2
#define REFUNDED 3
#define EXPIRED  4

#define AFTER  1
#define BEFORE 2

/* head of a cell {version | sheet}; head of a record {status | version | body}; ref {operation | seat | mark} */
#define SHEET(h)        ((h) % 16)
#define NEXT(h, s)      (((h) / 16 + 1) * 16 + (s))
#define STATUS(w)       ((w) / 256)
#define BODY(w)         ((w) % 8)
#define RECORD(st, w, b) ((st) * 256 + (((w) / 8 + 1) % 32) * 8 + (b))
#define REF(number, s)  ((number) * 16 + (s) * 4)
#define NUMBER(ref)     ((ref) / 16)
#define SEAT(ref)       (((ref) / 4) % 4)
#define MARK(ref)       ((ref) % 4)
#define OPEN(number)    ((number) * 2 + 1)
#define IS_OPEN(ref)    (seat[SEAT(ref)].cur == OPEN(NUMBER(ref)))
#define ENTRY(r, gen)   ((gen) * 8 + (r) + 1)

#define SHEETS (CELLS + SEATS * STEPS)
#define BODIES (RECORDS + SEATS)
#ifndef TRIES
#define TRIES 1 /* lost races before a call gives up */
#endif
#ifndef KEY_CELL
#define KEY_CELL 15 /* no cell: the scene has no idempotency key */
#endif
#ifndef REVERSED
#define REVERSED(who) false
#endif
#ifndef CAP
#define CAP 15 /* of held + used, for each cell */
#endif
#define ROOM(balance) ((balance) % 16 + (balance) / 16 + amount <= CAP)

/* `told`: what the caller hears; AGAIN: another try. */
#define AGAIN   0
#define DONE    1
#define REFUSED 2
#define REPLAY  3
#define UNKNOWN 4

mtype = { NOTHING, RESERVE, SETTLE, REFUND, EXPIRE, EXTEND, LOOK, PEEK, HELP, INHERIT };

typedef Sheet { byte ref, after, before };
typedef Body { byte ref, generation, cells, estimate, charge };
typedef Seat {
    byte cur, record, count;
    short from, to;
    short expected[STEPS];
    byte cell[STEPS], own[STEPS];
    byte spare[STEPS], spare_body
};

short head[CELLS];
short record[RECORDS];
Sheet sheet[SHEETS];
Body body[BODIES];
Seat seat[SEATS];

short decided[SEATS]; /* ghost: operations of the seat that were decided, by number */
byte used_up[CELLS];  /* ghost: sum of charges; of a key's cell: its entry */
bool left[SEATS];     /* nobody will write with this seat any more: the kernel said so, or its owner let go */
bool killed[SEATS];
#ifdef PEEKS
byte was_true[CELLS * 8]; /* ghost: the states that each cell has had */
byte times[CELLS];        /* ghost: how many */
#endif

hidden byte g_r, g_c, g_sum, g_value, g_n;

/* ------------------------------------------------------------------------------------------- what must be true */

#define IS_DECIDED(ref) ((decided[SEAT(ref)] >> NUMBER(ref)) & 1)

inline truth(c)
{
    g_sum = used_up[c];
    if
    :: c == KEY_CELL
    :: else ->
        g_sum = g_sum * 16;
        g_r = 0;
        do
        :: g_r < RECORDS ->
            if
            :: STATUS(record[g_r]) == HELD && ((body[BODY(record[g_r])].cells >> c) & 1) ->
                g_sum = g_sum + body[BODY(record[g_r])].estimate
            :: else
            fi;
            g_r++
        :: else -> break
        od
    fi
}

inline value(c)
{
    g_n = SHEET(head[c]);
    if
    :: MARK(sheet[g_n].ref) == AFTER || (MARK(sheet[g_n].ref) == 0 && IS_DECIDED(sheet[g_n].ref)) ->
        g_value = sheet[g_n].after
    :: else -> g_value = sheet[g_n].before
    fi
}

/* S1 */
inline sound()
{
    g_c = 0;
    do
    :: g_c < CELLS ->
        truth(g_c);
        value(g_c);
        assert(g_value == g_sum);
        g_c++
    :: else -> break
    od;
    g_c = 0
}

/* S2: from one word of a record to the next. */
inline legal(old, new)
{
    if
    :: body[BODY(new)].generation == body[BODY(old)].generation ->
        assert((STATUS(old) == HELD && STATUS(new) != FREE) || (STATUS(old) == EXPIRED && STATUS(new) == SETTLED))
    :: else ->
        assert(STATUS(old) != HELD && STATUS(new) == HELD);
        assert(body[BODY(new)].generation == body[BODY(old)].generation + 1)
    fi
}

/* S3 */
inline own_spare(which)
{
    g_c = 0;
    do
    :: g_c < CELLS -> assert(SHEET(head[g_c]) != which); g_c++
    :: else -> break
    od;
    g_c = 0
}

inline own_spare_body(which)
{
    g_r = 0;
    do
    :: g_r < RECORDS -> assert(BODY(record[g_r]) != which); g_r++
    :: else -> break
    od;
    g_r = 0
}

/* At the decision: charges come to be used, a key's cell gets its entry. */
inline note_decision(which, old, new, word)
{
    legal(old, new);
    assert(!IS_DECIDED(word));
    decided[SEAT(word)] = decided[SEAT(word)] | (1 << NUMBER(word));
    g_c = 0;
    do
    :: g_c < CELLS && !((body[BODY(new)].cells >> g_c) & 1) -> g_c++
    :: g_c < CELLS && ((body[BODY(new)].cells >> g_c) & 1) ->
        if
        :: g_c == KEY_CELL && STATUS(old) != HELD && STATUS(new) == HELD ->
            used_up[g_c] = ENTRY(which, body[BODY(new)].generation)
        :: g_c != KEY_CELL && STATUS(new) == SETTLED -> used_up[g_c] = used_up[g_c] + body[BODY(new)].charge
        :: else
        fi;
        truth(g_c);
        assert(g_c == KEY_CELL || STATUS(new) != HELD || g_sum % 16 + g_sum / 16 <= CAP); /* S5 */
#ifdef PEEKS
        times[g_c]++;
        was_true[g_c * 8 + times[g_c]] = g_sum;
#endif
        g_c++
    :: else -> break
    od;
    g_c = 0
}
