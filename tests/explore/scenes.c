/* SPDX-License-Identifier: MIT */
/* scenes.c - all scenes, in their order. See scene.h. */
#include "asks.h"
#include "starts.h"

static const struct {
    const struct scene *scenes;
    const unsigned *count;
} groups[] = {
    {scenes_of_holds, &count_of_holds},         {scenes_of_helpers, &count_of_helpers},
    {scenes_of_windows, &count_of_windows},     {scenes_of_directory, &count_of_directory},
    {scenes_of_limits, &count_of_limits},       {scenes_of_straight, &count_of_straight},
    {scenes_of_horizons, &count_of_horizons},   {scenes_of_changes, &count_of_changes},
    {scenes_of_wraps, &count_of_wraps},         {scenes_of_requests, &count_of_requests},
    {scenes_of_lanes, &count_of_lanes},         {scenes_of_latches, &count_of_latches},
    {scenes_of_questions, &count_of_questions}, {scenes_of_foreign, &count_of_foreign},
};

const struct scene *scene_at(unsigned n)
{
    for (unsigned i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (n < *groups[i].count)
            return &groups[i].scenes[n];
        n -= *groups[i].count;
    }
    return NULL;
}

void scene_policy_changed(const volatile void *address, uint64_t before, uint64_t after)
{
    watch_policy(address);
    latch_switched(address, before, after);
}

void scene_moment(void)
{
    ask_moment();
    latch_moment();
}

void scene_reset(void)
{
    ask_forget();
    latch_forget();
    memset(&answers, 0, sizeof answers);
    for (unsigned i = 0; i < FIBRES; i++)
        answers.verdict[i] = UNANSWERED;
    watch_from_start();
    call_forget_handles();
}

void scene_prepare(const struct scene *scene)
{
    watch_nothing();
    latch_watch_nothing();
    if (scene->prepare)
        scene->prepare();
    else
        start_usual();
}
