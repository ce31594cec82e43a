/* SPDX-License-Identifier: MIT */
/* pricing.c - prices that are read again when the segment says so: by whom, when, from what, and what a bad file does. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tlshm/config.h>
#include <tlshm/pricing.h>

#include "space.h"

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#define ONE "{\"m\": {\"input_cost_per_token\": 1e-06, \"output_cost_per_token\": 1e-06}}"
#define TWO "{\"m\": {\"input_cost_per_token\": 2e-06, \"output_cost_per_token\": 2e-06}}"

/* A segment, and beside it a table and a configuration. */
struct place {
    struct space space;
    char table[192], config[192], other[192];
};

static void open_place(struct place *p)
{
    space_open(&p->space, NULL);
    snprintf(p->table, sizeof p->table, "%s/prices.json", p->space.dir);
    snprintf(p->config, sizeof p->config, "%s/tlshm.yaml", p->space.dir);
    snprintf(p->other, sizeof p->other, "%s/other", p->space.dir);
}

static void close_place(struct place *p)
{
    unlink(p->table);
    unlink(p->config);
    space_close(&p->space);
}

/* Complete, then into place. */
static void put_file(const struct place *p, const char *path, const char *text)
{
    FILE *file = fopen(p->other, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(rename(p->other, path), 0);
}

/* What one input token of a model costs, in millionths of a dollar per million; UINT64_MAX: it has no price. */
static uint64_t dollars(tlshm_pricing *pricing, const char *model)
{
    const tlshm_price_call call = {.model = model, .counts = {.input_total = 1}};
    tlshm_cost cost;
    int rc = tlshm_pricing_price(pricing, &call, &cost);
    cr_assert_geq(rc, 0);
    return rc == TLSHM_OK ? cost.pusd / 1000000 : UINT64_MAX;
}

static tlshm_pricing_info info_of(const tlshm_pricing *pricing)
{
    tlshm_pricing_info info;
    cr_assert_eq(tlshm_pricing_get(pricing, &info), 0);
    return info;
}

static void announce(const struct place *p)
{
    cr_assert_eq(tlshm_pricing_announce(p->space.t), 0);
}

/* ---------------------------------------------------------------------------------------------------------- following */

Test(pricing, a_file_is_read_again_when_it_was_announced_and_not_before)
{
    struct place p;
    tlshm_pricing *pricing;
    open_place(&p);
    put_file(&p, p.table, ONE);
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, p.table, NULL, 0, NULL), 0);
    cr_expect_eq(dollars(pricing, "m"), 1);
    put_file(&p, p.table, TWO);
    cr_expect_eq(dollars(pricing, "m"), 1);
    cr_expect_eq(tlshm_pricing_refresh(pricing, NULL), 0, "nothing was announced");
    announce(&p);
    cr_expect_eq(info_of(pricing).version, 0, "a look reads no file");
    cr_expect_eq(info_of(pricing).announced, 1);
    cr_expect_eq(dollars(pricing, "m"), 2);
    cr_expect_eq(info_of(pricing).version, 1);
    cr_expect_eq(info_of(pricing).err.code, 0);
    cr_expect_eq(info_of(pricing).prices.models, 1);
    put_file(&p, p.table, ONE);
    announce(&p);
    announce(&p);
    cr_expect_eq(tlshm_pricing_refresh(pricing, NULL), 1);
    cr_expect_eq(tlshm_pricing_refresh(pricing, NULL), 0, "once for two announcements");
    cr_expect_eq(dollars(pricing, "m"), 1);
    tlshm_pricing_close(pricing);
    close_place(&p);
}

Test(pricing, a_read_only_attachment_follows_and_does_not_announce)
{
    struct place p;
    tlshm_pricing *pricing;
    tlshm_t *reader;
    open_place(&p);
    put_file(&p, p.table, ONE);
    cr_assert_eq(tlshm_attach(&reader, p.space.path, TLSHM_READONLY, NULL), 0);
    cr_assert_eq(tlshm_pricing_open(&pricing, reader, p.table, NULL, 0, NULL), 0);
    put_file(&p, p.table, TWO);
    cr_expect_eq(tlshm_pricing_announce(reader), -TLSHM_EREADONLY);
    cr_expect_eq(dollars(pricing, "m"), 1);
    announce(&p);
    cr_expect_eq(dollars(pricing, "m"), 2);
    tlshm_pricing_close(pricing);
    tlshm_detach(reader);
    close_place(&p);
}

Test(pricing, prices_of_ones_own_stay_over_every_reading)
{
    static const tlshm_own_price own[] = {
        {"N", "input $5"}, {NULL, "input $7"}, {"n", "input $6"}, {"x/m", "input $9 output $9"}};
    struct place p;
    tlshm_pricing *pricing;
    open_place(&p);
    put_file(&p, p.table, ONE);
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, p.table, own, COUNT_OF(own), NULL), 0);
    for (unsigned round = 1; round <= 2; round++) {
        cr_expect_eq(dollars(pricing, "m"), round);
        cr_expect_eq(dollars(pricing, "n"), 6, "the later one counts");
        cr_expect_eq(dollars(pricing, "x/m"), 9);
        cr_expect_eq(dollars(pricing, "unknown"), 7);
        cr_expect_eq(info_of(pricing).prices.overrides, 2);
        cr_expect(info_of(pricing).prices.has_default);
        put_file(&p, p.table, TWO);
        announce(&p);
    }
    tlshm_pricing_close(pricing);
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, own, 1, NULL), 0, "without a table");
    cr_expect_eq(dollars(pricing, "n"), 5);
    cr_expect_eq(dollars(pricing, "m"), UINT64_MAX);
    tlshm_pricing_close(pricing);
    close_place(&p);
}

Test(pricing, what_is_asked_between_begin_and_end_is_of_one_table)
{
    struct place p;
    tlshm_pricing *pricing;
    const tlshm_price_call call = {.model = "m", .counts = {.input_total = 1}};
    tlshm_cost cost;
    char nearest[TLSHM_MODEL_MAX + 1];
    open_place(&p);
    put_file(&p, p.table, ONE);
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, p.table, NULL, 0, NULL), 0);
    const tlshm_prices *table = tlshm_pricing_begin(pricing);
    put_file(&p, p.table, TWO);
    announce(&p);
    cr_expect_eq(tlshm_pricing_begin(pricing), table, "inside, nothing is read again");
    cr_expect_eq(tlshm_pricing_refresh(pricing, NULL), 0);
    cr_expect_eq(dollars(pricing, "m"), 1);
    cr_assert_eq(tlshm_price(table, &call, &cost), TLSHM_OK);
    cr_expect_eq(cost.pusd, 1000000);
    cr_expect_eq(tlshm_prices_nearest(table, "M", nearest, sizeof nearest), 1);
    tlshm_pricing_end(pricing);
    tlshm_pricing_end(pricing);
    cr_expect_eq(dollars(pricing, "m"), 2);
    tlshm_pricing_close(pricing);
    close_place(&p);
}

/* -------------------------------------------------------------------------------------------------------- bad files */

Test(pricing, a_bad_file_changes_nothing_and_is_told)
{
    static const struct {
        const char *text; /* NULL: no file */
        int code;
        const char *complaint;
    } files[] = {
        {"{\"m\":\n nonsense}", -TLSHM_EINVAL, "line 2, column 9"},
        {"{}", -TLSHM_EINVAL, "no model in it has a price"},
        {"", -TLSHM_EINVAL, "line 1"},
        {NULL, -TLSHM_ENOENT, "no such file"},
    };
    struct place p;
    tlshm_pricing *pricing;
    struct tlshm_error err;
    open_place(&p);
    put_file(&p, p.table, TWO);
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, p.table, NULL, 0, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (files[i].text)
            put_file(&p, p.table, files[i].text);
        else
            unlink(p.table);
        announce(&p);
        cr_expect_eq(tlshm_pricing_refresh(pricing, &err), files[i].code, "%zu", i);
        cr_expect_not_null(strstr(err.text, files[i].complaint), "%zu: %s", i, err.text);
        cr_expect_not_null(strstr(err.text, p.table), "%zu: %s", i, err.text);
        cr_expect_eq(dollars(pricing, "m"), 2);
        cr_expect_eq(tlshm_pricing_refresh(pricing, &err), 0, "it is not tried again by itself");
        tlshm_pricing_info info = info_of(pricing);
        cr_expect_eq(info.err.code, files[i].code);
        cr_expect_not_null(strstr(info.err.text, files[i].complaint));
        cr_expect_eq(info.version, 0);
        cr_expect_eq(info.announced, i + 1);
    }
    put_file(&p, p.table, ONE);
    announce(&p);
    cr_expect_eq(dollars(pricing, "m"), 1);
    cr_expect_eq(info_of(pricing).err.code, 0);
    cr_expect_eq(info_of(pricing).version, COUNT_OF(files) + 1);
    tlshm_pricing_close(pricing);
    close_place(&p);
}

Test(pricing, what_cannot_be_opened_says_why)
{
    static const tlshm_own_price wrong[] = {{"m", "input $1 output"}}, empty[] = {{"", "free"}}, none[] = {{"m", NULL}};
    struct place p;
    struct tlshm_error err = {0};
    tlshm_pricing *pricing = NULL;
    tlshm_pricing_info info;
    char long_name[TLSHM_MODEL_MAX + 2];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const tlshm_own_price too_long[] = {{long_name, "free"}};
    open_place(&p);
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, p.table, NULL, 0, &err), -TLSHM_ENOENT);
    cr_expect_not_null(strstr(err.text, p.table), "%s", err.text);
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, wrong, 1, &err), -TLSHM_EINVAL);
    cr_expect_not_null(strstr(err.text, "column 16"), "%s", err.text);
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, too_long, 1, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, empty, 1, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, none, 1, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, NULL, 1, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open(&pricing, NULL, NULL, NULL, 0, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open(NULL, p.space.t, NULL, NULL, 0, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open_config(&pricing, p.space.t, NULL, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_open_config(&pricing, p.space.t, p.config, &err), -TLSHM_ENOENT);
    cr_expect_null(pricing, "nothing is written after an error");
    cr_expect_eq(tlshm_pricing_refresh(NULL, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_get(NULL, &info), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_pricing_announce(NULL), -TLSHM_EINVAL);
    cr_expect_null(tlshm_pricing_begin(NULL));
    tlshm_pricing_end(NULL);
    cr_expect_eq(tlshm_pricing_price(NULL, &(tlshm_price_call){.model = "m"}, &(tlshm_cost){0}), -TLSHM_EINVAL);
    tlshm_pricing_close(NULL);
    close_place(&p);
}

Test(pricing, there_can_be_no_more_than_4096_prices_of_ones_own)
{
    enum { MOST = 4096 };
    static tlshm_own_price own[MOST + 1];
    static char names[MOST + 1][8];
    struct place p;
    tlshm_pricing *pricing;
    struct tlshm_error err = {0};
    open_place(&p);
    for (unsigned i = 0; i <= MOST; i++) {
        snprintf(names[i], sizeof names[i], "m%u", i);
        own[i] = (tlshm_own_price){names[i], "input $1"};
    }
    cr_expect_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, own, MOST + 1, &err), -TLSHM_ERANGE);
    cr_expect_str_eq(err.text, "m4096: too many prices of one's own");
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, NULL, own, MOST, &err), 0);
    cr_expect_eq(dollars(pricing, "m4095"), 1);
    tlshm_pricing_close(pricing);
    close_place(&p);
}

/* ---------------------------------------------------------------------------------------------------- configurations */

static void put_config(const struct place *p, const char *more)
{
    char text[1024];
    snprintf(text, sizeof text, "prices:\n  path: %s\n%s", p->table, more);
    put_file(p, p->config, text);
}

static int apply(const struct place *p)
{
    tlshm_config *config;
    cr_assert_eq(tlshm_config_load(&config, p->config, NULL, NULL, NULL), 0);
    int rc = tlshm_config_apply(p->space.t, config, NULL, NULL, NULL);
    tlshm_config_free(config);
    return rc;
}

Test(pricing, a_configuration_is_read_again_with_path_default_and_overrides)
{
    static const char all[] = "  default: {input: $7 per 1M, output: $8 per 1M}\n"
                              "  overrides:\n"
                              "    Own: {input: $3 per 1M, output: $4 per 1M, cache_read: $1 per 1M}\n";
    struct place p;
    tlshm_pricing *pricing;
    tlshm_price_call call = {.model = "own", .counts = {.input_total = 3, .cache_read = 1, .output_total = 1}};
    tlshm_cost cost;
    open_place(&p);
    put_file(&p, p.table, ONE);
    put_config(&p, "");
    cr_assert_eq(tlshm_pricing_open_config(&pricing, p.space.t, p.config, NULL), 0);
    cr_expect_eq(dollars(pricing, "m"), 1);
    cr_expect_eq(dollars(pricing, "own"), UINT64_MAX);
    put_file(&p, p.table, TWO);
    put_config(&p, all);
    cr_assert_eq(apply(&p), 0, "the segment itself has nothing of it");
    cr_expect_eq(dollars(pricing, "m"), 2, "applying announces");
    cr_expect_eq(dollars(pricing, "other"), 7);
    cr_assert_eq(tlshm_pricing_price(pricing, &call, &cost), TLSHM_OK);
    cr_expect_eq(cost.pusd, 2 * 3000000 + 1000000 + 4000000);
    put_file(&p, p.config, "prices: {overrides: {m: {input: $5 per 1M, output: $5 per 1M}}}\n");
    cr_assert_eq(apply(&p), 0);
    cr_expect_eq(dollars(pricing, "m"), 5, "without a table");
    cr_expect_eq(dollars(pricing, "own"), UINT64_MAX);
    put_file(&p, p.config, "overrun: cap\n");
    cr_assert_eq(apply(&p), 1);
    cr_expect_eq(info_of(pricing).announced, 2, "a file without prices announces none");
    tlshm_pricing_close(pricing);
    close_place(&p);
}

/* Without a segment, and as of now: nothing is followed. */
Test(pricing, prices_of_a_configuration_alone)
{
    struct place p;
    struct tlshm_error err = {0};
    tlshm_config *config;
    tlshm_prices *prices = NULL;
    tlshm_price_call call = {.model = "own", .counts = {.input_total = 1}};
    tlshm_cost cost;
    open_place(&p);
    put_file(&p, p.table, ONE);
    put_config(&p, "  overrides: {own: {input: $3 per 1M, output: $4 per 1M}}\n");
    cr_assert_eq(tlshm_config_load(&config, p.config, NULL, NULL, NULL), 0);
    cr_assert_eq(tlshm_config_prices(&prices, config, &err), 0, "%s", err.text);
    unlink(p.table);
    tlshm_prices *none = NULL;
    cr_expect_eq(tlshm_config_prices(&none, config, &err), -TLSHM_ENOENT);
    cr_expect_not_null(strstr(err.text, p.table), "%s", err.text);
    tlshm_config_free(config);
    cr_assert_eq(tlshm_price(prices, &call, &cost), TLSHM_OK);
    cr_expect_eq(cost.pusd, 3000000);
    call.model = "m";
    cr_assert_eq(tlshm_price(prices, &call, &cost), TLSHM_OK);
    cr_expect_eq(cost.pusd, 1000000);
    tlshm_prices_close(prices);
    cr_assert_eq(tlshm_config_parse(&config, "overrun: cap\n", 13, NULL, NULL, NULL), 0);
    cr_expect_eq(tlshm_config_prices(&none, config, &err), -TLSHM_EINVAL);
    cr_expect_str_eq(err.text, "the configuration: it has no section 'prices'");
    cr_expect_eq(tlshm_config_prices(NULL, config, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_prices(&none, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_null(none);
    tlshm_config_free(config);
    close_place(&p);
}

Test(pricing, a_configuration_with_faults_changes_nothing_and_is_told)
{
    struct place p;
    tlshm_pricing *pricing;
    struct tlshm_error err;
    open_place(&p);
    put_file(&p, p.table, ONE);
    put_config(&p, "");
    cr_assert_eq(tlshm_pricing_open_config(&pricing, p.space.t, p.config, NULL), 0);
    put_file(&p, p.config, "prices:\n  pth: /x\n");
    announce(&p);
    cr_expect_eq(tlshm_pricing_refresh(pricing, &err), -TLSHM_EINVAL);
    cr_expect_not_null(strstr(err.text, "tlshm.yaml: line 2, column 3: unknown key 'pth'"), "%s", err.text);
    cr_expect_eq(dollars(pricing, "m"), 1);
    put_file(&p, p.config, "tiers: {}\n");
    announce(&p);
    cr_expect_eq(dollars(pricing, "m"), 1);
    cr_expect_not_null(strstr(info_of(pricing).err.text, "it has no section 'prices'"));
    put_config(&p, "");
    unlink(p.table);
    announce(&p);
    cr_expect_eq(dollars(pricing, "m"), 1);
    cr_expect_eq(info_of(pricing).err.code, -TLSHM_ENOENT);
    cr_expect_not_null(strstr(info_of(pricing).err.text, p.table));
    tlshm_pricing_close(pricing);
    close_place(&p);
}

/* --------------------------------------------------------------------------------------------------------- processes */

/* Ends as `rc` says, after at most a minute: one that waits for readers it has not got must not look like success. */
static int status_of(pid_t child)
{
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int price_in_child(tlshm_pricing *pricing)
{
    const tlshm_price_call call = {.model = "m", .counts = {.input_total = 1}};
    tlshm_cost cost;
    return tlshm_pricing_price(pricing, &call, &cost) == TLSHM_OK ? (int)(cost.pusd / 1000000) : 99;
}

Test(pricing, what_one_process_announces_every_other_meets, .timeout = 120)
{
    struct place p;
    tlshm_pricing *pricing;
    open_place(&p);
    put_file(&p, p.table, ONE);
    cr_assert_eq(tlshm_pricing_open(&pricing, p.space.t, p.table, NULL, 0, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        tlshm_t *own;
        FILE *file = fopen(p.other, "w");
        bool put = file && fputs(TWO, file) >= 0;
        put = put && fclose(file) == 0 && rename(p.other, p.table) == 0;
        put = put && tlshm_attach(&own, p.space.path, 0, NULL) == 0 && tlshm_pricing_announce(own) == 0;
        _exit(put && price_in_child(pricing) == 2 ? 0 : 1);
    }
    cr_expect_eq(status_of(child), 0);
    cr_expect_eq(dollars(pricing, "m"), 2, "the parent by itself");
    cr_expect_eq(info_of(pricing).version, 1);
    tlshm_pricing_close(pricing);
    close_place(&p);
}
