/* SPDX-License-Identifier: MIT */
/* file.h - what the commands about configuration files share. */
#ifndef TOOLS_TLSHM_FILE_H
#define TOOLS_TLSHM_FILE_H

#include <tlshm/config.h>

#include "cli.h"

/* Reads a file, "-" for standard input. EXIT_OK, or the exit code after having reported every fault. */
int config_load(struct cli *cli, const char *file, tlshm_config **out);

/* The one that --config names, NULL without one. EXIT_OK, or the exit code after having reported. */
int config_named(struct cli *cli, tlshm_config **out);

/* Says on standard error what of it no segment holds. */
void config_notes(struct cli *cli, const char *file, const tlshm_config *config);

/* Applies it to the attached segment, without a word about what changed. EXIT_OK, or after having reported. */
int config_apply(struct cli *cli, const char *file, const tlshm_config *config);

/* What `config init` writes. */
extern const char config_starting_point[];

#endif
