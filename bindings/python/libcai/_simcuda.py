# SPDX-License-Identifier: BSD-3-Clause
"""simcuda as the package carries it: where it is, and how a program is started on it.

Nothing is loaded here, and the folder is on nobody's search path: a process has the simulated
driver only if it was started on it.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "simcuda"
LIBRARY = FOLDER / "libcuda.so.1"
SCRIPT = FOLDER / "sim"

RACED = 66  # the exit status of a program that would have ended with 0, but raced

RACES = ("log", "off", "count", "abort")
MOST_DEVICES = 16


class Missing(RuntimeError):
    """simcuda is not here, or cannot run on this machine."""


def command(*arguments):
    """Returns the command that runs another one on simcuda, and ends with 66 if it raced.

    Raises
    ------
    Missing
        If this package came without simcuda.
    """
    check()
    return ["/bin/sh", str(SCRIPT), *map(str, arguments)]


def check():
    """Raises Missing if this package came without simcuda, or lies where no loader finds it."""
    for file in (LIBRARY, SCRIPT):
        if not file.is_file():
            raise Missing(f"simcuda is not in this installation of libcai: {file} is missing")
    if not {":", ";"}.isdisjoint(str(FOLDER)):
        raise Missing(f"simcuda cannot be used: the loader cannot search a folder named {FOLDER}")


def environment(base, *, schedule=None, races=None, strict=False, devices=None, fail=None):
    """Returns a copy of an environment with settings in it; None leaves one as it is."""
    changed = dict(base, SIMCUDA_LIBRARY_DIR=str(FOLDER))
    given = {
        "SIMCUDA_SCHEDULE": schedule,
        "SIMCUDA_RACES": races,
        "SIMCUDA_DEVICES": devices,
        "SIMCUDA_FAIL": fail,
        "SIMCUDA_STRICT": "1" if strict else None,
    }
    changed.update({name: str(value) for name, value in given.items() if value is not None})
    return changed


def driver(base, races):
    """Returns a copy of an environment in which simcuda is the driver, as the script sets it up.

    Each process that races leaves its report in a file in the folder `races`. For those who have to
    start the program themselves.
    """
    path = filter(None, [str(FOLDER), base.get("LD_LIBRARY_PATH")])
    return dict(base, SIMCUDA="1", LD_LIBRARY_PATH=":".join(path), SIMCUDA_RACE_DIR=str(races))


def schedule(text):
    """Returns the name of a schedule unchanged.

    Raises
    ------
    ValueError
        If there is no such schedule.
    """
    random = re.fullmatch(r"random:([0-9]{1,20})", text) if isinstance(text, str) else None
    if text in ("lazy", "eager") or (random and int(random[1]) < 1 << 64):
        return text
    raise ValueError(f"there is no schedule {text!r}; there are lazy, eager and random:SEED")


def faults(text):
    """Returns a list of faults, ``NAME:NTH:STATUS,...``, unchanged.

    Raises
    ------
    ValueError
        If it is none. Whether there is a function of that name, the driver knows.
    """
    for item in text.split(","):
        if not re.fullmatch(r"cu\w+:[1-9][0-9]*:[0-9]+", item):
            raise ValueError(f"{item!r} is not of the form NAME:NTH:STATUS, as cuMemAlloc:1:2")
    return text
