/* SPDX-License-Identifier: MIT */
/*
 * tlshm.h - a limiter for billing tokens, shared by all worker processes of a host through one mapped file.
 *
 * What to know first:
 *   - Reserve an estimate before the call, settle with the actual use after it, or refund. A hold that is neither
 *     settled nor refunded expires at its deadline.
 *   - A refusal is a verdict (above 0), an error is negative. Neither admits. An error changes nothing.
 *   - Every thread takes a seat of the segment at its first call that writes and keeps it until it ends, or until
 *     tlshm_thread_release(). The geometry says how many seats there are.
 *   - Any process that may write the file is trusted not to scribble over it. Garbage is refused at attach and indices
 *     are checked in every call, but a wild store into a balance cannot be told from a balance.
 *   - Amounts are uint64_t: tokens, nano-dollars, counts. One amount is at most TLSHM_AMOUNT_MAX (2^53).
 *   - Times are nanoseconds. Rolling windows and deadlines use the boot-time clock, calendar windows the wall clock.
 *
 * Unless a function says otherwise it is safe from any thread and process, after fork (the child gets a seat of its
 * own), and never waits for another process: a worker that is stopped or killed at any instruction delays nobody.
 * A signal handler may call in on a thread that has its seat already, with handles instead of keys (a first call and a
 * new key allocate memory); if it interrupted a call of the same thread, it gets -TLSHM_EREENTRANT. It may fork, but the
 * child must not return from it into a call that was interrupted: that call is its parent's. It calls exec or _exit.
 */
#ifndef TLSHM_H
#define TLSHM_H

#include <stddef.h>
#include <stdint.h>

#include <tlshm/error.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TLSHM_VERSION "0.1.0"

#define TLSHM_SCOPES_MAX 8                          /* scopes that one reservation may name */
#define TLSHM_LIMITS_MAX 8                          /* limits that one scope may have (the geometry may allow fewer) */
#define TLSHM_KEY_MAX 255                           /* bytes of a scope key, level and colon included */
#define TLSHM_IDEMPOTENCY_MAX 64                    /* bytes of an idempotency key */
#define TLSHM_NAME_MAX 31                           /* bytes of a tier's or a level's name */
#define TLSHM_AMOUNT_MAX (UINT64_C(1) << 53)        /* largest single amount */
#define TLSHM_UNLIMITED UINT64_MAX                  /* a cap that never refuses */
#define TLSHM_NEVER UINT64_MAX                      /* a retry_after: no waiting helps */
#define TLSHM_TTL_DEFAULT_NS UINT64_C(300000000000) /* 300 s */

typedef struct tlshm tlshm_t;  /* one attachment of this process to one segment */
typedef uint64_t tlshm_id;     /* a reservation; 0 is never one */
typedef uint64_t tlshm_handle; /* a resolved scope key; 0 is none. Valid for every process attached to this segment */

/* What is counted. The number is the index into tlshm_amounts.of. */
enum tlshm_unit {
    TLSHM_TOKENS = 0,
    TLSHM_COST = 1,        /* nano-dollars */
    TLSHM_REQUESTS = 2,    /* used at admission; a refund does not give them back */
    TLSHM_CONCURRENCY = 3, /* live holds; always 1 a reservation, never given by the caller */
    TLSHM_INPUT_TOKENS = 4,
    TLSHM_OUTPUT_TOKENS = 5,
    TLSHM_TOOL_CALLS = 6,
    TLSHM_UNITS = 7,
    TLSHM_TIME = 15 /* ns; of limits on single requests only: no amount has it, and it is no index */
};

/* An amount of every unit. Zero-initialise, then set what you know. */
typedef struct tlshm_amounts {
    uint64_t of[TLSHM_UNITS];
} tlshm_amounts;

/* A reservation's status. In-between states are never shown. */
enum tlshm_status { TLSHM_HELD = 1, TLSHM_SETTLED = 2, TLSHM_REFUNDED = 3, TLSHM_EXPIRED = 4 };

/* What a call decided. Negative values are errors, see tlshm/error.h. */
enum tlshm_verdict {
    TLSHM_OK = 0,
    TLSHM_REFUSED = 1, /* reserve, extend: nothing was changed; see tlshm_refusal */
    TLSHM_REPLAY = 2,  /* it had been done before: nothing was changed, the first answer is reported */
    TLSHM_LATE = 3,    /* settle: the hold had expired; the use was recorded, nothing was released twice */
    TLSHM_ENDED = 4    /* extend, refund: the reservation has ended; nothing was changed */
};

/* Why a reserve or an extend was refused. */
enum tlshm_reason {
    TLSHM_ADMITTED = 0,
    TLSHM_LIMIT = 1,             /* does not fit now */
    TLSHM_NEVER_FITS = 2,        /* the amount asked for is above the limit itself: no retry helps */
    TLSHM_PAUSED = 3,            /* the segment or a scope is paused */
    TLSHM_SHUTOFF = 4,           /* emergency shutoff: until a person resumes */
    TLSHM_REQUEST_TOO_LARGE = 5, /* above what a scope allows a single request: no retry helps */
    TLSHM_UNKNOWN_MODEL = 6,     /* the model has no price, and the scope limits cost */
    TLSHM_FULL = 7,              /* no room for one more scope or reservation */
    TLSHM_REASONS = 8
};

enum tlshm_window_kind {
    TLSHM_WINDOW_NONE = 0,     /* concurrency only: the number of live holds */
    TLSHM_WINDOW_ROLLING = 1,  /* the last `slices` buckets, the current one included */
    TLSHM_WINDOW_CALENDAR = 2, /* hour, day, week or month of the wall clock in a time zone */
    TLSHM_WINDOW_LIFETIME = 3, /* since the scope was first used */
    TLSHM_WINDOW_REQUEST = 4   /* a single request: its whole estimate, or TLSHM_TIME, how long its hold may live */
};
enum tlshm_period { TLSHM_HOUR = 0, TLSHM_DAY = 1, TLSHM_WEEK = 2, TLSHM_MONTH = 3 };

typedef struct tlshm_window {
    enum tlshm_window_kind kind;
    enum tlshm_period period; /* calendar */
    uint32_t slices;          /* rolling: buckets, 1..64; 0 means 60 */
    uint32_t anchor;          /* calendar week: first day, 1 Monday .. 7 Sunday, 0 means Monday; month: first day,
                                 1..31, 0 means the 1st; a month without that day starts on its last day */
    uint64_t length_ns; /* rolling: the window's length, at most 2^62 (146 years), a bucket at most 2^48 us. A bucket is
                           length / slices, rounded up to a microsecond */
    char zone[48];      /* calendar: IANA name such as "Europe/Berlin"; empty means UTC */
} tlshm_window;

/* Rolling, at most 63 slices: count one bucket more, so that no interval of the length exceeds the cap. */
#define TLSHM_LIMIT_STRICT 1u

/*
 * A latch: it refuses nothing by what is held or asked for. Once as much was used in its window as the cap says, the scope is
 * paused, or shut off; of the scope `global:`, everything is. It stays so until a person resumes it, also when the
 * window has rolled on, and is so again with the next call if the cap is still reached then. Not both of them, and not
 * for concurrency and single requests.
 */
#define TLSHM_LIMIT_PAUSES 2u
#define TLSHM_LIMIT_SHUTS_OFF 4u

/*
 * A cap on one unit of one scope over one window. Concurrency has no window, and TLSHM_TIME is for single requests alone.
 * A limit on single requests counts nothing: it is compared with what one reservation asks for, extensions included.
 */
typedef struct tlshm_limit {
    enum tlshm_unit unit;
    uint32_t flags;
    tlshm_window window;
    uint64_t cap; /* 0 denies everything, TLSHM_UNLIMITED never refuses */
} tlshm_limit;

/*
 * One scope of a request: a key "level:id" such as "agent:a1", or a handle (then the key is ignored). Only "global:"
 * may have an empty id.
 */
typedef struct tlshm_scope {
    const char *key;     /* UTF-8 without control characters */
    size_t len;          /* bytes of the key; 0 means that it is NUL-terminated */
    tlshm_handle handle; /* from tlshm_resolve(), or 0 */
} tlshm_scope;

#define TLSHM_FREE_ON_DEATH 1u /* request flag: the hold ends when a reaper finds the thread that made it gone */

typedef struct tlshm_request {
    const tlshm_scope *scopes; /* all must agree; no scope twice; the order does not matter */
    unsigned scope_count;      /* 1 .. TLSHM_SCOPES_MAX */
    uint32_t flags;
    tlshm_amounts estimate;      /* requests: 0 counts as 1. concurrency must be 0 */
    uint64_t ttl_ns;             /* the hold's life; 0 is an error */
    const void *idempotency_key; /* NULL for none. With one, a repeat returns the first answer (TLSHM_REPLAY) */
    size_t idempotency_len;      /* 1 .. TLSHM_IDEMPOTENCY_MAX */
    uint64_t tag;                /* yours; shown by inspection */
} tlshm_request;

#define TLSHM_REQUEST_INIT                                                                                             \
    {                                                                                                                  \
        NULL, 0, 0, {{0}}, TLSHM_TTL_DEFAULT_NS, NULL, 0, 0                                                            \
    }

/* Everything about a refusal. Computed only when a place for it is passed. */
typedef struct tlshm_refusal {
    enum tlshm_reason reason;
    unsigned scope; /* index into the request's scopes; UINT32_MAX when no single scope is meant */
    char key[TLSHM_KEY_MAX + 1];
    tlshm_limit limit;  /* the limit that refused (LIMIT, NEVER_FITS, REQUEST_TOO_LARGE) */
    uint64_t requested; /* in the limit's unit; for REQUEST_TOO_LARGE the whole request, too large by requested - cap */
    uint64_t used;      /* inside the window */
    uint64_t held;
    int64_t remaining;       /* cap - used - held; below zero after an overrun or a lowered cap */
    uint64_t retry_after_ns; /* the same request fits then if nothing else happens: over all its scopes and limits,
                                from buckets that roll out and holds that expire. TLSHM_NEVER: waiting does not help;
                                0: what refused has changed meanwhile, ask again */
} tlshm_refusal;

/* How a call ended. */
enum tlshm_outcome {
    TLSHM_EXACT = 0,   /* the amounts are what was used */
    TLSHM_UNKNOWN = 1, /* the stream broke, nothing is known: the estimate is charged; the amounts are ignored */
    TLSHM_AT_LEAST = 2 /* the stream broke after this much: the larger of the amounts and the estimate */
};

/* What a settle or refund did, or, for a repeat, what the first one had done. */
typedef struct tlshm_result {
    enum tlshm_status status;
    tlshm_amounts charged; /* after the overrun policy; requests are those charged at admission */
} tlshm_result;

/* ------------------------------------------------------------------------------------------------ attach, detach */

#define TLSHM_READONLY 1u /* attach: look only. Needs read permission alone, takes no seat, writes nothing */

/*
 * Attaches to a segment made by tlshm_create() (tlshm/admin.h) or `tlshm create`. `name` is a name below the default
 * place /dev/shm/tlshm, or a path (it contains a slash). Constant time, whatever the size. The file's content is
 * checked: a foreign, truncated or corrupt file, one of another layout or another boot is refused, and never written.
 * Survives fork (parent and child use it independently). `err` may be NULL.
 * Returns 0, or -ENOENT -EACCES -EFOREIGN -ELAYOUT -ETRUNCATED -ECORRUPT -EBOOT -ECLOCK -EINVAL -ENOMEM -ESYS.
 */
int tlshm_attach(tlshm_t **out, const char *name, unsigned flags, struct tlshm_error *err);

/*
 * Gives back the calling thread's seat and ends the attachment. No other thread of this process may be inside a call.
 * Seats of other threads go when those threads end; the memory stays mapped until the last of them is gone. Holds stay.
 * NULL is allowed.
 */
void tlshm_detach(tlshm_t *t);

/*
 * Is the file that this attachment uses still the one that its path leads to? One stat(2): cheap enough for a health
 * check, not for every call. Returns 0: yes; 1: no, it was destroyed, removed or replaced, and new attaches would not find
 * this segment, which goes on for those who have it; -TLSHM_ETRUNCATED: the file was cut short, and an access behind its
 * end raises SIGBUS; -EACCES -ESYS: the path cannot be looked at from here; -EINVAL.
 */
int tlshm_stale(tlshm_t *t);

/*
 * For a handler of SIGBUS, which the kernel raises when a file is cut short while it is mapped. `address` is si_addr. If
 * it lies inside the attachment, private memory takes the segment's place, so that the handler can return and the call that
 * was interrupted comes to an end; that call and all later ones through `t` return -TLSHM_ETRUNCATED, in every thread of
 * this process. Detach as usual. What a call had done before the file was cut cannot be known. Returns 1, or 0: not ours,
 * or no memory; then do what the handler would have done without. Async-signal-safe; the caller sees to it that `t` is
 * not being attached or detached by another thread.
 */
int tlshm_fault(tlshm_t *t, const void *address);

/* Gives the calling thread's seat back before the thread ends (thread pools). The next call takes one again. */
void tlshm_thread_release(tlshm_t *t);

/*
 * Turns a key into a handle, creating the scope if it is new. A request with handles skips hashing and look-up.
 * Returns 0, -EKEY, -ELEVEL, -ENOROOM (the table is full), -EREADONLY, -ENOSEAT, -ENOMEM, -EREENTRANT, -ECORRUPT.
 */
int tlshm_resolve(tlshm_t *t, const char *key, size_t len, tlshm_handle *out);

/* --------------------------------------------------------------------------------------------------- daily calls */

/*
 * Reserves the estimate against all scopes of the request, or nothing. Order of decisions: validate, replay of the
 * idempotency key, pause and shutoff, per-request limits, never-fits, all limits of all scopes (atomically).
 * `id` is set on TLSHM_OK and TLSHM_REPLAY, `why` (may be NULL: then a refusal costs no more than the decision) on
 * TLSHM_REFUSED only. Before a refusal for LIMIT, overdue holds that stand in the way are expired. A request that takes
 * nothing of a unit is not refused by limits of that unit, however far they are exceeded.
 * A limit on the time of single requests shortens the hold's life to it and does not refuse, unless it is 0.
 * Returns TLSHM_OK, TLSHM_REFUSED, TLSHM_REPLAY, or -EINVAL -EKEY -ELEVEL -ERANGE -EEMPTY -EMISMATCH -ESTALE
 * -EREADONLY -ENOSEAT -ENOMEM -EREENTRANT -ECORRUPT -ECONTENDED. ENOSEAT and ENOMEM: the thread needed a seat.
 */
int tlshm_reserve(tlshm_t *t, const tlshm_request *request, tlshm_id *id, tlshm_refusal *why);

/* The common case: scopes agent:<agent> and tenant:<tenant>, tokens and nano-dollars, the default deadline. */
int tlshm_reserve_agent(tlshm_t *t, const char *agent, const char *tenant, uint64_t tokens, uint64_t cost_nusd,
                        tlshm_id *id, tlshm_refusal *why);

/*
 * What tlshm_reserve() of this request would answer now, without reserving: the same order of decisions, the same verdict,
 * `why` filled in alike. Nothing is written, nothing is created, no seat is taken, no counter moves: a scope never seen is
 * judged by its level's default tier, overdue holds are taken for expired. TLSHM_REPLAY: the request's idempotency key has
 * its first answer. The answer is true of one moment of the call and promises nothing for later: who means to spend
 * reserves. While other calls change the scopes over and over again, each scope is judged as of a moment of its own.
 * It judges amounts, as tlshm_reserve() does; tlshm_model_would_fit() (tlshm/model.h) judges a call by model, whose
 * idempotency key is EMISMATCH here.
 * Works read-only. Allocates memory: not for signal handlers. `why` (may be NULL) is set on TLSHM_REFUSED only.
 * Returns TLSHM_OK, TLSHM_REFUSED, TLSHM_REPLAY, or -EINVAL -EKEY -ELEVEL -ERANGE -EEMPTY -EMISMATCH -ESTALE -ENOMEM
 * -ECORRUPT.
 */
int tlshm_would_fit(tlshm_t *t, const tlshm_request *request, tlshm_refusal *why);

/*
 * Replaces the hold with the charge: the actual use as the overrun policy sees it, in the bucket of this moment. Never
 * refused by limits, pause or shutoff. `actual` may be NULL for TLSHM_UNKNOWN. `result` may be NULL.
 * Returns TLSHM_OK; TLSHM_LATE after the deadline (the use is recorded once, nothing is released twice); TLSHM_REPLAY
 * if it had been settled or refunded (result tells the first outcome); -EUNKNOWN for an id that is not, or no longer,
 * known; -ERANGE; -EINVAL -EREADONLY -ENOSEAT -ENOMEM -EREENTRANT -ECORRUPT -ECONTENDED.
 */
int tlshm_settle(tlshm_t *t, tlshm_id id, const tlshm_amounts *actual, enum tlshm_outcome outcome,
                 tlshm_result *result);

/*
 * Releases the hold with no use. Requests stay charged (a failed call was a call).
 * Returns TLSHM_OK; TLSHM_REPLAY if it had been refunded or settled; TLSHM_ENDED if it had expired; errors as settle.
 */
int tlshm_refund(tlshm_t *t, tlshm_id id, tlshm_result *result);

/*
 * Adds amounts (NULL for none; checked against every limit, all or nothing) and time (`ttl_ns` from now, never
 * shortening; 0 for none) to a live hold. On TLSHM_REFUSED the reservation stands exactly as it was. Adding time alone
 * is refused only as REQUEST_TOO_LARGE. An expired hold is not resurrected: TLSHM_ENDED. requests and concurrency cannot be extended.
 * NEVER_FITS means that the added amount alone is above the cap, REQUEST_TOO_LARGE that the estimate with what is added is
 * above a limit on single requests, or that the hold would live longer since it was reserved than such a limit allows.
 * Returns TLSHM_OK, TLSHM_REFUSED, TLSHM_ENDED, or -EEMPTY (neither amounts nor time) and the errors of settle.
 */
int tlshm_extend(tlshm_t *t, tlshm_id id, const tlshm_amounts *more, uint64_t ttl_ns, tlshm_refusal *why);

/*
 * What could still be reserved of `unit` on one scope now: the smallest cap - used - held over its limits of that
 * unit, of those on single requests the cap; below zero after an overrun or a lowered cap; INT64_MAX when nothing limits it. Overdue holds don't count. A
 * scope never seen answers with its level's default tier, and is not created. Works read-only.
 */
int tlshm_remaining(tlshm_t *t, const char *key, size_t len, enum tlshm_unit unit, int64_t *out);
int tlshm_remaining_handle(tlshm_t *t, tlshm_handle scope, enum tlshm_unit unit, int64_t *out);

/* One limit of a scope as it stands. */
typedef struct tlshm_limit_usage {
    tlshm_limit limit;
    uint64_t used; /* inside the window */
    uint64_t held;
    int64_t remaining;
    uint64_t frees_in_ns; /* when `used` next gets smaller by itself: oldest bucket or period end; TLSHM_NEVER */
} tlshm_limit_usage;

enum tlshm_limits_source {
    TLSHM_LIMITS_NONE = 0,
    TLSHM_LIMITS_OWN = 1,
    TLSHM_LIMITS_TIER = 2,
    TLSHM_LIMITS_DEFAULT = 3
};

/* Everything counted for a scope, at one instant. */
typedef struct tlshm_scope_usage {
    uint64_t used[TLSHM_UNITS]; /* charged since the scope was first used */
    uint64_t held[TLSHM_UNITS]; /* overdue holds not counted */
    unsigned limit_count;
    tlshm_limit_usage limits[TLSHM_LIMITS_MAX];
    enum tlshm_limits_source source;
    char tier[TLSHM_NAME_MAX + 1]; /* TIER, DEFAULT */
    int paused, shutoff;           /* this scope's own flags */
    int seen;                      /* 0: never used; what a first call would meet is shown */
} tlshm_scope_usage;

/* Returns 0, -EKEY, -ELEVEL, -ECORRUPT. Works read-only. */
int tlshm_usage(tlshm_t *t, const char *key, size_t len, tlshm_scope_usage *out);

typedef struct tlshm_reservation_info {
    tlshm_id id;
    enum tlshm_status status; /* an overdue hold shows as EXPIRED */
    unsigned scope_count;
    tlshm_handle scopes[TLSHM_SCOPES_MAX]; /* as in the request; tlshm_scope_key() gives the keys */
    tlshm_amounts estimate;
    tlshm_amounts charged; /* requests are charged at admission, the rest at settle */
    enum tlshm_outcome outcome;
    uint64_t age_ns;        /* since it was reserved */
    uint64_t expires_in_ns; /* HELD: time left; 0 otherwise */
    uint64_t ended_ago_ns;  /* not HELD: since it ended */
    uint32_t owner_pid;     /* the process that reserved, as that process saw its pid */
    uint64_t tag;
    uint32_t model;   /* what it was reserved for, a number for tlshm_model_get() (tlshm/model.h); 0: not told */
    uint32_t service; /* with a model: enum tlshm_service (tlshm/price.h) */
    uint32_t cached_discount_ppm; /* how much of each cached token its settle does not count (tlshm/model.h) */
    unsigned idempotency_len;
    unsigned char idempotency_key[TLSHM_IDEMPOTENCY_MAX];
} tlshm_reservation_info;

/* Returns 0, -EUNKNOWN, -ECORRUPT. Works read-only. Terminal records stay readable until their place is needed. */
int tlshm_reservation(tlshm_t *t, tlshm_id id, tlshm_reservation_info *out);

/*
 * The key of a handle, NUL-terminated, into `buf` of at least TLSHM_KEY_MAX + 1 bytes. Returns its length, or -ESTALE,
 * -EINVAL, -ECORRUPT. Works read-only.
 */
int tlshm_scope_key(tlshm_t *t, tlshm_handle scope, char *buf, size_t size);

/*
 * Puts a refusal into one sentence for people, such as "tenant:acme is over its limit of 1,000,000 tokens per 1h:
 * 990,000 used, 5,000 held, 20,000 requested; try again in 12 min". Writes at most `size` bytes, always terminated.
 * Returns the length that the whole text has.
 */
int tlshm_refusal_text(const tlshm_refusal *why, char *buf, size_t size);

/* "tokens", "cost", ..., "time"; "HELD", ...; "LIMIT", ...: static strings, "?" for a number out of range. */
const char *tlshm_unit_name(int unit);
const char *tlshm_status_name(int status);
const char *tlshm_reason_name(int reason);

/* The library's version, as TLSHM_VERSION was when it was built. */
const char *tlshm_version(void);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
