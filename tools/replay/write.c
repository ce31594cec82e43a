/* SPDX-License-Identifier: MIT */
/* write.c - records to CSV rows through zlib, which writes plain files as well. */
#include "write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

struct write {
    gzFile file;
    const char *path;
};

enum { NS_PER_CS = 10000000, CS_PER_S = 100 };

static const char header[] =
    "t_s,tenant,session,agent,model,input_tokens,cached_tokens_ttl5m,output_tokens,api_time_s\n";

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

struct write *write_start(const char *path)
{
    struct write *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->path = path;
    if (strcmp(path, "-") == 0)
        w->file = gzdopen(dup(STDOUT_FILENO), "wbT");
    else
        w->file = gzopen(path, ends_in(path, ".gz") ? "wbe" : "wbeT");
    if (w->file) {
        gzputs(w->file, header);
        return w;
    }
    free(w);
    return NULL;
}

/* Hundredths of a second, as the format has it. */
static int format_s(char *buf, size_t size, uint64_t ns)
{
    uint64_t cs = ns / NS_PER_CS;
    return snprintf(buf, size, "%" PRIu64 ".%02" PRIu64, cs / CS_PER_S, cs % CS_PER_S);
}

bool write_record(struct write *w, const struct trace_record *r)
{
    char t[32], api[32];
    format_s(t, sizeof t, (uint64_t)r->t_ns);
    format_s(api, sizeof api, r->api_ns);
    return gzprintf(w->file, "%s,%s,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n", t, r->tenant, r->session,
                    r->agent, r->model, r->input, r->cached, r->output, api) > 0;
}

bool write_end(struct write *w, char *why, size_t size)
{
    int before, after;
    const char *text = gzerror(w->file, &before);
    snprintf(why, size, "%s: %s", w->path, before == Z_ERRNO ? strerror(errno) : text);
    errno = 0;
    after = gzclose_w(w->file);
    if (before == Z_OK && after != Z_OK)
        snprintf(why, size, "%s: %s", w->path, errno ? strerror(errno) : "could not be written to its end");
    bool good = before == Z_OK && after == Z_OK;
    if (!good && strcmp(w->path, "-") != 0)
        unlink(w->path);
    free(w);
    return good;
}
