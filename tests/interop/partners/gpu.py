# SPDX-License-Identifier: BSD-3-Clause
"""Partners whose arrays are on a GPU, here simcuda's: numba-cuda and cuda.core. What is in an array
is pending on a stream until a call waits for that."""

import ctypes

import numpy as np
from cuda.core import Buffer, Device
from cuda.core.utils import StridedMemoryView
from numba import cuda
from numpy.lib.array_utils import byte_bounds

import awkward
import libcai
from cells import (
    Seen,
    Way,
    WithDict,
    interface,
    mask_interface,
    on_host,
    read,
    seen_by_libcai,
    typed,
    valid_in,
)

cuda.current_context()
device = Device(0)
device.set_current()
driver = ctypes.CDLL("libcuda.so.1")
theirs, mine = device.create_stream(), device.create_stream()


def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, f"{name} returns {status}"


def number_of(stream):
    return int(stream.handle)


class Memory:
    """A copy of the memory around an array, under way on the producer's stream."""

    def __init__(self, array):
        lo, hi = byte_bounds(array)
        self.size = max(hi - lo, 1)
        self.start = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.start), ctypes.c_size_t(self.size))
        if array.size:
            stream = ctypes.c_void_p(number_of(theirs))
            source, count = ctypes.c_void_p(lo), ctypes.c_size_t(hi - lo)
            call("cuMemcpyHtoDAsync_v2", self.start, source, count, stream)
        self.offset = array.ctypes.data - lo
        self.address = self.start.value + self.offset if array.size else 0

    def __del__(self):
        call("cuMemFree_v2", self.start)


def interface_of(array):
    """The dict of a copy of the array, and the memory that it is in."""
    stream = number_of(theirs)
    if not isinstance(array, np.ma.MaskedArray):
        memory = Memory(array)
        return interface(array, memory.address, stream=stream), memory
    value, memory = interface_of(array.data)
    valid = valid_in(array)
    copy = Memory(valid)
    mask = mask_interface(array, valid, copy.address, stream=stream)
    return {**value, "mask": WithDict("__cuda_array_interface__", mask, copy)}, memory


def on_gpu(array):
    """The libcai.Array that partners are given."""
    if awkward.has_code(array.dtype):
        memory = Memory(array)
        wrapped = libcai.Memory.wrap(memory.start.value, memory.size, device="gpu:0", owner=memory)
        made = typed(wrapped, array, memory.offset)
        return made.publish(1, streams=[number_of(theirs)])
    value, memory = interface_of(array)
    return libcai.from_interface(value, owner=memory)


def read_from_gpu(address, shape, strides, itemsize, stream=mine):
    """The bytes of a GPU array, in C order, by a copy of all memory that it spans."""
    if 0 in shape:
        return b""
    reach = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    lo, hi = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + itemsize
    host = (ctypes.c_char * (hi - lo))()
    where, size = ctypes.c_uint64(address + lo), ctypes.c_size_t(hi - lo)
    call("cuMemcpyDtoHAsync_v2", host, where, size, ctypes.c_void_p(number_of(stream)))
    stream.sync()
    return read(ctypes.addressof(host) - lo, shape, strides, itemsize)


def used(array):
    """The array that libcai has made, read in order with the work that filled it."""
    if array.size:
        array.locate()  # it is all within its allocation
    with libcai.use(array, stream=number_of(mine), access="read"):
        return seen_by_libcai(array, read_from_gpu)


# ---- numba-cuda


def numbas_array(array):
    assert not isinstance(array, np.ma.MaskedArray), "numba-cuda's arrays have no mask"
    if array.flags.c_contiguous and array.flags.writeable:
        made = cuda.to_device(array, stream=cuda.external_stream(number_of(theirs)))
        return made, made.device_ctypes_pointer.value
    value, memory = interface_of(array)
    made = cuda.from_cuda_array_interface(value, owner=memory, sync=False)
    return made, memory.address


def seen_by_numba(array):
    """Waited for by numba-cuda itself; it has no mark for read-only memory."""
    address = array.device_ctypes_pointer.value or 0
    values = read_from_gpu(address, array.shape, array.strides, array.dtype.itemsize)
    return Seen(address, array.shape, array.strides, array.dtype, False, values)


NUMBA_CUDA = [
    Way(
        "numba-cuda",
        "gives",
        "its dict",
        numbas_array,
        lambda made: used(libcai.asarray(made, route="cuda")),
    ),
    Way(
        "numba-cuda",
        "takes",
        "`cuda.as_cuda_array`",
        on_gpu,
        lambda x: seen_by_numba(cuda.as_cuda_array(x)),
    ),
]

# ---- cuda.core


def view_of(array):
    """cuda.core's view of its own buffer. Its DLPack orders nothing: the copy is complete."""
    assert not isinstance(array, np.ma.MaskedArray), "a view has no mask"
    assert all(step % array.itemsize == 0 for step in array.strides), "strides are in elements"
    memory = Memory(array)
    theirs.sync()
    buffer = Buffer.from_handle(memory.address, memory.size - memory.offset, owner=memory)
    steps = tuple(step // array.itemsize for step in array.strides)
    readonly = not array.flags.writeable
    view = StridedMemoryView.from_buffer(
        buffer, array.shape, steps, dtype=array.dtype, is_readonly=readonly
    )
    return view, memory.address


def seen_by_core(view, read=read_from_gpu):
    size = view.dtype.itemsize
    steps = view.strides
    if steps is None:
        steps = np.ndarray(view.shape, f"V{size}").strides
    else:
        steps = tuple(step * size for step in steps)
    values = read(view.ptr, view.shape, steps, size)
    return Seen(view.ptr, view.shape, steps, view.dtype, view.readonly, values)


def by_route(route):
    return lambda view: used(libcai.asarray(view, route=route))


CUDA_CORE = [
    Way("cuda.core", "gives", "DLPack's table", view_of, by_route("dlpack_table")),
    Way("cuda.core", "gives", "`__dlpack__`", view_of, by_route("dlpack")),
    Way(
        "cuda.core",
        "takes",
        "`from_cuda_array_interface`",
        on_gpu,
        lambda x: seen_by_core(
            StridedMemoryView.from_cuda_array_interface(x, stream_ptr=number_of(mine))
        ),
    ),
    Way(
        "cuda.core",
        "takes",
        "`from_dlpack`",
        on_gpu,
        lambda x: seen_by_core(StridedMemoryView.from_dlpack(x, stream_ptr=number_of(mine))),
    ),
    Way(
        "cuda.core",
        "takes",
        "`from_array_interface`, of the host's",
        on_host,
        lambda x: seen_by_core(StridedMemoryView.from_array_interface(x), read),
    ),
]

WAYS = [*NUMBA_CUDA, *CUDA_CORE]


def end():
    """The errors that simcuda has found."""
    found = []
    for name in ("simcuda_races", "simcuda_unsupported"):
        count = getattr(driver, name)
        count.restype = ctypes.c_uint64
        if count():
            found.append(f"{name}() is {count()}")
    return found
