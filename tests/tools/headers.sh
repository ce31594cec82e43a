#!/usr/bin/env bash
# `tlshm headers`: answers as curl shows them, wrong input, and recorded answers if there are any.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"
# shellcheck source=tools/common/data.sh
source tools/common/data.sh

tool=${TLSHM_BUILD:?}/tools/tlshm
unset TLSHM_SEGMENT

# run INPUT ARGUMENT...: INPUT is a format of printf.
run()
{
    # shellcheck disable=SC2059 # the format is the input
    printf "$1" >"$place/in"
    "$tool" headers "${@:2}" >"$place/out" 2>"$place/err" <"$place/in"
    keep $?
}

refused='HTTP/2 429 \r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nx-ratelimit-limit-requests: 500\r\n'
refused+='x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 1m13.588s\r\nx-ratelimit-limit-tokens: -1\r\n\r\n'
message='Rate limit reached on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.'
body="{\"error\": {\"message\": \"$message\"}}"

run "$refused$body" --json --now 1700000000
json "an answer with a body" 0 "j['status'] == 429 and j['cause'] == 'LIMIT' and j['wait_ns'] == 120000000"
json "the limit that was hit" 0 "j['hit']['kind'] == 'requests' and j['hit']['limit'] == 500 and j['hit']['used'] == 500"
json "the limits" 0 "[(e['kind'], e['remaining'], e['reset_in_ns']) for e in j['limits']] == [('requests', 0, 73588000000)]"
json "what was not believed" 0 "j['disbelieved'] == 1"
run "$refused" --json --now date
json "the answer's own date" 0 "j['wait_ns'] == 73588000000 and int(j['limits'][0]['reset_at_ns']) == 1700000073588000000"
run "$refused$body"
says "for people" 0 'cause +LIMIT.*wait +120 ms.*limits:'
run "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nretry-after: 9\r\n\r\n${refused}" --json --now 1700000000
json "answers before the last one are passed over" 0 "j['status'] == 429 and j['retry_after_ns'] is None"
run '< HTTP/1.1 503 Busy\r\n< retry-after: 7\r\n< \r\n' --json
json "the marks of curl -v" 0 "j['status'] == 503 and j['cause'] == 'OVERLOADED' and j['wait_ns'] == 7000000000"
run 'retry-after: 7\n' --json --status 429
json "headers alone, and a status" 0 "j['status'] == 429 and j['wait_ns'] == 7000000000"
run 'x-ratelimit-limit-tokens: 6000' --json --provider GROQ
json "the provider is a hint" 0 "j['limits'][0]['window_ns'] == 60000000000"
run '\n{"error": {"message": "Request too large"}}' --json --status 413
json "a body alone; no waiting helps" 0 "j['never_retry'] and j['wait_known'] and j['wait_ns'] is None"
run '' --json
json "nothing at all" 0 "j['cause'] == 'NONE' and not j['limits'] and not j['wait_known']"
run 'a: b\r\nnonsense\001\r\n\r\n'
says "a line that is no header" 2 "-: line 2: expected 'name: value', not 'nonsense\?'"
run 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'
says "a header without a name" 2 'line 2: expected'
run '' --provider acme
says "an unknown provider" 2 "'acme' is no provider"
run '' --status 42
says "a status that is none" 2 '--status must be'
run '' --now soon
says "a time that is none" 2 '--now must be'
run 'retry-after: 1\n' --now date
says "no date to go by" 2 'no Date header'
run '' "$place/absent"
says "an absent file" 3 'absent: No such file'
run '' "$place"
says "a folder" 3 'Is a directory'
printf 'retry-after: 3\n' >"$place/file"
run '' --json "$place/file"
json "a file" 0 "j['retry_after_ns'] == 3000000000"

if [ -d "$data/providers" ]; then
    case_is "recorded answers say what is worked out in another way" \
        python3 tests/tools/headers_rows.py "$tool" "$data/providers"
else
    case_skip "recorded answers" "no $data/providers"
fi
finish
