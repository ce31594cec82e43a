#!/usr/bin/env python3
"""Tools on damaged segments, files cut short under them, places without rights or room: an error and its exit code, never
a crash, a hang or broken JSON.

SPDX-License-Identifier: MIT
"""
import json
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["TLSHM_BUILD"] + "/tools/"
PATIENCE_S = 120
GEOMETRY = ["--scopes", "8", "--reservations", "64", "--seats", "4", "--tiers", "4", "--limit-lists", "8"]
NOBODY = 65534

results = []


def ok(passed, name, detail=""):
    results.append(bool(passed))
    print(f"{'ok' if passed else 'not ok'} {len(results)} - {name}")
    if not passed:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="")
    sys.stdout.flush()


def skip(name, reason):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {reason}")


def run(*words, **how):
    return subprocess.run([BUILD + words[0], *words[1:]], capture_output=True, timeout=PATIENCE_S, check=False, **how)


def ended_well(done, codes):
    if b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
        return False
    return done.returncode in codes and (done.returncode == 0 or done.stderr or done.stdout)


def make(path, *more):
    done = run("tlshm", "-s", path, "create", *GEOMETRY, *more)
    assert done.returncode == 0, done.stderr


def live_segment(path):
    """A segment with something in every table."""
    make(path, "--virtual-clock")
    for words in (
        ["tier", "set", "pro", "tokens 10k per 1h", "cost $5 per day"],
        ["default", "set", "agent", "pro"],
        ["limit", "set", "tenant:t", "concurrency 5"],
        ["limit", "set", "tenant:t", "tokens 7M per month"],
        ["reserve", "agent:a", "tenant:t", "--tokens", "100", "--cost", "$0.01"],
        ["reserve", "agent:b", "tenant:t", "--tokens", "30", "--ttl", "5s"],
        ["clock", "advance", "10s"],
        ["reserve", "agent:c", "--tokens", "30", "--key", "once"],
    ):
        done = run("tlshm", "-s", path, *words)
        assert done.returncode == 0, (words, done.stderr)
    return run("tlshm", "-s", path, "reserve", "agent:a", "--tokens", "5").stdout.decode().strip()


# ------------------------------------------------------------------------------------------------------ damaged segments


def damage(data, dice):
    """Changes a few words behind the header, most of them where something is."""
    used = [at for at in range(4096, len(data) - 8, 8) if data[at:at + 8] != bytes(8)]
    for _ in range(dice.choice([1, 3, 30, 300])):
        at = dice.choice(used) if dice.random() < 0.8 else dice.randrange(512, len(data) // 8) * 8
        was, = struct.unpack_from("<Q", data, at)
        value = dice.choice([
            dice.getrandbits(64), (1 << 64) - 1, 0, was ^ 1 << dice.randrange(64), dice.getrandbits(8),
            was & ~0xffffff | dice.getrandbits(9), was + 1 & (1 << 64) - 1,
        ])
        struct.pack_into("<Q", data, at, value)


def commands(ident):
    """What is run on each damaged file: (tool, words, prints JSON)."""
    views = [["overview"], ["scopes"], ["scope", "agent:a"], ["reservations"], ["reservation", ident], ["seats"], ["tiers"],
             ["--verify"]]
    calls = [["usage", "agent:b"], ["limit", "list", "tenant:t"], ["tier", "list"], ["level", "list"],
             ["reserve", "agent:a", "tenant:t", "--tokens", "5"], ["settle", ident, "--tokens", "3"],
             ["limit", "set", "agent:a", "tokens 5 per 1m"], ["reap"]]
    for words in views:
        yield "tlshm-inspect", ["--json", *words]
    for words in calls:
        yield "tlshm", ["--json", *words]
    yield "tlshm-inspect", []
    yield "tlshm-inspect", ["reservations"]
    yield "tlshm-reaper", ["--once", "--json"]


def damaged_segments(place, files):
    whole = place + "/whole"
    ident = live_segment(whole)
    with open(whole, "rb") as file:
        image = file.read()
    bad = []
    for seed in range(files):
        path = place + "/damaged"
        data = bytearray(image)
        damage(data, random.Random(seed))
        with open(path, "wb") as file:
            file.write(data)
        for tool, words in commands(ident):
            try:
                done = run(tool, *words, "-s", path)
            except subprocess.TimeoutExpired:
                bad.append(f"seed {seed}: {tool} {words}: does not end")
                continue
            if not ended_well(done, (0, 1, 3)):
                bad.append(f"seed {seed}: {tool} {words}: {done.returncode}: {done.stderr[-300:]}")
            elif "--json" in words:
                try:
                    json.loads(done.stdout)
                except ValueError as error:
                    bad.append(f"seed {seed}: {tool} {words}: {done.returncode}: {error}: {done.stdout[-200:]!r}")
        os.unlink(path)
    ok(not bad, f"every view and call on {files} damaged segments", "\n".join(bad[:20]))


# ------------------------------------------------------------------------------------------------------------- cut short


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("in vain: " + what)
        time.sleep(0.02)


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def cut_under_inspect(place):
    path = place + "/cut-inspect"
    live_segment(path)
    with open(place + "/log", "w", encoding="utf-8") as log:
        tool = subprocess.Popen([BUILD + "tlshm-inspect", "-s", path, "--json", "--watch", "-i", "20ms"], stdout=log,
                                stderr=subprocess.STDOUT)
    until(lambda: text_of(place + "/log"), "a first frame")
    os.truncate(path, 0)
    code = tool.wait(timeout=PATIENCE_S)
    said = text_of(place + "/log").splitlines()[-1]
    ok(code == 3 and "ETRUNCATED" in said and path in said, "a segment cut short under tlshm-inspect", f"{code}: {said}")


def cut_under_the_reaper(place):
    """The others go on, and the file is taken up again when it is made anew."""
    spot = place + "/fleet"
    os.mkdir(spot)
    for name in ("cut", "other"):
        make(f"{spot}/{name}")
    log = place + "/reaper.log"
    with open(log, "w", encoding="utf-8") as file:
        reaper = subprocess.Popen([BUILD + "tlshm-reaper", "--directory", spot, "--period", "20ms", "--json"], stderr=file)
    try:
        until(lambda: text_of(log).count('"watching"') == 2, "both are watched")
        os.truncate(spot + "/cut", 4096)
        until(lambda: "ETRUNCATED" in text_of(log), "the trouble is told")
        trouble = [json.loads(line) for line in text_of(log).splitlines() if "ETRUNCATED" in line]
        ok(len(trouble) == 1 and trouble[0]["segment"] == spot + "/cut", "a segment cut short is reported by name, once",
           trouble)
        run("tlshm", "-s", spot + "/other", "reserve", "agent:a", "--tokens", "5", "--ttl", "10ms")
        until(lambda: json.loads(run("tlshm-inspect", "-s", spot + "/other", "--json").stdout)["counters"]["expired"] == 1,
              "the other segment is still looked after")
        ok(reaper.poll() is None, "the reaper goes on with the others")
        os.unlink(spot + "/cut")
        make(spot + "/cut")
        until(lambda: text_of(log).count('"watching"') == 3, "the new one is taken up")
        ok(True, "and takes the file up when it is made anew")
    finally:
        reaper.send_signal(signal.SIGTERM)
        code = reaper.wait(timeout=PATIENCE_S)
    ok(code == 0, "and ends as it should", code)


# -------------------------------------------------------------------------------------------------------- rights and room


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def another_user(place):
    name = "another user"
    if os.getuid() != 0:
        skip(name, "needs root")
        return
    path = place + "/mine"
    make(path)
    os.chmod(place, 0o755)
    done = run("tlshm-inspect", "-s", path, preexec_fn=as_nobody)
    ok(done.returncode == 3 and b"EACCES" in done.stderr and path.encode() in done.stderr, name + " may not look at 0660",
       done.stderr)
    os.chmod(path, 0o644)
    done = run("tlshm-inspect", "-s", path, "--json", preexec_fn=as_nobody)
    ok(done.returncode == 0 and json.loads(done.stdout), "but at 0644, needing no more than to read", done.stderr)
    done = run("tlshm", "-s", path, "reserve", "agent:a", "--tokens", "5", preexec_fn=as_nobody)
    ok(done.returncode == 3 and b"EACCES" in done.stderr, "and may not write", done.stderr)
    done = run("tlshm", "-s", path, "destroy", preexec_fn=as_nobody)
    ok(done.returncode == 3 and os.path.exists(path), "nor destroy it", done.stderr)
    os.chmod(path, 0o666)
    done = run("tlshm", "-s", path, "reserve", "agent:a", "--tokens", "5", preexec_fn=as_nobody)
    ok(done.returncode == 0, "at 0666 it may write", done.stderr)
    done = run("tlshm", "-s", place + "/theirs", "create", *GEOMETRY, preexec_fn=as_nobody)
    ok(done.returncode == 3 and b"EACCES" in done.stderr, "nor make one where it may not write", done.stderr)


def in_mounts(place, script):
    """A shell script with mounts of its own; None where that is not possible."""
    own = ["--mount"] if os.getuid() == 0 else ["--mount", "--user", "--map-root-user"]
    probe = subprocess.run(["unshare", *own, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        return None
    return subprocess.run(["unshare", *own, "sh", "-ec", script], capture_output=True, timeout=PATIENCE_S, check=False,
                          env={**os.environ, "T": BUILD, "P": place})


def readonly_file_system(place):
    name = "a read-only file system"
    make(place + "/ro")
    done = in_mounts(place, """
        mount --bind "$P" "$P" && mount -o remount,bind,ro "$P"
        "$T/tlshm-inspect" -s "$P/ro" --json >/dev/null || exit 11
        "$T/tlshm" -s "$P/ro" usage agent:a >/dev/null || exit 12
        if "$T/tlshm" -s "$P/ro" reserve agent:a --tokens 5; then exit 13; fi
        if "$T/tlshm" -s "$P/new" create; then exit 14; fi
        if "$T/tlshm" -s "$P/ro" destroy; then exit 15; fi
    """)
    if done is None:
        skip(name, "no mount namespaces here")
        return
    ok(done.returncode == 0 and done.stderr.count(b"EACCES") == 3, name + " can be looked at, and all else is an error",
       f"{done.returncode}: {done.stderr}")


def full_file_system(place):
    name = "a full file system"
    done = in_mounts(place, """
        mkdir "$P/small" && mount -t tmpfs -o size=300k tmpfs "$P/small"
        if "$T/tlshm" -s "$P/small/s" create; then exit 11; fi
        [ ! -e "$P/small/s" ] || exit 12
        "$T/tlshm" -s "$P/small/s" create --scopes 2 --reservations 64 --seats 2 --tiers 2 --limit-lists 2 \\
            --models 1 || exit 13
        head -c 1m /dev/zero >"$P/small/filler" 2>/dev/null || true
        "$T/tlshm" -s "$P/small/s" reserve agent:a --tokens 5 || exit 14
    """)
    if done is None:
        skip(name, "no mount namespaces here")
        return
    ok(done.returncode == 0 and b"ENOSPC" in done.stderr, name + " is told at creation, and never later",
       f"{done.returncode}: {done.stderr}")


def without_proc(place):
    name = "no /proc"
    done = in_mounts(place, """
        mount -t tmpfs tmpfs /proc
        export LD_LIBRARY_PATH="$T/../lib"
        "$T/tlshm" --version || exit 99
        "$T/tlshm" -s "$P/procless" create || exit 11
        if "$T/tlshm" -s "$P/procless" create; then exit 12; fi
        "$T/tlshm" -s "$P/procless" reserve agent:a --tokens 5 || exit 13
        "$T/tlshm-inspect" -s "$P/procless" --verify || exit 14
        [ -z "$(ls -A "$P" | grep '^\\.tlshm')" ] || exit 15
    """)
    if done is None:
        skip(name, "no mount namespaces here")
        return
    if done.returncode == 99:
        skip(name, "no program of this build starts without it")
        return
    ok(done.returncode == 0 and b"EEXIST" in done.stderr, name + ": segments are made and used all the same",
       f"{done.returncode}: {done.stderr}")


def main():
    place = tempfile.mkdtemp(prefix="tlshm-hostile-")
    try:
        damaged_segments(place, 12)
        cut_under_inspect(place)
        cut_under_the_reaper(place)
        another_user(place)
        readonly_file_system(place)
        full_file_system(place)
        without_proc(place)
    finally:
        for root, _, files in os.walk(place):
            for name in files:
                os.chmod(os.path.join(root, name), stat.S_IRUSR | stat.S_IWUSR)
        shutil.rmtree(place)
    print(f"1..{len(results)}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
