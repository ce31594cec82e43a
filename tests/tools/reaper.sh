#!/usr/bin/env bash
# The reaper as a process: it expires in time, survives kill -9 and company, follows segments that come and go.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "${TLSHM_SOURCE:?}/tests/lint/tap.sh"

tlshm=${TLSHM_BUILD:?}/tools/tlshm
inspect=$TLSHM_BUILD/tools/tlshm-inspect
reaper=$TLSHM_BUILD/tools/tlshm-reaper
place=$(mktemp -d)
unset NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID TLSHM_SEGMENT

# What a failed case left running: of the noted processes those that still work in our place.
clean()
{
    local pid
    [ ! -e "$place/started" ] || while read -r pid; do
        ! grep -qs "$place" "/proc/$pid/cmdline" || kill -9 "$pid"
    done <"$place/started"
    rm -rf "$place"
}
trap clean EXIT

# until_true COMMAND...: tries again and again, for two minutes at most.
until_true()
{
    local end=$((SECONDS + 120))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || { echo "in vain: $*"; return 1; }
        sleep 0.02
    done
}

# start LOG ARGUMENT...: a reaper in the background; its pid is in $pid.
start()
{
    local log=$1
    shift
    "$reaper" "$@" 2>"$log" >/dev/null </dev/null &
    pid=$!
    echo "$pid" >>"$place/started"
}

# stop SIGNAL PID: ends a reaper; its exit code.
stop()
{
    kill "-$1" "$2"
    wait "$2" 2>/dev/null
}

make()
{
    "$tlshm" --segment "$1" create --scopes 64 --reservations 256 --seats 16 "${@:2}" >/dev/null
}

# hold SEGMENT TTL
hold()
{
    "$tlshm" --segment "$1" reserve agent:a --tokens 10 --ttl "$2"
}

advance()
{
    "$tlshm" --segment "$1" clock advance "$2"
}

# value SEGMENT EXPRESSION: of the overview's JSON, as j
value()
{
    "$inspect" --json --segment "$1" | python3 -c 'import json, sys; j = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

has_expired()
{
    [ "$(value "$1" 'j["counters"]["expired"]')" = "$2" ]
}

lines_with()
{
    [ "$(grep -c "$2" "$1")" -ge "$3" ]
}

# json_is FILE EXPRESSION
json_is()
{
    python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2" ||
        { echo "not so: $2"; cat "$1"; return 1; }
}

code_is()
{
    local expected=$1 code
    shift
    "$@" >"$place/out" 2>"$place/err"
    code=$?
    [ "$code" -eq "$expected" ] || { echo "exit code $code"; cat "$place/out" "$place/err"; return 1; }
}

# ------------------------------------------------------------------------------------------------------------- usage

usage_errors()
{
    code_is 2 "$reaper" && grep -q -- --segment "$place/err" &&
        code_is 2 "$reaper" --nonsense &&
        code_is 2 "$reaper" --all --period soon &&
        code_is 2 "$reaper" --all --period 1us &&
        code_is 2 "$reaper" --all operand &&
        code_is 2 "$reaper" --segment ''
}
case_is "wrong usage is answered with exit code 2" usage_errors

help_and_version()
{
    code_is 0 "$reaper" --help && grep -q -- '--directory DIR' "$place/out" &&
        code_is 0 "$reaper" --version && grep -q '^tlshm-reaper [0-9]' "$place/out"
}
case_is "--help and --version" help_and_version

absent_once()
{
    code_is 3 "$reaper" --once --segment "$place/nowhere" && grep -q 'nowhere: there is no such segment' "$place/err"
}
case_is "--once on an absent segment is an error" absent_once

# ---------------------------------------------------------------------------------------------------------- one pass

once()
{
    local s=$place/once id
    make "$s" --virtual-clock || return
    id=$(hold "$s" 30s) || return
    "$reaper" --once --json --segment "$s" >"$place/report" || return
    json_is "$place/report" 'j["segments"][0]["expired"] == 0 and j["segments"][0]["live"] == 1' || return
    json_is "$place/report" 'j["segments"][0]["next_due_ns"] == 30 * 10**9' || return
    advance "$s" 31s || return
    "$reaper" --once --json --segment "$s" >"$place/report" || return
    json_is "$place/report" 'j["segments"][0]["expired"] == 1 and j["segments"][0]["live"] == 0' || return
    json_is "$place/report" 'j["segments"][0]["lag_max_ns"] == 10**9 and j["segments"][0]["next_due_ns"] is None' ||
        return
    json_is "$place/report" 'j["segments"][0]["segment"].endswith("/once")' || return
    "$tlshm" --segment "$s" --json reservation "$id" >"$place/answer" && json_is "$place/answer" 'j["status"] == "EXPIRED"'
}
case_is "--once expires what is overdue, and only that" once

once_text()
{
    TLSHM_SEGMENT=$place/once "$reaper" --once >"$place/out" 2>"$place/err" && [ ! -s "$place/err" ] &&
        grep -q 'next due' "$place/out" && grep -q "$place/once  *0 " "$place/out"
}
case_is "--once prints a table, and takes the segment from the environment" once_text

# -------------------------------------------------------------------------------------------------------- the daemon

virtual_daemon()
{
    local s=$place/daemon pid
    make "$s" --virtual-clock && hold "$s" 30s >/dev/null || return
    start "$place/log" --segment "$s" --period 20ms
    until_true lines_with "$place/log" "watching, 1 hold" 1 || return
    has_expired "$s" 0 && advance "$s" 31s && until_true has_expired "$s" 1 && stop TERM "$pid" || return
    lines_with "$place/log" "stopped by Terminated" 1
}
case_is "the daemon expires a hold when the clock has moved, and ends cleanly at SIGTERM" virtual_daemon

in_time()
{
    local s=$place/real pid
    make "$s" && hold "$s" 300ms >/dev/null || return
    start "$place/log" --segment "$s" --period 1h
    until_true has_expired "$s" 1 && stop INT "$pid"
}
case_is "it wakes at the earliest deadline, however long its period, and ends cleanly at SIGINT" in_time

passes_after()
{
    [ "$(value "$1" 'j["reaper"]["passes"]')" -gt "$2" ]
}

# A deadline that never comes nearer must not make it spin. A slow machine only makes fewer passes.
never_busy()
{
    local s=$place/idle pid before after begin
    make "$s" --virtual-clock && hold "$s" 1ms >/dev/null || return
    start "$place/log" --segment "$s" --period 250ms
    until_true passes_after "$s" 0 || return
    begin=$(date +%s%N)
    before=$(value "$s" 'j["reaper"]["passes"]')
    until_true passes_after "$s" $((before + 3)) || return
    after=$(value "$s" 'j["reaper"]["passes"]')
    stop TERM "$pid" || return
    [ $(((after - before) * 125)) -le $((($(date +%s%N) - begin) / 1000000 + 500)) ] ||
        { echo "$((after - before)) passes"; return 1; }
}
case_is "it sleeps for half of its period when deadlines stand still" never_busy

verbose()
{
    local s=$place/idle pid
    start "$place/log" --json --verbose --segment "$s" --period 10ms
    until_true lines_with "$place/log" '"pass"' 3 && stop TERM "$pid" || return
    python3 - "$place/log" <<'P'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert [e["event"] for e in events[:2]] == ["start", "watching"], events[:2]
assert events[-1]["event"] == "stop"
assert all(e["time_ns"] and e["text"] for e in events)
assert all(e["expired"] == 0 and e["segment"].endswith("/idle") for e in events if e["event"] == "pass")
P
}
case_is "--verbose --json reports every pass, one object a line" verbose

lag()
{
    local s=$place/lag pid
    make "$s" --virtual-clock && hold "$s" 30s >/dev/null && advance "$s" 90s || return
    start "$place/log" --segment "$s" --lag 10s --period 20ms
    until_true lines_with "$place/log" "had been overdue for 1 min" 1 && stop TERM "$pid"
}
case_is "a hold that was overdue for long is reported" lag

# ------------------------------------------------------------------------------------------------- kill -9, company

sound()
{
    "$inspect" --verify --segment "$1"
}

seats_taken()
{
    "$inspect" --json --segment "$1" seats >"$place/answer" && json_is "$place/answer" "len(j['seats']) == $2" >/dev/null
}

seats_are_free()
{
    local pid
    "$inspect" --json --segment "$1" seats >"$place/answer" || return
    for pid in "${@:2}"; do
        json_is "$place/answer" "all(s['owner_pid'] != $pid for s in j['seats'])" || return
    done
}

# Whoever comes next may sit down on a dead seat itself, so not all of them are left for the reaper to free.
killed()
{
    local s=$place/killed pid pids=()
    make "$s" --virtual-clock && hold "$s" 30s >/dev/null || return
    for _ in 1 2 3; do
        start "$place/log" --segment "$s" --period 10ms
        pids+=("$pid")
        until_true lines_with "$place/log" watching 1 && until_true passes_after "$s" 0 || return
    done
    until_true seats_taken "$s" 3 || return
    kill -9 "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null
    sound "$s" && advance "$s" 31s || return
    "$reaper" --once --json --segment "$s" >"$place/report" && has_expired "$s" 1 && sound "$s" &&
        seats_are_free "$s" "${pids[@]}"
}
case_is "after kill -9 the segment is sound, and the next reaper goes on and frees the seats of the dead" killed

two()
{
    local s=$place/two first second i
    make "$s" --virtual-clock || return
    start "$place/log1" --segment "$s" --period 5ms
    first=$pid
    start "$place/log2" --segment "$s" --period 5ms
    second=$pid
    for i in 1 2 3 4 5 6 7 8 9 10; do
        hold "$s" 30s >/dev/null && hold "$s" 30s >/dev/null || return
        advance "$s" 31s && until_true has_expired "$s" $((2 * i)) || return
    done
    stop TERM "$first" && stop TERM "$second" && has_expired "$s" 20 && sound "$s" || return
    "$tlshm" --segment "$s" --json usage agent:a >"$place/answer" && grep -q '"held"' "$place/answer" &&
        [ "$("$tlshm" --segment "$s" remaining agent:a concurrency)" = unlimited ]
}
case_is "two reapers at once expire each hold once" two

gives_seat_back()
{
    local s=$place/two pid
    start "$place/log" --segment "$s"
    until_true lines_with "$place/log" watching 1 && until_true passes_after "$s" 0 && stop TERM "$pid" &&
        seats_are_free "$s" "$pid"
}
case_is "it gives its seat back when it ends" gives_seat_back

# ---------------------------------------------------------------------------------------------- segments come and go

come_and_go()
{
    local d=$place/many pid
    mkdir "$d" && make "$d/one" --virtual-clock && touch "$d/.hidden" || return
    start "$place/log" --directory "$d/" --period 20ms
    until_true lines_with "$place/log" "one: watching" 1 || return
    make "$d/two" --virtual-clock && hold "$d/two" 30s >/dev/null && advance "$d/two" 31s || return
    until_true has_expired "$d/two" 1 || return
    "$tlshm" --segment "$d/one" destroy && until_true lines_with "$place/log" "one: gone: it was destroyed" 1 || return
    make "$d/one" --virtual-clock && until_true lines_with "$place/log" "one: watching" 2 || return
    rm "$d/two" && until_true lines_with "$place/log" "two: gone: its file was removed" 1 || return
    ! grep -q hidden "$place/log" && stop TERM "$pid"
}
case_is "segments of a directory are found, and dropped when they are destroyed or removed" come_and_go

appears()
{
    local s=$place/later pid
    start "$place/log" --segment "$s" --period 20ms
    until_true lines_with "$place/log" "later: there is no such segment yet" 1 || return
    make "$s" && kill -HUP "$pid" && until_true lines_with "$place/log" "later: watching" 1 && stop TERM "$pid" &&
        [ "$(grep -c 'no such segment' "$place/log")" = 1 ]
}
case_is "a segment that is asked for by name is waited for, and SIGHUP looks at once" appears

# Two segments that are made one after the other are found by two scans: what is wrong was met at least twice by then.
trouble()
{
    local d=$place/trouble pid
    mkdir "$d" && make "$d/good" --virtual-clock && echo "no segment at all" >"$d/foreign" || return
    cp "$d/good" "$d/short" && truncate -s -4096 "$d/short" || return
    start "$place/log" --directory "$d" --period 20ms
    until_true lines_with "$place/log" "good: watching" 1 || return
    hold "$d/good" 30s >/dev/null && advance "$d/good" 31s && until_true has_expired "$d/good" 1 || return
    make "$d/next" && until_true lines_with "$place/log" "next: watching" 1 || return
    make "$d/last" && until_true lines_with "$place/log" "last: watching" 1 || return
    [ "$(grep -c "foreign: .*EFOREIGN" "$place/log") $(grep -c "short: .*ETRUNCATED" "$place/log")" = "1 1" ] ||
        { cat "$place/log"; return 1; }
    rm "$d/foreign" && make "$d/foreign" && until_true lines_with "$place/log" "foreign: watching" 1 || return
    stop TERM "$pid"
}
case_is "a file that is no sound segment is reported once, the others go on" trouble

trouble_once()
{
    local d=$place/trouble
    code_is 3 "$reaper" --once --json --directory "$d" && grep -q ETRUNCATED "$place/err" &&
        json_is "$place/out" 'len(j["segments"]) == 4'
}
case_is "--once makes its pass over the sound ones and exits with 3" trouble_once

default_place()
{
    local name=reaper-test-$$ path rc
    path=$("$tlshm" --segment "$name" path) && make "$name" || return
    "$reaper" --once --all --json >"$place/out" 2>"$place/err"
    json_is "$place/out" "sum(s['segment'] == '$name' for s in j['segments']) == 1"
    rc=$?
    "$tlshm" --segment "$name" destroy && [ ! -e "$path" ] && return "$rc"
}
if mkdir -p /dev/shm/tlshm 2>/dev/null && [ -w /dev/shm/tlshm ]; then
    case_is "--all takes the segments of the default place by their names" default_place
else
    case_skip "--all takes the segments of the default place by their names" "cannot write /dev/shm/tlshm"
fi

# ----------------------------------------------------------------------------------------------------- notifications

# listen ADDRESS FILE: writes what arrives, one line an assignment.
listen()
{
    python3 - "$1" "$2" <<'P' >/dev/null 2>&1 &
import socket, sys
address, out = sys.argv[1], open(sys.argv[2], "w", buffering=1)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + address[1:] if address[0] == "@" else address)
out.write("listening\n")
while True:
    out.write(s.recv(4096).decode() + "\n")
P
    echo $! >>"$place/started"
    until_true lines_with "$2" listening 1
}

notifies()
{
    local s=$place/two address=$1 heard=$place/heard pid
    rm -f "$heard"
    touch "$heard"
    listen "$address" "$heard" || return
    NOTIFY_SOCKET=$address WATCHDOG_USEC=300000 start "$place/log" --segment "$s" --period 1h
    until_true lines_with "$heard" '^READY=1$' 1 && until_true lines_with "$heard" '^WATCHDOG=1$' 3 &&
        until_true lines_with "$heard" '^STATUS=1 segments' 1 || return
    kill -HUP "$pid" && until_true lines_with "$heard" '^RELOADING=1$' 1 && until_true lines_with "$heard" '^READY=1$' 2 ||
        return
    stop TERM "$pid" && until_true lines_with "$heard" '^STOPPING=1$' 1
}
case_is "the service manager hears READY, WATCHDOG, STATUS, RELOADING and STOPPING" notifies "$place/notify"
case_is "an abstract socket does as well" notifies "@tlshm-reaper-test-$$"

other_watchdog()
{
    local s=$place/two heard=$place/heard pid
    listen "$place/notify2" "$heard" || return
    NOTIFY_SOCKET=$place/notify2 WATCHDOG_USEC=30000 WATCHDOG_PID=1 start "$place/log" --segment "$s" --period 10ms
    until_true passes_after "$s" "$(($(value "$s" 'j["reaper"]["passes"]') + 20))" && stop TERM "$pid" &&
        until_true lines_with "$heard" '^STOPPING=1$' 1 && ! grep -q WATCHDOG "$heard"
}
case_is "a watchdog that is meant for another process is left alone" other_watchdog

bad_socket()
{
    NOTIFY_SOCKET=nowhere code_is 3 "$reaper" --segment "$place/two" && grep -q NOTIFY_SOCKET "$place/err"
}
case_is "a notify socket that cannot be one is an error" bad_socket

unit_is_sound()
{
    local unit=$TLSHM_BUILD/tools/packaging/tlshm-reaper.service
    sed "s|^ExecStart=.*/tlshm-reaper|ExecStart=$reaper|; s|^User=.*|User=root|; s|^Group=.*||" "$unit" \
        >"$place/tlshm-reaper.service"
    systemd-analyze verify --man=no "$place/tlshm-reaper.service"
}
if command -v systemd-analyze >/dev/null; then
    case_is "systemd accepts the unit" unit_is_sound
else
    case_skip "systemd accepts the unit" "no systemd-analyze"
fi

finish
