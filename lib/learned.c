/* SPDX-License-Identifier: MIT */
/* learned.c - looks at the table of models: names, and the bounds of their outputs. */
#include <tlshm/model.h>

#include "models.h"
#include "segment.h"

int tlshm_model_get(tlshm_t *t, uint32_t number, tlshm_model_info *out)
{
    tlshm_model_info info = {.number = number};
    if (!t || !out)
        return -TLSHM_EINVAL;
    if (!tl_models_read(&t->map, number, info.provider, info.model))
        return tl_segment_answer(t, tl_models_is_garbage(&t->map, number) ? -TLSHM_ECORRUPT : -TLSHM_ENOENT);
    info.learned = tl_load_relaxed(&t->map.models[number - 1].learned);
    tl_models_quantile(&t->map, number, TL_MODELS_ALL_PPM, &info.calls);
    int rc = tl_segment_answer(t, 0);
    if (rc == 0)
        *out = info;
    return rc;
}

int tlshm_model_next(tlshm_t *t, uint32_t *cursor, tlshm_model_info *out)
{
    int rc = -TLSHM_ENOENT;
    if (!t || !cursor || !out)
        return -TLSHM_EINVAL;
    while (rc == -TLSHM_ENOENT && *cursor < t->map.model_count)
        rc = tlshm_model_get(t, ++*cursor, out);
    return rc == 0 ? 1 : rc == -TLSHM_ENOENT ? 0 : rc;
}

int tlshm_model_output(tlshm_t *t, uint32_t number, uint32_t ppm, uint64_t *output)
{
    char provider[TL_MODELS_NAME_MAX + 1], model[TL_MODELS_NAME_MAX + 1];
    if (!t || !output || ppm == 0 || ppm > TL_MODELS_ALL_PPM)
        return -TLSHM_EINVAL;
    if (!tl_models_read(&t->map, number, provider, model))
        return tl_segment_answer(t, -TLSHM_ENOENT);
    uint64_t found = tl_models_quantile(&t->map, number, ppm, NULL);
    int rc = tl_segment_answer(t, found != 0);
    if (rc == 1)
        *output = found;
    return rc;
}
