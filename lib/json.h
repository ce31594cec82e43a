/* SPDX-License-Identifier: MIT */
/*
 * json.h - reading JSON that arrives in pieces, of any length, in a few hundred bytes.
 *
 * The caller describes the places of a document that matter as a tree of spots. The reader keeps the way from the root
 * to where it is, tells what it finds at those spots, and skips everything else without keeping it. So text that merely
 * looks like a figure is never taken for one: it is at another place.
 *
 * INVARIANTS
 *   J1  What is told does not depend on how the bytes were cut into pieces.
 *   J2  Only documents of RFC 8259 are whole; nothing is told of what follows the first wrong byte. Bytes of strings
 *       are not checked to be UTF-8, and escaped halves of surrogate pairs are let pass as U+FFFD.
 *   J3  State is plain data: no allocation, and a copy of a reader reads on by itself.
 */
#ifndef TL_JSON_H
#define TL_JSON_H

#include "base.h"

enum {
    TL_JSON_NEAR = 12,   /* levels below which no spot can be */
    TL_JSON_DEEP = 512,  /* levels of a document; deeper ones are refused */
    TL_JSON_TEXT = 127,  /* bytes of a string or a number that are told; of longer ones only that they are longer */
    TL_JSON_LONG = 65535 /* the length that longer ones are told with */
};

/* A place in a document: the value under `key` in an object, or each element of an array (key TL_JSON_EACH). */
struct tl_json_spot {
    const char *key;
    const struct tl_json_spot *below; /* ends with a spot without a key; NULL: nothing below matters */
    uint16_t what;                    /* 0: only the way to others */
    uint16_t kinds;                   /* of documents that have it: seen by readers that share one of these bits */
};

#define TL_JSON_EACH ""

enum tl_json_event {
    TL_JSON_NULL,
    TL_JSON_TRUE,
    TL_JSON_FALSE,
    TL_JSON_NUMBER, /* text: as it stands in the document */
    TL_JSON_STRING, /* text: with escapes resolved, may hold NULs */
    TL_JSON_OBJECT, /* begins */
    TL_JSON_ARRAY,  /* begins */
    TL_JSON_END,    /* of an object */
    TL_JSON_CLOSE,  /* of an array */
    TL_JSON_PIECE   /* of a string at a spot with TL_JSON_PIECES; TL_JSON_STRING follows */
};
#define TL_JSON_PIECES 0x8000 /* in `what`: the whole string is told, in pieces */

/* `length` may be TL_JSON_LONG; then `text` holds the first TL_JSON_TEXT bytes. */
typedef void tl_json_tell(void *context, const struct tl_json_spot *spot, enum tl_json_event event, const char *text,
                          unsigned length);

struct tl_json {
    const struct tl_json_spot *way[TL_JSON_NEAR]; /* spot of each open level; NULL: nothing in it matters */
    const struct tl_json_spot *spot;              /* of the value that comes or is being read */
    uint64_t arrays[TL_JSON_DEEP / 64];           /* bit: this level is an array */
    uint64_t taken;                               /* bytes, up to the one that is looked at */
    uint16_t depth;                               /* open levels */
    uint16_t kinds;
    uint8_t state;
    uint8_t hex; /* digits of \u that are still to come */
    bool keeps;  /* the text is wanted */
    bool is_key;
    uint16_t length;    /* of the text so far, or TL_JSON_LONG */
    uint16_t unit;      /* \u so far */
    uint16_t high;      /* first half of a surrogate pair, waiting for the second */
    const char *expect; /* what is left of true, false or null */
    char text[TL_JSON_TEXT + 1];
};

/* A reader of documents whose root is `root`. */
void tl_json_start(struct tl_json *j, const struct tl_json_spot *root, uint16_t kinds);

/*
 * Reads on. Returns how many bytes were taken: fewer than `n` if the byte after them is wrong (then nothing more is
 * taken, ever), or if a document has just ended (its last byte is taken): then the next call begins another one. A
 * number at the root ends only with the byte after it.
 */
size_t tl_json_feed(struct tl_json *j, const char *bytes, size_t n, tl_json_tell *tell, void *context);

/* Between documents; inside one; after a wrong byte. */
bool tl_json_idle(const struct tl_json *j);
bool tl_json_broken(const struct tl_json *j);

/*
 * The number in `text` times ten to the power of `shift`, exactly; with `up` the next whole number above instead of
 * -TLSHM_EINVAL for one that is not whole. Below 0 or above UINT64_MAX: -TLSHM_ERANGE. `text` must be as JSON has it.
 */
int tl_json_whole(const char *text, unsigned length, int shift, bool up, uint64_t *out);

#endif
