/* SPDX-License-Identifier: MIT */
/* mix.c - Zipf draws, and sizes out of a trace. */
#include "mix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SEED UINT64_C(0x9e3779b97f4a7c15)
#define SIZE_MAX_TOKENS 100000000ul
#define OUTPUT_ALLOWED 4096u /* a caller's max_tokens: outputs above it are cut there */
#define INPUT_NUSD 3000u     /* a token's price */
#define OUTPUT_NUSD 15000u

/* -------------------------------------------------------------------------------------------------------- draws */

/* xorshift64*: the upper 53 bits as a number in [0, 1). */
static double draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

/* Sums of 1/k: the law's distribution function, not yet divided by its total. */
static double *zipf_sums(unsigned count)
{
    double *sum = malloc(count * sizeof *sum);
    double all = 0;
    for (unsigned i = 0; sum && i < count; i++)
        sum[i] = all += 1.0 / (i + 1.0);
    return sum;
}

static unsigned zipf_draw(const double *sum, unsigned count, uint64_t *state)
{
    double at = draw(state) * sum[count - 1];
    unsigned low = 0, high = count - 1;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (sum[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* -------------------------------------------------------------------------------------------------------- trace */

struct reader {
    const char *path;
    gzFile file;
    unsigned line;
    int input, output; /* columns */
    char text[4096];
};

static int bad(const struct reader *r, const char *what)
{
    fprintf(stderr, "%s:%u: %s\n", r->path, r->line, what);
    return -1;
}

/* The text of a column, or NULL. Ends at a comma, or with the line. */
static const char *column(const char *line, int number)
{
    for (; line && number > 0; number--) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    return line;
}

static int column_find(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; (line = column(line, i > 0)) != NULL; i++) {
        if (strncmp(line, name, length) == 0 && strcspn(line, ",\r\n") == length)
            return i;
    }
    return -1;
}

static int read_header(struct reader *r)
{
    r->line = 1;
    if (!gzgets(r->file, r->text, sizeof r->text))
        return bad(r, "no header line");
    r->input = column_find(r->text, "input_tokens");
    r->output = column_find(r->text, "output_tokens");
    return r->input >= 0 && r->output >= 0 ? 0 : bad(r, "no columns input_tokens and output_tokens");
}

static int read_size(const struct reader *r, int number, uint32_t *size)
{
    const char *text = column(r->text, number);
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    if (!text || end == text || *text == '-' || !strchr(",\r\n", *end) || value > SIZE_MAX_TOKENS)
        return bad(r, "a number of tokens is missing or makes no sense");
    *size = (uint32_t)value;
    return 0;
}

/* 1 and the sizes of the next row, 0 at the end, -1 after a message. */
static int read_row(struct reader *r, struct mix_item *item)
{
    if (!gzgets(r->file, r->text, sizeof r->text))
        return gzeof(r->file) ? 0 : bad(r, "cannot be read");
    r->line++;
    return read_size(r, r->input, &item->input) != 0 || read_size(r, r->output, &item->output) != 0 ? -1 : 1;
}

/* The rows in their order, again from the first one when they are used up. */
static int read_sizes(struct reader *r, struct mix *mix)
{
    unsigned rows = 0;
    int more = read_header(r);
    for (more = more == 0 ? 1 : more; more > 0 && rows<MIX_ITEMS; rows += more> 0)
        more = read_row(r, &mix->item[rows]);
    if (more < 0 || rows == 0)
        return more < 0 ? -1 : bad(r, "no rows");
    for (unsigned i = rows; i < MIX_ITEMS; i++) {
        mix->item[i].input = mix->item[i - rows].input;
        mix->item[i].output = mix->item[i - rows].output;
    }
    return 0;
}

static int load_sizes(const char *path, struct mix *mix)
{
    struct reader r = {.path = path, .file = gzopen(path, "rb")};
    if (!r.file) {
        perror(path);
        return -1;
    }
    int code = read_sizes(&r, mix);
    gzclose(r.file);
    return code;
}

/* ---------------------------------------------------------------------------------------------------------- mix */

static int draw_crowd(struct mix *mix)
{
    uint64_t state = SEED;
    double *agents = zipf_sums(mix->agents), *tenants = zipf_sums(mix->tenants);
    uint32_t *tenant = malloc(mix->agents * sizeof *tenant);
    int code = agents && tenants && tenant ? 0 : -1;
    for (unsigned i = 0; code == 0 && i < mix->agents; i++)
        tenant[i] = zipf_draw(tenants, mix->tenants, &state);
    for (unsigned i = 0; code == 0 && i < MIX_ITEMS; i++) {
        mix->item[i].agent = zipf_draw(agents, mix->agents, &state);
        mix->item[i].tenant = tenant[mix->item[i].agent];
    }
    free(agents);
    free(tenants);
    free(tenant);
    return code;
}

struct mix *mix_load(const char *trace, unsigned agents, unsigned tenants)
{
    struct mix *mix = calloc(1, sizeof *mix);
    if (mix) {
        mix->agents = agents;
        mix->tenants = tenants;
        if (load_sizes(trace, mix) == 0 && draw_crowd(mix) == 0)
            return mix;
    }
    free(mix);
    return NULL;
}

void mix_amounts(const struct mix_item *item, struct plan_call *call)
{
    uint32_t output = item->output < OUTPUT_ALLOWED ? item->output : OUTPUT_ALLOWED;
    uint64_t input = item->input > 0 ? item->input : 1; /* an estimate is never empty */
    const uint64_t estimate[PLAN_UNITS] = {input + OUTPUT_ALLOWED,
                                           input * INPUT_NUSD + (uint64_t)OUTPUT_ALLOWED * OUTPUT_NUSD, 1, 1};
    const uint64_t actual[PLAN_UNITS] = {input + output, input * INPUT_NUSD + (uint64_t)output * OUTPUT_NUSD, 1, 0};
    memcpy(call->estimate, estimate, sizeof estimate);
    memset(call->more, 0, sizeof call->more);
    memcpy(call->actual, actual, sizeof actual);
}
