# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3
"""A module in Cython that takes arrays from any library. Neither libcai nor CUDA is linked."""

from libc.stdint cimport UINT64_MAX, int64_t, uint64_t
from libc.string cimport memset
from posix.dlfcn cimport RTLD_NOW, dlopen, dlsym

from libcai cimport CAI_DEVICE_CPU, cai_array, cai_array_contiguous_nbytes, cai_use
from libcai.python cimport CAI_PY_WRITES, cai_py, cai_py_argument, cai_py_import

cai_py_import()

ctypedef int (*memset_fn)(uint64_t data, unsigned char value, size_t count, void *stream) nogil
cdef memset_fn cuMemsetD8Async


def clear(array, stream=None):
    """Zeros an array, on the host or on a GPU."""
    cdef cai_py_argument x
    cdef cai_use use
    cdef uint64_t number
    cai_py.open(array, CAI_PY_WRITES, &x)
    try:
        bytes = bytes_of(x.array)
        if bytes == 0:
            return
        if stream is None:
            cai_py.current_stream(x.array, &number)
        else:
            cai_py.stream(stream, &number)
        if number == UINT64_MAX:
            raise ValueError("-1 is no stream")
        cai_py.begin(&use, &x.array, 1, number, NULL)
        try:
            zero(x.array, bytes, number)
            cai_py.end(&use)
        finally:
            cai_py.abandon(&use)  # after the end there is nothing left to do
    finally:
        cai_py.close(&x)


cdef int64_t bytes_of(const cai_array *array) except -1:
    """The bytes of a contiguous array."""
    cdef int64_t bytes = cai_array_contiguous_nbytes(array)
    if array.mask != NULL:
        raise ValueError("a masked array is not cleared")
    if bytes < 0:
        raise ValueError("the array is not C-contiguous")
    return bytes


cdef int zero(const cai_array *array, size_t bytes, uint64_t stream) except -1:
    global cuMemsetD8Async
    if array.device_type == CAI_DEVICE_CPU:
        memset(<void *>array.data, 0, bytes)
        return 0
    if cuMemsetD8Async == NULL:
        driver = dlopen("libcuda.so.1", RTLD_NOW)
        cuMemsetD8Async = <memset_fn>(dlsym(driver, "cuMemsetD8Async") if driver else NULL)
    if cuMemsetD8Async == NULL or cuMemsetD8Async(array.data, 0, bytes, <void *>stream) != 0:
        raise RuntimeError("cuMemsetD8Async() failed")
    return 0
