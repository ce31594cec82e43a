/* SPDX-License-Identifier: MIT */
/* body.c - copying reservations' contents. See body.h. */
#include "body.h"

TL_COLD static void read_wide(const struct shm_body *from, struct tl_body *to)
{
    to->model = tl_peek(&from->wide.model);
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++) {
        to->charged[tl_body_wide[i]] = tl_peek(&from->wide.charged[i]);
        to->estimate[tl_body_wide[i]] = tl_peek(&from->wide.estimate[i]);
    }
}

TL_COLD static void read_more_scopes(const struct shm_body *from, struct tl_body *to)
{
    for (unsigned i = 2; i < tl_body_scopes(to); i++)
        to->scope[i] = tl_peek(&from->more_scopes[i - 2]);
}

TL_COLD static void read_key(const struct shm_body *from, struct tl_body *to)
{
    to->request = tl_peek(&from->request);
    for (unsigned i = 0; i < TLSHM_IDEMPOTENCY_MAX / 8; i++)
        to->idempotency[i] = tl_peek(&from->idempotency[i]);
}

void tl_body_rest(const struct shm_body *from, enum tl_depth depth, struct tl_body *to)
{
    to->owner = tl_peek(&from->owner);
    to->created = tl_peek(&from->created);
    to->tag = tl_peek(&from->tag);
    TL_UNROLL
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++) {
        to->charged[tl_body_plain[i]] = tl_peek(&from->charged[i]);
        to->estimate[tl_body_plain[i]] = tl_peek(&from->estimate[i]);
        to->charged[tl_body_wide[i]] = to->estimate[tl_body_wide[i]] = 0;
    }
    to->estimate[TLSHM_CONCURRENCY] = 1;
    to->charged[TLSHM_CONCURRENCY] = 0;
    to->scope[0] = tl_peek(&from->scope[0]);
    to->scope[1] = tl_peek(&from->scope[1]);
    to->request = 0;
    if (TL_UNLIKELY(to->info & TL_BODY_WIDE))
        read_wide(from, to);
    if (TL_UNLIKELY(tl_body_scopes(to) > 2))
        read_more_scopes(from, to);
    if (depth == TL_WHOLE && TL_UNLIKELY(tl_body_idempotency_len(to)))
        read_key(from, to);
}

static void write_wide(struct shm_body *to, const struct tl_body *from)
{
    tl_store_relaxed(&to->wide.model, tl_body_model(from));
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++) {
        tl_store_relaxed(&to->wide.charged[i], from->charged[tl_body_wide[i]]);
        tl_store_relaxed(&to->wide.estimate[i], from->estimate[tl_body_wide[i]]);
    }
}

static void write_more_scopes(struct shm_body *to, const struct tl_body *from)
{
    for (unsigned i = 2; i < tl_body_scopes(from); i++)
        tl_store_relaxed(&to->more_scopes[i - 2], from->scope[i]);
}

static void write_key(struct shm_body *to, const struct tl_body *from)
{
    tl_store_relaxed(&to->request, from->request);
    for (unsigned i = 0; i < TLSHM_IDEMPOTENCY_MAX / 8; i++)
        tl_store_relaxed(&to->idempotency[i], from->idempotency[i]);
}

void tl_body_write(struct shm_body *to, const struct tl_body *from)
{
    bool wide = tl_amounts_wide(from->estimate) || tl_amounts_wide(from->charged);
    tl_hook(TL_WRITE, to);
    tl_store_relaxed(&to->info, (from->info & ~TL_BODY_WIDE) | (wide ? TL_BODY_WIDE : 0));
    tl_store_relaxed(&to->ended, from->ended);
    tl_store_relaxed(&to->deadline, from->deadline);
    tl_store_relaxed(&to->generation, from->generation);
    tl_store_relaxed(&to->owner, from->owner);
    tl_store_relaxed(&to->created, from->created);
    tl_store_relaxed(&to->tag, from->tag);
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++) {
        tl_store_relaxed(&to->charged[i], from->charged[tl_body_plain[i]]);
        tl_store_relaxed(&to->estimate[i], from->estimate[tl_body_plain[i]]);
    }
    tl_store_relaxed(&to->scope[0], from->scope[0]);
    tl_store_relaxed(&to->scope[1], from->scope[1]);
    if (TL_UNLIKELY(wide))
        write_wide(to, from);
    if (TL_UNLIKELY(tl_body_scopes(from) > 2))
        write_more_scopes(to, from);
    if (TL_UNLIKELY(tl_body_idempotency_len(from)))
        write_key(to, from);
}

TL_COLD static void copy_more_scopes(struct shm_body *to, const struct shm_body *from)
{
    tl_copy_across(to->more_scopes, from->more_scopes, TLSHM_SCOPES_MAX - 2);
}

TL_COLD static void copy_key(struct shm_body *to, const struct shm_body *from)
{
    tl_copy_across(&to->unused, &from->unused, 2 + TLSHM_IDEMPOTENCY_MAX / 8);
}

void tl_body_write_end(struct shm_body *to, const struct shm_body *from, const struct tl_body *body)
{
    bool wide = tl_amounts_wide(body->estimate) || tl_amounts_wide(body->charged);
    tl_copy_across(&to->deadline, &from->deadline, TL_BODY_KEPT);
    tl_store_relaxed(&to->info, (body->info & ~TL_BODY_WIDE) | (wide ? TL_BODY_WIDE : 0));
    tl_store_relaxed(&to->ended, body->ended);
    TL_UNROLL
    for (unsigned i = 0; i < SHM_PLAIN_UNITS; i++)
        tl_store_relaxed(&to->charged[i], body->charged[tl_body_plain[i]]);
    if (TL_UNLIKELY(wide))
        write_wide(to, body);
    if (TL_UNLIKELY(tl_body_scopes(body) > 2))
        copy_more_scopes(to, from);
    if (TL_UNLIKELY(tl_body_idempotency_len(body)))
        copy_key(to, from);
}
