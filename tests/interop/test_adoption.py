# SPDX-License-Identifier: BSD-3-Clause
"""The patch of docs/specification/adoption.rst for numba-cuda, on simcuda: a launch is ordered both
ways, and the host does not wait. Without the patch it waits, and there is no way back."""

import importlib.metadata
import re
from pathlib import Path

import pytest
from sim_environment import ROOT, run_python
from simulation import lazy_and

pytestmark = pytest.mark.slow

PATCH = ROOT / "docs/specification/numba-cuda.diff"
MODULE = "numba.cuda.dispatcher"

SCRIPT = """
import importlib.abc, importlib.util, sys

class Patched(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == MODULE and FILE:
            return importlib.util.spec_from_file_location(name, FILE)

MODULE, FILE = sys.argv[1:]
sys.meta_path.insert(0, Patched())

import ctypes
import numpy as np
from numba import cuda

driver = ctypes.CDLL("libcuda.so.1")
driver.simcuda_calls.restype = driver.simcuda_races.restype = ctypes.c_uint64

def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, (name, status)

class Exporter:
    def __init__(self, address, stream):
        self.__cuda_array_interface__ = {"shape": (64,), "typestr": "<u4", "version": 3,
            "data": (address, False), "strides": None, "stream": stream}

@cuda.jit
def add(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

cuda.current_context()
mine, theirs = ctypes.c_void_p(), ctypes.c_void_p()
for each in (mine, theirs):
    call("cuStreamCreate", ctypes.byref(each), 1)  # non-blocking
memory = ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(256))
stream = cuda.external_stream(mine.value)
zeros = cuda.to_device(np.zeros(64, "u4"))
call("cuCtxSynchronize")
add[1, 64, stream](zeros)  # compiles it
call("cuCtxSynchronize")

call("cuMemsetD32Async", memory, 5, ctypes.c_size_t(64), theirs)
waits = driver.simcuda_calls(b"cuStreamSynchronize")
add[1, 64, stream](Exporter(memory.value, theirs.value))
waits = driver.simcuda_calls(b"cuStreamSynchronize") - waits
call("cuMemsetD32Async", memory, 7, ctypes.c_size_t(64), theirs)  # the exporter goes on
call("cuCtxSynchronize")
print(waits, driver.simcuda_races())
"""


def patched(folder):
    """The installed file with the lines that the patch adds."""
    distribution = importlib.metadata.distribution("numba-cuda")
    text = PATCH.read_text(encoding="utf-8")
    (name,) = re.findall(r"^\+\+\+ b/(.+)$", text, re.M)
    lines = Path(distribution.locate_file(name)).read_text(encoding="utf-8").splitlines()
    hunks = re.findall(r"^@@ -(\d+),0 \+\d+,\d+ @@\n((?:\+.*\n)+)", text, re.M)
    for after, added in reversed(hunks):
        lines[int(after) : int(after)] = [line[1:] for line in added.splitlines()]
    made = folder / Path(name).name
    made.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("schedule", lazy_and("eager", "random:1"))
def test_a_launch_is_ordered_both_ways(tmp_path, schedule):
    out = run_python(SCRIPT, MODULE, str(patched(tmp_path)), SIMCUDA_SCHEDULE=schedule)
    assert out.split() == ["0", "0"]


def test_without_the_patch_the_host_waits_and_nothing_leads_back():
    assert run_python(SCRIPT, MODULE, "", SIMCUDA_SCHEDULE="lazy").split() == ["1", "1"]
