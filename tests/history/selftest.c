/* SPDX-License-Identifier: MIT */
/* selftest.c - histories made by hand, legal and illegal: the search must tell them apart. */
#include "selftest.h"

#include "history.h"
#include "tap.h"

#include <string.h>

#define LENGTH 8

/* One call; `from` and `to` are its beginning and its return, 0: cut short. Scopes: 1 is scope 0, 2 scope 1. */
#define RESERVE(slot, scopes, tokens, from, to, verdict)                                                               \
    {                                                                                                                  \
        OP_RESERVE, 0, slot, scopes, 0, tokens, from, to, .rc = TLSHM_##verdict, .id = 1 + slot                        \
    }
#define KEYED(slot, tokens, from, to, verdict, told)                                                                   \
    {                                                                                                                  \
        OP_RESERVE, 0, slot, 1, 1, tokens, from, to, .rc = TLSHM_##verdict, .id = 1 + told                             \
    }
#define FITS(slot, scopes, tokens, from, to, verdict)                                                                  \
    {                                                                                                                  \
        OP_FIT, 0, slot, scopes, 0, tokens, from, to, .rc = TLSHM_##verdict                                            \
    }
#define SETTLE(slot, tokens, from, to, verdict, charge)                                                                \
    {                                                                                                                  \
        OP_SETTLE, 0, slot, 0, 0, tokens, from, to, .rc = TLSHM_##verdict, .status = TLSHM_SETTLED, .charged = charge  \
    }
#define REFUND(slot, from, to, verdict, ended)                                                                         \
    {                                                                                                                  \
        OP_REFUND, 0, slot, 0, 0, 0, from, to, .rc = TLSHM_##verdict, .status = TLSHM_##ended                          \
    }
#define EXTEND(slot, tokens, from, to, verdict)                                                                        \
    {                                                                                                                  \
        OP_EXTEND, 0, slot, 0, 0, tokens, from, to, .rc = TLSHM_##verdict                                              \
    }
#define USAGE(scope, use, hold, asked, holds, from, to)                                                                \
    {                                                                                                                  \
        OP_USAGE, 0, 0, scope, 0, 0, from, to, .seen = { use, hold, asked, holds, use }                                \
    }
#define LEFT(scope, tokens, from, to)                                                                                  \
    {                                                                                                                  \
        OP_REMAINING, 0, 0, scope, 0, 0, from, to, .remaining = tokens                                                 \
    }

static const struct sample {
    const char *what;
    bool legal;
    struct op op[LENGTH];
} samples[] = {
    {"one after the other",
     true,
     {RESERVE(1, 3, 5, 1, 2, OK), USAGE(0, 0, 5, 1, 1, 3, 4), SETTLE(1, 7, 5, 6, OK, 7), USAGE(1, 7, 0, 1, 0, 7, 8)}},
    {"a read that is stale", false, {RESERVE(1, 1, 5, 1, 2, OK), USAGE(0, 0, 0, 0, 0, 3, 4)}},
    {"the same read, overlapping", true, {RESERVE(1, 1, 5, 1, 4, OK), USAGE(0, 0, 0, 0, 0, 2, 3)}},
    {"two reads that see it come and go", false, {RESERVE(1, 1, 5, 1, 8, OK), LEFT(0, 19, 2, 3), LEFT(0, 24, 4, 5)}},
    {"two scopes that see it at different times",
     false,
     {RESERVE(1, 3, 5, 1, 8, OK), LEFT(0, 19, 2, 3), LEFT(1, 11, 4, 5)}},
    {"a torn read", false, {RESERVE(1, 1, 5, 1, 2, OK), SETTLE(1, 4, 3, 8, OK, 4), USAGE(0, 4, 5, 1, 1, 4, 5)}},
    {"more admitted than fits", false, {RESERVE(1, 2, 6, 1, 4, OK), RESERVE(2, 2, 6, 2, 3, OK)}},
    {"one of two that is refused", true, {RESERVE(1, 2, 6, 1, 4, OK), RESERVE(2, 2, 6, 2, 3, REFUSED)}},
    {"a refusal without a reason", false, {RESERVE(1, 2, 6, 3, 4, OK), RESERVE(2, 2, 6, 1, 2, REFUSED)}},
    {"refused by what two others never had at once",
     false,
     {RESERVE(1, 2, 6, 1, 2, OK), REFUND(1, 3, 4, OK, REFUNDED), RESERVE(2, 2, 4, 5, 8, OK),
      RESERVE(3, 2, 7, 6, 7, REFUSED)}},
    {"settled twice", false, {RESERVE(1, 1, 5, 1, 2, OK), SETTLE(1, 4, 3, 6, OK, 4), SETTLE(1, 5, 4, 5, OK, 5)}},
    {"settled by one, repeated by the other",
     true,
     {RESERVE(1, 1, 5, 1, 2, OK), SETTLE(1, 4, 3, 6, REPLAY, 5), SETTLE(1, 5, 4, 5, OK, 5)}},
    {"a repeat that reports another charge",
     false,
     {RESERVE(1, 1, 5, 1, 2, OK), SETTLE(1, 4, 3, 6, REPLAY, 4), SETTLE(1, 5, 4, 5, OK, 5)}},
    {"settled and refunded",
     false,
     {RESERVE(1, 1, 5, 1, 2, OK), SETTLE(1, 4, 3, 6, OK, 4), REFUND(1, 4, 5, OK, REFUNDED)}},
    {"extended after its end", false, {RESERVE(1, 1, 5, 1, 2, OK), SETTLE(1, 4, 3, 4, OK, 4), EXTEND(1, 1, 5, 6, OK)}},
    {"a death that had an effect", true, {RESERVE(1, 1, 5, 1, 0, OK), LEFT(0, 24, 2, 3), LEFT(0, 19, 4, 5)}},
    {"a death that had none", true, {RESERVE(1, 1, 5, 1, 0, OK), LEFT(0, 24, 2, 3), LEFT(0, 24, 4, 5)}},
    {"a death whose effect is taken back", false, {RESERVE(1, 1, 5, 1, 0, OK), LEFT(0, 19, 2, 3), LEFT(0, 24, 4, 5)}},
    {"half a death", false, {RESERVE(1, 3, 5, 1, 0, OK), LEFT(0, 19, 2, 3), LEFT(1, 11, 4, 5)}},
    {"a key that was new twice", false, {KEYED(1, 2, 1, 4, OK, 1), KEYED(2, 2, 2, 3, OK, 2)}},
    {"a key and its repeat", true, {KEYED(1, 2, 1, 4, REPLAY, 2), KEYED(2, 2, 2, 3, OK, 2)}},
    {"a key whose first call died", true, {KEYED(1, 2, 1, 0, OK, 1), KEYED(2, 2, 2, 3, REPLAY, 1)}},
    {"it would not fit by what comes later", false, {FITS(0, 2, 6, 1, 2, REFUSED), RESERVE(1, 2, 6, 3, 4, OK)}},
    {"it would fit beside what comes and goes",
     true,
     {RESERVE(1, 2, 6, 1, 2, OK), FITS(0, 2, 6, 3, 6, OK), REFUND(1, 4, 5, OK, REFUNDED)}},
    {"it would fit, and two others have it", true, {FITS(0, 2, 6, 1, 4, OK), RESERVE(1, 2, 6, 2, 3, OK)}},
    {"a latch that is reached",
     false,
     {RESERVE(1, 4, 1, 1, 2, OK), SETTLE(1, 8, 3, 4, OK, 8), FITS(0, 4, 1, 5, 6, OK)}},
    {"a latch that is not",
     false,
     {RESERVE(1, 4, 1, 1, 2, OK), SETTLE(1, 7, 3, 4, OK, 7), RESERVE(2, 4, 1, 5, 6, REFUSED)}},
    {"a repeat before there was a first", false, {KEYED(1, 2, 1, 2, REPLAY, 2), KEYED(2, 2, 3, 4, OK, 2)}},
};

void selftest(void)
{
    static struct state begin;
    for (unsigned i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct op *ops[LENGTH];
        unsigned n = 0;
        while (n < LENGTH && samples[i].op[n].kind != OP_NONE) {
            ops[n] = &samples[i].op[n];
            n++;
        }
        struct trace trace = {&begin, ops, n, UINT64_MAX};
        struct verdict v = search_history(&trace);
        if (!tap_ok(v.legal == samples[i].legal && !v.exhausted, "%s: %s", samples[i].what,
                    samples[i].legal ? "legal" : "illegal"))
            search_explain(&trace);
    }
}
