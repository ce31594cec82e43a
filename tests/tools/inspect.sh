#!/usr/bin/env bash
# tlshm-inspect on a real segment: each view in text and JSON, the filters, watching, verifying, and that it only looks.
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # dollars in single quotes are money
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "${TLSHM_SOURCE:?}/tests/lint/tap.sh"

tlshm=${TLSHM_BUILD:?}/tools/tlshm
inspect=$TLSHM_BUILD/tools/tlshm-inspect
reaper=$TLSHM_BUILD/tools/tlshm-reaper
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset NO_COLOR
export TLSHM_SEGMENT=$place/segment

# gives CODE ARGUMENT...: runs the tool; its output is in $place/out and $place/err.
gives()
{
    local expected=$1 code
    shift
    "$inspect" "$@" >"$place/out" 2>"$place/err"
    code=$?
    [ "$code" -eq "$expected" ] || { echo "exit code $code"; cat "$place/out" "$place/err"; return 1; }
}

# shows PATTERN...: each is somewhere in the output.
shows()
{
    local pattern
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$place/out" || { echo "missing: $pattern"; cat "$place/out"; return 1; }
    done
}

hides()
{
    local pattern
    for pattern in "$@"; do
        ! grep -qE -- "$pattern" "$place/out" || { echo "should not be there: $pattern"; cat "$place/out"; return 1; }
    done
}

# holds EXPRESSION...: each is true of the output's JSON, j.
holds()
{
    local expression
    for expression in "$@"; do
        python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' \
            "$place/out" "$expression" || { echo "not so: $expression"; cat "$place/out"; return 1; }
    done
}

# A day in a segment's life. The clock stands still: every figure below is exact.
furnish()
{
    "$tlshm" create --virtual-clock --scopes 64 --reservations 256 --seats 16 &&
        "$tlshm" tier set free 'tokens 1000 per 1h' 'concurrency 5' &&
        "$tlshm" tier set wide 'tokens 100k per 1h' 'cost $5 per day' &&
        "$tlshm" default set agent free &&
        "$tlshm" tier assign tenant:t wide &&
        "$tlshm" limit set user:own 'requests 10 per 1m' &&
        settled=$("$tlshm" reserve agent:busy tenant:t --tokens 800) &&
        "$tlshm" settle "$settled" --tokens 850 --cost '$1.25' >/dev/null &&
        "$tlshm" clock advance 10m >/dev/null &&
        first=$("$tlshm" reserve agent:busy tenant:t --tokens 100 --cost '$0.50' --ttl 5m --tag 77 --key once) &&
        "$tlshm" clock advance 1m >/dev/null &&
        second=$("$tlshm" reserve agent:calm tenant:t user:own --tokens 20 --ttl 10m) &&
        gone=$("$tlshm" reserve project:p --tokens 7) &&
        "$tlshm" refund "$gone" >/dev/null &&
        { "$tlshm" reserve agent:busy --tokens 500 2>/dev/null; [ $? -eq 1 ]; } &&
        "$tlshm" pause agent:halted >/dev/null
}
settled='' first='' second='' gone=''
furnish >"$place/furnish" 2>&1
furnished=$?

# It cannot run inside case_is, which would lose the ids.
went_well()
{
    [ "$furnished" -eq 0 ] || { cat "$place/furnish"; return 1; }
}
case_is "a segment with some history is made" went_well

usage_errors()
{
    gives 2 --nonsense && gives 2 nonsense && gives 2 scope && gives 2 scope a b && gives 2 scopes --over many &&
        gives 2 scopes --sort beauty && gives 2 scopes --unit bananas && gives 2 reservations --status lost &&
        gives 2 reservations --pid 0 && gives 2 reservation 'no id' && gives 2 --interval soon && gives 2 seats extra
}
case_is "wrong usage is answered with exit code 2" usage_errors

no_segment()
{
    TLSHM_SEGMENT='' gives 2 && grep -q -- --segment "$place/err" &&
        gives 3 --segment "$place/nowhere" && grep -q ENOENT "$place/err" && [ ! -s "$place/out" ] &&
        gives 3 --json --segment "$place/nowhere" && holds 'j["error"]["name"] == "ENOENT"'
}
case_is "no segment, or an absent one" no_segment

help_and_version()
{
    gives 0 --help && shows 'overview' 'reservation ID' '--watch' && gives 0 scopes --help && shows '--over PERCENT' &&
        gives 0 --version && shows '^tlshm-inspect [0-9]'
}
case_is "--help, of a view too, and --version" help_and_version

# ---------------------------------------------------------------------------------------------------------- overview

overview_json()
{
    gives 0 --json && holds 'j["path"].endswith("/segment") and j["virtual_clock"] and not j["paused"]' \
        'j["counters"]["admitted"] == 4 and j["counters"]["settled"] == 1 and j["counters"]["refunded"] == 1' \
        'j["counters"]["refused"]["LIMIT"] == 1 and j["counters"]["refused"]["NEVER_FITS"] == 0' \
        '{t["table"]: t["taken"] for t in j["tables"]}["reservations_held"] == 2' \
        '{t["table"]: t["room"] for t in j["tables"]}["scopes"] == 64' \
        'j["reaper"]["last_pass_ago_ns"] is None and any("no reaper" in w for w in j["warnings"])' \
        'j["most_loaded"][0]["scope"] == "agent:busy"' 'j["geometry"]["slices"] == 60'
}
case_is "overview in JSON has every figure" overview_json

overview_text()
{
    gives 0 overview && shows 'segment  open' '^holds +2 of 256' '^seats ' '^reaper +none yet' '^! no reaper' \
        'admitted 4, refused 1' 'settled 1, late 0, refunded 1, expired 0' '^refused for +LIMIT 1$' \
        '^agent:busy +tokens 1k per 1h +850 +100 +50 +95.0' && hides $'\033'
}
case_is "overview in text, without colours or bars as this is no terminal" overview_text

overview_rows()
{
    gives 0 --json overview -n 1 && holds 'len(j["most_loaded"]) == 1'
}
case_is "overview shows as many scopes as asked for" overview_rows

flags()
{
    "$tlshm" shutoff >/dev/null && gives 0 --json && holds 'j["shutoff"] and "SHUT OFF" in j["warnings"][0]' &&
        gives 0 && shows 'SHUT OFF$' '^! SHUT OFF' && "$tlshm" resume >/dev/null && gives 0 --json &&
        holds 'not j["shutoff"]'
}
case_is "a shutoff is the first thing that is seen" flags

heartbeat()
{
    "$reaper" --once >/dev/null && gives 0 --json &&
        holds 'j["reaper"]["passes"] == 1 and j["reaper"]["last_pass_ago_ns"] == 0 and j["reaper"]["pid"] > 0' \
            'not any("reaper" in w for w in j["warnings"])' &&
        gives 0 && shows '^reaper +process [0-9]+, last pass 0 s ago, 1 passes'
}
case_is "the reaper's heartbeat and its age" heartbeat

# ------------------------------------------------------------------------------------------------------------ scopes

scopes_json()
{
    gives 0 --json scopes && holds 'j["scopes"][0]["scope"] == "agent:busy"' \
        '{s["scope"] for s in j["scopes"]} == {"agent:busy", "agent:calm", "agent:halted", "tenant:t", "user:own", "project:p"}' \
        'j["scopes"][0]["limits"][0]["limit"] == "tokens 1k per 1h"' \
        '[(l["used"], l["held"], l["remaining"], l["percent"]) for l in j["scopes"][0]["limits"] if l["unit"] == "tokens"] == [(850, 100, 50, 95.0)]' \
        'j["scopes"][0]["limits_from"] == "default" and j["scopes"][0]["tier"] == "free"' \
        '{s["scope"]: s["paused"] for s in j["scopes"]}["agent:halted"]' \
        '{s["scope"]: s["limits_from"] for s in j["scopes"]}["user:own"] == "own"' \
        '{s["scope"]: s["limits"] for s in j["scopes"]}["project:p"] == []' \
        '{s["scope"]: s["used_ever"] for s in j["scopes"]}["tenant:t"]["cost"] == 1250000000'
}
case_is "scopes in JSON have all their limits" scopes_json

scopes_text()
{
    gives 0 scopes && shows '^scope +limit +used +held +remaining +percent' '^agent:halted .* PAUSED ' \
        '^project:p +none +0 +0 +unlimited +-' '^tenant:t .* wide$' '^user:own .* own$'
}
case_is "scopes in text have a line each" scopes_text

scopes_filters()
{
    gives 0 --json scopes --over 90 && holds '[s["scope"] for s in j["scopes"]] == ["agent:busy"]' &&
        gives 0 scopes --over 99 && shows '^no scope matches$' &&
        gives 0 --json scopes --level tenant && holds '[s["scope"] for s in j["scopes"]] == ["tenant:t"]' &&
        gives 0 --json scopes --level ten && holds 'j["scopes"] == []' &&
        gives 0 --json scopes --limit 2 && holds 'len(j["scopes"]) == 2' &&
        gives 0 --json scopes --sort used && holds '{s["scope"] for s in j["scopes"][:2]} == {"agent:busy", "tenant:t"}' &&
        gives 0 --json scopes --sort held -n 1 && holds 'j["scopes"][0]["scope"] == "tenant:t"' &&
        gives 0 --json scopes --sort remaining -n 1 && holds 'j["scopes"][0]["scope"] == "agent:busy"' &&
        gives 0 scopes --unit cost --level tenant && shows '^tenant:t +cost \$5 per day +\$1.25 +\$0.50 +\$3.25 +35.0'
}
case_is "scopes are filtered and sorted" scopes_filters

# --------------------------------------------------------------------------------------------------------- one scope

scope_text()
{
    gives 0 scope agent:busy && shows '^agent:busy$' 'default tier of level agent' 'tokens 1k per 1h +850 +100 +50 +95.0' \
        'Live holds, oldest first \(1\):' "^$first +HELD +1 min +in 4 min" '100 tokens, \$0.50 .* 77 +- +agent:busy, tenant:t$' \
        'New calls are admitted as far as this scope is concerned' 'Used since it is known: 850 tokens'
}
case_is "scope explains limits, holds and what a new call would meet" scope_text

scope_refused()
{
    gives 0 scope agent:busy --tokens 60 && shows 'New calls of 60 tokens are refused because$' \
        'of "tokens 1k per 1h" 850 are used and 100 held, which leaves no room for 60' 'use frees up in 49 min' \
        'the first hold ends in 4 min' 'the same call fits in 4 min, at [-0-9]+ [:0-9]+ UTC' &&
        gives 0 scope agent:busy --tokens 50 && shows 'New calls of 50 tokens are admitted' &&
        gives 0 scope agent:busy --tokens 2k && shows '2,000 tokens can never fit into the limit "tokens 1k per 1h"' &&
        gives 0 scope tenant:t --cost '$3.26' && shows 'refused' 'the period ends in ' ' UTC'
}
case_is "scope says why a call of a given size is refused and when that ends" scope_refused

# What a single request may ask for is no budget: by how much it is too large, and no time at which it fits.
scope_too_large()
{
    "$tlshm" limit set agent:small 'tokens 8k per request' && "$tlshm" limit set agent:small 'tokens 5k per 1h' &&
        "$tlshm" limit set agent:small 'time 5m per request' &&
        gives 0 scope agent:small --tokens 5k && shows 'New calls of 5,000 tokens are admitted' &&
        gives 0 scope agent:small --tokens 9500 && shows 'New calls of 9,500 tokens are refused because$' \
        '  - "tokens 8k per request" is what a single request may ask for, and 9,500 is too much by 1,500; send a smaller' \
        '9,500 tokens can never fit into the limit "tokens 5k per 1h"' && hides 'leaves no room' 'time to live' &&
        hides 'the same call fits' && gives 0 --json scope agent:small --tokens 9500 &&
        holds 'len(j["new_calls"]["refused_because"]) == 2 and j["new_calls"]["retry_after_ns"] is None' &&
        "$tlshm" limit clear agent:small && "$tlshm" limit set agent:small 'cost $2 per request' &&
        gives 0 scope agent:small --cost '$2.50' && shows '\$2.50 is too much by \$0.50' &&
        gives 0 scope agent:small --cost '$2' && shows 'are admitted' &&
        "$tlshm" limit set agent:small 'time 0s per request' &&
        gives 0 scope agent:small && shows '"time 0s? per request" leaves a request no time to live'
}
case_is "scope says by how much a single request is too large" scope_too_large

# Whatever limits there are: a segment without room admits nobody.
scope_full()
{
    local -x TLSHM_SEGMENT=$place/full
    "$tlshm" create --virtual-clock --scopes 64 --reservations 64 >"$place/out" || return
    for _ in {1..64}; do
        "$tlshm" reserve agent:a --tokens 1 --ttl 7m >"$place/out" || return
    done
    gives 0 scope agent:a && shows 'New calls are refused because$' 'the same call fits in 7 min' &&
        gives 0 --json scope agent:a && holds 'not j["new_calls"]["admitted"]' 'len(j["new_calls"]["refused_because"]) == 1'
}
case_is "scope says that there is no room for one more reservation" scope_full

scope_paused()
{
    gives 0 scope agent:halted && shows 'refused because' 'the scope is paused, .*tlshm resume agent:halted' 'holds nothing' &&
        "$tlshm" pause >/dev/null && gives 0 scope tenant:t && shows 'the whole segment is paused' &&
        "$tlshm" resume >/dev/null
}
case_is "scope names the flags that refuse" scope_paused

scope_json()
{
    gives 0 --json scope agent:busy --tokens 60 && holds 'j["scope"] == "agent:busy" and j["seen"]' \
        'j["new_calls"]["admitted"] is False and j["new_calls"]["asked"]["tokens"] == 60' \
        'len(j["new_calls"]["refused_because"]) == 1 and j["new_calls"]["retry_after_ns"] == 240 * 10**9' \
        'j["holds_count"] == 1 and j["holds"][0]["tag"] == 77 and j["holds"][0]["estimate"]["cost"] == 500000000' \
        'j["holds"][0]["owner_pid"] > 0 and j["holds"][0]["owner_command"] is None' \
        '[l["frees_in_ns"] for l in j["limits"] if l["unit"] == "tokens"][0] <= 49 * 60 * 10**9' \
        'all(l["frees_at_ns"] is None or int(l["frees_at_ns"]) > int(l["frees_in_ns"]) for l in j["limits"])'
}
case_is "scope in JSON" scope_json

scope_unseen()
{
    gives 0 scope agent:new && shows 'never been used' '"free", the default tier' 'New calls are admitted' &&
        gives 0 --json scope agent:new && holds 'not j["seen"] and j["tier"] == "free"' &&
        gives 3 scope nolevel:x && grep -q ELEVEL "$place/err" && gives 3 scope plain && grep -qE 'EKEY|ELEVEL' "$place/err"
}
case_is "scope shows what a first call would meet, and refuses what is no key" scope_unseen

# ------------------------------------------------------------------------------------------------------ reservations

reservations_json()
{
    gives 0 --json reservations &&
        holds "[r['id'] for r in j['reservations']][:3] == ['$settled', '$first', '$second']" \
            "{r['id']: r['status'] for r in j['reservations']} == {'$settled': 'SETTLED', '$first': 'HELD', '$second': 'HELD', '$gone': 'REFUNDED'}" \
            "{r['id']: r['charged'] for r in j['reservations']}['$settled']['tokens'] == 850" \
            "sorted({r['id']: r['scopes'] for r in j['reservations']}['$second']) == ['agent:calm', 'tenant:t', 'user:own']"
}
case_is "reservations in JSON, oldest first" reservations_json

reservations_filters()
{
    local pid
    gives 0 --json reservations --status held && holds 'len(j["reservations"]) == 2' &&
        gives 0 --json reservations --status SETTLED && holds 'len(j["reservations"]) == 1' &&
        gives 0 --json reservations --scope user:own && holds "[r['id'] for r in j['reservations']] == ['$second']" &&
        gives 0 --json reservations -n 1 && holds 'len(j["reservations"]) == 1' &&
        gives 0 --json reservations --scope agent:calm || return
    pid=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["reservations"][0]["owner_pid"])' "$place/out")
    gives 0 --json reservations --pid "$pid" && holds "[r['id'] for r in j['reservations']] == ['$second']" &&
        gives 0 reservations --status expired && shows '^no reservation matches$' &&
        gives 0 reservations --status held && shows '^id +status +age' "^$first +HELD +1 min" '\(gone\)' '\$0.50'
}
case_is "reservations are filtered by status, scope and process" reservations_filters

reservation_one()
{
    gives 0 reservation "$first" && shows "Reservation $first is HELD" 'expires in 4 min' 'idempotency key +once' 'tag +77' &&
        gives 0 reservation "$settled" && shows 'is SETTLED' 'with the actual use' &&
        gives 0 reservation "$gone" && shows 'is REFUNDED' 'nothing is held' &&
        gives 0 --json reservation "$first" &&
        holds "j['id'] == '$first' and j['idempotency_key'] == 'once' and j['expires_in_ns'] == 240 * 10**9" \
            'j["ended_ago_ns"] is None and j["outcome"] is None' &&
        gives 0 --json reservation "$settled" && holds 'j["outcome"] == "exact" and j["expires_in_ns"] is None' &&
        gives 3 reservation ffffffffffffffff && grep -q EUNKNOWN "$place/err"
}
case_is "one reservation explained" reservation_one

# ------------------------------------------------------------------------------------------------------ seats, tiers

seats()
{
    local log=$place/log pid rc
    "$reaper" --period 20ms 2>"$log" &
    pid=$!
    until grep -q watching "$log"; do
        kill -0 "$pid" 2>/dev/null || { cat "$log"; return 1; }
        sleep 0.02
    done
    for _ in $(seq 3000); do
        gives 0 --json seats && grep -q '"TAKEN"' "$place/out" && break
        sleep 0.02
    done
    holds "[s['state'] for s in j['seats'] if s['owner_pid'] == $pid] == ['TAKEN']" \
        "[s['owner_command'] for s in j['seats'] if s['owner_pid'] == $pid] == ['tlshm-reaper']" &&
        gives 0 seats && shows '^ *seat +state +owner pid' " TAKEN +$pid "
    rc=$?
    kill "$pid" && wait "$pid" && gives 0 --json seats && holds "all(s['owner_pid'] != $pid for s in j['seats'])" && return "$rc"
}
case_is "seats show who uses the segment" seats

tiers()
{
    gives 0 --json tiers &&
        holds '{t["tier"]: t["limits"] for t in j["tiers"]} == {"free": ["tokens 1k per 1h", "concurrency 5"], "wide": ["tokens 100k per 1h", "cost $5 per day"]}' \
            '{l["level"]: l["default_tier"] for l in j["levels"]}["agent"] == "free"' \
            '{l["level"]: l["default_tier"] for l in j["levels"]}["tenant"] is None' &&
        gives 0 tiers && shows 'free +tokens 1k per 1h, concurrency 5' 'agent +[0-9]+ +free'
}
case_is "tiers, levels and defaults" tiers

# ---------------------------------------------------------------------------------------------------------- watching

watch_lines()
{
    local pid
    rm -f "$place/watch"
    touch "$place/watch"
    "$inspect" --json --interval 20ms overview >"$place/watch" 2>"$place/err" &
    pid=$!
    for _ in $(seq 3000); do
        [ "$(wc -l <"$place/watch")" -lt 3 ] || break
        sleep 0.02
    done
    kill -INT "$pid"
    wait "$pid" || { echo "exit code $?"; cat "$place/err"; return 1; }
    python3 - "$place/watch" <<'P'
import json, sys
frames = [json.loads(line) for line in open(sys.argv[1])]
assert len(frames) >= 3, len(frames)
assert "per_second" not in frames[0] and frames[1]["per_second"]["admitted"] == 0
P
}
case_is "--watch --json gives one object a line, and SIGINT ends it cleanly" watch_lines

# A terminal of 24 lines: the frames are redrawn, coloured, no longer than the screen, and the screen comes back.
watch_terminal()
{
    python3 - "$inspect" "$@" <<'P'
import fcntl, os, pty, select, signal, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    time.sleep(0.2)
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 132, 0, 0))
seen, stopped, end = b"", False, time.monotonic() + 120
while time.monotonic() < end:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    if not stopped and seen.count(b"\033[H") >= 3:
        os.kill(pid, signal.SIGTERM)
        stopped = True
status = os.waitpid(pid, 0)[1]
assert stopped and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, (status, seen)
assert seen.startswith(b"\033[?1049h") and seen.rstrip().endswith(b"\033[?1049l"), seen
frames = seen.split(b"\033[H")[1:-1]
assert all(0 < frame.count(b"\n") <= 24 for frame in frames), [frame.count(b"\n") for frame in frames]
assert b"agent:busy" in frames[0] and b"\033[1m" in frames[0], frames[0]
P
}
case_is "--watch redraws a terminal" watch_terminal --interval 50ms
case_is "--watch SECONDS in front of a view" watch_terminal --watch 50ms scopes

bars()
{
    python3 - "$inspect" scope agent:busy <<'P'
import os, pty, sys
os.environ["TERM"] = "xterm"
seen = b""
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while True:
        piece = os.read(fd, 65536)
        if not piece:
            break
        seen += piece
except OSError:
    pass
assert os.waitpid(pid, 0)[1] == 0
assert b"###################." in seen and b"\033[31m" in seen, seen
P
}
case_is "scope draws its bars on a terminal" bars

# --------------------------------------------------------------------------------------------------------- soundness

verify_sound()
{
    gives 0 --verify && shows '^sound: [0-9]+ scopes, 2 reservations checked$' &&
        gives 0 --json --verify && holds 'j["sound"] and j["faults"] == [] and j["reservations"] == 2 and j["busy"] == 0'
}
case_is "--verify finds the segment sound" verify_sound

looks_only()
{
    local before after
    before=$(sha256sum <"$TLSHM_SEGMENT")
    chmod 0440 "$TLSHM_SEGMENT"
    gives 0 && gives 0 scopes && gives 0 scope agent:busy && gives 0 scope agent:unknown && gives 0 reservations &&
        gives 0 reservation "$first" && gives 0 seats && gives 0 tiers && gives 0 --verify || return
    chmod 0660 "$TLSHM_SEGMENT"
    after=$(sha256sum <"$TLSHM_SEGMENT")
    [ "$before" = "$after" ]
}
case_is "no view writes a byte, and none needs permission to" looks_only

# Every place of a distinctive amount is changed in a copy of its own: some of them must break the sums.
verify_faults()
{
    local code copy found=0
    "$tlshm" reserve tenant:t --tokens 54321 >/dev/null || return
    python3 - "$TLSHM_SEGMENT" "$place/flipped" <<'P'
import sys
data, word, at, n = open(sys.argv[1], "rb").read(), (54321).to_bytes(8, "little"), 0, 0
while n < 8 and (at := data.find(word, at)) >= 0:
    open(f"{sys.argv[2]}-{n}", "wb").write(data[:at] + (54322).to_bytes(8, "little") + data[at + 8 :])
    at, n = at + 8, n + 1
P
    for copy in "$place"/flipped-*; do
        "$inspect" --verify --segment "$copy" >"$place/out" 2>"$place/err"
        code=$?
        [ "$code" -le 1 ] || { echo "$copy: exit code $code"; cat "$place/out" "$place/err"; return 1; }
        [ "$code" -eq 0 ] || found=1 copy_with_fault=$copy
    done
    [ "$found" -eq 1 ] || { echo "no flip was found"; return 1; }
    gives 1 --verify --segment "$copy_with_fault" && shows '^fault: ' '^NOT SOUND, ' &&
        gives 1 --json --verify --segment "$copy_with_fault" &&
        holds 'not j["sound"] and len(j["faults"]) == j["fault_count"] >= 1'
}
case_is "--verify finds amounts that do not add up" verify_faults

verify_errors()
{
    echo "no segment" >"$place/foreign"
    gives 3 --verify --segment "$place/foreign" && grep -q EFOREIGN "$place/err" && cp "$TLSHM_SEGMENT" "$place/short" &&
        truncate -s -4096 "$place/short" && gives 3 --verify --segment "$place/short" && grep -q ETRUNCATED "$place/err"
}
case_is "--verify of what is no segment is an error" verify_errors

# Bytes at random: every view answers or refuses, none crashes or runs for ever.
garbage()
{
    local i view code
    for i in 1 2 3 4 5 6 7 8; do
        python3 - "$TLSHM_SEGMENT" "$place/garbage" "$i" <<'P'
import random, sys
random.seed(int(sys.argv[3]))
data = bytearray(open(sys.argv[1], "rb").read())
for _ in range(40 * int(sys.argv[3])):
    data[random.randrange(256, len(data))] = random.randrange(256)
open(sys.argv[2], "wb").write(data)
P
        for view in overview scopes "scope tenant:t" reservations seats tiers --verify; do
            # shellcheck disable=SC2086 # a view and its operand
            timeout 120 "$inspect" --json --segment "$place/garbage" $view >"$place/out" 2>"$place/err"
            code=$?
            [ "$code" -eq 0 ] || [ "$code" -eq 1 ] || [ "$code" -eq 3 ] || { echo "$i $view: exit code $code"; return 1; }
            python3 -m json.tool <"$place/out" >/dev/null || { echo "$i $view"; cat "$place/out"; return 1; }
        done
    done
}
case_is "a garbled copy is answered or refused by every view" garbage

finish
