/* SPDX-License-Identifier: MIT */
/*
 * trace.h - reading traces of model calls, one record at a time, plain or gzipped.
 *
 * The header line decides the format; columns that no format knows are skipped:
 *   fleet     t_s,tenant,session,agent,model,input_tokens,cached_tokens_ttl5m,output_tokens,api_time_s
 *   sessions  session,agent,t_s,model,input_tokens,cached_tokens,...,output_tokens,...,api_time_s,...
 *             (each session has its own zero of time)
 *   azure     TIMESTAMP,ContextTokens,GeneratedTokens
 *   mooncake  t_ms,input_tokens,output_tokens,cached_prefix_tokens
 */
#ifndef REPLAY_TRACE_H
#define REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NAME_MAX 95                     /* bytes of a tenant, session, agent or model */
#define TRACE_TOKENS_MAX UINT64_C(1000000000) /* more in one call is taken for a damaged row */

struct trace_record {
    int64_t t_ns;    /* since the trace's zero, since the session's start (sessions) or since 1970 (azure) */
    uint64_t api_ns; /* 0 when the trace does not tell */
    uint64_t input;  /* the cached part included */
    uint64_t cached;
    uint64_t output;
    char tenant[TRACE_NAME_MAX + 1]; /* "" when the trace does not tell; likewise below */
    char session[TRACE_NAME_MAX + 1];
    char agent[TRACE_NAME_MAX + 1];
    char model[TRACE_NAME_MAX + 1];
};

enum trace_format { TRACE_FLEET, TRACE_SESSIONS, TRACE_AZURE, TRACE_MOONCAKE };

struct trace;

/*
 * Opens a file ("-": standard input) and reads its header. With `skip_bad` rows that make no sense are counted instead
 * of ending the reading. Returns NULL with one line in `why`.
 */
struct trace *trace_open(const char *path, bool skip_bad, char *why, size_t size);

/* Returns 1 and a record, 0 at the end, -1 after a bad row or a read error: see trace_why(). */
int trace_next(struct trace *t, struct trace_record *out);

/* "file:line: what was wrong". */
const char *trace_why(const struct trace *t);

enum trace_format trace_format(const struct trace *t);
const char *trace_format_name(enum trace_format format);
uint64_t trace_skipped(const struct trace *t);
void trace_close(struct trace *t);

#endif
