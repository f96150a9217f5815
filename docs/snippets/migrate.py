# SPDX-License-Identifier: BSD-3-Clause
"""What the pages of migration show in Python, before and after. tests/python/test_docs.py runs it
on simcuda: each `before` goes wrong there, and each `after` does not."""

import ctypes
import math
import sys

import numpy as np
from numba import cuda

import libcai

driver = ctypes.CDLL("libcuda.so.1")


class kernels:
    """Stands for compiled code that zeros memory on a stream."""

    @staticmethod
    def zero(address, size, stream):
        number = ctypes.c_void_p(int(stream.handle))
        assert (
            driver.cuMemsetD8Async(ctypes.c_uint64(address), 0, ctypes.c_size_t(size), number) == 0
        )


# [dict-before
def clear_by_hand(obj, stream):
    interface = obj.__cuda_array_interface__
    address, _readonly = interface["data"]
    size = math.prod(interface["shape"]) * int(interface["typestr"][2:])
    kernels.zero(address, size, stream)


# dict-before]


# [dict-after
def clear(obj, stream):
    with libcai.use(obj, stream=stream, access="write") as (x,):
        if x.mask is not None or not x.c_contiguous:
            raise ValueError("a masked array, or one with gaps, is not cleared")
        kernels.zero(x.data, x.nbytes, stream)


# dict-after]


# [dlpack-before
def total_by_numpy(obj):
    return np.from_dlpack(obj).sum()


# dlpack-before]


# [dlpack-after
def total(obj):
    return np.asarray(libcai.asarray(obj)).sum()


# dlpack-after]


def by(function):
    theirs, ours = cuda.stream(), cuda.stream()
    array = cuda.to_device(np.ones(1000, np.float32), stream=theirs)
    function(array, ours)
    found = cuda.pinned_array(1000, np.float32)
    array.copy_to_host(found, stream=theirs)
    theirs.synchronize()
    assert not found.any()


if __name__ == "__main__":
    if sys.argv[1:] == ["before"]:
        by(clear_by_hand)
    else:
        by(clear)
        try:
            clear(cuda.to_device(np.ones((4, 4), np.float32))[:, ::2], cuda.stream())
        except ValueError as error:
            print(error)
        numbers = np.arange(6.0)
        assert total(numbers) == total_by_numpy(numbers) == 15
        swapped = numbers.astype(">f8")
        assert total(swapped) == 15
        try:
            total_by_numpy(swapped)
        except BufferError as error:
            print(error)
