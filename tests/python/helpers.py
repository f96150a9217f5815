# SPDX-License-Identifier: BSD-3-Clause
"""Producers that expose the protocol attribute and nothing else, and small tools of the tests."""

import importlib.util
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONG = os.environ.get("CAI_TEST_LONG") == "1"
LIMIT = 3600  # seconds, for what hangs: a test asks of a busy machine only that it ends
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


def run_threads(*functions):
    """Runs each function in a thread, and raises what one raised."""
    with ThreadPoolExecutor(len(functions)) as pool:
        for done in [pool.submit(function) for function in functions]:
            done.result()


def eventually(condition):
    """Whether a condition comes true, however long a busy machine takes."""
    end = time.monotonic() + LIMIT
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.005)
    return found


def python(code, *arguments, env=None, options=()):
    """Runs Python in a process of its own; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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


class Gate:
    """Work that lasts until it is let go on."""

    def __init__(self, stream):
        self.event, self.started = threading.Event(), threading.Event()
        stream.enqueue(self)
        assert self.started.wait(LIMIT)

    def __call__(self):
        self.started.set()
        assert self.event.wait(LIMIT)


def masked(values, mask):
    """An array of NumPy's with a mask, as libcai reads it, and both."""
    import numpy as np  # not by each program of the tests

    import libcai

    values, mask = np.array(values), np.array(mask)
    given = {**values.__array_interface__, "mask": mask}
    return libcai.from_interface(given, owner=(values, mask), host=True), values, mask
