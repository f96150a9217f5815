# SPDX-License-Identifier: BSD-3-Clause
"""The explorers hunt for what is wrong with a libcai that has a fault."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Hunt:
    """An explorer, and how far it looks."""

    name: str
    arguments: tuple
    environment: tuple = ()

    def is_wide(self):
        return self.arguments[0] == "wide"


@dataclass
class Found:
    """The result of a hunt."""

    hunt: Hunt
    is_found: bool
    among: str  # "one by one" or "at random"
    programs: int  # that were tried, the wrong one among them
    steps: int | None  # of the shrunk program; None: the process has ended in it
    what: str

    def __str__(self):
        if not self.is_found:
            return f"{self.hunt.name}, {self.among}, {self.programs} programs: not found"
        size = f"{self.steps} steps" if self.steps else "the explorer ended"
        return f"{self.hunt.name}, {self.among}, {self.programs} programs, {size}: {self.what}"


def explore(depth, count, seed):
    return Hunt("explore", ("explore", "hunt", str(depth), str(count), str(seed)))


def wide(count, seed, name="wide", **environment):
    return Hunt(name, ("wide", "hunt", str(count), str(seed)), tuple(environment.items()))


def lives(count, seed):
    return Hunt("lives", ("lives/lives", "hunt", str(count), str(seed)))


# Those whose programs have several threads do not shrink them.
def of_threads(explorer, count, seed):
    arguments = (explorer, "random", str(count), str(seed))
    return [
        Hunt(f"{explorer}, {schedule}", arguments, (("SIMCUDA_SCHEDULE", schedule),))
        for schedule in ("lazy", "eager", "random:1")
    ]


# Whatever the schedule, the lazy one included, has complete by then decides what is refused.
RANDOM = {"SIMCUDA_SCHEDULE": "random:1", "SIMCUDA_REUSE_HANDLES": "1"}


def run(hunt, explorers, library, **environment):
    """Runs it with the libcai that is in the folder `library`."""
    program, *arguments = hunt.arguments
    paths = f"{library}:{os.environ['LD_LIBRARY_PATH']}"
    done = subprocess.run(
        [Path(explorers) / program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **dict(hunt.environment), **environment, "LD_LIBRARY_PATH": paths},
    )
    hunted = re.search(r"^# hunted (\d+) programs (.*)", done.stdout, re.MULTILINE)
    shrunk = re.search(r"^# shrunk to (\d+) steps", done.stdout, re.MULTILINE)
    told = [line[2:] for line in done.stdout.splitlines() if line.startswith("# ")]
    what = told[0] if shrunk else (done.stderr.strip().splitlines() or [""])[-1]
    return Found(
        hunt,
        done.returncode != 0,
        hunted[2] if hunted else "at once",
        int(hunted[1]) if hunted else 0,
        int(shrunk[1]) if shrunk else None,
        what,
    )


def first(hunts, explorers, library, **environment):
    """The result of the first hunt that finds anything; else that of the last one."""
    for hunt in hunts:
        found = run(hunt, explorers, library, **environment)
        if found.is_found:
            break
    return found
