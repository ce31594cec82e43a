/* SPDX-License-Identifier: MIT */
/*
 * rounds.c - rounds over all plans; within a plan the peers follow each other in an order that turns with the round, so
 * that no peer always has the same neighbour or the same moment.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "questions.h"

#define MS UINT64_C(1000000)

static const struct peer *const peers[] = {
    &peer_floor, &peer_mutex, &peer_mutex_each, &peer_tlshm, &peer_tlshm_string, &peer_redis, &peer_memcached,
};
#define PEERS (sizeof peers / sizeof *peers)

static const struct trial_pace paces[] = {
    [MODE_SMOKE] = {2 * MS, 5 * MS, 5 * MS, 2, 5 * MS},
    [MODE_QUICK] = {10 * MS, 45 * MS, 45 * MS, 6, 20 * MS},
    [MODE_FULL] = {25 * MS, 80 * MS, 80 * MS, 16, 20 * MS},
};

void plan_add(struct plan_list *list, enum plan_workload workload, unsigned processes, unsigned scopes, unsigned units,
              unsigned windows)
{
    if (list->count < PLANS_MAX)
        list->plan[list->count++] = (struct plan){workload, processes, scopes, units, windows, NULL};
}

/* --------------------------------------------------------------------------------------------------------- rows */

static void note_missing(struct report *report)
{
    for (unsigned i = 0; i < PEERS; i++) {
        const char *why = peers[i]->missing ? peers[i]->missing() : NULL;
        if (why)
            report_skip(report, "%s: %s", peers[i]->name, why);
    }
}

/* Whose keys are strings takes part where names are a question: in few plans. */
static int takes_part(enum mode mode, const struct peer *peer, const struct plan *plan)
{
    if (!trial_possible(peer, plan) || (peer->missing && peer->missing()))
        return 0;
    if (peer != &peer_tlshm_string)
        return 1;
    return mode == MODE_SMOKE ? plan->workload == PLAN_ALONE || plan->mix : plan->units > 1 || plan->windows == 1;
}

static int add_row(struct report *report, const struct peer *peer, const struct plan *plan)
{
    struct report_row *row = &report->row[report->row_count++];
    row->peer = peer;
    row->plan = *plan;
    row->latency = calloc(1, sizeof *row->latency);
    return row->latency ? 0 : -1;
}

static const struct report_row *row_with(const struct report *report, unsigned from, const struct peer *peer)
{
    for (unsigned i = from; i < report->row_count; i++) {
        if (report->row[i].peer == peer)
            return &report->row[i];
    }
    return NULL;
}

static int add_rows(enum mode mode, struct report *report, const struct plan *plan)
{
    const unsigned from = report->row_count;
    for (unsigned i = 0; i < PEERS; i++) {
        if (takes_part(mode, peers[i], plan) && add_row(report, peers[i], plan) != 0)
            return -1;
    }
    for (unsigned i = from; i < report->row_count; i++) {
        report->row[i].floor = row_with(report, from, &peer_floor);
        report->row[i].mutex = row_with(report, from, &peer_mutex);
    }
    return 0;
}

static int make_rows(const struct settings *s, const struct plan_list *list, struct report *report)
{
    report->row = calloc((list->count + 1) * PEERS, sizeof *report->row);
    if (!report->row)
        return -1;
    for (unsigned i = 0; i < list->count; i++) {
        if (s->workload != PLAN_WORKLOADS && s->workload != list->plan[i].workload)
            continue;
        if (add_rows(s->mode, report, &list->plan[i]) != 0)
            return -1;
    }
    return 0;
}

void rounds_free(struct report *report)
{
    for (unsigned i = 0; i < report->row_count; i++)
        free(report->row[i].latency);
    free(report->row);
}

/* ------------------------------------------------------------------------------------------------------- rounds */

static void show_progress(const struct report *report, unsigned round, const struct report_row *row)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kround %u of %u: %u scopes, %s x%u, %s (%s)", round + 1, report->rounds,
                row->plan.scopes, plan_workload_name(row->plan.workload), row->plan.processes, row->peer->name,
                row->peer->keys);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static unsigned rows_of_plan(const struct report *report, unsigned first)
{
    unsigned count = 1;
    while (first + count < report->row_count &&
           memcmp(&report->row[first + count].plan, &report->row[first].plan, sizeof(struct plan)) == 0)
        count++;
    return count;
}

static int run_round(struct report *report, const struct trial_pace *pace, unsigned round)
{
    for (unsigned first = 0, count; first < report->row_count; first += count) {
        count = rows_of_plan(report, first);
        for (unsigned i = 0; i < count; i++) {
            struct report_row *row = &report->row[first + (i + round) % count];
            show_progress(report, round, row);
            if (trial_run(row->peer, &row->plan, pace, &report->timer, &row->round[round], row->latency) != 0)
                return -1;
        }
    }
    return 0;
}

int rounds_run(const struct settings *s, const struct plan_list *list, struct report *report)
{
    int code = make_rows(s, list, report);
    if (report->row_count > 0)
        note_missing(report);
    for (unsigned round = 0; code == 0 && round < report->rounds; round++)
        code = run_round(report, &paces[s->mode], round);
    for (unsigned i = 0; i < PEERS; i++) {
        if (peers[i]->close)
            peers[i]->close();
    }
    clear_progress();
    return code;
}
