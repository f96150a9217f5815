# SPDX-License-Identifier: BSD-3-Clause
"""A module by cffi that takes arrays from any library. Neither libcai nor CUDA is linked."""

from _clear_cffi import ffi, lib

import libcai


def clear(array, stream=1):
    """Zeros an array, on the host or on a GPU; `stream` is an int: 1, 2 or a CUstream."""
    with libcai.use(array, stream=stream, access="write") as (x,):
        wrong = lib.zero(x.ptr, stream)
        if wrong:
            raise ValueError(ffi.string(wrong).decode())
