# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that are given to graphs, and launches as uses, on simcuda; each script is judged for
races."""

import pytest
from simulation import WATCHED, run

GRAPHS = (
    WATCHED
    + """
import time
def begin(stream):
    call("cuStreamBeginCapture_v2", stream, 1)
def end(stream):
    graph = c_void_p()
    call("cuStreamEndCapture", stream, byref(graph))
    return graph
def instantiate(graph):
    made = c_void_p()
    call("cuGraphInstantiateWithFlags", byref(made), graph, c_uint64(0))
    return made
def stays():
    # The driver releases what graphs held on a thread of its own: after a while, if at all.
    for _ in range(10):
        gc.collect()
        libcai.drain(wait=True)
        time.sleep(0.001)
    return not gone
def goes():
    while not gone:
        libcai.drain(wait=True)
        time.sleep(0.001)
    assert gone == [1] and libcai.drain() == 0
    gone.clear()
    return True
"""
)


# ---- Lifetime ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["x", "x[1:]", "x.publish(t)", "x.mask", "x.publish(t)[1:]"])
@pytest.mark.parametrize("stream", ["None", "s.value", "t.value"])
def test_a_graph_and_what_was_made_of_it_hold_the_array(simulated, make, stream):
    simulated(
        GRAPHS
        + f"""
mask = producer(data=(memory.value, False), shape=(6,), typestr="|b1")
x = libcai.asarray(watched(stream={stream}, mask=mask))
x = {make}
wait(s, t)
begin(s)
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
x.used_on(s)
del x
graph = end(s)
assert stays()
made, other = instantiate(graph), instantiate(graph)
call("cuGraphDestroy", graph)
assert stays()
call("cuGraphLaunch", made, s)
wait(s)
call("cuGraphExecDestroy", made)
assert stays()
call("cuGraphExecDestroy", other)
assert goes()
"""
    )


def test_without_it_the_memory_goes():
    """The control for the others: the owner does not keep a use in a capture."""
    run(
        GRAPHS
        + """
x = libcai.asarray(watched())
begin(s)
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
del x
graph = end(s)
assert gone == [1]
"""
    )


def test_a_graph_that_nobody_completes(simulated):
    simulated(
        GRAPHS
        + """
def give():
    x = libcai.asarray(watched())
    begin(s)
    with libcai.use(x, stream=s):
        fill(memory, 5, 6, s)
        x.used_on(s)
    return x
x = give()
call("cuGraphDestroy", end(s))
assert stays()  # there is still this one
del x
assert goes()
# Twice is once more than needed, and no harm.
x = give()
x.used_on(s)
del x
call("cuGraphDestroy", end(s))
assert goes()
# A forbidden call ends the capture, and the graph is lost with it.
x = give()
assert cuda.cuStreamSynchronize(s) != 0
refused(libcai.CudaError, "invalidated", x.used_on, s)
graph = c_void_p()
assert cuda.cuStreamEndCapture(s, byref(graph)) != 0 and not graph
del x
assert goes()
"""
    )


def test_a_failure_gives_nothing(simulated):
    simulated(
        GRAPHS
        + """
cuda.simcuda_fail.argtypes = c_char_p, c_uint64, c_int32
for name in (b"cuStreamGetCaptureInfo", b"cuUserObjectCreate", b"cuGraphRetainUserObject"):
    x = libcai.asarray(watched())
    begin(s)
    cuda.simcuda_fail(name, 1, 999)
    refused(libcai.CudaError, "999", x.used_on, s)
    graph = end(s)
    del x
    assert goes()
    call("cuGraphDestroy", graph)
fixed = libcai.asarray(producer(data=(memory.value, True)))
begin(s)
refused(libcai.InterfaceError, "read-only", fixed.used_on, s)
fixed.used_on(s, access=None)
blocking = c_void_p()
call("cuGraphDestroy", end(s))
call("cuStreamCreate", byref(blocking), 0)
x = libcai.asarray(watched())
begin(blocking)
refused(libcai.CudaError, "capture", x.used_on, 1)  # the legacy stream, which is in no graph
call("cuGraphDestroy", end(blocking))
del x
assert goes()
"""
    )


def test_after_the_capture_a_use_is_kept_as_ever(simulated):
    code = (
        GRAPHS
        + """
x = libcai.asarray(watched())
begin(s)
x.used_on(s)
graph = end(s)
fill(memory, 3, 6, s)
KEEP
with libcai.use(x, stream=t):
    fill(memory, 4, 6, t)
call("cuGraphDestroy", graph)
del x
wait(s, t)
assert goes()
"""
    )
    simulated(code.replace("KEEP", "x.used_on(s)"))
    simulated(code.replace("KEEP", ""), races=True)


def test_the_collector_leaves_what_a_graph_holds(simulated):
    simulated(
        GRAPHS
        + """
given = watched()
given.array = x = libcai.asarray(given)
begin(s)
x.used_on(s)
graph = end(s)
del given, x
assert stays()
call("cuGraphDestroy", graph)
while not gone:
    libcai.drain(wait=True)
    gc.collect()
"""
    )


# ---- What ends meanwhile -----------------------------------------------------------------------

FREES = (
    GRAPHS
    + """
import threading
class Frees(Cuda):
    # As Numba's and CuPy's: the memory is freed as the last holder goes, and nobody knows where.
    def __del__(self):
        call("cuMemFree_v2", self.memory)
        gone.append(1)
def frees():
    made = Frees(interface(data=(0, False), shape=(6,), typestr="<i4"))
    made.memory = new_memory(64)
    made.__cuda_array_interface__["data"] = (made.memory.value, False)
    return made
def let_go(x):
    with libcai.use(x, stream=s):
        pass
y = libcai.asarray(watched())
let_go(y)  # so that a later use looks at what is kept
"""
)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_no_exporter_frees_in_a_capture_that_is_seen(simulated, mode):
    simulated(
        FREES
        + f"""
let_go(frees())
call("cuCtxSynchronize")  # complete, and deferred
call("cuStreamBeginCapture_v2", t, {mode})
for access in ("read", "write"):
    with libcai.use(y, producer(data=(memory.value, False)), stream=t, access=access):
        assert not gone
assert not gone
call("cuGraphDestroy", end(t))
assert libcai.drain() == 0 and gone == [1]
"""
    )


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_where_no_capture_is_seen_an_exporter_may_free(simulated, mode):
    simulated(
        FREES
        + f"""
let_go(frees())
call("cuCtxSynchronize")
call("cuStreamBeginCapture_v2", t, {mode})
with libcai.use(y, stream=s):
    pass
assert gone == [1]
call("cuGraphDestroy", end(t))
"""
    )


def test_no_exporter_frees_in_a_capture_of_the_current_stream(simulated):
    simulated(
        FREES
        + """
let_go(frees())
call("cuCtxSynchronize")
with libcai.Stream("gpu") as current:
    call("cuStreamBeginCapture_v2", c_void_p(current.value), 0)
    assert libcai.drain() == 1 and not gone
    call("cuGraphDestroy", end(c_void_p(current.value)))
    assert libcai.drain() == 0 and gone == [1]
"""
    )


# A thread releases the last reference without the GIL, which the main thread keeps meanwhile: so
# the exporter is in Python's own queue when the capture is under way.
def test_what_python_has_queued_waits_for_the_capture(simulated):
    simulated(
        FREES
        + """
def queue(x):
    lib = PyDLL(None)  # calls keep the GIL
    owner = x.ptr
    capsule = x.__dlpack__(stream=-1)
    name = b"dltensor"
    lib.PyCapsule_GetPointer.restype = c_void_p
    lib.PyCapsule_GetPointer.argtypes = py_object, c_char_p
    lib.PyCapsule_SetName.argtypes = py_object, c_char_p
    tensor = lib.PyCapsule_GetPointer(capsule, name)
    deleter = cast(tensor + 56, POINTER(c_void_p))[0]
    lib.PyCapsule_SetName(capsule, b"used_dltensor")
    used.append(b"used_dltensor")
    return CFUNCTYPE(None, c_void_p)(deleter), tensor
used = []
x = libcai.asarray(frees())
delete, tensor = queue(x)
del x
call("cuStreamBeginCapture_v2", t, 0)
delete(tensor)  # ctypes lets the GIL go for it
with libcai.use(y, stream=t):
    pass
call("cuGraphDestroy", end(t))
assert libcai.drain() == 0 and gone == [1]
"""
    )


# ---- Uses in one capture -----------------------------------------------------------------------

WAYS = {
    "uses": """
with libcai.use(FIRST, stream=s):
    fill(memory, 1, 6, s)
with libcai.use(SECOND, stream=t):
    fill(memory, 2, 6, t)
""",
    "copies": """
libcai.fill(FIRST, 1, stream=s)
libcai.fill(SECOND, 2, stream=t)
""",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("first", "second"), [("x", "again"), ("again", "x"), ("again", "again"), ("given", "given")]
)
def test_come_one_after_the_other_whoever_has_the_memory(simulated, way, first, second):
    """No producer's stream orders them in a graph: an array and what others make of its dict, and
    two imports of which the first one has ended."""
    simulated(
        GRAPHS
        + """
own = libcai.Stream("gpu:0")
x = libcai.zeros(6, "<i4", device="gpu:0", stream=own)
own.synchronize()
memory = c_uint64(x.__cuda_array_interface__["data"][0])
given = watched(data=(memory.value, False), stream=own.value)
class Again:
    @property
    def __cuda_array_interface__(self):
        return x.__cuda_array_interface__
again = Again()
begin(s)
event = c_void_p()
call("cuEventCreate", byref(event), 2)
call("cuEventRecord", event, s)
call("cuStreamWaitEvent", t, event, 0)
"""
        + WAYS[way].replace("FIRST", first).replace("SECOND", second)
        + """
call("cuEventRecord", event, t)
call("cuStreamWaitEvent", s, event, 0)
graph = end(s)
made = instantiate(graph)
call("cuGraphLaunch", made, s)
found = read(memory, 6, s)
wait(s)
assert list(found) == [2] * 6
"""
    )


def test_any_object_by_the_stream(simulated):
    """An array on the host is nothing that the order is about."""
    simulated(
        GRAPHS
        + """
import numpy as np
import weakref
class Values(np.ndarray): pass
values = np.arange(6, dtype="u4").view(Values)
seen = weakref.ref(values)
begin(s)
call("cuMemcpyHtoDAsync_v2", memory, c_void_p(values.ctypes.data), c_size_t(24), s)
libcai.asarray(values).used_on(s)
libcai.Stream.wrap(s).attach(values)
del values
graph = end(s)
assert stays() and seen() is not None
made = instantiate(graph)
call("cuGraphLaunch", made, s)
out = read(memory, 6, s)
wait(s)
assert list(out) == list(range(6))
call("cuGraphDestroy", graph)
call("cuGraphExecDestroy", made)
while seen() is not None:
    libcai.drain(wait=True)
"""
    )


def test_the_interpreter_ends_with_a_graph(simulated):
    simulated(
        GRAPHS
        + """
x = libcai.asarray(watched())
begin(s)
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
x.used_on(s)
graph = end(s)
made = instantiate(graph)
with libcai.use(x, stream=s):
    call("cuGraphLaunch", made, s)
del x
""",
        judged=False,
    )


# ---- Launches ----------------------------------------------------------------------------------

LAUNCHES = (
    GRAPHS
    + """
x = libcai.asarray(watched(stream=STREAM))
u, kept = new_stream(), new_memory()
begin(s)
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
    x.used_on(s)
made = instantiate(end(s))

def launch(stream):
    USE:
        call("cuGraphLaunch", made, stream)

found = []
for at, stream in enumerate((s, u)):  # on whatever stream
    launch(stream)
    with libcai.use(x, stream=t, access="read"):
        found.append(read(memory, 6, t))
    with libcai.use(x, stream=t):
        fill(memory, 6, 6, t)
wait(s, t, u)
print([list(values) for values in found])
"""
)


@pytest.mark.parametrize("stream", ["None", "s.value", "t.value"])
def test_a_launch_is_a_use_of_its_own(simulated, stream):
    code = LAUNCHES.replace("STREAM", stream)
    out = simulated(code.replace("USE", "with libcai.use(x, stream=stream)"))
    assert out == f"{[[5] * 6] * 2}\n"


@pytest.mark.parametrize("stream", ["None", "s.value", "t.value"])
def test_a_launch_that_is_no_use_races(simulated, stream):
    simulated(LAUNCHES.replace("STREAM", stream).replace("USE", "if True"), races=True)


def test_the_memory_goes_after_the_last_launch(simulated):
    """The graph is destroyed with its work still queued, and holds the array until that is done."""
    code = (
        GRAPHS
        + """
class Freed(Watched):
    def __del__(self):
        super().__del__()
        call("cuMemFreeAsync", own, t)
own = c_uint64()
call("cuMemAllocAsync", byref(own), c_size_t(4096), t)
wait(t)
x = libcai.asarray(Freed(interface(data=(own.value, False), shape=(6,), typestr="<i4")))
begin(s)
with libcai.use(x, stream=s):
    fill(own, 5, 6, s)
    GIVE
graph = end(s)
made = instantiate(graph)
call("cuGraphLaunch", made, s)
del x
call("cuGraphDestroy", graph)
call("cuGraphExecDestroy", made)
for _ in range(10):
    libcai.drain()
    time.sleep(0.001)
wait(s)
while not gone:
    libcai.drain()
"""
    )
    simulated(code.replace("GIVE", "x.used_on(s)"))
    simulated(code.replace("GIVE", "pass"), races=True)


def test_functions_are_not_queued_in_a_capture():
    run(
        GRAPHS
        + """
x = libcai.Stream("gpu:0")
begin(c_void_p(x.value))
refused(libcai.CudaError, "graph may run often, and a function is queued once", x.enqueue, print)
call("cuGraphDestroy", end(c_void_p(x.value)))
x.enqueue(lambda: gone.append(1))
x.synchronize()
assert gone == [1]
"""
    )
