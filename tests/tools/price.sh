#!/usr/bin/env bash
# `tlshm price` and `tlshm prices` on small tables: figures, exit codes, JSON, and what they say about wrong input.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/tools/ran.sh
source "${TLSHM_SOURCE:?}/tests/tools/ran.sh"

tool=${TLSHM_BUILD:?}/tools/tlshm
export TLSHM_PRICES=$place/litellm.json

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

cat >"$place/litellm.json" <<'JSON'
{
    "opus-4-1": {
        "litellm_provider": "anthropic",
        "input_cost_per_token": 1.5e-05, "output_cost_per_token": 7.5e-05,
        "cache_read_input_token_cost": 1.5e-06,
        "cache_creation_input_token_cost": 1.875e-05, "cache_creation_input_token_cost_above_1hr": 3e-05,
        "input_cost_per_token_batches": 7.5e-06, "output_cost_per_token_batches": 3.75e-05,
        "input_cost_per_token_priority": 3e-05, "output_cost_per_token_flex": 2e-05,
        "input_cost_per_audio_token": 4e-05, "output_cost_per_audio_token": 8e-05,
        "output_cost_per_reasoning_token": 9e-05,
        "search_context_cost_per_query": {"search_context_size_low": 0.005, "search_context_size_medium": 0.01}
    },
    "azure/small": {"litellm_provider": "azure", "input_cost_per_token": 1.234567e-06},
    "seconds": {"input_cost_per_second": 0.0001},
    "absurd": {"input_cost_per_token": 0.54},
    "free": {"input_cost_per_token": 0, "output_cost_per_token": 0}
}
JSON
cat >"$place/genai.json" <<'JSON'
[{"id": "acme", "model_match": {"starts_with": "acme"}, "models": [
    {"id": "acme-1", "match": {"starts_with": "acme-1"}, "prices": [
        {"prices": {"input_mtok": 1}},
        {"constraint": {"start_date": "2026-03-13"}, "prices": {"input_mtok": 2}},
        {"constraint": {"start_time": "12:00:00Z", "end_time": "13:00:00Z"}, "prices": {"input_mtok": 5}}]}]}]
JSON

figures()
{
    run price opus-4-1 --in 1000 --out 100
    prints "input and output" "\$0.0225"
    run price opus-4-1 --in 1k --cached 400 --cache-write 200 --cache-write-1h 100 --out 50 --reasoning 50
    prints "the parts of both" "\$0.01635"
    run price opus-4-1 --in 10 --audio-in 10 --out 10 --audio-out 10
    prints "audio" "\$0.0012"
    run price opus-4-1 --in 1000 --out 100 --batch
    prints "a batch" "\$0.01125"
    run price opus-4-1 --in 1000 --priority
    prints "priority" "\$0.03"
    run price opus-4-1 --out 1000 --flex
    prints "flex" "\$0.02"
    run price small --provider azure --in 1
    prints "a provider, and every digit" "\$0.000001234567"
    run price AZURE/small --in 1M
    prints "a prefix, and no digit too many" "\$1.234567"
    run price free --in 5 --out 5
    prints "free is free" "\$0.00"
    run price opus-4-1 --searches 3
    prints "searches" "\$0.03"
    run price opus-4-1
    prints "nothing used" "\$0.00"
    run price opus-4-1 --in 1000 --out 100 --json
    json "in JSON" 0 "j['model'] == 'opus-4-1' and j['provider'] == 'anthropic' and j['dollars'] == '0.0225' and
        j['cost'] == 22500000 and j['pusd'] == 22500000000 and j['input_pusd'] == 15000000000 and
        j['service'] == 'standard' and [(l['part'], l['count'], l['pusd'], l['rate'], l['cost']) for l in j['lines']] ==
        [('input', 1000, 15000000, '\$15.00 per 1M', '0.015'), ('output', 100, 75000000, '\$75.00 per 1M', '0.0075')]"
}

dates()
{
    export TLSHM_PRICES=$place/genai.json
    run price acme-1 --in 1M --at 2026-03-12
    prints "before a date" "\$1.00"
    run price acme-1 --in 1M --at 2026-03-13
    prints "on a date" "\$2.00"
    run price acme-1 --in 1M --at 2020-01-01T12:59:59Z
    prints "at a time of day" "\$5.00"
    run price acme-1 --in 1M --at 2020-01-01T15:00+0230
    prints "with an offset" "\$5.00"
    run price acme-1 --in 1M --at 1970-01-01
    prints "at the first instant" "\$1.00"
    run price acme-1 --in 1M --at yesterday
    says "a date that is none" 2 "'yesterday' is no date such as"
    export TLSHM_PRICES=$place/litellm.json
}

refusals()
{
    run price opus-4.1 --in 1
    [ "$code" -eq 1 ] && [ -z "$out" ] && [[ $err == "tlshm: 'opus-4.1' is not in this table; did you mean 'opus-4-1'?" ]]
    verdict $? "an unknown model is exit code 1 and names the nearest"
    run price opus-4.1 --in 1 --json
    json "an unknown model in JSON" 1 "j['verdict'] == 'unknown' and j['reason'] == 'UNKNOWN_MODEL' and
        j['lack'] == 'model' and j['nearest'] == 'opus-4-1'"
    run price zzz --in 1 --json
    json "nothing near" 1 "j['nearest'] is None"
    run price seconds --in 1
    says "a model without a price for tokens" 1 "'seconds' has no price for tokens"
    run price absurd --in 1
    says "a model with an absurd price" 1 "'absurd' has a price in this table that makes no sense"
    run price azure/small --out 1 --json
    json "a part without a price" 1 "j['lack'] == 'part' and 'no price for output' in j['text']"
    run price opus-4-1 --provider azure --in 1
    says "another provider's model" 1 "'opus-4-1' is not in this table"
}

wrong_usage()
{
    run price
    says "no model" 2 "price needs MODEL"
    run price opus-4-1 --in many
    says "a count that is none" 2 "'many' is no number of tokens: column 1"
    run price opus-4-1 --in -5
    says "a negative count" 2 "'-5' is no number of tokens"
    run price opus-4-1 --in 5 --cached 6
    says "more cached than there is" 2 "the parts of the input or of the output are more than the whole"
    run price opus-4-1 --in unlimited
    says "a count out of range" 3 "ERANGE"
    run price opus-4-1 --in 9007199254740992
    says "a cost out of range" 3 "ERANGE"
    run price opus-4-1 --batch --flex
    says "two services" 2 "--batch, --priority and --flex exclude each other"
    TLSHM_PRICES='' run price opus-4-1
    says "no table is named" 2 "no prices are named: use --prices, --config of a file that has some, or set TLSHM_PRICES"
    TLSHM_PRICES='' run prices
    says "no table is named to look into" 2 "no price table is named: use --prices or set TLSHM_PRICES"
    run price opus-4-1 --prices "$place/absent.json"
    says "an absent table" 3 "absent.json: no such file.*ENOENT"
    printf '{"a":\n nonsense}' >"$place/broken.json"
    run price a --prices "$place/broken.json" --json
    json "a broken table" 3 "j['error']['name'] == 'EINVAL' and 'line 2, column' in j['error']['text']"
    "$tool" price opus-4-1 --in 1 >/dev/full 2>"$place/err"
    code=$? out='' err=$(cat "$place/err")
    says "an answer that can't be written is an error" 3 "could not be written"
}

summaries()
{
    run prices
    says "what is in a table" 0 "format +litellm.*models +5.*priced +3.*free +1.*unpriced +1.*refused +1"
    says "what is wrong with it" 0 "absurd: input_cost_per_token: 0.54 is absurd: more than .1,000 per million tokens"
    run prices --prices "$place/genai.json" --json
    json "in JSON" 0 "j == {'format': 'genai-prices', 'providers': 1, 'models': 1, 'priced': 1, 'free': 0, 'unpriced': 0,
        'refused': 0}"
    [ -z "$err" ]
    verdict $? "no warning without a reason"
    gzip -k "$place/genai.json"
    run prices --prices "$place/genai.json.gz"
    says "a packed table" 0 "genai-prices"
    run prices --prices "$place"
    says "a directory is no table" 3 "not a regular file.*EINVAL"
}

reloading()
{
    export TLSHM_SEGMENT=$place/segment
    run create
    TLSHM_PRICES='' run prices reload
    prints "reload without a table" ""
    run prices reload --json
    json "reload with a sound one" 0 "j == {'done': True}"
    run prices reload --prices "$place/broken.json"
    says "a broken table is not announced" 3 "broken.json: line 2, column.*EINVAL"
    run prices reload --segment "$place/absent" --prices "$TLSHM_PRICES"
    says "no segment" 3 "ENOENT"
    run prices reload now
    says "an operand too many" 2 "prices reload: unexpected 'now'"
    run destroy
}

documentation()
{
    local word missing=''
    for word in $("$tool" price --help | grep -oE -- '--[a-z0-9-]+' | sort -u); do
        grep -q -- "Fl -${word#--}\b" "$TLSHM_SOURCE/tools/man/tlshm.1" || missing+=" $word"
    done
    err="missing:$missing"
    [ -z "$missing" ]
    verdict $? "tlshm(1) has every option"
}

figures
dates
refusals
wrong_usage
summaries
reloading
documentation
finish
