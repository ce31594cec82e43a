#!/usr/bin/env bash
# The commands about configuration files on a real segment, with a worker that makes calls meanwhile.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

tool=${TLSHM_BUILD:?}/tools/tlshm
inspect=$TLSHM_BUILD/tools/tlshm-inspect
export TLSHM_SEGMENT=$place/segment
file=$place/limits.yaml

# run ARGUMENT...: leaves out, err and code behind.
run()
{
    "$tool" "$@" >"$place/out" 2>"$place/err" </dev/null
    keep $?
}

# prints NAME TEXT: success, and stdout is exactly this.
prints()
{
    [ "$code" -eq 0 ] && [ "$out" = "$2" ]
    verdict $? "$1"
}

starting_point()
{
    run config init
    cp "$place/out" "$place/printed"
    says "init prints a file" 0 "tiers:.*free:.*- tokens 10k per 1m"
    run config init "$file"
    says "init writes a file" 0 '^.?$'
    cmp -s "$place/printed" "$file"
    verdict $? "it is the same file"
    run config init "$file"
    says "init replaces nothing" 3 "File exists"
    run config init "$place/no/where"
    says "init where nothing can be written" 3 "No such file"
    run config check "$file"
    says "the file is sound" 0 '^.?$'
    run config check "$file" --json
    json "the file is sound, in JSON" 0 "j == {'faults': []}"
    run create --config "$file"
    prints "create with it" "$TLSHM_SEGMENT"
    run config diff "$file"
    prints "the segment is as the file says" ""
    run config diff "$file" --json
    json "the segment is as the file says, in JSON" 0 "j == {'changes': []}"
    run default list --json
    json "default tiers" 0 "{l['level']: l['tier'] for l in j['defaults'] if l['tier']} == {'user': 'free', 'org': 'org-starter'}"
    run limit list user:anybody --json
    json "what a free user may" 0 "[l['limit'] for l in j['limits']] == ['tokens 10k per 1m', 'tokens 100k per 1h',
        'tokens 500k per 1d', 'requests 10 per 1m', 'cost \$0.50 per 1d', 'input_tokens 32k per request',
        'output_tokens 4k per request', 'time 1m per request'] and j['source'] == 'default'"
    run limit list global: --json
    json "what all may together" 0 "[l['limit'] for l in j['limits']] ==
        ['cost \$500 per 1h', 'cost \$3000 per 1d', 'tokens 5M per 1m', 'cost \$10000 per 1d then shutoff']"
    run tier assign org:acme org-enterprise
    run limit list org:acme --json
    json "what a large organisation may" 0 "[l['limit'] for l in j['limits']] ==
        ['tokens 100M per 1d', 'cost \$5000 per month', 'concurrency 100']"
    run config diff "$file"
    prints "scopes that the file does not list are kept" ""
    run reserve user:anybody --tokens 10001
    says "the limits bind" 1 "user:anybody"
}

show()
{
    run config show
    cp "$place/out" "$place/shown"
    says "show" 0 "scopes:.*org:acme: org-enterprise"
    run config diff "$place/shown"
    prints "what is shown is what is there" ""
    "$tool" config show | "$tool" config check - 2>"$place/err" >"$place/out"
    keep $?
    prints "standard input is a file" ""
    run config show --json
    json "show in JSON" 0 "'org:acme: org-enterprise' in j['config']"
    "$tool" config show >/dev/full 2>"$place/err"
    keep $?
    says "what can't be written is an error" 3 "could not be written"
}

changes()
{
    cat >"$place/change" <<'YAML'
geometry: {seats: 100}
overrun: cap
tiers:
  free: [tokens 20k per 1m, tokens 100k per 1h]
  pro: []
levels:
  user: free
  team: {rank: 3, default: pro}
scopes:
  org:acme: [concurrency 3]
YAML
    run config diff "$place/change"
    says "diff" 1 $'^geometry seats: fixed when the segment was created\n  - 256\n  \+ 100\noverrun\n  - actual\n  \+ cap\ntier free\n'
    says "diff shows lines" 1 $'tier free\n  - tokens 10k per 1m\n  - tokens 500k per 1d\n  - requests 10 per 1m\n  - cost .0.50 per 1d\n  - input_tokens 32k per request\n  - output_tokens 4k per request\n  - time 1m per request\n  \+ tokens 20k per 1m\ntier pro: unlimited\n'
    says "diff shows scopes" 1 $'scope global:\n  - cost .500 per 1h\n.*scope org:acme\n  - tier org-enterprise\n  \+ concurrency 3\ntier enterprise: removed'
    cp "$place/out" "$place/difference"
    run config diff "$place/change" --json
    json "diff in JSON" 1 "[c for c in j['changes'] if c['part'] == 'scope' and c['name'] == 'org:acme'] ==
        [{'part': 'scope', 'name': 'org:acme', 'line': 10, 'fixed': False, 'before': ['tier org-enterprise'], 'after': ['concurrency 3']}]"
    run config apply "$place/change" --dry-run
    prints "a dry run shows the same" "$(cat "$place/difference")"
    run config diff "$place/shown"
    prints "a dry run changes nothing" ""
    run config apply "$place/change"
    prints "apply" "$(cat "$place/difference")"
    run config diff "$place/change"
    says "only what is fixed is left" 1 $'^geometry seats: fixed when the segment was created\n  - 256\n  \+ 100\n+$'
    run level list --json
    json "a new level" 0 "{l['level']: l['rank'] for l in j['levels']}['team'] == 3"
    run config apply "$place/shown" --json
    json "apply in JSON" 0 "{c['name'] for c in j['changes'] if c['part'] == 'level'} == {'org', 'team'}"
    run config diff "$place/shown"
    prints "back again" ""
    NO_COLOR='' TERM=xterm run config diff "$place/change"
    [[ $out != *$'\e'* ]]
    verdict $? "no colours without a terminal"
}

faults()
{
    printf 'tires: {}\ntiers:\n  free:\n    - tokens 10x per 1m\n' >"$place/wrong"
    run config check "$place/wrong"
    [ "$code" -eq 2 ] && [ -z "$out" ] && [ "$err" = "$place/wrong:1:1: unknown key 'tires': did you mean 'tiers'?
$place/wrong:4:14: expected an amount such as 500, 10k, 1.5M or unlimited, not '10x'" ]
    verdict $? "check tells every fault"
    run config check "$place/wrong" --json
    json "check in JSON" 2 "[(f['line'], f['column']) for f in j['faults']] == [(1, 1), (4, 14)]"
    run config apply "$place/wrong"
    says "a faulty file is not applied" 2 ":4:14: expected"
    run config diff "$place/wrong" --json
    json "diff of a faulty file" 2 "len(j['faults']) == 2"
    run config diff "$place/shown"
    prints "the segment is as it was" ""
    run config check /nowhere/at/all
    says "a file that is not there" 3 "/nowhere/at/all: No such file or directory"
    run config check /nowhere/at/all --json
    json "a file that is not there, in JSON" 3 "j['error']['name'] == 'ENOENT'"
    run config check
    says "check needs a file" 2 "FILE"
    run config check - --json
    json "nothing on standard input" 2 "j['faults'] == [{'line': 1, 'column': 1, 'text': 'the file is empty'}]"
    run -s "$place/absent" config diff "$file"
    says "no segment" 3 "ENOENT"
    printf 'tiers: {a: []}\nlevels: {user: a}\nscopes: {"user:x": [tokens 1 per 1h/40]}\n' >"$place/fits-not"
    run -s "$place/other" create --config "$place/fits-not" --slices 12
    says "create with what does not fit" 3 "slices"
    [ ! -e "$place/other" ]
    verdict $? "no segment is left behind"
    run -s "$place/other" create --config "$place/wrong"
    says "create with a faulty file" 2 ":4:14: expected"
    [ ! -e "$place/other" ]
    verdict $? "no segment was made"
    printf 'geometry: {scopes: 100, seats: 7, virtual_clock: true}\n' >"$place/sizes"
    run -s "$place/other" create --config "$place/sizes" --seats 9
    run -s "$place/other" config show
    says "options go before the file" 0 $'scopes: 100\n.*seats: 9\n.*virtual_clock: true\n'
}

# Calls of three tokens until the file is gone; one line in `made` for each that was settled.
work()
{
    local id
    while [ -e "$place/go" ]; do
        id=$("$tool" reserve user:worker --tokens 5 2>/dev/null) || continue
        "$tool" settle "$id" --tokens 3 >/dev/null && echo x >>"$place/made"
    done
}

# made N: waits until the worker has settled so many calls.
made()
{
    local tries
    for ((tries = 0; tries < 3000; tries++)); do
        [ "$(wc -l <"$place/made")" -ge "$1" ] && return
        sleep 0.02
    done
    return 1
}

beside_a_worker()
{
    local round calls failed=0
    printf 'tiers: {wide: [tokens 1M per 1h], wider: [tokens 2M per 1h, concurrency 50]}\nlevels: {user: wide}\nscopes: {}\n' >"$place/one"
    printf 'tiers: {wide: [tokens 1M per 1h, requests 1M per 1h]}\nlevels: {}\nscopes: {"user:worker": wide}\n' >"$place/two"
    : >"$place/made"
    : >"$place/go"
    work &
    local worker=$!
    made 1 || failed=1
    for ((round = 1; round <= 5; round++)); do
        "$tool" config apply "$place/one" >/dev/null && "$tool" config diff "$place/one" >/dev/null || failed=1
        made $((round * 2)) || failed=1
        "$tool" config apply "$place/two" >/dev/null && "$tool" config diff "$place/two" >/dev/null || failed=1
    done
    rm "$place/go"
    wait "$worker"
    verdict $failed "files are applied while a worker makes calls"
    calls=$(wc -l <"$place/made")
    run usage user:worker --json
    json "every call was counted once, and nothing is held" 0 \
        "j['used']['tokens'] == 3 * $calls and j['used']['requests'] >= $calls and j['held']['tokens'] == 0"
    json "the window has it too" 0 "[l['used'] for l in j['limits'] if l['unit'] == 'tokens'] == [3 * $calls]"
    "$inspect" --verify >"$place/out" 2>"$place/err"
    keep $?
    says "the segment is sound" 0 ""
}

# Prices are for those who follow the segment: applying says so, and that their table is missing is no fault.
prices()
{
    printf 'prices:\n  path: %s\n' "$place/prices.json" >"$place/priced"
    run config check "$place/priced"
    says "a table that is not there is a note" 0 "priced: note: no prices can be read from here: .*prices.json: no such file"
    printf '{"m": {"input_cost_per_token": 1e-06}}' >"$place/prices.json"
    run config apply "$place/priced"
    says "prices are applied without a word" 0 '^.?$'
}

# What stops everything counts one scope: who does not name it should know, and who resumes what is still reached too.
latches()
{
    printf 'pause_at: [tokens 100 per 1d]\n' >"$place/latched"
    TLSHM_SEGMENT=$place/other
    run create
    run reserve agent:x --tokens 5
    run config apply "$place/latched"
    says "nobody names global:" 0 "\+ tokens 100 per 1d then pause.*latched: note: pause_at and shutoff_at count calls that"
    run reserve global: --tokens 300
    run settle "$out" --tokens 300
    run config apply "$place/latched"
    says "somebody does" 0 '^.?$'
    run resume
    says "a latch that is reached is named" 0 "note: global: has reached 'tokens 100 per 1d then pause'"
    run reserve global: --tokens 1
    says "it refuses" 1 "global: is paused: 300 used of 100 tokens per 1d"
    run reserve agent:x --tokens 1
    says "and with it everything" 1 "the segment is paused"
    printf 'pause_at: []\n' >"$place/latched"
    run config apply "$place/latched"
    run resume
    run reserve agent:x --tokens 1
    says "until a person resumes" 0 "^[0-9a-f]{16}"
    run destroy
    TLSHM_SEGMENT=$place/segment
}

# Every key that a file may have is in tlshm.conf(5), and every command in tlshm(1).
documentation()
{
    local word missing='' words=0
    while IFS= read -r word; do
        grep -qE "^\.(It )?Ic.*\b$word\b" "$TLSHM_SOURCE/tools/man/tlshm.conf.5" || missing+=" $word"
        words=$((words + 1))
    done < <(grep -hoE '^ +(SIZE\(|\{"|\[TLSHM_CONFIG_[A-Z_0-9]+\] = ")[a-z_0-9]+' \
        "$TLSHM_SOURCE"/lib/conf{rule,sizes,prices,read}.c | grep -oE '[a-z_0-9]+$')
    err="missing:$missing"
    [ "$words" -ge 20 ] && [ -z "$missing" ]
    verdict $? "tlshm.conf(5) has every key"
    sed -n '/^tiers:/,/^\.Ed/p' "$TLSHM_SOURCE/tools/man/tlshm.conf.5" | sed '$d' >"$place/example"
    run config check "$place/example"
    says "the example of tlshm.conf(5) is sound" 0 ""
    run config apply --help
    says "help" 0 "config apply FILE.*--dry-run"
    grep -q 'Fl -dry-run' "$TLSHM_SOURCE/tools/man/tlshm.1"
    verdict $? "tlshm(1) has the option"
}

starting_point
show
changes
faults
beside_a_worker
prices
latches
documentation
finish
