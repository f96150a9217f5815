# SPDX-License-Identifier: BSD-3-Clause
"""Meson's build folders, and the tests in them."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from results import ROOT, headline, run


@dataclass
class Tree:
    """A build folder."""

    folder: str
    options: list
    source: str = "."  # the project's folder
    environment: dict = field(default_factory=dict)
    wrapper: str = ""  # of each test
    name: str = ""  # by which its tests are known, if not the folder's

    def where(self, test):
        return f"{self.name or self.folder}: {test}"


# Most of the time goes into compiling, and half of that would go into -O2 and -g; the wheels of a
# release are built as users get them. The first two trees have the wheels of the tests in them:
# they are in the wheel's layout, and tools/wheel reads their options. pyproject.toml's own come
# first, and some of them are not for tests.
OF_TESTS = [
    *["-Dpython=true", "-Dtests=true", "-Dwerror=true"],
    *["-Dbuildtype=release", "-Doptimization=1", "-Ddebug=false", "-Db_ndebug=false"],
]
SIMCUDA = Tree("build-simcuda", OF_TESTS, source="simcuda")
SIMCUDA_DIR = f"-Dsimcuda_dir={ROOT / SIMCUDA.folder / 'driver'}"
PLAIN = Tree(
    "build",
    [*OF_TESTS, "-Dpython.allow_limited_api=false", "-Dsimcuda=false", SIMCUDA_DIR],
)
# Lines are for the reports. With a sanitizer, GCC sometimes warns wrongly, so warnings are not
# errors there.
LINES = ["-Ddebug=false", "-Dc_args=-g1", "-Dcpp_args=-g1"]
ADDRESSES = [*LINES, "-Doptimization=0", "-Db_sanitize=address,undefined"]
# The exchange alone.
ALONE = Tree(
    "build-exchange",
    ["-Dmemory=disabled", "-Dwerror=true", "-Doptimization=1", "-Ddebug=false", SIMCUDA_DIR],
)
SANITIZED = Tree(
    "build-asan",
    [*ADDRESSES, SIMCUDA_DIR],
    environment={"LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp"},
)
RACES = [*LINES, "-Doptimization=1", "-Db_sanitize=thread"]
THREADS = Tree(
    "build-tsan",
    [*RACES, SIMCUDA_DIR],
    environment={"TSAN_OPTIONS": f"suppressions={ROOT}/tests/tsan.supp"},
)
# The simulated driver takes longer to compile in this way than all the rest, and seldom changes.
WITH_SIMCUDA = "-Dsimcuda:tests=true"
SANITIZED_SIMCUDA = Tree("build-asan-simcuda", [*ADDRESSES, WITH_SIMCUDA], name=SANITIZED.folder)
THREADS_SIMCUDA = Tree("build-tsan-simcuda", [*RACES, WITH_SIMCUDA], name=THREADS.folder)
VALGRIND = Tree(
    "build-valgrind",
    [*LINES, "-Doptimization=1", SIMCUDA_DIR],
    wrapper="valgrind --quiet --leak-check=full --error-exitcode=99 --keep-debuginfo=yes"
    " --suppressions=../tests/valgrind.supp",
)
FUZZ = Tree(
    "build-fuzz",
    # clang's sanitizer runtime is in the programs only, so the library has open ends.
    [
        *[*LINES, "-Doptimization=1", "-Db_sanitize=address,undefined", SIMCUDA_DIR],
        *["-Dfuzzing=libfuzzer", "-Db_lundef=false"],
    ],
    environment={"CC": "clang-16", "CXX": "clang++-16"},
)

# Clang counts conditions as they are written, so what the compiler adds (exceptions, destructors)
# is no branch. The counts are in a file that all processes share: one may end in any manner.
COUNTING = (
    "-g0 -fprofile-instr-generate -fprofile-update=atomic -fcoverage-mapping"
    " -mllvm -runtime-counter-relocation"
)
COVERAGE = Tree(
    "build-coverage",
    [
        *["-Ddebug=false", "-Doptimization=0", "-Dtests=false", WITH_SIMCUDA],
        *[f"-Dc_args={COUNTING}", f"-Dcpp_args={COUNTING}"],
        *[f"-D{language}_link_args=-fprofile-instr-generate" for language in ("c", "cpp")],
    ],
    environment={"CC": "clang-16", "CXX": "clang++-16"},
)
COUNTS = {"LLVM_PROFILE_FILE": f"{ROOT}/{COVERAGE.folder}/counts/%m%c.profraw"}
# The engine for PTX is in its tests.
COUNTED_KERNELS = replace(COVERAGE, environment={**COVERAGE.environment, **COUNTS})
# The tests of the plain trees, with those libraries.
COUNTED, COUNTED_SIMCUDA = (
    replace(
        tree,
        environment=COUNTS,
        wrapper=f"{ROOT}/tests/branches/counted",
        name=COVERAGE.folder,
    )
    for tree in (PLAIN, SIMCUDA)
)


def configure(tree):
    """True when the folder is there, with these options and by these meson.build."""
    folder = ROOT / tree.folder
    setup = ["meson", "setup", tree.folder, tree.source, "--libdir=lib", *tree.options]
    wanted = repr([sys.version, version("meson"), *setup])
    # Of the last time here; newer if the folder was configured elsewhere since.
    stamp, configured = folder / "configured-as", folder / "meson-private/coredata.dat"
    if not configured.exists():
        pass
    elif (
        stamp.exists()
        and stamp.read_text() == wanted
        and stamp.stat().st_mtime_ns >= configured.stat().st_mtime_ns
    ):
        setup = ["ninja", "-C", tree.folder, "build.ninja"]  # seconds less, if nothing changed
    else:
        setup.insert(2, "--reconfigure")
    done = run_setup(tree, setup)
    if done.returncode != 0 and "--reconfigure" in setup:  # of options that did not exist then
        shutil.rmtree(folder)
        setup.remove("--reconfigure")
        done = run_setup(tree, setup)
    if done.returncode != 0:
        print("".join(done.stdout.splitlines(keepends=True)[-30:]))
        stamp.unlink(missing_ok=True)
        return False
    stamp.write_text(wanted)
    return True


def run_setup(tree, setup):
    return subprocess.run(
        setup,
        cwd=ROOT,
        env={**os.environ, **tree.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def make(tree, *files):
    """True when the folder is there with these files."""
    return configure(tree) and run(["ninja", "-C", tree.folder, "--quiet", *files]) == 0


def introspect(tree, what):
    output = subprocess.run(
        ["meson", "introspect", tree.folder, f"--{what}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(output.stdout)


def files_of(tree, is_wanted):
    """Paths in the folder of what the targets make."""
    return sorted(
        os.path.relpath(file, ROOT / tree.folder)
        for target in introspect(tree, "targets")
        if is_wanted(target)
        for file in target["filename"]
    )


def library_of(tree):
    """The files that are libcai: the soname may be a link to the one that is built."""
    return files_of(tree, lambda target: target["name"] == "cai" and target["installed"])


def make_library(tree):
    """True when the folder is there with libcai in it."""
    return configure(tree) and make(tree, *library_of(tree))


def make_simcuda():
    """True when the simulated driver is there, in its own folder."""
    return make(SIMCUDA, "driver/libcuda.so.1")


def installed_files(tree):
    return files_of(tree, lambda target: target["installed"])


def suites_of(test):
    return {suite.partition(":")[2] for suite in test["suite"]}


def build(tree, tests):
    """Builds what the tests need, and says nothing unless that fails."""
    needed = {target for test in tests for target in test["depends"]}
    files = files_of(tree, lambda target: target["id"] in needed)
    return not files or run(["ninja", "-C", tree.folder, "--quiet", *files]) == 0


def add_tests(results, tree, logs):
    """Adds up one run of `meson test`; returns the suites in which something ran."""
    junit = ElementTree.parse(logs.with_suffix(".junit.xml")).getroot()
    ran = set()
    for line in logs.with_suffix(".json").read_text().splitlines():
        test = json.loads(line)
        name, result = test["name"], test["result"]
        where = tree.where(name)
        # GoogleTest and TAP report a suite for each test; other tests are one case.
        project = name.rpartition(" - ")[2].partition(":")[0]
        full = f"{project}.{name}"
        cases = [
            case
            for suite in junit.iter("testsuite")
            if suite.get("name") == full or suite.get("name").startswith(f"{full}.")
            for case in suite.iter("testcase")
        ]
        said = "\n".join(test.get(stream) or "" for stream in ("stdout", "stderr"))
        failed = results.add_cases(cases, where, said)
        if result == "SKIP":
            if not cases:
                reason = (test.get("stdout") or "").strip().splitlines()
                results.skipped[where] = reason[-1] if reason else ""
            continue
        ran.update(name.partition(" - ")[0].split("+"))
        results.ran.add(tree.where(name.rpartition(":")[2]))  # with the name of what a tier leaves
        if result not in ("OK", "EXPECTEDFAIL"):
            if not failed:
                results.fail(f"{where}: {result.lower()}", said)
        elif not cases:
            if "Running 0 tests" in test.get("stdout", ""):
                results.fail(f"{where}: it holds no test")
            else:
                results.ok(where)
        results.ran.add(where)
    return ran


def run_meson(results, tree, suites, without=(), part="1/1", arguments=()):
    """Builds and runs the tests of these suites, without those of others; or a part of them."""
    headline(f"{tree.folder}: {', '.join(suites)}" + (f", part {part}" if part != "1/1" else ""))
    if SIMCUDA_DIR in tree.options and not make_simcuda():
        return results.fail(f"{tree.folder}: simcuda was not built in {SIMCUDA.folder}")
    if not configure(tree):
        return results.fail(f"{tree.folder}: meson setup failed")
    tests = [test for test in introspect(tree, "tests") if suites_of(test) & {*suites}]
    left = [test for test in tests if suites_of(test) & {*without}]
    results.left.update(tree.where(test["name"]) for test in left)
    if not build(tree, [test for test in tests if test not in left]):
        return results.fail(f"{tree.folder}: the build failed")
    # Meson adds the wrapper's name to its logs.
    logs = (
        ROOT
        / tree.folder
        / "meson-logs"
        / "-".join(["testlog", *(Path(word).name for word in tree.wrapper.split()[:1])])
    )
    for suffix in (".json", ".junit.xml"):
        logs.with_suffix(suffix).unlink(missing_ok=True)
    command = ["meson", "test", "-C", tree.folder, "--no-rebuild", "--quiet"]
    command += ["--print-errorlogs", "--max-lines=60", f"--slice={part}"]
    command += [f"--suite={suite}" for suite in suites]
    command += [f"--no-suite={suite}" for suite in without]
    command += [f"--test-args={argument}" for argument in arguments]
    # A search, or what valgrind runs, ends by itself, however long it takes.
    command.append(f"--timeout-multiplier={0 if arguments or tree.wrapper else 1}")
    if tree.wrapper:
        command.append(f"--wrapper={tree.wrapper}")
    returncode = run(command, **tree.environment)
    if not logs.with_suffix(".junit.xml").exists():
        return results.fail(f"{tree.folder}: there are no tests")
    before = len(results.failures)
    ran = add_tests(results, tree, logs)
    if part == "1/1":
        for suite in {*suites} - {*without} - ran:
            results.fail(f"{tree.folder}: suite {suite} ran no test")
    if returncode != 0 and len(results.failures) == before:
        results.fail(f"{tree.folder}: meson test exited {returncode}")
