# SPDX-License-Identifier: BSD-3-Clause
"""Producers that expose the protocol attribute and nothing else, and small tools of the tests."""

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests/cases/import.json").read_text(encoding="utf-8"))
ADDRESS = 0x7F00_0000_1000


class Cuda:
    """An object with __cuda_array_interface__."""

    def __init__(self, interface):
        self._interface = interface

    @property
    def __cuda_array_interface__(self):
        return self._interface


class Host:
    """An object with __array_interface__."""

    def __init__(self, interface):
        self._interface = interface

    @property
    def __array_interface__(self):
        return self._interface


def interface(**changes):
    """A lawful dict of a GPU array; an entry given as ... is left out."""
    base = {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (ADDRESS, False),
        "version": 3,
        "strides": None,
        "stream": None,
    }
    return {key: value for key, value in {**base, **changes}.items() if value is not ...}


def producer(**changes):
    return Cuda(interface(**changes))


class Case:
    """A row of import.json with its values made, and its memory."""

    def __init__(self, row):
        self.row = row
        alloc = row.get("alloc", {"bytes": 4096, "offset": 0})
        self.memory = ctypes.create_string_buffer(alloc["bytes"])
        self.pointer = ctypes.addressof(self.memory) + alloc["offset"]
        self.value = self._made(row["interface"])
        self.producer = Cuda(self.value)

    def _made(self, value):
        if value == "$ptr":
            return self.pointer
        if isinstance(value, list):
            return [self._made(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$tuple" in value:
            return tuple(self._made(item) for item in value["$tuple"])
        if "$npint" in value:
            return np.int64(value["$npint"])
        if "$float" in value:
            return float(value["$float"])
        if "$bytes" in value:
            return value["$bytes"].encode()
        if "$object" in value:
            return Cuda(self._made(value["$object"]))
        return {key: self._made(item) for key, item in value.items()}


def offending(case, entry):
    """What the message must show: how the entry prints, or one of the items in it; or that it is
    missing."""
    value = case.value
    if entry != "interface":
        if not isinstance(value, dict) or entry not in value:
            return ["missing"]
        value = value[entry]
    if isinstance(value, Cuda):  # a mask: its own interface is at fault
        inner = value.__cuda_array_interface__
        return ["mask", *(printed for item in inner.values() for printed in _printed(item))]
    return list(_printed(value))


def _printed(value):
    yield repr(value)
    if isinstance(value, str):
        yield value
    if isinstance(value, np.integer):
        yield str(int(value))
    if isinstance(value, (tuple, list)):
        yield str(len(value))
        for item in value:
            yield from _printed(item)


def run_threads(*functions):
    """Runs each function in a thread, and raises what one raised."""
    with ThreadPoolExecutor(len(functions)) as pool:
        for done in [pool.submit(function) for function in functions]:
            done.result()


def python(code, *arguments, env=None, options=()):
    """Runs Python in a process of its own; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# What Cargo and maturin are told: which Python, and where what they have built is kept.
CARGO = {
    "CARGO_TARGET_DIR": str(ROOT / "build/cargo"),
    "PYO3_BUILD_EXTENSION_MODULE": "1",
    "PYO3_PYTHON": sys.executable,
}


def cargo_build(workspace, package, folder):
    """Builds a Rust package that is a module of the same name, and copies that to a folder."""
    command = ["cargo", "build", "--quiet", "--locked", f"--package={package}"]
    done = subprocess.run(
        command,
        cwd=ROOT / workspace,
        env={**os.environ, **CARGO},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    shutil.copy(
        Path(CARGO["CARGO_TARGET_DIR"]) / f"debug/lib{package}.so", folder / f"{package}.abi3.so"
    )


def load(folder, name):
    """The module of a folder, where other folders have one of the same name."""
    (path,) = (path for path in Path(folder).glob(f"{name}.*") if path.suffix in (".py", ".so"))
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}.{name}", path)
    module = importlib.util.module_from_spec(spec)
    known = name in sys.modules
    sys.path.insert(0, str(folder))  # what it imports lies beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
        if not known:
            sys.modules.pop(name, None)  # Cython's puts itself there
    return module
