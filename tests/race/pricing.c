/* SPDX-License-Identifier: MIT */
/*
 * pricing.c - threads ask for prices while files are replaced and announced: every answer is from one of two tables, and
 * each announcement is met. One handle follows a price table, the other a configuration with an override and a default.
 */
#include "crew.h"
#include "space.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tlshm/pricing.h>

#define READERS 3
#define ROUNDS 200
#define WAITS_EVERY 5 /* between, files are replaced as fast as it goes */
#define FORKS_EVERY 50
#define PATIENCE_S 120 /* until an announcement counts as never met */
#define ALARM_S 240

/* In both tables all that is asked for costs the same, so that any mixture shows. */
static const char *const tables[2] = {
    "{\"a\": {\"input_cost_per_token\": 1e-06, \"output_cost_per_token\": 1e-06}}",
    "{\"a\": {\"input_cost_per_token\": 2e-06, \"output_cost_per_token\": 2e-06}}",
};
static const char *const configs[2] = {
    "  default: {input: $1 per 1M, output: $1 per 1M}\n  overrides: {b: {input: $1 per 1M, output: $1 per 1M}}\n",
    "  default: {input: $2 per 1M, output: $2 per 1M}\n  overrides: {b: {input: $2 per 1M, output: $2 per 1M}}\n",
};

/* A handle, and what is asked of it. */
struct followed {
    tlshm_pricing *pricing;
    const char *models[3];
    unsigned count;
};

static struct followed by_table = {.models = {"a"}, .count = 1};
static struct followed by_config = {.models = {"a", "b", "c"}, .count = 3}; /* the table, an override, the default */
static atomic_bool over;
static atomic_uint mixed;

static char table_path[192], config_path[192], other_path[192];

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(other_path, "w");
    MUST(file, "%s cannot be written", other_path);
    MUST(fputs(text, file) >= 0 && fclose(file) == 0, "%s cannot be written", other_path);
    MUST(rename(other_path, path) == 0, "%s cannot be replaced", path);
}

/*
 * The configuration names a table of its own, which is written first: so that one reading finds both as one or the other,
 * each has a table of its own name.
 */
static void put_both(unsigned side)
{
    char text[1024], own[208];
    snprintf(own, sizeof own, "%s.%u", table_path, side);
    put_file(table_path, tables[side]);
    put_file(own, tables[side]);
    snprintf(text, sizeof text, "prices:\n  path: %s\n%s", own, configs[side]);
    put_file(config_path, text);
}

/* Dollars per million of one token in and one out; 0: not a price that any of the tables has. */
static unsigned dollars_of(const tlshm_prices *prices, const char *model)
{
    const tlshm_price_call call = {.model = model, .counts = {.input_total = 1, .output_total = 1}};
    tlshm_cost cost;
    if (tlshm_price(prices, &call, &cost) != TLSHM_OK || cost.input_pusd != cost.output_pusd)
        return 0;
    return cost.input_pusd == 1000000 ? 1 : cost.input_pusd == 2000000 ? 2 : 0;
}

/* All models in one go. */
static unsigned ask(struct followed *f)
{
    const tlshm_prices *prices = tlshm_pricing_begin(f->pricing);
    unsigned dollars = dollars_of(prices, f->models[0]);
    for (unsigned i = 1; i < f->count; i++)
        dollars = dollars_of(prices, f->models[i]) == dollars ? dollars : 0;
    tlshm_pricing_end(f->pricing);
    return dollars;
}

static void *read_prices(void *context)
{
    (void)context;
    struct followed *const both[] = {&by_table, &by_config};
    for (unsigned i = 0; !atomic_load(&over); i++) {
        if (ask(both[i % 2]) == 0)
            atomic_fetch_add(&mixed, 1);
    }
    return NULL;
}

/* The readers come to the announcement by themselves, and its prices are in force then. */
static bool is_met(struct followed *f, unsigned round)
{
    const struct timespec pause = {.tv_nsec = 200000};
    tlshm_pricing_info info = {0};
    for (unsigned i = 0; i < PATIENCE_S * 5000u && info.version != round; i++) {
        nanosleep(&pause, NULL);
        MUST(tlshm_pricing_get(f->pricing, &info) == 0, "get");
    }
    return info.version == round && info.err.code == 0 && ask(f) == round % 2 + 1;
}

/* Threads that a forked child knows of and can never join are no leak of it. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}

/* A child is forked while others may be reading files: it meets what was announced, by itself. */
static bool child_meets(unsigned dollars)
{
    int status = -1;
    pid_t pid = fork();
    MUST(pid >= 0, "fork");
    if (pid == 0) {
        alarm(ALARM_S);
        _exit(ask(&by_table) == dollars && ask(&by_config) == dollars ? 0 : 1);
    }
    MUST(waitpid(pid, &status, 0) == pid, "waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void open_handles(tlshm_t *t)
{
    struct tlshm_error err;
    put_both(0);
    MUST(tlshm_pricing_open(&by_table.pricing, t, table_path, NULL, 0, &err) == 0, "%s", err.text);
    MUST(tlshm_pricing_open_config(&by_config.pricing, t, config_path, &err) == 0, "%s", err.text);
}

static void remove_files(void)
{
    for (unsigned side = 0; side < 2; side++) {
        char own[208];
        snprintf(own, sizeof own, "%s.%u", table_path, side);
        unlink(own);
    }
    unlink(table_path);
    unlink(config_path);
}

int main(void)
{
    static struct space space;
    pthread_t readers[READERS];
    unsigned missed = 0, orphans = 0;
    tap_begin(ALARM_S);
    space_open(&space, NULL);
    snprintf(table_path, sizeof table_path, "%s/prices.json", space.dir);
    snprintf(config_path, sizeof config_path, "%s/tlshm.yaml", space.dir);
    snprintf(other_path, sizeof other_path, "%s/other", space.dir);
    open_handles(space.t);
    for (unsigned i = 0; i < READERS; i++)
        MUST(pthread_create(&readers[i], NULL, read_prices, NULL) == 0, "pthread_create");
    for (unsigned round = 1; round <= ROUNDS; round++) {
        put_both(round % 2);
        MUST(tlshm_pricing_announce(space.t) == 0, "announce");
        if (FORK_BESIDE_THREADS && round % FORKS_EVERY == 0)
            orphans += !child_meets(round % 2 + 1);
        if (round % WAITS_EVERY == 0)
            missed += !is_met(&by_table, round) || !is_met(&by_config, round);
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    tap_equal(atomic_load(&mixed), 0, "every answer is from one of the two tables");
    tap_equal(missed, 0, "announcements are met, the last of %u too", ROUNDS);
    tap_equal(orphans, 0, "a forked child reads by itself");
    tlshm_pricing_close(by_table.pricing);
    tlshm_pricing_close(by_config.pricing);
    remove_files();
    space_close(&space);
    return tap_end();
}
