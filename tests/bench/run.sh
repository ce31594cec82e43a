#!/usr/bin/env bash
# bench-all: a run of a few milliseconds each comes to an end with books that are right and rows that are complete; an
# interrupted one leaves nothing; wrong command lines and wrong traces are told. No figure is looked at.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

bench=${TLSHM_BUILD:?}/bench/bench-all
reaper=$TLSHM_BUILD/tools/tlshm-reaper
export TMPDIR=$place
pid=0

# run ARGUMENT...: leaves out, err, code and the pid behind.
run()
{
    "$bench" "$@" >"$place/out" 2>"$place/err" </dev/null &
    pid=$!
    wait $pid
    keep $?
}

# Of the last run: neither segments nor a server's directory.
nothing_left()
{
    local left
    left=$(ls -d /dev/shm/tlshm-bench-"$pid"* "$place"/tlshm-bench-* 2>/dev/null)
    [ -z "$left" ]
    verdict $? "$1"
}

cat >"$place/check.py" <<'PYTHON'
import json, sys
j = json.load(open(sys.argv[1]))
need_peers = {'tlshm', 'floor', 'mutex', 'mutex-per-budget'}
for peer in ('redis-lua', 'memcached'):
    if not any(text.startswith(peer + ':') for text in j['skipped']):
        need_peers.add(peer)
faults = []
def must(condition, text):
    if not condition:
        faults.append(text)
number = (int, float, type(None))
for row in j['rows']:
    name = '%s %s' % (row['peer'], row['workload'])
    for field in ('processes', 'scopes', 'units', 'windows', 'limits'):
        must(isinstance(row[field], int), '%s: %s' % (name, field))
    for field in ('p50_ns', 'p99_ns', 'p999_ns', 'max_ns', 'pairs_per_s'):
        must(isinstance(row[field], number), '%s: %s' % (name, field))
        must(len(row['spread'][field]) == 2, '%s: spread of %s' % (name, field))
    must(row['keys'] in ('handle', 'string'), name)
    must(row['workload'] not in ('stopped', 'killed') or 'kept' in row, name + ': kept')
must({row['peer'] for row in j['rows']} == need_peers, 'the peers')
must({row['workload'] for row in j['rows']} == set('alone distinct hot reserve refused stream remaining usage stopped '
                                                   'killed mix'.split()), 'the workloads')
must({point['axis'] for point in j['growth']} == set('scopes reservations limits slices processes'.split()), 'axes')
for point in j['growth']:
    must(isinstance(point['value'], int) and isinstance(point['p50_ns'], number), 'growth of ' + point['axis'])
facts = {fact['name'] for fact in j['facts']}
must({'memory of a reservation', 'create', 'attach'} <= facts, 'facts')
must(('reaper, lag p99' in facts) == (sys.argv[2] == 'reaper'), 'facts of the reaper')
for goal in j['goals']:
    must(goal['met'] in (True, False, None), goal['goal'])
    must((goal['met'] is None) == (goal['value'] is None), goal['goal'])
must(len(j['goals']) > 20, 'goals')
must(j['mode'] == 'smoke' and j['rounds'] == 1 and j['host']['processors'] >= 1, 'the head')
print('\n'.join(faults))
sys.exit(bool(faults))
PYTHON

# ---------------------------------------------------------------------------------------------------- the command line
run --help
says "help tells the options" 0 '--quick'
run --version
says "version" 0 '^bench-all .*[0-9]'
run --rounds 0
says "no rounds" 2 'bad number of rounds: 0'
run --only everything
says "an unknown question" 2 'no such question: everything'
run --workload busy
says "an unknown workload" 2 'no such workload: busy'
run --quick more
says "too many arguments" 2 'too many arguments'
run --json "$place/no/such" --smoke
says "a file that can't be written" 1 'no/such'

# ----------------------------------------------------------------------------------------------------------- the trace
printf 'a,b\n1,2\n' >"$place/columns.csv"
run --smoke --trace "$place/columns.csv"
says "a trace without the columns" 1 'columns.csv:1: no columns'
printf 'input_tokens,output_tokens\n1,2\n3,many\n' >"$place/row.csv"
run --smoke --trace "$place/row.csv"
says "a trace with a bad row" 1 'row.csv:3: '
printf 'input_tokens,output_tokens\n' >"$place/empty.csv"
run --smoke --trace "$place/empty.csv"
says "a trace without rows" 1 'empty.csv:1: no rows'
run --smoke --trace "$place/absent.csv"
says "no trace" 1 'absent.csv: No such file'

# -------------------------------------------------------------------------------------------------------------- a run
printf 'model,input_tokens,x,output_tokens\n' >"$place/trace.csv"
for i in 1 20 300 4000 50000 600000; do
    printf 'm,%s,0,%s\n' "$i" $((i % 700))
done >>"$place/trace.csv"
reapers=()
[ ! -x "$reaper" ] || reapers=(--reaper "$reaper")
run --smoke --trace "$place/trace.csv" --json "$place/result.json" --plot "$place/plot" "${reapers[@]}"
says "a run" 0 'goals are met'
nothing_left "nothing is left of it"
err=$(python3 -I "$place/check.py" "$place/result.json" "${reapers:+reaper}" 2>&1)
verdict $? "its JSON is complete"
[ -s "$place/plot/growth.dat" ] && [ -s "$place/plot/plot.gp" ]
verdict $? "its plots have data"
if command -v gnuplot >/dev/null; then
    [ -s "$place/plot/growth.svg" ] && [ -s "$place/plot/latency-alone-1.svg" ]
    verdict $? "and pictures"
else
    case_skip "and pictures" "no gnuplot"
fi

# Interrupted in the middle of the peers, servers included: once the first trial of a workload is on its way.
"$bench" --workload hot --rounds 31 --json "$place/cut.json" >"$place/out" 2>"$place/err" </dev/null &
pid=$!
for _ in $(seq 600); do
    ls /dev/shm/tlshm-bench-"$pid"* "$place"/tlshm-bench-*/socket >/dev/null 2>&1 && break
    sleep 0.05
done
kill -INT $pid
wait $pid
keep $?
says "an interrupted run says so" 130 ''
nothing_left "nothing is left of it either"
finish
