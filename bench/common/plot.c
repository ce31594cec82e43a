/* SPDX-License-Identifier: MIT */
/*
 * plot.c - pictures by gnuplot: latency distributions, throughput against processes, growth.
 *
 * Data and script stay beside the pictures, so that they can be drawn anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"
#include "server.h"

#define PATH_SIZE 512
#define POINTS_A_CURVE 120

extern char **environ;

struct plot {
    const struct report *report;
    const char *directory;
    FILE *script;
};

static FILE *open_in(const struct plot *p, const char *name)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", p->directory, name);
    FILE *file = fopen(path, "w");
    if (!file)
        perror(path);
    return file;
}

static int close_file(FILE *file)
{
    int bad = ferror(file);
    return fclose(file) != 0 || bad ? -1 : 0;
}

/* Sets of data are blocks of one file, found by number. */
static void block_end(FILE *data)
{
    fprintf(data, "\n\n");
}

static void picture(const struct plot *p, const char *name, const char *title, const char *x, const char *y)
{
    fprintf(p->script, "set output '%s.svg'\nset title '%s'\nset xlabel '%s'\nset ylabel '%s'\n", name, title, x, y);
}

static void curve(const struct plot *p, unsigned number, const char *data, const char *title)
{
    fprintf(p->script, "%s '%s.dat' index %u using 1:2 with linespoints title '%s'", number == 0 ? "plot" : ",", data,
            number, title);
}

static const char *title_of(const struct report_row *row)
{
    return strcmp(row->peer->name, "tlshm") == 0 && strcmp(row->peer->keys, "string") == 0 ? "tlshm, by key"
                                                                                           : row->peer->name;
}

/* ------------------------------------------------------------------------------------------------------- latencies */

static void latency_data(const struct plot *p, FILE *data, const struct report_row *row)
{
    for (unsigned i = 0; i <= POINTS_A_CURVE; i++) {
        double rarity = pow(10, 0.1 + 4.9 * i / POINTS_A_CURVE); /* one call of so many is slower */
        if (rarity > (double)row->latency->count)
            break;
        double ns = timer_ns(&p->report->timer, histogram_quantile(row->latency, 1 - 1 / rarity));
        fprintf(data, "%g %g\n", rarity, ns > 0 ? ns : 0.1);
    }
    block_end(data);
}

static int is_latency(const struct report_row *row, enum plan_workload workload, unsigned processes)
{
    return row->plan.workload == workload && row->plan.processes == processes && row->plan.scopes == 2 &&
           row->plan.units == 1 && row->plan.windows == 1;
}

static int plot_latency(const struct plot *p, enum plan_workload workload, unsigned processes)
{
    char name[64], file[80], title[128];
    unsigned curves = 0;
    snprintf(name, sizeof name, "latency-%s-%u", plan_workload_name(workload), processes);
    snprintf(file, sizeof file, "%s.dat", name);
    snprintf(title, sizeof title, "Latency of a pair: %s, %u process%s", plan_workload_name(workload), processes,
             processes > 1 ? "es" : "");
    FILE *data = open_in(p, file);
    if (!data)
        return -1;
    picture(p, name, title, "one call of so many is slower", "ns");
    fprintf(p->script, "set logscale xy\n");
    for (unsigned i = 0; i < p->report->row_count; i++) {
        const struct report_row *row = &p->report->row[i];
        if (!is_latency(row, workload, processes) || row->latency->count == 0)
            continue;
        latency_data(p, data, row);
        curve(p, curves++, name, title_of(row));
    }
    fprintf(p->script, "\nunset logscale\n");
    return close_file(data);
}

/* ------------------------------------------------------------------------------------------------------ throughput */

/* Rows of a peer in the order of their processes: that of the plans. */
static unsigned throughput_data(const struct plot *p, FILE *data, const struct report_row *first)
{
    unsigned points = 0;
    for (unsigned i = 0; i < p->report->row_count; i++) {
        const struct report_row *row = &p->report->row[i];
        if (row->peer != first->peer || !is_latency(row, first->plan.workload, row->plan.processes))
            continue;
        fprintf(data, "%u %g\n", row->plan.processes, spread_figure(p->report, row, FIGURE(pairs_per_s)).median);
        points++;
    }
    block_end(data);
    return points;
}

static int plot_throughput(const struct plot *p, enum plan_workload workload)
{
    char name[64], file[80], title[128];
    unsigned curves = 0;
    snprintf(name, sizeof name, "throughput-%s", plan_workload_name(workload));
    snprintf(file, sizeof file, "%s.dat", name);
    snprintf(title, sizeof title, "Pairs a second of all processes together: %s", plan_workload_name(workload));
    FILE *data = open_in(p, file);
    if (!data)
        return -1;
    picture(p, name, title, "processes", "pairs/s");
    fprintf(p->script, "set logscale xy\n");
    for (unsigned i = 0; i < p->report->row_count; i++) {
        const struct report_row *row = &p->report->row[i];
        if (is_latency(row, workload, 2) && throughput_data(p, data, row) > 0)
            curve(p, curves++, name, title_of(row));
    }
    fprintf(p->script, "\nunset logscale\n");
    return close_file(data);
}

/* ---------------------------------------------------------------------------------------------------------- growth */

static int plot_growth(const struct plot *p)
{
    const struct report *r = p->report;
    unsigned curves = 0;
    FILE *data = open_in(p, "growth.dat");
    if (!data)
        return -1;
    picture(p, "growth", "A pair, as something else grows", "how many", "p50, ns");
    fprintf(p->script, "set logscale x\nset yrange [0:*]\n");
    for (unsigned i = 0; i < r->point_count; i++) {
        const struct report_point *point = &r->point[i];
        fprintf(data, "%" PRIu64 " %g\n", point->value, spread_of(point->p50_ns, point->rounds).median);
        if (i + 1 < r->point_count && strcmp(r->point[i + 1].axis, point->axis) == 0)
            continue;
        block_end(data);
        curve(p, curves++, "growth", point->axis);
    }
    fprintf(p->script, "\nunset logscale\nset yrange [*:*]\n");
    return close_file(data);
}

/* ------------------------------------------------------------------------------------------------------------- all */

static int has_latency(const struct report *report, enum plan_workload workload, unsigned processes)
{
    for (unsigned i = 0; i < report->row_count; i++) {
        if (is_latency(&report->row[i], workload, processes) && report->row[i].latency->count > 0)
            return 1;
    }
    return 0;
}

static int plot_all(const struct plot *p)
{
    static const struct {
        enum plan_workload workload;
        unsigned processes;
    } shapes[] = {{PLAN_ALONE, 1}, {PLAN_DISTINCT, 2}, {PLAN_HOT, 2}, {PLAN_HOT, 8}, {PLAN_HOT, 32}};
    fprintf(p->script, "set terminal svg size 900,600\nset key outside\nset grid\n");
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (has_latency(p->report, shapes[i].workload, shapes[i].processes) &&
            plot_latency(p, shapes[i].workload, shapes[i].processes) != 0)
            return -1;
    }
    for (enum plan_workload w = PLAN_DISTINCT; w <= PLAN_HOT; w++) {
        if (has_latency(p->report, w, 8) && plot_throughput(p, w) != 0)
            return -1;
    }
    return p->report->point_count > 0 ? plot_growth(p) : 0;
}

static int draw(const char *directory)
{
    char *argv[] = {(char[]){"gnuplot"}, (char[]){"plot.gp"}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "gnuplot.log", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    if (status != 0)
        fprintf(stderr, "gnuplot failed: see %s/gnuplot.log\n", directory);
    return status != 0 ? -1 : 0;
}

int report_plot(const char *directory, const struct report *report)
{
    struct plot p = {.report = report, .directory = directory};
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        perror(directory);
        return -1;
    }
    p.script = open_in(&p, "plot.gp");
    if (!p.script)
        return -1;
    int code = plot_all(&p);
    if (close_file(p.script) != 0 || code != 0) {
        fprintf(stderr, "cannot write the plots' data in %s\n", directory);
        return -1;
    }
    if (server_installed("gnuplot"))
        return draw(directory);
    fprintf(stderr, "gnuplot is not installed: data and script are in %s, no pictures\n", directory);
    return 0;
}
