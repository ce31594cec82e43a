/* SPDX-License-Identifier: MIT */
/* segment.c - creating, attaching, detaching; the threads of an attachment. See segment.h. */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "os.h"

#define DEFAULT_PLACE "/dev/shm/tlshm"

/* -------------------------------------------------------------------------------------------------------- errors */

__attribute__((format(printf, 4, 5))) static int fail(struct tlshm_error *err, int code, int sys, const char *format,
                                                      ...)
{
    if (err) {
        va_list args;
        err->code = -code;
        err->sys = sys;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return -code;
}

/* The error for a system call that failed on a path. */
static int fail_sys(struct tlshm_error *err, const char *what, const char *path, int sys)
{
    int code = TLSHM_ESYS;
    if (sys == EACCES || sys == EPERM || sys == EROFS)
        code = TLSHM_EACCES;
    else if (sys == ENOENT || sys == ENOTDIR)
        code = TLSHM_ENOENT;
    else if (sys == EEXIST)
        code = TLSHM_EEXIST;
    else if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
        code = TLSHM_ENOSPC;
    else if (sys == ENOMEM)
        code = TLSHM_ENOMEM;
    return fail(err, code, sys, "%s: cannot %s: %s", path, what, strerrordesc_np(sys));
}

/* A process in which the clock is one, and in its children another. */
static int fail_between_times(const char *path, struct tlshm_error *err)
{
    return fail(err, TLSHM_ECLOCK, 0, "%s: this process has left for another time namespace and is not in it", path);
}

/* ---------------------------------------------------------------------------------------------------------- paths */

static bool plain_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return n > 0 && n <= 64 && !name[n] && name[0] != '.';
}

int tl_segment_path(const char *name, char *buf, size_t size)
{
    bool path = name && strchr(name, '/');
    if (!name || (!path && !plain_name(name)))
        return -TLSHM_EINVAL;
    int n = path ? snprintf(buf, size, "%s", name) : snprintf(buf, size, DEFAULT_PLACE "/%s", name);
    return n > 0 && (size_t)n < size ? 0 : -TLSHM_EINVAL;
}

static int path_of(const char *name, char *buf, size_t size, struct tlshm_error *err)
{
    if (tl_segment_path(name, buf, size) == 0)
        return 0;
    return fail(err, TLSHM_EINVAL, 0,
                "segment name \"%.64s\": expected 1 to 64 letters, digits, '.', '_', '-', or a path with a slash",
                name ? name : "(null)");
}

/* --------------------------------------------------------------------------------------------------------- create */

static void write_identity(struct shm_header *header, const tlshm_geometry *geometry, uint64_t bytes)
{
    uint64_t boot_id[2], boot_ns, mono_ns;
    tl_os_boot_id(boot_id);
    (void)tl_os_clock_namespace(&boot_ns, &mono_ns); /* known, unless the segment's clock is virtual */
    tl_store_relaxed(&header->version, SHM_VERSION);
    tl_store_relaxed(&header->fingerprint, tl_layout_fingerprint());
    tl_store_relaxed(&header->bytes, bytes);
    tl_store_relaxed(&header->boot_id[0], boot_id[0]);
    tl_store_relaxed(&header->boot_id[1], boot_id[1]);
    tl_store_relaxed(&header->slept, tl_clock_slept());
    bool virtual_clock = geometry->virtual_clock != 0;
    uint64_t boot = virtual_clock ? 0 : tl_clock_source->boot(), wall = virtual_clock ? 0 : tl_clock_source->wall();
    tl_store_relaxed(&header->created_boot, boot);
    tl_store_relaxed(&header->created_wall, wall);
    tl_layout_write_geometry(header, geometry);
    tl_store_relaxed(&header->creator_pid, tl_os_pid());
    tl_store_relaxed(&header->hash_seed, tl_os_random());
    /* So that an id of a segment that was here before is unknown in this one. */
    tl_store_relaxed(&header->first_generation, (tl_os_random() & tl_ones(32)) + 1);
    tl_store_relaxed(&header->namespace_boot, boot_ns);
    tl_store_relaxed(&header->namespace_mono, mono_ns);
    tl_store_relaxed(&header->magic, SHM_MAGIC);
    tl_store_relaxed(&header->checksum, tl_layout_checksum(header));
}

const char *const tl_segment_levels[TL_SEGMENT_LEVELS] = {"global", "org", "tenant", "project", "user", "agent"};

static int make_levels(const struct tl_map *map)
{
    struct tl_hand hand = {.map = map};
    uint64_t handle;
    hand.clock.virtual_boot = hand.clock.virtual_wall = &map->header->virtual_boot;
    int rc = tl_seat_take(&hand, 0);
    for (unsigned i = 0; rc == 0 && i < TL_SEGMENT_LEVELS; i++) {
        char key[64];
        size_t len = (size_t)snprintf(key, sizeof key, "level:%s", tl_segment_levels[i]);
        rc = tl_directory_make(&hand, TL_KEY_TIER, key, len, 0, i, &handle, NULL);
    }
    if (hand.seat)
        tl_seat_release(&hand);
    return rc;
}

static int fill_file(int fd, const char *path, const tlshm_geometry *geometry, struct tlshm_error *err)
{
    struct tl_map map;
    uint64_t bytes = tl_layout_place(&map, geometry, NULL);
    int rc = posix_fallocate(fd, 0, (off_t)bytes);
    if (rc != 0)
        return fail(err, rc == ENOSPC ? TLSHM_ENOSPC : TLSHM_ESYS, rc, "%s: cannot allocate %llu bytes: %s", path,
                    (unsigned long long)bytes, strerrordesc_np(rc));
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return fail_sys(err, "map", path, errno);
    tl_layout_place(&map, geometry, base);
    write_identity(map.header, geometry, bytes);
    tl_layout_fill(&map, tl_load_relaxed(&map.header->first_generation));
    rc = make_levels(&map);
    tl_store_relaxed(&map.header->scope_cursor, 0);
    munmap(base, bytes);
    if (rc < 0)
        return fail(err, -rc, 0, "%s: %s", path, tlshm_error_text(rc));
    if (geometry->group && fchown(fd, (uid_t)-1, (gid_t)geometry->group) != 0)
        return fail_sys(err, "set the group of", path, errno);
    return fchmod(fd, (mode_t)geometry->mode) == 0 ? 0 : fail_sys(err, "set the mode of", path, errno);
}

/* The directory part of a path. */
static void parent_of(const char *path, char *buf, size_t size)
{
    snprintf(buf, size, "%s", path);
    char *slash = strrchr(buf, '/');
    if (slash && slash != buf)
        *slash = 0;
    else
        snprintf(buf, size, slash ? "/" : ".");
}

/* The default place is everybody's, like /tmp. */
static void make_default_place(const char *directory)
{
    if (strcmp(directory, DEFAULT_PLACE) == 0 && mkdir(directory, 01777) == 0)
        (void)chmod(directory, 01777);
}

/* Gives an unnamed file its name, never over another one. */
static int publish(int fd, const char *path, struct tlshm_error *err)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno == EEXIST)
        return fail(err, TLSHM_EEXIST, EEXIST, "%s: exists already", path);
    return fail_sys(err, "name the segment", path, errno);
}

/* Where unnamed files are not to be had or cannot be named: a temporary name, linked to the real one at the end. */
static int create_named(const char *directory, const char *path, const tlshm_geometry *geometry,
                        struct tlshm_error *err)
{
    char name[300];
    if (snprintf(name, sizeof name, "%s/.tlshm-XXXXXX", directory) >= (int)sizeof name)
        return fail(err, TLSHM_EINVAL, 0, "%.200s: path is too long", path);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return fail_sys(err, "create a file beside", path, errno);
    int rc = fill_file(fd, path, geometry, err);
    if (rc == 0 && link(name, path) != 0)
        rc = errno == EEXIST ? fail(err, TLSHM_EEXIST, EEXIST, "%s: exists already", path)
                             : fail_sys(err, "name the segment", path, errno);
    unlink(name);
    close(fd);
    return rc;
}

int tl_segment_create(const char *name, const tlshm_geometry *wanted, struct tlshm_error *err)
{
    tlshm_geometry geometry = {0};
    char path[256], directory[256];
    const char *what;
    int rc = path_of(name, path, sizeof path, err);
    if (rc < 0)
        return rc;
    if (wanted)
        geometry = *wanted;
    if (tl_layout_geometry(&geometry, &what) < 0)
        return fail(err, TLSHM_EINVAL, 0, "geometry: %s is out of range", what);
    uint64_t boot_ns, mono_ns;
    if (!geometry.virtual_clock && !tl_os_clock_namespace(&boot_ns, &mono_ns))
        return fail_between_times(path, err);
    parent_of(path, directory, sizeof directory);
    make_default_place(directory);
    if (!tl_os_descriptors_have_names())
        return create_named(directory, path, &geometry, err);
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        return create_named(directory, path, &geometry, err);
    if (fd < 0)
        return fail_sys(err, "create a file in", directory, errno);
    rc = fill_file(fd, path, &geometry, err);
    if (rc == 0)
        rc = publish(fd, path, err);
    close(fd);
    return rc;
}

/* --------------------------------------------------------------------------------------------------------- attach */

static int check_identity(const struct shm_header *header, const char *path, struct tlshm_error *err)
{
    uint64_t version = tl_load_relaxed(&header->version), fingerprint = tl_load_relaxed(&header->fingerprint);
    if (tl_load(&header->magic) == __builtin_bswap64(SHM_MAGIC))
        return fail(err, TLSHM_ELAYOUT, 0, "%s: written by a machine of the other byte order", path);
    if (tl_load(&header->magic) != SHM_MAGIC)
        return fail(err, TLSHM_EFOREIGN, 0, "%s: not a tlshm segment (no signature)", path);
    if (version != SHM_VERSION)
        return fail(err, TLSHM_ELAYOUT, 0, "%s: layout version %llu, this library reads version %d", path,
                    (unsigned long long)version, SHM_VERSION);
    if (fingerprint != tl_layout_fingerprint())
        return fail(err, TLSHM_ELAYOUT, 0, "%s: layout fingerprint %016llx, this library has %016llx", path,
                    (unsigned long long)fingerprint, (unsigned long long)tl_layout_fingerprint());
    if (tl_load_relaxed(&header->checksum) != tl_layout_checksum(header))
        return fail(err, TLSHM_ECORRUPT, 0, "%s: the header is damaged (its checksum does not fit)", path);
    return 0;
}

static int check_machine(const struct shm_header *header, const char *path, struct tlshm_error *err)
{
    uint64_t boot_id[2], boot_ns, mono_ns;
    if (tl_load_relaxed(&header->virtual_clock))
        return 0; /* its time is its own */
    if (tl_os_boot_id(boot_id) &&
        (boot_id[0] != tl_load_relaxed(&header->boot_id[0]) || boot_id[1] != tl_load_relaxed(&header->boot_id[1])))
        return fail(err, TLSHM_EBOOT, 0, "%s: made before the last boot of this host: its clock has started anew",
                    path);
    if (!tl_os_clock_namespace(&boot_ns, &mono_ns))
        return fail_between_times(path, err);
    if (boot_ns != tl_load_relaxed(&header->namespace_boot) || mono_ns != tl_load_relaxed(&header->namespace_mono))
        return fail(err, TLSHM_ECLOCK, 0, "%s: made in another time namespace: the clocks differ", path);
    return 0;
}

/* Checks a header in private memory against the file's size. No number is used before it was checked. */
static int check_file(const struct shm_header *header, uint64_t size, tlshm_geometry *geometry, const char *path,
                      struct tlshm_error *err)
{
    struct tl_map map;
    const char *what;
    int rc = check_identity(header, path, err);
    if (rc < 0)
        return rc;
    tl_layout_read_geometry(header, geometry);
    if (tl_layout_geometry(geometry, &what) < 0)
        return fail(err, TLSHM_ECORRUPT, 0, "%s: the header's %s is out of range", path, what);
    uint64_t bytes = tl_layout_place(&map, geometry, NULL);
    if (bytes != tl_load_relaxed(&header->bytes))
        return fail(err, TLSHM_ECORRUPT, 0, "%s: the header says %llu bytes, its geometry takes %llu", path,
                    (unsigned long long)tl_load_relaxed(&header->bytes), (unsigned long long)bytes);
    if (size < bytes)
        return fail(err, TLSHM_ETRUNCATED, 0, "%s: %llu bytes long, %llu are needed", path, (unsigned long long)size,
                    (unsigned long long)bytes);
    return check_machine(header, path, err);
}

/* A file without room for a header: the beginning of one, or something else. */
static int fail_short(int fd, const char *path, long long size, struct tlshm_error *err)
{
    uint64_t magic = 0;
    if (pread(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic && magic == SHM_MAGIC)
        return fail(err, TLSHM_ETRUNCATED, 0, "%s: %lld bytes long, the header alone takes %d", path, size, SHM_PAGE);
    return fail(err, TLSHM_EFOREIGN, 0, "%s: not a tlshm segment (%lld bytes are less than a header)", path, size);
}

static int open_segment(const char *path, unsigned flags, struct stat *st, struct tlshm_error *err)
{
    int fd = open(path, (flags & TLSHM_READONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == EISDIR) /* opened for writing, a directory says so itself */
        return fail(err, TLSHM_EFOREIGN, 0, "%s: not a regular file", path);
    if (fd < 0)
        return fail_sys(err, flags & TLSHM_READONLY ? "open for reading" : "open for writing", path, errno);
    int rc = 0;
    if (fstat(fd, st) != 0)
        rc = fail_sys(err, "examine", path, errno);
    else if (!S_ISREG(st->st_mode))
        rc = fail(err, TLSHM_EFOREIGN, 0, "%s: not a regular file", path);
    else if (st->st_size == 0)
        rc = fail(err, TLSHM_EFOREIGN, 0, "%s: not a tlshm segment (the file is empty)", path);
    else if (st->st_size < SHM_PAGE)
        rc = fail_short(fd, path, (long long)st->st_size, err);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

/* `copy`: the header as it was checked. */
static void set_clock(struct tlshm *t, const struct shm_header *copy)
{
    struct shm_header *header = t->map.header;
    bool virtual_clock = tl_load_relaxed(&copy->virtual_clock) != 0;
    t->clock.virtual_boot = virtual_clock ? &header->virtual_boot : NULL;
    t->clock.virtual_wall = virtual_clock ? &header->virtual_wall : NULL;
    t->clock.slept = &header->slept;
    t->clock.readonly = t->map.readonly;
    if (t->map.readonly) { /* a segment that nobody writes would not learn of a suspend */
        tl_store_relaxed(&t->unmapped_slept, tl_max(tl_load_relaxed(&copy->slept), tl_clock_slept()));
        t->clock.slept = &t->unmapped_slept;
        t->clock.readonly = false;
    }
}

/* Reads the header, for it may be gone from the mapping before it was looked at there: the file may be cut short. */
static int read_header(int fd, struct shm_header *out, const char *path, struct tlshm_error *err)
{
    ssize_t n = pread(fd, out, sizeof *out, 0);
    if (n < 0)
        return fail_sys(err, "read", path, errno);
    if (n != (ssize_t)sizeof *out)
        return fail(err, TLSHM_ETRUNCATED, 0, "%s: it was cut short while it was read", path);
    return 0;
}

/* Nothing in the mapping is touched here. */
static int map_segment(struct tlshm *t, int fd, const struct stat *st, unsigned flags, struct tlshm_error *err)
{
    struct shm_header header;
    tlshm_geometry geometry;
    int protection = flags & TLSHM_READONLY ? PROT_READ : PROT_READ | PROT_WRITE;
    uint64_t size = (uint64_t)st->st_size;
    int rc = read_header(fd, &header, t->path, err);
    if (rc == 0)
        rc = check_file(&header, size, &geometry, t->path, err);
    if (rc < 0)
        return rc;
    void *base = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return fail_sys(err, "map", t->path, errno);
    if (tl_keys_init(&t->keys) < 0) {
        munmap(base, size);
        return fail(err, TLSHM_ENOMEM, 0, "%s: no memory for the key cache", t->path);
    }
    tl_layout_place(&t->map, &geometry, base);
    t->map.bytes = size;
    t->map.readonly = (flags & TLSHM_READONLY) != 0;
    t->device = (uint64_t)st->st_dev;
    t->inode = (uint64_t)st->st_ino;
    set_clock(t, &header);
    tl_store_relaxed(&t->users, 1);
    tl_store_relaxed(&t->fork_generation, tl_os_fork_generation());
    return 0;
}

int tl_segment_attach(struct tlshm **out, const char *name, unsigned flags, struct tlshm_error *err)
{
    struct stat st;
    if (!out || (flags & ~TLSHM_READONLY))
        return fail(err, TLSHM_EINVAL, 0, "attach: bad flags or no place for the result");
    struct tlshm *t = aligned_alloc(TL_LINE, (sizeof *t + TL_LINE - 1) & ~(size_t)(TL_LINE - 1));
    if (!t)
        return fail(err, TLSHM_ENOMEM, 0, "attach: out of memory");
    memset(t, 0, sizeof *t);
    int rc = path_of(name, t->path, sizeof t->path, err);
    int fd = rc == 0 ? open_segment(t->path, flags, &st, err) : rc;
    if (fd >= 0) {
        rc = map_segment(t, fd, &st, flags, err);
        close(fd);
    } else {
        rc = fd;
    }
    if (rc < 0)
        free(t);
    else
        *out = t;
    return rc;
}

bool tl_segment_unlinked(const struct tlshm *t)
{
    struct stat st;
    return stat(t->path, &st) != 0 || (uint64_t)st.st_dev != t->device || (uint64_t)st.st_ino != t->inode;
}

int tl_segment_destroy(const char *name, struct tlshm_error *err)
{
    struct tlshm *t = NULL;
    int rc = tl_segment_attach(&t, name, 0, err);
    if (rc == -TLSHM_EBOOT || rc == -TLSHM_ECLOCK || rc == -TLSHM_ELAYOUT || rc == -TLSHM_ETRUNCATED ||
        rc == -TLSHM_ECORRUPT) {
        char path[256]; /* a segment, though not one that we can use */
        tl_segment_path(name, path, sizeof path);
        return unlink(path) == 0 ? 0 : fail_sys(err, "remove", path, errno);
    }
    if (rc < 0)
        return rc;
    if (unlink(t->path) != 0)
        rc = fail_sys(err, "remove", t->path, errno);
    else
        for (;;) {
            uint64_t flags = tl_load(&t->map.header->flags);
            if (tl_cas(&t->map.header->flags, flags, flags | SHM_DESTROYED))
                break;
        }
    tl_segment_detach(t);
    return rc;
}

/* -------------------------------------------------------------------------------------------------------- threads */

__thread struct tl_thread *tl_segment_threads __attribute__((tls_model("initial-exec")));
__thread uint64_t tl_segment_generation __attribute__((tls_model("initial-exec")));
/* The list above is being changed: a signal handler that comes in now must not change it, nor allocate. */
static __thread volatile sig_atomic_t moving __attribute__((tls_model("initial-exec")));
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A caller's overrun rule. Former ones are kept until the end: swaps are few, and a call may be using one. */
struct overrun_choice {
    tlshm_overrun_function function;
    void *context;
    struct overrun_choice *former;
};

static struct overrun_choice *overrun_choice(struct tlshm *t)
{
    return (struct overrun_choice *)(uintptr_t)tl_load(&t->overrun);
}

void tl_segment_overrun(struct tlshm *t, tlshm_overrun_function *function, void **context)
{
    const struct overrun_choice *choice = overrun_choice(t);
    *function = choice ? choice->function : NULL;
    *context = choice ? choice->context : NULL;
}

int tl_segment_set_overrun(struct tlshm *t, tlshm_overrun_function function, void *context)
{
    struct overrun_choice *choice = malloc(sizeof *choice);
    if (!choice)
        return -TLSHM_ENOMEM;
    choice->function = function;
    choice->context = context;
    do
        choice->former = overrun_choice(t);
    while (!tl_cas(&t->overrun, (uint64_t)(uintptr_t)choice->former, (uint64_t)(uintptr_t)choice));
    return 0;
}

static void free_overruns(struct tlshm *t)
{
    struct overrun_choice *choice = overrun_choice(t);
    while (choice) {
        struct overrun_choice *former = choice->former;
        free(choice);
        choice = former;
    }
}

/* One user less; the last one unmaps, unless the C library's list of held mutexes leads through the mapping for ever. */
static void drop(struct tlshm *t)
{
    if (tl_add(&t->users, (uint64_t)-1) != 1)
        return;
    tl_keys_destroy(&t->keys);
    free_overruns(t);
    if (!tl_load(&t->stuck))
        munmap(t->map.header, t->map.bytes);
    free(t);
}

static void release_seat(struct tl_thread *thread)
{
    struct tlshm *t = thread->t;
    if (!tl_seat_release(&thread->hand))
        tl_store_release(&t->stuck, 1);
    free(thread);
    drop(t);
}

static void leave_all(void *list)
{
    struct tl_thread *thread = list;
    while (thread) {
        struct tl_thread *next = thread->next;
        release_seat(thread);
        thread = next;
    }
    tl_segment_threads = NULL;
}

static void make_key(void)
{
    pthread_key_create(&at_exit, leave_all);
}

/* In a forked child: the parent's seats stay the parent's. */
TL_COLD static void forget_threads(uint64_t generation)
{
    while (tl_segment_threads) {
        struct tl_thread *next = tl_segment_threads->next;
        free(tl_segment_threads);
        tl_segment_threads = next;
    }
    tl_segment_generation = generation;
}

/* In a forked child the attachment has one user, whatever threads the parent had. */
static void follow_fork(struct tlshm *t, uint64_t generation)
{
    uint64_t seen = tl_load(&t->fork_generation);
    if (seen != generation && tl_cas(&t->fork_generation, seen, generation))
        tl_store_release(&t->users, 1);
}

static int join(struct tlshm *t, struct tl_thread **out)
{
    if (t->map.readonly)
        return -TLSHM_EREADONLY;
    struct tl_thread *thread = aligned_alloc(TL_LINE, (sizeof *thread + TL_LINE - 1) & ~(size_t)(TL_LINE - 1));
    if (!thread)
        return -TLSHM_ENOMEM;
    memset(thread, 0, sizeof *thread);
    thread->t = t;
    thread->hand.map = &t->map;
    tl_clock_copy(&thread->hand.clock, &t->clock);
    pthread_once(&once, make_key);
    follow_fork(t, tl_segment_generation);
    int rc = tl_seat_take(&thread->hand, tl_os_tid());
    if (rc < 0) {
        free(thread);
        return rc;
    }
    thread->next = tl_segment_threads;
    tl_segment_threads = thread;
    pthread_setspecific(at_exit, tl_segment_threads);
    tl_add(&t->users, 1);
    *out = thread;
    return 0;
}

static struct tl_thread *find_thread(const struct tlshm *t)
{
    uint64_t generation = tl_os_fork_generation();
    if (TL_UNLIKELY(tl_segment_generation != generation))
        forget_threads(generation);
    struct tl_thread *thread = tl_segment_threads;
    while (thread && thread->t != t)
        thread = thread->next;
    return thread;
}

int tl_segment_enter_anew(struct tlshm *t, struct tl_thread **out)
{
    if (TL_UNLIKELY(!t))
        return -TLSHM_EINVAL;
    if (TL_UNLIKELY(tl_segment_lost(t)))
        return -TLSHM_ETRUNCATED;
    if (TL_UNLIKELY(moving))
        return -TLSHM_EREENTRANT;
    moving = 1;
    struct tl_thread *thread = find_thread(t);
    int rc = thread ? 0 : join(t, &thread);
    if (TL_UNLIKELY(rc < 0 && tl_segment_lost(t)))
        rc = -TLSHM_ETRUNCATED;
    moving = 0;
    if (rc < 0)
        return rc;
    if (TL_UNLIKELY(thread->busy))
        return -TLSHM_EREENTRANT;
    thread->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    *out = thread;
    return 0;
}

void tl_segment_look(struct tlshm *t, struct tl_hand *hand)
{
    tl_clock_now(&t->clock); /* so that the copy need not look at the system's clocks itself */
    hand->map = &t->map;
    hand->seat = NULL;
    hand->seat_index = UINT32_MAX;
    tl_clock_copy(&hand->clock, &t->clock);
}

static void leave(struct tl_thread *thread)
{
    struct tl_thread **link = &tl_segment_threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    pthread_setspecific(at_exit, tl_segment_threads);
    release_seat(thread);
}

void tl_segment_release(struct tlshm *t)
{
    if (!t || moving)
        return;
    moving = 1;
    struct tl_thread *thread = find_thread(t);
    if (thread && !thread->busy)
        leave(thread);
    moving = 0;
}

void tl_segment_detach(struct tlshm *t)
{
    if (!t)
        return;
    tl_segment_release(t);
    follow_fork(t, tl_os_fork_generation());
    drop(t);
}
