# SPDX-License-Identifier: BSD-3-Clause
"""Numba's arrays, from a libcai manager that counts."""

import numpy as np
from numba import cuda

import libcai
import libcai.numba

pool = libcai.memory_manager("pool", device="gpu:0")
counting = libcai.memory_manager("statistics", upstream=pool)
counting.install()
libcai.numba.use()  # before Numba first works with a GPU

array = cuda.to_device(np.arange(100))
assert (array.copy_to_host() == np.arange(100)).all()
print(counting.statistics.bytes, "bytes are out")
