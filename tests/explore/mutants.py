#!/usr/bin/env python3
# Builds the explorer with each break of mutants.txt and expects it to find a fault. TAP.
# SPDX-License-Identifier: MIT
#
# WHY  A search that finds nothing proves something only if it finds what is there. A break that is not found fails, and so
# does one whose text is not in the library any more: the list cannot rot.
#
# HOW  The objects of the built explorer are linked with what a break changes: mostly one file, compiled without
# optimisation, which takes less than the search gains. The core of the list is tried each time, a sample of the rest
# changes with the commit (sample.py), and --long tries all.
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
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import sample  # noqa: E402 (a neighbour)

FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-DTL_HOOKS', '-O0', '-w', '-fno-stack-protector', '-U_FORTIFY_SOURCE']
LIBRARIES = ['-lurcu-bp', '-lurcu-cds', '-lpthread', '-lyaml', '-ljansson', '-lpcre2-8', '-lz']
SECONDS = 60        # of the processor, for a search to find its mutant: most need less than one
LONG_SECONDS = 600
SAMPLE = 24         # of those that are not in the core


class Mutant:
    def __init__(self, name):
        self.name, self.file, self.same, self.core = name, None, None, False
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
    mutants, core = [], False
    with open(path, encoding='utf-8') as file:
        for line in file:
            line = line.rstrip('\n')
            word, _, rest = line.partition(' ')
            if word == '=':
                mutants.append(Mutant(rest))
                mutants[-1].core = core
            elif line in ('core', 'rest'):
                core = line == 'core'
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


def broken_files(mutant):
    """The files' new text by name; or a complaint."""
    texts = {}
    for name, old, new in mutant.pairs:
        old, new = '\n'.join(old), '\n'.join(new)
        if name not in texts:
            with open(os.path.join(ROOT, 'lib', name), encoding='utf-8') as file:
                texts[name] = file.read()
        if texts[name].count(old) != 1:
            return '%s: "%s" is there %d times' % (name, old.strip(), texts[name].count(old))
        texts[name] = texts[name].replace(old, new)
    return texts


def break_files(mutant, lib):
    """Makes a broken copy of the library's files in `lib`; returns a complaint, or None."""
    shutil.copytree(os.path.join(ROOT, 'lib'), lib, dirs_exist_ok=True)
    texts = broken_files(mutant)
    if isinstance(texts, str):
        return texts
    for name, text in texts.items():
        with open(os.path.join(lib, name), 'w', encoding='utf-8') as file:
            file.write(text)
    return None


def check_all(mutants):
    """Complaints about the whole list, whatever is tried of it."""
    complaints = []
    for mutant in mutants:
        texts = broken_files(mutant)
        if isinstance(texts, str):
            complaints.append('%s: %s' % (mutant.name, texts))
        elif not mutant.pairs or not (mutant.runs or mutant.same):
            complaints.append('%s: nothing is broken, or nothing is run' % mutant.name)
    return complaints


class Builder:
    """The built explorer with some of its files exchanged."""

    def __init__(self, folder, compiler, tree):
        self.folder, self.compiler = folder, compiler
        self.flags = FLAGS + ['-I' + os.path.join(ROOT, 'include'), '-I' + os.path.join(ROOT, 'tests', 'support')]
        own = os.path.join(tree, 'tests', 'explorer.p')
        self.own = {name: os.path.join(own, name) for name in os.listdir(own) if name.endswith('.o')}
        self.archives = [os.path.join(tree, 'tests', name) for name in ('libtest-support.a', 'libtlshm-every.a')]
        self.includes = None

    def sources(self):
        """(path, whether it is the library's) of all that the explorer is made of."""
        for folder, library in ((os.path.join(ROOT, 'lib'), True), (HERE, False)):
            for name in sorted(os.listdir(folder)):
                if name.endswith('.c'):
                    yield os.path.join(folder, name), library

    def who_includes(self, names):
        """The sources that a change of these headers concerns."""
        if self.includes is None:
            flags = self.flags + ['-iquote', os.path.join(ROOT, 'lib')]
            self.includes = {}
            for source in self.sources():
                said = subprocess.run(self.compiler + flags + ['-MM', source[0]], check=True, stdout=subprocess.PIPE)
                self.includes[source] = {os.path.basename(word) for word in said.stdout.decode().split()}
        return [source for source, headers in self.includes.items() if headers & names]

    def compile(self, lib, source, library, folder):
        """A broken copy of a library's file, or one of the explorer's own against the broken headers."""
        name = os.path.basename(source)
        target = os.path.join(folder, name[:-2] + '.o')
        command = self.compiler + self.flags + ['-iquote', lib]
        if library:
            command += ['-include', os.path.join(HERE, 'every.h')]
            source = os.path.join(lib, name)
        subprocess.run(command + ['-c', source, '-o', target], check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
        return target

    def prepare(self, mutants):
        headers = {name for m in mutants for name in m.files() if name.endswith('.h')}
        if headers:
            self.who_includes(headers)

    def build(self, mutant, number):
        """The explorer of a mutant. What is linked first takes the place of an archive's member."""
        folder = os.path.join(self.folder, str(number))
        lib = os.path.join(folder, 'lib')
        complaint = break_files(mutant, lib)
        if complaint:
            return None, complaint
        headers = {name for name in mutant.files() if name.endswith('.h')}
        work = [(os.path.join(ROOT, 'lib', name), True) for name in mutant.files() - headers]
        work += [source for source in self.who_includes(headers) if source not in work] if headers else []
        own, objects = dict(self.own), []
        try:
            for source, library in work:
                target = self.compile(lib, source, library, folder)
                if library:
                    objects.append(target)
                else:
                    own['explore_%s.o' % os.path.basename(source)] = target
        except subprocess.CalledProcessError as error:
            return None, 'does not compile: ' + error.stdout.decode()[:600]
        target = os.path.join(folder, 'explorer')
        subprocess.run(self.compiler + objects + list(own.values()) + self.archives + LIBRARIES + ['-o', target],
                       check=True)
        return target, None


def run_explorer(program, options, seconds):
    """Whether it finds a fault, and its words for it. One that goes on after its time hangs."""
    command = ['prlimit', '--cpu=%d' % (seconds + 30), program, '--jobs', '1', '--seconds', str(seconds)]
    done = subprocess.run(command + shlex.split(options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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


def try_all(builder, chosen, seconds, first):
    """The numbers of cases go on from `first`. Returns how many failed."""
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(sample.processors()) as pool:
        results = [pool.submit(judge, builder, m, n, seconds) if not m.same else None
                   for n, m in enumerate(chosen, first)]
        for number, (mutant, result) in enumerate(zip(chosen, results), first):
            if result is None:
                print('ok %d - %s # SKIP the same: %s' % (number, mutant.name, mutant.same), flush=True)
                continue
            passed, remark = result.result()
            failures += not passed
            print('%s %d - %s\n# %s' % ('ok' if passed else 'not ok', number, mutant.name,
                                        remark.replace('\n', '\n# ')), flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description='Breaks the library in many ways; the explorer must find each.')
    parser.add_argument('--only', metavar='WORDS', help='mutants whose name contains WORDS')
    parser.add_argument('--list', action='store_true', help='list the mutants')
    sample.add_options(parser, 'all mutants, and more time for each search')
    arguments = parser.parse_args()
    mutants = read_mutants(os.path.join(HERE, 'mutants.txt'))
    if arguments.list:
        print('\n'.join(m.name for m in mutants))
        return 0
    sample.step_back()
    tree = os.environ.get('TLSHM_BUILD', os.path.join(ROOT, 'build'))
    compiler = shlex.split(os.environ.get('TLSHM_CC', 'cc'))
    said = subprocess.run([os.path.join(tree, 'tests', 'explorer'), '-c', 'small', '-p', '0'], stdout=subprocess.PIPE,
                          check=True)
    if b'# SKIP' in said.stdout:
        print(said.stdout.decode(), end='')
        return 0
    chosen = sample.choose(mutants, arguments, SAMPLE)
    complaints = check_all(mutants)
    failures = 1 if complaints else 0
    print('%s 1 - all %d breaks are of the library as it is' % ('not ok' if complaints else 'ok', len(mutants)))
    print(''.join('# %s\n' % line for c in complaints for line in c.split('\n')), end='', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(folder, compiler, tree)
        builder.prepare(chosen)
        failures += try_all(builder, chosen, LONG_SECONDS if arguments.long else SECONDS, 2)
    print('1..%d' % (len(chosen) + 1))
    return 1 if failures or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
