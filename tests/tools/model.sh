#!/usr/bin/env bash
# `tlshm reserve --model`, `tlshm settle` by counts and by answers, `tlshm models`; wrong use.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

tool=${TLSHM_BUILD:?}/tools/tlshm
export TLSHM_SEGMENT=$place/segment TLSHM_PRICES=$place/prices
last=

# run ARGUMENT...: leaves out, err and code behind.
run()
{
    "$tool" "$@" >"$place/out" 2>"$place/err" </dev/null
    keep $?
}

# hold ARGUMENT...: reserves and leaves the id in `last`.
hold()
{
    last=$("$tool" reserve "$@")
}

cat >"$place/prices" <<'JSON'
{"m": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 3e-07,
       "input_cost_per_token_batches": 1e-06, "output_cost_per_token_batches": 2e-06}}
JSON
cat >"$place/conf" <<'YAML'
estimates: {output_default: 700, output_floor: 50, output_cap: 900, max_share: 10%}
YAML
cat >"$place/body" <<'JSON'
{"model":"m-2026","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"x"}}],
"usage":{"prompt_tokens":100,"completion_tokens":40,"total_tokens":140,"prompt_tokens_details":{"cached_tokens":60}}}
JSON
printf 'data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":12,"completion_tokens":1}}\n\n' >"$place/stream"
printf '{"error":{"message":"slow down","type":"rate_limit_exceeded","code":"rate_limit_exceeded"}}' >"$place/refused"

"$tool" create --models 20 >/dev/null || exit 1
"$tool" limit set tenant:t "cost \$5 per day"

reserving()
{
    run -j reserve tenant:t --model m --in 1k --max-out 200 --tools 2
    json "counts become amounts" 0 "j['estimate'] == {'tokens': 1200, 'cost': 6000000, 'requests': 0, 'concurrency': 0,
        'input_tokens': 1000, 'output_tokens': 200, 'tool_calls': 2} and j['output_source'] == 'given' and j['priced']"
    run -j reserve tenant:t --model m --in 1000 --cached 500 --max-out 100 --batch
    json "cached input, and another service" 0 "j['estimate']['cost'] == 500 * 1000 + 500 * 300 + 100 * 2000"
    run -j reserve tenant:t --model m --in 10
    json "without a maximum" 0 "j['output'] == 4096 and j['output_source'] == 'assumed'"
    run -j reserve tenant:t --model m --in 10 --max-out none
    json "without any output" 0 "j['output'] == 0 and j['estimate']['cost'] == 30000"
    run -j reserve tenant:t --model m --in 10 --config "$place/conf"
    json "as a file says" 0 "j['output'] == 700"
    run -j reserve tenant:t --model m --in 10 --max-out 5000 --config "$place/conf"
    json "never more than a file says" 0 "j['output'] == 900 and j['output_source'] == 'given'"
    "$tool" limit set agent:small 'tokens 1000 per 1h'
    run -j reserve agent:small --model m --in 10 --config "$place/conf"
    json "a share of the smallest limit" 0 "j['output'] == 90"
    run reserve tenant:t --model nobody-knows --in 10
    says "an unknown model is refused where cost is limited, and why it is one" 1 \
        $'tenant:t limits cost, and the model has no price\ntlshm: \'nobody-knows\' is not in this table'
    run -j reserve agent:free --model nobody-knows --in 10
    json "and is not where it is not" 0 "not j['priced'] and j['estimate']['cost'] == 0"
    TLSHM_PRICES='' run reserve tenant:t --model m --in 10
    says "without a table every model is unknown" 1 'no prices are named: use --prices, --config'
}

# Prices of a configuration go before the environment's table, and those that --prices names before both.
configured()
{
    local config=$place/prices.yaml
    cat >"$config" <<'YAML'
prices:
  default: {input: $1 per 1M, output: $1 per 1M}
  overrides: {m: {input: $7 per 1M, output: $9 per 1M, cache_read: $0.70 per 1M}}
estimates: {output_default: 20}
YAML
    run -j reserve tenant:t --model m --in 1000 --cached 100 --config "$config"
    json "held by the prices of a configuration" 0 "j['estimate']['cost'] == 900 * 7000 + 100 * 700 + 20 * 9000"
    TLSHM_PRICES='' run -j would-fit tenant:t --model whatever --in 1000 --config "$config"
    json "and by its default, without any table" 0 "j['estimate']['cost'] == 1020 * 1000"
    run -j reserve tenant:t --model m --in 1000 --config "$config" --prices "$TLSHM_PRICES"
    json "a table that is named goes before" 0 "j['estimate']['cost'] == 1000 * 3000 + 20 * 15000"
    hold agent:a --model m --in 1000 --config "$config"
    run -j settle "$last" --in 500 --config "$config"
    json "settled by them" 0 "j['charged']['cost'] == 500 * 7000"
    run price m --in 1000 --out 10 --config "$config"
    says "and told beforehand" 0 '^.0\.00709'
    run price m --in 1 --config "$place/conf"
    says "a configuration without prices leaves the environment's table" 0 '^.0\.000003'
    TLSHM_PRICES='' run price m --in 1 --config "$place/conf"
    says "or nothing" 2 'no prices are named'
    printf 'estimates: {output_default: 20, cached_discount: 90%%}\n' >"$config"
    hold agent:a --model m --in 1000 --cached 800 --config "$config"
    run -j reservation "$last"
    json "cached tokens count as the file says" 0 "j['estimate']['tokens'] == 1000 - 720 + 20 and j['estimate']['input_tokens'] == 1000"
    run -j settle "$last" --in 1000 --cached 1000
    json "and are charged so" 0 "j['charged']['tokens'] == 100 and j['charged']['cost'] == 1000 * 300"
    printf 'prices: {path: %s}\n' "$place/absent" >"$config"
    run reserve tenant:t --model m --in 1 --config "$config"
    says "a configuration whose table is not there" 3 'absent'
    printf 'prices: {pth: /x}\n' >"$config"
    run reserve tenant:t --model m --in 1 --config "$config"
    says "a configuration with faults" 2 "prices.yaml:1:10: unknown key 'pth'"
}

asking()
{
    local before
    before=$("$tool" usage tenant:t)
    run -j would-fit tenant:t --model m --in 1000 --max-out 100
    json "whether a call by model fits" 0 "j['verdict'] == 'admitted' and j['estimate']['cost'] == 1000 * 3000 + 100 * 15000"
    run would-fit tenant:t --model m --in 1000 --max-out 100
    says "in one word" 0 '^admitted'
    run would-fit tenant:t --model m --in 1M --max-out 1M
    says "one that never does" 1 '18 can never fit into tenant:t.s limit of .5 per day'
    run would-fit tenant:t --model nobody-knows --in 10
    says "one whose price nobody knows" 1 $'tenant:t limits cost.*\'nobody-knows\' is not in this table'
    run would-fit tenant:t --in 10
    says "counts of no model" 2 'go with --model'
    [ "$before" = "$("$tool" usage tenant:t)" ]
    verdict $? "and nothing is held"
}

settling()
{
    hold agent:a --model m --in 1000 --max-out 100 --batch
    run reservation "$last"
    says "a reservation shows its model" 0 $'model +m\nservice +batch'
    run -j settle "$last" --in 800 --cached 300 --out 70 --tools 1
    json "priced as it was reserved" 0 "j['charged']['cost'] == 500 * 1000 + 300 * 300 + 70 * 2000
        and j['charged']['tokens'] == 870 and j['charged']['tool_calls'] == 1"
    run -j settle "$last" --in 1 --out 1
    json "a repeat" 0 "j['verdict'] == 'replay' and j['charged']['tokens'] == 870"
    hold agent:a --model m --in 1000 --max-out 100
    run -j settle "$last" --usage "$place/body"
    json "by what was answered" 0 "j['charged']['cost'] == 40 * 3000 + 60 * 300 + 40 * 15000"
    hold agent:a --model m --in 1000 --max-out 100
    "$tool" -j settle "$last" --usage - >"$place/out" 2>"$place/err" <"$place/stream"
    keep $?
    json "a stream on standard input that broke off: at least that" 0 "j['charged']['input_tokens'] == 1000"
    hold agent:a --model m --in 1000
    run -j settle "$last" --usage "$place/refused"
    json "an answer that is an error is a refund" 0 "j['status'] == 'REFUNDED' and j['charged']['tokens'] == 0"
    hold agent:a --tokens 500
    run -j settle "$last" --in 10 --out 10 --model m
    json "a hold without a model" 0 "j['charged']['cost'] == 180000"
    hold agent:a --model m --in 1000 --max-out 100
    run -j settle "$last" --in 1 --out 1 --at-least
    json "at least" 0 "j['charged']['cost'] == 4500000"
}

learning()
{
    for n in {1..40}; do
        hold agent:a --model m --in 10
        "$tool" settle "$last" --in 10 --out "$n" >/dev/null
    done
    run -j models
    json "what was learned" 0 "[(m['model'], m['provider'], m['learned'], m['output_p50'], m['output_p99']) for m in j['models']]
        == [('m', None, 42, 22, None)] and j['models'][0]['output_p95'] == 41"
    run models
    says "as a table" 0 'model +provider +learned +calls +output p50.*m +- +42 +42'
    run -j reserve agent:a --model M --in 10
    json "and is held for the next call" 0 "j['output_source'] == 'learned' and j['output'] == 41"
}

wrong()
{
    run reserve tenant:t --model m --tokens 5
    says "amounts and a model" 2 'not with amounts'
    run reserve tenant:t --in 5 --tokens 7
    says "counts without a model" 2 'go with --model'
    run reserve tenant:t --model m --in 5 --max-out few
    says "a maximum that is none" 2 "max-out 'few'"
    run reserve tenant:t --model m --in 5 --cached 6
    says "more cached than there is" 2 'more than the whole'
    run reserve tenant:t --model m --in 5 --config "$place/prices"
    says "another file in place of a configuration" 2 'prices'
    run settle 1 --usage "$place/body" --in 5
    says "an answer and counts" 2 'tells it all'
    run settle 1 --in 5 --tokens 5
    says "counts and amounts" 2 'amounts go without'
    run settle 1 --usage "$place/absent"
    says "an absent answer" 3 'absent: No such file'
    run settle 1 --usage "$place/body" --provider nobody
    says "an unknown provider" 2 "unknown provider 'nobody'"
    run settle 1 --in 5
    says "an unknown id" 3 'unknown'
    run create --models 0x
    says "a size that is none" 2 'models'
}

reserving
configured
asking
settling
learning
wrong
finish
