/* SPDX-License-Identifier: MIT */
/* ledger.c - the actors' own books. */
#include "ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* From many sharers to few, and no tree: any of them may stand beside any other. */
static const struct {
    const char *key, *limits;
} fixed[LEDGER_FIXED] = {
    {"tenant:strict", "tokens 200000 per 4s/8; cost $1 lifetime; concurrency 250; requests 4k per 2s/4"},
    {"user:strict", "tokens 90000 per 1s/60; tool_calls 30000 per hour; concurrency 90"},
    {"agent:strict", "input_tokens 50000 per 3s/3 strict; cost 900000n per 2s/20; concurrency 60"},
    {"agent:narrow", "concurrency 12; requests 900 per 6s/6 strict"},
    {"project:strict", "output_tokens 90000 per 5s/5; tokens 2M per day in Europe/Berlin; concurrency 200"},
    {"global:", "tokens unlimited lifetime; concurrency 4000"},
    {"org:o", ""},
    {"tenant:a", "tokens 600000 per 2s/10; tokens 1G lifetime; concurrency 900"},
    {"tenant:b", "cost 5000000n per 3s/30; requests 8000 per 1s/2"},
    {"project:p", "tool_calls 4000 per 1s/5; tokens 900000 per 4s/64"},
    {"project:q", ""},
    {"user:u", "tokens 90000 per 1s/4; concurrency 200"},
    {"user:v", "requests 3000 per 2s/2; output_tokens 3M per hour"},
    {"agent:x", "tokens 60000 per 1s/60; tokens 200000 per 5s/60; cost 900000n per 1s/1; concurrency 100"},
    {"agent:y", "input_tokens 90000 per 2s/7 strict"},
    {"agent:z", "tokens 500000 per 3s/60"},
};

const char *ledger_limits(uint32_t scope)
{
    return fixed[scope].limits;
}

uint32_t ledger_fresh_scope(uint64_t epoch, unsigned n)
{
    return LEDGER_FIXED + (uint32_t)epoch * LEDGER_FRESH + n;
}

uint64_t ledger_scope_epoch(uint32_t scope)
{
    return (scope - LEDGER_FIXED) / LEDGER_FRESH;
}

void ledger_key(uint32_t scope, char *buf, size_t size)
{
    static const char *const level[] = {"agent", "user"};
    if (scope < LEDGER_FIXED)
        snprintf(buf, size, "%s", fixed[scope].key);
    else
        snprintf(buf, size, "%s:fresh%u", level[scope % 2], scope - LEDGER_FIXED);
}

void ledger_begin(struct ledger *l, const struct space *s, uint64_t tags)
{
    char key[32];
    tlshm_limit limit = limit_of("tokens 3000 per 1s/10");
    strcpy(l->path, s->path);
    for (uint32_t scope = 0; scope < LEDGER_FIXED; scope++) {
        ledger_key(scope, key, sizeof key);
        if (ledger_limits(scope)[0] != '\0')
            space_limits(s, key, ledger_limits(scope));
    }
    MUST(tlshm_tier_set(s->t, "newcomer", &limit, 1) == 0, "tier");
    MUST(tlshm_default_set(s->t, "agent", "newcomer") == 0, "default");
    atomic_store(&l->next_tag, 1);
    atomic_store(&l->recent, 1);
    atomic_store(&l->tag_end, 1 + tags);
}

void ledger_next_epoch(struct ledger *l, uint64_t tags)
{
    atomic_store(&l->tag_end, atomic_load(&l->next_tag) + tags);
    atomic_fetch_add(&l->epoch, 1);
}

void ledger_request(const struct ledger_entry *e, uint64_t tag, struct ledger_ask *out)
{
    out->request = (tlshm_request)TLSHM_REQUEST_INIT;
    for (unsigned i = 0; i < e->scope_count; i++) {
        ledger_key(e->scope[i], out->keys[i], sizeof out->keys[i]);
        out->scopes[i] = (tlshm_scope){.key = out->keys[i]};
    }
    out->request.scopes = out->scopes;
    out->request.scope_count = e->scope_count;
    out->request.flags = e->flags;
    out->request.ttl_ns = e->ttl_ns;
    out->request.tag = tag;
    memcpy(out->request.estimate.of, e->need, sizeof e->need);
    if (atomic_load(&e->keyed)) {
        out->request.idempotency_len =
            (size_t)snprintf(out->idempotency, sizeof out->idempotency, "call-%llu", (unsigned long long)tag);
        out->request.idempotency_key = out->idempotency;
    }
}

tlshm_amounts ledger_part(const struct ledger_entry *e, uint64_t share)
{
    tlshm_amounts part = {{0}};
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (u != TLSHM_REQUESTS && u != TLSHM_CONCURRENCY)
            part.of[u] = (e->need[u] * share) >> 16;
    return part;
}

tlshm_amounts ledger_actual(const struct ledger_entry *e, uint64_t share)
{
    tlshm_amounts actual = ledger_part(e, share);
    for (unsigned u = 0; u < TLSHM_UNITS && !e->strict; u++)
        actual.of[u] *= 2;
    return actual;
}

enum tlshm_status ledger_end_status(uint64_t call)
{
    return ledger_call_op(call) == LEDGER_REFUND ? TLSHM_REFUNDED : TLSHM_SETTLED;
}

static uint64_t known_use(enum ledger_op op, uint64_t estimate, uint64_t actual)
{
    bool larger = op == LEDGER_SETTLE || (op == LEDGER_SETTLE_AT_LEAST && actual > estimate);
    return larger ? actual : estimate;
}

tlshm_amounts ledger_charge(const struct ledger_entry *e, uint64_t call, const tlshm_amounts *estimate,
                            enum tlshm_overrun policy)
{
    tlshm_amounts charge = {{0}}, actual = ledger_actual(e, ledger_call_share(call));
    enum ledger_op op = ledger_call_op(call);
    for (unsigned u = 0; u < TLSHM_UNITS && op != LEDGER_REFUND; u++) {
        uint64_t use = known_use(op, estimate->of[u], actual.of[u]);
        bool capped = policy == TLSHM_CAP_AT_ESTIMATE && use > estimate->of[u];
        charge.of[u] = capped ? estimate->of[u] : use;
    }
    charge.of[TLSHM_REQUESTS] = e->need[TLSHM_REQUESTS];
    charge.of[TLSHM_CONCURRENCY] = 0;
    return charge;
}

void ledger_admitted(struct ledger *l, uint64_t tag, tlshm_id id, bool first)
{
    struct ledger_entry *e = ledger_at(l, tag);
    uint64_t known = 0;
    if (!atomic_compare_exchange_strong(&e->id, &known, id) && known != id)
        ledger_fault(l, "tag %llu: admitted as %llx, and again as %llx", (unsigned long long)tag,
                     (unsigned long long)known, (unsigned long long)id);
    if (first && atomic_fetch_add(&e->admitted, 1) != 0)
        ledger_fault(l, "tag %llu: two calls were told that they are the first", (unsigned long long)tag);
}

static uint64_t hash_result(const tlshm_result *result)
{
    uint64_t hash = (uint64_t)result->status;
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        hash = (hash ^ result->charged.of[u]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
    return hash | 1;
}

void ledger_outcome(struct ledger *l, uint64_t tag, const tlshm_result *result)
{
    uint64_t known = 0, hash = hash_result(result);
    if (result->status != TLSHM_SETTLED && result->status != TLSHM_REFUNDED)
        ledger_fault(l, "tag %llu: ended as %s", (unsigned long long)tag, tlshm_status_name((int)result->status));
    else if (!atomic_compare_exchange_strong(&ledger_at(l, tag)->outcome, &known, hash) && known != hash)
        ledger_fault(l, "tag %llu: two answers about its end differ (%s)", (unsigned long long)tag,
                     tlshm_status_name((int)result->status));
}

void ledger_ended(struct ledger *l, uint64_t call, const tlshm_result *result)
{
    uint64_t tag = ledger_call_tag(call), known = 0;
    if (!atomic_compare_exchange_strong(&ledger_at(l, tag)->end, &known, call))
        ledger_fault(l, "tag %llu: ended twice", (unsigned long long)tag);
    ledger_outcome(l, tag, result);
}

void ledger_fault(struct ledger *l, const char *format, ...)
{
    char text[sizeof l->fault];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (atomic_fetch_add(&l->faults, 1) == 0)
        memcpy(l->fault, text, sizeof text);
    fprintf(stderr, "%s\n", text);
}
