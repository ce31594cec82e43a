#!/usr/bin/env bash
# Every test is run: each C file below tests/ is named by a build file, and so is each script that is a test.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

# A name stands there as it is, with its suffix, or after its directory.
is_listed()
{
    local stem=${1##*/}
    grep -qE "['/](${stem//./\\.}|$(basename "${stem%.c}"))'" tests/meson.build tests/*/meson.build
}

# What is sourced or started by others and is no test itself.
is_help()
{
    case $1 in
    tests/lint/tap.sh | tests/lint/tally.py | tests/tools/ran.sh | tests/tools/headers_rows.py | tests/explore/sample.py) return 0 ;;
    *) return 1 ;;
    esac
}

while IFS= read -r file; do
    is_help "$file" || case_is "$file is part of a test" is_listed "$file"
done < <(tree_files 'tests/*.c' 'tests/*.sh' 'tests/*.py')
finish
