/* SPDX-License-Identifier: MIT */
/*
 * peer_redis.c - budgets in Redis over a unix socket, decided by scripts: one to reserve, one to settle, called by their
 * hashes. The scripts are in redis_scripts.c.
 */
#include "peer.h"

#ifdef BENCH_HIREDIS

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "redis_scripts.h"
#include "server.h"

#define ARGUMENTS_MAX 64
#define TEXT_SIZE 24
#define SHA_SIZE 48
#define PIPELINED 512 /* reads of an audit that are on the way at once */

struct command {
    int count;
    const char *word[ARGUMENTS_MAX];
    size_t length[ARGUMENTS_MAX];
    char text[ARGUMENTS_MAX][TEXT_SIZE]; /* of numbers */
};

static struct {
    struct server server;
    redisContext *context; /* of this process */
    const struct plan *plan;
    char sha_reserve[SHA_SIZE], sha_settle[SHA_SIZE];
    char key[PLAN_SCOPES_MAX][PLAN_KEY_SIZE];
    struct command reserve, settle;
    int settle_id; /* which word of settle is the id */
    tlshm_limit list[PLAN_LIMITS_MAX];
    unsigned limits;
} r;

static const char *missing(void)
{
    return server_installed("redis-server") ? NULL : "redis-server is not installed";
}

static int say(const char *what, const redisReply *reply)
{
    const char *why = reply && reply->type == REDIS_REPLY_ERROR   ? reply->str
                      : r.context && r.context->errstr[0] != '\0' ? r.context->errstr
                                                                  : "no connection";
    fprintf(stderr, "redis-lua: %s: %s\n", what, why);
    return -1;
}

/* ------------------------------------------------------------------------------------------------------ trials */

static int connect_here(void)
{
    r.context = redisConnectUnix(r.server.socket);
    return r.context && r.context->err == 0 ? 0 : say("connect", NULL);
}

static void leave(void)
{
    if (r.context)
        redisFree(r.context);
    r.context = NULL;
}

static int load_script(const char *script, char sha[SHA_SIZE])
{
    redisReply *reply = redisCommand(r.context, "SCRIPT LOAD %s", script);
    int code = reply && reply->type == REDIS_REPLY_STRING ? 0 : say("SCRIPT LOAD", reply);
    if (code == 0)
        snprintf(sha, SHA_SIZE, "%s", reply->str);
    freeReplyObject(reply);
    return code;
}

static int empty(void)
{
    redisReply *reply = redisCommand(r.context, "FLUSHALL");
    int code = reply && reply->type == REDIS_REPLY_STATUS ? 0 : say("FLUSHALL", reply);
    freeReplyObject(reply);
    return code;
}

static int setup(const struct plan *plan)
{
    static const char *const argv[] = {"redis-server", "--port", "0",           "--unixsocket", "@SOCKET", "--save", "",
                                       "--appendonly", "no",     "--daemonize", "no",           NULL};
    if (r.server.pid == 0 && server_start(&r.server, argv) != 0)
        return -1;
    r.limits = plan_limit_list(plan, r.list);
    int code = connect_here();
    if (code == 0 && (empty() != 0 || load_script(redis_script_reserve, r.sha_reserve) != 0 ||
                      load_script(redis_script_settle, r.sha_settle) != 0))
        code = -1;
    leave();
    return code;
}

static int join(const struct plan *plan, unsigned process)
{
    (void)process;
    r.plan = plan;
    return connect_here();
}

/* ------------------------------------------------------------------------------------------------------ commands */

static void add_word(struct command *c, const char *word)
{
    c->word[c->count] = word;
    c->length[c->count++] = strlen(word);
}

static void add_number(struct command *c, uint64_t number)
{
    snprintf(c->text[c->count], TEXT_SIZE, "%" PRIu64, number);
    add_word(c, c->text[c->count]);
}

/* EVALSHA, the script, the scopes' keys. */
static void begin_command(struct command *c, const char *sha, unsigned keys)
{
    c->count = 0;
    add_word(c, "EVALSHA");
    add_word(c, sha);
    add_number(c, keys);
    for (unsigned i = 0; i < keys; i++)
        add_word(c, r.key[i]);
}

/* Unit (from 1, as Lua counts), cap, and length of a slice in milliseconds; 0 for a limit without buckets. */
static void add_limits(struct command *c)
{
    for (unsigned i = 0; i < r.limits; i++) {
        const tlshm_window *window = &r.list[i].window;
        const uint64_t slice_ms =
            window->kind == TLSHM_WINDOW_ROLLING ? window->length_ns / window->slices / 1000000 : 0;
        add_number(c, (uint64_t)r.list[i].unit + 1);
        add_number(c, r.list[i].cap);
        add_number(c, slice_ms);
    }
}

static void choose(const struct plan_call *call)
{
    for (unsigned i = 0; i < call->count; i++)
        plan_slot_key(r.plan, call->slot[i], r.key[i]);
    begin_command(&r.reserve, r.sha_reserve, call->count);
    for (unsigned u = 0; u < PLAN_UNITS; u++)
        add_number(&r.reserve, call->estimate[u]);
    add_number(&r.reserve, TLSHM_TTL_DEFAULT_NS / 1000000);
    add_limits(&r.reserve);
    begin_command(&r.settle, r.sha_settle, call->count);
    r.settle_id = r.settle.count;
    add_number(&r.settle, 0);
    for (unsigned u = 0; u < PLAN_UNITS; u++)
        add_number(&r.settle, call->actual[u]);
    add_limits(&r.settle);
}

/* A script's integer, or -1. */
static long long ask(struct command *c)
{
    redisReply *reply = redisCommandArgv(r.context, c->count, c->word, c->length);
    long long answer = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : say("EVALSHA", reply);
    freeReplyObject(reply);
    return answer;
}

static int reserve(void)
{
    long long id = ask(&r.reserve);
    if (id <= 0)
        return id < 0 ? -1 : 1;
    int length = snprintf(r.settle.text[r.settle_id], TEXT_SIZE, "%lld", id);
    r.settle.length[r.settle_id] = (size_t)length;
    return 0;
}

static int settle(void)
{
    return ask(&r.settle) == 1 ? 0 : -1;
}

static int pair(void)
{
    int answer = reserve();
    return answer != 0 ? answer : settle();
}

static int refuse(void)
{
    int answer = reserve();
    return answer < 0 ? answer : answer == 0;
}

/* -------------------------------------------------------------------------------------------------------- audit */

static uint64_t number_of(const redisReply *reply, size_t index)
{
    const redisReply *field = reply->element[index];
    return field->type == REDIS_REPLY_STRING ? strtoull(field->str, NULL, 10) : 0;
}

static int audit_reply(const struct plan *plan, unsigned slot, const struct plan_book *book)
{
    redisReply *reply = NULL;
    if (redisGetReply(r.context, (void **)&reply) != REDIS_OK || reply->type != REDIS_REPLY_ARRAY ||
        reply->elements != 2 * PLAN_UNITS) {
        int code = say("HMGET", reply);
        freeReplyObject(reply);
        return code;
    }
    uint64_t held[PLAN_UNITS], used[PLAN_UNITS];
    for (size_t u = 0; u < PLAN_UNITS; u++) {
        held[u] = number_of(reply, u);
        used[u] = number_of(reply, PLAN_UNITS + u);
    }
    freeReplyObject(reply);
    return peer_audit_slot("redis-lua", plan, slot, book, used, held);
}

static int audit_some(const struct plan *plan, const struct plan_book *books, unsigned from, unsigned to)
{
    char key[PLAN_KEY_SIZE];
    int code = 0;
    for (unsigned slot = from; slot < to; slot++) {
        plan_slot_key(plan, slot, key);
        redisAppendCommand(r.context, "HMGET %s h1 h2 h3 h4 u1 u2 u3 u4", key);
    }
    for (unsigned slot = from; code == 0 && slot < to; slot++)
        code = audit_reply(plan, slot, &books[slot]);
    return code;
}

static int audit(const struct plan *plan, const struct plan_book *books)
{
    const unsigned slots = plan_slots(plan);
    int code = connect_here();
    for (unsigned from = 0; code == 0 && from < slots; from += PIPELINED)
        code = audit_some(plan, books, from, from + PIPELINED < slots ? from + PIPELINED : slots);
    leave();
    return code;
}

static void stop(void)
{
    leave();
    server_stop(&r.server);
}

const struct peer peer_redis = {
    .name = "redis-lua",
    .keys = "string",
    .missing = missing,
    .setup = setup,
    .join = join,
    .leave = leave,
    .choose = choose,
    .act = {[ACT_PAIR] = pair, [ACT_RESERVE] = reserve, [ACT_SETTLE] = settle, [ACT_REFUSE] = refuse},
    .audit = audit,
    .teardown = leave,
    .close = stop,
};

#else

static const char *missing(void)
{
    return "built without hiredis";
}

const struct peer peer_redis = {.name = "redis-lua", .keys = "string", .missing = missing};

#endif
