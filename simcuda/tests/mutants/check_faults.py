# SPDX-License-Identifier: BSD-3-Clause
"""The tests of simcuda's order see each fault of faults.txt, compiled into it by itself.

usage: check_faults.py BUILD_ROOT SOURCE_ROOT PROGRAM...

Runs the programs, the quickest first, on the driver with the fault until one fails; none must fail
without. Prints which one saw it. A fault that none sees is a failure, and so is a text that is not
in its file any more: say the fault anew.
"""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMIT = 600  # seconds for a program: above this it waits forever
SCHEDULES = ("lazy", "eager")  # by the second, what is not waited for is done
BUILD, SOURCE = Path(sys.argv[1]), Path(sys.argv[2])
DRIVER = SOURCE / "driver"


def read_faults():
    """{name: [(file, old, new)]}"""
    faults = {}
    for block in Path(__file__).with_name("faults.txt").read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines and not lines[0].endswith(".cpp"):
            changes = faults[lines.pop(0)] = []
        if lines:
            old, new = ("\n".join(it[2:] for it in lines if it.startswith(sign)) for sign in "-+")
            changes.append((lines[0], old, new))
    return faults


def changed(text, old, new):
    words = r"\s+".join(re.escape(line.strip()) for line in old.splitlines())
    count = len(re.findall(words, text))
    if count != 1:
        raise ValueError(f"{count} times: {old}")
    return re.sub(words, lambda _: new, text)


def commands():
    """How each source is compiled, and how the library is linked."""
    command = ["ninja", "-C", BUILD, "-t", "commands", "driver/libcuda.so.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = list(map(shlex.split, done.stdout.splitlines()))
    # The engine's files are not the driver's, though some share their names.
    sources = [line for line in lines if "-c" in line and Path(line[-1]).parent.name == "driver"]
    compiled = {Path(line[-1]).name: line for line in sources}
    (linked,) = [line for line in lines if "-shared" in line]
    return compiled, linked


def build(changes, folder):
    """Compiles the driver with the changes into a folder."""
    compiled, linked = COMMANDS
    linked = list(linked)
    linked[linked.index("-o") + 1] = str(folder / "libcuda.so.1")
    for name, old, new in changes:
        source = folder / name
        text = source.read_text() if source.exists() else (DRIVER / name).read_text()
        source.write_text(changed(text, old, new))
    for source in folder.glob("*.cpp"):
        line = list(compiled[source.name])
        place = line.index("-o") + 1
        before, line[place] = line[place], str(source.with_suffix(".o"))
        line[-1] = str(source)
        # Warnings about unused code are part of the fault; other output is the build's.
        line = [word for word in line if word not in ("-Werror", "-MD")]
        for option in ("-MF", "-MQ"):
            del line[line.index(option) : line.index(option) + 2]
        subprocess.run([*line, f"-I{DRIVER}"], cwd=BUILD, check=True)
        linked[linked.index(before)] = line[line.index("-o") + 1]
    subprocess.run(linked, cwd=BUILD, check=True)


def first_that_fails(folder):
    """The name of a program that sees what is wrong with the driver of a folder, or None."""
    for program, schedule in itertools.product(sys.argv[3:], SCHEDULES):
        paths = {"LD_LIBRARY_PATH": str(folder), "SIMCUDA_SCHEDULE": schedule}
        environment = {**os.environ, **paths}
        try:
            done = subprocess.run([program], env=environment, capture_output=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"{Path(program).name}, {schedule}, which does not end"
        if done.returncode != 0:
            return f"{Path(program).name}, {schedule}"
    return None


def hunt(changes):
    with tempfile.TemporaryDirectory() as folder:
        build(changes, Path(folder))
        return first_that_fails(folder)


COMMANDS = commands()


def main():
    faults = read_faults()
    if failed := first_that_fails(BUILD / "driver"):
        sys.exit(f"{failed} fails without a fault")
    unseen = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, seen in zip(faults, pool.map(hunt, faults.values()), strict=True):
            print(f"{name}: {seen or 'NOT SEEN'}", flush=True)
            unseen += seen is None
    return 1 if unseen or not faults else 0


if __name__ == "__main__":
    sys.exit(main())
