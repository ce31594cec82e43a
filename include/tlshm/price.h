/* SPDX-License-Identifier: MIT */
/*
 * tlshm/price.h - what a call costs: price tables as LiteLLM and genai-prices publish them, and exact sums.
 *
 * What to know first:
 *   - A table belongs to one process and has nothing to do with a segment. It is read from a file once; reloading swaps
 *     the whole of it, and a thread that is just computing a price finishes with the table it began with.
 *   - Prices are whole pico-dollars per token ($1 per million tokens is 1,000,000). A published price that is finer,
 *     such as 3.0000000000000004e-07 dollars, is rounded up. A sum is exact in pico-dollars; it is rounded up to
 *     nano-dollars once, at its end.
 *   - Nothing is free by accident. A model that is not in the table, has no price for tokens, or has one that is
 *     negative or absurd (above TLSHM_PRICE_MAX_PUSD), is a verdict of its own, TLSHM_UNKNOWN_MODEL, unless a default
 *     price was set. A model whose published prices are all 0 is free.
 *   - A kind of token without a price of its own is charged as what it is a part of: cached input as input, reasoning as
 *     output. That is never too little where discounts were left out.
 *   - Tokens, web searches and requests are priced; pictures by the piece, seconds and characters are not. A search whose
 *     price a table does not have costs nothing, as does a request.
 *
 * Unless a function says otherwise it is safe from any thread, and after fork in the child, which has a copy of its own.
 * Not from signal handlers: they allocate, or take part in liburcu's read side.
 */
#ifndef TLSHM_PRICE_H
#define TLSHM_PRICE_H

#include <tlshm.h>
#include <tlshm/counts.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TLSHM_MODEL_MAX 255                              /* bytes of a model's name, its provider's prefix included */
#define TLSHM_PRICE_MAX_PUSD UINT64_C(1000000000)        /* a token: $1,000 per million */
#define TLSHM_REQUEST_MAX_PUSD UINT64_C(100000000000000) /* a request or a search: $100 */

typedef struct tlshm_prices tlshm_prices; /* one table of this process */

/* What is priced apart. tlshm_part_name() gives the words in which a price is written. */
enum tlshm_part {
    TLSHM_PART_INPUT = 0,       /* input tokens that are none of the following */
    TLSHM_PART_CACHE_READ = 1,  /* input found in the provider's cache */
    TLSHM_PART_CACHE_WRITE = 2, /* input written to it, for 5 minutes or as long as the provider keeps it */
    TLSHM_PART_CACHE_WRITE_1H = 3,
    TLSHM_PART_INPUT_AUDIO = 4,
    TLSHM_PART_CACHE_READ_AUDIO = 5,
    TLSHM_PART_INPUT_IMAGE = 6, /* not more than is neither cached nor audio */
    TLSHM_PART_OUTPUT = 7,      /* output tokens that are none of the following */
    TLSHM_PART_REASONING = 8,
    TLSHM_PART_OUTPUT_AUDIO = 9,
    TLSHM_PART_OUTPUT_IMAGE = 10,
    TLSHM_PART_SEARCH = 11,  /* a web search that the provider ran */
    TLSHM_PART_REQUEST = 12, /* the call itself */
    TLSHM_PARTS = 13
};

/* How the call is served. A price that a table has not for a service is the standard one. */
enum tlshm_service {
    TLSHM_SERVICE_STANDARD = 0,
    TLSHM_SERVICE_BATCH = 1,
    TLSHM_SERVICE_PRIORITY = 2,
    TLSHM_SERVICE_FLEX = 3,
    TLSHM_SERVICES = 4
};

/*
 * A call to be priced. Zero-initialise. The counts are those of tlshm/counts.h: totals with all their parts inside. Each is
 * at most TLSHM_AMOUNT_MAX.
 */
typedef struct tlshm_price_call {
    const char *model;    /* as the provider or the caller names it */
    const char *provider; /* NULL: as the model's name tells */
    enum tlshm_service service;
    int64_t wall_ns;     /* since 1970: prices that change by date or time of day. 0: now */
    tlshm_counts counts; /* used, or expected */
} tlshm_price_call;

enum tlshm_price_source {
    TLSHM_PRICE_TABLE = 0,    /* the file */
    TLSHM_PRICE_OVERRIDE = 1, /* tlshm_prices_override() */
    TLSHM_PRICE_DEFAULT = 2   /* the default for models without a price */
};

/* Why there is no price. */
enum tlshm_price_lack {
    TLSHM_LACKS_NOTHING = 0,
    TLSHM_LACKS_MODEL = 1, /* it is not in the table */
    TLSHM_LACKS_PRICE = 2, /* it is, without a price for tokens, or priced by something else as well and 0 for tokens */
    TLSHM_LACKS_SENSE = 3, /* it is, with a price that was refused when the table was read */
    TLSHM_LACKS_PART = 4   /* it has prices, but none for a part that the call uses: an embedding has no output */
};

typedef struct tlshm_cost_line {
    uint64_t count; /* tokens, searches or requests */
    uint64_t pusd;  /* of one of them; 0 where count is */
} tlshm_cost_line;

/* A price. After TLSHM_UNKNOWN_MODEL only lack, part, model and provider mean something. */
typedef struct tlshm_cost {
    uint64_t nusd;       /* nano-dollars, rounded up: what to reserve or settle */
    uint64_t pusd;       /* the same exactly: input_pusd + output_pusd + request_pusd */
    uint64_t input_pusd; /* pico-dollars */
    uint64_t output_pusd;
    uint64_t request_pusd;              /* with searches */
    tlshm_cost_line lines[TLSHM_PARTS]; /* by enum tlshm_part */
    enum tlshm_price_source source;
    enum tlshm_price_lack lack;
    enum tlshm_part part;              /* LACKS_PART: the first one without a price */
    char model[TLSHM_MODEL_MAX + 1];   /* the entry that was found; empty for the default */
    char provider[TLSHM_NAME_MAX + 1]; /* its provider, cut to fit; empty where the table names none */
} tlshm_cost;

/*
 * Called once for each price that is refused and each entry that is not understood: `where` is the model, or the place in
 * the file, `what` one line. Both are valid during the call only.
 */
typedef void (*tlshm_price_warning)(void *context, const char *where, const char *what);

/*
 * Reads a table: LiteLLM's model_prices_and_context_window.json, or genai-prices' data.json or data_slim.json, plain or
 * compressed by gzip, told apart by their shape. `path` NULL: an empty table, for overrides alone. `warning` and `err` may
 * be NULL. The file is read to its end and closed; it may be replaced by rename() at any time.
 * Returns 0, or -EINVAL (not such a file: `err` says line and column, or what was missing), -ENOENT -EACCES -ENOMEM
 * -ERANGE (larger than 256 MiB) -ESYS.
 */
int tlshm_prices_open(tlshm_prices **out, const char *path, tlshm_price_warning warning, void *context,
                      struct tlshm_error *err);

/* The same from bytes in memory, which are not needed afterwards. Such a table is never reloaded. */
int tlshm_prices_parse(tlshm_prices **out, const void *bytes, size_t size, tlshm_price_warning warning, void *context,
                       struct tlshm_error *err);

/* No other thread may use it any more. NULL is allowed. */
void tlshm_prices_close(tlshm_prices *prices);

/*
 * Reads the file again if it is not the one that was read (device, inode, size, times of modification and change).
 * Overrides and the default stay. Other threads go on with the old table until the new one is complete; this call waits
 * for those that are just computing a price. On an error the old table stays.
 * Returns 1 if it was read again, 0 if it is unchanged, or the errors of tlshm_prices_open().
 */
int tlshm_prices_reload(tlshm_prices *prices, tlshm_price_warning warning, void *context, struct tlshm_error *err);

/*
 * Sets the price of one model, whatever the file says: "input $3 cache_read $0.30 output $15", dollars per million tokens,
 * "request $0.005" and "search $0.01", dollars for one, or "free". It replaces all prices of that model. `model` is a name, or
 * "provider/name" for that provider alone. `model` NULL sets the default: what a model without a price costs. `price`
 * NULL takes the override or the default away. The change holds for every price computed afterwards in this process.
 * Returns 0, or -EINVAL (`err` says at which column what was expected), -ERANGE (above the largest price),
 * -ENOENT (nothing to take away), -ENOMEM.
 */
int tlshm_prices_override(tlshm_prices *prices, const char *model, const char *price, struct tlshm_error *err);

/*
 * Computes what a call costs. Looks for an override, then in the file, then for the default. Letter case does not matter.
 *   LiteLLM: the entry "provider/model" if a provider is given; else the entry of the model's name, which must be that
 *   provider's; else, when the name is "provider/rest", the entry of the rest if it is that provider's.
 *   genai-prices: the provider by its id or match rule, else by the models' names; of its models, then of those it falls
 *   back to, the first whose rule matches; of dated prices the last that holds at wall_ns, else the first.
 * A price above N input tokens holds for all tokens of a call with more than N input tokens.
 * Returns TLSHM_OK; TLSHM_UNKNOWN_MODEL (a verdict, as of a refusal: out->lack says why there is no price); -EINVAL
 * (parts that are more than their whole; bad argument), -ERANGE (a count or the cost above TLSHM_AMOUNT_MAX).
 * `out` is written on OK and UNKNOWN_MODEL. Allocates nothing for LiteLLM's tables; a rule of genai-prices that is a
 * regular expression may allocate.
 */
int tlshm_price(const tlshm_prices *prices, const tlshm_price_call *call, tlshm_cost *out);

enum tlshm_prices_format { TLSHM_PRICES_NONE = 0, TLSHM_PRICES_LITELLM = 1, TLSHM_PRICES_GENAI = 2 };

/* What was read. */
typedef struct tlshm_prices_info {
    enum tlshm_prices_format format;
    uint32_t providers;
    uint32_t models;    /* = priced + unpriced + refused */
    uint32_t priced;    /* free ones included */
    uint32_t free;      /* all prices are 0 */
    uint32_t unpriced;  /* no price for tokens */
    uint32_t refused;   /* negative, absurd or no number */
    uint32_t overrides; /* set beside the file; the default not counted */
    int has_default;
} tlshm_prices_info;

/* Returns 0 or -EINVAL. */
int tlshm_prices_get(const tlshm_prices *prices, tlshm_prices_info *out);

/*
 * The name in the table that is most like `model`, for error messages; NUL-terminated into `buf` of at least
 * TLSHM_MODEL_MAX + 1 bytes. Compares with every name: not for hot paths. Returns its length, 0 if none is like it, or
 * -EINVAL.
 */
int tlshm_prices_nearest(const tlshm_prices *prices, const char *model, char *buf, size_t size);

/* "input", "cache_read", ...; "standard", "batch", ...: static strings, "?" for a number out of range. */
const char *tlshm_part_name(int part);
const char *tlshm_service_name(int service);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
