/* SPDX-License-Identifier: MIT */
/*
 * faults.h - what is wrong with a file: collected where it is found, told in the order of the file.
 *
 * A text is one line that a terminal can show whatever bytes it quotes. What is beyond TLSHM_CONFIG_FAULTS_MAX is counted
 * and not kept.
 */
#ifndef TL_FAULTS_H
#define TL_FAULTS_H

#include <tlshm/config.h>

#include "base.h"

struct tl_fault {
    unsigned line, column; /* from 1 */
    char text[240];
};

struct tl_faults {
    struct tl_fault *list; /* all zero: none */
    size_t count, room;
    size_t lost; /* counted only */
    bool no_memory;
};

void tl_faults_add(struct tl_faults *f, unsigned line, unsigned column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sorts them and tells them; `tell` may be NULL. The first is put into `err`, which may be NULL. */
void tl_faults_tell(struct tl_faults *f, const char *name, tlshm_config_fault tell, void *context,
                    struct tlshm_error *err);

/* Fills `err`, which may be NULL, with "name: what"; `name` may be NULL. Returns `code`. */
int tl_faults_fail(struct tlshm_error *err, int code, int sys, const char *name, const char *what);

void tl_faults_free(struct tl_faults *f);

#endif
