/* SPDX-License-Identifier: MIT */
/*
 * redis_scripts.h - the limiter in Lua.
 *
 * A budget is a hash under the scope's key: h1..h4 what is held and u1..u4 what was ever used, by unit (tokens, cost,
 * requests, concurrency); for limit i, c<i> its current bucket (time divided by the slice), s<i> the sum over its 60
 * buckets, and r<i>:<n> the buckets themselves, as a ring. Fields are absent until they differ from 0. A reservation
 * is a hash r:<id>. Limits come with each call, as triples of unit, cap and slice in milliseconds (0: no buckets).
 *
 * Tokens and cost are held and, at the settle, replaced by what was used, in the bucket of that moment; a request is
 * used when it is admitted; concurrency is the number of holds. All scopes are looked at before one is changed. A
 * settled reservation stays, so that a repeat changes nothing, until its time to live is over; a settle of another one
 * than a held one charges nothing. Expiry of holds, reasons for refusals and idempotency keys are left out, to the
 * advantage of this peer, as for the mutexes.
 */
#ifndef BENCH_REDIS_SCRIPTS_H
#define BENCH_REDIS_SCRIPTS_H

/* KEYS: scopes. ARGV: estimate of each unit, time to live in milliseconds, limits. Returns an id, or 0: refused. */
extern const char redis_script_reserve[];

/* KEYS: scopes. ARGV: id, actual use of each unit, limits. Returns 1, or 0 for a repeat. */
extern const char redis_script_settle[];

#endif
