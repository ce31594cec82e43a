/* SPDX-License-Identifier: MIT */
/* plan.c - growing arrays and a tree of keys. */
#include "plan.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

struct key_node {
    const char *key;
    uint32_t number;
};

struct order {
    int64_t t_ns;
    size_t call;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct key_node *)a)->key, ((const struct key_node *)b)->key);
}

/* The array with room for one more, or NULL and the array as it was. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t wanted = *room ? *room * 2 : FIRST_ROOM;
    void *larger = reallocarray(array, wanted, size);
    if (larger)
        *room = wanted;
    return larger;
}

static bool room_for_key(struct plan *p)
{
    char **keys = grown(p->keys, p->key_count, &p->key_room, sizeof *keys);
    if (keys)
        p->keys = keys;
    return keys != NULL;
}

static bool room_for_call(struct plan *p)
{
    size_t room = p->call_room;
    int64_t *times = grown(p->times, p->call_count, &room, sizeof *times);
    if (times)
        p->times = times;
    struct stage_call *calls = times ? grown(p->calls, p->call_count, &p->call_room, sizeof *calls) : NULL;
    if (calls)
        p->calls = calls;
    return calls != NULL;
}

/* ------------------------------------------------------------------------------------------------------------- keys */

static struct key_node *new_key(struct plan *p, const char *text)
{
    struct key_node *node = malloc(sizeof *node);
    char *copy = strdup(text);
    if (!node || !copy || !room_for_key(p)) {
        free(node);
        free(copy);
        return NULL;
    }
    *node = (struct key_node){copy, (uint32_t)p->key_count};
    p->keys[p->key_count++] = copy;
    return node;
}

static bool number_of(struct plan *p, const char *text, uint32_t *out)
{
    struct key_node wanted = {text, 0}, **found = tfind(&wanted, &p->tree, by_key);
    if (!found) {
        struct key_node *node = new_key(p, text);
        found = node ? tsearch(node, &p->tree, by_key) : NULL;
        if (node && !found)
            free(node);
    }
    if (found)
        *out = (*found)->number;
    return found != NULL;
}

bool plan_add(struct plan *p, const struct trace_record *r, const struct quote *q)
{
    if (!room_for_call(p))
        return false;
    char key[TLSHM_KEY_MAX + 1];
    struct stage_call call = {.api_ns = r->api_ns,
                              .input = r->input,
                              .output = r->output,
                              .estimate_output = q->estimate_output,
                              .estimate_nusd = q->estimate_nusd,
                              .actual_nusd = q->actual_nusd,
                              .model = q->model,
                              .priced = q->known};
    snprintf(key, sizeof key, "agent:%s/%s", r->session, r->agent);
    if (!number_of(p, key, &call.agent))
        return false;
    snprintf(key, sizeof key, "tenant:%s", r->tenant);
    if (!number_of(p, key, &call.tenant))
        return false;
    p->times[p->call_count] = r->t_ns;
    p->calls[p->call_count++] = call;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ staging */

static int by_time(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

static struct order *sorted(const struct plan *p)
{
    struct order *orders = calloc(p->call_count, sizeof *orders);
    if (!orders)
        return NULL;
    for (size_t i = 0; i < p->call_count; i++)
        orders[i] = (struct order){p->times[i], i};
    qsort(orders, p->call_count, sizeof *orders, by_time);
    return orders;
}

int plan_stage(struct plan *p, const struct tariff *tariff, struct stage_head *head, struct stage *out)
{
    head->call_count = p->call_count;
    head->scope_count = p->key_count;
    head->model_count = tariff->count;
    struct order *orders = sorted(p);
    int code = orders ? stage_create(out, head) : ENOMEM;
    if (code == 0) {
        for (size_t i = 0; i < p->key_count; i++)
            memcpy(out->scopes[i].key, p->keys[i], strlen(p->keys[i]) + 1);
        for (size_t i = 0; i < tariff->count; i++)
            memcpy(out->models[i].name, tariff->models[i]->name, sizeof out->models[i].name);
        for (size_t i = 0; i < p->call_count; i++) {
            out->calls[i] = p->calls[orders[i].call];
            out->calls[i].t_ns = (uint64_t)(orders[i].t_ns - orders[0].t_ns);
        }
    }
    free(orders);
    return code;
}

int64_t plan_start_ns(const struct plan *p)
{
    int64_t first = p->call_count ? p->times[0] : 0;
    for (size_t i = 1; i < p->call_count; i++)
        if (p->times[i] < first)
            first = p->times[i];
    return first;
}

void plan_end(struct plan *p)
{
    tdestroy(p->tree, free);
    for (size_t i = 0; i < p->key_count; i++)
        free(p->keys[i]);
    free(p->keys);
    free(p->calls);
    free(p->times);
    memset(p, 0, sizeof *p);
}
