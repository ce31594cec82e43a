/* SPDX-License-Identifier: MIT */
/*
 * histories.c - records what concurrent calls are told, killed callers included, and searches for an order in which a
 * sequential limiter gives the same answers: linearizability (G5). First of all the search itself is tried.
 *
 * Usage: histories [--seconds N] [--rounds N] [--seed N] [--without keys|extends]...
 */
#include "crew.h"
#include "history.h"
#include "selftest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS 15
#define ROUNDS 100000 /* the seconds are over first */

static bool read_options(int argc, char **argv, struct plan *plan)
{
    static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"seed", required_argument, NULL, 'x'},
                                            {"without", required_argument, NULL, 'w'},
                                            {NULL, 0, NULL, 0}};
    int letter;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        unsigned long long n = letter == '?' ? 0 : strtoull(optarg, NULL, 10);
        if (letter == 's')
            plan->seconds = (unsigned)n;
        else if (letter == 'r')
            plan->rounds = (unsigned)n;
        else if (letter == 'x')
            plan->seed = n;
        else if (letter == 'w')
            plan->without |= strcmp(optarg, "keys") == 0 ? WITHOUT_KEYS : WITHOUT_EXTENDS;
        else
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    static const struct crew_role roles[] = {{"worker", rounds_executed}, {NULL, NULL}};
    struct plan plan = {.seed = (uint64_t)time(NULL), .rounds = ROUNDS, .seconds = SECONDS};
    struct tally tally = {.rounds = 0};
    crew_take_over(argc, argv, roles);
    if (!read_options(argc, argv, &plan)) {
        fprintf(stderr, "usage: %s [--seconds N] [--rounds N] [--seed N] [--without keys|extends]...\n", argv[0]);
        return 2;
    }
    tap_begin(plan.seconds + 240);
    selftest();
    printf("# seed %llu%s%s\n", (unsigned long long)plan.seed, plan.without & WITHOUT_KEYS ? ", without keys" : "",
           plan.without & WITHOUT_EXTENDS ? ", without extends" : "");
    rounds_run(&plan, &tally);
    printf("# %u rounds, %u calls, %u overlap another one, %u cut short, %u refused, %u replayed, %u late, %u asked, "
           "%lu steps\n",
           tally.rounds, tally.calls, tally.overlapping, tally.cut, tally.refused, tally.replays, tally.late,
           tally.asked, tally.steps);
    tap_equal(tally.illegal, 0, "every history has a legal order");
    tap_equal(tally.exhausted, 0, "every search came to an end");
    tap_ok(tally.rounds != 0 && tally.overlapping != 0 && tally.refused != 0 && tally.asked != 0,
           "calls overlap, some are refused, some only ask");
    return tap_end();
}
