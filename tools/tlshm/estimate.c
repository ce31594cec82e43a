/* SPDX-License-Identifier: MIT */
/* estimate.c - the tokens that a text may cost. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tlshm/estimate.h>

#include "cli.h"

/* In pieces, so that a text may be of any length. Returns what went wrong in words, or NULL. */
static const char *take_all(FILE *in, tlshm_estimate *e)
{
    static char piece[65536];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        tlshm_estimate_feed(e, piece, n);
    return ferror(in) ? strerror(errno) : NULL;
}

int run_estimate(void *context, int argc, char **argv)
{
    struct cli *cli = context;
    const char *file = argc ? argv[0] : "-";
    bool standard = strcmp(file, "-") == 0;
    tlshm_estimate e;
    uint64_t tokens;
    tlshm_estimate_begin(&e);
    FILE *in = standard ? stdin : fopen(file, "rb");
    const char *fault = in ? take_all(in, &e) : strerror(errno);
    if (in && !standard)
        fclose(in);
    if (fault)
        return tool_fail(cli->tool, EXIT_LIBRARY, "%s: %s", file, fault);
    tlshm_estimate_end(&e, &tokens);
    struct emit *answer = cli_answer(cli);
    emit_u64(answer, "bytes", e.bytes);
    emit_u64(answer, "tokens", tokens);
    return cli_answered(cli, answer, EXIT_OK);
}
