# SPDX-License-Identifier: BSD-3-Clause
"""usage: readme_cffi.py pack/out/libpack.so"""

import sys

import cffi
import numpy as np

import libcai
from libcai.cffi import array_from, ffi

mine = cffi.FFI()
mine.include(ffi)  # all of cai.h
mine.cdef("cai_status pack(const cai_array *, const cai_use_options *, cai_array **, cai_error *);")
lib = mine.dlopen(sys.argv[1])


def pack(obj):
    array = array_from(obj)  # cai_array *, which keeps obj alive
    out, error = mine.new("cai_array **"), mine.new("cai_error *")
    if lib.pack(array, mine.NULL, out, error) != 0:
        raise RuntimeError(mine.string(error.message).decode())
    return libcai.Array.from_ptr(int(mine.cast("uintptr_t", out[0])))


numbers = np.arange(12).reshape(3, 4)[:, ::-2]
print(np.asarray(pack(numbers)))
