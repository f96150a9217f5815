#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The GPU suite: driver rules, libcai's order in C and in Python, and pairs of real frameworks.

It uses what the machine has and fetches nothing; what is missing is counted by its name. On a
machine without a driver it says so and ends well. `simcuda/sim make test-gpu` runs it on simcuda.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "simcuda/tests/driver")]

import results  # noqa: E402
import rules  # noqa: E402

import build  # noqa: E402

SECONDS = 600  # for one module of tests
MODULES = ("test_order", "test_frameworks", "test_adaptors", "test_kernels", "test_ptx")


class Tally:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skipped = Counter()

    def take(self, verdict, name, why=""):
        if verdict == "passed":
            self.passed += 1
        elif verdict == "skipped":
            self.skipped[why.removeprefix("skipped: ")] += 1
        else:
            self.failures.append(f"{name}: {why}")


def headline(text):
    print(f"\n== {text}", flush=True)


def build_package(tally, folder, environment):
    """The tests go on without it, on an installed one or none."""
    try:
        package, lacking = build.package(folder)
    except build.BuildFailed as failure:
        tally.take("failed", "libcai's Python package", str(failure))
        return
    if package:
        others = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(package), *([others] if others else [])])
    print(f"libcai's Python package: {f'not built: {lacking} here' if lacking else 'built'}")


def run_rules(tally, programs, jobs, here=None):
    """`here`: the machine, if a table of the results is wanted."""
    headline("driver rules")
    outcomes = results.run_all(programs, jobs)
    if here:
        print(f"table: {results.write(here, outcomes)}")
    for outcome in outcomes:
        tally.take(outcome.verdict, outcome.rule.path.name, outcome.found[-1])
        if outcome.verdict == "passed" and outcome.expected != outcome.found:
            print(f"information: {outcome.rule.name}: {'; '.join(outcome.found)}")


def run_order(tally, folders):
    headline("order, in C (tests/order needs simcuda and GoogleTest: it is not of this suite)")
    for source in build.order_programs():
        # The same form as a rule's program: 0, 77 or something else.
        rule = rules.Rule(source.stem, source, "", "")
        programs = [folder / source.stem for folder in folders]
        outcome = results.run(rule, next(filter(Path.exists, programs)))
        tally.take(outcome.verdict, source.name, outcome.found[-1])


def run_module(tally, module, environment):
    headline(f"{module}, by {sys.executable}")
    command = [sys.executable, str(HERE / "python_tests.py"), module]
    expected = count_tests(module, environment)
    seen = 0
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, timeout=SECONDS
        )
        output, ended = done.stdout, f"exit status {done.returncode}"
    except subprocess.TimeoutExpired as late:
        output, ended = (late.stdout or b"").decode(), f"no end within {SECONDS} seconds"
    for line in output.splitlines():
        verdict, tab, rest = line.partition("\t")
        if not tab:
            print(line)
            continue
        name, _, why = rest.partition("\t")
        tally.take(verdict.lower(), name, why)
        seen += 1
    if seen != expected:
        tally.take("failed", module, f"{expected - seen} of {expected} tests did not end: {ended}")


COUNT = """
import sys, unittest
print(unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).countTestCases())
"""


def count_tests(module, environment=None):
    """The number of tests in a module, whose import calls no driver."""
    command = [sys.executable, "-c", COUNT, module]
    done = subprocess.run(command, cwd=HERE, env=environment, stdout=subprocess.PIPE, text=True)
    return int(done.stdout or 0)


def count_all():
    python = sum(count_tests(module) for module in MODULES)
    return len(rules.read_rules()) + len(build.order_programs()) + python


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--built", type=Path, help="Meson's build folder, with libcai in it")
    parser.add_argument("--jobs", type=int, default=1, help="so many driver rules at a time")
    parser.add_argument("--record", action="store_true", help="write the table of the driver rules")
    options = parser.parse_args()
    built = options.built
    try:
        here = results.machine()
    except results.NoDriver as missing:
        print(f"GPU suite: {count_all()} skipped: {missing}")
        return 0
    print(f"{here.device}, {here.devices} of them, driver for CUDA {here.driver}")

    tally = Tally()
    environment = {**os.environ}
    headline("build")
    folder = built.resolve() / "tests/gpu" if built else ROOT / "build-gpu"
    programs = folder / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    try:
        results.build(programs)
        if built:
            library = built.resolve() / "src/libcai.so"
            order_programs = [built / "tests/gpu", built / "tests/programs"]
        else:
            library, by = build.libcai(folder)
            print(f"libcai: built by {by}")
            order_programs = [programs]
            build.programs(programs, library)
    except (build.BuildFailed, subprocess.CalledProcessError) as failure:
        print(f"{failure}\n\n0 passed, 1 failed, {count_all()} skipped: nothing to test")
        return 1
    if not built:
        build_package(tally, folder, environment)
    environment["CAI_LIBRARY"] = str(library)

    run_rules(tally, programs, options.jobs, here if options.record else None)
    run_order(tally, order_programs)
    for module in MODULES:
        run_module(tally, module, environment)

    if tally.skipped:
        headline("skipped")
        for reason, count in sorted(tally.skipped.items()):
            print(f"  {count}: {reason}")
    if tally.failures:
        headline("failed")
        print("\n".join(f"  {failure}" for failure in tally.failures))
    skipped = sum(tally.skipped.values())
    print(f"\n{tally.passed} passed, {len(tally.failures)} failed, {skipped} skipped")
    return 1 if tally.failures or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
