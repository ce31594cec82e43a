/* SPDX-License-Identifier: MIT */
/*
 * shapes.h - where providers put what: the tree of spots of all documents that answers are made of.
 *
 * Providers use one word for two things and two words for one. A slot is one figure with one meaning; counts.h says how
 * slots become counts.
 */
#ifndef TL_SHAPES_H
#define TL_SHAPES_H

#include "json.h"

/* Kinds of shapes: bits of tl_json_spot.kinds. */
enum {
    TL_SHAPE_CHAT = 1,      /* chat completions and those who speak alike */
    TL_SHAPE_RESPONSES = 2, /* OpenAI's responses, runs and realtime */
    TL_SHAPE_MESSAGES = 4,  /* Anthropic */
    TL_SHAPE_GEMINI = 8,
    TL_SHAPE_BEDROCK = 16,
    TL_SHAPE_COHERE = 32,
    TL_SHAPE_OLLAMA = 64,
    TL_SHAPE_ALL = 127
};

/* Figures. Audio, image and video stand together for each list of modalities. */
enum tl_slot {
    TL_SLOT_NONE,
    TL_SLOT_PROMPT,  /* input, with what was read from a cache and written to it */
    TL_SLOT_INPUT,   /* input, without READ and WRITE, but with CACHED and WRITTEN */
    TL_SLOT_CACHED,  /* of the input: read from a cache */
    TL_SLOT_WRITTEN, /* of the input: written to one */
    TL_SLOT_READ,    /* beside INPUT: read from a cache */
    TL_SLOT_WRITE,   /* beside INPUT: written to one, for whatever time */
    TL_SLOT_WRITE_5M,
    TL_SLOT_WRITE_1H,
    TL_SLOT_TOOL_PROMPT, /* beside PROMPT: results of tools that the provider ran */
    TL_SLOT_OUTPUT,
    TL_SLOT_REASONING, /* of OUTPUT, but for xAI */
    TL_SLOT_THOUGHTS,  /* beside OUTPUT */
    TL_SLOT_TOTAL,
    TL_SLOT_IN_AUDIO,
    TL_SLOT_IN_IMAGE,
    TL_SLOT_IN_VIDEO,
    TL_SLOT_TOOL_AUDIO,
    TL_SLOT_TOOL_IMAGE,
    TL_SLOT_TOOL_VIDEO,
    TL_SLOT_CACHED_AUDIO,
    TL_SLOT_CACHED_IMAGE,
    TL_SLOT_CACHED_VIDEO,
    TL_SLOT_OUT_AUDIO,
    TL_SLOT_OUT_IMAGE,
    TL_SLOT_OUT_VIDEO,
    TL_SLOT_BILLED_INPUT, /* what is charged for, where that is told beside what was used */
    TL_SLOT_BILLED_OUTPUT,
    TL_SLOT_BILLED_IMAGE, /* beside BILLED_INPUT */
    TL_SLOT_METER_INPUT,  /* the host's own metering of a model that says nothing better */
    TL_SLOT_METER_OUTPUT,
    TL_SLOT_METER_READ, /* beside METER_INPUT */
    TL_SLOT_METER_WRITE,
    TL_SLOT_EXTRA_INPUT, /* steps of the same model that the other figures leave out */
    TL_SLOT_EXTRA_OUTPUT,
    TL_SLOT_EXTRA_READ,
    TL_SLOT_EXTRA_WRITE,
    TL_SLOT_EXTRA_WRITE_5M,
    TL_SLOT_EXTRA_WRITE_1H,
    TL_SLOT_OTHER_INPUT, /* steps of another model */
    TL_SLOT_OTHER_OUTPUT,
    TL_SLOT_OTHER_READ,
    TL_SLOT_OTHER_WRITE,
    TL_SLOT_OTHER_WRITE_5M,
    TL_SLOT_OTHER_WRITE_1H,
    TL_SLOT_SEARCHES,
    TL_SLOT_FETCHES,
    TL_SLOT_SERVER_CALLS,
    TL_SLOT_COST, /* nano-dollars */
    TL_SLOTS
};

/* What else is at a spot: numbers that go on after the slots. */
enum tl_what {
    TL_DOCUMENT = TL_SLOTS, /* the root, if it is an object */
    TL_INNER,               /* a document in base64 */
    TL_TYPE,                /* what kind of event or object the document is */
    TL_MODEL,
    TL_FINISH,     /* why the model stopped, once it has */
    TL_LAST,       /* true in the last document */
    TL_ERROR,      /* null, or an object, or a text */
    TL_ERROR_CODE, /* its names, the best first */
    TL_ERROR_STATUS,
    TL_ERROR_TYPE,
    TL_CALL,        /* an object: the call of a tool */
    TL_OMITS_ZEROS, /* an object: a figure that is not in it is 0 */
    TL_METRICS,     /* an object: in the last document only */
    TL_RESULTS,     /* a list of partial METER_OUTPUTs */
    TL_RESULT,

    /* Lists of entries; then the entries of each, in the same order. */
    TL_LIST_IN,
    TL_LIST_TOOL,
    TL_LIST_CACHED,
    TL_LIST_OUT,
    TL_LIST_WRITES,
    TL_LIST_STEPS,
    TL_ENTRY_IN,
    TL_ENTRY_TOOL,
    TL_ENTRY_CACHED,
    TL_ENTRY_OUT,
    TL_ENTRY_WRITES,
    TL_ENTRY_STEP,

    /* Things whose type or id says whether they are calls of tools. */
    TL_THING_CALL,   /* a call, whole */
    TL_THING_BLOCK,  /* a block of content */
    TL_THING_ITEM,   /* an item of output, by itself */
    TL_THING_OUTPUT, /* an item of the list of all output */

    /* Inside of entries and things. */
    TL_OF_COUNT,
    TL_OF_KIND, /* modality, time to live, type */
    TL_OF_ID,
    TL_OF_NAME,
    TL_OF_MODEL,
    TL_OF_INPUT, /* in the order of EXTRA_ and OTHER_ */
    TL_OF_OUTPUT,
    TL_OF_READ,
    TL_OF_WRITE,
    TL_OF_WRITE_5M,
    TL_OF_WRITE_1H
};

extern const struct tl_json_spot tl_shapes_root;     /* of any document */
extern const struct tl_json_spot tl_shapes_envelope; /* of a chunk whose document is inside, in base64 */

/* What a document's type says. */
enum {
    TL_TYPE_STREAM = 1, /* others follow */
    TL_TYPE_PATCH = 2,  /* its figures replace those of the same name only */
    TL_TYPE_END = 4,    /* nothing follows */
    TL_TYPE_FINAL = 8,  /* nothing follows if it has figures */
    TL_TYPE_ERROR = 16
};
unsigned tl_shapes_type(const char *text);

/* Kinds that a provider speaks. */
uint16_t tl_shapes_kinds(int provider);

#endif
