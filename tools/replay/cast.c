/* SPDX-License-Identifier: MIT */
/* cast.c - seeded draws for the fields that a trace leaves open. */
#include "cast.h"

#include <stdio.h>
#include <string.h>

#include "generate.h"
#include "random.h"

/* Salts keep the draws for one name independent of each other. */
enum { SALT_SESSION = 1, SALT_TENANT, SALT_START };

static double draw(const struct cast *cast, unsigned salt, uint64_t number)
{
    return random_hash_unit(random_hash(cast->seed, salt), number);
}

void cast_complete(const struct cast *cast, enum trace_format format, uint64_t number, struct trace_record *r)
{
    if (!r->session[0])
        snprintf(r->session, sizeof r->session, "%04u", (unsigned)(draw(cast, SALT_SESSION, number) * cast->sessions));
    uint64_t session = random_text(r->session);
    if (!r->tenant[0])
        snprintf(r->tenant, sizeof r->tenant, "t%02u",
                 random_skewed(draw(cast, SALT_TENANT, session), cast->tenants, generate_tenant_exponent));
    if (!r->agent[0])
        strcpy(r->agent, "main");
    if (format == TRACE_SESSIONS)
        r->t_ns += (int64_t)(draw(cast, SALT_START, session) * (double)cast->spread_ns);
}
