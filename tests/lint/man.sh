#!/usr/bin/env bash
# Man pages have no faults of form, and say the version that is built.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

# mandoc's warnings, without those that ask for an installed system or a style of date.
lint()
{
    local found
    found=$(mandoc -T lint -W warning "$1" | grep -v 'referenced manual not found')
    [ -z "$found" ] || { echo "$found"; return 1; }
}

while IFS= read -r file; do
    if command -v mandoc >/dev/null; then
        case_is "form of $file" lint "$file"
    else
        case_skip "form of $file" "no mandoc"
    fi
done < <(tree_files '*.[1-8]')
[ $cases -gt 0 ] || case_skip "man pages" "none yet"
finish
