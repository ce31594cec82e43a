#!/usr/bin/env python3
# Builds the tracer with each break of broken.txt and expects it to find a fault. TAP.
# SPDX-License-Identifier: MIT
#
# WHY  What finds nothing must be able to find something. A break counts as found only by a process that was killed or
# stopped: one that fails undisturbed proves nothing. A break whose text is not in the library any more fails. The core of
# the list is tried each time, and a sample of the rest (tests/explore/sample.py).
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
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TESTS, 'explore'))
import sample  # noqa: E402 (these have the form of the list)
from mutants import break_files, check_all, read_mutants  # noqa: E402

FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-w', '-I' + os.path.join(ROOT, 'include'),
         '-I' + os.path.join(TESTS, 'support')]
LAYOUT = ['-iquote', os.path.join(ROOT, 'lib')]  # of what the tracer's own sources include
LIBRARIES = ['-Wl,-z,now', '-lurcu-bp', '-lurcu-cds', '-lpthread', '-lpcre2-8']
SUPPORT = ['crew', 'space', 'tap']
SECONDS = 600
SAMPLE = 3  # of those that are not in the core
FOUND = re.compile(r'^# (.*: (?:killed|stopped) at .*)$', re.MULTILINE)


class Builder:
    """The tracer's own objects, and programs of them, the built library and one room that is broken."""

    def __init__(self, folder, compiler, archive):
        self.folder, self.compiler, self.archive = folder, compiler, archive
        sources = [os.path.join(HERE, name) for name in sorted(os.listdir(HERE)) if name.endswith('.c')]
        sources += [os.path.join(TESTS, 'support', name + '.c') for name in SUPPORT]
        self.own = [self.compile(source, LAYOUT, folder) for source in sources]

    def compile(self, source, options, folder):
        target = os.path.join(folder, os.path.basename(source)[:-2] + '.o')
        subprocess.run(self.compiler + FLAGS + options + ['-c', source, '-o', target], check=True)
        return target

    def link(self, target, objects):
        subprocess.run(self.compiler + self.own + objects + [self.archive, '-o', target] + LIBRARIES, check=True)
        return target

    def build(self, mutant, folder):
        """The tracer of a mutant, or a complaint. What is linked first takes the place of the archive's member."""
        lib = os.path.join(folder, 'lib')
        complaint = break_files(mutant, lib)
        if complaint:
            return None, complaint
        objects = [self.compile(os.path.join(lib, name), ['-iquote', lib], folder) for name in sorted(mutant.files())]
        return self.link(os.path.join(folder, 'broken'), objects), None


def judge(builder, mutant, folder):
    """Passed or not, and a remark."""
    os.mkdir(folder)
    program, complaint = builder.build(mutant, folder)
    if complaint:
        return False, complaint
    output = ''
    for options in mutant.runs:
        try:
            done = subprocess.run([program, '--first', '--seed=1'] + shlex.split(options), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return False, 'it hangs'
        output = done.stdout.decode(errors='replace')
        fault = FOUND.search(output)
        if done.returncode != 0 and fault:
            return True, fault.group(1)[:200]
    return False, 'it survives: ' + output.strip()[-300:]


def try_all(builder, chosen, first):
    """The numbers of cases go on from `first`. Returns how many failed."""
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(sample.processors()) as pool:
        results = [pool.submit(judge, builder, m, os.path.join(builder.folder, str(n)))
                   for n, m in enumerate(chosen, first)]
        for number, (mutant, result) in enumerate(zip(chosen, results), first):
            passed, remark = result.result()
            failures += not passed
            print('%s %d - %s\n# %s' % ('ok' if passed else 'not ok', number, mutant.name,
                                        remark.replace('\n', '\n# ')), flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description='Breaks the library in some ways; the tracer must find each.')
    parser.add_argument('--only', metavar='WORDS', help='breaks whose name contains WORDS')
    sample.add_options(parser, 'all breaks')
    arguments = parser.parse_args()
    mutants = read_mutants(os.path.join(HERE, 'broken.txt'))
    library = os.path.join(os.environ.get('TLSHM_BUILD', os.path.join(ROOT, 'build')), 'lib', 'libtlshm.a')
    compiler = shlex.split(os.environ.get('TLSHM_CC', 'cc'))
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(folder, compiler, library)
        sound = subprocess.run([builder.link(os.path.join(folder, 'sound'), []), '--only=overrun policy'],
                               stdout=subprocess.PIPE, check=True)
        if b'# SKIP' in sound.stdout:
            print(sound.stdout.decode(), end='')
            return 0
        chosen = sample.choose(mutants, arguments, SAMPLE)
        complaints = check_all(mutants)
        print('%s 1 - all %d breaks are of the library as it is' % ('not ok' if complaints else 'ok', len(mutants)))
        print(''.join('# %s\n' % line for c in complaints for line in c.split('\n')), end='', flush=True)
        failures = bool(complaints) + try_all(builder, chosen, 2)
    print('1..%d' % (len(chosen) + 1))
    return 1 if failures or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
