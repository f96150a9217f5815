# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3
"""Takes a libcai.Array as the C struct that it is."""

from libc.stdint cimport int64_t, uint64_t

from libcai cimport CAI_FLAG_READONLY, cai_array, cai_array_refuses


def total(array):
    """Returns the sum of an array's extents."""
    cdef const cai_array *a = <const cai_array *><uint64_t>array.ptr
    cdef int64_t sum = 0
    cdef int axis
    if cai_array_refuses(a, CAI_FLAG_READONLY):
        raise ValueError("a masked or byte-swapped array is not for this function")
    with nogil:
        for axis in range(a.ndim):
            sum += a.shape[axis]
    return sum
