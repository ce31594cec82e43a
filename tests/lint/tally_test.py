#!/usr/bin/env python3
# Tests the counting of cases: whatever is not a full, good report has to count as failed.
# SPDX-License-Identifier: MIT
import json
import sys

sys.dont_write_bytecode = True
import tally  # noqa: E402: no byte code may be left in the tree

SPOKEN = '==7==ERROR: LeakSanitizer: detected memory leaks\n'
UNDEFINED = 'a.c:1:2: runtime error: signed integer overflow\n'

# What it is, what the program printed, what meson made of it, then passed, failed, skipped, and the standard error.
TABLE = [
    ('two good cases', '1..2\nok 1 - a\nok 2 - b\n', 'OK', 2, 0, 0),
    ('a plan at the end', 'ok 1 - a\n1..1\n', 'OK', 1, 0, 0),
    ('Criterion without numbers', 'TAP version 13\n1..2\nok - s::a  (0.00s)\nok - s::b  # SKIP why\n', 'OK', 1, 0, 1),
    ('a failed case', '1..2\nok 1 - a\nnot ok 2 - b\n', 'FAIL', 1, 1, 0),
    ('a failed case with details', '1..1\nnot ok - s::b  (0.00s)\n  ---\n  ok: 1\n  ...\n', 'ERROR', 0, 1, 0),
    ('a failed case that is to be fixed later', '1..1\nnot ok 1 - a # TO' 'DO x\n', 'OK', 0, 1, 0),
    ('a crash after the last case', '1..1\nok 1 - a\n', 'ERROR', 1, 1, 0),
    ('a crash in the middle', '1..2\nok 1 - a\n', 'ERROR', 1, 1, 0),
    ('too many cases', '1..1\nok 1 - a\nok 2 - b\n', 'ERROR', 2, 1, 0),
    ('a timeout', '1..1\nok 1 - a\n', 'TIMEOUT', 1, 1, 0),
    ('a bail out', '1..1\nok 1 - a\nBail out! no room\n', 'ERROR', 1, 1, 0),
    ('no plan', 'ok 1 - a\n', 'OK', 1, 1, 0),
    ('no output', '', 'SKIP', 0, 1, 0),
    ('other output', 'hello\n', 'SKIP', 0, 1, 0),
    ('an empty plan', '1..0\n', 'SKIP', 0, 1, 0),
    ('an empty plan of Criterion', 'TAP version 13\n1..0\n# Criterion v2.4.1\n', 'SKIP', 0, 1, 0),
    ('all skipped, with a reason', '1..0 # SKIP not on this kernel\n', 'SKIP', 0, 0, 1),
    ('text that looks like a case', '1..1\nokay\nok 1 - a\n# not ok\n', 'OK', 1, 0, 0),
    ('a leak in an unwatched process', '1..1\nok 1 - a\n', 'OK', 1, 1, 0, SPOKEN),
    ('undefined behaviour in an unwatched process', '1..1\nok 1 - a\n', 'OK', 1, 1, 0, UNDEFINED),
    ('other words on standard error', '1..1\nok 1 - a\n', 'OK', 1, 0, 0, 'WARNING: slow\n'),
]


def main():
    failures = 0
    print('1..%d' % len(TABLE))
    for number, (name, stdout, result, passed, failed, skipped, *stderr) in enumerate(TABLE, 1):
        expected = [passed, failed, skipped]
        entry = {'name': 'x', 'stdout': stdout, 'stderr': ''.join(stderr), 'result': result, 'returncode': 1}
        total = tally.read_log([json.dumps(entry)])
        found = [total.passed, len(total.failed), total.skipped]
        failures += found != expected
        print('%sok %d - %s' % ('not ' if found != expected else '', number, name))
        if found != expected:
            print('# expected %s, found %s' % (expected, found))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
