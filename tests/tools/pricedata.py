#!/usr/bin/env python3
# Prices by the library beside prices by a second, slow and plain reckoning: of a table made here, and, where they are, of
# the published tables; and genai-prices' own golden cases. TAP.
# Usage: pricedata.py   ($TLSHM_BUILD names the build, $TLSHM_SOURCE the tree, $TLSHM_DATA where the published tables are)
# SPDX-License-Identifier: MIT
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from decimal import ROUND_CEILING, Decimal

BUILD = os.environ['TLSHM_BUILD']
SERVICES = ['', '_batches', '_priority', '_flex']
ABSURD = Decimal('0.001')  # a token
ABSURD_REQUEST = Decimal(100)
GOLDEN_AT_S = 1784116800  # 15 July 2026, noon UTC: between two dates on which prices of the golden cases change

# Key of LiteLLM's, what it prices, and what stands in where it is missing.
PARTS = {
    'input': ('input_cost_per_token', None),
    'cache_read': ('cache_read_input_token_cost', 'input'),
    'cache_write': ('cache_creation_input_token_cost', 'input'),
    'cache_write_1h': ('cache_creation_input_token_cost_above_1hr', 'cache_write'),
    'input_audio': ('input_cost_per_audio_token', 'input'),
    'cache_read_audio': ('cache_read_input_audio_token_cost', 'input_audio'),
    'input_image': ('input_cost_per_image_token', 'input'),
    'output': ('output_cost_per_token', None),
    'reasoning': ('output_cost_per_reasoning_token', 'output'),
    'output_audio': ('output_cost_per_audio_token', 'output'),
    'output_image': ('output_cost_per_image_token', 'output'),
}
ALIASES = {'cache_read': ['input_cost_per_token_cache_hit']}
REQUEST = 'input_cost_per_request'
SEARCHES = 'search_context_cost_per_query'
INPUTS = list(PARTS)[:7]
OUTPUTS = list(PARTS)[7:]

USAGES = [
    {'input': 1000, 'output': 100},
    {'input': 1, 'output': 1},
    {'input': 1000},
    {'output': 7},
    {'input': 128000, 'output': 3, 'cache_read': 1000},
    {'input': 128001, 'output': 3, 'cache_read': 1000},
    {'input': 300000, 'output': 5000, 'cache_read': 100000, 'cache_write': 50000, 'cache_write_1h': 20000,
     'reasoning': 3000},
    {'input': 900000, 'output': 60000, 'cache_read': 300, 'cache_read_audio': 200, 'input_audio': 300,
     'input_image': 258, 'reasoning': 5, 'output_audio': 7, 'output_image': 11},
    {'input': 1000, 'cache_read': 900, 'input_image': 500, 'output': 1, 'web_searches': 3},
    {'input': 2**53, 'output': 2**53},
]


class Report:
    def __init__(self):
        self.cases = self.failures = 0

    def case(self, name, faults):
        faults = list(faults)
        self.cases += 1
        self.failures += bool(faults)
        print('%sok %d - %s' % ('not ' if faults else '', self.cases, name))
        for fault in faults[:10]:
            print('# %s' % (fault,))
        if len(faults) > 10:
            print('# and %d more' % (len(faults) - 10))

    def skip(self, name, why):
        self.cases += 1
        print('ok %d - %s # SKIP %s' % (self.cases, name, why))


# ------------------------------------------------------------------------------------------------------- the library


def price(table, calls, overrides=()):
    """The library's answers to calls."""
    lines = ''.join(json.dumps(call) + '\n' for call in calls)
    ran = subprocess.run([os.path.join(BUILD, 'tests', 'price-lines'), table, *overrides], input=lines,
                         capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit('price-lines: exit code %d: %s' % (ran.returncode, ran.stderr))
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(calls)
    return answers


def summary(table):
    """What `tlshm prices` says: the counts, and the models it warned of."""
    ran = subprocess.run([os.path.join(BUILD, 'tools', 'tlshm'), 'prices', '--json', '--prices', table],
                         capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit('tlshm prices: exit code %d: %s' % (ran.returncode, ran.stderr))
    return json.loads(ran.stdout), {line.split(': ')[1] for line in ran.stderr.splitlines()}


# --------------------------------------------------------------------------------------------- LiteLLM, reckoned again


def numbers(entry):
    """All prices of tokens and requests: (part, service suffix, above) to pico-dollars, or None where one is absurd."""
    found = {}

    def take(part, service, above, value):
        if value is None:
            return True
        dear = ABSURD_REQUEST if part in ('request', 'search') else ABSURD
        if not isinstance(value, Decimal) or value < 0 or value > dear:
            return False
        pico = int((value * 10**12).to_integral_value(ROUND_CEILING))
        key = (part, service, above)
        found[key] = max(found.get(key, 0), pico)
        return True

    def walk(members, start):
        good = True
        for part, key in [(part, key) for part, (key, _) in PARTS.items()] + [('request', REQUEST)]:
            for name in [key] + ALIASES.get(part, []):
                for member, value in members.items():
                    match = re.fullmatch(re.escape(name) + r'(?:_above_(\d+)k_tokens)?(_batches|_priority|_flex)?',
                                         member)
                    if match:
                        above = start or int(match.group(1) or 0) * 1000
                        good = take(part, match.group(2) or '', above, value) and good
        return good

    good = walk({key: value for key, value in entry.items() if '_cost' in key}, 0)
    sizes = entry.get(SEARCHES, {})
    for value in sizes.values() if isinstance(sizes, dict) else []:
        good = take('search', '', 0, value) and good
    for tier in entry.get('tiered_pricing', []):
        if 'range' in tier:
            good = walk(tier, int(tier['range'][0])) and good
    return found if good else None


def classify(entry, found):
    if found is None:
        return 'refused'
    tokens = {key: pico for key, pico in found.items() if key[0] not in ('request', 'search')}
    if not tokens:
        return 'unpriced'
    if any(found.values()):
        return 'priced'
    token_key = re.compile('|'.join('^' + re.escape(name) + r'(_above_\d+k_tokens)?(_batches|_priority|_flex)?$'
                                    for name in [key for key, _ in PARTS.values()] + sum(ALIASES.values(), [])
                                    + [REQUEST]))
    other = any('_cost' in key and isinstance(value, Decimal) and value > 0 and not token_key.match(key)
                for key, value in entry.items())
    return 'unpriced' if other else 'free'


def rate(found, part, service, total):
    def step(suffix):
        steps = [(above, pico) for (p, s, above), pico in found.items()
                 if p == part and s == suffix and (above == 0 or total > above)]
        return max(steps) if steps else None

    own, standard = step(service), step('')
    if own and (not standard or own[0] >= standard[0]):
        return own[1]
    if own:
        return max(own[1], standard[1])
    return standard[1] if standard else None


def reckon(found, usage, service):
    """(input, output, request) in pico-dollars; None where a part has no price."""
    count = {part: usage.get(part, 0) for part in PARTS}
    total = count['input']
    count['cache_read'] -= count['cache_read_audio']
    count['input_audio'] -= count['cache_read_audio']
    fresh = count['input'] - sum(count[part] for part in INPUTS[1:] if part != 'input_image')
    count['input_image'] = min(count['input_image'], fresh)
    count['input'] = fresh - count['input_image']
    count['output'] -= sum(count[part] for part in OUTPUTS[1:])
    sums = {}
    for side, parts in (('input', INPUTS), ('output', OUTPUTS)):
        sums[side] = 0
        for part in parts:
            if not count[part]:
                continue
            named, pico = part, None
            while named and pico is None:
                pico = rate(found, named, service, total)
                named = PARTS[named][1]
            if pico is None:
                return None
            sums[side] += count[part] * pico
    searches = usage.get('web_searches', 0) * (rate(found, 'search', service, total) or 0)
    return sums['input'], sums['output'], searches + (rate(found, 'request', service, total) or 0)


def compare(found, kind, usage, service, answer):
    """What is wrong with the library's answer; nothing if it is right."""
    if kind in ('refused', 'unpriced'):
        return None if answer['verdict'] == 'UNKNOWN' and answer['lack'] in (2, 3) else 'a price for one without'
    sums = reckon(found, usage, service)
    if sums is None:
        return None if answer['verdict'] == 'UNKNOWN' and answer['lack'] == 4 else 'a price for a part without'
    if -(-sum(sums) // 1000) > 2**53:
        return None if answer['verdict'] == 'ERANGE' else 'no error where the cost is out of range'
    got = tuple(answer.get(key) for key in ('input', 'output', 'request'))
    if answer['verdict'] != 'OK' or got != sums or answer['nusd'] != -(-sum(sums) // 1000):
        return 'expected %s' % (sums,)
    return None


def check_litellm(report, name, path, every):
    """`every`: each usage with each service; else some of them for each model, which takes less time."""
    opener = gzip.open if path.endswith('.gz') else open
    with opener(path, 'rt', encoding='utf-8') as file:
        table = json.load(file, parse_float=Decimal, parse_int=Decimal)
    table.pop('sample_spec', None)
    found = {model: numbers(entry) for model, entry in table.items()}
    kinds = {model: classify(entry, found[model]) for model, entry in table.items()}
    counts = {kind: sum(k == kind for k in kinds.values()) for kind in ('priced', 'unpriced', 'refused', 'free')}
    counts['priced'] += counts['free']
    counts['models'] = len(table)
    said, warned = summary(path)
    report.case('%s: models by kind' % name,
                ['%s: %s, expected %d' % (key, said[key], counts[key]) for key in counts if said[key] != counts[key]])
    report.case('%s: every refused model is named, and no other' % name,
                warned ^ {model for model, kind in kinds.items() if kind == 'refused'})
    report.case('%s: some of each kind' % name, [kind for kind in counts if not counts[kind]])
    calls, what = [], []
    for place, model in enumerate(table):
        for usage in USAGES if every else USAGES[place % 2::2]:
            for number in range(len(SERVICES)) if every else (0, 1 + len(calls) // 2 % 3):
                calls.append({'model': model, 'service': number, 'usage': usage})
                what.append((model, SERVICES[number], usage))
    faults = []
    for call, (model, suffix, usage), answer in zip(calls, what, price(path, calls)):
        fault = compare(found[model], kinds[model], usage, suffix, answer)
        if fault or answer['verdict'] != 'ERANGE' and answer['model'] != model:
            faults.append('%s%s %s: %s: %s' % (model, suffix, usage, fault, answer))
    report.case('%s: %d prices' % (name, len(calls)), faults)


def made_table():
    """A table with every key in every form, and what is wrong with tables."""
    chance = random.Random(20260101)
    table = {'sample_spec': {'input_cost_per_token': 'dollars', 'litellm_provider': 'one of many'}}
    for number in range(150):
        entry = {'litellm_provider': 'provider-%d' % (number % 7), 'mode': 'chat', 'max_tokens': 4096}
        for key, _ in PARTS.values():
            for suffix in SERVICES:
                for above in ('', '_above_128k_tokens', '_above_200k_tokens'):
                    if chance.random() < (0.5 if suffix == above == '' else 0.1):
                        entry[key + above + suffix] = chance.choice(
                            [0, 1e-06, 2.5e-06, 3.0000000000000004e-07, 7.5e-05, 1.25e-09, 1e-13, 1e-3])
        if chance.random() < 0.1:
            entry[REQUEST] = 0.005
        if chance.random() < 0.1:
            entry[SEARCHES] = {'search_context_size_low': 0.01, 'search_context_size_high': 0.035}
        table['family-%d/model-%d' % (number % 5, number)] = entry
    table['m-tiers'] = {'tiered_pricing': [
        {'range': [0, 32000], 'input_cost_per_token': 1e-06, 'output_cost_per_token': 2e-06},
        {'range': [32000, 256000.0], 'input_cost_per_token': 3e-06, 'output_cost_per_token': 4e-06},
        {'max_results_range': [0, 25], 'input_cost_per_query': 0.005}]}
    table['m-hit'] = {'input_cost_per_token': 1e-06, 'input_cost_per_token_cache_hit': 1e-07}
    table['m-free'] = {'input_cost_per_token': 0, 'output_cost_per_token': 0.0, 'max_tokens': 10**30}
    table['m-images'] = {'input_cost_per_token': 0, 'output_cost_per_token': 0, 'output_cost_per_image': 0.04}
    table['m-seconds'] = {'input_cost_per_second': 0.0001}
    table['m-request'] = {REQUEST: 0.005}
    table['m-null'] = {'input_cost_per_token': None}
    table['m-negative'] = {'input_cost_per_token': -1e-06, 'output_cost_per_token': 1e-06}
    table['m-absurd'] = {'input_cost_per_token': 0.54}
    table['m-text'] = {'input_cost_per_token': '0.000001'}
    table['m-fee'] = {'input_cost_per_token': 1e-06, REQUEST: 100.5}
    return table


# ----------------------------------------------------------------------------------------------- genai-prices' golden


def usage_of(golden):
    names = {'input': 'input_tokens', 'cache_read': 'cache_read_tokens', 'cache_write': 'cache_write_tokens',
             'input_audio': 'input_audio_tokens', 'cache_read_audio': 'cache_audio_read_tokens',
             'output': 'output_tokens', 'reasoning': 'output_reasoning_tokens',
             'output_audio': 'output_audio_tokens', 'output_image': 'output_image_tokens',
             'input_image': 'input_image_tokens', 'input_video': 'input_video_tokens', 'web_searches': 'web_searches'}
    return {ours: golden.get(theirs, 0) for ours, theirs in names.items()}


def excuse(table, case, answer):
    """Why the published table itself cannot give the golden price. None: it can."""
    model, provider, usage = case['model'], case['extractor']['provider_id'], case['usage']
    entries = [p for p in table if p['id'] == provider][0]['models']
    if answer['verdict'] == 'UNKNOWN':
        return None if model.lower() in json.dumps(entries).lower() else 'the table does not name this model'
    entry = [m for m in entries if m['id'] == answer['model']]
    if usage.get('output_image_tokens') and entry and 'output_image_mtok' not in entry[0]['prices']:
        wanted = Decimal(case['extractor']['output_price']) * 10**12
        dearer = answer['output'] >= wanted and Decimal(case['extractor']['input_price']) * 10**12 == answer['input']
        return 'the table has one price for text and pictures' if dearer else None
    return None


def golden_cases(path):
    with gzip.open(path, 'rt', encoding='utf-8') as file:
        for response in json.load(file):
            for extracted in response['extracted']:
                for extractor in extracted['extractors']:
                    yield {'model': response.get('model', ''), 'usage': extracted['usage'], 'extractor': extractor}


def check_golden(report, table_path, golden_path):
    with open(table_path, encoding='utf-8') as file:
        table = json.load(file)
    cases = [case for case in golden_cases(golden_path) if 'input_price' in case['extractor']]
    calls = [{'model': case['model'], 'provider': case['extractor']['provider_id'], 'at_s': GOLDEN_AT_S,
              'usage': usage_of(case['usage'])} for case in cases]
    faults, excused = [], {}
    for case, answer in zip(cases, price(table_path, calls)):
        sides = [Decimal(case['extractor'][key]) * 10**12 for key in ('input_price', 'output_price')]
        if answer['verdict'] == 'OK' and sides == [answer['input'], answer['output']]:
            continue
        why = excuse(table, case, answer)
        if why:
            excused.setdefault(why, set()).add((case['model'], case['extractor']['provider_id']))
        else:
            faults.append('%s: %s' % (case, answer))
    report.case('golden: %d prices of genai-prices' % len(cases), faults)
    for why, models in sorted(excused.items()):
        for model in sorted(models):
            print('# not compared, %s: %s of %s' % (why, *model))
    report.case('golden: few cases are left out', [excused] if sum(map(len, excused.values())) > len(cases) / 100 else [])
    report.case('golden: some cases', [] if len(cases) > 0 else ['none'])


def check_genai_counts(report, path):
    with open(path, encoding='utf-8') as file:
        table = json.load(file)
    said, warned = summary(path)
    expected = {'providers': len(table), 'models': sum(len(p['models']) for p in table)}
    expected['priced'] = expected['models']
    report.case('genai-prices: all of it is understood', [(said, expected)] if
                {key: said[key] for key in expected} != expected else [])
    report.case('genai-prices: nothing to warn of', warned)
    calls, wanted = [], []
    for provider in table:
        for model in provider['models']:
            calls.append({'model': model['id'], 'provider': provider['id'], 'usage': {'input': 1000, 'output': 0}})
            wanted.append(model['id'])
    answers = price(path, calls)
    # An id may be met by an earlier model's rule; it always has a price.
    report.case('genai-prices: every model is found by its id',
                [(call, answer) for call, answer in zip(calls, answers) if answer['verdict'] != 'OK'])


# --------------------------------------------------------------------------------------------------------------- main


def main():
    report = Report()
    os.chdir(os.environ['TLSHM_SOURCE'])
    found = subprocess.run(['bash', '-c', 'source tools/common/data.sh && printf %s "$data"'], capture_output=True,
                           text=True, check=True)
    data = os.path.join(found.stdout, 'prices')
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'made.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(made_table(), file)
        check_litellm(report, 'a table made here', path, True)
    litellm = os.path.join(data, 'litellm_model_prices_and_context_window.json.gz')
    genai = os.path.join(data, 'genai-prices_data_slim.json')
    golden = os.path.join(data, 'genai-prices_usages.json.gz')
    if os.path.exists(litellm):
        check_litellm(report, 'LiteLLM', litellm, False)
    else:
        report.skip('LiteLLM', 'no published table here')
    if os.path.exists(genai):
        check_genai_counts(report, genai)
    else:
        report.skip('genai-prices', 'no published table here')
    if os.path.exists(genai) and os.path.exists(golden):
        check_golden(report, genai, golden)
    else:
        report.skip('golden', 'no golden cases here')
    print('1..%d' % report.cases)
    return 1 if report.failures else 0


if __name__ == '__main__':
    sys.exit(main())
