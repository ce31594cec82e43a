/* SPDX-License-Identifier: MIT */
/* txn.pml - an operation: read, driven, marked, committed, undone. As in lib/txn.c, step for step. */

/* ------------------------------------------------------------------------------------------- compare-and-swaps */

inline swap_head(where, old, new, done)
{
    d_step {
        done = (head[where] == old);
        if
        :: done -> head[where] = new; sound()
        :: else
        fi
    }
}

inline decide(which, old, new, word, done)
{
    d_step {
        done = (record[which] == old);
        if
        :: done -> record[which] = new; note_decision(which, old, new, word); sound()
        :: else
        fi
    }
}

/* S4: marks tell the truth. */
inline swap_mark(which, word, as, done)
{
    d_step {
        done = (sheet[which].ref == word);
        if
        :: done ->
            assert(IS_DECIDED(word) == (as == AFTER));
            sheet[which].ref = (as == AFTER -> AFTER : word + BEFORE);
            sound()
        :: else
        fi
    }
}

/* ------------------------------------------------------------------------------------------- reading operations */

inline forget_operation()
{
    h_record = 0;
    h_count = 0;
    h_from = 0;
    h_to = 0;
    g_n = 0;
    do
    :: g_n < STEPS -> h_cell[g_n] = 0; h_expected[g_n] = 0; h_own[g_n] = 0; g_n++
    :: else -> break
    od;
    g_n = 0
}

inline forget_views()
{
    g_n = 0;
    do
    :: g_n < STEPS -> cell[g_n] = 0; view_head[g_n] = 0; view[g_n] = 0; g_n++
    :: else -> break
    od;
    g_n = 0
}

inline copy_words(s)
{
    h_record = seat[s].record;
    h_from = seat[s].from
}

inline copy_steps(s)
{
    h_to = seat[s].to;
    h_count = seat[s].count;
    g_n = 0;
    do
    :: g_n < h_count ->
        h_expected[g_n] = seat[s].expected[g_n];
        h_cell[g_n] = seat[s].cell[g_n];
        h_own[g_n] = seat[s].own[g_n];
        g_n++
    :: else -> break
    od;
    g_n = 0
}

inline read_operation(word)
{
    ok = IS_OPEN(word);
    if
    :: ok ->
#ifdef FINE
        d_step { copy_words(SEAT(word)) };
        d_step { copy_steps(SEAT(word)) };
#else
        d_step { copy_words(SEAT(word)); copy_steps(SEAT(word)) };
#endif
#ifndef NO_V4
        d_step {
            ok = IS_OPEN(word);
            if
            :: !ok -> forget_operation()
            :: else
            fi
        }
#endif
    :: else
    fi
}

/* ------------------------------------------------------------------------------------------- drive and mark */

inline drive(word)
{
    j = 1;
    do
    :: d_step { j < h_count && record[h_record] != h_from -> j = 99 } /* decided already */
    :: j < h_count && record[h_record] == h_from ->
        seen = head[h_cell[j]];
        if
        :: d_step { seen == NEXT(h_expected[j], h_own[j]) -> j++; seen = 0 }
        :: d_step { seen == h_expected[j] -> seen = 0 };
#ifdef HELPER_DECIDES_ALONE
            d_step { j++ }
#else
            swap_head(h_cell[j], h_expected[j], NEXT(h_expected[j], h_own[j]), done);
            done = false
#endif
        :: d_step { seen != NEXT(h_expected[j], h_own[j]) && seen != h_expected[j] ->
#ifdef HELPER_DECIDES_ALONE
                seen = 0; j++
#else
                seen = 0; j = 99
#endif
           }
        fi
    :: j >= h_count -> break
    od;
    if
    :: j < 99 -> decide(h_record, h_from, h_to, word, done)
    :: else
    fi;
    d_step { j = 0; done = false }
}

inline conclude_closed(h)
{
#ifdef NO_L1
    mark = AFTER
#else
    mark = (sheet[SHEET(h)].ref == ref -> AFTER : 0)
#endif
}

inline set_mark(h)
{
#ifdef MARK_IS_STORED
    d_step { sheet[SHEET(h)].ref = (mark == AFTER -> AFTER : ref + BEFORE); sound() }
#else
    swap_mark(SHEET(h), ref, mark, done);
    d_step {
        if
        :: !done -> mark = 0
        :: else
        fi;
        done = false
    }
#endif
}

inline resolve_unmarked(c, h)
{
    if
    :: !IS_OPEN(ref) -> conclude_closed(h)
    :: else ->
#ifdef HELPER_WAITS
        mark = 0
#else
        read_operation(ref);
        if
        :: !ok -> conclude_closed(h)
        :: else ->
            if
            :: !peeking -> drive(ref)
            :: else
            fi;
            decided_now = (record[h_record] == h_to);
            d_step { forget_operation() };
#ifdef NO_L2
            mark = (decided_now -> AFTER : BEFORE);
#else
            mark = (IS_OPEN(ref) -> (decided_now -> AFTER : BEFORE) : 0);
#endif
            decided_now = false;
            if
            :: mark != 0 && !peeking -> set_mark(h)
            :: else
            fi
        fi;
        ok = false
#endif
    fi
}

/* `mark` of the sheet that `h` names: 0: look again. */
inline resolve(c, h)
{
    ref = sheet[SHEET(h)].ref;
    if
    :: MARK(ref) != 0 -> mark = MARK(ref)
    :: else ->
#ifndef NO_V1
        if
        :: head[c] != h -> mark = 0
        :: else -> resolve_unmarked(c, h)
        fi
#else
        resolve_unmarked(c, h)
#endif
    fi;
    ref = 0
}

/* Balance and head of cell c, into view i. */
inline snapshot(c, i)
{
    do
    :: view_head[i] = head[c];
        resolve(c, view_head[i]);
        if
        :: mark == 0
        :: mark != 0 ->
            d_step {
                view[i] = (mark == AFTER -> sheet[SHEET(view_head[i])].after : sheet[SHEET(view_head[i])].before);
                mark = 0
            };
#ifdef NO_V2
            break
#else
            if
            :: d_step { head[c] == view_head[i] ->
                    truth(c);
                    assert(peeking || view[i] == g_sum); /* S4 */
               };
               break
            :: else
            fi
#endif
        fi
    od
}

/* The same, when only the mark is wanted. */
inline settle_mark(c)
{
    do
    :: h = head[c];
        resolve(c, h);
        if
        :: mark != 0 -> break
        :: else
        fi
    od;
    atomic { h = 0; mark = 0 }
}

/* ------------------------------------------------------------------------------------------- records */

inline read_record(r)
{
    do
    :: d_step {
            was = record[r];
            truly = body[BODY(was)].generation * 16 + body[BODY(was)].cells
       };
        d_step {
            was_ref = body[BODY(was)].ref;
            generation = body[BODY(was)].generation;
            cells = body[BODY(was)].cells;
            estimate = body[BODY(was)].estimate
        };
#ifdef NO_V3
        break
#else
        if
        :: record[r] == was -> break
        :: else
        fi
#endif
    od;
    atomic { assert(truly == generation * 16 + cells); truly = 0 } /* S4: it was read whole */
}

inline mark_body()
{
    d_step {
        if
        :: body[BODY(was)].ref == was_ref -> body[BODY(was)].ref = was_ref + AFTER
        :: else
        fi
    }
}

/* Rule M, before a record leaves the word `was`. */
inline ensure_marked(r)
{
    if
    :: MARK(was_ref) == 0 && IS_OPEN(was_ref) ->
        if
        :: record[r] == was ->
#ifdef BODY_MARKED_FIRST
            mark_body();
#endif
            i = 0;
            do
            :: i < CELLS && ((cells >> i) & 1) -> settle_mark(i); i++
            :: i < CELLS && !((cells >> i) & 1) -> i++
            :: i >= CELLS -> break
            od;
            i = 0;
            if
            :: record[r] == was ->
                mark_body()
            :: else
            fi
        :: else
        fi
    :: else
    fi
}

/* ------------------------------------------------------------------------------------------- commit */

#define MY_REF REF(seat[me].cur / 2 + 1, me)
#define OP_REF REF(seat[me].cur / 2, me)

inline write_sheet(n)
{
    own_spare(seat[me].spare[n]);
    sheet[seat[me].spare[n]].ref = MY_REF;
    sheet[seat[me].spare[n]].before = view[n];
    if
    :: cell[n] == KEY_CELL && kind == RESERVE -> sheet[seat[me].spare[n]].after = ENTRY(r, new_generation)
    :: else -> sheet[seat[me].spare[n]].after = view[n] + delta
    fi;
    seat[me].expected[n] = view_head[n];
    seat[me].cell[n] = cell[n];
    seat[me].own[n] = seat[me].spare[n]
}

inline write_body()
{
    own_spare_body(seat[me].spare_body);
    body[seat[me].spare_body].ref = MY_REF;
    body[seat[me].spare_body].generation = new_generation;
    body[seat[me].spare_body].cells = new_cells;
    body[seat[me].spare_body].estimate = estimate;
    body[seat[me].spare_body].charge = charge
}

inline write_words()
{
    seat[me].record = r;
    seat[me].count = count;
    seat[me].from = was;
    seat[me].to = RECORD(status, was, seat[me].spare_body)
}

inline write_sheets()
{
    g_value = 0;
    do
    :: g_value < count -> write_sheet(g_value); g_value++
    :: else -> break
    od;
    g_value = 0
}

inline write_operation()
{
#ifdef FINE
    i = 0;
    do
    :: d_step { i < count -> write_sheet(i); i++ }
    :: i == count -> break
    od;
    i = 0;
    d_step { write_body() };
    d_step { write_words() }
#else
    d_step { write_sheets(); write_body(); write_words() }
#endif
}

inline close_operation()
{
    d_step { seat[me].cur = seat[me].cur - seat[me].cur % 2 }
}

inline take_displaced()
{
    d_step {
        g_n = 0;
        do
        :: g_n < seat[me].count -> seat[me].spare[g_n] = SHEET(seat[me].expected[g_n]); g_n++
        :: else -> break
        od;
        g_n = 0;
#ifndef DISPLACED_BODY_FORGOTTEN
        seat[me].spare_body = BODY(seat[me].from)
#endif
    }
}

#define MINE(n) NEXT(seat[me].expected[n], seat[me].own[n])

/* What the seat has in place of sheet j after an operation that was not decided, into h_own[j]. */
inline undo_sheet()
{
    seen = head[seat[me].cell[j]];
#ifndef DOOR_LEFT_OPEN
    do
    :: seen == seat[me].expected[j] ->
        swap_head(seat[me].cell[j], seat[me].expected[j], MINE(j), done);
        done = false;
        seen = head[seat[me].cell[j]]
    :: else -> break
    od;
#endif
    if
    :: seen == MINE(j) ->
#ifndef NOT_MARKED_BEFORE
        swap_mark(seat[me].own[j], OP_REF, BEFORE, done);
        done = false;
#endif
        h_own[j] = SHEET(seat[me].expected[j])
    :: else ->
#ifdef DISPLACED_IS_NEVER_INSTALLED
        h_own[j] = seat[me].own[j]
#else
#ifdef NEVER_INSTALLED_IS_DISPLACED
        h_own[j] = SHEET(seat[me].expected[j])
#else
        h_own[j] = (sheet[seat[me].own[j]].ref == OP_REF -> seat[me].own[j] : SHEET(seat[me].expected[j]))
#endif
#endif
    fi;
    seen = 0
}

/* Owner or heir, after driving. `ok`: it was decided. */
inline finish()
{
    ok = (record[seat[me].record] == seat[me].to);
#ifndef OWN_RESULT_FROM_THE_RECORD_ALONE
    if
    :: !ok -> ok = (body[BODY(seat[me].to)].ref != OP_REF)
    :: else
    fi;
#endif
    if
    :: ok -> take_displaced()
    :: else ->
#ifdef CLOSED_BEFORE_MARKED
        close_operation();
#endif
        j = 0;
        do
        :: j < seat[me].count -> undo_sheet(); j++
        :: j == seat[me].count -> break
        od;
        atomic {
            j = 0;
            do
            :: j < seat[me].count -> seat[me].spare[j] = h_own[j]; h_own[j] = 0; j++
            :: else -> break
            od;
            j = 0
        }
    fi;
    close_operation()
}

/* The owner marks, or does not: a hint decides it in lib/. */
inline mark_own()
{
    if
    :: j = 0;
        do
        :: j < seat[me].count -> swap_mark(seat[me].own[j], OP_REF, AFTER, done); j++
        :: j == seat[me].count -> break
        od;
        atomic { j = 0; done = false }
    :: skip
    fi
}

inline straight_through()
{
    j = 1;
    ok = true;
    do
    :: ok && j < seat[me].count -> swap_head(seat[me].cell[j], seat[me].expected[j], MINE(j), ok); j++
    :: !ok || j == seat[me].count -> break
    od;
    j = 0;
    if
    :: ok -> decide(seat[me].record, seat[me].from, seat[me].to, OP_REF, ok)
    :: else
    fi
}

/* `ok`: it was decided. */
inline commit()
{
#ifndef NO_RULE_M
    ensure_marked(r);
#endif
    write_operation();
#ifdef PUBLISHED_AFTER_FIRST_HEAD
    swap_head(seat[me].cell[0], seat[me].expected[0], MINE(0), ok);
    seat[me].cur = seat[me].cur + 3;
#else
    seat[me].cur = seat[me].cur + 3; /* the next number, open */
    swap_head(seat[me].cell[0], seat[me].expected[0], MINE(0), ok);
#endif
    if
    :: !ok -> close_operation()
    :: else ->
        straight_through();
        if
        :: ok -> mark_own(); take_displaced(); close_operation()
        :: else ->
            d_step { copy_words(me); copy_steps(me) };
            drive(OP_REF);
            d_step { forget_operation() };
            finish()
        fi
    fi;
    assert(ok == IS_DECIDED(OP_REF)) /* S4 */
}
