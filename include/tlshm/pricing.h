/* SPDX-License-Identifier: MIT */
/*
 * tlshm/pricing.h - price tables that are read again while workers run, because somebody said so in the segment.
 *
 * What to know first:
 *   - The segment has one number for prices. tlshm_pricing_announce(), `tlshm prices reload` and applying a
 *     configuration that has prices raise it. It says that files have changed, not what is in them: every process reads
 *     them by itself, from the paths that it opened, and may have others than its neighbour.
 *   - A process notices at its next price: one relaxed load and a comparison. The thread that notices reads the files
 *     (for a published table some tens of milliseconds), once for the process; all others go on with the old table
 *     meanwhile. Whoever cannot spare that time in a call lets a thread of its own call tlshm_pricing_refresh().
 *   - A table is changed as a whole: what is asked between tlshm_pricing_begin() and tlshm_pricing_end() is answered from
 *     one table, overrides and default included.
 *   - A file that is bad, or not there, changes nothing: the old table stays, tlshm_pricing_get() tells the error, and
 *     nothing is tried again before the number is raised once more.
 *   - Put a new file into place by rename(), then announce it. A file that is read while it is replaced so is read whole,
 *     the old one or the new one; who announces afterwards has everybody read the new one.
 *
 * Unless a function says otherwise it is safe from any thread. After fork parent and child each have a table of their own,
 * also if another thread of the parent was reading files at that moment. Not from signal handlers. No call waits for
 * another process; whoever reads files waits, when it has done so, for threads between begin and end.
 */
#ifndef TLSHM_PRICING_H
#define TLSHM_PRICING_H

#include <tlshm/price.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tlshm_pricing tlshm_pricing; /* the prices of this process */

/* A price of one's own, as tlshm_prices_override() takes it: `model` NULL is the default. */
typedef struct tlshm_own_price {
    const char *model;
    const char *price;
} tlshm_own_price;

/*
 * Prices that follow a segment: a price table (`path` NULL: none) and `count` prices of one's own, which are copied and
 * stay over every reading. Of two for one model the later one counts. A read-only attachment will do. `t` must stay
 * attached until tlshm_pricing_close(). `err` may be NULL.
 * Returns 0, or as tlshm_prices_open() and tlshm_prices_override() do.
 */
int tlshm_pricing_open(tlshm_pricing **out, tlshm_t *t, const char *path, const tlshm_own_price *own, size_t count,
                       struct tlshm_error *err);

/*
 * The same from the section `prices` of a configuration file (tlshm.conf(5)): its path, default and overrides. The file is
 * read again too. Returns 0, -EINVAL (it has faults: `err` says the first one's line and column; or no such section),
 * -ERANGE (a price above the largest one, too many of them), or as tlshm_config_load() and tlshm_prices_open() do.
 */
int tlshm_pricing_open_config(tlshm_pricing **out, tlshm_t *t, const char *path, struct tlshm_error *err);

/* No other thread may use it any more. NULL is allowed. */
void tlshm_pricing_close(tlshm_pricing *pricing);

/* As tlshm_price(), from the table that is in force now. */
int tlshm_pricing_price(tlshm_pricing *pricing, const tlshm_price_call *call, tlshm_cost *out);

/*
 * The table that is in force now, for several calls of tlshm/price.h that are to agree. It stays until
 * tlshm_pricing_end(), on the same thread; pairs may be nested. Whoever reads files waits for that end, so come to it soon,
 * and do not fork before. NULL for NULL: nothing is begun then.
 */
const tlshm_prices *tlshm_pricing_begin(tlshm_pricing *pricing);
void tlshm_pricing_end(tlshm_pricing *pricing);

/*
 * Reads the files again if the number was raised since they were read, and nobody in this process is doing so.
 * Returns 1 if they were read, 0 if there was nothing to do, or the error of reading them; the old table stays then, and
 * tlshm_pricing_get() goes on telling the error. Between begin and end it does nothing.
 */
int tlshm_pricing_refresh(tlshm_pricing *pricing, struct tlshm_error *err);

typedef struct tlshm_pricing_info {
    uint64_t version;         /* the segment's number when the files of the table in use were read */
    uint64_t announced;       /* the segment's number now */
    struct tlshm_error err;   /* of the last reading; err.code is 0 when it went well */
    tlshm_prices_info prices; /* of the table in use */
} tlshm_pricing_info;

/* Reads no file. Returns 0 or -EINVAL. */
int tlshm_pricing_get(const tlshm_pricing *pricing, tlshm_pricing_info *out);

/*
 * Raises the segment's number: everybody who follows it reads its files at its next price. Takes no seat. Returns 0,
 * -EINVAL -EREADONLY -ETRUNCATED.
 */
int tlshm_pricing_announce(tlshm_t *t);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
