# SPDX-License-Identifier: BSD-3-Clause
"""cuda.core's Buffer and MemoryResource, with libcai.cuda_core.MemoryResource, on simcuda."""

import pytest
from sim_environment import run_python
from simulation import lazy_and

pytestmark = pytest.mark.slow

PRELUDE = """
import ctypes, gc, threading

import numpy as np
from cuda.core import Buffer, Device, LegacyPinnedMemoryResource, MemoryResource
import libcai
import libcai.cuda_core

device = Device(0)
device.set_current()
stream = device.create_stream()
pinned = LegacyPinnedMemoryResource()
resource = libcai.cuda_core.MemoryResource(0)

def host_of(buffer):
    return np.from_dlpack(buffer)

def out(ordinal=0):
    return libcai.usage(f"gpu:{ordinal}").bytes

def refused(expected, text, function, *arguments, **more):
    try:
        function(*arguments, **more)
    except expected as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
"""

POSTLUDE = """
simcuda = ctypes.CDLL("libcuda.so.1")
simcuda.simcuda_unsupported.restype = simcuda.simcuda_races.restype = ctypes.c_uint64
assert simcuda.simcuda_unsupported() == 0
assert simcuda.simcuda_races() == 0
"""

SCRIPTS = {
    "properties": """
assert isinstance(resource, MemoryResource)
assert resource.is_device_accessible and not resource.is_host_accessible
assert not resource.is_managed and resource.device_id == 0
managed = libcai.cuda_core.MemoryResource("gpu:1", kind="managed_global")
assert managed.is_managed and managed.is_host_accessible and managed.device_id == 1
mapped = libcai.cuda_core.MemoryResource(libcai.Device("gpu:0"), kind="mapped")
assert libcai.cuda_core.MemoryResource(Device(1)).device_id == 1
for wrong in (1.5, None, stream, True, libcai.DeviceType.CUDA):
    refused(libcai.UseError, "device is", libcai.cuda_core.MemoryResource, wrong)
for wrong in (-1, libcai.Device(libcai.DeviceType.CUDA, -1)):
    refused(libcai.UseError, "gpu:-1", libcai.cuda_core.MemoryResource, wrong)
for wrong in (99, "gpu:99", libcai.Device(libcai.DeviceType.CUDA, 99)):
    refused(libcai.CudaError, "99", libcai.cuda_core.MemoryResource, wrong)
for size in (1.5, "x", None):
    refused(TypeError, f"size is {size!r}", resource.allocate, size, stream=stream)
assert mapped.is_host_accessible and mapped.is_device_accessible and not mapped.is_managed
""",
    "buffer": """
buffer = resource.allocate(1024, stream=stream)
assert type(buffer) is Buffer and buffer.size == 1024 and buffer.memory_resource is resource
assert buffer.is_device_accessible and not buffer.is_host_accessible and buffer.device_id == 0
assert out() == 1024
host = pinned.allocate(1024, stream=stream)
host_of(host)[:] = np.arange(1024) % 100
buffer.copy_from(host, stream=stream)
other = buffer.copy_to(stream=stream)  # from the same resource
assert other.memory_resource is resource and out() == 2048
back = pinned.allocate(1024, stream=stream)
back.copy_from(other, stream=stream)
stream.sync()
assert (host_of(back) == np.arange(1024) % 100).all()
buffer.close(stream)
assert buffer.is_closed and out() == 1024
del other
gc.collect()
assert out() == 0
stream.sync()
""",
    "device_memory_resource": """
device.memory_resource = resource
assert device.memory_resource is resource
buffer = device.allocate(64, stream=stream)
assert buffer.memory_resource is resource and out() == 64
buffer.close()
assert out() == 0
""",
    "stream_ordered": """
libcai.memory_manager("async", device="gpu:0").install()
other = device.create_stream()
for _ in range(3):  # freed on another stream than it was allocated on
    buffer = resource.allocate(4096, stream=stream)
    buffer.fill(1, stream=stream)
    other.wait(stream.record())
    buffer.fill(2, stream=other)
    buffer.close(other)
    stream.wait(other.record())
buffer = resource.allocate(4096, stream=stream)
buffer.set_deallocation_stream(other)
buffer.fill(3, stream=stream)
other.wait(stream.record())
del buffer
gc.collect()
assert out() == 0
other.sync()
stream.sync()
""",
    # What cannot move to the new stream waits for it all the same.
    "captures": """
libcai.memory_manager("async", device="gpu:0").install()
driver = ctypes.CDLL("libcuda.so.1")
driver.simcuda_races.restype = ctypes.c_uint64

def begin(stream):
    assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(int(stream.handle)), 2) == 0

def end(stream):
    graph = ctypes.c_void_p()
    assert driver.cuStreamEndCapture(
        ctypes.c_void_p(int(stream.handle)), ctypes.byref(graph)) == 0

other = device.create_stream()
buffer = resource.allocate(4096, stream=stream)
address = int(buffer.handle)
stream.sync()
buffer.fill(1, stream=other)
begin(stream)
resource.deallocate(address, 4096, stream=other)
end(stream)
libcai.flush("gpu:0")
again = resource.allocate(4096, stream=stream)
again.fill(2, stream=stream)
assert int(again.handle) == address and driver.simcuda_races() == 0
begin(stream)
begin(other)
refused(libcai.CudaError, "captured", resource.deallocate, address, 4096, stream=other)
assert out() == 4096
end(stream)
end(other)
resource.deallocate(address, 4096, stream=other)
assert out() == 0
resource.deallocate = lambda *arguments, **more: None  # of the buffers, whose memory is freed
""",
    "manager_and_kinds": """
counting = libcai.memory_manager(
    "statistics", upstream=libcai.memory_manager("pool", device="gpu:0"))
pooled = libcai.cuda_core.MemoryResource(0, manager=counting)
buffer = pooled.allocate(512, stream=stream)
assert counting.statistics.bytes == 512
buffer.close(stream)
assert counting.statistics.bytes == 0
for kind in ("managed_global", "mapped"):
    host = libcai.cuda_core.MemoryResource(0, kind=kind).allocate(64, stream=stream)
    host.fill(9, stream=stream)
    stream.sync()
    view = (ctypes.c_uint8 * 64).from_address(int(host.handle))
    assert bytes(view) == bytes([9]) * 64
    host.close(stream)
stream.sync()
""",
    "second_device": """
Device(1).set_current()
second = libcai.cuda_core.MemoryResource(1)
there = Device(1).create_stream()
buffer = second.allocate(64, stream=there)
assert buffer.device_id == 1 and out(1) == 64 and out(0) == 0
device.set_current()
buffer.close(there)
assert out(1) == 0
""",
    "bad_input": """
refused(libcai.UseError, "textures", libcai.cuda_core.MemoryResource, 0, kind="textures")
refused(libcai.UseError, "cpu", libcai.cuda_core.MemoryResource, "cpu")
refused(libcai.CudaError, "7", libcai.cuda_core.MemoryResource, 7)
refused(MemoryError, "", resource.allocate, 1 << 60, stream=stream)
refused(libcai.StateError, "freed already", resource.deallocate, 4096, 64, stream=stream)
empty = resource.allocate(0, stream=stream)
assert empty.size == 0
empty.close(stream)
assert out() == 0
""",
    "threads": """
def work():
    device.set_current()
    mine = device.create_stream()
    for _ in range(50):
        buffer = resource.allocate(256, stream=mine)
        buffer.fill(1, stream=mine)
        buffer.close(mine)
    mine.sync()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert out() == 0
""",
    "left_at_exit": """
left = resource.allocate(64, stream=stream)
""",
}


@pytest.mark.parametrize("schedule", lazy_and("eager", "random:1"))
@pytest.mark.parametrize("script", SCRIPTS)
def test_cuda_core(script, schedule):
    run_python(
        PRELUDE + SCRIPTS[script] + POSTLUDE, SIMCUDA_SCHEDULE=schedule, SIMCUDA_QUIET_MS="0"
    )
