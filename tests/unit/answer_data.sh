#!/usr/bin/env bash
# Recorded answers of providers, where there are any: see answer_data.c.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "${TLSHM_SOURCE:?}/tests/lint/tap.sh"
# shellcheck source=tools/common/data.sh
source tools/common/data.sh

if [ -r "$data/providers/usage_blocks.jsonl" ] && [ -r "$data/prices/genai-prices_usages.json.gz" ]; then
    exec "${TLSHM_BUILD:?}/tests/answer-data" "$data"
fi
case_skip "recorded answers" "no files in $data/providers and $data/prices"
finish
