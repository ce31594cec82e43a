/* SPDX-License-Identifier: MIT */
/* conffields.h - maps of a configuration file: known keys with a reader each, or names with one reader for all. */
#ifndef TL_CONFFIELDS_H
#define TL_CONFFIELDS_H

#include "confvalue.h"

/* One key of a map: its name and who reads its value. */
struct tl_field {
    const char *name;
    void (*read)(struct tl_reading *r, const struct tl_field *field, const struct tl_node *key,
                 const struct tl_node *value);
    size_t place;     /* of the value, for readers that share a struct */
    unsigned section; /* top level: TLSHM_CONFIG_... */
};

bool tl_conffields_is(const struct tl_node *key, const char *name);

/* The key of a map; NULL if it is not there. */
const struct tl_node *tl_conffields_find(const struct tl_node *map, const char *name);

/* Reads the keys of a map in the order of the table; others are faults. Whether it is a map. */
bool tl_conffields_read(struct tl_reading *r, const struct tl_node *map, const struct tl_field *fields, size_t count);

/* Calls `read` for each key of a map whose keys are names. `what`: what is expected of something that is no map. */
void tl_conffields_names(struct tl_reading *r, const struct tl_node *map, const char *what,
                         void (*read)(struct tl_reading *r, const struct tl_node *key, const struct tl_node *value));

/* A copy that lives as long as the configuration; NULL without memory, which is noted. */
char *tl_conffields_keep(struct tl_reading *r, const char *text, size_t len);

#endif
