/* SPDX-License-Identifier: MIT */
/* confvalue.c - numbers, words and lists of limits in a configuration file. See confvalue.h. */
#include "confvalue.h"

#include <stdarg.h>
#include <stdio.h>

#include "near.h"
#include "parse.h"
#include "window.h"
#include "zone.h"

enum { LIMIT_TEXT_MAX = 512 };

/* ------------------------------------------------------------------------------------------------------------ faults */

static unsigned column_of(const struct tl_node *node, size_t at)
{
    unsigned column = node->column;
    if (!node->verbatim)
        return column;
    column += node->lead;
    for (size_t i = 0; i < at && i < node->len; i++)
        column += ((unsigned char)node->text[i] & 0xc0) != 0x80;
    return column;
}

void tl_confvalue_fault(struct tl_reading *r, const struct tl_node *node, size_t at, const char *format, ...)
{
    char text[240];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tl_faults_add(r->faults, node->line, column_of(node, at), "%s", text);
}

void tl_confvalue_unknown(struct tl_reading *r, const struct tl_node *node, const char *what, const char *const *names,
                          size_t count)
{
    const char *near = NULL;
    if (r->guesses) {
        r->guesses--;
        near = tl_near_name(node->text, node->len, names, count);
    }
    if (near)
        tl_confvalue_fault(r, node, 0, "unknown %s '%.64s': did you mean '%s'?", what, node->text, near);
    else
        tl_confvalue_fault(r, node, 0, "unknown %s '%.64s'", what, node->text);
}

void tl_confvalue_expected(struct tl_reading *r, const struct tl_node *node, const char *what)
{
    if (node->kind != TL_NODE_BROKEN)
        tl_faults_add(r->faults, node->line, node->column, "expected %s, not %s", what, tl_conftree_kind(node));
}

/* What the words of a node are not. `shift`: bytes that stand before its text in what was read. */
static bool words_fault(struct tl_reading *r, const struct tl_node *node, size_t shift,
                        const struct tl_words_fault *fault)
{
    size_t at = fault->column - 1u;
    tl_confvalue_fault(r, node, at > shift ? at - shift : 0, "%s", fault->text);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ values */

bool tl_confvalue_text(struct tl_reading *r, const struct tl_node *node, const char *what)
{
    if (node->kind == TL_NODE_TEXT && node->len)
        return true;
    tl_confvalue_expected(r, node, what);
    return false;
}

bool tl_confvalue_word(struct tl_reading *r, const struct tl_node *node, const char *const *words, size_t count,
                       unsigned *index)
{
    char expected[128] = "";
    struct tl_text w = {expected, sizeof expected, 0};
    for (unsigned i = 0; i < count; i++) {
        if (node->kind == TL_NODE_TEXT && strcmp(node->text, words[i]) == 0) {
            *index = i;
            return true;
        }
        tl_text_put(&w, i == 0 ? "" : i + 1 == count ? " or " : ", ");
        tl_text_put(&w, words[i]);
    }
    tl_text_end(&w);
    if (tl_confvalue_text(r, node, expected))
        tl_confvalue_fault(r, node, 0, "expected %s, not '%.64s'", expected, node->text);
    return false;
}

bool tl_confvalue_number(struct tl_reading *r, const struct tl_node *node, uint64_t min, uint64_t max, uint64_t *out)
{
    struct tl_words_fault fault;
    uint64_t value;
    if (!tl_confvalue_text(r, node, "a number"))
        return false;
    if (tl_parse_amount(node->text, TLSHM_TOKENS, &value, &fault) < 0)
        return words_fault(r, node, 0, &fault);
    if (value < min || value > max) {
        tl_confvalue_fault(r, node, 0, "expected a number from %llu to %llu, not %.64s", (unsigned long long)min,
                           (unsigned long long)max, node->text);
        return false;
    }
    *out = value;
    return true;
}

bool tl_confvalue_duration(struct tl_reading *r, const struct tl_node *node, uint64_t *ns)
{
    struct tl_words_fault fault;
    if (!tl_confvalue_text(r, node, "a length of time such as 90s or 1h"))
        return false;
    return tl_parse_duration(node->text, ns, &fault) == 0 || words_fault(r, node, 0, &fault);
}

bool tl_confvalue_rate(struct tl_reading *r, const struct tl_node *node, uint64_t *pusd)
{
    struct tl_words_fault fault;
    if (!tl_confvalue_text(r, node, "a price such as $2.50 per 1M"))
        return false;
    return tl_confrule_rate(node->text, pusd, &fault) == 0 || words_fault(r, node, 0, &fault);
}

bool tl_confvalue_share(struct tl_reading *r, const struct tl_node *node, uint32_t *ppm)
{
    struct tl_words_fault fault;
    if (!tl_confvalue_text(r, node, "a share such as 95%"))
        return false;
    return tl_confrule_share(node->text, ppm, &fault) == 0 || words_fault(r, node, 0, &fault);
}

/* ------------------------------------------------------------------------------------------------------- time zones */

static bool known_zone(const struct tl_reading *r, const char *name, unsigned *number)
{
    for (unsigned i = 0; i < r->zones; i++) {
        if (strcmp(r->zone[i], name) != 0)
            continue;
        *number = i + 1;
        return true;
    }
    return false;
}

/* Where the zone's name stands in a limit's text: behind "in". */
static size_t zone_at(const char *text)
{
    struct tl_words w;
    for (tl_words_start(&w, text, NULL); w.length; tl_words_next(&w)) {
        if (!tl_words_is(&w, "in"))
            continue;
        tl_words_next(&w);
        return (size_t)(w.word - text);
    }
    return 0;
}

/* The zone must be on this machine, where applying will read it. Its number, 0 for none or UTC. */
static bool check_zone(struct tl_reading *r, const struct tl_node *node, const char *name, unsigned *number)
{
    struct tl_zone zone;
    *number = 0;
    if (!*name || known_zone(r, name, number))
        return true;
    if (tl_zone_load(name, &zone) < 0) {
        tl_confvalue_fault(r, node, zone_at(node->text), "unknown time zone '%s': this machine does not have it", name);
        return false;
    }
    if (r->zones == TL_READING_ZONES) {
        tl_confvalue_fault(r, node, zone_at(node->text), "a segment has no more than %d time zones", TL_READING_ZONES);
        return false;
    }
    strcpy(r->zone[r->zones++], name);
    *number = r->zones;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ limits */

/* A list in the making. */
struct list {
    unsigned count;
    tlshm_limit limit[TLSHM_LIMITS_MAX];
    uint64_t shape[TLSHM_LIMITS_MAX];
};

/* The default window of a text that is a unit and an amount and nothing more, or NULL. */
static const char *default_window(const struct tl_reading *r, const char *text)
{
    struct tl_words w;
    const char *window = NULL;
    tl_words_start(&w, text, NULL);
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (tl_words_is(&w, tlshm_unit_name(unit)))
            window = r->window[unit];
    tl_words_next(&w);
    if (!w.length)
        return NULL;
    tl_words_next(&w);
    return w.length ? NULL : window;
}

static bool parse_limit(struct tl_reading *r, const struct tl_node *node, tlshm_limit *out)
{
    struct tl_words_fault fault;
    char text[LIMIT_TEXT_MAX];
    const char *window = default_window(r, node->text);
    int n = snprintf(text, sizeof text, "%s%s%s", node->text, window ? " " : "", window ? window : "");
    if (n < 0 || (size_t)n >= sizeof text) {
        tl_confvalue_fault(r, node, 0, "expected a limit such as tokens 1M per 1h: this is too long for one");
        return false;
    }
    return tl_parse_limit(text, out, &fault) == 0 || words_fault(r, node, 0, &fault);
}

static bool check_shape(struct tl_reading *r, const struct tl_node *node, const tlshm_limit *limit, unsigned zone,
                        uint64_t *shape)
{
    int rc = tl_shape_pack(limit, zone, r->slices_max, shape);
    if (rc == 0)
        return true;
    if (limit->window.slices > r->slices_max)
        tl_confvalue_fault(r, node, 0, "a window has at most %u slices here", r->slices_max);
    else if ((limit->flags & TLSHM_LIMIT_STRICT) && limit->window.slices == 64)
        tl_confvalue_fault(r, node, 0, "a strict window has at most 63 slices");
    else
        tl_confvalue_fault(r, node, 0, "this window is too long");
    return false;
}

static bool add_limit(struct tl_reading *r, const struct tl_node *node, struct list *list)
{
    tlshm_limit limit;
    unsigned zone;
    uint64_t shape;
    if (!parse_limit(r, node, &limit) || !check_zone(r, node, limit.window.zone, &zone) ||
        !check_shape(r, node, &limit, zone, &shape))
        return false;
    for (unsigned i = 0; i < list->count; i++) {
        if (list->shape[i] != shape)
            continue;
        tl_confvalue_fault(r, node, 0, "the same limit (unit and window) is listed twice");
        return false;
    }
    if (list->count >= r->limits_max) {
        tl_confvalue_fault(r, node, 0, "one limit too many: there can be %u", r->limits_max);
        return false;
    }
    list->shape[list->count] = shape;
    list->limit[list->count++] = limit;
    return true;
}

static bool add_item(struct tl_reading *r, const struct tl_node *node, bool requests, struct list *list)
{
    if (!tl_confvalue_text(r, node, "a limit such as tokens 1M per 1h") || !add_limit(r, node, list))
        return false;
    if (requests || list->limit[list->count - 1].window.kind != TLSHM_WINDOW_REQUEST)
        return true;
    tl_confvalue_fault(r, node, 0, "a limit on single requests belongs to a tier or a scope");
    return false;
}

bool tl_confvalue_limits(struct tl_reading *r, const struct tl_node *node, bool requests, tlshm_config_limits *out)
{
    struct list list = {.count = 0};
    bool sound = true;
    if (node->kind != TL_NODE_LIST) {
        tl_confvalue_expected(r, node, "a list of limits such as [tokens 1M per 1h]");
        return false;
    }
    for (const struct tl_node *item = node->first; item; item = item->next)
        sound &= add_item(r, item, requests, &list);
    if (!sound)
        return false;
    r->no_memory |= !tl_confmodel_limits(r->config, out, list.limit, list.count);
    return !r->no_memory;
}

bool tl_confvalue_window(struct tl_reading *r, const struct tl_node *node, enum tlshm_unit unit)
{
    struct tl_words_fault fault;
    tlshm_limit limit;
    unsigned zone;
    uint64_t shape;
    char text[LIMIT_TEXT_MAX];
    if (!tl_confvalue_text(r, node, "a window such as per 1h"))
        return false;
    int shift = snprintf(text, sizeof text, "%s %s ", tlshm_unit_name((int)unit), unit == TLSHM_COST ? "$0" : "0");
    if (node->len >= sizeof text - (size_t)shift) {
        tl_confvalue_fault(r, node, 0, "expected a window such as per 1h: this is too long for one");
        return false;
    }
    memcpy(text + shift, node->text, node->len + 1);
    if (tl_parse_limit(text, &limit, &fault) < 0)
        return words_fault(r, node, (size_t)shift, &fault);
    if (!check_zone(r, node, limit.window.zone, &zone) || !check_shape(r, node, &limit, zone, &shape))
        return false;
    r->window[unit] = node->text;
    return true;
}
