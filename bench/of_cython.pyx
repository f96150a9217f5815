# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3
"""The same in Cython."""

from libc.stdint cimport int64_t

from libcai cimport cai_array
from libcai.python cimport cai_py, cai_py_argument, cai_py_import

cai_py_import()


cdef int64_t elements_of(const cai_array *array):
    cdef int64_t count = 1
    cdef int i
    for i in range(array.ndim):
        count *= array.shape[i]
    return count


def elements(x, y, z):
    cdef cai_py_argument first, second, third
    cai_py.open(x, 0, &first)
    try:
        cai_py.open(y, 0, &second)
        try:
            cai_py.open(z, 0, &third)
            count = (elements_of(first.array) + elements_of(second.array)
                     + elements_of(third.array))
            cai_py.close(&third)
            return count
        finally:
            cai_py.close(&second)
    finally:
        cai_py.close(&first)
