#!/usr/bin/env python3
# Builds the explorer with each break of mutants.txt and expects it to find a fault. TAP.
# SPDX-License-Identifier: MIT
#
# WHY  A search that finds nothing proves something only if it finds what is there. A break that is not found fails, and so
# does one whose text is not in the library any more: the list cannot rot.
import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROOMS = ['error', 'os', 'window', 'clock', 'calendar', 'layout', 'view', 'body', 'history', 'horizon', 'txn', 'seat',
         'directory', 'limits', 'ceiling', 'change', 'views', 'book', 'records', 'straight', 'ending', 'expiry', 'idempotency',
         'limiter']
FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-DTL_HOOKS', '-O1', '-w', '-fno-stack-protector', '-U_FORTIFY_SOURCE']
SECONDS = 60        # for a search to find its mutant: most need less than one
LONG_SECONDS = 600
WORKERS = 2


class Mutant:
    def __init__(self, name):
        self.name, self.file, self.same = name, None, None
        self.pairs, self.runs = [], []  # of (file, old lines, new lines); of options

    def text(self, sign, line):
        """Lines of one sign after the other make one text; a '-' after a '+' begins the next pair."""
        if sign == '-':
            if not self.pairs or self.pairs[-1][2]:
                self.pairs.append((self.file, [], []))
            self.pairs[-1][1].append(line)
        else:
            self.pairs[-1][2].append(line)

    def files(self):
        return {pair[0] for pair in self.pairs}


def read_mutants(path):
    mutants = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            line = line.rstrip('\n')
            word, _, rest = line.partition(' ')
            if word == '=':
                mutants.append(Mutant(rest))
            elif word in ('-', '+'):
                mutants[-1].text(word, rest)
            elif word == 'file':
                mutants[-1].file = rest
            elif word == 'run':
                mutants[-1].runs.append(rest)
            elif word == 'same':
                mutants[-1].same = rest
            elif line and word != '#':
                raise SystemExit('%s: what is "%s"?' % (path, line))
    return mutants


def break_files(mutant, lib):
    """Breaks the files in `lib`; returns a complaint, or None."""
    for name, old, new in mutant.pairs:
        path, old, new = os.path.join(lib, name), '\n'.join(old), '\n'.join(new)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        if text.count(old) != 1:
            return '%s: "%s" is there %d times' % (name, old.strip(), text.count(old))
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text.replace(old, new))
    return None


class Builder:
    """Objects of the unbroken library, and explorers with one room of it exchanged."""

    def __init__(self, folder, compiler):
        self.folder, self.compiler = folder, compiler
        self.flags = FLAGS + ['-I' + os.path.join(ROOT, 'include'), '-I' + os.path.join(ROOT, 'tests', 'support')]

    def lib_sources(self, lib):
        return {room: os.path.join(lib, room + '.c') for room in ROOMS}

    def own_sources(self):
        names = sorted(name for name in os.listdir(HERE) if name.endswith('.c'))
        sources = {'explore-' + name[:-2]: os.path.join(HERE, name) for name in names}
        sources['support-tap'] = os.path.join(ROOT, 'tests', 'support', 'tap.c')
        return sources

    def compile(self, lib, source, target, every):
        command = self.compiler + self.flags + ['-iquote', lib]
        if every:
            command += ['-include', os.path.join(HERE, 'every.h')]
        subprocess.run(command + ['-c', source, '-o', target], check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
        return target

    def objects(self, lib, folder, names=None):
        """Compiles all of the explorer against the library in `lib`, or only the sources named."""
        work = [(source, name, True) for name, source in self.lib_sources(lib).items()]
        work += [(source, name, False) for name, source in self.own_sources().items()]
        return {name: self.compile(lib, source, os.path.join(folder, name + '.o'), every)
                for source, name, every in work if names is None or name in names}

    def link(self, objects, target):
        subprocess.run(self.compiler + list(objects.values()) + ['-o', target], check=True)
        return target

    def prepare(self):
        lib = os.path.join(ROOT, 'lib')
        self.sound = self.objects(lib, self.folder)
        return self.link(self.sound, os.path.join(self.folder, 'explorer'))

    def build(self, mutant, number):
        """The explorer of a mutant. A broken header concerns everybody who includes it."""
        folder = os.path.join(self.folder, str(number))
        lib = os.path.join(folder, 'lib')
        shutil.copytree(os.path.join(ROOT, 'lib'), lib)
        complaint = break_files(mutant, lib)
        if complaint:
            return None, complaint
        headers = any(name.endswith('.h') for name in mutant.files())
        names = None if headers else {name[:-2] for name in mutant.files()}
        try:
            objects = dict(self.sound, **self.objects(lib, folder, names))
        except subprocess.CalledProcessError as error:
            return None, 'does not compile: ' + error.stdout.decode()[:600]
        return self.link(objects, os.path.join(folder, 'explorer')), None


def run_explorer(program, options, seconds):
    """Whether it finds a fault, and its words for it."""
    command = [program, '--seconds', str(seconds)] + shlex.split(options)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 60)
    except subprocess.TimeoutExpired:
        return True, 'it hangs'
    output = done.stdout.decode(errors='replace')
    if done.returncode == 2 and 'not ok' not in output:
        raise SystemExit('explorer %s: %s' % (options, output))
    fault = re.search(r'^# \w+: (.*)$', output, re.MULTILINE)
    return done.returncode != 0, fault.group(1) if fault else output.strip().split('\n')[0][:200]


def judge(builder, mutant, number, seconds):
    """Passed or not, and a remark."""
    program, complaint = builder.build(mutant, number)
    try:
        if complaint:
            return False, complaint
        for options in mutant.runs:
            found, words = run_explorer(program, options, seconds)
            if found:
                return True, '%s: %s' % (options, words)
        return False, 'it survives'
    finally:
        shutil.rmtree(os.path.join(builder.folder, str(number)), ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description='Breaks the library in many ways; the explorer must find each.')
    parser.add_argument('--long', action='store_true', help='more time for each search')
    parser.add_argument('--only', metavar='WORDS', default='', help='mutants whose name contains WORDS')
    parser.add_argument('--list', action='store_true', help='list the mutants')
    arguments = parser.parse_args()
    mutants = [m for m in read_mutants(os.path.join(HERE, 'mutants.txt')) if arguments.only in m.name]
    if arguments.list:
        print('\n'.join(m.name for m in mutants))
        return 0
    seconds = LONG_SECONDS if arguments.long else SECONDS
    compiler = shlex.split(os.environ.get('TLSHM_CC', 'cc'))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(folder, compiler)
        builder.prepare()
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            results = [pool.submit(judge, builder, m, n, seconds) if not m.same else None
                       for n, m in enumerate(mutants, 1)]
            for number, (mutant, result) in enumerate(zip(mutants, results), 1):
                if result is None:
                    print('ok %d - %s # SKIP the same: %s' % (number, mutant.name, mutant.same), flush=True)
                    continue
                passed, remark = result.result()
                failures += not passed
                print('%s %d - %s\n# %s' % ('ok' if passed else 'not ok', number, mutant.name,
                                            remark.replace('\n', '\n# ')), flush=True)
    print('1..%d' % len(mutants))
    return 1 if failures or not mutants else 0


if __name__ == '__main__':
    sys.exit(main())
