/* SPDX-License-Identifier: MIT */
/*
 * conftree.h - a YAML text as a tree of nodes that know where they stand.
 *
 * What is allowed is a part of YAML: one document of maps, lists and texts, without anchors, aliases, tags and directives.
 * So a text says what it seems to say, and a small text is a small tree.
 *
 * BOUNDS  TL_TREE_DEPTH levels, TL_TREE_NODES nodes, TLSHM_CONFIG_BYTES_MAX bytes. What is beyond is a fault.
 *
 * A fault of the form (no YAML, too deep) ends the reading: there is no tree. Others leave a node of the kind BROKEN, which
 * was told already and is best passed over.
 */
#ifndef TL_CONFTREE_H
#define TL_CONFTREE_H

#include "arena.h"
#include "faults.h"

enum { TL_TREE_DEPTH = 12, TL_TREE_NODES = 4000000 };

enum tl_node_kind { TL_NODE_TEXT, TL_NODE_LIST, TL_NODE_MAP, TL_NODE_BROKEN };

struct tl_node {
    struct tl_node *next;  /* of the same list or map; a map's nodes are keys (always texts) and values in turn */
    struct tl_node *first; /* LIST, MAP */
    const char *text;      /* TEXT: UTF-8 without NUL; of other kinds empty */
    size_t len;
    unsigned line, column; /* of its first character, from 1 */
    uint8_t kind;          /* enum tl_node_kind */
    uint8_t lead;          /* characters from there to the text's first */
    bool verbatim;         /* the text stands in the file as it is: a place inside it can be told */
};

struct tl_tree {
    struct tl_node *root;
    struct tl_arena arena;
};

/*
 * Reads any bytes. Whether something is wrong with them is told in `faults`; `root` is NULL when there is no tree. 0 or
 * -TLSHM_ENOMEM. The tree is freed by tl_conftree_free() in any case.
 */
int tl_conftree_read(struct tl_tree *tree, const char *text, size_t size, struct tl_faults *faults);
void tl_conftree_free(struct tl_tree *tree);

/* What a node is, in words: "a text", "a list", "a map of keys". */
const char *tl_conftree_kind(const struct tl_node *node);

#endif
