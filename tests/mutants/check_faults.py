# SPDX-License-Identifier: BSD-3-Clause
"""The explorers find the faults that libcai had, each put back into it by changes in faults.txt.

usage: check_faults.py BUILD_ROOT SOURCE_ROOT [NAME...]

Prints a table: the fault, the explorer, the programs that it tried, the steps of the shrunk one.
A text that is not in its file any more is a failure: say the fault anew. So is a fault that is not
found.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "abi"))
import hunt
from tap import Tap

HUNTS = [
    hunt.explore(2, 20000, 1),
    hunt.wide(100000, 1),
    hunt.explore(3, 200000, 2),
    hunt.wide(200000, 3),
    hunt.wide(200000, 2, "wide, random schedule", **hunt.RANDOM),
]
# Of faults whose names begin with the explorer: those of memory's life, of which the others know
# little, and of what two threads do at once.
HUNTS_BY_NAME = {
    "lives": [hunt.lives(40000, 21)],
    "meetings": hunt.of_threads("meetings", 30000, 7),
    "captures": hunt.of_threads("captures", 2000, 7),
}


@dataclass
class Change:
    """A text of one source file, and another one for it."""

    file: str
    old: str
    new: str

    def apply(self, text):
        words = [re.escape(line.strip()) for line in self.old.splitlines()]
        pattern = r"\s+".join(words)
        count = len(re.findall(pattern, text))
        if count != 1:
            raise ValueError(f"{count} times in src/{self.file}:\n{self.old}")
        return re.sub(pattern, lambda _: self.new, text)


def read_faults(file):
    """The changes of each fault: a block that names no source begins one."""
    faults = {}
    for block in file.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        if not lines[0].endswith(".cpp"):
            changes = faults[lines.pop(0)] = []
        old, new = ("\n".join(it[2:] for it in lines if it.startswith(sign)) for sign in "-+")
        changes.append(Change(lines[0], old, new))
    return faults


# Faults that the explorers' programs cannot show, or that are not of order: the test that does.
ELSEWHERE = {
    # No capture forbids what their parties' releases call.
    "3: release code runs in the mode of the thread that captures": "tests/order/test_capture.cpp",
    "7: a program that is not position-independent": "tests/order/not_pie.c",
    "11: Python gives arrays to graphs": "tests/python/test_graphs.py",
    "13: an access for each array": "tests/order/test_open_use.cpp",
}


class Build:
    """The library, with another source in the place of one."""

    def __init__(self, build, source, folder):
        self.build, self.source, self.folder = build, source, folder
        entries = json.loads((build / "compile_commands.json").read_text())
        self.objects = {}  # of each source
        self.commands = {}
        for entry in entries:
            if "libcai_objects.a.p/" not in entry["output"] or not entry["output"].endswith(".o"):
                continue
            file = (Path(entry["directory"]) / entry["file"]).resolve()
            self.objects[file] = Path(entry["directory"]) / entry["output"]
            self.commands[file] = shlex.split(entry["command"])

    def library(self, changes):
        """A folder with a libcai that has them."""
        objects = dict(self.objects)
        for file in {self.source / "src" / change.file for change in changes}:
            text = file.read_text()
            for change in changes:
                text = change.apply(text)
            changed = self.folder / file.name
            changed.write_text(text)
            objects[file] = changed.with_suffix(".o")
            command = self.commands[file]
            compiler = [*command[: command.index("-MD")], "-w", "-o", str(objects[file])]
            subprocess.run([*compiler, "-c", str(changed)], cwd=self.build, check=True)
        command = next(iter(self.commands.values()))
        link = [*command[: 1 + ("ccache" in command[0])], "-shared"]
        link += ["-o", str(self.folder / "libcai.so.1"), *map(str, objects.values())]
        link += ["-Wl,-soname,libcai.so.1", "-Wl,-Bsymbolic", "-Wl,-z,nodelete", "-lpthread"]
        maps = [self.source / "src/libcai.map", self.source / "src/libcai-memory.map"]
        link += [*(f"-Wl,--version-script={it}" for it in maps), "-ldl"]
        link += ["-static-libstdc++", "-static-libgcc"]
        subprocess.run(link, cwd=self.build, check=True)
        return self.folder


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, source = (Path(name).resolve() for name in sys.argv[1:3])
    faults = read_faults(Path(__file__).with_name("faults.txt"))
    wanted = sys.argv[3:] or faults
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        make = Build(build, source, Path(folder))
        if not sys.argv[3:]:
            hunts = [*HUNTS, *chain.from_iterable(HUNTS_BY_NAME.values())]
            found = hunt.first(hunts, build / "tests/explore", make.library([]))
            tap.check(not found.is_found, "nothing is wrong without a fault", str(found))
        for name in wanted:
            try:
                library = make.library(faults[name])
            except ValueError as error:
                tap.check(False, name, *str(error).splitlines())
                continue
            found = hunt.first(
                HUNTS_BY_NAME.get(name.partition(":")[0], HUNTS), build / "tests/explore", library
            )
            print(f"# {found}", flush=True)
            tap.check(found.is_found, name)
    for name, test in ELSEWHERE.items():
        tap.check((source / test).exists(), f"{name}: {test}")
    tap.finish()


if __name__ == "__main__":
    main()
