# SPDX-License-Identifier: BSD-3-Clause
"""A module by ctypes that takes arrays from any library, and has nothing to compile."""

import ctypes
from functools import cache

import libcai


def clear(array, stream=1):
    """Zeros an array, on the host or on a GPU; `stream` is an int: 1, 2 or a CUstream."""
    if stream < 1:
        raise ValueError(f"{stream} is no stream that work can be queued on")
    with libcai.use(array, stream=stream, access="write") as (x,):
        if x.mask is not None or not x.c_contiguous:
            raise ValueError("the array is masked, or not C-contiguous")
        if x.device.type == libcai.DeviceType.CPU:
            ctypes.memset(x.data, 0, x.nbytes)
        elif x.nbytes and memset_on_gpu()(x.data, 0, x.nbytes, stream) != 0:
            raise RuntimeError("cuMemsetD8Async() failed")


@cache
def memset_on_gpu():
    function = ctypes.CDLL("libcuda.so.1").cuMemsetD8Async
    function.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p]
    return function
