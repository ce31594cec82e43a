/* SPDX-License-Identifier: MIT */
/* prices.c - price tables as files: opening, reloading beside readers, overrides, what is wrong with a file. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <tlshm/price.h>

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#define ONE "{\"m\": {\"input_cost_per_token\": 1e-06, \"output_cost_per_token\": 1e-06}}"
#define TWO "{\"m\": {\"input_cost_per_token\": 2e-06, \"output_cost_per_token\": 2e-06}}"

/* A directory of the test's own, and a file in it. */
struct place {
    char dir[64], path[96], other[96];
};

static void make_place(struct place *p)
{
    snprintf(p->dir, sizeof p->dir, "%s/tlshm-prices-XXXXXX", access("/dev/shm", W_OK) ? "." : "/dev/shm");
    cr_assert_not_null(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/prices.json", p->dir);
    snprintf(p->other, sizeof p->other, "%s/other", p->dir);
}

static void remove_place(const struct place *p)
{
    unlink(p->path);
    unlink(p->other);
    rmdir(p->dir);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* As a careful writer does: complete, then into place. */
static void put_file(const struct place *p, const char *text)
{
    write_bytes(p->other, text, strlen(text));
    cr_assert_eq(rename(p->other, p->path), 0);
}

static void put_packed(const struct place *p, const char *text)
{
    gzFile file = gzopen(p->path, "w");
    cr_assert_eq(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
    cr_assert_eq(gzclose(file), Z_OK);
}

/* Pico-dollars of one input token; UINT64_MAX for no price. */
static uint64_t input_price(const tlshm_prices *prices, const char *model, const char *provider)
{
    tlshm_price_call call = {.model = model, .provider = provider, .counts = {.input_total = 1}};
    tlshm_cost cost;
    int rc = tlshm_price(prices, &call, &cost);
    cr_assert_geq(rc, 0);
    return rc == TLSHM_OK ? cost.pusd : UINT64_MAX;
}

/* ------------------------------------------------------------------------------------------------------------- files */

Test(prices, a_file_may_be_packed)
{
    struct place p;
    tlshm_prices *prices;
    make_place(&p);
    put_file(&p, ONE);
    cr_assert_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, NULL), 0);
    cr_expect_eq(input_price(prices, "m", NULL), 1000000);
    tlshm_prices_close(prices);
    put_packed(&p, TWO);
    cr_assert_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, NULL), 0);
    cr_expect_eq(input_price(prices, "m", NULL), 2000000);
    tlshm_prices_close(prices);
    remove_place(&p);
}

Test(prices, what_is_no_table_is_refused_and_says_why)
{
    static const struct {
        const char *text, *complaint;
    } files[] = {
        {"", "line 1, column 0: '[' or '{' expected near end of file"},
        {"{\"a\": {\"input_cost_per_token\": 1e-06}\n, nonsense}",
         "line 2, column 10: string or '}' expected near 'nonsense'"},
        {"{\"a\": {\"input_cost_per_token\": NaN}}", "line 1, column 34: invalid token near 'NaN'"},
        {"{\"a\": {\"input_cost_per_token\": 1e999}}", "line 1, column 36: real number overflow near '1e999'"},
        {"\xff\xfe", "line 1, column 0: unable to decode byte 0xff"},
        {"5", "line 1, column 1: '[' or '{' expected near '5'"},
        {"{}", "no model in it has a price"},
        {"[]", "no model in it has a price"},
        {"{\"users\": [1, 2]}", "no model in it has a price"},
        {"[{\"id\": \"p\", \"models\": []}]", "no model in it has a price"},
        {"[1, null, {\"id\": 5}, {\"models\": []}]", "no model in it has a price"},
        {"{\"a\": {\"input_cost_per_token\": -1}}", "no model in it has a price"},
    };
    struct place p;
    make_place(&p);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        tlshm_prices *prices = (tlshm_prices *)&p;
        struct tlshm_error err = {0};
        char wanted[400];
        put_file(&p, files[i].text);
        snprintf(wanted, sizeof wanted, "%s: %s", p.path, files[i].complaint);
        cr_expect_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, &err), -TLSHM_EINVAL, "%s", files[i].text);
        cr_expect_str_eq(err.text, wanted);
        cr_expect_eq(err.code, -TLSHM_EINVAL);
        cr_expect_eq(prices, (tlshm_prices *)&p, "the place was written");
        cr_expect_eq(tlshm_prices_parse(&prices, files[i].text, strlen(files[i].text), NULL, NULL, NULL),
                     -TLSHM_EINVAL);
    }
    remove_place(&p);
}

Test(prices, what_is_no_file_is_refused_and_says_why)
{
    struct place p;
    tlshm_prices *prices = NULL;
    struct tlshm_error err = {0};
    make_place(&p);
    cr_expect_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, &err), -TLSHM_ENOENT);
    cr_expect_not_null(strstr(err.text, "prices.json: no such file"));
    cr_expect_eq(tlshm_prices_open(&prices, p.dir, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_not_null(strstr(err.text, "not a regular file"));
    cr_assert_eq(mkfifo(p.path, 0600), 0);
    cr_expect_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, &err), -TLSHM_EINVAL, "a pipe without a writer");
    unlink(p.path);
    cr_expect_eq(tlshm_prices_open(NULL, p.path, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_prices_parse(&prices, NULL, 5, NULL, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_null(prices);
    remove_place(&p);
}

Test(prices, damaged_gzip_is_refused)
{
    struct place p;
    tlshm_prices *prices;
    struct tlshm_error err = {0};
    char bytes[512];
    make_place(&p);
    put_packed(&p, ONE);
    FILE *file = fopen(p.path, "r");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 12; cut < size; cut++) {
        write_bytes(p.path, bytes, cut);
        cr_expect_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, &err), -TLSHM_EINVAL, "cut at %zu", cut);
    }
    bytes[size - 6] ^= 1; /* the checksum */
    write_bytes(p.path, bytes, size);
    cr_expect_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_not_null(strstr(err.text, "damaged gzip"), "%s", err.text);
    remove_place(&p);
}

/* ----------------------------------------------------------------------------------------------------------- reload */

Test(prices, a_reload_reads_what_has_changed)
{
    struct place p;
    tlshm_prices *prices;
    struct tlshm_error err = {0};
    make_place(&p);
    put_file(&p, ONE);
    cr_assert_eq(tlshm_prices_open(&prices, p.path, NULL, NULL, NULL), 0);
    cr_assert_eq(tlshm_prices_override(prices, "mine", "input $7", NULL), 0);
    cr_assert_eq(tlshm_prices_override(prices, NULL, "input $9", NULL), 0);
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, &err), 0);
    put_file(&p, TWO);
    cr_expect_eq(input_price(prices, "m", NULL), 1000000);
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, &err), 1);
    cr_expect_eq(input_price(prices, "m", NULL), 2000000);
    cr_expect_eq(input_price(prices, "mine", NULL), 7000000);
    cr_expect_eq(input_price(prices, "unknown", NULL), 9000000);
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, &err), 0);
    put_file(&p, "{");
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_eq(input_price(prices, "m", NULL), 2000000);
    unlink(p.path);
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, &err), -TLSHM_ENOENT);
    cr_expect_eq(input_price(prices, "m", NULL), 2000000);
    put_file(&p, ONE);
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, &err), 1);
    cr_expect_eq(input_price(prices, "m", NULL), 1000000);
    tlshm_prices_close(prices);
    remove_place(&p);
}

Test(prices, a_table_without_a_file_has_nothing_to_reload)
{
    tlshm_prices *prices;
    cr_assert_eq(tlshm_prices_parse(&prices, ONE, strlen(ONE), NULL, NULL, NULL), 0);
    cr_expect_eq(tlshm_prices_reload(prices, NULL, NULL, NULL), 0);
    cr_expect_eq(input_price(prices, "m", NULL), 1000000);
    tlshm_prices_close(prices);
    cr_expect_eq(tlshm_prices_reload(NULL, NULL, NULL, NULL), -TLSHM_EINVAL);
    tlshm_prices_close(NULL);
}

struct reading {
    tlshm_prices *prices;
    atomic_bool stop;
    atomic_uint seen[3], torn; /* by the price in millionths; a call priced from two tables */
};

static void *read_prices(void *context)
{
    struct reading *r = context;
    const tlshm_price_call call = {.model = "m", .counts = {.input_total = 1, .output_total = 1}};
    while (!atomic_load(&r->stop)) {
        tlshm_cost cost;
        if (tlshm_price(r->prices, &call, &cost) != TLSHM_OK || cost.input_pusd != cost.output_pusd ||
            cost.input_pusd % 1000000 || cost.input_pusd > 2000000)
            atomic_fetch_add(&r->torn, 1);
        else
            atomic_fetch_add(&r->seen[cost.input_pusd / 1000000], 1);
    }
    return NULL;
}

/* Waits until some reader has seen this price after now. */
static void await_price(struct reading *r, unsigned price)
{
    unsigned before = atomic_load(&r->seen[price]);
    for (int i = 0; i < 60000 && atomic_load(&r->seen[price]) == before; i++)
        usleep(1000);
    cr_assert_neq(atomic_load(&r->seen[price]), before, "no reader saw the price %u", price);
}

Test(prices, readers_see_the_old_table_or_the_new_one, .timeout = 240)
{
    struct place p;
    struct reading r = {0};
    pthread_t readers[3];
    make_place(&p);
    put_file(&p, ONE);
    cr_assert_eq(tlshm_prices_open(&r.prices, p.path, NULL, NULL, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        cr_assert_eq(pthread_create(&readers[i], NULL, read_prices, &r), 0);
    for (unsigned i = 0; i < 20; i++) {
        put_file(&p, i % 2 ? ONE : TWO);
        cr_assert_eq(tlshm_prices_reload(r.prices, NULL, NULL, NULL), 1);
        await_price(&r, i % 2 ? 1 : 2);
    }
    atomic_store(&r.stop, true);
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        pthread_join(readers[i], NULL);
    cr_expect_eq(atomic_load(&r.torn), 0);
    tlshm_prices_close(r.prices);
    remove_place(&p);
}

struct writing {
    tlshm_prices *prices;
    unsigned number;
};

enum { MODELS_EACH = 50 };

static void *write_overrides(void *context)
{
    const struct writing *w = context;
    for (unsigned i = 0; i < MODELS_EACH; i++) {
        char model[32], price[32];
        snprintf(model, sizeof model, "w%u-%u", w->number, i);
        snprintf(price, sizeof price, "input $%u", w->number * MODELS_EACH + i + 1);
        if (tlshm_prices_override(w->prices, model, price, NULL))
            break;
    }
    return NULL;
}

Test(prices, no_change_is_lost_when_several_threads_make_some, .timeout = 240)
{
    tlshm_prices *prices;
    tlshm_prices_info info;
    struct writing writers[3];
    pthread_t threads[COUNT_OF(writers)];
    cr_assert_eq(tlshm_prices_open(&prices, NULL, NULL, NULL, NULL), 0);
    for (unsigned i = 0; i < COUNT_OF(writers); i++) {
        writers[i] = (struct writing){prices, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, write_overrides, &writers[i]), 0);
    }
    for (unsigned i = 0; i < COUNT_OF(writers); i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(tlshm_prices_get(prices, &info), 0);
    cr_expect_eq(info.overrides, COUNT_OF(writers) * MODELS_EACH);
    for (unsigned n = 0; n < COUNT_OF(writers) * MODELS_EACH; n++) {
        char model[32];
        snprintf(model, sizeof model, "w%u-%u", n / MODELS_EACH, n % MODELS_EACH);
        cr_expect_eq(input_price(prices, model, NULL), (n + 1) * UINT64_C(1000000), "%s", model);
    }
    tlshm_prices_close(prices);
}

/* In a child: everything works on its own copy. */
static int in_child(tlshm_prices *prices, const struct place *p)
{
    const tlshm_price_call call = {.model = "m", .counts = {.input_total = 1}};
    tlshm_cost cost;
    write_bytes(p->path, TWO "\n", strlen(TWO) + 1);
    return tlshm_price(prices, &call, &cost) == TLSHM_OK && cost.pusd == 1000000 &&
           tlshm_prices_reload(prices, NULL, NULL, NULL) == 1 && tlshm_price(prices, &call, &cost) == TLSHM_OK &&
           cost.pusd == 2000000 && tlshm_prices_override(prices, "m", "input $3", NULL) == 0 &&
           tlshm_price(prices, &call, &cost) == TLSHM_OK && cost.pusd == 3000000;
}

Test(prices, a_forked_child_has_a_table_of_its_own, .timeout = 120)
{
    struct place p;
    struct reading r = {0};
    pthread_t reader;
    int status = -1;
    make_place(&p);
    put_file(&p, ONE);
    cr_assert_eq(tlshm_prices_open(&r.prices, p.path, NULL, NULL, NULL), 0);
    cr_assert_eq(pthread_create(&reader, NULL, read_prices, &r), 0);
    await_price(&r, 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* one that waits for readers it has not got ends, and says so by its status */
        _exit(in_child(r.prices, &p) ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_expect_eq(input_price(r.prices, "m", NULL), 1000000);
    atomic_store(&r.stop, true);
    pthread_join(reader, NULL);
    tlshm_prices_close(r.prices);
    remove_place(&p);
}

/* --------------------------------------------------------------------------------------------------------- overrides */

Test(prices, an_override_goes_before_the_file_and_the_default_behind_it)
{
    static const char file[] = "{\"m\": {\"litellm_provider\": \"p\", \"input_cost_per_token\": 1e-06},"
                               " \"seconds\": {\"input_cost_per_second\": 1}, \"bad\": {\"input_cost_per_token\": 1}}";
    tlshm_prices *prices;
    tlshm_prices_info info;
    tlshm_price_call call = {.model = "M", .provider = "P", .counts = {.input_total = 1}};
    tlshm_cost cost;
    cr_assert_eq(tlshm_prices_parse(&prices, file, strlen(file), NULL, NULL, NULL), 0);
    cr_assert_eq(tlshm_prices_override(prices, "M", "input $2, output $4", NULL), 0);
    cr_assert_eq(tlshm_prices_override(prices, "p/m", "input $3", NULL), 0);
    cr_expect_eq(input_price(prices, "m", NULL), 2000000);
    cr_expect_eq(input_price(prices, "m", "q"), 2000000);
    cr_expect_eq(input_price(prices, "m", "p"), 3000000);
    cr_expect_eq(input_price(prices, "p/m", NULL), 3000000);
    cr_assert_eq(tlshm_price(prices, &call, &cost), TLSHM_OK);
    cr_expect_eq(cost.source, TLSHM_PRICE_OVERRIDE);
    cr_expect_str_eq(cost.model, "p/m");
    call.counts.output_total = 1;
    cr_expect_eq(tlshm_price(prices, &call, &cost), TLSHM_UNKNOWN_MODEL, "an override has no more parts than it names");
    cr_expect_eq(cost.lack, TLSHM_LACKS_PART);
    cr_assert_eq(tlshm_prices_override(prices, "P/M", NULL, NULL), 0);
    cr_assert_eq(tlshm_prices_override(prices, "m", NULL, NULL), 0);
    cr_expect_eq(tlshm_prices_override(prices, "m", NULL, NULL), -TLSHM_ENOENT);
    cr_expect_eq(input_price(prices, "m", NULL), 1000000);

    cr_expect_eq(input_price(prices, "unknown", NULL), UINT64_MAX);
    cr_expect_eq(tlshm_prices_override(prices, NULL, NULL, NULL), -TLSHM_ENOENT);
    cr_assert_eq(tlshm_prices_override(prices, NULL, "input $10 output $20", NULL), 0);
    static const char *const lacking[] = {"unknown", "seconds", "bad", ""};
    for (size_t i = 0; i < COUNT_OF(lacking); i++)
        cr_expect_eq(input_price(prices, lacking[i], NULL), 10000000, "%s", lacking[i]);
    call = (tlshm_price_call){.model = "unknown", .counts = {.output_total = 1}};
    cr_assert_eq(tlshm_price(prices, &call, &cost), TLSHM_OK);
    cr_expect_eq(cost.source, TLSHM_PRICE_DEFAULT);
    cr_expect_str_eq(cost.model, "");
    cr_assert_eq(tlshm_prices_get(prices, &info), 0);
    cr_expect_eq(info.overrides, 0);
    cr_expect(info.has_default);
    cr_assert_eq(tlshm_prices_override(prices, NULL, NULL, NULL), 0);
    cr_expect_eq(input_price(prices, "unknown", NULL), UINT64_MAX);
    tlshm_prices_close(prices);
}

Test(prices, a_price_is_written_in_dollars_per_million)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t pusd; /* of one token of input and the call */
        const char *complaint;
    } texts[] = {
        {"input $3 output $15", 0, 3000000, ""},
        {"input $0.0028", 0, 2800, ""},
        {"input $0.0000001", 0, 1, ""},
        {"input 500000n", 0, 500, ""},
        {"  input\t$1,output $2  ", 0, 1000000, ""},
        {"input $1 request $0.005", 0, 5001000000, ""},
        {"input $1 search $0.01", 0, 1000000, ""},
        {"free", 0, 0, ""},
        {"input $1000", 0, 1000000000, ""},
        {"input $1000.01", -TLSHM_ERANGE, 0, "column 7: that is more than any model costs"},
        {"input $1 request $101", -TLSHM_ERANGE, 0, "column 18: that is more than any model costs"},
        {"input $1 request $99999999999", -TLSHM_EINVAL, 0,
         "column 18: expected an amount of money such as $3 or $0.25"},
        {"input", -TLSHM_EINVAL, 0, "column 6: expected an amount of money such as $3 or $0.25"},
        {"input 3", -TLSHM_EINVAL, 0, "column 7: expected an amount of money such as $3 or $0.25"},
        {"input $-3", -TLSHM_EINVAL, 0, "column 7: expected an amount of money such as $3 or $0.25"},
        {"input unlimited", -TLSHM_EINVAL, 0, "column 7: expected an amount of money such as $3 or $0.25"},
        {"input $1 input $2", -TLSHM_EINVAL, 0, "column 10: this has its price already"},
        {"free input $1", -TLSHM_EINVAL, 0, "column 6: nothing follows free"},
        {"request $1", -TLSHM_EINVAL, 0, "column 11: expected free, or a price of tokens such as input $3"},
        {"", -TLSHM_EINVAL, 0, "column 1: expected free, or a price of tokens such as input $3"},
    };
    tlshm_prices *prices;
    cr_assert_eq(tlshm_prices_open(&prices, NULL, NULL, NULL, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct tlshm_error err = {0};
        cr_expect_eq(tlshm_prices_override(prices, "m", texts[i].text, &err), texts[i].rc, "%s", texts[i].text);
        cr_expect_str_eq(err.text, texts[i].complaint, "%s: %s", texts[i].text, err.text);
        cr_expect_eq(err.code, texts[i].rc, "%s", texts[i].text);
        if (texts[i].rc == 0)
            cr_expect_eq(input_price(prices, "m", NULL), texts[i].pusd, "%s", texts[i].text);
        else
            cr_expect_eq(input_price(prices, "m", NULL), 1000000000, "%s changed the price before it", texts[i].text);
    }
    struct tlshm_error err = {0};
    cr_expect_eq(tlshm_prices_override(prices, "m", "tokens $1", &err), -TLSHM_EINVAL);
    for (int part = 0; part < TLSHM_PARTS; part++)
        cr_expect_not_null(strstr(err.text, tlshm_part_name(part)), "%s", tlshm_part_name(part));
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cr_expect_eq(tlshm_prices_override(prices, name, "free", NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_prices_override(prices, "", "free", NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_prices_override(NULL, "m", "free", NULL), -TLSHM_EINVAL);
    tlshm_prices_close(prices);
}

/* ----------------------------------------------------------------------------------------------------------- nearest */

Test(prices, the_nearest_name_is_a_likely_one)
{
    static const char file[] =
        "{\"claude-opus-4-1\": {\"input_cost_per_token\": 1e-06}, \"gpt-4o\": {}, \"gpt-4o-mini\": {}}";
    static const struct {
        const char *wanted, *nearest;
    } names[] = {
        {"claude-opus-4.1", "claude-opus-4-1"},
        {"gpt-4o-mni", "gpt-4o-mini"},
        {"GPT4o", "gpt-4o"},
        {"gpt-4o", "gpt-4o"},
        {"llama-3-70b", ""},
        {"", ""},
    };
    char buf[TLSHM_MODEL_MAX + 1];
    tlshm_prices *prices;
    cr_assert_eq(tlshm_prices_parse(&prices, file, strlen(file), NULL, NULL, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        cr_expect_eq(tlshm_prices_nearest(prices, names[i].wanted, buf, sizeof buf), (int)strlen(names[i].nearest));
        cr_expect_str_eq(buf, names[i].nearest, "%s", names[i].wanted);
    }
    cr_expect_eq(tlshm_prices_nearest(prices, "x", buf, TLSHM_MODEL_MAX), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_prices_nearest(NULL, "x", buf, sizeof buf), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_prices_get(NULL, NULL), -TLSHM_EINVAL);
    tlshm_prices_close(prices);
}
