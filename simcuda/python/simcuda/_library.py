# SPDX-License-Identifier: BSD-3-Clause
"""The place of the library, and how to start a program on it."""

import re
from pathlib import Path

LIBRARY_DIR = Path(__file__).resolve().parent / "lib"
LIBRARY = LIBRARY_DIR / "libcuda.so.1"
INCLUDE_DIR = LIBRARY_DIR.parent / "include"  # of simcuda.h
SCRIPT = LIBRARY_DIR / "sim"
# Loaded before NVIDIA's compilers, so that PTX reaches the driver.
SHIMS = ("libnvJitLink.so.13", "libnvrtc.so.13", "libnvJitLink.so.12", "libnvrtc.so.12")

# Exit statuses of a program that would have exited with 0, but had races, or used no driver.
RACED = 66
PROVED_NOTHING = 67

RACES = ("log", "off", "count", "abort")
MOST_DEVICES = 16
NO_SUCH_NAME = (1 << 64) - 1  # the count for an unknown name


class MissingError(RuntimeError):
    """The package was installed without its library, or is where no loader finds it."""


def command(*arguments):
    """Returns the command that runs a program on simcuda, and exits with `RACED` if it raced.

    Parameters
    ----------
    *arguments : str or path
        The program, and its arguments.

    Returns
    -------
    list of str
        For `os.execve` or `subprocess`, with `environment`.

    Raises
    ------
    MissingError
        If the package was installed without its library, or is where no loader finds it.
    """
    check()
    return ["/bin/sh", str(SCRIPT), *map(str, arguments)]


def check():
    """Raises MissingError if `command` would."""
    for file in (LIBRARY, SCRIPT, *(LIBRARY_DIR / shim for shim in SHIMS)):
        if not file.is_file():
            raise MissingError(f"this installation of simcuda is not whole: {file} is missing")
    if not {":", ";"}.isdisjoint(str(LIBRARY_DIR)):
        raise MissingError(
            f"simcuda cannot be used: the loader cannot search a folder named {LIBRARY_DIR}"
        )


def environment(base, *, schedule=None, races=None, strict=False, devices=None, fail=None):
    """Returns a copy of an environment for `command`, with settings in it.

    Parameters
    ----------
    base : mapping of str to str
        Such as `os.environ`.
    schedule, races, devices, fail : optional
        ``SIMCUDA_SCHEDULE``, ``SIMCUDA_RACES``, ``SIMCUDA_DEVICES`` and ``SIMCUDA_FAIL``; None
        keeps the value in `base`. The driver reads them: an invalid one makes ``cuInit`` fail.
    strict : bool
        True sets ``SIMCUDA_STRICT=1``.
    """
    changed = dict(base, SIMCUDA_LIBRARY_DIR=str(LIBRARY_DIR))
    given = {
        "SIMCUDA_SCHEDULE": schedule,
        "SIMCUDA_RACES": races,
        "SIMCUDA_DEVICES": devices,
        "SIMCUDA_FAIL": fail,
        "SIMCUDA_STRICT": "1" if strict else None,
    }
    changed.update({name: str(value) for name, value in given.items() if value is not None})
    return changed


def driver(base, races, counts):
    """Returns a copy of an environment in which simcuda is the driver, as the script sets it up.

    Each process with a race writes its report to a file in the folder `races`, and each process
    its tally to the folder `counts`. For callers that must start the program themselves.
    """
    # LD_PRELOAD cannot name a folder with a space: then the loader searches for them.
    shims = [name if " " in str(LIBRARY_DIR) else str(LIBRARY_DIR / name) for name in SHIMS]
    lists = {
        "LD_LIBRARY_PATH": [str(LIBRARY_DIR), base.get("LD_LIBRARY_PATH")],
        "LD_PRELOAD": [base.get("LD_PRELOAD"), *shims],
        # Its runtime would refuse to start after the shims, which do not affect it.
        "ASAN_OPTIONS": [base.get("ASAN_OPTIONS"), "verify_asan_link_order=0"],
    }
    joined = {name: ":".join(filter(None, values)) for name, values in lists.items()}
    return dict(
        base,
        SIMCUDA="1",
        SIMCUDA_RACE_DIR=str(races),
        SIMCUDA_COUNT_DIR=str(counts),
        **joined,
    )


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
        If it is invalid. The driver checks whether it has a function of that name.
    """
    for item in text.split(","):
        if not re.fullmatch(r"cu\w+:[1-9][0-9]*:(-1|[0-9]+)", item):
            raise ValueError(f"{item!r} is not of the form NAME:NTH:STATUS, as cuMemAlloc:1:2")
    return text


def known_faults(text):
    """Returns a list of faults unchanged, as `faults`.

    Raises
    ------
    ValueError
        If it is invalid, or names a function that the driver does not have.
    """
    faults(text)
    if LIBRARY.is_file():  # else running the program says so
        import ctypes  # which only this needs

        calls = ctypes.CDLL(str(LIBRARY)).simcuda_calls
        calls.restype, calls.argtypes = ctypes.c_uint64, [ctypes.c_char_p]
        for item in text.split(","):
            name = item.partition(":")[0]
            if calls(name.encode()) == NO_SUCH_NAME:
                raise ValueError(f"the driver has no function {name!r}: a base name, as cuMemAlloc")
    return text
