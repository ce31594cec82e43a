#!/usr/bin/env bash
# Every C file is as clang-format leaves it.
# SPDX-License-Identifier: MIT
#
# HOW  All files at once, many to a process and a process to a processor. Only if one is wrong they are asked one by one.
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

check=(clang-format --dry-run --Werror --ferror-limit=3)
mapfile -t files < <(tree_files '*.c' '*.h')
if printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(nproc)" "${check[@]}" 2>/dev/null; then
    check=(true)
fi
for file in "${files[@]}"; do
    case_is "format of $file" "${check[@]}" "$file"
done
finish
