/* SPDX-License-Identifier: MIT */
/* death.h - a process that kills itself at one of the library's stores; for programs with the hooked library. */
#ifndef TLSHM_TESTS_DEATH_H
#define TLSHM_TESTS_DEATH_H

/* Stores and compare-and-swaps that succeed, to come before this process dies; -1: it does not. */
extern long death_after;

#endif
