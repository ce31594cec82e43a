#!/usr/bin/env bash
# Every C file is as clang-format leaves it.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

while IFS= read -r file; do
    case_is "format of $file" clang-format --dry-run --Werror --ferror-limit=3 "$file"
done < <(tree_files '*.c' '*.h')
finish
