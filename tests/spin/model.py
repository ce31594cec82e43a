#!/usr/bin/env python3
# Searches every schedule of the scenes of the protocol's model with spin, and of the model with each check left out. TAP.
# SPDX-License-Identifier: MIT
#
# WHY  The explorer runs the library's own code, with a bound on interruptions; the model is a copy of it by hand, searched without
# a bound. What ties the two together: README.md names the function and the label behind each part of the model, and a
# name that is not in lib/ any more fails here.
#
# A run of each day leaves out a sample of the checks (tests/explore/sample.py), --long each of them.
import argparse
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'tests', 'explore'))
import sample  # noqa: E402 (a neighbour that draws samples too)

SAMPLE = 8            # of the checks that are left out
SECONDS = 900         # for one search: most need one or two
LONG_SECONDS = 3600
MEGABYTES = 1000      # for one search
LONG_MEGABYTES = 6000
LONG_SCENES = {'late'}  # too large for every day
# Small enough to be searched for endless schedules too, which takes thrice as long.
PROGRESS = ['settle-expire', 'stopped', 'door', 'visitor']
PAN = ['-DCOLLAPSE', '-DNOFAIR', '-w']
ROW = re.compile(r'^\|\s*(.+?)\s*\|\s*`(\w+\.[ch])`\s*\|\s*(.+?)\s*\|\s*(.*?)\s*\|$')


class Search:
    """One scene, searched for states that must not be or for schedules that never end."""

    def __init__(self, scene, kind='state', defines=(), expected=False):
        self.scene, self.kind, self.defines, self.expected = scene, kind, list(defines), expected

    core = False

    @property
    def name(self):
        if self.expected:
            return '%s is found in %s' % (self.defines[0], self.scene)
        words = {'state': 'every state', 'cycle': 'no endless schedule'}[self.kind]
        return ' '.join([self.scene + ':', words] + ['with ' + d for d in self.defines])


class Result:
    def __init__(self, passed, *remarks):
        self.passed, self.remarks = passed, remarks


def call(command, folder, seconds):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    return done.returncode, done.stdout.decode(errors='replace')


def figure(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else '?'


def trail(scene, defines, folder):
    """The end of the schedule that leads to the error."""
    shutil.copy(os.path.join(folder, 'scene.trail'), os.path.join(folder, os.path.basename(scene) + '.trail'))
    command = ['spin', '-t', '-p', '-k', 'scene.trail'] + ['-D' + d for d in defines] + [scene]
    return [line for line in call(command, folder, 60)[1].splitlines() if re.match(r'\s*\d+:\s+proc', line)][-60:]


def build(search, folder, options, compiler):
    """The searching program; a complaint, or None."""
    scene = os.path.join(HERE, 'scenes', search.scene + '.pml')
    status, said = call(['spin', '-a'] + ['-D' + d for d in search.defines] + [scene], folder, 60)
    if status != 0 or 'rror' in said:
        return said
    kind = ['-DSAFETY'] if search.kind == 'state' else ['-DNP']
    memory = '-DMEMLIM=%d' % (LONG_MEGABYTES if options.long else MEGABYTES)
    optimised = '-O2' if options.long else '-O0'
    status, said = call(compiler + [optimised, memory] + PAN + kind + ['-o', 'pan', 'pan.c'], folder, 300)
    return said if status != 0 else None


def run(search, options, compiler):
    seconds = LONG_SECONDS if options.long else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        complaint = build(search, folder, options, compiler)
        if complaint:
            return Result(False, *complaint.splitlines()[:20])
        start = time.monotonic()
        try:
            said = call(['./pan', '-n', '-m1000000', '-w20'] + (['-l'] if search.kind == 'cycle' else []), folder,
                        seconds)[1]
        except subprocess.TimeoutExpired:
            return Result(False, 'not searched in %d s' % seconds)
        took = time.monotonic() - start
        errors = figure(r'errors: (\d+)', said)
        what = figure(r'pan:1: (.*)', said)
        states = '%s states, %s steps, depth %s, %s MB, %.1f s' % (
            figure(r'(\d+) states, stored', said), figure(r'(\d+) transitions', said),
            figure(r'depth reached (\d+)', said), figure(r'([\d.]+)\s+total actual memory', said), took)
        whole = 'Search not completed' not in said and errors == '0'
        if search.expected:
            found = errors not in ('0', '?') and re.match(r'assertion|non-progress|invalid', what)
            return Result(bool(found), what if found else 'it survives: ' + states)
        if whole:
            return Result(True, states)
        trails = glob.glob(os.path.join(folder, '*.trail'))
        if not trails:
            return Result(False, states, *said.splitlines()[:20])
        os.rename(trails[0], os.path.join(folder, 'scene.trail'))
        scene = os.path.join(HERE, 'scenes', search.scene + '.pml')
        return Result(False, what, states, *trail(scene, search.defines, folder))


# ----------------------------------------------------------------------------------------------------- what ties it to lib/

def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def body_of(function, source):
    """A function's text in a C file, with the comment before it; None if it is not defined there."""
    found = re.search(r'^(?:[\w*]+ )+\*?%s\([^;{]*\)\n\{\n.*?^\}' % re.escape(function), source, re.MULTILINE | re.DOTALL)
    if not found:
        return None
    before = source[:found.start()]
    comment = re.search(r'/\*(?:(?!\*/).)*\*/\n\Z', before, re.DOTALL)
    return (comment.group(0) if comment else '') + found.group(0)


def check_row(part, file, functions, labels):
    complaints = []
    source = read(ROOT, 'lib', file)
    models = ''.join(read(HERE, name) for name in ('words.pml', 'txn.pml', 'calls.pml'))
    for name in re.findall(r'`(\w+)\(\)`', part):
        if not re.search(r'^inline %s\(' % name, models, re.MULTILINE):
            complaints.append('the model has no %s()' % name)
    texts = []
    for function in re.findall(r'`(\w+)\(\)`', functions):
        text = body_of(function, source)
        texts.append(text or '')
        if text is None:
            complaints.append('lib/%s has no %s()' % (file, function))
    for label in re.findall(r'"([^"]+)"', labels):
        if not any(label in text for text in texts):
            complaints.append('lib/%s: %s: no "%s"' % (file, functions, label))
    return complaints


def check_table():
    rows = [ROW.match(line) for line in read(HERE, 'README.md').splitlines()]
    rows = [row.groups() for row in rows if row]
    complaints = [] if len(rows) > 10 else ['%d rows' % len(rows)]
    for row in rows:
        complaints += check_row(*row)
    return Result(not complaints, *complaints)


def read_mutants():
    lines = [line.split('#')[0].split() for line in read(HERE, 'mutants.txt').splitlines()]
    return [Search(scene, kind, [macro], True) for macro, scene, kind in filter(None, lines)]


def check_mutants(mutants):
    """Each switch of the model is in the list, and each of the list is in the model."""
    models = ''.join(read(HERE, name) for name in ('words.pml', 'txn.pml', 'calls.pml'))
    switches = set(re.findall(r'^#ifn?def ([A-Z]\w*)', models, re.MULTILINE))
    switches -= {'FINE', 'TRIES', 'KEY_CELL', 'REVERSED', 'CAP', 'PEEKS', 'HELPS', 'HEIRS', 'KILLS'}
    listed = {m.defines[0] for m in mutants}
    return Result(switches == listed, *sorted(switches ^ listed))


# ----------------------------------------------------------------------------------------------------------------------- main

def searches(options, mutants):
    scenes = sorted(os.path.basename(name)[:-4] for name in glob.glob(os.path.join(HERE, 'scenes', '*.pml')))
    if options.long:
        found = [Search(s, 'state', d) for s in scenes for d in ([], ['FINE'], ['TRIES=2'])]
        found += [Search(s, 'cycle') for s in scenes if s not in LONG_SCENES]
    else:
        found = [Search(s) for s in scenes if s not in LONG_SCENES]
        found += [Search(s, 'cycle') for s in PROGRESS]
    found = [s for s in found if options.only is None or options.only in s.name]
    return found + sample.choose(mutants, options, SAMPLE)


def report(number, name, result):
    print('%sok %d - %s' % ('' if result.passed else 'not ', number, name))
    for remark in result.remarks:
        print('# ' + remark)
    sys.stdout.flush()
    return not result.passed


def main():
    parser = argparse.ArgumentParser(description='Searches the model of the protocol with spin.')
    parser.add_argument('--only', metavar='WORDS', help='searches whose name contains WORDS')
    sample.add_options(parser, 'finer steps, more tries, larger scenes, and the model without each check')
    options = parser.parse_args()
    if shutil.which('spin') is None:
        print('1..0 # SKIP no spin: tools/install-deps installs it')
        return 0
    sample.step_back()
    compiler = shlex.split(os.environ.get('TLSHM_CC', 'cc'))
    mutants = read_mutants()
    failures = report(1, 'what the model speaks of is in lib/', check_table())
    failures += report(2, 'every switch of the model is tried', check_mutants(mutants))
    number = 2
    with concurrent.futures.ThreadPoolExecutor(sample.processors()) as pool:
        work = [(s, pool.submit(run, s, options, compiler)) for s in searches(options, mutants)]
        for number, (search, result) in enumerate(work, 3):
            failures += report(number, search.name, result.result())
    print('1..%d' % number)
    return 1 if failures or number == 2 else 0


if __name__ == '__main__':
    sys.exit(main())
