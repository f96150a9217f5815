# SPDX-License-Identifier: BSD-3-Clause
import numpy as np

import libcai


class Producer:  # any object with the attribute: of numba-cuda, CuPy, PyTorch, ...
    __cuda_array_interface__ = {  # noqa: RUF012
        "shape": (3, 4),
        "typestr": "<f4",
        "data": (0x7F0000000000, False),
        "version": 3,
        "stream": 1,
    }


x = libcai.asarray(Producer())  # calls no driver, waits for nothing, keeps the producer alive
print(x.shape, x.strides, x.dtype, x.stream)
print(x[::2, ::-1].__cuda_array_interface__["strides"])
print(hex(x.ptr))  # the `cai_array *` for ctypes, cffi, Cython, ...

host = libcai.asarray(np.arange(12).reshape(3, 4))  # NumPy's arrays likewise
print(np.asarray(host[::-1, 1]))

Producer.__cuda_array_interface__["strides"] = [16, 4]
print(libcai.check(Producer()))
