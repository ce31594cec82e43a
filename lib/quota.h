/* SPDX-License-Identifier: MIT */
/*
 * quota.h - what one answer of a provider says, as it is put together: by headers.c, message.c and body.c, each of
 * which calls in here with values that it has read.
 *
 * INVARIANTS
 *   I1  A value that is not believed is counted and changes nothing else; no entry is made for its sake.
 *   I2  Entries are told apart by kind, window and name. There is room for TLSHM_QUOTA_LIMITS_MAX; what finds none is
 *       counted.
 *   I3  All instants are within TLSHM_QUOTA_FAR_NS of now, so differences never wrap.
 */
#ifndef TL_QUOTA_H
#define TL_QUOTA_H

#include <tlshm/provider.h>

#include "base.h"
#include "moment.h"

/* Which limit a value belongs to. */
struct tl_quota_key {
    enum tlshm_quota_kind kind;
    uint64_t window_ns; /* 0: not said */
    bool loose;         /* a window that one of the two does not say makes no difference */
    char name[TLSHM_QUOTA_NAME_MAX + 1];
    size_t name_len;
};

/* What a word of a name or a text says: "req", "tokens", "input", "image" ... */
enum tl_quota_hint {
    TL_HINT_REQUESTS = 1u << 0,
    TL_HINT_TOKENS = 1u << 1,
    TL_HINT_INPUT = 1u << 2,
    TL_HINT_OUTPUT = 1u << 3,
    TL_HINT_IMAGES = 1u << 4,
    TL_HINT_AUDIO = 1u << 5,
    TL_HINT_CONCURRENCY = 1u << 6,
    TL_HINT_SHARE = 1u << 7,
    TL_HINT_NOTHING = 1u << 8 /* a word without meaning */
};

/* The hint of a word, 0 for one that is not known. */
unsigned tl_quota_hint(struct tl_slice word);

/* The kind that several hints make; OTHER for none. */
enum tlshm_quota_kind tl_quota_kind(unsigned hints);

/* Adds to a key's name, with a '-' between. Bytes that could disturb a terminal become '?'. */
void tl_quota_name(struct tl_quota_key *key, struct tl_slice word);

/* The entry of a key, made if there is none. NULL and counted if there is no room. */
tlshm_quota_limit *tl_quota_entry(tlshm_quota *q, const struct tl_quota_key *key);

/* Raises the cause: the larger one stays. */
void tl_quota_refused(tlshm_quota *q, enum tlshm_quota_cause cause);

/* The cause that a status of HTTP stands for; NONE for most. */
enum tlshm_quota_cause tl_quota_status(int status);

/* The cause that a code or exception name stands for; NONE for one that is not known. */
enum tlshm_quota_cause tl_quota_code(struct tl_slice code);

/* Reads of values; false after having counted a value that is not believed. */
bool tl_quota_amount(tlshm_quota *q, struct tl_slice text, uint64_t *out);
bool tl_quota_share(tlshm_quota *q, struct tl_slice text, uint64_t *ppm);

/*
 * An instant: a length of time from now, a number of `unit` from now, seconds or milliseconds since 1970 (told by
 * their size: as lengths they would be far), or a date. Gives both forms.
 */
bool tl_quota_instant(tlshm_quota *q, struct tl_slice text, uint64_t unit_ns, uint64_t *in_ns, int64_t *wall_ns);

void tl_quota_set_reset(tlshm_quota_limit *limit, uint64_t in_ns, int64_t wall_ns);

/* One more statement of when to try again. The longest counts, but see quota.c. */
void tl_quota_retry(tlshm_quota *q, uint64_t in_ns);

/* A length of time that a text said, believed or counted; then as tl_quota_retry(). */
bool tl_quota_retry_believed(tlshm_quota *q, uint64_t in_ns);

#endif
