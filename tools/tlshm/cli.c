/* SPDX-License-Identifier: MIT */
/* cli.c - attachment, answers, and texts to values, for every command. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

/* ------------------------------------------------------------------------------------------------ segment and answers */

const char *cli_segment(struct cli *cli)
{
    const char *name = cli->value[OPT_SEGMENT] ? cli->value[OPT_SEGMENT] : getenv("TLSHM_SEGMENT");
    if (name && *name)
        return name;
    options_complain(cli->tool, "no segment is named: use --segment or set TLSHM_SEGMENT");
    return NULL;
}

int cli_attach(struct cli *cli, unsigned flags)
{
    struct tlshm_error err = {0};
    const char *name = cli_segment(cli);
    if (!name)
        return EXIT_USAGE;
    int rc = guard_attach(&cli->t, name, flags, &err);
    return rc < 0 ? cli_error(cli, rc, name, &err) : EXIT_OK;
}

static void emit_error(struct cli *cli, int rc, const char *what, const char *text)
{
    struct emit *e = cli_answer(cli);
    emit_object_begin(e, "error");
    emit_text(e, "name", tlshm_error_name(rc));
    emit_text(e, "about", what);
    emit_text(e, "text", text);
    emit_object_end(e);
    emit_end(e);
}

int cli_error(struct cli *cli, int rc, const char *what, const struct tlshm_error *err)
{
    const char *text = err && *err->text ? err->text : tlshm_error_text(rc);
    if (cli->json)
        emit_error(cli, rc, what, text);
    return tool_fail(cli->tool, EXIT_LIBRARY, "%s: %s (%s)", what, text, tlshm_error_name(rc));
}

struct emit *cli_answer(struct cli *cli)
{
    return emit_new(stdout, cli->json ? EMIT_JSON : EMIT_TEXT);
}

int cli_answered(struct cli *cli, struct emit *e, int exit_code)
{
    if (emit_end(e) == 0)
        return exit_code;
    return tool_fail(cli->tool, EXIT_LIBRARY, "the answer could not be written");
}

int cli_done(struct cli *cli, int rc, const char *what)
{
    if (rc < 0)
        return cli_error(cli, rc, what, NULL);
    if (!cli->json)
        return EXIT_OK;
    struct emit *e = cli_answer(cli);
    emit_bool(e, "done", true);
    return cli_answered(cli, e, EXIT_OK);
}

int cli_usage(struct cli *cli, const char *key, tlshm_scope_usage *out)
{
    int failed = cli_attach(cli, TLSHM_READONLY);
    if (failed)
        return failed;
    int rc = tlshm_usage(cli->t, key, 0, out);
    return rc < 0 ? cli_error(cli, rc, key, NULL) : EXIT_OK;
}

/* ------------------------------------------------------------------------------------------------- texts to values */

bool cli_limit(struct cli *cli, const char *text, tlshm_limit *out)
{
    struct tlshm_error err = {0};
    if (tlshm_limit_parse(text, out, &err) == 0)
        return true;
    options_complain(cli->tool, "limit '%s': %s", text, err.text);
    return false;
}

bool cli_limit_words(struct cli *cli, int argc, char **argv, tlshm_limit *out)
{
    char text[512];
    size_t n = 0;
    for (int i = 0; i < argc && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "", argv[i]);
    if (n < sizeof text)
        return cli_limit(cli, text, out);
    options_complain(cli->tool, "the limit's text is too long");
    return false;
}

bool cli_duration(struct cli *cli, const char *text, uint64_t *out)
{
    struct tlshm_error err = {0};
    if (tlshm_duration_parse(text, out, &err) == 0)
        return true;
    options_complain(cli->tool, "duration '%s': %s", text, err.text);
    return false;
}

bool cli_amount(struct cli *cli, const char *option, const char *text, enum tlshm_unit unit, uint64_t *out)
{
    struct tlshm_error err = {0};
    if (tlshm_amount_parse(text, unit, out, &err) == 0)
        return true;
    options_complain(cli->tool, "%s '%s': %s", option, text, err.text);
    return false;
}

bool cli_id(struct cli *cli, const char *text, tlshm_id *out)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    size_t n = strlen(text);
    if (n >= 1 && n <= 16 && strspn(text, digits) == n && (*out = strtoull(text, NULL, 16)) != 0)
        return true;
    options_complain(cli->tool, "'%s' is no reservation id: up to 16 hexadecimal digits, as reserve prints them", text);
    return false;
}

bool cli_unit(struct cli *cli, const char *text, enum tlshm_unit *out)
{
    for (int unit = 0; unit < TLSHM_UNITS; unit++) {
        if (strcmp(text, tlshm_unit_name(unit)) != 0)
            continue;
        *out = (enum tlshm_unit)unit;
        return true;
    }
    options_complain(cli->tool, "'%s' is no unit", text);
    return false;
}

bool cli_number(struct cli *cli, const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    return options_number(&cli->parser, what, text, min, max, out);
}

void cli_emit_limit(struct emit *e, const tlshm_limit *limit)
{
    char text[160];
    tlshm_limit_format(limit, text, sizeof text);
    emit_text(e, "limit", text);
    if (!emit_is_json(e))
        return;
    emit_text(e, "unit", tlshm_unit_name((int)limit->unit));
    emit_amount(e, "cap", limit->unit, limit->cap);
}

/* -------------------------------------------------------------------------------------------------------------- input */

/* Room for `size` bytes and the terminator. */
static bool grow(char **text, size_t size)
{
    char *larger = realloc(*text, size + 1);
    if (larger)
        *text = larger;
    return larger != NULL;
}

/* Returns what went wrong in words, or NULL. */
static const char *read_all(FILE *in, char **text, size_t *n)
{
    size_t size = 0;
    *text = NULL;
    *n = 0;
    do {
        if (*n == size && !grow(text, size = size ? 2 * size : 65536))
            return "out of memory";
        *n += fread(*text + *n, 1, size - *n, in);
        if (*n > CLI_INPUT_MAX)
            return "more than 64 MiB";
    } while (!feof(in) && !ferror(in));
    (*text)[*n] = '\0';
    return ferror(in) ? strerror(errno) : NULL;
}

int cli_read(struct cli *cli, const char *file, char **text, size_t *n)
{
    bool standard = strcmp(file, "-") == 0;
    FILE *in = standard ? stdin : fopen(file, "rb");
    const char *fault = in ? read_all(in, text, n) : strerror(errno);
    if (in && !standard)
        fclose(in);
    if (!fault)
        return EXIT_OK;
    if (in)
        free(*text);
    return tool_fail(cli->tool, EXIT_LIBRARY, "%s: %s", file, fault);
}
