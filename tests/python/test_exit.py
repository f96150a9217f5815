# SPDX-License-Identifier: BSD-3-Clause
"""What ends with the interpreter, after Python has cleared the modules: nothing is printed."""

import subprocess
import sys

import pytest
from helpers import LIMIT
from simulation import environment

KEPT = {
    "a buffer of memory": "kept = memoryview(libcai.Memory(100, device='cpu'))",
    "a buffer of pinned memory": "kept = memoryview(libcai.Memory(100, 'pinned', device='gpu:0'))",
    "a buffer of an array": "kept = memoryview(libcai.zeros(3))",
    "a handle": "kept = libcai.Memory(100, device='gpu:0').share()",
    "a handle with a descriptor": """
pool = libcai.memory_manager("pool", device="gpu:0", exportable=True)
kept = libcai.Memory(100, device="gpu:0", manager=pool).share()
assert kept.fd is not None
""",
    "a handle that was never initialised": "kept = libcai.IpcHandle.__new__(libcai.IpcHandle)",
    "a block of a device": """
def block():
    with libcai.Device("gpu:0"):
        yield
kept = block()
next(kept)
""",
    "a block of a stream": """
def block():
    with libcai.Stream("gpu:0"):
        yield
kept = block()
next(kept)
""",
    "a use": """
def block():
    array, stream = libcai.zeros(3, device="gpu:0"), libcai.Stream("gpu:0")
    with libcai.use(array, stream=stream):
        yield
kept = block()
next(kept)
""",
}


@pytest.mark.parametrize("module", ["os", "sys", "builtins"])
@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_printed(name, module):
    code = f"import builtins, os, sys, libcai\n{KEPT[name]}\n{module}.kept = kept"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment(SIMCUDA="1", SIMCUDA_BANNER="0"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
