# Which members of a long list are tried this time: its core, and a sample of the rest that changes with the commit.
# SPDX-License-Identifier: MIT
#
# WHY  One commit is always tried with the same members, so that what failed once fails again; over some commits all of
# them come to their turn. --long tries all.
import hashlib
import os
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def processors():
    return len(os.sched_getaffinity(0))


def step_back():
    """Whoever keeps all processors busy for long lets those go first who wait for each other."""
    os.nice(10)


def add_options(parser, long_text):
    parser.add_argument('--long', action='store_true', help=long_text)
    parser.add_argument('--seed', metavar='WORD', help='what the sample is drawn by; without it the commit, or the day')


def seed_of_today():
    """The commit; the day where there is no git."""
    command = ['git', '-c', 'safe.directory=*', '-C', ROOT, 'rev-parse', '--short=12', 'HEAD']
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        return done.stdout.decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return time.strftime('%Y-%m-%d', time.gmtime())


def place(seed, name):
    return hashlib.sha256(('%s %s' % (seed, name)).encode()).digest()


def choose(members, arguments, count):
    """Those to try of `members`, which have a name and may be of the core. Says how they were chosen."""
    if arguments.only is not None:
        return [m for m in members if arguments.only in m.name]
    if arguments.long:
        return members
    seed = arguments.seed or seed_of_today()
    rest = sorted((m for m in members if not m.core), key=lambda m: place(seed, m.name))[:count]
    chosen = [m for m in members if m.core or m in rest]
    print('# %d of the core, %d of %d others by seed %s; --seed %s repeats it, --long tries all' % (
        len(chosen) - len(rest), len(rest), sum(not m.core for m in members), seed, seed))
    return chosen
