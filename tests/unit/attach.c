/* SPDX-License-Identifier: MIT */
/* attach.c - what is no sound segment is refused with an error of its own, in words, and left as it was. */
#include "space.h"

#include "layout.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tlshm/stats.h>
#include <unistd.h>

static struct space space;
static char copy[200];

static void open_copy(void)
{
    space_open(&space, NULL);
    snprintf(copy, sizeof copy, "%s/copy", space.dir);
}

static void close_copy(void)
{
    unlink(copy);
    space_close(&space);
}

TestSuite(attach, .init = open_copy, .fini = close_copy, .timeout = 120);

struct bytes {
    unsigned char *at;
    size_t size;
};

static struct bytes file_read(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
    cr_assert_eq(fstat(fd, &st), 0);
    struct bytes b = {malloc((size_t)st.st_size + 1), (size_t)st.st_size};
    cr_assert_eq(read(fd, b.at, b.size), (ssize_t)b.size);
    close(fd);
    return b;
}

static void file_write(const char *path, const void *at, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
    cr_assert_eq(write(fd, at, size), (ssize_t)size);
    close(fd);
}

/* Attaches to the copy, which must fail in the same way both times and leave the file as it was. */
static int refused(const char *what)
{
    struct tlshm_error err = {0};
    tlshm_t *t = NULL;
    struct bytes before = file_read(copy);
    int rc = tlshm_attach(&t, copy, 0, &err);
    cr_assert_lt(rc, 0, "%s was attached", what);
    cr_expect_null(t);
    cr_expect_eq(err.code, rc, "%s", what);
    cr_expect_gt(strlen(err.text), 10u, "%s: \"%s\"", what, err.text);
    cr_expect_not_null(strstr(err.text, "copy"), "%s: the text names the file: %s", what, err.text);
    cr_expect_eq(tlshm_attach(&t, copy, TLSHM_READONLY, NULL), rc, "%s, read-only", what);
    struct bytes after = file_read(copy);
    cr_expect_eq(after.size, before.size, "%s", what);
    cr_expect_eq(memcmp(after.at, before.at, before.size), 0, "%s was written to", what);
    free(before.at);
    free(after.at);
    return rc;
}

static void expect(int rc, int expected, const char *what)
{
    cr_expect_eq(rc, expected, "%s: %s, not %s", what, tlshm_error_name(rc), tlshm_error_name(expected));
}

Test(attach, foreign_files)
{
    static const char text[] = "# a configuration file\nlimit = 5\n";
    unsigned char junk[16384];
    srand(3);
    for (unsigned i = 0; i < sizeof junk; i++)
        junk[i] = (unsigned char)rand();
    file_write(copy, text, 0);
    int rc = refused("an empty file");
    cr_expect(rc == -TLSHM_EFOREIGN || rc == -TLSHM_ETRUNCATED, "an empty file: %s", tlshm_error_name(rc));
    file_write(copy, text, sizeof text);
    expect(refused("a text file"), -TLSHM_EFOREIGN, "a text file");
    file_write(copy, junk, sizeof junk);
    expect(refused("random bytes"), -TLSHM_EFOREIGN, "random bytes");
}

Test(attach, things_that_are_no_file)
{
    struct tlshm_error err = {0};
    tlshm_t *t = NULL;
    expect(tlshm_attach(&t, copy, 0, &err), -TLSHM_ENOENT, "nothing there");
    cr_expect_gt(strlen(err.text), 10u);
    cr_expect_lt(tlshm_attach(&t, space.dir, 0, &err), 0, "a directory");
    cr_expect_lt(tlshm_attach(&t, "/dev/zero", 0, &err), 0, "a device");
    cr_assert_eq(mkfifo(copy, 0600), 0);
    cr_expect_lt(tlshm_attach(&t, copy, 0, &err), 0, "a pipe must not hang");
    expect(tlshm_attach(&t, NULL, 0, &err), -TLSHM_EINVAL, "no name");
    expect(tlshm_attach(&t, "", 0, &err), -TLSHM_EINVAL, "an empty name");
    expect(tlshm_attach(&t, space.path, 0xff00, &err), -TLSHM_EINVAL, "unknown flags");
    expect(tlshm_attach(NULL, space.path, 0, &err), -TLSHM_EINVAL, "no place for the result");
    cr_expect_null(t);
}

Test(attach, truncated_files)
{
    struct bytes whole = file_read(space.path);
    const size_t sizes[] = {1, 8, 100, sizeof(struct shm_header), SHM_PAGE, whole.size / 2, whole.size - 1};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char what[64];
        snprintf(what, sizeof what, "a segment cut after %zu bytes", sizes[i]);
        file_write(copy, whole.at, sizes[i]);
        int rc = refused(what);
        cr_expect(rc == -TLSHM_ETRUNCATED || (sizes[i] < 200 && rc == -TLSHM_EFOREIGN), "%s: %s", what,
                  tlshm_error_name(rc));
    }
    free(whole.at);
}

/* Another segment, whose clock is the machine's: only such a one belongs to a boot and a time namespace. */
static void use_real_clock(void)
{
    tlshm_geometry g = space_geometry();
    g.virtual_clock = 0;
    unlink(copy);
    space_close(&space);
    space_open(&space, &g);
    snprintf(copy, sizeof copy, "%s/copy", space.dir);
}

/* The header of a copy, changed and made to look genuine again. */
static int patched(void (*patch)(struct shm_header *header), bool checksum, const char *what)
{
    struct bytes b = file_read(space.path);
    struct shm_header *header = (struct shm_header *)(void *)b.at;
    patch(header);
    if (checksum)
        tl_store_relaxed(&header->checksum, tl_layout_checksum(header));
    file_write(copy, b.at, b.size);
    free(b.at);
    return refused(what);
}

static void swap_bytes(struct shm_header *header)
{
    uint64_t *words = (uint64_t *)(void *)header;
    for (unsigned i = 0; i <= SHM_IDENTITY_WORDS; i++)
        words[i] = __builtin_bswap64(words[i]);
}

static void next_version(struct shm_header *header)
{
    tl_store_relaxed(&header->version, tl_load_relaxed(&header->version) + 1);
}

static void other_fingerprint(struct shm_header *header)
{
    tl_store_relaxed(&header->fingerprint, tl_load_relaxed(&header->fingerprint) ^ 1);
}

static void other_boot(struct shm_header *header)
{
    tl_store_relaxed(&header->boot_id[1], tl_load_relaxed(&header->boot_id[1]) ^ 1);
}

static void other_namespace(struct shm_header *header)
{
    tl_store_relaxed(&header->namespace_boot, tl_load_relaxed(&header->namespace_boot) + 1000000000);
}

static void flipped_bit(struct shm_header *header)
{
    tl_store_relaxed(&header->hash_seed, tl_load_relaxed(&header->hash_seed) ^ 1024);
}

static void monstrous_geometry(struct shm_header *header)
{
    for (unsigned i = 0; i < 7; i++)
        tl_store_relaxed(&header->geometry[i], UINT64_MAX);
}

static void zero_geometry(struct shm_header *header)
{
    for (unsigned i = 0; i < 7; i++)
        tl_store_relaxed(&header->geometry[i], 0);
}

static void larger_geometry(struct shm_header *header)
{
    tl_store_relaxed(&header->geometry[0], tl_load_relaxed(&header->geometry[0]) * 4);
}

static void lying_size(struct shm_header *header)
{
    tl_store_relaxed(&header->bytes, tl_load_relaxed(&header->bytes) - SHM_PAGE);
}

Test(attach, other_builds_boots_and_machines)
{
    expect(patched(next_version, true, "another version"), -TLSHM_ELAYOUT, "another version");
    expect(patched(other_fingerprint, true, "another layout"), -TLSHM_ELAYOUT, "another layout");
    int rc = patched(swap_bytes, false, "the other byte order");
    cr_expect(rc == -TLSHM_ELAYOUT || rc == -TLSHM_EFOREIGN, "the other byte order: %s", tlshm_error_name(rc));
    use_real_clock();
    expect(patched(other_boot, true, "another boot"), -TLSHM_EBOOT, "another boot");
    expect(patched(other_namespace, true, "another time namespace"), -TLSHM_ECLOCK, "another time namespace");
}

Test(attach, damaged_headers)
{
    expect(patched(flipped_bit, false, "a flipped bit"), -TLSHM_ECORRUPT, "a flipped bit");
    expect(patched(monstrous_geometry, true, "a monstrous geometry"), -TLSHM_ECORRUPT, "a monstrous geometry");
    expect(patched(zero_geometry, true, "an empty geometry"), -TLSHM_ECORRUPT, "an empty geometry");
    int rc = patched(larger_geometry, true, "a geometry larger than the file");
    cr_expect(rc == -TLSHM_ECORRUPT || rc == -TLSHM_ETRUNCATED, "%s", tlshm_error_name(rc));
    rc = patched(lying_size, true, "a size that is not the geometry's");
    cr_expect_eq(rc, -TLSHM_ECORRUPT, "%s", tlshm_error_name(rc));
}

/* Every word of the identity, changed alone, is noticed. */
Test(attach, every_word_of_the_identity_is_covered)
{
    struct bytes b = file_read(space.path);
    uint64_t *words = (uint64_t *)(void *)b.at;
    for (unsigned i = 0; i <= SHM_IDENTITY_WORDS; i++) {
        char what[32];
        snprintf(what, sizeof what, "word %u", i);
        words[i] ^= UINT64_C(1) << (i % 64);
        file_write(copy, b.at, SHM_PAGE * 2 < b.size ? b.size : SHM_PAGE * 2);
        refused(what);
        words[i] ^= UINT64_C(1) << (i % 64);
    }
    free(b.at);
}

static int poke(tlshm_t *t)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_scope_usage usage;
    tlshm_refusal why;
    tlshm_amounts one = {{1}};
    int rc = tlshm_reserve(t, ask_for(&a, "agent:a tenant:t", "tokens=1"), &id, &why);
    if (rc == TLSHM_OK)
        tlshm_settle(t, id, &one, TLSHM_EXACT, NULL);
    tlshm_usage(t, "agent:a", 0, &usage);
    tlshm_reap(t, NULL);
    tlshm_verify(t, NULL, NULL, NULL);
    tlshm_reservation_info info;
    uint64_t cursor = 0;
    for (unsigned i = 0; i < 5000 && tlshm_reservation_next(t, &cursor, &info) == 1; i++)
        tlshm_settle(t, info.id, &one, TLSHM_EXACT, NULL);
    return rc;
}

/* Fills [from, to) of a copy, but for a hole, with garbage of several densities, and uses what can be attached. */
static void use_garbage(size_t from, size_t to, size_t hole, size_t hole_end)
{
    struct bytes b = file_read(space.path);
    for (unsigned round = 0; round < 40; round++) {
        unsigned char *at = malloc(b.size);
        tlshm_t *t = NULL;
        memcpy(at, b.at, b.size);
        srand(round);
        unsigned stride = round < 10 ? 1 : 1u << (round % 10);
        for (size_t i = from; i < to; i += 1 + (size_t)rand() % stride)
            if (i < hole || i >= hole_end)
                at[i] = (unsigned char)(round % 3 == 0 ? 0xff : rand());
        file_write(copy, at, b.size);
        free(at);
        if (tlshm_attach(&t, copy, 0, NULL) == 0)
            cr_expect_leq(poke(t), TLSHM_ENDED);
        tlshm_detach(t);
        if (tlshm_attach(&t, copy, TLSHM_READONLY, NULL) == 0)
            cr_expect_leq(poke(t), TLSHM_ENDED);
        tlshm_detach(t);
    }
    free(b.at);
}

/* Where the seats are in the file. */
static size_t seats_at(size_t *end)
{
    static unsigned char base[1];
    struct tl_map map;
    tlshm_geometry g = space_geometry();
    const char *what = NULL;
    cr_assert_eq(tl_layout_geometry(&g, &what), 0);
    tl_layout_place(&map, &g, base);
    *end = (size_t)((uintptr_t)(map.seats + map.seat_count) - (uintptr_t)base);
    return (size_t)((uintptr_t)map.seats - (uintptr_t)base);
}

/* A right header before garbage: errors or answers, but no crash and no endless loop. */
Test(attach, garbage_in_the_tables, .timeout = 240)
{
    size_t seats_end = 0, seats = seats_at(&seats_end);
    tlshm_geometry g = space_geometry();
    use_garbage(SHM_PAGE, (size_t)tlshm_geometry_bytes(&g), seats, seats_end);
}

Test(attach, garbage_in_the_seats, .timeout = 240)
{
    size_t seats_end = 0, seats = seats_at(&seats_end);
    use_garbage(seats, seats_end, 0, 0);
}

/* The file's sections in a mapping of our own. */
static void map_file(struct tl_map *map)
{
    tlshm_geometry g = space_geometry();
    const char *what = NULL;
    int fd = open(space.path, O_RDWR);
    cr_assert_eq(tl_layout_geometry(&g, &what), 0);
    void *base = mmap(NULL, (size_t)tlshm_geometry_bytes(&g), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(base, MAP_FAILED);
    close(fd);
    tl_layout_place(map, &g, base);
}

/* An incarnation that no handle can hold: each handle that is looked up is stale at once, for ever. */
Test(attach, scope_whose_handles_are_always_stale)
{
    const uint64_t incarnation = UINT64_C(1) << 50;
    struct tl_map map;
    struct ask a;
    tlshm_id id = 0;
    int64_t left = 5;
    tlshm_scope_usage usage = {.limit_count = 77};
    cr_assert_eq(tlshm_reserve(space.t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL), TLSHM_OK);
    map_file(&map);
    for (uint32_t i = map.tier_cells; i < map.scope_end; i++)
        if ((tl_load(&map.cells[i].life) & 3) == 2) {
            struct shm_sheet *sheet = tl_map_sheet(&map, shm_node(tl_load(&map.cells[i].head)));
            tl_store_relaxed(&sheet->after.word[SHM_INCARNATION], incarnation);
            tl_store_relaxed(&map.cells[i].life, 1); /* claimed, for an incarnation whose low bits are those */
        }
    expect(tlshm_usage(space.t, "agent:a", 0, &usage), -TLSHM_ECORRUPT, "usage");
    expect(tlshm_remaining(space.t, "agent:a", 0, TLSHM_TOKENS, &left), -TLSHM_ECORRUPT, "remaining");
    cr_expect(usage.limit_count == 77 && left == 5, "nothing was written");
    cr_expect_lt(tlshm_reserve(space.t, &a.request, &id, NULL), 0, "and nobody is admitted");
    munmap(map.header, map.bytes);
}

/* The mutex of the seat that this thread has in `t`, with something else written into it. */
static void spoil_own_mutex(tlshm_t *t, size_t word, uint32_t value)
{
    tlshm_seat_info seat;
    uint64_t cursor = 0;
    while (tlshm_seat_next(t, &cursor, &seat) == 1 && seat.pid != (uint32_t)getpid())
        continue;
    size_t end = 0, at = seats_at(&end) + seat.seat * sizeof(struct shm_seat) + offsetof(struct shm_seat, lock);
    int fd = open(space.path, O_WRONLY);
    cr_assert_eq(pwrite(fd, &value, sizeof value, (off_t)(at + word * 4)), (ssize_t)sizeof value);
    close(fd);
}

/* Words of the mutex: 0 is its lock with the owner's number, 4 its kind. */
Test(attach, mutex_that_is_spoilt_while_it_is_held)
{
    static const struct {
        size_t word;
        uint32_t value;
    } cases[] = {{0, 0}, {0, 1}, {0, UINT32_MAX}, {4, 0}, {4, 0x100}, {4, 0x20}, {4, UINT32_MAX}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ask a;
        tlshm_id id = 0;
        tlshm_t *t = space_attach(&space);
        cr_assert_eq(tlshm_reserve(t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL), TLSHM_OK);
        spoil_own_mutex(t, cases[i].word, cases[i].value);
        tlshm_detach(t);
        /* The C library's list of held mutexes is still whole: it does not lead to where something else is mapped. */
        tlshm_geometry g = space_geometry();
        size_t size = (size_t)tlshm_geometry_bytes(&g);
        void *hole = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct space other;
        space_open(&other, NULL);
        cr_assert_eq(tlshm_reserve(other.t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL), TLSHM_OK, "case %u", i);
        space_close(&other);
        munmap(hole, size);
    }
}

Test(attach, never_changes_anything)
{
    struct ask a;
    tlshm_id id = 0;
    cr_assert_eq(tlshm_reserve(space.t, ask_for(&a, "agent:a", "tokens=5"), &id, NULL), TLSHM_OK);
    tlshm_scope_usage before = space_usage(&space, "agent:a");
    for (unsigned i = 0; i < 1000; i++) {
        tlshm_t *t = NULL;
        cr_assert_eq(tlshm_attach(&t, space.path, i % 2 != 0 ? TLSHM_READONLY : 0, NULL), 0, "attach %u", i);
        tlshm_detach(t);
    }
    tlshm_scope_usage after = space_usage(&space, "agent:a");
    cr_expect_eq(memcmp(before.used, after.used, sizeof before.used), 0);
    cr_expect_eq(memcmp(before.held, after.held, sizeof before.held), 0);
    cr_expect_eq(tlshm_verify(space.t, NULL, NULL, NULL), 0);
}

Test(attach, creation_never_replaces_a_file)
{
    struct tlshm_error err;
    tlshm_geometry g = space_geometry();
    expect(tlshm_create(space.path, &g, &err), -TLSHM_EEXIST, "a segment");
    file_write(copy, "mine", 4);
    expect(tlshm_create(copy, &g, &err), -TLSHM_EEXIST, "somebody's file");
    expect(tlshm_destroy(copy, &err), -TLSHM_EFOREIGN, "somebody's file");
    struct bytes b = file_read(copy);
    cr_expect_eq(b.size, 4);
    free(b.at);
    unlink(copy);
    expect(tlshm_destroy(copy, &err), -TLSHM_ENOENT, "nothing");
}

Test(attach, geometry_out_of_range)
{
    struct tlshm_error err;
    tlshm_geometry bad[8];
    for (unsigned i = 0; i < 8; i++)
        bad[i] = space_geometry();
    bad[0].scopes = 4000001;
    bad[1].reservations = 4000001;
    bad[2].limits_per_scope = TLSHM_LIMITS_MAX + 1;
    bad[3].slices = 65;
    bad[4].seats = 4001;
    bad[5].tiers = 4097;
    bad[6].limit_lists = 1000001;
    bad[7].mode = 0100000;
    for (unsigned i = 0; i < 8; i++) {
        expect(tlshm_create(copy, &bad[i], &err), -TLSHM_EINVAL, "a number out of range");
        cr_expect_gt(strlen(err.text), 5u);
    }
    cr_expect_eq(access(copy, F_OK), -1);
    for (unsigned i = 0; i < 7; i++)
        cr_expect_eq(tlshm_geometry_bytes(&bad[i]), 0, "%u", i);
    cr_expect_gt(tlshm_geometry_bytes(NULL), 0u);
}

Test(attach, destroyed_segment_goes_on_for_those_inside)
{
    struct ask a;
    tlshm_id id = 0;
    tlshm_segment_info info;
    tlshm_t *t = NULL;
    cr_assert_eq(tlshm_destroy(space.path, NULL), 0);
    expect(tlshm_attach(&t, space.path, 0, NULL), -TLSHM_ENOENT, "after destroy");
    cr_assert_eq(tlshm_reserve(space.t, ask_for(&a, "agent:a", "tokens=5"), &id, NULL), TLSHM_OK);
    cr_assert_eq(tlshm_get_segment(space.t, &info), 0);
    cr_expect(info.destroyed);
    cr_expect(info.unlinked);
    cr_assert_eq(tlshm_create(space.path, NULL, NULL), 0, "a new one in its place");
    cr_assert_eq(tlshm_attach(&t, space.path, 0, NULL), 0);
    cr_expect_eq(tlshm_get_segment(t, &info), 0);
    cr_expect_not(info.destroyed);
    cr_expect_eq(info.reservations_held, 0);
    tlshm_detach(t);
}

Test(attach, permissions_are_those_of_the_geometry)
{
    struct stat st;
    tlshm_geometry g = space_geometry();
    g.mode = 0640;
    mode_t mask = umask(077);
    cr_assert_eq(tlshm_create(copy, &g, NULL), 0);
    umask(mask);
    cr_assert_eq(stat(copy, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0640u, "%o", st.st_mode);
    cr_expect_eq((uint64_t)st.st_size, tlshm_geometry_bytes(&g));
    cr_expect_geq((uint64_t)st.st_blocks * 512, (uint64_t)st.st_size, "all of it really allocated");
}

Test(attach, segments_of_one_process_are_apart)
{
    struct space others[4];
    struct ask a;
    tlshm_id ids[4];
    for (unsigned i = 0; i < 4; i++) {
        char amounts[32];
        space_open(&others[i], NULL);
        snprintf(amounts, sizeof amounts, "tokens=%u", 10 + i);
        cr_assert_eq(tlshm_reserve(others[i].t, ask_for(&a, "agent:a", amounts), &ids[i], NULL), TLSHM_OK);
    }
    for (unsigned i = 0; i < 4; i++) {
        cr_expect_eq(space_usage(&others[i], "agent:a").held[TLSHM_TOKENS], 10 + i);
        cr_expect_eq(tlshm_refund(others[i].t, ids[i], NULL), TLSHM_OK);
        cr_expect_eq(space_usage(&others[(i + 3) % 4], "agent:a").held[TLSHM_TOKENS], i == 0 ? 13 : 0);
    }
    for (unsigned i = 0; i < 4; i++)
        space_close(&others[i]);
    cr_expect_eq(space_usage(&space, "agent:a").seen, 0);
}
