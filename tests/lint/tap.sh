# shellcheck shell=bash
# Sourced by the checks of this folder: TAP on standard output, and the list of the tree's files.
# SPDX-License-Identifier: MIT

cases=0
failures=0
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# case NAME COMMAND...: the command passes, or what it printed is shown as the reason.
case_is()
{
    local name=$1 output
    shift
    cases=$((cases + 1))
    if output=$("$@" 2>&1 </dev/null); then
        echo "ok $cases - $name"
    else
        failures=$((failures + 1))
        echo "not ok $cases - $name"
        [ -z "$output" ] || printf '%s\n' "$output" | sed 's/^/# /'
    fi
}

# skip NAME REASON
case_skip()
{
    cases=$((cases + 1))
    echo "ok $cases - $1 # SKIP $2"
}

# The plan comes last: the number of cases is known then.
finish()
{
    echo "1..$cases"
    [ "$failures" -eq 0 ]
    exit
}

# Files that are tracked or about to be; a tree without git is taken as it is.
tree_files()
{
    if ! git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null | existing; then
        find . -name .git -prune -o -path ./build -prune -o -type f -print | sed 's|^\./||' | only "$@"
    fi | sort -u
}

# Passes on the names that exist; fails when there was none.
existing()
{
    local name some=1
    while IFS= read -r name; do
        if [ -f "$name" ]; then
            printf '%s\n' "$name"
            some=0
        fi
    done
    return $some
}

# Passes on the names that match one of the patterns, as git ls-files does.
only()
{
    local name pattern
    while IFS= read -r name; do
        [ $# -gt 0 ] || printf '%s\n' "$name"
        for pattern in "$@"; do
            # shellcheck disable=SC2053 # a pattern is meant
            [[ $name == $pattern ]] && printf '%s\n' "$name"
        done
    done
}
