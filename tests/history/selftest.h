/* SPDX-License-Identifier: MIT */
/* selftest.h - histories made by hand. */
#ifndef TLSHM_TESTS_SELFTEST_H
#define TLSHM_TESTS_SELFTEST_H

void selftest(void);

#endif
