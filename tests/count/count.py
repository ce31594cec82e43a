#!/usr/bin/env python3
"""Compares what calls take with a budget: instructions by callgrind, accesses to shared words by the library's hooks.

Usage: count.py [--record] BUDGET CALLS HOOKED COMPILER BUILDTYPE

CALLS and HOOKED are the two builds of calls.c. Instructions are compared where COMPILER ("gcc 12") is the budget's and
BUILDTYPE is release, and are skipped visibly elsewhere; accesses are compared everywhere. With --record the budget is
written from what is found.
SPDX-License-Identifier: MIT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOLERATED = 1.03  # of instructions: headers and libraries differ a little between hosts
WORTH_A_LINE = 0.9
ACCESSES = ('reads', 'writes', 'swaps')
HEAD = '''# What a call may take at most, as the test `count` found it; bench/record-budget writes this file anew.
# compiler: whose release build the instructions are of. instructions: a call, the hundredth part tolerated three times.
# reads, writes, swaps: accesses to shared words a call (blocks of words count once), exact. No window has time to end.
'''


def segment():
    place = '/dev/shm' if os.access('/dev/shm', os.W_OK) else tempfile.gettempdir()
    return os.path.join(place, 'tlshm-count-%d' % os.getpid())


def run(command):
    path = segment()
    try:
        return subprocess.run(command + [path], check=True, stdout=subprocess.PIPE, text=True).stdout
    finally:
        if os.path.exists(path):
            os.unlink(path)


def accesses(hooked):
    """{kind: {'reads': x, ...}}"""
    found = {}
    for line in run([hooked]).splitlines():
        kind, *figures = line.split()
        found[kind] = dict(zip(ACCESSES, figures))
    return found


def inclusive(lines):
    """Inclusive cost by called function, of a callgrind file."""
    names, cost, callee, after_calls = {}, {}, None, False
    for line in lines:
        if after_calls:
            cost[callee] = cost.get(callee, 0) + int(line.split()[-1])
            after_calls = False
        match = re.match(r'c?fn=\((\d+)\)(?: (.*))?$', line)
        if match:
            number, name = match.groups()
            if name:
                names[number] = name
            if line.startswith('cfn='):
                callee = names[number]
        after_calls = line.startswith('calls=')
    return cost


def instructions(program):
    """{kind: instructions a call}"""
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, 'out')
        text = run(['valgrind', '-q', '--tool=callgrind', '--callgrind-out-file=' + out, program])
        with open(out) as file:
            cost = inclusive(line.rstrip('\n') for line in file)
    return {kind: cost['count_' + kind] / int(calls) for kind, calls in map(str.split, text.splitlines())}


def read_budget(path):
    budget = {'compiler': None}
    with open(path) as file:
        for line in file:
            words = line.split('#')[0].split()
            if words and words[0] == 'compiler':
                budget['compiler'] = ' '.join(words[1:])
            elif words:
                what, kind, figure = words
                budget[what, kind] = float(figure)
    return budget


def write_budget(path, compiler, counted, accessed):
    with open(path, 'w') as file:
        file.write(HEAD)
        file.write('compiler %s\n' % compiler)
        for kind, figure in counted.items():
            file.write('instructions %s %.0f\n' % (kind, figure))
        for what in ACCESSES:
            for kind, figures in accessed.items():
                file.write('%s %s %s\n' % (what, kind, figures[what]))


class Report:
    def __init__(self):
        self.cases = self.failures = 0

    def case(self, name, passed, *notes):
        self.cases += 1
        self.failures += not passed
        print('%sok %d - %s' % ('' if passed else 'not ', self.cases, name))
        for note in notes:
            print('# ' + note)

    def skip(self, name, reason):
        self.cases += 1
        print('ok %d - %s # SKIP %s' % (self.cases, name, reason))

    def compare(self, name, found, most, tolerated):
        if most is None:
            self.case(name, False, 'not in the budget: bench/record-budget')
            return
        note = '%g, budget %g' % (round(found, 2), most)
        if found < WORTH_A_LINE * most:
            note += ': well below it, bench/record-budget makes the next rise visible'
        self.case(name, found <= most * tolerated, note)


def compare(report, budget, accessed, why_not, program):
    for kind, figures in accessed.items():
        for what in ACCESSES:
            report.compare('%s of %s' % (what, kind), float(figures[what]), budget.get((what, kind)), 1)
    if why_not:
        report.skip('instructions', why_not)
        return
    counted = instructions(program)
    for kind, figure in counted.items():
        report.compare('instructions of %s' % kind, figure, budget.get(('instructions', kind)), TOLERATED)
    report.case('every kind of call is counted', counted.keys() == accessed.keys())


def reason_against(budget, compiler, buildtype):
    if not shutil.which('valgrind'):
        return 'no valgrind'
    if buildtype != 'release':
        return 'a %s build' % buildtype
    if compiler != budget['compiler']:
        return 'built by %s, the budget is of %s' % (compiler, budget['compiler'])
    return None


def main():
    arguments = sys.argv[1:]
    record = arguments[:1] == ['--record']
    try:
        path, program, hooked, compiler, buildtype = arguments[record:]
    except ValueError:
        sys.exit(__doc__)
    accessed = accesses(hooked)
    if record:
        if not shutil.which('valgrind'):
            sys.exit('count.py: no valgrind')
        write_budget(path, compiler, instructions(program), accessed)
        return 0
    report = Report()
    budget = read_budget(path)
    compare(report, budget, accessed, reason_against(budget, compiler, buildtype), program)
    print('1..%d' % report.cases)
    return 1 if report.failures else 0


if __name__ == '__main__':
    sys.exit(main())
