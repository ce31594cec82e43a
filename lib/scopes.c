/* SPDX-License-Identifier: MIT */
/* scopes.c - checking and resolving keys. See scopes.h. */
#include "scopes.h"

#include <stdio.h>

#include "directory.h"
#include "hash.h"

/* Length of the UTF-8 sequence at `s` of at most `n` bytes; 0 if there is none, or a control character. */
static size_t character(const unsigned char *s, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || length > n)
        return 0;
    uint32_t code = s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff, c1_control = code < 0xa0;
    return code >= least[length] && code <= 0x10ffff && !surrogate && !c1_control ? length : 0;
}

/* Length of the level; 0: there is no level. */
static size_t level_length(const char *key, size_t len)
{
    const char *colon = memchr(key, ':', len);
    size_t n = colon ? (size_t)(colon - key) : 0;
    return n <= TLSHM_NAME_MAX ? n : 0;
}

static bool is_global(const char *key, size_t level)
{
    return level == 6 && memcmp(key, "global", 6) == 0;
}

int tl_scopes_check(const char *key, size_t len)
{
    if (!key || len == 0 || len > TLSHM_KEY_MAX)
        return -TLSHM_EKEY;
    size_t level = level_length(key, len);
    if (level == 0 || (level + 1 == len && !is_global(key, level)))
        return -TLSHM_EKEY;
    for (size_t i = 0; i < len;) {
        size_t n = character((const unsigned char *)key + i, len - i);
        if (n == 0)
            return -TLSHM_EKEY;
        i += n;
    }
    return 0;
}

int tl_scopes_check_name(const char *name)
{
    if (!name)
        return -TLSHM_EINVAL;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return n > 0 && n <= TLSHM_NAME_MAX && !name[n] ? 0 : -TLSHM_EINVAL;
}

static int internal_key(const char *kind, const char *name, size_t name_len, char buf[64])
{
    return snprintf(buf, 64, "%s:%.*s", kind, (int)name_len, name);
}

int tl_scopes_internal(struct tl_hand *hand, const char *kind, const char *name, uint32_t *cell)
{
    char key[64];
    uint64_t handle;
    int rc = tl_directory_find(hand, key, (size_t)internal_key(kind, name, strlen(name), key), &handle);
    if (rc == 0)
        *cell = tl_handle_cell(handle);
    return rc == 0 && *cell >= hand->map->tier_cells ? -TLSHM_ECORRUPT : rc;
}

bool tl_scopes_internal_gone(struct tl_hand *hand, uint32_t cell)
{
    return tl_policy_kind(tl_pending_read(hand->map, &hand->map->cells[cell].policy)) == TL_POLICY_GONE;
}

int tl_scopes_make_internal(struct tl_hand *hand, const char *kind, const char *name, uint64_t rank, uint32_t *cell)
{
    char key[64];
    uint64_t handle;
    size_t len = (size_t)internal_key(kind, name, strlen(name), key);
    int rc = tl_directory_make(hand, TL_KEY_TIER, key, len, tl_policy(TL_POLICY_GONE, 0, 0), rank, &handle, NULL);
    if (rc < 0)
        return rc;
    *cell = tl_handle_cell(handle);
    /* Two who make it at once with different ranks: any of both will do, its scopes copy what they find. */
    if (tl_load_relaxed(&hand->map->cells[*cell].rank) != rank && tl_scopes_internal_gone(hand, *cell))
        tl_store_release(&hand->map->cells[*cell].rank, rank);
    return *cell < hand->map->tier_cells ? 0 : -TLSHM_ECORRUPT;
}

bool tl_scopes_internal_name(struct tl_hand *hand, uint32_t cell, const char *kind, char name[TLSHM_NAME_MAX + 1])
{
    char key[TLSHM_KEY_MAX + 1];
    uint64_t handle = tl_directory_live(hand, cell);
    size_t prefix = strlen(kind);
    if (!handle || tl_directory_key(hand, handle, key) <= 0)
        return false;
    if (strncmp(key, kind, prefix) != 0 || key[prefix] != ':' || strlen(key + prefix + 1) > TLSHM_NAME_MAX)
        return false;
    strcpy(name, key + prefix + 1);
    return true;
}

/* The cell of a key's level. */
static int level_of(struct tl_hand *hand, const char *key, size_t level, uint32_t *cell)
{
    char name[TLSHM_NAME_MAX + 1];
    memcpy(name, key, level);
    name[level] = 0;
    int rc = tl_scopes_internal(hand, "level", name, cell);
    if (rc == 0 && tl_scopes_internal_gone(hand, *cell))
        rc = -TLSHM_ENOENT;
    return rc == -TLSHM_ENOENT ? -TLSHM_ELEVEL : rc;
}

static int make_scope(struct tl_hand *hand, const char *key, size_t len, uint32_t level, uint64_t *handle)
{
    uint64_t rank = tl_load_relaxed(&hand->map->cells[level].rank);
    return tl_directory_make(hand, TL_KEY_SCOPE, key, len, tl_policy(TL_POLICY_DEFAULT, level, 0), rank, handle, NULL);
}

int tl_scopes_make_early(struct tl_hand *hand, const char *key, uint64_t *handle)
{
    char name[TLSHM_NAME_MAX + 1];
    uint32_t level = 0;
    size_t len = strlen(key), name_len = level_length(key, len);
    memcpy(name, key, name_len);
    name[name_len] = 0;
    int rc = tl_scopes_internal(hand, "level", name, &level);
    return rc < 0 ? (rc == -TLSHM_ENOENT ? -TLSHM_ELEVEL : rc) : make_scope(hand, key, len, level, handle);
}

/* Asks the directory, and remembers what it says. */
static int ask_directory(struct tlshm *t, struct tl_hand *hand, const char *key, size_t len, uint64_t hash, bool make,
                         uint64_t *handle)
{
    uint32_t level = 0;
    int rc = level_of(hand, key, level_length(key, len), &level);
    if (rc < 0)
        return rc;
    rc = make ? make_scope(hand, key, len, level, handle) : tl_directory_find(hand, key, len, handle);
    if (rc == 0)
        tl_keys_put(&t->keys, hash, key, len, *handle);
    return rc;
}

static int resolve(struct tlshm *t, struct tl_hand *hand, const char *key, size_t len, bool make, bool anew,
                   uint64_t *handle)
{
    if (TL_UNLIKELY(!key))
        return -TLSHM_EKEY;
    if (len == 0)
        len = strnlen(key, TLSHM_KEY_MAX + 1);
    if (TL_UNLIKELY(len == 0 || len > TLSHM_KEY_MAX))
        return -TLSHM_EKEY;
    uint64_t hash = tl_hash(key, len, tl_load_relaxed(&hand->map->header->hash_seed));
    *handle = anew ? 0 : tl_keys_get(&t->keys, hash, key, len);
    if (TL_LIKELY(*handle != 0))
        return 0; /* only sound keys are remembered */
    int rc = tl_scopes_check(key, len);
    return rc < 0 ? rc : ask_directory(t, hand, key, len, hash, make, handle);
}

int tl_scopes_resolve(struct tlshm *t, struct tl_hand *hand, const char *key, size_t len, bool make, uint64_t *handle)
{
    return resolve(t, hand, key, len, make, false, handle);
}

int tl_scopes_resolve_anew(struct tlshm *t, struct tl_hand *hand, const char *key, size_t len, uint64_t *handle)
{
    return resolve(t, hand, key, len, hand->seat != NULL, true, handle);
}
