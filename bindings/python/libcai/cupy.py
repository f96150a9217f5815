# SPDX-License-Identifier: BSD-3-Clause
"""CuPy's memory, from libcai's managers.

    libcai.cupy.install()                        # for the process, or
    with cupy.cuda.using_allocator(libcai.cupy.allocator): ...

`allocator` follows CuPy's current device and stream. `c_allocator` does not call Python, and uses
one stream only.
"""

import ctypes
import os

import cupy

import libcai
from libcai._library import LIBRARY, LIBRARY_DIR

__all__ = ["allocator", "c_allocator", "install"]


def allocator(size):
    """Allocates `size` bytes on CuPy's current device, in the order of its current stream; a
    `cupy.cuda.MemoryPointer`. The memory is freed in the order of the same stream: if you use it on
    another stream, make the first stream wait before the last reference is dropped.

    Raises
    ------
    MemoryError
        `cupy.cuda.memory.OutOfMemoryError`, if memory is short.
    """
    device = cupy.cuda.device.get_device_id()
    try:
        memory = libcai.Memory(
            size,
            device=(libcai.DeviceType.CUDA, device),
            stream=cupy.cuda.get_current_stream(),
        )
    except MemoryError as error:
        raise cupy.cuda.memory.OutOfMemoryError(size, -1) from error
    unowned = cupy.cuda.UnownedMemory(memory.address, size, memory, device)
    return cupy.cuda.MemoryPointer(unowned, 0)


def install():
    """Makes `allocator` CuPy's allocator, in place of CuPy's own pool."""
    cupy.cuda.set_allocator(allocator)


def c_allocator(stream=None):
    """Makes a `cupy.cuda.memory.CFunctionAllocator` on libcai's C functions; its ``malloc`` is for
    `cupy.cuda.set_allocator`, or for a `cupy.cuda.MemoryPool`.

    Parameters
    ----------
    stream : int or object, optional
        The stream in whose order all memory is allocated and freed; default: the legacy default
        stream.
    """
    from libcai._stream import resolve

    library = ctypes.CDLL(os.path.join(LIBRARY_DIR, "libcai_cupy.so"))
    core = ctypes.CDLL(LIBRARY)
    return cupy.cuda.memory.CFunctionAllocator(
        0 if stream is None else resolve(stream),
        ctypes.cast(library.cai_cupy_malloc, ctypes.c_void_p).value,
        ctypes.cast(core.cai_cupy_free, ctypes.c_void_p).value,
        (library, core, stream),
    )
