/* SPDX-License-Identifier: MIT */
/*
 * errorbody.h - the body of an answer that may be an error: which strings and numbers of it count.
 *
 *     message, detail ...      below "error", or at the top of an answer that is no success
 *     code, type, status ...   likewise; codes that are known
 *     headers                  an object of headers inside an error, which OpenRouter hands on
 *     retryDelay               Google's RetryInfo
 *     violations               Google's QuotaFailure: each is a limit, the one with the longest window was hit
 *
 * Nothing else is believed: a model's own text may say anything.
 */
#ifndef TL_ERRORBODY_H
#define TL_ERRORBODY_H

#include "quota.h"

/* True if something was believed. */
bool tl_errorbody_take(tlshm_quota *q, struct tl_slice body);

#endif
