/* SPDX-License-Identifier: MIT */
/*
 * peer_memcached.c - the least that a server can cost: counters incremented over a unix socket, those of all scopes in
 * one write and one answer, once to reserve and once to settle. It checks no limit and keeps no record.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "server.h"

#define TEXT_MAX 1024

static struct {
    struct server server;
    int fd; /* of this process; -1: none */
    const struct plan *plan;
    unsigned count;
    char reserve[TEXT_MAX], settle[TEXT_MAX];
    size_t reserve_length, settle_length;
} c = {.fd = -1};

static const char *missing(void)
{
    return server_installed("memcached") ? NULL : "memcached is not installed";
}

/* Sends a text and reads so many lines. 0; -1 when the connection broke; 1 when a line is no number or no success. */
static int ask(const char *text, size_t length, unsigned lines)
{
    char answer[TEXT_MAX];
    size_t got = 0;
    unsigned seen = 0;
    if (send(c.fd, text, length, MSG_NOSIGNAL) != (ssize_t)length)
        return -1;
    while (seen < lines) {
        ssize_t more = recv(c.fd, answer + got, sizeof answer - got, 0);
        if (more <= 0)
            return -1;
        for (ssize_t i = 0; i < more; i++)
            seen += answer[got + (size_t)i] == '\n';
        got += (size_t)more;
    }
    return got > 0 && (answer[0] == 'N' || answer[0] == 'E' || answer[0] == 'C') ? 1 : 0; /* NOT_FOUND, ERROR ... */
}

static int say(const char *what)
{
    fprintf(stderr, "memcached: %s\n", what);
    return -1;
}

static int connect_here(void)
{
    c.fd = server_connect(&c.server);
    return c.fd >= 0 ? 0 : say("cannot connect");
}

static void leave(void)
{
    if (c.fd >= 0)
        close(c.fd);
    c.fd = -1;
}

static int make_counters(const struct plan *plan)
{
    char text[TEXT_MAX], key[PLAN_KEY_SIZE];
    int code = ask("flush_all\r\n", 11, 1);
    for (unsigned slot = 0; code == 0 && slot < plan_slots(plan); slot++) {
        plan_slot_key(plan, slot, key);
        int length = snprintf(text, sizeof text, "set h:%s 0 0 1\r\n0\r\nset u:%s 0 0 1\r\n0\r\n", key, key);
        code = ask(text, (size_t)length, 2);
    }
    return code == 0 ? 0 : say("cannot make the counters");
}

static int setup(const struct plan *plan)
{
    static const char *const argv[] = {"memcached", "-s", "@SOCKET", "-m", "256", "-t", "1", "-u", "root", NULL};
    static const char *const argv_user[] = {"memcached", "-s", "@SOCKET", "-m", "256", "-t", "1", NULL};
    if (c.server.pid == 0 && server_start(&c.server, geteuid() == 0 ? argv : argv_user) != 0)
        return -1;
    c.plan = plan;
    if (connect_here() != 0)
        return -1;
    int code = make_counters(plan);
    leave();
    return code;
}

static int join(const struct plan *plan, unsigned process)
{
    (void)process;
    c.plan = plan;
    return connect_here();
}

static size_t increments(char *text, char kind, const struct plan_call *call, uint64_t amount)
{
    size_t length = 0;
    char key[PLAN_KEY_SIZE];
    for (unsigned i = 0; i < call->count; i++) {
        plan_slot_key(c.plan, call->slot[i], key);
        length += (size_t)snprintf(text + length, TEXT_MAX - length, "incr %c:%s %" PRIu64 "\r\n", kind, key, amount);
    }
    return length;
}

static void choose(const struct plan_call *call)
{
    c.count = call->count;
    c.reserve_length = increments(c.reserve, 'h', call, call->estimate[TLSHM_TOKENS]);
    c.settle_length = increments(c.settle, 'u', call, call->actual[TLSHM_TOKENS]);
}

static int reserve(void)
{
    return ask(c.reserve, c.reserve_length, c.count);
}

static int settle(void)
{
    return ask(c.settle, c.settle_length, c.count);
}

static int pair(void)
{
    int answer = reserve();
    return answer != 0 ? answer : settle();
}

static int read_counter(const char *key, uint64_t *value)
{
    char text[TEXT_MAX];
    int length = snprintf(text, sizeof text, "incr u:%s 0\r\n", key);
    if (send(c.fd, text, (size_t)length, MSG_NOSIGNAL) != length)
        return -1;
    ssize_t got = recv(c.fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return sscanf(text, "%" SCNu64, value) == 1 ? 0 : -1;
}

static int audit_slots(const struct plan *plan, const struct plan_book *books)
{
    char key[PLAN_KEY_SIZE];
    uint64_t found;
    for (unsigned slot = 0; slot < plan_slots(plan); slot++) {
        const uint64_t wanted = books[slot].used[TLSHM_TOKENS];
        if (wanted == 0 || books[slot].loose)
            continue;
        plan_slot_key(plan, slot, key);
        if (read_counter(key, &found) != 0)
            return say("cannot read a counter");
        if (found != wanted)
            return peer_audit_failed("memcached", plan, slot, "used", found, wanted);
    }
    return 0;
}

static int audit(const struct plan *plan, const struct plan_book *books)
{
    if (connect_here() != 0)
        return -1;
    int code = audit_slots(plan, books);
    leave();
    return code;
}

static void stop(void)
{
    leave();
    server_stop(&c.server);
}

const struct peer peer_memcached = {
    .name = "memcached",
    .keys = "string",
    .missing = missing,
    .setup = setup,
    .join = join,
    .leave = leave,
    .choose = choose,
    .act = {[ACT_PAIR] = pair, [ACT_RESERVE] = reserve, [ACT_SETTLE] = settle},
    .audit = audit,
    .teardown = leave,
    .close = stop,
};
