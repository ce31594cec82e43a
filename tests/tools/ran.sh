# shellcheck shell=bash
# Sourced by the tests of tools that keep what the last run left behind (place, out, err, code) and judge it afterwards.
# SPDX-License-Identifier: MIT

# shellcheck source=tests/lint/tap.sh
source "${TLSHM_SOURCE:?}/tests/lint/tap.sh"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
out='' err='' code=0

# keep STATUS: of a run whose output went to $place/out and $place/err.
keep()
{
    code=$1
    out=$(cat "$place/out")
    err=$(cat "$place/err")
}

# verdict STATUS NAME
verdict()
{
    cases=$((cases + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $cases - $2"
        return
    fi
    failures=$((failures + 1))
    echo "not ok $cases - $2"
    printf 'exit code: %s\nstdout: %s\nstderr: %s\n' "$code" "$out" "$err" | tail -n 40 | sed 's/^/# /'
}

# says NAME CODE PATTERN: the last run ended so, and all that it wrote (stdout, then stderr) matches the pattern.
says()
{
    [ "$code" -eq "$2" ] && [[ $out$'\n'$err =~ $3 ]]
    verdict $? "$1"
}

# json NAME CODE EXPRESSION: stdout is one JSON value, and the Python expression about it (j) holds.
json()
{
    [ "$code" -eq "$2" ] &&
        python3 -Ic 'import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not eval(f"({sys.argv[2]})"))' \
            "$place/out" "$3" 2>/dev/null
    verdict $? "$1"
}
