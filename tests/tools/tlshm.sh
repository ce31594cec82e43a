#!/usr/bin/env bash
# The tlshm command on a real segment: every command, its exit codes, its JSON, and what it says about wrong input.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

tool=${TLSHM_BUILD:?}/tools/tlshm
source_dir=$TLSHM_SOURCE
export TLSHM_SEGMENT=$place/segment

# run ARGUMENT...: leaves out, err and code behind.
run()
{
    "$tool" "$@" >"$place/out" 2>"$place/err" </dev/null
    keep $?
}

# prints NAME TEXT: success, stdout is exactly this, stderr is empty.
prints()
{
    [ "$code" -eq 0 ] && [ "$out" = "$2" ] && [ -z "$err" ]
    verdict $? "$1"
}

fresh()
{
    rm -f "$TLSHM_SEGMENT"
    "$tool" create --scopes 64 --reservations 64 --virtual-clock >/dev/null
    "$tool" clock set 1000000000000 1700000000000000000 >/dev/null
}

usage_texts()
{
    run --help
    says "--help shows the commands" 0 'usage: tlshm .*reserve \[SCOPE\].*Exit codes'
    run limit set --help
    says "--help of one command" 0 'usage: tlshm \[OPTION\]... limit set SCOPE LIMIT'
    run --version
    says "--version" 0 '^tlshm [0-9]+\.[0-9]+\.[0-9]+'
    run
    says "no command" 2 'tlshm: a command is missing \(see tlshm --help\)'
    run frobnicate
    says "unknown command" 2 "unknown command 'frobnicate'"
    run limit frobnicate
    says "unknown second word" 2 "unknown command 'limit frobnicate'.*limit set SCOPE LIMIT"
    run limit
    says "a group alone names its commands" 2 "'limit' is several commands.*limit list SCOPE"
    run --foo
    says "unknown option" 2 "tlshm: unknown option '--foo' \(see tlshm --help\)"
    run reserve -x
    says "unknown letter" 2 "unknown option '-x'"
    run reserve --t
    says "ambiguous option" 2 "ambiguous option '--t'"
    run reserve --tokens
    says "missing argument" 2 "option '--tokens' needs N"
    run path --json=yes
    says "unwanted argument" 2 "option '--json' takes no argument"
    run path surplus
    says "surplus operand" 2 "unexpected 'surplus'"
    run usage
    says "missing operand" 2 "usage needs SCOPE"
    TLSHM_SEGMENT='' run usage tenant:a
    says "no segment is named" 2 "no segment is named"
}

segments()
{
    run path
    prints "path of a path" "$TLSHM_SEGMENT"
    run --json path
    json "path in JSON" 0 "j['path'] == '$TLSHM_SEGMENT'"
    run usage tenant:a
    says "an absent segment is an error" 3 "ENOENT"
    run usage tenant:a --json
    json "an error in JSON" 3 "j['error']['name'] == 'ENOENT' and j['error']['text']"
    run create --scopes 64 --reservations 64 --mode 0640 --json
    json "create in JSON" 0 "j['path'] == '$TLSHM_SEGMENT' and j['bytes'] > 4096"
    out=$(stat -c %a "$TLSHM_SEGMENT")
    [ "$out" = 640 ]
    verdict $? "--mode is the file's"
    run create
    says "create never overwrites" 3 "EEXIST"
    run create --scopes x
    says "a count that is no number" 2 "--scopes must be a number"
    run create --scopes -1
    says "a negative count" 2 "--scopes must be a number"
    run create --mode 999
    says "a mode that is not octal" 2 "--mode must be octal"
    run create --group no-such-group-here
    says "an unknown group" 2 "no group"
    run create --retention soon
    says "a retention that is no duration" 2 "duration 'soon': column 1"
    run destroy
    prints "destroy is silent" ""
    [ ! -e "$TLSHM_SEGMENT" ]
    verdict $? "destroy unlinks"
    run destroy
    says "destroy of nothing" 3 "ENOENT"
    echo "not a segment" >"$place/foreign"
    run --segment "$place/foreign" destroy
    says "destroy refuses another file" 3 "EFOREIGN"
    run -s "$place/foreign" usage tenant:a
    says "another file is no segment" 3 "EFOREIGN|ETRUNCATED"
    [ "$(cat "$place/foreign")" = "not a segment" ]
    verdict $? "the other file is as it was"
    run create --seats 8 --tiers 4 --limit-lists 8 --slices 12 --limits-per-scope 2 --retention 10m --group "$(id -g)"
    prints "create with every size" "$TLSHM_SEGMENT"
}

clocks()
{
    fresh
    run clock get --json
    json "clock get" 0 "j == {'boot_ns': 1000000000000, 'wall_ns': '1700000000000000000'}"
    run clock advance 90s --json
    json "clock advance" 0 "j == {'boot_ns': 1090000000000, 'wall_ns': '1700000090000000000'}"
    run clock set 5 x
    says "clock set wants numbers" 2 "WALL_NS must be a number"
    run clock advance 1x
    says "clock advance wants a duration" 2 "duration '1x'"
    rm -f "$TLSHM_SEGMENT"
    "$tool" create --scopes 64 --reservations 64 >/dev/null
    run clock set 1 1
    says "a real clock can't be set" 3 "EINVAL"
}

limits()
{
    fresh
    run limit set tenant:acme tokens 1k per 1h
    prints "limit set, in several words" ""
    run limit set tenant:acme "cost \$5 per month in Europe/Berlin from 15" --json
    json "limit set, in one word" 0 "j == {'done': True}"
    run limit list tenant:acme --json
    json "limit list" 0 "j['source'] == 'own' and
        [l['limit'] for l in j['limits']] == ['tokens 1k per 1h', 'cost \$5 per month in Europe/Berlin from 15'] and
        [l['cap'] for l in j['limits']] == [1000, 5000000000]"
    run limit set tenant:acme tokens 2k per 1h
    run limit list tenant:acme
    says "a cap is replaced" 0 "tokens 2k per 1h"
    run limit unset tenant:acme tokens 0 per 1h
    run limit list tenant:acme --json
    json "limit unset" 0 "[l['unit'] for l in j['limits']] == ['cost']"
    run limit unset tenant:acme tokens 0 per 1h
    says "limit unset of nothing" 3 "ENOENT"
    run limit clear tenant:acme
    run limit list tenant:acme --json
    json "limit clear" 0 "j['source'] == 'own' and j['limits'] == []"
    run limit set tenant:acme tokens 1X per 1h
    says "a limit that is none" 2 "limit 'tokens 1X per 1h': column 8: expected an amount"
    run limit set tenant:acme tokens 1 per day in Nowhere/Atlantis
    says "a zone that is none" 3 "EZONE"
    run limit set nolevel:acme tokens 1 per 1h
    says "an unknown level" 3 "ELEVEL"
    run limit set "" tokens 1 per 1h
    says "an empty scope" 3 "EKEY"
}

tiers()
{
    fresh
    run tier set free "tokens 1k per 1h" "concurrency 2"
    prints "tier set" ""
    run tier add free "cost \$1 per day"
    prints "tier add" ""
    run tier list --json
    json "tier list" 0 "[(t['tier'], [l['limit'] for l in t['limits']]) for t in j['tiers']] ==
        [('free', ['tokens 1k per 1h', 'concurrency 2', 'cost \$1 per day'])]"
    run tier drop free "concurrency 0"
    run tier list
    says "tier drop, and the table" 0 "tier +limits.*free +tokens 1k per 1h, cost .1 per day"
    run default set agent free
    prints "default set" ""
    run default list --json
    json "default list" 0 "{l['level']: l['tier'] for l in j['defaults']}['agent'] == 'free'"
    run limit list agent:a1 --json
    json "a scope follows its level's default" 0 "j['source'] == 'default' and j['tier'] == 'free'"
    run default unset agent
    run limit list agent:a1 --json
    json "default unset" 0 "j['source'] == 'none' and j['limits'] == []"
    run tier assign agent:a1 free
    run limit list agent:a1 --json
    json "tier assign" 0 "j['source'] == 'tier' and j['tier'] == 'free'"
    run tier assign agent:a1
    run limit list agent:a1 --json
    json "tier assign back to the default" 0 "j['source'] == 'none'"
    run tier assign agent:a1 nosuch
    says "tier assign of an unknown tier" 3 "ENOENT"
    run tier unset free
    run tier list --json
    json "tier unset" 0 "j['tiers'] == []"
    run tier unset free
    says "tier unset of nothing" 3 "ENOENT"
    run tier set free "tokens"
    says "tier set with a bad limit" 2 "limit 'tokens': column 7"
    run level add team 3
    prints "level add" ""
    run level list --json
    json "level list" 0 "{l['level']: l['rank'] for l in j['levels']}['team'] == 3"
    run level add team 3
    says "level add twice" 3 "EEXIST"
    run level add team low
    says "a rank that is no number" 2 "RANK must be a number"
}

calls()
{
    local id late
    fresh
    "$tool" limit set tenant:acme tokens 1k per 1h
    run reserve tenant:acme agent:a1 --tokens 600 --cost "\$0.25" --tag 7
    id=$out
    [[ $id =~ ^[0-9a-f]{16}$ ]]
    verdict $? "reserve prints the id"
    run reservation "$id" --json
    json "reservation" 0 "j['id'] == '$id' and j['status'] == 'HELD' and j['tag'] == 7 and
        j['scopes'] == ['tenant:acme', 'agent:a1'] and j['expires_in_ns'] == 300000000000 and
        j['estimate']['tokens'] == 600 and j['estimate']['cost'] == 250000000"
    run remaining tenant:acme tokens
    prints "remaining is bare digits" 400
    run remaining tenant:acme cost
    prints "remaining without a limit" unlimited
    run remaining tenant:acme cost --json
    json "remaining without a limit, in JSON" 0 "j['remaining'] is None"
    run remaining tenant:acme bananas
    says "an unknown unit" 2 "'bananas' is no unit"

    run reserve tenant:big --tokens 9007199254740992 --tag 18446744073709551615
    run reservation "$out" --json
    json "integers up to 2^53 are numbers, larger ones strings" 0 "j['tag'] == '18446744073709551615' and
        j['estimate']['tokens'] == 9007199254740992"
    run reserve tenant:big --tokens 9007199254740992
    local second=$out
    run usage tenant:big --json
    json "sums above 2^53 are strings" 0 "j['held']['tokens'] == '18014398509481984' and j['used']['requests'] == 2"
    run refund "$second"

    run reserve tenant:acme --tokens 600
    [ "$code" -eq 1 ] && [ -z "$out" ] && [[ $err =~ "tenant:acme is over its limit of 1,000 tokens per 1h: " ]]
    verdict $? "a refusal is exit code 1 and a sentence on stderr"
    run reserve tenant:acme --tokens 600 --json
    json "a refusal in JSON" 1 "j['verdict'] == 'refused' and j['reason'] == 'LIMIT' and j['scope'] == 'tenant:acme' and
        j['limit'] == 'tokens 1k per 1h' and (j['cap'], j['held'], j['used'], j['remaining'], j['requested']) ==
        (1000, 600, 0, 400, 600) and j['retry_after_ns'] == 300000000000"
    run reserve tenant:acme --tokens 2k --json
    json "what never fits" 1 "j['reason'] == 'NEVER_FITS' and j['retry_after_ns'] is None"

    run extend "$id" --tokens 300 --ttl 10m
    prints "extend is silent" ""
    run extend "$id" --tokens 300
    says "extend beyond the limit" 1 "over its limit"
    run extend "$id"
    says "extend by nothing" 2 "extend needs amounts, or --ttl"
    run settle "$id"
    says "settle needs amounts" 2 "settle needs what was used"
    run settle "$id" --tokens 5 --unknown
    says "settle can't be told both" 2 "--unknown goes without amounts"
    run settle "$id" --tokens 500 --cost 200000000n --json
    json "settle" 0 "j['verdict'] == 'done' and j['status'] == 'SETTLED' and j['charged']['tokens'] == 500 and
        j['charged']['cost'] == 200000000 and j['charged']['requests'] == 1"
    run settle "$id" --tokens 1
    says "a repeat says so" 0 "it had ended before.*SETTLED.*500"
    run refund "$id" --json
    json "a refund after a settle" 0 "j['verdict'] == 'replay' and j['status'] == 'SETTLED'"
    run extend "$id" --ttl 1m
    says "extend of what has ended" 1 "has ended"
    run usage tenant:acme --json
    json "usage" 0 "j['used']['tokens'] == 500 and j['held']['tokens'] == 0 and j['seen'] and
        j['limits'][0]['used'] == 500 and j['limits'][0]['remaining'] == 500"
    run usage tenant:acme
    says "usage as a text" 0 "scope +tenant:acme.*limit +used +held +remaining.*tokens 1k per 1h +500 +0 +500"
    run usage tenant:other --json
    json "usage of a scope never seen" 0 "not j['seen'] and j['limits'] == []"

    run reserve --agent a2 --tenant t2 --tokens 10 --key once
    id=$out
    run would-fit --agent a2 --tenant t2 --tokens 10 --key once
    prints "would-fit knows of a first answer" replay
    run would-fit --agent a2 --tenant t2 --tokens 10 --key once --json
    json "would-fit tells of a first answer in JSON" 0 "j == {'verdict': 'admitted', 'replay': True}"
    run would-fit --agent a2 --tenant t2 --tokens 11 --key once
    says "would-fit and the same key for something else" 3 "would-fit: .*EMISMATCH"
    run reserve --agent a2 --tenant t2 --tokens 10 --key once --json
    json "an idempotency key gets the first answer" 0 "j == {'verdict': 'admitted', 'id': '$id', 'replay': True}"
    run reserve --agent a2 --tenant t2 --tokens 11 --key once
    says "the same key for something else" 3 "EMISMATCH"
    run refund "$id"
    says "refund" 0 "verdict +done.*REFUNDED.*requests +1"
    run refund "$id"
    says "a second refund" 0 "it had ended before"

    run reserve agent:a3 --input 10 --output 20 --tools 2 --requests 3 --ttl 30s
    id=$out
    "$tool" clock advance 31s >/dev/null
    run reap --json
    json "reap" 0 "j['expired'] == 1 and j['lag_max_ns'] == 1000000000 and j['live'] == 1 and j['next_due_ns'] == 269000000000"
    run settle "$id" --input 9 --output 19 --json
    json "a late settle" 0 "j['verdict'] == 'late' and j['charged']['input_tokens'] == 9"
    run reserve agent:a3 --tokens 10 --ttl 30s
    late=$out
    "$tool" clock advance 31s >/dev/null
    run refund "$late"
    says "refund of what has expired" 0 "the hold had expired: nothing was changed.*EXPIRED"
    run reserve agent:a3 --tokens 70
    run settle "$out" --at-least --tokens 50 --json
    json "settle of at least" 0 "j['charged']['tokens'] == 70"
    run reserve agent:a3 --tokens 70
    run settle "$out" --unknown --json
    json "settle of the unknown" 0 "j['charged']['tokens'] == 70"
}

wrong_calls()
{
    local key
    fresh
    run reserve tenant:acme
    says "an empty estimate" 3 "EEMPTY"
    run reserve --tokens 5
    says "reserve without a scope" 2 "reserve needs a scope"
    run reserve a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:8 a:9 --tokens 5
    says "too many scopes" 2 "at most 8 scopes"
    run reserve tenant:a tenant:a --tokens 5
    says "a scope twice" 3 "EINVAL"
    run reserve tenant:a --tokens -5
    says "a negative amount" 2 "--tokens '-5': column 1"
    run reserve tenant:a --cost 5
    says "money without a currency" 2 "expected an amount of money"
    run reserve tenant:a --tokens 9007199254740993
    says "an amount out of range" 3 "ERANGE"
    run reserve tenant:a --tokens 5 --ttl 0
    says "a hold without a life" 3 "EINVAL"
    run reserve tenant:a --tokens 5 --ttl soon
    says "a life that is no duration" 2 "duration 'soon'"
    run reserve tenant:a --tokens 5 --tag x
    says "a tag that is no number" 2 "--tag must be a number"
    run reserve tenant:a --tokens 5 --key ''
    says "an empty idempotency key" 3 "EINVAL"
    key=$(printf 'x%.0s' {1..300})
    run reserve "tenant:$key" --tokens 5
    says "an over-long scope" 3 "EKEY"
    run reserve --tenant "$key" --tokens 5
    says "an over-long tenant" 3 "EKEY"
    run reserve nocolon --tokens 5
    says "a scope without a level" 3 "EKEY|ELEVEL"
    for id in 0 xyz 12345678901234567 '' -1; do
        run refund -- "$id"
        says "the id '$id' is none" 2 "is no reservation id"
    done
    run refund 00000000deadbeef
    says "an unknown id" 3 "EUNKNOWN"
    run reservation 00000000deadbeef --json
    json "an unknown id in JSON" 3 "j['error']['name'] == 'EUNKNOWN'"
}

# Each question is asked of a file that the tool cannot have written: not a byte of it changes.
questions()
{
    local before
    fresh
    "$tool" tier set free 'tokens 8k per 1h' 'output_tokens 2k per request'
    "$tool" default set agent free
    "$tool" limit set tenant:acme 'tokens 1k per 1h'
    "$tool" reserve tenant:acme --tokens 600 >/dev/null
    before=$(cksum <"$TLSHM_SEGMENT")
    run would-fit tenant:acme agent:new --tokens 400 --ttl 30s --tag 7
    prints "would-fit: admitted" admitted
    run would-fit --tenant acme --agent new --tokens 400 --json
    json "would-fit: admitted, in JSON" 0 "j == {'verdict': 'admitted', 'replay': False}"
    run would-fit tenant:acme agent:new --tokens 401
    [ "$code" -eq 1 ] && [ -z "$out" ] && [[ $err =~ "tenant:acme is over its limit of 1,000 tokens per 1h: " ]]
    verdict $? "would-fit: a refusal is exit code 1 and a sentence on stderr"
    run would-fit tenant:acme agent:new --tokens 401 --json
    json "would-fit: a refusal in JSON" 1 "j['verdict'] == 'refused' and j['reason'] == 'LIMIT' and
        j['limit'] == 'tokens 1k per 1h' and (j['cap'], j['held'], j['used'], j['remaining'], j['requested']) ==
        (1000, 600, 0, 400, 401) and j['retry_after_ns'] == 300000000000"
    run would-fit agent:new --output 2001 --json
    json "would-fit: a scope never seen" 1 "j['reason'] == 'REQUEST_TOO_LARGE' and j['scope'] == 'agent:new' and
        j['requested'] - j['cap'] == 1 and j['retry_after_ns'] is None"
    run usage agent:new --json
    json "would-fit makes no scope" 0 "not j['seen']"
    run would-fit
    says "would-fit without a scope" 2 "would-fit needs a scope"
    run would-fit tenant:acme
    says "would-fit of nothing" 3 "would-fit: .*EEMPTY"
    run would-fit nowhere:x --tokens 5 --json
    json "would-fit of an unknown level" 3 "j['error']['name'] == 'ELEVEL'"
    run would-fit tenant:acme --tokens many
    says "would-fit of no amount" 2 "--tokens 'many'"
    [ "$before" = "$(cksum <"$TLSHM_SEGMENT")" ]
    verdict $? "would-fit changes nothing"
    "$tool" would-fit tenant:acme --tokens 5 >/dev/full 2>"$place/err"
    code=$?
    err=$(cat "$place/err")
    out=''
    says "would-fit cannot write its answer" 3 "could not be written"
}

switches()
{
    local id
    fresh
    run reserve tenant:a --tokens 5
    id=$out
    run pause
    prints "pause" ""
    run reserve tenant:a --tokens 5 --json
    json "a paused segment refuses" 1 "j['reason'] == 'PAUSED' and j['scope'] is None"
    run settle "$id" --tokens 5
    says "a paused segment settles" 0 "SETTLED"
    run resume
    run reserve tenant:a --tokens 5
    says "resume" 0 '^[0-9a-f]{16}'
    run shutoff tenant:a
    run reserve tenant:a --tokens 5 --json
    json "a scope that is shut off refuses" 1 "j['reason'] == 'SHUTOFF' and j['scope'] == 'tenant:a'"
    run pause tenant:a
    run usage tenant:a --json
    json "usage shows the switches" 0 "j['paused'] and j['shutoff']"
    run resume tenant:a --json
    json "resume of a scope" 0 "j['done']"
    run usage tenant:a --json
    json "resume clears both" 0 "not j['paused'] and not j['shutoff']"

    run overrun
    says "the policy at first" 0 "overrun +actual"
    run overrun cap
    prints "overrun cap" ""
    run overrun --json
    json "the policy afterwards" 0 "j == {'overrun': 'cap'}"
    run reserve tenant:b --tokens 100
    run settle "$out" --tokens 150 --json
    json "capped at the estimate" 0 "j['charged']['tokens'] == 100"
    run overrun generous
    says "an unknown policy" 2 "no overrun policy"
}

lost_answers()
{
    fresh
    "$tool" reserve tenant:a --tokens 5 >/dev/full 2>"$place/err"
    code=$?
    err=$(cat "$place/err")
    out=''
    says "an answer that can't be written is an error" 3 "could not be written"
    run usage tenant:a --json
    json "a hold whose id was lost is given back" 0 "j['held']['tokens'] == 0"
}

# Everything in the usage texts is in the man page, and every error is in the overview.
documentation()
{
    local word missing=''
    run --help
    for word in $("$tool" --help | sed -n '/^Commands:/,/^Options:/p' | sed -nE 's/^  ([a-z-]+( [a-z-]+)?).*/\1/p' |
        tr ' ' '~'); do
        grep -qE "^\.(It|Ic).*\b${word//\~/ }\b" "$source_dir/tools/man/tlshm.1" || missing+=" $word"
    done
    for word in $(for c in create reserve settle extend; do "$tool" "$c" --help; done | grep -oE -- '--[a-z-]+' |
        sort -u); do
        grep -q -- "Fl -${word#--}\b" "$source_dir/tools/man/tlshm.1" || missing+=" $word"
    done
    err="missing:$missing"
    [ -z "$missing" ]
    verdict $? "tlshm(1) has every command and option"
    missing=''
    while IFS= read -r word; do
        grep -q "^\.It Er $word\$" "$source_dir/tools/man/tlshm.7" || missing+=" $word"
    done < <(sed -nE 's/^ +X\((E[A-Z]+), .*/\1/p' "$source_dir/include/tlshm/error.h")
    err="missing:$missing"
    [ -z "$missing" ] && grep -q 'Er EZONE' "$source_dir/tools/man/tlshm.7"
    verdict $? "tlshm(7) has every error"
}

usage_texts
segments
clocks
limits
tiers
calls
questions
wrong_calls
switches
lost_answers
documentation
finish
