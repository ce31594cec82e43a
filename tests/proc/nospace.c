/* SPDX-License-Identifier: MIT */
/*
 * nospace.c - a file system that is too small for the segment says so when the segment is made, and not by a signal when
 * it is used. Needs the right to mount one; what needs no right is tested always.
 */
#include "space.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

static struct space place;

static tlshm_geometry of_bytes(uint64_t least)
{
    tlshm_geometry g = space_geometry();
    while (tlshm_geometry_bytes(&g) < least)
        g.reservations *= 2;
    return g;
}

/* A mount in a namespace of our own: it goes with this process, whatever happens to it. */
static const char *mount_small(void)
{
    if (unshare(CLONE_NEWNS) != 0)
        return strerror(errno);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return strerror(errno);
    return mount("tmpfs", place.dir, "tmpfs", 0, "size=1m") != 0 ? strerror(errno) : NULL;
}

static void too_large_for_its_place(void)
{
    struct tlshm_error err = {0};
    tlshm_geometry g = of_bytes(8u << 20);
    const char *reason = mount_small();
    if (reason != NULL) {
        tap_skip("a segment larger than its file system", reason);
        return;
    }
    int rc = tlshm_create(place.path, &g, &err);
    tap_ok(rc == -TLSHM_ENOSPC, "a segment larger than its file system: %s", tlshm_error_name(rc));
    tap_ok(strstr(err.text, place.dir) != NULL, "the text names the place: %s", err.text);
    tap_ok(access(place.path, F_OK) != 0, "and nothing is left of it");
    FILE *probe = fopen(place.path, "w");
    tap_ok(probe != NULL && fprintf(probe, "room") == 4 && fclose(probe) == 0, "the room was given back");
    unlink(place.path);
    umount(place.dir);
}

static void places_that_do_not_exist(void)
{
    struct tlshm_error err = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/missing/segment", place.dir);
    int rc = tlshm_create(path, NULL, &err);
    tap_ok(rc < 0 && rc != -TLSHM_ENOSPC, "a directory that does not exist: %s", tlshm_error_name(rc));
    tap_ok(strstr(err.text, "missing") != NULL, "the text names it: %s", err.text);
}

/* With the signal for over-long files ignored, as servers have it, their limit comes out as an error. */
static void larger_than_a_file_may_be(void)
{
    struct tlshm_error err = {0};
    tlshm_geometry g = of_bytes(8u << 20);
    struct rlimit before, small = {.rlim_cur = 1u << 20};
    MUST(getrlimit(RLIMIT_FSIZE, &before) == 0, "getrlimit");
    small.rlim_max = before.rlim_max;
    MUST(setrlimit(RLIMIT_FSIZE, &small) == 0, "setrlimit");
    signal(SIGXFSZ, SIG_IGN);
    int rc = tlshm_create(place.path, &g, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    tap_ok(rc < 0, "a segment larger than a file may be: %s", tlshm_error_name(rc));
    tap_ok(access(place.path, F_OK) != 0, "and nothing is left of it");
}

int main(void)
{
    tap_begin(300);
    space_make_dir(&place, NULL);
    places_that_do_not_exist();
    larger_than_a_file_may_be();
    too_large_for_its_place();
    rmdir(place.dir);
    return tap_end();
}
