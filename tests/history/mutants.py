#!/usr/bin/env python3
# Records histories with a broken library, for each break of mutants.txt, and expects one that is illegal. TAP.
# SPDX-License-Identifier: MIT
#
# WHY  A search that never fails proves nothing. The breaks are those by which a caller hears what no order explains; the
# explorer finds many more.
import concurrent.futures
import glob
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS = 120  # for histories to show it: most need less than one
TRIES = 8      # of runs that a crash may end
FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-DTL_HOOKS', '-O1', '-w', '-I' + os.path.join(ROOT, 'include')]
LIBRARIES = ['-lurcu-bp', '-lurcu-cds', '-lpthread', '-lpcre2-8']


def explore():
    """The neighbour that knows how to read and to apply such lists."""
    spec = importlib.util.spec_from_file_location('explore', os.path.join(ROOT, 'tests', 'explore', 'mutants.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_mutants(module):
    known = {m.name: m for m in module.read_mutants(os.path.join(ROOT, 'tests', 'explore', 'mutants.txt'))}
    return [m if m.pairs else known.get(m.name, m) for m in module.read_mutants(os.path.join(HERE, 'mutants.txt'))]


def build(module, mutant, folder, tree, compiler):
    """The program with the broken files; a complaint, or None. Objects that are named go before those of the archive."""
    lib = os.path.join(folder, 'lib')
    complaint = module.break_files(mutant, lib) if mutant.pairs else 'nobody knows it'
    if complaint:
        return complaint
    command = compiler + FLAGS + ['-iquote', lib] + [os.path.join(lib, name) for name in sorted(mutant.files())]
    command += sorted(glob.glob(os.path.join(tree, 'tests', 'history-histories.p', '*.o')))
    command += [os.path.join(tree, *name) for name in (('tests', 'libtest-support.a'), ('lib', 'libtlshm-hooked.a'))]
    done = subprocess.run(command + LIBRARIES + ['-o', os.path.join(folder, 'histories')], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return 'does not compile: ' + done.stdout.decode()[:600] if done.returncode else None


def judge(module, mutant, tree, compiler):
    """Passed or not, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        complaint = build(module, mutant, folder, tree, compiler)
        if complaint:
            return False, [complaint]
        # Who works may crash on what it broke before a history shows it: that run says nothing, another one may.
        for _ in range(TRIES):
            done = subprocess.run([os.path.join(folder, 'histories'), '--seconds', str(SECONDS)] + sys.argv[1:],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = done.stdout.decode(errors='replace').splitlines()
            if done.returncode >= 0 and not any('workers failed' in line for line in said):
                break
    illegal = any(re.match(r'not ok \d+ - every history', line) for line in said)
    return illegal, [line for line in said if line.startswith('#')] if illegal else ['it survives'] + said[-6:]


def main():
    tree = os.environ.get('TLSHM_BUILD', os.path.join(ROOT, 'build'))
    compiler = shlex.split(os.environ.get('TLSHM_CC', 'cc'))
    module = explore()
    mutants = read_mutants(module)
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = [pool.submit(judge, module, m, tree, compiler) for m in mutants]
        for number, (mutant, result) in enumerate(zip(mutants, results), 1):
            passed, said = result.result()
            failures += not passed
            print('%sok %d - %s' % ('' if passed else 'not ', number, mutant.name))
            print('\n'.join('# ' + line.lstrip('# ') for line in said), flush=True)
    print('1..%d' % len(mutants))
    return 1 if failures or not mutants else 0


if __name__ == '__main__':
    sys.exit(main())
