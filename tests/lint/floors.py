#!/usr/bin/env python3
# Climbs the floors of lib/, and keeps the tools and benchmarks to the public headers.
# SPDX-License-Identifier: MIT
#
# A file may include only files of lower floors, and its own header; so there can be no cycle.
import fnmatch
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
GUARDED = ['stdatomic.h', 'sys/*', 'linux/*', 'fcntl.h', 'unistd.h', 'pthread.h', 'signal.h', 'sched.h', 'dirent.h',
           'poll.h', 'syscall.h']
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>|(\S.*))')


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def sources(top):
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith(('.c', '.h')):
                yield os.path.relpath(os.path.join(folder, name))


def includes(path):
    """Yields line number, quoted name, bracketed name; a computed include has neither."""
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def read_map(path):
    floors, allowed = {}, {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            words = line.split('#')[0].split()
            if words:
                floors[words[1]] = int(words[0])
                allowed[words[1]] = words[2:]
    return floors, allowed


def room(path):
    return os.path.splitext(os.path.basename(path))[0]


def quoted_in_lib(path, name, floors):
    own, other = room(path), room(name)
    if not os.path.exists(os.path.join('lib', name)):
        return '"%s" is not a file of lib/' % name
    if other not in floors:
        return '"%s" has no floor' % name
    if other == own and path.endswith('.c') or floors[other] < floors[own]:
        return None
    return '"%s" is on floor %d, this file on %d' % (name, floors[other], floors[own])


def check_lib(path, floors, allowed):
    own = room(path)
    if own not in floors:
        yield 'not in floors.txt'
        return
    for number, quoted, bracketed in includes(path):
        fault = None
        if quoted:
            fault = quoted_in_lib(path, quoted, floors)
        elif not bracketed:
            fault = 'a computed include'
        elif matches(bracketed, GUARDED) and not matches(bracketed, allowed[own]):
            fault = '<%s> is for others' % bracketed
        if fault:
            yield 'line %d: %s' % (number, fault)


def check_guest(path, top):
    """The rooms of the library are out of reach in brackets: lib/ is on nobody's path."""
    here = os.path.dirname(path)
    for number, quoted, bracketed in includes(path):
        if quoted:
            places = (os.path.join(here, quoted), os.path.join(top, 'common', quoted), os.path.join(top, quoted))
            found = [place for place in places if os.path.exists(place)]
            if not found:
                yield 'line %d: "%s" is not one of its own' % (number, quoted)
            elif not os.path.realpath(found[0]).startswith(os.path.realpath(top) + os.sep):
                yield 'line %d: "%s" leads out of %s/' % (number, quoted, top)
        elif not bracketed:
            yield 'line %d: a computed include' % number


class Report:
    def __init__(self):
        self.cases = self.failures = 0

    def case(self, name, faults):
        faults = list(faults)
        self.cases += 1
        self.failures += bool(faults)
        print('%sok %d - %s' % ('not ' if faults else '', self.cases, name))
        for fault in faults:
            print('# ' + fault)


def main():
    os.chdir(ROOT)
    floors, allowed = read_map('tests/lint/floors.txt')
    report = Report()
    lib = list(sources('lib'))
    for path in lib:
        report.case('%s includes what is below it' % path, check_lib(path, floors, allowed))
    report.case('lib/ has files', [] if lib else ['none'])
    report.case('every floor is lived on',
                ['%s: no such file' % name for name in floors if name not in map(room, lib)])
    for top in ('tools', 'bench'):
        for path in sources(top):
            report.case('%s is a guest' % path, check_guest(path, top))
    print('1..%d' % report.cases)
    return 1 if report.failures else 0


if __name__ == '__main__':
    sys.exit(main())
