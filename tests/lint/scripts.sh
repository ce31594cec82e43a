#!/usr/bin/env bash
# Shell scripts parse and shellcheck has nothing to say; Python files compile.
#
# SC2317 is left out: it does not see that case_is calls the functions that it is given.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

while IFS= read -r file; do
    case "$file $(head -n 1 "$file" | tr -d '\0')" in
    *.sh\ * | *'#!'*bash* | *'#!/bin/sh'*)
        case_is "$file parses" bash -n "$file"
        if command -v shellcheck >/dev/null; then
            case_is "shellcheck of $file" shellcheck --external-sources --shell=bash --exclude=SC2317 "$file"
        else
            case_skip "shellcheck of $file" "no shellcheck"
        fi
        ;;
    *.py\ * | *'#!'*python3*)
        case_is "$file compiles" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file"
        ;;
    esac
done < <(tree_files '*')
finish
