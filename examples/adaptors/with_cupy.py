# SPDX-License-Identifier: BSD-3-Clause
"""CuPy's arrays, from the libcai manager of the current device."""

import cupy

import libcai
import libcai.cupy

libcai.cupy.install()
array = cupy.arange(1000)
print(libcai.usage("gpu:0").bytes, "bytes are out; the sum is", int(array.sum()))
