# SPDX-License-Identifier: BSD-3-Clause
"""What libcai.numba does beside what Numba's own suites test: its choice, its errors, its limits,
and who gives the memory; on simcuda. IPC is in the suites."""

import pytest
from sim_environment import run_python
from simulation import lazy_and

pytestmark = pytest.mark.slow

PRELUDE = """
import gc
import numpy as np
import libcai
import libcai.numba
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError
from numba.cuda.cudadrv.error import CudaDriverError

def refused(expected, text, function, *arguments, **more):
    try:
        function(*arguments, **more)
    except expected as error:
        assert text in str(error), error
        return error
    raise AssertionError(text)

def out():
    return libcai.usage("gpu:0")
"""

SCRIPTS = {
    "gives_the_memory": """
counting = libcai.memory_manager(
    "statistics", upstream=libcai.memory_manager("default", device="gpu:0"))
counting.install()
libcai.numba.use()
array = cuda.to_device(np.arange(100, dtype="i8"))
assert counting.statistics.bytes == 800 and out().bytes == 800
memory, offset = libcai.Memory.find(array.device_ctypes_pointer.value)
assert offset == 0 and memory.size == 800
del memory
assert (array.copy_to_host() == np.arange(100)).all()
managed = cuda.managed_array(10, "f4")
managed[:] = 3
pinned, mapped = cuda.pinned_array(10, "f4"), cuda.mapped_array(10, "f4")
assert libcai.Memory.find(managed.ctypes.data)[0].kind == "managed_global"
assert libcai.Memory.find(mapped.ctypes.data)[0].kind == "mapped"
del array, managed, pinned, mapped
gc.collect()
cuda.synchronize()  # what is freed in the order of a stream waits for that
libcai.drain()
libcai.flush("gpu:0")
assert counting.statistics.bytes == 0 and out() == (0, 0, 0, 0, 0), (counting.statistics, out())
""",
    "use_comes_first": """
cuda.current_context()
refused(RuntimeError, "GPU 0 already", libcai.numba.use)
assert type(cuda.current_context().memory_manager) is not libcai.numba.MemoryManager
""",
    "errors_as_numba_says": """
libcai.numba.use()
error = refused(CudaAPIError, "", cuda.device_array, 1 << 60, "u1")
assert error.code == 2, error.code
context = cuda.current_context()
error = refused(CudaAPIError, "", context.memhostalloc, 1 << 60, mapped=True)
assert error.code == 2
info = context.get_memory_info()
assert 0 < info.free <= info.total
assert context.memory_manager.interface_version == 1
""",
    "pool_memory_and_ipc": """
libcai.memory_manager("pool", device="gpu:0", exportable=True).install()
libcai.numba.use()
array = cuda.to_device(np.arange(4))
refused(CudaDriverError, "file descriptor", array.get_ipc_handle)
""",
    "limits": """
from numba.cuda.core import config
config.CUDA_DEALLOCS_COUNT = 3
libcai.numba.use()
deallocations = cuda.current_context().memory_manager.deallocations
for i in range(3):
    cuda.to_device(np.arange(4))
    assert len(deallocations) == i + 1
cuda.to_device(np.arange(4))
assert len(deallocations) == 0 and not deallocations.is_disabled
with cuda.defer_cleanup():
    assert deallocations.is_disabled
    for i in range(20):
        cuda.to_device(np.arange(4))
    assert len(deallocations) == 20
deallocations.clear()
assert len(deallocations) == 0
""",
    "second_device": """
libcai.numba.use()
with cuda.gpus[1]:
    array = cuda.to_device(np.arange(100, dtype="i8"))
    assert libcai.usage("gpu:1").bytes == 800 and out().bytes == 0
    del array
""",
    "stream_ordered": """
libcai.memory_manager("async", device="gpu:0").install()
libcai.numba.use()
for _ in range(3):
    stream = cuda.stream()
    array = cuda.to_device(np.arange(100), stream=stream)
    back = array.copy_to_host(stream=stream)
    stream.synchronize()
    assert (back == np.arange(100)).all()
    del array
cuda.synchronize()
""",
    "stream_ordered_per_thread": """
import threading
from numba.cuda.core import config
config.CUDA_PER_THREAD_DEFAULT_STREAM = 1
libcai.memory_manager("async", device="gpu:0").install()
libcai.numba.use()
there = cuda.pinned_array(64, "u1")
def work(stream):
    for _ in range(3):
        array = cuda.device_array(64, "u1", stream=stream)
        array.copy_to_device(there, stream=stream)
        del array
for stream in (cuda.stream(), cuda.per_thread_default_stream(), cuda.legacy_default_stream()):
    work(stream)
thread = threading.Thread(target=lambda: work(cuda.per_thread_default_stream()))
thread.start()
thread.join()
cuda.synchronize()
""",
    # Numba's finalizers run after the arrays of a reset context, and at the very end.
    "left_at_exit": """
libcai.numba.use()
before = cuda.to_device(np.arange(4))
cuda.current_context().reset()
after, pinned = cuda.to_device(np.arange(4)), cuda.pinned_array(4)
mapped = cuda.mapped_array(4)
""",
}

POSTLUDE = """
import ctypes
simcuda = ctypes.CDLL("libcuda.so.1")
simcuda.simcuda_races.restype = simcuda.simcuda_unsupported.restype = ctypes.c_uint64
assert simcuda.simcuda_races() == 0 and simcuda.simcuda_unsupported() == 0
print("end")
"""


@pytest.mark.parametrize("schedule", lazy_and("eager"))
@pytest.mark.parametrize("script", SCRIPTS)
def test_numba(script, schedule):
    code = PRELUDE + SCRIPTS[script] + POSTLUDE
    assert run_python(code, SIMCUDA_SCHEDULE=schedule, SIMCUDA_QUIET_MS="0").endswith("end\n")


def test_a_bad_choice_is_told():
    """By Numba's words when Numba looks for it, and by libcai's for its manager."""
    run_python(
        PRELUDE
        + """
libcai.numba.use()
refused(libcai.UseError, "no-such-manager", cuda.current_context)
""",
        CAI_MEMORY_MANAGER="no-such-manager",
    )


def test_no_mapping():
    """Where a device cannot map the host's memory, the error says so; no simulated device is one,
    so that the answer is a stand-in."""
    run_python(
        PRELUDE
        + """
libcai.numba.use()
context = cuda.current_context()
libcai.Device.maps_host = property(lambda self: False)
refused(CudaDriverError, "cannot map host memory", context.memhostalloc, 16, mapped=True)
refused(CudaDriverError, "cannot map host memory", cuda.mapped_array, 4)
manager, array = context.memory_manager, np.zeros(4)
refused(CudaDriverError, "cannot map host memory",
        manager.mempin, array, array.ctypes.data, array.nbytes, True)
assert cuda.pinned_array(4).size == 4
"""
    )
