/* SPDX-License-Identifier: MIT */
/*
 * confwrite.c - a configuration as a file that reads back to the same.
 *
 * What is the default is left out, as a person would. Texts are quoted where YAML could take them for something else.
 */
#include <tlshm/config.h>

#include <stdio.h>

#include "confmodel.h"
#include "segment.h"

enum { TEXT_MAX = 512 };

struct writer {
    tlshm_config_put put;
    void *context;
    int rc; /* of the first piece that was not taken */
};

static void put(struct writer *w, const char *text)
{
    if (w->rc == 0)
        w->rc = w->put(w->context, text, strlen(text));
}

static void put_spaces(struct writer *w, unsigned indent)
{
    static const char spaces[] = "        ";
    put(w, spaces + (sizeof spaces - 1 - indent));
}

/* ------------------------------------------------------------------------------------------------------------- texts */

/* A text that is itself without quotes wherever it stands, as a key, as a value or inside braces. */
static bool is_plain(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+/$%@:- ";
    size_t n = strlen(text);
    if (n == 0 || strspn(text, safe) != n || text[n - 1] == ' ' || text[n - 1] == ':')
        return false;
    return !strchr(" -:%@.", text[0]) && !strstr(text, ": ") && !strstr(text, "  ");
}

/* The character at `at`: its number, and its bytes into *size. Keys are valid UTF-8. */
static uint32_t character(const unsigned char *at, size_t *size)
{
    *size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t code = *size == 1 ? at[0] : at[0] & (0x7fu >> *size);
    for (size_t i = 1; i < *size && at[i]; i++)
        code = code << 6 | (at[i] & 0x3f);
    return code;
}

/* Characters that YAML does not allow, or takes for the end of a line. */
static bool needs_number(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || code == 0xfeff ||
           code == 0xfffe || code == 0xffff;
}

static void put_text(struct writer *w, const char *text)
{
    char piece[16];
    size_t size;
    if (is_plain(text)) {
        put(w, text);
        return;
    }
    put(w, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at; at += size) {
        uint32_t code = character(at, &size);
        if (needs_number(code))
            snprintf(piece, sizeof piece, "\\u%04x", code);
        else
            snprintf(piece, sizeof piece, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", (int)size,
                     (const char *)at);
        put(w, piece);
    }
    put(w, "\"");
}

static void put_key(struct writer *w, unsigned indent, const char *key)
{
    put_spaces(w, indent);
    put_text(w, key);
    put(w, ":");
}

static void put_value(struct writer *w, unsigned indent, const char *key, const char *value)
{
    put_key(w, indent, key);
    put(w, " ");
    put_text(w, value);
    put(w, "\n");
}

static void put_number(struct writer *w, const char *key, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    if (number)
        put_value(w, 2, key, text);
}

/* ----------------------------------------------------------------------------------------------------------- limits */

static void put_item(struct writer *w, unsigned indent, const char *text)
{
    put_spaces(w, indent);
    put(w, "- ");
    put_text(w, text);
    put(w, "\n");
}

/* Behind a key: its list, on lines of its own. */
static void put_limits(struct writer *w, unsigned indent, const tlshm_config_limits *limits)
{
    char text[TEXT_MAX];
    if (limits->count == 0) {
        put(w, " []\n");
        return;
    }
    put(w, "\n");
    for (unsigned i = 0; i < limits->count; i++) {
        tlshm_limit_format(&limits->limit[i], text, sizeof text);
        put_item(w, indent, text);
    }
}

/* --------------------------------------------------------------------------------------------------------- sections */

static bool begin(struct writer *w, const tlshm_config *c, unsigned section, const char *key, bool empty)
{
    if (!(c->settings.sections & section))
        return false;
    put_key(w, 0, key);
    put(w, empty ? " {}\n" : "\n");
    return true;
}

static bool says_nothing(const tlshm_geometry *g)
{
    return !(g->scopes || g->reservations || g->limits_per_scope || g->slices || g->seats || g->tiers ||
             g->limit_lists || g->models || g->retention_ns || g->mode || g->group || g->virtual_clock);
}

static void put_geometry(struct writer *w, const tlshm_config *c)
{
    const tlshm_geometry *g = &c->settings.geometry;
    char text[TEXT_MAX];
    if (!begin(w, c, TLSHM_CONFIG_GEOMETRY, "geometry", says_nothing(g)))
        return;
    put_number(w, "scopes", g->scopes);
    put_number(w, "reservations", g->reservations);
    put_number(w, "limits_per_scope", g->limits_per_scope);
    put_number(w, "slices", g->slices);
    put_number(w, "seats", g->seats);
    put_number(w, "tiers", g->tiers);
    put_number(w, "limit_lists", g->limit_lists);
    put_number(w, "models", g->models);
    tlshm_duration_format(g->retention_ns, text, sizeof text);
    if (g->retention_ns)
        put_value(w, 2, "retention", text);
    snprintf(text, sizeof text, "%04o", g->mode);
    if (g->mode)
        put_value(w, 2, "mode", text);
    put_number(w, "group", g->group);
    if (g->virtual_clock)
        put_value(w, 2, "virtual_clock", "true");
}

static void put_tiers(struct writer *w, const tlshm_config *c)
{
    if (!begin(w, c, TLSHM_CONFIG_TIERS, "tiers", c->tiers.count == 0))
        return;
    const tlshm_config_tier *tier;
    for (size_t i = 0; (tier = tlshm_config_get_tier(c, i)) != NULL; i++) {
        put_key(w, 2, tier->name);
        put_limits(w, 4, &tier->limits);
    }
}

static bool is_first_level(const tlshm_config_level *level)
{
    return level->rank < TL_SEGMENT_LEVELS && strcmp(level->name, tl_segment_levels[level->rank]) == 0;
}

static void put_level(struct writer *w, const tlshm_config_level *level)
{
    char rank[16];
    put_key(w, 2, level->name);
    if (is_first_level(level)) {
        put(w, " ");
        put_text(w, level->tier);
    } else {
        snprintf(rank, sizeof rank, "%u", level->rank);
        put(w, " {rank: ");
        put(w, rank);
        put(w, level->tier ? ", default: " : "");
        if (level->tier)
            put_text(w, level->tier);
        put(w, "}");
    }
    put(w, "\n");
}

/* A level that every segment has and that has no default needs no word. */
static void put_levels(struct writer *w, const tlshm_config *c)
{
    const tlshm_config_level *level;
    bool empty = true;
    for (size_t i = 0; (level = tlshm_config_get_level(c, i)) != NULL; i++)
        empty &= is_first_level(level) && !level->tier;
    if (!begin(w, c, TLSHM_CONFIG_LEVELS, "levels", empty))
        return;
    for (size_t i = 0; (level = tlshm_config_get_level(c, i)) != NULL; i++)
        if (level->tier || !is_first_level(level))
            put_level(w, level);
}

static void put_scopes(struct writer *w, const tlshm_config *c)
{
    const tlshm_config_scope *scope;
    if (c->settings.keep_unlisted)
        put_value(w, 0, "unlisted_scopes", "keep");
    if (!begin(w, c, TLSHM_CONFIG_SCOPES, "scopes", c->scopes.count == 0))
        return;
    for (size_t i = 0; (scope = tlshm_config_get_scope(c, i)) != NULL; i++) {
        const char *key = strcmp(scope->key, "global:") == 0 ? "global" : scope->key;
        if (scope->tier) {
            put_value(w, 2, key, scope->tier);
            continue;
        }
        put_key(w, 2, key);
        put_limits(w, 4, &scope->limits);
    }
}

static void put_caps(struct writer *w, const tlshm_config *c, unsigned section, const char *key,
                     const tlshm_config_limits *limits)
{
    if (!(c->settings.sections & section))
        return;
    put_key(w, 0, key);
    put_limits(w, 2, limits);
}

static void put_rates(struct writer *w, const tlshm_config_price *price)
{
    char text[TEXT_MAX];
    struct tl_text t = {text, sizeof text, 0};
    for (unsigned i = 0; i < TLSHM_CONFIG_RATES; i++) {
        if (price->pusd[i] == TLSHM_UNLIMITED)
            continue;
        tl_text_put(&t, t.length ? ", " : " {");
        tl_text_put(&t, tl_confrule_rate_name(i));
        tl_text_put(&t, ": ");
        tl_confrule_put_rate(&t, price->pusd[i]);
    }
    tl_text_put(&t, "}\n"); /* there is a price for input at least */
    tl_text_end(&t);
    put(w, text);
}

static void put_prices(struct writer *w, const tlshm_config *c)
{
    const tlshm_config_price *price = tlshm_config_get_price(c, 0);
    size_t i = 0;
    if (!begin(w, c, TLSHM_CONFIG_PRICES, "prices", !price && !c->settings.prices_path))
        return;
    if (c->settings.prices_path)
        put_value(w, 2, "path", c->settings.prices_path);
    if (price && !*price->model) { /* the empty name comes first */
        put_key(w, 2, "default");
        put_rates(w, price);
        i++;
    }
    if (tlshm_config_get_price(c, i))
        put(w, "  overrides:\n");
    for (; (price = tlshm_config_get_price(c, i)) != NULL; i++) {
        put_key(w, 4, price->model);
        put_rates(w, price);
    }
}

static void put_share(struct writer *w, const char *key, uint32_t ppm)
{
    char text[32];
    struct tl_text t = {text, sizeof text, 0};
    tl_confrule_put_share(&t, ppm);
    tl_text_end(&t);
    if (ppm)
        put_value(w, 2, key, text);
}

static void put_estimates(struct writer *w, const tlshm_config *c)
{
    const tlshm_config_estimates *e = &c->settings.estimates, none = {0};
    if (!begin(w, c, TLSHM_CONFIG_ESTIMATES, "estimates", memcmp(e, &none, sizeof none) == 0))
        return;
    put_number(w, "output_default", e->output_default);
    put_number(w, "output_floor", e->output_floor);
    put_number(w, "output_cap", e->output_cap);
    put_share(w, "output_quantile", e->quantile_ppm);
    put_share(w, "max_share", e->max_share_ppm);
    put_share(w, "cached_discount", e->cached_discount_ppm);
}

int tlshm_config_write(const tlshm_config *config, tlshm_config_put put_piece, void *context)
{
    struct writer w = {.put = put_piece, .context = context};
    if (!config || !put_piece)
        return -TLSHM_EINVAL;
    put_geometry(&w, config);
    if (config->settings.sections & TLSHM_CONFIG_OVERRUN)
        put_value(&w, 0, "overrun", config->settings.overrun == TLSHM_CAP_AT_ESTIMATE ? "cap" : "actual");
    put_tiers(&w, config);
    put_levels(&w, config);
    put_scopes(&w, config);
    put_caps(&w, config, TLSHM_CONFIG_PAUSE_AT, "pause_at", &config->settings.pause_at);
    put_caps(&w, config, TLSHM_CONFIG_SHUTOFF_AT, "shutoff_at", &config->settings.shutoff_at);
    put_prices(&w, config);
    put_estimates(&w, config);
    if (config->settings.sections == 0 && !config->settings.keep_unlisted)
        put(&w, "{}\n");
    return w.rc;
}
