#!/usr/bin/env python3
"""Which way of learning a bound for outputs keeps what it promises: the figures of lib/DESIGN.md, section 20.

Usage: quantiles.py [--share 0.95] [--calls 4000] [TRACE:MODEL-COLUMN:OUTPUT-COLUMN...]

A trace is a CSV file, gzipped or not; MODEL-COLUMN may be empty. Each call is first compared with the bound that was
learned of the calls before it, and then learned: so no call is judged by itself. Shown for each way, over all models
with 100 calls and more: the share of calls that stayed within their bound, the largest distance of a model from the
share that was promised, and the tokens held for one that was used. Without a trace it is a test, on calls made here.
SPDX-License-Identifier: MIT
"""
import argparse
import bisect
import collections
import csv
import gzip
import math
import random
import sys

ENOUGH = 100


class Histogram:
    """What lib/models.h does, with 2^bits buckets a doubling; age 0: nothing is ever forgotten."""

    def __init__(self, share, bits, age):
        self.share, self.bits, self.age, self.learned = share, bits, age, 0
        self.weight = collections.Counter()

    def bucket(self, output):
        shift = max(output.bit_length() - self.bits - 1, 0)
        return (shift << self.bits) + (output >> shift)

    def end(self, bucket):
        doubling = bucket >> self.bits
        if doubling == 0:
            return bucket
        return ((bucket & ((1 << self.bits) - 1) | 1 << self.bits) + 1 << doubling - 1) - 1

    def learn(self, output):
        if self.age and self.learned and self.learned % self.age == 0:
            for bucket in self.weight:
                self.weight[bucket] /= 2
        self.learned += 1
        self.weight[self.bucket(output)] += 1

    def bound(self):
        total = sum(self.weight.values())
        need, met = self.share * (total + 1), 0
        for bucket in sorted(self.weight) if need <= total else ():
            met += self.weight[bucket]
            if met >= need:
                return self.end(bucket)
        return None


class Window:
    """The exact quantile of the last calls."""

    def __init__(self, share, size):
        self.share, self.last, self.sorted = share, collections.deque(maxlen=size), []

    def learn(self, output):
        if len(self.last) == self.last.maxlen:
            self.sorted.pop(bisect.bisect_left(self.sorted, self.last[0]))
        self.last.append(output)
        bisect.insort(self.sorted, output)

    def bound(self):
        rank = math.ceil(self.share * (len(self.last) + 1))
        return self.sorted[rank - 1] if rank <= len(self.sorted) else None


class Steps:
    """One number that goes up by much when it was exceeded and down by little when it was not (Robbins and Monro)."""

    def __init__(self, share, step):
        self.share, self.step, self.at, self.learned = share, step, None, 0

    def learn(self, output):
        here = math.log(output + 1)
        self.learned += 1
        if self.at is None:
            self.at = here
        else:
            self.at += self.step * (self.share - (here <= self.at))

    def bound(self):
        return math.exp(self.at) if self.learned >= 19 else None


WAYS = [
    ("histogram of 8, age 512", lambda share: Histogram(share, 3, 512)),
    ("histogram of 16, age 128", lambda share: Histogram(share, 4, 128)),
    ("histogram of 16, age 512", lambda share: Histogram(share, 4, 512)),
    ("histogram of 16, age 2048", lambda share: Histogram(share, 4, 2048)),
    ("histogram of 16, no ageing", lambda share: Histogram(share, 4, 0)),
    ("exact, last 512", lambda share: Window(share, 512)),
    ("steps of 0.05", lambda share: Steps(share, 0.05)),
    ("steps of 0.2", lambda share: Steps(share, 0.2)),
]


def outputs(text):
    """One list of outputs for each model of a trace, in its order."""
    path, model, output = text.rsplit(":", 2)
    by = collections.OrderedDict()
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", newline="") as lines:
        for row in csv.DictReader(lines):
            by.setdefault(row[model] if model else "", []).append(int(row[output]))
    return [calls for calls in by.values() if len(calls) >= ENOUGH]


def judge(way, share, calls):
    learner, judged, covered, held, used = way(share), 0, 0, 0, 0
    for output in calls:
        bound = learner.bound()
        if bound is not None:
            judged, covered, held, used = judged + 1, covered + (output <= bound), held + bound, used + output
        learner.learn(output)
    return judged, covered, held, used


def made(seed, change):
    """Skewed outputs as models have them; with `change` their size changes twentyfold halfway."""
    source = random.Random(seed)
    return [int(source.lognormvariate(5 if i < 2000 or not change else 8, 1.2)) for i in range(4000)]


def test():
    learners = dict(WAYS)
    number = failed = 0
    for share in (0.5, 0.95, 0.99):
        for change in (False, True):
            judged, covered, _, _ = judge(learners["histogram of 16, age 512"], share, made(number, change))
            number += 1
            off = covered / judged - share
            good = -0.12 < off < 0.05 if change else -0.01 < off < 0.05
            failed += not good
            print("%sok %d - a bound for %g of the calls%s is off by %.4f"
                  % ("" if good else "not ", number, share, " that change" if change else "", off))
    print("1..%d" % number)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=0.95)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("trace", nargs="*")
    args = parser.parse_args()
    if not args.trace:
        sys.exit(test())
    models = [calls[:args.calls] for text in args.trace for calls in outputs(text)]
    print("%d models, %d calls" % (len(models), sum(map(len, models))))
    for name, way in WAYS:
        judged = [judge(way, args.share, calls) for calls in models]
        worst = max((abs(j[1] / j[0] - args.share) for j in judged if j[0]), default=0)
        total = [sum(column) for column in zip(*judged)]
        print("%-28s covered %.4f   worst model off by %.4f   held/used %.2f"
              % (name, total[1] / total[0], worst, total[2] / total[3]))


if __name__ == "__main__":
    main()
