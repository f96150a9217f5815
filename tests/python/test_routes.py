# SPDX-License-Identifier: BSD-3-Clause
"""Work on two streams, put in order by each way that an array can take: no race under any schedule,
and one as soon as either half of that order is left out. On simcuda."""

import pytest
from building import build_example
from simulation import run

pytestmark = pytest.mark.slow

# By name: what makes an array of memory with pending work on a stream; and what makes that stream
# wait in the end for the user's: the use itself; or the exporter, which is told of it; or nothing.
# DLPack and Arrow have no way back.
ROUTES = """
import exporters

class Dlpack:
    def __init__(self, array):
        self.array = array
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

class Column:
    def __init__(self, array):
        self.array = array
    def __arrow_c_device_array__(self, requested_schema=None, **more):
        return self.array.__arrow_c_device_array__(requested_schema, **more)

def given(memory, stream):
    return array(stream, memory, shape=(64,), typestr="<u4")

def own(memory, stream):
    return libcai.asarray(given(memory, stream))

def described(memory, stream):
    return exporters.Described(memory.value, (64,), stream=stream.value)

def ordered(memory, stream):
    return exporters.Ordered(memory.value, (64,), stream=stream.value)

def provided(memory, stream):
    libcai.provide_stream("exporters", lambda obj: stream.value)
    return exporters.Tensor(memory.value, (64,))

ROUTES = {
    "cuda": (given, "use"),
    "exchange": (described, "exporter"),
    "exchange of an Array": (lambda *a: libcai.asarray(own(*a), route="exchange"), "use"),
    "dlpack_table and order": (ordered, "use"),
    "dlpack_table and a provider": (provided, "use"),
    "dlpack_table of an Array": (lambda *a: libcai.asarray(own(*a), route="dlpack_table"), None),
    "dlpack": (lambda *a: Dlpack(own(*a)), None),
    "arrow": (lambda *a: libcai.from_arrow(Column(own(*a))), None),
    "an Array": (own, "use"),
    "a view": (lambda *a: own(*a)[8:56], "use"),
}

def after(later, earlier):
    event = c_void_p()
    call("cuEventCreate", byref(event), 2)
    call("cuEventRecord", event, earlier)
    call("cuStreamWaitEvent", later, event, 0)

def races_of(name, order="both", on=None):
    # A producer fills, a user copies, the producer fills again: the races that this adds.
    make, back = ROUTES[name]
    theirs, mine = new_stream(), new_stream()
    memory, copied = new_memory(256), new_memory(256)
    before = cuda.simcuda_races()
    fill(memory, 1, 64, theirs)
    made = make(memory, theirs)
    with libcai.use(made, stream=on or mine.value, order=order, access="read"):
        copy(copied, memory, 64, mine)
    if back is None and order == "both":
        wait(mine)
    if back == "exporter" and order == "both":
        assert made.uses == [(mine.value, "read")], made.uses
        after(theirs, mine)
    fill(memory, 2, 64, theirs)
    call("cuCtxSynchronize")
    libcai.drain()
    return cuda.simcuda_races() - before
"""


@pytest.fixture(scope="module")
def folder(built):
    return built("exporters", build_example, "exporters")


def test_every_route_orders(folder, schedule):
    run(
        ROUTES
        + """
for name in ROUTES:
    assert races_of(name) == 0, name
""",
        schedule,
        PYTHONPATH=str(folder),
    )


def test_either_half_is_needed(folder):
    """Without the one, what is copied races with the first filling, without the other, with the
    second; __dlpack__ orders the first when it is called, unless it is told of no stream."""
    run(
        ROUTES
        + """
for name in ROUTES:
    assert races_of(name, "begin") == 1, name
    assert races_of(name, "none", -1) == 2, name
    if name != "dlpack":
        assert races_of(name, "end") == (2 if ROUTES[name][1] != "use" else 1), name
""",
        races=True,
        PYTHONPATH=str(folder),
    )
