# SPDX-License-Identifier: BSD-3-Clause
"""Scripts on simcuda, each in a process of its own, judged by the race detector.

The fixture `simulated` runs one; a test that takes it, or `schedule`, runs under the lazy schedule,
which shows most of what is wrong as a wrong value, and in the long run under every other one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import LIMIT, LONG, ROOT

SIMCUDA = Path(os.environ.get("SIMCUDA_LIBRARY_DIR", ROOT / "build-simcuda/driver"))
SEEDS = range(1, 21 if LONG else 3)


def lazy_and(*others):
    """Values of a parameter of schedules: the others are for the long run."""
    return ["lazy", *(pytest.param(schedule, marks=pytest.mark.long) for schedule in others)]


SCHEDULES = lazy_and("eager", *(f"random:{seed}" for seed in SEEDS))

PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from ctypes import *
from helpers import Cuda, interface, producer
import libcai

cuda = CDLL("libcuda.so.1")
cuda.simcuda_calls.restype = cuda.simcuda_races.restype = c_uint64
cuda.simcuda_findings.restype = c_uint64

def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, (name, status)

def calls(name):
    return cuda.simcuda_calls(name.encode())

call("cuInit", 0)
context = c_void_p()
call("cuDevicePrimaryCtxRetain", byref(context), 0)
call("cuCtxSetCurrent", context)

def new_stream():
    stream = c_void_p()
    call("cuStreamCreate", byref(stream), 1)  # non-blocking
    return stream

def new_memory(size=4096):
    memory = c_uint64()
    call("cuMemAlloc_v2", byref(memory), c_size_t(size))
    return memory

def array(stream, memory=None, **changes):
    memory = memory or new_memory()
    given = producer(data=(memory.value, False), stream=stream and stream.value, **changes)
    given.memory = memory
    return given

def fill(memory, value, count, stream):
    call("cuMemsetD32Async", memory, value, c_size_t(count), stream)

def copy(target, source, count, stream):
    call("cuMemcpyDtoDAsync_v2", target, source, c_size_t(4 * count), stream)

def read(memory, count, stream):
    host = (c_uint32 * count)()
    call("cuMemcpyDtoHAsync_v2", host, memory, c_size_t(4 * count), stream)
    return host

def wait(*streams):
    for stream in streams:
        call("cuStreamSynchronize", stream)

def refused(kind, text, function, *arguments, **more):
    try:
        function(*arguments, **more)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
"""

# Whatever the schedule made of the values, the detector knows what was not ordered. No call of the
# driver was made while the GIL was held, or with a stream that is destroyed.
POSTLUDE = """
call("cuCtxSynchronize")
assert cuda.simcuda_findings() == 0, cuda.simcuda_findings()
assert (cuda.simcuda_races() > 0) is {races}, cuda.simcuda_races()
"""


def environment(**settings):
    """The caller's, with simcuda's library in it and nothing else of simcuda's or libcai's."""
    assert (SIMCUDA / "libcuda.so.1").exists(), f"simcuda is not built: none in {SIMCUDA}"
    foreign = ("SIMCUDA", "CUDA_", "CAI_", "NUMBA_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    paths = [str(SIMCUDA.resolve()), *filter(None, [kept.get("LD_LIBRARY_PATH")])]
    return {**kept, "LD_LIBRARY_PATH": os.pathsep.join(paths), **settings}


# An array that came with None, and streams to use it on.
PENDING = """
s, t, u = new_stream(), new_stream(), new_stream()
given = array(None, shape=(6,), typestr="<i4")
memory = given.memory
x = libcai.asarray(given)
"""

# Arrays of one memory, whose exporters report their end; the collector runs when it is called.
WATCHED = """
import gc
gone = []
class Watched(Cuda):
    def __del__(self): gone.append(1)
s, t = new_stream(), new_stream()
memory = new_memory()
def watched(**changes):
    entries = {"data": (memory.value, False), "shape": (6,), "typestr": "<i4", **changes}
    return Watched(interface(**entries))
def used(x):
    with libcai.use(x, stream=s):
        fill(memory, 5, 6, s)
    return x
gc.disable()
"""

# What a capture becomes.
LAUNCH = """
def end(stream):
    graph = c_void_p()
    call("cuStreamEndCapture", stream, byref(graph))
    made = c_void_p()
    call("cuGraphInstantiateWithFlags", byref(made), graph, c_uint64(0))
    return made
"""


def run(code, schedule="lazy", *, races=False, judged=True, **settings):
    """Runs a script and returns what it printed. `races`: it plants one. `judged`: it gets to its
    end, where that can be seen."""
    settings = {
        "SIMCUDA": "1",
        "SIMCUDA_QUIET_MS": "0",
        "SIMCUDA_TWO_ADDRESSES": "1",
        "SIMCUDA_GIL": "1",
        "SIMCUDA_BANNER": "0",
        "SIMCUDA_SCHEDULE": schedule,
        **settings,
    }
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-c"),
            PRELUDE + code + (POSTLUDE.format(races=races) if judged else ""),
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment(**settings),
    )
    assert done.returncode == 0, done.stderr
    assert "GIL held" not in done.stderr, done.stderr
    return done.stdout


def run_with_gil(code, schedule="lazy", **more):
    """The same, for code that calls the driver with the GIL on purpose: calls of extensions' own,
    which wait for nothing."""
    return run(code, schedule, SIMCUDA_GIL="0", **more)


@pytest.fixture(params=SCHEDULES)
def schedule(request):
    return request.param


@pytest.fixture
def simulated(schedule):
    return lambda code, **more: run(code, schedule, **more)


@pytest.fixture
def simulated_with_gil(schedule):
    return lambda code, **more: run_with_gil(code, schedule, **more)
