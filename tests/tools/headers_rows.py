#!/usr/bin/env python3
# Recorded answers of providers against `tlshm headers`: every header and every error body agrees with what is worked out
# here, in another way: from a list of whole names.
# Usage: headers_rows.py TLSHM FOLDER
# SPDX-License-Identifier: MIT
import concurrent.futures
import datetime
import email.utils
import fractions
import json
import math
import re
import subprocess
import sys

TOOL, FOLDER = sys.argv[1:3]
MINUTE, DAY, MONTH = 60, 86400, 30 * 86400
HINTS = {'anthropic-oauth': 'anthropic', 'replicate': 'any', 'together': 'any', 'huggingface': 'any'}
KINDS = {'requests': 'requests', 'tokens': 'tokens', 'input-tokens': 'input_tokens', 'output-tokens': 'output_tokens',
         'input-images': 'images'}
WINDOWS = {('anthropic', 'requests'): MINUTE, ('anthropic', 'tokens'): MINUTE, ('anthropic', 'input_tokens'): MINUTE,
           ('anthropic', 'output_tokens'): MINUTE, ('groq', 'requests'): DAY, ('groq', 'tokens'): MINUTE}
WHOLE = {  # name: field, kind, window
    'x-ratelimit-limit-req-10-second': ('limit', 'requests', 10),
    'x-ratelimit-remaining-req-10-second': ('remaining', 'requests', 10),
    'x-ratelimit-limit-tokens-minute': ('limit', 'tokens', MINUTE),
    'x-ratelimit-remaining-tokens-minute': ('remaining', 'tokens', MINUTE),
    'x-ratelimit-limit-tokens-month': ('limit', 'tokens', MONTH),
    'x-ratelimit-remaining-tokens-month': ('remaining', 'tokens', MONTH),
    'x-ratelimit-limit': ('limit', 'requests', None), 'x-ratelimit-remaining': ('remaining', 'requests', None),
    'x-ratelimit-reset': ('reset', 'requests', None), 'ratelimit-remaining': ('remaining', 'requests', None),
    'ratelimit-reset': ('reset', 'requests', None), 'x-rate-limit-reset-tokens': ('reset', 'tokens', None),
    'anthropic-ratelimit-unified-5h-utilization': ('share', 'share', 5 * 3600),
    'anthropic-ratelimit-unified-5h-reset': ('reset', 'share', 5 * 3600),
    'anthropic-ratelimit-unified-7d-utilization': ('share', 'share', 7 * DAY),
    'anthropic-ratelimit-unified-7d-reset': ('reset', 'share', 7 * DAY),
}
NOTHING = re.compile(r'date|retry-after|openai-processing-ms|x-amzn-.*|x-ratelimit-tokens-query-cost|content-.*|x-ms-region|'
                     r'policy-id|x-should-retry|anthropic-ratelimit-unified-\w+-status')


def seconds(text):
    """A length of time, in seconds."""
    if re.fullmatch(r'\d+(\.\d+)?', text):
        return fractions.Fraction(text)
    units = {'h': 3600, 'm': 60, 's': 1, 'ms': fractions.Fraction(1, 1000)}
    return sum(fractions.Fraction(number) * units[unit] for number, unit in re.findall(r'([\d.]+)(ms|[hms])', text))


def reset(text, now):
    if 'T' in text:
        at = datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()
    elif re.fullmatch(r'\d{10}', text):
        at = int(text)
    else:
        return math.ceil(seconds(text) * 10**9)
    return max(0, int(at - now)) * 10**9


def meaning(name):
    if name in WHOLE:
        return WHOLE[name]
    match = re.fullmatch(r'x-ratelimit-(limit|remaining|reset)-(.*)', name)
    if match:
        return match.group(1), KINDS[match.group(2)], None
    match = re.fullmatch(r'anthropic-ratelimit-(.*)-(limit|remaining|reset)', name)
    return match.group(2), KINDS[match.group(1)], None


def expected_limits(provider, headers, now):
    limits = {}
    for name, value in headers.items():
        if name == 'ratelimit':
            label, left, time = re.fullmatch(r'"(\w+)";r=(\d+);t=(\d+)', value).groups()
            limits.setdefault(('requests', label), {}).update(remaining=int(left), reset=int(time) * 10**9)
        elif name == 'ratelimit-policy':
            label, cap, window = re.fullmatch(r'"fixed window";"(\w+)";q=(\d+);w=(\d+)', value).groups()
            limits.setdefault(('requests', label), {}).update(limit=int(cap), window=int(window))
        elif not NOTHING.fullmatch(name) and value != '-1':
            field, kind, window = meaning(name)
            window = window or WINDOWS.get((provider, kind))
            entry = limits.setdefault((kind, '', window), {'window': window})
            entry[field] = (reset(value, now) if field == 'reset' else
                            math.floor(fractions.Fraction(value) * 10**6) if field == 'share' else int(value))
    return sorted((key[0], key[1], e.get('window'), e.get('limit'), e.get('remaining'), e.get('share'), e.get('reset'))
                  for key, e in limits.items())


def scaled(value, scale):
    return None if value is None else int(value) * scale


def reported_limits(answer):
    def window(limit):
        return None if limit['window_ns'] is None else int(limit['window_ns']) // 10**9
    return sorted((e['kind'], e['name'], window(e), scaled(e['limit'], 1), scaled(e['remaining'], 1),
                   scaled(e['share_ppm'], 1), scaled(e['reset_in_ns'], 1)) for e in answer['limits'])


def run(row):
    provider = HINTS.get(row['provider'], row['provider'])
    lines = ['HTTP/1.1 %d Recorded' % row['status']] + ['%s: %s' % pair for pair in row['headers'].items()]
    body = row.get('body')
    text = '\r\n'.join(lines) + '\r\n\r\n' + (json.dumps(body) if body is not None else '')
    # Without a date the resets of the row say what time it was.
    epochs = [int(value) for value in row['headers'].values() if re.fullmatch(r'1[67]\d{8}', value)]
    now = str(min(epochs) - 60) if epochs else 'date' if 'date' in row['headers'] else '1700000000'
    done = subprocess.run([TOOL, 'headers', '--json', '--now', now, '--provider', provider], input=text.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    at = email.utils.parsedate_to_datetime(row['headers']['date']).timestamp() if now == 'date' else int(now)
    return provider, at, json.loads(done.stdout) if done.returncode == 0 else {'failed': done.stderr.decode()}


def header_faults(row):
    provider, now, answer = run(row)
    if 'failed' in answer:
        return answer['failed']
    expected, reported = expected_limits(provider, row['headers'], now), reported_limits(answer)
    if expected != reported:
        return 'expected %s, reported %s' % (expected, reported)
    lies = sum(value == '-1' for value in row['headers'].values())
    if answer['disbelieved'] != lies:
        return '%d values disbelieved, not %d' % (answer['disbelieved'], lies)
    if 'retry-after' in row['headers'] and answer['retry_after_ns'] != int(row['headers']['retry-after']) * 10**9:
        return 'retry-after is %s' % answer['retry_after_ns']
    if row['status'] == 200 and row.get('body') is None and answer['cause'] != 'NONE':
        return 'refused for %s' % answer['cause']
    return None


# What the names of the recorded expectations mean: kind, window, cause, whether never to retry.
MEANINGS = {
    'tpm': ('tokens', MINUTE, 'LIMIT', False), 'tpd': ('tokens', DAY, 'LIMIT', False),
    'itpm': ('input_tokens', MINUTE, 'LIMIT', False), 'rpm': ('requests', MINUTE, 'LIMIT', False),
    'tpm_in_stream': ('tokens', MINUTE, 'LIMIT', False),
    'too_large_never_retry': ('tokens', MINUTE, 'TOO_LARGE', True),
    'too_large_but_says_retry': ('tokens', MINUTE, 'LIMIT', True),
    'tpm_no_hint': ('tokens', None, 'LIMIT', False), 'tpd_no_hint': ('tokens', DAY, 'LIMIT', False),
    'unified_epoch_seconds': (None, None, 'NONE', False),
    'sentinel_minus_one_means_unknown': (None, None, 'NONE', False),
}


def error_faults(row):
    fault = header_faults(row)
    if fault:
        return fault
    _, _, answer = run(row)
    expect, hit = row['expect'], answer.get('hit', {})
    kind, window, cause, never = MEANINGS[expect['kind']]
    if window and row['body'] is None and row['provider'] == 'azure':
        window = None  # Azure's headers don't tell their window
    got = (hit.get('kind'), scaled(hit.get('window_ns'), 1), answer['cause'], answer['never_retry'])
    if got != (kind, window and window * 10**9, cause, never):
        return 'expected %s, reported %s' % (MEANINGS[expect['kind']], got)
    for name in ('limit', 'used', 'requested'):
        if expect.get(name) is not None and hit.get(name) != expect[name]:
            return '%s is %s, not %s' % (name, hit.get(name), expect[name])
    wait = answer['retry_after_ns'] if never else answer['wait_ns']
    if 'wait_ms' in expect and (wait if wait is None else math.ceil(wait / 10**6)) != expect['wait_ms']:
        return 'the wait is %s ns, not %s ms' % (wait, expect['wait_ms'])
    return None


def main():
    cases = failures = 0
    for file, check in (('ratelimit_headers.jsonl', header_faults), ('rate_limit_errors.jsonl', error_faults)):
        with open('%s/%s' % (FOLDER, file), encoding='utf-8') as lines:
            rows = [json.loads(line) for line in lines]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            faults = list(pool.map(check, rows))
        found = ['row %d (%s): %s' % (i + 1, rows[i]['provider'], fault) for i, fault in enumerate(faults) if fault]
        print('\n'.join(found), end='\n' if found else '')
        cases += len(rows)
        failures += len(found)
    print('%d answers, %d differ' % (cases, failures))
    return 1 if failures or not cases else 0


if __name__ == '__main__':
    sys.exit(main())
