# shellcheck shell=bash disable=SC2034
# Sourced from the root of the tree: where recorded traces are, if there are any.
# SPDX-License-Identifier: MIT
data=${TLSHM_DATA:-../shared/data}
