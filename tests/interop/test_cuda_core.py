# SPDX-License-Identifier: BSD-3-Clause
"""cuda.core's devices, streams, events, buffers and views, unmodified, on simcuda."""

import pytest
from sim_environment import run_python
from simulation import lazy_and

pytestmark = pytest.mark.slow

PRELUDE = """
import ctypes

import numpy as np
from cuda.core import (
    Buffer, Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions,
    LegacyPinnedMemoryResource, StreamOptions,
)
from cuda.core.utils import StridedMemoryView

device = Device(0)
device.set_current()
pinned = LegacyPinnedMemoryResource()

def host_of(buffer):
    return np.from_dlpack(buffer)
"""

# Ends every script: nothing was asked of simcuda that it has not.
POSTLUDE = """
simcuda = ctypes.CDLL("libcuda.so.1")
simcuda.simcuda_unsupported.restype = ctypes.c_uint64
assert simcuda.simcuda_unsupported() == 0
"""

SCRIPTS = {
    "device": """
assert Device.get_all_devices() and len(Device.get_all_devices()) == 2
assert device.compute_capability == (9, 0)
assert device.properties.managed_memory and device.properties.memory_pools_supported
assert Device(0).uuid != Device(1).uuid
assert device.context is not None
""",
    "stream": """
stream = device.create_stream(options=StreamOptions(nonblocking=True, priority=-1))
assert stream.is_nonblocking and stream.priority == -1
assert stream.device.device_id == 0
assert device.create_stream() != stream
stream.sync()
stream.close()
""",
    "event_orders_streams": """
producer, consumer = device.create_stream(), device.create_stream()
data, copy = device.allocate(64, stream=producer), pinned.allocate(64, stream=consumer)
data.fill(7, stream=producer)
consumer.wait(producer.record())
copy.copy_from(data, stream=consumer)
consumer.sync()
assert (host_of(copy) == 7).all()
""",
    "event_times": """
stream = device.create_stream()
timed = EventOptions(timing_enabled=True)
before = stream.record(options=timed)
buffer = device.allocate(64, stream=stream)
buffer.fill(1, stream=stream)
after = stream.record(options=timed)
after.sync()
assert after.is_done and after - before > 0
""",
    "buffer": """
stream = device.create_stream()
buffer = device.allocate(1024, stream=stream)
assert buffer.size == 1024 and buffer.is_device_accessible and not buffer.is_host_accessible
assert buffer.device_id == 0
host = pinned.allocate(1024, stream=stream)
host_of(host)[:] = np.arange(1024) % 100
buffer.copy_from(host, stream=stream)
other = device.allocate(1024, stream=stream)
buffer.copy_to(other, stream=stream)
stream.sync()
back = pinned.allocate(1024, stream=stream)
back.copy_from(other, stream=stream)
stream.sync()
assert (host_of(back) == np.arange(1024) % 100).all()
for b in (buffer, other):
    b.close(stream)
stream.sync()
""",
    "pool": """
stream = device.create_stream()
pool = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=1 << 20))
buffer = pool.allocate(4096, stream=stream)
assert pool.attributes.used_mem_current == 4096
buffer.close(stream)
stream.sync()
assert pool.attributes.used_mem_current == 0
pool.close()
""",
    "view": """
stream = device.create_stream()
buffer = device.allocate(24, stream=stream)

class Producer:
    __cuda_array_interface__ = {
        "version": 3, "shape": (2, 3), "typestr": "<f4", "strides": None,
        "data": (int(buffer.handle), False), "stream": int(stream.handle),
    }

consumer = device.create_stream()
view = StridedMemoryView.from_cuda_array_interface(Producer(), stream_ptr=int(consumer.handle))
assert view.shape == (2, 3) and view.ptr == int(buffer.handle) and view.device_id == 0
assert view.is_device_accessible
""",
    "second_device": """
Device(1).set_current()
stream = Device(1).create_stream()
buffer = Device(1).allocate(16, stream=stream)
assert buffer.device_id == 1
buffer.fill(3, stream=stream)
event = stream.record()
device.set_current()
other = device.create_stream()
other.wait(event)
copy = pinned.allocate(16, stream=other)
copy.copy_from(buffer, stream=other)
other.sync()
assert (host_of(copy) == 3).all()
""",
}


@pytest.mark.parametrize("schedule", lazy_and("eager"))
@pytest.mark.parametrize("script", SCRIPTS)
def test_cuda_core(script, schedule):
    run_python(PRELUDE + SCRIPTS[script] + POSTLUDE, SIMCUDA_SCHEDULE=schedule)


def test_lazy_schedule_shows_a_missing_wait():
    """The same program as event_orders_streams without its wait reads what was there before."""
    script = SCRIPTS["event_orders_streams"]
    without = script.replace("consumer.wait(producer.record())\n", "producer.record()\n")
    assert without != script
    without = without.replace("(host_of(copy) == 7).all()", "not (host_of(copy) == 7).any()")
    run_python(PRELUDE + without + POSTLUDE, SIMCUDA_SCHEDULE="lazy", SIMCUDA_QUIET_MS="0")
