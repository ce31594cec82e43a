#!/usr/bin/env bash
# `tlshm estimate`: from a file or standard input, of any length; wrong input.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

tool=${TLSHM_BUILD:?}/tools/tlshm
unset TLSHM_SEGMENT

# run FILE ARGUMENT...: FILE is standard input.
run()
{
    "$tool" estimate "${@:2}" >"$place/out" 2>"$place/err" <"$1"
    keep $?
}

printf 'you have it' >"$place/text"
for _ in {1..25}; do printf '你好世界'; done >"$place/chinese"
# Longer than any piece that the tool reads at once, and cut by pieces inside characters.
for _ in {1..9999}; do printf 'x你好世界'; done >"$place/long"

run "$place/text"
says "for people" 0 $'^bytes +11\ntokens +3'
run "$place/text" --json
json "JSON" 0 "j == {'bytes': 11, 'tokens': 3}"
run "$place/text" --json -
json "standard input by its name" 0 "j['tokens'] == 3"
run /dev/null --json
json "no text" 0 "j == {'bytes': 0, 'tokens': 0}"
run /dev/null --json "$place/chinese"
json "Chinese is dear" 0 "j['bytes'] == 300 and 100 <= j['tokens'] <= 300"
run /dev/null --json "$place/long"
json "a long text" 0 "j['bytes'] == 9999 * 13 and 9999 * 5 <= j['tokens'] <= 9999 * 10"
run /dev/null "$place/absent"
says "an absent file" 3 'absent: No such file'
run /dev/null "$place"
says "a folder" 3 'Is a directory'
run /dev/null "$place/text" "$place/text"
says "two files" 2 "unexpected"
finish
