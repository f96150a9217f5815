# SPDX-License-Identifier: BSD-3-Clause
"""libcai.torch and libcai.cupy with stand-ins of PyTorch and CuPy that take and call what the real
ones do, by the same signatures. tests/gpu has the real ones."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# As torch.cuda.memory: the functions are looked up in the library and called as C, and the setters
# of the object behind it take addresses.
TORCH = """
import ctypes, types
from ctypes import CFUNCTYPE, c_int, c_size_t, c_void_p, POINTER

class Native:
    def __init__(self):
        self.given = {}
    def __getattr__(self, name):
        if name not in (
            "set_init_fn", "set_reset_fn", "set_base_alloc_fn", "set_record_stream_fn"
        ):
            raise AttributeError(name)
        return lambda address: self.given.__setitem__(name, address)

class CUDAPluggableAllocator:
    def __init__(self, path, alloc, free):
        library = ctypes.CDLL(path)
        Alloc = CFUNCTYPE(c_void_p, c_size_t, c_int, c_void_p)
        Free = CFUNCTYPE(None, c_void_p, c_size_t, c_int, c_void_p)
        self.alloc = ctypes.cast(getattr(library, alloc), Alloc)
        self.free = ctypes.cast(getattr(library, free), Free)
        self._native = Native()
    def allocator(self):
        return self._native

changed = []
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(
    memory=types.SimpleNamespace(
        CUDAPluggableAllocator=CUDAPluggableAllocator, change_current_allocator=changed.append),
    MemPool=lambda native: ("pool", native),
)
sys.modules["torch"] = torch
import libcai.torch
"""

# As cupy.cuda, as far as libcai.cupy goes.
CUPY = """
import types

class OutOfMemoryError(MemoryError):
    def __init__(self, size, total):
        super().__init__(size, total)

class UnownedMemory:
    def __init__(self, ptr, size, owner, device_id=-1):
        assert type(ptr) is int and device_id >= 0
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id

class MemoryPointer:
    def __init__(self, mem, offset):
        assert mem.ptr != 0 or offset == 0
        self.mem, self.ptr = mem, mem.ptr + offset

class CFunctionAllocator:
    def __init__(self, param, malloc, free, owner):
        assert all(type(number) is int for number in (param, malloc, free))
        self.param, self.malloc, self.free, self.owner = param, malloc, free, owner

class CupyStream:
    def __init__(self, ptr):
        self.ptr = ptr

current = types.SimpleNamespace(device=0, stream=CupyStream(0), allocator=None)
cupy = types.ModuleType("cupy")
cupy.cuda = types.SimpleNamespace(
    UnownedMemory=UnownedMemory,
    MemoryPointer=MemoryPointer,
    device=types.SimpleNamespace(get_device_id=lambda: current.device),
    get_current_stream=lambda: current.stream,
    memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError,
                                 CFunctionAllocator=CFunctionAllocator),
    set_allocator=lambda allocator: setattr(current, "allocator", allocator),
)
sys.modules["cupy"] = cupy
import libcai.cupy
"""


@pytest.mark.parametrize("name", ["numba", "cuda_core", "cupy", "torch", "rmm"])
def test_libcai_needs_none_of_them(name):
    """With all of them hidden libcai works, and a module says which library it lacks."""
    script = f"""
import sys
for hidden in ("numba", "cuda", "cuda.core", "cupy", "torch", "rmm"):
    sys.modules[hidden] = None
import libcai
for public in libcai.__all__:
    getattr(libcai, public)
try:
    import libcai.{name}
except ImportError as error:
    assert {name.split("_")[0]!r} in str(error), error
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_torch(simulated):
    simulated(
        TORCH
        + """
libcai.torch.install()
(allocator,) = changed
assert libcai.torch.allocator() is allocator
assert libcai.torch.pool() == ("pool", allocator.allocator())
stream = new_stream()
block = allocator.alloc(4096, 0, stream)
assert block and libcai.usage("gpu:0").bytes == 4096
fill(c_uint64(block), 7, 1024, stream)
allocator.free(block, 4096, 0, stream)
assert libcai.usage("gpu:0").bytes == 0
assert allocator.alloc(1 << 60, 0, None) is None

given = allocator.allocator().given
assert set(given) == {
    "set_init_fn", "set_reset_fn", "set_base_alloc_fn", "set_record_stream_fn"}
block = allocator.alloc(4096, 1, None)
size = c_size_t()
base = CFUNCTYPE(c_void_p, c_void_p, POINTER(c_size_t))(given["set_base_alloc_fn"])
assert base(block + 100, byref(size)) == block and size.value == 4096
CFUNCTYPE(None, c_void_p, c_void_p)(given["set_record_stream_fn"])(block, None)
allocator.free(block, 4096, 1, None)
CFUNCTYPE(None, c_int)(given["set_init_fn"])(2)
CFUNCTYPE(None)(given["set_reset_fn"])()
assert libcai.usage("gpu:1").pending_count == 0
wait(stream)
"""
    )


def test_torch_with_fewer_setters(simulated):
    """An older PyTorch's object has not all of them."""
    simulated(
        TORCH.replace('"set_init_fn", "set_reset_fn", "set_base_alloc_fn", "set_', '"set_')
        + """
given = libcai.torch.allocator().allocator().given
assert set(given) == {"set_record_stream_fn"}, given
"""
    )


def test_cupy(simulated):
    simulated(
        CUPY
        + """
libcai.cupy.install()
assert current.allocator is libcai.cupy.allocator
async_manager = libcai.memory_manager("async", device="gpu:0")
async_manager.install()
stream = new_stream()
current.stream = CupyStream(stream.value)
for value in (1, 2):  # the second gets the memory of the first, in the order of the stream
    pointer = current.allocator(4096)
    assert pointer.mem.size == 4096 and pointer.mem.device_id == 0
    fill(c_uint64(pointer.ptr), value, 1024, stream)
    assert libcai.usage("gpu:0").bytes == 4096
    del pointer
assert libcai.usage("gpu:0").bytes == 0
wait(stream)

current.device, current.stream = 1, CupyStream(0)
pointer = current.allocator(100)
assert pointer.mem.device_id == 1 and libcai.usage("gpu:1").bytes == 100
assert libcai.Memory.find(pointer.ptr)[0].stream == 1
assert current.allocator(0).ptr == 0
refused(OutOfMemoryError, "", current.allocator, 1 << 60)
"""
    )


def test_cupy_c_allocator(simulated):
    simulated(
        CUPY
        + """
stream = new_stream()
made = libcai.cupy.c_allocator(CupyStream(stream.value))
assert made.param == stream.value
malloc = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_int)(made.malloc)
free = CFUNCTYPE(None, c_void_p, c_void_p, c_int)(made.free)
block = malloc(made.param, 4096, 0)
assert block and libcai.usage("gpu:0").bytes == 4096
fill(c_uint64(block), 7, 1024, stream)
free(made.param, block, 0)
assert libcai.usage("gpu:0").bytes == 0
assert libcai.cupy.c_allocator().param == 0
wait(stream)
"""
    )
