/* SPDX-License-Identifier: MIT */
/*
 * price_lines.c - prices calls for pricedata.py: a call a line on standard input, its price a line on standard output, both
 * JSON. Usage: price-lines TABLE [MODEL=PRICE]...   an empty MODEL is the default
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/price.h>

static uint64_t count_of(const json_t *usage, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(usage, key));
}

static tlshm_price_call call_of(const json_t *line)
{
    const json_t *u = json_object_get(line, "usage");
    tlshm_price_call call = {
        .model = json_string_value(json_object_get(line, "model")),
        .provider = json_string_value(json_object_get(line, "provider")),
        .service = (enum tlshm_service)json_integer_value(json_object_get(line, "service")),
        .wall_ns = json_integer_value(json_object_get(line, "at_s")) * INT64_C(1000000000),
        .counts = {.input_total = count_of(u, "input"),
                   .cache_read = count_of(u, "cache_read"),
                   .cache_write_5m = count_of(u, "cache_write"),
                   .cache_write_1h = count_of(u, "cache_write_1h"),
                   .input_audio = count_of(u, "input_audio"),
                   .input_image = count_of(u, "input_image"),
                   .input_video = count_of(u, "input_video"),
                   .cache_read_audio = count_of(u, "cache_read_audio"),
                   .output_total = count_of(u, "output"),
                   .reasoning = count_of(u, "reasoning"),
                   .output_audio = count_of(u, "output_audio"),
                   .output_image = count_of(u, "output_image"),
                   .web_searches = count_of(u, "web_searches")},
    };
    return call;
}

static json_t *answer(int rc, const tlshm_cost *cost)
{
    json_t *j = json_pack("{s:s}", "verdict", rc < 0 ? tlshm_error_name(rc) : rc ? "UNKNOWN" : "OK");
    if (rc < 0)
        return j;
    json_object_set_new(j, "model", json_string(cost->model));
    json_object_set_new(j, "lack", json_integer(cost->lack));
    if (rc)
        return j;
    json_object_set_new(j, "nusd", json_integer((json_int_t)cost->nusd));
    json_object_set_new(j, "pusd", json_integer((json_int_t)cost->pusd));
    json_object_set_new(j, "input", json_integer((json_int_t)cost->input_pusd));
    json_object_set_new(j, "output", json_integer((json_int_t)cost->output_pusd));
    json_object_set_new(j, "request", json_integer((json_int_t)cost->request_pusd));
    return j;
}

static int price_line(const tlshm_prices *prices, const char *text)
{
    json_t *line = json_loads(text, 0, NULL);
    tlshm_cost cost;
    if (!line)
        return fprintf(stderr, "price-lines: no JSON: %s", text), 1;
    tlshm_price_call call = call_of(line);
    int rc = tlshm_price(prices, &call, &cost);
    json_t *j = answer(rc, &cost);
    int failed = json_dumpf(j, stdout, JSON_COMPACT) || putchar('\n') == EOF;
    json_decref(j);
    json_decref(line);
    return failed;
}

static int override(tlshm_prices *prices, char *argument)
{
    struct tlshm_error err = {0};
    char *sign = strchr(argument, '=');
    if (!sign)
        return fprintf(stderr, "price-lines: %s: MODEL=PRICE\n", argument), 1;
    *sign = '\0';
    if (tlshm_prices_override(prices, *argument ? argument : NULL, sign + 1, &err))
        return fprintf(stderr, "price-lines: %s\n", err.text), 1;
    return 0;
}

int main(int argc, char **argv)
{
    tlshm_prices *prices;
    struct tlshm_error err = {0};
    char *text = NULL;
    size_t room = 0;
    int failed = 0;
    if (argc < 2 || tlshm_prices_open(&prices, argv[1], NULL, NULL, &err))
        return fprintf(stderr, "price-lines: %s\n", argc < 2 ? "no table" : err.text), 2;
    for (int i = 2; i < argc && !failed; i++)
        failed = override(prices, argv[i]);
    while (!failed && getline(&text, &room, stdin) > 0)
        failed = price_line(prices, text);
    free(text);
    tlshm_prices_close(prices);
    return failed || fflush(stdout);
}
