/* SPDX-License-Identifier: MIT */
/*
 * layout.h - THE FORMAT: every structure in shared memory, who may write each field, and what a crash there means.
 *
 *   0        header        identity, geometry, flags, clock, reaper; one page
 *            zones         time zones of calendar limits, each written once
 *            lists         limit lists, immutable while anything points at them
 *            buckets       the directory: hash buckets of chained cells
 *            cells         one line a cell: [0,tiers) tiers and levels, then scopes, then idempotency cells
 *            keys          256 bytes a cell (not for idempotency cells)
 *            seats         one for each thread that writes
 *            sheets        the balance sheets: one a cell, and SHM_SPARES spares a seat
 *            bodies        the reservations' contents: one a record, and one spare a seat
 *            records       one head word a reservation, and one a seat for its internal operations
 *            horizons      one word a block of SHM_BLOCK reservations: when the first of them may end
 *            history       rings of {tag, counter}: per scope cell and limit
 *            changes       one word a cell of the first two kinds, and one more: see pending.h
 *            models        what was learned of each model's output: see models.h
 *
 * Every section starts on a page. Their places follow from the geometry alone; nothing that is read from the file
 * later is used as an address. Links are indices, and each is checked where it is followed.
 *
 * WORDS (64 bits)
 *   head of a cell     {version:40 | sheet:24}             changed by CAS only
 *   head of a record   {status:4 | version:36 | body:24}   changed by CAS only
 *   ref of a sheet     unmarked {operation:50 | seat:12 | 0:2}, AFTER {date:62 | 1}, BEFORE {x:62 | 2}
 *   ref of a body      unmarked as above, or any word with a mark in its lowest two bits
 *   cur of a seat      {operation:63 | open:1}
 *   horizon            {time:44 | doubted:1 | tied:1 | version:18}      changed by CAS only, see horizon.h
 *   state of a model   {free 0, claimed 1, live 2 : 2 | seat:12 and epoch:50, or the name's hash:62}  CAS, then published
 *
 * INVARIANTS
 *   I1  Each sheet is in exactly one place: the head of a cell, or a seat's spares. Each body likewise with records.
 *   I2  A sheet counts as its `after` if the operation that wrote it was decided, else as its `before`.
 *   I3  For every scope and unit: held = sum of the estimates of HELD reservations that name it.
 *   I4  For every scope and unit: used = sum of the charges, ever, of reservations that name it (requests at admission).
 *   I5  For every window: start <= used, and ring words older than the current bucket never change while a sheet
 *       that needs them is installed.
 *   I6  due <= the earliest deadline of the HELD reservations that name the scope.
 *   I7  A horizon that is not doubted is not later than the deadline of any HELD reservation of its block, and tied if
 *       one of them is tied to its owner's life.
 *   I8  A live model stays what it is, and its name has the hash that its state tells.
 *
 * CRASH  A process may die at any store. Memory that only it may write (its seat, its spares, a claimed cell or list)
 * is handed on only when the kernel says that it is dead (robust futex) or after it let go; all else is CAS words.
 */
#ifndef TL_LAYOUT_H
#define TL_LAYOUT_H

#include <pthread.h>

#include <tlshm.h>
#include <tlshm/admin.h>

#include "atomic.h"
#include "calendar.h"

#define SHM_MAGIC UINT64_C(0x314d48534c543aff) /* differs in each byte order, is no text */
#define SHM_VERSION 1
#define SHM_CELLS_MAX (TLSHM_SCOPES_MAX + 1) /* cells of one operation: the scopes and an idempotency cell */
#define SHM_SPARES SHM_CELLS_MAX
#define SHM_LEVELS_MAX 16
#define SHM_ZONES_MAX 32
#define SHM_KEY_WORDS 32
#define SHM_PLAIN_UNITS                                                                                                \
    3 /* a body's units that are charged, on its first line: tokens, cost, requests; else input, output, tools */
#define SHM_IDEM_ENTRIES 16
#define SHM_IDEM_SHARE 8 /* one idempotency cell for so many reservations: room for twice their number */
#define SHM_BLOCK 64     /* reservations that share a horizon; their number is a multiple of it */
#define SHM_MODEL_BITS 4 /* 16 buckets for each doubling of a model's output ... */
#define SHM_MODEL_TOP 24 /* ... up to 2^24 tokens; what is above counts as that */
#define SHM_MODEL_BUCKETS ((SHM_MODEL_TOP - SHM_MODEL_BITS + 1) << SHM_MODEL_BITS)
#define SHM_MODEL_NAME_WORDS 33
#define SHM_PAGE 4096

enum shm_status { SHM_FREE = 0, SHM_HELD = 1, SHM_SETTLED = 2, SHM_REFUNDED = 3, SHM_EXPIRED = 4 };
enum shm_mark { SHM_UNMARKED = 0, SHM_AFTER = 1, SHM_BEFORE = 2, SHM_MARKS = 3 };

/*
 * What a scope holds and has used. The first line is all that most scopes ever have: a balance whose other words are 0 is
 * narrow, and those are neither written nor read. Requests are never held and concurrency is never used: they share a
 * word that stays 0. An idempotency cell has 16 entries in place of these words.
 *
 *   0  held tokens    1  held cost      2  held concurrency   3  due            4  used tokens   5  used cost
 *   6  used requests  7  incarnation    8  held input         9  held output   10  held tools   11  0
 *  12  used input    13  used output   14  used tools        15  0
 *
 * due: no HELD reservation of the scope has an earlier deadline; TL_FOREVER when none is held. incarnation: grows when the
 * cell is given to another key: handles of the old one are stale.
 */
#define SHM_BALANCE_WORDS 16
#define SHM_NARROW_WORDS 8
#define SHM_DUE 3
#define SHM_INCARNATION 7
#define SHM_SECOND 16 /* words from the first line of a balance to its second line */

/* One line of a balance. */
struct shm_balance {
    tl_word word[SHM_NARROW_WORDS];
};

/* Where a balance has each unit. */
static const unsigned char shm_held_at[TLSHM_UNITS] = {0, 1, 11, 2, 8, 9, 10};
static const unsigned char shm_used_at[TLSHM_UNITS] = {4, 5, 6, 15, 12, 13, 14};

/* One window of a scope: what the sheet knows of it. See history.h. */
struct shm_window {
    tl_word shape;  /* what it is: struct tl_shape packed, see window.h */
    tl_word bucket; /* {tag:8 | ring:3 | bucket:53}: the current bucket, or the calendar period's number */
    tl_word start;  /* the unit's `used` when that bucket began */
    tl_word marks;  /* rolling: bit i: bucket - i was opened; calendar: boot time of the period's end */
};
#define SHM_WINDOW_WORDS 4

/*
 * A node. Written by the seat that owns it while it is a spare, immutable but for `ref` while it is installed. Three lines
 * are all that an operation on narrow balances writes when the windows stay as they are.
 */
struct shm_sheet {
    tl_word ref;
    tl_word time1;   /* clock of the operation that wrote it */
    tl_word offset1; /* wall clock minus boot clock then */
    tl_word wide;    /* 0: the balances are narrow */
    /* the committed state below the operation, as of `time` */
    tl_word time;
    tl_word edge;    /* no window changes before this time */
    tl_word offset;  /* wall minus boot that the calendar windows go by */
    tl_word windows; /* {version:56 | count:8}: the cell's version at which any of the window words changed last */
    struct shm_balance after, before;
    struct shm_balance after_wide, before_wide; /* their second lines */
    struct shm_window window[];                 /* limits_per_scope of them */
};

/* A limit list: claimed, filled, published by a policy word, freed when no policy word points at it. */
struct shm_list {
    tl_word state; /* see limits.h */
    tl_word count;
    struct shm_limit {
        tl_word shape;
        tl_word cap;
    } limit[];
};

struct shm_cell {
    tl_word head;
    tl_word knock;  /* 0 or seat + 1: somebody lost a race for this cell. A hint, any value is harmless */
    tl_word policy; /* {version:22 | pending:1 | shutoff:1 | paused:1 | kind:2 | level:13 | index:24}, see limits.h */
    tl_word life;   /* {state:2 | ...}, see directory.h */
    tl_word next;   /* the directory's chain: {dead:1 | version:39 | cell + 1:24} */
    tl_word hash;   /* of the key */
    tl_word rank;   /* a level's rank; of a scope: its level's */
    tl_word resets; /* counts windows started anew: their tags (history.h, W3) */
};

struct shm_key {
    tl_word word[SHM_KEY_WORDS]; /* length byte, then the bytes */
};

/*
 * A reservation's contents. Like a sheet: written while it is a spare, then immutable but for `ref`. What most do not have
 * is neither written nor read, and means 0: the `wide` part unless `info` says so, scopes beyond the second, the key.
 */
struct shm_body {
    tl_word ref;
    tl_word info; /* see body.h */
    tl_word ended;
    tl_word charged[SHM_PLAIN_UNITS];
    tl_word deadline;
    tl_word generation;
    tl_word owner; /* {pid:22 | epoch:30 | seat:12} */
    tl_word created;
    tl_word tag;
    tl_word estimate[SHM_PLAIN_UNITS];
    tl_word scope[2]; /* handles, in the caller's order */
    struct {
        tl_word charged[SHM_PLAIN_UNITS];
        tl_word estimate[SHM_PLAIN_UNITS];
        tl_word model; /* {discount:20 | service:4 | model + 1:24}, 0: none */
        tl_word unused;
    } wide;
    tl_word more_scopes[TLSHM_SCOPES_MAX - 2];
    tl_word unused;
    tl_word request; /* fingerprint of scopes and amounts as first asked for */
    tl_word idempotency[TLSHM_IDEMPOTENCY_MAX / 8];
};
#define SHM_BODY_WORDS 40

struct shm_record {
    tl_word head;
};

enum shm_counter {
    SHM_N_ADMITTED,
    SHM_N_REFUSED, /* one for each reason */
    SHM_N_REPLAYED = SHM_N_REFUSED + TLSHM_REASONS,
    SHM_N_SETTLED,
    SHM_N_LATE,
    SHM_N_REFUNDED,
    SHM_N_EXPIRED,
    SHM_N_EXTENDED,
    SHM_N_RETRIES,
    SHM_N_EARLY_REUSE,
    SHM_N_RECYCLED,
    SHM_N_COMMITS,
    SHM_COUNTERS = 24
};

/* A thread's place. Only the thread that holds `lock` writes the rest, and only its certain heir after it. */
struct shm_seat {
    alignas(TL_LINE) tl_word cur;
    tl_word record; /* {cells:8 | record:32} */
    tl_word from;
    tl_word to;
    struct shm_step {
        tl_word expected; /* head of the cell that the sheet was computed from */
        tl_word place;    /* {cell:32 | own sheet:32} */
    } step[SHM_CELLS_MAX];
    alignas(TL_LINE) tl_word spare_body;
    tl_word spare[SHM_SPARES];
    alignas(TL_LINE) tl_word epoch; /* grows whenever the seat changes hands: claims of older epochs are stale */
    tl_word pid;                    /* as the owner saw them; hints for people */
    tl_word tid;
    tl_word since;
    alignas(TL_LINE) pthread_mutex_t lock; /* robust, process-shared, held for as long as the thread has the seat */
    alignas(TL_LINE) tl_word counter[SHM_COUNTERS];
};

/* LATCHES: some limit list has had a latch (latch.h). In the bits above, how often a person changed the switches. */
enum shm_flag { SHM_PAUSED = 1, SHM_SHUTOFF = 2, SHM_DESTROYED = 4, SHM_LATCHES = 8 };
#define SHM_SWITCHED (UINT64_C(1) << 32)

struct shm_header {
    /* identity: written before the file gets its name, never again */
    tl_word magic;
    tl_word version;
    tl_word fingerprint;
    tl_word bytes;
    tl_word boot_id[2];
    tl_word created_boot;
    tl_word created_wall;
    tl_word geometry[8]; /* scopes reservations limits slices seats tiers lists retention */
    tl_word creator_pid;
    tl_word virtual_clock;
    tl_word hash_seed;
    tl_word first_generation;
    tl_word namespace_boot; /* the creator's clock offsets, see clock.h */
    tl_word namespace_mono;
    tl_word models;   /* of the geometry */
    tl_word checksum; /* of all above */
    /* changed by people, read by every call */
    alignas(TL_LINE) tl_word flags;
    tl_word overrun; /* in the form of a policy word: {version:22 | pending:1 | 0:17 | enum tlshm_overrun:24} */
    tl_word virtual_boot;
    tl_word virtual_wall;
    tl_word slept;  /* boot clock minus monotonic clock: the time spent suspended */
    tl_word change; /* of many policy words at once: {number:24 | epoch:26 | seat:12 | state:2}, see pending.h */
    tl_word prices; /* how often price files were announced, see pricing.c; only grows */
    /* hints */
    alignas(TL_LINE) tl_word record_cursor;
    alignas(TL_LINE) tl_word scope_cursor;
    tl_word list_cursor;
    alignas(TL_LINE) tl_word reaper_pid;
    tl_word reaper_beat;
    tl_word reaper_passes;
    tl_word reaper_lag_max;
    tl_word reaper_epochs; /* the sum of the seats' epochs as of which no tied hold is left of a former owner */
    tl_word reaper_dues;   /* when the scopes' due times are to be looked at again */
};
#define SHM_IDENTITY_WORDS 23

struct shm_zone {
    tl_word state; /* {free 0, claimed 1, live 2 : 2 | seat:12 | epoch:50} */
    tl_word spare;
    tl_word zone[(sizeof(struct tl_zone) + 7) / 8];
};

/*
 * What was learned of one model. Claimed by a seat, filled, published, and never anything else afterwards: reservations
 * name it by its number.
 */
struct shm_model {
    alignas(TL_LINE) tl_word state;
    tl_word learned;                    /* outputs ever */
    tl_word name[SHM_MODEL_NAME_WORDS]; /* {length of the provider:8 | of the model:8 | both, in lower case} */
    /* {age:32 | weight:32} of the outputs of this size, see models.h */
    alignas(TL_LINE) tl_word bucket[SHM_MODEL_BUCKETS];
};

_Static_assert(sizeof(struct shm_balance) == TL_LINE, "a line of a balance");
_Static_assert(sizeof(struct shm_window) == SHM_WINDOW_WORDS * 8, "window");
_Static_assert(offsetof(struct shm_sheet, after) == TL_LINE && offsetof(struct shm_sheet, window) == 320, "sheet");
_Static_assert(offsetof(struct shm_sheet, after_wide) - offsetof(struct shm_sheet, after) == SHM_SECOND * 8, "sheet");
_Static_assert(offsetof(struct shm_sheet, before_wide) - offsetof(struct shm_sheet, before) == SHM_SECOND * 8, "sheet");
_Static_assert(sizeof(struct shm_cell) == TL_LINE, "cell");
_Static_assert(sizeof(struct shm_key) == 256, "key");
_Static_assert(sizeof(struct shm_body) == SHM_BODY_WORDS * 8, "body");
_Static_assert(offsetof(struct shm_body, deadline) == 48 && offsetof(struct shm_body, wide) == 128, "body");
_Static_assert(offsetof(struct shm_body, unused) == 240 && offsetof(struct shm_body, idempotency) == 256, "body");
_Static_assert(offsetof(struct shm_seat, step) == 32, "an operation on two cells fits one line");
_Static_assert(offsetof(struct shm_header, checksum) == SHM_IDENTITY_WORDS * 8, "header");
_Static_assert(sizeof(struct shm_header) <= SHM_PAGE, "header");
_Static_assert(sizeof(struct tl_zone) % 8 == 0, "zone");
_Static_assert(offsetof(struct shm_model, bucket) == 320 && sizeof(struct shm_model) == 3008, "model");

/* ------------------------------------------------------------------------------------------ words, packed and taken apart */

#define SHM_NODE_BITS 24
#define SHM_HORIZON_NONE (~UINT64_C(0) << 20) /* nothing is held in the block */
#define SHM_POLICY_VERSION 42                 /* the lowest bit of a policy word's version */
#define SHM_NODE_MASK ((UINT64_C(1) << SHM_NODE_BITS) - 1)
#define SHM_DATE_MASK (~UINT64_C(0) >> 2)

TL_INLINE uint32_t shm_node(uint64_t head)
{
    return (uint32_t)(head & SHM_NODE_MASK);
}

/* The head that follows `head` when `sheet` is installed over it. */
TL_INLINE uint64_t shm_next_head(uint64_t head, uint32_t sheet)
{
    return (((head >> SHM_NODE_BITS) + 1) << SHM_NODE_BITS) | sheet;
}

/* Where a step of an operation takes place: the cell, and the sheet that is to follow. */
TL_INLINE uint64_t shm_place(uint32_t cell, uint32_t sheet)
{
    return (uint64_t)cell << 32 | sheet;
}

TL_INLINE unsigned shm_status(uint64_t head)
{
    return (unsigned)(head >> 60);
}

TL_INLINE uint64_t shm_record_head(unsigned status, uint64_t before, uint32_t body)
{
    uint64_t version = ((before >> SHM_NODE_BITS) + 1) & ((UINT64_C(1) << 36) - 1);
    return (uint64_t)status << 60 | version << SHM_NODE_BITS | body;
}

TL_INLINE uint64_t shm_ref(uint32_t seat, uint64_t operation)
{
    return operation << 14 | (uint64_t)seat << 2;
}

TL_INLINE uint32_t shm_ref_seat(uint64_t ref)
{
    return (uint32_t)(ref >> 2) & 0xfff;
}

TL_INLINE uint64_t shm_cur_open(uint64_t operation)
{
    return operation << 1 | 1;
}

/* ------------------------------------------------------------------------------------------------------ the mapping */

/*
 * A process's view of a segment: where each section is in this process, and how many entries it has. Made from the
 * geometry once it was checked; the file's own numbers are not looked at again.
 */
struct tl_map {
    struct shm_header *header;
    struct shm_zone *zones;
    unsigned char *lists;
    tl_word *buckets;
    struct shm_cell *cells;
    struct shm_key *keys;
    struct shm_seat *seats;
    unsigned char *sheets;
    struct shm_body *bodies;
    struct shm_record *records;
    tl_word *horizons;
    tl_word *history;
    tl_word *next_policy; /* scope_end + 1 words */
    struct shm_model *models;
    uint64_t bytes;
    uint64_t retention_ns;
    uint32_t tier_cells; /* tiers and levels: cells [0, tier_cells) */
    uint32_t scope_end;  /* scopes: cells [tier_cells, scope_end) */
    uint32_t cell_count; /* idempotency: cells [scope_end, cell_count) */
    uint32_t seat_count;
    uint32_t sheet_count;
    uint32_t body_count;
    uint32_t reservations; /* records [0, reservations); then one for each seat */
    uint32_t record_count;
    uint32_t block_count; /* of SHM_BLOCK reservations */
    uint32_t list_count;
    uint32_t bucket_mask;
    uint32_t model_count;
    uint32_t limits;     /* most limits of a scope */
    uint32_t slices;     /* most buckets of a rolling window */
    uint32_t ring_words; /* words of one window's ring, a power of two */
    uint32_t sheet_bytes;
    uint32_t list_bytes;
    bool readonly;
};

TL_INLINE struct shm_sheet *tl_map_sheet(const struct tl_map *map, uint32_t sheet)
{
    return (struct shm_sheet *)(void *)(map->sheets + (size_t)sheet * map->sheet_bytes);
}

TL_INLINE struct shm_list *tl_map_list(const struct tl_map *map, uint32_t list)
{
    return (struct shm_list *)(void *)(map->lists + (size_t)list * map->list_bytes);
}

/* The ring of window `window` of scope cell `cell`. */
TL_INLINE tl_word *tl_map_ring(const struct tl_map *map, uint32_t cell, unsigned window)
{
    return map->history + ((size_t)(cell - map->tier_cells) * map->limits + window) * map->ring_words;
}

TL_INLINE bool tl_map_is_scope(const struct tl_map *map, uint32_t cell)
{
    return cell >= map->tier_cells && cell < map->scope_end;
}

/* Fills in defaults and checks ranges. 0 or -TLSHM_EINVAL, then `what` names the field. */
int tl_layout_geometry(tlshm_geometry *geometry, const char **what);

/* What a field of a geometry may be; false for a name that is none of those that count entries. */
bool tl_layout_range(const char *name, uint32_t *low, uint32_t *high);

/* Places the sections of a checked geometry at `base` (may be NULL: only sizes). Returns the segment's bytes. */
uint64_t tl_layout_place(struct tl_map *map, const tlshm_geometry *geometry, void *base);

/* Writes the first content of every section but the header into zeroed memory. */
void tl_layout_fill(const struct tl_map *map, uint64_t first_generation);

/* Sizes and offsets of everything above, folded into a word: two builds that differ in it must not share a file. */
uint64_t tl_layout_fingerprint(void);

uint64_t tl_layout_checksum(const struct shm_header *header);

/* The geometry as the header has it. */
void tl_layout_read_geometry(const struct shm_header *header, tlshm_geometry *out);
void tl_layout_write_geometry(struct shm_header *header, const tlshm_geometry *geometry);

#endif
