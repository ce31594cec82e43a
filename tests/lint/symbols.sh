#!/usr/bin/env bash
# What the public headers declare, what libtlshm.so exports and what section 3 of the manual tells are the same.
# Usage: symbols.sh PATH-OF-LIBTLSHM.SO
# SPDX-License-Identifier: MIT
set -uo pipefail
library=$(realpath "$1")
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

# With comments and macros gone, a name before a parenthesis is a prototype, or a type when a star stands before it.
declared()
{
    tree_files 'include/*.h' | sed 's|include/\(.*\)|#include <\1>|' | gcc -E -P -Iinclude -x c - |
        grep -oE '(\( *\*)?\btlshm_[a-z0-9_]+ *\(' | grep -v '^(' | tr -d ' (' | sort -u
}

exported()
{
    nm --dynamic --defined-only --format=posix "$library" | awk '$2 ~ /[TDBRVWi]/ { print $1 }' | sort -u
}

# The symbol's version node, as NAME@@NODE.
unversioned()
{
    nm --dynamic --defined-only --format=posix --with-symbol-versions "$library" |
        awk '$2 ~ /[TDBRVWi]/ && $1 !~ /@@TLSHM_[0-9.]+$/ { print $1 }'
}

is_exported()
{
    grep -qxF "$1" <<<"$exports" || { echo "not exported: missing in lib/tlshm.map or not written"; return 1; }
}

is_documented()
{
    mapfile -t pages < <(tree_files '*.3')
    [ ${#pages[@]} -gt 0 ] && grep -qwF -- "$1" "${pages[@]}"
}

nothing()
{
    [ -z "$1" ] || { printf '%s\n' "$1"; return 1; }
}

# nm shows the node itself as an absolute symbol, which the types above leave out.
exports=$(exported | sed 's/@.*//' | sort -u)
prototypes=$(declared)
case_is "the headers declare functions" test -n "$prototypes"
for name in $prototypes; do
    case_is "$name is exported" is_exported "$name"
done
case_is "nothing else is exported" nothing "$(comm -13 <(echo "$prototypes") <(echo "$exports"))"
case_is "every symbol has a version" nothing "$(unversioned)"
if [ -n "$(tree_files '*.3')" ]; then
    for name in $prototypes; do
        case_is "$name is in the manual" is_documented "$name"
    done
else
    case_skip "functions in the manual" "no page of section 3 yet"
fi
finish
