/* SPDX-License-Identifier: MIT */
/* answer.c - `tlshm answer`: what a provider's body or event stream says of its use. Needs no segment. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tlshm/answer.h>

#include "calls.h"

static const char *const outcome_names[] = {
    [TLSHM_EXACT] = "exact",
    [TLSHM_UNKNOWN] = "unknown",
    [TLSHM_AT_LEAST] = "at least",
};

static void emit_counts(struct emit *e, const char *key, const tlshm_counts *c)
{
    emit_object_begin(e, key);
    emit_u64(e, "input_total", c->input_total);
    emit_u64(e, "cache_read", c->cache_read);
    emit_u64(e, "cache_write_5m", c->cache_write_5m);
    emit_u64(e, "cache_write_1h", c->cache_write_1h);
    emit_u64(e, "input_audio", c->input_audio);
    emit_u64(e, "input_image", c->input_image);
    emit_u64(e, "input_video", c->input_video);
    emit_u64(e, "cache_read_audio", c->cache_read_audio);
    emit_u64(e, "output_total", c->output_total);
    emit_u64(e, "reasoning", c->reasoning);
    emit_u64(e, "output_audio", c->output_audio);
    emit_u64(e, "output_image", c->output_image);
    emit_u64(e, "tool_calls", c->tool_calls);
    emit_u64(e, "web_searches", c->web_searches);
    emit_object_end(e);
}

/* What is absent is null in JSON and left out of the text. */
static void emit_if(struct emit *e, const char *key, const char *text)
{
    if (text[0])
        emit_text(e, key, text);
    else if (emit_is_json(e))
        emit_null(e, key, "");
}

static void emit_answer(struct emit *e, const tlshm_answer *answer)
{
    static const tlshm_counts none;

    emit_text(e, "outcome", outcome_names[answer->outcome]);
    emit_if(e, "model", answer->model);
    if (answer->has_cost)
        emit_amount(e, "cost_nusd", TLSHM_COST, answer->cost_nusd);
    else if (emit_is_json(e))
        emit_null(e, "cost_nusd", "");
    emit_if(e, "error", answer->error);
    if (answer->refused || emit_is_json(e))
        emit_bool(e, "refused", answer->refused);
    emit_if(e, "problem", answer->problem);
    emit_counts(e, "counts", &answer->counts);
    if (memcmp(&answer->others, &none, sizeof none) == 0)
        return;
    emit_if(e, "other_model", answer->other_model);
    emit_counts(e, "others", &answer->others);
}

int answer_read(struct cli *cli, const char *name, tlshm_answer *out)
{
    const char *who = cli->value[OPT_PROVIDER];
    int provider = who ? tlshm_provider_parse(who) : TLSHM_PROVIDER_ANY;
    if (provider < 0)
        return options_complain(cli->tool, "unknown provider '%s'; see tlshm(1) for their names", who);
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "rb");
    tlshm_answer_parser parser;
    char bytes[16384];
    int failed = 0;

    if (!file)
        return tool_fail(cli->tool, EXIT_LIBRARY, "%s: %s", name, strerror(errno));
    tlshm_answer_begin(&parser, (enum tlshm_provider)provider);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        tlshm_answer_feed(&parser, bytes, n);
    if (ferror(file))
        failed = tool_fail(cli->tool, EXIT_LIBRARY, "%s: %s", name, strerror(errno));
    if (!standard)
        fclose(file);
    tlshm_answer_end(&parser, cli->value[OPT_CUT] ? TLSHM_ANSWER_CUT : 0, out);
    return failed;
}

int run_answer(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    tlshm_answer answer;
    int failed = answer_read(cli, argc ? argv[0] : "-", &answer);
    if (failed)
        return failed;
    struct emit *e = cli_answer(cli);
    emit_answer(e, &answer);
    return cli_answered(cli, e, EXIT_OK);
}
