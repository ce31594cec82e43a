/* SPDX-License-Identifier: MIT */
/* policy.h - what a settle charges, from the estimate, the actual use and how sure it is. Pure. */
#ifndef TL_POLICY_H
#define TL_POLICY_H

#include <tlshm/admin.h>

#include "base.h"

/* The rule in force for one call. */
struct tl_charging {
    enum tlshm_overrun policy;
    tlshm_overrun_function function; /* instead of the policy, or NULL */
    void *context;
};

/* Is each unit charged what was used of it, whatever the estimate? */
TL_INLINE bool tl_charge_is_use(const struct tl_charging *charging, enum tlshm_outcome outcome)
{
    return outcome == TLSHM_EXACT && charging->policy == TLSHM_CHARGE_ACTUAL && !charging->function;
}

/* The charge of one unit. */
TL_INLINE uint64_t tl_charge(const struct tl_charging *charging, enum tlshm_unit unit, enum tlshm_outcome outcome,
                             uint64_t estimate, uint64_t actual)
{
    uint64_t known = actual;
    if (outcome == TLSHM_UNKNOWN)
        known = estimate;
    else if (outcome == TLSHM_AT_LEAST)
        known = tl_max(actual, estimate);
    if (charging->function)
        return charging->function(charging->context, unit, estimate, known);
    return charging->policy == TLSHM_CAP_AT_ESTIMATE ? tl_min(estimate, known) : known;
}

#endif
