/* SPDX-License-Identifier: MIT */
/* pricefile.c - from a file to a catalogue. */
#include "pricefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "genai.h"
#include "litellm.h"
#include "text.h"

enum { CHUNK = 256 * 1024, RETRIES = 8 };

#define BYTES_MAX (UINT64_C(256) << 20) /* of a table, unpacked */

/* ------------------------------------------------------------------------------------------------------------ errors */

static int fail(struct tlshm_error *err, int code, int sys, const char *name, const char *what, const char *detail)
{
    if (!err)
        return code;
    *err = (struct tlshm_error){.code = code, .sys = sys};
    struct tl_text w = {err->text, sizeof err->text, 0};
    tl_text_put(&w, name);
    tl_text_put(&w, ": ");
    tl_text_put(&w, what);
    tl_text_put(&w, detail);
    tl_text_end(&w);
    return code;
}

static int fail_system(struct tlshm_error *err, int sys, const char *name)
{
    if (sys == ENOENT || sys == ENOTDIR)
        return fail(err, -TLSHM_ENOENT, sys, name, "no such file", "");
    if (sys == EACCES || sys == EPERM)
        return fail(err, -TLSHM_EACCES, sys, name, "permission denied", "");
    if (sys == ENOMEM)
        return fail(err, -TLSHM_ENOMEM, sys, name, "out of memory", "");
    return fail(err, -TLSHM_ESYS, sys, name, "it cannot be read", "");
}

static int fail_json(struct tlshm_error *err, const char *name, const json_error_t *json)
{
    if (!err)
        return -TLSHM_EINVAL;
    *err = (struct tlshm_error){.code = -TLSHM_EINVAL};
    struct tl_text w = {err->text, sizeof err->text, 0};
    tl_text_put(&w, name);
    tl_text_put(&w, ": line ");
    tl_text_put_number(&w, (uint64_t)(json->line > 0 ? json->line : 0));
    tl_text_put(&w, ", column ");
    tl_text_put_number(&w, (uint64_t)(json->column > 0 ? json->column : 0));
    tl_text_put(&w, ": ");
    tl_text_put(&w, json->text);
    tl_text_end(&w);
    return -TLSHM_EINVAL;
}

/* ----------------------------------------------------------------------------------------------------------- parsing */

static int read_root(const struct tl_reading *r, const char *name, const json_t *root, struct tlshm_error *err)
{
    int rc;
    if (tl_litellm_is(root))
        rc = tl_litellm_read(r, root);
    else if (tl_genai_is(root))
        rc = tl_genai_read(r, root);
    else
        return fail(err, -TLSHM_EINVAL, 0, name, "a price table is an object or a list", "");
    if (rc || r->catalogue->arena.failed)
        return fail(err, -TLSHM_ENOMEM, 0, name, "out of memory", "");
    /* An object without models is something else that happens to be JSON, and would make every model unknown. */
    if (r->catalogue->info.priced == 0)
        return fail(err, -TLSHM_EINVAL, 0, name, "no model in it has a price", "");
    return 0;
}

int tl_pricefile_parse(struct tl_catalogue **out, const char *name, const void *bytes, size_t size,
                       tlshm_price_warning warning, void *context, struct tlshm_error *err)
{
    json_error_t json;
    struct tl_reading reading = {tl_catalogue_new(), warning, context};
    if (!reading.catalogue)
        return fail(err, -TLSHM_ENOMEM, 0, name, "out of memory", "");
    /* Whole numbers as reals: one that is too long for an integer, of tokens perhaps, must not cost the whole table. */
    json_t *root = json_loadb(bytes, size, JSON_DECODE_INT_AS_REAL, &json);
    int rc = root ? read_root(&reading, name, root, err) : fail_json(err, name, &json);
    json_decref(root);
    if (rc)
        tl_catalogue_free(reading.catalogue);
    else
        *out = reading.catalogue;
    return rc;
}

/* ----------------------------------------------------------------------------------------------------------- reading */

struct bytes {
    char *text;
    size_t size, room;
};

static struct tl_pricefile_id id_of(const struct stat *st)
{
    return (struct tl_pricefile_id){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .modified_ns = (int64_t)st->st_mtim.tv_sec * (int64_t)TL_SECOND_NS + st->st_mtim.tv_nsec,
        .changed_ns = (int64_t)st->st_ctim.tv_sec * (int64_t)TL_SECOND_NS + st->st_ctim.tv_nsec,
    };
}

int tl_pricefile_look(const char *path, struct tl_pricefile_id *id, struct tlshm_error *err)
{
    struct stat st;
    if (stat(path, &st))
        return fail_system(err, errno, path);
    *id = id_of(&st);
    return 0;
}

static bool make_room(struct bytes *b)
{
    if (b->room - b->size >= CHUNK)
        return true;
    size_t room = b->room * 2 + CHUNK;
    char *text = realloc(b->text, room);
    if (!text)
        return false;
    b->text = text;
    b->room = room;
    return true;
}

/* To the end, unpacked if it is packed. Closes the descriptor. */
static int read_stream(int fd, const char *path, struct bytes *b, struct tlshm_error *err)
{
    int n = 0, rc = 0;
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return fail(err, -TLSHM_ENOMEM, 0, path, "out of memory", "");
    }
    while (!rc) {
        if (!make_room(b))
            rc = fail(err, -TLSHM_ENOMEM, 0, path, "out of memory", "");
        else if ((n = gzread(file, b->text + b->size, CHUNK)) <= 0)
            break;
        b->size += rc ? 0 : (size_t)n;
        if (!rc && b->size > BYTES_MAX)
            rc = fail(err, -TLSHM_ERANGE, 0, path, "larger than 256 MiB", "");
    }
    int closed = gzclose_r(file);
    if (!rc && (n < 0 || closed != Z_OK))
        rc = fail(err, closed == Z_ERRNO ? -TLSHM_ESYS : -TLSHM_EINVAL, 0, path,
                  "it cannot be read to its end, or is damaged gzip", "");
    return rc;
}

/* One attempt; `stable` says whether it was the same file before and after. */
static int read_once(const char *path, struct bytes *b, struct tl_pricefile_id *id, bool *stable,
                     struct tlshm_error *err)
{
    struct stat before, after;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_system(err, errno, path);
    if (fstat(fd, &before) || !S_ISREG(before.st_mode)) {
        close(fd);
        return fail(err, -TLSHM_EINVAL, 0, path, "not a regular file", "");
    }
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (again < 0) {
        int sys = errno;
        close(fd);
        return fail_system(err, sys, path);
    }
    b->size = 0;
    int rc = read_stream(again, path, b, err);
    *id = id_of(&before);
    struct tl_pricefile_id now = fstat(fd, &after) ? (struct tl_pricefile_id){0} : id_of(&after);
    *stable = memcmp(id, &now, sizeof now) == 0;
    close(fd);
    return rc;
}

/* A file that is written in place is read again until it stands still: half a table may be a valid one. */
static int read_file(const char *path, struct bytes *b, struct tl_pricefile_id *id, struct tlshm_error *err)
{
    for (unsigned i = 0; i < RETRIES; i++) {
        bool stable = true;
        int rc = read_once(path, b, id, &stable, err);
        if (stable)
            return rc;
    }
    return fail(err, -TLSHM_ESYS, 0, path, "it changes while it is read", "");
}

int tl_pricefile_load(struct tl_catalogue **out, const char *path, struct tl_pricefile_id *id,
                      tlshm_price_warning warning, void *context, struct tlshm_error *err)
{
    struct bytes b = {0};
    int rc = read_file(path, &b, id, err);
    if (!rc)
        rc = tl_pricefile_parse(out, path, b.text, b.size, warning, context, err);
    free(b.text);
    return rc;
}
