/* SPDX-License-Identifier: MIT */
/* pricefile.h - from a file to a catalogue: reading, unpacking, and telling the formats apart. */
#ifndef TL_PRICEFILE_H
#define TL_PRICEFILE_H

#include "catalogue.h"

/* What tells one state of a file from another. */
struct tl_pricefile_id {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};

/* Which file stands at a path now. 0, -ENOENT, -EACCES, -ESYS. */
int tl_pricefile_look(const char *path, struct tl_pricefile_id *id, struct tlshm_error *err);

/* Reads a file; `id` is what was read. Errors as tlshm_prices_open(). */
int tl_pricefile_load(struct tl_catalogue **out, const char *path, struct tl_pricefile_id *id,
                      tlshm_price_warning warning, void *context, struct tlshm_error *err);

/* The same from bytes, which are not compressed. `name` stands for the file in errors. */
int tl_pricefile_parse(struct tl_catalogue **out, const char *name, const void *bytes, size_t size,
                       tlshm_price_warning warning, void *context, struct tlshm_error *err);

#endif
