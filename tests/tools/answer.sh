#!/usr/bin/env bash
# tlshm answer: bodies and streams from files and pipes, its text, its JSON, and wrong use.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

tool=${TLSHM_BUILD:?}/tools/tlshm
unset TLSHM_SEGMENT

# run ARGUMENT...: leaves out, err and code behind. Standard input is $place/in.
: >"$place/in"
run()
{
    "$tool" answer "$@" >"$place/out" 2>"$place/err" <"$place/in"
    keep $?
}

cat >"$place/body" <<'BODY'
{"model":"claude-x","type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use",
"usage":{"input_tokens":30,"cache_read_input_tokens":1200,"output_tokens":8,"iterations":[
{"type":"message","input_tokens":30,"output_tokens":8},{"type":"advisor_message","model":"claude-y","input_tokens":40}]}}
BODY
cat >"$place/stream" <<'STREAM'
data: {"choices":[{"delta":{"content":"a"}}],"model":"m","usage":{"prompt_tokens":12,"completion_tokens":1,"cost":0.0000125}}

STREAM

bodies()
{
    run --json "$place/body"
    json "a body" 0 "j['outcome'] == 'exact' and j['model'] == 'claude-x' and j['error'] is None and j['problem'] is None"
    json "its counts" 0 "j['counts']['input_total'] == 1230 and j['counts']['cache_read'] == 1200"
    json "its calls" 0 "j['counts']['tool_calls'] == 1 and j['cost_nusd'] is None"
    json "the other model" 0 "j['other_model'] == 'claude-y' and j['others']['input_total'] == 40"
    run "$place/body"
    says "as text" 0 $'outcome +exact\nmodel +claude-x\n.*counts.*\n +input total +1,230\n.*other model +claude-y'
    run --provider mistral -j "$place/body"
    json "of a provider that has no such shape" 0 "j['outcome'] == 'unknown' and 'others' not in j"
}

streams()
{
    cp "$place/stream" "$place/in"
    run -j
    json "a stream on standard input" 0 "j['outcome'] == 'at least' and j['counts']['input_total'] == 12"
    json "its cost" 0 "j['cost_nusd'] == 12500"
    printf 'data: [DONE]\n\n' >>"$place/in"
    run -j -
    json "a stream with its end" 0 "j['outcome'] == 'exact'"
    run -j --cut -
    json "a stream that broke after its end" 0 "j['outcome'] == 'exact'"
    printf '{"usage":{"prompt_tokens":12,"completion_tokens":1}}' >"$place/in"
    run -j --cut
    json "--cut makes a body doubtful" 0 "j['outcome'] == 'at least'"
    printf '{"usage":{"prompt_tokens":-1,"completion_tokens":1}}' >"$place/in"
    run
    says "what is wrong is told" 0 'outcome +at least.*problem +document 1, byte [0-9]+: prompt_tokens is no figure: -1'
    printf '{"error":{"code":"rate_limit_exceeded"}}' >"$place/in"
    run
    says "an error is told" 0 'outcome +unknown.*error +rate_limit_exceeded.*refused +yes'
    : >"$place/in"
    run -j
    json "nothing" 0 "j['outcome'] == 'unknown' and j['model'] is None"
}

wrong_use()
{
    run --provider nobody "$place/body"
    says "an unknown provider" 2 "unknown provider 'nobody'"
    run "$place/absent"
    says "an absent file" 3 "absent: No such file"
    run "$place"
    says "a folder" 3 "Is a directory"
    run "$place/body" surplus
    says "a surplus operand" 2 "unexpected 'surplus'"
    "$tool" answer "$place/body" >/dev/full 2>"$place/err"
    code=$? out='' err=$(cat "$place/err")
    says "a full device" 3 'tlshm: '
}

bodies
streams
wrong_use
finish
