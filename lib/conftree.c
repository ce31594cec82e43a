/* SPDX-License-Identifier: MIT */
/* conftree.c - from the parser's events to nodes. See conftree.h. */
#include "conftree.h"

#include <stdlib.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    struct tl_tree *tree;
    struct tl_faults *faults;
    const char *text;
    size_t size;
    struct tl_node *open[TL_TREE_DEPTH]; /* lists and maps that we are inside of */
    struct tl_node **end[TL_TREE_DEPTH]; /* where their next node goes */
    size_t count[TL_TREE_DEPTH];         /* nodes in them */
    unsigned depth;
    unsigned nodes;
    unsigned documents;
    bool stopped; /* a fault of the form was told */
    bool no_memory;
};

/* ------------------------------------------------------------------------------------------------- faults of the form */

static void stop_at(struct builder *b, const yaml_mark_t *mark, const char *text)
{
    tl_faults_add(b->faults, (unsigned)mark->line + 1, (unsigned)mark->column + 1, "%s", text);
    b->stopped = true;
}

/* Line and column of a byte, for faults that come before there are any. */
static yaml_mark_t mark_of(const struct builder *b, size_t offset)
{
    yaml_mark_t mark = {0, 0, 0};
    for (size_t i = 0; i < offset && i < b->size; i++) {
        if (b->text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)b->text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

/* The character at a mark; 0 at the end. */
static char char_at(const struct builder *b, const yaml_mark_t *mark)
{
    size_t index = 0;
    for (size_t i = 0; i < b->size; i++) {
        if (((unsigned char)b->text[i] & 0xc0) == 0x80)
            continue;
        if (index++ == mark->index)
            return b->text[i];
    }
    return 0;
}

/* What the parser says, in the order of its words: "did not find expected key while parsing a block mapping". */
static void tell_form(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    yaml_mark_t mark = p->problem_mark;
    const char *problem = p->problem ? p->problem : "unreadable";
    const char *context = p->context ? p->context : "";
    if (p->error == YAML_READER_ERROR) {
        mark = mark_of(b, p->problem_offset);
        context = "";
    }
    if (p->error != YAML_READER_ERROR && char_at(b, &mark) == '\t')
        tl_faults_add(b->faults, (unsigned)mark.line + 1, (unsigned)mark.column + 1,
                      "expected blanks, not a tab: YAML is indented with blanks");
    else
        tl_faults_add(b->faults, (unsigned)mark.line + 1, (unsigned)mark.column + 1, "expected YAML: %s%s%s", problem,
                      *context ? " " : "", context);
    b->stopped = true;
}

/* ----------------------------------------------------------------------------------------------------------- nodes */

static bool inside_map(const struct builder *b)
{
    return b->depth && b->open[b->depth - 1]->kind == TL_NODE_MAP;
}

/* The next node is a key: an even number of nodes stands in the map already. */
static bool at_key(const struct builder *b)
{
    return inside_map(b) && b->count[b->depth - 1] % 2 == 0;
}

static struct tl_node *new_node(struct builder *b, enum tl_node_kind kind, const yaml_event_t *event)
{
    struct tl_node *node = tl_arena_take(&b->tree->arena, sizeof *node);
    if (!node) {
        b->no_memory = true;
        return NULL;
    }
    if (++b->nodes > TL_TREE_NODES) {
        stop_at(b, &event->start_mark, "too much: no file of this kind has so many entries");
        return NULL;
    }
    node->kind = kind;
    node->text = "";
    node->line = (unsigned)event->start_mark.line + 1;
    node->column = (unsigned)event->start_mark.column + 1;
    return node;
}

static void append(struct builder *b, struct tl_node *node)
{
    if (!b->depth) {
        b->tree->root = node;
        return;
    }
    *b->end[b->depth - 1] = node;
    b->end[b->depth - 1] = &node->next;
    b->count[b->depth - 1]++;
}

static void broken(struct builder *b, struct tl_node *node, const char *text)
{
    tl_faults_add(b->faults, node->line, node->column, "%s", text);
    node->kind = TL_NODE_BROKEN;
}

static void refuse_extras(struct builder *b, const struct tl_node *node, const void *anchor, const void *tag)
{
    if (anchor)
        tl_faults_add(b->faults, node->line, node->column,
                      "anchors (&name) are not supported: write it where it is used");
    if (tag)
        tl_faults_add(b->faults, node->line, node->column, "tags (!name) are not supported");
}

static size_t characters(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Whether the text stands in the file as it is: then the node is no wider than it, but for quotes. */
static void place_text(struct tl_node *node, const yaml_event_t *event)
{
    bool quoted = event->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                  event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    size_t width = event->end_mark.index - event->start_mark.index;
    node->lead = quoted;
    node->verbatim =
        event->start_mark.line == event->end_mark.line && width == characters(node->text, node->len) + (quoted ? 2 : 0);
}

static void take_text(struct builder *b, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    struct tl_node *node = new_node(b, TL_NODE_TEXT, event);
    if (!node)
        return;
    node->len = event->data.scalar.length;
    node->text = tl_arena_copy(&b->tree->arena, value, node->len);
    if (!node->text) {
        b->no_memory = true;
        return;
    }
    refuse_extras(b, node, event->data.scalar.anchor, event->data.scalar.tag);
    place_text(node, event);
    if (memchr(value, 0, node->len))
        broken(b, node, "a text must not contain the NUL character");
    append(b, node);
}

static void take_alias(struct builder *b, const yaml_event_t *event)
{
    struct tl_node *node = new_node(b, TL_NODE_BROKEN, event);
    if (!node)
        return;
    broken(b, node, "aliases (*name) are not supported: write out what is meant");
    append(b, node);
}

/* A list or a map where a key should be stays in the tree, so that what is inside it is passed over with it. */
static void open_node(struct builder *b, enum tl_node_kind kind, const yaml_event_t *event, const void *anchor,
                      const void *tag)
{
    if (b->depth == TL_TREE_DEPTH) {
        stop_at(b, &event->start_mark, "nested too deeply: nothing in a file of this kind is");
        return;
    }
    bool key = at_key(b);
    struct tl_node *node = new_node(b, kind, event);
    if (!node)
        return;
    refuse_extras(b, node, anchor, tag);
    if (key)
        tl_faults_add(b->faults, node->line, node->column, "a key must be a text");
    append(b, node);
    b->open[b->depth] = node;
    b->end[b->depth] = &node->first;
    b->count[b->depth++] = 0;
}

/* --------------------------------------------------------------------------------------------------- keys given twice */

static int by_text(const void *left, const void *right)
{
    const struct tl_node *a = *(struct tl_node *const *)left, *b = *(struct tl_node *const *)right;
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->text, b->text, shorter);
    if (order == 0 && a->len != b->len)
        order = a->len < b->len ? -1 : 1;
    if (order == 0 && a->line != b->line)
        order = a->line < b->line ? -1 : 1;
    return order ? order : (a->column > b->column) - (a->column < b->column);
}

static bool same_text(const struct tl_node *a, const struct tl_node *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static void tell_twice(struct builder *b, struct tl_node **keys, size_t count)
{
    const struct tl_node *first = keys[0];
    for (size_t i = 1; i < count; i++) {
        if (!same_text(keys[i], first)) {
            first = keys[i];
            continue;
        }
        tl_faults_add(b->faults, keys[i]->line, keys[i]->column, "'%s' is given twice: first in line %u", keys[i]->text,
                      first->line);
        keys[i]->kind = TL_NODE_BROKEN;
    }
}

static void check_keys(struct builder *b, struct tl_node *map, size_t nodes)
{
    size_t count = 0;
    struct tl_node **keys = malloc((nodes / 2 + 1) * sizeof(struct tl_node *));
    if (!keys) {
        b->no_memory = true;
        return;
    }
    for (struct tl_node *key = map->first; key && key->next; key = key->next->next)
        if (key->kind == TL_NODE_TEXT)
            keys[count++] = key;
        else
            key->kind = TL_NODE_BROKEN;
    if (count > 1) {
        qsort(keys, count, sizeof(struct tl_node *), by_text);
        tell_twice(b, keys, count);
    }
    free(keys);
}

static void close_node(struct builder *b)
{
    b->depth--;
    if (b->open[b->depth]->kind == TL_NODE_MAP)
        check_keys(b, b->open[b->depth], b->count[b->depth]);
}

/* ----------------------------------------------------------------------------------------------------------- events */

static void begin_document(struct builder *b, const yaml_event_t *event)
{
    if (b->documents++)
        stop_at(b, &event->start_mark, "a second document: one file is one configuration");
    else if (event->data.document_start.version_directive ||
             event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
        stop_at(b, &event->start_mark, "directives (%YAML, %TAG) are not supported");
}

static void take(struct builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        begin_document(b, event);
        break;
    case YAML_SCALAR_EVENT:
        take_text(b, event);
        break;
    case YAML_ALIAS_EVENT:
        take_alias(b, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_node(b, TL_NODE_LIST, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        open_node(b, TL_NODE_MAP, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(b);
        break;
    default:
        break;
    }
}

static void build(struct builder *b)
{
    for (bool last = false; !last && !b->stopped && !b->no_memory;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event)) {
            if (b->parser.error == YAML_MEMORY_ERROR)
                b->no_memory = true;
            else
                tell_form(b);
            return;
        }
        take(b, &event);
        last = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
}

int tl_conftree_read(struct tl_tree *tree, const char *text, size_t size, struct tl_faults *faults)
{
    struct builder b = {.tree = tree, .faults = faults, .text = text, .size = size};
    *tree = (struct tl_tree){0};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte-order mark takes no column */
        b.text += 3;
        b.size -= 3;
    }
    if (!yaml_parser_initialize(&b.parser))
        return -TLSHM_ENOMEM;
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)b.text, b.size);
    build(&b);
    yaml_parser_delete(&b.parser);
    if (b.stopped)
        tree->root = NULL;
    else if (!tree->root && !b.no_memory)
        tl_faults_add(faults, 1, 1, "the file is empty");
    return b.no_memory ? -TLSHM_ENOMEM : 0;
}

void tl_conftree_free(struct tl_tree *tree)
{
    tl_arena_free(&tree->arena);
    tree->root = NULL;
}

const char *tl_conftree_kind(const struct tl_node *node)
{
    static const char *const kinds[] = {"a text", "a list", "a map of keys", "nothing"};
    return node->kind == TL_NODE_TEXT && node->len == 0 ? "nothing" : kinds[node->kind];
}
