#!/usr/bin/env bash
# tlshm-replay: traces in, sound reports out, with and without kills; wrong input; what an audit must not miss.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"
# shellcheck source=tools/common/data.sh
source tools/common/data.sh

tools=${TLSHM_BUILD:?}/tools
segment=$place/segment
pid=0
unset TLSHM_PRICES

# run ARGUMENT...: leaves out, err, code and the pid behind.
run()
{
    "$tools/tlshm-replay" --segment "$segment" "$@" >"$place/out" 2>"$place/err" </dev/null &
    pid=$!
    wait $pid
    keep $?
}

# Of the last run: workers carry their coordinator's pid as their last argument.
nothing_left()
{
    [ ! -e "$segment" ] && ! pgrep -f -- "--be-a-worker .* $pid\$" >/dev/null
    verdict $? "$1"
}

python3 - "$place" <<'PYTHON'
import gzip, sys
place = sys.argv[1]
def put(name, *lines, end="\n"):
    text = "\n".join(lines) + end
    with (gzip.open if name.endswith(".gz") else open)(f"{place}/{name}", "wt") as f:
        f.write(text)
fleet = "t_s,tenant,session,agent,model,input_tokens,cached_tokens_ttl5m,output_tokens,api_time_s"
put("fleet.csv", fleet, "0,acme,s1,main,m,1000,600,10,5", "1,acme,s1,main,m,2000,0,20,5", "2,beta,s2,main,m,3000,0,30,1")
put("bad.csv", fleet, "0,acme,s1,main,m,1000,600,10,5", "1,acme,s1,main,m,many,0,20,5", "2,beta,s2,main,m,3000,0,30,1")
put("sessions.csv.gz", "session,agent,t_s,model,input_tokens,cached_tokens,output_tokens,api_time_s",
    *(f"{s:04},main,{9 * i},m,{1000 + 100 * i},{900 if i else 0},50,{i % 7}" for s in range(8) for i in range(20)))
put("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens",
    *(f"2023-11-16 18:{i // 60:02}:{i % 60:02}.9799600,{100 + i},{i % 50}" for i in range(300)), end="")
put("mooncake.csv", "t_ms,input_tokens,output_tokens,cached_prefix_tokens",
    *(f"{3000 * (i // 9)},{500 + i},{i % 90},{512 if i > 12 else 0}" for i in range(300)))
# One call at once of an agent, then 6 s of nothing: time to meddle.
put("slow.csv", fleet, "0,acme,s1,main,m,1000,600,10,0.1", "6,acme,s1,main,m,1000,600,10,0.1")
PYTHON

# --------------------------------------------------------------------------------------------------- the command line
run --help
says "help tells the options" 0 '--tenant-limit'
run --version
says "version" 0 '^tlshm-replay [0-9]'
run
says "a trace is needed" 2 'a trace is missing'
run --generate "$place/fleet.csv"
says "a trace or a generated one" 2 'exclude each other'
run --output "$place/x" "$place/fleet.csv"
says "only what is generated is written" 2 'goes with --generate'
run --tenant-limit 'tokens lots per 1h' "$place/fleet.csv"
says "a limit that is none" 2 '--tenant-limit: .'
run --crash-rate 1.5 "$place/fleet.csv"
says "a share above 1" 2 'a share from 0 to 1'
run --time fast "$place/fleet.csv"
says "a time that is none" 2 '60x'
run --workers 0 "$place/fleet.csv"
says "no workers" 2 '--workers must be a number'
run --price-cached 6 "$place/fleet.csv"
says "cached input that costs more" 2 'price-cached is above'
run --frobnicate
says "an unknown option" 2 "unknown option '--frobnicate'"

# ------------------------------------------------------------------------------------------------------------- traces
run "$place/absent.csv"
says "an absent trace" 3 'absent.csv: No such file'
run "$place/bad.csv"
says "a bad row is told with its line" 3 "bad.csv:3: 'many' is not a number of tokens"
nothing_left "and no segment was made"
run --json --skip-bad "$place/bad.csv"
json "bad rows are skipped and counted" 0 'j["requests"] == 2 and j["skipped_rows"] == 1'
for trace in fleet.csv sessions.csv.gz azure.csv mooncake.csv; do
    run --json "$place/$trace"
    rows=$(($(gzip -dcf "$place/$trace" | grep -c .) - 1))
    json "$trace is replayed, call by call" 0 "j['format'] == '${trace%%.*}' and j['requests'] == $rows and
        j['admitted'] == $rows and j['settled'] == $rows and j['verify'] == 'ok' and j['sound']"
done
run --json - <"$place/fleet.csv"
says "standard input at its end is an empty trace" 3 'empty'

# ------------------------------------------------------------------------------------------------------------ figures
run --json --price-in 2 --price-cached 1 --price-out 10 "$place/fleet.csv"
json "tokens and money are exact" 0 'j["used_tokens"] == 6060 and
    j["used_nusd"] == 2000 * 5400 + 1000 * 600 + 10000 * 60 and
    [(t["tenant"], t["requests"], t["tokens"]) for t in j["tenants"]] == [("acme", 2, 3030), ("beta", 1, 3030)]'
run --json --max-output 100 --tenant-limit 'tokens 3000 per 1h' "$place/fleet.csv"
json "a limit refuses what does not fit" 0 'j["admitted"] == 1 and j["refused"] == 2 and
    j["refused_by_reason"] == {"LIMIT": 1, "NEVER_FITS": 1} and j["refused_by_level"] == {"tenant": 2}'
run --json --max-output 5 --tenant-limit 'tokens 1005 per 1h' "$place/fleet.csv"
json "an overrun is charged, shown and explained" 0 'j["overspend_tokens"] == 5 and j["overrun_tokens"] == 5 and j["sound"]'
run --json --ttl 2s "$place/fleet.csv"
json "a call that outlives its hold is settled late, once" 0 'j["late"] == 2 and j["used_tokens"] == 6060 and j["sound"]'
run --json --global --global-limit 'concurrency 1' "$place/fleet.csv"
json "calls overlap as the trace says" 0 'j["admitted"] == 1 and j["refused_by_level"] == {"global": 2}'

# -------------------------------------------------------------------------------------------------------------- money
# Three models in a table, of which one costs more above 200,000 tokens; a fourth that is not there.
cat >"$place/table.json" <<'JSON'
{
    "plain": {"litellm_provider": "acme", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
        "cache_read_input_token_cost": 3e-07},
    "tiered": {"litellm_provider": "acme", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06,
        "cache_read_input_token_cost": 1e-07, "input_cost_per_token_above_200k_tokens": 2e-06,
        "output_cost_per_token_above_200k_tokens": 4e-06, "cache_read_input_token_cost_above_200k_tokens": 2e-07},
    "seconds": {"input_cost_per_second": 0.0001}
}
JSON
printf '%s\n' t_s,tenant,session,agent,model,input_tokens,cached_tokens_ttl5m,output_tokens,api_time_s \
    0,acme,s1,main,plain,1000,600,10,1 60,acme,s1,main,tiered,200000,100000,100,1 120,acme,s1,main,tiered,200001,100001,100,1 \
    180,beta,s2,main,fresh,3000,0,30,1 240,beta,s2,main,seconds,10,0,1,1 300,beta,s2,main,plain,100,0,0,1 >"$place/models.csv"
money=(--prices "$place/table.json" --max-output 100)

run --json "${money[@]}" "$place/models.csv"
json "a table's prices, cached tokens as cached and tiers by size: to the nano-dollar" 0 'j["sound"] and j["used_nusd"] ==
    (400 * 3000 + 600 * 300 + 10 * 15000) + (10**5 * 1000 + 10**5 * 100 + 100 * 2000) +
    (10**5 * 2000 + 100001 * 200 + 100 * 4000) + 100 * 3000'
json "estimates take nothing for cached and the largest output" 0 '[(m["model"], m["price"], m["settled"], m["estimate_nusd"])
    for m in j["models"]] == [("plain", "table", 2, 1100 * 3000 + 200 * 15000),
    ("tiered", "table", 2, 2 * 10**5 * 1000 + 100 * 2000 + 200001 * 2000 + 100 * 4000),
    ("fresh", "unknown", 0, 0), ("seconds", "unknown", 0, 0)]'
json "ratios of estimate and use" 0 'j["models"][0]["cost_ratio_p50"] == 2.941 and j["models"][0]["cost_ratio_p95"] == 6 and
    j["models"][0]["token_ratio_p50"] == 1.089 and j["models"][2]["cost_ratio_p50"] is None'
json "models without a price are refused and counted" 0 'j["unpriced_models"] == 2 and j["unpriced_requests"] == 2 and
    j["refused_by_reason"] == {"UNKNOWN_MODEL": 2} and j["refused"] == 2 and j["admitted"] == 4'
TLSHM_PRICES=$place/table.json run --json --price "fresh=input \$1 output \$1" --price 'SECONDS=free' "$place/models.csv"
json "prices of the command line, beside a table of the environment" 0 'j["unpriced_models"] == 0 and j["prices"].endswith("table.json") and
    [(m["price"], m["cost_nusd"]) for m in j["models"][2:]] == [("given", 3030 * 1000), ("given", 0)]'
run --json "${money[@]}" --price-in 2 --price-cached 1 --price-out 10 "$place/models.csv"
json "a flat price for those without one" 0 'j["unpriced_models"] == 0 and [(m["price"], m["cost_nusd"])
    for m in j["models"][2:]] == [("flat", 3000 * 2000 + 30 * 10000), ("flat", 10 * 2000 + 10000)]'
run --json --max-output 10 "${money[@]}" "$place/azure.csv"
json "calls that name no model cost the flat price" 0 '[m["model"] for m in j["models"]] == ["not named"] and
    j["unpriced_requests"] == 0 and j["used_nusd"] > 0 and j["sound"]'
run --json "${money[@]}" --tenant-limit "cost \$0.3 lifetime" --global "$place/models.csv"
json "dollars refuse, and no tenant is above its budget" 0 'j["refused_by_unit"] == {"cost": 1} and j["sound"] and
    j["overspend_nusd"] == 0 and [(t["tenant"], t["budget_nusd"], t["peak_nusd"], t["over_nusd"], t["refused_for_cost"],
    t["cost_nusd"]) for t in j["tenants"]] == [("acme", 3 * 10**8, 111730000, 0, 1, 111730000), ("beta", 3 * 10**8, 300000, 0, 0, 300000)]'
json "what estimates that were too large kept out" 0 \
    'j["lost_by_over_reservation"] == {"requests": 0, "tokens": 0, "cost_nusd": 0}'
run --json "${money[@]}" --tenant-limit "cost \$0.34 lifetime" "$place/models.csv"
json "a call that only its estimate kept out" 0 'j["refused_by_unit"] == {"cost": 1} and
    j["lost_by_over_reservation"] == {"requests": 1, "tokens": 200101, "cost_nusd": 220400200}'
run --json --tenant-limit "cost \$1 per day in Europe/Berlin" "$place/models.csv"
json "a window that is not followed has no peak" 0 'j["tenants"][0]["peak_nusd"] is None and
    j["lost_by_over_reservation"]["requests"] is None'
run "${money[@]}" --tenant-limit "cost \$0.3 lifetime" "$place/models.csv"
says "dollars for people" 0 '0\.11173.*tiered .*table'

run --price 'free' "$place/models.csv"
says "a price of no model" 3 "'free' is not MODEL=PRICE"
run --price 'm=input lots' "$place/models.csv"
says "a price that is none" 3 '--price: m: .'
run --prices "$place/absent.json" "$place/models.csv"
says "a table that is not there" 3 'absent\.json'
run --prices "$place/models.csv" "$place/models.csv"
says "a table that is none" 3 'prices: '
nothing_left "and no segment was made"

# ---------------------------------------------------------------------------------------------------------- generating
for seed in 1 2; do
    run --generate --requests 3000 --seed $seed --output "$place/generated-$seed.csv.gz"
done
says "a trace is generated" 0 '^'$'\n''*$'
run --generate --requests 3000 --seed 1 --output "$place/again.csv"
cmp -s <(gzip -dc "$place/generated-1.csv.gz") "$place/again.csv" &&
    ! cmp -s <(gzip -dc "$place/generated-2.csv.gz") "$place/again.csv"
verdict $? "the same for the same seed, another for another"
python3 - "$place/again.csv" <<'PYTHON'
import collections, csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
def quantile(name, q):
    values = sorted(float(r[name]) for r in rows)
    return values[int(q * (len(values) - 1))]
tokens = collections.Counter()
for r in rows:
    tokens[r["tenant"]] += int(r["input_tokens"]) + int(r["output_tokens"])
ok = (len(rows) == 3000 and len(tokens) == 13
      and 50e3 < quantile("input_tokens", 0.5) < 130e3 and 300e3 < quantile("input_tokens", 0.99)
      and quantile("input_tokens", 1) < 900e3
      and 170 < quantile("output_tokens", 0.5) < 270 and 2000 < quantile("output_tokens", 0.99)
      and 3 < quantile("api_time_s", 0.5) < 9
      and 0.35 < tokens["t00"] / sum(tokens.values()) < 0.65
      and all(float(a["t_s"]) <= float(b["t_s"]) for a, b in zip(rows, rows[1:]))
      and 0 <= float(rows[0]["t_s"]) and float(rows[-1]["t_s"]) < 3600)
sys.exit(not ok)
PYTHON
verdict $? "its tails are those of real agents"
run --generate --output "$place/no/such/place.csv"
says "a file that can't be made" 3 'No such file'

# ---------------------------------------------------------------------------------------------------------------- kills
limits=(--agent-limit 'tokens 5M per 30m' --agent-limit 'concurrency 3' --tenant-limit 'tokens 20M per 5m'
    --tenant-limit 'requests 40 per 1m strict' --global-limit "cost \$200 per hour")
for workers in 1 4 16; do
    run --json --workers $workers --kills 25 --crash-rate 0.005 "${limits[@]}" "$place/generated-1.csv.gz"
    json "$workers workers, killed and crashing: sound to the last token" 0 "j['requests'] == 3000 and
        j['admitted'] + j['refused'] == 3000 and 20 <= j['killed'] <= 25 and j['crashed'] > 0 and j['lost'] > 0 and
        j['refused'] > 0 and j['overspend_tokens'] == 0 and j['overspend_nusd'] == 0 and j['faults'] == 0 and
        j['expired'] == j['lost'] and j['workers'] == $workers"
done
nothing_left "no segment and no worker is left"
run --json --tick 20s --kills 60 --workers 4 "$place/generated-1.csv.gz"
json "kills inside calls" 0 '50 <= j["killed"] <= 60 and j["cut_off"] > 0 and j["sound"]'
run --json --crash-rate 0.02 "$place/generated-1.csv.gz"
json "an answer that was lost is had by asking again" 0 '10 < j["replayed"] < j["crashed"] and j["replayed"] <= j["cut_off"] and
    j["admitted"] == 3000 and j["sound"]'
run --json --kill-every 5 "$place/generated-2.csv.gz"
json "kills by the clock" 0 'j["killed"] > 5 and j["sound"]'
run --kills 5 "$place/generated-1.csv.gz"
says "a report for people" 0 'reserve, admitted.*####.*Sound: '
run --json --reaper "$tools/tlshm-reaper" --crash-rate 0.01 "$place/generated-1.csv.gz"
json "holds of the lost are left to the reaper" 0 'j["lost"] > 0 and j["expired"] == j["lost"] and j["sound"]'
run --reaper "$place/absent" "$place/fleet.csv"
says "a reaper that is not there" 3 'absent'

# ------------------------------------------------------------------------------------------------------- over-reservation
# What is said about exact estimates is what a replay with exact estimates comes to, to the last token. One worker: its
# calls of an instant are made in the order of the trace.
strict=(--workers 1 --agent-limit 'concurrency 2' --tenant-limit "cost \$9 per 10m" --tenant-limit 'requests 90 per 1m')
run --json "${strict[@]}" "$place/generated-1.csv.gz"
cp "$place/out" "$place/estimated"
run --json --exact "${strict[@]}" "$place/generated-1.csv.gz"
python3 - "$place/estimated" "$place/out" <<'PYTHON'
import json, sys
was, exact = (json.load(open(path)) for path in sys.argv[1:])
lost = was["lost_by_over_reservation"]
sys.exit(not (was["sound"] and exact["sound"] and lost["tokens"] > 0
              and was["admitted"] + lost["requests"] == exact["admitted"]
              and was["used_tokens"] + lost["tokens"] == exact["used_tokens"]
              and was["used_nusd"] + lost["cost_nusd"] == exact["used_nusd"]
              and exact["lost_by_over_reservation"] == {"requests": 0, "tokens": 0, "cost_nusd": 0}
              and all(m["cost_ratio_p95"] == 1 for m in exact["models"])))
PYTHON
verdict $? "what over-reservation costs is what exact estimates bring"

# Learned bounds: less is held, most calls stay below, and the books are as exact as ever, also when workers are killed.
run --json --learned "${strict[@]}" --kills 5 "$place/generated-1.csv.gz"
python3 - "$place/estimated" "$place/out" <<'PYTHON'
import json, sys
fixed, learned = (json.load(open(path)) for path in sys.argv[1:])
ratio = lambda j: sum(m["estimate_nusd"] for m in j["models"]) / sum(m["cost_nusd"] for m in j["models"])
settled = sum(m["settled"] for m in learned["models"])
covered = sum(m["settled"] * m["covered"] for m in learned["models"] if m["settled"]) / settled
print("#", ratio(fixed), ratio(learned), covered)
sys.exit(not (learned["sound"] and learned["failed"] == 0 and settled > 100 and ratio(learned) < ratio(fixed)
              and covered > 0.9 and all(m["covered"] in (1, None) for m in fixed["models"])))
PYTHON
verdict $? "what is learned takes the place of the largest output"
run --learned --exact "$place/fleet.csv"
says "learned and exact" 2 'exclude each other'

# ------------------------------------------------------------------------------------------------------------ segments
run --keep "$place/fleet.csv"
"$tools/tlshm-inspect" -s "$segment" --verify >"$place/out" 2>&1
verdict $? "a kept segment is there for tlshm-inspect"
run "$place/fleet.csv"
says "an existing segment is left alone" 3 'exist'
[ -e "$segment" ]
verdict $? "and still there"
rm -f "$segment"

# ------------------------------------------------------------------------------------------------------------ real time
run --json --time 10x --ttl 1s --crash-rate 1 "$place/fleet.csv"
json "in real time lost holds are waited for" 0 'j["time"] == "real" and j["crashed"] == 3 and
    0 < j["lost"] == j["expired"] and j["lost"] + j["settled"] == 3 and j["sound"]'

# Somebody else books on the segment while it is replayed: the audit must see that.
"$tools/tlshm-replay" --segment "$segment" --json --time real "$place/slow.csv" >"$place/out" 2>"$place/err" &
pid=$!
for _ in $(seq 2000); do
    [ -e "$segment" ] && break
    sleep 0.05
done
id=$("$tools/tlshm" -s "$segment" reserve agent:s1/main tenant:acme --tokens 7)
id=${id%%$'\n'*}
"$tools/tlshm" -s "$segment" settle "${id##* }" --tokens 7 >/dev/null
wait $pid
keep $?
json "seven tokens too many are found" 1 'not j["sound"] and j["faults"] > 0 and
    any("7 tokens" in t or "2027 tokens" in t for t in j["fault_texts"])'

"$tools/tlshm-replay" --segment "$segment" --json --time real "$place/slow.csv" >"$place/out" 2>"$place/err" &
pid=$!
for _ in $(seq 2000); do
    pgrep -f -- "--be-a-worker .* $pid\$" >/dev/null && break
    sleep 0.05
done
sleep 0.5
kill -INT $pid
wait $pid
keep $?
json "an interrupt ends it early with a report" 0 'j["interrupted"] and j["requests"] == 1 and j["sound"]'
nothing_left "and leaves nothing behind"

# ------------------------------------------------------------------------------------------------------------ real data
for trace in derived_claude_code_fleet_60min.csv.gz AzureLLMInferenceTrace_code.csv mooncake_conversation.csv.gz; do
    if [ ! -e "$data/traces/$trace" ]; then
        case_skip "$trace" "the public trace is not here"
        continue
    fi
    run --json --kills 20 --workers 8 "${limits[@]}" "$data/traces/$trace"
    json "$trace is replayed soundly" 0 'j["requests"] > 3000 and 15 <= j["killed"] <= 20 and j["sound"] and
        j["overspend_tokens"] == 0 and 0 < j["refused"] < j["requests"]'
done

# Every model's dollars beside a plain reckoning in decimals; tenants with budgets, workers killed.
table=$data/prices/litellm_model_prices_and_context_window.json.gz
fleet=$data/traces/derived_claude_code_fleet_60min.csv.gz
if [ -e "$table" ] && [ -e "$fleet" ]; then
    run --json --prices "$table" "$fleet"
    python3 - "$table" "$fleet" "$place/out" <<'PYTHON'
import collections, csv, gzip, json, sys
from decimal import ROUND_CEILING, Decimal
table = json.load(gzip.open(sys.argv[1]), parse_float=Decimal)
told = json.load(open(sys.argv[3]))
def rate(model, key, tokens):
    tier = model.get(key + "_above_200k_tokens") if tokens > 200000 else None
    return Decimal(tier if tier is not None else model[key])
cost = collections.Counter()
for row in csv.DictReader(gzip.open(sys.argv[2], "rt")):
    model, n = table[row["model"]], int(row["input_tokens"])
    cached, out = int(row["cached_tokens_ttl5m"]), int(row["output_tokens"])
    exact = ((n - cached) * rate(model, "input_cost_per_token", n) + out * rate(model, "output_cost_per_token", n)
             + cached * rate(model, "cache_read_input_token_cost", n))
    cost[row["model"]] += int((exact * 10**9).to_integral_value(ROUND_CEILING))
ok = (len(cost) > 3 and {m["model"]: m["cost_nusd"] for m in told["models"]} == dict(cost)
      and told["used_nusd"] == sum(cost.values()) and told["unpriced_models"] == 0 and told["sound"])
print("# reckoned:", dict(cost))
sys.exit(not ok)
PYTHON
    verdict $? "a real fleet's dollars are those of the published table"
    run --json --prices "$table" --kills 20 --workers 8 --tenant-limit "cost \$20 per 10m" "$fleet"
    json "a budget of dollars for every tenant: none is above it" 0 'j["sound"] and j["overspend_nusd"] == 0 and
        j["refused_by_unit"]["cost"] > 100 and j["refused"] == j["refused_by_unit"]["cost"] and
        all(0 < t["peak_nusd"] <= t["budget_nusd"] == 20 * 10**9 and t["over_nusd"] == 0 for t in j["tenants"]) and
        all(1 < m["cost_ratio_p50"] < m["cost_ratio_p95"] for m in j["models"]) and
        j["lost_by_over_reservation"]["tokens"] > 0'
else
    case_skip "real prices" "the published table and trace are not here"
fi

finish
