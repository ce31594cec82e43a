/* SPDX-License-Identifier: MIT */
/* settings.h - everything that the command line says. */
#ifndef REPLAY_SETTINGS_H
#define REPLAY_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "audit.h"
#include "cast.h"
#include "generate.h"
#include "options.h"
#include "run.h"
#include "stage.h"
#include "tariff.h"

struct settings {
    const char *trace;  /* NULL: generate */
    const char *output; /* write the generated trace there, and replay nothing */
    bool skip_bad, json, keep;
    struct generate_settings generate;
    struct cast cast;
    struct call_rules rules;
    struct tariff_settings tariff;
    struct level_limits limits[STAGE_LEVELS];
    struct run_settings run;
    char segment[256];
};

extern const struct tool_info settings_tool;

/* Returns true, or false with the exit code when there is nothing left to do. */
bool settings_read(struct settings *s, int argc, char **argv, int *exit_code);

#endif
