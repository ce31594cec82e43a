/* SPDX-License-Identifier: MIT */
/* figures.c - what is seen over time: taken, judged, written and drawn. See mixed.h. */
#include "mixed.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* One table for the head of the CSV, the bounds and the pictures. */
static const struct column {
    const char *name;
    uint64_t slack; /* by how much the end may be above the middle; NONE: it may grow, or its table bounds it */
    unsigned panel; /* of the picture; 0: in none */
} columns[MIXED_COLUMNS] = {
#define NONE UINT64_MAX
    [MIXED_SECONDS] = {"seconds", NONE, 0},    [MIXED_STEADY_KB] = {"steady_kb", 512, 1},
    [MIXED_PARENT_KB] = {"parent_kb", 512, 1}, [MIXED_WATCH_KB] = {"watch_kb", 512, 1},
    [MIXED_STEADY_FDS] = {"steady_fds", 2, 2}, /* attaching, or reading /proc about a dead one, at that moment */
    [MIXED_PARENT_FDS] = {"parent_fds", 2, 2}, [MIXED_WATCH_FDS] = {"watch_fds", 0, 2},
    [MIXED_SEATS] = {"seats", 24, 3},          [MIXED_SCOPES] = {"scopes", NONE, 4},
    [MIXED_LISTS] = {"lists", 24, 3},          [MIXED_TIERS] = {"tiers", 2, 3},
    [MIXED_HELD] = {"held", 1024, 4},          [MIXED_ENDED] = {"ended", NONE, 4},
    [MIXED_SHEETS] = {"sheets", 0, 4},         [MIXED_SHM_KB] = {"shm_kb", 0, 5},
    [MIXED_FILES] = {"files", 0, 2},           [MIXED_CALLS] = {"calls", NONE, 6},
    [MIXED_REFUSED] = {"refused", NONE, 6},    [MIXED_EXPIRED] = {"expired", NONE, 6},
    [MIXED_RECYCLED] = {"recycled", NONE, 6},  [MIXED_KILLS] = {"kills", NONE, 0},
    [MIXED_STOPS] = {"stops", NONE, 0},
};

static const struct panel {
    const char *title, *unit;
    bool log;
} panels[] = {
    {NULL, NULL, false},
    {"Memory of processes that live long", "kB", false},
    {"Descriptors, and files of the segment's directory", "how many", false},
    {"Seats, lists and tiers in use", "how many", false},
    {"Scopes, reservations, and sheets that are in one place", "how many", true},
    {"The segment's directory", "kB", false},
    {"Calls so far, and what came of them", "how many", true},
};
#define PANELS (sizeof panels / sizeof panels[0])

/* ----------------------------------------------------------------------------------------------------------- taking */

uint64_t *mixed_row(struct mixed_figures *figures)
{
    if (figures->rows == figures->room) {
        figures->room = figures->room ? 2 * figures->room : 64;
        figures->row = realloc(figures->row, figures->room * sizeof *figures->row);
        MUST(figures->row != NULL, "no memory for %u rows", figures->room);
    }
    return memset(figures->row[figures->rows++], 0, sizeof *figures->row);
}

/* Without what is mapped from files: of the segment more and more pages are touched. */
uint64_t mixed_memory_kb(pid_t pid)
{
    char path[64];
    unsigned long size = 0, resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    MUST(file != NULL && fscanf(file, "%lu %lu %lu", &size, &resident, &shared) == 3, "%s: %s", path, strerror(errno));
    fclose(file);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Entries of a directory that are not hidden. */
static uint64_t entries(const char *path)
{
    uint64_t count = 0;
    DIR *dir = opendir(path);
    MUST(dir != NULL, "%s: %s", path, strerror(errno));
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

uint64_t mixed_descriptors(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    return entries(path) - (pid == getpid()); /* one is open for this look */
}

void mixed_directory(const char *path, uint64_t *kb, uint64_t *files)
{
    DIR *dir = opendir(path);
    MUST(dir != NULL, "%s: %s", path, strerror(errno));
    *kb = *files = 0;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat status;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        MUST(fstatat(dirfd(dir), e->d_name, &status, 0) == 0, "%s: %s", e->d_name, strerror(errno));
        *kb += (uint64_t)status.st_blocks / 2;
        ++*files;
    }
    closedir(dir);
}

/* ---------------------------------------------------------------------------------------------------------- judging */

static uint64_t highest(const struct mixed_figures *f, unsigned column, unsigned from, unsigned to)
{
    uint64_t most = 0;
    for (unsigned i = from; i < to; i++)
        most = f->row[i][column] > most ? f->row[i][column] : most;
    return most;
}

void mixed_judge(const struct mixed_figures *f)
{
    unsigned third = f->rows / 3;
    if (!tap_ok(f->rows >= MIXED_ROWS_LEAST, "%u moments were looked at", f->rows))
        return;
    for (unsigned i = 0; i < MIXED_COLUMNS; i++) {
        if (columns[i].slack == NONE)
            continue;
        uint64_t middle = highest(f, i, third, 2 * third), end = highest(f, i, 2 * third, f->rows);
        tap_ok(end <= middle + columns[i].slack && middle > 0,
               "%s: at most %" PRIu64 " in the second third, %" PRIu64 " in the last one (may be %" PRIu64 " more)",
               columns[i].name, middle, end, columns[i].slack);
    }
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static FILE *open_in(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        fprintf(stderr, "mixed: %s: %s\n", path, strerror(errno));
    return file;
}

static bool close_well(FILE *file)
{
    bool bad = ferror(file) != 0;
    return fclose(file) == 0 && !bad;
}

static bool write_csv(const struct mixed_figures *f, const char *directory)
{
    FILE *csv = open_in(directory, "mixed.csv");
    if (csv == NULL)
        return false;
    for (unsigned i = 0; i < MIXED_COLUMNS; i++)
        fprintf(csv, "%s%s", i ? "," : "", columns[i].name);
    for (unsigned row = 0; row < f->rows; row++)
        for (unsigned i = 0; i < MIXED_COLUMNS; i++)
            fprintf(csv, "%s%" PRIu64, i ? "," : "\n", f->row[row][i]);
    fputc('\n', csv);
    return close_well(csv);
}

static void write_panel(FILE *script, unsigned number)
{
    const struct panel *panel = &panels[number];
    const char *before = "plot";
    fprintf(script, "set title \"%s\"\nset ylabel '%s'\n%s\n", panel->title, panel->unit,
            panel->log ? "set logscale y\nset yrange [1:*]" : "unset logscale\nset yrange [0:*]");
    for (unsigned i = 0; i < MIXED_COLUMNS; i++)
        if (columns[i].panel == number) {
            fprintf(script, "%s 'mixed.csv' using 1:%u with lines title '%s'", before, i + 1, columns[i].name);
            before = ",";
        }
    fputc('\n', script);
}

static bool write_script(const char *directory)
{
    FILE *script = open_in(directory, "mixed.gp");
    if (script == NULL)
        return false;
    fputs("set terminal svg size 1500,1200\nset output 'mixed.svg'\nset datafile separator ','\nset grid\n"
          "set key outside noenhanced\nset xlabel 'seconds'\nset multiplot layout 3,2\n",
          script);
    for (unsigned i = 1; i < PANELS; i++)
        write_panel(script, i);
    fputs("unset multiplot\n", script);
    return close_well(script);
}

/* The data and the script stay beside the picture, and are there without it. */
static void draw(const char *directory)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        if (chdir(directory) == 0)
            execlp("gnuplot", "gnuplot", "mixed.gp", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        printf("# gnuplot is not installed: the figures are in %s/mixed.csv, no graph\n", directory);
    else
        tap_equal((unsigned)status, 0, "the graph of all this is %s/mixed.svg", directory);
}

bool mixed_write(const struct mixed_figures *figures, const char *directory)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "mixed: %s: %s\n", directory, strerror(errno));
        return false;
    }
    if (!write_csv(figures, directory) || !write_script(directory))
        return false;
    draw(directory);
    return true;
}
