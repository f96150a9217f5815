#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every driver rule on the driver that is here, and writes a table of what it found.

Needs a C compiler (CC, or cc) and a libcuda.so.1: a machine's own, or simcuda by simcuda/sim. The
table goes to results/DATE-DEVICE.md beside this file and is the same, byte by byte, for the same
results. Exit status 1: some rule does not hold; the table is written all the same.
"""

import argparse
import ctypes
import datetime
import difflib
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import rules

RESULTS = rules.FOLDER / "results"
SUPPORT = rules.FOLDER.parent / "support"
NOT_HERE = 77
SECONDS = 600  # for one program


@dataclass(frozen=True)
class Machine:
    device: str
    devices: int
    driver: str
    simulated: bool

    @property
    def slug(self):
        name = "simcuda" if self.simulated else self.device
        return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class NoDriver(Exception):
    """What is missing, in words."""


def machine():
    """The machine under test, by its driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoDriver("no CUDA driver here") from None
    status = cuda.cuInit(0)
    if status == 34:
        raise NoDriver("no CUDA driver here but simcuda, without SIMCUDA=1")
    if status == 100:
        raise NoDriver("no CUDA device here")
    if status != 0:
        raise NoDriver(f"no working CUDA driver here: cuInit gives {status}")
    version, count, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    for result in (
        cuda.cuDriverGetVersion(ctypes.byref(version)),
        cuda.cuDeviceGetCount(ctypes.byref(count)),
        cuda.cuDeviceGet(ctypes.byref(device), 0),
        cuda.cuDeviceGetName(name, len(name), device),
    ):
        if result != 0:
            raise NoDriver(f"no working CUDA driver here: it gives {result}")
    return Machine(
        device=name.value.decode(),
        devices=count.value,
        driver=f"{version.value // 1000}.{version.value % 1000 // 10}",
        simulated=hasattr(cuda, "simcuda_calls"),
    )


def build(folder):
    """Compiles every rule into a folder."""
    compiler = os.environ.get("CC", "cc").split()

    def one(rule):
        command = [*compiler, "-std=gnu99", "-O1", f"-I{SUPPORT}", str(rule.path)]
        command += ["-o", str(folder / rule.path.stem), "-pthread", "-ldl"]
        subprocess.run(command, check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, rules.read_rules()))


@dataclass(frozen=True)
class Outcome:
    rule: rules.Rule
    verdict: str  # passed, failed, skipped
    expected: tuple
    found: tuple


def run(rule, program):
    """One program's outcome: what it expected, and what there was."""
    try:
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome(rule, "failed", ("holds",), (f"no end within {SECONDS} seconds",))
    found = [match.groupdict() for match in rules.FOUND.finditer(done.stdout)]
    expected = tuple(f"{f['what']}: {f['assumed']}" for f in found) or ("holds",)
    answers = tuple(f"{f['what']}: {f['answer']}" for f in found)
    if done.returncode == 0:
        return Outcome(rule, "passed", expected, answers or ("holds",))
    if done.returncode == NOT_HERE:
        return Outcome(rule, "skipped", expected, (*answers, last_line(done.stdout)))
    if done.returncode < 0:
        reason = f"ended by {signal.Signals(-done.returncode).name}"
    else:
        reason = re.sub(r"\S*/(?=rule_)", "", last_line(done.stderr or done.stdout))
    return Outcome(rule, "failed", expected, (*answers, f"does not hold: {reason}"))


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason given"


def run_all(programs, jobs=1):
    """Every rule's outcome. With several jobs, what does not hold beside others is tried alone."""

    def one(rule):
        return run(rule, programs / rule.path.stem)

    with ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(one, rules.read_rules()))
    if jobs == 1:
        return outcomes
    return [one(each.rule) if each.verdict == "failed" else each for each in outcomes]


def cell(*lines):
    return "<br>".join(line.replace("|", "\\|") for line in lines)


SIMULATED = """\
No GPU was at hand: this is simcuda, the simulated driver. The table shows what simcuda does, and so
what it assumes; it is no word on what a GPU does. `python3 simcuda/tests/driver/results.py` on a
machine with a GPU writes that machine's table beside this one.
"""
MEASURED = """\
Where "expected" is not "holds", no source settles the question: it is what simcuda assumes.
"""


def table(here, date, outcomes):
    counted = {v: sum(o.verdict == v for o in outcomes) for v in ("passed", "failed", "skipped")}
    unlike = sum(o.verdict == "passed" and o.expected != o.found for o in outcomes)
    lines = [
        f"# Driver rules on {'simcuda' if here.simulated else here.device}",
        "",
        SIMULATED if here.simulated else MEASURED,
        f"- date: {date}",
        f"- device: {here.device}, {here.devices} of them",
        f"- driver: CUDA {here.driver}",
        f"- rules: {counted['passed']} passed, {counted['failed']} failed, "
        f"{counted['skipped']} skipped; {unlike} found other than simcuda assumes",
        "",
        "| program | rule | source | expected | found |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {o.rule.name} | {cell(o.rule.rule)} | {cell(o.rule.source)} "
        f"| {cell(*o.expected)} | {cell(*o.found)} |"
        for o in outcomes
    ]
    return "\n".join(lines) + "\n"


def check(here, outcomes):
    """Compares with the newest table of such a machine, whose date is its own."""
    tables = sorted(RESULTS.glob(f"????-??-??-{here.slug}.md"))
    if not tables:
        sys.exit(f"there is no table for {here.slug} in {RESULTS}")
    newest = tables[-1]
    kept, now = newest.read_text(), table(here, newest.name[:10], outcomes)
    if kept == now:
        return
    difference = difflib.unified_diff(kept.splitlines(), now.splitlines(), n=0, lineterm="")
    print(*difference, sep="\n")
    sys.exit(
        f"{newest.name} is not what the rules find now: see simcuda/tests/driver/results/README.md"
    )


def write(here, outcomes, date=None):
    """Writes the table of a day, or of today; returns its path."""
    date = date or datetime.date.today().isoformat()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{date}-{here.slug}.md"
    path.write_text(table(here, date, outcomes))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, help="a folder with the programs, already built")
    parser.add_argument("--check", action="store_true", help="compare with the newest table")
    parser.add_argument("--date")
    parser.add_argument("--jobs", type=int, default=1, help="so many programs at a time")
    arguments = parser.parse_args()
    try:
        here = machine()
    except NoDriver as missing:
        sys.exit(f"{missing}: no rule was run")
    with tempfile.TemporaryDirectory() as scratch:
        if not arguments.programs:
            build(Path(scratch))
        outcomes = run_all(arguments.programs or Path(scratch), arguments.jobs)
    if arguments.check:
        check(here, outcomes)
    else:
        print(write(here, outcomes, arguments.date))
    for outcome in outcomes:
        if outcome.verdict == "failed":
            print(f"{outcome.rule.path.name}: {outcome.found[-1]}", file=sys.stderr)
    return any(outcome.verdict == "failed" for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
