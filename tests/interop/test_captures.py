# SPDX-License-Identifier: BSD-3-Clause
"""Captures of cuda.core's and of numba-cuda's streams, with libcai's calls in them, on simcuda.
The graphs fill and copy."""

import pytest
from sim_environment import run_python
from simulation import lazy_and

pytestmark = pytest.mark.slow

PRELUDE = """
import ctypes, gc, time, weakref

import numpy as np
from cuda.core import Device, LegacyPinnedMemoryResource
from cuda.core.utils import StridedMemoryView
from numba import cuda
import libcai

device = Device(0)
device.set_current()
pinned = LegacyPinnedMemoryResource()
driver = ctypes.CDLL("libcuda.so.1")
s, t = device.create_stream(), device.create_stream()

def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, (name, status)

def buffer(value):
    made = device.allocate(64, stream=s)
    made.fill(value, stream=s)
    s.sync()
    return made

def bytes_of(memory, stream):
    host = pinned.allocate(64, stream=stream)
    host.copy_from(memory, stream=stream)
    stream.sync()
    return set(np.from_dlpack(host).tolist())

def stays(is_gone):
    for _ in range(10):  # the driver releases what graphs held on a thread of its own
        gc.collect()
        libcai.drain(wait=True)
        time.sleep(0.001)
    return not is_gone()

def goes(is_gone):
    while not is_gone():
        libcai.drain(wait=True)
        time.sleep(0.001)
    return libcai.drain() == 0
"""

POSTLUDE = """
call("cuCtxSynchronize")
driver.simcuda_unsupported.restype = driver.simcuda_races.restype = ctypes.c_uint64
assert driver.simcuda_unsupported() == 0
assert (driver.simcuda_races() > 0) is {races}, driver.simcuda_races()
"""

# ---- cuda.core

HELD = """
for mode in ("global", "thread_local", "relaxed"):
    data = buffer(1)
    builder = s.create_graph_builder().begin_building(mode)
    with libcai.use(data, stream=builder) as (x,):
        data.fill(7, stream=builder)
        GIVE
    graph = builder.end_building().complete()
    with libcai.use(x, stream=t):
        graph.launch(t)
    assert bytes_of(data, s) == {7}  # in the order of its own stream
    gone = weakref.ref(data)
    del data, x
    if not HOLDS:
        libcai.drain(wait=True)
        assert gone() is None
        break
    assert stays(lambda: gone() is None)
    builder.close()
    assert stays(lambda: gone() is None)
    graph.launch(s)  # the memory is its own by now
    s.sync()
    graph.close()
    assert goes(lambda: gone() is None)
"""

LAUNCHES = """
data = buffer(1)
x = libcai.asarray(data)
builder = s.create_graph_builder().begin_building()
with libcai.use(x, stream=builder):
    data.fill(7, stream=builder)
    x.used_on(builder)
graph = builder.end_building().complete()
for stream in (s, t):
    USE:
        graph.launch(stream)
    reader = device.create_stream()
    with libcai.use(x, stream=reader):
        host = pinned.allocate(64, stream=reader)
        host.copy_from(data, stream=reader)
    reader.sync()
    print(set(np.from_dlpack(host).tolist()))
for stream in (s, t): stream.sync()
"""

BRANCHES = """
data = buffer(1)
x = libcai.from_interface({"version": 3, "shape": (64,), "typestr": "|u1",
    "data": (int(data.handle), False), "stream": int(s.handle)}, owner=data)
builder = s.create_graph_builder().begin_building()
left, right = builder.split(2)
data.fill(2, stream=left)
USE:
    data.fill(3, stream=right)
data.fill(4, stream=left)
left.stream.wait(right.stream)
graph = left.end_building().complete()
graph.launch(s)
print(bytes_of(data, s))
"""

CUDA_CORE = {
    "an_array_of_libcai": """
x = libcai.full((64,), 1, "u1", device="gpu:0", stream=s)
s.sync()
builder = s.create_graph_builder().begin_building()
with libcai.use(x, stream=builder):
    view = StridedMemoryView.from_any_interface(x, stream_ptr=int(builder.stream.handle))
    assert view.ptr == x.data
    call("cuMemsetD8Async", ctypes.c_uint64(view.ptr), 9, ctypes.c_size_t(64),
         ctypes.c_void_p(int(builder.stream.handle)))
    x.used_on(builder)
graph = builder.end_building().complete()
builder.close()
with libcai.use(x, stream=t):
    graph.launch(t)
assert x.first() == 9
del x, view
is_freed = lambda: libcai.usage("gpu:0").bytes == 0
assert stays(is_freed)
graph.close()
assert goes(is_freed)
""",
    "a_stream_that_joins": """
data = buffer(1)
x = libcai.from_interface({"version": 3, "shape": (64,), "typestr": "|u1",
    "data": (int(data.handle), False), "stream": int(s.handle)}, owner=data)
builder = s.create_graph_builder().begin_building()
data.fill(2, stream=builder)
with libcai.use(x, stream=t, fork=True):
    data.fill(3, stream=t)
    x.used_on(t)  # it is in the capture as well
graph = builder.end_building().complete()
gone = weakref.ref(data)
graph.launch(s)
assert bytes_of(data, s) == {3}
del data, x
assert stays(lambda: gone() is None)
graph.close()
builder.close()
assert goes(lambda: gone() is None)
""",
}

# ---- numba-cuda

NUMBA = {
    "its_own_stream": """
stream = cuda.stream()
handle = ctypes.c_void_p(int(stream.handle))
source = cuda.to_device(np.arange(6), stream=stream)
target = cuda.device_array(6, "i8", stream=stream)
stream.synchronize()
for mode in (0, 1, 2):
    call("cuStreamBeginCapture_v2", handle, mode)
    with libcai.use(target, source, stream=stream, access=("write", "read")) as (x, y):
        target.copy_to_device(source, stream=stream)
        x.used_on(stream)
        y.used_on(stream, access="read")
    graph, made = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuStreamEndCapture", handle, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_uint64(0))
    call("cuGraphDestroy", graph)
    with libcai.use(target, source, stream=t, access=("write", "read")):
        call("cuGraphLaunch", made, ctypes.c_void_p(int(t.handle)))
    found = target.copy_to_host(stream=stream)
    stream.synchronize()
    assert (found == np.arange(6)).all()
    gone = weakref.ref(target), weakref.ref(source)
    is_gone = lambda: gone[0]() is gone[1]() is None
    del x, y, target
    assert stays(is_gone)
    target = cuda.device_array(6, "i8", stream=stream)
    del source
    assert stays(is_gone)
    call("cuGraphExecDestroy", made)
    assert goes(is_gone)
    source = cuda.to_device(np.arange(6), stream=stream)
    stream.synchronize()
""",
    "in_a_graph_of_cuda_core": """
mine = cuda.external_stream(int(s.handle))
theirs = cuda.stream()
source = cuda.to_device(np.arange(6), stream=theirs)  # and pending there
x = libcai.asarray(source)
target = cuda.device_array(6, "i8")
builder = s.create_graph_builder().begin_building()
with libcai.use(x, stream=builder, access="read", external=True):
    target.copy_to_device(cuda.as_cuda_array(x, sync=False), stream=mine)
    x.used_on(builder, access="read")
    libcai.asarray(target).used_on(builder)
graph = builder.end_building().complete()
builder.close()
graph.launch(s)
found = target.copy_to_host(stream=mine)
s.sync()
assert (found == np.arange(6)).all()
gone = weakref.ref(source), weakref.ref(target)
is_gone = lambda: gone[0]() is gone[1]() is None
theirs.synchronize()
del x, source, target
assert stays(is_gone)
graph.close()
assert goes(is_gone)
""",
}

schedules = pytest.mark.parametrize("schedule", lazy_and("eager", "random:1"))


def captured(code, schedule, *, races=False):
    code = PRELUDE + code + POSTLUDE.format(races=races)
    return run_python(code, SIMCUDA_SCHEDULE=schedule, SIMCUDA_QUIET_MS="0")


@schedules
def test_a_graph_of_cuda_core_holds_a_buffer(schedule):
    code = HELD.replace("HOLDS", "True")
    captured(code.replace("GIVE", "x.used_on(builder)"), schedule)


def test_without_it_the_buffer_goes():
    captured(HELD.replace("HOLDS", "False").replace("GIVE", "pass"), "lazy")


@schedules
def test_a_launch_is_a_use(schedule):
    out = captured(LAUNCHES.replace("USE", "with libcai.use(x, stream=stream)"), schedule)
    assert out == "{7}\n{7}\n"


@schedules
def test_a_launch_that_is_no_use_races(schedule):
    captured(LAUNCHES.replace("USE", "if True"), schedule, races=True)


@schedules
def test_branches_of_a_capture(schedule):
    code = BRANCHES.replace("USE", "with libcai.use(x, stream=right)")
    assert captured(code, schedule) == "{4}\n"
    captured(BRANCHES.replace("USE", "if True"), schedule, races=True)


@schedules
@pytest.mark.parametrize("script", CUDA_CORE)
def test_cuda_core(script, schedule):
    captured(CUDA_CORE[script], schedule)


@schedules
@pytest.mark.parametrize("script", NUMBA)
def test_numba(script, schedule):
    captured(NUMBA[script], schedule)
