/* SPDX-License-Identifier: MIT */
/* calls.pml - what a process does with operations: calls, heirs, looks; and the processes of a scene. */

#include "txn.pml"

/* ------------------------------------------------------------------------------------------- heirs, visitors */

inline inherit()
{
    if
    :: seat[me].cur % 2 == 0 -> seat[me].cur = seat[me].cur + 2
    :: else ->
        seen = head[seat[me].cell[0]];
        if
        :: seen == MINE(0) -> ok = true
        :: seen == seat[me].expected[0] -> ok = false
        :: else -> ok = (sheet[seat[me].own[0]].ref != OP_REF)
        fi;
        seen = 0;
#ifdef HEIR_DRIVES_ANYTHING
        ok = true;
#endif
#ifdef HEIR_CLOSES_ANYTHING
        ok = false;
#endif
        if
        :: ok ->
#ifndef HEIR_DOES_NOT_DRIVE
            d_step { copy_words(me); copy_steps(me) };
            drive(OP_REF);
            d_step { forget_operation() };
#endif
            finish()
        :: else -> close_operation()
        fi
    fi;
    ok = false
}

/* Marks what the open operation of another seat has installed. */
inline help(s)
{
    h = seat[s].cur;
    if
    :: h % 2 == 1 ->
        d_step { ref = REF(h / 2, s); h = 0 };
        read_operation(ref);
        d_step { ref = 0; cells = 0 };
        if
        :: ok ->
            d_step {
                g_c = 0;
                do
                :: g_c < h_count -> cells = cells | (1 << h_cell[g_c]); g_c++
                :: else -> break
                od;
                g_c = 0;
                forget_operation()
            };
            i = 0;
            do
            :: i < CELLS && ((cells >> i) & 1) -> settle_mark(i); i++
            :: i < CELLS && !((cells >> i) & 1) -> i++
            :: i >= CELLS -> break
            od;
            i = 0
        :: else
        fi
    :: else -> h = 0
    fi;
    d_step { cells = 0; ok = false }
}

/* ------------------------------------------------------------------------------------------- the calls */

/* The cells of a set, lowest first (highest first for whoever is REVERSED); a key's cell is left for later. */
inline order_cells(set)
{
    count = 0;
    g_r = 0;
    do
    :: g_r < CELLS ->
        g_c = (REVERSED(who) -> CELLS - 1 - g_r : g_r);
        if
        :: g_c != KEY_CELL && ((set >> g_c) & 1) -> cell[count] = g_c; count++
        :: else
        fi;
        g_r++
    :: else -> break
    od;
    g_c = 0;
    g_r = 0
}

/* A refusal looks at the heads again: `ok` if all are as they were. */
inline all_current()
{
    d_step {
        ok = true;
        i = 0;
#ifdef REFUSED_WITHOUT_A_SECOND_LOOK
        i = count;
#endif
        g_c = 0;
        truly = 0;
        do
        :: g_c < count -> truth(cell[g_c]); truly = truly | !ROOM(g_sum); g_c++
        :: else -> break
        od;
        g_c = 0
    };
    do
    :: i < count && ok -> ok = (head[cell[i]] == view_head[i]); i++
    :: i == count || !ok -> break
    od;
    atomic {
        assert(!ok || truly); /* S5: all of it was so when the looks began */
        i = 0;
        truly = 0
    }
}

inline is_refused()
{
    d_step {
        ok = false;
        g_c = 0;
        do
        :: g_c < count -> ok = ok || !ROOM(view[g_c]); g_c++
        :: else -> break
        od;
        g_c = 0
    }
}

/* Does the reservation that a key's entry names still exist? */
inline read_entry(entry)
{
    ok = false;
    if
    :: entry == 0
    :: else ->
        do
        :: seen = record[entry % 8 - 1];
            ok = (STATUS(seen) != FREE && body[BODY(seen)].generation == entry / 8);
            if
            :: record[entry % 8 - 1] == seen -> break
            :: else
            fi
        od;
        seen = 0
    fi
}

/*
 * A try goes through phases, each of which takes views of some cells and concludes from them. FIRST: of a reserve with a
 * key, the key's cell; else all cells. SECOND: of such a reserve, its scopes. LAST: the key's cell once more, beside them.
 */
#define FIRST  0
#define SECOND 1
#define LAST   2
#define READY  3 /* to be committed */
#define OVER   4

#define KEYED ((set >> KEY_CELL) & 1)

inline prepare()
{
    i = 0;
    if
    :: phase == FIRST && (kind == SETTLE || kind == REFUND || kind == EXPIRE || kind == EXTEND) ->
        read_record(r);
        atomic {
            if
            :: generation != 1 || STATUS(was) == FREE -> told = UNKNOWN
            :: generation == 1 && STATUS(was) != FREE && STATUS(was) != HELD &&
               !(STATUS(was) == EXPIRED && kind == SETTLE) -> told = REPLAY
            :: else -> order_cells(cells)
            fi
        }
#ifdef PEEKS
    :: phase == FIRST && kind == PEEK -> d_step { cell[0] = r; count = 1; peeking = true; first = times[r] }
#endif
    :: phase == FIRST && kind == RESERVE && KEYED -> d_step { cell[0] = KEY_CELL; count = 1 }
    :: (phase == FIRST && kind == LOOK) || (phase == FIRST && kind == RESERVE && !KEYED) || phase == SECOND ->
        d_step { order_cells(set) }
    :: phase == LAST -> d_step { i = count; cell[count] = KEY_CELL; count++ }
    fi
}

/* Views of the cells from the i-th on. */
inline take_views()
{
    do
    :: i < count -> snapshot(cell[i], i); i++
    :: i == count -> break
    od;
    i = 0
}

/* The scopes of a reserve are known: is there room, and a record? */
inline admit()
{
    is_refused();
    if
    :: ok ->
        all_current();
        if
        :: ok -> told = REFUSED
        :: else -> phase = OVER /* look again */
        fi
    :: else ->
        read_record(r);
        if
        :: STATUS(was) == HELD -> told = REFUSED
        :: else ->
            d_step {
                new_generation = generation + 1;
                new_cells = set;
                estimate = amount;
                status = HELD;
                delta = amount;
                phase = (KEYED -> LAST : READY)
            }
        fi
    fi
}

inline conclude_key()
{
    read_entry(view[count - 1]);
    d_step {
        if
        :: ok && phase == FIRST -> told = REPLAY
#ifndef KEY_ENTERED_BLINDLY
        :: ok && phase == LAST -> phase = OVER /* it came meanwhile: look for it again */
#endif
        :: else -> phase++
        fi;
        ok = false
    }
}

/* Settle, refund, expire, extend: the same with other sums. */
inline end_or_extend()
{
    d_step {
        new_generation = generation;
        new_cells = cells;
        delta = (STATUS(was) == HELD -> 0 - estimate : 0);
        if
        :: kind == SETTLE -> status = SETTLED; charge = amount; delta = delta + 16 * amount
        :: kind == REFUND -> status = REFUNDED
        :: kind == EXPIRE -> status = EXPIRED
        :: kind == EXTEND -> status = HELD; estimate = estimate + amount; delta = amount
        fi;
        phase = READY
    }
}

#ifdef PEEKS
/* S6 */
inline conclude_peek()
{
    d_step {
        g_n = first;
        do
        :: g_n <= times[r] && was_true[r * 8 + g_n] != view[0] -> g_n++
        :: else -> break
        od;
        assert(g_n <= times[r]);
        g_n = 0;
        peeking = false;
        first = 0;
        told = DONE
    }
}
#endif

inline conclude()
{
    if
    :: kind == LOOK -> told = DONE
#ifdef PEEKS
    :: kind == PEEK -> conclude_peek()
#endif
    :: kind == RESERVE && (phase == SECOND || !KEYED) -> admit()
#if KEY_CELL < CELLS
    :: kind == RESERVE && phase != SECOND && KEYED -> conclude_key()
#endif
    :: kind == SETTLE || kind == REFUND || kind == EXPIRE || kind == EXTEND -> end_or_extend()
    fi
}

inline try_once()
{
    phase = FIRST;
    do
    :: told == AGAIN && phase <= LAST ->
        prepare();
        if
        :: told == AGAIN -> take_views(); conclude()
        :: else
        fi
    :: told != AGAIN || phase > LAST -> break
    od;
    if
    :: told == AGAIN && phase == READY -> commit(); told = (ok -> DONE : AGAIN)
    :: else
    fi
}

inline call_once()
{
    if
#ifdef HELPS
    :: kind == HELP -> help(r); told = DONE
#endif
#ifdef HEIRS
    :: kind == INHERIT ->
#ifndef STOPPED_IS_DEAD
        left[me];
#endif
        inherit();
        told = DONE
#endif
    :: else -> try_once()
    fi;
    d_step {
        ok = false; was = 0; was_ref = 0; generation = 0; cells = 0; estimate = 0; count = 0; delta = 0; phase = 0;
        charge = 0; status = 0; new_generation = 0; new_cells = 0;
        forget_views()
    }
}

/* Process `who` works on seat `me` through its scene's script. */
proctype worker(byte who; byte me)
{
    mtype kind;
    byte turn, tries, told, r, set, amount;                                    /* the call */
    byte count, cell[STEPS], view[STEPS];                                      /* its snapshots */
    short view_head[STEPS], was, delta, seen, h;
    byte was_ref, generation, cells, estimate;                                 /* the record */
    byte phase, charge, status, new_generation, new_cells;                     /* and what follows */
    byte h_record, h_count, h_cell[STEPS], h_own[STEPS];                       /* somebody's operation */
    short h_from, h_to, h_expected[STEPS];
    byte ref, mark, i, j, truly;
    bool ok, done, decided_now, peeking;
#ifdef PEEKS
    byte first;
#endif
    {
        do
        :: d_step { kind = NOTHING; script(); turn++; tries = 0; told = AGAIN };
            if
            :: kind == NOTHING -> break
            :: else ->
                do
                :: told == AGAIN && tries <= TRIES -> tries++; call_once()
                :: told != AGAIN || tries > TRIES -> break
                od;
                atomic { heard(); told = 0; tries = 0; r = 0; set = 0; amount = 0 }
            fi
        od;
        left[me] = true
    } unless {
        d_step { killed[me] && !left[me] && who == me -> left[me] = true }
    }
}

#ifdef KILLS
proctype killer()
{
    killed[0] = true
}
#endif

/* S3, when everybody has finished and no operation is left open: each node is in exactly one place. */
inline audit()
{
    g_n = 0;
    do
    :: g_n < SEATS && seat[g_n].cur % 2 == 0 -> g_n++
    :: else -> break
    od;
    g_n = (g_n == SEATS -> 0 : SHEETS + BODIES);
    do
    :: g_n < SHEETS ->
        g_sum = 0;
        g_c = 0;
        do
        :: g_c < CELLS -> g_sum = g_sum + (SHEET(head[g_c]) == g_n -> 1 : 0); g_c++
        :: else -> break
        od;
        g_c = 0;
        do
        :: g_c < SEATS * STEPS -> g_sum = g_sum + (seat[g_c / STEPS].spare[g_c % STEPS] == g_n -> 1 : 0); g_c++
        :: else -> break
        od;
        assert(g_sum == 1);
        g_n++
    :: else -> break
    od;
    g_n = (g_n == SHEETS -> 0 : BODIES);
    do
    :: g_n < BODIES ->
        g_sum = 0;
        g_c = 0;
        do
        :: g_c < RECORDS -> g_sum = g_sum + (BODY(record[g_c]) == g_n -> 1 : 0); g_c++
        :: else -> break
        od;
        g_c = 0;
        do
        :: g_c < SEATS -> g_sum = g_sum + (seat[g_c].spare_body == g_n -> 1 : 0); g_c++
        :: else -> break
        od;
        assert(g_sum == 1);
        g_n++
    :: else -> break
    od
}

/* As the segment is when it was made. */
inline fill()
{
    g_n = 0;
    do
    :: g_n < SHEETS -> sheet[g_n].ref = AFTER; g_n++
    :: else -> break
    od;
    g_n = 0;
    do
    :: g_n < BODIES -> body[g_n].ref = AFTER; g_n++
    :: else -> break
    od;
    g_n = 0;
    do
    :: g_n < CELLS -> head[g_n] = 16 + g_n; g_n++
    :: else -> break
    od;
    g_n = 0;
    do
    :: g_n < RECORDS -> record[g_n] = 8 + g_n; g_n++
    :: else -> break
    od;
    g_n = 0;
    do
    :: g_n < SEATS * STEPS -> seat[g_n / STEPS].spare[g_n % STEPS] = CELLS + g_n; g_n++
    :: else -> break
    od;
    g_n = 0;
    do
    :: g_n < SEATS -> seat[g_n].spare_body = RECORDS + g_n; g_n++
    :: else -> break
    od;
    g_n = 0
}

/* A hold that was made before: generation 1 of record rec, on a set of cells. */
inline hold(rec, set, amount)
{
    record[rec] = HELD * 256 + 8 + rec;
    body[rec].generation = 1;
    body[rec].cells = set;
    body[rec].estimate = amount;
    g_c = 0;
    do
    :: g_c < CELLS && ((set >> g_c) & 1) -> sheet[g_c].after = sheet[g_c].after + amount; g_c++
    :: g_c < CELLS && !((set >> g_c) & 1) -> g_c++
    :: else -> break
    od;
    g_c = 0
}

inline begin()
{
    g_n = 0;
#ifdef PEEKS
    do
    :: g_n < CELLS -> was_true[g_n * 8] = sheet[g_n].after; g_n++
    :: else -> break
    od;
    g_n = 0;
#endif
    sound()
}

init
{
    d_step { fill(); start(); begin() };
    atomic {
        play();
#ifdef KILLS
        run killer()
#endif
    };
    _nr_pr == 1;
    d_step { at_end(); audit() }
}
