#!/usr/bin/env python3
# Counts the test cases of a meson test log (testlog.json) from what the programs said.
# Usage: tally.py LOG [LABEL]   "PASSED FAILED SKIPPED" on standard output, each failed case on standard error
#        tally.py --show LOG    what the programs with failed cases said
# SPDX-License-Identifier: MIT
#
# WHY NOT meson's own sums: they count programs, and take one that prints no plan, no case or nothing at all for a
# skipped or a good one. Here such a program is one failed case more.
import json
import re
import sys

CASE = re.compile(r'^(not )?ok\b\s*(\d+)?\s*(?:- )?(.*?)\s*(?:#\s*(SKIP|T[O]DO)\b\s*(.*))?$', re.IGNORECASE)
PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*SKIP\S*\s*(.*))?$', re.IGNORECASE)
SANITIZER = re.compile(r'(?:ERROR|WARNING): \w+Sanitizer\b.*|runtime error: .*')
GOOD = ('OK', 'SKIP')


class Tally:
    def __init__(self):
        self.passed = self.skipped = 0
        self.failed = []

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed


def read_case(match, tally):
    """A case that is to be fixed later is a failed one: nothing may stay red."""
    negative, number, name, directive, _ = match.groups()
    if negative:
        tally.failed.append(name or number or 'a case without a name')
    elif directive and directive.upper() == 'SKIP':
        tally.skipped += 1
    else:
        tally.passed += 1


def read_tap(text):
    """Counts the cases of one program; a fault of the report itself is a failed case."""
    tally, plan, seen, skip_all = Tally(), None, 0, False
    for line in text.splitlines():
        match = PLAN.match(line)
        if match:
            plan, skip_all = int(match.group(1)), bool(match.group(2))
        elif line.startswith('Bail out!'):
            tally.failed.append(line)
        elif CASE.match(line):
            seen += 1
            read_case(CASE.match(line), tally)
    if plan is None:
        tally.failed.append('no plan (1..N) was printed')
    elif plan == 0 and skip_all and seen == 0:
        tally.skipped += 1
    elif plan != seen:
        tally.failed.append('%d cases were planned, %d ran' % (plan, seen))
    elif seen == 0:
        tally.failed.append('no case ran')
    return tally


def read_test(entry):
    """What a sanitizer says counts even when the process that said it went unwatched."""
    tally = read_tap(entry.get('stdout') or '')
    spoken = SANITIZER.search(entry.get('stderr') or '')
    if spoken and not tally.failed:
        tally.failed.append(spoken.group(0))
    if entry['result'] not in GOOD and not tally.failed:
        tally.failed.append('ended with %s, status %s' % (entry['result'], entry.get('returncode')))
    return tally


def read_log(lines):
    total = Tally()
    for line in lines:
        entry = json.loads(line)
        tally = read_test(entry)
        tally.failed = ['%s: %s' % (entry['name'], fault) for fault in tally.failed]
        total.add(tally)
    return total


def show(lines, most=100):
    for line in lines:
        entry = json.loads(line)
        if read_test(entry).failed:
            said = ((entry.get('stdout') or '') + '\n' + (entry.get('stderr') or '')).splitlines()
            said = [line for line in said if line and not line.startswith('ok ')]
            print('---- %s: %s' % (entry['name'], entry['result']))
            print('\n'.join(said[-most:]))


def main():
    if sys.argv[1] == '--show':
        with open(sys.argv[2], encoding='utf-8') as log:
            show(log)
        return
    label = sys.argv[2] + ': ' if len(sys.argv) > 2 else ''
    with open(sys.argv[1], encoding='utf-8') as log:
        total = read_log(log)
    for fault in total.failed:
        print('%sFAILED %s' % (label, fault), file=sys.stderr)
    print(total.passed, len(total.failed), total.skipped)


if __name__ == '__main__':
    main()
