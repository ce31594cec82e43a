#!/usr/bin/env bash
# Words that do not belong into the tree: unfinished work, places of one machine, hosts that nobody agreed on.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

mapfile -t files < <(tree_files '*')
mapfile -t shipped < <(printf '%s\n' "${files[@]}" | grep -vE '^(tests/|bench/|\.ci/|tools/(check|install-deps)$)')

# absent PATTERN FILE...: no line of the files matches. Binary files count.
absent()
{
    local pattern=$1 found
    shift
    [ $# -gt 0 ] || { echo "no files"; return 1; }
    found=$(grep -nHE --text "$pattern" -- "$@")
    [ $? -eq 1 ] && return
    printf '%s\n' "$found" | cut -c1-200
    return 1
}

# Hosts that may stand in the tree, one a line in hosts.txt; localhost and the example domains always may.
known_hosts()
{
    local found
    found=$(grep -noHE --text '\b[a-z]+://[A-Za-z0-9.-]+' -- "${files[@]}" |
        grep -vE '://(localhost|127\.0\.0\.1|([a-z0-9-]+\.)*example(\.(com|org|net))?)$' |
        grep -vE "://($(grep -v '^#' tests/lint/hosts.txt | sed 's/\./\\./g' | paste -sd'|'))\$")
    [ -z "$found" ] || { echo "$found"; return 1; }
}

# One line may name a neighbour of the checkout: the default of $TLSHM_DATA.
no_places()
{
    local found
    found=$(absent '(^|[^A-Za-z0-9_.])/([w]ork|[h]ome|[r]oot)/|\.\./[s]hared' "${files[@]}" |
        grep -vE '^tools/common/data\.sh:[0-9]+:data=\$\{TLSHM_DATA:-\.\./[s]hared/data\}$')
    [ -z "$found" ] || { echo "$found"; return 1; }
}

no_conflicts()
{
    absent '^(<<<<<<<|>>>>>>>) ' "$@"
}

licensed()
{
    local missing
    missing=$(printf '%s\n' "${files[@]}" | grep '\.[ch]$' | xargs -d '\n' grep -L 'SPDX-License-Identifier: MIT')
    [ -z "$missing" ] || { echo "$missing"; return 1; }
}

# The patterns are written so that they don't match themselves.
case_is "nothing is left to do" absent '\b(TO[D]O|FIX[M]E|X{3}|HA[C]K)\b' "${files[@]}"
case_is "no tracker numbers" absent '[Ii]ssue [#]|[Tt]icket [#]|[Bb]ug [#]' "${files[@]}"
case_is "no places of one machine" no_places
case_is "no temporary places in what is shipped" absent '(^|[^A-Za-z0-9_.])/[t]mp/' "${shipped[@]}"
case_is "known hosts only" known_hosts
case_is "no marks of a merge" no_conflicts "${files[@]}"
case_is "no carriage returns" absent $'\r''$' "${files[@]}"
case_is "no blanks at the end of a line" absent '[ '$'\t'']+$' "${files[@]}"
case_is "every C file names its licence" licensed
finish
