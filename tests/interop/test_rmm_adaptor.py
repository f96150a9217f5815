# SPDX-License-Identifier: BSD-3-Clause
"""RMM's own CallbackMemoryResource, with libcai.rmm, on simcuda. RMM itself calls libcudart, which
does not start on a simulated libcuda: its resources allocate and free, and so do those that it puts
around others; its DeviceBuffer, which copies by libcudart, needs a GPU."""

import pytest
from sim_environment import run_python
from simulation import lazy_and

pytest.importorskip("rmm", reason="RMM has no package for this version of Python")

pytestmark = pytest.mark.slow

PRELUDE = """
import ctypes, gc
import rmm.mr
from rmm.pylibrmm.stream import Stream
import libcai
import libcai.rmm

libcai.Device("gpu:0").set_current()
simcuda = ctypes.CDLL("libcuda.so.1")
simcuda.simcuda_races.restype = ctypes.c_uint64

def out(ordinal=0):
    return libcai.usage(f"gpu:{ordinal}").bytes

def fill(address, stream):
    assert simcuda.cuMemsetD8Async(
        ctypes.c_uint64(address), 1, ctypes.c_size_t(256), ctypes.c_void_p(stream.value)) == 0
"""

SCRIPTS = {
    "allocate": """
resource = libcai.rmm.memory_resource(0)
assert isinstance(resource, rmm.mr.CallbackMemoryResource)
address = resource.allocate(4096)
assert address % 256 == 0 and out() == 4096
resource.deallocate(address, 4096)
assert out() == 0
other = libcai.rmm.memory_resource("gpu:1")
address = other.allocate(100)
assert out(1) >= 100 and out() == 0
other.deallocate(address, 100)
assert out(1) == 0
""",
    "streams": """
libcai.memory_manager("async", device="gpu:0").install()
resource = libcai.rmm.memory_resource(0)
stream = libcai.Stream("gpu:0")
theirs = Stream(stream)
for _ in range(3):
    address = resource.allocate(4096, theirs)
    fill(address, stream)
    resource.deallocate(address, 4096, theirs)
stream.synchronize()
assert out() == 0 and simcuda.simcuda_races() == 0
""",
    # What cannot move to the new stream waits for it all the same.
    "captures": """
libcai.memory_manager("async", device="gpu:0").install()
resource = libcai.rmm.memory_resource(0)
old, new = libcai.Stream("gpu:0"), libcai.Stream("gpu:0")

def begin(stream):
    assert simcuda.cuStreamBeginCapture_v2(ctypes.c_void_p(stream.value), 2) == 0

def end(stream):
    graph = ctypes.c_void_p()
    assert simcuda.cuStreamEndCapture(ctypes.c_void_p(stream.value), ctypes.byref(graph)) == 0

address = resource.allocate(4096, Stream(old))
old.synchronize()
fill(address, new)
begin(old)
resource.deallocate(address, 4096, Stream(new))
end(old)
libcai.flush("gpu:0")
again = resource.allocate(4096, Stream(old))
fill(again, old)
assert again == address and out() == 4096 and simcuda.simcuda_races() == 0
begin(old)
begin(new)
try:
    resource.deallocate(again, 4096, Stream(new))
except Exception as error:  # RMM's own, of ours
    assert "captured" in str(error.__cause__ or error)
else:
    raise AssertionError
assert out() == 4096
end(old)
end(new)
resource.deallocate(again, 4096, Stream(new))
assert out() == 0
""",
    "adaptors": """
resource = libcai.rmm.memory_resource(0)
counted = rmm.mr.StatisticsResourceAdaptor(rmm.mr.LimitingResourceAdaptor(resource, 1 << 20))
address = counted.allocate(4096)
assert counted.allocation_counts.current_bytes == 4096 and out() == 4096
counted.deallocate(address, 4096)
assert counted.allocation_counts.current_bytes == 0 and out() == 0
""",
    "bad_input": """
resource = libcai.rmm.memory_resource(0)
try:
    resource.allocate(1 << 60)
except MemoryError as error:
    pass
else:
    raise AssertionError
try:
    libcai.rmm.memory_resource(7).allocate(16)
except Exception as error:
    assert "7" in str(error)
else:
    raise AssertionError
assert out() == 0
""",
}


@pytest.mark.parametrize("schedule", lazy_and("eager"))
@pytest.mark.parametrize("script", SCRIPTS)
def test_rmm(script, schedule):
    run_python(PRELUDE + SCRIPTS[script], SIMCUDA_SCHEDULE=schedule, SIMCUDA_QUIET_MS="0")
