# SPDX-License-Identifier: BSD-3-Clause
from numba import cuda

import libcai


def to_host_unordered(obj, found, stream):
    """Copies any library's array to the host, on our stream."""
    array = cuda.as_cuda_array(obj, sync=False)
    array.copy_to_host(found, stream=stream)


def to_host(obj, found, stream):
    """The same, in order."""
    with libcai.use(obj, stream=stream, access="read") as (x,):
        array = cuda.as_cuda_array(x, sync=False)
        array.copy_to_host(found, stream=stream)
